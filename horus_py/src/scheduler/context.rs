//! The context of a tick.

use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use horus_core::scheduler::Context;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::error::Error;

/// The context that a node's tick gets. Every use after the tick raises an error.
#[pyclass(frozen, name = "Context", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyContext {
    /// The core library's context for the tick that runs; null outside of ticks. Replaced and
    /// dereferenced only while the interpreter is attached.
    pub(super) current: AtomicPtr<Context<'static>>,
    /// The node that ticks.
    #[pyo3(get)]
    pub(super) node: Py<PyAny>,
}

impl PyContext {
    #[inline]
    fn with_context<R>(&self, read: impl FnOnce(&mut Context<'static>) -> R) -> PyResult<R> {
        // Relaxed: the GIL orders what its holders do.
        let current = self.current.load(Ordering::Relaxed);
        if current.is_null() {
            return Err(Error::new_err(
                "the tick is over, and its context with it: do not keep it",
            ));
        }
        // SAFETY: not null only while `PythonNode::call` has exclusive use of the context and waits
        // for Python; `read` calls nothing of Python, so no other reference is used meanwhile.
        Ok(read(unsafe { &mut *current }))
    }
}

#[pymethods]
impl PyContext {
    /// Shows its references to Python's garbage collector.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.node)
    }

    /// The number of this tick of the node, from 0 on.
    #[getter]
    fn tick(&self) -> PyResult<u64> {
        self.with_context(|context| context.tick())
    }

    /// The time at which the tick was due, in nanoseconds of `time.monotonic_ns()`.
    #[getter]
    fn scheduled_ns(&self) -> PyResult<u64> {
        self.with_context(|context| context.scheduled_ns())
    }

    /// The time at which the tick began, in nanoseconds of `time.monotonic_ns()`.
    #[getter]
    fn started_ns(&self) -> PyResult<u64> {
        self.with_context(|context| context.started_ns())
    }

    /// The time from the due time to the start of the tick, in seconds.
    #[getter]
    fn lateness(&self) -> PyResult<f64> {
        self.with_context(|context| context.lateness().as_secs_f64())
    }

    /// The node's period, in seconds; 0 without a rate.
    #[getter]
    fn period(&self) -> PyResult<f64> {
        self.with_context(|context| context.period().as_secs_f64())
    }

    /// Returns the time that is left of the tick's budget, in seconds; infinite without a budget.
    fn budget_left(&self) -> PyResult<f64> {
        let left = self.with_context(|context| context.budget_left())?;
        Ok(if left == Duration::MAX {
            f64::INFINITY
        } else {
            left.as_secs_f64()
        })
    }

    /// True if the node is in its safe state during this tick, which happens only with
    /// `on_miss="safe_mode"`. Send nothing then that ends the safe state.
    #[getter]
    fn in_safe_state(&self) -> PyResult<bool> {
        self.with_context(|context| context.is_in_safe_state())
    }

    /// Reports that the tick has reached a checkpoint. The first one of a tick is 1.
    fn checkpoint(&self, number: u64) -> PyResult<()> {
        self.with_context(|context| context.checkpoint(number))
    }

    /// Returns a random number from 0 to 1. Simulated runs with the same seed get the same numbers.
    fn random(&self) -> PyResult<f64> {
        self.with_context(Context::random_f64)
    }

    /// Asks the scheduler to stop all nodes after this tick.
    fn stop(&self) -> PyResult<()> {
        self.with_context(Context::stop)
    }
}
