//! The Python base class of messages with trailing data, with the methods that all of them have.

use std::ffi::CStr;

use pyo3::IntoPyObjectExt;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};

use crate::call::add_method;
use crate::message::bytes::{kind_of_message_class, message_from_checked_bytes, reduce_message};
use crate::message::dlpack;
use crate::message::field;
use crate::message::framed::data;
use crate::message::framed::draft::{construct_message, header_mut};
use crate::message::framed::view::{array_view, to_numpy};
use crate::message::instance;

/// The base class of messages with trailing data, such as images: a header, whose fields are
/// attributes, and an array.
#[pyclass(frozen, subclass, module = "horus")]
#[derive(Debug)]
pub(crate) struct Framed;

#[pymethods]
impl Framed {
    /// Makes a message with the current time as its `timestamp_ns`, and `monotonic_ns` if it has
    /// that field.
    #[classmethod]
    #[pyo3(signature = (data = None, /, **fields))]
    fn now<'py>(
        class: &Bound<'py, PyType>,
        data: Option<&Bound<'py, PyAny>>,
        fields: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kind = kind_of_message_class(class)?;
        kind.ensure_has_timestamp()?;
        let object = construct_message(class.py(), kind, data, fields)?;
        kind.set_timestamps(header_mut(&object));
        Ok(object)
    }

    /// Makes a message from a header and data, as `bytes()` returns them.
    #[classmethod]
    fn from_bytes<'py>(class: &Bound<'py, PyType>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        message_from_checked_bytes(class.py(), kind_of_message_class(class)?, bytes)
    }

    /// Size of the data, in bytes.
    #[getter]
    fn nbytes(slf: &Bound<'_, Self>) -> usize {
        data::data_bytes(slf)
    }

    /// True if the data may be written. False for a received message, and after `publish()` or
    /// `discard()`.
    #[getter]
    fn writeable(slf: &Bound<'_, Self>) -> bool {
        data::is_writeable(slf)
    }

    /// Returns a copy of the message, which shares no memory with it and can be written.
    fn copy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        data::copy_message(slf)
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        data::copy_message(slf)
    }

    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        data::copy_message(slf)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        reduce_message(slf, Self::__bytes__(slf)?)
    }

    fn __bytes__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyBytes>> {
        let (header, data) = data::header_and_data(slf)?;
        // WHY without a Rust buffer: it would end the process if there is no memory.
        PyBytes::new_with(slf.py(), header.len() + data.len(), |bytes| {
            let (header_part, data_part) = bytes.split_at_mut(header.len());
            header_part.copy_from_slice(header);
            data_part.copy_from_slice(data);
            Ok(())
        })
    }

    /// Returns the array for `numpy.asarray(message)`.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = array_view(slf)?;
        let array = match dtype {
            Some(dtype) if !array.getattr("dtype")?.eq(dtype)? => {
                if copy == Some(false) {
                    let text = "another type takes a copy, and copy is False";
                    return Err(PyValueError::new_err(text));
                }
                return array.call_method1("astype", (dtype,));
            }
            _ => array,
        };
        if copy == Some(true) {
            array.call_method0("copy")
        } else {
            Ok(array)
        }
    }

    /// Returns the device of the data as DLPack numbers it: `(1, 0)`, the memory of the CPU.
    fn __dlpack_device__(&self) -> (i32, i32) {
        (1, 0)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let mut text = String::new();
        let module = slf.get_type().module()?;
        field::write_message(&mut text, &module.to_string_lossy(), slf)?;
        let bytes = data::data_bytes(slf);
        text.pop();
        Ok(format!("<{text}) with {bytes} bytes>"))
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if !slf.get_type().is(other.get_type()) || !matches!(op, CompareOp::Eq | CompareOp::Ne) {
            return Ok(py.NotImplemented().into_bound(py));
        }
        let one = data::header_and_data(slf)?.1;
        let two = data::header_and_data(other)?.1;
        let same = instance::are_equal(slf, other) && one == two;
        (same == matches!(op, CompareOp::Eq)).into_bound_py_any(py)
    }
}

/// Registers the base class in the Python module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    const TO_NUMPY_DOC: &CStr = c"to_numpy($self)
--

The data as an array, where they lie: nothing is copied. It keeps them alive. Raises `ValueError`
for a message that was on loan, after its `publish()` or `discard()`.";
    module.add_class::<Framed>()?;
    let class = module.py().get_type::<Framed>();
    add_method(&class, c"to_numpy", to_numpy, TO_NUMPY_DOC)?;
    dlpack::register(&class)
}
