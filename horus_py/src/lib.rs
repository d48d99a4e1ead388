//! The native part of the Python package `horus`, imported as `horus._horus`.
//!
//! It has almost no logic: each Python function converts its arguments, calls one function of
//! `horus_core`, and converts the result. The directories are, in this order, `wait`, `message`,
//! `msgpack`, `topic`, `scheduler` and `actor`. Each of them imports only directories before it.
//! The files beside the directories import none of them.

mod actor;
mod buffer;
mod call;
mod error;
mod log;
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
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    module.add("__build_profile__", profile)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::register(module)?;
    module.add_class::<namespace::PyNamespace>()?;
    log::register(module)?;
    wait::register(module)?;
    message::register(module)?;
    msgpack::register(module)?;
    topic::register(module)?;
    scheduler::register(module)?;
    actor::register(module)?;
    // WHY: `__all__` would list these private names; the package `horus` names what users import.
    module.delattr("__all__")
}
