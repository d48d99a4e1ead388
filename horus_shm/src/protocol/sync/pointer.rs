//! Shared pointers, as the lane algorithms use words.

use core::sync::atomic::AtomicPtr;

use super::{Edge, UNORDERED_EXCHANGE, UNORDERED_LOAD, UNORDERED_STORE, exchange_ordering};

/// A shared pointer: a core atomic on real memory, a loom atomic in a model.
pub trait PointerWord<T> {
    /// Loads the pointer, relaxed. The caller says why that is enough.
    fn get(&self) -> *mut T;
    /// Stores `new`, relaxed. The caller says why that is enough.
    fn set(&self, new: *mut T);
    /// Stores `new` with the edge's ordering.
    fn store(&self, new: *mut T, edge: Edge);
    /// Replaces the pointer by `new`, relaxed, and returns the old one.
    fn swap_relaxed(&self, new: *mut T) -> *mut T;
    /// Replaces the pointer by `new` with the edge's ordering, and returns the old one.
    fn swap_at(&self, new: *mut T, edge: Edge) -> *mut T;
    /// Replaces `old` by `new` with the edge's ordering; relaxed on failure, which returns the
    /// pointer found.
    fn compare_exchange_at(&self, old: *mut T, new: *mut T, edge: Edge) -> Result<(), *mut T>;
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
    fn swap_at(&self, new: *mut T, edge: Edge) -> *mut T {
        self.swap(new, exchange_ordering(edge))
    }

    #[inline(always)]
    fn compare_exchange_at(&self, old: *mut T, new: *mut T, edge: Edge) -> Result<(), *mut T> {
        self.compare_exchange(old, new, exchange_ordering(edge), UNORDERED_LOAD)
            .map(drop)
    }
}
