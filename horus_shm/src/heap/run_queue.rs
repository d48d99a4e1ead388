//! A run queue: the entries that wait for one worker. They are in a ring with two heads, and in a
//! `lifo_slot` for one entry.
//!
//! The design of the ring is that of tokio. The owner appends entries at the tail and takes them at
//! the head. A *thief*, which is another worker, claims half of the entries by an atomic exchange
//! of the head `real`, copies them, and then frees their slots by moving the head `steal`:
//!
//! ```text
//!      steal          real            tail
//! ───────┬──────────────┬───────────────┬──────
//!  free  │ claimed      │ waiting       │ free      steal = real while no thief copies
//! ───────┴──────────────┴───────────────┴──────
//! ```
//!
//! Both heads are in one word, so one exchange decides whether the owner or a thief gets an entry,
//! and neither of them waits. The `lifo_slot` holds the entry that the owner runs next. That entry
//! does not go through the ring, because its message is still in the cache.
//!
//! Positions have 32 bits and wrap around. The exchange of a thief succeeds wrongly only if the
//! thief is stopped between its load and its exchange while exactly a multiple of 2^32 entries go
//! through the ring.

use std::ptr;

use crate::protocol::sync::{PointerWord, Word, edge};

/// The memory of a run queue: a ring of entries that one worker fills, and from which other workers
/// steal.
pub trait RunQueueMemory {
    /// The type to which the entries point.
    type Item;
    /// The type of the words in shared memory: ordinary atomics in programs, loom atomics in
    /// models.
    type Word: Word;
    /// The type of the pointers in shared memory: ordinary atomics in programs, loom atomics in
    /// models.
    type Pointer: PointerWord<Self::Item>;

    /// Returns the number of slots of the ring: a power of two, at most 2^16.
    fn slot_count(&self) -> u32;

    /// Returns the word with the two heads of the ring: the position of the oldest entry that is
    /// not taken, and the first one that a thief may still be copying (see `RingHeads`).
    fn heads(&self) -> &Self::Word;

    /// Returns the word with the position after the newest entry of the ring. Only the owner stores
    /// this word.
    fn tail(&self) -> &Self::Word;

    /// Returns the pointer to the entry that the owner runs next, before those in the ring; null if
    /// there is none.
    fn lifo_slot(&self) -> &Self::Pointer;

    /// Stores the entry `item` in the slot with index `index`.
    ///
    /// # Safety
    ///
    /// `index` is below the number of slots, and no other thread accesses the slot.
    unsafe fn put(&self, index: u32, item: *mut Self::Item);

    /// Returns the entry in the slot with index `index`.
    ///
    /// # Safety
    ///
    /// `index` is below the number of slots, the slot was filled, and no other thread stores to it.
    unsafe fn read(&self, index: u32) -> *mut Self::Item;
}

/// The two heads (positions of the oldest entries) of a ring. They differ while a thief copies
/// entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RingHeads {
    /// The first position whose slot is not free. From here up to `real`, a thief may be copying
    /// entries.
    steal: u32,
    /// The position of the oldest entry that neither the owner nor a thief has taken.
    real: u32,
}

impl RingHeads {
    const fn from_word(word: u64) -> Self {
        Self {
            steal: (word >> 32) as u32,
            real: word as u32,
        }
    }

    const fn to_word(self) -> u64 {
        (self.steal as u64) << 32 | self.real as u64
    }

    const fn is_being_stolen_from(self) -> bool {
        self.steal != self.real
    }

    /// Returns the heads after a thief has taken `claimed` more entries, but has not copied them
    /// yet.
    const fn with_claimed_entries(self, claimed: u32) -> Self {
        Self {
            steal: self.steal,
            real: self.real.wrapping_add(claimed),
        }
    }

    /// Returns the heads after the owner has taken one entry.
    fn with_popped_entry(self) -> Self {
        let real = self.real.wrapping_add(1);
        // WHY: while a thief copies, its slots must not be overwritten.
        let steal = if self.is_being_stolen_from() {
            self.steal
        } else {
            real
        };
        Self { steal, real }
    }
}

/// Appends `item` to the ring. Returns false, and appends nothing, if the ring is full. Wait-free.
///
/// # Safety
///
/// Only the owner of the queue calls this.
#[inline]
#[must_use]
pub unsafe fn try_append_entry<M: RunQueueMemory>(memory: &M, item: *mut M::Item) -> bool {
    if free_slot_count(memory) == 0 {
        return false;
    }
    // Relaxed: only the owner stores it.
    let tail = memory.tail().get() as u32;
    // SAFETY: the index is masked. The slot is free, so no thief reads it, and this is the owner.
    unsafe { memory.put(tail & (memory.slot_count() - 1), item) };
    publish_tail(memory, tail.wrapping_add(1));
    true
}

fn publish_tail<M: RunQueueMemory>(memory: &M, tail: u32) {
    // ORDERING(run_queue): pairs with the load in `steal_half_of_entries`.
    memory
        .tail()
        .store(u64::from(tail), edge::RUN_QUEUE_PUBLISH);
}

/// Returns the number of entries that the owner can append. If the owner calls this function, at
/// least that many slots stay free until it appends entries. For other callers the result is only a
/// hint.
#[inline]
pub fn free_slot_count<M: RunQueueMemory>(memory: &M) -> u32 {
    // ORDERING(stolen_entry): pairs with the exchange in `free_claimed_entries`.
    let heads = RingHeads::from_word(memory.heads().load(edge::STOLEN_ENTRY_SEE));
    // Relaxed: only the owner stores it.
    let tail = memory.tail().get() as u32;
    memory.slot_count() - tail.wrapping_sub(heads.steal)
}

/// Takes the oldest entry of the ring, or returns `None` if the ring is empty. Lock-free: tries
/// again only if a thief was faster.
///
/// # Safety
///
/// Only the owner of the queue calls this.
#[inline]
pub unsafe fn pop_oldest<M: RunQueueMemory>(memory: &M) -> Option<*mut M::Item> {
    // Relaxed: only the owner stores it.
    let tail = memory.tail().get() as u32;
    loop {
        // Relaxed: the owner filled every slot itself; the exchange decides.
        let word = memory.heads().get();
        let heads = RingHeads::from_word(word);
        if heads.real == tail {
            return None;
        }
        let popped = heads.with_popped_entry().to_word();
        // Relaxed: as above.
        if memory.heads().compare_exchange_relaxed(word, popped) {
            // SAFETY: the index is masked, the slot is below the tail, and only the owner stores
            // to it.
            return Some(unsafe { memory.read(heads.real & (memory.slot_count() - 1)) });
        }
    }
}

/// Moves half of the entries of `from`, rounded up, to `to`, and returns one of them. Returns
/// `None` if `from` has no entry, or if another thief is copying entries of `from`.
///
/// # Safety
///
/// Only the owner of `to` calls this.
pub unsafe fn steal_half_of_entries<M: RunQueueMemory>(from: &M, to: &M) -> Option<*mut M::Item> {
    let room = free_slot_count(to);
    let (first, count) = claim_half_of_entries(from, room.saturating_add(1))?;
    // Relaxed: only the owner of `to` stores it, which is the caller.
    let tail = to.tail().get() as u32;
    let entry = |offset: u32| {
        // SAFETY: the index is masked; the entry is claimed, so its slot stays as it is until
        // `free_claimed_entries`.
        unsafe { from.read(first.wrapping_add(offset) & (from.slot_count() - 1)) }
    };
    let stolen = entry(0);
    for offset in 1..count {
        let index = tail.wrapping_add(offset - 1) & (to.slot_count() - 1);
        // SAFETY: the index is masked; as many slots as are filled here were free, and this is the
        // owner.
        unsafe { to.put(index, entry(offset)) };
    }
    free_claimed_entries(from);
    if count > 1 {
        publish_tail(to, tail.wrapping_add(count - 1));
    }
    Some(stolen)
}

/// Claims half of the entries, at most `entries_max`. Returns the position of the first claimed
/// entry, and the number of claimed entries; `None` if there is no entry, or another thief is
/// copying.
fn claim_half_of_entries<M: RunQueueMemory>(from: &M, entries_max: u32) -> Option<(u32, u32)> {
    loop {
        // Relaxed: the exchange decides.
        let word = from.heads().get();
        let heads = RingHeads::from_word(word);
        // ORDERING(run_queue): pairs with the store in `publish_tail`.
        let tail = from.tail().load(edge::RUN_QUEUE_SEE) as u32;
        let waiting = entry_count_between(heads.real, tail);
        if waiting == 0 || heads.is_being_stolen_from() {
            return None;
        }
        let count = waiting.div_ceil(2).min(entries_max);
        // WHY the check: heads that are older than the tail seem to leave more than fits.
        if waiting <= from.slot_count() {
            let claimed = heads.with_claimed_entries(count).to_word();
            // Relaxed: the tail ordered the loads of the slots, and `free_claimed_entries` orders
            // their end.
            if from.heads().compare_exchange_relaxed(word, claimed) {
                return Some((heads.real, count));
            }
        }
        std::hint::spin_loop();
    }
}

/// Frees the slots that the calling thief has claimed, after it has copied their entries. The owner
/// may have taken later entries in the meantime.
fn free_claimed_entries<M: RunQueueMemory>(from: &M) {
    loop {
        // Relaxed: the exchange decides.
        let word = from.heads().get();
        let real = RingHeads::from_word(word).real;
        let freed = RingHeads { steal: real, real }.to_word();
        // ORDERING(stolen_entry): pairs with the load in `free_slot_count`.
        if from
            .heads()
            .compare_exchange_ordered(word, freed, edge::STOLEN_ENTRY_FREE)
        {
            return;
        }
    }
}

/// Returns the number of entries from `real_head` to `tail`. Returns 0 if `tail` is before it,
/// which means that it is an old value.
const fn entry_count_between(real_head: u32, tail: u32) -> u32 {
    let distance = tail.wrapping_sub(real_head);
    if (distance as i32) < 0 { 0 } else { distance }
}

/// Returns true if the ring had no entry when this function loaded its words. If a fence orders the
/// call after an append, the function does not miss the appended entry, unless it was taken.
#[inline]
pub fn is_empty<M: RunQueueMemory>(memory: &M) -> bool {
    // Relaxed, both: as above.
    let heads = RingHeads::from_word(memory.heads().get());
    let tail = memory.tail().get() as u32;
    entry_count_between(heads.real, tail) == 0
}

/// Puts `item` into the `lifo_slot`, so that the owner runs it next, and returns the entry that was
/// in that slot before. Wait-free. Only the owner calls this function.
#[inline]
pub fn put_lifo_entry<M: RunQueueMemory>(memory: &M, item: *mut M::Item) -> Option<*mut M::Item> {
    let slot = memory.lifo_slot();
    // Relaxed: only the owner stores an entry, so an empty slot stays empty.
    if slot.get().is_null() {
        // WHY not an exchange: it costs some 7 ns for each entry.
        // ORDERING(lifo): pairs with the exchange in `try_steal_lifo_entry`.
        slot.store(item, edge::LIFO_PUT);
        return None;
    }
    // ORDERING(lifo): as above.
    let former = slot.swap_ordered(item, edge::LIFO_PUT);
    (!former.is_null()).then_some(former)
}

/// Takes the entry in the `lifo_slot`, which the owner runs next. `has_thieves` must be true if
/// other threads may take entries. Wait-free. Only the owner calls this function.
#[inline]
pub fn take_lifo_entry<M: RunQueueMemory>(memory: &M, has_thieves: bool) -> Option<*mut M::Item> {
    let slot = memory.lifo_slot();
    // Relaxed, all: the owner put the entry there itself; the exchange decides.
    let seen = slot.get();
    if seen.is_null() {
        return None;
    }
    let null = ptr::null_mut();
    if !has_thieves {
        slot.set(null);
        return Some(seen);
    }
    let item = slot.swap_relaxed(null);
    (!item.is_null()).then_some(item)
}

/// Takes the entry `seen` out of another worker's `lifo_slot` (the entry that the worker runs
/// next). Returns false if the slot no longer contains this entry.
#[must_use]
pub fn try_steal_lifo_entry<M: RunQueueMemory>(memory: &M, seen: *mut M::Item) -> bool {
    let null = ptr::null_mut();
    // ORDERING(lifo): pairs with the store or the exchange in `put_lifo_entry`.
    let taken = memory
        .lifo_slot()
        .compare_exchange_ordered(seen, null, edge::LIFO_STEAL);
    taken.is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::run_queues::WorkerQueue;
    use super::*;

    #[test]
    fn a_thief_leaves_the_ring_to_the_one_before() {
        let (queue, entry) = (WorkerQueue::<u64>::new(true), ptr::dangling_mut());
        for _ in 0..4 {
            // SAFETY: this thread is the owner.
            assert!(unsafe { try_append_entry(&queue, entry) });
        }
        assert_eq!(claim_half_of_entries(&queue, 9), Some((0, 2)));
        assert_eq!(
            claim_half_of_entries(&queue, 9),
            None,
            "the first one copies"
        );
        // SAFETY: as above.
        assert_eq!(unsafe { pop_oldest(&queue) }, Some(entry));
        assert_eq!(
            free_slot_count(&queue),
            queue.slot_count() - 4,
            "claimed slots are not free"
        );
        free_claimed_entries(&queue);
        assert_eq!(free_slot_count(&queue), queue.slot_count() - 1);
        assert_eq!(claim_half_of_entries(&queue, 9), Some((3, 1)));
    }
}
