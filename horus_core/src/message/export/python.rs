//! Generates Python type stubs of the message classes that `horus_py` makes from the same tables of
//! fields.

use super::super::{Constant, Field, FieldKind, Primitive, Schema};
use super::{append_formatted, doc_lines, replace_links};

const FILE_HEADER: &str = "\
# @generated from the table of fields in horus_core/src/message/.
\"\"\"The standard messages.\"\"\"

import builtins
from collections.abc import Iterable
from typing import Any, ClassVar, Self, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

from ._horus import Framed, Message

";

/// Generates a Python stub file (`.pyi`) with a class for each message.
#[must_use]
pub fn python(messages: &[&Schema]) -> String {
    let mut out = String::from(FILE_HEADER);
    out.push_str("__all__ = [\n");
    let mut names: Vec<_> = messages.iter().map(|schema| schema.name).collect();
    names.sort_unstable();
    names
        .iter()
        .for_each(|name| append_formatted(&mut out, format_args!("    \"{name}\",\n")));
    out.push_str("]\n");
    for schema in messages {
        write_class(&mut out, schema);
    }
    out
}

fn write_class(out: &mut String, schema: &Schema) {
    let base = if schema.tail.is_some() {
        "Framed"
    } else {
        "Message"
    };
    append_formatted(
        out,
        format_args!("\n@final\nclass {}({base}):\n", schema.name),
    );
    write_docstring(out, schema.doc);
    for Constant { name, .. } in schema.constants {
        append_formatted(out, format_args!("    {name}: ClassVar[int]\n"));
    }
    out.push_str("    def __new__(\n        cls,\n");
    if schema.tail.is_some() {
        out.push_str("        data: Buffer | npt.NDArray[Any] | None = None,\n        /,\n");
    }
    out.push_str("        *,\n");
    for field in schema.fields {
        append_formatted(
            out,
            format_args!("        {}: {} = ...,\n", field.name, setter_type(field)),
        );
    }
    out.push_str("    ) -> Self: ...\n");
    for field in schema.fields {
        write_property(out, field, schema.tail.is_none());
    }
}

fn write_property(out: &mut String, field: &Field, has_dtype: bool) {
    let name = field.name;
    let has = getter_type(field);
    let given = setter_type(field);
    if has == given {
        // WHY: a field named `dtype` hides the attribute `dtype` that messages of a fixed length
        // have.
        let hides = if has_dtype && name == "dtype" {
            "  # type: ignore[assignment]"
        } else {
            ""
        };
        append_formatted(out, format_args!("    {name}: {has}{hides}\n"));
        write_docstring(out, field.doc);
        return;
    }
    append_formatted(
        out,
        format_args!("    @property\n    def {name}(self) -> {has}:\n"),
    );
    out.push_str("    ");
    write_docstring(out, field.doc);
    append_formatted(out, format_args!("    @{name}.setter\n"));
    append_formatted(
        out,
        format_args!("    def {name}(self, value: {given}) -> None: ...\n"),
    );
}

/// Returns the Python type of the value that a program reads from a field.
fn getter_type(field: &Field) -> String {
    match (field.kind, field.count) {
        (FieldKind::Primitive(primitive), 2..) => {
            format!("npt.NDArray[np.{}]", numpy_type(primitive))
        }
        (_, 1) => python_type(field).to_owned(),
        _ => format!("tuple[{}, ...]", python_type(field)),
    }
}

/// Returns the Python type of the values to which a program can set a field.
fn setter_type(field: &Field) -> String {
    match (field.kind, field.count) {
        (FieldKind::Text(_), 1) => "str | builtins.bytes".to_owned(),
        (FieldKind::Text(_), _) => "Iterable[str | builtins.bytes]".to_owned(),
        (FieldKind::Primitive(primitive), 2..) => {
            let element = python_type(field);
            format!(
                "Iterable[{element}] | npt.NDArray[np.{}]",
                numpy_type(primitive)
            )
        }
        (_, 1) => python_type(field).to_owned(),
        _ => format!("Iterable[{}]", python_type(field)),
    }
}

const fn python_type(field: &Field) -> &'static str {
    match field.kind {
        FieldKind::Primitive(Primitive::F32 | Primitive::F64) => "float",
        FieldKind::Primitive(_) => "int",
        FieldKind::Text(_) => "str",
        FieldKind::Message(schema) => schema.name,
    }
}

const fn numpy_type(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::U8 | Primitive::Char => "uint8",
        Primitive::U16 => "uint16",
        Primitive::U32 => "uint32",
        Primitive::U64 => "uint64",
        Primitive::I8 => "int8",
        Primitive::I16 => "int16",
        Primitive::I32 => "int32",
        Primitive::I64 => "int64",
        Primitive::F32 => "float32",
        Primitive::F64 => "float64",
    }
}

/// Writes a doc comment as a docstring of the generated Python code.
fn write_docstring(out: &mut String, text: &str) {
    let text = replace_links(text, |name| format!("`{name}`"));
    let lines = doc_lines(text.trim());
    if lines == [""] || lines.is_empty() {
        return;
    }
    let text = lines.join("\n    ").replace("\n    \n", "\n\n");
    let end = if lines.len() > 1 { "\n    " } else { "" };
    append_formatted(out, format_args!("    \"\"\"{text}{end}\"\"\"\n"));
}
