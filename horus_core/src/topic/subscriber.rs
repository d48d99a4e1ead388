//! The subscribing end of a topic.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{RawConsumer, RawSample, Sample, Watch};

use super::payload::{Inbox, published_ns};
use super::{Backend, Payload, Publisher, Qos, Stats, Topic};
use crate::message::{Framed, FramedSample, Header, Message};
use crate::topic::error::{BorrowError, RecvError, RecvTimeoutError, TopicError};

/// Receives messages of type `T`. `Send`, not `Sync`: one thread at a time; for another thread
/// [`Subscriber::try_clone`] makes another cursor, which gets every message too.
#[derive(Debug)]
pub struct Subscriber<T: Payload> {
    name: Arc<str>,
    inbox: T::Inbox,
    // A cell-like marker keeps the end from being shared between threads.
    marker: PhantomData<Cell<()>>,
    /// How long to look before a sleep.
    spin: Duration,
    #[cfg(feature = "async")]
    pub(super) alarm: Option<horus_shm::Alarm>,
}

impl<T: Payload> Subscriber<T> {
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
            inbox: T::Inbox::new(raw),
            marker: PhantomData,
            spin: WaitPolicy::SPIN,
            #[cfg(feature = "async")]
            alarm: None,
        }
    }

    /// The next message, oldest first, or `None` if there is none right now. Never blocks.
    ///
    /// Each publisher's messages come in order. `None` for good in a forked child, and if somebody
    /// truncated the topic's file; `None` from a publisher whose memory cannot be mapped:
    /// [`Self::check`] tells.
    #[inline(always)]
    pub fn recv(&mut self) -> Option<T> {
        self.inbox.recv()
    }

    /// Receives what is there, or about as much as the topic's capacity, and hands each message to
    /// `each`: how many there were. Never blocks.
    ///
    /// The fastest way to receive a stream: what costs the same for one message or several is done
    /// once for several. Publishers of a reliable topic are told of room in steps, and so may find
    /// it full up to an eighth of its capacity too early while this runs. If `each` panics, what it
    /// was given is received and all else is not.
    ///
    /// ```
    /// # fn main() -> horus_core::Result<()> {
    /// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    /// # // SAFETY: this program has one thread.
    /// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
    /// use horus_core::prelude::*;
    ///
    /// let mut topic = Topic::<CmdVel>::new("drained")?;
    /// for _ in 0..3 {
    ///     topic.send(CmdVel::new(0.5, 0.1))?;
    /// }
    /// let mut way = 0.0;
    /// assert_eq!(topic.subscriber().drain(|command| way += command.linear), 3);
    /// assert_eq!(way, 1.5);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn drain(&mut self, each: impl FnMut(T)) -> usize {
        self.inbox.drain(each)
    }

    /// The newest message not received yet; older ones are passed over and counted as skipped.
    /// `None` if there is nothing new. Never blocks.
    ///
    /// With several publishers the newest `timestamp_ns` wins, if the message has that field, else
    /// any of them: approximate, as good as their clocks agree.
    #[inline]
    pub fn latest(&mut self) -> Option<T> {
        self.inbox.latest()
    }

    /// Whether this subscriber can still receive: for when nothing comes. About a nanosecond.
    ///
    /// # Errors
    ///
    /// Why it never will again: [`RecvError::Forked`] or [`RecvError::RegionLost`]. Or why it does
    /// not receive from one publisher: [`RecvError::LaneNotMapped`], as the last call to receive
    /// found it.
    #[inline]
    pub fn check(&self) -> Result<(), RecvError> {
        self.raw().check()
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
        let received = self.recv_until(WaitPolicy::of(timeout));
        received.ok_or_else(|| match self.check() {
            Ok(()) => RecvTimeoutError::Timeout { topic: self.raw().segment().label() },
            Err(error) => error.into(),
        })
    }

    /// The next message; waits for it for as long as it takes.
    ///
    /// Blocks, as [`Self::recv_timeout`]: also while there is no publisher at all.
    ///
    /// # Errors
    ///
    /// Why there will be none: [`RecvError::Forked`] or [`RecvError::RegionLost`]. Or
    /// [`RecvError::LaneNotMapped`], if there is none but in memory that cannot be mapped.
    pub fn recv_blocking(&mut self) -> Result<T, RecvError> {
        loop {
            if let Some(message) = self.recv_until(WaitPolicy::endless()) {
                return Ok(message);
            }
            self.check()?;
        }
    }

    fn recv_until(&mut self, wait_policy: WaitPolicy) -> Option<T> {
        self.inbox.recv_until(wait_policy.spinning(self.spin))
    }

    /// How long the calls that wait look for a message before they sleep. Default 10 µs, about
    /// what a sleep and a wake cost; zero sleeps at once, more burns the CPU for a faster answer.
    pub const fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }

    /// The messages as they come, by [`Self::recv_blocking`]: ends only when that fails, and
    /// [`Self::check`] tells why.
    pub const fn iter(&mut self) -> Iter<'_, T> {
        Iter { subscriber: self }
    }

    /// The messages that are there, by [`Self::recv`]: ends when there is none right now.
    pub const fn try_iter(&mut self) -> TryIter<'_, T> {
        TryIter { subscriber: self }
    }

    /// What a wait set looks at.
    pub(super) fn watch(&self) -> Watch {
        self.raw().watch()
    }

    /// Messages overwritten before this subscriber came to them.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.raw().stats().lost
    }

    /// Number of the last message received, as its publisher counts; 0 before the first.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.raw().sequence()
    }

    /// The ledger since this subscriber joined.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats::new(self.raw().stats(), self.inbox.malformed())
    }

    /// How often a publisher stopped waiting for this reliable subscriber.
    #[must_use]
    pub fn detached(&self) -> u64 {
        self.raw().detached()
    }

    /// One more subscriber of the same topic, from now on: for another thread.
    ///
    /// # Errors
    ///
    /// [`TopicError`]: no place is free.
    pub fn try_clone(&self) -> Result<Self, TopicError> {
        let raw = self.raw();
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
        self.raw().segment().publisher_count()
    }

    /// Live subscribers of the topic, in any process. About 0.2 µs for each.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.raw().segment().subscriber_count()
    }

    /// What kind of ring the topic is with its present participants.
    #[must_use]
    pub fn backend(&self) -> Backend {
        Backend::of(self.raw().segment())
    }

    pub(super) fn include(&mut self, publisher: &Publisher<T>) {
        // What would have to be mapped is mapped, so this cannot fail; the lane was read before.
        let heeded = self.inbox.include(publisher.raw().lane());
        debug_assert!(heeded.is_ok(), "{heeded:?}");
    }

    pub(super) fn ignore(&mut self, publisher: &Publisher<T>) {
        self.inbox.ignore(publisher.raw().lane());
    }

    fn raw(&self) -> &RawConsumer {
        self.inbox.raw()
    }
}

impl<T: Message> Subscriber<T> {
    /// [`Self::recv`] into memory that is already there: one copy less of a large message.
    ///
    /// True if a message arrived. Else `message` holds unspecified values.
    #[inline(always)]
    pub fn recv_into(&mut self, message: &mut T) -> bool {
        self.inbox.recv_into(message)
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
        self.inbox.borrow()
    }

    /// [`Self::borrow`] of the newest message, as [`Self::latest`]; older ones are passed over.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn borrow_latest(&mut self) -> Result<Option<Sample<T>>, BorrowError> {
        self.inbox.borrow_latest(&published_ns::<T>)
    }
}

impl<H: Header> Subscriber<Framed<H>> {
    /// The next message where it lies in shared memory, or `None` if there is none right now.
    ///
    /// Never blocks, copies nothing but the header, and costs the same whatever the size. While
    /// the message lives its publisher steps over the slot, so keep few: a subscriber can hold
    /// seven at a time, and all subscribers together half of the topic's capacity.
    ///
    /// # Errors
    ///
    /// [`BorrowError`]; nothing is lost by it.
    pub fn borrow(&mut self) -> Result<Option<FramedSample<H>>, BorrowError> {
        self.borrow_with(RawConsumer::borrow)
    }

    /// [`Self::borrow`] of the newest message, as [`Self::latest`]; older ones are passed over.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn borrow_latest(&mut self) -> Result<Option<FramedSample<H>>, BorrowError> {
        self.borrow_with(|raw| raw.borrow_latest(&published_ns::<H>))
    }

    fn borrow_with(
        &mut self,
        mut borrow: impl FnMut(&mut RawConsumer) -> Result<Option<RawSample>, BorrowError>,
    ) -> Result<Option<FramedSample<H>>, BorrowError> {
        let (raw, malformed) = self.inbox.parts_mut();
        for _ in 0..super::encoded::MALFORMED_MAX {
            let Some(sample) = borrow(raw)? else { return Ok(None) };
            match FramedSample::in_place(sample) {
                Some(sample) => return Ok(Some(sample)),
                None => *malformed += 1,
            }
        }
        Ok(None)
    }
}

impl<'a, T: Payload> IntoIterator for &'a mut Subscriber<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

/// The messages of a subscriber as they come; see [`Subscriber::iter`].
#[derive(Debug)]
pub struct Iter<'a, T: Payload> {
    subscriber: &'a mut Subscriber<T>,
}

impl<T: Payload> Iterator for Iter<'_, T> {
    type Item = T;

    /// Blocks until there is a message.
    fn next(&mut self) -> Option<T> {
        self.subscriber.recv_blocking().ok()
    }
}

/// The messages that a subscriber has not received yet; see [`Subscriber::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T: Payload> {
    subscriber: &'a mut Subscriber<T>,
}

impl<T: Payload> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.subscriber.recv()
    }
}
