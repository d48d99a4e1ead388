//! The depot: stacks of numbered items, which threads push and pop without a lock.
//!
//! The top of a stack is a word that contains the number of the topmost item, and a tag that grows
//! with every pop. WHY a tag: a thread may be stopped between its load of the top and its exchange.
//! If the same item is on top again by then, only the tag shows that the stack has changed. A tag
//! of 40 bits does not repeat within hours at any rate of pops; one of 16 bits would repeat within
//! a second.

use crate::protocol::sync::{Word, edge};

/// The largest number that an item of a depot can have. Items are numbered from 1.
pub const ITEM_NUMBER_MAX: u32 = (1 << 24) - 1;

const ITEM_NUMBER_MASK: u64 = ITEM_NUMBER_MAX as u64;
const TAG_STEP: u64 = 1 << 24;

/// The memory of a depot, which keeps stacks of numbered items. An item is in one stack, or belongs
/// to one thread.
pub trait DepotMemory {
    /// The type of the words in shared memory: ordinary atomics in programs, loom atomics in
    /// models.
    type Word: Word;

    /// Returns the word in item `number` that holds the number of the next item below it in the
    /// same stack. The memory of items is never freed.
    fn next(&self, number: u32) -> &Self::Word;
}

/// Pushes item `number` onto the stack whose top is the word `top`. The item must belong to the
/// caller. Lock-free.
pub fn push_item<M: DepotMemory>(memory: &M, top: &M::Word, number: u32) {
    loop {
        // Relaxed: the exchange decides.
        let seen = top.get();
        // Relaxed: published by the exchange.
        memory.next(number).set(seen & ITEM_NUMBER_MASK);
        let next = (seen & !ITEM_NUMBER_MASK) | u64::from(number);
        // ORDERING(depot): pairs with the load in `pop_item`.
        if top.compare_exchange_ordered(seen, next, edge::DEPOT_PUSH) {
            return;
        }
    }
}

/// Pops an item off the stack whose top is the word `top`, and returns its number. The item then
/// belongs to the caller. Returns `None` if the stack is empty. Lock-free.
pub fn pop_item<M: DepotMemory>(memory: &M, top: &M::Word) -> Option<u32> {
    loop {
        // ORDERING(depot): pairs with the exchange in `push_item`, also of items below the top:
        // pushes and pops are exchanges, which continue each other's release sequences.
        let seen = top.load(edge::DEPOT_POP);
        let number = (seen & ITEM_NUMBER_MASK) as u32;
        if number == 0 {
            return None;
        }
        // Relaxed: ordered by the load above. It may be a later value, and then the tag differs.
        let below = memory.next(number).get();
        let next = (seen & !ITEM_NUMBER_MASK).wrapping_add(TAG_STEP) | below;
        if top.compare_exchange_relaxed(seen, next) {
            return Some(number);
        }
    }
}
