//! The classes `Publisher`, `Subscriber` and `Topic`.
//!
//! The methods `send` and `recv` are in `send_recv.rs`, and those for loans are in `loan.rs`.

use std::sync::Arc;

use horus_core::topic::{DynamicBuilder, DynamicPublisher, DynamicSubscriber};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::error;
use crate::topic::codec::Codec;
use crate::topic::endpoint_events::PyEndpointEvents;
use crate::topic::endpoint_wait::WaitArguments;
use crate::topic::publisher_endpoint::PublisherEndpoint;
use crate::topic::qos::TopicKeywords;
use crate::topic::stats::PyStats;
use crate::topic::subscriber_endpoint::SubscriberEndpoint;
use crate::wait::duration::duration_from_secs;
use crate::wait::gil::run_detached;
use crate::wait::wakeups::Wakeups;

/// The settings of a topic that is to be opened.
struct OpenArguments {
    codec: Codec,
    builder: DynamicBuilder,
    observe: bool,
    ignore_own: bool,
}

impl OpenArguments {
    fn new(
        name: &str,
        kind: Option<&Bound<'_, PyAny>>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let codec = Codec::from_argument(kind)?;
        let keywords = TopicKeywords::read(keywords)?;
        let mut builder = codec.message_type().builder(name).qos(keywords.qos);
        if let Codec::Message(kind) | Codec::Framed(kind) = codec {
            builder = builder.defaults(&kind.default);
        }
        if let Some(bytes) = keywords.max_message_bytes {
            builder = builder.max_message_bytes(bytes);
        }
        if let Some(namespace) = &keywords.namespace {
            builder = builder.namespace(&namespace.get().inner);
        }
        let TopicKeywords {
            observe,
            ignore_own,
            ..
        } = keywords;
        Ok(Self {
            codec,
            builder,
            observe,
            ignore_own,
        })
    }

    /// Returns an error if a keyword was given that does not apply to this kind of endpoint. The
    /// parameters are true if the keyword after `has_` applies.
    fn check_given_keywords_apply(self, has_observe: bool, has_ignore_own: bool) -> PyResult<Self> {
        for (is_set, is_known, name) in [
            (self.observe, has_observe, "observe"),
            (self.ignore_own, has_ignore_own, "ignore_own"),
        ] {
            if is_set && !is_known {
                return Err(PyValueError::new_err(format!(
                    "'{name}' means nothing here"
                )));
            }
        }
        Ok(self)
    }
}

/// Publishes messages of one type on a topic, for one thread at a time.
#[pyclass(frozen, name = "Publisher", module = "horus", weakref)]
#[derive(Debug)]
pub(crate) struct PyPublisher {
    pub(crate) publisher_endpoint: PublisherEndpoint,
    kind: Py<PyAny>,
    name: Arc<str>,
}

/// Receives messages of one type from a topic, for one thread at a time.
#[pyclass(frozen, name = "Subscriber", module = "horus", weakref)]
#[derive(Debug)]
pub(crate) struct PySubscriber {
    pub(crate) subscriber_endpoint: SubscriberEndpoint,
    kind: Py<PyAny>,
    name: Arc<str>,
}

/// A publisher and a subscriber of one topic: one thread may send while another receives.
#[pyclass(frozen, name = "Topic", module = "horus", weakref)]
#[derive(Debug)]
pub(crate) struct PyTopic {
    pub(crate) publisher_endpoint: PublisherEndpoint,
    pub(crate) subscriber_endpoint: SubscriberEndpoint,
    kind: Py<PyAny>,
    name: Arc<str>,
}

/// Adds the methods that `Publisher`, `Subscriber` and `Topic` all have.
macro_rules! handle_methods {
    ($handle:ident $name:literal: $first:ident $($second:ident)?) => {
        #[pymethods]
        impl $handle {
            /// The name of the topic.
            #[getter]
            fn name(&self) -> &str {
                &self.name
            }

            /// The class of the messages; `None` on a topic of dicts and other values.
            #[getter(r#type)]
            fn kind(&self, py: Python<'_>) -> Py<PyAny> {
                self.kind.clone_ref(py)
            }

            /// True if the handle was closed.
            #[getter]
            fn closed(&self, py: Python<'_>) -> bool {
                self.$first.end.is_closed(py)
            }

            /// Leaves the topic. A thread that waits in a call of this handle gets `ClosedError`
            /// within 50 ms.
            fn close(&self, py: Python<'_>) {
                self.$first.close(py);
                $(self.$second.close(py);)?
            }

            fn __enter__(slf: Py<Self>) -> Py<Self> {
                slf
            }

            #[pyo3(signature = (*_exception))]
            fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) {
                self.close(py);
            }

            fn __repr__(&self, py: Python<'_>) -> String {
                let closed = if self.closed(py) { ", closed" } else { "" };
                let kind = self.$first.codec.message_type().name();
                format!("<horus.{} '{}' of {kind}{closed}>", $name, self.name)
            }

            /// Returns the class itself. WHY: type checkers need `Topic[CmdVel]`.
            #[classmethod]
            fn __class_getitem__<'py>(
                class: &Bound<'py, PyType>,
                item: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyAny>> {
                class.py().import("types")?.call_method1("GenericAlias", (class, item))
            }

            /// Number of live publishers of the topic, in all processes.
            fn publisher_count(&self, py: Python<'_>) -> PyResult<usize> {
                self.$first.with_endpoint(py, |end| end.publisher_count())
            }

            /// Number of live subscribers of the topic, in all processes.
            fn subscriber_count(&self, py: Python<'_>) -> PyResult<usize> {
                self.$first.with_endpoint(py, |end| end.subscriber_count())
            }

            /// The name of the kind of ring buffer that the topic acts as. It follows from the
            /// present numbers of publishers and subscribers.
            #[getter]
            fn backend(&self, py: Python<'_>) -> PyResult<String> {
                self.$first.with_endpoint(py, |end| end.backend().to_string())
            }
        }
    };
}

handle_methods! { PyPublisher "Publisher": publisher_endpoint }
handle_methods! { PySubscriber "Subscriber": subscriber_endpoint }
handle_methods! { PyTopic "Topic": subscriber_endpoint publisher_endpoint }

/// Adds the methods that both classes which receive messages have: `Subscriber` and `Topic`.
macro_rules! receive_methods {
    ($handle:ident) => {
        #[pymethods]
        impl $handle {
            /// Returns the newest message that was not received yet, or `None`. Older ones are
            /// counted as skipped, or as lost if they are overwritten already. Never blocks.
            fn latest<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
                self.subscriber_endpoint.latest(py)
            }

            /// Number of messages that were overwritten before this subscriber read them, including
            /// those that no call has noticed yet.
            #[getter]
            fn lost(&self, py: Python<'_>) -> PyResult<u64> {
                self.subscriber_endpoint.with_endpoint(py, |end| end.lost())
            }

            /// Returns the message counters since this subscriber joined.
            fn stats(&self, py: Python<'_>) -> PyResult<PyStats> {
                self.subscriber_endpoint
                    .with_endpoint(py, |end| PyStats(end.stats()))
            }

            /// Sequence number of the last message received, counted by its publisher; 0 before the
            /// first.
            #[getter]
            fn sequence(&self, py: Python<'_>) -> PyResult<u64> {
                self.subscriber_endpoint
                    .with_endpoint(py, |end| end.sequence())
            }

            /// Number of bytes that the publisher of the last received message sent; 0 before the
            /// first message. Fields after these bytes have the default values of the class.
            #[getter]
            fn received_bytes(&self, py: Python<'_>) -> PyResult<usize> {
                self.subscriber_endpoint
                    .with_endpoint(py, |end| end.received_bytes())
            }

            /// Sets the time for which a wait polls before it sleeps, in seconds.
            fn set_spin(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
                let spin = duration_from_secs(seconds)?;
                self.subscriber_endpoint
                    .with_endpoint(py, |end| end.set_spin(spin))
            }

            fn __iter__(slf: Py<Self>) -> Py<Self> {
                slf
            }

            /// Blocks until there is a message. The iteration ends when the handle is closed.
            fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
                self.subscriber_endpoint.next(py)
            }

            fn __aiter__(slf: Py<Self>) -> Py<Self> {
                slf
            }

            /// Returns the next message as an awaitable of asyncio. The iteration ends when the
            /// handle is closed.
            fn __anext__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                slf.py()
                    .import("horus._asyncio")?
                    .call_method1("following", (slf,))
            }

            /// Returns the next message as an awaitable of asyncio.
            fn recv_async<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                slf.py()
                    .import("horus._asyncio")?
                    .call_method1("received", (slf,))
            }

            /// Returns the next message. If there is none, returns `wakeups` itself; the task
            /// `token` of the event loop is then woken once there is a message. WHY not `None`: a
            /// message may be `None`.
            fn _poll<'py>(
                &self,
                py: Python<'py>,
                wakeups: &Bound<'py, Wakeups>,
                token: u64,
            ) -> PyResult<Bound<'py, PyAny>> {
                let message = self.subscriber_endpoint.poll(py, wakeups.get(), token)?;
                Ok(message.unwrap_or_else(|| wakeups.clone().into_any()))
            }

            fn _forget_waker(&self, py: Python<'_>) {
                self.subscriber_endpoint.forget_waker(py);
            }
        }
    };
}

receive_methods! { PySubscriber }
receive_methods! { PyTopic }

/// Converts the Python argument with the name of a topic.
fn topic_name(name: &Bound<'_, PyAny>) -> PyResult<Arc<str>> {
    let text = name.extract::<String>();
    text.map(Arc::from)
        .map_err(|error| error::prefix_error_text(name.py(), "name", &error))
}

/// Returns the value of the Python attribute `type`: the argument `type`, or Python's `None` if it
/// is missing.
fn type_attribute(py: Python<'_>, argument: Option<&Bound<'_, PyAny>>) -> Py<PyAny> {
    argument.map_or_else(|| py.None(), |argument| argument.clone().unbind())
}

type OpenedEndpoint<T> = PyResult<(Codec, T)>;

fn open_endpoint<T: Send>(
    py: Python<'_>,
    opening: OpenArguments,
    open: impl FnOnce(DynamicBuilder) -> Result<T, horus_core::TopicError> + Send,
) -> OpenedEndpoint<T> {
    let OpenArguments { codec, builder, .. } = opening;
    let opened = run_detached(py, || open(builder));
    Ok((
        codec,
        opened.map_err(|error| error::from_topic_error(&error))?,
    ))
}

#[pymethods]
impl PyPublisher {
    #[new]
    #[pyo3(signature = (name, r#type = None, **qos))]
    fn new(
        py: Python<'_>,
        name: &Bound<'_, PyAny>,
        r#type: Option<&Bound<'_, PyAny>>,
        qos: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let name = topic_name(name)?;
        let opening =
            OpenArguments::new(&name, r#type, qos)?.check_given_keywords_apply(false, false)?;
        let (codec, end) = open_endpoint(py, opening, DynamicBuilder::publisher)?;
        let called = format!("the publisher of topic '{name}'");
        let publisher_endpoint = PublisherEndpoint::new(end, codec, Arc::clone(&name), called);
        Ok(Self {
            publisher_endpoint,
            kind: type_attribute(py, r#type),
            name,
        })
    }

    /// Returns the events of the topic's subscribers, in all processes: first an event for each
    /// subscriber that is there already, then one whenever a subscriber joins, leaves or dies.
    fn subscriber_events(&self, py: Python<'_>) -> PyResult<PyEndpointEvents> {
        let events = self
            .publisher_endpoint
            .with_endpoint(py, |end| end.subscriber_events())?;
        Ok(PyEndpointEvents::new(events, &self.name))
    }

    /// Waits until `count` subscribers are there, in all processes; returns their number. Messages
    /// that are sent afterwards reach them. Raises `TimeoutError` after `timeout` seconds.
    #[pyo3(signature = (count, timeout = None))]
    fn wait_for_subscribers(
        &self,
        py: Python<'_>,
        count: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let wanted = WaitArguments::read(count, timeout)?;
        let wait = DynamicPublisher::wait_for_subscribers;
        self.publisher_endpoint
            .wait_for_subscribers(py, wanted, wait)
    }

    /// Number of messages that this publisher's lane has carried since the topic was created.
    #[getter]
    fn sequence(&self, py: Python<'_>) -> PyResult<u64> {
        self.publisher_endpoint
            .with_endpoint(py, |end| end.sequence())
    }
}

#[pymethods]
impl PySubscriber {
    #[new]
    #[pyo3(signature = (name, r#type = None, **qos))]
    fn new(
        py: Python<'_>,
        name: &Bound<'_, PyAny>,
        r#type: Option<&Bound<'_, PyAny>>,
        qos: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let name = topic_name(name)?;
        let opening =
            OpenArguments::new(&name, r#type, qos)?.check_given_keywords_apply(true, false)?;
        let (codec, end) = match opening.observe {
            true => open_endpoint(py, opening, DynamicBuilder::observer)?,
            false => open_endpoint(py, opening, DynamicBuilder::subscriber)?,
        };
        let called = format!("the subscriber of topic '{name}'");
        let subscriber_endpoint = SubscriberEndpoint::new(end, codec, called);
        Ok(Self {
            subscriber_endpoint,
            kind: type_attribute(py, r#type),
            name,
        })
    }

    /// Returns the events of the topic's publishers, in all processes: first an event for each
    /// publisher that is there already, then one whenever a publisher joins, leaves or dies.
    fn publisher_events(&self, py: Python<'_>) -> PyResult<PyEndpointEvents> {
        let events = self
            .subscriber_endpoint
            .with_endpoint(py, |end| end.publisher_events())?;
        Ok(PyEndpointEvents::new(events, &self.name))
    }

    /// Waits until `count` publishers are there, in all processes; returns their number. Raises
    /// `TimeoutError` after `timeout` seconds.
    #[pyo3(signature = (count, timeout = None))]
    fn wait_for_publishers(
        &self,
        py: Python<'_>,
        count: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let wanted = WaitArguments::read(count, timeout)?;
        let wait = DynamicSubscriber::wait_for_publishers;
        self.subscriber_endpoint
            .wait_for_publishers(py, wanted, wait)
    }
}

#[pymethods]
impl PyTopic {
    #[new]
    #[pyo3(signature = (name, r#type = None, **qos))]
    fn new(
        py: Python<'_>,
        name: &Bound<'_, PyAny>,
        r#type: Option<&Bound<'_, PyAny>>,
        qos: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let name = topic_name(name)?;
        let opening =
            OpenArguments::new(&name, r#type, qos)?.check_given_keywords_apply(false, true)?;
        let ignore_own = opening.ignore_own;
        let ends: OpenedEndpoint<(DynamicPublisher, DynamicSubscriber)> =
            open_endpoint(py, opening, DynamicBuilder::endpoints);
        let (codec, (publisher, mut subscriber)) = ends?;
        if ignore_own {
            subscriber.ignore(&publisher);
        }
        let called = format!("the handle of topic '{name}'");
        let publisher_endpoint =
            PublisherEndpoint::new(publisher, codec, Arc::clone(&name), called.clone());
        let subscriber_endpoint = SubscriberEndpoint::new(subscriber, codec, called);
        Ok(Self {
            publisher_endpoint,
            subscriber_endpoint,
            kind: type_attribute(py, r#type),
            name,
        })
    }

    /// Returns the events of the topic's subscribers, in all processes: first an event for each
    /// subscriber that is there already, then one whenever a subscriber joins, leaves or dies.
    fn subscriber_events(&self, py: Python<'_>) -> PyResult<PyEndpointEvents> {
        let events = self
            .publisher_endpoint
            .with_endpoint(py, |end| end.subscriber_events())?;
        Ok(PyEndpointEvents::new(events, &self.name))
    }

    /// Returns the events of the topic's publishers, in all processes: first an event for each
    /// publisher that is there already, then one whenever a publisher joins, leaves or dies.
    fn publisher_events(&self, py: Python<'_>) -> PyResult<PyEndpointEvents> {
        let events = self
            .subscriber_endpoint
            .with_endpoint(py, |end| end.publisher_events())?;
        Ok(PyEndpointEvents::new(events, &self.name))
    }

    /// Waits until the topic has `count` subscribers besides the one of this handle, as
    /// `Publisher.wait_for_subscribers` does.
    #[pyo3(signature = (count, timeout = None))]
    fn wait_for_subscribers(
        &self,
        py: Python<'_>,
        count: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let wanted = WaitArguments::read(count, timeout)?;
        let wait = DynamicPublisher::wait_for_other_subscribers;
        self.publisher_endpoint
            .wait_for_subscribers(py, wanted, wait)
    }

    /// Waits until the topic has `count` publishers besides the one of this handle, as
    /// `Subscriber.wait_for_publishers` does.
    #[pyo3(signature = (count, timeout = None))]
    fn wait_for_publishers(
        &self,
        py: Python<'_>,
        count: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let wanted = WaitArguments::read(count, timeout)?;
        let wait = DynamicSubscriber::wait_for_other_publishers;
        self.subscriber_endpoint
            .wait_for_publishers(py, wanted, wait)
    }
}
