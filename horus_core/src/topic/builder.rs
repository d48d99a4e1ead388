//! The builder of a topic's ends.

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

/// Everything that can be set about a topic, then one of its ends.
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

    /// Quality of service; everything left open otherwise.
    pub fn qos(mut self, qos: Qos) -> Self {
        self.qos = qos;
        self
    }

    /// Slots of each publisher's lane, in messages.
    pub fn capacity(mut self, messages: u64) -> Self {
        self.qos = self.qos.capacity(messages);
        self
    }

    /// The namespace; otherwise that of the environment (`HORUS_SHM_DIR`, `HORUS_NAMESPACE`).
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

    /// A reader that maps everything read-only; the topic must be there.
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
    /// A publisher; creates the topic if it is not there.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn publisher(self) -> Result<Publisher<T>, TopicError> {
        self.publisher_of(&self.segment(false)?)
    }

    /// A subscriber, reliable if the topic is and nothing else is asked for; creates the topic if
    /// it is not there.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn subscriber(self) -> Result<Subscriber<T>, TopicError> {
        self.subscriber_of(&self.segment(true)?)
    }

    /// A subscriber that maps everything read-only, holds nobody back and is not counted: for
    /// tools. The topic must be there.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn observer(self) -> Result<Subscriber<T>, TopicError> {
        Ok(Subscriber::from_raw(&self.name, self.observing()?))
    }

    /// Both ends.
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
    /// Bytes of the longest message, up to 64 MiB less a few: what a slot has room for if this
    /// creates the topic, and what a publisher wants at least if it is there.
    pub fn max_message_bytes(mut self, bytes: u64) -> Self {
        self.max_message_bytes = Some(bytes);
        self
    }
}

impl TopicBuilder<PayloadType> {
    /// What the longest message has to have, in bytes; `None` for the type's default.
    pub(super) const fn longest(mut self, bytes: Option<u64>) -> Self {
        self.max_message_bytes = bytes;
        self
    }

    /// A publisher of bytes; creates the topic if it is not there.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn bytes_publisher(self) -> Result<BytesPublisher, TopicError> {
        self.bytes_publisher_of(&self.segment(false)?)
    }

    /// A subscriber of bytes, reliable if the topic is and nothing else is asked for; creates the
    /// topic if it is not there.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn bytes_subscriber(self) -> Result<BytesSubscriber, TopicError> {
        self.bytes_subscriber_of(&self.segment(true)?)
    }

    /// A subscriber that maps everything read-only, holds nobody back and is not counted: for
    /// tools. The topic must be there.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn bytes_observer(self) -> Result<BytesSubscriber, TopicError> {
        Ok(BytesSubscriber::from_raw(&self.name, self.observing()?))
    }

    /// Both ends.
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
