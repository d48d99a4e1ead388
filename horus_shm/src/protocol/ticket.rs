//! The ticket ring: many senders that share one order, one receiver, all in one process.
//!
//! After Dmitry Vyukov's bounded queue. A sender draws a ticket, the position that it writes, by an
//! exchange on the tail, and then fills the slot of that position. The stamp of the slot names the
//! position that may use it. A sender that is stopped between the two holds up the receiver and,
//! once the ring is full, the other senders. That is acceptable among threads of one process, which
//! die together, and the reason why rings between processes are made of lanes.

use core::ops::Range;

use crate::protocol::sync::{Word, edge};

/// Number of failed exchanges up to which the back-off of a sender grows.
const BACKOFF_STEPS_MAX: u32 = 6;

/// The memory that a ticket ring runs on.
pub trait TicketMemory {
    /// The shared words.
    type Word: Word;
    /// The type of the values sent.
    type Value;

    /// True if a sender prefetches the slot after its own.
    const PREFETCHES_NEXT: bool;

    /// Returns the number of slots: a power of two.
    fn slots(&self) -> u64;

    /// Returns the maximum number of values in the ring: at least 1, at most the number of slots.
    fn capacity(&self) -> u64;

    /// Returns the next position to be drawn.
    fn tail(&self) -> &Self::Word;

    /// Returns the next position to be received; only the receiver stores it.
    fn head(&self) -> &Self::Word;

    /// Returns the stamp of slot `index`, which is below the number of slots.
    fn stamp(&self, index: u64) -> &Self::Word;

    /// Prefetches slot `index`, which is below the number of slots, for writing. Only a hint.
    fn prefetch(&self, index: u64);

    /// Moves the value at `src` into slot `index`.
    ///
    /// # Safety
    ///
    /// `index` is below the number of slots, the slot is empty, and no other thread accesses it.
    /// There is a value at `src`, of which the caller gives up the ownership.
    unsafe fn put(&self, index: u64, src: *const Self::Value);

    /// Moves the value out of slot `index`.
    ///
    /// # Safety
    ///
    /// `index` is below the number of slots, the slot holds a value, and no other thread accesses
    /// it.
    unsafe fn take(&self, index: u64) -> Self::Value;
}

/// Returns the stamp of a slot that is free for position `pos`.
const fn free_stamp(pos: u64) -> u64 {
    pos * 2
}

/// Returns the stamp of a slot that holds position `pos`.
const fn filled_stamp(pos: u64) -> u64 {
    pos * 2 + 1
}

/// Returns the first stamp of slot `index` in a new ring of this `capacity`: as many slots as the
/// capacity are free for the first lap.
#[must_use]
pub const fn first_stamp(index: u64, capacity: u64) -> u64 {
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
/// * `memory` began with tail and head 0, empty slots and [`first_stamp`] in each. Since then only
///   this function, [`pop_value`], [`take`] and [`ReceiveRun`] have stored to it.
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
        // ORDERING(room): pairs with the store in `free_slots`.
        let found = stamp.load(edge::ROOM_SEE);
        // Relaxed: the stamps order everything; the exchange only picks one sender.
        if found == free_stamp(pos) && memory.tail().compare_exchange_relaxed(pos, pos + 1) {
            // SAFETY: the slot is free and the exchange gave this position to this thread only; the
            // value at `src` is the caller's to move, by the contract.
            unsafe { memory.put(index, src) };
            // ORDERING(ticket): pairs with the load in `is_filled`.
            stamp.store(filled_stamp(pos), edge::TICKET_PUBLISH);
            if M::PREFETCHES_NEXT {
                prefetch_after(memory, pos + 1);
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

/// Prefetches the slot of position `next`.
///
/// WHY only if it is free and not drawn yet: otherwise the hint would take lines away from the
/// receiver, or from the sender that fills the slot.
#[inline(always)]
fn prefetch_after<M: TicketMemory>(memory: &M, next: u64) {
    let index = next & (memory.slots() - 1);
    // Relaxed: only for a hint.
    if memory.tail().get() == next && memory.stamp(index).get() == free_stamp(next) {
        memory.prefetch(index);
    }
}

/// Backs off, the longer the more often other senders were faster.
#[cold]
fn back_off(failures: &mut u32) {
    for _ in 0..1_u32 << *failures {
        core::hint::spin_loop();
    }
    *failures = (*failures + 1).min(BACKOFF_STEPS_MAX);
}

/// Moves the next value out. Wait-free.
///
/// Returns `None` if there is no value, or if the sender of the next position has not finished.
///
/// # Safety
///
/// As [`push_value`], and the caller is the only receiver.
#[inline]
pub unsafe fn pop_value<M: TicketMemory>(memory: &M) -> Option<M::Value> {
    let pos = find_value(memory)?;
    // SAFETY: this is the only receiver by the contract, and the position was just found.
    Some(unsafe { take(memory, pos) })
}

/// Returns the next position to be received, if its value is there.
#[inline(always)]
pub fn find_value<M: TicketMemory>(memory: &M) -> Option<u64> {
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

/// Moves the value of position `pos` out. Wait-free.
///
/// # Safety
///
/// As [`pop_value`], and `pos` was returned by [`find_value`], with no value taken since.
#[inline(always)]
pub unsafe fn take<M: TicketMemory>(memory: &M, pos: u64) -> M::Value {
    // SAFETY: the slot holds this position, as `find_value` saw; the slot is freed below.
    let value = unsafe { memory.take(pos & (memory.slots() - 1)) };
    free_slots(memory, pos..pos + 1);
    value
}

/// Frees the slots of the positions `received`, which begin at the head.
#[inline(always)]
fn free_slots<M: TicketMemory>(memory: &M, received: Range<u64>) {
    let mask = memory.slots() - 1;
    // Relaxed: a counter to all other threads.
    memory.head().set(received.end);
    for pos in received {
        // WHY: not always this slot: with fewer values than slots, a later slot is the next free
        // one.
        let next = pos + memory.capacity();
        // ORDERING(room): pairs with the load in `push_value`.
        memory
            .stamp(next & mask)
            .store(free_stamp(next), edge::ROOM_FREE);
    }
}

/// Receives values in a row, and frees their slots in steps, the remaining ones on drop.
///
/// WHY: a sender that waits for room takes the line of a slot away as soon as it is free, while the
/// receiver is at the next one.
#[derive(Debug)]
pub struct ReceiveRun<'a, M: TicketMemory> {
    memory: &'a M,
    /// Positions that were received and whose slots are not freed yet.
    received: Range<u64>,
    /// Number of slots that are freed together.
    step: u64,
}

impl<'a, M: TicketMemory> ReceiveRun<'a, M> {
    /// Begins to receive at the next position. Slots are freed `step` at a time: at least 1, at
    /// most the capacity.
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

    /// Returns the index of the slot of the next value, if the value is there.
    #[inline(always)]
    pub fn find_value(&self) -> Option<u64> {
        let pos = self.received.end;
        is_filled(self.memory, pos).then_some(pos & (self.memory.slots() - 1))
    }

    /// Moves behind the value that [`Self::find_value`] found.
    ///
    /// # Safety
    ///
    /// [`Self::find_value`] has just returned it, and the value was moved out of its slot since.
    #[inline(always)]
    pub unsafe fn pass_value(&mut self) {
        self.received.end += 1;
        if self.received.end - self.received.start == self.step {
            self.free_received();
        }
    }

    #[inline(always)]
    fn free_received(&mut self) {
        free_slots(self.memory, self.received.clone());
        self.received.start = self.received.end;
    }
}

impl<M: TicketMemory> Drop for ReceiveRun<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        self.free_received();
    }
}

/// Returns the number of positions that senders have drawn, and whose values were not received yet.
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
