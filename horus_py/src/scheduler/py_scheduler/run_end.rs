//! The end of a run, and what the program learns of it: the report, or an exception.

use std::thread;
use std::time::{Duration, Instant};

use horus_core::scheduler::{RunError, StopReason};
use pyo3::prelude::*;

use super::{
    PyScheduler, RUNNING_SCHEDULERS, SchedulerStage, lock, not_started_error, run_over_error,
};
use crate::error::BusyError;
use crate::scheduler::error::scheduler_error;
use crate::scheduler::events::join_event_thread;
use crate::scheduler::held_signals::SignalDeferralGuard;
use crate::scheduler::report::{self, PyReport};
use crate::scheduler::run_exceptions::{handle_signal, node_failed_error};
use crate::wait::gil::run_detached;

/// Maximum time for which the end of a `with` block waits until a call of another thread returns,
/// after it has stopped the run.
const OTHER_CALL_WAIT_MAX: Duration = Duration::from_secs(1);
/// The time between two attempts to take the place of that call.
const OTHER_CALL_POLL_INTERVAL: Duration = Duration::from_millis(1);

impl PyScheduler {
    /// Ends the run at the end of a `with` block, if the scheduler runs. If another thread is in a
    /// call of the scheduler, first stops the run, and waits until that call has returned. Raises
    /// the failure of a node only if `raise_failure` is true. Does nothing in a child process that
    /// inherited the scheduler through `fork`.
    ///
    /// # Errors
    ///
    /// `BusyError` if the call has not returned after [`OTHER_CALL_WAIT_MAX`], apart from the
    /// errors of the run.
    pub(crate) fn end_run_of_with_block(
        &self,
        py: Python<'_>,
        raise_failure: bool,
    ) -> PyResult<()> {
        // WHY no error: the run is that of the parent process, and nothing of it is left to end.
        if self.check_not_forked().is_err() {
            return Ok(());
        }
        self.check_not_in_own_call()?;
        let end = Instant::now() + OTHER_CALL_WAIT_MAX;
        let mut entered = loop {
            match self.enter_stage(py) {
                Err(error) if error.is_instance_of::<BusyError>(py) && Instant::now() < end => {
                    // WHY: nobody may be left who ends the nodes.
                    self.handle.stop();
                    run_detached(py, || thread::sleep(OTHER_CALL_POLL_INTERVAL));
                }
                entered => break entered?,
            }
        };
        match entered.get() {
            SchedulerStage::Running(_) => self
                .finish_run(py, entered.get(), None, raise_failure)
                .map(drop),
            _ => Ok(()),
        }
    }

    /// Ends a run that has failed, and raises the failure. `finish` then does not raise it again.
    pub(super) fn end_failed_run(
        &self,
        py: Python<'_>,
        stage: &mut SchedulerStage,
    ) -> PyResult<()> {
        let outcome = self.finish_run(py, stage, None, true);
        *stage = SchedulerStage::Failed;
        outcome.map(drop)
    }

    pub(super) fn finish_run(
        &self,
        py: Python<'_>,
        stage: &mut SchedulerStage,
        interrupt: Option<PyErr>,
        raise_failure: bool,
    ) -> PyResult<Py<PyReport>> {
        let running = match std::mem::replace(stage, SchedulerStage::Over) {
            SchedulerStage::Running(running) => running,
            SchedulerStage::New(scheduler) => {
                *stage = SchedulerStage::New(scheduler);
                return Err(not_started_error());
            }
            SchedulerStage::Failed | SchedulerStage::Over => return Err(run_over_error()),
        };
        let held = SignalDeferralGuard::begin(py, interrupt.is_some());
        // The exception for a failed node is made from the report.
        let report = run_detached(py, || running.finish()).or_else(RunError::into_report);
        let interrupt = held.and_then(|held| held.end(py)).or(interrupt);
        let report = report.map_err(scheduler_error)?;
        let is_this = |other: &Py<Self>| std::ptr::eq(other.get(), self);
        let mut living = lock(&RUNNING_SCHEDULERS);
        let position = living.iter().position(is_this);
        // It is dropped after the lock is released, and is not the last reference: the caller has
        // one.
        let own = position.map(|position| living.swap_remove(position));
        drop(living);
        drop(own);
        self.store_report_or_raise(py, report, interrupt, raise_failure)
    }

    /// Stores the report of the run, and returns it. If the run did not end normally, raises the
    /// cause instead: an exception of a node, a signal or, if `raise_failure` is true, the failure
    /// of a node.
    pub(super) fn store_report_or_raise(
        &self,
        py: Python<'_>,
        report: horus_core::scheduler::Report,
        interrupt: Option<PyErr>,
        raise_failure: bool,
    ) -> PyResult<Py<PyReport>> {
        let signal = match report.reason {
            StopReason::Signal(signal) => Some(signal),
            _ => None,
        };
        let failed = match &report.reason {
            StopReason::Node { name, error } => Some((name.clone(), error.clone())),
            _ => None,
        };
        let report = Py::new(py, report::report_object(py, report)?)?;
        *lock(&self.report) = Some(report.clone_ref(py));
        if let Some(event_thread) = lock(&self.event_thread).take() {
            run_detached(py, || join_event_thread(&event_thread));
        }
        self.run_exceptions.drop_handle();
        let (name, text) = failed.unwrap_or_default();
        let cause = self.run_exceptions.take_exception_with_text(&text);
        if let Some(error) = interrupt.or_else(|| self.run_exceptions.take_error()) {
            return Err(error);
        }
        if raise_failure && !name.is_empty() {
            return Err(node_failed_error(py, (&name, &text), cause, &report)?);
        }
        signal.map_or(Ok(()), |signal| handle_signal(py, signal))?;
        Ok(report)
    }
}
