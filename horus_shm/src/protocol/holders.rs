//! The holders of a cell: its addresses, the holds of its memory, and the end of an actor that
//! nothing can address.
//!
//! One word has two counts. An *address* can send, and keeps the actor alive. A *hold* keeps the
//! memory. All addresses together have one hold, the life of the actor has one, and each weak
//! address has one. The end of an actor without addresses is decided by an exchange of 0 addresses
//! for `ACTOR_ENDED`, after which no weak address becomes an address again.

use core::sync::atomic::AtomicU64;

use crate::protocol::sync::{Word, edge};

/// Bit that is set while the block of the last address is in a mailbox. That block tells the actor
/// that its last address has left; see `life.rs`.
const LAST_BLOCK_SENT: u64 = 1 << 31;
const ACTOR_ENDED: u64 = 1 << 63;
const ADDRESS_MASK: u64 = LAST_BLOCK_SENT - 1;
const ONE_HOLD: u64 = 1 << 32;
const HOLD_MASK: u64 = !(ACTOR_ENDED | LAST_BLOCK_SENT | ADDRESS_MASK);

/// Maximum number of addresses of one cell, and of holds on it. If there are more, the process
/// aborts: a program reaches this number only if it leaks addresses.
const COUNT_MAX: u64 = 1 << 30;

/// The counts of the addresses and the holds of a cell. They decide when the actor ends and when
/// the cell is freed.
#[derive(Debug)]
pub struct Holders<W>(W);

/// The result of [`Holders::remove_address`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovedAddress {
    /// The cell still has other addresses.
    Others,
    /// It was the last address: the caller now has the hold of all addresses, and has to remove it,
    /// too.
    Last {
        /// True if the caller first has to send the block of the last address to the actor.
        sends: bool,
    },
}

impl Holders<AtomicU64> {
    /// Returns the counts of a new cell: one address, and the holds of all addresses and of the
    /// actor's life.
    #[must_use]
    pub const fn with_one_address() -> Self {
        Self::new(AtomicU64::new(Self::NEW_CELL))
    }

    /// Returns the counts of [`Self::with_one_address`] and one more hold, that of a handle.
    #[must_use]
    pub const fn with_one_address_and_hold() -> Self {
        Self::new(AtomicU64::new(Self::NEW_CELL + ONE_HOLD))
    }
}

impl<W> Holders<W> {
    /// The word of a new cell: one address, and the holds of all addresses and of the actor's life.
    pub const NEW_CELL: u64 = 2 * ONE_HOLD + 1;

    /// Creates the counts in `word`, whose value is [`Self::NEW_CELL`].
    pub const fn new(word: W) -> Self {
        Self(word)
    }
}

impl<W: Word> Holders<W> {
    /// Counts one more address. The caller has an address.
    pub fn add_address(&self) {
        // Relaxed: the caller's address keeps the actor alive.
        self.0.fetch_add_one();
        // WHY a second load: the trait's addition returns nothing; a count this high only grows.
        self.abort_if_too_many();
    }

    /// Ends the process if a count exceeds [`COUNT_MAX`].
    #[inline(always)]
    fn abort_if_too_many(&self) {
        let seen = self.0.get();
        if seen & ADDRESS_MASK > COUNT_MAX || (seen & HOLD_MASK) / ONE_HOLD > COUNT_MAX {
            abort_for_count();
        }
    }

    /// Counts one address less.
    pub fn remove_address(&self) -> RemovedAddress {
        // ORDERING(holder): pairs with the exchange in `try_end_actor`.
        let before = self.0.fetch_sub_at(1, edge::HOLDER_LEAVE);
        if before & ADDRESS_MASK != 1 {
            return RemovedAddress::Others;
        }
        let sends = self.mark_last_block_sent();
        RemovedAddress::Last { sends }
    }

    /// Marks the block of the last address as sent. Returns false, and does nothing, if there is an
    /// address, if the actor has ended, or if the block is marked already.
    fn mark_last_block_sent(&self) -> bool {
        loop {
            // Relaxed: the exchange decides.
            let seen = self.0.get();
            if seen & (ADDRESS_MASK | LAST_BLOCK_SENT | ACTOR_ENDED) != 0 {
                return false;
            }
            // ORDERING(pending): pairs with the runners that cleared the bit.
            let is_set =
                self.0
                    .compare_exchange_at(seen, seen | LAST_BLOCK_SENT, edge::PENDING_SET);
            if is_set {
                return true;
            }
        }
    }

    /// Adds an address for a caller that has a hold; the hold stays. Returns false if the actor has
    /// ended.
    pub fn upgrade(&self) -> bool {
        // Relaxed, all of it: the hold orders the accesses to the cell.
        loop {
            let seen = self.0.get();
            if seen & ACTOR_ENDED != 0 {
                return false;
            }
            if self.0.compare_exchange_relaxed(seen, add_address_to(seen)) {
                self.abort_if_too_many();
                return true;
            }
        }
    }

    /// Adds an address even if the actor has ended because it had none; the actor then goes on.
    /// Only the runner calls this, and only before it makes the mailbox refuse mail.
    pub fn add_address_after_end(&self) {
        // Relaxed, all of it: the runner keeps the cell.
        loop {
            let seen = self.0.get();
            let next = add_address_to(seen & !ACTOR_ENDED);
            if self.0.compare_exchange_relaxed(seen, next) {
                return self.abort_if_too_many();
            }
        }
    }

    /// Returns true if there is an address.
    #[inline(always)]
    pub fn has_address(&self) -> bool {
        // Relaxed: without one, `try_end_actor` decides.
        self.0.get() & ADDRESS_MASK != 0
    }

    /// Ends the actor if there is no address; returns true if it did. All that was sent by an
    /// address is then visible to the caller, which is the runner.
    #[must_use]
    pub fn try_end_actor(&self) -> bool {
        loop {
            // Relaxed: the exchange decides.
            let seen = self.0.get();
            if seen & ADDRESS_MASK != 0 {
                return false;
            }
            // ORDERING(holder): pairs with the subtraction in `remove_address`.
            let is_ended = self
                .0
                .compare_exchange_at(seen, seen | ACTOR_ENDED, edge::HOLDER_END);
            if is_ended {
                return true;
            }
        }
    }

    /// Ends the actor, even if it has addresses. Only the runner calls it.
    pub fn end_actor(&self) {
        // Relaxed: nothing is read because of it.
        self.0.set_bits_relaxed(ACTOR_ENDED);
    }

    /// Marks the block of the last address as free. For a runner that will call
    /// [`Self::has_address`] before it puts the actor to sleep.
    pub fn mark_last_block_free(&self) {
        // ORDERING(pending): pairs with the exchange in `mark_last_block_sent`.
        self.0.clear_bits_at(LAST_BLOCK_SENT, edge::PENDING_CLEAR);
    }

    /// Marks the block of the last address as free. If the last address left meanwhile, returns
    /// true instead: the caller has to send the block again.
    #[must_use]
    pub fn free_last_block(&self) -> bool {
        loop {
            // Relaxed: the exchange decides.
            let seen = self.0.get();
            if seen & (ADDRESS_MASK | ACTOR_ENDED) == 0 {
                return true;
            }
            // ORDERING(pending): as in `mark_last_block_free`.
            let is_cleared =
                self.0
                    .compare_exchange_at(seen, seen & !LAST_BLOCK_SENT, edge::PENDING_CLEAR);
            if is_cleared {
                return false;
            }
        }
    }

    /// Counts one more hold. The caller has a hold or an address.
    pub fn add_hold(&self) {
        loop {
            // Relaxed: the caller's hold keeps the memory.
            let seen = self.0.get();
            if self.0.compare_exchange_relaxed(seen, seen + ONE_HOLD) {
                return self.abort_if_too_many();
            }
        }
    }

    /// Counts one hold less. Returns true if it was the last one: the caller has to free the cell.
    #[must_use]
    pub fn remove_hold(&self) -> bool {
        // ORDERING(holder): pairs with the load below, of the last holder.
        let before = self.0.fetch_sub_at(ONE_HOLD, edge::HOLDER_LEAVE);
        if before & HOLD_MASK != ONE_HOLD {
            return false;
        }
        // ORDERING(holder): pairs with the subtractions of all other holders.
        self.0.load(edge::HOLDER_FREE);
        true
    }
}

/// Returns the counts with one more address. The first address adds the hold of all addresses, too.
fn add_address_to(seen: u64) -> u64 {
    if seen & ADDRESS_MASK == 0 {
        seen + 1 + ONE_HOLD
    } else {
        seen + 1
    }
}

/// Ends the process, as `Arc` does: a count that overflows would free what is in use.
#[cold]
fn abort_for_count() -> ! {
    std::process::abort()
}
