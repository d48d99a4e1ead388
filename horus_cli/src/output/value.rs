//! Formats values of messages as text. The text looks like JSON5, is on one line, and shortens long
//! arrays.

use std::collections::HashSet;
use std::fmt::Write as _;

use horus_core::message::{DType, ParsedSchema, Primitive};
use horus_core::value::{TypedArray, Value};

use super::format::{count, is_visible};

/// Maximum length of an array that is written in full. Of a longer array, only some elements at the
/// front and at the back are written.
const ELEMENTS_MAX: usize = 16;
/// Number of elements at the front of a long array that are written.
const FRONT_ELEMENTS_SHOWN: usize = 8;
/// Number of elements at the end of a long array that are written.
const BACK_ELEMENTS_SHOWN: usize = 2;

/// Returns `value` as text. Shortens long arrays unless `full` is true.
pub(crate) fn value_text(value: &Value, full: bool) -> String {
    let mut writer = ValueWriter {
        text: String::new(),
        full,
    };
    writer.write_value(value);
    writer.text
}

struct ValueWriter {
    text: String,
    full: bool,
}

impl ValueWriter {
    fn write_value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.write_quoted(text),
            Value::Bytes(bytes) => self.write_bytes(bytes),
            Value::Array(values) => self.write_list(values.len(), |this, index| {
                this.write_value(&values[index]);
            }),
            Value::Typed(array) => self.write_typed_array(array),
            Value::Map(pairs) => {
                self.text.push('{');
                for (index, (key, value)) in pairs.iter().enumerate() {
                    self.text.push_str(if index == 0 { "" } else { ", " });
                    self.write_key(key);
                    self.text.push_str(": ");
                    self.write_value(value);
                }
                self.text.push('}');
            }
            // Numbers, booleans and nil have no text that a terminal could act on.
            other => self.text.push_str(&other.to_string()),
        }
    }

    fn write_key(&mut self, key: &Value) {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let starts = |text: &str| text.starts_with(|c: char| is_letter(c) && !c.is_ascii_digit());
        match key {
            Value::String(name) if starts(name) && name.chars().all(is_letter) => {
                self.text.push_str(name);
            }
            other => self.write_value(other),
        }
    }

    fn write_quoted(&mut self, text: &str) {
        self.text.push('"');
        for letter in text.chars() {
            match letter {
                '"' | '\\' => self.text.extend(['\\', letter]),
                '\n' => self.text.push_str("\\n"),
                '\t' => self.text.push_str("\\t"),
                letter if is_visible(letter) => self.text.push(letter),
                letter => {
                    // Writing to a string does not fail.
                    let _ = write!(self.text, "\\u{:04x}", u32::from(letter));
                }
            }
        }
        self.text.push('"');
    }

    fn write_bytes(&mut self, bytes: &[u8]) {
        let _ = if self.full || bytes.len() <= ELEMENTS_MAX {
            write!(self.text, "b\"{}\"", bytes.escape_ascii())
        } else {
            write!(self.text, "<{} bytes>", count(bytes.len() as u64))
        };
    }

    fn write_typed_array(&mut self, array: &TypedArray) {
        if array.shape().len() != 1 {
            let shape: Vec<_> = array.shape().iter().map(ToString::to_string).collect();
            let _ = write!(self.text, "{}({})", array.dtype(), shape.join(", "));
        }
        self.write_list(array.len(), |this, index| {
            this.write_value(&array_element(array, index).unwrap_or_default());
        });
    }

    fn write_list(&mut self, length: usize, mut write: impl FnMut(&mut Self, usize)) {
        let is_cut = !self.full && length > ELEMENTS_MAX;
        self.text.push('[');
        for index in 0..length {
            if is_cut && (FRONT_ELEMENTS_SHOWN..length - BACK_ELEMENTS_SHOWN).contains(&index) {
                if index == FRONT_ELEMENTS_SHOWN {
                    let left_out = length - FRONT_ELEMENTS_SHOWN - BACK_ELEMENTS_SHOWN;
                    let _ = write!(self.text, ", … {} more …", count(left_out as u64));
                }
                continue;
            }
            self.text.push_str(if index == 0 { "" } else { ", " });
            write(self, index);
        }
        self.text.push(']');
    }
}

/// Returns the element of `array` at `index`; `None` if the array is shorter. Converts a number of
/// single or half precision to the double with the fewest digits that rounds to it.
pub(crate) fn array_element(array: &TypedArray, index: usize) -> Option<Value> {
    let mut element = array.get(index)?;
    if matches!(array.dtype(), DType::F32 | DType::F16 | DType::BF16) {
        shorten_single_precision_number(&mut element);
    }
    Some(element)
}

/// Replaces the single-precision numbers in a message by doubles: by those with the fewest digits
/// that round to them, such as 0.1 and not 0.10000000149011612.
///
/// If the result is encoded again, its bytes are those of the original message.
pub(crate) fn shorten_single_precision(value: &mut Value, schema: &ParsedSchema) {
    let single_precision_paths = schema
        .fields
        .iter()
        .filter(|field| field.shape.primitive == Primitive::F32);
    let single_precision_paths: HashSet<&str> = single_precision_paths
        .map(|field| field.path.as_str())
        .collect();
    if !single_precision_paths.is_empty() {
        shorten_single_precision_fields(value, "", &single_precision_paths);
    }
}

fn shorten_single_precision_fields(
    value: &mut Value,
    path: &str,
    single_precision_paths: &HashSet<&str>,
) {
    match value {
        Value::Map(pairs) => {
            for (key, value) in pairs {
                let name = key.as_str().unwrap_or_default();
                let path = if path.is_empty() {
                    name.to_owned()
                } else {
                    format!("{path}.{name}")
                };
                shorten_single_precision_fields(value, &path, single_precision_paths);
            }
        }
        Value::Array(values) => {
            for value in values {
                shorten_single_precision_fields(value, path, single_precision_paths);
            }
        }
        Value::Float(_) if single_precision_paths.contains(path) => {
            shorten_single_precision_number(value)
        }
        _ => {}
    }
}

fn shorten_single_precision_number(value: &mut Value) {
    let Value::Float(number) = value else { return };
    let single = *number as f32;
    let short = format!("{single:?}").parse::<f64>();
    if let Some(short) = short.ok().filter(|short| *short as f32 == single) {
        *number = short;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_look_like_json5() {
        let long: Vec<f32> = (0..360).map(|index| index as f32).collect();
        let value = Value::from([
            ("t", Value::from(7)),
            ("a b", Value::from("x\"\x1b\u{202e}\n")),
            (
                "f",
                TypedArray::from_slice(&[0.1_f32, f32::NAN, f32::INFINITY]).into(),
            ),
            ("long", TypedArray::from_slice(&long).into()),
            ("bytes", Value::Bytes(b"ok\0".to_vec())),
            ("image", Value::Bytes(vec![0; 1 << 20])),
            ("list", Value::Array(vec![Value::Nil, Value::Bool(true)])),
        ]);
        assert_eq!(
            value_text(&value, false),
            "{t: 7, \"a b\": \"x\\\"\\u001b\\u202e\\n\", f: [0.1, NaN, Infinity], \
             long: [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, … 350 more …, 358.0, 359.0], \
             bytes: b\"ok\\x00\", image: <1,048,576 bytes>, list: [null, true]}"
        );
        assert!(value_text(&value, true).contains("8.0, 9.0, 10.0"));
    }
}
