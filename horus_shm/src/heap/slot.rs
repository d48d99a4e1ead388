//! Slots on the heap: a stamp, and room for a value of any type.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ops::{Deref, Range};
use core::sync::atomic::AtomicU64;

/// Distance that keeps two slots off each other's cache lines.
pub(super) const CACHE_LINE_BYTES: usize = 64;

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

    /// Where the value lies, aligned for it. Whoever goes there has to be let in by the stamps.
    #[inline(always)]
    pub(super) const fn value(&self) -> *mut T {
        self.value.get().cast()
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
