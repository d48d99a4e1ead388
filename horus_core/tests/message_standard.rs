//! Properties of all standard messages, and their behaviour with invalid content from a peer.

use horus_testing as _;

mod noise;
mod private;

use std::fmt::{Debug, Display};
use std::path::Path;

use fastrand::Rng;
use horus_core::message::*;
use horus_core::topic::Qos;
use noise::{Case, result, rounds, seeds};
use private::Private;

/// The units that a field may have. Write units of several words in full and others as symbols.
const UNITS: &[&str] = &[
    "N/m",
    "N·m",
    "N·m/rad",
    "N·m·s/rad",
    "N·s/m",
    "Pa²",
    "T²",
    "amperes",
    "ampere-hours",
    "bytes",
    "count",
    "degrees",
    "degrees Celsius",
    "elements",
    "hertz",
    "kg·m²",
    "kilograms",
    "lux",
    "lx²",
    "metres",
    "metres per second",
    "m/s²",
    "m²",
    "m², m·rad, rad²",
    "m²/s², m·rad/s², rad²/s²",
    "m²/s⁴",
    "nanoseconds",
    "newtons",
    "no unit",
    "depends on the use",
    "pascals",
    "pixels",
    "radians",
    "radians per second",
    "rad/s²",
    "rad²",
    "rad²/s²",
    "seconds",
    "tesla",
    "text",
    "volts",
    "°C²",
];

/// Messages for use inside others, and for computing.
const WITHOUT_TIME: [&str; 13] = [
    "Point3",
    "Vector3",
    "Quaternion",
    "Transform",
    "Waypoint",
    "BoundingBox2D",
    "BoundingBox3D",
    "RegionOfInterest",
    "DiagnosticValue",
    "NodeMetrics",
    "PointField",
    "MapMetaData",
    "Joint",
];

/// Returns every field of every message. Fields of messages inside others belong to their own
/// schemas.
fn fields() -> impl Iterator<Item = (&'static Schema, &'static Field)> {
    STANDARD
        .iter()
        .flat_map(|schema| schema.fields.iter().map(move |field| (*schema, field)))
}

fn random<M: Message>(rng: &mut Rng) -> M {
    let bytes: Vec<u8> = (0..size_of::<M>()).map(|_| rng.u8(..)).collect();
    bytemuck::pod_read_unaligned(&bytes)
}

/// Sends messages of random bits one by one, and the default; all arrive bit for bit.
fn round_trips<M: Message + Default + Debug>(private: &Private) {
    let topic = M::SCHEMA.name;
    let mut publisher = private.publisher::<M>(topic, Qos::sensor_data());
    let mut subscriber = private.subscriber::<M>(topic, Qos::sensor_data());
    for seed in seeds(rounds(50, 5_000)) {
        let _case = Case(seed);
        let mut rng = Rng::with_seed(seed);
        let message = if seed == 0 {
            M::default()
        } else {
            random::<M>(&mut rng)
        };
        publisher.send(message).unwrap();
        let received = subscriber
            .recv()
            .unwrap_or_else(|| panic!("{topic} did not arrive"));
        assert!(
            bytemuck::bytes_of(&received) == bytemuck::bytes_of(&message),
            "{topic}"
        );
        let _ = format!("{received:?}");
        assert!(subscriber.recv().is_none(), "{topic}");
    }
}

#[test]
fn every_message_passes_a_topic_unchanged() {
    let private = Private::new();
    let mut messages = 0;
    macro_rules! each {
        ($($domain:ident $title:literal { $($name:ident),+ $(,)? })+) => {
            $($(round_trips::<$name>(&private); messages += 1;)+)+
        };
    }
    horus_core::standard_messages!(each);
    let patterns = seeds(rounds(50, 5_000)).count();
    result(
        "message_round_trips",
        format!("messages={messages} patterns={patterns}"),
    );
}

/// Calls `look` with each field of a message and its bytes, including fields of messages inside it.
fn walk(schema: &Schema, bytes: &[u8], look: &mut impl FnMut(&Field, &[u8])) {
    for field in schema.fields {
        let size = field.kind.size();
        let bytes = &bytes[field.offset..field.offset + field.count * size];
        match field.kind {
            FieldKind::Message(inner) => {
                bytes.chunks(size).for_each(|one| walk(inner, one, look));
            }
            FieldKind::Primitive(_) | FieldKind::Text(_) => look(field, bytes),
        }
    }
}

fn default_is_valid<M: Message + Default>() {
    let message = M::default();
    walk(
        &M::SCHEMA,
        bytemuck::bytes_of(&message),
        &mut |field, bytes| {
            let context = format!("{}.{}", M::SCHEMA.name, field.name);
            let is_zero = bytes.iter().all(|byte| *byte == 0);
            let is_quaternion = ["orientation", "rotation"].contains(&field.name);
            if is_quaternion {
                assert_eq!(
                    bytes,
                    bytemuck::bytes_of(&[0.0, 0.0, 0.0, 1.0]),
                    "{context}"
                );
            } else if field.name.ends_with("covariance") {
                let first = f64::from_ne_bytes(bytes[..8].try_into().unwrap());
                assert!(is_zero || first == -1.0, "{context}");
            } else if field.name.contains("count")
                || field.name.starts_with("_reserved")
                || field.name.ends_with("_ns")
                || matches!(field.kind, FieldKind::Text(_))
            {
                assert!(is_zero, "{context}");
            }
        },
    );
}

#[test]
fn defaults_are_valid() {
    macro_rules! each {
        ($($domain:ident $title:literal { $($name:ident),+ $(,)? })+) => {
            $($(default_is_valid::<$name>();)+)+
        };
    }
    horus_core::standard_messages!(each);
    assert_eq!(
        <[f64; 4]>::from(Quaternion::default()),
        [0.0, 0.0, 0.0, 1.0]
    );
    assert_eq!(NavSatFix::default().status, NavSatFix::STATUS_UNKNOWN);
    assert!(EmergencyStop::default().is_engaged());
    assert!(!SafetyStatus::default().may_move());
}

#[test]
fn every_struct_declared_here_is_in_the_list() {
    let mut declared = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/message")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            // WHY: an occurrence in a doc comment is an example.
            let code = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            let code = code.collect::<Vec<_>>().join("\n");
            for body in code.split("message! {\n").skip(1) {
                let name = body
                    .split("struct ")
                    .nth(1)
                    .and_then(|rest| rest.split(' ').next());
                declared.push(name.unwrap().to_owned());
            }
        }
    }
    declared.sort();
    // WHY: for messages with data only the header is declared.
    let suffix = |schema: &Schema| if schema.tail.is_some() { "Header" } else { "" };
    let names = STANDARD
        .iter()
        .map(|schema| format!("{}{}", schema.name, suffix(schema)));
    let mut listed: Vec<_> = names.collect();
    listed.sort();
    assert_eq!(declared, listed, "declared, and listed in standard.rs");
}

#[test]
fn the_list_names_each_message_once_and_inner_ones_first() {
    let by_domain = STANDARD_DOMAINS.iter().flat_map(|domain| domain.messages);
    assert!(by_domain.eq(STANDARD));
    for (index, schema) in STANDARD.iter().enumerate() {
        let before = &STANDARD[..index];
        assert!(
            before.iter().all(|other| other.name != schema.name),
            "{}",
            schema.name
        );
        assert!(
            before.iter().all(|other| other.hash() != schema.hash()),
            "{}",
            schema.name
        );
        for field in schema.fields {
            if let FieldKind::Message(inner) = field.kind {
                assert!(before.contains(&inner), "{}.{}", schema.name, field.name);
            }
        }
    }
}

#[test]
fn every_field_is_described_with_its_unit() {
    for (schema, field) in fields() {
        let context = format!("{}.{}: {:?}", schema.name, field.name, field.doc);
        assert!(field.doc.trim_end().ends_with('.'), "{context}");
        match field.kind {
            FieldKind::Message(_) => assert!(!field.meaning().is_empty(), "{context}"),
            FieldKind::Text(_) => assert_eq!(field.unit(), "text", "{context}"),
            FieldKind::Primitive(_) => {
                assert!(
                    UNITS.contains(&&*field.unit()),
                    "{context}: '{}'",
                    field.unit()
                );
            }
        }
    }
    let units: Vec<_> = fields().map(|(_, field)| field.unit()).collect();
    for unit in UNITS {
        assert!(
            units.iter().any(|used| used == unit),
            "nothing is in {unit}"
        );
    }
}

#[test]
fn constants_are_named_after_what_they_are_and_differ() {
    for schema in STANDARD {
        let group = |constant: &Constant| {
            let name = constant
                .name
                .strip_prefix("POWER_SUPPLY_")
                .unwrap_or(constant.name);
            name.split_once('_').map_or("", |(group, _)| group)
        };
        for (index, one) in schema.constants.iter().enumerate() {
            let context = format!("{}::{}", schema.name, one.name);
            assert!(one.doc.trim_end().ends_with('.'), "{context}");
            assert!(
                one.name.chars().all(|c| c.is_ascii_uppercase() || c == '_'),
                "{context}"
            );
            for other in &schema.constants[..index] {
                assert_ne!(one.name, other.name, "{context}");
                let same = group(one) == group(other) && one.value == other.value;
                assert!(!same, "{context} and {}", other.name);
            }
            let as_field = FieldKind::Primitive(one.kind);
            assert!(
                schema.fields.iter().any(|field| field.kind == as_field),
                "{context}"
            );
        }
    }
    let modes = JointCommand::SCHEMA
        .constants
        .iter()
        .map(|constant| constant.value);
    assert!(modes.eq(0..=4));
    assert_eq!(
        NavSatFix::SCHEMA.constants[0].value,
        i128::from(NavSatFix::STATUS_UNKNOWN)
    );
}

#[test]
fn names_mean_the_same_everywhere() {
    for (schema, field) in fields() {
        let context = format!("{}.{}", schema.name, field.name);
        if field.name.ends_with("_ns") {
            assert_eq!(field.unit(), "nanoseconds", "{context}");
            assert_eq!(
                field.kind,
                FieldKind::Primitive(Primitive::U64),
                "{context}"
            );
        }
        if field.name.ends_with("frame_id") {
            assert_eq!(
                (field.kind, field.count),
                (FieldKind::Text(FRAME_ID_BYTES), 1),
                "{context}"
            );
        }
        if field.name.ends_with("_bytes") {
            assert_eq!(field.unit(), "bytes", "{context}");
        }
        if field.name == "count" || field.name.ends_with("_count") {
            assert_eq!(field.unit(), "count", "{context}");
        }
        if ["orientation", "rotation"].contains(&field.name) {
            assert_eq!((field.count, &*field.unit()), (4, "no unit"), "{context}");
        }
        if field.name.starts_with('_') {
            assert_eq!(
                field.name.trim_end_matches(char::is_numeric),
                "_reserved",
                "{context}"
            );
            assert_eq!(field.doc, " Reserved, 0: no unit.\n", "{context}");
        }
    }
}

#[test]
fn messages_sent_alone_begin_with_a_timestamp() {
    for schema in STANDARD {
        let first = schema.fields[0];
        assert!(
            schema.doc_text().contains('.'),
            "{} is not described",
            schema.name
        );
        if WITHOUT_TIME.contains(&schema.name) {
            assert!(
                schema
                    .fields
                    .iter()
                    .all(|field| field.name != "timestamp_ns")
            );
            let doc = schema.doc_text().replace('\n', " ");
            let said = ["It has no timestamp", "It has no names and no timestamp"];
            assert!(said.iter().any(|said| doc.contains(said)), "{doc}");
        } else {
            assert_eq!(
                (first.name, first.offset),
                ("timestamp_ns", 0),
                "{}",
                schema.name
            );
            assert_eq!(schema.align, 8, "{}", schema.name);
        }
    }
}

#[test]
fn schema_texts_are_read_back() {
    for schema in STANDARD {
        let parsed = Schema::parse(&schema.text()).unwrap();
        assert_eq!((&*parsed.name, parsed.size), (schema.name, schema.size));
        assert_eq!(fnv1a_128(schema.text().as_bytes()), schema.hash());
    }
}

fn shows<M: Message + Display>(rng: &mut Rng) {
    let shown = random::<M>(rng).to_string();
    assert!(!shown.is_empty(), "{}", M::SCHEMA.name);
}

#[test]
fn any_bytes_can_be_formatted_and_read() {
    for seed in seeds(rounds(500, 50_000)) {
        let _case = Case(seed);
        let rng = &mut Rng::with_seed(seed);
        shows::<Pose2D>(rng);
        shows::<Pose3D>(rng);
        shows::<PoseStamped>(rng);
        shows::<PoseWithCovariance>(rng);
        shows::<TransformStamped>(rng);
        shows::<BatteryState>(rng);
        shows::<NavSatFix>(rng);
        shows::<GoalResult>(rng);
        shows::<Detection>(rng);
        shows::<Detection3D>(rng);
        shows::<Heartbeat>(rng);
        shows::<NodeHeartbeat>(rng);
        shows::<DiagnosticValue>(rng);
        shows::<DiagnosticStatus>(rng);
        shows::<EmergencyStop>(rng);
        shows::<SafetyStatus>(rng);
        shows::<ResourceUsage>(rng);
        shows::<NodeEvent>(rng);
        shows::<NodeMetrics>(rng);
        shows::<NodeCommand>(rng);
        shows::<Clock>(rng);

        assert!(random::<LaserScan>(rng).measured().len() <= LASER_RANGES_MAX);
        assert!(random::<JointCommand>(rng).joints() <= JOINTS_MAX);
        let joints = random::<JointState>(rng);
        assert!(joints.joints() <= JOINTS_MAX);
        assert!(joints.index_of("elbow").is_none());
        let battery = random::<BatteryState>(rng);
        assert_eq!(
            battery.cell_voltages().len(),
            battery.cell_temperatures().len()
        );
        assert!(random::<TactileArray>(rng).taxels().len() <= TAXELS_MAX);
        assert!(random::<CameraInfo>(rng).distortion().len() <= DISTORTION_MAX);
        assert!(random::<DiagnosticStatus>(rng).values().len() <= DIAGNOSTIC_VALUES_MAX);
        assert!(random::<NavPath>(rng).waypoints().len() <= NAV_PATH_WAYPOINTS_MAX);
        let joystick = random::<JoystickInput>(rng);
        assert!(joystick.axes().len() <= JOYSTICK_AXES_MAX);
        assert!(!joystick.is_pressed(JOYSTICK_BUTTONS_MAX));
        let _ = random::<TimeReference>(rng).offset_ns();
    }
    result(
        "message_hostile",
        format!("patterns={}", seeds(rounds(500, 50_000)).count()),
    );
}

#[test]
fn counts_beyond_the_array_mean_the_whole_array() {
    let all = u32::MAX;
    let scan = LaserScan {
        count: all,
        ..Default::default()
    };
    assert_eq!(scan.measured().len(), LASER_RANGES_MAX);
    let battery = BatteryState {
        cell_count: all,
        ..Default::default()
    };
    assert_eq!(battery.cell_voltages().len(), BATTERY_CELLS_MAX);
    let pad = TactileArray {
        rows: all,
        columns: all,
        ..Default::default()
    };
    assert_eq!(pad.taxels().len(), TAXELS_MAX);
    let mut path = NavPath {
        count: all,
        ..Default::default()
    };
    assert_eq!(path.waypoints().len(), NAV_PATH_WAYPOINTS_MAX);
    assert!(!path.push(Waypoint::default()));
    let mut status = DiagnosticStatus {
        count: all,
        ..Default::default()
    };
    assert!(!status.push(DiagnosticValue::default()));
    let mut joints = JointState {
        count: all,
        ..Default::default()
    };
    assert!(!joints.push(Text::EMPTY, [0.0; 3]));
}

#[test]
fn lists_fill_up_in_order() {
    let mut path = NavPath::default();
    for index in 0..NAV_PATH_WAYPOINTS_MAX {
        assert_eq!(path.waypoints().len(), index);
        assert!(path.push(Waypoint::new(
            [index as f64, 0.0, 0.0],
            [0.0, 0.0, 0.0, 1.0],
            0.5
        )));
    }
    assert!(!path.push(Waypoint::default()));
    let mut joints = JointState::now();
    for index in 0..JOINTS_MAX {
        assert!(joints.push(
            Text::truncated(&format!("joint{index}")),
            [index as f64, 1.0, 2.0]
        ));
        assert_eq!(joints.index_of(&format!("joint{index}")), Some(index));
    }
    assert!(!joints.push(Text::EMPTY, [0.0; 3]));
    let xs = path.waypoints().iter().map(|waypoint| waypoint.position[0]);
    assert!(xs.eq((0..NAV_PATH_WAYPOINTS_MAX).map(|index| index as f64)));
}

#[test]
fn messages_are_formatted_for_people() {
    let battery = BatteryState {
        present: 1,
        percentage: 0.72,
        voltage: 25.14,
        power_supply_status: BatteryState::POWER_SUPPLY_STATUS_DISCHARGING,
        ..Default::default()
    };
    assert_eq!(battery.to_string(), "72 %, 25.1 V, discharging");
    assert_eq!(BatteryState::default().to_string(), "no battery");
    let slow = SafetyStatus {
        mode: SafetyStatus::MODE_REDUCED,
        enabled: 1,
        watchdog_ok: 1,
        limits_ok: 1,
        speed_max: 0.25,
        message: Text::truncated("gate open"),
        ..Default::default()
    };
    assert_eq!(slow.to_string(), "reduced, at most 0.25 m/s: gate open");
    let pose = PoseStamped::new(
        Text::truncated("map"),
        [1.0, 2.0, 0.0],
        Quaternion::IDENTITY.into(),
    );
    let shown = "map: (1.000, 2.000, 0.000) m, xyzw (0.000, 0.000, 0.000, 1.000)";
    assert_eq!(pose.to_string(), shown);
    assert_eq!(
        GoalResult::new(7, GoalResult::STATUS_SUCCEEDED).to_string(),
        "goal 7: succeeded"
    );
    let event = |kind| NodeEvent::new(kind, "arm", 1);
    let late = event(NodeEvent::MISSED)
        .with_value_ns(1_250_000)
        .with_tick(7);
    let missed = "arm: missed its deadline by 1.25 ms in tick 7";
    assert_eq!(late.to_string(), missed);
    let long = late.with_text("budget").to_string();
    assert_eq!(long, "arm: exceeded its budget by 1.25 ms in tick 7");
    let repeated = late.with_text("deadline; and 4 more before this");
    let wanted = format!("{missed}: and 4 more before this");
    assert_eq!(repeated.to_string(), wanted);
    let failed = event(NodeEvent::FAILED).with_text("no such port\nTraceback:");
    assert_eq!(failed.to_string(), "arm: failed: no such port");
    let stale = event(NodeEvent::STALE_INPUT).with_text("scan");
    assert_eq!(stale.to_string(), "arm: without input: scan");
    let missing = event(NodeEvent::LANE_NOT_MAPPED).with_text("8 bytes");
    assert_eq!(missing.to_string(), "arm: misses a publisher: 8 bytes");
    let other = event(NodeEvent::INCOMPATIBLE).with_text("another message");
    assert_eq!(
        other.to_string(),
        "arm: incompatible with all publishers: another message"
    );
    assert_eq!(
        NodeEvent::new(99, "", 0).with_value_ns(5).to_string(),
        "event of kind 99, 5 ns"
    );
    let faster = NodeCommand::new(NodeCommand::SET_RATE, Text::truncated("arm")).with_rate_hz(0.5);
    assert_eq!(faster.to_string(), "run arm at 0.5 Hz");
    let active = NodeMetrics {
        state: NodeMetrics::STATE_ACTIVE,
        ..NodeMetrics::new("arm")
    };
    let shown = "arm active, 0 ticks, the last in 0 ns, the longest in 0 ns, 0 missed";
    assert_eq!(active.to_string(), shown);
    let mut paused = active;
    paused.is_paused = 1;
    assert!(paused.to_string().starts_with("arm active and paused, 0"));
    paused.state = NodeMetrics::STATE_PAUSED;
    assert!(paused.to_string().starts_with("arm paused, 0 ticks"));
    let clock = Clock {
        timestamp_ns: 0,
        clock_ns: 12_500_000_000,
        rate: 1.0,
    };
    assert_eq!(clock.to_string(), "12.500000000 s, × 1");
    assert_eq!(NavSatFix::default().to_string(), "no fix");
}
