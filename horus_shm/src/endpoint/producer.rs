//! The producing end of a ring, as the user of a message type sees it.

mod error;
mod raw;

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;

pub use error::SendError;
pub use raw::{LoanMemory, OnStalled, RawProducer};

use crate::wait::WaitPolicy;

/// The producing end of a ring of `T`. `Send`, not `Sync`: one thread at a time.
pub struct Producer<T> {
    raw: RawProducer,
    // A cell-like marker keeps the end from being shared between threads.
    marker: PhantomData<(fn(T), std::cell::Cell<()>)>,
}

// WHY: messages need not be `Debug`.
impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(f)
    }
}

impl<T: Pod> Producer<T> {
    /// A typed view of `raw`.
    ///
    /// # Panics
    ///
    /// If the ring's messages are not of the size of `T`.
    #[must_use]
    pub fn new(raw: RawProducer) -> Self {
        let bytes = raw.segment().shape().request().payload_bytes;
        assert_eq!(bytes, size_of::<T>() as u64, "the ring's payload has another size");
        Self { raw, marker: PhantomData }
    }

    /// Copies `message` into the next slot and publishes it, without blocking.
    ///
    /// Wait-free: no loop, no allocation, no system call, unless a reliable reader is a whole lane
    /// behind; then it is looked after, by a few system calls at most once a millisecond.
    ///
    /// # Errors
    ///
    /// [`SendError::Full`] if a reliable reader is a whole lane behind; [`SendError::Forked`] in a
    /// forked child; [`SendError::RegionLost`] if the ring's file was truncated (the message may
    /// have been delivered before). The message comes back.
    #[inline(always)]
    pub fn send(&mut self, message: T) -> Result<(), SendError<T>> {
        self.send_ref(&message).map_err(|error| error.with(message))
    }

    /// [`Self::send`] for a message that is already in memory: one copy less of a large one.
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

    /// [`Self::send_ref`], but waits for room until the patience ends.
    ///
    /// # Errors
    ///
    /// As [`Self::send`]; [`SendError::Full`] only after that.
    pub fn send_until(
        &mut self,
        wait_policy: WaitPolicy,
        message: &T,
    ) -> Result<(), SendError<()>> {
        let src = std::ptr::from_ref(message).cast();
        // SAFETY: as in `send_ref`.
        unsafe { self.raw.send_until(wait_policy, src, size_of::<T>()) }
    }

    /// What lies under the type.
    #[must_use]
    pub const fn raw(&self) -> &RawProducer {
        &self.raw
    }

    pub(crate) const fn raw_mut(&mut self) -> &mut RawProducer {
        &mut self.raw
    }

    /// Messages that this lane has carried since the ring was made, by all of its owners.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.raw.position()
    }
}
