//! Checks paths and comparisons against the schema of a topic, so that no command waits for a field
//! that no message can have.

use horus_core::message::{ParsedSchema, Primitive};
use horus_core::topic::{DynamicSchema, DynamicType};
use horus_core::value::Value;

use super::condition::Comparison;
use super::field::{FieldPath, PathStep};
use super::type_fields::{carried_type_text, fields_within, unknown_field_failure};
use crate::failure::Failure;

/// A part of a message type, found by a path.
///
/// `sample` is this part of an example message, which consists of zeros. The part has the same kind
/// and the same number of elements in every message; only the array at the end of a message can
/// have any length, and has one element in the example.
#[derive(Debug)]
struct TypePart<'a> {
    topic: &'a str,
    kind: &'a DynamicType,
    schema: &'a ParsedSchema,
    sample: Value,
    /// The path of the part, as the user writes it.
    path: String,
    /// The path without its indices, as the schema writes it: `poses.position.x` for
    /// `poses[3].position.x`.
    names: String,
}

/// Returns a failure if no message of the type `kind` can have a part at `path`. Messages without a
/// schema may have any part, but those of an unknown type only bytes.
pub(super) fn check_path(topic: &str, kind: &DynamicType, path: &FieldPath) -> Result<(), Failure> {
    TypePart::find(topic, kind, path).map(|_| ())
}

/// Returns a failure if `comparison` can be true for no message of the type `kind`, because there
/// is no part at its path, the part is not comparable with the value, or no number of the type of
/// the part fulfils the comparison. Numbers are comparable with numbers, and texts with texts.
pub(super) fn check_comparable(
    topic: &str,
    kind: &DynamicType,
    comparison: &Comparison,
) -> Result<(), Failure> {
    match TypePart::find(topic, kind, comparison.path())? {
        Some(part) => {
            part.check_comparable(comparison.value())?;
            part.check_can_be_fulfilled(comparison)
        }
        None => Ok(()),
    }
}

/// Returns the least and the greatest number of an integer type; `None` for other types.
fn integer_range(primitive: Primitive) -> Option<(Value, Value)> {
    let unused_bits = 64 - 8 * primitive.size();
    match primitive {
        Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64 => {
            Some((Value::UInt(0), Value::UInt(u64::MAX >> unused_bits)))
        }
        Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 => Some((
            Value::Int(i64::MIN >> unused_bits),
            Value::Int(i64::MAX >> unused_bits),
        )),
        _ => None,
    }
}

impl<'a> TypePart<'a> {
    /// Returns the part of the message type at `path`. Returns `None` if the type has no schema, so
    /// only a message shows which parts it has.
    fn find(
        topic: &'a str,
        kind: &'a DynamicType,
        path: &FieldPath,
    ) -> Result<Option<Self>, Failure> {
        let DynamicSchema::Plain { schema, layout } = kind.schema() else {
            return match (kind.schema(), path.steps()) {
                (DynamicSchema::Unknown, [PathStep::Name(name), ..]) => {
                    Err(Failure::refused(format_args!(
                        "{}, whose fields are unknown, as it has no schema: there is no '{name}', \
                         only bytes, such as [0]",
                        carried_type_text(Some(topic), kind),
                    )))
                }
                _ => Ok(None),
            };
        };
        let tail_bytes = schema.tail.as_ref().map_or(0, |tail| tail.primitive.size());
        // The layout was made for this schema, so it can read a message of this length.
        let Ok(sample) = layout.decode(&vec![0; schema.size + tail_bytes]) else {
            return Ok(None);
        };
        let mut part = Self {
            topic,
            kind,
            schema,
            sample,
            path: String::new(),
            names: String::new(),
        };
        for step in path.steps() {
            part.descend(step)?;
        }
        Ok(Some(part))
    }

    /// Moves to the part inside this one to which `step` leads.
    fn descend(&mut self, step: &PathStep) -> Result<(), Failure> {
        let found = match step {
            PathStep::Name(name) => self.field(name)?,
            _ => self.select_elements(step)?,
        };
        self.path.push_str(&step.text());
        if let PathStep::Name(name) = step {
            let dot = if self.names.is_empty() { "" } else { "." };
            self.names.push_str(&format!("{dot}{name}"));
            self.path = self.path.trim_start_matches('.').to_owned();
        }
        self.sample = found;
        Ok(())
    }

    /// Returns the field `name` of the part, which must be a message.
    fn field(&self, name: &str) -> Result<Value, Failure> {
        match &self.sample {
            Value::Map(_) => self.sample.get(name).cloned().ok_or_else(|| {
                let fields = fields_within(self.schema, &self.names);
                unknown_field_failure(Some(self.topic), self.kind, name, &fields)
            }),
            Value::Array(_) | Value::Typed(_) | Value::Bytes(_) => Err(self.refusal(&format!(
                "which has no field '{name}': write {}[0] for its first element",
                self.path
            ))),
            _ => Err(self.refusal(&format!("which has no field '{name}': write {}", self.path))),
        }
    }

    /// Returns the elements of the part that `step` selects. The part must be an array, and have at
    /// least one of these elements.
    fn select_elements(&self, step: &PathStep) -> Result<Value, Failure> {
        let brackets = step.text();
        let count = match &self.sample {
            Value::Typed(_) | Value::Bytes(_) if self.is_trailing_array() => {
                // The elements differ from message to message, but not their type.
                let element = PathStep::Index(0).get(&self.sample);
                return Ok(match step {
                    PathStep::Index(_) => element.unwrap_or_default(),
                    _ => self.sample.clone(),
                });
            }
            Value::Array(values) => values.len(),
            Value::Typed(array) => array.len(),
            Value::Map(_) => {
                let fields = fields_within(self.schema, &self.names).join(", ");
                return Err(self.refusal(&format!(
                    "which is no array, so it has no {brackets}: write one of its fields: {fields}"
                )));
            }
            _ => {
                return Err(self.refusal(&format!(
                    "which is no array, so it has no {brackets}: write {}",
                    self.path
                )));
            }
        };
        let (PathStep::Index(first) | PathStep::Slice(first, _)) = step else {
            return Ok(Value::Nil);
        };
        let Some(last) = count.checked_sub(1) else {
            return Err(self.refusal("which has no elements"));
        };
        if *first > last {
            return Err(self.refusal(&format!(
                "which has no {}{brackets}: its elements are [0] to [{last}]",
                self.path
            )));
        }
        Ok(step.get(&self.sample).unwrap_or_default())
    }

    fn check_comparable(&self, value: &Value) -> Result<(), Failure> {
        let is_number = |value: &Value| value.as_f64().is_some();
        match (&self.sample, value) {
            (Value::Map(_), _) => {
                let fields = fields_within(self.schema, &self.names).join(", ");
                Err(self.refusal(&format!(
                    "and a message cannot be compared: compare one of its fields: {fields}"
                )))
            }
            (Value::Array(_) | Value::Typed(_) | Value::Bytes(_), _) => {
                let array = self
                    .path
                    .split_once('[')
                    .map_or(&*self.path, |(name, _)| name);
                Err(self.refusal(&format!(
                    "and an array cannot be compared: compare one element, such as {array}[0]"
                )))
            }
            (Value::String(_), Value::String(_)) => Ok(()),
            (Value::String(_), _) => Err(self.refusal(&format!(
                "which cannot be compared with {value}: write a text in quotes"
            ))),
            (sample, value) if is_number(sample) && is_number(value) => Ok(()),
            _ => Err(self.refusal(&format!(
                "which cannot be compared with {value}: write a number"
            ))),
        }
    }

    /// Returns a failure if `comparison` is false for every number that the type of the part can
    /// hold.
    fn check_can_be_fulfilled(&self, comparison: &Comparison) -> Result<(), Failure> {
        let Some(primitive) = self.primitive() else {
            return Ok(());
        };
        let value = comparison.value();
        let range = match (primitive, integer_range(primitive)) {
            (_, Some((min, max))) if !comparison.can_hold_for_integers(&min, &max) => {
                format!("a whole number from {min} to {max}")
            }
            (Primitive::F32, _) if !comparison.can_hold_for_single_precision() => {
                format!("a number up to {:e}", f32::MAX)
            }
            _ => return Ok(()),
        };
        Err(self.refusal(&format!(
            "so the comparison with {value} is never true: it is {range}"
        )))
    }

    /// Returns true if the part is the array at the end of the message, whose length may differ
    /// from message to message.
    fn is_trailing_array(&self) -> bool {
        let tail = self.schema.tail.as_ref();
        tail.is_some_and(|tail| tail.name == self.names)
    }

    /// Returns a failure that names the topic, the part and its type, and ends with `reason`.
    fn refusal(&self, reason: &str) -> Failure {
        let carried_type_text = carried_type_text(Some(self.topic), self.kind);
        if self.path.is_empty() {
            return Failure::refused(format_args!("{carried_type_text}, {reason}"));
        }
        Failure::refused(format_args!(
            "{carried_type_text}, in which '{}' is {}, {reason}",
            self.path,
            self.type_text()
        ))
    }

    /// Returns the type of the part as text, such as `an array of 3 f64`.
    fn type_text(&self) -> String {
        match &self.sample {
            Value::Map(_) => "a message".to_owned(),
            Value::String(_) => "a text".to_owned(),
            Value::Array(values) => {
                let is_text = matches!(values.first(), Some(Value::String(_)));
                let what = if is_text { "texts" } else { "messages" };
                format!("an array of {} {what}", values.len())
            }
            _ => {
                let name = self.number_type_name();
                match &self.sample {
                    Value::Typed(_) | Value::Bytes(_) if self.is_trailing_array() => {
                        format!("an array of {name}, of any length")
                    }
                    Value::Typed(array) => format!("an array of {} {name}", array.len()),
                    _ if name.starts_with(['i', 'f']) => format!("an {name}"),
                    _ => format!("a {name}"),
                }
            }
        }
    }

    /// Returns the name of the type of number in the part, such as `f64`.
    fn number_type_name(&self) -> &'static str {
        self.primitive().map_or("number", Primitive::name)
    }

    /// Returns the type of the number, or of the numbers, in the part. Returns `None` if it
    /// contains no number.
    fn primitive(&self) -> Option<Primitive> {
        let fields = self.schema.fields.iter();
        let field = fields.map(|field| (&field.path, field.shape.primitive));
        let tail = self.schema.tail.iter();
        let mut all = field.chain(tail.map(|tail| (&tail.name, tail.primitive)));
        all.find(|(path, _)| **path == self.names)
            .map(|(_, primitive)| primitive)
    }
}
