//! The builder of a topic's endpoints.

use std::marker::PhantomData;
use std::sync::Arc;

use horus_shm::{
    Namespace, OpenError, RawConsumer, RawProducer, Reading, Reliability, Segment, TopicName,
    TypeInfo,
};

use super::encoded::Encoded;
use super::{
    BytesPublisher, BytesSubscriber, Payload, PayloadType, Publisher, Qos, Subscriber, Topic,
};
use crate::topic::error::TopicError;

/// Builder for a topic's endpoints, with every setting of a topic.
///
/// ```
/// # fn main() -> horus_core::Result<()> {
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use horus_core::prelude::*;
///
/// let mut publisher = Topic::<Imu>::builder("imu").qos(Qos::sensor_data()).publisher()?;
/// publisher.send(Imu::default())?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct TopicBuilder<T> {
    name: String,
    info: TypeInfo,
    namespace: Option<Arc<Namespace>>,
    qos: Qos,
    max_message_bytes: Option<u64>,
    marker: PhantomData<fn(T) -> T>,
}

impl<T> TopicBuilder<T> {
    pub(crate) fn new(name: &str, info: TypeInfo) -> Self {
        Self {
            name: name.to_owned(),
            info,
            namespace: None,
            qos: Qos::new(),
            max_message_bytes: None,
            marker: PhantomData,
        }
    }

    /// Sets the quality of service. Default: everything open, adopted from an existing topic.
    pub fn qos(mut self, qos: Qos) -> Self {
        self.qos = qos;
        self
    }

    /// Sets the number of slots of each publisher's lane, in messages.
    pub fn capacity(mut self, messages: u64) -> Self {
        self.qos = self.qos.capacity(messages);
        self
    }

    /// Sets the namespace. Default: the one of the environment (`HORUS_SHM_DIR`,
    /// `HORUS_NAMESPACE`).
    pub fn namespace(mut self, namespace: &Arc<Namespace>) -> Self {
        self.namespace = Some(Arc::clone(namespace));
        self
    }

    fn open_namespace(&self) -> Result<Arc<Namespace>, OpenError> {
        match &self.namespace {
            Some(namespace) => Ok(Arc::clone(namespace)),
            None => Ok(Namespace::current()?),
        }
    }

    fn segment(&self, reader: bool) -> Result<Arc<Segment>, TopicError> {
        let mut request = self.qos.request(self.info.clone(), reader);
        request.max_message_bytes = self.max_message_bytes;
        let open = || {
            let name = TopicName::new(&self.name)?;
            Segment::open_or_create(&self.open_namespace()?, &name, &request)
        };
        open().map_err(|error| self.error(error))
    }

    fn producer(&self, segment: &Arc<Segment>) -> Result<RawProducer, TopicError> {
        let raw = RawProducer::new(Arc::clone(segment), self.qos.stall_policy());
        raw.map_err(|error| self.error(error))
    }

    fn consumer(&self, segment: &Arc<Segment>) -> Result<RawConsumer, TopicError> {
        let topic_is_reliable = segment.contract().reliability == Reliability::Reliable;
        let reading = match self.qos.reads_reliably().unwrap_or(topic_is_reliable) {
            true => Reading::Gated,
            false => Reading::KeepLast,
        };
        let raw = RawConsumer::new(Arc::clone(segment), reading);
        raw.map_err(|error| self.error(error))
    }

    /// Opens a reader that maps everything read-only; the topic must exist.
    fn observing(&self) -> Result<RawConsumer, TopicError> {
        let request = Qos::new().request(self.info.clone(), true);
        let segment = self
            .open_namespace()
            .and_then(|namespace| Segment::open(&namespace, &TopicName::new(&self.name)?, &request))
            .map_err(|error| self.error(error))?;
        RawConsumer::new(segment, Reading::Observer).map_err(|error| self.error(error))
    }

    fn error(&self, error: OpenError) -> TopicError {
        TopicError::new(&self.name, error)
    }
}

impl<T: Payload> TopicBuilder<T> {
    /// Opens a publisher; creates the topic if it does not exist.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn publisher(self) -> Result<Publisher<T>, TopicError> {
        self.publisher_of(&self.segment(false)?)
    }

    /// Opens a subscriber; creates the topic if it does not exist. It reads as reliably as the
    /// topic is, unless [`Qos::reliability`] was set.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn subscriber(self) -> Result<Subscriber<T>, TopicError> {
        self.subscriber_of(&self.segment(true)?)
    }

    /// Opens a subscriber for tools: it maps everything read-only, never slows a publisher and is
    /// not counted. The topic must exist.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn observer(self) -> Result<Subscriber<T>, TopicError> {
        Ok(Subscriber::from_raw(&self.name, self.observing()?))
    }

    /// Opens a publisher and a subscriber in one handle.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn topic(self) -> Result<Topic<T>, TopicError> {
        let segment = self.segment(false)?;
        Ok(Topic::from_ends(self.publisher_of(&segment)?, self.subscriber_of(&segment)?))
    }

    fn publisher_of(&self, segment: &Arc<Segment>) -> Result<Publisher<T>, TopicError> {
        let raw = self.producer(segment)?;
        Ok(Publisher::from_raw(&self.name, raw, self.qos.stall_policy()))
    }

    fn subscriber_of(&self, segment: &Arc<Segment>) -> Result<Subscriber<T>, TopicError> {
        Ok(Subscriber::from_raw(&self.name, self.consumer(segment)?))
    }
}

impl<T: Payload + Encoded> TopicBuilder<T> {
    /// Sets the length of the longest message in bytes, up to a few bytes less than 64 MiB. A topic
    /// that this call creates has slots of that size. An existing topic must have slots of at least
    /// that size for a publisher.
    pub fn max_message_bytes(mut self, bytes: u64) -> Self {
        self.max_message_bytes = Some(bytes);
        self
    }
}

impl TopicBuilder<PayloadType> {
    /// Sets the length of the longest message in bytes; `None` for the type's default.
    pub(super) const fn longest(mut self, bytes: Option<u64>) -> Self {
        self.max_message_bytes = bytes;
        self
    }

    /// Opens a publisher of bytes; creates the topic if it does not exist.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn bytes_publisher(self) -> Result<BytesPublisher, TopicError> {
        self.bytes_publisher_of(&self.segment(false)?)
    }

    /// Opens a subscriber of bytes; creates the topic if it does not exist. It reads as reliably as
    /// the topic is, unless [`Qos::reliability`] was set.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn bytes_subscriber(self) -> Result<BytesSubscriber, TopicError> {
        self.bytes_subscriber_of(&self.segment(true)?)
    }

    /// Opens a subscriber for tools: it maps everything read-only, never slows a publisher and is
    /// not counted. The topic must exist.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn bytes_observer(self) -> Result<BytesSubscriber, TopicError> {
        Ok(BytesSubscriber::from_raw(&self.name, self.observing()?))
    }

    /// Opens a publisher and a subscriber of bytes.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn bytes_ends(self) -> Result<(BytesPublisher, BytesSubscriber), TopicError> {
        let segment = self.segment(false)?;
        Ok((self.bytes_publisher_of(&segment)?, self.bytes_subscriber_of(&segment)?))
    }

    fn bytes_publisher_of(&self, segment: &Arc<Segment>) -> Result<BytesPublisher, TopicError> {
        Ok(BytesPublisher::from_raw(&self.name, self.producer(segment)?))
    }

    fn bytes_subscriber_of(&self, segment: &Arc<Segment>) -> Result<BytesSubscriber, TopicError> {
        Ok(BytesSubscriber::from_raw(&self.name, self.consumer(segment)?))
    }
}
