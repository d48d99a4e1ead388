//! The canonical text of a schema: writes and hashes it.
//!
//! Two declarations describe the same message if, and only if, their texts are equal. The text is
//! ASCII. Every line ends in one `\n`, every separator is one space, and every number is decimal
//! without leading zeros. It lists the name of the message, its size and alignment, and each number
//! in it:
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
//! * Fields are in order of their offsets. The type name of a nested message does not appear. The
//!   fields of the nested message do, with a dotted path (`pose.x`) and offsets from the start of
//!   the outer message.
//! * `<type>` is one of `u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 char`. `<count>` is 1, or the number
//!   of elements of a row-major array of any number of dimensions. For `char`, the bytes of a text,
//!   it is the length of one text.
//! * An array of messages or texts adds `<count>*<stride>` to each of its fields, outermost array
//!   first. `<offset>` is then the offset in its first element. An array of length 1 is written
//!   like a single element.
//! * The last line is present only if the message has a variable length. Numbers of the type in
//!   this line then follow the first `<size>` bytes, up to the end of the message.
//!
//! The hash is FNV-1a with 128 bits over these bytes, which is one loop in any language.

mod difference;
mod growth;
mod parsed;

use super::{Field, FieldKind, Primitive, Schema, Tail};

pub use difference::{SchemaDifference, first_difference};
pub use parsed::{FieldShape, ParsedField, ParsedSchema, ParsedTail, SchemaTextError};

/// The maximum length in bytes of the canonical text that describes a message type. A longer text
/// is a compile error.
pub const SCHEMA_TEXT_BYTES_MAX: usize = 15 * 1024;

/// The maximum number of arrays of messages inside which a field may be nested.
pub const ARRAY_NESTING_MAX: usize = 8;

const SCHEMA_VERSION_LINE: &str = "horus schema 1";

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
    /// Makes a schema, and checks that its text is well formed and not too long.
    ///
    /// # Panics
    ///
    /// If the text is not well formed or too long. `message!` calls this function in a `const`,
    /// where a panic is a compile error.
    #[doc(hidden)]
    #[must_use]
    pub const fn checked(
        name: &'static str,
        size: usize,
        align: usize,
        fields: &'static [Field],
    ) -> Self {
        let tail = None;
        let doc = "";
        let constants = [].as_slice();
        let schema = Self {
            name: name_without_raw_prefix(name),
            size,
            align,
            fields,
            tail,
            doc,
            constants,
        };
        assert!(is_identifier(schema.name), "a message's name must be ASCII");
        let mut index = 0;
        while index < fields.len() {
            assert!(
                is_identifier(fields[index].name),
                "a field's name must be ASCII"
            );
            assert!(
                fields[index].count > 0,
                "a field of a message is an array without elements"
            );
            // WHY: `repr(packed)` has no padding either, but peers would read misaligned numbers.
            assert!(
                fields[index]
                    .offset
                    .is_multiple_of(fields[index].kind.align()),
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

    /// Returns the maximum number of nested arrays of messages and texts that enclose a number of
    /// the message. The text of a schema with more than [`ARRAY_NESTING_MAX`] panics.
    #[doc(hidden)]
    #[must_use]
    pub fn array_nesting(&self) -> usize {
        let around = |field: &Field| match field.kind {
            FieldKind::Primitive(_) => 0,
            FieldKind::Text(_) => usize::from(field.count > 1),
            FieldKind::Message(inner) => usize::from(field.count > 1) + inner.array_nesting(),
        };
        self.fields.iter().map(around).max().unwrap_or(0)
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
            let is_taken = are_equal(self.fields[index].name, tail.name);
            assert!(
                !is_taken,
                "the data must not be called like a field of the header"
            );
            index += 1;
        }
        assert!(
            self.size.is_multiple_of(tail.primitive.size()),
            "the size of the header is no multiple of that of the data's elements"
        );
        let framed = Self {
            name,
            tail: Some(tail),
            ..self
        };
        assert!(
            framed.text_bytes() <= SCHEMA_TEXT_BYTES_MAX,
            "the header has too many fields"
        );
        framed
    }

    /// Returns the canonical text of the schema, in the format that the module documentation
    /// defines.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = vec![0; self.text_bytes()];
        SchemaWriter::new(&mut out).write_schema(self);
        String::from_utf8(out).expect("names and digits are UTF-8")
    }

    /// Returns the length of [`text`](Self::text) in bytes, without allocating the text.
    #[must_use]
    pub const fn text_bytes(&self) -> usize {
        let mut writer = SchemaWriter::new(&mut []);
        writer.write_schema(self);
        writer.bytes
    }

    /// Returns the hash of the schema: [`fnv1a_128`] of [`text`](Self::text). Does not allocate the
    /// text.
    #[must_use]
    pub const fn hash(&self) -> u128 {
        let mut writer = SchemaWriter::new(&mut []);
        writer.write_schema(self);
        writer.hash
    }

    /// Parses a canonical text, which may come from any process. Every field of the result lies
    /// inside the message.
    ///
    /// # Errors
    ///
    /// [`SchemaTextError`], with the number of the first line that is not canonical. The same text
    /// always fails again.
    pub fn parse(text: &str) -> Result<ParsedSchema, SchemaTextError> {
        parsed::parse(text)
    }
}

/// Writes the canonical text of a schema, byte by byte. It counts and hashes every byte, and stores
/// those bytes that fit in `out`.
struct SchemaWriter<'a> {
    out: &'a mut [u8],
    bytes: usize,
    hash: u128,
}

/// A field, and the field that contains it. The fields form a linked list, innermost field first.
struct EnclosingField<'a> {
    field: &'a Field,
    outer: Option<&'a EnclosingField<'a>>,
}

impl<'a> SchemaWriter<'a> {
    const fn new(out: &'a mut [u8]) -> Self {
        Self {
            out,
            bytes: 0,
            hash: FNV_OFFSET_BASIS,
        }
    }

    const fn write_schema(&mut self, schema: &Schema) {
        self.write_text(SCHEMA_VERSION_LINE);
        self.write_text("\nmessage ");
        self.write_text(schema.name);
        self.write_text("\nsize ");
        self.write_number(schema.size);
        self.write_text("\nalign ");
        self.write_number(schema.align);
        self.write_byte(b'\n');
        self.write_fields(schema, 0, None);
        if let Some(tail) = schema.tail {
            self.write_text("tail ");
            self.write_text(tail.name);
            self.write_byte(b' ');
            self.write_text(tail.primitive.name());
            self.write_byte(b'\n');
        }
    }

    const fn write_fields(
        &mut self,
        schema: &Schema,
        offset: usize,
        outer: Option<&EnclosingField<'_>>,
    ) {
        let mut index = 0;
        while index < schema.fields.len() {
            let field = &schema.fields[index];
            match field.kind {
                FieldKind::Primitive(primitive) => {
                    self.write_field_start(
                        &EnclosingField { field, outer },
                        primitive,
                        offset,
                        field.count,
                    );
                    self.write_enclosing_arrays(outer);
                    self.write_byte(b'\n');
                }
                FieldKind::Text(bytes) => {
                    let text = EnclosingField { field, outer };
                    self.write_field_start(&text, Primitive::Char, offset, bytes);
                    self.write_enclosing_arrays(Some(&text));
                    self.write_byte(b'\n');
                }
                FieldKind::Message(inner) => {
                    self.write_fields(
                        inner,
                        offset + field.offset,
                        Some(&EnclosingField { field, outer }),
                    );
                }
            }
            index += 1;
        }
    }

    /// Writes the first part of a field's line: its path, type, offset and number of elements.
    const fn write_field_start(
        &mut self,
        this: &EnclosingField<'_>,
        kind: Primitive,
        offset: usize,
        count: usize,
    ) {
        self.write_text("field ");
        self.write_path(this.outer);
        self.write_text(this.field.name);
        self.write_byte(b' ');
        self.write_text(kind.name());
        self.write_byte(b' ');
        self.write_number(offset + this.field.offset);
        self.write_byte(b' ');
        self.write_number(count);
    }

    const fn write_path(&mut self, outer: Option<&EnclosingField<'_>>) {
        if let Some(outer) = outer {
            self.write_path(outer.outer);
            self.write_text(outer.field.name);
            self.write_byte(b'.');
        }
    }

    /// Writes the last part of a number's line: the arrays that enclose the number. Returns how
    /// many arrays these are.
    const fn write_enclosing_arrays(&mut self, outer: Option<&EnclosingField<'_>>) -> usize {
        let Some(outer) = outer else { return 0 };
        let outside = self.write_enclosing_arrays(outer.outer);
        if outer.field.count == 1 {
            return outside;
        }
        assert!(
            outside < ARRAY_NESTING_MAX,
            "too many arrays of messages nested"
        );
        self.write_byte(b' ');
        self.write_number(outer.field.count);
        self.write_byte(b'*');
        self.write_number(outer.field.kind.size());
        outside + 1
    }

    const fn write_number(&mut self, number: usize) {
        if number >= 10 {
            self.write_number(number / 10);
        }
        self.write_byte(b'0' + (number % 10) as u8);
    }

    const fn write_text(&mut self, text: &str) {
        let mut index = 0;
        while index < text.len() {
            self.write_byte(text.as_bytes()[index]);
            index += 1;
        }
    }

    const fn write_byte(&mut self, byte: u8) {
        if self.bytes < self.out.len() {
            self.out[self.bytes] = byte;
        }
        self.bytes += 1;
        self.hash = fnv1a_step(self.hash, byte);
    }
}

/// Returns `name` without the prefix `r#` of a raw identifier, which other languages do not have.
pub(super) const fn name_without_raw_prefix(name: &'static str) -> &'static str {
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

const fn are_equal(a: &str, b: &str) -> bool {
    let a = a.as_bytes();
    let b = b.as_bytes();
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}
