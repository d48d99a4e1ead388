//! Python objects as MessagePack, and back: the only algorithm of this crate.
//!
//! This room does not know topics: it writes to bytes and reads from bytes that it is given. It
//! imports `message`, to name the class of an object in an error, and the files `buffer` and
//! `numpy` beside the rooms.

pub(crate) mod ext;
pub(crate) mod functions;
pub(crate) mod key;
pub(crate) mod key_cache;
pub(crate) mod layout;
pub(crate) mod pack;
pub(crate) mod result;
pub(crate) mod unpack;

use pyo3::prelude::*;

/// Adds the classes and functions of this directory to the Python module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ext::PyExt>()?;
    functions::register(module)
}
