//! The list of entries that are free: a stack of their indices.
//!
//! Its word is the first one's index and one, or 0; above that a count of changes, so that nobody
//! mistakes a list for one that looks the same. Generic over its memory, for the models.

use crate::protocol::sync::{Word, edge};

/// Puts entry `index`, of which `next` is the link, on top.
pub fn push<W: Word>(free: &W, next: &W, index: u32) {
    loop {
        // Relaxed: nothing is read through it.
        let found = free.get();
        next.set(found & u64::from(u32::MAX));
        // ORDERING(spare): pairs with the load in `pop`.
        if free.compare_exchange_at(
            found,
            changed(found) | (u64::from(index) + 1),
            edge::SPARE_PUSH,
        ) {
            return;
        }
    }
}

/// Takes the entry on top, if there is one; `next_of` finds its link.
pub fn pop<'a, W: Word + 'a>(free: &W, next_of: impl Fn(u32) -> Option<&'a W>) -> Option<u32> {
    loop {
        // ORDERING(spare): pairs with the exchange in `push`: who sees the entry in the list sees
        // what comes after it, and that its value was taken out. A pop in between leaves the list
        // to the same release.
        let found = free.load(edge::SPARE_POP);
        let index = (found as u32).checked_sub(1)?;
        let next = next_of(index)?.get();
        if free.compare_exchange_relaxed(found, changed(found) | next) {
            return Some(index);
        }
    }
}

/// The count of changes after one more.
const fn changed(found: u64) -> u64 {
    ((found >> 32).wrapping_add(1)) << 32
}
