//! Messages as Python objects: their classes, fields and data, and the declaration of new ones.
//!
//! This module does not depend on topics or MessagePack. It imports no other directory of this
//! crate, and only the files `buffer`, `call`, `error` and `numpy`.

pub(crate) mod base;
pub(crate) mod bytes;
pub(crate) mod class;
pub(crate) mod count_fields;
pub(crate) mod counts;
pub(crate) mod declaration;
pub(crate) mod dlpack;
pub(crate) mod dtype;
pub(crate) mod field;
pub(crate) mod framed;
pub(crate) mod instance;
pub(crate) mod kind;
pub(crate) mod standard;

use pyo3::prelude::*;

pub(crate) use instance::{is_message, message_bytes, message_bytes_mut, zeroed_message};

/// Registers the classes and functions of this directory in the Python module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    base::register(module)?;
    framed::base::register(module)?;
    standard::register(module)?;
    module.add_function(wrap_pyfunction!(bytes::_restore, module)?)?;
    module.add_function(wrap_pyfunction!(count_fields::_counted_arrays, module)?)?;
    module.add_function(wrap_pyfunction!(declaration::_declare, module)?)
}
