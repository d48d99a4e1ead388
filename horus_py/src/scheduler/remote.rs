//! Access to schedulers of other processes: lists them, reads their events and sends them commands.

use horus_core::message::{NodeEvent, NodeMetrics};
use horus_core::scheduler::{self, Rate, RemoteScheduler, SchedulerInfo};
use pyo3::prelude::*;

use crate::error;
use crate::message::standard::python_message_of;
use crate::namespace::{PyNamespace, namespace_or_current};
use crate::scheduler::error::{command_error, scheduler_error};
use crate::topic::endpoint::Exclusive;

/// The state of a scheduler, as another process sees it.
#[pyclass(frozen, name = "SchedulerInfo", module = "horus")]
#[derive(Debug)]
pub(crate) struct PySchedulerInfo {
    /// The name of the scheduler.
    #[pyo3(get)]
    name: String,
    /// The process id, if it is known.
    #[pyo3(get)]
    process_id: Option<u32>,
    /// True if the process lives: the kernel says so, by its file lock.
    #[pyo3(get)]
    is_alive: bool,
    /// The nodes, as the scheduler last published them: `NodeMetrics`.
    #[pyo3(get)]
    nodes: Vec<Py<PyAny>>,
}

#[pymethods]
impl PySchedulerInfo {
    fn __repr__(&self) -> String {
        let lives = if self.is_alive { "alive" } else { "ended" };
        format!(
            "<horus.SchedulerInfo '{}', {lives}, {} nodes>",
            self.name,
            self.nodes.len()
        )
    }
}

fn python_scheduler_info(py: Python<'_>, info: SchedulerInfo) -> PyResult<PySchedulerInfo> {
    let node = |metrics: &NodeMetrics| python_message_of(py, metrics).map(Bound::unbind);
    let nodes = info.nodes.iter().map(node).collect::<PyResult<_>>()?;
    let SchedulerInfo {
        name,
        process_id,
        is_alive,
        ..
    } = info;
    Ok(PySchedulerInfo {
        name,
        process_id,
        is_alive,
        nodes,
    })
}

/// Returns the schedulers of a namespace, sorted by name: live ones, and ended ones that were not
/// removed.
#[pyfunction]
#[pyo3(signature = (namespace = None))]
fn schedulers(
    py: Python<'_>,
    namespace: Option<&Bound<'_, PyNamespace>>,
) -> PyResult<Vec<PySchedulerInfo>> {
    let namespace = namespace_or_current(namespace)?;
    let found = py
        .detach(|| scheduler::schedulers(&namespace))
        .map_err(scheduler_error)?;
    found
        .into_iter()
        .map(|found| python_scheduler_info(py, found))
        .collect()
}

/// Returns the last events (`NodeEvent`) of a scheduler, oldest first, also after it was killed.
#[pyfunction]
#[pyo3(signature = (name, namespace = None))]
fn black_box<'py>(
    py: Python<'py>,
    name: &str,
    namespace: Option<&Bound<'py, PyNamespace>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let namespace = namespace_or_current(namespace)?;
    let events = py.detach(|| scheduler::black_box(&namespace, name));
    let events = events.map_err(|error| error::from_topic_error(&error))?;
    events
        .iter()
        .map(|event: &NodeEvent| python_message_of(py, event))
        .collect()
}

/// Removes the status and the black box of a scheduler that has ended. Returns false if a process
/// has them open, as the scheduler itself has while it lives.
#[pyfunction]
#[pyo3(signature = (name, namespace = None))]
fn remove_scheduler_topics(
    py: Python<'_>,
    name: &str,
    namespace: Option<&Bound<'_, PyNamespace>>,
) -> PyResult<bool> {
    let namespace = namespace_or_current(namespace)?;
    let gone = py.detach(|| scheduler::remove_scheduler_topics(&namespace, name));
    gone.map_err(|error| error::from_topic_error(&error))
}

/// Sends commands to a scheduler of this or another process. Each method returns once the command
/// is sent; an empty node name means all nodes.
#[pyclass(frozen, name = "RemoteScheduler", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyRemoteScheduler {
    end: Exclusive<RemoteScheduler>,
}

#[pymethods]
impl PyRemoteScheduler {
    #[new]
    #[pyo3(signature = (name, namespace = None))]
    fn new(
        py: Python<'_>,
        name: &str,
        namespace: Option<&Bound<'_, PyNamespace>>,
    ) -> PyResult<Self> {
        let namespace = namespace_or_current(namespace)?;
        let remote = py
            .detach(|| RemoteScheduler::open(&namespace, name))
            .map_err(command_error)?;
        let end = Exclusive::new(format!("the handle of scheduler '{name}'"), remote);
        Ok(Self { end })
    }

    /// The name of the scheduler.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.end.enter(py)?.get().name().to_owned())
    }

    /// Returns the current state of the scheduler.
    fn info(&self, py: Python<'_>) -> PyResult<PySchedulerInfo> {
        let found = self.end.enter(py)?.get().info().map_err(command_error)?;
        python_scheduler_info(py, found)
    }

    /// Makes a node skip its ticks until it is resumed.
    fn pause(&self, py: Python<'_>, node: &str) -> PyResult<()> {
        self.end.enter(py)?.get().pause(node).map_err(command_error)
    }

    /// Makes a paused node tick again.
    fn resume(&self, py: Python<'_>, node: &str) -> PyResult<()> {
        self.end
            .enter(py)?
            .get()
            .resume(node)
            .map_err(command_error)
    }

    /// Shuts a node down after its current tick.
    fn stop_node(&self, py: Python<'_>, node: &str) -> PyResult<()> {
        self.end
            .enter(py)?
            .get()
            .stop_node(node)
            .map_err(command_error)
    }

    /// Changes the rate of a node, in hertz.
    fn set_rate(&self, py: Python<'_>, node: &str, rate: f64) -> PyResult<()> {
        self.end
            .enter(py)?
            .get()
            .set_rate(node, Rate::hz(rate))
            .map_err(command_error)
    }

    /// Shuts all nodes down, which ends the scheduler's run.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        self.end.enter(py)?.get().stop().map_err(command_error)
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PySchedulerInfo>()?;
    module.add_class::<PyRemoteScheduler>()?;
    module.add_function(wrap_pyfunction!(schedulers, module)?)?;
    module.add_function(wrap_pyfunction!(black_box, module)?)?;
    module.add_function(wrap_pyfunction!(remove_scheduler_topics, module)?)
}
