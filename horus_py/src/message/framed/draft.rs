//! Makes messages with trailing data. A message begins as a draft: a message without data, whose
//! header is then completed so that it describes the data.

use std::ptr;

use horus_core::message::DType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::buffer::{BufferView, dtype_from_format};
use crate::call::run_guarded_attached;
use crate::message::field;
use crate::message::framed::data::{
    copy_data_into_message, data_bytes_stated_in_header, data_location_of, framed_kind_of,
    message_with_own_data,
};
use crate::message::framed::tail::{element_type_of, encode_tail, take_tail};
use crate::message::framed::view::has_structured_elements;
use crate::message::instance;
use crate::message::kind::{self, MessageKind};
use crate::numpy::{check_not_masked, required_numpy};

/// Implements `tp_new` of the class: makes a message from an array and fields, or only from fields.
pub(crate) unsafe extern "C" fn tp_new(
    class: *mut ffi::PyTypeObject,
    args: *mut ffi::PyObject,
    kwargs: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    run_guarded_attached(ptr::null_mut(), |py| {
        let kind =
            kind::kind_of_class(class).ok_or_else(|| PyTypeError::new_err("not a message"))?;
        // SAFETY: Python gives a tuple.
        let args = unsafe { Bound::from_borrowed_ptr(py, args) };
        // SAFETY: Python gives a dictionary or null.
        let kwargs = unsafe { Bound::from_borrowed_ptr_or_opt(py, kwargs) };
        let kwargs = kwargs
            .as_ref()
            .map(|kwargs| kwargs.cast::<PyDict>())
            .transpose()?;
        let args = args.cast::<PyTuple>()?;
        let data = match args.len() {
            0 => None,
            1 => Some(args.get_item(0)?),
            _ => {
                let text = format!("{}() takes one array and fields by name", kind.schema.name);
                return Err(PyTypeError::new_err(text));
            }
        };
        Ok(construct_message(py, kind, data.as_ref(), kwargs)?.into_ptr())
    })
}

pub(super) fn construct_message<'py>(
    py: Python<'py>,
    kind: &'static MessageKind,
    data: Option<&Bound<'py, PyAny>>,
    fields: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let tail = fields.map_or(Ok(None), |fields| take_tail(kind, fields))?;
    let draft = new_draft(py, kind, fields)?;
    let data = data.filter(|data| !data.is_none());
    if tail.is_some() && data.is_some() {
        let text = format!("{}() takes its array once", kind.schema.name);
        return Err(PyTypeError::new_err(text));
    }
    let Some(data) = data.or(tail.as_ref()) else {
        return message_with_own_data(
            py,
            kind,
            instance::message_bytes(&draft),
            fill_computed_header_fields(&draft)?,
        );
    };
    if kind.counted_tail().is_some() {
        return message_with_tail(&draft, kind, &encode_tail(kind, data)?);
    }
    check_not_masked(data)?;
    let view = BufferView::of(data).map_err(|error| no_buffer_error(kind, data, error))?;
    set_header_for_array(&draft, data, &view)?;
    let object = message_with_own_data(
        py,
        kind,
        instance::message_bytes(&draft),
        fill_computed_header_fields(&draft)?,
    )?;
    let place = data_location_of(&object);
    // SAFETY: memory of its own, of so many bytes, which nobody else knows.
    let place = unsafe { std::slice::from_raw_parts_mut(place.address, place.bytes) };
    view.copy_to(py, place)?;
    Ok(object)
}

/// Returns the error for data that are no buffer. `error` is what Python reports about them.
#[cold]
fn no_buffer_error(kind: &MessageKind, data: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyTypeError>(data.py()) {
        return error;
    }
    PyTypeError::new_err(format!(
        "the data of a {} are {}: give a numpy array or another buffer, as \
         numpy.asarray(data, dtype)",
        kind.schema.name,
        data.get_type()
    ))
}

/// Makes a message with the header fields of a draft. Its tail consists of the bytes `numbers`.
fn message_with_tail<'py>(
    draft: &Bound<'py, PyAny>,
    kind: &'static MessageKind,
    numbers: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = element_type_of(kind);
    set_array_layout(draft, dtype, &[(numbers.len() / dtype.size()) as u64])?;
    let object = message_with_own_data(
        draft.py(),
        kind,
        instance::message_bytes(draft),
        data_bytes_stated_in_header(draft)?,
    )?;
    copy_data_into_message(&object, numbers);
    Ok(object)
}

/// Makes a draft: a message without data, whose header has these fields.
pub(crate) fn new_draft<'py>(
    py: Python<'py>,
    kind: &'static MessageKind,
    fields: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let draft = message_with_own_data(py, kind, &kind.default, 0)?;
    if let Some(fields) = fields {
        field::set_fields(&draft, kind, fields)?;
    }
    Ok(draft)
}

/// Returns the header bytes of a draft, which the caller may change.
#[expect(
    clippy::mut_from_ref,
    reason = "Python's objects are shared, but nobody knows the draft"
)]
pub(super) fn header_mut<'a>(draft: &'a Bound<'_, PyAny>) -> &'a mut [u8] {
    // SAFETY: nobody else knows the draft.
    unsafe { instance::message_bytes_mut(draft) }
}

/// Computes those header fields of a draft that depend on its other fields. Returns the number of
/// data bytes that the header then states.
pub(crate) fn fill_computed_header_fields(draft: &Bound<'_, PyAny>) -> PyResult<usize> {
    framed_kind_of(draft).fill_computed_fields(header_mut(draft));
    data_bytes_stated_in_header(draft)
}

/// Changes the header of a draft so that it describes an array of this shape and numpy type. The
/// type can be anything that `numpy.dtype` accepts. Without a type, the elements have the type of
/// the tail that the program declared; in standard messages they are bytes.
pub(crate) fn set_header_for_shape_and_type(
    draft: &Bound<'_, PyAny>,
    shape: &[u64],
    dtype: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let py = draft.py();
    let Some(dtype) = dtype.filter(|dtype| !dtype.is_none()) else {
        let kind = instance::kind_of(draft);
        let dtype = kind
            .counted_tail()
            .map_or(DType::U8, |_| element_type_of(kind));
        return set_array_layout(draft, dtype, shape);
    };
    let dtype = required_numpy(py)?
        .module
        .bind(py)
        .call_method1("dtype", (dtype,))?;
    if try_set_header_for_structures(draft, &dtype, shape)? {
        return Ok(());
    }
    let letter = dtype.getattr("char")?;
    let size = dtype.getattr("itemsize")?.extract()?;
    let letter = letter.cast::<PyString>()?;
    let known = dtype_from_format(letter.to_str()?.as_bytes(), size);
    let known = if dtype.getattr("isnative")?.is_truthy()? {
        known
    } else {
        None
    };
    let wanted = || {
        let text = format!("{dtype} where integers, floats or booleans of the machine are wanted");
        PyTypeError::new_err(text)
    };
    set_array_layout(draft, known.ok_or_else(wanted)?, shape)
}

/// Changes the header of a draft so that it describes an array of this shape and structured numpy
/// type. Returns false, without a change, if the elements of such messages are numbers, or if the
/// type is not structured.
fn try_set_header_for_structures(
    draft: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyAny>,
    shape: &[u64],
) -> PyResult<bool> {
    if !has_structured_elements(instance::kind_of(draft)) || dtype.getattr("names")?.is_none() {
        return Ok(false);
    }
    let helper = draft.py().import("horus._framed")?;
    helper.call_method1("describe", (draft, dtype, PyTuple::new(draft.py(), shape)?))?;
    Ok(true)
}

fn set_array_layout(draft: &Bound<'_, PyAny>, dtype: DType, shape: &[u64]) -> PyResult<()> {
    framed_kind_of(draft)
        .reshape(header_mut(draft), dtype, shape)
        .map_err(PyValueError::new_err)
}

/// Changes the header of a draft so that it describes `array`, whose buffer is `view`.
fn set_header_for_array(
    draft: &Bound<'_, PyAny>,
    array: &Bound<'_, PyAny>,
    view: &BufferView,
) -> PyResult<()> {
    let shape: Vec<_> = view.shape().iter().map(|count| *count as u64).collect();
    if let Ok(dtype) = array.getattr("dtype")
        && try_set_header_for_structures(draft, &dtype, &shape)?
    {
        return Ok(());
    }
    let dtype = view.dtype(array)?;
    // The given fields may describe these bytes already.
    if dtype.size() == 1 && shape.len() == 1 {
        framed_kind_of(draft).fill_computed_fields(header_mut(draft));
        let promised = framed_kind_of(draft).data_bytes(instance::message_bytes(draft));
        if promised.is_ok_and(|promised| promised > 0 && promised as u64 == shape[0]) {
            return Ok(());
        }
    }
    set_array_layout(draft, dtype, &shape)
}
