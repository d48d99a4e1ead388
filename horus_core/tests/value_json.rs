//! Every value survives JSON: as a value, and as text that other programs read.

use horus_testing as _;

mod noise;
mod values;

use fastrand::Rng;
use horus_core::message::{DType, STANDARD, Schema};
use horus_core::topic::DynamicType;
use horus_core::value::json::{from_json, to_json};
use horus_core::value::{TypedArray, Value};
use noise::{Case, rounds, seeds};

/// Compares bit by bit: a NaN is equal to the same NaN only.
fn is_same(one: &Value, other: &Value) -> bool {
    one.to_msgpack().unwrap() == other.to_msgpack().unwrap()
}

/// Returns true if JSON can express the value.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Float(number) => number.is_finite(),
        Value::Array(values) => values.iter().all(is_plain),
        Value::Map(pairs) => pairs
            .iter()
            .all(|(key, value)| key.as_str().is_some() && is_plain(value)),
        Value::Bytes(_) | Value::Typed(_) | Value::Ext(..) => false,
        _ => true,
    }
}

#[test]
fn every_value_comes_back() {
    for seed in seeds(rounds(5_000, 200_000)) {
        let _case = Case(seed);
        let value = values::value(&mut Rng::with_seed(seed), 4);
        let json = to_json(&value).unwrap();
        assert!(is_plain(&json), "{value}: {json}");
        let read = from_json(&json).unwrap();
        assert!(is_same(&read, &value), "{value}: {json}: {read}");
    }
}

#[cfg(feature = "serde")]
#[test]
fn every_value_comes_back_from_text() {
    for seed in seeds(rounds(5_000, 200_000)) {
        let _case = Case(seed);
        let value = values::value(&mut Rng::with_seed(seed), 3);
        let text = serde_json::to_string(&to_json(&value).unwrap()).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        let read = from_json(&json).unwrap();
        assert!(is_same(&read, &value), "{value}: {text}: {read}");
    }
}

#[test]
fn names_that_look_like_paths_are_no_paths() {
    let bytes = || Value::from(&b"x"[..]);
    let table = [
        Value::from([
            ("a.b", bytes()),
            ("a", Value::from([("b", Value::from(1))])),
        ]),
        Value::from([("a[0]", bytes()), ("a", Value::Array(vec![Value::from(1)]))]),
        Value::from([("", bytes()), ("\\", Value::from("x"))]),
        Value::from([("$types", bytes())]),
        Value::from([("value", bytes())]),
        Value::from([("a", Value::from([("", bytes()), ("\\", Value::Nil)]))]),
        Value::from([
            ("", Value::from([("x", bytes())])),
            (".x", Value::from("x")),
        ]),
        Value::from([("", Value::from("x")), (".x", bytes()), ("\\", bytes())]),
        Value::from([("", Value::Array(vec![bytes()])), ("[0]", Value::from("x"))]),
        Value::from([("", Value::from([("", bytes())])), (".", Value::from("x"))]),
        Value::from([("$types", Value::Nil), ("", Value::from([("x", bytes())]))]),
        Value::from([("", Value::from(1)), (".x", bytes()), ("[0]", bytes())]),
        Value::from([
            ("e", Value::from("x")),
            ("", bytes()),
            ("\\e", Value::from("x")),
        ]),
        bytes(),
        Value::Nil,
        Value::Map(Vec::new()),
        Value::Map(vec![("a".into(), bytes()), ("a".into(), Value::Nil)]),
        Value::Map(vec![(Value::from(1), bytes())]),
        TypedArray::new(DType::Bool, vec![3], vec![0, 1, 2])
            .unwrap()
            .into(),
        TypedArray::new(DType::U8, vec![0, 7], vec![])
            .unwrap()
            .into(),
        TypedArray::new(DType::F64, vec![], vec![0; 8])
            .unwrap()
            .into(),
    ];
    for value in table {
        let json = to_json(&value).unwrap();
        assert!(is_plain(&json), "{json}");
        let read = from_json(&json);
        assert!(is_same(&read.clone().unwrap(), &value), "{json}: {read:?}");
    }
}

/// Earlier versions wrote a single backslash for the empty name of a field of the outermost object.
#[test]
fn older_paths_of_empty_names_are_read() {
    let bytes = || Value::from(&b"x"[..]);
    let types = |paths: [&str; 3]| {
        let listed = paths.map(|path| (Value::from(path), Value::from("bytes")));
        Value::Map(listed.into_iter().collect())
    };
    let inner = |x: Value| Value::from([("x", x.clone()), ("l", Value::Array(vec![x]))]);
    let paths = [r"\.x", r"\.l[0]", r"\\"];
    let text = || Value::from("eA==");
    let json = Value::from([
        ("", inner(text())),
        ("\\", text()),
        ("$types", types(paths)),
    ]);
    let wanted = Value::from([("", inner(bytes())), ("\\", bytes())]);
    assert_eq!(from_json(&json).unwrap(), wanted);

    let listed = Value::from([("\\", Value::from("bytes")), ("", Value::from("json"))]);
    let value = Value::from([("", text())]);
    let json = Value::from([("value", value), ("$types", listed)]);
    assert_eq!(from_json(&json).unwrap(), Value::from([("", bytes())]));
}

#[test]
fn every_single_has_few_digits() {
    let mut rng = Rng::with_seed(7);
    for _ in 0..rounds(20_000, 2_000_000) {
        let bits = rng.u32(..);
        let array = TypedArray::new(DType::F32, vec![1], bits.to_le_bytes().to_vec());
        let value = Value::from(array.unwrap());
        let json = to_json(&value).unwrap();
        assert!(is_same(&from_json(&json).unwrap(), &value), "{json}");
    }
    let tenth = TypedArray::from_slice(&[0.1_f32]).into();
    assert!(to_json(&tenth).unwrap().to_string().contains("[0.1]"));
}

/// A number just above or below the middle between two neighbours is nearer to one of them.
#[test]
fn halves_are_rounded_once() {
    let tiny = f64::from_bits((1023 - 40) << 52);
    let half = |middle: f64, kind: &str| {
        let number = |value: f64| Value::Array(vec![Value::from(value)]);
        let bits = |value: f64| {
            let types = Value::from([("a", Value::from(kind))]);
            let read = from_json(&Value::from([("a", number(value)), ("$types", types)])).unwrap();
            let Some(Value::Typed(array)) = read.get("a") else {
                panic!("{read}")
            };
            u16::from_le_bytes(array.bytes().try_into().unwrap())
        };
        [middle - tiny, middle, middle + tiny, -middle - tiny].map(bits)
    };
    let f16 = half(1.0 + 1.0 / 2048.0, "f16[1]");
    assert_eq!(f16, [0x3c00, 0x3c00, 0x3c01, 0xbc01]);
    let f16 = half(1.0 + 3.0 / 2048.0, "f16[1]");
    assert_eq!(f16, [0x3c01, 0x3c02, 0x3c02, 0xbc02]);
    let bf16 = half(1.0 + 1.0 / 256.0, "bf16[1]");
    assert_eq!(bf16, [0x3f80, 0x3f80, 0x3f81, 0xbf81]);
    // The smallest half above 0, and the largest finite one.
    let step = f64::from_bits((1023 - 24) << 52);
    assert_eq!(half(step / 2.0 + tiny, "f16[1]")[1..], [1, 1, 0x8001]);
    assert_eq!(half(65520.0, "f16[1]")[1..], [0x7c00, 0x7c00, 0xfc00]);
}

#[test]
fn every_standard_message_comes_back() {
    let mut rng = Rng::with_seed(11);
    for schema in STANDARD {
        let message_type = DynamicType::parse(&schema.text()).unwrap();
        for round in 0..20 {
            let tail = schema.tail.map_or(0, |tail| 3 * tail.primitive.size());
            let mut message = vec![0; schema.size + tail];
            if round > 0 {
                rng.fill(&mut message);
            }
            let value = message_type.decode(&message).unwrap();
            let read = from_json(&to_json(&value).unwrap()).unwrap();
            assert!(is_same(&read, &value), "{}", schema.name);
            assert_eq!(
                message_type.encode(&read).unwrap(),
                message,
                "{}",
                schema.name
            );
        }
    }
    assert!(STANDARD.len() >= 62);
    assert!(Schema::parse("").is_err());
}

/// The memory for the paths would be quadratic in the size of the value.
#[test]
fn a_list_of_types_that_is_much_longer_than_its_value_is_an_error() {
    let below = |key_bytes: usize, elements: usize| {
        let values = Value::Array(vec![Value::Float(f64::NAN); elements]);
        Value::Map(vec![("k".repeat(key_bytes).into(), values)])
    };
    // WHY dropped: a failure would print the list.
    let error = to_json(&below(100_000, 1000)).map(drop).unwrap_err();
    assert_eq!(error.bytes_max, 16 * (8 + 100_008 + 8 + 1000 * 8));
    assert!(error.to_string().contains("shorter keys"), "{error}");
    for value in [below(100, 10_000), below(60_000, 1), below(1_000_000, 10)] {
        let json = to_json(&value).unwrap();
        assert!(is_same(&from_json(&json).unwrap(), &value));
    }
}

/// The time is proportional to the size of the value: each path was copied as a whole for each
/// value, which takes longer here than any time limit.
#[test]
fn many_values_below_a_long_name_are_read() {
    let (name_bytes, values) = if cfg!(miri) {
        (1 << 10, 100)
    } else {
        (16 << 20, 500_000)
    };
    let numbers = Value::Array(vec![Value::from(1); values]);
    let value = Value::from([
        ("x".repeat(name_bytes), Value::from([("a", numbers)])),
        ("raw".to_owned(), Value::from(&b"ok"[..])),
    ]);
    let json = to_json(&value).unwrap();
    assert!(json.get("$types").is_some());
    assert!(is_same(&from_json(&json).unwrap(), &value));
}

#[test]
fn wrong_forms_are_named() {
    let json = |kind: &str, value: Value| {
        Value::from([
            ("a", value),
            ("$types", Value::from([("a", Value::from(kind))])),
        ])
    };
    let table = [
        json("bytes", Value::from("?")),
        json("bytes", Value::from(1)),
        json("f32[2]", Value::Array(vec![Value::from(1.0)])),
        json("u8[1]", Value::Array(vec![Value::from(256)])),
        json("i8[1]", Value::Array(vec![Value::from(-129)])),
        json("u64[1]", Value::Array(vec![Value::from(-1)])),
        json("f64", Value::from("nan")),
        json("f64", Value::from("NaN:12")),
        json("ext(300)", Value::from("")),
        json("map", Value::Array(vec![Value::Nil])),
        json("blob", Value::Nil),
    ];
    for json in table {
        let error = from_json(&json).unwrap_err();
        assert_eq!(error.path, "a", "{json}: {error}");
    }
    assert!(from_json(&Value::Nil).is_err());
    let plain = Value::from([("a", 1)]);
    assert_eq!(from_json(&plain).unwrap(), plain);
}
