//! Writers of lanes of values on the heap.

use core::fmt;
use core::mem::{ManuallyDrop, size_of};
use core::ptr;
use std::sync::Arc;

use super::lane::{ReadPolicy, ValueLane};
use super::lanes::Lanes;
use crate::protocol::lane::{LaneWriter, NoRoom};
use crate::protocol::memory::LaneMemory;
use crate::protocol::sync::Word;

/// The only writer of a lane of values. After it was dropped, another writer can claim the lane.
pub struct ValueWriter<T, H: ReadPolicy<T>> {
    writer: LaneWriter<ValueLane<T, H>>,
    lane: u32,
    lanes: Arc<Lanes<T, H>>,
}

impl<T, H: ReadPolicy<T>> ValueWriter<T, H> {
    /// Creates the writer of the lane with index `lane`, which the caller has claimed.
    pub(super) fn new(lanes: Arc<Lanes<T, H>>, lane: u32) -> Self {
        let memory = lanes.claimed_lane(lane);
        // Relaxed: the claim ordered it behind the last writer.
        let pos = memory.block().head.get();
        Self {
            writer: LaneWriter::new(memory, pos, true),
            lane,
            lanes,
        }
    }

    /// Moves `value` into the next slot. Wait-free, except that an old value which readers left in
    /// the slot has to be dropped.
    ///
    /// # Errors
    ///
    /// `value`, if there is no room: a reader has read none of the last `capacity` values.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), T> {
        let value = ManuallyDrop::new(value);
        let src = (&raw const value).cast();
        // SAFETY: `value` is a `T` whose ownership is given up, and this is the lane's only writer.
        match unsafe { self.writer.write(src, size_of::<T>()) } {
            Ok(()) => Ok(()),
            Err(NoRoom) => Err(ManuallyDrop::into_inner(value)),
        }
    }

    /// Copies `value` directly into the next slot. Returns false if there is no room. Wait-free.
    #[inline(always)]
    pub fn push_ref(&mut self, value: &T) -> bool
    where
        T: Copy,
    {
        let src = ptr::from_ref(value).cast();
        // SAFETY: `value` is a `T` that may be copied, and this is the lane's only writer.
        unsafe { self.writer.write(src, size_of::<T>()) }.is_ok()
    }

    /// Returns the number of values that the slowest reader of the lane has not read.
    #[must_use]
    pub fn waiting_value_count(&self) -> usize {
        let pos = self.writer.position();
        let slowest = self.writer.slowest_reader();
        slowest.map_or(0, |(_, cursor)| (pos + 1).saturating_sub(cursor)) as usize
    }

    /// Returns the memory of the channel: its lanes and the cursors in them.
    #[must_use]
    pub const fn lanes(&self) -> &Arc<Lanes<T, H>> {
        &self.lanes
    }

    /// Returns the number of values that the lane can hold.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.lanes.capacity()
    }
}

impl<T, H: ReadPolicy<T>> Drop for ValueWriter<T, H> {
    fn drop(&mut self) {
        self.lanes.release_lane(self.lane);
    }
}

impl<T, H: ReadPolicy<T>> fmt::Debug for ValueWriter<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueWriter")
            .field("lane", &self.lane)
            .finish_non_exhaustive()
    }
}
