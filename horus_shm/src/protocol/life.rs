//! The end of an actor's life: its last address leaves, and its runner puts it to sleep or ends it.
//!
//! The address that leaves last sends a block that is a part of the cell, so it needs no memory.
//! The block only wakes the actor. Before each sleep, the runner ends the actor if there is no
//! address. A bit is set when the block is sent. It is cleared when the word of the mailbox does
//! not name the block any more.

use crate::protocol::holders::{Holders, RemovedAddress};
use crate::protocol::mailbox::{self, Chain, Inbox, MailboxMemory, PushOutcome, Tag};

/// The memory of an actor's cell: its mailbox, the counts of its holders, and the block of its last
/// address.
pub trait CellMemory: MailboxMemory {
    /// Returns the addresses and holds of the cell.
    fn holders(&self) -> &Holders<Self::Word>;

    /// Returns the block by which the actor learns that its last address has left.
    fn last_block(&self) -> u64;

    /// Returns the tag of the block of the last address, which is not counted.
    fn last_block_tag(&self) -> Tag;
}

/// Removes an address. If the actor has to be woken for that, `wake` is called, and the caller is
/// its runner. Returns true if the caller has to free the cell.
///
/// # Safety
///
/// The address is the caller's, who does not use the cell any more. As [`mailbox::push_chain`]
/// otherwise.
#[must_use]
pub unsafe fn remove_address<M: CellMemory>(memory: M, wake: impl FnOnce()) -> bool {
    let RemovedAddress::Last { sends } = memory.holders().remove_address() else {
        return false;
    };
    // SAFETY: the pending bit, which says that the block is free, is the caller's.
    if sends && unsafe { send_last_block(memory) } {
        wake();
    }
    memory.holders().remove_hold()
}

/// Sends the block of the last address; returns true if the caller has woken the actor.
unsafe fn send_last_block<M: CellMemory>(memory: M) -> bool {
    let chain = Chain::of_block(memory.last_block(), memory.last_block_tag());
    // SAFETY: the block is the caller's, who keeps the cell.
    unsafe { mailbox::push_chain(memory, chain, 0) == Ok(PushOutcome::Woke) }
}

/// The result of [`sleep_or_end`]: says what the runner of the actor has to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SleepOutcome {
    /// The actor sleeps, and the caller is not its runner any more.
    Asleep {
        /// The block that the caller has to give back, or 0.
        block: u64,
        /// True if the caller has to wake the senders that wait for room.
        is_room_wanted: bool,
        /// True if the caller has to free the cell.
        is_free: bool,
    },
    /// Mail may have come meanwhile: the caller has to look into the mailbox again.
    LookAgain {
        /// The argument `is_ending` of the next call, if that look finds nothing.
        is_ending: bool,
    },
    /// No address is left, and all mail was taken: the caller has to end the actor.
    End,
}

/// Puts an actor without mail to sleep, or returns that the caller has to end it. `is_ending` is
/// the value that the previous call returned, if no mail was found since; else false. If the actor
/// has to be woken again at once, `wake` is called, and the caller is its runner.
///
/// # Safety
///
/// As [`Inbox::sleep`].
pub unsafe fn sleep_or_end<M: CellMemory>(
    inbox: *mut Inbox,
    memory: M,
    handled: u16,
    is_ending: bool,
    wake: impl FnOnce(),
) -> SleepOutcome {
    let holders = memory.holders();
    if !holders.has_address() && holders.try_end_actor() {
        if is_ending {
            return SleepOutcome::End;
        }
        // WHY: a message may have come between the last look and the end. It is visible now.
        return SleepOutcome::LookAgain { is_ending: true };
    }
    // SAFETY: the caller is the runner.
    let is_last = unsafe { (*inbox).anchor() } == memory.last_block();
    if is_last {
        // WHY: the block is freed after the exchange, and the cell must still exist then.
        holders.add_hold();
    }
    // SAFETY: the contract.
    let asleep = unsafe { Inbox::sleep(inbox, memory, handled) };
    // SAFETY: the hold from above; after a sleep the word does not name the block.
    let is_free = is_last && unsafe { free_pending_block(memory, asleep.is_some(), wake) };
    match asleep {
        None => SleepOutcome::LookAgain { is_ending: false },
        Some(asleep) => SleepOutcome::Asleep {
            block: if is_last { 0 } else { asleep.anchor },
            is_room_wanted: asleep.is_room_wanted,
            is_free,
        },
    }
}

/// Frees the block of the last address, if the actor sleeps, and removes the caller's hold. Returns
/// true if the caller has to free the cell.
#[cold]
unsafe fn free_pending_block<M: CellMemory>(
    memory: M,
    is_asleep: bool,
    wake: impl FnOnce(),
) -> bool {
    // SAFETY: the block is free, and the pending bit is still set.
    if is_asleep && memory.holders().free_last_block() && unsafe { send_last_block(memory) } {
        wake();
    }
    memory.holders().remove_hold()
}
