//! Events of the other endpoints of a topic: an endpoint joins, leaves or dies.

use std::time::Duration;

use horus_core::topic::{EndpointEvent, EndpointEvents};
use horus_core::{EndpointWaitError, Mismatch};
use pyo3::prelude::*;

use crate::error;
use crate::wait::timeout::WaitPolicy;

/// The publishers or subscribers of a topic that join, leave or die.
#[pyclass(name = "EndpointEvents", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyEndpointEvents(EndpointEvents);

impl From<EndpointEvents> for PyEndpointEvents {
    fn from(events: EndpointEvents) -> Self {
        Self(events)
    }
}

#[pymethods]
impl PyEndpointEvents {
    /// Returns the next event; `None` if there is none, or none within `timeout` seconds.
    #[pyo3(signature = (timeout = None))]
    fn poll(
        &mut self,
        py: Python<'_>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<PyEndpointEvent>> {
        let wait = |slice: Duration| self.0.wait(slice).transpose();
        let event = match timeout.map(WaitPolicy::from_timeout).transpose()? {
            Some(wait_policy) => wait_policy.wait(py, wait, || Ok(()))?.transpose(),
            None => self.0.poll(),
        };
        let event =
            event.map_err(|error| error::from_endpoint_wait_error(&EndpointWaitError::from(error)));
        Ok(event?.map(PyEndpointEvent::from))
    }
}

/// A publisher or subscriber of a topic that joined, left or died.
#[pyclass(frozen, get_all, name = "EndpointEvent", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyEndpointEvent {
    /// `"publisher"` or `"subscriber"`.
    kind: String,
    /// `"joined"`, `"left"` or `"died"`: its process ended without closing it.
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
