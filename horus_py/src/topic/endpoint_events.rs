//! Events of the other endpoints of a topic: an endpoint joins, leaves or dies.

use std::time::Duration;

use horus_core::topic::{EndpointEvent, EndpointEvents};
use horus_core::{EndpointWaitError, Mismatch};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error;
use crate::topic::endpoint::Exclusive;
use crate::wait::timeout::WaitPolicy;

/// The publishers or subscribers of a topic that join, leave or die. The topic is in use until this
/// object is closed or deleted.
#[pyclass(frozen, name = "EndpointEvents", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyEndpointEvents {
    end: Exclusive<EndpointEvents>,
}

impl PyEndpointEvents {
    /// Makes the Python object for the events of the topic named `topic`.
    pub(crate) fn new(events: EndpointEvents, topic: &str) -> Self {
        let name = format!("the EndpointEvents of topic '{topic}'");
        Self {
            end: Exclusive::new(name, events),
        }
    }
}

#[pymethods]
impl PyEndpointEvents {
    /// Returns the next event; `None` if there is none, or none within `timeout` seconds.
    #[pyo3(signature = (timeout = None))]
    fn poll(
        &self,
        py: Python<'_>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<PyEndpointEvent>> {
        // WHY first: a wrong timeout is an error also while there are events.
        let wait_policy = timeout.map(WaitPolicy::from_timeout).transpose()?;
        let mut entered = self.end.enter(py)?;
        let events = entered.get();
        let wait = |slice: Duration| events.wait(slice).transpose();
        let event = match wait_policy {
            Some(wait_policy) => {
                let waited = wait_policy.wait(py, wait, || self.end.check_open())?;
                waited.transpose()
            }
            None => events.poll(),
        };
        let event =
            event.map_err(|error| error::from_endpoint_wait_error(&EndpointWaitError::from(error)));
        Ok(event?.map(PyEndpointEvent::from))
    }

    /// Stops to use the topic. A thread that waits in `poll` gets `ClosedError` within 50 ms.
    fn close(&self, py: Python<'_>) {
        self.end.close(py);
    }

    /// True if it was closed.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        self.end.is_closed(py)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}

/// A publisher or subscriber of a topic that joined, left or died.
#[pyclass(frozen, get_all, name = "EndpointEvent", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyEndpointEvent {
    /// `"publisher"` or `"subscriber"`.
    kind: String,
    /// `"joined"`, `"left"` or `"died"`: its process ended without closing it. `"gone"` if it left
    /// or died, and it is no longer known which.
    change: String,
    /// Id of the endpoint's process, if that is known.
    process_id: Option<u32>,
    /// Name of the endpoint's process, if that is known.
    process_name: Option<String>,
    /// The reason why no message passes between an endpoint that joined and the endpoint of this
    /// process: `"type"` or `"reliability"`. `None` if the two match.
    mismatch: Option<&'static str>,
}

impl From<EndpointEvent> for PyEndpointEvent {
    fn from(event: EndpointEvent) -> Self {
        let process = event.process.process;
        Self {
            kind: event.kind.to_string(),
            change: event.change.to_string(),
            process_id: process.as_ref().map(|process| process.pid),
            process_name: process.map(|process| process.name),
            mismatch: event.mismatch.map(|mismatch| match mismatch {
                Mismatch::Type => "type",
                Mismatch::Reliability => "reliability",
            }),
        }
    }
}

#[pymethods]
impl PyEndpointEvent {
    fn __repr__(&self) -> String {
        let Self { kind, change, .. } = self;
        let process = match (self.process_id, &self.process_name) {
            (Some(pid), Some(name)) => format!("process {pid} ({name})"),
            _ => "a process".to_owned(),
        };
        format!("<horus.EndpointEvent: {kind} of {process} {change}>")
    }
}
