//! Functions for tools: they list topics, read the counters of topics, and remove topics.

use horus_core::introspect::{
    Inspector, LaneCounters, Participant, ProcessInfo, ReaderCounters, processes, topics,
};
use horus_core::namespace::{self, SweepReport};
use horus_core::topic::Reliability;
use pyo3::prelude::*;

use crate::error::{self, OpenTopicError};
use crate::namespace::{PyNamespace, namespace_or_current};

/// A topic and its counters. They are read one after another, while the topic may run.
#[pyclass(frozen, get_all, name = "TopicInfo", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyTopicInfo {
    /// The name of the topic.
    name: String,
    /// The name of the message type.
    message_type: String,
    /// The schema text of the messages.
    schema: String,
    /// Size of a message, or of the longest possible one, in bytes.
    message_bytes: u64,
    /// Number of messages that each publisher's lane holds.
    capacity: u64,
    /// `"reliable"` or `"best_effort"`.
    reliability: &'static str,
    /// The name of the kind of ring buffer that the topic acts as. It follows from the present
    /// numbers of publishers and subscribers.
    backend: String,
    /// The lanes that were ever used, each with its publisher if the publisher is alive.
    publishers: Vec<Py<PyPublisherInfo>>,
    /// The subscribers that are alive.
    subscribers: Vec<Py<PySubscriberInfo>>,
}

#[pymethods]
impl PyTopicInfo {
    fn __repr__(&self) -> String {
        let Self {
            name,
            message_type,
            publishers,
            subscribers,
            ..
        } = self;
        format!(
            "<horus.TopicInfo '{name}' of {message_type}, {} lanes, {} subscribers>",
            publishers.len(),
            subscribers.len()
        )
    }
}

/// A lane of a topic, which at most one publisher at a time writes.
#[pyclass(frozen, get_all, name = "PublisherInfo", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyPublisherInfo {
    /// Index of the lane.
    lane: u32,
    /// True if a publisher has the lane and is alive.
    is_alive: bool,
    /// Id of the process, if that is known.
    process_id: Option<u32>,
    /// Name of the process, if that is known.
    process_name: Option<String>,
    /// Number of messages that the lane has carried, of all publishers that had it.
    sent: u64,
    /// Number of sends that were refused because a reliable subscriber was the lane's whole
    /// capacity behind.
    refused: u64,
    /// Number of slots that were skipped because a subscriber had pinned the message there.
    skips: u64,
    /// Number of writes that the death of a publisher interrupted.
    aborted: u64,
    /// Number of takeovers that found the lane damaged.
    corrupt_resyncs: u64,
    /// Number of publishers that the lane has had.
    claims: u64,
    /// Number of system calls that woke sleeping subscribers.
    wakes: u64,
}

#[pymethods]
impl PyPublisherInfo {
    fn __repr__(&self) -> String {
        let Self { lane, sent, .. } = self;
        let process = process_text(self.process_id, self.process_name.as_deref(), self.is_alive);
        format!("<horus.PublisherInfo lane {lane}, {process}, sent={sent}>")
    }
}

/// A live subscriber of a topic. `busy` and the latencies may be behind by up to 256 messages.
#[pyclass(frozen, get_all, name = "SubscriberInfo", module = "horus")]
#[derive(Debug)]
pub(crate) struct PySubscriberInfo {
    /// Id of the process, if that is known.
    process_id: Option<u32>,
    /// Name of the process, if that is known.
    process_name: Option<String>,
    /// Number of messages delivered to the subscriber, without the malformed ones.
    received: u64,
    /// Number of messages that the subscriber dropped, because their bytes are no message of its
    /// type.
    malformed: u64,
    /// Number of messages that were overwritten before the subscriber read them, whether it has
    /// noticed that already or not.
    lost: u64,
    /// Number of messages that the subscriber has not read, and would still get.
    waiting: u64,
    /// Number of messages that the subscriber skipped by `latest()`, while it could still
    /// read them.
    skipped: u64,
    /// Number of calls that returned no message because the publishers were faster than the
    /// subscriber could read.
    busy: u64,
    /// Number of messages that the subscriber has borrowed at the moment.
    borrowed: u32,
    /// True if the subscriber sleeps until a message is published.
    is_asleep: bool,
    /// Median latency of the sampled messages, accurate to a factor of two, in seconds.
    latency_p50: Option<f64>,
    /// 99 % quantile of the latency of the sampled messages, accurate to a factor of two, in
    /// seconds.
    latency_p99: Option<f64>,
}

#[pymethods]
impl PySubscriberInfo {
    fn __repr__(&self) -> String {
        let Self { received, lost, .. } = self;
        let process = process_text(self.process_id, self.process_name.as_deref(), true);
        format!("<horus.SubscriberInfo {process}, received={received} lost={lost}>")
    }
}

/// The topics that a sweep found, grouped by the result.
#[pyclass(frozen, get_all, name = "SweepReport", module = "horus")]
#[derive(Debug)]
pub(crate) struct PySweepReport {
    /// The removed topics: no process had them open.
    removed: Vec<String>,
    /// The topics that were not removed because a process has them open.
    in_use: Vec<String>,
    /// The topics that were not removed because their creator made them persistent.
    kept: Vec<String>,
    /// The files that were not removed because they are damaged, or no topics of this library.
    foreign: Vec<String>,
}

#[pymethods]
impl PySweepReport {
    fn __repr__(&self) -> String {
        let Self {
            removed,
            in_use,
            kept,
            foreign,
        } = self;
        format!(
            "<horus.SweepReport removed={removed:?} in_use={in_use:?} kept={kept:?} \
             foreign={foreign:?}>"
        )
    }
}

fn process_text(id: Option<u32>, name: Option<&str>, is_alive: bool) -> String {
    match (id, name) {
        (Some(id), Some(name)) => format!("process {id} ({name})"),
        _ if is_alive => "alive".into(),
        _ => "free".into(),
    }
}

fn process_id_and_name_of(participant: Option<&Participant>) -> (Option<u32>, Option<String>) {
    let process = participant.and_then(|participant| participant.process.as_ref());
    (
        process.map(|process| process.pid),
        process.map(|process| process.name.clone()),
    )
}

impl PyPublisherInfo {
    fn from_counters(found: &LaneCounters) -> Self {
        let (process_id, process_name) = process_id_and_name_of(found.publisher.as_ref());
        let LaneCounters {
            lane,
            sent,
            claims,
            aborted,
            corrupt_resyncs,
            refused,
            wakes,
            skips,
            ..
        } = *found;
        let is_alive = found.publisher.is_some();
        Self {
            lane,
            is_alive,
            process_id,
            process_name,
            sent,
            refused,
            skips,
            aborted,
            corrupt_resyncs,
            claims,
            wakes,
        }
    }
}

impl PySubscriberInfo {
    fn from_counters(found: &ReaderCounters) -> Self {
        let (process_id, process_name) = process_id_and_name_of(Some(&found.subscriber));
        let latency = |share| {
            found
                .latencies
                .percentile(share)
                .map(|duration| duration.as_secs_f64())
        };
        let ReaderCounters {
            received,
            malformed,
            lost,
            waiting,
            skipped,
            busy,
            borrowed,
            asleep,
            ..
        } = *found;
        Self {
            process_id,
            process_name,
            received,
            malformed,
            lost,
            waiting,
            skipped,
            busy,
            borrowed,
            is_asleep: asleep,
            latency_p50: latency(0.5),
            latency_p99: latency(0.99),
        }
    }
}

/// Returns the names of the topics of a namespace, sorted.
#[pyfunction]
#[pyo3(name = "topics", signature = (namespace = None))]
fn topic_names(
    py: Python<'_>,
    namespace: Option<&Bound<'_, PyNamespace>>,
) -> PyResult<Vec<String>> {
    let namespace = namespace_or_current(namespace)?;
    let found = py.detach(|| topics(&namespace));
    found.map_err(|error| OpenTopicError::new_err(error.to_string()))
}

/// Returns a topic and its current counters. Only reads, and delays no process.
#[pyfunction]
#[pyo3(signature = (name, namespace = None))]
fn introspect(
    py: Python<'_>,
    name: &str,
    namespace: Option<&Bound<'_, PyNamespace>>,
) -> PyResult<PyTopicInfo> {
    let namespace = namespace_or_current(namespace)?;
    let inspector = py.detach(|| Inspector::open_in(&namespace, name));
    let inspector = inspector.map_err(|error| error::from_topic_error(&error))?;
    let lanes = inspector.publishers();
    let readers = inspector.subscribers();
    let publishers = lanes
        .iter()
        .map(|found| Py::new(py, PyPublisherInfo::from_counters(found)));
    let subscribers = readers
        .iter()
        .map(|found| Py::new(py, PySubscriberInfo::from_counters(found)));
    Ok(PyTopicInfo {
        name: name.to_owned(),
        message_type: inspector.message_type().to_owned(),
        schema: inspector.schema().to_owned(),
        message_bytes: inspector.message_bytes(),
        capacity: inspector.capacity(),
        reliability: match inspector.reliability() {
            Reliability::Reliable => "reliable",
            Reliability::BestEffort => "best_effort",
        },
        backend: inspector.backend().to_string(),
        publishers: publishers.collect::<PyResult<_>>()?,
        subscribers: subscribers.collect::<PyResult<_>>()?,
    })
}

/// Returns id, name and start time of each live process of a namespace, and true for this one.
#[pyfunction]
fn _processes(
    py: Python<'_>,
    namespace: Option<&Bound<'_, PyNamespace>>,
) -> PyResult<Vec<(u32, String, u64, bool)>> {
    let namespace = namespace_or_current(namespace)?;
    let own = namespace.registry().own_owner_word().to_bits();
    let found = py.detach(|| processes(&namespace));
    let found = found.map_err(|error| OpenTopicError::new_err(error.to_string()))?;
    let described = found.into_iter().filter_map(|found| {
        let ProcessInfo {
            pid,
            name,
            start_time,
            ..
        } = found.process?;
        Some((pid, name, start_time, found.owner_id == own))
    });
    Ok(described.collect())
}

/// Removes a topic that no process has open, also one that persists. Returns `True` if it is gone,
/// also if it never was there, and `False` if a process has it open.
#[pyfunction]
#[pyo3(signature = (name, namespace = None))]
fn remove_topic(
    py: Python<'_>,
    name: &str,
    namespace: Option<&Bound<'_, PyNamespace>>,
) -> PyResult<bool> {
    let namespace = namespace_or_current(namespace)?;
    let gone = py.detach(|| namespace::remove_topic(&namespace, name));
    gone.map_err(|error| error::from_topic_error(&error))
}

/// Removes the topics of a namespace whose processes have all died. Never removes one in use.
#[pyfunction]
#[pyo3(signature = (namespace = None))]
fn sweep(py: Python<'_>, namespace: Option<&Bound<'_, PyNamespace>>) -> PyResult<PySweepReport> {
    let namespace = namespace_or_current(namespace)?;
    let swept = py.detach(|| namespace::sweep(&namespace));
    let swept = swept.map_err(|error| OpenTopicError::new_err(error.to_string()))?;
    let SweepReport {
        removed,
        in_use,
        kept,
        foreign,
        ..
    } = swept;
    let names = |topics: Vec<_>| topics.iter().map(ToString::to_string).collect();
    Ok(PySweepReport {
        removed: names(removed),
        in_use: names(in_use),
        kept: names(kept),
        foreign,
    })
}

/// Registers the classes and functions of this file in the Python module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyTopicInfo>()?;
    module.add_class::<PyPublisherInfo>()?;
    module.add_class::<PySubscriberInfo>()?;
    module.add_class::<PySweepReport>()?;
    module.add_function(wrap_pyfunction!(topic_names, module)?)?;
    module.add_function(wrap_pyfunction!(introspect, module)?)?;
    module.add_function(wrap_pyfunction!(_processes, module)?)?;
    module.add_function(wrap_pyfunction!(remove_topic, module)?)?;
    module.add_function(wrap_pyfunction!(sweep, module)?)
}
