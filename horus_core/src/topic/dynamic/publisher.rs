//! The publishing endpoint of a topic whose type the program learns at run time.

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{Namespace, OnStalled, Participant, RawProducer, TopicName};

use super::{UntypedSchema, open};
use crate::topic::error::{LoanError, PublishLentError, SendError, TopicError, TopicLabel};
use crate::value::Value;

/// Publishes on a topic whose type the program learns at run time.
///
/// ```
/// # fn main() -> horus_core::Result<()> {
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use horus_core::namespace::Namespace;
/// use horus_core::prelude::*;
/// use horus_core::topic::UntypedPublisher;
///
/// let mut motors: Subscriber<CmdVel> = Subscriber::new("cmd_vel")?;
/// let mut tool = UntypedPublisher::open(&Namespace::current()?, "cmd_vel")?;
/// tool.send(&Value::from([("linear", 0.5)]))?;
/// assert_eq!(motors.recv().unwrap().linear, 0.5);
/// let error = tool.send(&Value::from([("speed", 0.5)])).unwrap_err();
/// assert!(error.to_string().contains("speed"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct UntypedPublisher {
    raw: RawProducer,
    schema: UntypedSchema,
}

impl UntypedPublisher {
    /// Opens a publisher of the topic `name`, which must exist.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn open(namespace: &Arc<Namespace>, name: &str) -> Result<Self, TopicError> {
        let (segment, schema) = open(namespace, name, false)?;
        let raw = RawProducer::new(segment, OnStalled::Full);
        Ok(Self { raw: raw.map_err(|error| TopicError::new(name, error))?, schema })
    }

    pub(super) fn from_raw(raw: RawProducer) -> Self {
        let schema = UntypedSchema::of(&raw.segment().contract().type_info);
        Self { raw, schema }
    }

    /// Returns the type of the messages.
    #[must_use]
    pub const fn schema(&self) -> &UntypedSchema {
        &self.schema
    }

    /// Encodes and publishes this value; fields that it does not name are 0. Never blocks.
    ///
    /// # Errors
    ///
    /// [`SendError::Unencodable`] names the field that does not fit; otherwise as
    /// [`Self::send_bytes`].
    pub fn send(&mut self, value: &Value) -> Result<(), SendError<()>> {
        let message = self.schema.encode(value).map_err(|error| error.refuses(self.label(), 0))?;
        self.send_bytes(&message)
    }

    /// Publishes these bytes. Never blocks.
    ///
    /// # Errors
    ///
    /// [`SendError::TooLong`]; [`SendError::Unencodable`] if the topic's messages have another
    /// size; [`SendError::Full`], [`SendError::Forked`] or [`SendError::RegionLost`].
    #[inline(always)]
    pub fn send_bytes(&mut self, message: &[u8]) -> Result<(), SendError<()>> {
        self.check_length(message.len())?;
        self.raw.send_bytes(message)
    }

    /// [`Self::send_bytes`], but waits up to `timeout` for a free slot while the topic is full.
    /// Blocks, as [`Publisher::send_timeout`](crate::topic::Publisher::send_timeout) does.
    ///
    /// # Errors
    ///
    /// As [`Self::send_bytes`]; [`SendError::Full`] only after the timeout.
    pub fn send_bytes_timeout(
        &mut self,
        message: &[u8],
        timeout: Duration,
    ) -> Result<(), SendError<()>> {
        self.check_length(message.len())?;
        self.raw.send_bytes_until(WaitPolicy::of(timeout), message)
    }

    #[inline(always)]
    fn check_length(&self, bytes: usize) -> Result<(), SendError<()>> {
        let request = self.raw.segment().shape().request();
        let (bytes, max) = (bytes as u64, request.payload_bytes);
        if bytes == max || bytes < max && request.sized {
            return Ok(());
        }
        Err(self.refuse_length(bytes, max))
    }

    #[cold]
    fn refuse_length(&self, bytes: u64, max: u64) -> SendError<()> {
        let (topic, message) = (self.label(), ());
        if bytes > max {
            return SendError::TooLong { topic, message, bytes, max };
        }
        let reason = format!("{bytes} bytes, and messages of the topic have {max}");
        SendError::Unencodable { topic, message, reason }
    }

    /// Lends the next slot in shared memory without a Rust borrow: fill it, then call
    /// [`Self::publish_lent`]. The address is valid until then, until any other send, or until this
    /// publisher is dropped. Never blocks; the cost does not depend on the size.
    ///
    /// # Errors
    ///
    /// [`LoanError`].
    pub fn lend(&mut self) -> Result<NonNull<[u8]>, LoanError> {
        self.raw.lend()
    }

    /// Publishes the first `bytes` bytes of the lent slot. Never blocks, copies nothing.
    ///
    /// # Errors
    ///
    /// [`LoanError::Ended`] if no slot is lent. [`SendError::TooLong`] and
    /// [`SendError::Unencodable`] as [`Self::send_bytes`], and the slot is still lent.
    pub fn publish_lent(&mut self, bytes: usize) -> Result<(), PublishLentError> {
        self.check_length(bytes)?;
        Ok(self.raw.publish_lent(bytes)?)
    }

    /// Takes the lent slot back without publishing it. Returns true if one was lent.
    pub const fn discard_lent(&mut self) -> bool {
        self.raw.discard_lent()
    }

    /// Returns the topic's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.raw.segment().topic().map_or("", TopicName::as_str)
    }

    /// Returns the label of the topic, for errors.
    #[must_use]
    pub fn label(&self) -> TopicLabel {
        self.raw.segment().label()
    }

    /// Returns the reliable subscriber that is furthest behind, if there is one: for error texts
    /// after [`SendError::Full`]. Makes some system calls.
    #[must_use]
    pub fn slowest_reader(&self) -> Option<Participant> {
        self.raw.slowest_reader()
    }

    /// Returns the length in bytes of the longest message that the topic can carry.
    #[inline]
    #[must_use]
    pub fn max_message_bytes(&self) -> u64 {
        self.raw.segment().shape().request().payload_bytes
    }

    /// Returns true if each message has its own length, up to [`Self::max_message_bytes`].
    #[inline]
    #[must_use]
    pub fn is_sized(&self) -> bool {
        self.raw.segment().shape().request().sized
    }

    /// Returns the same as [`Publisher::sequence`](crate::topic::Publisher::sequence).
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.raw.position()
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
}
