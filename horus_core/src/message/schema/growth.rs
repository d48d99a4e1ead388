//! Versions of a message: the beginnings of its list of fields.

use horus_shm::{Beginning, Growth};

use super::parsed::{ParsedField, ParsedSchema};
use super::{FNV_OFFSET_BASIS, fnv1a_step};

/// The beginnings of the names of fields that only fill a gap.
const PADDING: [&str; 2] = ["_pad", "_reserved"];

impl ParsedSchema {
    /// Returns the fields of this message and the beginnings of their list, from which endpoints
    /// tell whether one message is a longer version of another one. None for a message of variable
    /// length.
    ///
    /// A version has one or more fields of the message itself, not of those inside it. Padding
    /// behind its last field does not belong to it.
    pub(crate) fn growth(&self) -> Growth {
        if self.tail.is_some() {
            return Growth::default();
        }
        let mut hash = hash_on(FNV_OFFSET_BASIS, &format!("message {}\n", self.name));
        let mut end = 0;
        let mut beginnings = Vec::new();
        let parts: Vec<_> = self.fields.chunk_by(|a, b| part(a) == part(b)).collect();
        for (at, fields) in parts.iter().enumerate() {
            for field in *fields {
                hash = hash_on(hash, &field.line());
                end = field.shape.end().map_or(end, |behind| end.max(behind));
            }
            let next = parts.get(at + 1).map(|fields| fields[0].shape.offset);
            // WHY the offset: a text of any origin may say that fields overlap.
            let is_apart = next.is_none_or(|next| next >= end);
            if is_apart && !is_padding(part(&fields[0])) {
                beginnings.push(Beginning {
                    hash: (hash >> 64) as u64 ^ hash as u64,
                    bytes: end as u64,
                });
            }
        }
        Growth::new(beginnings.into_iter().rev())
    }
}

impl ParsedField {
    /// Returns the line of this field in a canonical text.
    fn line(&self) -> String {
        let shape = &self.shape;
        let name = shape.primitive.name();
        let arrays = shape.arrays.iter();
        let arrays: String = arrays
            .map(|(count, stride)| format!(" {count}*{stride}"))
            .collect();
        let (path, offset, count) = (&self.path, shape.offset, shape.count);
        format!("field {path} {name} {offset} {count}{arrays}\n")
    }
}

/// Returns the name of the field of the message itself to which a number belongs.
fn part(field: &ParsedField) -> &str {
    field.path.split('.').next().unwrap_or_default()
}

fn is_padding(name: &str) -> bool {
    PADDING.iter().any(|padding| name.starts_with(padding))
}

fn hash_on(hash: u128, text: &str) -> u128 {
    text.bytes().fold(hash, fnv1a_step)
}
