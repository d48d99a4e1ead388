//! The ticket ring: many senders that share one order, one receiver, all in one process.
//!
//! After Dmitry Vyukov's bounded queue. A sender draws a ticket, the position that it writes, by
//! an exchange on the tail, and then fills the slot of that position; the stamp of the slot says
//! whose turn it is. A sender that is stopped between the two holds up the receiver and, once the
//! ring is full, the other senders: fine among threads, which live and die together, and the
//! reason why rings between processes are made of lanes instead.

use core::ops::Range;

use crate::protocol::sync::{Word, edge};

/// Failed exchanges after which a sender pauses no longer still than after the last one.
const BACKOFF_STEPS_MAX: u32 = 6;

/// The memory that a ticket ring runs on.
pub trait TicketMemory {
    /// The shared words.
    type Word: Word;
    /// What is sent.
    type Value;

    /// Whether a sender asks for the slot after its own.
    const ASKS_AHEAD: bool;

    /// Slots: a power of two.
    fn slots(&self) -> u64;

    /// Values that are on their way at once, at most: at least 1, at most the slots.
    fn capacity(&self) -> u64;

    /// The next position to be drawn.
    fn tail(&self) -> &Self::Word;

    /// The next position to be received; only the receiver stores it.
    fn head(&self) -> &Self::Word;

    /// The stamp of slot `index`, which is below the number of slots.
    fn stamp(&self, index: u64) -> &Self::Word;

    /// Asks for slot `index`, which is below the number of slots, to write it. A hint.
    fn prefetch(&self, index: u64);

    /// Moves the value at `src` into slot `index`.
    ///
    /// # Safety
    ///
    /// `index` is below the number of slots, the slot is empty, and nobody else is in it. There is
    /// a value at `src`, which the caller gives away.
    unsafe fn put(&self, index: u64, src: *const Self::Value);

    /// Moves the value of slot `index` out.
    ///
    /// # Safety
    ///
    /// `index` is below the number of slots, the slot holds a value, and nobody else is in it.
    unsafe fn take(&self, index: u64) -> Self::Value;
}

/// The stamp of a slot that waits for position `pos`.
const fn free(pos: u64) -> u64 {
    pos * 2
}

/// The stamp of a slot that holds position `pos`.
const fn filled(pos: u64) -> u64 {
    pos * 2 + 1
}

/// The stamp that slot `index` of a new ring of this `capacity` begins with: the first lap is free
/// as far as the capacity goes.
#[must_use]
pub const fn first_stamp(index: u64, capacity: u64) -> u64 {
    if index < capacity { free(index) } else { 0 }
}

/// Moves the value at `src` into the next free slot: false if the ring is full, and then it is
/// still the caller's. Lock-free: it tries again only if another sender was faster.
///
/// # Safety
///
/// * `memory` began with tail and head 0, empty slots and [`first_stamp`] in each, and since then
///   nobody has stored to it but this function, [`pop`], [`take`] and [`Run`].
/// * There is a value at `src`, which the caller gives away.
#[inline]
#[must_use]
pub unsafe fn push<M: TicketMemory>(memory: &M, src: *const M::Value) -> bool {
    let mask = memory.slots() - 1;
    let mut failures = 0;
    // Relaxed: a guess; the stamp and the exchange decide.
    let mut pos = memory.tail().get();
    loop {
        let index = pos & mask;
        let stamp = memory.stamp(index);
        // ORDERING(room): pairs with the store in `free_slots`.
        let found = stamp.load(edge::ROOM_SEE);
        // Relaxed: the stamps order everything; the exchange only picks one sender.
        if found == free(pos) && memory.tail().compare_exchange_relaxed(pos, pos + 1) {
            // SAFETY: the slot is free and the exchange gave this position to nobody else.
            unsafe { memory.put(index, src) };
            // ORDERING(ticket): pairs with the load in `is_filled`.
            stamp.store(filled(pos), edge::TICKET_PUBLISH);
            if M::ASKS_AHEAD {
                prefetch_after(memory, pos + 1);
            }
            return true;
        }
        let before = pos;
        // Relaxed: as above.
        pos = memory.tail().get();
        if pos == before && found < free(pos) {
            return false;
        }
        back_off(&mut failures);
    }
}

/// Asks for the slot of position `next`.
///
/// WHY only if it is free, and nobody has drawn it: else the hint would take lines away from the
/// receiver, or from the sender that fills them.
#[inline(always)]
fn prefetch_after<M: TicketMemory>(memory: &M, next: u64) {
    let index = next & (memory.slots() - 1);
    // Relaxed: for a hint.
    if memory.tail().get() == next && memory.stamp(index).get() == free(next) {
        memory.prefetch(index);
    }
}

/// Pauses, the longer the more often others were faster.
#[cold]
fn back_off(failures: &mut u32) {
    for _ in 0..1_u32 << *failures {
        core::hint::spin_loop();
    }
    *failures = (*failures + 1).min(BACKOFF_STEPS_MAX);
}

/// Moves the next value out. Wait-free.
///
/// `None` if there is none, or if the sender whose turn it is has not finished.
///
/// # Safety
///
/// As [`push`], and the caller is the only receiver.
#[inline]
pub unsafe fn pop<M: TicketMemory>(memory: &M) -> Option<M::Value> {
    let pos = find(memory)?;
    // SAFETY: the caller's contract, and the position was just found.
    Some(unsafe { take(memory, pos) })
}

/// The next position to be received, if its value is there.
#[inline(always)]
pub fn find<M: TicketMemory>(memory: &M) -> Option<u64> {
    // Relaxed: only the receiver stores it.
    let pos = memory.head().get();
    is_filled(memory, pos).then_some(pos)
}

#[inline(always)]
fn is_filled<M: TicketMemory>(memory: &M, pos: u64) -> bool {
    let mask = memory.slots() - 1;
    // ORDERING(ticket): pairs with the store in `push`.
    memory.stamp(pos & mask).load(edge::TICKET_SEE) == filled(pos)
}

/// Moves the value of position `pos` out. Wait-free.
///
/// # Safety
///
/// As [`pop`], and `pos` is what [`find`] said, with no value taken since.
#[inline(always)]
pub unsafe fn take<M: TicketMemory>(memory: &M, pos: u64) -> M::Value {
    // SAFETY: the stamp said that the slot holds this position; it is freed below.
    let value = unsafe { memory.take(pos & (memory.slots() - 1)) };
    free_slots(memory, pos..pos + 1);
    value
}

/// Gives the slots of these positions back, which were received: the next ones.
#[inline(always)]
fn free_slots<M: TicketMemory>(memory: &M, received: Range<u64>) {
    let mask = memory.slots() - 1;
    // Relaxed: a figure to all others.
    memory.head().set(received.end);
    for pos in received {
        // WHY: not always this slot: with fewer values than slots, one further back has its turn.
        let next = pos + memory.capacity();
        // ORDERING(room): pairs with the load in `push`.
        memory.stamp(next & mask).store(free(next), edge::ROOM_FREE);
    }
}

/// Receives value after value, and gives their slots back in steps; what is left on drop.
///
/// WHY: a sender that waits for room takes the line of a slot away as soon as it is free, while the
/// receiver is at the next one.
#[derive(Debug)]
pub struct Run<'a, M: TicketMemory> {
    memory: &'a M,
    /// Received, and not given back yet.
    received: Range<u64>,
    /// Slots that are given back together.
    step: u64,
}

impl<'a, M: TicketMemory> Run<'a, M> {
    /// From the next position on. `step` is at least 1, and at most the capacity.
    ///
    /// # Safety
    ///
    /// As [`pop`], of which there is none as long as this lives; and it is dropped, not forgotten.
    #[inline(always)]
    pub unsafe fn begin(memory: &'a M, step: u64) -> Self {
        // Relaxed: only the receiver stores it.
        let next = memory.head().get();
        Self { memory, received: next..next, step }
    }

    /// Index of the slot that has the next value, if it is there.
    #[inline(always)]
    pub fn find(&self) -> Option<u64> {
        let pos = self.received.end;
        is_filled(self.memory, pos).then_some(pos & (self.memory.slots() - 1))
    }

    /// Passes the value that was found.
    ///
    /// # Safety
    ///
    /// [`Self::find`] has just said so, and the value was moved out of its slot since.
    #[inline(always)]
    pub unsafe fn pass(&mut self) {
        self.received.end += 1;
        if self.received.end - self.received.start == self.step {
            self.give_back();
        }
    }

    #[inline(always)]
    fn give_back(&mut self) {
        free_slots(self.memory, self.received.clone());
        self.received.start = self.received.end;
    }
}

impl<M: TicketMemory> Drop for Run<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Values on their way: drawn and not yet received.
#[must_use]
pub fn waiting<M: TicketMemory>(memory: &M) -> u64 {
    // Relaxed: figures. WHY this order: the head never passes a tail that is read after it.
    let head = memory.head().get();
    memory.tail().get().saturating_sub(head).min(memory.capacity())
}
