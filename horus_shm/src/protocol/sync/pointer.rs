//! Shared pointers: atomic operations on pointers, which correspond to those of `Word`.

use core::sync::atomic::AtomicPtr;

use super::{Edge, UNORDERED_EXCHANGE, UNORDERED_LOAD, UNORDERED_STORE, exchange_ordering};

/// A shared pointer: an ordinary atomic in programs, a loom atomic in models.
pub trait PointerWord<T> {
    /// Loads the pointer with relaxed ordering. Each caller has a comment that says why that is
    /// enough.
    fn get(&self) -> *mut T;
    /// Stores `new` with relaxed ordering. Each caller has a comment that says why that is enough.
    fn set(&self, new: *mut T);
    /// Stores `new` with the ordering of `edge`.
    fn store(&self, new: *mut T, edge: Edge);
    /// Replaces the pointer by `new` atomically, with relaxed ordering, and returns the previous
    /// pointer.
    fn swap_relaxed(&self, new: *mut T) -> *mut T;
    /// Replaces the pointer by `new` atomically, with the ordering of `edge`, and returns the
    /// previous pointer.
    fn swap_ordered(&self, new: *mut T, edge: Edge) -> *mut T;
    /// Replaces the pointer by `new` if it is `old`, atomically and with the ordering of `edge`. If
    /// it is a different pointer, returns that pointer as the error; the ordering is then relaxed.
    fn compare_exchange_ordered(&self, old: *mut T, new: *mut T, edge: Edge) -> Result<(), *mut T>;
}

impl<T> PointerWord<T> for AtomicPtr<T> {
    #[inline(always)]
    fn get(&self) -> *mut T {
        AtomicPtr::load(self, UNORDERED_LOAD)
    }

    #[inline(always)]
    fn set(&self, new: *mut T) {
        AtomicPtr::store(self, new, UNORDERED_STORE);
    }

    #[inline(always)]
    fn store(&self, new: *mut T, edge: Edge) {
        AtomicPtr::store(self, new, edge.ordering);
    }

    #[inline(always)]
    fn swap_relaxed(&self, new: *mut T) -> *mut T {
        self.swap(new, UNORDERED_EXCHANGE)
    }

    #[inline(always)]
    fn swap_ordered(&self, new: *mut T, edge: Edge) -> *mut T {
        self.swap(new, exchange_ordering(edge))
    }

    #[inline(always)]
    fn compare_exchange_ordered(&self, old: *mut T, new: *mut T, edge: Edge) -> Result<(), *mut T> {
        self.compare_exchange(old, new, exchange_ordering(edge), UNORDERED_LOAD)
            .map(drop)
    }
}
