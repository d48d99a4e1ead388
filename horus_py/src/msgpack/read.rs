//! The result of reading: a Python object, or the reason why there is none.

use horus_core::value::DecodeError;
use pyo3::exceptions::PyUnicodeDecodeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The reason why there is no object.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The bytes are not the MessagePack of anything that Python has.
    Malformed,
    /// Something else went wrong, as too little memory.
    Python(PyErr),
}

impl From<DecodeError> for Unread {
    fn from(_error: DecodeError) -> Self {
        Self::Malformed
    }
}

impl From<PyErr> for Unread {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

pub(super) type Read<'py> = Result<Bound<'py, PyAny>, Unread>;

/// Makes a text of its bytes.
#[inline]
pub(super) fn text<'py>(py: Python<'py>, bytes: &[u8]) -> Read<'py> {
    match PyString::from_bytes(py, bytes) {
        Ok(text) => Ok(text.into_any()),
        Err(error) if error.is_instance_of::<PyUnicodeDecodeError>(py) => Err(Unread::Malformed),
        Err(error) => Err(error.into()),
    }
}
