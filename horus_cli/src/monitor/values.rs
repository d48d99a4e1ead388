//! Converts a message to lines. Each line has the path and the text of one value of the message.

use horus_core::value::Value;
use serde::Serialize;

use crate::output::value::{array_element, value_text};
use crate::topic::field::FieldPath;

/// Maximum number of lines for one message. [`TEXT_CHARACTERS_MAX`] is the maximum length of the
/// text of a line, in characters.
const LINES_MAX: usize = 400;
const TEXT_CHARACTERS_MAX: usize = 400;

/// Maximum length of an array of which each element has a line. Of a longer array, only
/// [`FRONT_ELEMENTS_SHOWN`] elements at the front and [`BACK_ELEMENTS_SHOWN`] at the back have
/// lines.
const ELEMENTS_MAX: usize = 16;
/// Number of elements at the front of a long array that have lines.
const FRONT_ELEMENTS_SHOWN: usize = 8;
/// Number of elements at the end of a long array that have lines.
const BACK_ELEMENTS_SHOWN: usize = 2;

/// Depth of nesting at which a map or list is no longer divided into lines, but shown on one line.
const DEPTH_MAX: usize = 16;

/// A line that shows one value of a message together with its path.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct ValueLine {
    path: String,
    text: String,
    /// True if the value is a number that [`FieldPath`] can find by its path. The page can then
    /// plot it.
    is_number: bool,
}

/// Returns the lines that show the values of a message.
pub(super) fn value_lines(value: &Value) -> Vec<ValueLine> {
    let mut lines = LineCollector(Vec::new());
    lines.add(String::new(), value, 0);
    lines.0
}

/// Returns `value` as an `f64` if it is a number or a boolean; otherwise `None`.
pub(super) fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(is_true) => Some(f64::from(u8::from(*is_true))),
        Value::Int(number) => Some(*number as f64),
        Value::UInt(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

struct LineCollector(Vec<ValueLine>);

impl LineCollector {
    fn add(&mut self, path: String, value: &Value, depth: usize) {
        if self.0.len() >= LINES_MAX {
            return;
        }
        match value {
            Value::Map(pairs) if depth < DEPTH_MAX && !pairs.is_empty() => {
                for (key, value) in pairs {
                    let key = key
                        .as_str()
                        .map_or_else(|| value_text(key, false), str::to_owned);
                    let dot = if path.is_empty() { "" } else { "." };
                    self.add(format!("{path}{dot}{key}"), value, depth + 1);
                }
            }
            Value::Array(values) if depth < DEPTH_MAX && !values.is_empty() => {
                self.add_elements(&path, values.len(), depth, |index| {
                    values.get(index).cloned()
                });
            }
            Value::Typed(array) if !array.is_empty() => {
                self.add_elements(&path, array.len(), depth, |index| {
                    array_element(array, index)
                });
            }
            other => self.push(path, value_text(other, false), as_number(other).is_some()),
        }
    }

    fn add_elements(
        &mut self,
        path: &str,
        length: usize,
        depth: usize,
        get: impl Fn(usize) -> Option<Value>,
    ) {
        let (front, back) = if length > ELEMENTS_MAX {
            (FRONT_ELEMENTS_SHOWN, length - BACK_ELEMENTS_SHOWN)
        } else {
            (length, length)
        };
        for index in (0..front).chain(back..length) {
            if index == back {
                let left_out = format!("… {} more …", back - front);
                self.push(format!("{path}[{front}:{back}]"), left_out, false);
            }
            if let Some(value) = get(index) {
                self.add(format!("{path}[{index}]"), &value, depth + 1);
            }
        }
    }

    fn push(&mut self, path: String, mut text: String, is_number: bool) {
        if let Some((end, _)) = text.char_indices().nth(TEXT_CHARACTERS_MAX) {
            text.truncate(end);
            text.push('…');
        }
        self.0.push(ValueLine {
            is_number: is_number && FieldPath::parse(&path).is_ok(),
            path,
            text,
        });
    }
}

#[cfg(test)]
mod tests {
    use horus_core::value::TypedArray;

    use super::*;

    #[test]
    fn each_part_has_a_line() {
        let long: Vec<u8> = (0..200).collect();
        let value = Value::from([
            ("pose", Value::from([("x", Value::from(1.5))])),
            ("a<b", Value::from("<b>\n")),
            ("list", Value::Array(vec![Value::from(true), Value::Nil])),
            ("ranges", TypedArray::from_slice(&long).into()),
            ("single", TypedArray::from_slice(&[0.1_f32]).into()),
        ]);
        let lines = value_lines(&value);
        let shown: Vec<_> = lines
            .iter()
            .map(|line| format!("{} {} {}", line.path, line.text, line.is_number))
            .collect();
        assert_eq!(
            shown[..5],
            [
                "pose.x 1.5 true",
                "a<b \"<b>\\n\" false",
                "list[0] true true",
                "list[1] null false",
                "ranges[0] 0 true",
            ]
        );
        assert_eq!(
            shown[12..15],
            [
                "ranges[8:198] … 190 more … false",
                "ranges[198] 198 true",
                "ranges[199] 199 true",
            ]
        );
        assert_eq!(shown[15], "single[0] 0.1 true");
        let is_exact = |line: &&ValueLine| line.is_number && line.path != "single[0]";
        for line in lines.iter().filter(is_exact) {
            let found = FieldPath::parse(&line.path).unwrap().get(&value);
            assert_eq!(value_text(&found.unwrap(), false), line.text);
        }
    }

    #[test]
    fn large_values_have_limits() {
        let deep = (0..100).fold(Value::from(1), |value, _| Value::Array(vec![value]));
        assert_eq!(value_lines(&deep).len(), 1);
        let wide = Value::Array(vec![Value::Array(vec![Value::from(1); 16]); 16]);
        let wide = Value::Array(vec![wide; 16]);
        assert_eq!(value_lines(&wide).len(), LINES_MAX);
        let long = value_lines(&Value::from("ä".repeat(1000)));
        assert_eq!(long[0].text.chars().count(), TEXT_CHARACTERS_MAX + 1);
    }
}
