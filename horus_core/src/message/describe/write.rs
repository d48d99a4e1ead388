//! Writes a value into a part of a message.

use std::fmt;

use super::error::describe_value;
use super::tree::{ContiguousNumbers, ElementKind, SelectedField};
use super::{FieldError, Layout, PathTarget};
use crate::message::{DType, f64_to_f32};
use crate::value::Value;

/// Converts `value` to bytes, and writes them to `target`, the part of `message` at `path`.
pub(super) fn write_target(
    layout: &Layout,
    target: PathTarget<'_>,
    value: &Value,
    message: &mut [u8],
    path: &str,
) -> Result<(), FieldError> {
    let mut writer = FieldWriter { layout, message };
    let path = UnformattedPath::Start(path);
    match target {
        PathTarget::Part(part) => writer.write_field(part, value, &path),
        PathTarget::Numbers(numbers) => writer.write_numbers(numbers, value, &path),
    }
}

/// Returns the number of elements that the trailing data have if they are set to `value`.
pub(super) fn trailing_element_count(value: &Value) -> usize {
    match value {
        Value::Bytes(bytes) => bytes.len(),
        Value::Array(values) => values.len(),
        Value::Typed(array) => array.len(),
        _ => 0,
    }
}

/// The path to a field, as a linked list on the stack. WHY not a text: the path is formatted only
/// if there is an error.
enum UnformattedPath<'a> {
    Start(&'a str),
    Name(&'a UnformattedPath<'a>, &'a str),
    Index(&'a UnformattedPath<'a>, usize),
}

impl fmt::Display for UnformattedPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(path) => f.write_str(path),
            Self::Name(Self::Start(""), name) => f.write_str(name),
            Self::Name(up, name) => write!(f, "{up}.{name}"),
            Self::Index(up, index) => write!(f, "{up}[{index}]"),
        }
    }
}

impl UnformattedPath<'_> {
    fn type_error(&self, value: &Value, wanted: impl fmt::Display) -> FieldError {
        FieldError::Type {
            path: self.to_string(),
            found: describe_value(value),
            wanted: wanted.to_string(),
        }
    }

    fn range_error(&self, value: &Value, wanted: impl fmt::Display) -> FieldError {
        FieldError::Range {
            path: self.to_string(),
            found: describe_value(value),
            wanted: wanted.to_string(),
        }
    }

    fn check_count(&self, found: usize, wanted: usize) -> Result<(), FieldError> {
        if found == wanted {
            return Ok(());
        }
        Err(FieldError::Count {
            path: self.to_string(),
            found,
            wanted,
        })
    }
}

/// Writes values into fields, or parts of fields, of an existing message.
struct FieldWriter<'a> {
    layout: &'a Layout,
    message: &'a mut [u8],
}

impl FieldWriter<'_> {
    fn write_field(
        &mut self,
        part: SelectedField<'_>,
        value: &Value,
        path: &UnformattedPath<'_>,
    ) -> Result<(), FieldError> {
        let Some(count) = part.element_count() else {
            return match part.numbers() {
                Some(numbers) => self.write_numbers(numbers, value, path),
                None => self.write_nested_message(part, value, path),
            };
        };
        let values = value.as_array();
        let values = values.ok_or_else(|| path.type_error(value, "an array"))?;
        path.check_count(values.len(), count)?;
        for (index, value) in values.iter().enumerate() {
            let Some(element) = part.element(index) else {
                break;
            };
            self.write_field(element, value, &UnformattedPath::Index(path, index))?;
        }
        Ok(())
    }

    fn write_nested_message(
        &mut self,
        part: SelectedField<'_>,
        value: &Value,
        path: &UnformattedPath<'_>,
    ) -> Result<(), FieldError> {
        let pairs = value
            .as_map()
            .ok_or_else(|| path.type_error(value, "a message"))?;
        for (key, value) in pairs {
            let name = key.as_str();
            let name = name.ok_or_else(|| path.type_error(key, "a message with named fields"))?;
            let path = UnformattedPath::Name(path, name);
            let tail = self.layout.trailing_numbers(self.message);
            let tail = tail.filter(|(tail, _)| part.node.is_root && *tail == name);
            if let Some(field) = part.node.child(name) {
                self.write_field(part.field(field), value, &path)?;
            } else if let Some((_, tail)) = tail {
                self.write_numbers(tail, value, &path)?;
            } else {
                let path = path.to_string();
                let name = name.to_owned();
                return Err(FieldError::NoSuchField { path, name });
            }
        }
        Ok(())
    }

    fn write_numbers(
        &mut self,
        numbers: ContiguousNumbers,
        value: &Value,
        path: &UnformattedPath<'_>,
    ) -> Result<(), FieldError> {
        let dtype = numbers.kind.dtype();
        let out = &mut self.message[numbers.byte_range()];
        if numbers.kind == ElementKind::Text {
            return write_text(out, value, path);
        }
        if !numbers.is_row {
            return write_number(dtype, out, value, path);
        }
        match value {
            Value::Bytes(bytes) if dtype == DType::U8 => {
                path.check_count(bytes.len(), numbers.count)?;
                out.copy_from_slice(bytes);
            }
            Value::Typed(array) if dtype == array.dtype() => {
                path.check_count(array.len(), numbers.count)?;
                out.copy_from_slice(array.bytes());
            }
            Value::Typed(array) => {
                path.check_count(array.len(), numbers.count)?;
                write_number_array(dtype, out, array.iter(), path)?;
            }
            Value::Array(values) => {
                path.check_count(values.len(), numbers.count)?;
                write_number_array(dtype, out, values, path)?;
            }
            _ => return Err(path.type_error(value, format_args!("an array of {dtype}"))),
        }
        Ok(())
    }
}

fn write_number_array(
    dtype: DType,
    out: &mut [u8],
    values: impl IntoIterator<Item = impl std::borrow::Borrow<Value>>,
    path: &UnformattedPath<'_>,
) -> Result<(), FieldError> {
    let elements = out.chunks_exact_mut(dtype.size());
    for (index, (out, value)) in elements.zip(values).enumerate() {
        write_number(
            dtype,
            out,
            value.borrow(),
            &UnformattedPath::Index(path, index),
        )?;
    }
    Ok(())
}

fn write_number(
    dtype: DType,
    out: &mut [u8],
    value: &Value,
    path: &UnformattedPath<'_>,
) -> Result<(), FieldError> {
    let article = if dtype.name().starts_with(['i', 'f']) {
        "an"
    } else {
        "a"
    };
    let wanted = format_args!("{article} {dtype}");
    let bytes = match (dtype, value) {
        (DType::F32 | DType::F64, Value::Float(number)) => float_bytes(dtype, *number),
        (DType::F32 | DType::F64, Value::Int(_) | Value::UInt(_)) => {
            value.as_f64().and_then(|number| float_bytes(dtype, number))
        }
        (DType::F32 | DType::F64, _) => return Err(path.type_error(value, wanted)),
        (_, Value::Int(number)) => integer_bytes(dtype, i128::from(*number)),
        (_, Value::UInt(number)) => integer_bytes(dtype, i128::from(*number)),
        _ => return Err(path.type_error(value, wanted)),
    };
    let bytes = bytes.ok_or_else(|| path.range_error(value, wanted))?;
    out.copy_from_slice(&bytes[..out.len()]);
    Ok(())
}

/// Converts a float to the element type `dtype`, as little-endian bytes. Returns `None` if a finite
/// number would become infinite.
fn float_bytes(dtype: DType, number: f64) -> Option<[u8; 8]> {
    if dtype == DType::F64 {
        return Some(number.to_le_bytes());
    }
    let single = f64_to_f32(number);
    let bytes = u64::from(single.to_bits()).to_le_bytes();
    (single.is_finite() || !number.is_finite()).then_some(bytes)
}

/// Converts an integer to the element type `dtype`, as little-endian bytes. Returns `None` if the
/// number does not fit in the type.
fn integer_bytes(dtype: DType, number: i128) -> Option<[u8; 8]> {
    let bits = 8 * dtype.size() as u32;
    let is_signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
    let (min, max) = if is_signed {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    };
    // WHY: in two's complement the lower bytes are those of any narrower type.
    (min..=max)
        .contains(&number)
        .then(|| (number as i64).to_le_bytes())
}

fn write_text(out: &mut [u8], value: &Value, path: &UnformattedPath<'_>) -> Result<(), FieldError> {
    let room = out.len();
    let wanted = format_args!("a text of {room} bytes");
    let text = match value {
        Value::String(text) if !text.contains('\0') => text.as_bytes(),
        // WHY: bytes that are not UTF-8 are read as bytes, and must be accepted for writing.
        Value::Bytes(bytes) => bytes,
        Value::String(_) => return Err(path.range_error(value, wanted)),
        _ => return Err(path.type_error(value, wanted)),
    };
    let (front, rest) = match out.split_at_mut_checked(text.len()) {
        Some(parts) => parts,
        None => return Err(path.range_error(value, wanted)),
    };
    front.copy_from_slice(text);
    rest.fill(0);
    Ok(())
}
