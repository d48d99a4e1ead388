//! The builder of endpoints whose message type is known only at run time.

use std::sync::Arc;

use horus_shm::Namespace;

use super::{DynamicPublisher, DynamicSubscriber, DynamicType};
use crate::topic::Qos;
use crate::topic::error::TopicError;
use crate::topic::opening::OpenSettings;

/// Collects the settings of a topic's endpoints, and then opens a publisher, a subscriber or both.
/// Their message type is known only at run time; otherwise use
/// [`TopicBuilder`](crate::topic::TopicBuilder).
#[derive(Debug, Clone)]
#[must_use]
pub struct DynamicBuilder(OpenSettings);

impl DynamicType {
    /// Returns a builder for endpoints of the topic `name` with messages of this type. Opening an
    /// endpoint creates the topic if it does not exist.
    pub fn builder(&self, name: &str) -> DynamicBuilder {
        DynamicBuilder(OpenSettings::new(name, Some(self.info().clone())))
    }
}

impl DynamicBuilder {
    /// Returns a builder for endpoints of the topic `name`, which must exist. The endpoints have
    /// the message type of the topic. If messages vary in length, a new publisher starts with slots
    /// of the default length, even if other publishers of the topic already have longer slots.
    pub fn for_existing_topic(name: &str) -> Self {
        Self(OpenSettings::new(name, None))
    }

    /// Sets the quality of service of the endpoints. Default: [`Qos::new`].
    pub fn qos(mut self, qos: Qos) -> Self {
        self.0.qos = qos;
        self
    }

    /// Sets the namespace in which the topic is opened. Default: the namespace that the environment
    /// variables `HORUS_SHM_DIR` and `HORUS_NAMESPACE` select.
    pub fn namespace(mut self, namespace: &Arc<Namespace>) -> Self {
        self.0.namespace = Some(Arc::clone(namespace));
        self
    }

    /// Sets the length in bytes of the longest message that a publisher may send, as
    /// [`TopicBuilder::max_message_bytes`](crate::topic::TopicBuilder::max_message_bytes) does. The
    /// setting has no effect on messages of a fixed size.
    pub fn max_message_bytes(mut self, bytes: u64) -> Self {
        self.0.max_message_bytes = Some(bytes);
        self
    }

    /// Sets the default message of a subscriber. When the subscriber receives a shorter message,
    /// because the publisher knows fewer fields, it takes the missing bytes from the default
    /// message. Default: zeros.
    pub fn defaults(mut self, message: &[u8]) -> Self {
        let is_zero = message.iter().all(|byte| *byte == 0);
        self.0.defaults = (!is_zero).then(|| message.into());
        self
    }

    /// Opens a publisher of the topic.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if the publisher cannot be opened.
    pub fn publisher(self) -> Result<DynamicPublisher, TopicError> {
        let raw = self.0.open_producer(&self.0.open_or_create_segment()?)?;
        Ok(DynamicPublisher::from_raw(raw))
    }

    /// Opens a subscriber of the topic. Publishers never wait for the subscriber, unless
    /// [`Qos::reliability`] requests reliable delivery.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if the subscriber cannot be opened.
    pub fn subscriber(self) -> Result<DynamicSubscriber, TopicError> {
        let raw = self.0.open_consumer(&self.0.open_or_create_segment()?)?;
        Ok(DynamicSubscriber::from_raw(raw))
    }

    /// Opens an observer of the topic, which must exist. An observer is a subscriber for tools. It
    /// maps all memory of the topic read-only, never slows a publisher and does not count as a
    /// subscriber of the topic.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if the observer cannot be opened.
    pub fn observer(self) -> Result<DynamicSubscriber, TopicError> {
        Ok(DynamicSubscriber::from_raw(self.0.open_observer()?))
    }

    /// Opens a publisher and a subscriber of the topic.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if one of the endpoints cannot be opened.
    pub fn endpoints(self) -> Result<(DynamicPublisher, DynamicSubscriber), TopicError> {
        let segment = self.0.open_or_create_segment()?;
        let producer = self.0.open_producer(&segment)?;
        let consumer = self.0.open_consumer(&segment)?;
        Ok((
            DynamicPublisher::from_raw(producer),
            DynamicSubscriber::from_raw(consumer),
        ))
    }
}
