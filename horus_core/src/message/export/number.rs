//! Writes the types and values of numbers in C and C++.

use super::super::{Field, FieldKind, Primitive};

/// A float value that cannot be written as a decimal literal in C and C++.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpecialFloat {
    /// Not a number: a quiet NaN.
    NotANumber,
    /// Positive infinity. Negative infinity is written with a minus sign before this value.
    Infinity,
}

/// Returns the name of a number type in C, such as `uint8_t`.
pub(super) const fn c_type(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::U8 => "uint8_t",
        Primitive::U16 => "uint16_t",
        Primitive::U32 => "uint32_t",
        Primitive::U64 => "uint64_t",
        Primitive::I8 => "int8_t",
        Primitive::I16 => "int16_t",
        Primitive::I32 => "int32_t",
        Primitive::I64 => "int64_t",
        Primitive::F32 => "float",
        Primitive::F64 => "double",
        Primitive::Char => "char",
    }
}

/// Returns the numbers of a field as literals, up to the last number that is not 0. Returns `None`
/// if all numbers are 0, or if the field does not consist of numbers. `format_special` formats NaN
/// and infinity.
pub(super) fn number_literals(
    field: &Field,
    message: &[u8],
    format_special: fn(Primitive, SpecialFloat) -> String,
) -> Option<Vec<String>> {
    let FieldKind::Primitive(primitive) = field.kind else {
        return None;
    };
    let bytes = message
        .get(field.offset..)?
        .get(..field.count * primitive.size())?;
    let last = bytes.iter().rposition(|byte| *byte != 0)?;
    let each = bytes
        .chunks(primitive.size())
        .take(last / primitive.size() + 1);
    Some(
        each.map(|bytes| number_literal(primitive, bytes, format_special))
            .collect(),
    )
}

fn number_literal(
    primitive: Primitive,
    bytes: &[u8],
    format_special: fn(Primitive, SpecialFloat) -> String,
) -> String {
    let float = |value: f64, suffix: &str| match value {
        value if value.is_nan() => format_special(primitive, SpecialFloat::NotANumber),
        f64::INFINITY => format_special(primitive, SpecialFloat::Infinity),
        f64::NEG_INFINITY => "-".to_owned() + &format_special(primitive, SpecialFloat::Infinity),
        value => format!("{value:?}{suffix}"),
    };
    let mut whole = [0; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(whole);
    let unused = 64 - 8 * bytes.len() as u32;
    match primitive {
        Primitive::F32 => float(f32::from_bits(bits as u32).into(), "F"),
        Primitive::F64 => float(f64::from_bits(bits), ""),
        Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 => {
            integer_literal((((bits << unused) as i64) >> unused).into())
        }
        _ => integer_literal(bits.into()),
    }
}

/// Returns an integer as an expression in C and C++. They have no negative literals, and a decimal
/// literal of more than 63 bits needs a suffix.
pub(super) fn integer_literal(value: i128) -> String {
    match value {
        _ if value == i64::MIN.into() => format!("({} - 1)", value + 1),
        _ if value > i64::MAX.into() => format!("{value}u"),
        _ => value.to_string(),
    }
}

/// Returns a byte of a text as a literal in C and C++.
pub(super) fn char_literal(byte: u8) -> String {
    match byte {
        b'\'' | b'\\' => format!("'\\{}'", char::from(byte)),
        b' '..=b'~' => format!("'{}'", char::from(byte)),
        _ => format!("'\\x{byte:02x}'"),
    }
}
