//! Paths to fields of messages, such as `pose.x`, `ranges[3]` or `ranges[0:8]`.

use horus_core::value::{TypedArray, Value};

/// A path to a part of a message, such as `pose.x`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldPath {
    text: String,
    steps: Vec<PathStep>,
}

/// A step of a path: a name, or the brackets after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathStep {
    /// The name of a field.
    Name(String),
    /// An index into an array, counted from 0.
    Index(usize),
    /// The elements of an array from the first index up to the second one, which is not included.
    /// If the second index is `None`, the slice ends at the end of the array.
    Slice(usize, Option<usize>),
}

impl FieldPath {
    /// Parses the text of a path, such as `pose.x`.
    ///
    /// # Errors
    ///
    /// A sentence that explains the syntax of a path, or says that a slice never has an element.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let step = if let Some(inside) = rest.strip_prefix('[') {
                let (range, after) = inside.split_once(']').ok_or_else(|| syntax_error(text))?;
                rest = after;
                let step = parse_range(range);
                if let Some(PathStep::Slice(first, Some(end))) = step
                    && end <= first
                {
                    return Err(format!(
                        "'{text}': the slice [{range}] has no elements: its end, which is not \
                         included, must be greater than its begin"
                    ));
                }
                step
            } else {
                let name = match (steps.is_empty(), rest.strip_prefix('.')) {
                    (true, None) => rest,
                    (false, Some(name)) => name,
                    _ => return Err(syntax_error(text)),
                };
                let end = name.find(['.', '[']).unwrap_or(name.len());
                rest = &name[end..];
                (end > 0).then(|| PathStep::Name(name[..end].to_owned()))
            };
            steps.push(step.ok_or_else(|| syntax_error(text))?);
        }
        if steps.is_empty() {
            return Err(syntax_error(text));
        }
        let text = text.to_owned();
        Ok(Self { text, steps })
    }

    /// Returns the text of the path, as the user typed it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the steps of the path, of which there is at least one.
    pub(super) fn steps(&self) -> &[PathStep] {
        &self.steps
    }

    /// Returns the part of `value` to which the path leads; `None` if there is no such part.
    pub(crate) fn get(&self, value: &Value) -> Option<Value> {
        let (first, steps) = self.steps.split_first()?;
        // WHY the first step apart: it copies only a part of the message.
        let found = first.get(value)?;
        steps.iter().try_fold(found, |found, step| step.get(&found))
    }
}

fn syntax_error(text: &str) -> String {
    format!("'{text}' is not a path: write it as legs[2].feet[1].x or ranges[0:8]")
}

fn parse_range(text: &str) -> Option<PathStep> {
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<usize>().ok()).flatten()
    };
    match text.split_once(':') {
        None => number(text).map(PathStep::Index),
        Some((first, end)) => {
            let first = if first.is_empty() { 0 } else { number(first)? };
            let end = if end.is_empty() {
                None
            } else {
                Some(number(end)?)
            };
            Some(PathStep::Slice(first, end))
        }
    }
}

impl PathStep {
    /// Returns the step as the user writes it, such as `.x` or `[2]`.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Name(name) => format!(".{name}"),
            Self::Index(index) => format!("[{index}]"),
            Self::Slice(first, None) => format!("[{first}:]"),
            Self::Slice(first, Some(end)) => format!("[{first}:{end}]"),
        }
    }

    /// Returns the part of `value` to which the step leads; `None` if there is no such part.
    pub(super) fn get(&self, value: &Value) -> Option<Value> {
        match (self, value) {
            (Self::Name(name), value) => value.get(name).cloned(),
            (Self::Index(index), Value::Array(values)) => values.get(*index).cloned(),
            (Self::Index(index), Value::Typed(array)) => array.get(*index),
            (Self::Index(index), Value::Bytes(bytes)) => {
                bytes.get(*index).map(|byte| (*byte).into())
            }
            (Self::Slice(first, end), Value::Array(values)) => {
                let (first, end) = slice_bounds(*first, *end, values.len());
                Some(Value::Array(values[first..end].to_vec()))
            }
            (Self::Slice(first, end), Value::Bytes(bytes)) => {
                let (first, end) = slice_bounds(*first, *end, bytes.len());
                Some(Value::Bytes(bytes[first..end].to_vec()))
            }
            (Self::Slice(first, end), Value::Typed(array)) => {
                let (first, end) = slice_bounds(*first, *end, array.len());
                let size = array.dtype().size();
                let bytes = array.bytes()[first * size..end * size].to_vec();
                let shape = vec![(end - first) as u32];
                Some(TypedArray::new(array.dtype(), shape, bytes).ok()?.into())
            }
            _ => None,
        }
    }
}

/// Returns the first index and the end index of a slice, limited to the length of the array.
fn slice_bounds(first: usize, end: Option<usize>, length: usize) -> (usize, usize) {
    let end = end.unwrap_or(length).min(length);
    (first.min(end), end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_parts() {
        let value = Value::from([
            ("pose", Value::from([("x", Value::from(1.5))])),
            ("ranges", TypedArray::from_slice(&[1_u8, 2, 3, 4]).into()),
            ("list", Value::Array(vec![Value::from(7), Value::from("b")])),
        ]);
        let table = [
            ("pose.x", Some("1.5")),
            ("ranges[2]", Some("3")),
            ("ranges[1:3]", Some("u8[2, 3]")),
            ("ranges[2:]", Some("u8[3, 4]")),
            ("ranges[:9]", Some("u8[1, 2, 3, 4]")),
            ("ranges[9:]", Some("u8[]")),
            ("list[1]", Some("\"b\"")),
            ("list[5]", None),
            ("pose.y", None),
            ("pose[0]", None),
        ];
        for (path, expected) in table {
            let found = FieldPath::parse(path).unwrap().get(&value);
            assert_eq!(
                found.map(|value| value.to_string()).as_deref(),
                expected,
                "{path}"
            );
        }
        for wrong in [
            "", ".", "a.", "a..b", "a[", "a[x]", "a[-1]", ".a", "a[1]b", "a[+1]", "a[9:1]",
            "a[2:2]", "a[:0]",
        ] {
            assert!(FieldPath::parse(wrong).is_err(), "{wrong}");
        }
    }
}
