//! The publishing endpoint of a topic.

use std::borrow::Borrow;
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{Loan, Participant, RawProducer, UnmatchedPair};

use super::payload::MessageWriter;
use super::{Backend, Payload, Qos, Topic};
use crate::message::{Framed, FramedLoan, Header, Message};
use crate::topic::endpoint_events::EndpointEvents;
use crate::topic::endpoint_wait::WantedEndpoints;
use crate::topic::error::{EndpointKind, EndpointWaitError, LoanError, SendError, TopicError};

/// Publishes messages of type `T`. It is `Send` but not `Sync`: one thread can use it at a time.
/// For another thread, [`Publisher::try_clone`] opens a publisher with another lane.
#[derive(Debug)]
pub struct Publisher<T: Payload> {
    name: Arc<str>,
    writer: T::Writer,
    // WHY a `Cell`: it makes the publisher `!Sync`.
    marker: PhantomData<Cell<()>>,
    qos_on_stalled: horus_shm::OnStalled,
}

impl<T: Payload> Publisher<T> {
    /// Opens a publisher of the topic `name`. Creates the topic if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`], for instance if the topic has too many publishers, the name is
    /// invalid, or memory is lacking. It is not an error if subscribers read a different message
    /// type: [`Self::unmatched_subscribers`] lists these subscribers.
    pub fn new(name: &str) -> Result<Self, TopicError> {
        Topic::builder(name).publisher()
    }

    /// Opens a publisher as [`Self::new`] does, with the given quality of service.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::new`], and an error if a setting of `qos` is out of its range.
    pub fn with_qos(name: &str, qos: Qos) -> Result<Self, TopicError> {
        Topic::builder(name).qos(qos).publisher()
    }

    pub(super) fn from_raw(name: &str, raw: RawProducer, on_stalled: horus_shm::OnStalled) -> Self {
        let writer = T::Writer::new(raw);
        Self {
            name: name.into(),
            writer,
            marker: PhantomData,
            qos_on_stalled: on_stalled,
        }
    }

    /// Publishes `message`, which is a value or a reference. Never blocks.
    ///
    /// Copies or encodes the message into shared memory once, without a system call or an
    /// allocation, except to wake a subscriber that sleeps, and to make longer slots for the first
    /// message that does not fit ([`Self::reserve`]). Subscribers in other processes see the
    /// message one cache-line transfer later.
    ///
    /// # Errors
    ///
    /// Returns [`SendError::Full`] if this publisher is reliable, and a subscriber that requests
    /// reliability is behind by the lane's whole capacity; [`SendError::Forked`] in a forked child;
    /// [`SendError::RegionLost`] if a process truncated the topic's file (the message may have been
    /// delivered before); [`SendError::NameLost`] if the file was removed or replaced and the
    /// present one cannot be used; [`SendError::TooLong`] and [`SendError::Unencodable`] for
    /// messages whose length varies. The error contains `message`.
    #[inline(always)]
    pub fn send<M: Borrow<T>>(&mut self, message: M) -> Result<(), SendError<M>> {
        self.writer
            .send(message.borrow())
            .map_err(|error| error.with(message))
    }

    /// Publishes `message` as [`Self::send`] does, but waits up to `timeout` for a free slot while
    /// the topic is full.
    ///
    /// Blocks: spins briefly, then sleeps until a subscriber frees a slot.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::send`], but [`SendError::Full`] only after the timeout.
    pub fn send_timeout<M: Borrow<T>>(
        &mut self,
        message: M,
        timeout: Duration,
    ) -> Result<(), SendError<M>> {
        let sent = self
            .writer
            .send_until(WaitPolicy::with_timeout(timeout), message.borrow());
        sent.map_err(|error| error.with(message))
    }

    /// Opens another publisher of the same topic, with its own lane, for another thread.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if the topic has no free lane, or memory is lacking.
    pub fn try_clone(&self) -> Result<Self, TopicError> {
        let raw = RawProducer::new(Arc::clone(self.raw().segment()), self.qos_on_stalled);
        let raw = raw.map_err(|error| TopicError::new(&self.name, error))?;
        Ok(Self::from_raw(&self.name, raw, self.qos_on_stalled))
    }

    /// Maps all memory of this publisher now, instead of one page at a time during the first
    /// messages. Call it in real-time nodes before the first tick. Blocks for 2 to 5 ms per MiB.
    /// Does nothing before Linux 5.14.
    pub fn prefault(&self) {
        self.raw().prefault();
    }

    /// Reserves memory for messages of `bytes` bytes now, instead of when the first message of that
    /// length is sent. This makes some system calls and takes 2 to 5 ms per MiB. It has no effect
    /// if messages of that length already fit into the slots.
    ///
    /// # Errors
    ///
    /// Returns [`SendError::TooLong`] if this publisher may not send messages of that length;
    /// [`SendError::NoSpace`] if there is no memory for them; [`SendError::Full`] if reliable
    /// subscribers still have to read messages in three earlier reservations.
    pub fn reserve(&mut self, bytes: u64) -> Result<(), SendError<()>> {
        self.writer.reserve(bytes)
    }

    /// Returns the name of the topic, as it was given when this publisher was opened.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of messages that this publisher's lane has carried since the topic was
    /// created, including the messages of earlier publishers on this lane. This number is also the
    /// sequence number of the last message sent.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.raw().position()
    }

    /// Returns the length in bytes of the longest message that this publisher may send.
    #[must_use]
    pub fn max_message_bytes(&self) -> u64 {
        self.raw().segment().request().longest_bytes()
    }

    /// Counts the live publishers of the topic. Takes about 0.2 µs for each publisher.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.raw().topic_files().publisher_count()
    }

    /// Counts the live subscribers of the topic, in any process. Messages that are sent from now on
    /// reach these subscribers. Takes about 0.2 µs for each subscriber.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.raw().topic_files().subscriber_count()
    }

    /// Waits until the topic has `count` subscribers, but at most for `timeout`. Returns the number
    /// of subscribers that the topic has.
    ///
    /// Messages that are sent after this call has returned reach these subscribers. All live
    /// subscribers of the topic count, in this process and in all others. Observers do not count,
    /// nor do subscribers whose process was killed. With a `count` of 0, this call returns at once.
    /// With a `timeout` of [`Duration::MAX`], it waits without a limit.
    ///
    /// Blocks: counts the subscribers once, then again after pauses that grow from 1 ms to 10 ms.
    /// Counting takes about 0.2 µs for each subscriber.
    ///
    /// # Errors
    ///
    /// Returns [`EndpointWaitError::Timeout`] if too few subscribers joined in time. Returns the
    /// other variants at once: if the topic can never have so many subscribers, in a forked child,
    /// or if the topic's memory is lost.
    ///
    /// ```
    /// # fn main() -> horus_core::Result<()> {
    /// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    /// # // SAFETY: this program has one thread.
    /// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
    /// use std::time::Duration;
    ///
    /// use horus_core::prelude::*;
    ///
    /// let mut publisher: Publisher<CmdVel> = Publisher::new("cmd_vel")?;
    /// # let mut subscriber: Subscriber<CmdVel> = Subscriber::new("cmd_vel")?;
    /// publisher.wait_for_subscribers(1, Duration::from_secs(10))?;
    /// publisher.send(CmdVel::new(0.5, 0.1))?; // The subscriber gets it.
    /// # assert!(subscriber.recv().is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait_for_subscribers(
        &self,
        count: usize,
        timeout: Duration,
    ) -> Result<usize, EndpointWaitError> {
        WantedEndpoints::subscribers(count).wait(self.raw().topic_files(), timeout)
    }

    /// Returns a watch of the topic's subscribers in all processes. It yields an event for each
    /// present subscriber, and for each one that joins, leaves or dies later. If a subscriber does
    /// not match this publisher, the event that it joined contains the reason.
    #[must_use]
    pub fn subscriber_events(&self) -> EndpointEvents {
        let raw = self.raw();
        EndpointEvents::new(
            raw.topic_files(),
            EndpointKind::Subscriber,
            raw.match_settings(),
        )
    }

    /// Returns the live subscribers that get nothing from this publisher, each with the reason.
    /// Either the subscriber reads a different message type, or it requests reliable delivery and
    /// this publisher offers only best effort. A subscriber that is just joining is left out. Makes
    /// some system calls for each publisher.
    #[must_use]
    pub fn unmatched_subscribers(&self) -> Vec<UnmatchedPair> {
        let mut pairs = self.raw().segment().unmatched_pairs();
        pairs.retain(|pair| pair.lane == self.raw().lane());
        pairs
    }

    /// Returns the process of the reliable subscriber that is furthest behind; `None` if there is
    /// no reliable subscriber. Use it for error texts after [`SendError::Full`]. Makes some system
    /// calls.
    #[must_use]
    pub fn slowest_subscriber(&self) -> Option<Participant> {
        self.raw().slowest_reader()
    }

    /// Returns the kind of ring buffer to which the topic corresponds, given its present publishers
    /// and subscribers.
    #[must_use]
    pub fn backend(&self) -> Backend {
        Backend::from_files(&self.raw().topic_files())
    }

    pub(super) fn raw(&self) -> &RawProducer {
        self.writer.raw()
    }
}

impl<T: Message> Publisher<T> {
    /// Lends the next slot in shared memory: write a message to it in place, then call
    /// [`Loan::publish`]. Subscribers that [`borrow`](super::Subscriber::borrow) read the message
    /// in place, so it is never copied.
    ///
    /// Never blocks. The slots have to be pinnable: messages must have 4 KiB or more, or the
    /// publisher must have been opened with [`Qos::pinnable`]. The loan begins with the previous
    /// contents of the slot. Dropping it publishes nothing.
    ///
    /// # Errors
    ///
    /// Returns [`LoanError`] if no slot can be lent.
    pub fn loan(&mut self) -> Result<Loan<'_, T>, LoanError> {
        self.writer.loan()
    }
}

impl<H: Header> Publisher<Framed<H>> {
    /// Lends the next slot in shared memory for a message with this header: write the message's
    /// data in place, then call [`FramedLoan::publish`]. Subscribers that
    /// [`borrow`](super::Subscriber::borrow) read the message in place, so an image is never
    /// copied.
    ///
    /// Never blocks; the cost does not depend on the size. The data begin with the previous
    /// contents of the slot. Dropping the loan publishes nothing.
    ///
    /// # Errors
    ///
    /// Returns [`LoanError`] if no slot can be lent. It is [`LoanError::TooLong`] if this publisher
    /// may only send shorter messages.
    pub fn loan(&mut self, header: H) -> Result<FramedLoan<'_, H>, LoanError> {
        let raw = self.writer.raw_mut();
        raw.reserve(header.message_bytes())?;
        Ok(FramedLoan::from_loan(header, raw.loan()?))
    }
}
