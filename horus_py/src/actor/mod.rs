//! Actors whose handlers are Python objects, and inboxes from which Python threads receive
//! messages.
//!
//! Each Python function here converts its arguments, calls one function of `horus_core`, and
//! converts the result. This module imports `scheduler` and `wait`, and no other module imports it.

pub(crate) mod actors;
pub(crate) mod address;
pub(crate) mod answer;
pub(crate) mod behaviour;
pub(crate) mod burst;
pub(crate) mod context;
pub(crate) mod error;
pub(crate) mod inbox;
pub(crate) mod inbox_set;
pub(crate) mod mail;
pub(crate) mod question;

use pyo3::prelude::*;

/// Registers the classes and functions of this directory in the Python module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::register(module)?;
    actors::register(module)?;
    address::register(module)?;
    context::register(module)?;
    module.add_class::<answer::PyAnswer>()?;
    module.add_class::<inbox::PyInbox>()?;
    module.add_class::<inbox_set::PyInboxSet>()?;
    module.add_class::<question::PyQuestion>()?;
    module.add_function(wrap_pyfunction!(burst::_actor_bursts, module)?)
}
