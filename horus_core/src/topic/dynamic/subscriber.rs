//! The subscribing endpoint of a topic whose type the program learns at run time.

use std::sync::Arc;
use std::time::Duration;

use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{Namespace, RawConsumer, RawSample, Reading, TopicName, Watch};

use super::{UntypedSchema, open};
use crate::message::{Buffer, Primitive};
use crate::topic::Stats;
use crate::topic::encoded::MALFORMED_MAX;
use crate::topic::error::{BorrowError, RecvError, RecvTimeoutError, TopicError, TopicLabel};
use crate::value::Value;

/// Receives the messages of a topic whose type the program learns at run time.
///
/// ```
/// # fn main() -> horus_core::Result<()> {
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use horus_core::namespace::Namespace;
/// use horus_core::prelude::*;
/// use horus_core::topic::UntypedSubscriber;
///
/// let mut publisher: Publisher<CmdVel> = Publisher::new("cmd_vel")?;
/// let mut tool = UntypedSubscriber::observe(&Namespace::current()?, "cmd_vel")?;
/// publisher.send(CmdVel { timestamp_ns: 7, linear: 0.5, angular: 0.25 })?;
/// let message = tool.recv().expect("a message was sent");
/// assert_eq!(message.to_string(), r#"{"timestamp_ns": 7, "linear": 0.5, "angular": 0.25}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct UntypedSubscriber {
    raw: RawConsumer,
    schema: UntypedSchema,
    /// The offset of the messages' time.
    time_offset: Option<usize>,
    /// Allocated on first use.
    buffers: [Buffer; 2],
    spin: Duration,
    malformed: u64,
}

impl UntypedSubscriber {
    /// Subscribes to the topic `name`, which must be there.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn open(namespace: &Arc<Namespace>, name: &str) -> Result<Self, TopicError> {
        Self::reading(namespace, name, Reading::KeepLast)
    }

    /// [`Self::open`], but maps everything read-only, never slows a publisher and is not counted.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn observe(namespace: &Arc<Namespace>, name: &str) -> Result<Self, TopicError> {
        Self::reading(namespace, name, Reading::Observer)
    }

    fn reading(
        namespace: &Arc<Namespace>,
        name: &str,
        reading: Reading,
    ) -> Result<Self, TopicError> {
        let (segment, _) = open(namespace, name, true)?;
        let raw = RawConsumer::new(segment, reading);
        Ok(Self::from_raw(raw.map_err(|error| TopicError::new(name, error))?))
    }

    pub(super) fn from_raw(raw: RawConsumer) -> Self {
        let type_info = &raw.segment().contract().type_info;
        let schema = UntypedSchema::of(type_info);
        let time_offset = time_offset(&schema);
        let buffers = Default::default();
        let (spin, malformed) = (WaitPolicy::SPIN, 0);
        Self { raw, schema, time_offset, buffers, spin, malformed }
    }

    /// Returns the type of the messages.
    #[must_use]
    pub const fn schema(&self) -> &UntypedSchema {
        &self.schema
    }

    /// Returns the bytes of the next message, or `None` if there is none right now. Never blocks.
    pub fn recv_bytes(&mut self) -> Option<&[u8]> {
        let buffer = &mut self.buffers[0];
        buffer.set_length(self.raw.max_bytes());
        let bytes = self.raw.recv_bytes(buffer.as_mut())?;
        Some(&self.buffers[0].as_ref()[..bytes])
    }

    /// [`Self::recv_bytes`], but waits for a message for up to `timeout`. Blocks.
    pub fn recv_bytes_timeout(&mut self, timeout: Duration) -> Option<&[u8]> {
        let wait_policy = WaitPolicy::of(timeout).spinning(self.spin);
        let buffer = &mut self.buffers[0];
        buffer.set_length(self.raw.max_bytes());
        let bytes = self.raw.recv_bytes_until(wait_policy, buffer.as_mut())?;
        Some(&self.buffers[0].as_ref()[..bytes])
    }

    /// Copies the next message to the start of `buffer` and returns its length, or `None` if there
    /// is none right now. Never blocks.
    ///
    /// A message that is longer than the buffer is truncated: use a buffer of
    /// [`Self::max_message_bytes`].
    #[inline]
    pub fn recv_into(&mut self, buffer: &mut [u8]) -> Option<usize> {
        self.raw.recv_bytes(buffer)
    }

    /// [`Self::recv_into`], but waits for a message for up to `timeout`. Blocks, as
    /// [`Subscriber::recv_timeout`](crate::topic::Subscriber::recv_timeout) does.
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError::Timeout`] if none came; the other variants if none can come.
    pub fn recv_into_timeout(
        &mut self,
        buffer: &mut [u8],
        timeout: Duration,
    ) -> Result<usize, RecvTimeoutError> {
        let wait_policy = WaitPolicy::of(timeout).spinning(self.spin);
        let received = self.raw.recv_bytes_until(wait_policy, buffer);
        received.ok_or_else(|| match self.check() {
            Ok(()) => RecvTimeoutError::Timeout { topic: self.label() },
            Err(error) => error.into(),
        })
    }

    /// Returns the newest unread message, as
    /// [`Subscriber::latest`](crate::topic::Subscriber::latest) does. Never blocks.
    pub fn latest_bytes(&mut self) -> Option<&[u8]> {
        let [first, second] = &mut self.buffers;
        first.set_length(self.raw.max_bytes());
        second.set_length(self.raw.max_bytes());
        let at = self.time_offset;
        let buffers = [first.as_mut(), second.as_mut()];
        let (newest, bytes) =
            self.raw.latest_bytes(buffers, &|message| published_ns(at, message))?;
        Some(&self.buffers[newest].as_ref()[..bytes])
    }

    /// Borrows the next message in place in shared memory, or returns `None` if there is none right
    /// now, as [`Subscriber::borrow`](crate::topic::Subscriber::borrow) does. Never blocks.
    ///
    /// # Errors
    ///
    /// [`BorrowError`]; no message is lost by it.
    pub fn borrow(&mut self) -> Result<Option<RawSample>, BorrowError> {
        self.raw.borrow()
    }

    /// [`Self::borrow`] of the newest message, as [`Self::latest_bytes`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn borrow_latest(&mut self) -> Result<Option<RawSample>, BorrowError> {
        let at = self.time_offset;
        self.raw.borrow_latest(&|message| published_ns(at, message))
    }

    /// Sets how long waiting calls spin before they sleep, as
    /// [`Subscriber::set_spin`](crate::topic::Subscriber::set_spin) does.
    pub const fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }

    /// Returns the length in bytes of the longest message that the topic can carry.
    #[inline]
    #[must_use]
    pub fn max_message_bytes(&self) -> u64 {
        self.raw.max_bytes() as u64
    }

    /// Returns true if each message has its own length, up to [`Self::max_message_bytes`].
    #[inline]
    #[must_use]
    pub fn is_sized(&self) -> bool {
        self.raw.segment().shape().request().sized
    }

    /// Returns the sequence number of the last message received, in its publisher's count; 0 before
    /// the first.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.raw.sequence()
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

    /// Receives and decodes the next message, or returns `None` if there is none right now. Never
    /// blocks.
    ///
    /// Bytes that are not a message are dropped and counted, see [`Stats::malformed`].
    pub fn recv(&mut self) -> Option<Value> {
        for _ in 0..MALFORMED_MAX {
            let buffer = &mut self.buffers[0];
            buffer.set_length(self.raw.max_bytes());
            let bytes = self.raw.recv_bytes(buffer.as_mut())?;
            match self.schema.decode(&buffer.as_ref()[..bytes]) {
                Some(value) => return Some(value),
                None => self.malformed += 1,
            }
        }
        None
    }

    /// Returns the topic's name.
    #[must_use]
    pub fn name(&self) -> String {
        let path = self.raw.segment().path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        TopicName::from_file_name(&file).map_or_else(|_| file.into_owned(), |name| name.to_string())
    }

    /// Returns the label of the topic, for errors.
    #[must_use]
    pub fn label(&self) -> TopicLabel {
        self.raw.segment().label()
    }

    /// Returns the watch that a wait set polls.
    pub(in crate::topic) fn watch(&self) -> Watch {
        self.raw.watch()
    }

    /// Checks whether this subscriber can still receive.
    ///
    /// # Errors
    ///
    /// [`RecvError::Forked`] or [`RecvError::RegionLost`] if it never can again; or
    /// [`RecvError::LaneNotMapped`].
    #[inline]
    pub fn check(&self) -> Result<(), RecvError> {
        self.raw.check()
    }

    /// Returns the ledger since this subscriber joined.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats::new(self.raw.stats(), self.malformed)
    }
}

/// Returns the offset of the time in the messages of a schema.
fn time_offset(schema: &UntypedSchema) -> Option<usize> {
    let UntypedSchema::Plain { schema, .. } = schema else { return None };
    let field = schema.fields.iter().find(|field| field.path == "timestamp_ns")?;
    let is_time = field.shape.primitive == Primitive::U64 && field.shape.count == 1;
    is_time.then_some(field.shape.offset)
}

fn published_ns(offset: Option<usize>, message: &[u8]) -> u64 {
    let time = offset.and_then(|offset| message.get(offset..offset + 8)?.try_into().ok());
    time.map_or(0, u64::from_ne_bytes)
}
