//! The numbers of senders and receivers of a channel, counted such that a receiver misses no
//! message when the last sender leaves.

use core::sync::atomic::AtomicU64;

use crate::protocol::sync::{Word, edge};

/// The numbers of senders and of receivers that a channel has. They are read often and written
/// rarely, so they share no cache line with other data.
#[derive(Debug)]
#[repr(align(128))]
pub struct EndpointCounts<W> {
    senders: W,
    receivers: W,
}

/// The error of a receive call if all senders have left, and all of their messages have been
/// received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disconnected;

impl EndpointCounts<AtomicU64> {
    /// Creates the counts of a channel that has one sender and one receiver.
    #[must_use]
    pub const fn with_one_sender_and_receiver() -> Self {
        Self::new(AtomicU64::new(1), AtomicU64::new(1))
    }
}

impl<W: Word> EndpointCounts<W> {
    /// Creates the counts from two words that already contain the numbers of senders and receivers.
    pub const fn new(senders: W, receivers: W) -> Self {
        Self { senders, receivers }
    }

    /// Adds one to the number of senders. The caller must be one of the senders that are counted.
    pub fn add_sender(&self) {
        // Relaxed: the caller is counted itself, so no thread sees zero meanwhile.
        self.senders.fetch_add_one();
    }

    /// Subtracts one from the number of senders. Called by a sender that leaves, which must not
    /// send after this call.
    pub fn remove_sender(&self) {
        // ORDERING(sender_count): pairs with the load in `recheck_before_disconnect`.
        self.senders
            .fetch_sub_one_ordered(edge::SENDER_COUNT_DECREMENT);
    }

    /// Adds one to the number of receivers.
    pub fn add_receiver(&self) {
        // Relaxed: no other memory is read because of this count.
        self.receivers.fetch_add_one();
    }

    /// Subtracts one from the number of receivers.
    pub fn remove_receiver(&self) {
        // Relaxed: as above.
        self.receivers.fetch_sub_one();
    }

    /// Returns true if there is at least one receiver.
    #[inline(always)]
    pub fn has_receivers(&self) -> bool {
        // Relaxed: as above.
        self.receivers.get() != 0
    }

    /// Looks for a message a last time, by a call of `look`, if no sender is left; returns the
    /// message. Returns `None` if there still is a sender. A receiver that has found no message
    /// calls this function. WHY look again: the last sender may have sent a message in the
    /// meantime, and left.
    ///
    /// # Errors
    ///
    /// [`Disconnected`] if there is no message and there will never be one.
    pub fn recheck_before_disconnect<R>(
        &self,
        look: impl FnOnce() -> Option<R>,
    ) -> Result<Option<R>, Disconnected> {
        // ORDERING(sender_count): pairs with the decrement in `remove_sender`.
        if self.senders.load(edge::SENDER_COUNT_SEE) != 0 {
            return Ok(None);
        }
        look().map(Some).ok_or(Disconnected)
    }
}
