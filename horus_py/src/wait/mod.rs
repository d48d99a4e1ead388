//! Waiting without the GIL, for a limited time, and waking event loops.
//!
//! This module does not depend on what its callers wait for. It imports no other directory of this
//! crate, and only the file `error`.

pub(crate) mod duration;
pub(crate) mod forced_exit;
pub(crate) mod gil;
pub(crate) mod timeout;
pub(crate) mod wakeups;

use pyo3::prelude::*;

/// Registers the classes and functions of this directory in the Python module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<wakeups::Wakeups>()?;
    module.add_function(wrap_pyfunction!(gil::on_interpreter_exit, module)?)?;
    module.add_function(wrap_pyfunction!(wakeups::call_above_standard, module)?)
}
