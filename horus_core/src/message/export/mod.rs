//! Exports the table of fields to other languages: a document, C, C++, numpy and Python stubs.
//!
//! These are pure functions from schemas to text. A message inside others must come before them, as
//! in [`STANDARD`](super::STANDARD). The cost is linear in the length of the text. They are for
//! tools and builds, not for a running robot.

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

/// Generates one line for each message, `<name> <size> <hash in 32 hexadecimal digits>`. The line
/// changes if the message does.
#[must_use]
pub fn hashes(messages: &[&Schema]) -> String {
    let mut text = String::new();
    for schema in messages {
        let Schema { name, size, .. } = schema;
        push(&mut text, format_args!("{name} {size} {:032x}\n", schema.hash()));
    }
    text
}

/// Returns the name of the struct of the fields; in a message with a tail they are only the header.
fn struct_name(schema: &Schema) -> String {
    let suffix = if schema.tail.is_some() { "Header" } else { "" };
    format!("{}{suffix}", schema.name)
}

/// Returns the lengths of a field's arrays, outermost first: `[16, 32]` for 16 texts of 32 bytes.
fn lengths(field: &Field) -> Vec<usize> {
    let array = (field.count > 1).then_some(field.count);
    let text = match field.kind {
        FieldKind::Text(bytes) => Some(bytes),
        FieldKind::Primitive(_) | FieldKind::Message(_) => None,
    };
    array.into_iter().chain(text).collect()
}

/// Returns the same as written in C, C++ and the document: `[16][32]`, or nothing if it is no
/// array.
fn shape(field: &Field) -> String {
    lengths(field).iter().map(|length| format!("[{length}]")).collect()
}

/// Returns the lines of a doc comment without surrounding spaces.
fn lines(doc: &str) -> Vec<&str> {
    doc.lines().map(str::trim).collect()
}

/// Returns the type of one element: its name in a schema text, or that of the message.
fn element(field: &Field) -> &'static str {
    match field.kind {
        FieldKind::Primitive(primitive) => primitive.name(),
        FieldKind::Text(_) => "char",
        FieldKind::Message(schema) => schema.name,
    }
}

/// Replaces rustdoc links to items by the result of `link` for their names.
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
    // WHY: writing to a string cannot fail.
    let _ = out.write_fmt(text);
}
