//! Python: what `import horus` is made of, under `horus._horus`.
//!
//! No logic is here: what Python says is converted, one function of `horus_core` called, and what
//! it answers converted back.

mod buffer;
mod call;
mod error;
mod message;
mod msgpack;
mod namespace;
mod numpy;
mod scheduler;
mod topic;
mod wait;

use pyo3::prelude::*;

/// The native part of `horus`.
#[pymodule(gil_used = true)]
fn _horus(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    module.add("__build_profile__", profile)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::register(module)?;
    module.add_class::<namespace::PyNamespace>()?;
    wait::register(module)?;
    message::register(module)?;
    msgpack::register(module)?;
    topic::register(module)?;
    scheduler::register(module)?;
    // WHY: it would name all of this, and what users are to import is named by `horus`.
    module.delattr("__all__")
}
