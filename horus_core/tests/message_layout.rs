//! Sizes, offsets and defaults of the messages, and `message!` in another crate.

#![deny(unsafe_code)]

use horus_testing as _;

use horus_core::message::{
    CmdVel, FieldKind, Imu, JOINTS_MAX, JointCommand, LASER_RANGES_MAX, LaserScan, Message,
    Odometry, Pose2D, Primitive, Schema, Twist, Zeroable, timestamp_now_ns,
};

const MESSAGES: [(Schema, usize); 7] = [
    (CmdVel::SCHEMA, 16),
    (Pose2D::SCHEMA, 32),
    (Twist::SCHEMA, 56),
    (Imu::SCHEMA, 304),
    (Odometry::SCHEMA, 688),
    (JointCommand::SCHEMA, 928),
    (LaserScan::SCHEMA, 1480),
];

horus_core::message! {
    /// A message of another crate, private, with one field of each kind.
    #[derive(Default)]
    struct Mixed {
        a: u64,
        b: i64,
        c: f64,
        d: u32,
        e: i32,
        f: f32,
        g: u16,
        h: i16,
        i: u8,
        j: i8,
        grid: [[u8; 3]; 2],
        pose: Pose2D,
    }
}

fn bytes_round_trip<M: Message + PartialEq + std::fmt::Debug>(message: M) {
    let bytes = bytemuck::bytes_of(&message);
    assert_eq!(bytes.len(), M::SCHEMA.size);
    assert_eq!(bytemuck::pod_read_unaligned::<M>(bytes), message);
}

#[test]
fn sizes_are_those_of_the_design() {
    for (schema, size) in MESSAGES {
        assert_eq!(schema.size, size, "{}", schema.name);
        assert_eq!(schema.align, 8, "{}", schema.name);
    }
}

#[test]
fn fields_cover_every_byte_once() {
    for schema in MESSAGES
        .map(|(schema, _)| schema)
        .into_iter()
        .chain([Mixed::SCHEMA])
    {
        let mut end = 0;
        for field in schema.fields {
            assert_eq!(field.offset, end, "{}.{}", schema.name, field.name);
            end += field.count * field.kind.size();
        }
        assert_eq!(end, schema.size, "{}", schema.name);
    }
}

#[test]
fn every_message_starts_with_its_timestamp() {
    for (schema, _) in MESSAGES {
        let first = schema.fields[0];
        assert_eq!(
            (first.name, first.offset),
            ("timestamp_ns", 0),
            "{}",
            schema.name
        );
        assert_eq!(
            first.kind,
            FieldKind::Primitive(Primitive::U64),
            "{}",
            schema.name
        );
    }
}

#[test]
fn constructors_stamp_the_current_time() {
    // WHY: does not compare with a clock that is read here, since CLOCK_REALTIME may be set during
    // the test.
    const YEAR_2020_NS: u64 = 1_577_836_800_000_000_000;
    for timestamp_ns in [
        timestamp_now_ns(),
        CmdVel::new(0.5, 0.1).timestamp_ns,
        Twist::new([0.5, 0.0, 0.0], [0.0, 0.0, 0.1]).timestamp_ns,
        Pose2D::new(1.0, 2.0, 3.0).timestamp_ns,
        Imu::new([0.0; 3], [0.0; 3]).timestamp_ns,
        LaserScan::now().timestamp_ns,
    ] {
        assert!(timestamp_ns > YEAR_2020_NS, "{timestamp_ns}");
    }
}

#[test]
fn defaults_are_valid_and_unstamped() {
    assert_eq!(CmdVel::default(), CmdVel::zeroed());
    assert_eq!(Twist::default(), Twist::zeroed());
    assert_eq!(Pose2D::default(), Pose2D::zeroed());
    assert_eq!(LaserScan::default(), LaserScan::zeroed());
    assert_eq!(JointCommand::default(), JointCommand::zeroed());

    let imu = Imu::default();
    assert_eq!(imu.orientation, [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(imu.orientation_covariance[0], -1.0);
    assert_eq!(Odometry::default().orientation, [0.0, 0.0, 0.0, 1.0]);
    assert_eq!((imu.timestamp_ns, Odometry::default().timestamp_ns), (0, 0));
}

#[test]
fn counts_of_a_hostile_peer_stay_inside_the_arrays() {
    let scan = LaserScan {
        count: u32::MAX,
        ..LaserScan::default()
    };
    assert_eq!(scan.measured().len(), LASER_RANGES_MAX);
    let command = JointCommand {
        count: u32::MAX,
        ..JointCommand::default()
    };
    assert_eq!(command.joints(), JOINTS_MAX);
}

#[test]
fn messages_are_plain_bytes() {
    bytes_round_trip(CmdVel::new(0.5, 0.1));
    bytes_round_trip(Imu::default());
    bytes_round_trip(Odometry::default());
    bytes_round_trip(JointCommand {
        count: 3,
        ..JointCommand::default()
    });
    bytes_round_trip(LaserScan {
        count: 3,
        ..LaserScan::default()
    });
    bytes_round_trip(Mixed {
        grid: [[1, 2, 3], [4, 5, 6]],
        ..Mixed::default()
    });
}

#[test]
fn a_message_of_another_crate_has_the_same_table() {
    let schema = Mixed::SCHEMA;
    assert_eq!((schema.name, schema.size, schema.align), ("Mixed", 80, 8));
    let kinds: Vec<_> = schema.fields[..10].iter().map(|field| field.kind).collect();
    let primitives = [
        Primitive::U64,
        Primitive::I64,
        Primitive::F64,
        Primitive::U32,
        Primitive::I32,
        Primitive::F32,
        Primitive::U16,
        Primitive::I16,
        Primitive::U8,
        Primitive::I8,
    ];
    assert_eq!(kinds, primitives.map(FieldKind::Primitive));
    assert_eq!((schema.fields[10].count, schema.fields[10].offset), (6, 42));
    assert_eq!(schema.fields[11].kind, FieldKind::Message(&Pose2D::SCHEMA));
}
