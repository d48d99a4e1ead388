//! Declares messages in Python, like `message!` in Rust.

use std::panic::{AssertUnwindSafe, catch_unwind};

use horus_core::message::{
    ARRAY_NESTING_MAX, Field, FieldKind, FramedKind, Primitive, SCHEMA_TEXT_BYTES_MAX, Schema, Tail,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::message::class::make_class;
use crate::message::field;
use crate::message::kind::{self, MessageKind};

/// Makes the class of a message. `names` are its module, its name and its docstring.
///
/// A field consists of its name, its type (`"f64"`, `"text:16"`, or a message class) and, if it is
/// an array, its number of elements. A tail consists of its name, its type and the name of the
/// field that counts it.
#[pyfunction]
pub(crate) fn _declare<'py>(
    py: Python<'py>,
    names: (String, String, String),
    fields: Vec<(String, Bound<'py, PyAny>, Option<usize>)>,
    tail: Option<(String, String, String)>,
    defaults: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let (module, name, doc) = names;
    let (schema, default) = declared_schema(&name, &fields)?;
    let kind = match tail {
        None => MessageKind::new(Box::leak(Box::new(schema)), default.into())?,
        Some((tail, number, count)) => {
            let framed = make_kind_with_tail(schema, (&tail, &number), &count)?;
            MessageKind::framed(framed, default.into())
        }
    };
    let kind = Box::leak(Box::new(kind));
    for (field, (_, _, count)) in kind.fields.iter_mut().zip(&fields) {
        field.is_array = count.is_some();
    }
    let mut default = kind.default.to_vec();
    for (field, value) in defaults {
        field::set_default_value(kind, &mut default, field.cast::<PyString>()?, &value)?;
    }
    // WHY it may change here: no class of the kind exists yet.
    kind.default = default.into();
    make_class(py, kind, &module, &doc)
}

/// Makes the table of the fields of a message, and the bytes of a message in which all fields have
/// default values. The default values that the program declared for single fields are not in these
/// bytes yet.
fn declared_schema(
    name: &str,
    fields: &[(String, Bound<'_, PyAny>, Option<usize>)],
) -> PyResult<(Schema, Vec<u8>)> {
    let mut table = Vec::new();
    let mut default = Vec::new();
    let mut align = 1;
    for (field, element, count) in fields {
        let (kind, element_default) = element_kind(name, field, element)?;
        let wanted = alignment(kind);
        if !default.len().is_multiple_of(wanted) {
            let at = default.len();
            let text = format!(
                "{name}.{field} would begin at byte {at}, which is no multiple of {wanted}: put \
                 larger fields first, or fields named _reserved of u8 before it"
            );
            return Err(PyTypeError::new_err(text));
        }
        let count = count.unwrap_or(1);
        if count == 0 {
            return Err(PyTypeError::new_err(format!(
                "{name}.{field} is an array of nothing"
            )));
        }
        align = align.max(wanted);
        let offset = default.len();
        table.push(Field {
            name: leak_text(field),
            kind,
            offset,
            count,
            doc: "",
        });
        let bytes = kind
            .size()
            .checked_mul(count)
            .and_then(|bytes| bytes.checked_add(offset));
        if bytes.is_none_or(|bytes| bytes > MESSAGE_BYTES_MAX) {
            return Err(message_too_long_error(name, field));
        }
        (0..count).for_each(|_| default.extend(&element_default));
    }
    if !default.len().is_multiple_of(align) {
        let text = format!(
            "{name} has {} bytes, which is no multiple of {align}: add fields named _reserved of \
             u8 at the end",
            default.len()
        );
        return Err(PyTypeError::new_err(text));
    }
    if table.is_empty() {
        return Err(PyTypeError::new_err(format!("{name} has no fields")));
    }
    let name = leak_text(name);
    let bytes = default.len();
    let table = Vec::leak(table);
    check_schema_limits(name, bytes, table)?;
    let schema = catch_unwind(AssertUnwindSafe(|| {
        Schema::checked(name, bytes, align, table)
    }));
    let schema = schema.map_err(|_| {
        PyTypeError::new_err(format!(
            "{name} has a name that is not ASCII, or too many fields"
        ))
    })?;
    Ok((schema, default))
}

/// Returns an error for texts and nestings that [`Schema::checked`] would refuse with a panic. WHY
/// not that panic: Rust prints its text.
fn check_schema_limits(name: &'static str, size: usize, fields: &'static [Field]) -> PyResult<()> {
    let refuse = |text: String| Err(PyTypeError::new_err(text));
    if !name.is_ascii() {
        return refuse(format!("{name}: the name is not ASCII, as C needs it"));
    }
    if let Some(field) = fields.iter().find(|field| !field.name.is_ascii()) {
        let field = field.name;
        return refuse(format!(
            "{name}.{field}: the name is not ASCII, as C needs it"
        ));
    }
    let schema = Schema {
        name,
        size,
        align: 1,
        fields,
        tail: None,
        doc: "",
        constants: &[],
    };
    if schema.array_nesting() > ARRAY_NESTING_MAX {
        return refuse(format!(
            "{name}: more than {ARRAY_NESTING_MAX} arrays of messages and texts are nested in it: \
             flatten them"
        ));
    }
    let bytes = schema.text_bytes();
    if bytes > SCHEMA_TEXT_BYTES_MAX {
        return refuse(format!(
            "{name}: its schema text has {bytes} bytes, and at most {SCHEMA_TEXT_BYTES_MAX} are \
             possible: it has too many fields, or too long names"
        ));
    }
    Ok(())
}

/// Makes the type of a message that consists of the fields of `schema` and of a tail. The tail is a
/// list of numbers, whose length is in the field `count`.
fn make_kind_with_tail(
    schema: Schema,
    (tail, number): (&str, &str),
    count: &str,
) -> PyResult<&'static FramedKind> {
    let message = schema.name;
    let primitive = Primitive::ALL.iter().find(|other| other.name() == number);
    let wanted = || PyTypeError::new_err(format!("{message}.{tail}: {number} is not a number"));
    let primitive = *primitive.ok_or_else(wanted)?;
    let size = primitive.size();
    if !schema.size.is_multiple_of(size) {
        let text = format!(
            "{message}.{tail} would begin at byte {}, which is no multiple of {size}: add fields \
             named _reserved of u8 before it",
            schema.size
        );
        return Err(PyTypeError::new_err(text));
    }
    let name = leak_text(tail);
    let tail = Tail { name, primitive };
    let framed = catch_unwind(AssertUnwindSafe(|| schema.framed(message, tail)));
    let framed = framed.map_err(|_| {
        PyTypeError::new_err(format!(
            "{message}.{name} has a name that is not ASCII, or that of a field before it"
        ))
    })?;
    let kind = FramedKind::counted(Box::leak(Box::new(framed)), count);
    Ok(Box::leak(Box::new(kind.map_err(PyTypeError::new_err)?)))
}

/// Maximum size in bytes of a message that a Python program declares. A larger one is an error.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

fn leak_text(text: &str) -> &'static str {
    // WHY leaked: the table of a class lives as long as the class, which is forever.
    Box::leak(text.to_owned().into_boxed_str())
}

fn element_kind(
    message: &str,
    field: &str,
    element: &Bound<'_, PyAny>,
) -> PyResult<(FieldKind, Vec<u8>)> {
    if let Some(inner) = kind::kind_of_argument(element).filter(|kind| kind.framed.is_none()) {
        return Ok((FieldKind::Message(inner.schema), inner.default.to_vec()));
    }
    let wanted = || PyTypeError::new_err(format!("{message}.{field}: {element} cannot be a field"));
    let name: String = element.extract().map_err(|_| wanted())?;
    if let Some(bytes) = name.strip_prefix("text:") {
        let bytes: usize = bytes.parse().map_err(|_| wanted())?;
        if bytes == 0 {
            return Err(PyValueError::new_err(format!(
                "{message}.{field}: a text of 0 bytes"
            )));
        }
        if bytes > MESSAGE_BYTES_MAX {
            return Err(message_too_long_error(message, field));
        }
        return Ok((FieldKind::Text(bytes), vec![0; bytes]));
    }
    let numbers = Primitive::ALL
        .iter()
        .filter(|number| **number != Primitive::Char);
    let number = numbers
        .copied()
        .find(|number| number.name() == name)
        .ok_or_else(wanted)?;
    Ok((FieldKind::Primitive(number), vec![0; number.size()]))
}

/// Returns the error for a field that is longer than the longest message, alone or with the fields
/// before it.
fn message_too_long_error(message: &str, field: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{message}.{field} makes the message longer than {MESSAGE_BYTES_MAX} bytes"
    ))
}

const fn alignment(kind: FieldKind) -> usize {
    match kind {
        FieldKind::Primitive(number) => number.size(),
        FieldKind::Text(_) => 1,
        FieldKind::Message(schema) => schema.align,
    }
}
