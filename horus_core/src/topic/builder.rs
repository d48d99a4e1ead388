//! The builder of a topic's endpoints.

use std::marker::PhantomData;
use std::sync::Arc;

use horus_shm::{Namespace, Segment};

use super::encoded::Encoded;
use super::opening::OpenSettings;
use super::{Payload, Publisher, Qos, Subscriber, Topic};
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
    opening: OpenSettings,
    marker: PhantomData<fn(T) -> T>,
}

impl<T> TopicBuilder<T> {
    /// Sets the quality of service. Default: [`Qos::new`].
    pub fn qos(mut self, qos: Qos) -> Self {
        self.opening.qos = qos;
        self
    }

    /// Sets the number of slots of each publisher's lane, in messages.
    pub fn capacity(mut self, messages: u64) -> Self {
        self.opening.qos = self.opening.qos.capacity(messages);
        self
    }

    /// Sets the namespace. Default: the namespace that the environment variables `HORUS_SHM_DIR`
    /// and `HORUS_NAMESPACE` select.
    pub fn namespace(mut self, namespace: &Arc<Namespace>) -> Self {
        self.opening.namespace = Some(Arc::clone(namespace));
        self
    }
}

impl<T: Payload> TopicBuilder<T> {
    pub(super) fn new(name: &str) -> Self {
        let mut opening = OpenSettings::new(name, Some(T::type_info()));
        opening.defaults = T::default_bytes();
        Self {
            opening,
            marker: PhantomData,
        }
    }

    /// Opens a publisher; creates the topic if it does not exist.
    ///
    /// # Errors
    ///
    /// [`TopicError`] if the endpoint cannot be opened.
    pub fn publisher(self) -> Result<Publisher<T>, TopicError> {
        self.publisher_in(&self.opening.segment()?)
    }

    /// Opens a subscriber; creates the topic if it does not exist. Publishers never wait for it,
    /// unless [`Qos::reliability`] requests reliable delivery.
    ///
    /// # Errors
    ///
    /// [`TopicError`] if the endpoint cannot be opened.
    pub fn subscriber(self) -> Result<Subscriber<T>, TopicError> {
        self.subscriber_in(&self.opening.segment()?)
    }

    /// Opens an observer, which is a subscriber for tools. It maps all memory of the topic
    /// read-only, never slows a publisher and does not count as a subscriber of the topic. The
    /// topic must exist.
    ///
    /// # Errors
    ///
    /// [`TopicError`] if the endpoint cannot be opened.
    pub fn observer(self) -> Result<Subscriber<T>, TopicError> {
        Ok(Subscriber::from_raw(
            &self.opening.name,
            self.opening.observer()?,
        ))
    }

    /// Opens a publisher and a subscriber in one handle.
    ///
    /// # Errors
    ///
    /// [`TopicError`] if the endpoint cannot be opened.
    pub fn topic(self) -> Result<Topic<T>, TopicError> {
        let segment = self.opening.segment()?;
        Ok(Topic::from_ends(
            self.publisher_in(&segment)?,
            self.subscriber_in(&segment)?,
        ))
    }

    fn publisher_in(&self, segment: &Arc<Segment>) -> Result<Publisher<T>, TopicError> {
        let raw = self.opening.producer(segment)?;
        Ok(Publisher::from_raw(
            &self.opening.name,
            raw,
            self.opening.qos.stall_policy(),
        ))
    }

    fn subscriber_in(&self, segment: &Arc<Segment>) -> Result<Subscriber<T>, TopicError> {
        Ok(Subscriber::from_raw(
            &self.opening.name,
            self.opening.consumer(segment)?,
        ))
    }
}

impl<T: Payload + Encoded> TopicBuilder<T> {
    /// Sets the length in bytes of the longest message that the publisher may send. The limit is a
    /// few bytes less than 64 MiB. The publisher's slots have this size from the start. Without
    /// this setting, the slots grow when a longer message is sent. The setting has no effect on a
    /// subscriber.
    pub fn max_message_bytes(mut self, bytes: u64) -> Self {
        self.opening.max_message_bytes = Some(bytes);
        self
    }
}
