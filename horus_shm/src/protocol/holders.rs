//! The holders of a cell, which is the memory of an actor: counts its addresses and the holds on
//! its memory, and ends an actor that has no address left.
//!
//! One word contains two counts. An *address* can send messages, and keeps the actor alive. A
//! *hold* keeps only the memory. All addresses together have one hold, the live actor has one, and
//! each weak address has one. An actor without addresses ends by an atomic exchange, which replaces
//! the count of 0 addresses by `ACTOR_ENDED`. After that no weak address can become an address
//! again.

use core::sync::atomic::AtomicU64;

use crate::protocol::sync::{Word, edge};

/// Bit that is set while the *last-address block* is in the mailbox: the block that wakes the actor
/// after its last address was dropped (see `life.rs`).
const LAST_ADDRESS_BLOCK_SENT: u64 = 1 << 31;
const ACTOR_ENDED: u64 = 1 << 63;
const ADDRESS_MASK: u64 = LAST_ADDRESS_BLOCK_SENT - 1;
const ONE_HOLD: u64 = 1 << 32;
const HOLD_MASK: u64 = !(ACTOR_ENDED | LAST_ADDRESS_BLOCK_SENT | ADDRESS_MASK);

/// Maximum number of addresses of an actor, and of holds on the memory of the actor. If there are
/// more, the process aborts. A program reaches this number only if it leaks addresses.
const REFERENCE_COUNT_MAX: u64 = 1 << 30;

/// The reference counts of an actor's cell (memory). *Addresses* are strong references: the actor
/// ends when there is none. *Holds* keep only the cell, which is freed when there is none.
#[derive(Debug)]
pub struct CellReferences<W>(W);

/// The result of [`CellReferences::remove_address`]: whether the address was the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovedAddress {
    /// The actor still has other addresses, so there is nothing else to do.
    Others,
    /// The address was the last one. All addresses together had one hold on the cell, which the
    /// caller now owns and has to remove.
    Last {
        /// True if the caller has to send the last-address block, which wakes the actor, before it
        /// removes the hold.
        must_send_block: bool,
    },
}

impl CellReferences<AtomicU64> {
    /// Returns the counts of a new cell: one address, one hold that all addresses share, and one
    /// hold of the live actor.
    #[must_use]
    pub const fn with_one_address() -> Self {
        Self::new(AtomicU64::new(Self::NEW_CELL_WORD))
    }

    /// Returns the counts of [`Self::with_one_address`] plus one hold, which belongs to a weak
    /// address or control handle.
    #[must_use]
    pub const fn with_one_address_and_hold() -> Self {
        Self::new(AtomicU64::new(Self::NEW_CELL_WORD + ONE_HOLD))
    }
}

impl<W> CellReferences<W> {
    /// The word of a new cell: one address, one hold that all addresses share, and one hold of the
    /// live actor.
    pub const NEW_CELL_WORD: u64 = 2 * ONE_HOLD + 1;

    /// Creates the counts from `word`, whose value must be [`Self::NEW_CELL_WORD`].
    pub const fn new(word: W) -> Self {
        Self(word)
    }
}

impl<W: Word> CellReferences<W> {
    /// Adds one to the number of addresses. The caller must have an address.
    pub fn add_address(&self) {
        // Relaxed: the caller's address keeps the actor alive.
        self.0.fetch_add_one();
        // WHY a second load: the trait's addition returns nothing; a count this high only grows.
        self.abort_if_too_many();
    }

    /// Aborts the process if there are more than [`REFERENCE_COUNT_MAX`] addresses or holds.
    #[inline(always)]
    fn abort_if_too_many(&self) {
        let seen = self.0.get();
        if seen & ADDRESS_MASK > REFERENCE_COUNT_MAX
            || (seen & HOLD_MASK) / ONE_HOLD > REFERENCE_COUNT_MAX
        {
            abort_on_count_overflow();
        }
    }

    /// Subtracts one from the number of addresses (handles by which messages are sent to the
    /// actor). The result says whether the address was the last one.
    pub fn remove_address(&self) -> RemovedAddress {
        // ORDERING(reference): pairs with the exchange in `try_end_actor`.
        let before = self.0.fetch_sub_ordered(1, edge::REFERENCE_REMOVE);
        if before & ADDRESS_MASK != 1 {
            return RemovedAddress::Others;
        }
        let must_send_block = self.try_mark_last_address_block_sent();
        RemovedAddress::Last { must_send_block }
    }

    /// Marks the last-address block as sent, and returns true: the caller then has to send the
    /// block, which tells the actor that it has no address any more. Does nothing and returns false
    /// if there is an address, if the actor has ended, or if the block is marked already.
    fn try_mark_last_address_block_sent(&self) -> bool {
        loop {
            // Relaxed: the exchange decides.
            let seen = self.0.get();
            if seen & (ADDRESS_MASK | LAST_ADDRESS_BLOCK_SENT | ACTOR_ENDED) != 0 {
                return false;
            }
            // ORDERING(last_address_block): pairs with the runners that cleared the bit.
            let is_set = self.0.compare_exchange_ordered(
                seen,
                seen | LAST_ADDRESS_BLOCK_SENT,
                edge::LAST_ADDRESS_BLOCK_SET,
            );
            if is_set {
                return true;
            }
        }
    }

    /// Adds an address for a caller that has a hold, and keeps that hold. Returns false, and adds
    /// nothing, if the actor has ended.
    pub fn upgrade(&self) -> bool {
        // Relaxed, all of it: the hold orders the accesses to the cell.
        loop {
            let seen = self.0.get();
            if seen & ACTOR_ENDED != 0 {
                return false;
            }
            if self
                .0
                .compare_exchange_relaxed(seen, with_added_address(seen))
            {
                self.abort_if_too_many();
                return true;
            }
        }
    }

    /// Adds an address even if the actor has ended because it had no address. The actor then
    /// continues to live. Only the runner of the actor calls this function, and only before it
    /// makes the mailbox refuse mail.
    pub fn add_address_after_end(&self) {
        // Relaxed, all of it: the runner keeps the cell.
        loop {
            let seen = self.0.get();
            let next = with_added_address(seen & !ACTOR_ENDED);
            if self.0.compare_exchange_relaxed(seen, next) {
                return self.abort_if_too_many();
            }
        }
    }

    /// Returns true if there is at least one address.
    #[inline(always)]
    pub fn has_address(&self) -> bool {
        // Relaxed: without one, `try_end_actor` decides.
        self.0.get() & ADDRESS_MASK != 0
    }

    /// Ends the actor if there is no address, and returns true if the actor has ended. The caller,
    /// which is the runner, then sees everything that was sent by an address.
    #[must_use]
    pub fn try_end_actor(&self) -> bool {
        loop {
            // Relaxed: the exchange decides.
            let seen = self.0.get();
            if seen & ADDRESS_MASK != 0 {
                return false;
            }
            // ORDERING(reference): pairs with the subtraction in `remove_address`.
            let is_ended = self.0.compare_exchange_ordered(
                seen,
                seen | ACTOR_ENDED,
                edge::REFERENCE_END_ACTOR,
            );
            if is_ended {
                return true;
            }
        }
    }

    /// Marks the actor as ended, even if it still has addresses. Only the runner of the actor may
    /// call this function.
    pub fn end_actor(&self) {
        // Relaxed: nothing is read because of it.
        self.0.set_bits_relaxed(ACTOR_ENDED);
    }

    /// Marks the last-address block as not sent, once the mailbox's word does not point to it any
    /// more. Does not check whether the last address was dropped: the runner has to call
    /// [`Self::has_address`] before it puts the actor to sleep.
    pub fn clear_last_block_sent(&self) {
        // ORDERING(last_address_block): pairs with the exchange in
        // `try_mark_last_address_block_sent`.
        self.0
            .clear_bits_ordered(LAST_ADDRESS_BLOCK_SENT, edge::LAST_ADDRESS_BLOCK_CLEAR);
    }

    /// Marks the last-address block as not sent, and returns false. But if there is no address any
    /// more, leaves the mark as it is and returns true: the caller then has to send the block
    /// again, to wake the actor.
    #[must_use]
    pub fn clear_last_block_sent_or_must_resend(&self) -> bool {
        loop {
            // Relaxed: the exchange decides.
            let seen = self.0.get();
            if seen & (ADDRESS_MASK | ACTOR_ENDED) == 0 {
                return true;
            }
            // ORDERING(last_address_block): as in `clear_last_block_sent`.
            let is_cleared = self.0.compare_exchange_ordered(
                seen,
                seen & !LAST_ADDRESS_BLOCK_SENT,
                edge::LAST_ADDRESS_BLOCK_CLEAR,
            );
            if is_cleared {
                return false;
            }
        }
    }

    /// Adds one to the number of holds. The caller must have a hold or an address.
    pub fn add_hold(&self) {
        loop {
            // Relaxed: the caller's hold keeps the memory.
            let seen = self.0.get();
            if self.0.compare_exchange_relaxed(seen, seen + ONE_HOLD) {
                return self.abort_if_too_many();
            }
        }
    }

    /// Subtracts one from the number of holds. Returns true if that was the last one, so that the
    /// caller has to free the cell.
    #[must_use]
    pub fn remove_hold(&self) -> bool {
        // ORDERING(reference): pairs with the load below, of the last holder.
        let before = self.0.fetch_sub_ordered(ONE_HOLD, edge::REFERENCE_REMOVE);
        if before & HOLD_MASK != ONE_HOLD {
            return false;
        }
        // ORDERING(reference): pairs with the subtractions of all other holders.
        self.0.load(edge::REFERENCE_FREE_CELL);
        true
    }
}

/// Returns the word `word` with one more address. If that is the only address, adds the hold that
/// all addresses share, too.
fn with_added_address(word: u64) -> u64 {
    if word & ADDRESS_MASK == 0 {
        word + 1 + ONE_HOLD
    } else {
        word + 1
    }
}

/// Aborts the process, as `Arc` does. WHY: a count that overflows would free memory that is still
/// in use.
#[cold]
fn abort_on_count_overflow() -> ! {
    std::process::abort()
}
