//! The Python base class of messages of fixed size, with the methods that all of them have.

use horus_core::message::timestamp_now_ns;
use pyo3::IntoPyObjectExt;
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};

use crate::message::bytes::{kind_of_message_class, message_from_checked_bytes, reduce_message};
use crate::message::dtype::{self, DType};
use crate::message::field;
use crate::message::instance::{self, Message};

#[pymethods]
impl Message {
    /// Makes a message from its bytes.
    #[classmethod]
    fn from_bytes<'py>(
        class: &Bound<'py, PyType>,
        bytes: pyo3::buffer::PyBuffer<u8>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let bytes = bytes.to_vec(class.py())?;
        message_from_checked_bytes(class.py(), kind_of_message_class(class)?, &bytes)
    }

    /// Makes a message with the current time as its `timestamp_ns`, and `monotonic_ns` if it has
    /// that field.
    #[classmethod]
    #[pyo3(signature = (**fields))]
    fn now<'py>(
        class: &Bound<'py, PyType>,
        fields: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kind = kind_of_message_class(class)?;
        kind.ensure_has_timestamp()?;
        let message = class.call((), fields)?;
        // SAFETY: nobody else knows the message yet.
        kind.set_timestamps(unsafe { instance::message_bytes_mut(&message) });
        Ok(message)
    }

    /// Returns a copy of the message, which shares no memory with it.
    fn copy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        instance::message_from_bytes(
            slf.py(),
            instance::kind_of(slf),
            instance::message_bytes(slf),
        )
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::copy(slf)
    }

    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::copy(slf)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        reduce_message(slf, Self::__bytes__(slf))
    }

    /// Returns a view of the message as a structured numpy array of no dimensions: nothing is
    /// copied.
    fn to_numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        dtype::array_view(slf)
    }

    fn __bytes__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyBytes> {
        PyBytes::new(slf.py(), instance::message_bytes(slf))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let class = slf.get_type();
        let mut text = String::new();
        field::write_message(&mut text, &class.module()?.to_string_lossy(), slf)?;
        Ok(text)
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let same_class = slf.get_type().is(other.get_type());
        match op {
            CompareOp::Eq if same_class => instance::are_equal(slf, other).into_bound_py_any(py),
            CompareOp::Ne if same_class => (!instance::are_equal(slf, other)).into_bound_py_any(py),
            _ => Ok(py.NotImplemented().into_bound(py)),
        }
    }
}

/// Registers the base class of messages and its functions in the Python module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Message>()?;
    for name in ["dtype", "__horus_dtype__"] {
        module.py().get_type::<Message>().setattr(name, DType)?;
    }
    module.add_function(wrap_pyfunction!(py_timestamp_now_ns, module)?)
}

/// Returns the time for a message's `timestamp_ns`: CLOCK_REALTIME, in nanoseconds since 1970.
#[pyfunction]
#[pyo3(name = "timestamp_now_ns")]
fn py_timestamp_now_ns() -> u64 {
    timestamp_now_ns()
}
