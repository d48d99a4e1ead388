//! The table of fields in other languages: a document, C, C++, numpy and stubs of Python.
//!
//! Pure functions from schemas to text. Messages inside others have to come before those, as they
//! do in [`STANDARD`](super::STANDARD). Linear in the text; for tools and builds, not for robots
//! at work.

mod c;
mod cpp;
mod markdown;
mod number;
mod numpy;
mod python;

use std::fmt::{self, Write};

use super::{Field, FieldKind, Schema};

pub use c::c;
pub use cpp::cpp;
pub use markdown::markdown;
pub use numpy::numpy;
pub use python::python;

/// One line for each message, `<name> <size> <hash in 32 hexadecimal digits>`: what changes if a
/// message does.
#[must_use]
pub fn hashes(messages: &[&Schema]) -> String {
    let mut text = String::new();
    for schema in messages {
        let Schema { name, size, .. } = schema;
        push(&mut text, format_args!("{name} {size} {:032x}\n", schema.hash()));
    }
    text
}

/// What the struct of the fields is called: of a message with a tail they are only the header.
fn struct_name(schema: &Schema) -> String {
    let suffix = if schema.tail.is_some() { "Header" } else { "" };
    format!("{}{suffix}", schema.name)
}

/// The lengths of the arrays that a field consists of, outermost first: `[16, 32]` for 16 texts of
/// 32 bytes.
fn lengths(field: &Field) -> Vec<usize> {
    let array = (field.count > 1).then_some(field.count);
    let text = match field.kind {
        FieldKind::Text(bytes) => Some(bytes),
        FieldKind::Primitive(_) | FieldKind::Message(_) => None,
    };
    array.into_iter().chain(text).collect()
}

/// The same as C, C++ and the document write it: `[16][32]`; nothing of what is no array.
fn shape(field: &Field) -> String {
    lengths(field).iter().map(|length| format!("[{length}]")).collect()
}

/// The lines of a doc comment, without the space around them.
fn lines(doc: &str) -> Vec<&str> {
    doc.lines().map(str::trim).collect()
}

/// The type of one element, by its name in a schema text or its own.
fn element(field: &Field) -> &'static str {
    match field.kind {
        FieldKind::Primitive(primitive) => primitive.name(),
        FieldKind::Text(_) => "char",
        FieldKind::Message(schema) => schema.name,
    }
}

/// The text with links of rustdoc to items replaced by what `link` makes of their names.
fn relinked(text: &str, link: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[`") {
        let Some((name, after)) = after.split_once("`]") else { break };
        out.push_str(before);
        out.push_str(&link(name));
        rest = match after.strip_prefix('(').and_then(|target| target.split_once(')')) {
            Some((_, after)) => after,
            None => after,
        };
    }
    out + rest
}

fn push(out: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}
