//! Wait sets, with which one thread waits for many topics, deadlines and timers.

use std::collections::HashMap;
use std::time::Duration;

use horus_core::WaitError;
use horus_core::topic::{Key, Ready, Reason, WaitSet};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::error::{Error, ForkedError};
use crate::topic::endpoint::Exclusive;
use crate::topic::handles::{PySubscriber, PyTopic};
use crate::topic::subscriber_endpoint::SubscriberEndpoint;
use crate::wait::duration::duration_from_secs;
use crate::wait::timeout::WaitPolicy;

/// A wait set. For each of its keys, it has the number that Python uses for the key, and the Python
/// object that was added. `last` is the largest number so far.
#[derive(Debug, Default)]
struct KeyedWaitSet {
    set: WaitSet,
    names: HashMap<Key, (u64, Py<PyAny>)>,
    last: u64,
}

impl KeyedWaitSet {
    fn assign_key_number(&mut self, key: Key, source: Py<PyAny>) -> u64 {
        self.last += 1;
        self.names.insert(key, (self.last, source));
        self.last
    }
}

/// Waits for messages on many topics, for topics that stay silent, and for timers.
///
/// It is level-triggered: a topic with unread messages is ready at each wait.
#[pyclass(frozen, name = "WaitSet", module = "horus", weakref)]
#[derive(Debug)]
pub(crate) struct PyWaitSet {
    end: Exclusive<KeyedWaitSet>,
}

/// An entry of a wait set that is ready, with the reason.
#[pyclass(frozen, name = "Ready", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyReady {
    /// The key that `add` returned.
    #[pyo3(get)]
    key: u64,
    /// The source that was added: a subscriber, a topic, or `None` for a timer.
    #[pyo3(get)]
    source: Py<PyAny>,
    /// `'message'`, `'deadline_missed'`, `'timer'` or `'closed'`.
    #[pyo3(get)]
    reason: &'static str,
    /// The time without a message, in seconds, if the reason is `'deadline_missed'`; else `None`.
    #[pyo3(get)]
    silent: Option<f64>,
    /// Number of periods that were not reported, if the reason is `'timer'`; else `None`.
    #[pyo3(get)]
    missed: Option<u64>,
}

#[pymethods]
impl PyReady {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let source = self.source.bind(py).repr()?;
        Ok(format!(
            "<horus.Ready key={} reason='{}' source={source}>",
            self.key, self.reason
        ))
    }
}

#[pymethods]
impl PyWaitSet {
    #[new]
    fn new() -> Self {
        Self {
            end: Exclusive::new("the wait set", KeyedWaitSet::default()),
        }
    }

    /// Adds a subscriber or topic. It is ready when it has something to receive and, if `deadline`
    /// is given, whenever no message was published for `deadline` seconds. Returns a key.
    #[pyo3(signature = (subscriber, deadline = None))]
    fn add(
        &self,
        py: Python<'_>,
        subscriber: &Bound<'_, PyAny>,
        deadline: Option<f64>,
    ) -> PyResult<u64> {
        let deadline = deadline.map(positive_duration_from_secs).transpose()?;
        let mut entered = self.end.enter(py)?;
        let KeyedWaitSet { set, .. } = entered.get();
        let key = if let Ok(subscriber) = subscriber.cast::<PySubscriber>() {
            add_subscriber_endpoint(py, set, &subscriber.get().subscriber_endpoint, deadline)?
        } else if let Ok(topic) = subscriber.cast::<PyTopic>() {
            add_subscriber_endpoint(py, set, &topic.get().subscriber_endpoint, deadline)?
        } else {
            let found = subscriber.get_type();
            let text = format!("{found} where a Subscriber or Topic is wanted");
            return Err(PyTypeError::new_err(text));
        };
        Ok(entered
            .get()
            .assign_key_number(key, subscriber.clone().unbind()))
    }

    /// Adds a timer, which is ready every `period` seconds from now on. Returns a key.
    fn add_interval(&self, py: Python<'_>, period: f64) -> PyResult<u64> {
        let period = positive_duration_from_secs(period)?;
        let mut entered = self.end.enter(py)?;
        let key = entered
            .get()
            .set
            .add_interval(period)
            .map_err(wait_set_full_error)?;
        Ok(entered.get().assign_key_number(key, py.None()))
    }

    /// Removes the entry with this key; false if there is none.
    fn remove(&self, py: Python<'_>, key: u64) -> PyResult<bool> {
        let mut entered = self.end.enter(py)?;
        let set = entered.get();
        let found = set
            .names
            .iter()
            .find(|(_, (name, _))| *name == key)
            .map(|(key, _)| *key);
        let Some(found) = found else { return Ok(false) };
        set.names.remove(&found);
        Ok(set.set.remove(found))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.end.enter(py)?.get().set.len())
    }

    /// Returns all entries that are ready. If none is, waits at most `timeout` seconds for one, and
    /// returns an empty list after that time.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<PyReady>> {
        let wait_policy = timeout.map_or(Ok(WaitPolicy::unlimited()), WaitPolicy::from_timeout)?;
        let mut entered = self.end.enter(py)?;
        let KeyedWaitSet { set, names, .. } = entered.get();
        if timeout.is_none() && set.is_empty() {
            return Err(Error::new_err(WaitError::Empty.to_string()));
        }
        let wait = |slice| match set.wait(slice) {
            Ok([]) => None,
            Ok(ready) => Some(Ok(ready.to_vec())),
            Err(error) => Some(Err(error)),
        };
        let ready = wait_policy.wait(py, wait, || self.end.check_open())?;
        let ready = ready.transpose().map_err(|error| match error {
            WaitError::Forked => ForkedError::new_err(error.to_string()),
            _ => Error::new_err(error.to_string()),
        })?;
        let ready = ready.unwrap_or_default();
        Ok(ready
            .iter()
            .filter_map(|ready| ready_object(py, names, ready))
            .collect())
    }
}

fn add_subscriber_endpoint(
    py: Python<'_>,
    set: &mut WaitSet,
    subscriber_endpoint: &SubscriberEndpoint,
    deadline: Option<Duration>,
) -> PyResult<Key> {
    let key = subscriber_endpoint.with_endpoint(py, |end| match deadline {
        Some(deadline) => set.add_with_deadline(end, deadline),
        None => set.add(end),
    })?;
    key.map_err(wait_set_full_error)
}

fn wait_set_full_error(error: horus_core::WaitSetFull) -> PyErr {
    Error::new_err(error.to_string())
}

fn positive_duration_from_secs(seconds: f64) -> PyResult<Duration> {
    let duration = duration_from_secs(seconds)?;
    if duration.is_zero() {
        return Err(PyValueError::new_err("a duration of 0 seconds: give more"));
    }
    Ok(duration)
}

fn ready_object(
    py: Python<'_>,
    names: &mut HashMap<Key, (u64, Py<PyAny>)>,
    ready: &Ready,
) -> Option<PyReady> {
    let (key, source) = names.get(&ready.key)?;
    let key = *key;
    let source = source.clone_ref(py);
    let (reason, silent, missed) = match ready.reason {
        Reason::DeadlineMissed { silent } => ("deadline_missed", Some(silent.as_secs_f64()), None),
        Reason::Timer { missed } => ("timer", None, Some(missed)),
        Reason::Closed => {
            names.remove(&ready.key);
            ("closed", None, None)
        }
        _ => ("message", None, None),
    };
    Some(PyReady {
        key,
        source,
        reason,
        silent,
        missed,
    })
}
