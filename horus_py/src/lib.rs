//! Python: what `import horus` is made of, under `horus._horus`.
//!
//! No logic is here: what Python says is converted, one function of `horus_core` called, and what
//! it answers converted back.

mod codec;
mod counted;
mod declare;
mod dlpack;
mod dtype;
mod end;
mod error;
mod ext;
mod fast;
mod field;
mod framed;
mod handle;
mod hang;
mod inbox;
mod introspect;
mod kind;
mod message;
mod namespace;
mod node;
mod numpy;
mod outbox;
mod pack;
mod qos;
mod remote;
mod report;
mod scheduler;
mod settings;
mod stats;
mod task;
mod topic;
mod turns;
mod unpack;
mod wait_set;
mod waits;
mod wakeups;

use pyo3::prelude::*;

/// The native part of `horus`.
#[pymodule(gil_used = true)]
fn _horus(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    module.add("__build_profile__", profile)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::register(module)?;
    message::register(module)?;
    module.add_class::<namespace::PyNamespace>()?;
    module.add_class::<topic::PyPublisher>()?;
    module.add_class::<topic::PySubscriber>()?;
    module.add_class::<topic::PyTopic>()?;
    module.add_class::<stats::PyStats>()?;
    module.add_class::<ext::PyExt>()?;
    module.add_class::<wait_set::PyWaitSet>()?;
    module.add_class::<wait_set::PyReady>()?;
    module.add_class::<wakeups::Wakeups>()?;
    module.add_function(wrap_pyfunction!(codec::_pack, module)?)?;
    module.add_function(wrap_pyfunction!(codec::_unpack, module)?)?;
    module.add_function(wrap_pyfunction!(codec::_layouts_made, module)?)?;
    module.add_function(wrap_pyfunction!(declare::_declare, module)?)?;
    module.add_function(wrap_pyfunction!(waits::exiting, module)?)?;
    module.add_function(wrap_pyfunction!(wakeups::above, module)?)?;
    introspect::register(module)?;
    scheduler::register(module)?;
    fast::register(module.py())?;
    // WHY: it would name all of this, and what users are to import is named by `horus`.
    module.delattr("__all__")
}
