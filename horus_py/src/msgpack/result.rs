//! The result of unpacking a message: a Python object, or the reason why there is none.

use horus_core::value::DecodeError;
use pyo3::exceptions::PyUnicodeDecodeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The reason why a message was not converted to a Python object.
#[derive(Debug)]
pub(crate) enum UnpackError {
    /// The bytes are not valid MessagePack, or encode a value that Python cannot represent.
    Malformed,
    /// Python raised an exception, for example because memory is exhausted.
    Python(PyErr),
}

impl From<DecodeError> for UnpackError {
    fn from(_error: DecodeError) -> Self {
        Self::Malformed
    }
}

impl From<PyErr> for UnpackError {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

pub(super) type UnpackResult<'py> = Result<Bound<'py, PyAny>, UnpackError>;

/// Converts UTF-8 bytes to a Python `str`.
#[inline]
pub(super) fn decode_text<'py>(py: Python<'py>, bytes: &[u8]) -> UnpackResult<'py> {
    match PyString::from_bytes(py, bytes) {
        Ok(text) => Ok(text.into_any()),
        Err(error) if error.is_instance_of::<PyUnicodeDecodeError>(py) => {
            Err(UnpackError::Malformed)
        }
        Err(error) => Err(error.into()),
    }
}
