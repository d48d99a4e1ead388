//! Generates Rust declarations of imported messages.

use super::super::import::{Declaration, Literal};
use super::super::{Constant, Field, FieldKind, Primitive, Schema, Tail};
use super::{append_formatted, struct_name};

const FILE_HEADER: &str = "\
// @generated from .msg files. Include it in a module of its own:
//
// mod messages {
//     include!(\"messages.rs\");
// }
";

/// The initial capacity of a slot, in generated Rust code, is the smallest multiple of this number
/// of bytes that has room for the header. Slots grow when a publisher sends a longer message.
const SLOT_BYTES_MULTIPLE: usize = 64 * 1024;

/// Keywords of Rust that need the prefix `r#` as names of fields. Words that C++ or Python also
/// reserve are not in this list, because the import appends an underscore to them.
const RUST_KEYWORDS: &[&str] = &[
    "abstract", "async", "await", "become", "box", "dyn", "final", "fn", "gen", "impl", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "trait",
    "type", "unsafe", "unsized", "use", "where",
];

/// Generates a `message!` and a `Default` implementation for each message. For a message with
/// trailing data, also generates the `Header` implementation and the type alias.
pub(in crate::message) fn rust(messages: &[Declaration]) -> String {
    let mut out = String::from(FILE_HEADER);
    for message in messages {
        write_struct(&mut out, message);
        write_default(&mut out, message);
        if let Some(tail) = message.schema.tail {
            write_header_impl(&mut out, message.schema, tail);
        }
    }
    out
}

fn write_struct(out: &mut String, message: &Declaration) {
    let schema = message.schema;
    out.push_str("\n::horus_core::message! {\n");
    write_doc(out, "    ", schema.doc);
    // WHY: the names and the comments are those of the file.
    out.push_str("    #[allow(non_snake_case, non_camel_case_types, clippy::all)]\n");
    out.push_str("    #[allow(rustdoc::all)]\n");
    write_fields(out, "    ", schema, |index, field| {
        let values = message.values_of(index);
        (!values.is_empty()).then(|| default_expression(field, values))
    });
    for Constant {
        name,
        kind,
        value,
        doc,
    } in schema.constants
    {
        out.push('\n');
        write_doc(out, "    ", doc);
        out.push_str("    #[allow(non_upper_case_globals)]\n");
        let name = escape_keyword(name);
        append_formatted(
            out,
            format_args!("    pub const {name}: {} = {value};\n", kind.name()),
        );
    }
    out.push_str("}\n");
}

/// Writes the struct of a message without its doc comment. Each line begins with `indent`.
/// `default` returns the default value of the field with the given index, if `message!` has to know
/// it.
fn write_fields(
    out: &mut String,
    indent: &str,
    schema: &Schema,
    default: impl Fn(usize, &Field) -> Option<String>,
) {
    append_formatted(
        out,
        format_args!("{indent}pub struct {} {{\n", struct_name(schema)),
    );
    for (index, field) in schema.fields.iter().enumerate() {
        write_doc(out, &format!("{indent}    "), field.doc);
        let value = default(index, field).map(|value| format!(" = {value}"));
        append_formatted(
            out,
            format_args!(
                "{indent}    pub {}: {}{},\n",
                rust_field_name(field),
                rust_type(field),
                value.unwrap_or_default()
            ),
        );
    }
    append_formatted(out, format_args!("{indent}}}\n"));
}

/// Generates the structs of standard messages, with their doc comments and constants, for people
/// who want to read them. Programs use the messages that [`message`](mod@crate::message) declares.
#[must_use]
pub fn rust_structs(messages: &[&Schema]) -> String {
    let mut out = String::from(
        "// The library declares these messages: use them, and do not declare them again.\n",
    );
    for schema in messages {
        let Schema { name, .. } = schema;
        append_formatted(
            &mut out,
            format_args!("\n// use horus_core::message::{name};\n\n"),
        );
        write_doc(&mut out, "", schema.doc);
        write_fields(&mut out, "", schema, |_, _| None);
        if schema.constants.is_empty() {
            continue;
        }
        append_formatted(
            &mut out,
            format_args!("\nimpl {} {{\n", struct_name(schema)),
        );
        for constant in schema.constants {
            let Constant { name, value, .. } = constant;
            write_doc(&mut out, "    ", constant.doc);
            append_formatted(
                &mut out,
                format_args!(
                    "    pub const {name}: {} = {value};\n",
                    constant.kind.name()
                ),
            );
        }
        out.push_str("}\n");
    }
    out
}

/// Writes the implementation of `Default`. The default of a field is the one in its `.msg` file, if
/// there is one. Otherwise it is the default of the nested message, or 0.
fn write_default(out: &mut String, message: &Declaration) {
    let schema = message.schema;
    let name = struct_name(schema);
    append_formatted(
        out,
        format_args!(
            "\n#[allow(clippy::all)]\nimpl ::core::default::Default for {name} {{\n    \
             fn default() -> Self {{\n        Self {{\n"
        ),
    );
    for (index, field) in schema.fields.iter().enumerate() {
        let values = message.values_of(index);
        let value = default_expression(field, values);
        append_formatted(
            out,
            format_args!("            {}: {value},\n", rust_field_name(field)),
        );
    }
    out.push_str("        }\n    }\n}\n");
}

fn default_expression(field: &Field, values: &[Literal]) -> String {
    let zero = match field.kind {
        FieldKind::Primitive(Primitive::F32 | Primitive::F64) => "0.0".to_owned(),
        FieldKind::Primitive(_) => "0".to_owned(),
        FieldKind::Text(_) => "::horus_core::message::Text::EMPTY".to_owned(),
        FieldKind::Message(inner) => {
            format!("<{} as ::core::default::Default>::default()", inner.name)
        }
    };
    let literal = |value: &Literal| match (value, field.kind) {
        (Literal::Integer(value), _) => value.to_string(),
        (Literal::Float(value), FieldKind::Primitive(Primitive::F32)) => {
            format!("{:?}", *value as f32)
        }
        (Literal::Float(value), _) => format!("{value:?}"),
        (Literal::Text(text), _) => format!("::horus_core::message::Text::literal({text:?})"),
    };
    match (field.count, values) {
        (1, []) => zero,
        (count, []) => format!("[{zero}; {count}]"),
        (1, [value, ..]) => literal(value),
        (count, values) if count == values.len() => {
            let all: Vec<_> = values.iter().map(literal).collect();
            format!("[{}]", all.join(", "))
        }
        (count, values) => {
            let mut out = format!("{{\n                let mut all = [{zero}; {count}];\n");
            for (index, value) in values.iter().enumerate() {
                let value = literal(value);
                append_formatted(
                    &mut out,
                    format_args!("                all[{index}] = {value};\n"),
                );
            }
            out + "                all\n            }"
        }
    }
}

fn write_header_impl(out: &mut String, schema: &Schema, tail: Tail) {
    let Schema { name, .. } = schema;
    let bytes_max = schema
        .size
        .next_multiple_of(SLOT_BYTES_MULTIPLE)
        .max(SLOT_BYTES_MULTIPLE);
    let Tail {
        name: data,
        primitive,
    } = tail;
    let size = primitive.size();
    append_formatted(
        out,
        format_args!(
            "
#[allow(clippy::all)]
impl ::horus_core::message::Header for {name}Header {{
    const NAME: &'static str = \"{name}\";
    const TRAILING_DATA: ::horus_core::message::Tail = ::horus_core::message::Tail {{
        name: \"{data}\",
        primitive: ::horus_core::message::Primitive::{primitive:?},
    }};
    const MAX_MESSAGE_BYTES: u64 = {bytes_max};

    fn data_bytes(&self) -> u64 {{
        self.{data}_count as u64 * {size}
    }}
}}

"
        ),
    );
    write_doc(out, "", schema.doc);
    append_formatted(
        out,
        format_args!(
            "#[allow(dead_code, unreachable_pub)]\npub type {name}<D = \
             ::horus_core::message::Buffer> =\n    \
             ::horus_core::message::Framed<{name}Header, D>;\n"
        ),
    );
}

fn rust_type(field: &Field) -> String {
    let element = match field.kind {
        FieldKind::Primitive(primitive) => primitive.name().to_owned(),
        FieldKind::Text(bytes) => format!("::horus_core::message::Text<{bytes}>"),
        FieldKind::Message(inner) => inner.name.to_owned(),
    };
    match field.count {
        1 => element,
        count => format!("[{element}; {count}]"),
    }
}

fn rust_field_name(field: &Field) -> String {
    escape_keyword(field.name)
}

fn escape_keyword(name: &str) -> String {
    if RUST_KEYWORDS.contains(&name) {
        format!("r#{name}")
    } else {
        name.to_owned()
    }
}

fn write_doc(out: &mut String, indent: &str, doc: &str) {
    for line in doc.lines() {
        append_formatted(out, format_args!("{indent}///{line}\n"));
    }
}
