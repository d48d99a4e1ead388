//! Writes, hashes, parses and compares the canonical text of a schema.
//!
//! Two declarations of a message are the same exactly if their texts are equal. The text is ASCII.
//! Every line ends in one `\n`, every separator is one space, and every number is decimal without
//! leading zeros. It lists the message, its size and alignment, and each number in it:
//!
//! ```text
//! horus schema 1
//! message <name>
//! size <bytes>
//! align <bytes>
//! field <path> <type> <offset> <count>[ <count>*<stride>]…
//! tail <name> <type>
//! ```
//!
//! * Fields are in order of their offsets. The name of a message inside a message does not appear.
//!   Its fields do, with a dotted path (`pose.x`) and offsets from the start of the outer message.
//! * `<type>` is one of `u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 char`. `<count>` is 1, or the number
//!   of elements of a row-major array of any number of dimensions. For `char`, the bytes of a text,
//!   it is the length of one text.
//! * An array of messages or texts adds `<count>*<stride>` to each of its fields, outermost array
//!   first. `<offset>` is then the offset in its first element. An array of length 1 is written
//!   like a single element.
//! * The last line is present only if the message has a variable length: numbers of that type
//!   follow the first `<size>` bytes, up to the end of the message.
//!
//! The hash is FNV-1a with 128 bits over these bytes, which is one loop in any language.

use std::fmt;

use super::{Field, FieldKind, Primitive, Schema, Tail};

/// The longest canonical text of a message in bytes; a longer one is a compile error.
pub const SCHEMA_TEXT_BYTES_MAX: usize = 15 * 1024;

/// The largest number of nested arrays of messages around one field.
pub const ARRAY_NESTING_MAX: usize = 8;

const VERSION_LINE: &str = "horus schema 1";

/// Computes FNV-1a with 128 bits and the official parameters.
#[must_use]
pub const fn fnv1a_128(bytes: &[u8]) -> u128 {
    let mut hash = FNV_OFFSET_BASIS;
    let mut index = 0;
    while index < bytes.len() {
        hash = fnv1a_step(hash, bytes[index]);
        index += 1;
    }
    hash
}

const FNV_OFFSET_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const FNV_PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

const fn fnv1a_step(hash: u128, byte: u8) -> u128 {
    (hash ^ byte as u128).wrapping_mul(FNV_PRIME)
}

impl Schema {
    /// Returns a schema whose text is well formed and not too long.
    ///
    /// # Panics
    ///
    /// If it is not. `message!` calls it in a `const`, where that is a compile error.
    #[doc(hidden)]
    #[must_use]
    pub const fn checked(
        name: &'static str,
        size: usize,
        align: usize,
        fields: &'static [Field],
    ) -> Self {
        let (tail, doc, constants) = (None, "", [].as_slice());
        let schema = Self { name: bare_name(name), size, align, fields, tail, doc, constants };
        assert!(is_identifier(schema.name), "a message's name must be ASCII");
        let mut index = 0;
        while index < fields.len() {
            assert!(is_identifier(fields[index].name), "a field's name must be ASCII");
            assert!(fields[index].count > 0, "a field of a message is an array without elements");
            // WHY: `repr(packed)` has no padding either, but peers would read misaligned numbers.
            assert!(
                fields[index].offset.is_multiple_of(fields[index].kind.align()),
                "a message cannot be packed: put larger fields first"
            );
            index += 1;
        }
        assert!(
            schema.text_bytes() <= SCHEMA_TEXT_BYTES_MAX,
            "the schema text of this message is longer than 15 KiB: it has too many fields"
        );
        schema
    }

    /// Returns the schema of the message `name`, which begins with these fields and ends in `tail`.
    ///
    /// # Panics
    ///
    /// If a name is not an identifier, if a field has the name of the tail, or if the tail would be
    /// misaligned. In a `const` that is a compile error.
    #[must_use]
    pub const fn framed(self, name: &'static str, tail: Tail) -> Self {
        assert!(is_identifier(name), "a message's name must be ASCII");
        assert!(is_identifier(tail.name), "a field's name must be ASCII");
        let mut index = 0;
        while index < self.fields.len() {
            let is_taken = same(self.fields[index].name, tail.name);
            assert!(!is_taken, "the data must not be called like a field of the header");
            index += 1;
        }
        assert!(
            self.size.is_multiple_of(tail.primitive.size()),
            "the size of the header is no multiple of that of the data's elements"
        );
        let framed = Self { name, tail: Some(tail), ..self };
        assert!(framed.text_bytes() <= SCHEMA_TEXT_BYTES_MAX, "the header has too many fields");
        framed
    }

    /// Returns the canonical text, as the module documentation defines it.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = vec![0; self.text_bytes()];
        Writer::new(&mut out).schema(self);
        String::from_utf8(out).expect("names and digits are UTF-8")
    }

    /// Returns the length of [`text`](Self::text) without writing it.
    #[must_use]
    pub const fn text_bytes(&self) -> usize {
        let mut writer = Writer::new(&mut []);
        writer.schema(self);
        writer.bytes
    }

    /// Returns [`fnv1a_128`] of [`text`](Self::text) without writing it.
    #[must_use]
    pub const fn hash(&self) -> u128 {
        let mut writer = Writer::new(&mut []);
        writer.schema(self);
        writer.hash
    }

    /// Parses a canonical text of any origin. Every field of the result lies inside the message.
    ///
    /// # Errors
    ///
    /// The number of the first line that is not canonical. The same text always fails again.
    pub fn parse(text: &str) -> Result<ParsedSchema, SchemaTextError> {
        parse(text)
    }
}

/// Writes the text in one pass: counts and hashes every byte, and stores those that fit in `out`.
struct Writer<'a> {
    out: &'a mut [u8],
    bytes: usize,
    hash: u128,
}

/// The messages around a field, innermost first.
struct Outer<'a> {
    field: &'a Field,
    around: Option<&'a Outer<'a>>,
}

impl<'a> Writer<'a> {
    const fn new(out: &'a mut [u8]) -> Self {
        Self { out, bytes: 0, hash: FNV_OFFSET_BASIS }
    }

    const fn schema(&mut self, schema: &Schema) {
        self.text(VERSION_LINE);
        self.text("\nmessage ");
        self.text(schema.name);
        self.text("\nsize ");
        self.number(schema.size);
        self.text("\nalign ");
        self.number(schema.align);
        self.byte(b'\n');
        self.fields(schema, 0, None);
        if let Some(tail) = schema.tail {
            self.text("tail ");
            self.text(tail.name);
            self.byte(b' ');
            self.text(tail.primitive.name());
            self.byte(b'\n');
        }
    }

    const fn fields(&mut self, schema: &Schema, offset: usize, around: Option<&Outer<'_>>) {
        let mut index = 0;
        while index < schema.fields.len() {
            let field = &schema.fields[index];
            match field.kind {
                FieldKind::Primitive(primitive) => {
                    self.place(&Outer { field, around }, primitive, offset, field.count);
                    self.arrays(around);
                    self.byte(b'\n');
                }
                FieldKind::Text(bytes) => {
                    let text = Outer { field, around };
                    self.place(&text, Primitive::Char, offset, bytes);
                    self.arrays(Some(&text));
                    self.byte(b'\n');
                }
                FieldKind::Message(inner) => {
                    self.fields(inner, offset + field.offset, Some(&Outer { field, around }));
                }
            }
            index += 1;
        }
    }

    /// Writes the line of a field, up to its count.
    const fn place(&mut self, this: &Outer<'_>, kind: Primitive, offset: usize, count: usize) {
        self.text("field ");
        self.path(this.around);
        self.text(this.field.name);
        self.byte(b' ');
        self.text(kind.name());
        self.byte(b' ');
        self.number(offset + this.field.offset);
        self.byte(b' ');
        self.number(count);
    }

    const fn path(&mut self, outer: Option<&Outer<'_>>) {
        if let Some(outer) = outer {
            self.path(outer.around);
            self.text(outer.field.name);
            self.byte(b'.');
        }
    }

    /// Writes the arrays around a number and returns how many there are.
    const fn arrays(&mut self, outer: Option<&Outer<'_>>) -> usize {
        let Some(outer) = outer else { return 0 };
        let outside = self.arrays(outer.around);
        if outer.field.count == 1 {
            return outside;
        }
        assert!(outside < ARRAY_NESTING_MAX, "too many arrays of messages nested");
        self.byte(b' ');
        self.number(outer.field.count);
        self.byte(b'*');
        self.number(outer.field.kind.size());
        outside + 1
    }

    const fn number(&mut self, number: usize) {
        if number >= 10 {
            self.number(number / 10);
        }
        self.byte(b'0' + (number % 10) as u8);
    }

    const fn text(&mut self, text: &str) {
        let mut index = 0;
        while index < text.len() {
            self.byte(text.as_bytes()[index]);
            index += 1;
        }
    }

    const fn byte(&mut self, byte: u8) {
        if self.bytes < self.out.len() {
            self.out[self.bytes] = byte;
        }
        self.bytes += 1;
        self.hash = fnv1a_step(self.hash, byte);
    }
}

/// Returns `name` without the `r#` of a raw identifier, which other languages do not write.
pub(super) const fn bare_name(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}

const fn is_identifier(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut index = 0;
    while index < bytes.len() {
        let letter = bytes[index].is_ascii_alphabetic() || bytes[index] == b'_';
        if !letter && (index == 0 || !bytes[index].is_ascii_digit()) {
            return false;
        }
        index += 1;
    }
    !bytes.is_empty()
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}

/// A schema parsed from a text: the description of a message that this program was not compiled
/// with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedSchema {
    /// The message's name, an ASCII identifier.
    pub name: String,
    /// Size in bytes.
    pub size: usize,
    /// Alignment in bytes, a power of two.
    pub align: usize,
    /// Every number in the message, in order of offsets.
    pub fields: Vec<ParsedField>,
    /// The data after the first `size` bytes, up to the end of the message.
    pub tail: Option<ParsedTail>,
}

/// The data at the end of a message of variable length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedTail {
    /// The name of the data, which differs from all field names.
    pub name: String,
    /// The type of one number.
    pub primitive: Primitive,
}

/// One number, or array of numbers, in a [`ParsedSchema`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedField {
    /// The names of the messages around it and its own, joined by dots.
    pub path: String,
    /// Type, offset and counts.
    pub shape: FieldShape,
}

/// Type, offset and counts of a field; shown as `u16 @20` or `f32[360] @40`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldShape {
    /// The type of one element.
    pub primitive: Primitive,
    /// Bytes from the start of the message to the first element.
    pub offset: usize,
    /// Number of contiguous elements.
    pub count: usize,
    /// Count and stride in bytes of the arrays of messages around it, outermost first.
    pub arrays: Vec<(usize, usize)>,
}

impl FieldShape {
    /// Returns the end of the last element in the last message, unless that overflows.
    fn end(&self) -> Option<usize> {
        let mut end = self.count.checked_mul(self.primitive.size())?.checked_add(self.offset)?;
        for (count, stride) in &self.arrays {
            end = count.checked_sub(1)?.checked_mul(*stride)?.checked_add(end)?;
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
        self.arrays.iter().try_for_each(|(count, stride)| write!(f, " ({count} every {stride} B)"))
    }
}

/// The reason why a text is not the canonical text of any schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaTextError {
    /// The text is longer than that of any message.
    #[error("the schema text has {bytes} bytes, at most {SCHEMA_TEXT_BYTES_MAX} are allowed")]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// A line does not match the format; lines are counted from 1.
    #[error("line {line} of the schema text is not {expected}")]
    Line {
        /// The line.
        line: usize,
        /// A description of the accepted line.
        expected: &'static str,
    },
}

fn parse(text: &str) -> Result<ParsedSchema, SchemaTextError> {
    if text.len() > SCHEMA_TEXT_BYTES_MAX {
        return Err(SchemaTextError::TooLong { bytes: text.len() });
    }
    let error = |line, expected| SchemaTextError::Line { line, expected };
    let mut lines = text.split_inclusive('\n').map(|line| line.strip_suffix('\n'));
    let mut next = || lines.next().flatten();

    next().filter(|line| *line == VERSION_LINE).ok_or(error(1, "`horus schema 1`"))?;
    let name = next().and_then(|line| line.strip_prefix("message "));
    let name = name.filter(|name| is_identifier(name)).ok_or(error(2, "`message <name>`"))?;
    let size = next().and_then(|line| number(line.strip_prefix("size ")?));
    let size = size.ok_or(error(3, "`size <bytes>`"))?;
    let align = next().and_then(|line| number(line.strip_prefix("align ")?));
    let align = align.filter(|align| align.is_power_of_two());
    let align = align.ok_or(error(4, "`align <bytes>`, a power of two"))?;

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
        if field.shape.end().is_none_or(|end| end > size) {
            return Err(error(number, "a field inside the message"));
        }
        if fields.last().is_some_and(|last| last.shape.offset >= field.shape.offset) {
            return Err(error(number, "a field after the one before it"));
        }
        if !paths.insert(field.path.clone()) {
            return Err(error(number, "a field of another name than those before it"));
        }
        fields.push(field);
    }
    if fields.is_empty() && tail.is_none() {
        return Err(error(5, "`field <path> <type> <offset> <count>`"));
    }
    Ok(ParsedSchema { name: name.to_owned(), size, align, fields, tail })
}

fn parse_tail(line: &str) -> Option<ParsedTail> {
    let (name, kind) = line.split_once(' ')?;
    let primitive = *Primitive::ALL.iter().find(|primitive| primitive.name() == kind)?;
    is_identifier(name).then(|| ParsedTail { name: name.to_owned(), primitive })
}

fn parse_field(line: &str) -> Option<ParsedField> {
    let mut words = line.strip_prefix("field ")?.split(' ');
    let path = words.next().filter(|path| path.split('.').all(is_identifier))?.to_owned();
    let name = words.next()?;
    let primitive = *Primitive::ALL.iter().find(|primitive| primitive.name() == name)?;
    let offset = number(words.next()?)?;
    let count = number(words.next()?).filter(|count| *count > 0)?;
    let mut arrays = Vec::new();
    for word in words {
        let (count, stride) = word.split_once('*')?;
        arrays.push((number(count).filter(|count| *count > 1)?, number(stride)?));
    }
    let shape = FieldShape { primitive, offset, count, arrays };
    (shape.arrays.len() <= ARRAY_NESTING_MAX).then_some(ParsedField { path, shape })
}

/// Parses a decimal number as [`Writer::number`] writes it.
fn number(word: &str) -> Option<usize> {
    let canonical = word == "0" || !word.starts_with(['0', '+']);
    canonical.then(|| word.parse().ok())?
}

/// The first difference between two schemas, as an error for the caller that opened the topic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaDifference {
    /// The texts are equal, so the process that stored the hash computed it from something else.
    #[error("the schema texts are equal, so one of the hashes is wrong")]
    None,
    /// The schema text of this program cannot be parsed.
    #[error("here: {0}")]
    UnreadableHere(SchemaTextError),
    /// The schema text of the topic cannot be parsed: it is damaged, or of a newer version.
    #[error("in the topic: {0}")]
    UnreadableInTopic(SchemaTextError),
    /// The messages have different names.
    #[error("message '{here}' here, '{in_topic}' in the topic")]
    Name {
        /// Its name in this program.
        here: String,
        /// Its name in the topic.
        in_topic: String,
    },
    /// A field has another type, count or offset.
    #[error("field '{path}': {here} here, {in_topic} in the topic")]
    Field {
        /// The field's path.
        path: String,
        /// Its shape in this program.
        here: FieldShape,
        /// Its shape in the topic.
        in_topic: FieldShape,
    },
    /// A field has another name.
    #[error("field '{here}' here is '{in_topic}' in the topic, both {shape}")]
    Renamed {
        /// Its path in this program.
        here: String,
        /// Its path in the topic.
        in_topic: String,
        /// Its shape in both.
        shape: FieldShape,
    },
    /// A field is in this program only.
    #[error("field '{path}': {here} here, missing in the topic")]
    MissingInTopic {
        /// The field's path.
        path: String,
        /// Its shape in this program.
        here: FieldShape,
    },
    /// A field is in the topic only.
    #[error("field '{path}': missing here, {in_topic} in the topic")]
    MissingHere {
        /// The field's path.
        path: String,
        /// Its shape in the topic.
        in_topic: FieldShape,
    },
    /// The fields are the same and the sizes differ.
    #[error("size: {here} bytes here, {in_topic} in the topic")]
    Size {
        /// Bytes in this program.
        here: usize,
        /// Bytes in the topic.
        in_topic: usize,
    },
    /// The fields are the same and the data after them differ.
    #[error("after the fields: {here} here, {in_topic} in the topic")]
    Tail {
        /// The data after the fields in this program.
        here: String,
        /// The data after the fields in the topic.
        in_topic: String,
    },
    /// The fields are the same and the alignments differ.
    #[error("alignment: {here} bytes here, {in_topic} in the topic")]
    Align {
        /// Bytes in this program.
        here: usize,
        /// Bytes in the topic.
        in_topic: usize,
    },
}

/// Compares two canonical texts: names first, then fields in order, then size and alignment.
///
/// It accepts any text, allocates at most in proportion to [`SCHEMA_TEXT_BYTES_MAX`], and never
/// panics.
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
        return SchemaDifference::Name { here: here.name, in_topic: in_topic.name };
    }
    if let Some(difference) = first_field_difference(&here, &in_topic) {
        return difference;
    }
    if here.size != in_topic.size {
        return SchemaDifference::Size { here: here.size, in_topic: in_topic.size };
    }
    if here.align != in_topic.align {
        return SchemaDifference::Align { here: here.align, in_topic: in_topic.align };
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
    let same = fields.take_while(|(here, in_topic)| here == in_topic).count();
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
