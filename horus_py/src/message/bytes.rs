//! Makes messages from bytes that Python code gives, and pickles messages as their bytes.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::message::framed::data;
use crate::message::instance;
use crate::message::kind::{self, MessageKind};

/// Returns the kind of messages of `class`. Raises `TypeError` if it is not a message class.
pub(crate) fn kind_of_message_class(class: &Bound<'_, PyAny>) -> PyResult<&'static MessageKind> {
    let wanted = || PyTypeError::new_err(format!("{class} is not a class of messages"));
    kind::kind_of_argument(class).ok_or_else(wanted)
}

/// Makes a message from its bytes: all of its fields, and its data if messages of the kind have
/// data. Raises `ValueError` if these are not the bytes of exactly one message.
pub(crate) fn message_from_checked_bytes<'py>(
    py: Python<'py>,
    kind: &'static MessageKind,
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    let found = bytes.len();
    let name = kind.schema.name;
    if kind.framed.is_none() {
        if found != kind.bytes {
            let wanted = kind.bytes;
            let text = format!("{found} bytes, and a {name} has {wanted}");
            return Err(PyValueError::new_err(text));
        }
        return instance::message_from_bytes(py, kind, bytes);
    }
    let parts = data::header_and_stated_data_bytes(kind, bytes)
        .filter(|parts| parts.0.len() + parts.1 == found);
    let Some((header, data)) = parts else {
        let text = format!("{found} bytes that are no {name}");
        return Err(PyValueError::new_err(text));
    };
    let object = data::message_with_own_data(py, kind, header, data)?;
    data::copy_data_into_message(&object, &bytes[header.len()..]);
    Ok(object)
}

/// Returns the result of `__reduce__` for a message that consists of `bytes`.
pub(crate) fn reduce_message<'py>(
    message: &Bound<'py, PyAny>,
    bytes: Bound<'py, PyBytes>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = message.py();
    let restore = py.import("horus._horus")?.getattr("_restore")?;
    let hash = instance::kind_of(message).payload.hash();
    (restore, (message.get_type(), hash, bytes)).into_bound_py_any(py)
}

/// Makes a message of `class` from its bytes, if the class still has this schema hash. `pickle`
/// calls it.
#[pyfunction]
#[pyo3(signature = (class, hash, bytes, /))]
pub(crate) fn _restore<'py>(
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
    message_from_checked_bytes(class.py(), kind, bytes)
}
