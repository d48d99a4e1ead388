//! The Python base class of messages of fixed size, with the methods that all of them have.

use horus_core::message::timestamp_now_ns;
use pyo3::IntoPyObjectExt;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};

use crate::message::dtype::{self, DType};
use crate::message::field;
use crate::message::instance::{self, Message};
use crate::message::kind::{self, MessageKind};

#[pymethods]
impl Message {
    /// Makes a message from its bytes.
    #[classmethod]
    fn from_bytes<'py>(
        class: &Bound<'py, PyType>,
        bytes: pyo3::buffer::PyBuffer<u8>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let bytes = bytes.to_vec(class.py())?;
        object_from_checked_bytes(class, kind_of_message_class(class)?, &bytes)
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
        if !kind.has_timestamp() {
            let text = format!("{} has no field 'timestamp_ns'", kind.schema.name);
            return Err(PyTypeError::new_err(text));
        }
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
        let py = slf.py();
        let restore = py.import("horus._horus")?.getattr("_restore")?;
        let bytes = PyBytes::new(py, instance::message_bytes(slf));
        (
            restore,
            (slf.get_type(), instance::kind_of(slf).payload.hash(), bytes),
        )
            .into_bound_py_any(py)
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
    module.add_function(wrap_pyfunction!(_restore, module)?)?;
    module.add_function(wrap_pyfunction!(py_timestamp_now_ns, module)?)
}

/// Makes a message of `class` from its bytes, if the class still has this schema hash. `pickle`
/// calls it.
#[pyfunction]
#[pyo3(signature = (class, hash, bytes, /))]
fn _restore<'py>(
    class: &Bound<'py, PyAny>,
    hash: u128,
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    let kind = kind_of_message_class(class)?;
    if kind.payload.hash() != hash {
        let text = format!(
            "the pickled {} has other fields than this one",
            kind.schema.name
        );
        return Err(PyValueError::new_err(text));
    }
    object_from_checked_bytes(class, kind, bytes)
}

/// Returns the time for a message's `timestamp_ns`: CLOCK_REALTIME, in nanoseconds since 1970.
#[pyfunction]
#[pyo3(name = "timestamp_now_ns")]
fn py_timestamp_now_ns() -> u64 {
    timestamp_now_ns()
}

fn kind_of_message_class(class: &Bound<'_, PyAny>) -> PyResult<&'static MessageKind> {
    let wanted = || PyTypeError::new_err(format!("{class} is not a class of messages"));
    kind::kind_of_argument(class).ok_or_else(wanted)
}

fn object_from_checked_bytes<'py>(
    class: &Bound<'py, PyAny>,
    kind: &'static MessageKind,
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    if bytes.len() != kind.bytes {
        let name = kind.schema.name;
        let found = bytes.len();
        let wanted = kind.bytes;
        let text = format!("{found} bytes, and a {name} has {wanted}");
        return Err(PyValueError::new_err(text));
    }
    instance::message_from_bytes(class.py(), kind, bytes)
}
