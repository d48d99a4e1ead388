//! Handles, which control a running scheduler from any thread of its process.

use std::time::Duration;

use horus_core::scheduler::{CommandError, Handle, Rate, Swap, SwapState};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::scheduler::async_node::PreparedNode;
use crate::scheduler::error::command_error;
use crate::scheduler::node_owner::{NodePurpose, open_topics_and_take_node};
use crate::scheduler::py_scheduler::PyScheduler;
use crate::scheduler::report::PyMetrics;
use crate::wait::timeout::WaitPolicy;

/// Stops a run and changes its nodes, from any thread. No method waits for a node.
#[pyclass(frozen, name = "Handle", module = "horus")]
#[derive(Debug)]
pub(crate) struct PySchedulerHandle {
    inner: Handle,
    scheduler: Py<PyScheduler>,
}

impl PySchedulerHandle {
    const fn new(inner: Handle, scheduler: Py<PyScheduler>) -> Self {
        Self { inner, scheduler }
    }

    fn inner(&self) -> PyResult<&Handle> {
        self.scheduler.get().check_not_forked()?;
        Ok(&self.inner)
    }
}

#[pymethods]
impl PySchedulerHandle {
    /// Shows its references to Python's garbage collector.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.scheduler)
    }

    /// Makes every node shut down after its current tick.
    fn stop(&self) -> PyResult<()> {
        self.inner()?.stop();
        Ok(())
    }

    /// The names of the nodes, in the order in which they were added.
    fn nodes(&self) -> PyResult<Vec<String>> {
        Ok(self.inner()?.nodes())
    }

    /// Returns the counters and times of the node so far.
    fn metrics(&self, node: &str) -> PyResult<PyMetrics> {
        self.inner()?
            .metrics(node)
            .map(PyMetrics)
            .map_err(command_error)
    }

    /// Makes the node skip its ticks until `resume`.
    fn pause(&self, node: &str) -> PyResult<()> {
        self.inner()?.pause(node).map_err(command_error)
    }

    /// Makes a paused node tick again.
    fn resume(&self, node: &str) -> PyResult<()> {
        self.inner()?.resume(node).map_err(command_error)
    }

    /// Shuts the node down, for the rest of the run.
    fn stop_node(&self, node: &str) -> PyResult<()> {
        self.inner()?.stop_node(node).map_err(command_error)
    }

    /// Makes the node tick at another rate, in hertz, from its next due time on.
    fn set_rate(&self, node: &str, rate: f64) -> PyResult<()> {
        let rate = Rate::hz(rate).check().map_err(command_error)?;
        self.inner()?.set_rate(node, rate).map_err(command_error)
    }

    /// Replaces the node by another `horus.Node` between two ticks. The rate and the policies of
    /// the node do not change. If topics wake the node, the new node has to have the subscribers of
    /// the old one in its `on`; otherwise it is refused (`CommandError`). If the new node's `init`
    /// or one of its first ten ticks fails, the old node continues.
    fn swap(&self, node: &str, replacement: &Bound<'_, PyAny>) -> PyResult<PySwap> {
        let inner = self.inner()?;
        let scheduler = self.scheduler.bind(replacement.py());
        let run_exceptions = scheduler.get().run_exceptions();
        open_topics_and_take_node(
            scheduler,
            replacement,
            NodePurpose::Replacement,
            |settings| {
                let woken_nodes = scheduler.get().woken_nodes();
                let shares_wakers = woken_nodes.has_same_waking_subscribers(node, settings)?;
                // The garbage collector need not know them: a scheduler that runs is not garbage.
                let mut held = Vec::new();
                let owner = (run_exceptions, NodePurpose::Replacement);
                let swap = match PreparedNode::new(replacement, settings, owner, &mut held)? {
                    PreparedNode::Async(replacement) => {
                        let swap = inner.swap(node, replacement);
                        return swap.map(PySwap).map_err(async_replacement_error);
                    }
                    PreparedNode::Plain(replacement) if shares_wakers => {
                        inner.swap_with_same_wakers(node, replacement)
                    }
                    PreparedNode::Plain(replacement) => inner.swap(node, replacement),
                };
                swap.map(PySwap).map_err(command_error)
            },
        )
    }
}

/// Returns the Python exception for a swap whose replacement has an asynchronous tick.
#[cold]
fn async_replacement_error(error: CommandError) -> PyErr {
    match error {
        // WHY not the text of the error: its advice is to share the subscribers, which does not
        // help here.
        CommandError::WokenByTopics { node } => command_error(format!(
            "node '{node}' cannot be replaced by a node whose tick is async def: topics wake it, \
             and they wake only nodes with a plain tick; give the new node a plain tick (def \
             tick), and the subscribers that wake the old one"
        )),
        error => command_error(error),
    }
}

/// A swap that was requested, and its state.
#[pyclass(frozen, name = "Swap", module = "horus")]
#[derive(Debug)]
pub(crate) struct PySwap(pub(crate) Swap);

#[pymethods]
impl PySwap {
    /// The state: `'pending'`, `'on_trial'`, `'done'`, `'rolled_back'` or `'abandoned'`.
    #[getter]
    fn state(&self) -> &'static str {
        state_name(&self.0.state())
    }

    /// The reason why the swap was rolled back; `None` in the other states.
    #[getter]
    fn reason(&self) -> Option<String> {
        match self.0.state() {
            SwapState::RolledBack(reason) => Some(reason),
            _ => None,
        }
    }

    /// Waits at most `timeout` seconds until the swap is done, rolled back or abandoned, and
    /// returns its state. Must not be called in a tick.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<&'static str> {
        let is_final =
            |state: &SwapState| !matches!(state, SwapState::Pending | SwapState::OnTrial);
        let wait_policy = timeout.map_or(Ok(WaitPolicy::unlimited()), WaitPolicy::from_timeout)?;
        let wait = |slice: Duration| Some(self.0.wait(slice)).filter(is_final);
        wait_policy.wait(py, wait, || Ok(()))?;
        Ok(self.state())
    }
}

const fn state_name(state: &SwapState) -> &'static str {
    match state {
        SwapState::OnTrial => "on_trial",
        SwapState::Done => "done",
        SwapState::RolledBack(_) => "rolled_back",
        SwapState::Abandoned => "abandoned",
        _ => "pending",
    }
}

#[pymethods]
impl PyScheduler {
    /// Returns a handle, which stops the run and changes its nodes from any thread.
    fn handle(slf: &Bound<'_, Self>) -> PyResult<PySchedulerHandle> {
        slf.get().check_not_forked()?;
        Ok(PySchedulerHandle::new(
            slf.get().core_handle().clone(),
            slf.clone().unbind(),
        ))
    }

    /// Replaces the node of this name by another `horus.Node`, like `Handle.swap`.
    fn swap(slf: &Bound<'_, Self>, node: &str, replacement: &Bound<'_, PyAny>) -> PyResult<PySwap> {
        Self::handle(slf)?.swap(node, replacement)
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PySchedulerHandle>()?;
    module.add_class::<PySwap>()
}
