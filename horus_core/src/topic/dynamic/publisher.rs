//! The publishing endpoint of a topic whose message type is known only at run time.

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{
    LoanMemory, Namespace, Participant, PublisherProgress, RawLoan, RawProducer, TopicName,
    UnmatchedPair,
};

use super::{DynamicBuilder, DynamicType};
use crate::topic::Backend;
use crate::topic::endpoint_events::EndpointEvents;
use crate::topic::endpoint_wait::WantedEndpoints;
use crate::topic::error::{
    EndpointKind, EndpointWaitError, LoanError, PublishLentError, SendError, TopicError, TopicLabel,
};
use crate::value::Value;

/// Publishes messages whose type is known only at run time, as bytes or as [`Value`]s. It is
/// `Send`: one thread can use it at a time.
///
/// ```
/// # fn main() -> horus_core::Result<()> {
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use horus_core::namespace::Namespace;
/// use horus_core::prelude::*;
/// use horus_core::topic::DynamicPublisher;
///
/// let mut motors: Subscriber<CmdVel> = Subscriber::new("cmd_vel")?;
/// let mut tool = DynamicPublisher::open(&Namespace::current()?, "cmd_vel")?;
/// tool.send(&Value::from([("linear", 0.5)]))?;
/// assert_eq!(motors.recv().unwrap().linear, 0.5);
/// let error = tool.send(&Value::from([("speed", 0.5)])).unwrap_err();
/// assert!(error.to_string().contains("speed"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DynamicPublisher {
    raw: RawProducer,
    message_type: DynamicType,
}

impl DynamicPublisher {
    /// Opens a publisher of the topic `name`, which must exist. Its message type is that of the
    /// topic.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if the publisher cannot be opened.
    pub fn open(namespace: &Arc<Namespace>, name: &str) -> Result<Self, TopicError> {
        DynamicBuilder::for_existing_topic(name)
            .namespace(namespace)
            .publisher()
    }

    pub(super) fn from_raw(raw: RawProducer) -> Self {
        let message_type = DynamicType::new(raw.segment().request().type_info.clone());
        Self { raw, message_type }
    }

    /// Publishes a message that consists of these bytes. Never blocks.
    ///
    /// # Errors
    ///
    /// Returns [`SendError::TooLong`] if the message is too long, and [`SendError::Unencodable`] if
    /// the topic's messages have a different fixed size. May also return [`SendError::Full`],
    /// [`SendError::Forked`] or [`SendError::RegionLost`].
    #[inline(always)]
    pub fn send_bytes(&mut self, message: &[u8]) -> Result<(), SendError<()>> {
        self.check_message_length(message.len())?;
        self.raw.send_bytes(message)
    }

    /// Publishes a message as [`Self::send_bytes`] does, but waits up to `timeout` for a free slot
    /// while the topic is full. Blocks, as
    /// [`Publisher::send_timeout`](crate::topic::Publisher::send_timeout) does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::send_bytes`], but [`SendError::Full`] only after the timeout.
    pub fn send_bytes_timeout(
        &mut self,
        message: &[u8],
        timeout: Duration,
    ) -> Result<(), SendError<()>> {
        self.check_message_length(message.len())?;
        self.raw
            .send_bytes_until(WaitPolicy::with_timeout(timeout), message)
    }

    /// Does a part of a wait that the caller divides, for example to look at signals between the
    /// parts: waits up to `timeout` for a free slot, and publishes the message, as
    /// [`Self::send_bytes_timeout`] does. A [`SendError::Full`] does not count as a refused send.
    /// If the whole wait ends with this error, call [`Self::count_refused_send`] once. Blocks.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::send_bytes_timeout`].
    pub fn send_bytes_uncounted(
        &mut self,
        message: &[u8],
        timeout: Duration,
    ) -> Result<(), SendError<()>> {
        self.check_message_length(message.len())?;
        self.raw
            .send_bytes_uncounted(WaitPolicy::with_timeout(timeout), message)
    }

    /// Counts a send or loan that was refused because the topic is full. Only for callers that wait
    /// in parts, with [`Self::send_bytes_uncounted`] or [`Self::wait_for_slot_uncounted`]: all
    /// other calls count their refusals themselves.
    pub fn count_refused_send(&self) {
        self.raw.count_refused_send();
    }

    /// Encodes `value` as a message and publishes it. Fields that `value` does not contain are 0.
    /// Never blocks.
    ///
    /// # Errors
    ///
    /// Returns [`SendError::Unencodable`], which names the field that does not fit, or an error of
    /// [`Self::send_bytes`].
    pub fn send(&mut self, value: &Value) -> Result<(), SendError<()>> {
        let message = self.message_type.encode(value);
        self.send_bytes(&message.map_err(|error| error.into_send_error(self.label(), 0))?)
    }

    #[inline(always)]
    fn check_message_length(&self, bytes: usize) -> Result<(), SendError<()>> {
        // WHY not a copy in this publisher: the compiler merges this with the producer's own check.
        if self.raw.fits(bytes) {
            Ok(())
        } else {
            Err(self.message_length_error(bytes))
        }
    }

    #[cold]
    fn message_length_error(&self, bytes: usize) -> SendError<()> {
        let topic = self.label();
        let message = ();
        let bytes = bytes as u64;
        let max = self.max_message_bytes() as u64;
        if bytes > max {
            return SendError::TooLong {
                topic,
                message,
                bytes,
                max,
            };
        }
        let reason = format!("{bytes} bytes, and messages of the topic have {max}");
        SendError::Unencodable {
            topic,
            message,
            reason,
        }
    }

    /// Lends the next slot in shared memory: write a message to it, then call [`RawLoan::publish`]
    /// with its length. Never blocks. The slot still has its previous contents.
    ///
    /// # Errors
    ///
    /// Returns [`LoanError`] if no slot can be lent.
    pub fn loan(&mut self) -> Result<RawLoan<'_>, LoanError> {
        self.raw.loan()
    }

    /// Lends a slot of at least `bytes` bytes, as [`Self::reserve`] and [`Self::loan`] together do.
    /// While the topic is full, blocks for up to `timeout` until a slot is free.
    ///
    /// # Errors
    ///
    /// Returns [`LoanError`] if no slot can be lent, but [`LoanError::Full`] only after the
    /// timeout.
    pub fn loan_timeout(
        &mut self,
        bytes: usize,
        timeout: Duration,
    ) -> Result<RawLoan<'_>, LoanError> {
        self.raw
            .loan_until(WaitPolicy::with_timeout(timeout), bytes as u64)
    }

    /// Does a part of a wait that the caller divides: waits up to `timeout` until [`Self::loan`]
    /// can lend a slot of at least `bytes` bytes. A [`LoanError::Full`] is counted as the
    /// [`SendError::Full`] of [`Self::send_bytes_uncounted`]. Blocks.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::loan_timeout`].
    pub fn wait_for_slot_uncounted(
        &mut self,
        bytes: usize,
        timeout: Duration,
    ) -> Result<(), LoanError> {
        self.raw
            .wait_for_slot_uncounted(WaitPolicy::with_timeout(timeout), bytes as u64)
    }

    /// Lends the next slot in shared memory without a Rust borrow: write a message to it, then call
    /// [`Self::publish_lent`]. The caller may write to the address until then, until any other
    /// send, or until this publisher is dropped. The memory stays mapped as long as
    /// [`Self::lent_memory`] is kept. Never blocks. The cost does not depend on the message's
    /// length.
    ///
    /// # Errors
    ///
    /// Returns [`LoanError`] if no slot can be lent.
    pub fn lend(&mut self) -> Result<NonNull<[u8]>, LoanError> {
        self.raw.lend()
    }

    /// Returns a guard that keeps the slot of the last [`Self::lend`] mapped, even after this
    /// publisher is dropped. The guard itself writes nothing.
    #[must_use]
    pub fn lent_memory(&self) -> LoanMemory {
        self.raw.lent_memory()
    }

    /// Publishes the first `bytes` bytes of the lent slot. Never blocks. It copies nothing, unless
    /// a reader was copying out of every free slot when the slot was lent.
    ///
    /// # Errors
    ///
    /// Returns [`LoanError::Ended`] if no slot is lent or a message was sent since then,
    /// [`LoanError::Forked`] or [`LoanError::RegionLost`]. Returns [`LoanError::SlotTooShort`] if
    /// `bytes` is longer than the lent slot, and [`SendError::Unencodable`] in the same cases as
    /// [`Self::send_bytes`]. After the last two errors, the slot is still lent.
    pub fn publish_lent(&mut self, bytes: usize) -> Result<(), PublishLentError> {
        self.check_message_length(bytes)?;
        // WHY not grown: a lent slot keeps its length.
        if bytes > self.slot_bytes() {
            return Err(PublishLentError::Loan(LoanError::SlotTooShort {
                topic: self.label(),
                bytes: bytes as u64,
                slot_bytes: self.raw.slot_bytes(),
            }));
        }
        Ok(self.raw.publish_lent(bytes)?)
    }

    /// Takes the lent slot back without publishing it. Returns true if a slot was lent, and false
    /// otherwise.
    pub const fn discard_lent(&mut self) -> bool {
        self.raw.discard_lent()
    }

    /// Returns the type of the topic's messages, as this endpoint knows it.
    #[must_use]
    pub const fn message_type(&self) -> &DynamicType {
        &self.message_type
    }

    /// Returns the name of the topic on which this endpoint publishes.
    #[must_use]
    pub fn name(&self) -> &str {
        self.raw.segment().topic().map_or("", TopicName::as_str)
    }

    /// Returns a label that identifies the topic in error messages.
    #[must_use]
    pub fn label(&self) -> TopicLabel {
        self.raw.segment().label()
    }

    /// Returns the sequence number of the last message sent, as
    /// [`Publisher::sequence`](crate::topic::Publisher::sequence) does.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.raw.position()
    }

    /// Returns the live subscribers that get nothing from this publisher, as
    /// [`Publisher::unmatched_subscribers`](crate::topic::Publisher::unmatched_subscribers) does.
    #[must_use]
    pub fn unmatched_subscribers(&self) -> Vec<UnmatchedPair> {
        let mut pairs = self.raw.segment().unmatched_pairs();
        pairs.retain(|pair| pair.lane == self.raw.lane());
        pairs
    }

    /// Returns the progress of this publisher, by which subscribers recognize it.
    pub(super) const fn progress(&self) -> PublisherProgress<'_> {
        self.raw.progress()
    }

    /// Returns the length in bytes of the longest message that this publisher may send.
    #[must_use]
    pub fn max_message_bytes(&self) -> usize {
        self.raw.segment().request().longest_bytes() as usize
    }

    /// Returns the present length, in bytes, of a slot of this publisher. A lent slot also has this
    /// length.
    #[must_use]
    pub const fn slot_bytes(&self) -> usize {
        self.raw.slot_bytes() as usize
    }

    /// Reserves memory for messages of `bytes` bytes, as
    /// [`Publisher::reserve`](crate::topic::Publisher::reserve) does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Publisher::reserve`](crate::topic::Publisher::reserve).
    pub fn reserve(&mut self, bytes: usize) -> Result<(), SendError<()>> {
        self.raw.reserve(bytes as u64)
    }

    /// Returns the process of the reliable subscriber that is furthest behind; `None` if there is
    /// no reliable subscriber. Use it for error texts after [`SendError::Full`]. Makes some system
    /// calls.
    #[must_use]
    pub fn slowest_subscriber(&self) -> Option<Participant> {
        self.raw.slowest_reader()
    }

    /// Returns true if this handle is a copy in a forked child process. Its counters then differ
    /// from those of the parent's handle.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.raw.segment().is_forked()
    }

    /// Counts the live publishers of the topic. Takes about 0.2 µs for each publisher.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.raw.topic_files().publisher_count()
    }

    /// Counts the live subscribers of the topic in all processes. Takes about 0.2 µs for each
    /// subscriber.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.raw.topic_files().subscriber_count()
    }

    /// Waits until the topic has `count` subscribers, for up to `timeout`, and returns their
    /// number. Blocks, as
    /// [`Publisher::wait_for_subscribers`](crate::topic::Publisher::wait_for_subscribers) does.
    ///
    /// # Errors
    ///
    /// Returns the errors of
    /// [`Publisher::wait_for_subscribers`](crate::topic::Publisher::wait_for_subscribers).
    pub fn wait_for_subscribers(
        &self,
        count: usize,
        timeout: Duration,
    ) -> Result<usize, EndpointWaitError> {
        WantedEndpoints::subscribers(count).wait(self.raw.topic_files(), timeout)
    }

    /// Waits as [`Self::wait_for_subscribers`] does, but does not count the subscriber of the
    /// caller. This is for handles that have both a publisher and a subscriber.
    ///
    /// # Errors
    ///
    /// Returns the errors of
    /// [`Publisher::wait_for_subscribers`](crate::topic::Publisher::wait_for_subscribers).
    pub fn wait_for_other_subscribers(
        &self,
        count: usize,
        timeout: Duration,
    ) -> Result<usize, EndpointWaitError> {
        let wanted = WantedEndpoints::subscribers(count).excluding_own();
        wanted.wait(self.raw.topic_files(), timeout)
    }

    /// Returns a watch of the topic's subscribers in all processes. It yields an event for each
    /// present subscriber, and for each one that joins, leaves or dies later. If a subscriber does
    /// not match this publisher, the event that it joined contains the reason.
    #[must_use]
    pub fn subscriber_events(&self) -> EndpointEvents {
        let raw = &self.raw;
        EndpointEvents::new(
            raw.topic_files(),
            EndpointKind::Subscriber,
            raw.match_settings(),
        )
    }

    /// Returns the kind of ring buffer to which the topic corresponds, given its present publishers
    /// and subscribers.
    #[must_use]
    pub fn backend(&self) -> Backend {
        Backend::from_files(&self.raw.topic_files())
    }
}
