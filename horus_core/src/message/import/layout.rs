//! Lays out the fields of a `.msg` file as a message without padding. An array without a bound
//! becomes the tail of the message.

use std::cmp::Reverse;

use horus_shm::internals::layout::STRIDE_MAX;

use super::value::Literal;
use crate::message::schema::{ARRAY_NESTING_MAX, SCHEMA_TEXT_BYTES_MAX};
use crate::message::{Constant, Field, FieldKind, Primitive, Schema, Tail};

/// The size of a header is a multiple of this number of bytes, so that the data begin on a cache
/// line.
const HEADER_SIZE_MULTIPLE_BYTES: usize = 64;

/// The maximum number of fields that the C++ macro `HORUS_MESSAGE` accepts.
const CPP_MACRO_FIELDS_MAX: usize = 64;

/// A field of an imported message whose offset has not been determined yet.
#[derive(Debug)]
pub(super) struct PlannedField {
    pub(super) name: String,
    pub(super) kind: FieldKind,
    pub(super) count: usize,
    pub(super) doc: String,
    /// Default values of the first elements, from the `.msg` file. The other elements have the
    /// default of their type.
    pub(super) values: Vec<Literal>,
}

impl PlannedField {
    /// Returns a text about the size of the field, for an error.
    fn describe_size(&self) -> String {
        let (name, size) = (&self.name, self.kind.size());
        match self.count {
            1 => format!("'{name}' alone has {size} bytes"),
            count => format!("'{name}' alone has {count} elements of {size} bytes"),
        }
    }
}

/// The fields, trailing data and constants of an imported message whose layout has not been
/// determined yet.
#[derive(Debug, Default)]
pub(super) struct LayoutPlan {
    pub(super) fields: Vec<PlannedField>,
    pub(super) tail: Option<(String, Primitive)>,
    pub(super) constants: Vec<Constant>,
    pub(super) doc: String,
}

/// An imported message: its schema, and the default values of its fields.
#[derive(Debug, Clone)]
pub(in crate::message) struct Declaration {
    pub(in crate::message) schema: &'static Schema,
    /// For each field with default values in its `.msg` file: the index of the field, and the
    /// default values of its first elements.
    pub(in crate::message) values: Vec<(usize, Vec<Literal>)>,
}

impl Declaration {
    /// Returns the default values of the first elements of field `index`. The slice is empty if the
    /// `.msg` file gives none.
    pub(in crate::message) fn values_of(&self, index: usize) -> &[Literal] {
        let found = self.values.iter().find(|(field, _)| *field == index);
        found.map_or(&[], |(_, values)| values)
    }
}

/// Returns the default bytes of each message: the values of its `.msg` file and, in fields that are
/// messages, the defaults of these. A message that is nested in others comes before them.
pub(in crate::message) fn default_bytes(messages: &[Declaration]) -> Vec<Box<[u8]>> {
    let mut all: Vec<Box<[u8]>> = Vec::new();
    for message in messages {
        let mut bytes = vec![0; message.schema.size];
        for (index, field) in message.schema.fields.iter().enumerate() {
            let part = &mut bytes[field.offset..][..field.count * field.kind.size()];
            let elements = part.chunks_exact_mut(field.kind.size());
            if let FieldKind::Message(inner) = field.kind {
                let is_it = |message: &Declaration| std::ptr::eq(message.schema, inner);
                let inner = messages.iter().position(is_it).and_then(|at| all.get(at));
                if let Some(inner) = inner {
                    elements.for_each(|element| element.copy_from_slice(inner));
                }
                continue;
            }
            for (element, value) in elements.zip(message.values_of(index)) {
                value.write(field.kind, element);
            }
        }
        all.push(bytes.into());
    }
    all
}

impl LayoutPlan {
    /// Determines the layout of the message: fields with a larger alignment come first, and fields
    /// with the same alignment are in the order of the file.
    ///
    /// The schema is never freed, because its parts are `'static`.
    pub(super) fn into_declaration(mut self, name: &str) -> Result<Declaration, String> {
        self.fields.sort_by_key(|field| Reverse(field.kind.align()));
        let align = self.fields.first().map_or(1, |field| field.kind.align());
        let end = self.fields_end_offset()?;
        let multiple = match self.tail {
            Some(_) => HEADER_SIZE_MULTIPLE_BYTES,
            None => align,
        };
        let size = end.next_multiple_of(multiple).max(1);
        if size > end {
            self.fields.push(reserved_field(size - end));
        }
        if self.fields.len() > CPP_MACRO_FIELDS_MAX {
            return Err(format!(
                "it has {} fields with counts and padding, and at most {CPP_MACRO_FIELDS_MAX} are \
                 possible: group them in messages",
                self.fields.len()
            ));
        }
        self.build_declaration(name, size, align)
    }

    /// Returns the offset of the byte after the last field.
    fn fields_end_offset(&self) -> Result<usize, String> {
        let bytes = |field: &PlannedField| field.kind.size().checked_mul(field.count);
        let sum = |sum: usize, field: &PlannedField| sum.checked_add(bytes(field)?);
        let limit = STRIDE_MAX as usize - HEADER_SIZE_MULTIPLE_BYTES;
        let end = self
            .fields
            .iter()
            .try_fold(0, sum)
            .filter(|end| *end < limit);
        end.ok_or_else(|| {
            let size = |field: &&PlannedField| field.kind.size() as u128 * field.count as u128;
            let largest = self.fields.iter().max_by_key(size);
            let largest = largest.map(PlannedField::describe_size).unwrap_or_default();
            format!(
                "it is longer than {STRIDE_MAX} bytes, and {largest}: shorten its arrays and \
                 strings, or give them smaller bounds"
            )
        })
    }

    fn build_declaration(
        self,
        name: &str,
        size: usize,
        align: usize,
    ) -> Result<Declaration, String> {
        let mut fields = Vec::new();
        let mut values = Vec::new();
        let mut offset = 0;
        for (index, planned) in self.fields.into_iter().enumerate() {
            let field = Field {
                name: leak_text(planned.name),
                kind: planned.kind,
                offset,
                count: planned.count,
                doc: leak_text(planned.doc),
            };
            offset += field.kind.size() * field.count;
            if !planned.values.is_empty() {
                values.push((index, planned.values));
            }
            fields.push(field);
        }
        let tail = self.tail.map(|(name, primitive)| Tail {
            name: leak_text(name),
            primitive,
        });
        let schema = Schema {
            name: leak_text(name.to_owned()),
            size,
            align,
            fields: Vec::leak(fields),
            tail,
            doc: leak_text(self.doc),
            constants: Vec::leak(self.constants),
        };
        // WHY first: the text of too many nested arrays panics.
        if schema.array_nesting() > ARRAY_NESTING_MAX {
            return Err(format!(
                "more than {ARRAY_NESTING_MAX} arrays of messages and strings are nested in it: \
                 flatten them"
            ));
        }
        let bytes = schema.text_bytes();
        if bytes > SCHEMA_TEXT_BYTES_MAX {
            return Err(format!(
                "its schema text has {bytes} bytes, and at most {SCHEMA_TEXT_BYTES_MAX} are \
                 possible: it has too many fields, or too long names"
            ));
        }
        let schema = Box::leak(Box::new(schema));
        Ok(Declaration { schema, values })
    }
}

fn reserved_field(bytes: usize) -> PlannedField {
    PlannedField {
        name: "_reserved".to_owned(),
        kind: FieldKind::Primitive(Primitive::U8),
        count: bytes,
        doc: " Reserved, 0: no unit.\n".to_owned(),
        values: Vec::new(),
    }
}

pub(super) fn leak_text(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}
