//! Generates C structs with layout assertions, schema texts and defaults.

use std::collections::{BTreeMap, BTreeSet};

use super::super::import::{Declaration, default_bytes};
use super::super::{Constant, Field, FieldKind, Primitive, Schema, Tail, standard_default_of};
use super::number::{SpecialFloat, c_type, char_literal, integer_literal, number_literals};
use super::{
    append_formatted, array_suffix, doc_lines, replace_links, struct_name, with_declaration_guard,
};

const STANDARD_HEADER_COMMENT: &str = "/*
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
";

/// `{lower}` and `{UPPER}` are the prefix of the names, in lower case and in upper case.
const IMPORTED_HEADER_COMMENT: &str = "/*
 * @generated from .msg files. C11, usable from C++. Each message is declared once in a file that
 * includes several such headers. For the message Leg there are:
 *
 * {lower}_leg_t       the struct, with the same layout in every language
 * {UPPER}_LEG_SCHEMA  the canonical schema text, for HORUS_TOPIC_OPTIONS_FOR of horus.h
 * {UPPER}_LEG_INIT    an initialiser with the default values of the .msg file
 * {UPPER}_LEG_*       its constants, if it has any
 *
 * Of a message with data of any length, the struct is the header that the data follow:
 * {lower}_leg_header_t and {UPPER}_LEG_HEADER_INIT, but {UPPER}_LEG_SCHEMA. What is received was
 * written by another program: compare the header with the length of the message before use.
 *
 * A constant with the name of one of these macros gets an underscore: INIT is {UPPER}_LEG_INIT_.
 * So does one of two constants with the same name: if LegState has a RUN, STATE_RUN of Leg is
 * {UPPER}_LEG_STATE_RUN_.
 */
";

const MACRO_DEFINITIONS: &str = r##"
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

const MACRO_UNDEFINITIONS: &str = "
#undef HORUS_ASSERT_OFFSET
#undef HORUS_ASSERT_LAYOUT
#undef HORUS_ALIGNOF
#undef HORUS_ASSERT
";

const COLUMNS_MAX: usize = 100;

/// The prefix of names and the default values of a set of messages.
struct CMessageWriter<'a> {
    /// The prefix of all names of the messages in lower case, such as `horus`.
    prefix: &'a str,
    /// Returns the default bytes of a message; `None` if all are 0.
    default: &'a dyn Fn(&Schema) -> Option<Box<[u8]>>,
    /// All messages of the header.
    schemas: &'a [&'a Schema],
    /// The names of all constants of the header, by the names of the message and of the constant.
    constants: BTreeMap<(&'a str, &'a str), String>,
}

/// Generates a C11 header with a struct for each message. For a message with trailing data, the
/// struct contains only the header.
///
/// Static assertions check the size, the alignment and all offsets. Schema texts and defaults are
/// macros, which cost nothing in a program that does not use them.
#[must_use]
pub fn c(messages: &[&Schema]) -> String {
    let default_of = |schema: &Schema| standard_default_of(schema.name, schema.hash());
    let set = CMessageWriter::new("horus", &default_of, messages);
    let mut out = [STANDARD_HEADER_COMMENT, MACRO_DEFINITIONS].concat();
    for schema in messages {
        set.write_message(&mut out, schema);
    }
    out + MACRO_UNDEFINITIONS + "\n#endif /* HORUS_MESSAGES_H */\n"
}

/// Generates a C11 header with a struct for each imported message, as [`c`] does for the standard
/// ones. The names of the messages begin with `prefix`, in lower case, and an underscore.
pub(in crate::message) fn c_with_prefix(messages: &[Declaration], prefix: &str) -> String {
    let defaults = default_bytes(messages);
    let default_of = |schema: &Schema| {
        let is_it = |message: &Declaration| std::ptr::eq(message.schema, schema);
        let index = messages.iter().position(is_it)?;
        Some(defaults[index].clone())
    };
    let schemas: Vec<&Schema> = messages.iter().map(|message| message.schema).collect();
    let set = CMessageWriter::new(prefix, &default_of, &schemas);
    let comment = IMPORTED_HEADER_COMMENT.replace("{lower}", prefix);
    let mut out = comment.replace("{UPPER}", &prefix.to_uppercase()) + MACRO_DEFINITIONS;
    for message in messages {
        let mut text = String::new();
        set.write_message(&mut text, message.schema);
        out.push_str(&with_declaration_guard(prefix, &text));
    }
    out + MACRO_UNDEFINITIONS
}

impl<'a> CMessageWriter<'a> {
    fn new(
        prefix: &'a str,
        default: &'a dyn Fn(&Schema) -> Option<Box<[u8]>>,
        schemas: &'a [&'a Schema],
    ) -> Self {
        let mut set = Self {
            prefix,
            default,
            schemas,
            constants: BTreeMap::new(),
        };
        set.choose_constant_names();
        set
    }

    /// Gives all constants their names. A constant gets underscores at its end if a macro of the
    /// header, or a constant of a message with a longer name, has the name without them.
    ///
    /// WHY: a macro would replace the constant, and `uint8_t state = MESSAGES_STATE_INIT;` compiles
    /// also if that is `{0}`. Two equal enumerators do not compile.
    fn choose_constant_names(&mut self) {
        let macros = self.schemas.iter().flat_map(|schema| {
            let upper = self.macro_name_prefix(schema);
            let init = format!("{}_INIT", self.type_name(schema).to_uppercase());
            [format!("{upper}_SCHEMA"), init]
        });
        let mut taken: BTreeSet<String> = macros.collect();
        let mut schemas = self.schemas.to_vec();
        // WHY: the order of the messages differs between headers, and the names must not.
        schemas.sort_by_key(|schema| std::cmp::Reverse(self.macro_name_prefix(schema).len()));
        let constants = schemas.iter().flat_map(|schema| {
            let upper = self.macro_name_prefix(schema);
            let constants = schema.constants.iter();
            constants.map(move |constant| {
                let plain = format!("{upper}_{}", constant.name);
                ((schema.name, constant.name), plain)
            })
        });
        let constants: Vec<_> = constants.collect();
        let plain_names: BTreeSet<_> = constants.iter().map(|(_, plain)| plain.clone()).collect();
        for (constant, plain) in constants {
            let mut name = plain.clone();
            while taken.contains(&name) || name != plain && plain_names.contains(&name) {
                name.push('_');
            }
            taken.insert(name.clone());
            self.constants.insert(constant, name);
        }
    }

    fn write_message(&self, out: &mut String, schema: &Schema) {
        let name = self.type_name(schema);
        let upper = self.macro_name_prefix(schema);
        let mut doc = schema.doc_text().trim_end().to_owned();
        if let Some(Tail { name, primitive }) = schema.tail {
            let primitive = c_type(primitive);
            append_formatted(
                &mut doc,
                format_args!("\n\nFollowed by `{primitive} {name}[]`, to the message's end."),
            );
        }
        out.push('\n');
        write_comment(out, "", &doc.lines().collect::<Vec<_>>());
        append_formatted(out, format_args!("typedef struct {name} {{\n"));
        for field in schema.fields {
            write_comment(out, "    ", &doc_lines(field.doc));
            append_formatted(
                out,
                format_args!(
                    "    {} {}{};\n",
                    self.field_type(field),
                    field.name,
                    array_suffix(field)
                ),
            );
        }
        append_formatted(out, format_args!("}} {name}_t;\n"));
        let Schema { size, align, .. } = schema;
        append_formatted(
            out,
            format_args!("HORUS_ASSERT_LAYOUT({name}_t, {size}, {align});\n"),
        );
        for Field {
            name: field,
            offset,
            ..
        } in schema.fields
        {
            append_formatted(
                out,
                format_args!("HORUS_ASSERT_OFFSET({name}_t, {field}, {offset});\n"),
            );
        }
        self.write_constants(out, schema);
        let text = schema.text().replace('\n', "\\n\n");
        let text = text.lines().map(str::to_owned).collect();
        let line = |line: &str| format!("\"{line}\"");
        write_macro_definition(
            out,
            &format!("{upper}_SCHEMA"),
            join_in_wrapped_lines(text, "", line),
        );
        let default = (self.default)(schema).unwrap_or_default();
        write_macro_definition(
            out,
            &format!("{}_INIT", name.to_uppercase()),
            self.message_initialiser(schema, &default),
        );
    }

    /// Returns the name of a message's struct in C: `horus_cmd_vel` for `CmdVel`, and
    /// `horus_image_header` for `Image`.
    fn type_name(&self, schema: &Schema) -> String {
        format!("{}_{}", self.prefix, snake_case(&struct_name(schema)))
    }

    /// Returns the beginning of the names of a message's macros and constants: `HORUS_CMD_VEL` for
    /// `CmdVel`, and `HORUS_IMAGE` for `Image`.
    fn macro_name_prefix(&self, schema: &Schema) -> String {
        format!("{}_{}", self.prefix, snake_case(schema.name)).to_uppercase()
    }

    /// Writes constants of the type `int` as an enumeration, and greater ones, which C11 does not
    /// allow in one, as macros.
    fn write_constants(&self, out: &mut String, schema: &Schema) {
        let constants = schema.constants;
        let is_int = |constant: &&Constant| i32::try_from(constant.value).is_ok();
        let mut ints = constants.iter().filter(is_int).peekable();
        if ints.peek().is_some() {
            out.push_str("enum {\n");
        }
        while let Some(constant) = ints.next() {
            write_comment(out, "    ", &doc_lines(constant.doc));
            let end = if ints.peek().is_some() { "," } else { "\n};" };
            let name = self.constant_name(schema, constant);
            append_formatted(out, format_args!("    {name} = {}{end}\n", constant.value));
        }
        for constant in constants.iter().filter(|constant| !is_int(constant)) {
            write_comment(out, "", &doc_lines(constant.doc));
            let name = self.constant_name(schema, constant);
            let kind = c_type(constant.kind);
            let value = integer_literal(constant.value);
            append_formatted(out, format_args!("#define {name} (({kind}){value})\n"));
        }
    }

    fn constant_name(&self, schema: &Schema, constant: &Constant) -> &str {
        &self.constants[&(schema.name, constant.name)]
    }

    fn field_type(&self, field: &Field) -> String {
        match field.kind {
            FieldKind::Message(schema) => self.type_name(schema) + "_t",
            FieldKind::Text(_) => "char".to_owned(),
            FieldKind::Primitive(primitive) => c_type(primitive).to_owned(),
        }
    }

    /// Returns the lines of a C initialiser that sets a struct to the message in `bytes`.
    fn message_initialiser(&self, schema: &Schema, bytes: &[u8]) -> Vec<String> {
        let given = schema.fields.iter().filter_map(|field| {
            let value = match field.kind {
                FieldKind::Message(inner) => self.nested_initialisers(field, inner, bytes),
                FieldKind::Primitive(_) => number_literals(field, bytes, special_float_literal),
                FieldKind::Text(size) => text_literals(field, size, bytes),
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
        let mut lines = join_in_wrapped_lines(given, ", ", str::to_owned);
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

    /// Returns the C initialisers of the messages that are nested in a field; `None` if all bytes
    /// of the field are 0.
    fn nested_initialisers(
        &self,
        field: &Field,
        inner: &Schema,
        bytes: &[u8],
    ) -> Option<Vec<String>> {
        let bytes = bytes.get(field.offset..)?.get(..field.count * inner.size)?;
        if bytes.iter().all(|byte| *byte == 0) {
            return None;
        }
        let default = (self.default)(inner);
        let one = |bytes: &[u8]| match default.as_deref() {
            Some(default) if default == bytes => {
                format!("{}_INIT", self.type_name(inner).to_uppercase())
            }
            _ => self.message_initialiser(inner, bytes).join(""),
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

/// Returns the initialisers of the texts of a field, up to the last one that is not empty; `None`
/// if all are empty.
fn text_literals(field: &Field, size: usize, message: &[u8]) -> Option<Vec<String>> {
    let bytes = message.get(field.offset..)?.get(..field.count * size)?;
    let last = bytes.iter().rposition(|byte| *byte != 0)?;
    let literal = |text: &[u8]| {
        let used = text.iter().rposition(|byte| *byte != 0);
        let letters = text[..used.map_or(1, |last| last + 1)].iter();
        let letters: Vec<_> = letters.map(|byte| char_literal(*byte)).collect();
        // WHY not a string: in C++ it needs room for a NUL.
        format!("{{{}}}", letters.join(", "))
    };
    Some(
        bytes
            .chunks(size)
            .take(last / size + 1)
            .map(literal)
            .collect(),
    )
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

/// Joins the parts with `separator`, with as many parts on each line as fit. `format_line`
/// converts each line to code.
fn join_in_wrapped_lines(
    parts: Vec<String>,
    separator: &str,
    format_line: impl Fn(&str) -> String,
) -> Vec<String> {
    let mut lines = vec![String::new()];
    let count = parts.len();
    for (index, part) in parts.into_iter().enumerate() {
        let part = if index + 1 < count {
            part + separator
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
    lines
        .iter()
        .map(|line| format_line(line.trim_end()))
        .collect()
}

fn write_macro_definition(out: &mut String, name: &str, lines: Vec<String>) {
    if let [line] = lines.as_slice()
        && "#define  ".len() + name.len() + line.len() <= COLUMNS_MAX
    {
        append_formatted(out, format_args!("#define {name} {line}\n"));
        return;
    }
    append_formatted(
        out,
        format_args!("#define {name} \\\n    {}\n", lines.join(" \\\n    ")),
    );
}

fn write_comment(out: &mut String, indent: &str, lines: &[&str]) {
    let text = replace_links(&lines.join("\n"), |name| format!("`{name}`"));
    // WHY: the comment would end there.
    let text = text.trim().replace("*/", "* /");
    if text.is_empty() {
        return;
    }
    if !text.contains('\n') && indent.len() + text.len() + "/*  */".len() <= COLUMNS_MAX {
        append_formatted(out, format_args!("{indent}/* {text} */\n"));
        return;
    }
    append_formatted(out, format_args!("{indent}/*\n"));
    for line in text.lines() {
        append_formatted(
            out,
            format_args!("{}\n", format!("{indent} * {line}").trim_end()),
        );
    }
    append_formatted(out, format_args!("{indent} */\n"));
}
