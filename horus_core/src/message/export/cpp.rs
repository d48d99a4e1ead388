//! Generates C++ structs with layout assertions.

use std::collections::BTreeSet;

use super::super::import::{Declaration, Literal};
use super::super::{Constant, Field, FieldKind, Primitive, Schema, Tail, standard_default_of};
use super::number::{SpecialFloat, c_type, char_literal, integer_literal, number_literals};
use super::{
    append_formatted, array_suffix, doc_lines, replace_links, struct_name, with_declaration_guard,
};

const FILE_HEADER: &str = "\
// @generated from the table of fields in horus_core/src/message/. C++17.
#ifndef HORUS_MSG_HPP
#define HORUS_MSG_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <horus/schema.hpp>
";

const IMPORTED_FILE_HEADER: &str = "\
// @generated from .msg files. C++17. Each message is declared once in a file that includes several
// such headers.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <horus/schema.hpp>
";

const COLUMNS_MAX: usize = 100;

/// Generates a C++17 header with a struct for each message, in the namespace `horus`. A message
/// with trailing data has one struct for its header and one for the whole message.
///
/// `T{}` has the values of `T::default()` in Rust: fields whose default is not zero have an
/// initialiser. `static_assert`s check the size, the alignment and all offsets.
///
/// Constants are static members, and so is `schema_hash`, the hash of the schema text. A program
/// that uses the message compares `schema_hash` with the hash that its compiler computes from the
/// fields.
#[must_use]
pub fn cpp(messages: &[&Schema]) -> String {
    let mut out = String::from(FILE_HEADER);
    let constants = constant_names(messages.iter().copied());
    write_macro_push_directives(&mut out, &constants);
    out.push_str("\nnamespace horus {\n");
    for schema in messages {
        let default = standard_default_of(schema.name, schema.hash());
        // WHY only numbers: nested messages have initialisers of their own.
        let numbers =
            |_, field: &Field| number_literals(field, default.as_deref()?, special_float_literal);
        write_message(&mut out, schema, "", &numbers);
    }
    out.push_str("\n}  // namespace horus\n");
    write_macro_pop_directives(&mut out, &constants);
    out + "\n#endif  // HORUS_MSG_HPP\n"
}

/// Generates a C++17 header with a struct for each imported message in the given namespace, as
/// [`cpp`] does for the namespace `horus`.
pub(in crate::message) fn cpp_in_namespace(messages: &[Declaration], namespace: &str) -> String {
    let mut out = String::from(IMPORTED_FILE_HEADER);
    let constants = constant_names(messages.iter().map(|message| message.schema));
    write_macro_push_directives(&mut out, &constants);
    append_formatted(&mut out, format_args!("\nnamespace {namespace} {{\n"));
    for message in messages {
        let values = |index, field: &Field| cpp_literals(message.values_of(index), field);
        let mut text = String::new();
        write_message(&mut text, message.schema, "::horus::", &values);
        out.push_str(&with_declaration_guard(namespace, &text));
    }
    append_formatted(&mut out, format_args!("\n}}  // namespace {namespace}\n"));
    write_macro_pop_directives(&mut out, &constants);
    out
}

/// Returns the names of all constants of the messages.
fn constant_names<'a>(messages: impl Iterator<Item = &'a Schema>) -> BTreeSet<&'a str> {
    let constants = messages.flat_map(|schema| schema.constants);
    constants.map(|constant| constant.name).collect()
}

/// Writes directives that set macros with the names of constants aside. WHY: other headers, and
/// flags such as `-DDEBUG`, define macros such as `OK` and `DEBUG`.
fn write_macro_push_directives(out: &mut String, constants: &BTreeSet<&str>) {
    if !constants.is_empty() {
        out.push_str(
            "\n// Macros with the names of constants are set aside, and restored at the end.\n",
        );
    }
    for name in constants {
        append_formatted(
            out,
            format_args!("#pragma push_macro(\"{name}\")\n#undef {name}\n"),
        );
    }
}

/// Writes directives that restore what [`write_macro_push_directives`] has set aside.
fn write_macro_pop_directives(out: &mut String, constants: &BTreeSet<&str>) {
    if !constants.is_empty() {
        out.push('\n');
    }
    for name in constants {
        append_formatted(out, format_args!("#pragma pop_macro(\"{name}\")\n"));
    }
}

/// Returns the default values of a field as C++ literals, which [`write_member`] takes. Returns
/// `None` if the field has no default values.
fn cpp_literals(values: &[Literal], field: &Field) -> Option<Vec<String>> {
    let literal = |value: &Literal| match (value, field.kind) {
        (Literal::Integer(value), _) => integer_literal(*value),
        (Literal::Float(value), FieldKind::Primitive(Primitive::F32)) => {
            format!("{:?}F", *value as f32)
        }
        (Literal::Float(value), _) => format!("{value:?}"),
        (Literal::Text(text), _) => {
            let letters: Vec<_> = text.bytes().map(char_literal).collect();
            format!("{{{}}}", letters.join(", "))
        }
    };
    (!values.is_empty()).then(|| values.iter().map(literal).collect())
}

/// Writes the struct of a message. `namespace_prefix` is the prefix for names of the namespace
/// `horus`: empty, or `::horus::`. `values` returns the default values of the field with the given
/// index, as literals.
fn write_message(
    out: &mut String,
    schema: &Schema,
    namespace_prefix: &str,
    values: &dyn Fn(usize, &Field) -> Option<Vec<String>>,
) {
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
    append_formatted(out, format_args!("struct alignas({align}) {name} {{\n"));
    for (index, field) in schema.fields.iter().enumerate() {
        write_comment(out, "    ", &doc_lines(field.doc).join("\n"));
        let declared = format!(
            "    {} {}{}",
            field_type(field),
            field.name,
            array_suffix(field)
        );
        write_member(out, &declared, field, values(index, field).as_deref());
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
        let value = integer_literal(*value);
        append_formatted(
            out,
            format_args!("    static constexpr {kind} {name} = {value};\n"),
        );
    }
    if tail.is_none() {
        write_schema_hash(out, schema, namespace_prefix);
    }
    out.push_str("};\n");
    append_formatted(
        out,
        format_args!("static_assert(sizeof({name}) == {size}, \"size of {name}\");\n"),
    );
    append_formatted(
        out,
        format_args!("static_assert(alignof({name}) == {align}, \"alignment of {name}\");\n"),
    );
    append_formatted(
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
        append_formatted(
            out,
            format_args!("static_assert(offsetof({name}, {field}) == {offset});\n"),
        );
    }
    write_schema_macro_call(out, &name, schema.fields);
    if let Some(tail) = tail {
        let whole = schema.name;
        let primitive = cpp_type(tail.primitive);
        append_formatted(
            out,
            format_args!("struct {whole} : {namespace_prefix}Framed<{name}, {primitive}> {{\n"),
        );
        write_schema_hash(out, schema, namespace_prefix);
        append_formatted(
            out,
            format_args!("}};\nHORUS_FRAMED({whole}, {});\n", tail.name),
        );
    }
}

/// Writes the declaration of a field. It has an initialiser if the default is not 0: `double w =
/// 1.0;`.
fn write_member(out: &mut String, declared: &str, field: &Field, numbers: Option<&[String]>) {
    out.push_str(declared);
    match numbers {
        None => {}
        Some([number]) if field.count == 1 => append_formatted(out, format_args!(" = {number}")),
        Some(numbers) => {
            let line = format!(" = {{{}}}", numbers.join(", "));
            let breaks = declared.len() + line.len() + ";".len() > COLUMNS_MAX;
            let wrapped = || format!(" = {{\n        {}}}", numbers.join(",\n        "));
            out.push_str(&if breaks { wrapped() } else { line });
        }
    }
    out.push_str(";\n");
}

fn special_float_literal(primitive: Primitive, value: SpecialFloat) -> String {
    let function = match value {
        SpecialFloat::NotANumber => "quiet_NaN",
        SpecialFloat::Infinity => "infinity",
    };
    format!("std::numeric_limits<{}>::{function}()", cpp_type(primitive))
}

fn write_schema_hash(out: &mut String, schema: &Schema, namespace_prefix: &str) {
    let hash = schema.hash();
    let high = (hash >> 64) as u64;
    let low = hash as u64;
    out.push_str("    /// Of the canonical schema text.\n");
    append_formatted(
        out,
        format_args!(
            "    static constexpr {namespace_prefix}SchemaHash \
             schema_hash{{0x{high:016x}u, 0x{low:016x}u}};\n"
        ),
    );
}

/// Writes a macro call with the names of the fields, from which the compiler computes the schema.
fn write_schema_macro_call(out: &mut String, name: &str, fields: &[Field]) {
    let mut line = format!("HORUS_MESSAGE({name}");
    for Field { name, .. } in fields {
        line.push(',');
        if line.len() + name.len() + " );".len() > COLUMNS_MAX {
            append_formatted(out, format_args!("{line}\n"));
            line = "   ".to_owned();
        }
        append_formatted(&mut line, format_args!(" {name}"));
    }
    append_formatted(out, format_args!("{line});\n"));
}

fn field_type(field: &Field) -> String {
    match field.kind {
        FieldKind::Message(schema) => schema.name.to_owned(),
        FieldKind::Text(_) => "char".to_owned(),
        FieldKind::Primitive(primitive) => cpp_type(primitive),
    }
}

fn cpp_type(primitive: Primitive) -> String {
    let name = c_type(primitive);
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
        append_formatted(
            out,
            format_args!("{}\n", format!("{indent}/// {line}").trim_end()),
        );
    }
}
