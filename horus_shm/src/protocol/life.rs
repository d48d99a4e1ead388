//! The end of an actor's life: notifies the actor when its last address is dropped, and decides
//! whether the actor sleeps or ends when it has no mail.
//!
//! The address that is dropped last sends the *last-address block* to the mailbox. That block is a
//! part of the cell, so sending it needs no memory. It only wakes the actor: before each sleep, the
//! runner checks if there is an address, and ends the actor if there is none. A bit in
//! [`CellReferences`] is set when the block is sent. It is cleared when the word of the mailbox
//! does not point to the block any more.

use crate::protocol::holders::{CellReferences, RemovedAddress};
use crate::protocol::mailbox::{self, BlockList, MailboxMemory, MailboxReader, PushOutcome, Tag};

/// The memory of an actor's cell: its mailbox, the counts of its addresses and holds, and the
/// *last-address block*, which is sent to the actor after its last address was dropped.
pub trait CellMemory: MailboxMemory {
    /// Returns the counts of the addresses and holds of the cell.
    fn holders(&self) -> &CellReferences<Self::Word>;

    /// Returns the address of the last-address block. It is sent to the actor, and wakes it, after
    /// the last address of the actor was dropped.
    fn last_address_block(&self) -> u64;

    /// Returns the tag of the last-address block, which is sent after the last address was dropped.
    /// The tag says that the block does not count in the mailbox's depth.
    fn last_address_block_tag(&self) -> Tag;
}

/// Removes an address of an actor. If it was the last address and this wakes the actor, calls
/// `wake`; the caller is then the actor's runner. Returns true if the caller has to free the cell.
///
/// # Safety
///
/// The address belongs to the caller, who does not use the cell any more afterwards. The contract
/// of [`mailbox::push_chain`] holds, too.
#[must_use]
pub unsafe fn remove_address<M: CellMemory>(memory: M, wake: impl FnOnce()) -> bool {
    let RemovedAddress::Last { must_send_block } = memory.holders().remove_address() else {
        return false;
    };
    // SAFETY: the pending bit, which says that the block is free, is the caller's.
    if must_send_block && unsafe { send_last_address_block(memory) } {
        wake();
    }
    memory.holders().remove_hold()
}

/// Sends the last-address block to the actor. Returns true if this woke the actor, so that the
/// caller is its runner now.
unsafe fn send_last_address_block<M: CellMemory>(memory: M) -> bool {
    let chain = BlockList::of_block(memory.last_address_block(), memory.last_address_block_tag());
    // SAFETY: the block is the caller's, who keeps the cell.
    unsafe { mailbox::push_chain(memory, chain, 0) == Ok(PushOutcome::Woke) }
}

/// The result of [`sleep_or_end`], which decides what the runner of the actor has to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SleepOutcome {
    /// The actor sleeps, so the caller is no longer its runner.
    Asleep {
        /// The address of a mailbox block that the caller has to free; 0 if there is none.
        block: u64,
        /// True if the caller has to wake the senders that wait for room in the mailbox.
        is_room_wanted: bool,
        /// True if the caller has to free the cell, because nothing else refers to it.
        is_free: bool,
    },
    /// Messages may have arrived in the meantime, so the caller has to look into the mailbox again.
    LookAgain {
        /// True if the actor has no address left, and ends if it has no mail. If the caller finds
        /// the mailbox empty, it passes this value to its next call of [`sleep_or_end`]; otherwise
        /// it passes false.
        is_ending: bool,
    },
    /// No address is left, and the mailbox is empty. The caller has to end the actor.
    End,
}

/// Puts an actor without mail to sleep, or returns [`SleepOutcome::End`] if the caller has to end
/// it. `is_ending` is the value in [`SleepOutcome::LookAgain`] that the previous call returned, if
/// the caller found no mail after it; else false. If the actor has to be woken again at once, calls
/// `wake`; the caller is then the actor's runner again.
///
/// # Safety
///
/// As [`MailboxReader::sleep`].
pub unsafe fn sleep_or_end<M: CellMemory>(
    reader: *mut MailboxReader,
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
    let is_last = unsafe { (*reader).anchor() } == memory.last_address_block();
    if is_last {
        // WHY: the block is freed after the exchange, and the cell must still exist then.
        holders.add_hold();
    }
    // SAFETY: the contract.
    let asleep = unsafe { MailboxReader::sleep(reader, memory, handled) };
    // SAFETY: the hold from above; after a sleep the word does not name the block.
    let is_free = is_last && unsafe { free_last_address_block(memory, asleep.is_some(), wake) };
    match asleep {
        None => SleepOutcome::LookAgain { is_ending: false },
        Some(asleep) => SleepOutcome::Asleep {
            block: if is_last { 0 } else { asleep.anchor },
            is_room_wanted: asleep.is_room_wanted,
            is_free,
        },
    }
}

/// Marks the last-address block as not sent, if `is_asleep` says that the actor sleeps, and removes
/// the caller's hold on the cell. If the block has to be sent again and wakes the actor, calls
/// `wake`. Returns true if the caller has to free the cell.
#[cold]
unsafe fn free_last_address_block<M: CellMemory>(
    memory: M,
    is_asleep: bool,
    wake: impl FnOnce(),
) -> bool {
    let must_resend = is_asleep && memory.holders().clear_last_block_sent_or_must_resend();
    // SAFETY: the block is free, and the pending bit is still set.
    if must_resend && unsafe { send_last_address_block(memory) } {
        wake();
    }
    memory.holders().remove_hold()
}
