//! Messages that this program was not compiled with: read and edited by their schema text.

mod error;
mod read;
mod tree;
mod write;

pub use error::{FieldError, LayoutError};

use super::{ParsedSchema, SCHEMA_TEXT_BYTES_MAX};
use crate::value::Value;
use crate::value::path::{Step, steps};
use tree::{Kind, Node, Numbers, Part};

/// The most bytes of heap that [`Layout::decode`] takes for each byte of the message, beyond 120
/// KiB. Usual messages take less than 50.
pub const DESCRIBED_BYTES_PER_BYTE: usize = 1024;

/// The most messages around a number, so that every value made of a message can be sent as
/// MessagePack.
const LEVELS_MAX: usize = 48;

/// The most bytes of a message that [`Layout::encode`] allocates.
const ENCODED_BYTES_MAX: usize = 1 << 30;

/// Where the numbers of a message lie: what a tool needs to show and edit a message that it was not
/// compiled with.
///
/// It is made of the schema text that a topic carries. Texts and messages may come from anybody:
/// work and memory are bounded by the bytes of the message.
///
/// | in the message | as a value |
/// |---|---|
/// | a number | an integer or a float |
/// | numbers side by side | a typed array of one dimension |
/// | a text | a string; bytes, if it is not UTF-8 filled up with NUL |
/// | a message | a map with the names of its fields |
/// | messages or texts side by side | an array |
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
    root: Node,
    tail: Option<(String, Kind)>,
}

impl ParsedSchema {
    /// Where the numbers of such a message lie, to read and edit it.
    ///
    /// The text does not tell which of the messages around a field is an array, only how many are.
    /// It is the outermost one whose fields all lie within one stride; so of a message that has no
    /// other field than an array of messages or texts, it is that message.
    ///
    /// # Errors
    ///
    /// No message has these fields, for example because they overlap.
    pub fn layout(&self) -> Result<Layout, LayoutError> {
        Layout::new(self)
    }
}

impl Layout {
    fn new(schema: &ParsedSchema) -> Result<Self, LayoutError> {
        let root = tree::root(schema)?;
        let found = root.heap_bytes();
        let room = schema.size.saturating_mul(DESCRIBED_BYTES_PER_BYTE);
        // WHY: names take memory once, even if the message is small.
        if found > room.saturating_add(8 * SCHEMA_TEXT_BYTES_MAX) {
            return Err(LayoutError::TooLarge);
        }
        let tail = schema.tail.as_ref();
        let tail = tail.map(|tail| (tail.name.clone(), Kind::of_tail(tail.primitive)));
        Ok(Self { size: schema.size, root, tail })
    }

    /// Everything in a message, in order of the offsets; the data at the end are last.
    ///
    /// # Errors
    ///
    /// If the message is shorter or longer than the schema says.
    pub fn decode(&self, message: &[u8]) -> Result<Value, FieldError> {
        self.get(message, "")
    }

    /// A message with these fields; what is missing is 0, and the data at the end are as many as
    /// there are in the value.
    ///
    /// Integers have to fit, floats are rounded, and arrays have to be as long as the message's. An
    /// array of numbers may come as a typed array of any type and shape, as an array or, if it is
    /// of `u8`, as bytes.
    ///
    /// # Errors
    ///
    /// An unknown field, another type, or a number that does not fit: the path, what was found, and
    /// what was wanted. A message of more than a gibibyte.
    pub fn encode(&self, value: &Value) -> Result<Vec<u8>, FieldError> {
        let bytes = self.size.saturating_add(self.tail_bytes_of(value));
        if bytes > ENCODED_BYTES_MAX {
            return Err(FieldError::TooLong { bytes, most: ENCODED_BYTES_MAX });
        }
        let mut message = vec![0; bytes];
        let target = self.target(&message, "")?;
        write::write(self, target, value, &mut message, "")?;
        Ok(message)
    }

    /// What lies at a path such as `legs[2].feet[1].x`; the empty path is the whole message.
    ///
    /// # Errors
    ///
    /// If there is no such field, or the message is shorter or longer than the schema says.
    pub fn get(&self, message: &[u8], path: &str) -> Result<Value, FieldError> {
        Ok(read::read(self, self.target(message, path)?, message))
    }

    /// Writes what lies at a path. Of a map, only the fields that it names are written.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get) and [`encode`](Self::encode); then the message is unchanged. Data at
    /// the end keep their length.
    pub fn set(&self, message: &mut [u8], path: &str, value: &Value) -> Result<(), FieldError> {
        let target = self.target(message, path)?;
        if !matches!(value, Value::Map(_) | Value::Array(_) | Value::Typed(_)) {
            return write::write(self, target, value, message, path);
        }
        // WHY: one of many parts can be wrong.
        let mut changed = message.to_vec();
        write::write(self, target, value, &mut changed, path)?;
        message.copy_from_slice(&changed);
        Ok(())
    }

    /// The numbers at the end of a message, which has to be long enough.
    fn tail(&self, message: &[u8]) -> Option<(&str, Numbers)> {
        let (name, kind) = self.tail.as_ref()?;
        let count = message.len().saturating_sub(self.size) / kind.size();
        Some((name, Numbers { kind: *kind, offset: self.size, count, is_row: true }))
    }

    /// Bytes that the data at the end take, if `value` is a message.
    fn tail_bytes_of(&self, value: &Value) -> usize {
        let tail = self.tail.as_ref().and_then(|(name, kind)| Some((value.get(name)?, kind)));
        tail.map_or(0, |(data, kind)| write::count(data).saturating_mul(kind.size()))
    }

    /// What lies at `path` in `message`, whose length is checked.
    fn target<'a>(&'a self, message: &[u8], path: &str) -> Result<Target<'a>, FieldError> {
        let rest = message.len().checked_sub(self.size);
        let is_whole = rest.is_some_and(|rest| match &self.tail {
            Some((_, kind)) => rest.is_multiple_of(kind.size()),
            None => rest == 0,
        });
        if !is_whole {
            let element_bytes = self.tail.as_ref().map(|(_, kind)| kind.size());
            let (found, wanted) = (message.len(), self.size);
            return Err(FieldError::Length { found, wanted, element_bytes });
        }
        let mut target = Target::Part(Part { node: &self.root, arrays: &[], shift: 0 });
        for step in steps(path) {
            target = match step {
                None => return Err(FieldError::Path { path: path.to_owned() }),
                Some(Step::Name(name)) => self.field(target, name, message, path)?,
                Some(Step::Index(index)) => target.element(index, path)?,
            };
        }
        Ok(target)
    }

    fn field<'a>(
        &'a self,
        target: Target<'a>,
        name: &str,
        message: &[u8],
        path: &str,
    ) -> Result<Target<'a>, FieldError> {
        let missing = || FieldError::NoSuchField { path: path.to_owned(), name: name.to_owned() };
        let Target::Part(part @ Part { arrays: [], .. }) = target else { return Err(missing()) };
        if let Some(field) = part.node.child(name) {
            return Ok(Target::Part(part.field(field)));
        }
        let tail = self.tail(message).filter(|(tail, _)| part.node.is_root && *tail == name);
        tail.map(|(_, numbers)| Target::Numbers(numbers)).ok_or_else(missing)
    }
}

/// What a path leads to.
#[derive(Debug, Clone, Copy)]
enum Target<'a> {
    /// A field.
    Part(Part<'a>),
    /// The data at the end, or an element of an array of numbers.
    Numbers(Numbers),
}

impl Target<'_> {
    fn element(self, index: usize, path: &str) -> Result<Self, FieldError> {
        let outside = |count| FieldError::NoSuchElement { path: path.to_owned(), index, count };
        let numbers = match self {
            Self::Numbers(numbers) => Some(numbers),
            Self::Part(part) => match part.count() {
                Some(count) => {
                    return part.element(index).map(Self::Part).ok_or_else(|| outside(count));
                }
                None => part.numbers(),
            },
        };
        let no_array = || FieldError::NoArray { path: path.to_owned() };
        let numbers = numbers.filter(|numbers| numbers.is_row).ok_or_else(no_array)?;
        numbers.element(index).map(Self::Numbers).ok_or_else(|| outside(numbers.count))
    }
}
