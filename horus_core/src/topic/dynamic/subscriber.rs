//! The subscribing endpoint of a topic whose message type is known only at run time.

use std::sync::Arc;
#[cfg(feature = "async")]
use std::task::Context;
use std::time::Duration;

use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{
    MismatchedPublisher, Namespace, RawConsumer, RawSample, Reliability, TopicName, Watch,
};

use super::{DynamicBuilder, DynamicPublisher, DynamicType};
use crate::message::SchemaDifference;
use crate::topic::encoded::MessageDecoder;
use crate::topic::endpoint_events::EndpointEvents;
use crate::topic::endpoint_wait::WantedEndpoints;
use crate::topic::error::{
    BorrowError, EndpointKind, EndpointWaitError, RecvError, RecvTimeoutError, TopicError,
    TopicLabel,
};
use crate::topic::{Backend, Qos, Stats, mismatch};
use crate::value::Value;

/// The lane of a message (the ring buffer of its publisher), and the message's sequence number
/// there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arrival {
    /// Index of the lane in its topic, as in [`LaneCounters`](crate::introspect::LaneCounters).
    pub lane: u32,
    /// Sequence number of the message in its lane. The first message of a lane has the number 1,
    /// and counting continues when another publisher takes the lane over.
    pub number: u64,
    /// Number of times that publishers have claimed the lane so far, in the topic file from which
    /// the message came. It grows when another publisher takes the lane over.
    pub claims: u64,
}

/// Receives messages whose type is known only at run time, as bytes or as [`Value`]s. It is `Send`:
/// one thread can use it at a time.
///
/// ```
/// # fn main() -> horus_core::Result<()> {
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use horus_core::namespace::Namespace;
/// use horus_core::prelude::*;
/// use horus_core::topic::DynamicSubscriber;
///
/// let mut publisher: Publisher<CmdVel> = Publisher::new("cmd_vel")?;
/// let mut tool = DynamicSubscriber::observe(&Namespace::current()?, "cmd_vel")?;
/// publisher.send(CmdVel { timestamp_ns: 7, linear: 0.5, angular: 0.25 })?;
/// let message = tool.recv().expect("a message was sent");
/// assert_eq!(message.to_string(), r#"{"timestamp_ns": 7, "linear": 0.5, "angular": 0.25}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DynamicSubscriber {
    // WHY before `decoder`: it is dropped first, so that the drop of the decoder wakes no task.
    #[cfg(feature = "async")]
    alarm: Option<horus_shm::MessageAlarm>,
    decoder: MessageDecoder,
    message_type: DynamicType,
    spin: Duration,
    /// True if the calls that copy a message into the caller's buffer must never truncate it, as
    /// [`Self::never_truncate`] sets.
    whole: bool,
}

impl DynamicSubscriber {
    /// Opens a subscriber of the topic `name`, which must exist. Its message type is that of the
    /// topic. The subscriber never slows a publisher.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if the subscriber cannot be opened.
    pub fn open(namespace: &Arc<Namespace>, name: &str) -> Result<Self, TopicError> {
        let qos = Qos::new().reliability(Reliability::BestEffort);
        DynamicBuilder::for_existing_topic(name)
            .namespace(namespace)
            .qos(qos)
            .subscriber()
    }

    /// Opens an observer of the topic `name`, which must exist. An observer is a subscriber for
    /// tools: it maps all memory read-only, and does not count as a subscriber of the topic.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if the observer cannot be opened.
    pub fn observe(namespace: &Arc<Namespace>, name: &str) -> Result<Self, TopicError> {
        DynamicBuilder::for_existing_topic(name)
            .namespace(namespace)
            .observer()
    }

    pub(super) fn from_raw(mut raw: RawConsumer) -> Self {
        mismatch::log_mismatches(&mut raw);
        let message_type = DynamicType::new(raw.segment().request().type_info.clone());
        Self {
            decoder: MessageDecoder::new(raw),
            message_type,
            spin: WaitPolicy::SPIN,
            whole: false,
            #[cfg(feature = "async")]
            alarm: None,
        }
    }

    /// Copies the next message to the start of `buffer` and returns its length, or `None` if there
    /// is no message right now. Never blocks.
    ///
    /// A message that is longer than the buffer is truncated: use a buffer of
    /// [`Self::max_message_bytes`] bytes, and call [`Self::never_truncate`] if publishers may begin
    /// to send longer messages.
    #[inline]
    pub fn recv_into(&mut self, buffer: &mut [u8]) -> Option<usize> {
        self.decoder.raw.set_requires_whole_messages(self.whole);
        self.decoder.raw.recv_bytes(buffer)
    }

    /// Receives the next message without copying it, and returns its length in bytes, or `None` if
    /// there is no message right now. Never blocks. Takes as long for long messages as for short
    /// ones.
    pub fn recv_length(&mut self) -> Option<usize> {
        self.decoder.raw.recv_length()
    }

    /// Prevents [`Self::recv_into`], [`Self::recv_into_timeout`] and [`Self::latest_into`] from
    /// truncating messages, from now on. While the caller's buffer is shorter than
    /// [`Self::max_message_bytes`], these methods return no message and do not wait. After a call
    /// that returned no message, compare the length of the buffer with [`Self::max_message_bytes`].
    pub const fn never_truncate(&mut self) {
        self.whole = true;
    }

    /// Receives a message as [`Self::recv_into`] does, but waits for up to `timeout` until there is
    /// one. Blocks, as [`Subscriber::recv_timeout`](crate::topic::Subscriber::recv_timeout) does.
    ///
    /// # Errors
    ///
    /// Returns [`RecvTimeoutError::Timeout`] if no message came in time, and the other variants if
    /// no message can come.
    pub fn recv_into_timeout(
        &mut self,
        buffer: &mut [u8],
        timeout: Duration,
    ) -> Result<usize, RecvTimeoutError> {
        self.decoder.raw.set_requires_whole_messages(self.whole);
        let received = self
            .decoder
            .raw
            .recv_bytes_until(self.wait_policy(timeout), buffer);
        received.ok_or_else(|| self.timeout_error())
    }

    /// Returns the bytes of the next message, or `None` if there is no message right now. Never
    /// blocks.
    pub fn recv_bytes(&mut self) -> Option<&[u8]> {
        let bytes = self.decoder.copy_next_to_buffer(RawConsumer::recv_bytes)?;
        Some(&self.decoder.buffers[0].as_ref()[..bytes])
    }

    /// Receives a message as [`Self::recv_bytes`] does, but blocks for up to `timeout` until there
    /// is one.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::recv_into_timeout`].
    pub fn recv_bytes_timeout(&mut self, timeout: Duration) -> Result<&[u8], RecvTimeoutError> {
        let wait_policy = self.wait_policy(timeout);
        let recv =
            |raw: &mut RawConsumer, buffer: &mut [u8]| raw.recv_bytes_until(wait_policy, buffer);
        let bytes = self
            .decoder
            .copy_next_to_buffer(recv)
            .ok_or_else(|| self.timeout_error())?;
        Ok(&self.decoder.buffers[0].as_ref()[..bytes])
    }

    /// Receives and decodes the next message, or returns `None` if there is no message right now.
    /// Never blocks.
    ///
    /// A message whose bytes cannot be decoded is dropped, and counted in [`Stats::malformed`].
    pub fn recv(&mut self) -> Option<Value> {
        let message_type = &self.message_type;
        self.decoder
            .receive_decodable(RawConsumer::recv_bytes, |buffer, bytes| {
                message_type.decode(&buffer.as_ref()[..bytes])
            })
    }

    /// Copies the newest unread message into one of two buffers and returns the index of that
    /// buffer and the length of the message in bytes, as
    /// [`Subscriber::latest`](crate::topic::Subscriber::latest) does. Never blocks.
    pub fn latest_into(&mut self, buffers: [&mut [u8]; 2]) -> Option<(usize, usize)> {
        self.decoder.raw.set_requires_whole_messages(self.whole);
        self.decoder
            .raw
            .latest_bytes(buffers, &|message| self.message_type.published_ns(message))
    }

    /// Returns the bytes of the newest unread message, or `None` if there is none, as
    /// [`Subscriber::latest`](crate::topic::Subscriber::latest) does. Never blocks.
    pub fn latest_bytes(&mut self) -> Option<&[u8]> {
        let published_ns = |message: &[u8]| self.message_type.published_ns(message);
        let (newest, bytes) = self.decoder.copy_latest_to_buffer(&published_ns)?;
        Some(&self.decoder.buffers[newest].as_ref()[..bytes])
    }

    /// Borrows the next message in place in shared memory, or returns `None` if there is no message
    /// right now, as [`Subscriber::borrow`](crate::topic::Subscriber::borrow) does. Never blocks.
    ///
    /// # Errors
    ///
    /// Returns [`BorrowError`] if there is a message that this subscriber may not hold: it already
    /// holds seven, all subscribers together hold half of the topic's capacity, or a publisher is
    /// not pinnable. A failed call loses no message; [`Self::recv_into`] copies it.
    pub fn borrow(&mut self) -> Result<Option<RawSample>, BorrowError> {
        self.decoder.raw.borrow()
    }

    /// Borrows the newest message, as [`Self::borrow`] does; older ones are counted as skipped, or
    /// as lost if they have already been overwritten.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::borrow`].
    pub fn borrow_latest(&mut self) -> Result<Option<RawSample>, BorrowError> {
        self.decoder
            .raw
            .borrow_latest(&|message| self.message_type.published_ns(message))
    }

    /// Borrows a message as [`Self::borrow`] does, but waits for up to `timeout` until there is
    /// one. Blocks, as [`Subscriber::recv_timeout`](crate::topic::Subscriber::recv_timeout) does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::borrow`].
    pub fn borrow_timeout(&mut self, timeout: Duration) -> Result<Option<RawSample>, BorrowError> {
        let wait_policy = self.wait_policy(timeout);
        let watch = [self.watch()];
        let look = || match self.borrow() {
            Ok(None) => self.check().is_err().then_some(Ok(None)),
            found => Some(found),
        };
        Watch::wait_any(&watch, wait_policy, look).unwrap_or(Ok(None))
    }

    /// Arranges that the task of `context` is woken when there may be a message. The task may be
    /// woken at once. Call this after a receive that found no message.
    #[cfg(feature = "async")]
    pub fn set_alarm(&mut self, context: &Context<'_>) {
        let watch = self.decoder.raw.watch();
        let alarm = self
            .alarm
            .get_or_insert_with(|| horus_shm::MessageAlarm::new(watch));
        alarm.try_set(context.waker());
    }

    /// Cancels the wake-up that [`Self::set_alarm`] has arranged.
    #[cfg(feature = "async")]
    pub fn cancel_alarm(&mut self) {
        if let Some(alarm) = &mut self.alarm {
            alarm.cancel();
        }
    }

    /// Checks whether this subscriber can still receive, as
    /// [`Subscriber::check`](crate::topic::Subscriber::check) does.
    ///
    /// # Errors
    ///
    /// Returns [`RecvError::Forked`] or [`RecvError::RegionLost`] if this subscriber can never
    /// receive again. Returns the other errors of
    /// [`Subscriber::check`](crate::topic::Subscriber::check) if this may change.
    #[inline]
    pub fn check(&self) -> Result<(), RecvError> {
        self.decoder.raw.check()
    }

    /// Returns the first difference between the message type of this subscriber and that of the
    /// live publishers, as
    /// [`Subscriber::schema_difference`](crate::topic::Subscriber::schema_difference) does.
    #[must_use]
    pub fn schema_difference(&self) -> Option<SchemaDifference> {
        mismatch::schema_difference(&self.decoder.raw)
    }

    /// Returns the publisher that does not match this subscriber, if [`Self::check`] returns
    /// [`RecvError::Incompatible`], as
    /// [`Subscriber::mismatched_publisher`](crate::topic::Subscriber::mismatched_publisher) does.
    #[must_use]
    pub fn mismatched_publisher(&self) -> Option<MismatchedPublisher> {
        self.decoder.raw.mismatched_publisher()
    }

    fn wait_policy(&self, timeout: Duration) -> WaitPolicy {
        WaitPolicy::with_timeout(timeout).with_spin(self.spin)
    }

    /// Returns the reason why a wait with a timeout found no message.
    #[cold]
    fn timeout_error(&self) -> RecvTimeoutError {
        match self.check() {
            Ok(()) => RecvTimeoutError::Timeout {
                topic: self.label(),
                has_publisher: self.decoder.raw.has_publisher(),
            },
            Err(error) => error.into(),
        }
    }

    /// Sets how long the blocking calls of this subscriber spin before they sleep, as
    /// [`Subscriber::set_spin`](crate::topic::Subscriber::set_spin) does.
    pub const fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }

    /// Returns the time for which the blocking calls of this subscriber spin before they sleep.
    #[must_use]
    pub const fn spin(&self) -> Duration {
        self.spin
    }

    /// Returns the object with which a wait set checks this subscriber for new messages.
    pub(in crate::topic) fn watch(&self) -> Watch {
        self.decoder.raw.watch()
    }

    /// Ignores, from now on, the messages of `publisher`, which is a publisher of the same topic.
    ///
    /// This subscriber ignores the publisher's lane. After `publisher` has been dropped, another
    /// publisher may take the lane, and is ignored, too: call [`Self::include`] before you drop
    /// `publisher` and keep this subscriber.
    pub fn ignore(&mut self, publisher: &DynamicPublisher) {
        self.decoder.raw.ignore_publisher(publisher.progress());
    }

    /// Receives from the lane of `publisher` again after [`Self::ignore`], beginning with messages
    /// that are sent after this call. Does nothing if `publisher` is not ignored.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if a system call fails. The publisher is still ignored then.
    pub fn include(&mut self, publisher: &DynamicPublisher) -> Result<(), TopicError> {
        let included = self.decoder.raw.include_publisher(publisher.progress());
        included.map_err(|error| TopicError::new(self.name(), error))
    }

    /// Adds one to the count of malformed messages. Call this if the bytes of the message just
    /// received or borrowed are not a message of the type that the caller expects.
    pub fn count_malformed(&mut self) {
        self.decoder.count_malformed();
    }

    /// Returns this subscriber's ledger: its counts since it joined. The calls of
    /// [`Self::count_malformed`] are also counted as `malformed`.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats::new(self.decoder.raw.stats(), self.decoder.malformed)
    }

    /// Returns the number of messages that were overwritten before this subscriber read them,
    /// including those that no call has noticed yet. The number never shrinks.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.decoder.raw.stats().lost
    }

    /// Returns the type of the topic's messages, as this subscriber knows it.
    #[must_use]
    pub const fn message_type(&self) -> &DynamicType {
        &self.message_type
    }

    /// Returns the name of the topic from which this subscriber receives.
    #[must_use]
    pub fn name(&self) -> &str {
        self.decoder
            .raw
            .segment()
            .topic()
            .map_or("", TopicName::as_str)
    }

    /// Returns a label that identifies the topic in error messages.
    #[must_use]
    pub fn label(&self) -> TopicLabel {
        self.decoder.raw.segment().label()
    }

    /// Returns the sequence number of the last message received, in the lane of its publisher; 0
    /// before the first message.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.decoder.raw.sequence()
    }

    /// Returns the number of bytes of the last message received that its publisher sent; 0 before
    /// the first message. Call this before the next receive.
    ///
    /// The number is less than the length of the message if the publisher knows fewer fields. The
    /// other fields have their defaults. Fields that only the publisher knows are not counted.
    #[must_use]
    pub fn received_bytes(&self) -> usize {
        self.decoder.raw.received_bytes()
    }

    /// Returns the lane and the sequence number of the last message received; `None` before the
    /// first message.
    ///
    /// If two successive numbers of one lane are not consecutive, this subscriber missed messages.
    /// This also holds if another publisher took the lane over in between. Takes some nanoseconds.
    #[must_use]
    pub fn last_arrival(&self) -> Option<Arrival> {
        let (lane, claims) = self.decoder.raw.last_lane_and_claims()?;
        Some(Arrival {
            lane,
            number: self.decoder.raw.sequence(),
            claims,
        })
    }

    /// Returns the length in bytes of the longest message that can be received at present. Use a
    /// buffer of this size. The length grows when a publisher sends a longer message; receiving
    /// calls update it.
    #[inline]
    #[must_use]
    pub fn max_message_bytes(&self) -> usize {
        self.decoder.raw.max_bytes()
    }

    /// Returns true if this handle is a copy in a forked child process. Its counters then differ
    /// from those of the parent's handle.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.decoder.raw.segment().is_forked()
    }

    /// Counts the live publishers of the topic. Takes about 0.2 µs for each publisher.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.decoder.raw.topic_files().publisher_count()
    }

    /// Counts the live subscribers of the topic in all processes. Takes about 0.2 µs for each
    /// subscriber.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.decoder.raw.topic_files().subscriber_count()
    }

    /// Waits until the topic has `count` publishers, for up to `timeout`, and returns their number.
    /// Blocks, as
    /// [`Subscriber::wait_for_publishers`](crate::topic::Subscriber::wait_for_publishers) does.
    ///
    /// # Errors
    ///
    /// Returns the errors of
    /// [`Subscriber::wait_for_publishers`](crate::topic::Subscriber::wait_for_publishers).
    pub fn wait_for_publishers(
        &self,
        count: usize,
        timeout: Duration,
    ) -> Result<usize, EndpointWaitError> {
        WantedEndpoints::publishers(count).wait(self.decoder.raw.topic_files(), timeout)
    }

    /// Waits as [`Self::wait_for_publishers`] does, but does not count the publisher of the caller.
    /// This is for handles that have both a publisher and a subscriber.
    ///
    /// # Errors
    ///
    /// Returns the errors of
    /// [`Subscriber::wait_for_publishers`](crate::topic::Subscriber::wait_for_publishers).
    pub fn wait_for_other_publishers(
        &self,
        count: usize,
        timeout: Duration,
    ) -> Result<usize, EndpointWaitError> {
        let wanted = WantedEndpoints::publishers(count).excluding_own();
        wanted.wait(self.decoder.raw.topic_files(), timeout)
    }

    /// Returns a watch of the topic's publishers in all processes. It yields an event for each
    /// present publisher, and for each one that joins, leaves or dies later. If a publisher does
    /// not match this subscriber, the event that it joined contains the reason.
    #[must_use]
    pub fn publisher_events(&self) -> EndpointEvents {
        let raw = &self.decoder.raw;
        EndpointEvents::new(
            raw.topic_files(),
            EndpointKind::Publisher,
            raw.match_settings(),
        )
    }

    /// Returns the kind of ring buffer to which the topic corresponds, given its present publishers
    /// and subscribers.
    #[must_use]
    pub fn backend(&self) -> Backend {
        Backend::from_files(&self.decoder.raw.topic_files())
    }
}
