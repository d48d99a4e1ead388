//! Topics as Python objects: publishers, subscribers, both in one handle, wait sets, and
//! introspection for tools.
//!
//! Each Python function here converts its arguments, calls one function of `horus_core`, and
//! converts the result. This module imports `message`, `msgpack` and `wait`.

pub(crate) mod codec;
pub(crate) mod endpoint;
pub(crate) mod endpoint_events;
pub(crate) mod endpoint_wait;
pub(crate) mod handles;
pub(crate) mod introspect;
pub(crate) mod loan;
pub(crate) mod publisher_endpoint;
pub(crate) mod qos;
pub(crate) mod send_recv;
pub(crate) mod stats;
pub(crate) mod subscriber_endpoint;
pub(crate) mod wait_set;

use pyo3::prelude::*;

/// Registers the classes and functions of this directory in the Python module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<handles::PyPublisher>()?;
    module.add_class::<handles::PySubscriber>()?;
    module.add_class::<handles::PyTopic>()?;
    module.add_class::<endpoint_events::PyEndpointEvents>()?;
    module.add_class::<endpoint_events::PyEndpointEvent>()?;
    module.add_class::<stats::PyStats>()?;
    module.add_class::<wait_set::PyWaitSet>()?;
    module.add_class::<wait_set::PyReady>()?;
    introspect::register(module)?;
    send_recv::register(module.py())
}
