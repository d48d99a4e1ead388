//! The reading ends of lanes of values: of one lane, and of all that there are.

use core::fmt;
use std::sync::Arc;

use super::lane::{Handling, ValueLane};
use super::lanes::Lanes;
use crate::lane::{LaneReader, Polled};

/// Steps in which a writer is told of a lap that is drained. WHY not one: it is to write meanwhile.
const DRAIN_STEPS: u64 = 8;

/// Reads the first lane, behind a gate; gives the gate back on drop.
pub struct LaneEnd<T, H: Handling<T>> {
    reader: LaneReader<ValueLane<T, H>>,
    gate: u32,
    lanes: Arc<Lanes<T, H>>,
}

impl<T, H: Handling<T>> LaneEnd<T, H> {
    /// The reader behind `gate`, which the caller claimed.
    pub(super) fn new(lanes: Arc<Lanes<T, H>>, gate: u32) -> Self {
        // SAFETY: the gate is the caller's, and this is its only reader.
        let reader = unsafe { lanes.lane_reader(0, gate) };
        Self { reader, gate, lanes }
    }

    /// The way to take the next value, if there is one: it stays where it is until then. Wait-free,
    /// but for a clone.
    ///
    /// WHY in two steps: the value goes from its slot to where the caller wants it, not through
    /// one option after the other: at 16 bytes each step more waits for the one before.
    #[inline(always)]
    pub fn find(&mut self) -> Option<impl FnOnce() -> T> {
        find(&mut self.reader)
    }

    /// Hands what is there to `each`, up to one lap of it: how many values there were. The writer
    /// is told of them in a few steps. Does not block.
    #[inline]
    pub fn drain(&mut self, each: impl FnMut(T)) -> usize {
        let capacity = self.lanes.capacity() as u64;
        let load = |memory: &ValueLane<T, H>, index| {
            // SAFETY: the reader found a value in this slot, and holds its writer back until it
            // has passed it, after this.
            Some(unsafe { memory.load(index) })
        };
        self.reader.drain(capacity, (capacity / DRAIN_STEPS).max(1), load, each) as usize
    }

    /// Values that this reader has not passed.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.lanes.waiting(0, self.gate) as usize
    }

    /// The memory.
    #[must_use]
    pub const fn lanes(&self) -> &Arc<Lanes<T, H>> {
        &self.lanes
    }
}

#[inline(always)]
fn find<T, H: Handling<T>>(reader: &mut LaneReader<ValueLane<T, H>>) -> Option<impl FnOnce() -> T> {
    // Behind a gate a reader is never lapped.
    if reader.find() != Polled::Message {
        return None;
    }
    Some(move || {
        // SAFETY: the reader found a value in this slot, and holds its writer back until it has
        // passed it, below.
        let value = unsafe { reader.memory().load(reader.found()) };
        reader.step();
        value
    })
}

impl<T, H: Handling<T>> Drop for LaneEnd<T, H> {
    fn drop(&mut self) {
        self.lanes.release_gate(self.gate);
    }
}

impl<T, H: Handling<T>> fmt::Debug for LaneEnd<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaneEnd").field("gate", &self.gate).finish_non_exhaustive()
    }
}

/// Reads every lane, in turn, behind one gate; gives the gate back on drop.
pub struct FanReader<T, H: Handling<T>> {
    /// Readers of the lanes that have slots, in the order of their discovery.
    readers: Vec<LaneReader<ValueLane<T, H>>>,
    next: usize,
    /// The lanes that have a reader.
    known: u64,
    gate: u32,
    lanes: Arc<Lanes<T, H>>,
}

impl<T, H: Handling<T>> FanReader<T, H> {
    /// The reader behind `gate`, which the caller claimed.
    pub(super) fn new(lanes: Arc<Lanes<T, H>>, gate: u32) -> Self {
        // WHY: all at once, so that no later call allocates.
        let readers = Vec::with_capacity(lanes.lane_limit());
        Self { readers, next: 0, known: 0, gate, lanes }
    }

    /// As [`LaneEnd::find`], for the next value of any lane. Looks into each lane once; does not
    /// block.
    #[inline]
    pub fn find(&mut self) -> Option<impl FnOnce() -> T> {
        let ready = self.lanes.ready();
        if ready != self.known {
            self.discover(ready);
        }
        for _ in 0..self.readers.len() {
            let lane = self.next;
            self.next = if lane + 1 == self.readers.len() { 0 } else { lane + 1 };
            if self.readers[lane].has_message() {
                return find(&mut self.readers[lane]);
            }
        }
        None
    }

    /// As [`LaneEnd::drain`], one value of each lane in turn.
    #[inline]
    pub fn drain(&mut self, mut each: impl FnMut(T)) -> usize {
        let capacity = self.lanes.capacity();
        (0..capacity).map_while(|_| self.find().map(|take| take())).map(&mut each).count()
    }

    #[cold]
    fn discover(&mut self, ready: u64) {
        for lane in 0..u64::BITS {
            if ready & !self.known & (1 << lane) != 0 {
                // SAFETY: the gate is this reader's, and the lane had no reader yet.
                self.readers.push(unsafe { self.lanes.lane_reader(lane, self.gate) });
            }
        }
        self.known = ready;
    }

    /// Values that this reader has not passed, in all lanes.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let lanes = 0..self.lanes.lane_limit() as u32;
        lanes.map(|lane| self.lanes.waiting(lane, self.gate) as usize).sum()
    }

    /// The memory.
    #[must_use]
    pub const fn lanes(&self) -> &Arc<Lanes<T, H>> {
        &self.lanes
    }
}

impl<T, H: Handling<T>> Drop for FanReader<T, H> {
    fn drop(&mut self) {
        self.lanes.release_gate(self.gate);
    }
}

impl<T, H: Handling<T>> fmt::Debug for FanReader<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FanReader").field("gate", &self.gate).finish_non_exhaustive()
    }
}
