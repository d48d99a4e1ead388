//! The first difference between two schemas.

use super::parsed::{FieldShape, ParsedField, ParsedSchema, SchemaTextError, parse};

/// The first difference between two schemas, as an error for the caller that opened the topic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaDifference {
    /// The texts are equal. If the hashes differ nevertheless, the process that stored the hash did
    /// not compute it from this text.
    #[error("the schema texts are equal, so one of the hashes is wrong")]
    None,
    /// The schema text of this program cannot be parsed.
    #[error("here: {0}")]
    UnreadableHere(SchemaTextError),
    /// The schema text of the topic cannot be parsed: it is damaged, or was written by a newer
    /// version of the library.
    #[error("in the topic: {0}")]
    UnreadableInTopic(SchemaTextError),
    /// The messages have different names.
    #[error("message '{here}' here, '{in_topic}' in the topic")]
    Name {
        /// Name of the message in this program.
        here: String,
        /// Name of the message in the topic.
        in_topic: String,
    },
    /// A field has a different type, count or offset.
    #[error("field '{path}': {here} here, {in_topic} in the topic")]
    Field {
        /// The path of the field, such as `pose.x`.
        path: String,
        /// Type, offset and number of elements of the field in this program.
        here: FieldShape,
        /// Type, offset and number of elements of the field in the topic.
        in_topic: FieldShape,
    },
    /// A field has a different name.
    #[error("field '{here}' here is '{in_topic}' in the topic, both {shape}")]
    Renamed {
        /// The path of the field in this program, such as `pose.x`.
        here: String,
        /// The path of the field in the topic, such as `pose.x`.
        in_topic: String,
        /// Type, offset and number of elements of the field, which are the same in this program and
        /// in the topic.
        shape: FieldShape,
    },
    /// A field exists only in this program.
    #[error("field '{path}': {here} here, missing in the topic")]
    MissingInTopic {
        /// The path of the field, such as `pose.x`.
        path: String,
        /// Type, offset and number of elements of the field in this program.
        here: FieldShape,
    },
    /// A field exists only in the topic.
    #[error("field '{path}': missing here, {in_topic} in the topic")]
    MissingHere {
        /// The path of the field, such as `pose.x`.
        path: String,
        /// Type, offset and number of elements of the field in the topic.
        in_topic: FieldShape,
    },
    /// The fields are the same, but the sizes of the messages differ.
    #[error("size: {here} bytes here, {in_topic} in the topic")]
    Size {
        /// Size of the message in this program, in bytes.
        here: usize,
        /// Size of the message in the topic, in bytes.
        in_topic: usize,
    },
    /// The fields are the same, but the data after them differ.
    #[error("after the fields: {here} here, {in_topic} in the topic")]
    Tail {
        /// A description of the data after the fields in this program.
        here: String,
        /// A description of the data after the fields in the topic.
        in_topic: String,
    },
    /// The fields are the same, but the alignments of the messages differ.
    #[error("alignment: {here} bytes here, {in_topic} in the topic")]
    Align {
        /// Alignment of the message in this program, in bytes.
        here: usize,
        /// Alignment of the message in the topic, in bytes.
        in_topic: usize,
    },
}

/// Compares two canonical texts: names first, then fields in order, then size, alignment and
/// trailing data.
///
/// It accepts any text, allocates at most in proportion to
/// [`SCHEMA_TEXT_BYTES_MAX`](super::SCHEMA_TEXT_BYTES_MAX), and never panics.
///
/// ```
/// use horus_core::message::{CmdVel, Message, first_difference};
///
/// let here = CmdVel::SCHEMA.text();
/// let in_topic = here.replace("angular f32 12", "steering f32 12");
/// assert_eq!(
///     first_difference(&here, &in_topic).to_string(),
///     "field 'angular' here is 'steering' in the topic, both f32 @12",
/// );
/// ```
#[must_use]
pub fn first_difference(here: &str, in_topic: &str) -> SchemaDifference {
    let here = match parse(here) {
        Ok(schema) => schema,
        Err(error) => return SchemaDifference::UnreadableHere(error),
    };
    let in_topic = match parse(in_topic) {
        Ok(schema) => schema,
        Err(error) => return SchemaDifference::UnreadableInTopic(error),
    };
    if here.name != in_topic.name {
        return SchemaDifference::Name {
            here: here.name,
            in_topic: in_topic.name,
        };
    }
    if let Some(difference) = first_field_difference(&here, &in_topic) {
        return difference;
    }
    if here.size != in_topic.size {
        return SchemaDifference::Size {
            here: here.size,
            in_topic: in_topic.size,
        };
    }
    if here.align != in_topic.align {
        return SchemaDifference::Align {
            here: here.align,
            in_topic: in_topic.align,
        };
    }
    if here.tail != in_topic.tail {
        let [here, in_topic] = [here.tail, in_topic.tail].map(|tail| match tail {
            Some(tail) => format!("'{}' of {}", tail.name, tail.primitive.name()),
            None => "nothing".to_owned(),
        });
        return SchemaDifference::Tail { here, in_topic };
    }
    SchemaDifference::None
}

fn first_field_difference(
    here: &ParsedSchema,
    in_topic: &ParsedSchema,
) -> Option<SchemaDifference> {
    let fields = here.fields.iter().zip(&in_topic.fields);
    let same = fields
        .take_while(|(here, in_topic)| here == in_topic)
        .count();
    let differs = |here: &ParsedField, in_topic: &ParsedField| SchemaDifference::Field {
        path: here.path.clone(),
        here: here.shape.clone(),
        in_topic: in_topic.shape.clone(),
    };
    let missing_in_topic = |field: &ParsedField| SchemaDifference::MissingInTopic {
        path: field.path.clone(),
        here: field.shape.clone(),
    };
    let missing_here = |field: &ParsedField| SchemaDifference::MissingHere {
        path: field.path.clone(),
        in_topic: field.shape.clone(),
    };
    let (a, b) = match (here.fields.get(same), in_topic.fields.get(same)) {
        (None, None) => return None,
        (Some(field), None) => return Some(missing_in_topic(field)),
        (None, Some(field)) => return Some(missing_here(field)),
        (Some(a), Some(b)) => (a, b),
    };
    let a_there = in_topic.fields.iter().find(|field| field.path == a.path);
    let b_here = here.fields.iter().find(|field| field.path == b.path);
    Some(match (a_there, b_here) {
        (None, None) if a.shape == b.shape => SchemaDifference::Renamed {
            here: a.path.clone(),
            in_topic: b.path.clone(),
            shape: a.shape.clone(),
        },
        (None, _) => missing_in_topic(a),
        (Some(_), None) => missing_here(b),
        // WHY: offsets increase, so if two fields are swapped, at least one has another offset.
        (Some(there), Some(_)) if a.shape != there.shape => differs(a, there),
        (Some(_), Some(here)) => differs(here, b),
    })
}
