//! The exceptions of schedulers.

use pyo3::create_exception;
use pyo3::prelude::*;

use crate::error::Error;

create_exception!(
    horus,
    SchedulerError,
    Error,
    "A scheduler could not be made, started or told."
);
create_exception!(
    horus,
    PlanError,
    SchedulerError,
    "What was asked for a node contradicts itself; says why."
);
create_exception!(
    horus,
    CommandError,
    SchedulerError,
    "A node or scheduler could not be told."
);

/// Registers the exceptions of this file in the Python module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("SchedulerError", py.get_type::<SchedulerError>())?;
    module.add("PlanError", py.get_type::<PlanError>())?;
    module.add("CommandError", py.get_type::<CommandError>())
}

/// Returns the Python exception for a scheduler that could not be made, started or inspected.
#[cold]
pub(crate) fn scheduler_error(error: impl std::fmt::Display) -> PyErr {
    SchedulerError::new_err(error.to_string())
}

/// Returns the Python exception for a command that could not be given to a scheduler.
#[cold]
pub(crate) fn command_error(error: impl std::fmt::Display) -> PyErr {
    CommandError::new_err(error.to_string())
}
