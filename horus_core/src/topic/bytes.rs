//! Endpoints that move messages as bytes: for bindings, whose types are known only at run time.

use std::ptr::NonNull;
use std::sync::Arc;
#[cfg(feature = "async")]
use std::task::{Context, Poll};
use std::time::Duration;

use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{
    BorrowError, LoanError, LoanMemory, Participant, RawConsumer, RawLoan, RawProducer, RawSample,
    TypeInfo, Watch,
};

use super::dynamic::MessageType;
use super::payload::{TIME, u64_at};
use super::{Backend, Payload, Stats, TopicBuilder};
use crate::message::{Primitive, Schema, SchemaTextError};
use crate::topic::error::{RecvError, SendError, TopicLabel};

/// The type of a topic's messages, as a value.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir_in("/dev/shm")?;
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use horus_core::message::{CmdVel, Message};
/// use horus_core::topic::{PayloadType, Subscriber};
///
/// let mut motors: Subscriber<CmdVel> = Subscriber::new("cmd_vel")?;
/// let kind = PayloadType::parse(&CmdVel::SCHEMA.text())?;
/// let mut publisher = kind.builder("cmd_vel").bytes_publisher()?;
/// publisher.send(&[0; 16])?;
/// assert!(motors.recv().is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct PayloadType {
    info: TypeInfo,
    /// The offset of the time that shows which of two messages is newer.
    time: Option<usize>,
    max_message_bytes: Option<u64>,
}

impl PayloadType {
    /// Returns the type `T`.
    #[must_use]
    pub fn of<T: Payload>() -> Self {
        Self::new(T::type_info())
    }

    /// Parses the canonical schema text of a message.
    ///
    /// # Errors
    ///
    /// [`SchemaTextError`] names the first line that is not canonical.
    pub fn parse(text: &str) -> Result<Self, SchemaTextError> {
        Ok(Self::new(MessageType::of_schema(text)?.into_info()))
    }

    fn new(info: TypeInfo) -> Self {
        let schema = Schema::parse(&info.schema).ok();
        let fields = schema.map(|schema| schema.fields).unwrap_or_default();
        let time = fields.iter().find(|field| {
            let shape = &field.shape;
            field.path == TIME && shape.primitive == Primitive::U64 && shape.count == 1
        });
        Self { time: time.map(|field| field.shape.offset), info, max_message_bytes: None }
    }

    /// Returns the bare name of the message.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Returns the canonical schema text.
    #[must_use]
    pub fn schema(&self) -> &str {
        &self.info.schema
    }

    /// Returns the hash of [`Self::schema`].
    #[must_use]
    pub const fn hash(&self) -> u128 {
        u128::from_be_bytes(self.info.hash)
    }

    /// Returns true if each message has its own length.
    #[must_use]
    pub const fn is_sized(&self) -> bool {
        self.info.sized
    }

    /// Sets the limit as [`TopicBuilder::max_message_bytes`] does; no effect on messages of fixed
    /// size.
    #[must_use]
    pub const fn with_max_message_bytes(mut self, bytes: u64) -> Self {
        if self.info.sized {
            self.max_message_bytes = Some(bytes);
        }
        self
    }

    /// Returns a builder for endpoints of a topic of this type: see
    /// [`TopicBuilder::bytes_publisher`] and the methods after it.
    pub fn builder(&self, name: &str) -> TopicBuilder<Self> {
        TopicBuilder::new(name, self.info.clone()).longest(self.max_message_bytes)
    }
}

/// Publishes bytes. `Send`: one thread at a time.
#[derive(Debug)]
pub struct BytesPublisher {
    name: Arc<str>,
    raw: RawProducer,
    bytes_max: usize,
    is_sized: bool,
}

impl BytesPublisher {
    pub(super) fn from_raw(name: &str, raw: RawProducer) -> Self {
        let request = *raw.segment().shape().request();
        let bytes_max = usize::try_from(request.payload_bytes).unwrap_or(usize::MAX);
        Self { name: name.into(), raw, bytes_max, is_sized: request.sized }
    }

    /// Publishes these bytes. Never blocks.
    ///
    /// # Errors
    ///
    /// [`SendError::TooLong`]; [`SendError::Unencodable`] if the topic's messages have a fixed size
    /// that differs; [`SendError::Full`], [`SendError::Forked`] or [`SendError::RegionLost`].
    #[inline]
    pub fn send(&mut self, message: &[u8]) -> Result<(), SendError<()>> {
        if message.len() != self.bytes_max {
            self.expect_length(message)?;
        }
        self.raw.send_bytes(message)
    }

    /// [`Self::send`], but waits up to `timeout` for a free slot while the topic is full. Blocks.
    ///
    /// # Errors
    ///
    /// As [`Self::send`]; [`SendError::Full`] only after the timeout.
    pub fn send_timeout(&mut self, message: &[u8], timeout: Duration) -> Result<(), SendError<()>> {
        self.expect_length(message)?;
        self.raw.send_bytes_until(WaitPolicy::of(timeout), message)
    }

    #[cold]
    fn expect_length(&self, message: &[u8]) -> Result<(), SendError<()>> {
        let (bytes, max) = (message.len() as u64, self.bytes_max as u64);
        if bytes > max {
            return Err(SendError::TooLong { topic: self.label(), message: (), bytes, max });
        }
        if bytes < max && !self.is_sized {
            let reason = format!("{bytes} bytes, and messages of the topic have {max}");
            return Err(SendError::Unencodable { topic: self.label(), message: (), reason });
        }
        Ok(())
    }

    /// Lends the next slot in shared memory: write a message to it, then call [`RawLoan::publish`]
    /// with its length. Never blocks. The slot still has its previous contents.
    ///
    /// # Errors
    ///
    /// [`LoanError`].
    pub fn loan(&mut self) -> Result<RawLoan<'_>, LoanError> {
        self.raw.loan()
    }

    /// [`Self::loan`], but waits up to `timeout` for a free slot while the topic is full. Blocks.
    ///
    /// # Errors
    ///
    /// [`LoanError`]; [`LoanError::Full`] only after the timeout.
    pub fn loan_timeout(&mut self, timeout: Duration) -> Result<RawLoan<'_>, LoanError> {
        self.raw.loan_until(WaitPolicy::of(timeout))
    }

    /// Lends the next slot without a Rust borrow, as
    /// [`UntypedPublisher::lend`](super::UntypedPublisher::lend) does. The memory stays mapped as
    /// long as the returned [`Lent`] lives. The caller may write to it until
    /// [`Self::publish_lent`], any other send, or the drop of this publisher.
    ///
    /// # Errors
    ///
    /// [`LoanError`].
    pub fn lend(&mut self) -> Result<Lent, LoanError> {
        let slot = self.raw.lend()?;
        Ok(Lent { slot, _memory: self.raw.lent_memory() })
    }

    /// Publishes the first `bytes` bytes of the lent slot. Never blocks. It copies nothing, unless
    /// a reader was copying out of every free slot when the slot was lent.
    ///
    /// # Errors
    ///
    /// [`LoanError::TooLong`], and the slot is still lent; [`LoanError::Ended`] if no slot is lent
    /// or something was sent since; [`LoanError::Forked`] or [`LoanError::RegionLost`].
    pub fn publish_lent(&mut self, bytes: usize) -> Result<(), LoanError> {
        if bytes > self.bytes_max {
            let (bytes, max) = (bytes as u64, self.bytes_max as u64);
            return Err(LoanError::TooLong { topic: self.label(), bytes, max });
        }
        self.raw.publish_lent(bytes)
    }

    /// Returns the label of the topic, for errors.
    #[must_use]
    pub fn label(&self) -> TopicLabel {
        self.raw.segment().label()
    }

    /// Takes the lent slot back without publishing it. Returns true if one was lent.
    pub const fn discard_lent(&mut self) -> bool {
        self.raw.discard_lent()
    }

    /// Returns the topic's name, as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the same as [`Publisher::sequence`](super::Publisher::sequence).
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.raw.position()
    }

    /// Returns the length in bytes of the longest message that the topic can carry.
    #[must_use]
    pub const fn max_message_bytes(&self) -> usize {
        self.bytes_max
    }

    /// Returns true if this handle is a copy in a forked child; its counters are not the parent's.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.raw.segment().is_forked()
    }

    /// Returns the reliable subscriber that is furthest behind, if there is one: for error texts
    /// after [`SendError::Full`]. Makes some system calls.
    #[must_use]
    pub fn slowest_reader(&self) -> Option<Participant> {
        self.raw.slowest_reader()
    }

    /// Counts the live publishers of the topic. About 0.2 µs for each.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.raw.segment().publisher_count()
    }

    /// Counts the live subscribers of the topic, in any process. About 0.2 µs for each.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.raw.segment().subscriber_count()
    }

    /// Returns the kind of ring that the topic is with its present participants.
    #[must_use]
    pub fn backend(&self) -> Backend {
        Backend::of(self.raw.segment())
    }
}

/// A lent slot: its address, and a reference that keeps it mapped. It writes nothing by itself.
#[derive(Debug)]
pub struct Lent {
    slot: NonNull<[u8]>,
    _memory: LoanMemory,
}

impl Lent {
    /// Returns the address and the length of the slot.
    #[must_use]
    pub const fn slot(&self) -> NonNull<[u8]> {
        self.slot
    }
}

/// Receives bytes. `Send`: one thread at a time.
#[derive(Debug)]
pub struct BytesSubscriber {
    name: Arc<str>,
    raw: RawConsumer,
    malformed: u64,
    spin: Duration,
    #[cfg(feature = "async")]
    alarm: Option<horus_shm::Alarm>,
}

impl BytesSubscriber {
    pub(super) fn from_raw(name: &str, raw: RawConsumer) -> Self {
        Self {
            name: name.into(),
            raw,
            malformed: 0,
            spin: WaitPolicy::SPIN,
            #[cfg(feature = "async")]
            alarm: None,
        }
    }

    /// Copies the next message to the start of `buffer` and returns its length, or `None` if there
    /// is none right now. A message that is longer than the buffer is truncated. Never blocks.
    #[inline]
    pub fn recv(&mut self, buffer: &mut [u8]) -> Option<usize> {
        self.raw.recv_bytes(buffer)
    }

    /// [`Self::recv`], but waits for a message for up to `timeout`. Blocks, as
    /// [`Subscriber::recv_timeout`](super::Subscriber::recv_timeout) does.
    pub fn recv_timeout(&mut self, buffer: &mut [u8], timeout: Duration) -> Option<usize> {
        let wait_policy = WaitPolicy::of(timeout).spinning(self.spin);
        self.raw.recv_bytes_until(wait_policy, buffer)
    }

    /// Copies the newest unread message into one of two buffers and returns the index of the buffer
    /// and the length. Older messages are counted as skipped. Never blocks.
    ///
    /// With several publishers, `kind` shows which message is newer, as in
    /// [`Subscriber::latest`](super::Subscriber::latest).
    pub fn latest(
        &mut self,
        buffers: [&mut [u8]; 2],
        kind: &PayloadType,
    ) -> Option<(usize, usize)> {
        self.raw.latest_bytes(buffers, &|bytes| kind.time.map_or(0, |at| u64_at(bytes, at)))
    }

    /// Borrows the next message in place in shared memory, as
    /// [`Subscriber::borrow`](super::Subscriber::borrow) does.
    ///
    /// # Errors
    ///
    /// [`BorrowError`]; no message is lost by it.
    pub fn borrow(&mut self) -> Result<Option<RawSample>, BorrowError> {
        self.raw.borrow()
    }

    /// [`Self::borrow`] of the newest message; older ones are counted as skipped.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn borrow_latest(&mut self, kind: &PayloadType) -> Result<Option<RawSample>, BorrowError> {
        self.raw.borrow_latest(&|bytes| kind.time.map_or(0, |at| u64_at(bytes, at)))
    }

    /// [`Self::borrow`], but waits for a message for up to `timeout`. Blocks, as
    /// [`Subscriber::recv_timeout`](super::Subscriber::recv_timeout) does.
    ///
    /// # Errors
    ///
    /// As [`Self::borrow`].
    pub fn borrow_timeout(&mut self, timeout: Duration) -> Result<Option<RawSample>, BorrowError> {
        let wait_policy = WaitPolicy::of(timeout).spinning(self.spin);
        let watch = [self.watch()];
        let look = || match self.raw.borrow() {
            Ok(None) => self.raw.check().is_err().then_some(Ok(None)),
            found => Some(found),
        };
        Watch::wait_any(&watch, wait_policy, look).unwrap_or(Ok(None))
    }

    /// Copies the next message, or registers the task of `context` to be woken when there may be
    /// one.
    ///
    /// # Errors
    ///
    /// [`RecvError::Forked`] or [`RecvError::RegionLost`] if no message can come any more; or
    /// [`RecvError::LaneNotMapped`].
    #[cfg(feature = "async")]
    pub fn poll_recv(
        &mut self,
        buffer: &mut [u8],
        context: &mut Context<'_>,
    ) -> Poll<Result<usize, RecvError>> {
        if let Some(bytes) = self.recv(buffer) {
            self.cancel_alarm();
            return Poll::Ready(Ok(bytes));
        }
        if let Err(error) = self.check() {
            return Poll::Ready(Err(error));
        }
        self.set_alarm(context);
        Poll::Pending
    }

    /// Registers the task of `context` to be woken when there may be a message, which may be at
    /// once. Call it after a receive that found none.
    #[cfg(feature = "async")]
    pub fn set_alarm(&mut self, context: &Context<'_>) {
        if self.alarm.is_none() {
            self.alarm = Some(horus_shm::Alarm::new(self.watch()));
        }
        if let Some(alarm) = &mut self.alarm {
            alarm.set(context.waker());
        }
    }

    /// Cancels the wake-up that [`Self::poll_recv`] or [`Self::set_alarm`] registered.
    #[cfg(feature = "async")]
    pub fn cancel_alarm(&mut self) {
        if let Some(alarm) = &mut self.alarm {
            alarm.cancel();
        }
    }

    /// Checks whether this subscriber can still receive, as
    /// [`Subscriber::check`](super::Subscriber::check) does.
    ///
    /// # Errors
    ///
    /// [`RecvError::Forked`] or [`RecvError::RegionLost`] if it never can again; or
    /// [`RecvError::LaneNotMapped`].
    #[inline]
    pub fn check(&self) -> Result<(), RecvError> {
        self.raw.check()
    }

    /// Sets the spin time, as [`Subscriber::set_spin`](super::Subscriber::set_spin) does.
    pub const fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }

    /// Returns the watch that a wait set polls.
    pub(super) fn watch(&self) -> Watch {
        self.raw.watch()
    }

    /// Ignores the messages of this publisher of the same topic from now on.
    pub fn ignore(&mut self, publisher: &BytesPublisher) {
        self.raw.ignore(publisher.raw.lane());
    }

    /// Returns the number of messages that were overwritten before this subscriber read them.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.raw.stats().lost
    }

    /// Returns the sequence number of the last message received, in its publisher's count; 0 before
    /// the first.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.raw.sequence()
    }

    /// Returns the ledger since this subscriber joined. `malformed` counts the calls of
    /// [`Self::refuse`].
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats::new(self.raw.stats(), self.malformed)
    }

    /// Counts the message that was just received or borrowed as malformed, because its bytes are
    /// not a message of the type that the caller expects.
    pub const fn refuse(&mut self) {
        self.malformed += 1;
    }

    /// Returns the topic's name, as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the length in bytes of the topic's longest message, which is the buffer size to use.
    #[must_use]
    pub fn max_message_bytes(&self) -> usize {
        self.raw.max_bytes()
    }

    /// Returns true if this handle is a copy in a forked child; its counters are not the parent's.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.raw.segment().is_forked()
    }

    /// Counts the live publishers of the topic. About 0.2 µs for each.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.raw.segment().publisher_count()
    }

    /// Counts the live subscribers of the topic, in any process. About 0.2 µs for each.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.raw.segment().subscriber_count()
    }

    /// Returns the kind of ring that the topic is with its present participants.
    #[must_use]
    pub fn backend(&self) -> Backend {
        Backend::of(self.raw.segment())
    }
}
