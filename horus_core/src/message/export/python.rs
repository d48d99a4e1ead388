//! Generates Python type stubs of the message classes that `horus_py` makes from the same table.

use super::super::{Constant, Field, FieldKind, Primitive, Schema};
use super::{lines, push, relinked};

const HEAD: &str = "\
# @generated from the table of fields in horus_core/src/message/.
\"\"\"The standard messages.\"\"\"

import builtins
from collections.abc import Iterable
from typing import ClassVar, Self, final

import numpy as np
import numpy.typing as npt

from ._horus import Framed, Message

";

/// Generates a stub file with a class for each of these messages.
#[must_use]
pub fn python(messages: &[&Schema]) -> String {
    let mut out = String::from(HEAD);
    out.push_str("__all__ = [\n");
    let mut names: Vec<_> = messages.iter().map(|schema| schema.name).collect();
    names.sort_unstable();
    names.iter().for_each(|name| push(&mut out, format_args!("    \"{name}\",\n")));
    out.push_str("]\n");
    for schema in messages {
        class(&mut out, schema);
    }
    out
}

fn class(out: &mut String, schema: &Schema) {
    let base = if schema.tail.is_some() { "Framed" } else { "Message" };
    push(out, format_args!("\n@final\nclass {}({base}):\n", schema.name));
    doc(out, schema.doc);
    for Constant { name, .. } in schema.constants {
        push(out, format_args!("    {name}: ClassVar[int]\n"));
    }
    out.push_str("    def __new__(\n        cls,\n");
    if schema.tail.is_some() {
        out.push_str("        data: npt.ArrayLike | None = None,\n        /,\n");
    }
    out.push_str("        *,\n");
    for field in schema.fields {
        push(out, format_args!("        {}: {} = ...,\n", field.name, given(field)));
    }
    out.push_str("    ) -> Self: ...\n");
    for field in schema.fields {
        property(out, field, schema.tail.is_none());
    }
}

fn property(out: &mut String, field: &Field, has_dtype: bool) {
    let (name, has, given) = (field.name, has(field), given(field));
    if has == given {
        // WHY: a field named `dtype` hides the attribute `dtype` that messages of a fixed length
        // have.
        let hides = if has_dtype && name == "dtype" { "  # type: ignore[assignment]" } else { "" };
        push(out, format_args!("    {name}: {has}{hides}\n"));
        doc(out, field.doc);
        return;
    }
    push(out, format_args!("    @property\n    def {name}(self) -> {has}:\n"));
    out.push_str("    ");
    doc(out, field.doc);
    push(out, format_args!("    @{name}.setter\n"));
    push(out, format_args!("    def {name}(self, value: {given}) -> None: ...\n"));
}

/// Returns the type of the attribute when it is read.
fn has(field: &Field) -> String {
    match (field.kind, field.count) {
        (FieldKind::Primitive(primitive), 2..) => format!("npt.NDArray[np.{}]", numpy(primitive)),
        (_, 1) => element(field).to_owned(),
        _ => format!("tuple[{}, ...]", element(field)),
    }
}

/// Returns the type that the attribute can be set to.
fn given(field: &Field) -> String {
    match (field.kind, field.count) {
        (FieldKind::Text(_), 1) => "str | builtins.bytes".to_owned(),
        (FieldKind::Text(_), _) => "Iterable[str | builtins.bytes]".to_owned(),
        (FieldKind::Primitive(primitive), 2..) => {
            let element = element(field);
            format!("Iterable[{element}] | npt.NDArray[np.{}]", numpy(primitive))
        }
        (_, 1) => element(field).to_owned(),
        _ => format!("Iterable[{}]", element(field)),
    }
}

const fn element(field: &Field) -> &'static str {
    match field.kind {
        FieldKind::Primitive(Primitive::F32 | Primitive::F64) => "float",
        FieldKind::Primitive(_) => "int",
        FieldKind::Text(_) => "str",
        FieldKind::Message(schema) => schema.name,
    }
}

const fn numpy(primitive: Primitive) -> &'static str {
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

/// Writes a docstring with the original comment.
fn doc(out: &mut String, text: &str) {
    let text = relinked(text, |name| format!("`{name}`"));
    let lines = lines(text.trim());
    if lines == [""] || lines.is_empty() {
        return;
    }
    let text = lines.join("\n    ").replace("\n    \n", "\n\n");
    let end = if lines.len() > 1 { "\n    " } else { "" };
    push(out, format_args!("    \"\"\"{text}{end}\"\"\"\n"));
}
