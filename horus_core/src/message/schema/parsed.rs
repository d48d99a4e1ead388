//! Schemas that are parsed from a text, which may come from any process.

use std::fmt;

use horus_shm::internals::layout::STRIDE_MAX;

use super::{ARRAY_NESTING_MAX, SCHEMA_TEXT_BYTES_MAX, SCHEMA_VERSION_LINE, is_identifier};
use crate::message::Primitive;

/// The largest alignment of a message in bytes: that of the slots of a topic.
const ALIGN_MAX: usize = 64;

/// A schema that was parsed from a text. It describes a message whose type may have been unknown
/// when this program was compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedSchema {
    /// The name of the message, an ASCII identifier.
    pub name: String,
    /// Size of the message in bytes, without its trailing data.
    pub size: usize,
    /// Alignment of the message in bytes, a power of two.
    pub align: usize,
    /// All numbers and arrays of numbers in the message, in order of their offsets. Those of nested
    /// messages are included.
    pub fields: Vec<ParsedField>,
    /// The numbers that follow the first `size` bytes; `None` for a message of fixed size.
    pub tail: Option<ParsedTail>,
}

/// The numbers at the end of a message of variable length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedTail {
    /// The name of the trailing numbers, which differs from all field names.
    pub name: String,
    /// The type of each trailing number.
    pub primitive: Primitive,
}

/// A number, or an array of numbers, in a message that a [`ParsedSchema`] describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedField {
    /// The names of the enclosing messages and of the field itself, joined by dots.
    pub path: String,
    /// The type, offset and number of elements of the field.
    pub shape: FieldShape,
}

/// The type, offset and number of elements of a field. It is shown as `u16 @20` or `f32[360] @40`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldShape {
    /// The type of one element of the field.
    pub primitive: Primitive,
    /// Offset of the first element from the start of the message, in bytes.
    pub offset: usize,
    /// Number of elements of the field, which follow each other without a gap.
    pub count: usize,
    /// For each array of messages that contains the field, outermost first: its number of elements,
    /// and its stride in bytes.
    pub arrays: Vec<(usize, usize)>,
}

impl FieldShape {
    /// Returns the offset of the byte after the field, in the last element of every array that
    /// contains the field; `None` on overflow.
    pub(super) fn end_offset(&self) -> Option<usize> {
        let mut end = self
            .count
            .checked_mul(self.primitive.size())?
            .checked_add(self.offset)?;
        for (count, stride) in &self.arrays {
            end = count
                .checked_sub(1)?
                .checked_mul(*stride)?
                .checked_add(end)?;
        }
        Some(end)
    }
}

impl fmt::Display for FieldShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.primitive.name())?;
        if self.count != 1 {
            write!(f, "[{}]", self.count)?;
        }
        write!(f, " @{}", self.offset)?;
        self.arrays
            .iter()
            .try_for_each(|(count, stride)| write!(f, " ({count} every {stride} B)"))
    }
}

/// The reason why a text is not the canonical text of any schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaTextError {
    /// The text is longer than the text of any message can be.
    #[error("the schema text has {bytes} bytes, at most {SCHEMA_TEXT_BYTES_MAX} are allowed")]
    TooLong {
        /// The length of the text that was to be parsed, in bytes.
        bytes: usize,
    },
    /// A line of the text does not have the required format.
    #[error("line {line} of the schema text is not {expected}")]
    Line {
        /// The number of the line, counted from 1.
        line: usize,
        /// A description of the line that would be accepted in its place.
        expected: &'static str,
    },
}

pub(super) fn parse(text: &str) -> Result<ParsedSchema, SchemaTextError> {
    if text.len() > SCHEMA_TEXT_BYTES_MAX {
        return Err(SchemaTextError::TooLong { bytes: text.len() });
    }
    let error = |line, expected| SchemaTextError::Line { line, expected };
    let mut lines = text
        .split_inclusive('\n')
        .map(|line| line.strip_suffix('\n'));
    let mut next = || lines.next().flatten();

    next()
        .filter(|line| *line == SCHEMA_VERSION_LINE)
        .ok_or(error(1, "`horus schema 1`"))?;
    let name = next().and_then(|line| line.strip_prefix("message "));
    let name = name
        .filter(|name| is_identifier(name))
        .ok_or(error(2, "`message <name>`"))?;
    let size = next().and_then(|line| parse_number(line.strip_prefix("size ")?));
    let size = size.filter(|size| *size as u64 <= STRIDE_MAX);
    let size = size.ok_or(error(3, "`size <bytes>`, at most 67108864"))?;
    let align = next().and_then(|line| parse_number(line.strip_prefix("align ")?));
    let align = align.filter(|align| align.is_power_of_two() && *align <= ALIGN_MAX);
    let align = align.ok_or(error(4, "`align <bytes>`, a power of two up to 64"))?;

    let mut fields: Vec<ParsedField> = Vec::new();
    let mut paths = std::collections::BTreeSet::new();
    let mut tail = None;
    for (line, number) in lines.zip(5..) {
        if tail.is_some() {
            return Err(error(number, "the end, after a tail"));
        }
        if let Some(last) = line.and_then(|line| line.strip_prefix("tail ")) {
            tail = parse_tail(last).filter(|tail| size.is_multiple_of(tail.primitive.size()));
            let tail = tail.as_ref().ok_or(error(number, "`tail <name> <type>`"))?;
            if !paths.insert(tail.name.clone()) {
                return Err(error(number, "a tail of another name than the fields"));
            }
            continue;
        }
        let field = line.and_then(parse_field);
        let field = field.ok_or(error(number, "`field <path> <type> <offset> <count>`"))?;
        if field.shape.end_offset().is_none_or(|end| end > size) {
            return Err(error(number, "a field inside the message"));
        }
        if fields
            .last()
            .is_some_and(|last| last.shape.offset >= field.shape.offset)
        {
            return Err(error(number, "a field after the one before it"));
        }
        if !paths.insert(field.path.clone()) {
            return Err(error(
                number,
                "a field of another name than those before it",
            ));
        }
        fields.push(field);
    }
    if fields.is_empty() && tail.is_none() {
        return Err(error(5, "`field <path> <type> <offset> <count>`"));
    }
    Ok(ParsedSchema {
        name: name.to_owned(),
        size,
        align,
        fields,
        tail,
    })
}

fn parse_tail(line: &str) -> Option<ParsedTail> {
    let (name, kind) = line.split_once(' ')?;
    let primitive = *Primitive::ALL
        .iter()
        .find(|primitive| primitive.name() == kind)?;
    is_identifier(name).then(|| ParsedTail {
        name: name.to_owned(),
        primitive,
    })
}

fn parse_field(line: &str) -> Option<ParsedField> {
    let mut words = line.strip_prefix("field ")?.split(' ');
    let path = words
        .next()
        .filter(|path| path.split('.').all(is_identifier))?
        .to_owned();
    let name = words.next()?;
    let primitive = *Primitive::ALL
        .iter()
        .find(|primitive| primitive.name() == name)?;
    let offset = parse_number(words.next()?)?;
    let count = parse_number(words.next()?).filter(|count| *count > 0)?;
    let mut arrays = Vec::new();
    for word in words {
        let (count, stride) = word.split_once('*')?;
        arrays.push((
            parse_number(count).filter(|count| *count > 1)?,
            parse_number(stride)?,
        ));
    }
    let shape = FieldShape {
        primitive,
        offset,
        count,
        arrays,
    };
    (shape.arrays.len() <= ARRAY_NESTING_MAX).then_some(ParsedField { path, shape })
}

/// Parses a decimal number without leading zeros, as a canonical text contains it.
fn parse_number(word: &str) -> Option<usize> {
    let canonical = word == "0" || !word.starts_with(['0', '+']);
    canonical.then(|| word.parse().ok())?
}
