//! The builder of a topic's endpoints, which collects their settings.

use std::marker::PhantomData;
use std::sync::Arc;

use horus_shm::{Namespace, Segment};

use super::encoded::Encoded;
use super::opening::OpenSettings;
use super::{Payload, Publisher, Qos, Subscriber, Topic};
use crate::topic::error::TopicError;

/// Collects the settings of a topic's endpoints, and then opens a publisher, a subscriber or both.
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
    /// Sets the quality of service of the endpoints. Default: [`Qos::new`].
    pub fn qos(mut self, qos: Qos) -> Self {
        self.opening.qos = qos;
        self
    }

    /// Sets the number of slots (messages) in the lane of a publisher that this builder opens.
    pub fn capacity(mut self, messages: u64) -> Self {
        self.opening.qos = self.opening.qos.capacity(messages);
        self
    }

    /// Sets the namespace in which the topic is opened. Default: the namespace that the environment
    /// variables `HORUS_SHM_DIR` and `HORUS_NAMESPACE` select.
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

    /// Opens a publisher of the topic. Creates the topic if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if the publisher cannot be opened.
    pub fn publisher(self) -> Result<Publisher<T>, TopicError> {
        self.open_publisher_in(&self.opening.open_or_create_segment()?)
    }

    /// Reserves the memory of a lane, so that the next publisher with these settings needs no free
    /// memory. Creates the topic if it does not exist. Nothing is reported about subscribers that
    /// such a publisher does not match.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if the lane cannot be reserved.
    pub(crate) fn reserve_lane(self) -> Result<(), TopicError> {
        self.opening
            .reserve_lane(self.opening.open_or_create_segment()?)
    }

    /// Opens a subscriber of the topic. Creates the topic if it does not exist. Publishers never
    /// wait for the subscriber, unless [`Qos::reliability`] requests reliable delivery.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if the subscriber cannot be opened.
    pub fn subscriber(self) -> Result<Subscriber<T>, TopicError> {
        self.open_subscriber_in(&self.opening.open_or_create_segment()?)
    }

    /// Opens an observer of the topic, which must exist. An observer is a subscriber for tools. It
    /// maps all memory of the topic read-only, never slows a publisher and does not count as a
    /// subscriber of the topic.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if the observer cannot be opened.
    pub fn observer(self) -> Result<Subscriber<T>, TopicError> {
        Ok(Subscriber::from_raw(
            &self.opening.name,
            self.opening.open_observer()?,
        ))
    }

    /// Opens a publisher and a subscriber of the topic in one handle. Creates the topic if it does
    /// not exist.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if one of the endpoints cannot be opened.
    pub fn topic(self) -> Result<Topic<T>, TopicError> {
        let segment = self.opening.open_or_create_segment()?;
        Ok(Topic::from_endpoints(
            self.open_publisher_in(&segment)?,
            self.open_subscriber_in(&segment)?,
        ))
    }

    fn open_publisher_in(&self, segment: &Arc<Segment>) -> Result<Publisher<T>, TopicError> {
        let raw = self.opening.open_producer(segment)?;
        Ok(Publisher::from_raw(
            &self.opening.name,
            raw,
            self.opening.qos.stall_policy(),
        ))
    }

    fn open_subscriber_in(&self, segment: &Arc<Segment>) -> Result<Subscriber<T>, TopicError> {
        Ok(Subscriber::from_raw(
            &self.opening.name,
            self.opening.open_consumer(segment)?,
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
