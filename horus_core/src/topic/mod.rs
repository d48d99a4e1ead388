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
pub use encoded::{Decoder, Encoder};
pub use endpoint_events::{EndpointChange, EndpointEvent, EndpointEvents};
pub use error::EndpointKind;
pub use horus_shm::{Loan, LoanMemory, OnStalled, RawSample, Reliability, Sample, WakeEdge};
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
    /// Opens the topic `name`, creating it if it does not exist.
    ///
    /// # Errors
    ///
    /// [`TopicError`]: too many participants, a bad name, no memory …
    pub fn new(name: &str) -> Result<Self, TopicError> {
        Self::builder(name).topic()
    }

    /// Does the same as [`Self::new`], with a quality of service.
    ///
    /// # Errors
    ///
    /// As [`Self::new`]. Also fails if a setting differs from that of the topic.
    pub fn with_qos(name: &str, qos: Qos) -> Result<Self, TopicError> {
        Self::builder(name).qos(qos).topic()
    }

    /// Returns a builder for a publisher, a subscriber or both, with all settings.
    pub fn builder(name: &str) -> TopicBuilder<T> {
        TopicBuilder::new(name)
    }

    pub(crate) const fn from_ends(publisher: Publisher<T>, subscriber: Subscriber<T>) -> Self {
        Self {
            publisher,
            subscriber,
        }
    }

    /// Ignores the messages that this handle itself publishes, from now on.
    #[must_use]
    pub fn ignore_own(mut self) -> Self {
        self.subscriber.ignore(&self.publisher);
        self
    }

    /// Calls [`Publisher::send`].
    ///
    /// # Errors
    ///
    /// The errors of that method.
    #[inline(always)]
    pub fn send<M: std::borrow::Borrow<T>>(&mut self, message: M) -> Result<(), SendError<M>> {
        self.publisher.send(message)
    }

    /// Calls [`Publisher::send_timeout`].
    ///
    /// # Errors
    ///
    /// The errors of that method.
    pub fn send_timeout<M: std::borrow::Borrow<T>>(
        &mut self,
        message: M,
        timeout: Duration,
    ) -> Result<(), SendError<M>> {
        self.publisher.send_timeout(message, timeout)
    }

    /// Waits as [`Publisher::wait_for_subscribers`] does, but does not count this handle's own
    /// subscriber.
    ///
    /// # Errors
    ///
    /// The errors of that method.
    pub fn wait_for_subscribers(
        &self,
        count: usize,
        timeout: Duration,
    ) -> Result<usize, EndpointWaitError> {
        let wanted = WantedEndpoints::subscribers(count).excluding_own();
        wanted.wait(self.files(), timeout)
    }

    /// Waits as [`Subscriber::wait_for_publishers`] does, but does not count this handle's own
    /// publisher.
    ///
    /// # Errors
    ///
    /// The errors of that method.
    pub fn wait_for_publishers(
        &self,
        count: usize,
        timeout: Duration,
    ) -> Result<usize, EndpointWaitError> {
        let wanted = WantedEndpoints::publishers(count).excluding_own();
        wanted.wait(self.files(), timeout)
    }

    /// Returns the topic's files that the two endpoints of this handle know. WHY those of both: the
    /// endpoint of this handle that is not counted is in one of them.
    fn files(&self) -> TopicFiles {
        let files = self.publisher.raw().files();
        files.and(&self.subscriber.raw().files())
    }

    /// Calls [`Subscriber::recv`].
    #[inline(always)]
    pub fn recv(&mut self) -> Option<T> {
        self.subscriber.recv()
    }

    /// Calls [`Subscriber::recv_timeout`].
    ///
    /// # Errors
    ///
    /// The errors of that method.
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.subscriber.recv_timeout(timeout)
    }

    /// Calls [`Subscriber::recv_blocking`].
    ///
    /// # Errors
    ///
    /// The errors of that method.
    pub fn recv_blocking(&mut self) -> Result<T, RecvError> {
        self.subscriber.recv_blocking()
    }

    /// Calls [`Subscriber::recv_async`].
    #[cfg(feature = "async")]
    pub const fn recv_async(&mut self) -> RecvFuture<'_, T> {
        self.subscriber.recv_async()
    }

    /// Calls [`Subscriber::set_spin`].
    pub const fn set_spin(&mut self, spin: Duration) {
        self.subscriber.set_spin(spin);
    }

    /// Calls [`Subscriber::iter`].
    pub const fn iter(&mut self) -> Iter<'_, T> {
        self.subscriber.iter()
    }

    /// Calls [`Subscriber::try_iter`].
    pub const fn try_iter(&mut self) -> TryIter<'_, T> {
        self.subscriber.try_iter()
    }

    /// Calls [`Subscriber::latest`].
    #[inline]
    pub fn latest(&mut self) -> Option<T> {
        self.subscriber.latest()
    }

    /// Calls [`Subscriber::check`].
    ///
    /// # Errors
    ///
    /// The errors of that method.
    #[inline]
    pub fn check(&self) -> Result<(), RecvError> {
        self.subscriber.check()
    }

    /// Calls [`Subscriber::lost`].
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.subscriber.lost()
    }

    /// Calls [`Subscriber::stats`].
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.subscriber.stats()
    }

    /// Calls [`Subscriber::backend`].
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.subscriber.backend()
    }

    /// Returns the publishing endpoint.
    pub const fn publisher(&mut self) -> &mut Publisher<T> {
        &mut self.publisher
    }

    /// Returns the subscribing endpoint.
    pub const fn subscriber(&mut self) -> &mut Subscriber<T> {
        &mut self.subscriber
    }

    /// Splits the handle into its two endpoints, for two threads. From now on the subscriber also
    /// gets the messages of the publisher, even after [`Self::ignore_own`].
    #[must_use]
    pub fn split(mut self) -> (Publisher<T>, Subscriber<T>) {
        self.subscriber.include(&self.publisher);
        (self.publisher, self.subscriber)
    }
}

impl<T: Message> Topic<T> {
    /// Calls [`Publisher::loan`].
    ///
    /// # Errors
    ///
    /// The errors of that method.
    pub fn loan(&mut self) -> Result<Loan<'_, T>, LoanError> {
        self.publisher.loan()
    }

    /// Calls [`Subscriber::borrow`].
    ///
    /// # Errors
    ///
    /// The errors of that method.
    pub fn borrow(&mut self) -> Result<Option<Sample<T>>, BorrowError> {
        self.subscriber.borrow()
    }

    /// Calls [`Subscriber::borrow_latest`].
    ///
    /// # Errors
    ///
    /// The errors of that method.
    pub fn borrow_latest(&mut self) -> Result<Option<Sample<T>>, BorrowError> {
        self.subscriber.borrow_latest()
    }
}

impl<H: Header> Topic<Framed<H>> {
    /// Calls [`Publisher::loan`].
    ///
    /// # Errors
    ///
    /// The errors of that method.
    pub fn loan(&mut self, header: H) -> Result<FramedLoan<'_, H>, LoanError> {
        self.publisher.loan(header)
    }

    /// Calls [`Subscriber::borrow`].
    ///
    /// # Errors
    ///
    /// The errors of that method.
    pub fn borrow(&mut self) -> Result<Option<FramedSample<H>>, BorrowError> {
        self.subscriber.borrow()
    }

    /// Calls [`Subscriber::borrow_latest`].
    ///
    /// # Errors
    ///
    /// The errors of that method.
    pub fn borrow_latest(&mut self) -> Result<Option<FramedSample<H>>, BorrowError> {
        self.subscriber.borrow_latest()
    }
}
