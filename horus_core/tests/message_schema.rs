//! The canonical text, its hash, and the comparison of two texts.

use horus_testing as _;

mod noise;

use fastrand::Rng;
use horus_core::message::{
    CmdVel, Imu, JointCommand, LaserScan, Message, Odometry, ParsedSchema, Pose2D, Primitive,
    SCHEMA_TEXT_BYTES_MAX, Schema, SchemaDifference, SchemaTextError, Tail, Twist,
    first_difference, fnv1a_128,
};

use horus_core::topic::DynamicType;

/// Hashes and texts that peers in other languages and recorded files contain. A change here breaks
/// all of them.
const GOLDEN: &[(Schema, u128, u128, &str)] = &[
    (
        CmdVel::SCHEMA,
        CmdVel::HASH,
        0xa6d7_4e5d_663f_338c_b818_bd1a_d899_88b3,
        "horus schema 1\nmessage CmdVel\nsize 16\nalign 8\n\
         field timestamp_ns u64 0 1\n\
         field linear f32 8 1\n\
         field angular f32 12 1\n",
    ),
    (
        JointCommand::SCHEMA,
        JointCommand::HASH,
        0x4a65_14cb_5ec8_96b3_d11c_f45b_15dc_1b6e,
        "horus schema 1\nmessage JointCommand\nsize 928\nalign 8\n\
         field timestamp_ns u64 0 1\n\
         field count u32 8 1\n\
         field _reserved u32 12 1\n\
         field mode u8 16 16\n\
         field position f64 32 16\n\
         field velocity f64 160 16\n\
         field acceleration f64 288 16\n\
         field effort f64 416 16\n\
         field stiffness f64 544 16\n\
         field damping f64 672 16\n\
         field effort_max f64 800 16\n",
    ),
    (
        Twist::SCHEMA,
        Twist::HASH,
        0x259e_7317_2a79_89bb_4120_55e9_b1a6_866b,
        "horus schema 1\nmessage Twist\nsize 56\nalign 8\n\
         field timestamp_ns u64 0 1\n\
         field linear f64 8 3\n\
         field angular f64 32 3\n",
    ),
    (
        Pose2D::SCHEMA,
        Pose2D::HASH,
        0x5bc7_25ec_9dd6_9896_22d3_af54_adcb_3030,
        "horus schema 1\nmessage Pose2D\nsize 32\nalign 8\n\
         field timestamp_ns u64 0 1\n\
         field x f64 8 1\n\
         field y f64 16 1\n\
         field theta f64 24 1\n",
    ),
    (
        Imu::SCHEMA,
        Imu::HASH,
        0x1fb8_8ec2_e68f_ac71_66c0_f92f_ed9c_36a9,
        "horus schema 1\nmessage Imu\nsize 304\nalign 8\n\
         field timestamp_ns u64 0 1\n\
         field orientation f64 8 4\n\
         field orientation_covariance f64 40 9\n\
         field angular_velocity f64 112 3\n\
         field angular_velocity_covariance f64 136 9\n\
         field linear_acceleration f64 208 3\n\
         field linear_acceleration_covariance f64 232 9\n",
    ),
    (
        LaserScan::SCHEMA,
        LaserScan::HASH,
        0x4f3c_d10c_e037_e0f6_dc4d_8086_3d0b_b59d,
        "horus schema 1\nmessage LaserScan\nsize 1480\nalign 8\n\
         field timestamp_ns u64 0 1\n\
         field angle_min f32 8 1\n\
         field angle_max f32 12 1\n\
         field angle_increment f32 16 1\n\
         field time_increment f32 20 1\n\
         field scan_time f32 24 1\n\
         field range_min f32 28 1\n\
         field range_max f32 32 1\n\
         field count u32 36 1\n\
         field ranges f32 40 360\n",
    ),
    (
        Odometry::SCHEMA,
        Odometry::HASH,
        0xfd74_e7f9_cdc8_7358_0143_6083_d0c5_dfdc,
        "horus schema 1\nmessage Odometry\nsize 688\nalign 8\n\
         field timestamp_ns u64 0 1\n\
         field position f64 8 3\n\
         field orientation f64 32 4\n\
         field pose_covariance f64 64 36\n\
         field linear f64 352 3\n\
         field angular f64 376 3\n\
         field twist_covariance f64 400 36\n",
    ),
];

horus_core::message! {
    struct Point { x: f32, y: f32 }
}

horus_core::message! {
    struct Leg { id: u64, feet: [[Point; 3]; 2], tip: [Point; 1], gains: [[f64; 2]; 2] }
}

horus_core::message! {
    struct Robot { r#type: u64, legs: [Leg; 4], tail: Leg }
}

const ROBOT_TEXT: &str = "horus schema 1\nmessage Robot\nsize 488\nalign 8\n\
    field type u64 0 1\n\
    field legs.id u64 8 1 4*96\n\
    field legs.feet.x f32 16 1 4*96 6*8\n\
    field legs.feet.y f32 20 1 4*96 6*8\n\
    field legs.tip.x f32 64 1 4*96\n\
    field legs.tip.y f32 68 1 4*96\n\
    field legs.gains f64 72 4 4*96\n\
    field tail.id u64 392 1\n\
    field tail.feet.x f32 400 1 6*8\n\
    field tail.feet.y f32 404 1 6*8\n\
    field tail.tip.x f32 448 1\n\
    field tail.tip.y f32 452 1\n\
    field tail.gains f64 456 4\n";

/// Formats a parsed schema as the text that it was parsed from.
fn rendered(schema: &ParsedSchema) -> String {
    let ParsedSchema {
        name,
        size,
        align,
        fields,
        tail,
    } = schema;
    let mut text = format!("horus schema 1\nmessage {name}\nsize {size}\nalign {align}\n");
    for field in fields {
        let shape = &field.shape;
        let kind = shape.primitive.name();
        let offset = shape.offset;
        let count = shape.count;
        text += &format!("field {} {kind} {offset} {count}", field.path);
        for (count, stride) in &shape.arrays {
            text += &format!(" {count}*{stride}");
        }
        text += "\n";
    }
    if let Some(tail) = tail {
        text += &format!("tail {} {}\n", tail.name, tail.primitive.name());
    }
    text
}

/// A message that ends in any number of samples.
const WAVE: Schema = Point::SCHEMA.framed(
    "Wave",
    Tail {
        name: "samples",
        primitive: Primitive::I16,
    },
);

const WAVE_TEXT: &str = "horus schema 1\nmessage Wave\nsize 8\nalign 4\n\
    field x f32 0 1\n\
    field y f32 4 1\n\
    tail samples i16\n";

/// This is a compile error in a `const`, where `framed` is usually called.
#[test]
#[should_panic(expected = "must not be called like a field of the header")]
fn a_tail_must_not_have_the_name_of_a_field() {
    let _ = Point::SCHEMA.framed(
        "Wave",
        Tail {
            name: "y",
            primitive: Primitive::I16,
        },
    );
}

/// Damages `text` in one place, in ways that leave it almost canonical.
fn mutate(rng: &mut Rng, text: &mut Vec<u8>) {
    const PIECES: &[&[u8]] = &[
        b"18446744073709551615",
        b"0",
        b" 2*8",
        b"\n",
        b" ",
        b".",
        b"*",
        b"f64",
        b"\xff",
    ];
    let at = rng.usize(..text.len() + 1);
    match rng.usize(..6) {
        0 if at < text.len() => text[at] ^= 1 << rng.usize(..8),
        1 if at < text.len() => text[at] = b'0' + rng.usize(..10) as u8,
        2 => text.truncate(at),
        3 => drop(text.splice(at..at, PIECES[rng.usize(..PIECES.len())].iter().copied())),
        4 => {
            let end = at + rng.usize(..text.len() - at + 1).min(24);
            let to = rng.usize(..text.len() + 1);
            let moved = text[at..end].to_vec();
            drop(text.splice(to..to, moved));
        }
        _ => {
            let mut lines: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').collect();
            if !lines.is_empty() {
                let a = rng.usize(..lines.len());
                let b = rng.usize(..lines.len());
                lines.swap(a, b);
            }
            *text = lines.concat();
        }
    }
}

#[test]
fn text_and_hash_of_every_message_are_golden() {
    for (schema, hash, golden_hash, golden_text) in GOLDEN {
        assert_eq!(schema.text(), *golden_text);
        assert_eq!(hash, golden_hash, "{}: {hash:032x}", schema.name);
    }
}

#[test]
fn hash_without_text_equals_hash_of_text() {
    const ROBOT_HASH: u128 = Robot::HASH;
    assert_eq!(ROBOT_HASH, fnv1a_128(Robot::SCHEMA.text().as_bytes()));
    for (schema, hash, ..) in GOLDEN {
        assert_eq!(*hash, fnv1a_128(schema.text().as_bytes()));
        assert_eq!(schema.text_bytes(), schema.text().len());
    }
}

#[test]
fn hash_agrees_with_the_official_vectors() {
    assert_eq!(fnv1a_128(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
    assert_eq!(fnv1a_128(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    assert_eq!(
        fnv1a_128(b"foobar"),
        0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18
    );
}

#[test]
fn messages_have_different_hashes() {
    let hashes: std::collections::BTreeSet<_> = GOLDEN.iter().map(|row| row.1).collect();
    assert_eq!(hashes.len(), GOLDEN.len());
}

#[test]
fn nested_messages_are_flattened() {
    assert_eq!(Robot::SCHEMA.text(), ROBOT_TEXT);
}

#[test]
fn a_tail_is_the_last_line() {
    assert_eq!(WAVE.text(), WAVE_TEXT);
    assert_eq!(WAVE.hash(), fnv1a_128(WAVE_TEXT.as_bytes()));
    for (from, to) in [
        ("tail samples i16\n", "tail samples i16"),
        ("tail samples i16\n", "tail samples i16\nfield z u8 7 1\n"),
        ("tail samples i16\n", "tail samples i16\ntail more i16\n"),
        ("tail samples", "tail x"),
        ("tail samples", "tail 1"),
        ("tail samples i16", "tail samples i16 4"),
        ("size 8", "size 9"),
    ] {
        let broken = WAVE_TEXT.replace(from, to);
        assert!(Schema::parse(&broken).is_err(), "{broken}");
    }
    let other = WAVE_TEXT.replace("i16", "u16");
    assert_eq!(
        first_difference(WAVE_TEXT, &other).to_string(),
        "after the fields: 'samples' of i16 here, 'samples' of u16 in the topic"
    );
}

/// No topic carries such messages. Their numbers were cut to 32 bits.
#[test]
fn sizes_that_no_topic_can_carry_are_refused() {
    for (from, to, line) in [
        ("size 8", "size 4294967360", 3),
        ("size 8", "size 18446744073709551615", 3),
        ("size 8", "size 67108872", 3),
        ("align 4", "align 4294967296", 4),
        ("align 4", "align 128", 4),
    ] {
        let text = WAVE_TEXT.replace(from, to);
        assert_ne!(text, WAVE_TEXT);
        let error = Schema::parse(&text).unwrap_err();
        assert!(matches!(error, SchemaTextError::Line { line: found, .. } if found == line));
        assert!(DynamicType::parse(&text).is_err());
    }
}

#[test]
fn parse_reads_back_every_text() {
    for text in GOLDEN
        .iter()
        .map(|row| row.3)
        .chain([ROBOT_TEXT, WAVE_TEXT])
    {
        assert_eq!(rendered(&Schema::parse(text).unwrap()), text);
        assert_eq!(first_difference(text, text), SchemaDifference::None);
    }
}

#[test]
fn difference_names_the_first_field() {
    mod here {
        horus_core::message! {
            pub(super) struct Hit { x: f32, y: f32, z: f32, t: f32, a: f32, ring: u16, b: u16 }
        }
    }
    mod there {
        horus_core::message! {
            pub(super) struct Hit { x: f32, y: f32, z: f32, t: f32, a: f32, ring: u32 }
        }
    }
    assert_ne!(here::Hit::HASH, there::Hit::HASH);
    let difference = first_difference(&here::Hit::SCHEMA.text(), &there::Hit::SCHEMA.text());
    assert_eq!(
        difference.to_string(),
        "field 'ring': u16 @20 here, u32 @20 in the topic"
    );
}

#[test]
fn difference_text_describes_the_difference() {
    let head = "horus schema 1\nmessage M\nsize 8\nalign 4\n";
    let here = format!("{head}field a u32 0 1\nfield b u32 4 1\n");
    let said = |in_topic: String| first_difference(&here, &in_topic).to_string();

    let shorter = format!("{head}field a u32 0 1\n");
    assert_eq!(
        said(shorter.clone()),
        "field 'b': u32 @4 here, missing in the topic"
    );
    assert_eq!(
        first_difference(&shorter, &here).to_string(),
        "field 'b': missing here, u32 @4 in the topic"
    );
    assert_eq!(
        said(format!(
            "{head}field z u16 0 1\nfield a u16 2 1\nfield b u32 4 1\n"
        )),
        "field 'z': missing here, u16 @0 in the topic"
    );
    assert_eq!(
        said(here.replace(" b ", " c ")),
        "field 'b' here is 'c' in the topic, both u32 @4"
    );
    assert_eq!(
        said(format!("{head}field b u32 0 1\nfield a u32 4 1\n")),
        "field 'a': u32 @0 here, u32 @4 in the topic"
    );
    assert_eq!(
        said(format!("{head}field a u16 0 2\nfield b u8 4 1 2*1\n")),
        "field 'a': u32 @0 here, u16[2] @0 in the topic"
    );
    assert_eq!(
        said(here.replace("b u32 4 1", "b u16 4 1 2*2")),
        "field 'b': u32 @4 here, u16 @4 (2 every 2 B) in the topic"
    );
    assert_eq!(
        said(here.replace(" M", " N")),
        "message 'M' here, 'N' in the topic"
    );
    assert_eq!(
        said(here.replace("size 8", "size 9")),
        "size: 8 bytes here, 9 in the topic"
    );
    assert_eq!(
        said(here.replace("align 4", "align 8")),
        "alignment: 4 bytes here, 8 in the topic"
    );
    assert_eq!(
        said(here.replace("schema 1", "schema 2")),
        "in the topic: line 1 of the schema text is not `horus schema 1`"
    );
}

#[test]
fn parse_rejects_what_is_not_canonical() {
    let good = "horus schema 1\nmessage M\nsize 8\nalign 4\nfield a u32 0 1\nfield b u16 4 2\n";
    assert!(Schema::parse(good).is_ok());
    for (from, to, line) in [
        ("message M", "message M\u{1b}[2J", 2),
        ("size 8", "size 08", 3),
        ("size 8", "size 99999999999999999999", 3),
        ("align 4", "align 3", 4),
        ("field a u32 0 1\nfield b u16 4 2\n", "", 5),
        ("field a", "field a..b", 5),
        ("u32 0 1", "bool 0 1", 5),
        ("u32 0 1", "u32  0 1", 5),
        ("u32 0 1", "u32 0 0", 5),
        ("u32 0 1", "u32 0 1 1*4", 5),
        ("u32 0 1", "u32 0 1 2*8", 5),
        ("u32 0 1", "u32 0 1 2*0 2*0 2*0 2*0 2*0 2*0 2*0 2*0 2*0", 5),
        ("u32 0 1", "u32 0 4611686018427387905", 5),
        ("u16 4 2", "u16 4 3", 6),
        ("u16 4 2", "u16 0 2", 6),
        ("field b", "field a", 6),
        ("u16 4 2\n", "u16 4 2", 6),
        ("u16 4 2\n", "u16 4 2\n\n", 7),
    ] {
        let text = good.replacen(from, to, 1);
        match Schema::parse(&text) {
            Err(SchemaTextError::Line { line: found, .. }) => assert_eq!(found, line, "{text}"),
            other => panic!("{other:?} for {text}"),
        }
    }
    let long = "x".repeat(SCHEMA_TEXT_BYTES_MAX + 1);
    assert_eq!(
        Schema::parse(&long),
        Err(SchemaTextError::TooLong { bytes: long.len() })
    );
}

/// Checks that no text causes a panic, a field outside the message, or an undetected difference.
#[test]
fn hostile_texts_never_panic_and_never_pass_for_another() {
    let rounds = if cfg!(miri) { 30 } else { 40_000 };
    let mut accepted = 0;
    for seed in 0..rounds {
        let mut rng = Rng::with_seed(seed);
        let sources = [GOLDEN[rng.usize(..GOLDEN.len())].3, ROBOT_TEXT, WAVE_TEXT];
        let here = sources[rng.usize(..3)];
        let mut bytes = here.as_bytes().to_vec();
        for _ in 0..=rng.usize(..3) {
            mutate(&mut rng, &mut bytes);
        }
        let in_topic = String::from_utf8_lossy(&bytes);
        let difference = first_difference(here, &in_topic);
        assert_eq!(
            difference == SchemaDifference::None,
            here == in_topic,
            "seed {seed}"
        );
        let _ = first_difference(&in_topic, here).to_string();
        if let Ok(schema) = Schema::parse(&in_topic) {
            accepted += 1;
            assert_eq!(rendered(&schema), in_topic, "seed {seed}");
            for shape in schema.fields.iter().map(|field| &field.shape) {
                let last: usize = shape
                    .arrays
                    .iter()
                    .map(|(count, stride)| (count - 1) * stride)
                    .sum();
                let end = shape.offset + last + shape.count * shape.primitive.size();
                assert!(end <= schema.size, "seed {seed}");
            }
        }
    }
    assert!(
        accepted > rounds / 50,
        "the mutations are too coarse to reach past the parser"
    );
}
