//! Generates C structs with layout assertions, schema texts and defaults.

use super::super::{Constant, Field, FieldKind, Primitive, Schema, Tail, standard_default};
use super::number::{SpecialFloat, c_type, number_literals};
use super::{append, array_suffix, doc_lines, replace_links, struct_name};

const FILE_HEADER: &str = r##"/*
 * @generated from the table of fields in horus_core/src/message/. C11, usable from C++.
 *
 * The standard messages. For the message CmdVel there are:
 *
 * horus_cmd_vel_t       the struct, with the same layout in every language
 * HORUS_CMD_VEL_SCHEMA  the canonical schema text, for HORUS_TOPIC_OPTIONS_FOR of horus.h
 * HORUS_CMD_VEL_INIT    an initialiser with the values of CmdVel::default() in Rust: where they are
 *                       not 0, orientations do not rotate, and what was not measured is NaN
 * HORUS_CMD_VEL_*       its constants, if it has any
 *
 * Of a message with data of any length, as Image, the struct is the header that the data follow:
 * horus_image_header_t and HORUS_IMAGE_HEADER_INIT, but HORUS_IMAGE_SCHEMA. What is received was
 * written by another program: compare the header with the length of the message before use.
 *
 * Comments use the names of docs/messages.md. C++ programs have the same in <horus/msg.hpp>.
 */
#ifndef HORUS_MESSAGES_H
#define HORUS_MESSAGES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define HORUS_ASSERT(condition, text) static_assert(condition, text)
#define HORUS_ALIGNOF(type) alignof(type)
#else
#define HORUS_ASSERT(condition, text) _Static_assert(condition, text)
#define HORUS_ALIGNOF(type) _Alignof(type)
#endif
#define HORUS_ASSERT_LAYOUT(type, size, align)                       \
    HORUS_ASSERT(sizeof(type) == (size), "size of " #type);          \
    HORUS_ASSERT(HORUS_ALIGNOF(type) == (align), "alignment of " #type)
#define HORUS_ASSERT_OFFSET(type, field, offset) \
    HORUS_ASSERT(offsetof(type, field) == (offset), "offset of " #field " in " #type)

/* Part of initialisers: the same four times. */
#define HORUS_4X(...) __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__
"##;

const FILE_FOOTER: &str = "
#undef HORUS_ASSERT_OFFSET
#undef HORUS_ASSERT_LAYOUT
#undef HORUS_ALIGNOF
#undef HORUS_ASSERT

#endif /* HORUS_MESSAGES_H */
";

const COLUMNS_MAX: usize = 100;

/// Generates a C11 header with a struct for each message. For a message with trailing data, the
/// struct contains only the header.
///
/// Static assertions check the size, the alignment and all offsets. Schema texts and defaults are
/// macros, which cost nothing in a program that does not use them.
#[must_use]
pub fn c(messages: &[&Schema]) -> String {
    let mut out = String::from(FILE_HEADER);
    for schema in messages {
        write_message(&mut out, schema);
    }
    out + FILE_FOOTER
}

fn write_message(out: &mut String, schema: &Schema) {
    let name = c_name(schema);
    let upper = snake_case(schema.name).to_uppercase();
    let mut doc = schema.doc_text().trim_end().to_owned();
    if let Some(Tail { name, primitive }) = schema.tail {
        let primitive = c_type(primitive);
        append(
            &mut doc,
            format_args!("\n\nFollowed by `{primitive} {name}[]`, to the message's end."),
        );
    }
    out.push('\n');
    write_comment(out, "", &doc.lines().collect::<Vec<_>>());
    append(out, format_args!("typedef struct {name} {{\n"));
    for field in schema.fields {
        write_comment(out, "    ", &doc_lines(field.doc));
        append(
            out,
            format_args!(
                "    {} {}{};\n",
                field_type(field),
                field.name,
                array_suffix(field)
            ),
        );
    }
    append(out, format_args!("}} {name}_t;\n"));
    let Schema { size, align, .. } = schema;
    append(
        out,
        format_args!("HORUS_ASSERT_LAYOUT({name}_t, {size}, {align});\n"),
    );
    for Field {
        name: field,
        offset,
        ..
    } in schema.fields
    {
        append(
            out,
            format_args!("HORUS_ASSERT_OFFSET({name}_t, {field}, {offset});\n"),
        );
    }
    write_constants(out, &upper, schema.constants);
    let text = schema.text().replace('\n', "\\n\n");
    let text = text.lines().map(str::to_owned).collect();
    let line = |line: &str| format!("\"{line}\"");
    write_define(
        out,
        &format!("HORUS_{upper}_SCHEMA"),
        wrap_parts(text, "", line),
    );
    let default = standard_default(&struct_name(schema)).unwrap_or_default();
    write_define(
        out,
        &format!("{}_INIT", name.to_uppercase()),
        initialiser(schema, &default),
    );
}

/// Returns the name of a message's struct in C: `horus_cmd_vel` for `CmdVel`, and
/// `horus_image_header` for `Image`.
fn c_name(schema: &Schema) -> String {
    format!("horus_{}", snake_case(&struct_name(schema)))
}

/// Converts a name to lower case with underscores: `CmdVel` to `cmd_vel`, and `BoundingBox2D` to
/// `bounding_box2d`.
fn snake_case(name: &str) -> String {
    let mut out = String::new();
    let mut is_after_lower_case = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && is_after_lower_case {
            out.push('_');
        }
        is_after_lower_case = letter.is_ascii_lowercase();
        out.push(letter.to_ascii_lowercase());
    }
    out
}

fn field_type(field: &Field) -> String {
    match field.kind {
        FieldKind::Message(schema) => c_name(schema) + "_t",
        FieldKind::Text(_) => "char".to_owned(),
        FieldKind::Primitive(primitive) => c_type(primitive).to_owned(),
    }
}

fn write_constants(out: &mut String, upper: &str, constants: &[Constant]) {
    if constants.is_empty() {
        return;
    }
    out.push_str("enum {\n");
    for (
        index,
        Constant {
            name, value, doc, ..
        },
    ) in constants.iter().enumerate()
    {
        write_comment(out, "    ", &doc_lines(doc));
        let comma = if index + 1 < constants.len() { "," } else { "" };
        append(
            out,
            format_args!("    HORUS_{upper}_{name} = {value}{comma}\n"),
        );
    }
    out.push_str("};\n");
}

/// Returns the lines of a C initialiser that sets a struct to the message in `bytes`.
fn initialiser(schema: &Schema, bytes: &[u8]) -> Vec<String> {
    let given = schema.fields.iter().filter_map(|field| {
        let value = match field.kind {
            FieldKind::Message(inner) => nested_initialisers(field, inner, bytes),
            FieldKind::Primitive(_) | FieldKind::Text(_) => {
                number_literals(field, bytes, special_float_literal)
            }
        }?;
        let value = value.join(", ");
        let value = if field.count > 1 {
            format!("{{{value}}}")
        } else {
            value
        };
        Some(format!(".{} = {value}", field.name))
    });
    let given: Vec<_> = given.collect();
    if given.is_empty() {
        return vec!["{0}".to_owned()];
    }
    let mut lines = wrap_parts(given, ", ", str::to_owned);
    lines[0].insert(0, '{');
    lines
        .iter_mut()
        .skip(1)
        .for_each(|line| line.insert(0, ' '));
    if let Some(last) = lines.last_mut() {
        last.push('}');
    }
    lines
}

/// Returns the C initialisers of the messages that are nested in a field; `None` if all bytes of
/// the field are 0.
fn nested_initialisers(field: &Field, inner: &Schema, bytes: &[u8]) -> Option<Vec<String>> {
    let bytes = bytes.get(field.offset..)?.get(..field.count * inner.size)?;
    if bytes.iter().all(|byte| *byte == 0) {
        return None;
    }
    let default = standard_default(&struct_name(inner));
    let one = |bytes: &[u8]| match default.as_deref() {
        Some(default) if default == bytes => format!("{}_INIT", c_name(inner).to_uppercase()),
        _ => initialiser(inner, bytes).join(""),
    };
    let all: Vec<_> = bytes.chunks(inner.size).map(one).collect();
    let is_same = all.windows(2).all(|pair| pair[0] == pair[1]);
    let times = all.len().ilog(4);
    if !is_same || 4usize.pow(times) != all.len() {
        return Some(all);
    }
    let open = "HORUS_4X(".repeat(times as usize);
    let close = ")".repeat(times as usize);
    Some(vec![open + &all[0] + &close])
}

fn special_float_literal(primitive: Primitive, value: SpecialFloat) -> String {
    let name = match value {
        SpecialFloat::NotANumber => "NAN",
        SpecialFloat::Infinity => "INFINITY",
    };
    // WHY: the macros of math.h have the type float, and some compilers warn about the conversion.
    let cast = if matches!(primitive, Primitive::F64) {
        "(double)"
    } else {
        ""
    };
    format!("{cast}{name}")
}

/// Joins the parts with the separator `between`, with as many parts on each line as fit. `finish`
/// converts each line to code.
fn wrap_parts(parts: Vec<String>, between: &str, finish: impl Fn(&str) -> String) -> Vec<String> {
    let mut lines = vec![String::new()];
    let count = parts.len();
    for (index, part) in parts.into_iter().enumerate() {
        let part = if index + 1 < count {
            part + between
        } else {
            part
        };
        let last = lines.len() - 1;
        let room = COLUMNS_MAX - "    {\"\"} \\".len();
        if !lines[last].is_empty() && lines[last].len() + part.trim_end().len() > room {
            lines.push(part);
        } else {
            lines[last].push_str(&part);
        }
    }
    lines.iter().map(|line| finish(line.trim_end())).collect()
}

fn write_define(out: &mut String, name: &str, lines: Vec<String>) {
    if let [line] = lines.as_slice()
        && "#define  ".len() + name.len() + line.len() <= COLUMNS_MAX
    {
        append(out, format_args!("#define {name} {line}\n"));
        return;
    }
    append(
        out,
        format_args!("#define {name} \\\n    {}\n", lines.join(" \\\n    ")),
    );
}

fn write_comment(out: &mut String, indent: &str, lines: &[&str]) {
    let text = replace_links(&lines.join("\n"), |name| format!("`{name}`"));
    let text = text.trim();
    if text.is_empty() {
        return;
    }
    if !text.contains('\n') && indent.len() + text.len() + "/*  */".len() <= COLUMNS_MAX {
        append(out, format_args!("{indent}/* {text} */\n"));
        return;
    }
    append(out, format_args!("{indent}/*\n"));
    for line in text.lines() {
        append(
            out,
            format_args!("{}\n", format!("{indent} * {line}").trim_end()),
        );
    }
    append(out, format_args!("{indent} */\n"));
}
