//! Opening untyped endpoints, and creating their topic if necessary.

use std::sync::Arc;

use horus_shm::{
    Namespace, OpenError, RawConsumer, RawProducer, Reading, Reliability, Segment, TopicName,
};

use super::{MessageType, UntypedPublisher, UntypedSubscriber};
use crate::topic::Qos;
use crate::topic::error::TopicError;

/// Opens untyped endpoints, as [`TopicBuilder`](crate::topic::TopicBuilder) opens typed ones.
#[derive(Debug, Clone)]
#[must_use]
pub struct UntypedBuilder {
    name: String,
    message_type: Option<MessageType>,
    namespace: Option<Arc<Namespace>>,
    qos: Qos,
    max_message_bytes: Option<u64>,
}

impl UntypedBuilder {
    /// Returns a builder for the topic `name`. Without a [`Self::message_type`] the topic must
    /// exist, and its own type is used.
    pub fn new(name: &str) -> Self {
        let name = name.to_owned();
        let (message_type, namespace, max_message_bytes) = (None, None, None);
        Self { name, message_type, namespace, qos: Qos::new(), max_message_bytes }
    }

    /// Sets the type that the messages must have; the topic is created if it does not exist.
    pub fn message_type(mut self, message_type: MessageType) -> Self {
        self.message_type = Some(message_type);
        self
    }

    /// Sets the namespace. Default: the one of the environment (`HORUS_SHM_DIR`,
    /// `HORUS_NAMESPACE`).
    pub fn namespace(mut self, namespace: &Arc<Namespace>) -> Self {
        self.namespace = Some(Arc::clone(namespace));
        self
    }

    /// Sets the quality of service. Default: everything open, adopted from an existing topic.
    pub fn qos(mut self, qos: Qos) -> Self {
        self.qos = qos;
        self
    }

    /// Sets the length of the longest message, as
    /// [`TopicBuilder::max_message_bytes`](crate::topic::TopicBuilder::max_message_bytes) does.
    pub fn max_message_bytes(mut self, bytes: u64) -> Self {
        self.max_message_bytes = Some(bytes);
        self
    }

    /// Opens a publisher.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn publisher(self) -> Result<UntypedPublisher, TopicError> {
        let segment = self.segment(false);
        let raw = segment.and_then(|segment| RawProducer::new(segment, self.qos.stall_policy()));
        let raw = raw.map_err(|error| TopicError::new(&self.name, error))?;
        Ok(UntypedPublisher::from_raw(raw))
    }

    /// Opens a subscriber. It reads as reliably as the topic is, unless the quality of service sets
    /// a reliability.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn subscriber(self) -> Result<UntypedSubscriber, TopicError> {
        let open = || {
            let segment = self.segment(true)?;
            let topic_is_reliable = segment.contract().reliability == Reliability::Reliable;
            let reading = match self.qos.reads_reliably().unwrap_or(topic_is_reliable) {
                true => Reading::Gated,
                false => Reading::KeepLast,
            };
            RawConsumer::new(segment, reading)
        };
        let raw = open().map_err(|error| TopicError::new(&self.name, error))?;
        Ok(UntypedSubscriber::from_raw(raw))
    }

    fn segment(&self, reader: bool) -> Result<Arc<Segment>, OpenError> {
        let namespace = match &self.namespace {
            Some(namespace) => Arc::clone(namespace),
            None => Namespace::current()?,
        };
        let topic = TopicName::new(&self.name)?;
        let type_info = match &self.message_type {
            Some(message_type) => message_type.clone().into_info(),
            None => Segment::inspect(&namespace, &topic)?.contract().type_info.clone(),
        };
        let mut request = self.qos.request(type_info, reader);
        request.max_message_bytes = self.max_message_bytes;
        match self.message_type {
            Some(_) => Segment::open_or_create(&namespace, &topic, &request),
            None => Segment::open(&namespace, &topic, &request),
        }
    }
}
