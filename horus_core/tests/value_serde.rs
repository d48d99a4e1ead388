//! Types of `serde` as MessagePack, and `Value` as such a type.

#![cfg(feature = "serde")]

use horus_testing as _;

mod heap;
mod noise;
mod values;

use std::collections::BTreeMap;

use fastrand::Rng;
use heap::peak;
use horus_core::value::{
    DEPTH_MAX, DecodeError, EncodeError, TYPED_ARRAY_EXT, TypedArray, Value, decode_serde,
    encode_serde,
};
use noise::{Case, seeds};
use serde::de::DeserializeOwned;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Plan {
    name: String,
    steps: Vec<Step>,
    gains: BTreeMap<String, f64>,
    tolerance: Option<f32>,
    home: (i32, u64),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Step {
    Stop,
    Wait(u32),
    Move { x: f64, y: f64 },
    Path(Vec<Step>),
}

fn plan() -> Plan {
    Plan {
        name: "dock".to_owned(),
        steps: vec![
            Step::Stop,
            Step::Wait(300),
            Step::Path(vec![Step::Move { x: 1.5, y: -2.0 }]),
        ],
        gains: BTreeMap::from([("kd".to_owned(), 0.1), ("kp".to_owned(), 2.0)]),
        tolerance: Some(0.5),
        home: (-1, u64::MAX),
    }
}

fn encoded<T: Serialize>(value: &T) -> Vec<u8> {
    let mut out = vec![0; 1 << 16];
    let bytes = encode_serde(value, &mut out).unwrap();
    out.truncate(bytes);
    out
}

#[test]
fn a_struct_is_a_map_of_its_fields() {
    let bytes = encoded(&plan());
    let value = Value::decode(&bytes).unwrap();
    assert_eq!(
        value.to_string(),
        [
            r#"{"name": "dock", "steps": ["Stop", {"Wait": 300}, "#,
            r#"{"Path": [{"Move": {"x": 1.5, "y": -2.0}}]}], "#,
            r#""gains": {"kd": 0.1, "kp": 2.0}, "tolerance": 0.5, "#,
            r#""home": [-1, 18446744073709551615]}"#,
        ]
        .concat(),
    );
    assert_eq!(decode_serde::<Plan>(&bytes), Ok(plan()));
    // WHY: `value` has widened `tolerance`, which is a single.
    assert_eq!(
        decode_serde::<Plan>(&value.to_msgpack().unwrap()),
        Ok(plan())
    );
}

#[test]
fn fields_may_come_in_any_order_and_with_others() {
    let value = Value::from([
        ("y", Value::from(2)),
        ("other", Value::from([1])),
        ("x", 1.5.into()),
    ]);
    #[derive(Debug, PartialEq, Deserialize)]
    struct Point {
        x: f64,
        y: f64,
    }
    let point = decode_serde(&value.to_msgpack().unwrap());
    assert_eq!(point, Ok(Point { x: 1.5, y: 2.0 }));
}

#[test]
fn a_value_has_the_same_bytes_by_both_ways() {
    for seed in seeds(2000) {
        let _case = Case(seed);
        let value = values::value(&mut Rng::with_seed(seed), 4);
        let bytes = value.to_msgpack().unwrap();
        assert_eq!(encoded(&value), bytes, "{value}");
        let decoded: Value = decode_serde(&bytes).unwrap();
        assert_eq!(decoded.to_msgpack().unwrap(), bytes, "{value}");
    }
}

#[test]
fn a_value_reads_what_serde_writes_and_the_other_way_round() {
    fn both<T>(typed: T, value: impl Into<Value>)
    where
        T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
    {
        let value = value.into();
        let bytes = value.to_msgpack().unwrap();
        assert_eq!(encoded(&typed), bytes, "{value}");
        assert_eq!(Value::decode(&bytes).unwrap(), value);
        assert_eq!(decode_serde::<T>(&bytes), Ok(typed));
    }
    both((), Value::Nil);
    both(None::<u8>, Value::Nil);
    both(Some(3_u8), 3);
    both(true, true);
    both(0_u8, 0);
    both(200_u8, 200);
    both(-33_i64, -33);
    both(i64::MIN, i64::MIN);
    both(u64::MAX, u64::MAX);
    both(0.1, 0.1);
    both('ß', "ß");
    both("text".to_owned(), "text");
    both(vec![1_u8, 2, 255], [1, 2, 255]);
    both((1, "a".to_owned()), [Value::from(1), "a".into()]);
    both(
        BTreeMap::from([("b".to_owned(), vec![1.5])]),
        [("b", Value::from([1.5]))],
    );
    both(
        Step::Move { x: 1.0, y: 2.0 },
        [("Move", Value::from([("x", 1.0), ("y", 2.0)]))],
    );
}

#[test]
fn encoding_into_a_small_buffer_reports_the_needed_size() {
    let needed = encoded(&plan()).len();
    for room in 0..needed {
        let error = encode_serde(&plan(), &mut vec![0; room]);
        assert_eq!(error, Err(EncodeError::TooSmall { needed, room }));
    }
    assert_eq!(encode_serde(&plan(), &mut vec![0; needed]), Ok(needed));
}

#[test]
fn truncated_and_extended_encodings_are_errors() {
    let mut bytes = encoded(&plan());
    for end in 0..bytes.len() {
        let error = decode_serde::<Plan>(&bytes[..end]).unwrap_err();
        assert!(matches!(error, DecodeError::Truncated { .. }), "{error}");
    }
    let at = bytes.len();
    bytes.push(0);
    assert_eq!(
        decode_serde::<Plan>(&bytes),
        Err(DecodeError::Trailing { at, left: 1 })
    );
}

#[test]
fn another_type_is_an_error_that_names_the_offset() {
    let bytes = Value::from([Value::from(1), "a".into(), 3.into()])
        .to_msgpack()
        .unwrap();
    let error = decode_serde::<Vec<u32>>(&bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "before byte 3: not a value of the requested type: wrong msgpack marker FixStr(1)"
    );
    let error = decode_serde::<Vec<u8>>(&Value::from([300]).to_msgpack().unwrap()).unwrap_err();
    assert!(matches!(error, DecodeError::Type { at: 4, .. }), "{error}");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Nest(Vec<Nest>);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Chain {
    End,
    Link(Box<Chain>),
}

#[test]
fn nesting_is_bounded_for_writer_and_reader() {
    let nest = |depth| (1..depth).fold(Nest(Vec::new()), |inner, _| Nest(vec![inner]));
    let deepest = encoded(&nest(DEPTH_MAX));
    assert_eq!(decode_serde::<Nest>(&deepest), Ok(nest(DEPTH_MAX)));
    let error = encode_serde(&nest(DEPTH_MAX + 1), &mut [0; 100]);
    assert_eq!(error, Err(EncodeError::TooDeep));
    let deeper = [&[0x91][..], &deepest].concat();
    assert_eq!(
        decode_serde::<Nest>(&deeper),
        Err(DecodeError::TooDeep { at: DEPTH_MAX })
    );

    // WHY: `rmp_serde` itself does not count the nesting of enum variants.
    let links = [
        &[0x81, 0xa4, b'L', b'i', b'n', b'k'].repeat(500_000)[..],
        &[0xa3],
        b"End",
    ]
    .concat();
    let error = decode_serde::<Chain>(&links).unwrap_err();
    assert!(matches!(error, DecodeError::TooDeep { .. }), "{error}");
}

#[test]
fn a_length_beyond_the_input_is_refused() {
    let claims = [0xdd, 0x7f, 0xff, 0xff, 0xff, 0x01];
    let (error, heap) = peak(|| decode_serde::<Vec<Vec<u64>>>(&claims));
    assert!(
        matches!(error, Err(DecodeError::Truncated { .. })) && heap == 0,
        "{heap}"
    );
}

#[test]
fn a_type_that_miscounts_its_elements_is_refused() {
    struct Liar(Option<usize>);
    impl Serialize for Liar {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            let mut seq = to.serialize_seq(self.0)?;
            seq.serialize_element(&1)?;
            seq.end()
        }
    }
    assert_eq!(encode_serde(&Liar(Some(1)), &mut [0; 100]), Ok(2));
    assert_eq!(encode_serde(&Liar(None), &mut [0; 100]), Ok(2));
    for wrong in [0, 2] {
        let error = encode_serde(&Liar(Some(wrong)), &mut [0; 100]).unwrap_err();
        assert!(matches!(error, EncodeError::Type { .. }), "{error}");
    }
}

#[test]
fn json_shows_values_and_becomes_values() {
    let matrix = TypedArray::from_slice(&[0.1_f32, 2.0, 3.0, 4.0])
        .with_shape(&[2, 2])
        .unwrap();
    let empty = TypedArray::from_slice::<u8>(&[])
        .with_shape(&[u32::MAX, 0])
        .unwrap();
    let value = Value::from([
        ("matrix", Value::from(matrix)),
        ("empty", empty.into()),
        ("big", u64::MAX.into()),
        ("none", Value::Nil),
        ("raw", b"\x01\xff".into()),
    ]);
    let json = serde_json::to_string(&value).unwrap();
    assert_eq!(
        json,
        [
            r#"{"matrix":[[0.1,2.0],[3.0,4.0]],"empty":[],"#,
            r#""big":18446744073709551615,"none":null,"raw":[1,255]}"#,
        ]
        .concat()
    );
    let back: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(back.get_path("matrix[1][0]"), Some(&3.0.into()));
    assert_eq!(back.get("big"), Some(&u64::MAX.into()));
    let text = serde_json::to_string(&back).unwrap();
    assert_eq!(text, json);
}

#[test]
fn the_extension_of_typed_arrays_is_no_other_extension() {
    let error = encode_serde(&Value::Ext(TYPED_ARRAY_EXT, vec![1]), &mut [0; 100]).unwrap_err();
    assert!(matches!(error, EncodeError::Type { .. }), "{error}");
    let error = decode_serde::<Value>(&[0xd4, 0x48, 0x01]).unwrap_err();
    assert!(matches!(error, DecodeError::Type { .. }), "{error}");
}

#[derive(Debug, PartialEq, Deserialize)]
struct Arm {
    joints: Vec<f64>,
    limits: Vec<[f32; 2]>,
    ids: [u8; 3],
    gain: f64,
    name: String,
    none: Vec<Vec<i32>>,
}

/// Returns a value like a Python dict with numpy arrays.
fn arrays() -> Value {
    let limits = TypedArray::from_slice(&[-1.0_f64, 1.0, -2.0, 2.0])
        .with_shape(&[2, 2])
        .unwrap();
    let gain = TypedArray::from_slice(&[0.5_f32]).with_shape(&[]).unwrap();
    let none = TypedArray::from_slice::<i32>(&[])
        .with_shape(&[2, 0])
        .unwrap();
    Value::from([
        (
            "joints",
            Value::from(TypedArray::from_slice(&[0.1_f64, -0.5])),
        ),
        ("limits", limits.into()),
        ("ids", TypedArray::from_slice(&[7_i64, 0, 255]).into()),
        ("gain", gain.into()),
        ("name", "left".into()),
        ("none", none.into()),
    ])
}

#[test]
fn a_typed_array_is_read_as_a_sequence_of_numbers() {
    let arm = Arm {
        joints: vec![0.1, -0.5],
        limits: vec![[-1.0, 1.0], [-2.0, 2.0]],
        ids: [7, 0, 255],
        gain: 0.5,
        name: "left".to_owned(),
        none: vec![Vec::new(), Vec::new()],
    };
    let bytes = arrays().to_msgpack().unwrap();
    assert_eq!(decode_serde::<Arm>(&bytes), Ok(arm));
    // WHY: a type that supports typed arrays still receives them.
    assert_eq!(decode_serde::<Value>(&bytes), Ok(arrays()));
    assert_eq!(
        decode_serde::<BTreeMap<String, Value>>(&bytes)
            .unwrap()
            .len(),
        6
    );
}

#[test]
fn an_array_that_does_not_fit_the_type_is_an_error() {
    let refused = |array: TypedArray| {
        let value = Value::from([("joints", Value::from(array))]);
        #[derive(Debug, Deserialize)]
        struct Joints {
            #[expect(dead_code, reason = "only read")]
            joints: Vec<u8>,
        }
        decode_serde::<Joints>(&value.to_msgpack().unwrap()).unwrap_err()
    };
    let of_type = |error: &DecodeError| matches!(error, DecodeError::Type { .. });
    assert!(of_type(&refused(TypedArray::from_slice(&[256]))));
    assert!(of_type(&refused(
        TypedArray::from_slice(&[1, 2]).with_shape(&[1, 2]).unwrap()
    )));
    // The arrays have no elements, and more nested arrays than fit into memory.
    for shape in [
        &[u32::MAX, 0][..],
        &[u32::MAX, u32::MAX, 0],
        &[1 << 20, 1 << 20, 0, 5],
    ] {
        let empty = TypedArray::from_slice::<u8>(&[]).with_shape(shape).unwrap();
        let (error, peak) = peak(|| refused(empty.clone()));
        assert!(of_type(&error), "{error}");
        assert!(peak < 1 << 20, "{peak} bytes");
    }
}
