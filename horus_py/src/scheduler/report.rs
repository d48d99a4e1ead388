//! Reports of runs and of nodes.

use horus_core::scheduler::{Class, Health, NodeReport, Reason, Report, TickMetrics};
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

pub(crate) fn of(py: Python<'_>, report: Report) -> PyResult<PyReport> {
    let nodes = report.nodes.iter().map(|node| Py::new(py, PyNodeReport(node.clone())));
    let nodes = nodes.collect::<PyResult<_>>()?;
    Ok(PyReport { report, nodes })
}

impl PyReport {
    /// Returns true if a node failed.
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

    /// The reason why it ended: `'asked'`, `'over'`, `'signal'` or `'node'`.
    #[getter]
    fn reason(&self) -> &'static str {
        match self.report.reason {
            Reason::Over => "over",
            Reason::Signal(_) => "signal",
            Reason::Node { .. } => "node",
            _ => "asked",
        }
    }

    /// The signal that ended it.
    #[getter]
    const fn signal(&self) -> Option<i32> {
        match self.report.reason {
            Reason::Signal(signal) => Some(signal),
            _ => None,
        }
    }

    /// The node whose failure ended it.
    #[getter]
    fn failed_node(&self) -> Option<&str> {
        match &self.report.reason {
            Reason::Node { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The error of that node, with the traceback if it was an exception.
    #[getter]
    fn error(&self) -> Option<&str> {
        match &self.report.reason {
            Reason::Node { error, .. } => Some(error),
            _ => None,
        }
    }

    /// The exit code for the process: 0, 1 if a node failed, 128 and the number of a signal.
    #[getter]
    fn exit_code(&self) -> u8 {
        self.report.exit_code()
    }

    /// The nodes, in the order in which they were started.
    #[getter]
    fn nodes(&self, py: Python<'_>) -> Vec<Py<PyNodeReport>> {
        self.nodes.iter().map(|node| node.clone_ref(py)).collect()
    }

    /// The node of this name, or `None`.
    fn node(&self, py: Python<'_>, name: &str) -> Option<Py<PyNodeReport>> {
        let node = self.nodes.iter().find(|node| node.get().0.name == name);
        node.map(|node| node.clone_ref(py))
    }

    fn __repr__(&self) -> String {
        let Report { scheduler, nodes, .. } = &self.report;
        format!("<horus.Report of '{scheduler}': {}, {} nodes>", self.reason(), nodes.len())
    }
}

#[pymethods]
impl PyNodeReport {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The executor that ran it: `'real_time'`, `'compute'`, `'event'`, `'async_io'`,
    /// `'best_effort'`, or `'other'`.
    #[getter]
    const fn executor(&self) -> &'static str {
        match self.0.class {
            Class::RealTime => "real_time",
            Class::Compute => "compute",
            Class::Event => "event",
            Class::AsyncIo => "async_io",
            Class::BestEffort => "best_effort",
            _ => "other",
        }
    }

    /// Its counters and times.
    #[getter]
    const fn metrics(&self) -> PyMetrics {
        PyMetrics(self.0.metrics)
    }

    /// Its last error; of an exception, a line and the traceback.
    #[getter]
    fn last_error(&self) -> Option<&str> {
        self.0.last_error.as_deref()
    }

    /// The settings that its thread could not have, with the reason.
    #[getter]
    fn refused(&self) -> Vec<String> {
        self.0.refused.clone()
    }

    fn __repr__(&self) -> String {
        let TickMetrics { ticks, misses, failures, .. } = self.0.metrics;
        format!(
            "<horus.NodeReport '{}': {ticks} ticks, {misses} misses, {failures} failures>",
            self.0.name
        )
    }
}

#[pymethods]
impl PyMetrics {
    /// Ticks that are over.
    #[getter]
    const fn ticks(&self) -> u64 {
        self.0.ticks
    }

    /// The duration of the last one.
    #[getter]
    fn last(&self) -> f64 {
        self.0.last.as_secs_f64()
    }

    /// The duration of the longest one.
    #[getter]
    fn max(&self) -> f64 {
        self.0.max.as_secs_f64()
    }

    /// Ticks that were over after their deadline, or took more than their budget.
    #[getter]
    const fn misses(&self) -> u64 {
        self.0.misses
    }

    /// Due times at which the node did not run, because it was still busy or late.
    #[getter]
    const fn skipped_ticks(&self) -> u64 {
        self.0.skipped_ticks
    }

    /// Ticks that raised an exception.
    #[getter]
    const fn failures(&self) -> u64 {
        self.0.failures
    }

    /// Its state: `'active'`, `'paused'`, `'resting'`, `'safe'` or `'stopped'`.
    #[getter]
    const fn health(&self) -> &'static str {
        match self.0.health {
            Health::Paused => "paused",
            Health::Resting => "resting",
            Health::Safe => "safe",
            Health::Stopped => "stopped",
            _ => "active",
        }
    }

    /// A time that `share` of the ticks, from 0 to 1, did not take: at most twice what it is.
    fn duration(&self, share: f64) -> f64 {
        self.0.durations.quantile(share).as_secs_f64()
    }

    /// By how much `share` of the ticks, from 0 to 1, were not late: at most twice what it is.
    fn lateness(&self, share: f64) -> f64 {
        self.0.lateness.quantile(share).as_secs_f64()
    }

    fn __repr__(&self) -> String {
        let TickMetrics { ticks, misses, failures, .. } = self.0;
        format!("<horus.Metrics ticks={ticks} misses={misses} failures={failures}>")
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyReport>()?;
    module.add_class::<PyNodeReport>()?;
    module.add_class::<PyMetrics>()
}
