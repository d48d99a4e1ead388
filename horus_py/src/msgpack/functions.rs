//! Functions of Python that pack and unpack without a topic, for tests and tools.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::msgpack::keys::Keys;
use crate::msgpack::pack::{Unpacked, pack};
use crate::msgpack::read::Unread;
use crate::msgpack::unpack::unpack;

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_pack, module)?)?;
    module.add_function(wrap_pyfunction!(_unpack, module)?)?;
    module.add_function(wrap_pyfunction!(_layouts_made, module)?)
}

/// The bytes that a topic of anything carries for an object: for tests and tools.
#[pyfunction]
#[pyo3(signature = (object, /))]
fn _pack<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let mut bytes = vec![0; 4096];
    loop {
        match pack(object, &mut bytes) {
            Ok(length) => return Ok(PyBytes::new(object.py(), &bytes[..length])),
            Err(Unpacked::Python(error)) => return Err(error),
            Err(Unpacked::TooLong(length)) => bytes.resize(usize::try_from(length)?, 0),
        }
    }
}

/// Returns the number of layouts of dicts that one subscriber makes for these messages: for tests.
#[pyfunction]
#[pyo3(signature = (messages, /))]
fn _layouts_made(py: Python<'_>, messages: Vec<Vec<u8>>) -> usize {
    let mut keys = Keys::default();
    for message in messages {
        let _object = unpack(py, &message, &mut keys);
    }
    keys.layouts_made
}

/// The object that a topic of anything makes of these bytes, after it has made some of others:
/// what it remembers of them must not show.
#[pyfunction]
#[pyo3(signature = (data, /, *, after = Vec::new()))]
fn _unpack<'py>(py: Python<'py>, data: &[u8], after: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyAny>> {
    let mut keys = Keys::default();
    for earlier in after {
        let _object = unpack(py, &earlier, &mut keys);
    }
    unpack(py, data, &mut keys).map_err(|error| match error {
        Unread::Malformed => PyValueError::new_err("not the MessagePack of anything Python has"),
        Unread::Python(error) => error,
    })
}
