//! Reads and edits messages with nothing but their schema text.

use horus_testing as _;

mod heap;
mod noise;
mod shapes;

use fastrand::Rng;
use heap::peak;
use horus_core::message::{
    CmdVel, FieldError, Image, Layout, LayoutError, Message, OccupancyGrid, ParsedSchema,
    PointCloud, Pose2D, Primitive, STANDARD, Schema, Tail, Tensor, Text, Twist,
};
use horus_core::value::{TypedArray, Value};
use noise::{Case, seeds};

horus_core::message! {
    /// A foot.
    pub struct Foot {
        /// Metres.
        pub x: f64,
        /// Newtons.
        pub force: [f32; 2],
    }
}

horus_core::message! {
    /// A leg.
    pub struct Leg {
        /// The front foot and the rear foot.
        pub feet: [Foot; 2],
        /// Newton-metres.
        pub torque: [i16; 4],
    }
}

horus_core::message! {
    /// A robot with legs.
    pub struct Walker {
        /// Nanoseconds.
        pub timestamp_ns: u64,
        /// The legs in the order of the hips.
        pub legs: [Leg; 3],
        /// Position of the robot.
        pub pose: Pose2D,
        /// A flag.
        pub walking: u8,
        /// Text.
        pub name: [u8; 7],
    }
}

fn layout(text: &str) -> Layout {
    Schema::parse(text).unwrap().layout().unwrap()
}

fn walker() -> (Layout, Vec<u8>) {
    let foot = |x: f64| Foot {
        x,
        force: [1.0, 2.0],
    };
    let leg = |x| Leg {
        feet: [foot(x), foot(x + 1.0)],
        torque: [1, 2, 3, -4],
    };
    let message = Walker {
        timestamp_ns: u64::MAX,
        legs: [leg(0.0), leg(2.0), leg(4.0)],
        pose: Pose2D {
            timestamp_ns: 1,
            x: 0.5,
            y: 0.25,
            theta: 0.0,
        },
        walking: 1,
        name: *b"spot\0\0\0",
    };
    (
        layout(&Walker::SCHEMA.text()),
        bytemuck::bytes_of(&message).to_vec(),
    )
}

#[test]
fn a_message_is_shown_as_it_was_declared() {
    let (layout, bytes) = walker();
    let foot = |x| format!(r#"{{"x": {x:?}, "force": f32[1.0, 2.0]}}"#);
    let leg = |x: f64| {
        let feet = format!("[{}, {}]", foot(x), foot(x + 1.0));
        format!(r#"{{"feet": {feet}, "torque": i16[1, 2, 3, -4]}}"#)
    };
    let legs = format!("[{}, {}, {}]", leg(0.0), leg(2.0), leg(4.0));
    let start = r#"{"timestamp_ns": 18446744073709551615, "legs": "#;
    let pose = r#", "pose": {"timestamp_ns": 1, "x": 0.5, "y": 0.25, "theta": 0.0}"#;
    let end = r#", "walking": 1, "name": u8[115, 112, 111, 116, 0, 0, 0]}"#;
    let wanted = [start, &legs, pose, end].concat();
    assert_eq!(layout.decode(&bytes).unwrap().to_string(), wanted);
}

#[test]
fn a_field_is_read_and_written_by_its_path() {
    let (layout, mut bytes) = walker();
    let get = |bytes: &[u8], path: &str| layout.get(bytes, path).unwrap().to_string();
    assert_eq!(get(&bytes, "legs[2].feet[1].x"), "5.0");
    assert_eq!(get(&bytes, "legs[1].torque[3]"), "-4");
    assert_eq!(get(&bytes, "legs[1].torque"), "i16[1, 2, 3, -4]");
    assert_eq!(
        get(&bytes, "pose"),
        r#"{"timestamp_ns": 1, "x": 0.5, "y": 0.25, "theta": 0.0}"#
    );
    let whole = layout.decode(&bytes).unwrap();
    for path in [
        "",
        "legs",
        "legs[0]",
        "legs[0].feet",
        "legs[0].feet[1].force",
        "name",
    ] {
        let value = layout.get(&bytes, path).unwrap();
        assert_eq!(Some(&value), whole.get_path(path), "{path}");
        layout.set(&mut bytes, path, &value).unwrap();
    }
    assert_eq!(
        layout.decode(&bytes).unwrap(),
        whole,
        "what was read can be written"
    );

    let mut set = |path: &str, value: Value| layout.set(&mut bytes, path, &value).unwrap();
    set("legs[2].feet[1].x", 7.into());
    set("legs[0].torque[1]", (-9).into());
    set("pose", Value::from([("y", 3.5)]));
    set("name", b"dog\0\0\0\0".into());
    set(
        "legs[1].feet[0].force",
        TypedArray::from_slice(&[3.0_f64, 0.1]).into(),
    );
    set("legs[1].torque", Value::from([1, 2, 3, 4]));
    let walker: Walker = bytemuck::pod_read_unaligned(&bytes);
    assert_eq!(walker.legs[2].feet[1].x, 7.0);
    assert_eq!(walker.legs[0].torque, [1, -9, 3, -4]);
    assert_eq!((walker.pose.x, walker.pose.y), (0.5, 3.5));
    assert_eq!(walker.name, *b"dog\0\0\0\0");
    assert_eq!(walker.legs[1].feet[0].force, [3.0, 0.1]);
    assert_eq!(walker.legs[1].torque, [1, 2, 3, 4]);
}

#[test]
fn missing_fields_are_zero() {
    let (layout, _) = walker();
    let bytes = layout.encode(&Value::from([("walking", 1)])).unwrap();
    let mut wanted = vec![0; size_of::<Walker>()];
    wanted[size_of::<Walker>() - 8] = 1;
    assert_eq!(bytes, wanted);
    assert_eq!(
        layout.encode(&Value::Map(Vec::new())).unwrap(),
        vec![0; size_of::<Walker>()]
    );
}

#[test]
fn errors_name_the_path_and_what_was_found_and_wanted() {
    let (layout, before) = walker();
    let mut bytes = before.clone();
    let rows: [(&str, Value, &str); 20] = [
        (
            "walking",
            256.into(),
            "'walking' is a u8, which cannot hold integer 256",
        ),
        (
            "walking",
            (-1).into(),
            "'walking' is a u8, which cannot hold integer -1",
        ),
        ("walking", 1.0.into(), "'walking' is a u8, not float 1.0"),
        (
            "walking",
            true.into(),
            "'walking' is a u8, not boolean true",
        ),
        (
            "pose.x",
            "1".into(),
            "'pose.x' is an f64, not a text of 1 bytes",
        ),
        (
            "pose",
            Value::from([("z", 1)]),
            "'pose.z': there is no field 'z'",
        ),
        (
            "pose",
            Value::from([(1, 1)]),
            "'pose' is a message with named fields, not integer 1",
        ),
        ("pose", 1.into(), "'pose' is a message, not integer 1"),
        ("legs", 1.into(), "'legs' is an array, not integer 1"),
        ("legs", Value::from([1, 2]), "'legs' has 3 elements, not 2"),
        (
            "legs",
            Value::from([1, 2, 3]),
            "'legs[0]' is a message, not integer 1",
        ),
        (
            "legs[1].torque",
            Value::from([1, 2, 3]),
            "'legs[1].torque' has 4 elements, not 3",
        ),
        (
            "legs[1]",
            Value::from([("torque", Value::from([5, 6, 7, 40_000]))]),
            "'legs[1].torque[3]' is an i16, which cannot hold integer 40000",
        ),
        (
            "legs[1].feet[0].force[0]",
            1e39.into(),
            "'legs[1].feet[0].force[0]' is an f32, which cannot hold float 1e39",
        ),
        (
            "legs[3]",
            1.into(),
            "'legs[3]': there is no element 3, the array has 3",
        ),
        (
            "legs[0].torque[4]",
            1.into(),
            "'legs[0].torque[4]': there is no element 4, the array has 4",
        ),
        (
            "pose[0]",
            1.into(),
            "'pose[0]' has an index into a field that is not an array",
        ),
        (
            "legs.feet",
            1.into(),
            "'legs.feet': there is no field 'feet'",
        ),
        ("wheels", 1.into(), "'wheels': there is no field 'wheels'"),
        (
            "legs[",
            1.into(),
            "'legs[' is not a path: write it as legs[2].feet[1].x",
        ),
    ];
    for (path, value, wanted) in rows {
        assert_eq!(
            layout
                .set(&mut bytes, path, &value)
                .unwrap_err()
                .to_string(),
            wanted
        );
        assert_eq!(bytes, before, "an error changes nothing");
    }
    let error = layout.decode(&before[1..]).unwrap_err();
    let wanted = before.len();
    assert_eq!(
        error,
        FieldError::Length {
            found: wanted - 1,
            wanted,
            element_bytes: None
        }
    );
    let error = layout
        .encode(&Value::from([("pose", Value::from([("z", 1)]))]))
        .unwrap_err();
    assert_eq!(error.to_string(), "'pose.z': there is no field 'z'");
}

/// Tests the largest numbers that fit, and the smallest that do not.
#[test]
fn integers_are_accepted_up_to_the_edges_of_their_type() {
    let rows: [(&str, i128, i128); 8] = [
        ("u8", 0, u8::MAX.into()),
        ("u16", 0, u16::MAX.into()),
        ("u32", 0, u32::MAX.into()),
        ("u64", 0, u64::MAX.into()),
        ("i8", i8::MIN.into(), i8::MAX.into()),
        ("i16", i16::MIN.into(), i16::MAX.into()),
        ("i32", i32::MIN.into(), i32::MAX.into()),
        ("i64", i64::MIN.into(), i64::MAX.into()),
    ];
    let value = |number: i128| match i64::try_from(number) {
        Ok(number) => Some(Value::Int(number)),
        Err(_) => u64::try_from(number).ok().map(Value::UInt),
    };
    for (name, least, most) in rows {
        let text = format!("horus schema 1\nmessage M\nsize 8\nalign 8\nfield a {name} 0 1\n");
        let layout = layout(&text);
        let mut bytes = vec![0; 8];
        for number in [least, most].into_iter().filter_map(value) {
            layout.set(&mut bytes, "a", &number).unwrap();
            assert_eq!(layout.get(&bytes, "a"), Ok(number), "{name}");
        }
        for number in [least - 1, most + 1].into_iter().filter_map(value) {
            let error = layout.set(&mut bytes, "a", &number).unwrap_err();
            assert!(matches!(error, FieldError::Range { .. }), "{name}: {error}");
        }
    }
}

/// Uses random bytes, in which floats may be any NaN and texts may be invalid.
#[test]
fn the_messages_of_this_repository_come_back_bit_for_bit() {
    let framed = [
        Image::SCHEMA,
        PointCloud::SCHEMA,
        Tensor::SCHEMA,
        OccupancyGrid::SCHEMA,
    ];
    let schemas = STANDARD
        .iter()
        .copied()
        .copied()
        .chain(framed)
        .chain([Walker::SCHEMA]);
    // WHY fewer, and none that is large: miri runs a thousandth as fast.
    let (step, bytes_max) = if cfg!(miri) {
        (5, 256)
    } else {
        (1, usize::MAX)
    };
    for schema in schemas
        .filter(|schema| schema.size <= bytes_max)
        .step_by(step)
    {
        let layout = layout(&schema.text());
        let tail_bytes = if schema.tail.is_some() { 24 } else { 0 };
        for seed in seeds(10) {
            let _case = Case(seed);
            let rng = &mut Rng::with_seed(seed);
            let random = (0..schema.size + tail_bytes).map(|_| rng.u8(..));
            let bytes: Vec<u8> = random.collect();
            let (value, heap) = peak(|| layout.decode(&bytes).unwrap());
            assert!(
                heap < 100 * bytes.len() + 1000,
                "{heap} bytes for {}",
                schema.name
            );
            assert_eq!(layout.encode(&value).unwrap(), bytes, "{}", schema.name);
            let sent = Value::decode(&value.to_msgpack().unwrap()).unwrap();
            assert_eq!(
                layout.encode(&sent).unwrap(),
                bytes,
                "{}, over MessagePack",
                schema.name
            );
        }
    }
}

horus_core::message! {
    /// A thing with names.
    pub struct Named {
        /// Its name.
        pub name: Text<8>,
        /// Other names.
        pub others: [Text<4>; 2],
    }
}

#[test]
fn texts_are_strings_and_invalid_texts_are_bytes() {
    let layout = layout(&Named::SCHEMA.text());
    let mut bytes = b"robot\0\0\0ab\0\0\xff\0\0c".to_vec();
    let value = layout.decode(&bytes).unwrap();
    let wanted = r#"{"name": "robot", "others": ["ab", b"\xff\x00\x00c"]}"#;
    assert_eq!(value.to_string(), wanted);
    assert_eq!(layout.encode(&value).unwrap(), bytes);

    layout.set(&mut bytes, "name", &"Größe".into()).unwrap();
    layout.set(&mut bytes, "others[1]", &"".into()).unwrap();
    assert_eq!(bytes, b"Gr\xc3\xb6\xc3\x9fe\0ab\0\0\0\0\0\0");
    for (path, value, wanted) in [
        (
            "others[0]",
            "abcde",
            "'others[0]' is a text of 4 bytes, which cannot hold a text of 5 bytes",
        ),
        (
            "others[0]",
            "a\0b",
            "'others[0]' is a text of 4 bytes, which cannot hold a text of 3 bytes",
        ),
    ] {
        let error = layout.set(&mut bytes, path, &value.into()).unwrap_err();
        assert_eq!(error.to_string(), wanted);
    }
    let error = layout.set(&mut bytes, "name", &1.into()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "'name' is a text of 8 bytes, not integer 1"
    );
    let error = layout.get(&bytes, "name[0]").unwrap_err();
    assert_eq!(
        error.to_string(),
        "'name[0]' has an index into a field that is not an array"
    );
}

/// Tests every kind of single. Converting a signalling NaN of single precision to double and back
/// may change its bits.
#[test]
fn every_kind_of_single_comes_back_bit_for_bit() {
    let layout = layout(&CmdVel::SCHEMA.text());
    let bits = [
        0x7f80_0001_u32,
        0xff80_0001,
        0x7fc0_0000,
        0xffff_ffff,
        0x7fbf_ffff,
        0x8000_0000,
        1,
    ];
    for bits in bits {
        let bytes = [&[0; 8][..], &bits.to_le_bytes(), &[0; 4]].concat();
        let value = layout.decode(&bytes).unwrap();
        assert_eq!(layout.encode(&value).unwrap(), bytes, "{bits:x}");
    }
}

#[test]
fn random_messages_are_what_their_schema_says() {
    for seed in seeds(1000) {
        let _case = Case(seed);
        let rng = &mut Rng::with_seed(seed);
        let message = shapes::message(rng, 3);
        let text = message.text();
        let layout = layout(&text);
        let (bytes, value) = message.random(rng);
        let decoded = layout.decode(&bytes).unwrap();
        // WHY: compares text, since a NaN does not equal itself.
        assert_eq!(decoded.to_string(), value.to_string(), "{text}");
        assert_eq!(layout.encode(&decoded).unwrap(), bytes, "{text}");
    }
}

#[test]
fn the_data_at_the_end_are_as_many_as_there_are() {
    let schema = |primitive| {
        Twist::SCHEMA.framed(
            "Stream",
            Tail {
                name: "data",
                primitive,
            },
        )
    };
    let raw = layout(&schema(Primitive::U8).text());
    let bytes = [&[0; 56][..], b"\x01\xff\x03"].concat();
    assert_eq!(raw.get(&bytes, "data"), Ok(b"\x01\xff\x03".into()));
    assert_eq!(raw.get(&bytes, "data[1]"), Ok(255.into()));
    assert_eq!(raw.encode(&raw.decode(&bytes).unwrap()), Ok(bytes.clone()));
    assert_eq!(raw.decode(&[0; 56]).unwrap().get("data"), Some(&b"".into()));
    assert!(raw.decode(&[0; 55]).is_err());

    let singles = layout(&schema(Primitive::F32).text());
    let value = Value::from([("data", Value::from([0.5, 2.0]))]);
    let mut bytes = singles.encode(&value).unwrap();
    assert_eq!(bytes.len(), 56 + 8);
    assert_eq!(
        singles.get(&bytes, "data"),
        Ok(TypedArray::from_slice(&[0.5_f32, 2.0]).into())
    );
    singles.set(&mut bytes, "data[1]", &3.into()).unwrap();
    assert_eq!(singles.get(&bytes, "data[1]"), Ok(3.0.into()));
    let error = singles
        .set(&mut bytes, "data", &Value::from([1.0]))
        .unwrap_err();
    assert_eq!(error.to_string(), "'data' has 2 elements, not 1");
    let error = singles.decode(&[0; 58]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the message has 58 bytes, the schema wants 56 and any number of elements of 4"
    );
    assert_eq!(
        singles.get(&bytes, "linear.data").unwrap_err(),
        FieldError::NoSuchField {
            path: "linear.data".to_owned(),
            name: "data".to_owned()
        }
    );
}

fn refused(fields: &str, size: usize) -> LayoutError {
    let text = format!("horus schema 1\nmessage Bad\nsize {size}\nalign 8\n{fields}");
    Schema::parse(&text).unwrap().layout().unwrap_err()
}

#[test]
fn texts_that_describe_no_message_are_refused() {
    let most = usize::MAX;
    assert_eq!(
        refused("field a u8 0 5\nfield b u8 1 4\n", 8),
        LayoutError::Overlap
    );
    assert_eq!(
        refused("field a u8 0 1 1000000000000*0\n", 8),
        LayoutError::Overlap
    );
    assert_eq!(
        refused(&format!("field a u8 0 1 {most}*0\n"), 8),
        LayoutError::Overlap
    );
    let both = refused("field a u8 0 1\nfield a.b u8 1 1\n", 8);
    assert_eq!(
        both,
        LayoutError::Ambiguous {
            path: "a".to_owned()
        }
    );
    let both = refused("field a.b u8 0 1\nfield a u8 1 1\n", 8);
    assert_eq!(
        both,
        LayoutError::Ambiguous {
            path: "a".to_owned()
        }
    );
    let deep = format!("field {}x u8 0 1\n", "a.".repeat(3000));
    assert!(matches!(refused(&deep, 1), LayoutError::TooDeep { .. }));
    let long = format!("field a.{} u8 0 1 100000*1\n", "x".repeat(10_000));
    assert_eq!(refused(&long, 100_000), LayoutError::TooLarge);
}

#[test]
fn a_schema_built_by_hand_is_checked_too() {
    let schema = Schema::parse(&CmdVel::SCHEMA.text()).unwrap();
    let with = |change: fn(&mut ParsedSchema)| {
        let mut schema = schema.clone();
        change(&mut schema);
        schema.layout().map(|_| ())
    };
    assert_eq!(
        with(|schema| schema.fields[0].shape.offset = 16),
        Err(LayoutError::Overlap)
    );
    assert_eq!(with(|schema| schema.size = 15), Err(LayoutError::Overlap));
    assert_eq!(
        with(|schema| schema.fields[1].shape.arrays = vec![(2, 9)]),
        Err(LayoutError::Overlap)
    );
    assert_eq!(
        with(|schema| schema.fields[1].shape.arrays = vec![(0, 9)]),
        Ok(())
    );
}

#[test]
fn a_message_of_a_hostile_size_is_not_allocated() {
    // Eight bytes more than a gibibyte. A schema of such a size is refused.
    let text = "horus schema 1\nmessage Long\nsize 8\nalign 8\nfield a u8 0 8\ntail data f64\n";
    let data = TypedArray::from_slice(&vec![0_u8; 1 << 27]);
    let (layout, value) = (layout(text), Value::from([("data", Value::from(data))]));
    let (error, heap) = peak(|| layout.encode(&value).unwrap_err());
    assert!(
        matches!(error, FieldError::TooLong { .. }) && heap < 1000,
        "{error}, {heap}"
    );
}

/// Checks paths in schemas with nested arrays of messages, for every choice of the messages that
/// are arrays.
#[test]
fn arrays_are_assigned_to_the_right_message() {
    let rows = [
        // One element of `a` has both fields; the outer message is the array.
        (
            "field a.b.x u8 0 1 2*2\nfield a.b.y u8 1 1 2*2\n",
            "a[1].b.y",
        ),
        ("field a.t u8 0 1\nfield a.b.x u8 1 1 2*1\n", "a.b[1].x"),
        // There are two arrays in one message, which together are longer than a stride.
        (
            "field a.b.x u8 0 1 2*1\nfield a.c.x u8 2 1 2*1\n",
            "a.c[1].x",
        ),
        ("field a.b.x u8 0 1 2*2 2*1\n", "a[1].b[1].x"),
        (
            "field a.b.c.x u8 0 1 2*2\nfield a.b.y u8 1 1 2*2\n",
            "a[1].b.c.x",
        ),
    ];
    for (fields, path) in rows {
        let layout = layout(&format!(
            "horus schema 1\nmessage M\nsize 4\nalign 1\n{fields}"
        ));
        assert!(
            layout.get(&[0, 1, 2, 3], path).is_ok(),
            "{path} of {fields}"
        );
    }
}
