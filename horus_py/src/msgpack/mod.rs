//! Converts Python objects to MessagePack and back. This is the only real algorithm in this crate.
//!
//! This module does not depend on topics: its callers pass the bytes that it reads or writes. It
//! imports `message`, in order to name the class of an object in an error, and the files `buffer`
//! and `numpy`.

pub(crate) mod ext;
pub(crate) mod functions;
pub(crate) mod key;
pub(crate) mod key_cache;
pub(crate) mod layout;
pub(crate) mod pack;
pub(crate) mod result;
pub(crate) mod unpack;

use pyo3::prelude::*;

/// Registers the classes and functions of this directory in the Python module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ext::PyExt>()?;
    functions::register(module)
}
