//! Slots on the heap: each has a stamp, and memory for a value of any type.

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicU64;
use std::alloc::{self, Layout};

use crate::protocol::copy::{self, CACHE_LINE_BYTES, PrefetchIntent};
use crate::protocol::sync;

/// Maximum number of cache lines of a slot that are prefetched.
const PREFETCH_LINES_MAX: usize = 64;

/// A slot of a lane or a ring: a stamp, and memory for one value.
#[repr(C)]
pub(super) struct Slot<T> {
    pub(super) stamp: AtomicU64,
    value: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Slot<T> {
    /// Number of cache lines that a slot occupies if it begins at a cache line. It may use only a
    /// part of the last one.
    pub(super) const LINES: usize = size_of::<Self>().div_ceil(CACHE_LINE_BYTES);

    /// True if a slot needs several cache lines and, if it begins at a cache line, more than a
    /// quarter of their bytes are padding.
    const WASTES_CACHE_LINES: bool = {
        let lines = Self::LINES * CACHE_LINE_BYTES;
        Self::LINES > 1 && 4 * (lines - size_of::<Self>()) > lines
    };

    /// Returns the distance between the starts of two neighbouring slots in bytes. It is a number
    /// of whole cache lines, unless `P` packs slots of this size.
    pub(super) const fn slot_distance<P: Packing>() -> usize {
        if P::PACKS_SPARSE && Self::WASTES_CACHE_LINES {
            size_of::<Self>()
        } else if P::PACKS_SMALL && Self::LINES == 1 {
            // WHY a power of two: then no slot lies in two lines.
            size_of::<Self>().next_power_of_two()
        } else {
            Self::LINES * CACHE_LINE_BYTES
        }
    }

    /// Returns the address of the value, which is aligned for its type. Only code that may access
    /// the slot according to its stamp may use the address.
    #[inline(always)]
    pub(super) const fn value(&self) -> *mut T {
        self.value.get().cast()
    }

    /// Copies the value at `src` into the slot, one cache line after the other. The part of the
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
    /// There is a `T` at `src`, of which the caller gives up the ownership, and no other code is in
    /// the slot.
    #[inline(always)]
    pub(super) unsafe fn put(&self, src: *const T) {
        let src = src.cast::<u8>();
        let dst = self.value().cast::<u8>();
        let near = size_of::<T>().min(CACHE_LINE_BYTES - size_of::<AtomicU64>());
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
        // SAFETY: the end of the value; empty if the value fits into the stamp's line.
        unsafe { ptr::copy_nonoverlapping(from, to, size_of::<T>() - at) };
        // ORDERING(copy_order): as above.
        sync::keep_compiler_order();
        // SAFETY: the beginning of the value.
        unsafe { ptr::copy_nonoverlapping(src, dst, near) };
    }

    /// Prefetches the cache lines of the slot, but at most [`PREFETCH_LINES_MAX`]. It is only a
    /// hint.
    #[inline(always)]
    pub(super) fn prefetch(&self, intent: PrefetchIntent) {
        let lines = Self::LINES.min(PREFETCH_LINES_MAX);
        copy::prefetch(ptr::from_ref(self).cast(), lines, intent);
    }
}

/// A policy that decides which slots share cache lines. WHY slots share lines: it takes 7 ns to
/// transfer a line from another core, however many messages are in it.
pub trait Packing {
    /// True if there are no gaps between slots for values of 57 to 80 or of 121 to 128 bytes, with
    /// an alignment of at most 8.
    ///
    /// Compared with slots on separate cache lines, the latency of one message of 64 B between two
    /// threads is the same. The throughput increases from 72 to 115 million messages a second (from
    /// 65 to 82 if the core's other hardware thread is busy). With 128 B the throughput increases
    /// from 51 to 64 million, and the latency by 4 %. WHY not if several threads write: two of them
    /// send only 12 million messages of 64 B a second, instead of 17 million.
    const PACKS_SPARSE: bool;

    /// True if slots that are smaller than a cache line are packed: the distance between two slots
    /// is the smallest power of two that is large enough.
    ///
    /// Between two threads on two cores, the latency of one message of 8 or 16 bytes is the same as
    /// with slots on separate lines (161 -> 159 ns, 160 -> 162 ns). The throughput increases from
    /// 68 to 204 and from 79 to 110 million messages a second. WHY a power of two: with slots of 24
    /// bytes without gaps, the throughput for 16 bytes is 135 million, but the latency is 166 ns,
    /// because a slot may lie in two lines. WHY not if several threads read: each of them takes the
    /// line away from the writer, and the throughput of messages of 8 bytes to two readers
    /// decreases from 73 to 14 million.
    const PACKS_SMALL: bool;
}

/// The packing policy of rings to whose slots several threads write: no two slots share a cache
/// line.
#[derive(Debug)]
pub(super) enum Unpacked {}

impl Packing for Unpacked {
    const PACKS_SPARSE: bool = false;
    const PACKS_SMALL: bool = false;
}

/// The address and the number of the slots of a lane. A copy refers to the same slots.
pub(super) struct SlotRow<T, P> {
    first: NonNull<Slot<T>>,
    slots: u64,
    packing: PhantomData<P>,
}

impl<T, P: Packing> SlotRow<T, P> {
    /// A row without slots, for code that uses only other parts of a lane.
    pub(super) const EMPTY: Self = Self {
        first: NonNull::dangling(),
        slots: 0,
        packing: PhantomData,
    };

    /// Returns the number of slots.
    #[inline(always)]
    pub(super) const fn len(&self) -> u64 {
        self.slots
    }

    /// Returns the address of the slot with index `index`.
    ///
    /// # Safety
    ///
    /// `index` is below [`Self::len`], and the [`Slots`] exist.
    #[inline(always)]
    pub(super) unsafe fn at(&self, index: u64) -> *mut Slot<T> {
        debug_assert!(index < self.slots);
        // SAFETY: within the memory of the slots, as `index` is below their number by the contract.
        unsafe {
            self.first
                .as_ptr()
                .byte_add(index as usize * Slot::<T>::slot_distance::<P>())
        }
    }

    /// Returns the memory layout of all slots together; `None` if its size would overflow.
    fn layout(&self) -> Option<Layout> {
        let bytes = usize::try_from(self.slots)
            .ok()?
            .checked_mul(Slot::<T>::slot_distance::<P>())?;
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

/// The slots of a lane or a ring, with their memory. Dropping them drops the values that
/// [`Self::set_remaining`] has stated.
pub(super) struct Slots<T, P: Packing> {
    row: SlotRow<T, P>,
    left: Range<u64>,
}

// SAFETY: they own their values, and nothing in them is tied to a thread.
unsafe impl<T: Send, P: Packing> Send for Slots<T, P> {}

impl<T, P: Packing> Slots<T, P> {
    /// Allocates empty slots for `capacity` values, rounded up to a power of two. `stamp` returns
    /// the first stamp of the slot with the given index.
    ///
    /// # Panics
    ///
    /// If the number of slots, or the size of their memory, overflows.
    pub(super) fn new(capacity: u64, stamp: impl Fn(u64) -> u64) -> Self {
        let slots = capacity
            .checked_next_power_of_two()
            .expect("capacity overflow");
        let mut row = SlotRow {
            slots,
            ..SlotRow::EMPTY
        };
        let layout = row.layout().expect("capacity overflow");
        // SAFETY: a slot does not have size 0, and there is at least one.
        let memory = unsafe { alloc::alloc(layout) };
        let Some(first) = NonNull::new(memory.cast()) else {
            alloc::handle_alloc_error(layout)
        };
        row.first = first;
        // WHY before the loop: if `stamp` panics, the memory is freed.
        let made = Self { row, left: 0..0 };
        for index in 0..slots {
            let value = UnsafeCell::new(MaybeUninit::uninit());
            let slot = Slot {
                stamp: AtomicU64::new(stamp(index)),
                value,
            };
            // SAFETY: `index` is below the number of slots.
            let place = unsafe { row.at(index) };
            // SAFETY: in bounds and aligned, and no other code knows of it.
            unsafe { place.write(slot) };
        }
        made
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

    /// Returns slot `index`.
    ///
    /// # Panics
    ///
    /// If there is no such slot.
    #[inline(always)]
    pub(super) fn at(&self, index: u64) -> &Slot<T> {
        assert!(index < self.len(), "no slot {index}");
        // SAFETY: `index` was just checked.
        let slot = unsafe { self.row.at(index) };
        // SAFETY: it was initialised in `new`, and is made for shared access.
        unsafe { &*slot }
    }

    /// States that only the slots of the positions `left` still contain values, which are then
    /// dropped with the slots.
    ///
    /// # Safety
    ///
    /// The slot of each of these positions holds a value, which no code uses any more.
    pub(super) unsafe fn set_remaining(&mut self, left: Range<u64>) {
        self.left = left;
    }

    fn drop_remaining(&mut self) {
        let mask = self.len() - 1;
        while let Some(pos) = self.left.next() {
            let value = self.at(pos & mask).value();
            // SAFETY: each position has a value by the contract of `leave`, and this one was just
            // removed from the range; the exclusive borrow excludes all other access.
            unsafe { value.drop_in_place() };
        }
    }
}

impl<T, P: Packing> Drop for Slots<T, P> {
    fn drop(&mut self) {
        /// A guard that drops the remaining values. It does so even if the drop of one value
        /// panics, as `Vec` does.
        struct RemainingSlots<'a, T, P: Packing>(&'a mut Slots<T, P>);

        impl<T, P: Packing> Drop for RemainingSlots<'_, T, P> {
            fn drop(&mut self) {
                let _memory = SlotMemory(self.0.row);
                self.0.drop_remaining();
            }
        }

        RemainingSlots(self).0.drop_remaining();
    }
}

/// A guard that frees the memory of the slots when it is dropped.
struct SlotMemory<T, P: Packing>(SlotRow<T, P>);

impl<T, P: Packing> Drop for SlotMemory<T, P> {
    fn drop(&mut self) {
        let layout = self
            .0
            .layout()
            .expect("the memory was allocated with this layout");
        // SAFETY: `Slots::new` allocated it with this layout, and only their drop frees it.
        unsafe { alloc::dealloc(self.0.first.as_ptr().cast(), layout) };
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

    /// Checks that each slot keeps its stamp and its value when the other slots are written.
    fn slots_do_not_overlap<T: Copy + PartialEq, P: Packing>(make: impl Fn(u8) -> T) {
        let slots = Slots::<T, P>::new(7, |index| index);
        assert_eq!(slots.len(), 8);
        for value in 0..2 {
            for index in (0..8).rev() {
                // SAFETY: no other code uses the slots, and the value has no drop.
                unsafe { slots.at(index).put(&make(value + index as u8)) };
            }
            for index in 0..8 {
                assert_eq!(slots.at(index).stamp.get(), index);
                assert!(slots.at(index).value().is_aligned());
                // SAFETY: it was put there.
                assert!(unsafe { slots.at(index).value().read() } == make(value + index as u8));
            }
        }
    }

    #[test]
    fn slots_of_any_size_and_alignment_do_not_overlap() {
        fn any<T: Copy + PartialEq>(make: impl Fn(u8) -> T) {
            slots_do_not_overlap::<T, Unpacked>(&make);
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
    }

    /// Checks that each of the remaining values is dropped exactly once.
    fn check_remaining_values_are_dropped<P: Packing>() {
        let token = Arc::new(());
        let mut slots = Slots::<(Arc<()>, [u64; 7]), P>::new(4, |_| 0);
        for index in 0..4 {
            let value = ManuallyDrop::new((Arc::clone(&token), [index; 7]));
            // SAFETY: no other code uses the slots, and the ownership of the value is given up.
            unsafe { slots.at(index).put(&raw const *value) };
        }
        // SAFETY: the value of slot 1 is taken here, and only here.
        drop(unsafe { slots.at(1).value().read() });
        // SAFETY: each of the other slots has a value, which no code uses.
        unsafe { slots.set_remaining(2..5) };
        assert_eq!(Arc::strong_count(&token), 4);
        drop(slots);
        assert_eq!(Arc::strong_count(&token), 1);
    }

    #[test]
    fn values_left_in_slots_are_dropped_once() {
        check_remaining_values_are_dropped::<Unpacked>();
        check_remaining_values_are_dropped::<MoveValues>();
    }

    #[test]
    #[should_panic(expected = "no slot 8")]
    fn there_is_no_slot_behind_the_last() {
        Slots::<u8, MoveValues>::new(8, |_| 0).at(8);
    }
}
