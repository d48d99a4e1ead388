//! Generates Python declarations of imported messages.

use super::super::import::{Declaration, Literal};
use super::super::{Field, FieldKind, Schema, Tail};
use super::{append_formatted, doc_lines};

const FILE_HEADER: &str = "\
# @generated from .msg files.
\"\"\"Messages, declared equally in Rust and C++.\"\"\"

";

/// Generates a Python module that declares each message as a class with the decorator
/// `@horus.message`.
pub(in crate::message) fn python_classes(messages: &[Declaration]) -> String {
    let mut classes = String::new();
    for message in messages {
        write_class(&mut classes, message);
    }
    // WHY another name: a message or a field may be called `Literal`.
    let imports = if classes.contains("_Literal[") {
        "from typing import Literal as _Literal\n\nimport horus\n"
    } else {
        "import horus\n"
    };
    [FILE_HEADER, imports, &classes].concat()
}

fn write_class(out: &mut String, message: &Declaration) {
    let schema = message.schema;
    let base = match schema.tail {
        Some(_) => "Framed",
        None => "Message",
    };
    append_formatted(
        out,
        format_args!("\n\n@horus.message\nclass {}(horus.{base}):\n", schema.name),
    );
    write_docstring(out, schema);
    for constant in schema.constants {
        write_comment(out, constant.doc);
        append_formatted(
            out,
            format_args!("    {} = {}\n", constant.name, constant.value),
        );
    }
    for (index, field) in schema.fields.iter().enumerate() {
        write_comment(out, field.doc);
        append_formatted(
            out,
            format_args!("    {}: {}", field.name, type_annotation(field)),
        );
        match message.values_of(index) {
            [] => {}
            [value] if field.count == 1 => {
                append_formatted(out, format_args!(" = {}", python_literal(value)))
            }
            values => {
                let all: Vec<_> = values.iter().map(python_literal).collect();
                append_formatted(out, format_args!(" = [{}]", all.join(", ")));
                if values.len() < field.count {
                    append_formatted(out, format_args!(" + [0] * {}", field.count - values.len()));
                }
            }
        }
        // WHY: for type checkers, an array is no list and a text is no `str`.
        if !message.values_of(index).is_empty() && has_fixed_length_argument(field) {
            out.push_str("  # type: ignore[assignment]");
        }
        out.push('\n');
    }
    if let Some(Tail { name, primitive }) = schema.tail {
        append_formatted(
            out,
            format_args!(
                "    {name}: horus.Tail[horus.{}, _Literal[\"{name}_count\"]]\n",
                primitive.name()
            ),
        );
    }
}

const fn has_fixed_length_argument(field: &Field) -> bool {
    field.count > 1 || matches!(field.kind, FieldKind::Text(_))
}

/// Returns the type of a field. Its lengths are a `Literal`, because type checkers take a bare
/// number for a wrong type.
fn type_annotation(field: &Field) -> String {
    let element = match field.kind {
        FieldKind::Primitive(primitive) => format!("horus.{}", primitive.name()),
        FieldKind::Text(bytes) => format!("horus.Text[_Literal[{bytes}]]"),
        FieldKind::Message(inner) => inner.name.to_owned(),
    };
    match field.count {
        1 => element,
        count => format!("horus.Array[{element}, _Literal[{count}]]"),
    }
}

fn python_literal(value: &Literal) -> String {
    match value {
        Literal::Integer(value) => value.to_string(),
        Literal::Float(value) => format!("{value:?}"),
        Literal::Text(text) => format!(
            "\"{}\"",
            text.chars().map(escape_character).collect::<String>()
        ),
    }
}

fn escape_character(letter: char) -> String {
    match letter {
        '"' | '\\' => format!("\\{letter}"),
        ' '..='~' => letter.to_string(),
        _ => format!("\\U{:08x}", letter as u32),
    }
}

fn write_docstring(out: &mut String, schema: &Schema) {
    let text = schema.doc_text();
    let text = text.trim().replace('\\', "\\\\").replace('"', "\\\"");
    if text.is_empty() {
        append_formatted(out, format_args!("    \"\"\"{}.\"\"\"\n\n", schema.name));
        return;
    }
    let end = if text.contains('\n') { "\n    " } else { "" };
    let text = text.replace('\n', "\n    ").replace("\n    \n", "\n\n");
    append_formatted(out, format_args!("    \"\"\"{text}{end}\"\"\"\n\n"));
}

fn write_comment(out: &mut String, doc: &str) {
    for line in doc_lines(doc) {
        append_formatted(
            out,
            format_args!("{}\n", format!("    # {line}").trim_end()),
        );
    }
}
