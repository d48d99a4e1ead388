//! Ends that move messages as bytes: for bindings, whose types are known when the program runs.

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

use super::payload::{TIME, u64_at};
use super::untyped::MessageType;
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
    /// Where the time is that tells which of two messages is newer.
    time: Option<usize>,
    max_message_bytes: Option<u64>,
}

impl PayloadType {
    /// The type `T`.
    #[must_use]
    pub fn of<T: Payload>() -> Self {
        Self::new(T::type_info())
    }

    /// The message with this canonical schema text.
    ///
    /// # Errors
    ///
    /// The first line that is not canonical.
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

    /// The bare name of the message.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// The canonical schema text.
    #[must_use]
    pub fn schema(&self) -> &str {
        &self.info.schema
    }

    /// The hash of [`Self::schema`].
    #[must_use]
    pub const fn hash(&self) -> u128 {
        u128::from_be_bytes(self.info.hash)
    }

    /// Whether its messages have lengths of their own.
    #[must_use]
    pub const fn is_sized(&self) -> bool {
        self.info.sized
    }

    /// As [`TopicBuilder::max_message_bytes`]; of no effect on messages of one length.
    #[must_use]
    pub const fn with_max_message_bytes(mut self, bytes: u64) -> Self {
        if self.info.sized {
            self.max_message_bytes = Some(bytes);
        }
        self
    }

    /// Everything that can be set about a topic of this type, then one of its ends:
    /// [`TopicBuilder::bytes_publisher`] and those after it.
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
    /// [`SendError::TooLong`]; [`SendError::Unencodable`] if messages of the topic all have
    /// another length; [`SendError::Full`], [`SendError::Forked`] or [`SendError::RegionLost`].
    #[inline]
    pub fn send(&mut self, message: &[u8]) -> Result<(), SendError<()>> {
        if message.len() != self.bytes_max {
            self.expect_length(message)?;
        }
        Ok(self.raw.send_bytes(message)?)
    }

    /// [`Self::send`], but waits for room for up to `timeout` while the topic is full. Blocks.
    ///
    /// # Errors
    ///
    /// As [`Self::send`]; [`SendError::Full`] only after the timeout.
    pub fn send_timeout(&mut self, message: &[u8], timeout: Duration) -> Result<(), SendError<()>> {
        self.expect_length(message)?;
        Ok(self.raw.send_bytes_until(WaitPolicy::of(timeout), message)?)
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

    /// Lends the next slot in shared memory: write a message to it, then [`RawLoan::publish`] with
    /// its length. Never blocks. The slot begins as whatever it held before.
    ///
    /// # Errors
    ///
    /// [`LoanError`].
    pub fn loan(&mut self) -> Result<RawLoan<'_>, LoanError> {
        self.raw.loan()
    }

    /// [`Self::loan`], but waits for room for up to `timeout` while the topic is full. Blocks.
    ///
    /// # Errors
    ///
    /// [`LoanError`]; [`LoanError::Full`] only after the timeout.
    pub fn loan_timeout(&mut self, timeout: Duration) -> Result<RawLoan<'_>, LoanError> {
        self.raw.loan_until(WaitPolicy::of(timeout))
    }

    /// Lends the next slot as [`UntypedPublisher::lend`](super::UntypedPublisher::lend) does, for
    /// those who cannot keep a borrow. The memory stays mapped as long as what is returned lives;
    /// it is the caller's up to [`Self::publish_lent`], any other send, and the end of this end.
    ///
    /// # Errors
    ///
    /// [`LoanError`].
    pub fn lend(&mut self) -> Result<Lent, LoanError> {
        let slot = self.raw.lend()?;
        Ok(Lent { slot, _memory: self.raw.lent_memory() })
    }

    /// Publishes the first `bytes` bytes of what was lent. Never blocks. Copies nothing, except if
    /// a reader was copying out of every free slot when it was lent.
    ///
    /// # Errors
    ///
    /// [`LoanError::TooLong`], and then it still is lent; [`LoanError::Ended`] if nothing is, or
    /// something was sent since; [`LoanError::Forked`] or [`LoanError::RegionLost`].
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

    /// Takes back what was lent, as if it had not been asked for. True if something was.
    pub const fn discard_lent(&mut self) -> bool {
        self.raw.discard_lent()
    }

    /// The topic's name, as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// As [`Publisher::sequence`](super::Publisher::sequence).
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.raw.position()
    }

    /// Bytes of the longest message that the topic can carry.
    #[must_use]
    pub const fn max_message_bytes(&self) -> usize {
        self.bytes_max
    }

    /// True once this handle is a copy in a forked child, whose counters are not the parent's.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.raw.segment().is_forked()
    }

    /// Returns the reliable subscriber that is furthest behind, if there is one: for messages,
    /// after [`SendError::Full`]. Some system calls.
    #[must_use]
    pub fn slowest_reader(&self) -> Option<Participant> {
        self.raw.slowest_reader()
    }

    /// Live publishers of the topic. About 0.2 µs for each.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.raw.segment().publisher_count()
    }

    /// Live subscribers of the topic, in any process. About 0.2 µs for each.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.raw.segment().subscriber_count()
    }

    /// What kind of ring the topic is with its present participants.
    #[must_use]
    pub fn backend(&self) -> Backend {
        Backend::of(self.raw.segment())
    }
}

/// A slot that was lent: an address, and what keeps it mapped. Writes nothing by itself.
#[derive(Debug)]
pub struct Lent {
    slot: NonNull<[u8]>,
    _memory: LoanMemory,
}

impl Lent {
    /// Where the slot is, and how long.
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

    /// Copies the next message to the beginning of `buffer` and returns its length, or `None` if
    /// there is none right now. A message that is longer than the buffer is cut. Never blocks.
    #[inline]
    pub fn recv(&mut self, buffer: &mut [u8]) -> Option<usize> {
        self.raw.recv_bytes(buffer)
    }

    /// [`Self::recv`], but waits for a message for up to `timeout`. Blocks, as
    /// [`Subscriber::recv_timeout`](super::Subscriber::recv_timeout).
    pub fn recv_timeout(&mut self, buffer: &mut [u8], timeout: Duration) -> Option<usize> {
        let wait_policy = WaitPolicy::of(timeout).spinning(self.spin);
        self.raw.recv_bytes_until(wait_policy, buffer)
    }

    /// Copies the newest message not received yet into one of two buffers: which one, and its
    /// length. Older ones are passed over and counted as skipped. Never blocks.
    ///
    /// Of several publishers' messages, `kind` tells which is newer, as
    /// [`Subscriber::latest`](super::Subscriber::latest) does.
    pub fn latest(
        &mut self,
        buffers: [&mut [u8]; 2],
        kind: &PayloadType,
    ) -> Option<(usize, usize)> {
        self.raw.latest_bytes(buffers, &|bytes| kind.time.map_or(0, |at| u64_at(bytes, at)))
    }

    /// The next message where it lies in shared memory. As
    /// [`Subscriber::borrow`](super::Subscriber::borrow).
    ///
    /// # Errors
    ///
    /// [`BorrowError`]; nothing is lost by it.
    pub fn borrow(&mut self) -> Result<Option<RawSample>, BorrowError> {
        self.raw.borrow()
    }

    /// [`Self::borrow`] of the newest message; older ones are passed over.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn borrow_latest(&mut self, kind: &PayloadType) -> Result<Option<RawSample>, BorrowError> {
        self.raw.borrow_latest(&|bytes| kind.time.map_or(0, |at| u64_at(bytes, at)))
    }

    /// [`Self::borrow`], but waits for a message for up to `timeout`. Blocks, as
    /// [`Subscriber::recv_timeout`](super::Subscriber::recv_timeout).
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

    /// Copies the next message, or has the task of `context` woken when there may be one.
    ///
    /// # Errors
    ///
    /// Why there will be none: [`RecvError::Forked`] or [`RecvError::RegionLost`]; or
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

    /// Has the task of `context` woken when there may be a message, now included: for after a
    /// call that found none.
    #[cfg(feature = "async")]
    pub fn set_alarm(&mut self, context: &Context<'_>) {
        if self.alarm.is_none() {
            self.alarm = Some(horus_shm::Alarm::new(self.watch()));
        }
        if let Some(alarm) = &mut self.alarm {
            alarm.set(context.waker());
        }
    }

    /// Nobody is to be woken any more by [`Self::poll_recv`] or [`Self::set_alarm`].
    #[cfg(feature = "async")]
    pub fn cancel_alarm(&mut self) {
        if let Some(alarm) = &mut self.alarm {
            alarm.cancel();
        }
    }

    /// As [`Subscriber::check`](super::Subscriber::check).
    ///
    /// # Errors
    ///
    /// Why it never will receive again: [`RecvError::Forked`] or [`RecvError::RegionLost`]; or
    /// [`RecvError::LaneNotMapped`].
    #[inline]
    pub fn check(&self) -> Result<(), RecvError> {
        self.raw.check()
    }

    /// As [`Subscriber::set_spin`](super::Subscriber::set_spin).
    pub const fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }

    /// What a wait set looks at.
    pub(super) fn watch(&self) -> Watch {
        self.raw.watch()
    }

    /// From now on, leaves out what this publisher of the same topic sends.
    pub fn ignore(&mut self, publisher: &BytesPublisher) {
        self.raw.ignore(publisher.raw.lane());
    }

    /// Messages overwritten before this subscriber came to them.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.raw.stats().lost
    }

    /// Number of the last message received, as its publisher counts; 0 before the first.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.raw.sequence()
    }

    /// The ledger since this subscriber joined. Malformed is what [`Self::refuse`] was called for.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats::new(self.raw.stats(), self.malformed)
    }

    /// Counts the message that was just received or borrowed as malformed: its bytes are not what
    /// the caller takes the topic to carry.
    pub const fn refuse(&mut self) {
        self.malformed += 1;
    }

    /// The topic's name, as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the longest message of the topic: how large a buffer has to be.
    #[must_use]
    pub fn max_message_bytes(&self) -> usize {
        self.raw.max_bytes()
    }

    /// True once this handle is a copy in a forked child, whose counters are not the parent's.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.raw.segment().is_forked()
    }

    /// Live publishers of the topic. About 0.2 µs for each.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.raw.segment().publisher_count()
    }

    /// Live subscribers of the topic, in any process. About 0.2 µs for each.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.raw.segment().subscriber_count()
    }

    /// What kind of ring the topic is with its present participants.
    #[must_use]
    pub fn backend(&self) -> Backend {
        Backend::of(self.raw.segment())
    }
}
