//! Exports the tables of fields as a document, as C and C++ headers, as numpy layouts, as Python
//! stubs and as Rust structs.
//!
//! These are pure functions from schemas to text. In their arguments, a nested message must come
//! before the messages that contain it, as in [`STANDARD`](super::STANDARD). The cost is linear in
//! the length of the text. The functions are for tools and builds, not for a running robot.

mod c;
mod cpp;
mod markdown;
mod number;
mod numpy;
mod python;
mod python_classes;
mod rust;

use std::fmt::{self, Write};

use super::{Field, FieldKind, Schema, fnv1a_128};

pub use c::c;
pub(super) use c::c_with_prefix;
pub use cpp::cpp;
pub(super) use cpp::cpp_in_namespace;
pub use markdown::markdown;
pub use numpy::numpy;
pub use python::python;
pub(super) use python_classes::python_classes;
pub(super) use rust::rust;
pub use rust::rust_structs;

/// Generates one line for each message: `<name> <size> <hash in 32 hexadecimal digits>`. The line
/// changes whenever the layout of the message changes.
#[must_use]
pub fn hashes(messages: &[&Schema]) -> String {
    let mut text = String::new();
    for schema in messages {
        let Schema { name, size, .. } = schema;
        append_formatted(
            &mut text,
            format_args!("{name} {size} {:032x}\n", schema.hash()),
        );
    }
    text
}

/// Returns the name of the struct that is generated for a schema. For a message with trailing data,
/// it is the struct of the header.
fn struct_name(schema: &Schema) -> String {
    let suffix = if schema.tail.is_some() { "Header" } else { "" };
    format!("{}{suffix}", schema.name)
}

/// Returns the declaration of an imported message in C or C++ with a guard, by which the compiler
/// reads it once if several headers have it. `scope` is the namespace or the prefix of its names.
///
/// WHY the hash of the text: another declaration with the same name is an error of the compiler.
fn with_declaration_guard(scope: &str, declaration: &str) -> String {
    let hash = fnv1a_128(format!("{scope}\n{declaration}").as_bytes());
    let guard = format!("HORUS_IMPORTED_{hash:032X}");
    format!("\n#ifndef {guard}\n#define {guard}{declaration}#endif  /* {guard} */\n")
}

/// Returns the lengths of a field's arrays, outermost first: `[16, 32]` for 16 texts of 32 bytes.
fn array_lengths(field: &Field) -> Vec<usize> {
    let array = (field.count > 1).then_some(field.count);
    let text = match field.kind {
        FieldKind::Text(bytes) => Some(bytes),
        FieldKind::Primitive(_) | FieldKind::Message(_) => None,
    };
    array.into_iter().chain(text).collect()
}

/// Returns the array lengths of a field in the notation of C, C++ and the exported Markdown
/// document, such as `[16][32]`. Returns an empty text if the field is not an array.
fn array_suffix(field: &Field) -> String {
    array_lengths(field)
        .iter()
        .map(|length| format!("[{length}]"))
        .collect()
}

/// Returns the lines of a doc comment, each without spaces at its start and end.
fn doc_lines(doc: &str) -> Vec<&str> {
    doc.lines().map(str::trim).collect()
}

/// Returns the name of the type of one element of a field: the name in a schema text, or the name
/// of the nested message.
fn element_type_name(field: &Field) -> &'static str {
    match field.kind {
        FieldKind::Primitive(primitive) => primitive.name(),
        FieldKind::Text(_) => "char",
        FieldKind::Message(schema) => schema.name,
    }
}

/// Replaces each rustdoc link in `text` by the result of `link`, which gets the name of the linked
/// item.
fn replace_links(text: &str, link: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[`") {
        let Some((name, after)) = after.split_once("`]") else {
            break;
        };
        out.push_str(before);
        out.push_str(&link(name));
        rest = match after
            .strip_prefix('(')
            .and_then(|target| target.split_once(')'))
        {
            Some((_, after)) => after,
            None => after,
        };
    }
    out + rest
}

fn append_formatted(out: &mut String, text: fmt::Arguments<'_>) {
    // WHY: writing to a string cannot fail.
    let _ = out.write_fmt(text);
}
