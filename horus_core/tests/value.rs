//! Values: content, comparison and formatting.

use horus_testing as _;

use std::collections::BTreeMap;

use horus_core::message::{DType, Primitive};
use horus_core::value::{TYPED_DIMENSIONS_MAX, TypedArray, TypedArrayError, Value};

#[test]
fn equal_integers_are_equal_in_any_variant() {
    assert_eq!(Value::UInt(5), Value::Int(5));
    assert_eq!(Value::Int(5), Value::UInt(5));
    assert_ne!(Value::UInt(u64::MAX), Value::Int(-1));
    assert_ne!(Value::Int(-1), Value::UInt(u64::MAX));
    assert!(matches!(Value::from(i64::MAX as u64), Value::Int(i64::MAX)));
    assert!(matches!(Value::from(u64::MAX), Value::UInt(u64::MAX)));
}

#[test]
fn integers_floats_text_and_bytes_are_different_things() {
    let values = [
        Value::Nil,
        false.into(),
        0.into(),
        0.0.into(),
        "".into(),
        Vec::<u8>::new().into(),
        Value::Array(Vec::new()),
        Value::Map(Vec::new()),
        TypedArray::from_slice::<u8>(&[]).into(),
        TypedArray::from_slice::<i8>(&[]).into(),
        Value::Ext(0, Vec::new()),
    ];
    for (index, value) in values.iter().enumerate() {
        for (other_index, other) in values.iter().enumerate() {
            assert_eq!(value == other, index == other_index, "{value} and {other}");
        }
    }
    assert_ne!(Value::from(f64::NAN), Value::from(f64::NAN));
    let not_a_number = || Value::from(TypedArray::from_slice(&[f32::NAN]));
    assert_eq!(
        not_a_number(),
        not_a_number(),
        "typed arrays are compared by their bytes"
    );
}

#[test]
fn numbers_are_read_as_any_type_that_fits() {
    let big = Value::from(u64::MAX);
    assert_eq!((big.as_u64(), big.as_i64()), (Some(u64::MAX), None));
    assert_eq!(big.as_f64(), Some(18_446_744_073_709_551_616.0));
    let negative = Value::from(-2);
    assert_eq!((negative.as_u64(), negative.as_i64()), (None, Some(-2)));
    assert_eq!(Value::from(1.0).as_i64(), None);
    assert_eq!(Value::UInt(7).as_i64(), Some(7));
    assert_eq!(Value::from("1").as_f64(), None);
}

#[test]
fn paths_lead_through_maps_and_arrays() {
    let foot = |x: f64| Value::from([("x", Value::from(x))]);
    let leg = |x| Value::from([("feet", Value::from([foot(x), foot(x + 1.0)]))]);
    let robot = Value::from([
        ("legs", Value::from([leg(0.0), leg(2.0)])),
        ("", Value::from(1)),
    ]);
    let found = |path| robot.get_path(path).and_then(Value::as_f64);
    assert_eq!(found("legs[1].feet[1].x"), Some(3.0));
    assert_eq!(robot.get_path(""), Some(&robot));
    let wrong = [
        "legs[2].feet[1].x",
        "legs[1]feet[1].x",
        "legs.[1]",
        "legs[+1]",
        "legs[-1]",
        "legs[1",
        "legs[]",
        "legs[1]]",
        ".legs",
        "legs.",
        "legs[0]..feet",
        "legs[99999999999999999999]",
        "[0]",
        ".",
        "leg",
        "legs[0].feet[0].x.y",
        "legs[0].feet[0].x[0]",
    ];
    for path in wrong {
        assert_eq!(robot.get_path(path), None, "{path}");
    }
    let row = Value::from([Value::from([1, 2])]);
    assert_eq!(row.get_path("[0][1]"), Some(&2.into()));
}

#[test]
fn the_last_of_equal_keys_counts_as_in_python() {
    let mut value = Value::from([("a", 1), ("a", 2)]);
    assert_eq!(value.get("a"), Some(&2.into()));
    *value.get_mut("a").unwrap() = 3.into();
    assert_eq!(value, Value::from([("a", 1), ("a", 3)]));
    assert_eq!(value.get("b"), None);
    assert_eq!(Value::Nil.get("a"), None);
}

#[test]
fn conversions_keep_the_value() {
    assert_eq!(Value::from(None::<i32>), Value::Nil);
    assert_eq!(Value::from(Some("a")), Value::from("a"));
    assert_eq!(
        Value::from(BTreeMap::from([(1, "a")])),
        Value::from([(1, "a")])
    );
    assert_eq!([1, 2].into_iter().collect::<Value>(), Value::from([1, 2]));
    assert_eq!(Value::from(b"ab").as_bytes(), Some(&b"ab"[..]));
}

#[test]
fn values_are_shown_like_json_and_exactly() {
    let matrix = TypedArray::from_slice(&[1_u8, 2, 3, 4])
        .with_shape(&[2, 2])
        .unwrap();
    let scalar = TypedArray::new(DType::F16, Vec::new(), 0x3555_u16.to_le_bytes().to_vec());
    let rows = [
        (Value::Nil, "null"),
        (true.into(), "true"),
        (u64::MAX.into(), "18446744073709551615"),
        (1.0.into(), "1.0"),
        ((-0.0).into(), "-0.0"),
        (0.1.into(), "0.1"),
        (1e300.into(), "1e300"),
        (f64::NAN.into(), "NaN"),
        (f64::NEG_INFINITY.into(), "-Infinity"),
        ("say \"hi\\\"\n\u{1}ß".into(), r#""say \"hi\\\"\n\u0001ß""#),
        (b"\x00ok\"".to_vec().into(), r#"b"\x00ok\"""#),
        (
            TypedArray::from_slice(&[0.1_f32, f32::INFINITY]).into(),
            "f32[0.1, Infinity]",
        ),
        (TypedArray::from_slice(&[0.1_f64]).into(), "f64[0.1]"),
        (matrix.into(), "u8(2, 2)[1, 2, 3, 4]"),
        (scalar.unwrap().into(), "f16()[0.33325195]"),
        (Value::Ext(-1, vec![0]), r#"ext(-1, b"\x00")"#),
        (
            Value::from([Value::from(1), Value::Array(Vec::new())]),
            "[1, []]",
        ),
        (Value::from([(2, Value::Nil)]), "{2: null}"),
    ];
    for (value, text) in rows {
        assert_eq!(value.to_string(), text);
    }
    let pose = Value::from([
        ("pose", Value::from([("x", Value::from(1.5))])),
        ("tags", Value::Array(Vec::new())),
    ]);
    assert_eq!(
        format!("{pose:#}"),
        "{\n  \"pose\": {\n    \"x\": 1.5\n  },\n  \"tags\": []\n}"
    );
}

#[test]
fn a_typed_array_has_as_many_bytes_as_its_shape_requires() {
    let new = |shape: &[u32], bytes| TypedArray::new(DType::U16, shape.to_vec(), vec![0; bytes]);
    assert_eq!(new(&[], 2).unwrap().len(), 1);
    assert_eq!(new(&[2, 3], 12).unwrap().len(), 6);
    assert_eq!(new(&[u32::MAX, u32::MAX, u32::MAX, 0], 0).unwrap().len(), 0);
    assert_eq!(new(&[2, 3], 11), Err(TypedArrayError::Size { found: 11 }));
    assert_eq!(
        new(&[u32::MAX; 3], 0),
        Err(TypedArrayError::Size { found: 0 })
    );
    assert!(new(&[1; TYPED_DIMENSIONS_MAX], 2).is_ok());
    assert_eq!(
        new(&[1; 33], 2),
        Err(TypedArrayError::Dimensions { found: 33 })
    );
}

#[test]
fn elements_are_stored_unchanged() {
    let array = TypedArray::from_slice(&[i64::MIN, -1, i64::MAX]);
    assert_eq!(array.to_vec::<i64>(), Some(vec![i64::MIN, -1, i64::MAX]));
    assert_eq!(array.to_vec::<u64>(), None);
    assert_eq!(array.get(0), Some(i64::MIN.into()));
    assert_eq!((array.get(3), array.get(usize::MAX)), (None, None));
    assert_eq!(
        array.iter().collect::<Value>(),
        [i64::MIN, -1, i64::MAX].into_iter().collect()
    );
    let truths = TypedArray::new(DType::Bool, vec![3], vec![0, 1, 9]).unwrap();
    assert_eq!(
        truths.iter().collect::<Value>(),
        [false, true, true].into_iter().collect()
    );
}

/// Compares every half-precision number with its definition.
#[test]
fn half_precision_is_converted_exactly() {
    // WHY not `powi`: its result may differ in the last bit between computers.
    let power_of_two = |exponent: i32| f64::from_bits(((1023 + exponent) as u64) << 52);
    // WHY: miri is a thousand times slower, so it takes every 251st number. 251 is a prime.
    for bits in (0..=u16::MAX).step_by(if cfg!(miri) { 251 } else { 1 }) {
        let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
        let exponent = i32::from(bits >> 10 & 0x1f);
        let mantissa = f64::from(bits & 0x3ff);
        let wanted = match exponent {
            0 => sign * mantissa * power_of_two(-24),
            0x1f if mantissa == 0.0 => sign * f64::INFINITY,
            0x1f => f64::NAN,
            _ => sign * (1.0 + mantissa / 1024.0) * power_of_two(exponent - 15),
        };
        let array = TypedArray::new(DType::F16, Vec::new(), bits.to_le_bytes().to_vec()).unwrap();
        let found = array.get(0).and_then(|value| value.as_f64()).unwrap();
        assert!(
            found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(),
            "{bits:x}"
        );
        let array = TypedArray::new(DType::BF16, Vec::new(), bits.to_le_bytes().to_vec()).unwrap();
        let found = array.get(0).and_then(|value| value.as_f64()).unwrap();
        let wanted = f64::from(f32::from_bits(u32::from(bits) << 16));
        assert!(
            found == wanted || found.is_nan() && wanted.is_nan(),
            "{bits:x}"
        );
    }
}

#[test]
fn types_of_elements_are_the_same_in_every_language() {
    let rows = [
        (DType::U8, 1, 1, "u8", "|u1", (1, 8)),
        (DType::I8, 2, 1, "i8", "|i1", (0, 8)),
        (DType::U16, 3, 2, "u16", "<u2", (1, 16)),
        (DType::I16, 4, 2, "i16", "<i2", (0, 16)),
        (DType::U32, 5, 4, "u32", "<u4", (1, 32)),
        (DType::I32, 6, 4, "i32", "<i4", (0, 32)),
        (DType::U64, 7, 8, "u64", "<u8", (1, 64)),
        (DType::I64, 8, 8, "i64", "<i8", (0, 64)),
        (DType::F16, 9, 2, "f16", "<f2", (2, 16)),
        (DType::BF16, 10, 2, "bf16", "<u2", (4, 16)),
        (DType::F32, 11, 4, "f32", "<f4", (2, 32)),
        (DType::F64, 12, 8, "f64", "<f8", (2, 64)),
        (DType::Bool, 13, 1, "bool", "|b1", (6, 8)),
    ];
    assert_eq!(rows.map(|row| row.0), DType::ALL);
    for (dtype, code, size, name, numpy, dlpack) in rows {
        assert_eq!((dtype.code(), DType::from_code(code)), (code, Some(dtype)));
        assert_eq!(
            (dtype.size(), dtype.name(), dtype.numpy()),
            (size, name, numpy)
        );
        assert_eq!((dtype.dlpack(), dtype.to_string().as_str()), (dlpack, name));
    }
    assert_eq!((DType::from_code(0), DType::from_code(14)), (None, None));
    for primitive in [Primitive::U8, Primitive::I64, Primitive::F32] {
        assert_eq!(
            DType::from_primitive(primitive).unwrap().size(),
            primitive.size()
        );
    }
}
