//! Converts a part of a message to a value.

use super::tree::{Content, Kind, Numbers, Part};
use super::{Layout, Target};
use crate::value::{TypedArray, Value};

/// Returns the value of `target`, which lies in `message`.
pub(super) fn read(layout: &Layout, target: Target<'_>, message: &[u8]) -> Value {
    let found = match target {
        Target::Part(found) => found,
        Target::Numbers(found) => return numbers(found, message),
    };
    let mut value = part(found, message);
    if let (Value::Map(pairs), true) = (&mut value, found.node.is_root)
        && let Some((name, tail)) = layout.tail(message)
    {
        pairs.push((name.into(), numbers(tail, message)));
    }
    value
}

fn part(found: Part<'_>, message: &[u8]) -> Value {
    if let Some(count) = found.count() {
        // WHY: one allocation for all of them, so that the memory is exactly what the layout
        // counted.
        let mut values = Vec::with_capacity(count);
        let elements = (0..count).filter_map(|index| found.element(index));
        values.extend(elements.map(|element| part(element, message)));
        return Value::Array(values);
    }
    match &found.node.content {
        Content::Message(fields) => {
            let value = |field| part(found.field(field), message);
            let pairs = fields.iter().map(|field| (field.name.as_str().into(), value(field)));
            Value::Map(pairs.collect())
        }
        Content::Numbers(_) => found.numbers().map_or(Value::Nil, |found| numbers(found, message)),
    }
}

fn numbers(numbers: Numbers, message: &[u8]) -> Value {
    let bytes = &message[numbers.range()];
    match numbers.kind {
        Kind::Raw => bytes.into(),
        Kind::Text => text(bytes),
        Kind::Number(dtype) => {
            // WHY: a message has fewer than 2^32 elements; a shape with a larger count has none of
            // them.
            let count = u32::try_from(numbers.count).unwrap_or(u32::MAX);
            let shape = if numbers.is_row { vec![count] } else { Vec::new() };
            match TypedArray::new(dtype, shape, bytes.to_vec()) {
                Ok(array) if numbers.is_row => array.into(),
                Ok(array) => array.get(0).unwrap_or_default(),
                Err(_) => bytes.into(),
            }
        }
    }
}

/// Returns the text before the first NUL, or all bytes if non-NUL bytes follow it or it is not
/// UTF-8.
fn text(bytes: &[u8]) -> Value {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    match std::str::from_utf8(&bytes[..end]) {
        Ok(text) if bytes[end..].iter().all(|byte| *byte == 0) => text.into(),
        _ => bytes.into(),
    }
}
