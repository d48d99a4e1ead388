//! Python functions that pack and unpack without a topic, for tests and tools.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::msgpack::key_cache::KeyCache;
use crate::msgpack::pack::{PackError, pack};
use crate::msgpack::result::UnpackError;
use crate::msgpack::unpack::unpack;

/// Registers the functions of this file in the Python module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_pack, module)?)?;
    module.add_function(wrap_pyfunction!(_unpack, module)?)?;
    module.add_function(wrap_pyfunction!(_layouts_made, module)?)
}

/// Returns the bytes that a topic without a message type carries for an object.
#[pyfunction]
#[pyo3(signature = (object, /))]
fn _pack<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let mut bytes = vec![0; 4096];
    loop {
        match pack(object, &mut bytes) {
            Ok(length) => return Ok(PyBytes::new(object.py(), &bytes[..length])),
            Err(PackError::Python(error)) => return Err(error),
            Err(PackError::TooLong(length)) => bytes.resize(usize::try_from(length)?, 0),
        }
    }
}

/// Returns the number of dict layouts that one subscriber makes while it receives these messages.
#[pyfunction]
#[pyo3(signature = (messages, /))]
fn _layouts_made(py: Python<'_>, messages: Vec<Vec<u8>>) -> usize {
    let mut keys = KeyCache::default();
    for message in messages {
        let _object = unpack(py, &message, &mut keys);
    }
    keys.layouts_made
}

/// Unpacks `data` as a topic without a message type does. Unpacks the messages in `after` first,
/// with the same cache of keys, which must not change the result.
#[pyfunction]
#[pyo3(signature = (data, /, *, after = Vec::new()))]
fn _unpack<'py>(py: Python<'py>, data: &[u8], after: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyAny>> {
    let mut keys = KeyCache::default();
    for earlier in after {
        let _object = unpack(py, &earlier, &mut keys);
    }
    unpack(py, data, &mut keys).map_err(|error| match error {
        UnpackError::Malformed => {
            PyValueError::new_err("not the MessagePack of anything Python has")
        }
        UnpackError::Python(error) => error,
    })
}
