//! Writes Python objects as MessagePack directly into a slot, while visiting each object once.

use std::ptr;

use horus_core::message::DType;
use horus_core::value::{DEPTH_MAX, EncodeError, MsgpackWriter, TYPED_DIMENSIONS_MAX};
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyTuple,
};

use crate::buffer::BufferView;
use crate::message;
use crate::msgpack::ext::PyExt;
use crate::numpy::{check_not_masked, numpy};

/// The reason why an object was not converted to MessagePack.
#[derive(Debug)]
pub(crate) enum PackError {
    /// The slot is too short. The number is the length of a slot that is long enough, in bytes.
    TooLong(u64),
    Python(PyErr),
}

impl From<PyErr> for Box<PackError> {
    #[cold]
    fn from(error: PyErr) -> Self {
        Self::new(PackError::Python(error))
    }
}

impl From<EncodeError> for Box<PackError> {
    #[cold]
    fn from(error: EncodeError) -> Self {
        Self::new(match error {
            EncodeError::TooSmall { needed, .. } => PackError::TooLong(needed as u64),
            EncodeError::TooDeep => {
                let text = format!(
                    "more than {DEPTH_MAX} dicts, lists and tuples are nested: something may \
                     contain itself"
                );
                PackError::Python(PyValueError::new_err(text))
            }
            EncodeError::ReservedExt => PackError::Python(PyValueError::new_err(
                "extension 72 is for typed arrays: send a numpy array",
            )),
            error => PackError::Python(PyValueError::new_err(error.to_string())),
        })
    }
}

/// Writes the object to the beginning of the slot. Returns the length of the written MessagePack in
/// bytes.
///
/// For objects whose class is exactly a built-in one, it runs no Python code. The exception is a
/// `str` with lone surrogates, which has no UTF-8 encoding. If Python code runs, it cannot access
/// the slot, because the publisher that loaned the slot is marked as in use.
pub(crate) fn pack(object: &Bound<'_, PyAny>, slot: &mut [u8]) -> Result<usize, PackError> {
    let mut out = MsgpackWriter::new(slot);
    let written = write_object(&mut out, object, 0).and_then(|()| Ok(out.finish()?));
    written.map_err(|error| *error)
}

// WHY boxed: the result fits in a register.
type PackResult = Result<(), Box<PackError>>;

#[inline]
fn write_object(
    out: &mut MsgpackWriter<'_>,
    object: &Bound<'_, PyAny>,
    depth: usize,
) -> PackResult {
    if let Ok(number) = object.cast_exact::<PyFloat>() {
        out.float(number.value());
        Ok(())
    } else if let Ok(text) = object.cast_exact::<PyString>() {
        write_text(out, text)
    } else if let Ok(number) = object.cast_exact::<PyInt>() {
        write_int(out, number)
    } else if object.is_none() {
        out.nil();
        Ok(())
    } else if let Ok(truth) = object.cast_exact::<PyBool>() {
        out.bool(truth.is_true());
        Ok(())
    } else if let Ok(dict) = object.cast_exact::<PyDict>() {
        write_dict(out, dict, checked_next_depth(depth)?)
    } else if let Ok(list) = object.cast_exact::<PyList>() {
        write_list(out, list, checked_next_depth(depth)?)
    } else if let Ok(tuple) = object.cast_exact::<PyTuple>() {
        write_tuple(out, tuple, checked_next_depth(depth)?)
    } else if let Ok(bytes) = object.cast_exact::<PyBytes>() {
        Ok(out.binary(bytes.as_bytes())?)
    } else {
        write_object_of_other_class(out, object, depth)
    }
}

fn checked_next_depth(depth: usize) -> Result<usize, EncodeError> {
    if depth < DEPTH_MAX {
        Ok(depth + 1)
    } else {
        Err(EncodeError::TooDeep)
    }
}

#[inline]
fn write_text(out: &mut MsgpackWriter<'_>, text: &Bound<'_, PyString>) -> PackResult {
    Ok(out.string(text.to_str()?)?)
}

#[inline]
fn write_int(out: &mut MsgpackWriter<'_>, number: &Bound<'_, PyInt>) -> PackResult {
    let mut overflow = 0;
    // SAFETY: an integer, and a place for the answer.
    let small = unsafe { ffi::PyLong_AsLongLongAndOverflow(number.as_ptr(), &raw mut overflow) };
    match overflow {
        0 => out.int(small),
        _ => match number.extract::<u64>() {
            Ok(large) => out.uint(large),
            Err(_) => {
                let text = "an int of more than 64 bits cannot be sent: send it as text or bytes";
                return Err(PyOverflowError::new_err(text).into());
            }
        },
    }
    Ok(())
}

fn write_dict(out: &mut MsgpackWriter<'_>, dict: &Bound<'_, PyDict>, depth: usize) -> PackResult {
    let py = dict.py();
    let mut left = dict.len();
    out.map(left)?;
    let mut position = 0;
    loop {
        let mut key = ptr::null_mut();
        let mut value = ptr::null_mut();
        let next = &raw mut position;
        // SAFETY: a dict, and places for the results. The function looks at the dict anew each
        // time, so it never reads one that has changed wrongly.
        let found = unsafe { ffi::PyDict_Next(dict.as_ptr(), next, &raw mut key, &raw mut value) };
        if found == 0 {
            break;
        }
        left = left.checked_sub(1).ok_or_else(size_changed_error)?;
        // WHY owned references: writing a value may run Python code that changes the dict. Even
        // writing a text may: one that has no UTF-8 encoding is given to an error handler that
        // anybody may register.
        // SAFETY: an object that the dict holds.
        let key = unsafe { Bound::from_borrowed_ptr(py, key) };
        // SAFETY: as above; no Python code runs before it is taken or has a reference.
        let value = unsafe { Borrowed::from_ptr(py, value) };
        if let Ok(number) = value.cast_exact::<PyFloat>() {
            let number = number.value();
            write_object(out, &key, depth)?;
            out.float(number);
        } else {
            let value = value.to_owned();
            write_object(out, &key, depth)?;
            write_object(out, &value, depth)?;
        }
    }
    if left == 0 {
        Ok(())
    } else {
        Err(size_changed_error().into())
    }
}

/// Writes an instance of a subclass of `dict`, with its items in the order of its method `items`.
/// WHY: that order may differ from the order in its hash table, as in an `OrderedDict`.
#[cold]
fn write_dict_subclass(
    out: &mut MsgpackWriter<'_>,
    dict: &Bound<'_, PyDict>,
    depth: usize,
) -> PackResult {
    let mut items = Vec::with_capacity(dict.len());
    for item in dict.call_method0("items")?.try_iter()? {
        items.push(item?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?);
    }
    out.map(items.len())?;
    for (key, value) in &items {
        write_object(out, key, depth)?;
        write_object(out, value, depth)?;
    }
    Ok(())
}

fn write_list(out: &mut MsgpackWriter<'_>, list: &Bound<'_, PyList>, depth: usize) -> PackResult {
    let count = list.len();
    out.array(count)?;
    for index in 0..count {
        write_object(
            out,
            &list.get_item(index).map_err(|_| size_changed_error())?,
            depth,
        )?;
    }
    Ok(())
}

fn write_tuple(
    out: &mut MsgpackWriter<'_>,
    tuple: &Bound<'_, PyTuple>,
    depth: usize,
) -> PackResult {
    out.array(tuple.len())?;
    for value in tuple.iter_borrowed() {
        write_object(out, &value, depth)?;
    }
    Ok(())
}

#[cold]
fn size_changed_error() -> PyErr {
    PyRuntimeError::new_err("a dict or list changed its size while it was sent")
}

/// Writes an object whose class is not exactly a built-in one, for example an instance of a
/// subclass.
#[cold]
fn write_object_of_other_class(
    out: &mut MsgpackWriter<'_>,
    object: &Bound<'_, PyAny>,
    depth: usize,
) -> PackResult {
    if let Ok(text) = object.cast::<PyString>() {
        write_text(out, text)
    } else if let Ok(number) = object.cast::<PyFloat>() {
        out.float(number.value());
        Ok(())
    } else if let Ok(number) = object.cast::<PyInt>() {
        write_int(out, number)
    } else if let Ok(dict) = object.cast::<PyDict>() {
        write_dict_subclass(out, dict, checked_next_depth(depth)?)
    } else if let Ok(list) = object.cast::<PyList>() {
        write_list(out, list, checked_next_depth(depth)?)
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        write_tuple(out, tuple, checked_next_depth(depth)?)
    } else if let Ok(bytes) = object.cast::<PyBytes>() {
        Ok(out.binary(bytes.as_bytes())?)
    } else if let Ok(bytes) = object.cast::<PyByteArray>() {
        // WHY a copy: it is the only way to read a `bytearray` without `unsafe`, and they are rare.
        Ok(out.binary(&bytes.to_vec())?)
    } else if let Ok(ext) = object.cast::<PyExt>() {
        let ext = ext.get();
        Ok(out.ext(ext.number, &ext.bytes)?)
    } else if message::is_message(object) {
        let name = object.get_type().name()?;
        let text = format!("a {name} inside a value: send its fields, or its bytes");
        Err(PyTypeError::new_err(text).into())
    } else {
        write_array_or_scalar(out, object, depth)
    }
}

/// Writes a numpy scalar, a numpy array or another object that has a buffer. Any other object is an
/// error.
fn write_array_or_scalar(
    out: &mut MsgpackWriter<'_>,
    object: &Bound<'_, PyAny>,
    depth: usize,
) -> PackResult {
    let py = object.py();
    if let Some(numpy) = numpy(py)?
        && object.is_instance(numpy.generic.bind(py))?
    {
        // WHY: some of them would become integers, without their unit.
        if numpy.is_time_scalar(object) {
            return Err(cannot_send_error(object).into());
        }
        let number = object.call_method0("item")?;
        if number.is_instance(numpy.generic.bind(py))? {
            return Err(cannot_send_error(object).into());
        }
        return write_object(out, &number, depth);
    }
    check_not_masked(object)?;
    match BufferView::of(object) {
        Ok(view) => write_array(out, object, &view),
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            Err(cannot_send_error(object).into())
        }
        Err(error) => Err(error.into()),
    }
}

#[cold]
fn cannot_send_error(object: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!(
        "{} cannot be sent: only dict, list, tuple, str, bytes, float, int, bool, None, arrays of \
         numbers and horus.Ext can",
        object.get_type()
    ))
}

fn write_array(
    out: &mut MsgpackWriter<'_>,
    object: &Bound<'_, PyAny>,
    view: &BufferView,
) -> PackResult {
    let dtype = view.dtype(object)?;
    let shape = view.shape();
    if object.is_exact_instance_of::<PyMemoryView>() && dtype == DType::U8 && shape.len() == 1 {
        return Ok(out.binary(&view.to_vec(object.py())?)?);
    }
    if shape.len() > TYPED_DIMENSIONS_MAX {
        let text = format!(
            "an array of {} dimensions, at most 32 are possible",
            shape.len()
        );
        return Err(PyValueError::new_err(text).into());
    }
    let mut counts = [0; TYPED_DIMENSIONS_MAX];
    for (count, found) in counts.iter_mut().zip(shape) {
        *count = u32::try_from(*found)
            .map_err(|_| PyOverflowError::new_err("an array of 2^32 or more in a dimension"))?;
    }
    if let Some(place) = out.typed(dtype, &counts[..shape.len()])? {
        view.copy_to(object.py(), place)?;
    }
    Ok(())
}
