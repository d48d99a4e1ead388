//! Converts a part of a message to a value.

use super::tree::{ContiguousNumbers, ElementKind, FieldContent, SelectedField};
use super::{Layout, PathTarget};
use crate::value::{TypedArray, Value};

/// Reads `target`, a part of `message`, and returns it as a value.
pub(super) fn read_target(layout: &Layout, target: PathTarget<'_>, message: &[u8]) -> Value {
    let found = match target {
        PathTarget::Part(found) => found,
        PathTarget::Numbers(found) => return numbers_value(found, message),
    };
    let mut value = field_value(found, message);
    if let (Value::Map(pairs), true) = (&mut value, found.node.is_root)
        && let Some((name, tail)) = layout.trailing_numbers(message)
    {
        pairs.push((name.into(), numbers_value(tail, message)));
    }
    value
}

fn field_value(found: SelectedField<'_>, message: &[u8]) -> Value {
    if let Some(count) = found.element_count() {
        // WHY one allocation: the memory is then exactly what the layout has computed.
        let mut values = Vec::with_capacity(count);
        let elements = (0..count).filter_map(|index| found.element(index));
        values.extend(elements.map(|element| field_value(element, message)));
        return Value::Array(values);
    }
    match &found.node.content {
        FieldContent::Message(fields) => {
            let value = |field| field_value(found.field(field), message);
            let pairs = fields
                .iter()
                .map(|field| (field.name.as_str().into(), value(field)));
            Value::Map(pairs.collect())
        }
        FieldContent::Numbers(_) => found
            .numbers()
            .map_or(Value::Nil, |found| numbers_value(found, message)),
    }
}

fn numbers_value(numbers: ContiguousNumbers, message: &[u8]) -> Value {
    let bytes = &message[numbers.byte_range()];
    match numbers.kind {
        ElementKind::Raw => bytes.into(),
        ElementKind::Text => text_value(bytes),
        ElementKind::Number(dtype) => {
            // WHY it may saturate: a message has fewer than 2^32 elements, so a larger count
            // belongs to an array that has none.
            let count = u32::try_from(numbers.count).unwrap_or(u32::MAX);
            let shape = if numbers.is_row {
                vec![count]
            } else {
                Vec::new()
            };
            match TypedArray::new(dtype, shape, bytes.to_vec()) {
                Ok(array) if numbers.is_row => array.into(),
                Ok(array) => array.get(0).unwrap_or_default(),
                Err(_) => bytes.into(),
            }
        }
    }
}

/// Returns the text before the first NUL as a string value. Returns all bytes if the text is not
/// UTF-8, or if a byte other than NUL follows the first NUL.
fn text_value(bytes: &[u8]) -> Value {
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    match std::str::from_utf8(&bytes[..end]) {
        Ok(text) if bytes[end..].iter().all(|byte| *byte == 0) => text.into(),
        _ => bytes.into(),
    }
}
