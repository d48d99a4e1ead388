//! The errors of tools that read and edit messages by means of the schema text.

use super::{MESSAGE_NESTING_MAX, Value};

/// The reason why no message can have the layout that a schema text describes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// Fields overlap: together they have more bytes than the message has.
    #[error("the fields of the schema take more bytes than its messages have")]
    Overlap,
    /// A path in the schema text belongs to both a number and a message.
    #[error("'{path}' is a field and also a message with fields")]
    Ambiguous {
        /// The path of the field, such as `legs[2].feet[1].x`.
        path: String,
    },
    /// The messages in the schema are nested more deeply than is allowed.
    #[error("'{path}' is nested in more than {MESSAGE_NESTING_MAX} messages")]
    TooDeep {
        /// The path of the message that is nested too deeply.
        path: String,
    },
    /// A decoded message would take more than a thousand times the memory of the message itself,
    /// because each value carries the names of its fields.
    #[error("the names of the schema are too long for the size of its messages")]
    TooLarge,
}

/// The reason why a field could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// The length of the message is not one that the schema allows.
    #[error(
        "the message has {found} bytes, the schema wants {wanted}{}",
        describe_trailing_elements(*element_bytes)
    )]
    Length {
        /// Size of the message, in bytes.
        found: usize,
        /// Size in bytes that the schema requires, without the trailing data.
        wanted: usize,
        /// Size of one element of the trailing data, in bytes, if the message has such data.
        element_bytes: Option<usize>,
    },
    /// The message would be longer than the allowed maximum.
    #[error("the message would have {bytes} bytes, at most {most} are allocated")]
    TooLong {
        /// Size that the message would have, in bytes.
        bytes: usize,
        /// Maximum size of a message that is built, in bytes.
        most: usize,
    },
    /// The path is not of the form `legs[2].feet[1].x`.
    #[error("'{path}' is not a path: write it as legs[2].feet[1].x")]
    Path {
        /// The text that was given as the path.
        path: String,
    },
    /// A name in the path is not the name of a field.
    #[error("'{path}': there is no field '{name}'")]
    NoSuchField {
        /// The path of the field, such as `legs[2].feet[1].x`.
        path: String,
        /// The name in the path to which no field corresponds.
        name: String,
    },
    /// The array has no element with this index.
    #[error("'{path}': there is no element {index}, the array has {count}")]
    NoSuchElement {
        /// The path of the field, such as `legs[2].feet[1].x`.
        path: String,
        /// The index in the path, counted from 0.
        index: usize,
        /// Number of elements that the array has.
        count: usize,
    },
    /// The path has an index after the name of a field that is not an array.
    #[error("'{path}' has an index into a field that is not an array")]
    NoArray {
        /// The path of the field, such as `legs[2].feet[1].x`.
        path: String,
    },
    /// The given value cannot be converted to the type of the field.
    #[error("'{path}' is {wanted}, not {found}")]
    Type {
        /// The path of the field, such as `legs[2].feet[1].x`.
        path: String,
        /// A short description of the given value.
        found: String,
        /// A description of the type that the field requires.
        wanted: String,
    },
    /// The number does not fit in the field's type, or the text is too long or contains a NUL.
    #[error("'{path}' is {wanted}, which cannot hold {found}")]
    Range {
        /// The path of the field, such as `legs[2].feet[1].x`.
        path: String,
        /// A short description of the given value.
        found: String,
        /// A description of the type that the field requires.
        wanted: String,
    },
    /// The given array has a different number of elements from the array in the message.
    #[error("'{path}' has {wanted} elements, not {found}")]
    Count {
        /// The path of the field, such as `legs[2].feet[1].x`.
        path: String,
        /// Number of elements of the given value.
        found: usize,
        /// Number of elements of the array in the message.
        wanted: usize,
    },
}

fn describe_trailing_elements(bytes: Option<usize>) -> String {
    bytes
        .map(|bytes| format!(" and any number of elements of {bytes}"))
        .unwrap_or_default()
}

/// Returns a short description of a value for an error text, even if the value is large.
pub(super) fn describe_value(value: &Value) -> String {
    match value {
        Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_) => {
            format!("{} {value}", value.kind())
        }
        Value::String(text) => format!("a text of {} bytes", text.len()),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
        Value::Array(values) => format!("array of {}", values.len()),
        Value::Typed(array) => format!("typed array of {} {}", array.len(), array.dtype()),
        _ => value.kind().to_owned(),
    }
}
