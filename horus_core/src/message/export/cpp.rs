//! The messages as C++ structs that prove their own layout.

use std::fmt::Write;

use super::super::{Constant, Field, FieldKind, Primitive, Schema, Tail, standard_default};
use super::{lengths, relinked, struct_name};

const HEAD: &str = "\
// @generated from the table of fields in horus_core/src/message/. C++17.
#ifndef HORUS_MSG_HPP
#define HORUS_MSG_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <horus/schema.hpp>

namespace horus {
";

const COLUMNS_MAX: usize = 100;

/// A C++17 header with a struct for each message, in the namespace `horus`; of a message with a
/// tail, one for its header and one for the whole.
///
/// `T{}` has the values of `T::default()` in Rust: fields of which that is not zero have an
/// initialiser. It states size, alignment and all offsets in `static_assert`s.
///
/// Constants are static members, as is `schema_hash`, which a program that uses the message
/// compares with what its compiler makes of the fields.
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
    let default = standard_default(&name);
    for field in schema.fields {
        comment(out, "    ", &field.doc.lines().map(str::trim).collect::<Vec<_>>().join("\n"));
        let shape: String = lengths(field).iter().map(|length| format!("[{length}]")).collect();
        let declared = format!("    {} {}{shape}", kind(field), field.name);
        let numbers = default.as_deref().and_then(|default| numbers_of(field, default));
        initialised(out, &declared, field, numbers.as_deref());
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

/// The default of a field of numbers, up to the last one that is not zero. A message inside a
/// message has initialisers of its own.
fn numbers_of(field: &Field, default: &[u8]) -> Option<Vec<String>> {
    let FieldKind::Primitive(primitive) = field.kind else { return None };
    let bytes = default.get(field.offset..)?.get(..field.count * primitive.size())?;
    let last = bytes.iter().rposition(|byte| *byte != 0)?;
    let each = bytes.chunks(primitive.size()).take(last / primitive.size() + 1);
    Some(each.map(|bytes| literal(primitive, bytes)).collect())
}

/// A field with what it begins with, if that is not zero: `double w = 1.0;`.
fn initialised(out: &mut String, declared: &str, field: &Field, numbers: Option<&[String]>) {
    out.push_str(declared);
    match numbers {
        None => {}
        Some([number]) if field.count == 1 => push(out, format_args!(" = {number}")),
        Some(numbers) => {
            let line = format!(" = {{{}}}", numbers.join(", "));
            let breaks = declared.len() + line.len() + ";".len() > COLUMNS_MAX;
            let wrapped = || format!(" = {{\n        {}}}", numbers.join(",\n        "));
            out.push_str(&if breaks { wrapped() } else { line });
        }
    }
    out.push_str(";\n");
}

/// A number as C++ writes it.
fn literal(primitive: Primitive, bytes: &[u8]) -> String {
    let kind = number(primitive);
    let float = |value: f64, suffix: &str| {
        let limit = |of: &str| format!("std::numeric_limits<{kind}>::{of}()");
        match value {
            value if value.is_nan() => limit("quiet_NaN"),
            f64::INFINITY => limit("infinity"),
            f64::NEG_INFINITY => "-".to_owned() + &limit("infinity"),
            value => format!("{value:?}{suffix}"),
        }
    };
    let mut whole = [0; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(whole);
    let unused = 64 - 8 * bytes.len() as u32;
    match primitive {
        Primitive::F32 => float(f32::from_bits(bits as u32).into(), "F"),
        Primitive::F64 => float(f64::from_bits(bits), ""),
        Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 => {
            (((bits << unused) as i64) >> unused).to_string()
        }
        _ => bits.to_string(),
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
