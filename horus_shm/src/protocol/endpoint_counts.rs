//! Who is at the ends of a channel: that nothing is missed when the last sender leaves.

use core::sync::atomic::AtomicU64;

use crate::protocol::sync::{Word, edge};

/// How many senders and receivers a channel has. Hardly ever written, looked at all the time:
/// in a line of its own.
#[derive(Debug)]
#[repr(align(128))]
pub struct EndpointCounts<W> {
    senders: W,
    receivers: W,
}

/// All senders have left, and nothing is left of what they sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disconnected;

impl EndpointCounts<AtomicU64> {
    /// One sender and one receiver.
    #[must_use]
    pub const fn one_each() -> Self {
        Self::new(AtomicU64::new(1), AtomicU64::new(1))
    }
}

impl<W: Word> EndpointCounts<W> {
    /// As many as the words say.
    pub const fn new(senders: W, receivers: W) -> Self {
        Self { senders, receivers }
    }

    /// Counts one more sender; to be called by one that is still there.
    pub fn add_sender(&self) {
        // Relaxed: who adds is counted itself, so nobody sees zero meanwhile.
        self.senders.fetch_add_one();
    }

    /// Counts one sender less, after its last message.
    pub fn remove_sender(&self) {
        // ORDERING(ends): pairs with the load in `look_again`.
        self.senders.fetch_sub_one_at(edge::ENDS_LEAVE);
    }

    /// Counts one more receiver.
    pub fn add_receiver(&self) {
        // Relaxed: nothing is read on the strength of it.
        self.receivers.fetch_add_one();
    }

    /// Counts one receiver less.
    pub fn remove_receiver(&self) {
        // Relaxed: as above.
        self.receivers.fetch_sub_one();
    }

    /// True if there is a receiver to send to.
    #[inline(always)]
    pub fn has_receivers(&self) -> bool {
        // Relaxed: as above.
        self.receivers.get() != 0
    }

    /// For a receiver that looked and found nothing. If no sender is left it looks once more, for
    /// what the last one sent after the first look and before it left.
    ///
    /// # Errors
    ///
    /// [`Disconnected`] if there is nothing and never will be.
    pub fn look_again<R>(
        &self,
        look: impl FnOnce() -> Option<R>,
    ) -> Result<Option<R>, Disconnected> {
        // ORDERING(ends): pairs with the decrement in `remove_sender`.
        if self.senders.load(edge::ENDS_SEE) != 0 {
            return Ok(None);
        }
        look().map(Some).ok_or(Disconnected)
    }
}
