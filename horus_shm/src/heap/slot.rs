//! Slots on the heap, with memory for values of any type. Each slot has a stamp, unless the writer
//! publishes by the head of its lane.

use core::marker::PhantomData;
use core::mem::{MaybeUninit, offset_of};
use core::ops::Range;
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicU64;
use std::alloc::{self, Layout};

use crate::protocol::copy::{self, CACHE_LINE_BYTES, PrefetchIntent};
use crate::protocol::sync;

/// Maximum number of cache lines of a slot that are prefetched.
const PREFETCH_LINES_MAX: usize = 64;

/// The layout of a slot with a stamp of its own: the stamp, then the value.
#[repr(C)]
struct Slot<T> {
    stamp: AtomicU64,
    value: MaybeUninit<T>,
}

impl<T> Slot<T> {
    const VALUE_OFFSET: usize = offset_of!(Self, value);

    /// Number of cache lines that a slot occupies if it begins at a cache line. It may use only a
    /// part of the last one.
    const CACHE_LINES: usize = size_of::<Self>().div_ceil(CACHE_LINE_BYTES);

    /// True if a slot needs several cache lines and, if it begins at a cache line, more than a
    /// quarter of their bytes are padding.
    const WASTES_CACHE_LINES: bool = {
        let lines = Self::CACHE_LINES * CACHE_LINE_BYTES;
        Self::CACHE_LINES > 1 && 4 * (lines - size_of::<Self>()) > lines
    };
}

/// A policy that decides which slots share cache lines. WHY slots share lines: it takes 7 ns to
/// transfer a line from another core, however many messages are in it.
pub trait SlotPacking {
    /// True if there are no gaps between slots for values of 57 to 80 or of 121 to 128 bytes, with
    /// an alignment of at most 8.
    ///
    /// Compared with slots on separate cache lines, the latency of one message of 64 B between two
    /// threads is the same. The throughput increases from 72 to 115 million messages a second (from
    /// 65 to 82 if the core's other hardware thread is busy). With 128 B the throughput increases
    /// from 51 to 64 million, and the latency by 4 %. WHY not if several threads write: two of them
    /// send only 12 million messages of 64 B a second, instead of 17 million.
    const AVOIDS_PADDING: bool;

    /// True if slots that are smaller than a cache line are packed: the distance between two slots
    /// is the smallest power of two that is large enough. If the writer publishes by the
    /// head, slots for 1 to 8 and for 64 bytes have no stamps.
    ///
    /// Between two threads on two cores, the latency of one message of 8 or 16 bytes is the same as
    /// with slots on separate lines (161 -> 159 ns, 160 -> 162 ns). The throughput increases from
    /// 68 to 204 and from 79 to 110 million messages a second. WHY a power of two: with slots of 24
    /// bytes without gaps, the throughput for 16 bytes is 135 million, but the latency is 166 ns,
    /// because a slot may lie in two lines. WHY not if several threads read: each of them takes the
    /// line away from the writer, and the throughput of messages of 8 bytes to two readers
    /// decreases from 73 to 14 million.
    const SHARES_CACHE_LINES: bool;
}

/// The packing policy of rings to whose slots several threads write: no two slots share a cache
/// line.
#[derive(Debug)]
pub(super) enum UnpackedSlots {}

impl SlotPacking for UnpackedSlots {
    const AVOIDS_PADDING: bool = false;
    const SHARES_CACHE_LINES: bool = false;
}

/// The address and the number of the slots of a lane. A copy refers to the same slots.
pub(super) struct SlotRow<T, P> {
    memory: NonNull<u8>,
    slots: u64,
    has_stamps: bool,
    packing: PhantomData<(*mut T, P)>,
}

impl<T, P: SlotPacking> SlotRow<T, P> {
    /// A row without slots, for code that uses only other parts of a lane.
    pub(super) const EMPTY: Self = Self {
        memory: NonNull::dangling(),
        slots: 0,
        has_stamps: true,
        packing: PhantomData,
    };

    /// Number of cache lines that a slot with a stamp occupies if it begins at a cache line. It may
    /// use only a part of the last one.
    pub(super) const CACHE_LINES: usize = Slot::<T>::CACHE_LINES;

    /// Distance in bytes between the starts of two neighbouring slots with stamps. It is a number
    /// of whole cache lines, unless `P` packs slots of this size.
    pub(super) const SLOT_DISTANCE_BYTES: usize =
        if P::AVOIDS_PADDING && Slot::<T>::WASTES_CACHE_LINES {
            size_of::<Slot<T>>()
        } else if P::SHARES_CACHE_LINES && Self::CACHE_LINES == 1 {
            // WHY a power of two: then no slot lies in two lines.
            size_of::<Slot<T>>().next_power_of_two()
        } else {
            Self::CACHE_LINES * CACHE_LINE_BYTES
        };

    /// True if the slots have no stamps in lanes whose writer publishes by the head.
    ///
    /// WHY only for values of 1 to 8 bytes, and of 64: for them a stamp costs the most. It doubles
    /// the size of the slots, or makes each slot lie in two cache lines. Values of 16 to 56 bytes
    /// were not faster without stamps.
    pub(super) const MAY_OMIT_STAMPS: bool =
        P::SHARES_CACHE_LINES && matches!(size_of::<T>(), 1..=8 | CACHE_LINE_BYTES);

    /// Returns the number of slots.
    #[inline(always)]
    pub(super) const fn len(&self) -> u64 {
        self.slots
    }

    /// Returns true if each slot has a stamp; false if the values follow each other without gaps.
    #[inline(always)]
    pub(super) const fn has_stamps(&self) -> bool {
        !Self::MAY_OMIT_STAMPS || self.has_stamps
    }

    /// Returns the address of slot `index`.
    ///
    /// # Safety
    ///
    /// `index` is below [`Self::len`], and the [`Slots`] exist.
    #[inline(always)]
    const unsafe fn slot_address(&self, index: u64) -> *mut u8 {
        debug_assert!(index < self.slots);
        let distance = if self.has_stamps() {
            Self::SLOT_DISTANCE_BYTES
        } else {
            size_of::<T>()
        };
        // SAFETY: within the memory of the slots, as `index` is below their number by the contract.
        unsafe { self.memory.as_ptr().add(index as usize * distance) }
    }

    /// Returns the stamp of slot `index`.
    ///
    /// # Safety
    ///
    /// The contract of [`Self::value_address`], for as long as the reference is used. The slots
    /// have stamps.
    #[inline(always)]
    pub(super) const unsafe fn stamp<'a>(&self, index: u64) -> &'a AtomicU64 {
        debug_assert!(self.has_stamps());
        // SAFETY: the index and the slots are valid by the contract.
        let slot = unsafe { self.slot_address(index) };
        // SAFETY: the stamp comes first, was initialised in `Slots::new`, and is an atomic.
        unsafe { &*slot.cast() }
    }

    /// Returns the address of the value in slot `index`, which is aligned for its type. Only code
    /// that has access to the slot by the algorithms of lanes or rings may use the address.
    ///
    /// # Safety
    ///
    /// `index` is below [`Self::len`], and the [`Slots`] exist.
    #[inline(always)]
    pub(super) const unsafe fn value_address(&self, index: u64) -> *mut T {
        let offset = if self.has_stamps() {
            Slot::<T>::VALUE_OFFSET
        } else {
            0
        };
        // SAFETY: the index and the slots are valid by the contract.
        let slot = unsafe { self.slot_address(index) };
        // SAFETY: the value is in the slot.
        unsafe { slot.add(offset).cast() }
    }

    /// Copies the value at `src` into slot `index`, one cache line after the other. The part of the
    /// value in the stamp's line is copied last, if the slot begins at a cache line.
    ///
    /// WHY the stamp's line last: a waiting reader polls the stamp. A write to the stamp's line
    /// long before the store of the stamp costs one more transfer of that line: 40 ns for a value
    /// of 256 bytes. WHY one line after the other: a waiting reader prefetches the other lines, and
    /// may take a line away while it is only partly written. For 512 bytes from one thread to
    /// another, this reduces the latency from 340 to 220 ns.
    ///
    /// # Safety
    ///
    /// * There is a `T` at `src`, of which the caller gives up the ownership, and no other code is
    ///   in the slot.
    /// * The contract of [`Self::value_address`].
    #[inline(always)]
    pub(super) unsafe fn put(&self, index: u64, src: *const T) {
        // SAFETY: the index and the slots are valid by the contract.
        let dst = unsafe { self.value_address(index) };
        let near = CACHE_LINE_BYTES - size_of::<AtomicU64>();
        if size_of::<T>() <= near {
            // SAFETY: the value, and the memory for it.
            unsafe { ptr::copy_nonoverlapping(src, dst, 1) };
            return;
        }
        let src = src.cast::<u8>();
        let dst = dst.cast::<u8>();
        let mut at = near;
        // WHY in two parts: a whole line is copied without a call.
        while size_of::<T>() - at >= CACHE_LINE_BYTES {
            let from = src.wrapping_add(at);
            let to = dst.wrapping_add(at);
            // SAFETY: a part of the value, behind the part in the stamp's line.
            unsafe { ptr::copy_nonoverlapping(from, to, CACHE_LINE_BYTES) };
            // ORDERING(copy_order): for the compiler only; line by line, the stamp's line last.
            sync::keep_compiler_order();
            at += CACHE_LINE_BYTES;
        }
        let from = src.wrapping_add(at);
        let to = dst.wrapping_add(at);
        // SAFETY: the end of the value.
        unsafe { ptr::copy_nonoverlapping(from, to, size_of::<T>() - at) };
        // ORDERING(copy_order): as above.
        sync::keep_compiler_order();
        // SAFETY: the beginning of the value.
        unsafe { ptr::copy_nonoverlapping(src, dst, near) };
    }

    /// Prefetches the cache lines of slot `index`, but at most [`PREFETCH_LINES_MAX`]. It is only a
    /// hint.
    ///
    /// # Safety
    ///
    /// The contract of [`Self::value_address`].
    #[inline(always)]
    pub(super) unsafe fn prefetch(&self, index: u64, intent: PrefetchIntent) {
        let lines = if self.has_stamps() {
            Self::CACHE_LINES.min(PREFETCH_LINES_MAX)
        } else {
            1
        };
        // SAFETY: the index and the slots are valid by the contract.
        copy::prefetch_lines(unsafe { self.slot_address(index) }, lines, intent);
    }

    /// Returns the memory layout of `slot_count` slots together; `None` if its size would overflow.
    fn memory_layout(slot_count: u64, has_stamps: bool) -> Option<Layout> {
        let distance = if has_stamps {
            Self::SLOT_DISTANCE_BYTES
        } else {
            size_of::<T>()
        };
        let bytes = usize::try_from(slot_count).ok()?.checked_mul(distance)?;
        Layout::from_size_align(bytes, align_of::<Slot<T>>().max(CACHE_LINE_BYTES)).ok()
    }
}

impl<T, P> Copy for SlotRow<T, P> {}

impl<T, P> Clone for SlotRow<T, P> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

/// The slots of a lane or a ring, with their memory. Dropping them drops the values in the slots
/// for which [`Self::set_remaining_positions`] was called.
pub(super) struct Slots<T, P: SlotPacking> {
    row: SlotRow<T, P>,
    remaining: Range<u64>,
}

/// Panics with a text that says that there is no memory for a channel of `capacity` messages of
/// `bytes` bytes each.
///
/// WHY not `handle_alloc_error`: it aborts the process, though only this channel is too large.
#[cold]
pub fn panic_without_memory(capacity: u64, bytes: usize) -> ! {
    panic!(
        "there is no memory for a channel of {capacity} messages of {bytes} bytes each: choose a \
         smaller capacity"
    )
}

// SAFETY: they own their values, and nothing in them is tied to a thread.
unsafe impl<T: Send, P: SlotPacking> Send for Slots<T, P> {}

impl<T, P: SlotPacking> Slots<T, P> {
    /// Allocates empty slots for `capacity` values, rounded up to a power of two. `first_stamp`
    /// returns the first stamp of the slot with the given index. If `publishes_by_head` is true,
    /// the slots have no stamps, provided that `P` and the size of the values permit it. Returns
    /// `None` if there is no memory for so many slots; see [`panic_without_memory`].
    pub(super) fn new(
        capacity: u64,
        publishes_by_head: bool,
        first_stamp: impl Fn(u64) -> u64,
    ) -> Option<Self> {
        let has_stamps = !(publishes_by_head && SlotRow::<T, P>::MAY_OMIT_STAMPS);
        let slots = capacity.checked_next_power_of_two()?;
        let layout = SlotRow::<T, P>::memory_layout(slots, has_stamps)?;
        // SAFETY: a slot does not have size 0, and there is at least one.
        let memory = NonNull::new(unsafe { alloc::alloc(layout) })?;
        let row = SlotRow {
            memory,
            slots,
            has_stamps,
            packing: PhantomData,
        };
        // WHY before the loop: if `first_stamp` panics, the memory is freed.
        let made = Self {
            row,
            remaining: 0..0,
        };
        for index in (0..slots).filter(|_| has_stamps) {
            // SAFETY: `index` is below the number of slots.
            let place = unsafe { row.slot_address(index) };
            // SAFETY: in bounds and aligned, and no other code knows of it.
            unsafe {
                place
                    .cast::<AtomicU64>()
                    .write(AtomicU64::new(first_stamp(index)))
            };
        }
        Some(made)
    }

    /// Returns the address and number of these slots. The result must not be used after this value
    /// is dropped.
    pub(super) const fn row(&self) -> SlotRow<T, P> {
        self.row
    }

    /// Returns the number of slots: a power of two.
    #[inline(always)]
    pub(super) const fn len(&self) -> u64 {
        self.row.len()
    }

    /// Returns the stamp of slot `index`.
    ///
    /// # Panics
    ///
    /// If there is no such slot, or the slots have no stamps.
    #[inline(always)]
    pub(super) fn stamp(&self, index: u64) -> &AtomicU64 {
        self.assert_in_range(index);
        assert!(self.row.has_stamps(), "slots without stamps");
        // SAFETY: both were just checked, and the slots live as long as the borrow.
        unsafe { self.row.stamp(index) }
    }

    /// Returns the address of the value in slot `index`; see [`SlotRow::value_address`].
    ///
    /// # Panics
    ///
    /// If there is no such slot.
    #[inline(always)]
    pub(super) fn value_address(&self, index: u64) -> *mut T {
        self.assert_in_range(index);
        // SAFETY: `index` was just checked.
        unsafe { self.row.value_address(index) }
    }

    /// Copies the value at `src` into slot `index`; see [`SlotRow::put`].
    ///
    /// # Panics
    ///
    /// If there is no such slot.
    ///
    /// # Safety
    ///
    /// There is a `T` at `src`, of which the caller gives up the ownership, and no other code is in
    /// the slot.
    #[inline(always)]
    pub(super) unsafe fn put(&self, index: u64, src: *const T) {
        self.assert_in_range(index);
        // SAFETY: `index` was just checked; the rest is in the contract.
        unsafe { self.row.put(index, src) };
    }

    /// Prefetches slot `index`; see [`SlotRow::prefetch`].
    ///
    /// # Panics
    ///
    /// If there is no such slot.
    #[inline(always)]
    pub(super) fn prefetch(&self, index: u64, intent: PrefetchIntent) {
        self.assert_in_range(index);
        // SAFETY: `index` was just checked.
        unsafe { self.row.prefetch(index, intent) };
    }

    #[inline(always)]
    fn assert_in_range(&self, index: u64) {
        assert!(index < self.len(), "no slot {index}");
    }

    /// Declares that only the slots of the positions `remaining` still contain values, which are
    /// dropped together with the slots.
    ///
    /// # Safety
    ///
    /// The slot of each of these positions holds a value, which no code uses any more.
    pub(super) unsafe fn set_remaining_positions(&mut self, remaining: Range<u64>) {
        self.remaining = remaining;
    }

    fn drop_remaining_values(&mut self) {
        let mask = self.len() - 1;
        while let Some(pos) = self.remaining.next() {
            let value = self.value_address(pos & mask);
            // SAFETY: each position has a value by the contract of `set_remaining_positions`, and
            // this one was just removed from the range; the exclusive borrow excludes all other
            // access.
            unsafe { value.drop_in_place() };
        }
    }
}

impl<T, P: SlotPacking> Drop for Slots<T, P> {
    fn drop(&mut self) {
        /// A guard that drops the values that are left in the slots, and frees the memory. It does
        /// so even if the drop of one value panics, as `Vec` does.
        struct RemainingValuesGuard<'a, T, P: SlotPacking>(&'a mut Slots<T, P>);

        impl<T, P: SlotPacking> Drop for RemainingValuesGuard<'_, T, P> {
            fn drop(&mut self) {
                let _memory = SlotMemoryGuard(self.0.row);
                self.0.drop_remaining_values();
            }
        }

        RemainingValuesGuard(self).0.drop_remaining_values();
    }
}

/// A guard that frees the memory of the slots when it is dropped.
struct SlotMemoryGuard<T, P: SlotPacking>(SlotRow<T, P>);

impl<T, P: SlotPacking> Drop for SlotMemoryGuard<T, P> {
    fn drop(&mut self) {
        let layout = SlotRow::<T, P>::memory_layout(self.0.slots, self.0.has_stamps());
        let layout = layout.expect("the memory was allocated with this layout");
        // SAFETY: `Slots::new` allocated it with this layout, and only their drop frees it.
        unsafe { alloc::dealloc(self.0.memory.as_ptr(), layout) };
    }
}

#[cfg(test)]
mod tests {
    use core::mem::ManuallyDrop;
    use std::sync::Arc;

    use super::super::lane::{MoveValues, ShareValues};
    use super::*;
    use crate::protocol::sync::Word;

    #[repr(align(128))]
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Aligned([u8; 3]);

    #[repr(align(128))]
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct AlignedUnit;

    /// Checks that each slot keeps its stamp and its value when the other slots are written.
    fn slots_do_not_overlap<T: Copy + PartialEq, P: SlotPacking>(make: impl Fn(u8) -> T) {
        for publishes_by_head in [false, true] {
            let slots = Slots::<T, P>::new(7, publishes_by_head, |index| index).unwrap();
            assert_eq!(slots.len(), 8);
            for value in 0..2 {
                for index in (0..8).rev() {
                    // SAFETY: no other code uses the slots, and the value has no drop.
                    unsafe { slots.put(index, &make(value + index as u8)) };
                }
                for index in 0..8 {
                    assert!(!slots.row.has_stamps() || slots.stamp(index).get() == index);
                    assert!(slots.value_address(index).is_aligned());
                    // SAFETY: it was put there.
                    let found = unsafe { slots.value_address(index).read() };
                    assert!(found == make(value + index as u8));
                }
            }
        }
    }

    #[test]
    fn slots_of_any_size_and_alignment_do_not_overlap() {
        fn any<T: Copy + PartialEq>(make: impl Fn(u8) -> T) {
            slots_do_not_overlap::<T, UnpackedSlots>(&make);
            slots_do_not_overlap::<T, ShareValues>(&make);
            slots_do_not_overlap::<T, MoveValues>(&make);
        }
        any(|_| ());
        any(|byte| [byte; 1]);
        any(|byte| [u64::from(byte); 1]);
        any(|byte| [byte; 17]);
        any(|byte| [byte; 57]);
        any(|byte| [u64::from(byte); 8]);
        any(|byte| [byte; 80]);
        any(|byte| [u128::from(byte); 4]);
        any(|byte| [u64::from(byte); 16]);
        any(|byte| [byte; 1480]);
        any(|byte| Aligned([byte; 3]));
        any(|_| AlignedUnit);
    }

    /// Checks that each of the remaining values is dropped exactly once.
    fn check_remaining_values_are_dropped<P: SlotPacking>() {
        let token = Arc::new(());
        let mut slots = Slots::<(Arc<()>, [u64; 7]), P>::new(4, false, |_| 0).unwrap();
        for index in 0..4 {
            let value = ManuallyDrop::new((Arc::clone(&token), [index; 7]));
            // SAFETY: no other code uses the slots, and the ownership of the value is given up.
            unsafe { slots.put(index, &raw const *value) };
        }
        // SAFETY: the value of slot 1 is taken here, and only here.
        drop(unsafe { slots.value_address(1).read() });
        // SAFETY: each of the other slots has a value, which no code uses.
        unsafe { slots.set_remaining_positions(2..5) };
        assert_eq!(Arc::strong_count(&token), 4);
        drop(slots);
        assert_eq!(Arc::strong_count(&token), 1);
    }

    #[test]
    fn values_left_in_slots_are_dropped_once() {
        check_remaining_values_are_dropped::<UnpackedSlots>();
        check_remaining_values_are_dropped::<MoveValues>();
    }

    #[test]
    #[should_panic(expected = "no slot 8")]
    fn there_is_no_slot_behind_the_last() {
        let slots = Slots::<u8, MoveValues>::new(8, false, |_| 0).unwrap();
        slots.value_address(8);
    }
}
