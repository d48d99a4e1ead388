//! The scheduler that has a Python node. WHY it is known: the node has one set of topics, so that
//! only one scheduler at a time may run it.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyWeakrefReference};

use crate::scheduler::error::PlanError;
use crate::scheduler::py_scheduler::PyScheduler;

/// The purpose for which a scheduler takes a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Addition,
    /// The node replaces another one of the same scheduler. It may have been in this scheduler
    /// before.
    Replacement,
}

/// Opens the topics of a node, and calls `take` with its settings, which gives the node to the
/// scheduler. If `take` fails, closes the topics.
///
/// # Errors
///
/// `PlanError` if another scheduler has the node and its run is not over; errors of the topics, the
/// settings and `take`.
pub(crate) fn take_node<R>(
    scheduler: &Bound<'_, PyScheduler>,
    node: &Bound<'_, PyAny>,
    purpose: Purpose,
    take: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<R>,
) -> PyResult<R> {
    let py = node.py();
    py.import("horus._node")?
        .call_method1("expect_node", (node,))?;
    check_is_free(scheduler, node, purpose)?;
    let settings = node.call_method1("_settings", (scheduler.get().namespace(py),))?;
    match take(settings.cast::<PyDict>()?) {
        Ok(taken) => {
            node.call_method1("_keep_opened", (PyWeakrefReference::new(scheduler)?,))?;
            Ok(taken)
        }
        Err(error) => {
            node.call_method0("_close_opened")?;
            Err(error)
        }
    }
}

fn check_is_free(
    scheduler: &Bound<'_, PyScheduler>,
    node: &Bound<'_, PyAny>,
    purpose: Purpose,
) -> PyResult<()> {
    let owner = node.getattr("_in_scheduler")?;
    if owner.is_none() {
        return Ok(());
    }
    let owner = owner.call0()?;
    let Ok(owner) = owner.cast::<PyScheduler>() else {
        // The scheduler was dropped.
        return Ok(());
    };
    let returns = purpose == Purpose::Replacement && owner.is(scheduler);
    if returns || owner.get().is_over(node.py()) {
        return Ok(());
    }
    let name: String = node.getattr("name")?.extract()?;
    Err(PlanError::new_err(format!(
        "node '{name}' is in scheduler '{}' already, whose run is not over: create another node \
         for this scheduler",
        owner.get().name()
    )))
}
