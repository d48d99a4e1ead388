//! A mailbox that keeps only the latest message, in a slot next to the mailbox's word.
//!
//! A sender replaces the message in the slot by its own one. If the slot was empty, the sender also
//! sends a block through the mailbox, the *notice*. The runner takes the message out of the slot
//! when it comes to the notice. So the latest message is handled in order with all other blocks of
//! the mailbox.

use crate::protocol::mailbox::{self, BlockList, MailboxMemory, PushOutcome};
use crate::protocol::sync::{Word, edge};

/// The result of [`put_latest`]: what happened to the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    /// The message is in the slot, and a notice of it was put into the mailbox.
    Sent(PushOutcome),
    /// The message has replaced an older one, which this variant contains and which belongs to the
    /// caller. The notice that the caller passed belongs to it again: that of the older message is
    /// still in the mailbox.
    Replaced(u64),
    /// The actor has ended. The variant contains the message that was in the slot: the caller's
    /// message, or a message of another sender that has replaced it. That message and the notice
    /// belong to the caller.
    Gone(u64),
}

/// Puts `message` into `slot`, and sends `notice` to the mailbox if the slot was empty. Lock-free.
///
/// # Safety
///
/// As [`mailbox::push_chain`] for the chain `notice`; `slot` began with 0, and is used only by this
/// function and [`take_latest`]. `message` is not 0, and belongs to the caller, who gives it up.
pub unsafe fn put_latest<M: MailboxMemory>(
    memory: M,
    slot: &M::Word,
    message: u64,
    notice: BlockList,
) -> PutOutcome {
    // ORDERING(latest): pairs with the exchange in `take_latest` and the fence below.
    let older = slot.swap_ordered(message, edge::LATEST_PUT);
    if older != 0 {
        // ORDERING(latest): pairs with the exchange above, of the older message's sender.
        memory.fence(edge::LATEST_TAKE);
        return PutOutcome::Replaced(older);
    }
    // SAFETY: the contract.
    match unsafe { mailbox::push_chain(memory, notice, 0) } {
        Ok(pushed) => PutOutcome::Sent(pushed),
        Err(_) => PutOutcome::Gone(take_latest(slot)),
    }
}

/// Takes the message out of `slot`, and returns its address; 0 if there is no message.
pub fn take_latest<W: Word>(slot: &W) -> u64 {
    // ORDERING(latest): pairs with the exchange in `put_latest`.
    slot.swap_ordered(0, edge::LATEST_TAKE)
}
