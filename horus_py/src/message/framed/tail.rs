//! The attribute for the tail of a message that a program declared: the numbers at the end of the
//! message. Reading the attribute returns a view of them, and setting it copies the new numbers.

use std::ffi::{c_int, c_void};
use std::ptr;

use horus_core::message::{DType, Tail};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::buffer::BufferView;
use crate::call::{run_guarded, run_guarded_attached};
use crate::error;
use crate::message::field::{number_object, write_number};
use crate::message::framed::data::{
    data_location_of, ensure_writeable, framed_kind_of, header_and_data, larger_buffer_if_needed,
    replace_data,
};
use crate::message::framed::memory::DataOwner;
use crate::message::framed::view::array_view;
use crate::message::instance;
use crate::message::kind::MessageKind;
use crate::numpy::{check_not_masked, numpy};

/// The getter of the attribute for the tail, the numbers at the end of a message. Returns an array
/// that shares the memory of the message, or, without numpy, a list.
pub(crate) unsafe extern "C" fn get_tail(
    object: *mut ffi::PyObject,
    _closure: *mut c_void,
) -> *mut ffi::PyObject {
    run_guarded(ptr::null_mut(), |py| {
        // SAFETY: Python gives a message of the class.
        let object = unsafe { Bound::from_borrowed_ptr(py, object) };
        if numpy(py)?.is_some() {
            return Ok(array_view(&object)?.into_ptr());
        }
        let primitive = tail_of(&object).primitive;
        let data = header_and_data(&object)?.1.to_vec();
        let numbers = data.chunks_exact(primitive.size());
        let numbers: Vec<_> = numbers
            .map(|bytes| number_object(py, primitive, bytes))
            .collect::<PyResult<_>>()?;
        Ok(PyList::new(py, numbers)?.into_ptr())
    })
}

/// The setter of the attribute for the tail, the numbers at the end of a message. Copies the
/// numbers to the message, and sets the field that counts them.
pub(crate) unsafe extern "C" fn set_tail(
    object: *mut ffi::PyObject,
    value: *mut ffi::PyObject,
    _closure: *mut c_void,
) -> c_int {
    run_guarded_attached(-1, |py| {
        // SAFETY: Python gives a message of the class.
        let object = unsafe { Bound::from_borrowed_ptr(py, object) };
        // SAFETY: Python gives an object, or null for `del`.
        let value = unsafe { Bound::from_borrowed_ptr_or_opt(py, value) };
        let Tail { name, primitive } = tail_of(&object);
        let kind = instance::kind_of(&object);
        let Some(value) = value else {
            let text = format!("a {} always has '{name}'", kind.schema.name);
            return Err(PyTypeError::new_err(text));
        };
        let bytes = encode_tail(kind, &value)?;
        // WHY last: what precedes runs Python code, which may publish a message on loan.
        ensure_writeable(&object)?;
        let room = data_location_of(&object).bytes;
        if bytes.len() > room && matches!(data_location_of(&object).memory, DataOwner::Loan(_)) {
            let size = primitive.size();
            let text = format!(
                "{}.{name}: {} elements, and the loan has room for {}: loan more",
                kind.schema.name,
                bytes.len() / size,
                room / size
            );
            return Err(PyValueError::new_err(text));
        }
        let count = (bytes.len() / primitive.size()) as u64;
        // WHY before the header: without memory, nothing has changed.
        let grown = larger_buffer_if_needed(&object, bytes.len())?;
        // SAFETY: no Python code runs, and no other reference to the header exists here.
        let header = unsafe { instance::message_bytes_mut(&object) };
        framed_kind_of(&object)
            .reshape(header, element_type_of(kind), &[count])
            .map_err(PyValueError::new_err)?;
        replace_data(&object, &bytes, grown);
        Ok(0)
    })
}

/// Removes the value for the tail from the keyword arguments of a constructor, and returns it.
/// Returns `None` if there is none.
pub(super) fn take_tail<'py>(
    kind: &MessageKind,
    fields: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(tail) = kind.counted_tail() else {
        return Ok(None);
    };
    let found = fields.get_item(tail.name)?;
    if found.is_some() {
        fields.del_item(tail.name)?;
    }
    Ok(found)
}

/// Returns the numbers in `value`, a sequence or an array of one dimension, as the bytes of a tail.
pub(super) fn encode_tail(kind: &MessageKind, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let py = value.py();
    encode_numbers(kind, value).map_err(|error| {
        let name = kind.schema.tail.map_or("", |tail| tail.name);
        error::prefix_error_text(py, &format!("{}.{name}", kind.schema.name), &error)
    })
}

fn encode_numbers(kind: &MessageKind, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    check_not_masked(value)?;
    if let Ok(view) = BufferView::of(value)
        && view.shape().len() == 1
        && view
            .dtype(value)
            .is_ok_and(|found| found == element_type_of(kind))
    {
        return view.to_vec(value.py());
    }
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyDict>() {
        let text = format!("{} where a sequence is wanted", value.get_type());
        return Err(PyTypeError::new_err(text));
    }
    let primitive = kind.schema.tail.expect("a message with a tail").primitive;
    let mut bytes = Vec::new();
    for value in value.try_iter()? {
        let start = bytes.len();
        bytes.resize(start + primitive.size(), 0);
        write_number(primitive, &value?, &mut bytes[start..])?;
    }
    Ok(bytes)
}

/// Returns the type of the numbers in the tail of this kind of messages.
pub(super) fn element_type_of(kind: &MessageKind) -> DType {
    let tail = kind.schema.tail.expect("a message with a tail");
    DType::from_primitive(tail.primitive).expect("a tail of numbers")
}

fn tail_of(object: &Bound<'_, PyAny>) -> Tail {
    instance::kind_of(object)
        .schema
        .tail
        .expect("a message with a tail")
}
