//! Typed producers of a ring.

mod error;
mod raw;

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;

pub use error::SendError;
pub use raw::{LoanMemory, OnStalled, RawProducer};

use crate::wait::WaitPolicy;

/// The typed producer of a ring of `T`. `Send`, not `Sync`: one thread at a time.
pub struct Producer<T> {
    raw: RawProducer,
    // A cell-like marker keeps the producer from being shared between threads.
    marker: PhantomData<(fn(T), std::cell::Cell<()>)>,
}

// WHY: messages need not be `Debug`.
impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(f)
    }
}

impl<T: Pod> Producer<T> {
    /// Creates a typed view of `raw`.
    ///
    /// # Panics
    ///
    /// If the ring's messages do not have the size of `T`.
    #[must_use]
    pub fn new(raw: RawProducer) -> Self {
        let bytes = raw.segment().request().type_info.bytes;
        assert_eq!(
            bytes,
            size_of::<T>() as u64,
            "the ring's payload has another size"
        );
        Self {
            raw,
            marker: PhantomData,
        }
    }

    /// Copies `message` into the next slot and publishes it, without blocking.
    ///
    /// Wait-free: no loop, no allocation, no system call, unless a reliable reader is the lane's
    /// whole capacity behind. Then the reader is probed, by a few system calls at most once a
    /// millisecond.
    ///
    /// # Errors
    ///
    /// [`SendError::Full`] if a reliable reader is the lane's whole capacity behind;
    /// [`SendError::Forked`] in a forked child; [`SendError::RegionLost`] if the ring's file was
    /// truncated (the message may have been delivered before). The error returns the message.
    #[inline(always)]
    pub fn send(&mut self, message: T) -> Result<(), SendError<T>> {
        self.send_ref(&message).map_err(|error| error.with(message))
    }

    /// Sends as [`Self::send`] does, from existing memory: one copy less of a large message.
    ///
    /// # Errors
    ///
    /// As [`Self::send`].
    #[inline(always)]
    pub fn send_ref(&mut self, message: &T) -> Result<(), SendError<()>> {
        let src = std::ptr::from_ref(message).cast();
        // SAFETY: a `T` is readable for its size, which `new` compared with the ring's payload.
        unsafe { self.raw.send(src, size_of::<T>()) }
    }

    /// Sends as [`Self::send_ref`] does, but waits for room until `wait_policy` ends.
    ///
    /// # Errors
    ///
    /// As [`Self::send`]; [`SendError::Full`] only after the wait.
    pub fn send_until(
        &mut self,
        wait_policy: WaitPolicy,
        message: &T,
    ) -> Result<(), SendError<()>> {
        let src = std::ptr::from_ref(message).cast();
        // SAFETY: as in `send_ref`.
        unsafe { self.raw.send_until(wait_policy, src, size_of::<T>()) }
    }

    /// Returns the untyped producer.
    #[must_use]
    pub const fn raw(&self) -> &RawProducer {
        &self.raw
    }

    pub(crate) const fn raw_mut(&mut self) -> &mut RawProducer {
        &mut self.raw
    }

    /// Returns the position in the lane: the number of messages by all of its owners, with skipped
    /// slots, and with those before a move to another file.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.raw.position()
    }
}
