//! The publishing end of a topic.

use std::borrow::Borrow;
use std::sync::Arc;
use std::time::Duration;

use horus_shm::wait::Patience;
use horus_shm::{Loan, Producer, RawProducer};

use super::{Backend, Qos, Topic};
use crate::error::{LoanError, SendError, TopicError};
use crate::message::Message;

/// Publishes messages of type `T`. `Send`, not `Sync`: one thread at a time; for another thread
/// [`Publisher::try_clone`] claims another lane.
#[derive(Debug)]
pub struct Publisher<T> {
    name: Arc<str>,
    producer: Producer<T>,
    qos_on_stalled: horus_shm::OnStalled,
}

impl<T: Message> Publisher<T> {
    /// Opens the topic `name` to publish on it, creating it if it is not there.
    ///
    /// # Errors
    ///
    /// [`TopicError`]: another message type, too many publishers, a bad name, no memory …
    pub fn new(name: &str) -> Result<Self, TopicError> {
        Topic::builder(name).publisher()
    }

    /// [`Self::new`] with a quality of service.
    ///
    /// # Errors
    ///
    /// As [`Self::new`], and a setting that differs from the topic's.
    pub fn with_qos(name: &str, qos: Qos) -> Result<Self, TopicError> {
        Topic::builder(name).qos(qos).publisher()
    }

    pub(super) fn from_raw(name: &str, raw: RawProducer, on_stalled: horus_shm::OnStalled) -> Self {
        Self { name: name.into(), producer: Producer::new(raw), qos_on_stalled: on_stalled }
    }

    /// Publishes `message`, given by value or by reference. Never blocks.
    ///
    /// Copies it into shared memory once: no allocation, no system call. Subscribers in other
    /// processes see it one cache-line transfer later.
    ///
    /// # Errors
    ///
    /// [`SendError::Full`] on a reliable topic whose slowest subscriber is a whole lane behind;
    /// [`SendError::Forked`] in a forked child; [`SendError::RegionLost`] if somebody truncated the
    /// topic's file (the message may have been delivered before). The message comes back.
    #[inline(always)]
    pub fn send(&mut self, message: impl Borrow<T>) -> Result<(), SendError<T>> {
        let message = message.borrow();
        self.producer.send_ref(message).map_err(|error| error.with(*message))
    }

    /// Lends the next slot in shared memory: fill it in place, then [`Loan::publish`]. Subscribers
    /// that [`borrow`](super::Subscriber::borrow) read it there: a frame is never copied.
    ///
    /// Never blocks. Needs a pinnable topic: one with messages of 4 KiB and more, or created with
    /// [`Qos::pinnable`]. The loan begins as whatever the slot held before, and is forgotten if it
    /// is dropped.
    ///
    /// # Errors
    ///
    /// [`LoanError`].
    pub fn loan(&mut self) -> Result<Loan<'_, T>, LoanError> {
        self.producer.loan()
    }

    /// [`Self::send`], but waits for room for up to `timeout` while the topic is full.
    ///
    /// Blocks: spins briefly, then sleeps until a subscriber has read on.
    ///
    /// # Errors
    ///
    /// As [`Self::send`]; [`SendError::Full`] only after the timeout.
    pub fn send_timeout(
        &mut self,
        message: impl Borrow<T>,
        timeout: Duration,
    ) -> Result<(), SendError<T>> {
        let message = message.borrow();
        let sent = self.producer.send_until(Patience::of(timeout), message);
        sent.map_err(|error| error.with(*message))
    }

    /// One more publisher of the same topic, with a lane of its own: for another thread.
    ///
    /// # Errors
    ///
    /// [`TopicError`]: no lane is free.
    pub fn try_clone(&self) -> Result<Self, TopicError> {
        let raw = RawProducer::new(Arc::clone(self.producer.raw().segment()), self.qos_on_stalled);
        let raw = raw.map_err(|error| TopicError::new(&self.name, error))?;
        Ok(Self::from_raw(&self.name, raw, self.qos_on_stalled))
    }

    /// The topic's name, as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Messages that this publisher's lane has carried since the topic was created, earlier owners
    /// of the lane included: the sequence number of the last message sent.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.producer.position()
    }

    /// Live publishers of the topic. About 0.2 µs for each.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.producer.raw().segment().publisher_count()
    }

    /// Live subscribers of the topic, in any process. About 0.2 µs for each.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.producer.raw().segment().subscriber_count()
    }

    /// What kind of ring the topic is with its present participants.
    #[must_use]
    pub fn backend(&self) -> Backend {
        Backend::of(self.producer.raw().segment())
    }

    pub(super) const fn raw(&self) -> &RawProducer {
        self.producer.raw()
    }
}
