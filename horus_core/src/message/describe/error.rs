//! Why a message cannot be read or edited by its schema text.

use super::{LEVELS_MAX, Value};

/// Why a schema text describes no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// The fields take more bytes than there are, so some of them overlap.
    #[error("the fields of the schema take more bytes than its messages have")]
    Overlap,
    /// A path is a number and also a message.
    #[error("'{path}' is a field and also a message with fields")]
    Ambiguous {
        /// The path.
        path: String,
    },
    /// Messages are nested too deep.
    #[error("'{path}' lies in more than {LEVELS_MAX} messages")]
    TooDeep {
        /// The path.
        path: String,
    },
    /// Shown as a value, a message would take more than a thousand times its bytes, for its names.
    #[error("the names of the schema are too long for what its messages hold")]
    TooLarge,
}

/// Why a field could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// The message is not of this schema.
    #[error("a message of {found} bytes, the schema wants {wanted}{}", elements(*element_bytes))]
    Length {
        /// Bytes of the message.
        found: usize,
        /// Bytes in front of the data at the end.
        wanted: usize,
        /// Bytes of an element of the data at the end, if there are such.
        element_bytes: Option<usize>,
    },
    /// The message would be too long.
    #[error("a message of {bytes} bytes, at most {most} are allocated")]
    TooLong {
        /// Bytes that it would have.
        bytes: usize,
        /// The most that it may have.
        most: usize,
    },
    /// The path is not of the form `legs[2].feet[1].x`.
    #[error("'{path}' is no path: write it as legs[2].feet[1].x")]
    Path {
        /// The path.
        path: String,
    },
    /// No field has this name.
    #[error("'{path}': there is no field '{name}'")]
    NoSuchField {
        /// The path.
        path: String,
        /// The name in it that is not there.
        name: String,
    },
    /// No element has this index.
    #[error("'{path}': there is no element {index} of {count}")]
    NoSuchElement {
        /// The path.
        path: String,
        /// The index in it.
        index: usize,
        /// How many elements there are.
        count: usize,
    },
    /// An index into what is not an array.
    #[error("'{path}': an index into what is not an array")]
    NoArray {
        /// The path.
        path: String,
    },
    /// A value of another type.
    #[error("'{path}' is {wanted}, not {found}")]
    Type {
        /// The path.
        path: String,
        /// What was given.
        found: String,
        /// What belongs there.
        wanted: String,
    },
    /// A number that does not fit, or a text that is too long or holds a NUL.
    #[error("'{path}' is {wanted}, which cannot hold {found}")]
    Range {
        /// The path.
        path: String,
        /// What was given.
        found: String,
        /// What belongs there.
        wanted: String,
    },
    /// An array of another length.
    #[error("'{path}' has {wanted} elements, not {found}")]
    Count {
        /// The path.
        path: String,
        /// How many were given.
        found: usize,
        /// How many there are.
        wanted: usize,
    },
}

fn elements(bytes: Option<usize>) -> String {
    bytes.map(|bytes| format!(" and any number of elements of {bytes}")).unwrap_or_default()
}

/// A value in an error: in a few words, however long it is.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_) => {
            format!("{} {value}", value.kind())
        }
        Value::String(text) => format!("string of {} bytes", text.len()),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
        Value::Array(values) => format!("array of {}", values.len()),
        Value::Typed(array) => format!("typed array of {} {}", array.len(), array.dtype()),
        _ => value.kind().to_owned(),
    }
}
