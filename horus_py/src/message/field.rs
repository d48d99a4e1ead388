//! Converts fields of messages to and from Python objects, and to the text of a `repr`.

use std::fmt::{self, Write as _};

use horus_core::message::{FieldKind, Primitive};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyMemoryView, PySlice, PyString, PyTuple};

use crate::buffer::BufferView;
use crate::error;
use crate::message::counts;
use crate::message::framed::data;
use crate::message::instance::{self, ByteExporter};
use crate::message::kind::{Field, MessageKind};
use crate::numpy::{ArrayMemory, check_not_masked, is_bool_scalar, numpy};

/// Calls the given macro with the table of number types. Each row has the variant of [`Primitive`],
/// the Rust type, numpy's code for the type, and the letter for it in Python's `struct`.
macro_rules! numbers {
    ($callback:ident $($rest:tt)*) => {
        $callback! { $($rest)*
            U8 u8 "u1" "B", U16 u16 "u2" "H", U32 u32 "u4" "I", U64 u64 "u8" "Q",
            I8 i8 "i1" "b", I16 i16 "i2" "h", I32 i32 "i4" "i", I64 i64 "i8" "q",
            F32 f32 "f4" "f", F64 f64 "f8" "d"
        }
    };
}

/// Returns the value of a field as a Python object. Numbers and texts are copies; arrays of numbers
/// and nested messages are views.
pub(crate) fn python_value_of_field<'py>(
    object: &Bound<'py, PyAny>,
    field: &Field,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    match (field.kind, field.is_array) {
        (FieldKind::Primitive(primitive), false) => number_object(
            py,
            primitive,
            &instance::message_bytes(object)[field.offset..],
        ),
        (FieldKind::Primitive(primitive), true) => array_view(object, field, primitive),
        (_, false) => element_object(object, field, 0),
        (_, true) => {
            let elements = (0..field.count).map(|index| element_object(object, field, index));
            let elements: Vec<_> = elements.collect::<PyResult<_>>()?;
            Ok(PyTuple::new(py, elements)?.into_any())
        }
    }
}

/// Returns element `index` of a field as a Python object. The field must have texts or nested
/// messages.
fn element_object<'py>(
    object: &Bound<'py, PyAny>,
    field: &Field,
    index: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let offset = field.offset + index * field.kind.size();
    match (field.kind, field.inner) {
        (_, Some(inner)) => instance::nested_message(object, inner, offset),
        (kind, None) => {
            let bytes = &instance::message_bytes(object)[offset..offset + kind.size()];
            Ok(PyString::new(object.py(), text_of_bytes(bytes)).into_any())
        }
    }
}

/// A number type of message fields, to which Python numbers can be converted.
trait NumericField: Sized {
    /// Converts a Python number. Returns an `OverflowError` if it is out of range.
    fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Self>;

    /// Returns a text with the range of the type.
    fn range_text() -> String;
}

macro_rules! field_number {
    (f32) => {
        impl NumericField for f32 {
            #[inline]
            fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Self> {
                let number: f64 = value.extract()?;
                let single = number as Self;
                if single.is_infinite() && number.is_finite() {
                    return Err(PyOverflowError::new_err("too large for 32 bits"));
                }
                Ok(single)
            }

            fn range_text() -> String {
                float_range(Self::MAX)
            }
        }
    };
    (f64) => {
        impl NumericField for f64 {
            #[inline]
            fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Self> {
                value.extract()
            }

            fn range_text() -> String {
                float_range(Self::MAX)
            }
        }
    };
    ($type:ident) => {
        impl NumericField for $type {
            #[inline]
            fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Self> {
                match value.extract() {
                    // WHY: unlike the `bool` of Python, it is no integer.
                    Err(_) if is_bool_scalar(value) => Ok(Self::from(value.is_truthy()?)),
                    number => number,
                }
            }

            fn range_text() -> String {
                format!("{} to {}", Self::MIN, Self::MAX)
            }
        }
    };
}

macro_rules! field_numbers {
    ($($variant:ident $type:ident $code:literal $letter:literal),+) => {
        $(field_number!($type);)+
    };
}
numbers!(field_numbers);

/// Returns a text with the range of a type of floating-point numbers.
fn float_range(max: impl fmt::LowerExp) -> String {
    format!("-{max:e} to {max:e}, or float('inf')")
}

/// Converts a Python number to the type `T`. The error for a number that is out of range contains
/// the number and the range.
#[inline]
fn number_from_python<T: NumericField>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    T::from_python(value).map_err(|error| range_error(value, &T::range_text, error))
}

/// Returns `error`, or, if it is an overflow, an error that contains the number and the range of
/// the type of the field.
#[cold]
fn range_error(value: &Bound<'_, PyAny>, range: &dyn Fn() -> String, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyOverflowError>(value.py()) {
        return error;
    }
    PyOverflowError::new_err(format!("{value} is out of range: give {}", range()))
}

/// Returns the text at the beginning of `bytes`. It ends before the first NUL, or before the first
/// bytes that are not valid UTF-8.
fn text_of_bytes(bytes: &[u8]) -> &str {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

macro_rules! number {
    ($($variant:ident $type:ident $code:literal $letter:literal),+) => {
        #[inline]
        pub(crate) fn number_object<'py>(
            py: Python<'py>,
            primitive: Primitive,
            bytes: &[u8],
        ) -> PyResult<Bound<'py, PyAny>> {
            match primitive {
                $(Primitive::$variant => {
                    let bytes = *bytes.first_chunk().expect("a field lies in its message");
                    $type::from_ne_bytes(bytes).into_bound_py_any(py)
                })+
                Primitive::Char => bytes[0].into_bound_py_any(py),
            }
        }

        /// Converts a Python number to the type `primitive`, and writes its bytes to `out`.
        pub(crate) fn write_number(
            primitive: Primitive,
            value: &Bound<'_, PyAny>,
            out: &mut [u8],
        ) -> PyResult<()> {
            match primitive {
                $(Primitive::$variant => {
                    out.copy_from_slice(&number_from_python::<$type>(value)?.to_ne_bytes());
                })+
                Primitive::Char => out[0] = number_from_python::<u8>(value)?,
            }
            Ok(())
        }

        /// Returns the code by which numpy names a number type, such as `f4`.
        pub(crate) const fn numpy_code(primitive: Primitive) -> &'static str {
            match primitive {
                $(Primitive::$variant => $code,)+
                Primitive::Char => "S1",
            }
        }

        /// Returns the letter that stands for the type in the formats of Python's `struct` and
        /// `memoryview`.
        const fn struct_letter(primitive: Primitive) -> &'static str {
            match primitive {
                $(Primitive::$variant => $letter,)+
                Primitive::Char => "B",
            }
        }

        fn write_numbers(out: &mut String, primitive: Primitive, bytes: &[u8]) {
            match primitive {
                $(Primitive::$variant => {
                    let numbers = bytes.as_chunks().0.iter();
                    let texts = numbers.map(|bytes| number_literal($type::from_ne_bytes(*bytes)));
                    write_list(out, texts.collect());
                })+
                Primitive::Char => {}
            }
        }
    };
}
numbers!(number);

/// Returns a view of an array of numbers: a numpy array, or a memoryview if numpy is not installed.
fn array_view<'py>(
    object: &Bound<'py, PyAny>,
    field: &Field,
    primitive: Primitive,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let (Some(numpy), Some(dtype)) = (numpy(py)?, field.dtype) else {
        let start = field.offset;
        let end = field.offset + field.bytes();
        let range = PySlice::new(py, isize::try_from(start)?, isize::try_from(end)?, 1);
        // WHY: messages with trailing data have no buffer of their own.
        let exporter = Bound::new(py, ByteExporter(object.clone().unbind()))?;
        let view = PyMemoryView::from(exporter.as_any())?.get_item(range)?;
        return view.call_method1("cast", (struct_letter(primitive),));
    };
    // SAFETY: the field lies in the message.
    let data = unsafe { instance::bytes_address(object).add(field.offset) };
    let shape = [field.count as isize];
    let strides = [dtype.size() as isize];
    let memory = ArrayMemory {
        data,
        shape: &shape,
        strides: &strides,
        is_writeable: data::is_writeable(object),
    };
    // SAFETY: as above; the message owns the bytes, or keeps alive what does.
    unsafe { numpy.view(dtype, memory, object) }
}

/// Sets fields of a message that no Python code has access to yet. Also sets the count fields of
/// its arrays.
pub(crate) fn set_fields(
    object: &Bound<'_, PyAny>,
    kind: &MessageKind,
    fields: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let mut arrays = Vec::new();
    for (name, value) in fields {
        let field = field_named(kind, name.cast::<PyString>()?)?;
        let found = set_field_with_length_check(object, field, &value, |_| Ok(()))?;
        if !field.counts.is_empty() {
            arrays.push((field, found));
        }
    }
    if arrays.is_empty() {
        return Ok(());
    }
    counts::set_counts_of_new_message(object, &arrays, |name| fields.contains(name))
}

/// Writes the default value of one field to `default`, the bytes of a message with default values.
/// Must be called before the class of the kind is made.
pub(crate) fn set_default_value(
    kind: &MessageKind,
    default: &mut [u8],
    name: &Bound<'_, PyString>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let field = field_named(kind, name)?;
    let bytes = field.offset..field.offset + field.bytes();
    encode_field(field, value, &mut default[bytes]).map(drop)
}

fn field_named<'a>(kind: &'a MessageKind, name: &Bound<'_, PyString>) -> PyResult<&'a Field> {
    let name = name.to_str()?;
    kind.field(name).ok_or_else(|| {
        let known: Vec<_> = kind.fields.iter().map(|field| field.name).collect();
        let text = format!(
            "{} has no field '{name}', only {}",
            kind.schema.name,
            known.join(", ")
        );
        PyTypeError::new_err(text)
    })
}

/// Sets a field of a message that Python code has access to. If the field is a counted array, also
/// sets its count field. On an error, nothing has changed.
pub(crate) fn set_field_and_count(
    object: &Bound<'_, PyAny>,
    field: &Field,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    if field.counts.is_empty() {
        return set_field_with_length_check(object, field, value, |_| Ok(())).map(drop);
    }
    let found = set_field_with_length_check(object, field, value, |found| {
        counts::check_shared_counts(object, field, found)
    })?;
    counts::update_count_after_assignment(object, field, found)
}

/// Sets a field of a message, if `check` accepts the number of elements in `value`. Returns that
/// number. On an error, nothing has changed.
pub(crate) fn set_field_with_length_check(
    object: &Bound<'_, PyAny>,
    field: &Field,
    value: &Bound<'_, PyAny>,
    check: impl FnOnce(usize) -> PyResult<()>,
) -> PyResult<usize> {
    // WHY on the stack: most fields are short, and setting them is a hot path.
    let mut small = [0; 64];
    let mut large = Vec::new();
    let bytes = field.bytes();
    let new = if bytes <= small.len() {
        &mut small[..bytes]
    } else {
        large.resize(bytes, 0);
        &mut large
    };
    let found = encode_field(field, value, new)?;
    check(found)?;
    // SAFETY: the field lies in the message.
    let to = unsafe { instance::bytes_address(object).add(field.offset) };
    // SAFETY: as above; what is written was made elsewhere.
    unsafe { std::ptr::copy_nonoverlapping(new.as_ptr(), to, bytes) };
    Ok(found)
}

/// Encodes `value` as the bytes of a field in `out`. Returns the number of elements in `value`.
/// Errors name the field.
pub(crate) fn encode_field(
    field: &Field,
    value: &Bound<'_, PyAny>,
    out: &mut [u8],
) -> PyResult<usize> {
    let place = || format!("{}.{}", field.message, field.name);
    encode_value(field, value, out)
        .map_err(|error| error::prefix_error_text(value.py(), &place(), &error))
}

/// Encodes `value` as [`encode_field`] does, but returns errors that do not name the field.
fn encode_value(field: &Field, value: &Bound<'_, PyAny>, out: &mut [u8]) -> PyResult<usize> {
    if !field.is_array {
        return encode_element(field, value, out).map(|()| 1);
    }
    if let Some(dtype) = field.dtype
        && !value.is_exact_instance_of::<PyList>()
        && !value.is_exact_instance_of::<PyTuple>()
    {
        check_not_masked(value)?;
        if let Ok(view) = BufferView::of(value)
            && let [count] = *view.shape()
            && view.dtype(value).is_ok_and(|found| found == dtype)
        {
            let count = count.unsigned_abs();
            let part = out.get_mut(..count * dtype.size());
            view.copy_to(
                value.py(),
                part.ok_or_else(|| too_many_elements_error(field, count))?,
            )?;
            return check_length(field, count);
        }
    }
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyDict>() {
        let text = format!("{} where a sequence is wanted", value.get_type());
        return Err(PyTypeError::new_err(text));
    }
    let mut elements = out.chunks_exact_mut(field.kind.size());
    let mut found = 0;
    for value in value.try_iter()? {
        let element = elements
            .next()
            .ok_or_else(|| too_many_elements_error(field, found + 1))?;
        encode_element(field, &value?, element)?;
        found += 1;
    }
    check_length(field, found)?;
    if let Some(inner) = field.inner {
        elements.for_each(|element| element.copy_from_slice(&inner.default));
    }
    Ok(found)
}

/// Returns `found`, the number of elements that were given for an array. Returns an error if it
/// differs from the length of the array; for a counted array it may also be smaller.
fn check_length(field: &Field, found: usize) -> PyResult<usize> {
    if found == field.count || !field.counts.is_empty() {
        return Ok(found);
    }
    let text = format!("{found} elements where {} are wanted", field.count);
    Err(PyValueError::new_err(text))
}

fn too_many_elements_error(field: &Field, found: usize) -> PyErr {
    PyValueError::new_err(format!("{found} elements or more, and {} fit", field.count))
}

fn encode_element(field: &Field, value: &Bound<'_, PyAny>, out: &mut [u8]) -> PyResult<()> {
    match (field.kind, field.inner) {
        (FieldKind::Primitive(primitive), _) => write_number(primitive, value, out),
        (FieldKind::Text(max), _) => {
            let bytes = match value.cast::<PyString>() {
                Ok(text) if text.to_str()?.contains('\0') => {
                    let text = "a text with the character NUL, which ends a text";
                    return Err(PyValueError::new_err(text));
                }
                Ok(text) => text.to_str()?.as_bytes(),
                Err(_) => value.cast::<PyBytes>()?.as_bytes(),
            };
            if bytes.len() > max {
                let found = bytes.len();
                let text = format!("a text of {found} bytes where {max} fit: shorten it");
                return Err(PyValueError::new_err(text));
            }
            out[..bytes.len()].copy_from_slice(bytes);
            out[bytes.len()..].fill(0);
            Ok(())
        }
        (FieldKind::Message(schema), inner) => {
            let same = instance::is_message(value)
                && inner.is_some_and(|inner| std::ptr::eq(inner, instance::kind_of(value)));
            if !same {
                let text = format!("{} where a {} is wanted", value.get_type(), schema.name);
                return Err(PyTypeError::new_err(text));
            }
            out.copy_from_slice(instance::message_bytes(value));
            Ok(())
        }
    }
}

/// Writes a message as a Python expression that makes an equal message. `repr` returns it.
pub(crate) fn write_message(
    out: &mut String,
    module: &str,
    object: &Bound<'_, PyAny>,
) -> PyResult<()> {
    write_constructor_call(
        out,
        module,
        instance::kind_of(object),
        instance::message_bytes(object),
    );
    Ok(())
}

fn write_constructor_call(out: &mut String, module: &str, kind: &MessageKind, bytes: &[u8]) {
    push_text(out, format_args!("{module}.{}(", kind.schema.name));
    let mut separator = "";
    for field in &kind.fields {
        let bytes = &bytes[field.offset..field.offset + field.bytes()];
        if field.is_reserved() && bytes.iter().all(|byte| *byte == 0) {
            continue;
        }
        push_text(out, format_args!("{separator}{}=", field.name));
        separator = ", ";
        if let (FieldKind::Primitive(primitive), true) = (field.kind, field.is_array) {
            write_numbers(out, primitive, bytes);
            continue;
        }
        let elements = bytes.chunks_exact(field.kind.size());
        let texts: Vec<_> = elements
            .map(|bytes| element_text(module, field, bytes))
            .collect();
        if field.is_array {
            write_list(out, texts);
        } else {
            out.push_str(&texts[0]);
        }
    }
    out.push(')');
}

fn element_text(module: &str, field: &Field, bytes: &[u8]) -> String {
    let mut out = String::new();
    match (field.kind, field.inner) {
        (FieldKind::Primitive(primitive), _) => {
            write_numbers(&mut out, primitive, bytes);
            out = out.trim_matches(['[', ']']).to_owned();
        }
        (_, Some(inner)) => write_constructor_call(&mut out, module, inner, bytes),
        _ => {
            let shown = text_of_bytes(bytes);
            let exact = bytes[shown.len()..].iter().all(|byte| *byte == 0);
            out = if exact {
                text_literal(shown)
            } else {
                bytes_literal(bytes)
            };
        }
    }
    out
}

/// Writes a Python list. If it has five or more elements and all are equal, writes `[x] * n`.
fn write_list(out: &mut String, texts: Vec<String>) {
    match &*texts {
        [first, rest @ ..] if rest.len() >= 4 && rest.iter().all(|text| text == first) => {
            push_text(out, format_args!("[{first}] * {}", texts.len()));
        }
        _ => push_text(out, format_args!("[{}]", texts.join(", "))),
    }
}

/// Returns a number as Python source code.
fn number_literal(number: impl std::fmt::Debug) -> String {
    let text = format!("{number:?}");
    match text.as_str() {
        "NaN" | "inf" | "-inf" => format!("float('{}')", text.to_lowercase()),
        _ => text,
    }
}

/// Returns a text as Python source code, in quotes.
fn text_literal(text: &str) -> String {
    let mut out = String::from("'");
    for character in text.chars() {
        match character {
            '\\' | '\'' => push_text(&mut out, format_args!("\\{character}")),
            ' '..='~' => out.push(character),
            _ if character.is_alphanumeric() => out.push(character),
            _ => push_text(&mut out, format_args!("\\U{:08x}", u32::from(character))),
        }
    }
    out + "'"
}

fn bytes_literal(bytes: &[u8]) -> String {
    let mut out = String::from("b'");
    bytes
        .iter()
        .for_each(|byte| push_text(&mut out, format_args!("\\x{byte:02x}")));
    out + "'"
}

fn push_text(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}
