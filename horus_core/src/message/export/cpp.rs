//! The messages as C++ structs that prove their own layout.

use std::fmt::Write;

use super::super::{Constant, Field, FieldKind, Primitive, Schema, Tail};
use super::{lengths, relinked, struct_name};

const HEAD: &str = "\
// @generated from the table of fields in horus_core/src/message/. C++17.
#ifndef HORUS_MSG_HPP
#define HORUS_MSG_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <horus/schema.hpp>

namespace horus {
";

const COLUMNS_MAX: usize = 100;

/// A C++17 header with a struct for each message, in the namespace `horus`; of a message with a
/// tail, one for its header and one for the whole.
///
/// It states size, alignment and all offsets in `static_assert`s. Constants are static members, as
/// is `schema_hash`, which a program that uses the message compares with what its compiler makes of
/// the fields.
#[must_use]
pub fn cpp(messages: &[&Schema]) -> String {
    let mut out = String::from(HEAD);
    for schema in messages {
        message(&mut out, schema);
    }
    out + "\n}  // namespace horus\n\n#endif  // HORUS_MSG_HPP\n"
}

fn message(out: &mut String, schema: &Schema) {
    let (Schema { size, align, tail, .. }, name) = (schema, struct_name(schema));
    out.push('\n');
    comment(out, "", &schema.doc_text());
    if let Some(Tail { name, primitive }) = tail {
        let primitive = number(*primitive);
        comment(out, "", &format!("\nFollowed by `{primitive} {name}[]`, to the message's end."));
    }
    push(out, format_args!("struct alignas({align}) {name} {{\n"));
    for field in schema.fields {
        comment(out, "    ", &field.doc.lines().map(str::trim).collect::<Vec<_>>().join("\n"));
        let shape: String = lengths(field).iter().map(|length| format!("[{length}]")).collect();
        push(out, format_args!("    {} {}{shape};\n", kind(field), field.name));
    }
    for Constant { name, kind, value, doc } in schema.constants {
        comment(out, "    ", &doc.lines().map(str::trim).collect::<Vec<_>>().join("\n"));
        let kind = number(*kind);
        push(out, format_args!("    static constexpr {kind} {name} = {value};\n"));
    }
    if tail.is_none() {
        hash(out, schema);
    }
    out.push_str("};\n");
    push(out, format_args!("static_assert(sizeof({name}) == {size}, \"size of {name}\");\n"));
    push(
        out,
        format_args!("static_assert(alignof({name}) == {align}, \"alignment of {name}\");\n"),
    );
    push(
        out,
        format_args!(
            "static_assert(std::is_trivially_copyable_v<{name}> && \
             std::is_standard_layout_v<{name}>);\n"
        ),
    );
    for Field { name: field, offset, .. } in schema.fields {
        push(out, format_args!("static_assert(offsetof({name}, {field}) == {offset});\n"));
    }
    described(out, &name, schema.fields);
    if let Some(tail) = tail {
        let (whole, primitive) = (schema.name, number(tail.primitive));
        push(out, format_args!("struct {whole} : Framed<{name}, {primitive}> {{\n"));
        hash(out, schema);
        push(out, format_args!("}};\nHORUS_FRAMED({whole}, {});\n", tail.name));
    }
}

fn hash(out: &mut String, schema: &Schema) {
    let hash = schema.hash();
    let (high, low) = ((hash >> 64) as u64, hash as u64);
    out.push_str("    /// Of the canonical schema text.\n");
    push(
        out,
        format_args!(
            "    static constexpr SchemaHash schema_hash{{0x{high:016x}u, 0x{low:016x}u}};\n"
        ),
    );
}

/// The names of the fields once more, of which the compiler makes the schema.
fn described(out: &mut String, name: &str, fields: &[Field]) {
    let mut line = format!("HORUS_MESSAGE({name}");
    for Field { name, .. } in fields {
        line.push(',');
        if line.len() + name.len() + " );".len() > COLUMNS_MAX {
            push(out, format_args!("{line}\n"));
            line = "   ".to_owned();
        }
        push(&mut line, format_args!(" {name}"));
    }
    push(out, format_args!("{line});\n"));
}

const fn kind(field: &Field) -> &'static str {
    match field.kind {
        FieldKind::Message(schema) => schema.name,
        FieldKind::Text(_) => "char",
        FieldKind::Primitive(primitive) => number(primitive),
    }
}

const fn number(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::U8 => "std::uint8_t",
        Primitive::U16 => "std::uint16_t",
        Primitive::U32 => "std::uint32_t",
        Primitive::U64 => "std::uint64_t",
        Primitive::I8 => "std::int8_t",
        Primitive::I16 => "std::int16_t",
        Primitive::I32 => "std::int32_t",
        Primitive::I64 => "std::int64_t",
        Primitive::F32 => "float",
        Primitive::F64 => "double",
        Primitive::Char => "char",
    }
}

fn comment(out: &mut String, indent: &str, text: &str) {
    for line in relinked(text, |name| format!("`{name}`")).trim_end().lines() {
        push(out, format_args!("{}\n", format!("{indent}/// {line}").trim_end()));
    }
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}
