//! The subscribing end of a topic.

use std::sync::Arc;
use std::time::Duration;

use horus_shm::wait::Patience;
use horus_shm::{Consumer, RawConsumer, Sample, Watch};

use super::{Backend, Publisher, Qos, Topic};
use crate::error::{BorrowError, RecvError, RecvTimeoutError, TopicError};
use crate::message::{FieldKind, Message, Primitive};

/// The ledger of a subscriber since it joined, in messages:
/// `sent == received + lost + skipped + waiting`, exactly, whenever the publishers rest.
pub type Stats = horus_shm::ReadStats;

/// Receives messages of type `T`. `Send`, not `Sync`: one thread at a time; for another thread
/// [`Subscriber::try_clone`] makes another cursor, which gets every message too.
#[derive(Debug)]
pub struct Subscriber<T> {
    name: Arc<str>,
    consumer: Consumer<T>,
    /// How long to look before a sleep.
    spin: Duration,
    #[cfg(feature = "async")]
    pub(super) alarm: Option<horus_shm::Alarm>,
}

impl<T: Message> Subscriber<T> {
    /// Opens the topic `name` to receive from it, creating it if it is not there.
    ///
    /// Gets what is published from now on, by publishers that are there and by later ones.
    ///
    /// # Errors
    ///
    /// [`TopicError`]: another message type, too many subscribers, a bad name, no memory …
    pub fn new(name: &str) -> Result<Self, TopicError> {
        Topic::builder(name).subscriber()
    }

    /// [`Self::new`] with a quality of service.
    ///
    /// # Errors
    ///
    /// As [`Self::new`], and a setting that differs from the topic's.
    pub fn with_qos(name: &str, qos: Qos) -> Result<Self, TopicError> {
        Topic::builder(name).qos(qos).subscriber()
    }

    /// Opens the topic `name`, which must be there, read-only: holds nobody back, is not counted.
    ///
    /// # Errors
    ///
    /// [`TopicError`].
    pub fn observer(name: &str) -> Result<Self, TopicError> {
        Topic::builder(name).observer()
    }

    pub(super) fn from_raw(name: &str, raw: RawConsumer) -> Self {
        Self {
            name: name.into(),
            consumer: Consumer::new(raw),
            spin: Patience::SPIN,
            #[cfg(feature = "async")]
            alarm: None,
        }
    }

    /// The next message, oldest first, or `None` if there is none right now. Never blocks.
    ///
    /// Each publisher's messages come in order. `None` for good in a forked child, and if somebody
    /// truncated the topic's file: [`Self::check`] tells.
    #[inline(always)]
    pub fn recv(&mut self) -> Option<T> {
        self.consumer.recv()
    }

    /// [`Self::recv`] into memory that is already there: one copy less of a large message.
    ///
    /// True if a message arrived. Else `message` holds unspecified values.
    #[inline(always)]
    pub fn recv_into(&mut self, message: &mut T) -> bool {
        self.consumer.recv_into(message)
    }

    /// The next message where it lies in shared memory, or `None` if there is none right now.
    ///
    /// Never blocks and copies nothing. While the sample lives its publisher steps over the slot,
    /// so keep few: a subscriber can hold seven at a time, and all subscribers together half of
    /// the topic's capacity. Needs a pinnable topic, see [`Publisher::loan`].
    ///
    /// # Errors
    ///
    /// [`BorrowError`]; nothing is lost by it.
    pub fn borrow(&mut self) -> Result<Option<Sample<T>>, BorrowError> {
        self.consumer.borrow()
    }

    /// The newest message not received yet; older ones are passed over and counted as skipped.
    /// `None` if there is nothing new. Never blocks.
    ///
    /// With several publishers the newest `timestamp_ns` wins, if the message has that field, else
    /// any of them: approximate, as good as their clocks agree.
    #[inline]
    pub fn latest(&mut self) -> Option<T> {
        self.consumer.latest_by_key(|message| published_ns(message))
    }

    /// Whether this subscriber can still receive: for when nothing comes. About a nanosecond.
    ///
    /// # Errors
    ///
    /// Why it never will again: [`RecvError::Forked`] or [`RecvError::RegionLost`].
    #[inline]
    pub fn check(&self) -> Result<(), RecvError> {
        self.consumer.check()
    }

    /// The next message; waits for it for up to `timeout`.
    ///
    /// Blocks: looks for [`Self::set_spin`], then sleeps until it is woken, in slices of 50 ms.
    /// With a `timeout` of zero it is [`Self::recv`].
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError::Timeout`] if none came; the other variants if none ever will.
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let received = self.recv_until(Patience::of(timeout));
        received.ok_or_else(|| match self.check() {
            Ok(()) => RecvTimeoutError::Timeout,
            Err(error) => error.into(),
        })
    }

    /// The next message; waits for it for as long as it takes.
    ///
    /// Blocks, as [`Self::recv_timeout`]: also while there is no publisher at all.
    ///
    /// # Errors
    ///
    /// Why there will be none: [`RecvError::Forked`] or [`RecvError::RegionLost`].
    pub fn recv_blocking(&mut self) -> Result<T, RecvError> {
        loop {
            if let Some(message) = self.recv_until(Patience::endless()) {
                return Ok(message);
            }
            self.check()?;
        }
    }

    fn recv_until(&mut self, patience: Patience) -> Option<T> {
        self.consumer.recv_until(patience.spinning(self.spin))
    }

    /// How long the calls that wait look for a message before they sleep. Default 10 µs, about
    /// what a sleep and a wake cost; zero sleeps at once, more burns the CPU for a faster answer.
    pub const fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }

    /// The messages as they come, by [`Self::recv_blocking`]: ends only when none can come any
    /// more.
    pub const fn iter(&mut self) -> Iter<'_, T> {
        Iter { subscriber: self }
    }

    /// The messages that are there, by [`Self::recv`]: ends when there is none right now.
    pub const fn try_iter(&mut self) -> TryIter<'_, T> {
        TryIter { subscriber: self }
    }

    /// What a wait set looks at.
    pub(super) fn watch(&self) -> Watch {
        self.consumer.raw().watch()
    }

    /// Messages overwritten before this subscriber came to them.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.consumer.stats().lost
    }

    /// Number of the last message received, as its publisher counts; 0 before the first.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.consumer.raw().sequence()
    }

    /// The ledger since this subscriber joined.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.consumer.stats()
    }

    /// How often a publisher stopped waiting for this reliable subscriber.
    #[must_use]
    pub fn detached(&self) -> u64 {
        self.consumer.raw().detached()
    }

    /// One more subscriber of the same topic, from now on: for another thread.
    ///
    /// # Errors
    ///
    /// [`TopicError`]: no place is free.
    pub fn try_clone(&self) -> Result<Self, TopicError> {
        let raw = self.consumer.raw();
        let raw = RawConsumer::new(Arc::clone(raw.segment()), raw.reading());
        Ok(Self::from_raw(&self.name, raw.map_err(|error| TopicError::new(&self.name, error))?))
    }

    /// The topic's name, as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Live publishers of the topic. About 0.2 µs for each.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.consumer.raw().segment().publisher_count()
    }

    /// Live subscribers of the topic, in any process. About 0.2 µs for each.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.consumer.raw().segment().subscriber_count()
    }

    /// What kind of ring the topic is with its present participants.
    #[must_use]
    pub fn backend(&self) -> Backend {
        Backend::of(self.consumer.raw().segment())
    }

    pub(super) fn heed(&mut self, publisher: &Publisher<T>) {
        // What would have to be mapped is mapped, so this cannot fail; the lane was read before.
        let heeded = self.consumer.heed(publisher.raw().lane());
        debug_assert!(heeded.is_ok(), "{heeded:?}");
    }

    pub(super) fn ignore(&mut self, publisher: &Publisher<T>) {
        self.consumer.ignore(publisher.raw().lane());
    }
}

impl<'a, T: Message> IntoIterator for &'a mut Subscriber<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

/// The messages of a subscriber as they come; see [`Subscriber::iter`].
#[derive(Debug)]
pub struct Iter<'a, T> {
    subscriber: &'a mut Subscriber<T>,
}

impl<T: Message> Iterator for Iter<'_, T> {
    type Item = T;

    /// Blocks until there is a message.
    fn next(&mut self) -> Option<T> {
        self.subscriber.recv_blocking().ok()
    }
}

/// The messages that a subscriber has not received yet; see [`Subscriber::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T> {
    subscriber: &'a mut Subscriber<T>,
}

impl<T: Message> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.subscriber.recv()
    }
}

/// The message's `timestamp_ns`, if it has such a field; 0 otherwise.
fn published_ns<T: Message>(message: &T) -> u64 {
    let is_time = |field: &&crate::message::Field| {
        let u64_kind = matches!(field.kind, FieldKind::Primitive(Primitive::U64));
        field.name == "timestamp_ns" && u64_kind && field.count == 1
    };
    let Some(field) = T::SCHEMA.fields.iter().find(is_time) else { return 0 };
    let bytes = &horus_shm::bytes_of(message)[field.offset..field.offset + 8];
    u64::from_ne_bytes(bytes.try_into().expect("eight bytes were taken"))
}
