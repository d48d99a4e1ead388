//! Publishers, subscribers and both in one.

use horus_core::topic::{BytesPublisher, BytesSubscriber, PayloadType, TopicBuilder};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::codec::Codec;
use crate::end::End;
use crate::error;
use crate::kind::Kind;
use crate::message;
use crate::qos::Keywords;

/// A topic that is to be opened.
struct Opening {
    codec: Codec,
    builder: TopicBuilder<PayloadType>,
    keywords: Keywords,
}

impl Opening {
    fn new(
        name: &str,
        kind: &Bound<'_, PyAny>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let codec = Codec::of_argument(kind)?;
        let keywords = Keywords::read(keywords)?;
        let mut payload = codec.payload().clone();
        if let Some(bytes) = keywords.max_message_bytes {
            payload = payload.with_max_message_bytes(bytes);
        }
        let mut builder = payload.builder(name).qos(keywords.qos);
        if let Some(namespace) = &keywords.namespace {
            builder = builder.namespace(&namespace.get().inner);
        }
        Ok(Self { codec, builder, keywords })
    }
}

/// Publishes messages of one type on a topic.
#[pyclass(frozen, name = "Publisher", module = "horus")]
#[derive(Debug)]
pub(crate) struct PyPublisher {
    end: End<BytesPublisher>,
    codec: Codec,
    name: String,
}

#[pymethods]
impl PyPublisher {
    #[new]
    #[pyo3(signature = (name, r#type, /, **qos))]
    fn new(
        py: Python<'_>,
        name: &str,
        r#type: &Bound<'_, PyAny>,
        qos: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let Opening { codec, builder, .. } = Opening::new(name, r#type, qos)?;
        let end =
            py.detach(|| builder.bytes_publisher()).map_err(|error| error::of_open(&error))?;
        Ok(Self { end: End::new(end), codec, name: name.to_owned() })
    }

    /// Publishes a message. Never blocks.
    fn send(&self, message: &Bound<'_, PyAny>) -> PyResult<()> {
        let Codec::Message(kind) = self.codec;
        expect(kind, message)?;
        let mut end = self.end.enter(message.py())?;
        end.get().send(message::bytes(message)).map_err(|error| error::of_send(&error))
    }

    /// Closes it; closing it again does nothing.
    fn close(&self, py: Python<'_>) {
        self.end.close(py);
    }
}

/// Refuses what is not a message of `kind`.
#[inline]
fn expect(kind: &'static Kind, object: &Bound<'_, PyAny>) -> PyResult<()> {
    if message::is_message(object) && std::ptr::eq(message::kind_of(object), kind) {
        return Ok(());
    }
    let found = object.get_type();
    Err(PyTypeError::new_err(format!("the topic carries {}, not {found}", kind.schema.name)))
}

/// Receives messages of one type from a topic.
#[pyclass(frozen, name = "Subscriber", module = "horus")]
#[derive(Debug)]
pub(crate) struct PySubscriber {
    end: End<BytesSubscriber>,
    codec: Codec,
    class: Py<PyAny>,
    name: String,
}

#[pymethods]
impl PySubscriber {
    #[new]
    #[pyo3(signature = (name, r#type, /, **qos))]
    fn new(
        py: Python<'_>,
        name: &str,
        r#type: &Bound<'_, PyAny>,
        qos: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let Opening { codec, builder, .. } = Opening::new(name, r#type, qos)?;
        let end =
            py.detach(|| builder.bytes_subscriber()).map_err(|error| error::of_open(&error))?;
        Ok(Self {
            end: End::new(end),
            codec,
            class: r#type.clone().unbind(),
            name: name.to_owned(),
        })
    }

    /// The next message, or `None`. Never blocks.
    fn recv<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Codec::Message(kind) = self.codec;
        let mut end = self.end.enter(py)?;
        let object = message::zeroed(py, kind, self.class.as_ptr().cast())?;
        // SAFETY: nobody else knows the object.
        let buffer = unsafe { std::slice::from_raw_parts_mut(message::data(&object), kind.bytes) };
        Ok(end.get().recv(buffer).map(|_| object))
    }

    /// Closes it; closing it again does nothing.
    fn close(&self, py: Python<'_>) {
        self.end.close(py);
    }
}
