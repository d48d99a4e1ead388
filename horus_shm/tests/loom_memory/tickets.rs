//! The memory of a modelled ticket ring: loom's words, and plain cells in which loom itself reports
//! a race.

use horus_shm::internals::ticket::{self, ReceiveRun, TicketMemory};

use super::LoomWord;
use crate::checker::Shared;
use crate::checker::cell::UnsafeCell;

#[derive(Debug)]
struct Slot {
    stamp: LoomWord,
    value: UnsafeCell<u64>,
}

#[derive(Debug)]
struct Parts {
    tail: LoomWord,
    head: LoomWord,
    slots: Box<[Slot]>,
    capacity: u64,
}

/// One thread's view of a ticket ring; a clone is another thread's view.
#[derive(Debug, Clone)]
pub(crate) struct LoomTickets(Shared<Parts>);

impl LoomTickets {
    pub(crate) fn new(slots: u64, capacity: u64) -> Self {
        let slot = |index| Slot {
            stamp: LoomWord::new(ticket::initial_stamp(index, capacity)),
            value: UnsafeCell::new(0),
        };
        let [tail, head] = [0, 0].map(LoomWord::new);
        Self(Shared::new(Parts {
            tail,
            head,
            slots: (0..slots).map(slot).collect(),
            capacity,
        }))
    }

    /// Sends `value`; returns it if the ring is full.
    pub(crate) fn push(&self, value: u64) -> Result<(), u64> {
        // SAFETY: made by `new`, and only used by this and `pop`; the value is initialised.
        let is_sent = unsafe { ticket::push_value(self, &raw const value) };
        if is_sent { Ok(()) } else { Err(value) }
    }

    /// Receives a value; to be called by one thread of a model only.
    pub(crate) fn pop(&self) -> Option<u64> {
        // SAFETY: as above, and each model has one receiver.
        unsafe { ticket::pop_value(self) }
    }

    /// Receives the available values, up to a lap of them, in one run; to be called as `pop`.
    pub(crate) fn drain(&self, step: u64) -> Vec<u64> {
        // SAFETY: as above.
        let mut run = unsafe { ReceiveRun::begin(self, step) };
        let mut values = Vec::new();
        while (values.len() as u64) < self.0.capacity
            && let Some(index) = run.find_value_slot()
        {
            // SAFETY: `find` returned the slot, and each model has one receiver.
            values.push(unsafe { self.take(index) });
            // SAFETY: as above.
            unsafe { run.move_past_value() };
        }
        values
    }
}

impl TicketMemory for LoomTickets {
    type Word = LoomWord;
    type Value = u64;

    /// WHY: the words that the hint reads make a model larger, and no result depends on them.
    const PREFETCHES_NEXT: bool = false;

    fn slots(&self) -> u64 {
        self.0.slots.len() as u64
    }

    fn capacity(&self) -> u64 {
        self.0.capacity
    }

    fn tail(&self) -> &LoomWord {
        &self.0.tail
    }

    fn head(&self) -> &LoomWord {
        &self.0.head
    }

    fn stamp(&self, index: u64) -> &LoomWord {
        &self.0.slots[index as usize].stamp
    }

    fn prefetch(&self, _index: u64) {}

    unsafe fn put(&self, index: u64, src: *const u64) {
        // SAFETY: the caller's `src` is readable for a value.
        let value = unsafe { src.read() };
        // SAFETY: the cell is alive, and loom fails the model if another thread is in it.
        self.0.slots[index as usize]
            .value
            .with_mut(|cell| unsafe { cell.write(value) });
    }

    unsafe fn take(&self, index: u64) -> u64 {
        // SAFETY: the cell is alive, and loom fails the model if a sender is in it.
        self.0.slots[index as usize]
            .value
            .with(|cell| unsafe { cell.read() })
    }
}
