//! The consuming end of a ring, as the user of a message type sees it.

mod alarm;
mod raw;
mod watch;

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use bytemuck::Pod;

pub use alarm::Alarm;
pub use raw::{Key, RawConsumer, ReadStats, Reading};
pub use watch::{LaneWatch, Watch};

use crate::file::error::{OpenError, RecvError};
use crate::protocol::lane::Polled;
use crate::wait::WaitPolicy;

/// The consuming end of a ring of `T`. `Send`, not `Sync`: one thread at a time.
pub struct Consumer<T> {
    raw: RawConsumer,
    // A cell-like marker keeps the end from being shared between threads.
    marker: PhantomData<(fn() -> T, std::cell::Cell<()>)>,
}

// WHY: messages need not be `Debug`.
impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(f)
    }
}

impl<T: Pod> Consumer<T> {
    /// A typed view of `raw`.
    ///
    /// # Panics
    ///
    /// If the ring's messages are not of the size of `T`, or have lengths of their own.
    #[must_use]
    pub fn new(raw: RawConsumer) -> Self {
        let request = raw.segment().shape().request();
        let bytes = request.payload_bytes;
        assert_eq!(bytes, size_of::<T>() as u64, "the ring's payload has another size");
        assert!(!request.sized, "the ring's messages have lengths of their own");
        Self { raw, marker: PhantomData }
    }

    /// The next message, or `None` if there is none right now. Never blocks.
    ///
    /// Wait-free: bounded work, no allocation, no system call, but for the first message of a
    /// publisher that came later, whose lane is mapped then. An empty look pauses the CPU briefly,
    /// so a loop around it needs no spin hint of its own. `None` for good in a forked child, and if
    /// the ring's file was truncated: [`Self::check`] tells.
    #[inline(always)]
    pub fn recv(&mut self) -> Option<T> {
        let mut message = MaybeUninit::<T>::uninit();
        // SAFETY: room for a `T`, whose size `new` compared with the ring's payload.
        match unsafe { self.raw.recv(message.as_mut_ptr().cast(), size_of::<T>()) } {
            // SAFETY: all bytes were written, and any bytes are a `T`.
            Polled::Message => Some(unsafe { message.assume_init() }),
            Polled::Empty | Polled::Busy => None,
        }
    }

    /// [`Self::recv`] into memory that is already there: one copy less of a large message.
    ///
    /// True if a message arrived. Else `message` holds unspecified values.
    #[inline(always)]
    pub fn recv_into(&mut self, message: &mut T) -> bool {
        let dst = std::ptr::from_mut(message).cast();
        // SAFETY: room for a `T`, whose size `new` compared with the ring's payload; whatever
        // bytes a torn copy leaves are a `T`.
        unsafe { self.raw.recv(dst, size_of::<T>()) == Polled::Message }
    }

    /// Receives what is there, or about as much as fills a lane, and hands each message to `each`:
    /// how many there were. Never blocks.
    ///
    /// For streams: what costs the same for one message or several is done once for several, and
    /// the publishers of a reliable ring are told of room in steps of an eighth of a lap. If `each`
    /// panics, what it was given is received and all else is not.
    #[inline]
    pub fn drain(&mut self, mut each: impl FnMut(T)) -> usize {
        let mut message = MaybeUninit::<T>::uninit();
        let dst = message.as_mut_ptr();
        // SAFETY: all bytes were written before this is called, and any bytes are a `T`.
        let each = || each(unsafe { dst.read() });
        // SAFETY: room for a `T`, whose size `new` compared with the ring's payload.
        unsafe { self.raw.drain(dst.cast(), size_of::<T>(), each) as usize }
    }

    /// [`Self::recv`], but waits for a message until the patience ends.
    ///
    /// Blocks, asleep but for a short spin at first; no wake is lost. `None` at once in a forked
    /// child.
    pub fn recv_until(&mut self, wait_policy: WaitPolicy) -> Option<T> {
        let mut message = MaybeUninit::<T>::uninit();
        let dst = message.as_mut_ptr().cast();
        // SAFETY: room for a `T`, whose size `new` compared with the ring's payload.
        match unsafe { self.raw.recv_until(wait_policy, dst, size_of::<T>()) } {
            // SAFETY: all bytes were written, and any bytes are a `T`.
            Polled::Message => Some(unsafe { message.assume_init() }),
            Polled::Empty | Polled::Busy => None,
        }
    }

    /// The newest message that was not received yet; older ones are passed over and counted as
    /// skipped. `None` if there is nothing new.
    ///
    /// With several publishers the one with the greatest `key` wins, which makes the answer as
    /// good as the publishers' clocks agree. Never blocks.
    #[inline]
    pub fn latest_by_key(&mut self, key: impl Fn(&T) -> u64) -> Option<T> {
        self.raw.latest_among(|raw, lane, _| {
            let mut message = MaybeUninit::<T>::uninit();
            let dst = message.as_mut_ptr().cast();
            // SAFETY: room for a `T`, as in `recv`.
            let arrival = unsafe { raw.latest_of(lane, dst, size_of::<T>()) }?;
            // SAFETY: all bytes were written, and any bytes are a `T`.
            let message = unsafe { message.assume_init() };
            Some((arrival, key(&message), message))
        })
    }

    /// [`Self::latest_by_key`] for a ring with one publisher at a time.
    #[inline]
    pub fn latest(&mut self) -> Option<T> {
        self.latest_by_key(|_| 0)
    }

    /// Whether this end can still receive. About a nanosecond.
    ///
    /// # Errors
    ///
    /// As [`RawConsumer::check`].
    #[inline]
    pub fn check(&self) -> Result<(), RecvError> {
        self.raw.check()
    }

    /// The ledger since this reader joined. Costs a look at every lane's head.
    #[must_use]
    pub fn stats(&self) -> ReadStats {
        self.raw.stats()
    }

    /// Leaves lane `lane` out from now on: a participant's own messages.
    pub fn ignore(&mut self, lane: u32) {
        self.raw.ignore(lane);
    }

    /// Takes lane `lane` in again, from now on, after [`Self::ignore`].
    ///
    /// # Errors
    ///
    /// [`OpenError::Io`]; the lane stays ignored.
    pub fn include(&mut self, lane: u32) -> Result<(), OpenError> {
        self.raw.include(lane)
    }

    /// What lies under the type.
    #[must_use]
    pub const fn raw(&self) -> &RawConsumer {
        &self.raw
    }

    pub(crate) const fn raw_mut(&mut self) -> &mut RawConsumer {
        &mut self.raw
    }
}
