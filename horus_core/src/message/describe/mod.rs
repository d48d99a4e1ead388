//! Reads and edits messages whose types were unknown when this program was compiled, by means of
//! their schema text.

mod error;
mod read;
mod tree;
mod write;

pub use error::{FieldError, LayoutError};

use super::{ParsedSchema, SCHEMA_TEXT_BYTES_MAX};
use crate::value::Value;
use crate::value::path::{PathStep, path_steps};
use tree::{ContiguousNumbers, ElementKind, FieldNode, SelectedField};

/// Maximum number of heap bytes that [`Layout::decode`] allocates for each byte of a message, in
/// addition to 120 KiB. Usual messages need fewer than 50 heap bytes for each byte.
pub const DESCRIBED_BYTES_PER_BYTE: usize = 1024;

/// Maximum depth of nested messages. WHY 48: a message and the arrays in it then become a value
/// that is nested no deeper than [`DEPTH_MAX`](crate::value::DEPTH_MAX), so it can be sent as
/// MessagePack.
const MESSAGE_NESTING_MAX: usize = 48;

/// Maximum size in bytes of a message that [`Layout::encode`] builds; a longer one is an error.
const ENCODED_BYTES_MAX: usize = 1 << 30;

/// The offsets of all numbers in a message. With them, a tool shows and edits messages whose types
/// were unknown when the tool was compiled.
///
/// A layout is made from the schema text that a topic stores. Schema texts and messages may come
/// from any process: computing time and memory are bounded by the size of the message.
///
/// | in the message | as a value |
/// |---|---|
/// | a number | an integer or a float |
/// | contiguous numbers | a typed array of one dimension |
/// | a text | a string; bytes, if it is not UTF-8 padded with NUL |
/// | a message | a map with the names of its fields |
/// | contiguous messages or texts | an array |
/// | the data at the end | a typed array; of `u8`, bytes |
///
/// ```
/// use horus_core::message::{CmdVel, Message, Schema};
/// use horus_core::value::Value;
///
/// let layout = Schema::parse(&CmdVel::SCHEMA.text())?.layout()?;
/// let mut message = layout.encode(&Value::from([("linear", 0.5)]))?;
/// layout.set(&mut message, "angular", &0.25.into())?;
/// assert_eq!(
///     layout.decode(&message)?.to_string(),
///     r#"{"timestamp_ns": 0, "linear": 0.5, "angular": 0.25}"#,
/// );
/// assert_eq!(
///     layout.set(&mut message, "timestamp_ns", &(-1).into()).unwrap_err().to_string(),
///     "'timestamp_ns' is a u64, which cannot hold integer -1",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Layout {
    size: usize,
    root: FieldNode,
    tail: Option<(String, ElementKind)>,
}

impl ParsedSchema {
    /// Computes the offsets of all numbers in a message of this schema, which are needed to read
    /// and edit such a message.
    ///
    /// The schema text states how many arrays enclose a field, but not which of the enclosing
    /// messages are the elements of these arrays. This function treats the outermost message whose
    /// fields all lie within one stride as the element. Therefore, if a message has a single field
    /// that is an array of messages or texts, the message itself is shown as an array.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] if no message can have these fields, for example because they overlap.
    pub fn layout(&self) -> Result<Layout, LayoutError> {
        Layout::new(self)
    }
}

impl Layout {
    fn new(schema: &ParsedSchema) -> Result<Self, LayoutError> {
        let root = tree::build_field_tree(schema)?;
        let found = root.heap_bytes();
        let room = schema.size.saturating_mul(DESCRIBED_BYTES_PER_BYTE);
        // WHY: the memory for the names is needed once, even for a small message.
        if found > room.saturating_add(8 * SCHEMA_TEXT_BYTES_MAX) {
            return Err(LayoutError::TooLarge);
        }
        let tail = schema.tail.as_ref();
        let tail = tail.map(|tail| {
            (
                tail.name.clone(),
                ElementKind::for_trailing_data(tail.primitive),
            )
        });
        Ok(Self {
            size: schema.size,
            root,
            tail,
        })
    }

    /// Converts a message to a map of its fields, in order of their offsets. Trailing data are the
    /// last entry.
    ///
    /// # Errors
    ///
    /// [`FieldError`] if the length of the message differs from that in the schema.
    pub fn decode(&self, message: &[u8]) -> Result<Value, FieldError> {
        self.get(message, "")
    }

    /// Builds a message from the fields of a value. Fields that the value does not have are 0. The
    /// trailing data have the same length as in the value.
    ///
    /// Integers must fit, floats are rounded, and arrays must have the length of the message's
    /// arrays. An array of numbers may be a typed array of any type and shape, an array or, for
    /// `u8`, bytes.
    ///
    /// # Errors
    ///
    /// [`FieldError`] for an unknown field, a wrong type, a number that does not fit, or a message
    /// of more than a gibibyte. For a field, it contains the path, the value found, and the type
    /// required.
    pub fn encode(&self, value: &Value) -> Result<Vec<u8>, FieldError> {
        let bytes = self
            .size
            .saturating_add(self.trailing_data_bytes_for(value));
        if bytes > ENCODED_BYTES_MAX {
            return Err(FieldError::TooLong {
                bytes,
                most: ENCODED_BYTES_MAX,
            });
        }
        let mut message = vec![0; bytes];
        let target = self.find_path_target(&message, "")?;
        write::write_target(self, target, value, &mut message, "")?;
        Ok(message)
    }

    /// Returns the value at a path such as `legs[2].feet[1].x`; the empty path is the whole
    /// message.
    ///
    /// # Errors
    ///
    /// [`FieldError`] if there is no such field, or if the length of the message differs from that
    /// in the schema.
    pub fn get(&self, message: &[u8], path: &str) -> Result<Value, FieldError> {
        Ok(read::read_target(
            self,
            self.find_path_target(message, path)?,
            message,
        ))
    }

    /// Writes the value at a path. If the value is a map, only the fields that it names are
    /// written.
    ///
    /// # Errors
    ///
    /// The errors of [`get`](Self::get) and [`encode`](Self::encode), and an error if the length of
    /// the trailing data would change. After an error the message is unchanged.
    pub fn set(&self, message: &mut [u8], path: &str, value: &Value) -> Result<(), FieldError> {
        let target = self.find_path_target(message, path)?;
        if !matches!(value, Value::Map(_) | Value::Array(_) | Value::Typed(_)) {
            return write::write_target(self, target, value, message, path);
        }
        // WHY: the copy keeps the message unchanged if a later part of the value is wrong.
        let mut changed = message.to_vec();
        write::write_target(self, target, value, &mut changed, path)?;
        message.copy_from_slice(&changed);
        Ok(())
    }

    /// Returns the name and location of the trailing data, if the schema has such data.
    fn trailing_numbers(&self, message: &[u8]) -> Option<(&str, ContiguousNumbers)> {
        let (name, kind) = self.tail.as_ref()?;
        let count = message.len().saturating_sub(self.size) / kind.size();
        Some((
            name,
            ContiguousNumbers {
                kind: *kind,
                offset: self.size,
                count,
                is_row: true,
            },
        ))
    }

    /// Returns the size in bytes of the trailing data that a message built from `value` has.
    fn trailing_data_bytes_for(&self, value: &Value) -> usize {
        let tail = self
            .tail
            .as_ref()
            .and_then(|(name, kind)| Some((value.get(name)?, kind)));
        tail.map_or(0, |(data, kind)| {
            write::trailing_element_count(data).saturating_mul(kind.size())
        })
    }

    /// Finds the part of `message` at `path`. The caller must have checked the length of `message`.
    fn find_path_target<'a>(
        &'a self,
        message: &[u8],
        path: &str,
    ) -> Result<PathTarget<'a>, FieldError> {
        let rest = message.len().checked_sub(self.size);
        let is_whole = rest.is_some_and(|rest| match &self.tail {
            Some((_, kind)) => rest.is_multiple_of(kind.size()),
            None => rest == 0,
        });
        if !is_whole {
            let element_bytes = self.tail.as_ref().map(|(_, kind)| kind.size());
            let found = message.len();
            let wanted = self.size;
            return Err(FieldError::Length {
                found,
                wanted,
                element_bytes,
            });
        }
        let mut target = PathTarget::Part(SelectedField {
            node: &self.root,
            arrays: &[],
            distance: 0,
        });
        for step in path_steps(path) {
            target = match step {
                None => {
                    return Err(FieldError::Path {
                        path: path.to_owned(),
                    });
                }
                Some(PathStep::Name(name)) => self.find_field(target, name, message, path)?,
                Some(PathStep::Index(index)) => target.element(index, path)?,
            };
        }
        Ok(target)
    }

    fn find_field<'a>(
        &'a self,
        target: PathTarget<'a>,
        name: &str,
        message: &[u8],
        path: &str,
    ) -> Result<PathTarget<'a>, FieldError> {
        let missing = || FieldError::NoSuchField {
            path: path.to_owned(),
            name: name.to_owned(),
        };
        let PathTarget::Part(part @ SelectedField { arrays: [], .. }) = target else {
            return Err(missing());
        };
        if let Some(field) = part.node.child(name) {
            return Ok(PathTarget::Part(part.field(field)));
        }
        let tail = self
            .trailing_numbers(message)
            .filter(|(tail, _)| part.node.is_root && *tail == name);
        tail.map(|(_, numbers)| PathTarget::Numbers(numbers))
            .ok_or_else(missing)
    }
}

/// The part of a message to which a path such as `legs[2].x` leads.
#[derive(Debug, Clone, Copy)]
enum PathTarget<'a> {
    /// A field, a nested message or text, or the whole message.
    Part(SelectedField<'a>),
    /// Numbers: the trailing data, or one element of an array of numbers.
    Numbers(ContiguousNumbers),
}

impl PathTarget<'_> {
    fn element(self, index: usize, path: &str) -> Result<Self, FieldError> {
        let outside = |count| FieldError::NoSuchElement {
            path: path.to_owned(),
            index,
            count,
        };
        let numbers = match self {
            Self::Numbers(numbers) => Some(numbers),
            Self::Part(part) => match part.element_count() {
                Some(count) => {
                    return part
                        .element(index)
                        .map(Self::Part)
                        .ok_or_else(|| outside(count));
                }
                None => part.numbers(),
            },
        };
        let no_array = || FieldError::NoArray {
            path: path.to_owned(),
        };
        let numbers = numbers
            .filter(|numbers| numbers.is_row)
            .ok_or_else(no_array)?;
        numbers
            .element(index)
            .map(Self::Numbers)
            .ok_or_else(|| outside(numbers.count))
    }
}
