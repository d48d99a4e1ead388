//! Python objects as MessagePack, and back: the only algorithm of this crate.
//!
//! Knows no topics: it writes to the bytes that it is given, and reads from them. Imports of
//! `message` what an object is, for an error, and `buffer` and `numpy` beside the rooms.

pub(crate) mod ext;
pub(crate) mod functions;
pub(crate) mod key;
pub(crate) mod keys;
pub(crate) mod layout;
pub(crate) mod pack;
pub(crate) mod read;
pub(crate) mod unpack;

use pyo3::prelude::*;

/// Adds the classes and functions of this room to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ext::PyExt>()?;
    functions::register(module)
}
