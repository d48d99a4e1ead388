//! Typed producers: the sending ends of rings, for messages of one Rust type.

mod error;
mod raw;

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;

pub use error::SendError;
pub(crate) use error::{describe_no_space, describe_too_long};
pub use raw::{LoanMemory, OnStalled, RawProducer};

use crate::wait::WaitPolicy;

/// The sending end of a ring whose messages have the type `T`. It is `Send` but not `Sync`: only
/// one thread at a time may use it.
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
    /// Creates a typed producer that sends through `raw`.
    ///
    /// # Panics
    ///
    /// The call panics if the ring's messages do not have the size of `T`.
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
    /// Wait-free: no loop, no allocation, no system call. The one exception is a reliable reader
    /// that is behind by the whole lane. The producer then checks whether that reader is alive,
    /// with a few system calls and at most once a millisecond.
    ///
    /// # Errors
    ///
    /// [`SendError::Full`] if a reliable reader is behind by the whole lane; [`SendError::Forked`]
    /// in a forked child; [`SendError::RegionLost`] if the ring's file was truncated (a reader may
    /// have received the message before that). The error contains the message.
    #[inline(always)]
    pub fn send(&mut self, message: T) -> Result<(), SendError<T>> {
        self.send_ref(&message).map_err(|error| error.with(message))
    }

    /// Sends as [`Self::send`] does, but copies directly from `message`. This saves a copy, which
    /// matters for large messages.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::send`].
    #[inline(always)]
    pub fn send_ref(&mut self, message: &T) -> Result<(), SendError<()>> {
        let src = std::ptr::from_ref(message).cast();
        // SAFETY: a `T` is readable for its size, which `new` compared with the ring's payload.
        unsafe { self.raw.send(src, size_of::<T>()) }
    }

    /// Sends as [`Self::send_ref`] does, but waits for a free slot until `wait_policy` ends.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::send`]; [`SendError::Full`] only after the wait.
    pub fn send_until(
        &mut self,
        wait_policy: WaitPolicy,
        message: &T,
    ) -> Result<(), SendError<()>> {
        let src = std::ptr::from_ref(message).cast();
        // SAFETY: as in `send_ref`.
        unsafe { self.raw.send_until(wait_policy, src, size_of::<T>()) }
    }

    /// Returns the untyped producer that this typed producer wraps.
    #[must_use]
    pub const fn raw(&self) -> &RawProducer {
        &self.raw
    }

    pub(crate) const fn raw_mut(&mut self) -> &mut RawProducer {
        &mut self.raw
    }

    /// Returns the number of messages that all owners of the producer's lane have sent. Skipped
    /// slots are not counted. Messages sent before a move to another file are included.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.raw.position()
    }
}
