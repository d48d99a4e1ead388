//! Schedulers of other processes: lists, events, commands.

use horus_core::message::{NodeEvent, NodeMetrics};
use horus_core::scheduler::{self, Rate, RemoteScheduler, SchedulerInfo};
use pyo3::prelude::*;

use crate::error;
use crate::message::standard::object_of;
use crate::namespace::{PyNamespace, namespace_of};
use crate::scheduler::error::{not_told, refused};
use crate::topic::endpoint::End;

/// A scheduler, as another process sees it.
#[pyclass(frozen, name = "SchedulerInfo", module = "horus")]
#[derive(Debug)]
pub(crate) struct PySchedulerInfo {
    /// Its name.
    #[pyo3(get)]
    name: String,
    /// Its process, if that is known.
    #[pyo3(get)]
    process_id: Option<u32>,
    /// True if its process lives. The kernel says so.
    #[pyo3(get)]
    is_alive: bool,
    /// Its nodes, as they were when it last said so: `NodeMetrics`.
    #[pyo3(get)]
    nodes: Vec<Py<PyAny>>,
}

#[pymethods]
impl PySchedulerInfo {
    fn __repr__(&self) -> String {
        let lives = if self.is_alive { "alive" } else { "ended" };
        format!("<horus.SchedulerInfo '{}', {lives}, {} nodes>", self.name, self.nodes.len())
    }
}

fn info(py: Python<'_>, info: SchedulerInfo) -> PyResult<PySchedulerInfo> {
    let node = |metrics: &NodeMetrics| object_of(py, metrics).map(Bound::unbind);
    let nodes = info.nodes.iter().map(node).collect::<PyResult<_>>()?;
    let SchedulerInfo { name, process_id, is_alive, .. } = info;
    Ok(PySchedulerInfo { name, process_id, is_alive, nodes })
}

/// The schedulers of a namespace, by name: those that live, and those that ended.
#[pyfunction]
#[pyo3(signature = (namespace = None))]
fn schedulers(
    py: Python<'_>,
    namespace: Option<&Bound<'_, PyNamespace>>,
) -> PyResult<Vec<PySchedulerInfo>> {
    let namespace = namespace_of(namespace)?;
    let found = py.detach(|| scheduler::schedulers(&namespace)).map_err(refused)?;
    found.into_iter().map(|found| info(py, found)).collect()
}

/// The last events of a scheduler, oldest first, also after it was killed: `NodeEvent`.
#[pyfunction]
#[pyo3(signature = (name, namespace = None))]
fn black_box<'py>(
    py: Python<'py>,
    name: &str,
    namespace: Option<&Bound<'py, PyNamespace>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let namespace = namespace_of(namespace)?;
    let events = py.detach(|| scheduler::black_box(&namespace, name));
    let events = events.map_err(|error| error::of_open(&error))?;
    events.iter().map(|event: &NodeEvent| object_of(py, event)).collect()
}

/// Removes what a scheduler left that is no more. True if it is gone.
#[pyfunction]
#[pyo3(signature = (name, namespace = None))]
fn forget(
    py: Python<'_>,
    name: &str,
    namespace: Option<&Bound<'_, PyNamespace>>,
) -> PyResult<bool> {
    let namespace = namespace_of(namespace)?;
    let gone = py.detach(|| scheduler::forget(&namespace, name));
    gone.map_err(|error| error::of_open(&error))
}

/// A scheduler of another process, or of this one, to be told something. A call returns when the
/// command is sent; an empty name means all nodes.
#[pyclass(frozen, name = "RemoteScheduler", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyRemoteScheduler {
    end: End<RemoteScheduler>,
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
        let namespace = namespace_of(namespace)?;
        let remote = py.detach(|| RemoteScheduler::open(&namespace, name)).map_err(not_told)?;
        let end = End::new(format!("the handle of scheduler '{name}'"), remote);
        Ok(Self { end })
    }

    /// Its name.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.end.enter(py)?.get().name().to_owned())
    }

    /// Returns the state of the scheduler.
    fn info(&self, py: Python<'_>) -> PyResult<PySchedulerInfo> {
        let found = self.end.enter(py)?.get().info().map_err(not_told)?;
        info(py, found)
    }

    /// Has a node not tick until it is resumed.
    fn pause(&self, py: Python<'_>, node: &str) -> PyResult<()> {
        self.end.enter(py)?.get().pause(node).map_err(not_told)
    }

    /// Has a node go on after a pause.
    fn resume(&self, py: Python<'_>, node: &str) -> PyResult<()> {
        self.end.enter(py)?.get().resume(node).map_err(not_told)
    }

    /// Has a node end after its present tick.
    fn stop_node(&self, py: Python<'_>, node: &str) -> PyResult<()> {
        self.end.enter(py)?.get().stop_node(node).map_err(not_told)
    }

    /// Has a node tick at another rate, in hertz.
    fn set_rate(&self, py: Python<'_>, node: &str, rate: f64) -> PyResult<()> {
        self.end.enter(py)?.get().set_rate(node, Rate::hz(rate)).map_err(not_told)
    }

    /// Has all nodes end, and the scheduler with them.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        self.end.enter(py)?.get().stop().map_err(not_told)
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PySchedulerInfo>()?;
    module.add_class::<PyRemoteScheduler>()?;
    module.add_function(wrap_pyfunction!(schedulers, module)?)?;
    module.add_function(wrap_pyfunction!(black_box, module)?)?;
    module.add_function(wrap_pyfunction!(forget, module)?)
}
