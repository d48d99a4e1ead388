//! Python: what `import horus` is made of, under `horus._horus`.
//!
//! No logic is here: what Python says is converted, one function of `horus_core` called, and what
//! it answers converted back.

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
    message::instance::register(module)?;
    module.add_class::<namespace::PyNamespace>()?;
    module.add_class::<topic::handles::PyPublisher>()?;
    module.add_class::<topic::handles::PySubscriber>()?;
    module.add_class::<topic::handles::PyTopic>()?;
    module.add_class::<topic::stats::PyStats>()?;
    module.add_class::<msgpack::ext::PyExt>()?;
    module.add_class::<topic::wait_set::PyWaitSet>()?;
    module.add_class::<topic::wait_set::PyReady>()?;
    module.add_class::<wait::wakeups::Wakeups>()?;
    module.add_function(wrap_pyfunction!(topic::codec::_pack, module)?)?;
    module.add_function(wrap_pyfunction!(topic::codec::_unpack, module)?)?;
    module.add_function(wrap_pyfunction!(topic::codec::_layouts_made, module)?)?;
    module.add_function(wrap_pyfunction!(message::declaration::_declare, module)?)?;
    module.add_function(wrap_pyfunction!(wait::gil::exiting, module)?)?;
    module.add_function(wrap_pyfunction!(wait::wakeups::above, module)?)?;
    topic::introspect::register(module)?;
    scheduler::py_scheduler::register(module)?;
    topic::send_recv::register(module.py())?;
    // WHY: it would name all of this, and what users are to import is named by `horus`.
    module.delattr("__all__")
}
