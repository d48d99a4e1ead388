//! Waiting without the GIL, for a limited time, and waking event loops.
//!
//! Knows nothing of what is waited for. Imports no other room, and of the files beside the rooms
//! `error`.

pub(crate) mod duration;
pub(crate) mod gil;
pub(crate) mod timeout;
pub(crate) mod wakeups;

use pyo3::prelude::*;

/// Adds the classes and functions of this room to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<wakeups::Wakeups>()?;
    module.add_function(wrap_pyfunction!(gil::exiting, module)?)?;
    module.add_function(wrap_pyfunction!(wakeups::above, module)?)
}
