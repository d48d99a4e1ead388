//! A topic: a named stream of messages, between any number of publishers and subscribers in any
//! number of processes. Publishers and subscribers of the same message type are connected.

mod backend;
mod builder;
mod dynamic;
mod encoded;
mod endpoint_events;
mod endpoint_wait;
pub(crate) mod error;
mod mismatch;
mod opening;
mod payload;
mod publisher;
mod qos;
#[cfg(feature = "async")]
mod recv_future;
mod stats;
mod subscriber;
mod time_fields;
mod wait_set;

use std::time::Duration;

pub use backend::Backend;
pub use builder::TopicBuilder;
pub use dynamic::{
    Arrival, DynamicBuilder, DynamicPublisher, DynamicSchema, DynamicSubscriber, DynamicType,
};
pub use encoded::Encoded;
pub(crate) use encoded::encoded_payload;
#[doc(hidden)]
pub use encoded::{Encoder, MessageDecoder};
pub use endpoint_events::{EndpointChange, EndpointEvent, EndpointEvents};
pub use error::EndpointKind;
pub use horus_shm::{
    Loan, LoanMemory, MismatchedPublisher, OnStalled, RawSample, Reliability, Sample, WakeBarrier,
};
pub use payload::Payload;
pub(crate) use payload::published_ns;
pub use publisher::Publisher;
pub use qos::Qos;
#[cfg(feature = "async")]
pub use recv_future::RecvFuture;
pub use stats::Stats;
pub use subscriber::{Iter, Subscriber, TryIter};
pub use wait_set::{Key, Ready, Reason, WaitSet, Watchable};

use horus_shm::TopicFiles;

use crate::message::{Framed, FramedLoan, FramedSample, Header, Message};
use crate::topic::error::{
    BorrowError, EndpointWaitError, LoanError, RecvError, RecvTimeoutError, SendError, TopicError,
};
use endpoint_wait::WantedEndpoints;

/// Both endpoints of a topic in one handle: it publishes, and receives its own messages too.
///
/// ```
/// # fn main() -> horus_core::Result<()> {
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use horus_core::prelude::*;
///
/// let mut topic: Topic<CmdVel> = Topic::new("cmd_vel")?;
/// topic.send(CmdVel::new(0.5, 0.1))?;
/// assert!(topic.recv().is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Topic<T: Payload> {
    publisher: Publisher<T>,
    subscriber: Subscriber<T>,
}

impl<T: Payload> Topic<T> {
    /// Opens the topic `name`. Creates the topic if it does not exist. Makes system calls and takes
    /// locks of the process and of files, for 10 to 500 µs.
    ///
    /// # Errors
    ///
    /// Returns [`TopicError`], for instance if the topic has too many participants, the name is
    /// invalid, or memory is lacking.
    pub fn new(name: &str) -> Result<Self, TopicError> {
        Self::builder(name).topic()
    }

    /// Opens the topic as [`Self::new`] does, with the given quality of service.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::new`], and an error if a setting of `qos` is out of its range.
    pub fn with_qos(name: &str, qos: Qos) -> Result<Self, TopicError> {
        Self::builder(name).qos(qos).topic()
    }

    /// Returns a builder with which a publisher, a subscriber or both are opened, with any
    /// settings.
    pub fn builder(name: &str) -> TopicBuilder<T> {
        TopicBuilder::new(name)
    }

    pub(crate) const fn from_endpoints(publisher: Publisher<T>, subscriber: Subscriber<T>) -> Self {
        Self {
            publisher,
            subscriber,
        }
    }

    /// Makes this handle ignore, from now on, the messages that it publishes itself.
    #[must_use]
    pub fn ignore_own(mut self) -> Self {
        self.subscriber.ignore_own_publisher(&self.publisher);
        self
    }

    /// Publishes `message`, as [`Publisher::send`] does. Never blocks.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Publisher::send`].
    #[inline(always)]
    pub fn send<M: std::borrow::Borrow<T>>(&mut self, message: M) -> Result<(), SendError<M>> {
        self.publisher.send(message)
    }

    /// Publishes `message`, and waits up to `timeout` for a free slot, as
    /// [`Publisher::send_timeout`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Publisher::send_timeout`].
    pub fn send_timeout<M: std::borrow::Borrow<T>>(
        &mut self,
        message: M,
        timeout: Duration,
    ) -> Result<(), SendError<M>> {
        self.publisher.send_timeout(message, timeout)
    }

    /// Waits as [`Publisher::wait_for_subscribers`] does, but does not count the subscriber of this
    /// handle.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Publisher::wait_for_subscribers`].
    pub fn wait_for_subscribers(
        &self,
        count: usize,
        timeout: Duration,
    ) -> Result<usize, EndpointWaitError> {
        let wanted = WantedEndpoints::subscribers(count).excluding_own();
        wanted.wait(self.files(), timeout)
    }

    /// Waits as [`Subscriber::wait_for_publishers`] does, but does not count the publisher of this
    /// handle.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Subscriber::wait_for_publishers`].
    pub fn wait_for_publishers(
        &self,
        count: usize,
        timeout: Duration,
    ) -> Result<usize, EndpointWaitError> {
        let wanted = WantedEndpoints::publishers(count).excluding_own();
        wanted.wait(self.files(), timeout)
    }

    /// Returns the files of the topic that the two endpoints of this handle use. WHY the files of
    /// both endpoints: a wait does not count this handle's own endpoint, and has to find it in one
    /// of the files.
    fn files(&self) -> TopicFiles {
        let files = self.publisher.raw().topic_files();
        files.merged_with(&self.subscriber.raw().topic_files())
    }

    /// Returns the next message, or `None` if there is none right now, as [`Subscriber::recv`]
    /// does.
    #[inline(always)]
    pub fn recv(&mut self) -> Option<T> {
        self.subscriber.recv()
    }

    /// Returns the next message, and waits for it for up to `timeout`, as
    /// [`Subscriber::recv_timeout`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Subscriber::recv_timeout`].
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.subscriber.recv_timeout(timeout)
    }

    /// Returns the next message, and waits for it without a time limit, as
    /// [`Subscriber::recv_blocking`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Subscriber::recv_blocking`].
    pub fn recv_blocking(&mut self) -> Result<T, RecvError> {
        self.subscriber.recv_blocking()
    }

    /// Returns a future of the next message, as [`Subscriber::recv_async`] does.
    #[cfg(feature = "async")]
    pub const fn recv_async(&mut self) -> RecvFuture<'_, T> {
        self.subscriber.recv_async()
    }

    /// Sets how long blocking receives spin before they sleep, as [`Subscriber::set_spin`] does.
    pub const fn set_spin(&mut self, spin: Duration) {
        self.subscriber.set_spin(spin);
    }

    /// Returns an iterator that waits for each message, as [`Subscriber::iter`] does.
    pub const fn iter(&mut self) -> Iter<'_, T> {
        self.subscriber.iter()
    }

    /// Returns an iterator over the available messages, as [`Subscriber::try_iter`] does.
    pub const fn try_iter(&mut self) -> TryIter<'_, T> {
        self.subscriber.try_iter()
    }

    /// Returns the newest unread message, or `None` if there is nothing new, as
    /// [`Subscriber::latest`] does.
    #[inline]
    pub fn latest(&mut self) -> Option<T> {
        self.subscriber.latest()
    }

    /// Checks whether this handle can still receive messages, as [`Subscriber::check`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Subscriber::check`].
    #[inline]
    pub fn check(&self) -> Result<(), RecvError> {
        self.subscriber.check()
    }

    /// Returns the number of messages that were overwritten before this handle read them, as
    /// [`Subscriber::lost`] does.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.subscriber.lost()
    }

    /// Returns the counts of the subscriber since it joined, as [`Subscriber::stats`] does.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.subscriber.stats()
    }

    /// Returns the kind of ring buffer to which the topic corresponds, as [`Subscriber::backend`]
    /// does.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.subscriber.backend()
    }

    /// Returns the publishing endpoint of this handle.
    pub const fn publisher(&mut self) -> &mut Publisher<T> {
        &mut self.publisher
    }

    /// Returns the subscribing endpoint of this handle.
    pub const fn subscriber(&mut self) -> &mut Subscriber<T> {
        &mut self.subscriber
    }

    /// Splits the handle into its two endpoints, for two threads. From now on the subscriber also
    /// gets the messages of the publisher, even after [`Self::ignore_own`].
    #[must_use]
    pub fn split(mut self) -> (Publisher<T>, Subscriber<T>) {
        self.subscriber.include_own_publisher(&self.publisher);
        (self.publisher, self.subscriber)
    }
}

impl<T: Message> Topic<T> {
    /// Lends the next slot in shared memory to write a message in place, as [`Publisher::loan`]
    /// does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Publisher::loan`].
    pub fn loan(&mut self) -> Result<Loan<'_, T>, LoanError> {
        self.publisher.loan()
    }

    /// Borrows the next message in place in shared memory, as [`Subscriber::borrow`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Subscriber::borrow`].
    pub fn borrow(&mut self) -> Result<Option<Sample<T>>, BorrowError> {
        self.subscriber.borrow()
    }

    /// Borrows the newest message in place in shared memory, as [`Subscriber::borrow_latest`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Subscriber::borrow_latest`].
    pub fn borrow_latest(&mut self) -> Result<Option<Sample<T>>, BorrowError> {
        self.subscriber.borrow_latest()
    }
}

impl<H: Header> Topic<Framed<H>> {
    /// Lends the next slot in shared memory to write the data of a message in place, as
    /// [`Publisher::loan`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Publisher::loan`].
    pub fn loan(&mut self, header: H) -> Result<FramedLoan<'_, H>, LoanError> {
        self.publisher.loan(header)
    }

    /// Borrows the next message in place in shared memory, as [`Subscriber::borrow`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Subscriber::borrow`].
    pub fn borrow(&mut self) -> Result<Option<FramedSample<H>>, BorrowError> {
        self.subscriber.borrow()
    }

    /// Borrows the newest message in place in shared memory, as [`Subscriber::borrow_latest`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Subscriber::borrow_latest`].
    pub fn borrow_latest(&mut self) -> Result<Option<FramedSample<H>>, BorrowError> {
        self.subscriber.borrow_latest()
    }
}
