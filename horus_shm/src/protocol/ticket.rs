//! The ticket ring: a queue in one process with many senders and one receiver, which receives all
//! values in one common order.
//!
//! The algorithm is that of Dmitry Vyukov's bounded queue. A sender draws a *ticket*, which is the
//! position that it will write, by an atomic exchange on the tail. Then it fills the slot of that
//! position. The stamp of a slot says for which position the slot may be used. If a sender is
//! stopped after it has drawn a ticket, and before it has filled the slot, the receiver has to wait
//! for it. Once the ring is full, the other senders have to wait, too. That is acceptable between
//! threads of one process, which die together. Rings between processes are made of lanes instead.

use core::ops::Range;

use crate::protocol::sync::{Word, edge};

/// Number of failed exchanges in a row after which a sender's pauses do not become longer.
const BACKOFF_STEPS_MAX: u32 = 6;

/// The memory of a ticket ring: a bounded queue with many senders and one receiver.
pub trait TicketMemory {
    /// The type of the words in shared memory: ordinary atomics in programs, loom atomics in
    /// models.
    type Word: Word;
    /// The type of the values that the ring carries.
    type Value;

    /// True if a sender prefetches the next slot after the one that it fills.
    const PREFETCHES_NEXT: bool;

    /// Returns the number of slots of the ring: a power of two.
    fn slots(&self) -> u64;

    /// Returns the maximum number of values in the ring: from 1 to the number of slots.
    fn capacity(&self) -> u64;

    /// Returns the word with the position that the next sender claims.
    fn tail(&self) -> &Self::Word;

    /// Returns the word with the position that is received next. Only the receiver stores this
    /// word.
    fn head(&self) -> &Self::Word;

    /// Returns the stamp of the slot with index `index`, which must be below the number of slots.
    fn stamp(&self, index: u64) -> &Self::Word;

    /// Prefetches the slot with index `index` for writing. The index must be below the number of
    /// slots. It is only a hint.
    fn prefetch(&self, index: u64);

    /// Moves the value at `src` into the slot with index `index`.
    ///
    /// # Safety
    ///
    /// `index` is below the number of slots, the slot is empty, and no other thread accesses it.
    /// There is a value at `src`, of which the caller gives up the ownership.
    unsafe fn put(&self, index: u64, src: *const Self::Value);

    /// Moves the value out of the slot with index `index`.
    ///
    /// # Safety
    ///
    /// `index` is below the number of slots, the slot holds a value, and no other thread accesses
    /// it.
    unsafe fn take(&self, index: u64) -> Self::Value;
}

/// Returns the stamp of a slot that is free, so that the value of position `pos` can be written
/// into it.
const fn free_stamp(pos: u64) -> u64 {
    pos * 2
}

/// Returns the stamp of a slot that contains the complete value of position `pos`.
const fn filled_stamp(pos: u64) -> u64 {
    pos * 2 + 1
}

/// Returns the stamp of slot `index` in a new ring for `capacity` values. The first `capacity`
/// slots are free. If the ring has more slots, the others become free when values are received.
#[must_use]
pub const fn initial_stamp(index: u64, capacity: u64) -> u64 {
    if index < capacity {
        free_stamp(index)
    } else {
        0
    }
}

/// Moves the value at `src` into the next free slot. Returns false if the ring is full; the caller
/// then keeps the value. Lock-free: it tries again only if another sender was faster.
///
/// # Safety
///
/// * `memory` began with tail and head 0, empty slots and [`initial_stamp`] in each. Since then
///   only this function, [`pop_value`], [`take_value`] and [`ReceiveRun`] have stored to it.
/// * There is a value at `src`, of which the caller gives up the ownership.
#[inline]
#[must_use]
pub unsafe fn push_value<M: TicketMemory>(memory: &M, src: *const M::Value) -> bool {
    let mask = memory.slots() - 1;
    let mut failures = 0;
    // Relaxed: only a guess; the stamp and the exchange decide.
    let mut pos = memory.tail().get();
    loop {
        let index = pos & mask;
        let stamp = memory.stamp(index);
        // ORDERING(free_slot): pairs with the store in `free_slots`.
        let found = stamp.load(edge::FREE_SLOT_SEE);
        // Relaxed: the stamps order everything; the exchange only picks one sender.
        if found == free_stamp(pos) && memory.tail().compare_exchange_relaxed(pos, pos + 1) {
            // SAFETY: the slot is free and the exchange gave this position to this thread only; the
            // value at `src` is the caller's to move, by the contract.
            unsafe { memory.put(index, src) };
            // ORDERING(ticket): pairs with the load in `is_filled`.
            stamp.store(filled_stamp(pos), edge::TICKET_PUBLISH);
            if M::PREFETCHES_NEXT {
                prefetch_slot_if_free(memory, pos + 1);
            }
            return true;
        }
        let before = pos;
        // Relaxed: as above.
        pos = memory.tail().get();
        if pos == before && found < free_stamp(pos) {
            return false;
        }
        back_off(&mut failures);
    }
}

/// Prefetches the slot of position `position`, if the slot is free and no sender has claimed the
/// position.
///
/// WHY only then: otherwise the prefetch would take cache lines away from the receiver, or from the
/// sender that fills the slot.
#[inline(always)]
fn prefetch_slot_if_free<M: TicketMemory>(memory: &M, position: u64) {
    let index = position & (memory.slots() - 1);
    // Relaxed: only for a hint.
    if memory.tail().get() == position && memory.stamp(index).get() == free_stamp(position) {
        memory.prefetch(index);
    }
}

/// Pauses before the next attempt of a failed exchange. Each call doubles the pause, up to a limit.
#[cold]
fn back_off(failures: &mut u32) {
    for _ in 0..1_u32 << *failures {
        core::hint::spin_loop();
    }
    *failures = (*failures + 1).min(BACKOFF_STEPS_MAX);
}

/// Moves the next value out of the ring. Wait-free.
///
/// Returns `None` if there is no value, or if the sender of the next position has not finished.
///
/// # Safety
///
/// As [`push_value`], and the caller is the only receiver.
#[inline]
pub unsafe fn pop_value<M: TicketMemory>(memory: &M) -> Option<M::Value> {
    let pos = find_value_position(memory)?;
    // SAFETY: this is the only receiver by the contract, and the position was just found.
    Some(unsafe { take_value(memory, pos) })
}

/// Returns the position of the next value; `None` if that value has not been sent completely.
#[inline(always)]
pub fn find_value_position<M: TicketMemory>(memory: &M) -> Option<u64> {
    // Relaxed: only the receiver stores it.
    let pos = memory.head().get();
    is_filled(memory, pos).then_some(pos)
}

#[inline(always)]
fn is_filled<M: TicketMemory>(memory: &M, pos: u64) -> bool {
    let mask = memory.slots() - 1;
    // ORDERING(ticket): pairs with the store in `push_value`.
    memory.stamp(pos & mask).load(edge::TICKET_SEE) == filled_stamp(pos)
}

/// Moves the value of position `pos` out of the ring. Wait-free.
///
/// # Safety
///
/// As [`pop_value`], and `pos` was returned by [`find_value_position`], with no value taken since.
#[inline(always)]
pub unsafe fn take_value<M: TicketMemory>(memory: &M, pos: u64) -> M::Value {
    // SAFETY: the slot holds this position, as `find_value_position` saw; the slot is freed below.
    let value = unsafe { memory.take(pos & (memory.slots() - 1)) };
    free_slots(memory, pos..pos + 1);
    value
}

/// Frees the slots of the positions in `received`, whose values have been received. The first of
/// them must be the head.
#[inline(always)]
fn free_slots<M: TicketMemory>(memory: &M, received: Range<u64>) {
    let mask = memory.slots() - 1;
    // Relaxed: a counter to all other threads.
    memory.head().set(received.end);
    for pos in received {
        // WHY: not always this slot: with fewer values than slots, a later slot is the next free
        // one.
        let next = pos + memory.capacity();
        // ORDERING(free_slot): pairs with the load in `push_value`.
        memory
            .stamp(next & mask)
            .store(free_stamp(next), edge::FREE_SLOT_PUBLISH);
    }
}

/// A guard by which the receiver takes several values in a row. It frees their slots several at a
/// time, and the remaining ones on drop.
///
/// WHY not one at a time: a sender that waits for room writes a slot as soon as it is free. This
/// would take the slot's cache line away while the receiver reads the next slot, which may be in
/// the same line.
#[derive(Debug)]
pub struct ReceiveRun<'a, M: TicketMemory> {
    memory: &'a M,
    /// The positions whose values have been received, but whose slots have not been freed yet.
    received: Range<u64>,
    /// Number of slots that are freed at a time.
    step: u64,
}

impl<'a, M: TicketMemory> ReceiveRun<'a, M> {
    /// Begins to receive at the next position. Slots are freed `step` at a time; `step` is at least
    /// 1 and at most the capacity.
    ///
    /// # Safety
    ///
    /// As [`pop_value`], which is not called while this value lives; and the value is dropped, not
    /// forgotten.
    #[inline(always)]
    pub unsafe fn begin(memory: &'a M, step: u64) -> Self {
        // Relaxed: only the receiver stores it.
        let next = memory.head().get();
        Self {
            memory,
            received: next..next,
            step,
        }
    }

    /// Returns the index of the slot that contains the next value; `None` if that value has not
    /// been sent completely.
    #[inline(always)]
    pub fn find_value_slot(&self) -> Option<u64> {
        let pos = self.received.end;
        is_filled(self.memory, pos).then_some(pos & (self.memory.slots() - 1))
    }

    /// Moves on to the position after the value that [`Self::find_value_slot`] found.
    ///
    /// # Safety
    ///
    /// [`Self::find_value_slot`] has just returned the slot of the value, and the caller has moved
    /// the value out of that slot.
    #[inline(always)]
    pub unsafe fn move_past_value(&mut self) {
        self.received.end += 1;
        if self.received.end - self.received.start == self.step {
            self.free_received_slots();
        }
    }

    #[inline(always)]
    fn free_received_slots(&mut self) {
        free_slots(self.memory, self.received.clone());
        self.received.start = self.received.end;
    }
}

impl<M: TicketMemory> Drop for ReceiveRun<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        self.free_received_slots();
    }
}

/// Returns the number of values in the ring: those of all positions that senders have claimed and
/// the receiver has not passed.
#[must_use]
pub fn waiting_values<M: TicketMemory>(memory: &M) -> u64 {
    // Relaxed: only counters. WHY this order: the head never passes a tail that is read after it.
    let head = memory.head().get();
    memory
        .tail()
        .get()
        .saturating_sub(head)
        .min(memory.capacity())
}
