//! Schedulers as Python objects, nodes whose ticks are Python functions, and calls from the
//! scheduler's threads into Python.
//!
//! Each Python function here converts its arguments, calls one function of `horus_core`, and
//! converts the result. This module imports `message`, `topic` and `wait`; only `actor` imports
//! this module.

pub(crate) mod async_node;
pub(crate) mod context;
pub(crate) mod drop_attached;
pub(crate) mod error;
pub(crate) mod events;
pub(crate) mod handle;
pub(crate) mod held;
pub(crate) mod held_signals;
pub(crate) mod node;
pub(crate) mod node_owner;
pub(crate) mod own_calls;
pub(crate) mod py_scheduler;
pub(crate) mod python_calls;
pub(crate) mod remote;
pub(crate) mod report;
pub(crate) mod run_exceptions;
pub(crate) mod safe_state;
pub(crate) mod settings;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Registers the classes and functions of this directory in the Python module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::register(module)?;
    module.add_class::<py_scheduler::PyScheduler>()?;
    module.add_class::<context::PyContext>()?;
    handle::register(module)?;
    report::register(module)?;
    remote::register(module)?;
    module.add_function(wrap_pyfunction!(py_scheduler::_end_schedulers, module)?)?;
    module.add_function(wrap_pyfunction!(settings::_check_settings, module)?)?;
    let forget = wrap_pyfunction!(py_scheduler::_forget_schedulers_after_fork, module)?;
    let keywords = PyDict::new(module.py());
    keywords.set_item("after_in_child", forget)?;
    let no_arguments = PyTuple::empty(module.py());
    module
        .py()
        .import("os")?
        .call_method("register_at_fork", no_arguments, Some(&keywords))?;
    Ok(())
}
