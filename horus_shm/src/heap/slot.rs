//! Slots on the heap: a stamp, and room for a value of any type.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ops::{Deref, Range};
use core::ptr;
use core::sync::atomic::AtomicU64;

use crate::copy::{self, CACHE_LINE_BYTES, Intent};
use crate::sync;

/// Lines of one slot that are asked for, at most.
const PREFETCH_LINES_MAX: usize = 64;

/// A stamp and a value, in lines of their own.
#[repr(C, align(64))]
pub(super) struct Slot<T> {
    pub(super) stamp: AtomicU64,
    value: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Slot<T> {
    /// An empty slot.
    pub(super) const fn new(stamp: u64) -> Self {
        let value = UnsafeCell::new(MaybeUninit::uninit());
        Self { stamp: AtomicU64::new(stamp), value }
    }

    /// Cache lines of a slot.
    pub(super) const LINES: usize = size_of::<Self>() / CACHE_LINE_BYTES;

    /// Where the value lies, aligned for it. Whoever goes there has to be let in by the stamps.
    #[inline(always)]
    pub(super) const fn value(&self) -> *mut T {
        self.value.get().cast()
    }

    /// Copies the value at `src` in, line by line: what lies in the stamp's line comes last.
    ///
    /// WHY: a reader that waits looks at the stamp all the time. What is written to its line long
    /// before the stamp is, brings the line here once more than needed: 40 ns at 256 bytes. And
    /// each of the others is written at once, for the reader asks for it meanwhile: 512 bytes from
    /// one thread to another 340 -> 220 ns.
    ///
    /// # Safety
    ///
    /// There is a `T` at `src`, which the caller gives away, and nobody else is in the slot.
    #[inline(always)]
    pub(super) unsafe fn put(&self, src: *const T) {
        let (src, dst) = (src.cast::<u8>(), self.value().cast::<u8>());
        let near = size_of::<T>().min(CACHE_LINE_BYTES - size_of::<AtomicU64>());
        let mut at = near;
        // WHY in two parts: a whole line is copied without a call.
        while size_of::<T>() - at >= CACHE_LINE_BYTES {
            let (from, to) = (src.wrapping_add(at), dst.wrapping_add(at));
            // SAFETY: a part of the value, behind what is near.
            unsafe { ptr::copy_nonoverlapping(from, to, CACHE_LINE_BYTES) };
            // ORDERING(copy_order): for the compiler alone; line by line, the near one last.
            sync::keep_order();
            at += CACHE_LINE_BYTES;
        }
        let (from, to) = (src.wrapping_add(at), dst.wrapping_add(at));
        // SAFETY: the end of the value, unless it is short.
        unsafe { ptr::copy_nonoverlapping(from, to, size_of::<T>() - at) };
        // ORDERING(copy_order): as above.
        sync::keep_order();
        // SAFETY: the beginning of the value.
        unsafe { ptr::copy_nonoverlapping(src, dst, near) };
    }

    /// Asks for the slot's lines, as far as it makes sense. A hint.
    #[inline(always)]
    pub(super) fn prefetch(&self, intent: Intent) {
        let lines = Self::LINES.min(PREFETCH_LINES_MAX);
        copy::prefetch(ptr::from_ref(self).cast(), lines, intent);
    }
}

/// The slots of a ring, and at its end the values that are still in them.
pub(super) struct Slots<T> {
    slots: Box<[Slot<T>]>,
    left: Range<u64>,
}

impl<T> Slots<T> {
    /// Empty slots for `capacity` values, a power of two of them, with these stamps.
    ///
    /// # Panics
    ///
    /// If there is no such power, or no such memory.
    pub(super) fn new(capacity: u64, stamp: impl Fn(u64) -> u64) -> Self {
        let slots = capacity.checked_next_power_of_two().expect("capacity overflow");
        Self { slots: (0..slots).map(|index| Slot::new(stamp(index))).collect(), left: 0..0 }
    }

    /// Says that the drop is to drop the values at the positions `left`.
    ///
    /// # Safety
    ///
    /// Each of them has a value in its slot, which nobody uses any more.
    pub(super) unsafe fn leave(&mut self, left: Range<u64>) {
        self.left = left;
    }

    fn drop_left(&mut self) {
        let mask = self.slots.len() as u64 - 1;
        for pos in self.left.by_ref() {
            let slot = &mut self.slots[(pos & mask) as usize];
            // SAFETY: promised for each position in `leave`, and this one was just taken off the
            // range; the exclusive borrow keeps all others out.
            unsafe { slot.value.get_mut().assume_init_drop() };
        }
    }
}

impl<T> Deref for Slots<T> {
    type Target = [Slot<T>];

    #[inline(always)]
    fn deref(&self) -> &[Slot<T>] {
        &self.slots
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        /// Goes on with the others if one value panics in its drop, as a `Vec` does.
        struct Others<'a, T>(&'a mut Slots<T>);

        impl<T> Drop for Others<'_, T> {
            fn drop(&mut self) {
                self.0.drop_left();
            }
        }

        Others(self).0.drop_left();
    }
}

const _: () = assert!(size_of::<Slot<u64>>() == CACHE_LINE_BYTES);
