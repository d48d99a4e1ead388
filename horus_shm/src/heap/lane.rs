//! Lanes on the heap, whose slots hold values of any type. Implements [`LaneMemory`] for them, so
//! that the lane algorithms can use them.

use core::fmt;
use core::marker::PhantomData;
use core::mem::{needs_drop, size_of};
use core::sync::atomic::AtomicU64;

use super::slot::{SlotPacking, SlotRow};
use crate::protocol::copy::PrefetchIntent;
use crate::protocol::layout::LaneBlock;
use crate::protocol::memory::LaneMemory;
use crate::protocol::sync::{self, Edge, Word};

/// The way in which readers get a value out of its slot: they move it, or clone it.
pub trait ReadPolicy<T>: SlotPacking + sealed::ReadPolicy {
    /// True if readers leave the value in its slot. It is then dropped when the slot is written
    /// again.
    const KEEPS_VALUE_IN_SLOT: bool;

    /// The part of a value that a reader has to drop after it has used the value in its slot: the
    /// value itself, or nothing.
    type ValueToDrop;

    /// Returns the value at `slot`: moves it out of the slot, or clones it.
    ///
    /// # Safety
    ///
    /// * `slot` holds a value, which no thread writes during the call.
    /// * Unless the value stays in the slot, the caller is the only reader, and calls this function
    ///   once for each value.
    unsafe fn load(slot: *const T) -> T;

    /// Returns the part of the value that the caller has to drop after it has used the value at
    /// `slot` in place: the value itself if readers move values out, and nothing if the value stays
    /// in the slot.
    ///
    /// # Safety
    ///
    /// The contract of [`Self::load`].
    unsafe fn take_value_to_drop(slot: *const T) -> Self::ValueToDrop;
}

/// The policy of lanes with a single reader, which moves values out of their slots.
#[derive(Debug)]
pub enum MoveValues {}

/// The policy by which every reader gets a clone of each value. The value stays in its slot until
/// the slot is written again.
#[derive(Debug)]
pub enum ShareValues {}

impl<T> ReadPolicy<T> for MoveValues {
    const KEEPS_VALUE_IN_SLOT: bool = false;

    type ValueToDrop = T;

    #[inline(always)]
    unsafe fn load(slot: *const T) -> T {
        // SAFETY: `slot` holds a value, and this is its only reader, which reads once, by the
        // contract.
        unsafe { slot.read() }
    }

    #[inline(always)]
    unsafe fn take_value_to_drop(slot: *const T) -> T {
        // SAFETY: `slot` holds a value, and this is its only reader, which reads once, by the
        // contract.
        unsafe { slot.read() }
    }
}

impl<T: Clone> ReadPolicy<T> for ShareValues {
    const KEEPS_VALUE_IN_SLOT: bool = true;

    type ValueToDrop = ();

    #[inline(always)]
    unsafe fn load(slot: *const T) -> T {
        // SAFETY: there is a value and no thread writes it; other readers share it as this one
        // does.
        let value = unsafe { &*slot };
        // WHY cloned before anything else happens: a panic in `clone` leaves the reader's position
        // unchanged.
        value.clone()
    }

    #[inline(always)]
    unsafe fn take_value_to_drop(_: *const T) {}
}

impl SlotPacking for MoveValues {
    const AVOIDS_PADDING: bool = true;
    const SHARES_CACHE_LINES: bool = true;
}

impl SlotPacking for ShareValues {
    const AVOIDS_PADDING: bool = true;
    const SHARES_CACHE_LINES: bool = false;
}

const _: () = {
    assert!(
        SlotRow::<(), MoveValues>::SLOT_DISTANCE_BYTES == 8
            && SlotRow::<u64, MoveValues>::SLOT_DISTANCE_BYTES == 16
    );
    assert!(
        SlotRow::<[u64; 2], MoveValues>::SLOT_DISTANCE_BYTES == 32
            && SlotRow::<[u64; 4], MoveValues>::SLOT_DISTANCE_BYTES == 64
    );
    assert!(
        SlotRow::<u64, MoveValues>::MAY_OMIT_STAMPS
            && !SlotRow::<(), MoveValues>::MAY_OMIT_STAMPS
            && !SlotRow::<u64, ShareValues>::MAY_OMIT_STAMPS
    );
    assert!(SlotRow::<u64, ShareValues>::SLOT_DISTANCE_BYTES == 64);
    assert!(SlotRow::<[u64; 8], ShareValues>::SLOT_DISTANCE_BYTES == 72);
    assert!(
        SlotRow::<[u64; 7], MoveValues>::SLOT_DISTANCE_BYTES == 64
            && SlotRow::<[u64; 32], MoveValues>::SLOT_DISTANCE_BYTES == 320
    );
};

mod sealed {
    pub trait ReadPolicy {}

    impl ReadPolicy for super::MoveValues {}
    impl ReadPolicy for super::ShareValues {}
}

/// The addresses of the parts of one lane of values. A copy refers to the same lane. This type does
/// not own the memory, which must be kept alive separately.
pub(super) struct ValueLane<T, H> {
    slots: SlotRow<T, H>,
    room: u64,
    block: *const LaneBlock<AtomicU64>,
    gated: *const AtomicU64,
    cursors: *const AtomicU64,
    /// Distance in words between the cursor of one reader and that of the next reader.
    reader_words: usize,
    reader_limit: u32,
    handling: PhantomData<H>,
}

/// The parts of a lane, from which [`ValueLane::new`] creates it.
pub(super) struct ValueLaneParts<'a, T, H> {
    /// The slots of the lane; an empty row if only the block and the cursors are used.
    pub(super) slots: SlotRow<T, H>,
    pub(super) room: u64,
    pub(super) block: &'a LaneBlock<AtomicU64>,
    /// The bit mask of the gated readers: bit i stands for reader i.
    pub(super) gated: &'a AtomicU64,
    /// The cursors of the channel, from that of the first reader in this lane on.
    pub(super) cursors: &'a [AtomicU64],
    pub(super) reader_words: usize,
    pub(super) reader_limit: u32,
}

impl<T, H: ReadPolicy<T>> ValueLane<T, H> {
    /// Creates a lane of values from the addresses in `parts`.
    ///
    /// # Safety
    ///
    /// For as long as the value or a copy of it is used:
    /// * the parts are not moved, and the slots are accessed only by lane algorithms with one
    ///   writer and with readers that are all gated (at most one reader unless `H` is
    ///   [`ShareValues`]);
    /// * slots are used only if there are any.
    pub(super) unsafe fn new(parts: ValueLaneParts<'_, T, H>) -> Self {
        let ValueLaneParts {
            slots,
            room,
            block,
            gated,
            cursors,
            reader_words,
            reader_limit,
        } = parts;
        debug_assert!(slots.len() == 0 || slots.len().is_power_of_two());
        debug_assert!(cursors.len() > reader_words * (reader_limit as usize - 1));
        Self {
            slots,
            room,
            block,
            gated,
            cursors: cursors.as_ptr(),
            reader_words,
            reader_limit,
            handling: PhantomData,
        }
    }

    /// Returns the value in slot `index`: moves it out of the slot or clones it, depending on the
    /// policy `H`.
    ///
    /// # Safety
    ///
    /// The reader found a value in the slot, and the reader's cursor keeps the writer out of the
    /// slot.
    #[inline(always)]
    pub(super) unsafe fn load(&self, index: u64) -> T {
        // SAFETY: the slot holds a value, and the cursor keeps the writer out, by the contract.
        unsafe { H::load(self.value_address(index)) }
    }

    /// Calls `each` with a reference to the value in slot `index`, and returns what the caller has
    /// to drop afterwards.
    ///
    /// # Safety
    ///
    /// The contract of [`Self::load`]. If `each` panics, the value is still in the slot.
    #[inline(always)]
    pub(super) unsafe fn call_with_value(
        &self,
        index: u64,
        each: &mut impl FnMut(&T),
    ) -> H::ValueToDrop {
        let value = self.value_address(index);
        // SAFETY: there is a value and no thread writes it, by the contract.
        each(unsafe { &*value });
        // SAFETY: the slot holds a value, and the cursor keeps the writer out, by the contract.
        unsafe { H::take_value_to_drop(value) }
    }

    #[inline(always)]
    const fn value_address(&self, index: u64) -> *mut T {
        // SAFETY: `index` is below the number of slots, which exist by the contract of `new`.
        unsafe { self.slots.value_address(index) }
    }
}

impl<T, H> Copy for ValueLane<T, H> {}

impl<T, H> Clone for ValueLane<T, H> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, H> fmt::Debug for ValueLane<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueLane")
            .field("room", &self.room)
            .finish_non_exhaustive()
    }
}

// SAFETY: values move from the writer's thread to the reader's; the words are atomic.
unsafe impl<T: Send> Send for ValueLane<T, MoveValues> {}
// SAFETY: as above; besides, several readers read one value at once.
unsafe impl<T: Send + Sync> Send for ValueLane<T, ShareValues> {}

impl<T, H: ReadPolicy<T>> LaneMemory for ValueLane<T, H> {
    type Word = AtomicU64;

    /// Readers do not prefetch slots while they drain a lane. WHY: the hardware detects that slots
    /// are read in order, and prefetches them itself. With prefetch instructions, the loop has more
    /// work for each message, and the hardware gets less far ahead. Messages a second with ->
    /// without them: 64 B 65 -> 81 million, 8 and 16 B a tenth more, 256 B and 1 KiB the same.
    const PREFETCHES_WHILE_DRAINING: bool = false;

    #[inline(always)]
    fn capacity(&self) -> u64 {
        self.slots.len()
    }

    #[inline(always)]
    fn is_exclusive(&self) -> bool {
        true
    }

    #[inline(always)]
    fn publishes_by_head(&self) -> bool {
        !self.slots.has_stamps()
    }

    #[inline(always)]
    fn writer_lead_max(&self) -> u64 {
        self.room
    }

    fn cache_lines_per_slot(&self) -> u64 {
        if self.publishes_by_head() {
            // That of the head, and that of the value.
            return 2;
        }
        SlotRow::<T, H>::CACHE_LINES as u64
    }

    #[inline(always)]
    fn block(&self) -> &LaneBlock<AtomicU64> {
        // SAFETY: alive by the contract of `new`; it contains only atomics.
        unsafe { &*self.block }
    }

    #[inline(always)]
    fn stamp(&self, index: u64) -> &AtomicU64 {
        if self.publishes_by_head() {
            unreachable!("these slots have no stamps");
        }
        // SAFETY: `index` is below the number of slots, which exist by the contract of `new`.
        unsafe { self.slots.stamp(index) }
    }

    #[inline(always)]
    fn reader_limit(&self) -> u32 {
        self.reader_limit
    }

    #[inline(always)]
    fn gated_reader_mask(&self) -> &AtomicU64 {
        // SAFETY: alive by the contract of `new`.
        unsafe { &*self.gated }
    }

    #[inline(always)]
    fn cursor(&self, reader: u32) -> &AtomicU64 {
        debug_assert!(reader < self.reader_limit);
        // SAFETY: `reader` is below the limit, so the word is one of the cursors.
        let cursor = unsafe { self.cursors.add(reader as usize * self.reader_words) };
        // SAFETY: alive by the contract of `new`.
        unsafe { &*cursor }
    }

    unsafe fn store_racing(&self, _: u64, _: *const u8, _: usize) {
        unreachable!("all readers of values are gated");
    }

    unsafe fn load_racing(&self, _: u64, _: *mut u8, _: usize) {
        unreachable!("all readers of values are gated");
    }

    /// Moves the `T` at `src` into the slot. All readers have finished with the old value of the
    /// slot, which is dropped.
    ///
    /// If dropping the old value panics, the new value is in the slot, but is not published: the
    /// next write replaces it.
    #[inline(always)]
    unsafe fn store_exclusive(&self, index: u64, src: *const u8, bytes: usize) {
        debug_assert_eq!(bytes, size_of::<T>());
        // Relaxed: only the writers of this lane store it, one after another.
        let keeps =
            const { H::KEEPS_VALUE_IN_SLOT && needs_drop::<T>() } && self.stamp(index).get() != 0;
        // SAFETY: a slot that keeps values holds one from its first stamp on, and no reader is in
        // it. It is overwritten below before anything can panic.
        let old = keeps.then(|| unsafe { self.value_address(index).read() });
        // SAFETY: `src` is a `T` of which the caller gives up the ownership, and no reader is in
        // the slot. The slots exist by the contract of `new`.
        unsafe { self.slots.put(index, src.cast()) };
        drop(old);
    }

    #[inline(always)]
    unsafe fn load_exclusive(&self, index: u64, dst: *mut u8, bytes: usize) {
        debug_assert_eq!(bytes, size_of::<T>());
        // SAFETY: the slot holds a value, and the cursor keeps the writer out, by the contract.
        let value = unsafe { self.load(index) };
        // SAFETY: `dst` is writable for a `T`, by the contract.
        unsafe { dst.cast::<T>().write(value) };
    }

    #[inline(always)]
    fn fence(&self, edge: Edge) {
        sync::fence(edge);
    }

    #[inline(always)]
    fn prefetch(&self, index: u64, intent: PrefetchIntent) {
        // SAFETY: `index` is below the number of slots, which exist by the contract of `new`.
        unsafe { self.slots.prefetch(index, intent) };
    }
}
