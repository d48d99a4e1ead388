//! Readers of values: a reader of one lane, and a reader of all lanes of a channel.

use core::fmt;
use std::sync::Arc;

use super::lane::{ReadPolicy, ValueLane};
use super::lanes::Lanes;
use crate::protocol::lane::{LaneReader, PollOutcome};

/// Number of times that a reader publishes its cursor while it drains a full lane. WHY not only
/// once: so that the writer can already write into the slots that were read.
pub(super) const CURSOR_UPDATES_PER_FULL_DRAIN: u64 = 8;

/// A reader of a channel's first lane. After it was dropped, another reader can be created.
pub struct ValueReader<T, H: ReadPolicy<T>> {
    reader: LaneReader<ValueLane<T, H>>,
    index: u32,
    lanes: Arc<Lanes<T, H>>,
}

impl<T, H: ReadPolicy<T>> ValueReader<T, H> {
    /// Creates the reader with index `index`, which the caller has claimed.
    pub(super) fn new(lanes: Arc<Lanes<T, H>>, index: u32) -> Self {
        // SAFETY: the number is the caller's, and this is its only reader of the lane.
        let reader = unsafe { lanes.lane_reader(0, index) };
        Self {
            reader,
            index,
            lanes,
        }
    }

    /// Finds the next value, and returns a function that takes it; `None` if there is no value. The
    /// value stays in its slot until the function is called. Wait-free, except that the value may
    /// have to be cloned.
    ///
    /// WHY in two steps: the value is then moved directly from its slot to the caller's memory, and
    /// not through several `Option`s. For a value of 16 bytes, each additional copy would have to
    /// wait for the previous one.
    #[inline(always)]
    pub fn find_next(&mut self) -> Option<impl FnOnce() -> T> {
        find_next(&mut self.reader)
    }

    /// Copies the next value from its slot to `value`. Returns false if there is no value.
    /// Wait-free.
    #[inline(always)]
    pub fn pop_into(&mut self, value: &mut T) -> bool
    where
        T: Copy,
    {
        pop_into(&mut self.reader, value)
    }

    /// Calls `each` with the available values, at most `capacity` of them, and returns their
    /// number. Publishes the cursor a few times, instead of after each value. Does not block.
    #[inline]
    pub fn drain(&mut self, each: impl FnMut(T)) -> usize {
        let load = |memory: &ValueLane<T, H>, index| {
            // SAFETY: the reader found a value in this slot, and holds its writer back until it
            // passes the value, after this.
            Some(unsafe { memory.load(index) })
        };
        self.drain_with_loader(load, each)
    }

    /// Does the same as [`Self::drain`], but passes references to the values in their slots. If
    /// `each` panics, the value that it got is the next one to be read.
    #[inline]
    pub fn drain_in_place(&mut self, mut each: impl FnMut(&T)) -> usize {
        self.drain_with_loader(loader_that_passes_references(&mut each), drop)
    }

    #[inline(always)]
    fn drain_with_loader<R>(
        &mut self,
        load: impl FnMut(&ValueLane<T, H>, u64) -> Option<R>,
        each: impl FnMut(R),
    ) -> usize {
        let capacity = self.lanes.capacity() as u64;
        let drained = self.reader.drain(
            capacity,
            (capacity / CURSOR_UPDATES_PER_FULL_DRAIN).max(1),
            load,
            each,
        );
        if drained == 0 {
            self.reader.prefetch_slot(1);
        }
        drained as usize
    }

    /// Returns the number of values in the lane that this reader has not read yet.
    #[must_use]
    pub fn waiting_value_count(&self) -> usize {
        self.lanes.waiting_value_count(0, self.index) as usize
    }

    /// Returns the memory of the channel: its lanes and the cursors in them.
    #[must_use]
    pub const fn lanes(&self) -> &Arc<Lanes<T, H>> {
        &self.lanes
    }

    /// Returns the number of values that one lane can hold.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.lanes.capacity()
    }
}

#[inline(always)]
fn find_next<T, H: ReadPolicy<T>>(
    reader: &mut LaneReader<ValueLane<T, H>>,
) -> Option<impl FnOnce() -> T> {
    // WHY no other case: a gated reader is never lapped.
    if reader.find_message() != PollOutcome::Message {
        reader.prefetch_slot(1);
        return None;
    }
    Some(move || {
        // SAFETY: the reader found a value in this slot, and holds its writer back until it passes
        // the value, below.
        let value = unsafe { reader.memory().load(reader.found_slot_index()) };
        reader.move_past_found_message();
        value
    })
}

#[inline(always)]
fn pop_into<T: Copy, H: ReadPolicy<T>>(
    reader: &mut LaneReader<ValueLane<T, H>>,
    value: &mut T,
) -> bool {
    if reader.find_message() != PollOutcome::Message {
        reader.prefetch_slot(1);
        return false;
    }
    // SAFETY: as in `find`.
    *value = unsafe { reader.memory().load(reader.found_slot_index()) };
    reader.move_past_found_message();
    true
}

/// Returns a function for the argument `load` of [`LaneReader::drain`]. It calls `each` with each
/// value while the value is in its slot.
#[inline(always)]
fn loader_that_passes_references<T, H: ReadPolicy<T>>(
    each: &mut impl FnMut(&T),
) -> impl FnMut(&ValueLane<T, H>, u64) -> Option<H::ValueToDrop> {
    // SAFETY: the reader found a value in this slot, and holds its writer back until it passes the
    // value, after this.
    move |memory, index| Some(unsafe { memory.call_with_value(index, each) })
}

impl<T, H: ReadPolicy<T>> Drop for ValueReader<T, H> {
    fn drop(&mut self) {
        self.lanes.release_reader(self.index);
    }
}

impl<T, H: ReadPolicy<T>> fmt::Debug for ValueReader<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueReader")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

/// A reader that reads all lanes of a channel in turn. After it was dropped, another reader can be
/// created.
pub struct FanInReader<T, H: ReadPolicy<T>> {
    /// A reader of each lane that has slots, in the order in which the lanes were found.
    readers: Vec<LaneReader<ValueLane<T, H>>>,
    next: usize,
    /// A bit mask of the lanes in `readers`: bit i stands for lane i.
    known: u64,
    index: u32,
    lanes: Arc<Lanes<T, H>>,
}

impl<T, H: ReadPolicy<T>> FanInReader<T, H> {
    /// Creates the reader with index `index`, which the caller has claimed.
    pub(super) fn new(lanes: Arc<Lanes<T, H>>, index: u32) -> Self {
        // WHY allocated for all lanes: no later call allocates.
        let readers = Vec::with_capacity(lanes.lane_limit());
        Self {
            readers,
            next: 0,
            known: 0,
            index,
            lanes,
        }
    }

    /// Does the same as [`ValueReader::find_next`] for the next value of any lane. Polls each lane
    /// at most once; does not block.
    #[inline]
    pub fn find_next(&mut self) -> Option<impl FnOnce() -> T> {
        find_next(self.next_ready_lane()?)
    }

    /// Copies the next value of any lane to `value`. Otherwise the same as
    /// [`ValueReader::pop_into`].
    #[inline]
    pub fn pop_into(&mut self, value: &mut T) -> bool
    where
        T: Copy,
    {
        self.next_ready_lane()
            .is_some_and(|reader| pop_into(reader, value))
    }

    /// Takes one value from each lane in turn. Otherwise the same as [`ValueReader::drain`].
    #[inline]
    pub fn drain(&mut self, mut each: impl FnMut(T)) -> usize {
        let capacity = self.lanes.capacity();
        (0..capacity)
            .map_while(|_| self.find_next().map(|take| take()))
            .map(&mut each)
            .count()
    }

    /// Takes one value from each lane in turn. Otherwise the same as
    /// [`ValueReader::drain_in_place`].
    #[inline]
    pub fn drain_in_place(&mut self, mut each: impl FnMut(&T)) -> usize {
        let mut one = |reader: &mut LaneReader<_>| {
            reader.drain(1, 1, loader_that_passes_references(&mut each), drop) == 1
        };
        let capacity = self.lanes.capacity();
        (0..capacity)
            .take_while(|_| self.next_ready_lane().is_some_and(&mut one))
            .count()
    }

    /// Returns the reader of the next lane that has a value, or `None` if no lane has one. The
    /// search begins where the last one ended, so that all lanes get their turn.
    #[inline(always)]
    fn next_ready_lane(&mut self) -> Option<&mut LaneReader<ValueLane<T, H>>> {
        let ready = self.lanes.ready_lane_mask();
        if ready != self.known {
            self.add_lane_readers(ready);
        }
        for _ in 0..self.readers.len() {
            let lane = self.next;
            self.next = if lane + 1 == self.readers.len() {
                0
            } else {
                lane + 1
            };
            if self.readers[lane].has_message() {
                return Some(&mut self.readers[lane]);
            }
        }
        self.readers
            .iter()
            .for_each(|reader| reader.prefetch_slot(self.readers.len()));
        None
    }

    #[cold]
    fn add_lane_readers(&mut self, ready_lane_mask: u64) {
        for lane in 0..u64::BITS {
            if ready_lane_mask & !self.known & (1 << lane) != 0 {
                // SAFETY: the number is this reader's, which had no reader of the lane yet.
                self.readers
                    .push(unsafe { self.lanes.lane_reader(lane, self.index) });
            }
        }
        self.known = ready_lane_mask;
    }

    /// Returns the number of values in all lanes that this reader has not read yet.
    #[must_use]
    pub fn waiting_value_count(&self) -> usize {
        let lanes = 0..self.lanes.lane_limit() as u32;
        lanes
            .map(|lane| self.lanes.waiting_value_count(lane, self.index) as usize)
            .sum()
    }

    /// Returns the memory of the channel: its lanes and the cursors in them.
    #[must_use]
    pub const fn lanes(&self) -> &Arc<Lanes<T, H>> {
        &self.lanes
    }

    /// Returns the number of values that one lane can hold.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.lanes.capacity()
    }
}

impl<T, H: ReadPolicy<T>> Drop for FanInReader<T, H> {
    fn drop(&mut self) {
        self.lanes.release_reader(self.index);
    }
}

impl<T, H: ReadPolicy<T>> fmt::Debug for FanInReader<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FanInReader")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}
