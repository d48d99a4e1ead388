//! Generates C++ structs with layout assertions.

use super::super::{Constant, Field, FieldKind, Primitive, Schema, Tail, standard_default};
use super::number::{SpecialFloat, number_literals, type_name};
use super::{append, array_suffix, doc_lines, replace_links, struct_name};

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

/// Generates a C++17 header with a struct for each message, in the namespace `horus`. A message
/// with a tail has one struct for its header and one for the whole.
///
/// `T{}` has the values of `T::default()` in Rust: fields whose default is not zero have an
/// initialiser. Size, alignment and all offsets are in `static_assert`s.
///
/// Constants are static members, and so is `schema_hash`. A program that uses the message compares
/// it with the hash that its compiler computes from the fields.
#[must_use]
pub fn cpp(messages: &[&Schema]) -> String {
    let mut out = String::from(HEAD);
    for schema in messages {
        write_message(&mut out, schema);
    }
    out + "\n}  // namespace horus\n\n#endif  // HORUS_MSG_HPP\n"
}

fn write_message(out: &mut String, schema: &Schema) {
    let (
        Schema {
            size, align, tail, ..
        },
        name,
    ) = (schema, struct_name(schema));
    out.push('\n');
    write_comment(out, "", &schema.doc_text());
    if let Some(Tail { name, primitive }) = tail {
        let primitive = cpp_type(*primitive);
        write_comment(
            out,
            "",
            &format!("\nFollowed by `{primitive} {name}[]`, to the message's end."),
        );
    }
    append(out, format_args!("struct alignas({align}) {name} {{\n"));
    let default = standard_default(&name);
    for field in schema.fields {
        write_comment(out, "    ", &doc_lines(field.doc).join("\n"));
        let declared = format!(
            "    {} {}{}",
            field_type(field),
            field.name,
            array_suffix(field)
        );
        // WHY only numbers: nested messages have initialisers of their own.
        let numbers = default
            .as_deref()
            .and_then(|default| number_literals(field, default, limit_literal));
        write_member(out, &declared, field, numbers.as_deref());
    }
    for Constant {
        name,
        kind,
        value,
        doc,
    } in schema.constants
    {
        write_comment(out, "    ", &doc_lines(doc).join("\n"));
        let kind = cpp_type(*kind);
        append(
            out,
            format_args!("    static constexpr {kind} {name} = {value};\n"),
        );
    }
    if tail.is_none() {
        write_hash(out, schema);
    }
    out.push_str("};\n");
    append(
        out,
        format_args!("static_assert(sizeof({name}) == {size}, \"size of {name}\");\n"),
    );
    append(
        out,
        format_args!("static_assert(alignof({name}) == {align}, \"alignment of {name}\");\n"),
    );
    append(
        out,
        format_args!(
            "static_assert(std::is_trivially_copyable_v<{name}> && \
             std::is_standard_layout_v<{name}>);\n"
        ),
    );
    for Field {
        name: field,
        offset,
        ..
    } in schema.fields
    {
        append(
            out,
            format_args!("static_assert(offsetof({name}, {field}) == {offset});\n"),
        );
    }
    write_field_list(out, &name, schema.fields);
    if let Some(tail) = tail {
        let whole = schema.name;
        let primitive = cpp_type(tail.primitive);
        append(
            out,
            format_args!("struct {whole} : Framed<{name}, {primitive}> {{\n"),
        );
        write_hash(out, schema);
        append(
            out,
            format_args!("}};\nHORUS_FRAMED({whole}, {});\n", tail.name),
        );
    }
}

/// Writes a field, with an initialiser if its default is not 0: `double w = 1.0;`.
fn write_member(out: &mut String, declared: &str, field: &Field, numbers: Option<&[String]>) {
    out.push_str(declared);
    match numbers {
        None => {}
        Some([number]) if field.count == 1 => append(out, format_args!(" = {number}")),
        Some(numbers) => {
            let line = format!(" = {{{}}}", numbers.join(", "));
            let breaks = declared.len() + line.len() + ";".len() > COLUMNS_MAX;
            let wrapped = || format!(" = {{\n        {}}}", numbers.join(",\n        "));
            out.push_str(&if breaks { wrapped() } else { line });
        }
    }
    out.push_str(";\n");
}

fn limit_literal(primitive: Primitive, limit: SpecialFloat) -> String {
    let function = match limit {
        SpecialFloat::NotANumber => "quiet_NaN",
        SpecialFloat::Infinity => "infinity",
    };
    format!("std::numeric_limits<{}>::{function}()", cpp_type(primitive))
}

fn write_hash(out: &mut String, schema: &Schema) {
    let hash = schema.hash();
    let high = (hash >> 64) as u64;
    let low = hash as u64;
    out.push_str("    /// Of the canonical schema text.\n");
    append(
        out,
        format_args!(
            "    static constexpr SchemaHash schema_hash{{0x{high:016x}u, 0x{low:016x}u}};\n"
        ),
    );
}

/// Writes a macro call with the names of the fields, from which the compiler computes the schema.
fn write_field_list(out: &mut String, name: &str, fields: &[Field]) {
    let mut line = format!("HORUS_MESSAGE({name}");
    for Field { name, .. } in fields {
        line.push(',');
        if line.len() + name.len() + " );".len() > COLUMNS_MAX {
            append(out, format_args!("{line}\n"));
            line = "   ".to_owned();
        }
        append(&mut line, format_args!(" {name}"));
    }
    append(out, format_args!("{line});\n"));
}

fn field_type(field: &Field) -> String {
    match field.kind {
        FieldKind::Message(schema) => schema.name.to_owned(),
        FieldKind::Text(_) => "char".to_owned(),
        FieldKind::Primitive(primitive) => cpp_type(primitive),
    }
}

fn cpp_type(primitive: Primitive) -> String {
    let name = type_name(primitive);
    if name.ends_with("_t") {
        format!("std::{name}")
    } else {
        name.to_owned()
    }
}

fn write_comment(out: &mut String, indent: &str, text: &str) {
    for line in replace_links(text, |name| format!("`{name}`"))
        .trim_end()
        .lines()
    {
        append(
            out,
            format_args!("{}\n", format!("{indent}/// {line}").trim_end()),
        );
    }
}
