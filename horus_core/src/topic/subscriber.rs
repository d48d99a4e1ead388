//! The subscribing endpoint of a topic.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{MismatchedPublisher, RawConsumer, RawSample, Sample, Watch};

use super::encoded::MALFORMED_MESSAGES_SKIPPED_MAX;
use super::payload::{MessageReader, published_ns, published_ns_of_message};
use super::{Backend, Payload, Publisher, Qos, Stats, Topic, mismatch};
use crate::message::{Framed, FramedSample, Header, Message, SchemaDifference};
use crate::topic::endpoint_events::EndpointEvents;
use crate::topic::endpoint_wait::WantedEndpoints;
use crate::topic::error::{
    BorrowError, EndpointKind, EndpointWaitError, RecvError, RecvTimeoutError, TopicError,
};

/// Receives messages of type `T`. It is `Send` but not `Sync`: one thread can use it at a time. For
/// another thread, [`Subscriber::try_clone`] opens another subscriber, which also gets every
/// message.
#[derive(Debug)]
pub struct Subscriber<T: Payload> {
    name: Arc<str>,
    // WHY before `reader`: it is dropped first, so that the drop of the reader wakes no task.
    #[cfg(feature = "async")]
    pub(super) alarm: Option<horus_shm::MessageAlarm>,
    reader: T::Reader,
    // WHY a `Cell`: it makes the subscriber `!Sync`.
    marker: PhantomData<Cell<()>>,
    /// The time for which the blocking calls of this subscriber spin before they sleep.
    spin: Duration,
}

impl<T: Payload> Subscriber<T> {
    /// Opens a subscriber of the topic `name`. Creates the topic if it does not exist.
    ///
    /// The subscriber gets the messages published from now on, by present and later publishers.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`], for instance if the topic has too many subscribers, the name is
    /// invalid, or memory is lacking. It is not an error of this call if publishers send a
    /// different message type, unless the subscriber is [`Qos::strict`]. [`Self::check`] reports
    /// such publishers.
    pub fn new(name: &str) -> Result<Self, TopicError> {
        Topic::builder(name).subscriber()
    }

    /// Opens a subscriber as [`Self::new`] does, with the given quality of service.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::new`], and an error if a setting of `qos` is out of its range.
    /// It is not an error of this call if no publisher offers what this subscriber requests:
    /// [`Self::check`] reports that.
    pub fn with_qos(name: &str, qos: Qos) -> Result<Self, TopicError> {
        Topic::builder(name).qos(qos).subscriber()
    }

    /// Opens an observer of the topic `name`, which must exist. An observer maps the topic
    /// read-only, never slows a publisher and does not count as a subscriber of the topic.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if the observer cannot be opened.
    pub fn observer(name: &str) -> Result<Self, TopicError> {
        Topic::builder(name).observer()
    }

    pub(super) fn from_raw(name: &str, mut raw: RawConsumer) -> Self {
        mismatch::log_mismatches(&mut raw);
        Self {
            name: name.into(),
            reader: T::Reader::new(raw),
            marker: PhantomData,
            spin: WaitPolicy::SPIN,
            #[cfg(feature = "async")]
            alarm: None,
        }
    }

    /// Returns the next message, oldest first, or `None` if there is no message right now. Never
    /// blocks.
    ///
    /// The messages of each publisher come in order. No publisher can keep out the others: however
    /// many messages one publisher sends, a message of another publisher waits for at most half as
    /// many calls as the topic has publishers. Idle publishers cost next to nothing while there are
    /// messages; a call that finds none checks each publisher once, which takes about 5 ns per
    /// publisher.
    ///
    /// This method always returns `None` in a forked child, and after a process has truncated the
    /// topic's file. It receives nothing from a publisher whose memory cannot be mapped.
    /// [`Self::check`] reports these cases.
    #[inline(always)]
    pub fn recv(&mut self) -> Option<T> {
        self.reader.recv()
    }

    /// Receives the available messages, up to about the topic's capacity, passes each to `each` and
    /// returns their number. Never blocks.
    ///
    /// This is the fastest way to receive a stream: the fixed costs of a receive are paid once for
    /// several messages. The read cursor is published in steps. During this call, reliable
    /// publishers may therefore find their lane full although up to an eighth of its capacity is
    /// free. If `each` panics, the messages passed to it count as received, and all others remain
    /// unread.
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
        self.reader.drain(each)
    }

    /// Returns the newest unread message, or `None` if there is nothing new. Older messages are
    /// counted as skipped, or as lost if they were already overwritten. Never blocks.
    ///
    /// With several publishers, the newest message is the one with the greatest `monotonic_ns`, if
    /// the messages have this field: a `u64` with a time of CLOCK_MONOTONIC. Otherwise it is the
    /// one with the greatest `timestamp_ns`, and without either field any of them. If
    /// `monotonic_ns` is 0, `timestamp_ns` is used in its place.
    #[inline]
    pub fn latest(&mut self) -> Option<T> {
        self.reader.latest()
    }

    /// Checks whether this subscriber can still receive. Call this when no messages come. Takes
    /// about a nanosecond. If publishers do not match this subscriber, makes some system calls,
    /// takes a lock of the process, and allocates memory for the text of the error.
    ///
    /// # Errors
    ///
    /// Returns [`RecvError::Forked`] or [`RecvError::RegionLost`] if this subscriber can never
    /// receive again; [`RecvError::LaneNotMapped`] if the last receive could not read one
    /// publisher's lane; [`RecvError::Incompatible`] if the topic has live publishers, but none
    /// that sends this message with the reliability that this subscriber requests;
    /// [`RecvError::NamespaceRemoved`] or [`RecvError::NameLost`] if publishers that open the topic
    /// from now on do not reach this subscriber.
    #[inline]
    pub fn check(&self) -> Result<(), RecvError> {
        let raw = self.raw();
        raw.check()
            .map_err(|error| mismatch::add_schema_difference(raw, error))
    }

    /// Returns the first difference between the message type of this subscriber and that of the
    /// live publishers, if [`Self::check`] returns [`RecvError::Incompatible`] with
    /// [`Mismatch::Type`](crate::Mismatch::Type). Otherwise returns `None`. Makes a few system
    /// calls.
    #[must_use]
    pub fn schema_difference(&self) -> Option<SchemaDifference> {
        mismatch::schema_difference(self.raw())
    }

    /// Returns the publisher that does not match this subscriber, if [`Self::check`] returns
    /// [`RecvError::Incompatible`]: its process, and the message types of the publisher and of this
    /// subscriber. Otherwise returns `None`. Makes a few system calls.
    #[must_use]
    pub fn mismatched_publisher(&self) -> Option<MismatchedPublisher> {
        self.raw().mismatched_publisher()
    }

    /// Returns the next message, and waits for it for up to `timeout`.
    ///
    /// Blocks: spins for the time that [`Self::set_spin`] sets, then sleeps until it is woken, in
    /// slices of 50 ms. With a `timeout` of zero, does the same as [`Self::recv`]. If no message
    /// came, looks for a live publisher, which takes about 0.2 µs.
    ///
    /// # Errors
    ///
    /// Returns [`RecvTimeoutError::Timeout`] if no message came in time, and the other variants if
    /// no message can come.
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let received = self.recv_until(WaitPolicy::with_timeout(timeout));
        received.ok_or_else(|| match self.check() {
            Ok(()) => RecvTimeoutError::Timeout {
                topic: self.raw().segment().label(),
                has_publisher: self.raw().has_publisher(),
            },
            Err(error) => error.into(),
        })
    }

    /// Returns the next message, and waits for it without a time limit.
    ///
    /// Blocks, as [`Self::recv_timeout`] does, even while the topic has no publisher.
    ///
    /// # Errors
    ///
    /// Returns [`RecvError::Forked`] or [`RecvError::RegionLost`] if no message can come;
    /// [`RecvError::LaneNotMapped`] if the only messages are in memory that cannot be mapped;
    /// [`RecvError::Incompatible`] while the topic has live publishers, but none that sends this
    /// message with the reliability that this subscriber requests; and while there is no message
    /// also [`RecvError::NamespaceRemoved`] and [`RecvError::NameLost`], as [`Self::check`] does.
    pub fn recv_blocking(&mut self) -> Result<T, RecvError> {
        loop {
            if let Some(message) = self.recv_until(WaitPolicy::endless()) {
                return Ok(message);
            }
            self.check()?;
        }
    }

    fn recv_until(&mut self, wait_policy: WaitPolicy) -> Option<T> {
        self.reader.recv_until(wait_policy.with_spin(self.spin))
    }

    /// Sets how long the blocking calls of this subscriber spin before they sleep. The default of
    /// 10 µs is about the cost of a sleep and a wake. With zero, a call sleeps at once. A longer
    /// spin uses more CPU time for a faster response.
    pub const fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }

    /// Returns an iterator that calls [`Self::recv_blocking`] for each message. The iterator ends
    /// when that call fails, also if the reason passes, as while only publishers live that do not
    /// match: call [`Self::check`], which returns the reason, and go on with a new iterator.
    pub const fn iter(&mut self) -> Iter<'_, T> {
        Iter { subscriber: self }
    }

    /// Returns an iterator that calls [`Self::recv`] for each message. The iterator ends when no
    /// message is available.
    pub const fn try_iter(&mut self) -> TryIter<'_, T> {
        TryIter { subscriber: self }
    }

    /// Returns the object with which a wait set checks this subscriber for new messages.
    pub(super) fn watch(&self) -> Watch {
        self.raw().watch()
    }

    /// Returns the number of messages that were overwritten before this subscriber read them,
    /// including those that no call has noticed yet. The number never shrinks. Loads a few words
    /// for each lane.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.raw().stats().lost
    }

    /// Returns the sequence number of the last message received, in the lane of its publisher; 0
    /// before the first message.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.raw().sequence()
    }

    /// Returns this subscriber's ledger: its counts since it joined.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats::new(self.raw().stats(), self.reader.malformed_message_count())
    }

    /// Returns how often a publisher detached this reliable subscriber because it had stopped
    /// reading.
    #[must_use]
    pub fn detach_count(&self) -> u64 {
        self.raw().detach_count()
    }

    /// Opens another subscriber of the same topic, for another thread. It gets the messages that
    /// are published from now on.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`] if the topic already has the maximum number of subscribers, or memory
    /// is lacking.
    pub fn try_clone(&self) -> Result<Self, TopicError> {
        let raw = self.raw();
        let raw = RawConsumer::new(Arc::clone(raw.segment()), raw.read_mode());
        Ok(Self::from_raw(
            &self.name,
            raw.map_err(|error| TopicError::new(&self.name, error))?,
        ))
    }

    /// Returns the number of bytes of the last message received that its publisher sent; 0 before
    /// the first message. Call this before the next receive.
    ///
    /// The number is less than the length of the message if the publisher knows fewer fields. The
    /// other fields have their defaults. Fields that only the publisher knows are not counted.
    #[must_use]
    pub fn received_bytes(&self) -> usize {
        self.raw().received_bytes()
    }

    /// Returns the name of the topic, as it was given when this subscriber was opened.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Counts the live publishers of the topic. Takes about 0.2 µs for each publisher.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.raw().topic_files().publisher_count()
    }

    /// Counts the live subscribers of the topic in all processes. Takes about 0.2 µs for each
    /// subscriber.
    #[must_use]
    pub fn subscriber_count(&self) -> usize {
        self.raw().topic_files().subscriber_count()
    }

    /// Waits until the topic has `count` publishers, but at most for `timeout`. Returns the number
    /// of publishers that the topic has.
    ///
    /// All live publishers of the topic count, in this process and in all others, but not those
    /// whose process was killed. With a `count` of 0, this call returns at once. With a `timeout`
    /// of [`Duration::MAX`], it waits without a limit. Messages that come in the meantime stay
    /// unread.
    ///
    /// Blocks: counts the publishers once, then again after pauses that grow from 1 ms to 10 ms.
    /// Counting takes about 0.2 µs for each publisher.
    ///
    /// # Errors
    ///
    /// Returns [`EndpointWaitError::Timeout`] if too few publishers joined in time. Returns the
    /// other variants at once: if the topic can never have so many publishers, in a forked child,
    /// or if the topic's memory is lost.
    pub fn wait_for_publishers(
        &self,
        count: usize,
        timeout: Duration,
    ) -> Result<usize, EndpointWaitError> {
        WantedEndpoints::publishers(count).wait(self.raw().topic_files(), timeout)
    }

    /// Returns a watch of the topic's publishers in all processes. It yields an event for each
    /// present publisher, and for each one that joins, leaves or dies later. If a publisher does
    /// not match this subscriber, the event that it joined contains the reason.
    #[must_use]
    pub fn publisher_events(&self) -> EndpointEvents {
        let raw = self.raw();
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
        Backend::from_files(&self.raw().topic_files())
    }

    /// Makes this subscriber receive again from `publisher`, which is the other endpoint of the
    /// same [`Topic`](super::Topic) handle.
    pub(super) fn include_own_publisher(&mut self, publisher: &Publisher<T>) {
        // WHY it cannot fail: its lanes were read before, so their memory is already mapped.
        let included = self.reader.include_publisher(publisher.raw().progress());
        debug_assert!(included.is_ok(), "{included:?}");
    }

    /// Makes this subscriber receive nothing from `publisher`, which is the other endpoint of the
    /// same [`Topic`](super::Topic) handle.
    pub(super) fn ignore_own_publisher(&mut self, publisher: &Publisher<T>) {
        self.reader.ignore_publisher(publisher.raw().progress());
    }

    pub(super) fn raw(&self) -> &RawConsumer {
        self.reader.raw()
    }
}

impl<T: Message> Subscriber<T> {
    /// Receives the next message, as [`Self::recv`] does, but writes it to existing memory, which
    /// saves one copy of a large message.
    ///
    /// Returns true if a message arrived. Otherwise returns false, and `message` contains
    /// unspecified values.
    #[inline(always)]
    pub fn recv_into(&mut self, message: &mut T) -> bool {
        self.reader.recv_into(message)
    }

    /// Receives the newest message, as [`Self::latest`] does, but writes it to existing memory,
    /// which saves one copy of a large message.
    ///
    /// Returns true if there was a message. Otherwise returns false, and `message` contains
    /// unspecified values.
    #[inline]
    pub fn latest_into(&mut self, message: &mut T) -> bool {
        self.reader
            .latest_into_by_key(message, published_ns_of_message)
    }

    /// Borrows the next message in place in shared memory, or returns `None` if there is no message
    /// right now.
    ///
    /// Never blocks and copies nothing. Keep few samples: while a sample exists, its publisher
    /// cannot reuse the slot. A subscriber can hold seven samples at a time, and all subscribers
    /// together half of a publisher's slots (three, if it has four); the publisher with the fewest
    /// counts. The slots have to be pinnable, as [`Publisher::loan`] describes.
    ///
    /// # Errors
    ///
    /// Returns [`BorrowError`] if there is a message that this subscriber may not hold: it already
    /// holds seven, all subscribers together hold as many as they may, or a publisher is not
    /// pinnable. A failed call loses no message; [`Self::recv`] copies it.
    pub fn borrow(&mut self) -> Result<Option<Sample<T>>, BorrowError> {
        self.reader.borrow()
    }

    /// Borrows the newest message, as [`Self::borrow`] does; older messages are counted as by
    /// [`Self::latest`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::borrow`].
    pub fn borrow_latest(&mut self) -> Result<Option<Sample<T>>, BorrowError> {
        self.reader.borrow_latest(&published_ns::<T>)
    }
}

impl<H: Header> Subscriber<Framed<H>> {
    /// Borrows the next message in place in shared memory, or returns `None` if there is no message
    /// right now.
    ///
    /// Never blocks, and copies only the header, so the cost does not depend on the message's
    /// length. Keep few samples: while a sample exists, its publisher cannot reuse the slot. A
    /// subscriber can hold seven samples at a time, and all subscribers together half of a
    /// publisher's slots (three, if it has four); the publisher with the fewest counts.
    ///
    /// # Errors
    ///
    /// Returns [`BorrowError`] if there is a message that this subscriber may not hold: it already
    /// holds seven, all subscribers together hold as many as they may, or a publisher is not
    /// pinnable. A failed call loses no message; [`Self::recv`] copies it.
    pub fn borrow(&mut self) -> Result<Option<FramedSample<H>>, BorrowError> {
        self.borrow_with(RawConsumer::borrow)
    }

    /// Borrows the newest message, as [`Self::borrow`] does; older messages are counted as by
    /// [`Self::latest`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::borrow`].
    pub fn borrow_latest(&mut self) -> Result<Option<FramedSample<H>>, BorrowError> {
        self.borrow_with(|raw| raw.borrow_latest(&published_ns::<H>))
    }

    fn borrow_with(
        &mut self,
        mut borrow: impl FnMut(&mut RawConsumer) -> Result<Option<RawSample>, BorrowError>,
    ) -> Result<Option<FramedSample<H>>, BorrowError> {
        let decoder = &mut self.reader;
        for _ in 0..MALFORMED_MESSAGES_SKIPPED_MAX {
            let Some(sample) = borrow(&mut decoder.raw)? else {
                return Ok(None);
            };
            match FramedSample::from_sample(sample) {
                Some(sample) => return Ok(Some(sample)),
                None => decoder.count_malformed(),
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

/// The iterator that [`Subscriber::iter`] returns. It waits for each message.
#[derive(Debug)]
pub struct Iter<'a, T: Payload> {
    subscriber: &'a mut Subscriber<T>,
}

impl<T: Payload> Iterator for Iter<'_, T> {
    type Item = T;

    /// Returns the next message. Blocks until there is one; returns `None` if
    /// [`Subscriber::recv_blocking`] fails.
    fn next(&mut self) -> Option<T> {
        self.subscriber.recv_blocking().ok()
    }
}

/// The iterator that [`Subscriber::try_iter`] returns. It ends when no message is available.
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
