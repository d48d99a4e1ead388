//! Conditions that select messages, such as `linear > 0.5 && frame == "map"`.

use std::cmp::Ordering;

use horus_core::value::Value;

use super::field::FieldPath;
use super::typed_value;

/// A condition: comparisons of fields with values, joined by `&&` and `||`; `&&` binds tighter. The
/// condition is fulfilled if, in at least one element of `alternatives`, all comparisons are true.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    alternatives: Vec<Vec<Comparison>>,
}

/// A comparison of a field with a value.
#[derive(Debug, Clone)]
pub(super) struct Comparison {
    path: FieldPath,
    operator: Operator,
    value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    LessOrEqual,
    GreaterOrEqual,
    Less,
    Greater,
}

/// The comparison operators, as users type them. A longer operator comes before its prefix: `<=`
/// before `<`.
const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

impl Condition {
    /// Parses the text of a condition, such as `linear > 0.5`.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the text.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let all = |text: &str| {
            let parts = split_outside_strings(text, "&&").into_iter();
            parts.map(Comparison::parse).collect()
        };
        let alternatives = split_outside_strings(text, "||").into_iter().map(all);
        Ok(Self {
            alternatives: alternatives.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the first path in the condition that leads to no part of the message; `None` if all
    /// lead to a part.
    pub(super) fn path_missing_in(&self, message: &Value) -> Option<&FieldPath> {
        let mut paths = self.comparisons().map(Comparison::path);
        paths.find(|path| path.get(message).is_none())
    }

    /// Returns true if the message fulfils the condition. A field that the message does not have
    /// counts as different from every value.
    pub(super) fn is_fulfilled_by(&self, message: &Value) -> bool {
        let holds = |all: &Vec<Comparison>| all.iter().all(|one| one.is_fulfilled_by(message));
        self.alternatives.iter().any(holds)
    }

    /// Returns all comparisons of the condition.
    pub(super) fn comparisons(&self) -> impl Iterator<Item = &Comparison> {
        self.alternatives.iter().flatten()
    }
}

/// Splits `text` at each `separator` that is not within quotes.
fn split_outside_strings<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while let Some(first) = text[at..].chars().next() {
        if text[at..].starts_with(separator) {
            parts.push(&text[begin..at]);
            at += separator.len();
            begin = at;
        } else if matches!(first, '"' | '\'') {
            at += typed_value::string_length(&text[at..], first);
        } else {
            at += first.len_utf8();
        }
    }
    parts.push(&text[begin..]);
    parts
}

impl Comparison {
    fn parse(text: &str) -> Result<Self, String> {
        let found = OPERATORS.iter().filter_map(|(typed, operator)| {
            let at = text.find(typed)?;
            Some((at, typed.len(), *operator))
        });
        let first = found.min_by_key(|(at, length, _)| (*at, usize::MAX - length));
        let (at, length, operator) = first.ok_or_else(|| {
            format!(
                "'{}' is no comparison: write it as linear > 0.5",
                text.trim()
            )
        })?;
        let value = text[at + length..].trim();
        let value = typed_value::parse(value)
            .map_err(|error| format!("'{value}' is no value to compare with: {error}"))?;
        if operator != Operator::NotEqual && value.as_f64().is_some_and(f64::is_nan) {
            return Err(format!(
                "'{}' is never fulfilled: no number is equal to NaN, less or greater",
                text.trim()
            ));
        }
        let path = FieldPath::parse(text[..at].trim())?;
        Ok(Self {
            path,
            operator,
            value,
        })
    }

    /// Returns the path of the compared field.
    pub(super) const fn path(&self) -> &FieldPath {
        &self.path
    }

    /// Returns the value that the field is compared with.
    pub(super) const fn value(&self) -> &Value {
        &self.value
    }

    /// Returns true if the comparison is true for at least one whole number from `min` to `max`.
    pub(super) fn can_hold_for_integers(&self, min: &Value, max: &Value) -> bool {
        let min = compare_values(min, &self.value);
        let max = compare_values(max, &self.value);
        let is_within = min != Some(Ordering::Greater) && max != Some(Ordering::Less);
        match self.operator {
            Operator::Equal => {
                is_within
                    && self
                        .value
                        .as_f64()
                        .is_some_and(|value| value.fract() == 0.0)
            }
            Operator::NotEqual => true,
            Operator::Less => min == Some(Ordering::Less),
            Operator::LessOrEqual => min != Some(Ordering::Greater),
            Operator::Greater => max == Some(Ordering::Greater),
            Operator::GreaterOrEqual => max != Some(Ordering::Less),
        }
    }

    /// Returns true if the comparison is true for at least one single-precision number.
    pub(super) fn can_hold_for_single_precision(&self) -> bool {
        let value = self.value.as_f64().unwrap_or_default();
        let overflows = value.is_finite() && (value as f32).is_infinite();
        self.operator != Operator::Equal || !overflows
    }

    fn is_fulfilled_by(&self, message: &Value) -> bool {
        let found = self.path.get(message);
        let order = found
            .as_ref()
            .and_then(|found| compare_values(found, &self.value));
        match self.operator {
            Operator::Equal => order == Some(Ordering::Equal),
            Operator::NotEqual => order != Some(Ordering::Equal),
            Operator::Less => order == Some(Ordering::Less),
            Operator::Greater => order == Some(Ordering::Greater),
            Operator::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Operator::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

/// Compares two values: numbers as numbers, and texts as texts. Returns `None` if they have no
/// order, for example a number and a text.
fn compare_values(one: &Value, other: &Value) -> Option<Ordering> {
    let integer = |value: &Value| match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::UInt(number) => Some(i128::from(*number)),
        _ => None,
    };
    if let (Some(one), Some(other)) = (integer(one), integer(other)) {
        return Some(one.cmp(&other));
    }
    if let (Some(one), Some(other)) = (one.as_f64(), other.as_f64()) {
        return one.partial_cmp(&other);
    }
    if let (Some(one), Some(other)) = (one.as_str(), other.as_str()) {
        return Some(one.cmp(other));
    }
    (one == other).then_some(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_compare_fields() {
        let message = Value::from([
            ("linear", Value::from(0.5)),
            ("count", Value::from(u64::MAX)),
            ("frame", Value::from("map")),
            ("ok", Value::from(true)),
        ]);
        let table = [
            ("linear > 0.4", true),
            ("linear>0.5", false),
            ("linear >= 0.5", true),
            ("linear == 0.5 && frame == 'map'", true),
            ("linear < 0 || frame != \"odom\"", true),
            ("linear < 0 || frame == 'odom' && ok == true", false),
            ("count == 18446744073709551615", true),
            ("count == 18446744073709551614", false),
            ("ok == true", true),
            ("ok == 1", false),
            ("none == 1", false),
            ("none != 1", true),
            ("frame < 'n'", true),
            ("linear != NaN", true),
            ("frame != 'a||b' && frame == \"map\"", true),
            ("frame == 'map && 1' || frame == 'it\\'s || 2'", false),
        ];
        for (text, expected) in table {
            assert_eq!(
                Condition::parse(text).unwrap().is_fulfilled_by(&message),
                expected,
                "{text}"
            );
        }
        for wrong in [
            "",
            "linear",
            "linear = 1",
            "linear >",
            "> 1",
            "linear > 1 &&",
            "linear == NaN",
            "linear < NaN",
        ] {
            assert!(Condition::parse(wrong).is_err(), "{wrong}");
        }
    }
}
