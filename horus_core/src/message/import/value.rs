//! Parses the values of constants and the default values of fields.

use super::error::excerpt;
use crate::message::{FieldKind, Primitive};

/// A number or a text: the default value of a field, or of one element of a field.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::message) enum Literal {
    Integer(i128),
    Float(f64),
    Text(String),
}

impl Literal {
    /// Writes the value to `element`, the bytes of an element of the type `kind`, which are 0
    /// before.
    pub(super) fn write(&self, kind: FieldKind, element: &mut [u8]) {
        let is_single = matches!(kind, FieldKind::Primitive(Primitive::F32));
        match self {
            Self::Integer(value) => {
                element.copy_from_slice(&value.to_le_bytes()[..element.len()]);
            }
            Self::Float(value) if is_single => {
                element.copy_from_slice(&(*value as f32).to_le_bytes());
            }
            Self::Float(value) => element.copy_from_slice(&value.to_le_bytes()),
            Self::Text(text) => element[..text.len()].copy_from_slice(text.as_bytes()),
        }
    }
}

/// Parses the default of a field: one value, or a list such as `[a, b]` for an array. Does not
/// check the number of elements.
pub(super) fn parse_defaults(
    kind: FieldKind,
    is_array: bool,
    text: &str,
) -> Result<Vec<Literal>, String> {
    if !is_array {
        return Ok(vec![parse_value(kind, text)?]);
    }
    if !matches!(kind, FieldKind::Primitive(_)) {
        return Err("only arrays of numbers have a default: remove it".to_owned());
    }
    let list = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let list =
        list.ok_or_else(|| format!("the default {} of an array is not [a, b, …]", excerpt(text)))?;
    let parts = list.split(',').filter(|part| !part.trim().is_empty());
    parts.map(|part| parse_value(kind, part.trim())).collect()
}

fn parse_value(kind: FieldKind, text: &str) -> Result<Literal, String> {
    match kind {
        FieldKind::Message(_) => {
            Err("a field of another message has its default: remove this one".to_owned())
        }
        FieldKind::Text(bytes) => {
            let text = strip_quotes(text);
            if text.len() > bytes || text.contains('\0') {
                return Err(format!(
                    "the default {} has {} bytes, and the field {bytes}: shorten it, or give the \
                     string a bound",
                    excerpt(&text),
                    text.len()
                ));
            }
            Ok(Literal::Text(text))
        }
        FieldKind::Primitive(Primitive::F32 | Primitive::F64) => {
            let limit = match kind {
                FieldKind::Primitive(Primitive::F32) => f64::from(f32::MAX),
                _ => f64::MAX,
            };
            let number = text
                .parse()
                .ok()
                .filter(|number: &f64| number.abs() <= limit);
            let number = number.map(Literal::Float);
            number.ok_or_else(|| format!("{} is no finite number of the type", excerpt(text)))
        }
        FieldKind::Primitive(primitive) => Ok(Literal::Integer(parse_integer(primitive, text)?)),
    }
}

/// Parses an integer, which must be in the range of its type. `true` is read as 1, and `false` as
/// 0.
pub(super) fn parse_integer(primitive: Primitive, text: &str) -> Result<i128, String> {
    let (digits, sign) = match text.strip_prefix('-') {
        Some(digits) => (digits, -1),
        None => (text.strip_prefix('+').unwrap_or(text), 1),
    };
    let (digits, radix) = match digits.get(..2) {
        Some("0x" | "0X") => (&digits[2..], 16),
        Some("0b" | "0B") => (&digits[2..], 2),
        Some("0o" | "0O") => (&digits[2..], 8),
        _ => (digits, 10),
    };
    let magnitude = match text {
        "true" | "True" => Some(1),
        "false" | "False" => Some(0),
        _ if !digits.starts_with(|digit: char| digit.is_digit(radix)) => None,
        _ => i128::from_str_radix(digits, radix).ok(),
    };
    let bits = primitive.size() * 8;
    let range = match primitive {
        Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 => {
            -(1 << (bits - 1))..1_i128 << (bits - 1)
        }
        _ => 0..1 << bits,
    };
    let value = magnitude.map(|magnitude| magnitude * sign);
    value.filter(|value| range.contains(value)).ok_or_else(|| {
        format!(
            "{} is no integer of {} to {}",
            excerpt(text),
            range.start,
            range.end - 1
        )
    })
}

/// Returns the content of a string in quotes. A backslash is removed, and the character after it is
/// kept.
fn strip_quotes(text: &str) -> String {
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        Some(inner)
    });
    let Some(quoted) = quoted else {
        return text.to_owned();
    };
    let mut out = String::new();
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.extend(letters.next()),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_in_the_range_of_their_type() {
        let table = [
            (Primitive::U8, "255", Some(255)),
            (Primitive::U8, "256", None),
            (Primitive::U8, "true", Some(1)),
            (Primitive::I8, "-128", Some(-128)),
            (Primitive::I8, "128", None),
            (Primitive::U16, "0xFFff", Some(65535)),
            (Primitive::U8, "0b101", Some(5)),
            (
                Primitive::I64,
                "-9223372036854775808",
                Some(i64::MIN.into()),
            ),
            (
                Primitive::U64,
                "18446744073709551615",
                Some(u64::MAX.into()),
            ),
            (
                Primitive::U64,
                "99999999999999999999999999999999999999999",
                None,
            ),
            (Primitive::I32, "--1", None),
            (Primitive::I32, "0x-1", None),
            (Primitive::I32, "", None),
            (Primitive::I32, "1.5", None),
        ];
        for (primitive, text, wanted) in table {
            assert_eq!(parse_integer(primitive, text).ok(), wanted, "{text}");
        }
    }

    #[test]
    fn defaults_are_numbers_texts_and_lists() {
        let number = FieldKind::Primitive(Primitive::F32);
        let list = parse_defaults(number, true, "[1, -2.5, 1e3]").unwrap();
        assert_eq!(list, [1.0, -2.5, 1e3].map(Literal::Float));
        let text = parse_defaults(FieldKind::Text(4), false, "\"a\\\"#b\"").unwrap();
        assert_eq!(text, [Literal::Text("a\"#b".to_owned())]);
        for (kind, is_array, text) in [
            (number, false, "inf"),
            (number, false, "1e39"),
            (number, true, "1, 2"),
            (FieldKind::Text(2), false, "abc"),
            (FieldKind::Text(2), true, "[a]"),
        ] {
            assert!(parse_defaults(kind, is_array, text).is_err(), "{text}");
        }
    }
}
