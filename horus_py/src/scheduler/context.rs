//! The context of a tick.

use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use horus_core::scheduler::Context;
use pyo3::prelude::*;

use crate::error::Error;

/// A tick, as its node sees it. Of no use when the tick is over.
#[pyclass(frozen, name = "Context", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyContext {
    /// Null outside of ticks. Written and followed only with the interpreter attached.
    pub(super) current: AtomicPtr<Context<'static>>,
    /// The node whose tick it is.
    #[pyo3(get)]
    pub(super) node: Py<PyAny>,
}

impl PyContext {
    #[inline]
    fn with<R>(&self, ask: impl FnOnce(&mut Context<'static>) -> R) -> PyResult<R> {
        // Relaxed: the GIL orders what its holders do.
        let current = self.current.load(Ordering::Relaxed);
        if current.is_null() {
            return Err(Error::new_err(
                "the tick is over, and its context with it: do not keep it",
            ));
        }
        // SAFETY: not null only while `PythonNode::call` has exclusive use of the context and
        // waits for Python; `ask` calls nothing of Python, so nobody else is here.
        Ok(ask(unsafe { &mut *current }))
    }
}

#[pymethods]
impl PyContext {
    /// Number of this tick of this node, from 0 on.
    #[getter]
    fn tick(&self) -> PyResult<u64> {
        self.with(|context| context.tick())
    }

    /// The time at which the tick was due, in nanoseconds of `time.monotonic_ns()`.
    #[getter]
    fn scheduled_ns(&self) -> PyResult<u64> {
        self.with(|context| context.scheduled_ns())
    }

    /// The time at which the tick began, in nanoseconds of `time.monotonic_ns()`.
    #[getter]
    fn started_ns(&self) -> PyResult<u64> {
        self.with(|context| context.started_ns())
    }

    /// The time from the due time to the begin of the tick, in seconds.
    #[getter]
    fn lateness(&self) -> PyResult<f64> {
        self.with(|context| context.lateness().as_secs_f64())
    }

    /// From one tick to the next, in seconds; 0 without a rate.
    #[getter]
    fn period(&self) -> PyResult<f64> {
        self.with(|context| context.period().as_secs_f64())
    }

    /// The rest of the budget, in seconds; infinite without one.
    fn budget_left(&self) -> PyResult<f64> {
        let left = self.with(|context| context.budget_left())?;
        Ok(if left == Duration::MAX { f64::INFINITY } else { left.as_secs_f64() })
    }

    /// Passes a checkpoint, 1 for the first of a tick.
    fn checkpoint(&self, number: u64) -> PyResult<()> {
        self.with(|context| context.checkpoint(number))
    }

    /// A random number from 0 to 1, the same in every simulated run with the same seed.
    fn random(&self) -> PyResult<f64> {
        self.with(Context::random_f64)
    }

    /// Asks the scheduler to stop after this tick.
    fn stop(&self) -> PyResult<()> {
        self.with(Context::stop)
    }
}
