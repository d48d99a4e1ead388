//! The free entries of a table of handles: a stack of their indices, linked by `HandleEntry::next`.
//!
//! One word is the head of the stack. Its lower half is the index of the first free entry plus 1,
//! or 0 if there is none. Its upper half counts the changes, to prevent the ABA problem. The
//! functions are generic over the type of the words, so that the loom models run the same code.

use super::sync::{Word, edge};

/// Pushes the entry with the index `index` onto the stack of free entries. `free` is the head of
/// the stack, `next` the link word of the entry.
pub(crate) fn push_entry<W: Word>(free: &W, next: &W, index: u32) {
    loop {
        // Relaxed: nothing is read through it.
        let found = free.get();
        next.set(found & u64::from(u32::MAX));
        // ORDERING(spare): pairs with the load in `pop`.
        if free.compare_exchange_ordered(
            found,
            head_with_next_version(found) | (u64::from(index) + 1),
            edge::SPARE_PUSH,
        ) {
            return;
        }
    }
}

/// Pops an entry off the stack with the head `free`, and returns its index; `None` if the stack is
/// empty. `next_of` returns the link word of an entry.
pub(crate) fn pop_entry<'a, W: Word + 'a>(
    free: &W,
    next_of: impl Fn(u32) -> Option<&'a W>,
) -> Option<u32> {
    loop {
        // ORDERING(spare): pairs with the exchange in `push`: a thread that sees the entry in the
        // list sees its link, and that its value was taken out. A pop in between continues the
        // release sequence.
        let found = free.load(edge::SPARE_POP);
        let index = (found as u32).checked_sub(1)?;
        let next = next_of(index)?.get();
        if free.compare_exchange_relaxed(found, head_with_next_version(found) | next) {
            return Some(index);
        }
    }
}

/// Returns the head of the stack after one more change: the counter in the upper half of `found`
/// plus 1. The lower half of the result is 0, and the caller sets it.
const fn head_with_next_version(found: u64) -> u64 {
    ((found >> 32).wrapping_add(1)) << 32
}
