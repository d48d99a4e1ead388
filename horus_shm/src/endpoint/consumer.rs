//! Typed consumers: the receiving ends of rings, for messages of one Rust type.

mod alarm;
mod health;
mod raw;
mod unmatched;
mod watch;

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use bytemuck::Pod;

pub use alarm::MessageAlarm;
pub use health::ConsumerHealthWatch;
pub(crate) use raw::PrivateMessageCopies;
pub use raw::{Key, RawConsumer, ReadMode, ReadStats};
pub use watch::Watch;

use crate::endpoint::publisher_progress::PublisherProgress;
use crate::file::error::{OpenError, RecvError};
use crate::protocol::lane::PollOutcome;
use crate::wait::WaitPolicy;

/// The receiving end of a ring whose messages have the type `T`. It is `Send` but not `Sync`: only
/// one thread at a time may use it.
pub struct Consumer<T> {
    raw: RawConsumer,
    // A cell-like marker keeps the consumer from being shared between threads.
    marker: PhantomData<(fn() -> T, std::cell::Cell<()>)>,
}

// WHY: messages need not be `Debug`.
impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(f)
    }
}

impl<T: Pod> Consumer<T> {
    /// Creates a typed consumer that receives through `raw`.
    ///
    /// # Panics
    ///
    /// The call panics if the ring's messages do not have the size of `T`, or if they vary in
    /// length.
    #[must_use]
    pub fn new(raw: RawConsumer) -> Self {
        let type_info = &raw.segment().request().type_info;
        let bytes = type_info.bytes;
        assert_eq!(
            bytes,
            size_of::<T>() as u64,
            "the ring's payload has another size"
        );
        assert!(
            !type_info.sized,
            "the ring's messages have lengths of their own"
        );
        Self {
            raw,
            marker: PhantomData,
        }
    }

    /// Receives the next message; returns `None` if there is none right now. Never blocks.
    ///
    /// Wait-free: bounded work, no allocation, no system call. The one exception is the first
    /// message of a publisher that came later: its lane is mapped then. A call that finds no
    /// message pauses the CPU briefly, so a loop around it needs no spin hint. In a forked child,
    /// or after the ring's file was truncated, always returns `None`; [`Self::check`] then returns
    /// the reason.
    #[inline(always)]
    pub fn recv(&mut self) -> Option<T> {
        let mut message = MaybeUninit::<T>::uninit();
        // SAFETY: `message` has the size of a `T`, which `new` compared with the ring's payload.
        match unsafe { self.raw.recv(message.as_mut_ptr().cast(), size_of::<T>()) } {
            // SAFETY: all bytes were written, and any bytes are a `T`.
            PollOutcome::Message => Some(unsafe { message.assume_init() }),
            PollOutcome::Empty | PollOutcome::Busy => None,
        }
    }

    /// Copies the next message directly to `message`; returns false if there is none. Otherwise the
    /// same as [`Self::recv`], but saves a copy, which matters for large messages.
    ///
    /// Returns true if a message arrived. Otherwise `message` holds unspecified values.
    #[inline(always)]
    pub fn recv_into(&mut self, message: &mut T) -> bool {
        let dst = std::ptr::from_mut(message).cast();
        // SAFETY: `message` has the size of a `T`, which `new` compared with the ring's payload;
        // any bytes that a torn copy leaves are a `T`.
        unsafe { self.raw.recv(dst, size_of::<T>()) == PollOutcome::Message }
    }

    /// Receives the messages that are there now, at most about as many as a lane has slots, and
    /// passes each one to `each`. Returns their number. Never blocks.
    ///
    /// Meant for streams: costs that do not depend on the number of messages are paid once for all
    /// of them. In a reliable ring, the reader makes room for the publishers in steps of an eighth
    /// of a lane's capacity. If `each` panics, the messages passed to it count as received; the
    /// others are received later.
    #[inline]
    pub fn drain(&mut self, mut each: impl FnMut(T)) -> usize {
        let mut message = MaybeUninit::<T>::uninit();
        let dst = message.as_mut_ptr();
        // SAFETY: all bytes were written before this is called, and any bytes are a `T`.
        let each = || each(unsafe { dst.read() });
        // SAFETY: `message` has the size of a `T`, which `new` compared with the ring's payload.
        unsafe { self.raw.drain(dst.cast(), size_of::<T>(), each) as usize }
    }

    /// Receives the next message as [`Self::recv`] does, but waits for one until `wait_policy`
    /// ends.
    ///
    /// Blocks: it spins for a short time and then sleeps. No wake is lost. In a forked child,
    /// returns `None` at once.
    pub fn recv_until(&mut self, wait_policy: WaitPolicy) -> Option<T> {
        let mut message = MaybeUninit::<T>::uninit();
        let dst = message.as_mut_ptr().cast();
        // SAFETY: `message` has the size of a `T`, which `new` compared with the ring's payload.
        match unsafe { self.raw.recv_until(wait_policy, dst, size_of::<T>()) } {
            // SAFETY: all bytes were written, and any bytes are a `T`.
            PollOutcome::Message => Some(unsafe { message.assume_init() }),
            PollOutcome::Empty | PollOutcome::Busy => None,
        }
    }

    /// Returns the newest message that has not been received yet; `None` if there is nothing new.
    /// Older messages are counted as skipped, or as lost if they have already been overwritten.
    ///
    /// If there are several publishers, returns the message with the greatest `key` among the
    /// newest messages of all publishers. If the key is a send time, the clocks of the publishers
    /// have to agree. Never blocks.
    #[inline]
    pub fn latest_by_key(&mut self, key: impl Fn(&T) -> u64) -> Option<T> {
        let mut message = MaybeUninit::<T>::uninit();
        // SAFETY: `message` has room for a `T`.
        let is_new = unsafe { self.copy_latest_to(message.as_mut_ptr(), key) };
        // SAFETY: all bytes were written then, and any bytes are a `T`.
        is_new.then(|| unsafe { message.assume_init() })
    }

    /// Copies the newest message directly to `message`; returns false if there is no new one.
    /// Otherwise the same as [`Self::latest_by_key`], but saves a copy, which matters for large
    /// messages.
    ///
    /// Returns true if there was a message. Otherwise `message` holds unspecified values.
    #[inline]
    pub fn latest_into_by_key(&mut self, message: &mut T, key: impl Fn(&T) -> u64) -> bool {
        // SAFETY: `message` has room for a `T`; any bytes that a torn copy leaves are one.
        unsafe { self.copy_latest_to(message, key) }
    }

    /// Copies the newest message to `dst`. Returns false if there is none; `dst` may then contain
    /// parts of a message.
    ///
    /// # Safety
    ///
    /// `dst` is writable for a `T`, and the caller accepts any bytes there.
    #[inline]
    unsafe fn copy_latest_to(&mut self, dst: *mut T, key: impl Fn(&T) -> u64) -> bool {
        // WHY by index: a message that were passed on by value would be copied each time.
        let mut spare = MaybeUninit::<T>::uninit();
        let buffers = [dst, spare.as_mut_ptr()];
        let bytes = size_of::<T>();
        let newest = self
            .raw
            .latest_among(bytes, |raw, lane, best: Option<&usize>| {
                let free = best.map_or(0, |buffer| 1 - buffer);
                // SAFETY: each buffer has the size of a `T`, as in `recv`.
                let arrival = unsafe { raw.copy_latest_of(lane, buffers[free].cast(), bytes) }?;
                // SAFETY: all bytes were written, and any bytes are a `T`.
                let key = key(unsafe { &*buffers[free] });
                Some((arrival, key, free))
            });
        if newest == Some(1) {
            // SAFETY: the message is in `spare`, and `dst` has room for it.
            unsafe { dst.copy_from_nonoverlapping(spare.as_ptr(), 1) };
        }
        newest.is_some()
    }

    /// Returns the newest message of a ring that has only one publisher at a time. Otherwise the
    /// same as [`Self::latest_by_key`].
    #[inline]
    pub fn latest(&mut self) -> Option<T> {
        self.latest_by_key(|_| 0)
    }

    /// Copies the newest message to `message`, for a ring that has only one publisher at a time.
    /// Otherwise the same as [`Self::latest_into_by_key`].
    #[inline]
    pub fn latest_into(&mut self, message: &mut T) -> bool {
        self.latest_into_by_key(message, |_| 0)
    }

    /// Returns an error if this consumer can no longer receive.
    ///
    /// Takes about a nanosecond, and some system calls if a publisher does not match.
    ///
    /// # Errors
    ///
    /// The same as for [`RawConsumer::check`].
    #[inline]
    pub fn check(&self) -> Result<(), RecvError> {
        self.raw.check()
    }

    /// Returns the counters (ledger) of this reader since it joined: how many messages it has
    /// received, lost and skipped, and how many wait. Reads the position of the newest message in
    /// every lane.
    #[must_use]
    pub fn stats(&self) -> ReadStats {
        self.raw.stats()
    }

    /// Stops receiving from the lane with index `lane`. A participant that also publishes uses this
    /// so that it does not receive its own messages.
    pub fn ignore(&mut self, lane: u32) {
        self.raw.ignore(lane);
    }

    /// Receives from lane `lane` again after [`Self::ignore`], beginning with messages sent after
    /// this call.
    ///
    /// # Errors
    ///
    /// [`OpenError::Io`] if a system call fails; the lane is still ignored then.
    pub fn include(&mut self, lane: u32) -> Result<(), OpenError> {
        self.raw.include(lane)
    }

    /// Stops receiving from `publisher`, in all files of the topic, wherever the two move.
    pub fn ignore_publisher(&mut self, publisher: PublisherProgress<'_>) {
        self.raw.ignore_publisher(publisher);
    }

    /// Receives from `publisher` again after [`Self::ignore_publisher`], beginning with messages
    /// sent after this call. Does nothing if the publisher is not ignored.
    ///
    /// # Errors
    ///
    /// [`OpenError::Io`] if a system call fails; the publisher is still ignored then.
    pub fn include_publisher(&mut self, publisher: PublisherProgress<'_>) -> Result<(), OpenError> {
        self.raw.include_publisher(publisher)
    }

    /// Returns the untyped consumer that this typed consumer wraps.
    #[must_use]
    pub const fn raw(&self) -> &RawConsumer {
        &self.raw
    }

    pub(crate) const fn raw_mut(&mut self) -> &mut RawConsumer {
        &mut self.raw
    }
}
