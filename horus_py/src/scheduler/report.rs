//! Reports about runs and about their nodes.

use horus_core::scheduler::{Health, NodeClass, NodeReport, Report, StopReason, TickMetrics};
use pyo3::prelude::*;

/// The report of a run.
#[pyclass(frozen, name = "Report", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyReport {
    report: Report,
    nodes: Vec<Py<PyNodeReport>>,
}

/// The report of a node in a run.
#[pyclass(frozen, name = "NodeReport", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyNodeReport(NodeReport);

/// The counters and times of a node so far. Times are in seconds.
#[pyclass(frozen, name = "Metrics", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyMetrics(pub(crate) TickMetrics);

pub(crate) fn report_object(py: Python<'_>, report: Report) -> PyResult<PyReport> {
    let nodes = report
        .nodes
        .iter()
        .map(|node| Py::new(py, PyNodeReport(node.clone())));
    let nodes = nodes.collect::<PyResult<_>>()?;
    Ok(PyReport { report, nodes })
}

impl PyReport {
    /// Returns true if the run ended because a node failed.
    pub(crate) const fn is_failure(&self) -> bool {
        self.report.reason.is_failure()
    }
}

#[pymethods]
impl PyReport {
    /// The name of the scheduler.
    #[getter]
    fn scheduler(&self) -> &str {
        &self.report.scheduler
    }

    /// The reason why the run ended: `'requested'`, `'duration_elapsed'`, `'signal'` or `'node'`.
    #[getter]
    fn reason(&self) -> &'static str {
        match self.report.reason {
            StopReason::DurationElapsed => "duration_elapsed",
            StopReason::Signal(_) => "signal",
            StopReason::Node { .. } => "node",
            _ => "requested",
        }
    }

    /// The signal that ended the run, if one did.
    #[getter]
    const fn signal(&self) -> Option<i32> {
        match self.report.reason {
            StopReason::Signal(signal) => Some(signal),
            _ => None,
        }
    }

    /// The name of the node whose failure ended the run, if one did.
    #[getter]
    fn failed_node(&self) -> Option<&str> {
        match &self.report.reason {
            StopReason::Node { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The error of the node whose failure ended the run, with the traceback if it was an
    /// exception; `None` if no node ended the run.
    #[getter]
    fn error(&self) -> Option<&str> {
        match &self.report.reason {
            StopReason::Node { error, .. } => Some(error),
            _ => None,
        }
    }

    /// The exit code for the process: 0; 1 if a node failed; 128 plus the number of a signal that
    /// ended the run.
    #[getter]
    fn exit_code(&self) -> u8 {
        self.report.exit_code()
    }

    /// The reports of the nodes, in the order in which they were started.
    #[getter]
    fn nodes(&self, py: Python<'_>) -> Vec<Py<PyNodeReport>> {
        self.nodes.iter().map(|node| node.clone_ref(py)).collect()
    }

    /// Returns the report of the node of this name, or `None`.
    fn node(&self, py: Python<'_>, name: &str) -> Option<Py<PyNodeReport>> {
        let node = self.nodes.iter().find(|node| node.get().0.name == name);
        node.map(|node| node.clone_ref(py))
    }

    /// Returns how the run ended, and a line for each node.
    fn __str__(&self) -> String {
        self.report.to_string()
    }

    fn __repr__(&self) -> String {
        let Report {
            scheduler, nodes, ..
        } = &self.report;
        format!(
            "<horus.Report of '{scheduler}': {}, {} nodes>",
            self.reason(),
            nodes.len()
        )
    }
}

#[pymethods]
impl PyNodeReport {
    /// The name of the node.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The class of the node: `'real_time'`, `'compute'`, `'event'`, `'async_io'`,
    /// `'best_effort'`, `'actors'`, or `'other'`.
    #[getter]
    const fn node_class(&self) -> &'static str {
        match self.0.class {
            NodeClass::RealTime => "real_time",
            NodeClass::Compute => "compute",
            NodeClass::Event => "event",
            NodeClass::AsyncIo => "async_io",
            NodeClass::BestEffort => "best_effort",
            NodeClass::Actors => "actors",
            _ => "other",
        }
    }

    /// The counters and times of the node.
    #[getter]
    const fn metrics(&self) -> PyMetrics {
        PyMetrics(self.0.metrics)
    }

    /// The text of the node's last error. For an exception: one line, and the traceback.
    #[getter]
    fn last_error(&self) -> Option<&str> {
        self.0.last_error.as_deref()
    }

    /// The real-time settings that the system refused for the node's thread, with the reasons.
    #[getter]
    fn refused(&self) -> Vec<String> {
        self.0.refused.clone()
    }

    fn __repr__(&self) -> String {
        let TickMetrics {
            ticks,
            misses,
            failures,
            ..
        } = self.0.metrics;
        format!(
            "<horus.NodeReport '{}': {ticks} ticks, {misses} misses, {failures} failures>",
            self.0.name
        )
    }
}

#[pymethods]
impl PyMetrics {
    /// Number of ticks that are over.
    #[getter]
    const fn ticks(&self) -> u64 {
        self.0.ticks
    }

    /// The duration of the last tick, in seconds.
    #[getter]
    fn last(&self) -> f64 {
        self.0.last.as_secs_f64()
    }

    /// The duration of the longest tick, in seconds.
    #[getter]
    fn max(&self) -> f64 {
        self.0.max.as_secs_f64()
    }

    /// Number of misses: ticks that ended after their deadline, took longer than their budget,
    /// began too soon or passed their checkpoints in a wrong order, and checks that found an input
    /// older than its timeout.
    #[getter]
    const fn misses(&self) -> u64 {
        self.0.misses
    }

    /// Number of due times at which the node did not tick, because it was still in a tick, or
    /// because its miss policy skipped them.
    #[getter]
    const fn skipped_ticks(&self) -> u64 {
        self.0.skipped_ticks
    }

    /// Number of calls of `tick` and `init` that raised an exception.
    #[getter]
    const fn failures(&self) -> u64 {
        self.0.failures
    }

    /// The state of the node: `'active'`, `'paused'`, `'backing_off'`, `'safe'` or `'stopped'`.
    #[getter]
    const fn health(&self) -> &'static str {
        match self.0.health {
            Health::Paused => "paused",
            Health::BackingOff => "backing_off",
            Health::Safe => "safe",
            Health::Stopped => "stopped",
            _ => "active",
        }
    }

    /// Returns the duration in seconds that the fraction `share` (0 to 1) of the ticks did not
    /// exceed. It is the upper bound of a histogram bucket, at most twice the exact quantile, and
    /// not above `max`; 0 without ticks.
    fn duration(&self, share: f64) -> f64 {
        self.0.durations.quantile(share).as_secs_f64()
    }

    /// Returns the lateness in seconds that the fraction `share` (0 to 1) of the ticks did not
    /// exceed. It is the upper bound of a histogram bucket, at most twice the exact quantile; 0
    /// without ticks.
    fn lateness(&self, share: f64) -> f64 {
        self.0.lateness.quantile(share).as_secs_f64()
    }

    fn __repr__(&self) -> String {
        let TickMetrics {
            ticks,
            misses,
            failures,
            ..
        } = self.0;
        format!("<horus.Metrics ticks={ticks} misses={misses} failures={failures}>")
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyReport>()?;
    module.add_class::<PyNodeReport>()?;
    module.add_class::<PyMetrics>()
}
