//! The atomic words of the handle tables, and their named memory orderings. In tests, the model
//! checker loom simulates the words.
//!
//! As in `horus_shm`, each ordering on which another thread relies is a named [`Edge`]. The models
//! can weaken it, to check that a test then fails. `docs/memory-ordering.md` lists both halves of
//! every label.
//!
//! WHY not the atomic words of `horus_shm`: handles need only half of their operations, and lie in
//! the private memory of this process.

use std::ptr;
use std::sync::atomic::{self, AtomicPtr, AtomicU64, Ordering};

/// A memory ordering with a label. `docs/memory-ordering.md` and the models refer to the ordering
/// by that label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edge {
    /// The label, as `<pair>/<half>`. The two orderings that pair with each other have the same
    /// text before the slash.
    pub(crate) label: &'static str,
    /// The memory ordering that is used outside the models.
    pub(crate) ordering: Ordering,
}

impl Edge {
    const fn new(label: &'static str, ordering: Ordering) -> Self {
        Self { label, ordering }
    }
}

/// The named orderings of the handle tables. All other accesses to shared words are `Relaxed`.
pub(crate) mod edge {
    use super::{Edge, Ordering};

    /// ORDERING(handle): Release store of a handle in its table entry. Pairs with [`HANDLE_SEE`]: a
    /// thread that sees the handle in the entry also sees the value.
    pub(crate) const HANDLE_OPEN: Edge = Edge::new("handle/open", Ordering::Release);
    /// ORDERING(handle): Acquire load, or exchange, of the handle in a table entry. Pairs with
    /// [`HANDLE_OPEN`].
    pub(crate) const HANDLE_SEE: Edge = Edge::new("handle/see", Ordering::Acquire);

    /// ORDERING(hazard): SeqCst fence of a call, between its store of the handle in a hazard word
    /// and its load of the table entry. Pairs with [`HAZARD_CLOSE`], as in Dekker's algorithm:
    /// either the call sees that the handle is closed, or the closing thread sees the call. If
    /// closing threads make the kernel execute barriers, calls execute no fence.
    pub(crate) const HAZARD_ENTER: Edge = Edge::new("hazard/enter", Ordering::SeqCst);
    /// ORDERING(hazard): SeqCst fence of a thread that closes a handle, between its mark in the
    /// table entry and its loads of the hazard words. Pairs with [`HAZARD_ENTER`].
    pub(crate) const HAZARD_CLOSE: Edge = Edge::new("hazard/close", Ordering::SeqCst);

    /// ORDERING(last_use): Release store of a call that ends, to its hazard word. Pairs with
    /// [`LAST_USE_SEE`]: the call's accesses to the value happen before the value is dropped.
    pub(crate) const LAST_USE_END: Edge = Edge::new("last_use/end", Ordering::Release);
    /// ORDERING(last_use): Acquire load of a hazard word by a thread that closes a handle. Pairs
    /// with [`LAST_USE_END`].
    pub(crate) const LAST_USE_SEE: Edge = Edge::new("last_use/see", Ordering::Acquire);

    /// ORDERING(spare): Release exchange that puts an entry into the list of free entries. Pairs
    /// with [`SPARE_POP`]: the old value was taken out before a new one is put in.
    pub(crate) const SPARE_PUSH: Edge = Edge::new("spare/push", Ordering::Release);
    /// ORDERING(spare): Acquire load of the list of free entries. Pairs with [`SPARE_PUSH`].
    pub(crate) const SPARE_POP: Edge = Edge::new("spare/pop", Ordering::Acquire);

    /// ORDERING(record): Release store of a thread that ends and frees its hazard words. Pairs with
    /// [`RECORD_CLAIM`].
    pub(crate) const RECORD_RETURN: Edge = Edge::new("record/return", Ordering::Release);
    /// ORDERING(record): Acquire exchange of a thread that takes over the hazard words of a thread
    /// that has ended. Pairs with [`RECORD_RETURN`].
    pub(crate) const RECORD_CLAIM: Edge = Edge::new("record/claim", Ordering::Acquire);

    /// ORDERING(chunk): Release exchange that publishes the address of new table entries. Pairs
    /// with [`CHUNK_SEE`].
    pub(crate) const CHUNK_PUBLISH: Edge = Edge::new("chunk/publish", Ordering::Release);
    /// ORDERING(chunk): Acquire load of the address of new table entries. Pairs with
    /// [`CHUNK_PUBLISH`].
    pub(crate) const CHUNK_SEE: Edge = Edge::new("chunk/see", Ordering::Acquire);

    /// ORDERING(records): Release exchange that publishes the hazard words of a new thread. Pairs
    /// with [`RECORDS_SEE`].
    pub(crate) const RECORDS_PUSH: Edge = Edge::new("records/push", Ordering::Release);
    /// ORDERING(records): Acquire load of the address of a thread's hazard words. Pairs with
    /// [`RECORDS_PUSH`].
    pub(crate) const RECORDS_SEE: Edge = Edge::new("records/see", Ordering::Acquire);

    /// The edges that the models can weaken, to check that a test then fails. The other edges order
    /// pointers, and follow the same pattern.
    #[cfg(test)]
    pub(crate) const MODELLED_EDGES: [Edge; 8] = [
        HANDLE_OPEN,
        HANDLE_SEE,
        HAZARD_ENTER,
        HAZARD_CLOSE,
        LAST_USE_END,
        LAST_USE_SEE,
        SPARE_PUSH,
        SPARE_POP,
    ];
}

/// An atomic word that threads share: a core atomic in the library, a loom atomic in a model.
pub(crate) trait Word {
    /// Loads the word with `Relaxed` ordering. Each caller explains in a comment why that is
    /// enough.
    fn get(&self) -> u64;
    /// Stores `value` with `Relaxed` ordering. Each caller explains in a comment why that is
    /// enough.
    fn set(&self, value: u64);
    /// Loads the word with the ordering of `edge`.
    fn load(&self, edge: Edge) -> u64;
    /// Stores `value` with the ordering of `edge`.
    fn store(&self, value: u64, edge: Edge);
    /// Replaces `old` by `new` with `Relaxed` ordering. Returns false if the word does not hold
    /// `old`.
    fn compare_exchange_relaxed(&self, old: u64, new: u64) -> bool;
    /// Replaces `old` by `new` with the ordering of `edge`. Returns false, after a relaxed load, if
    /// the word does not hold `old`.
    fn compare_exchange_ordered(&self, old: u64, new: u64, edge: Edge) -> bool;
}

impl Word for AtomicU64 {
    #[inline(always)]
    fn get(&self) -> u64 {
        AtomicU64::load(self, Ordering::Relaxed)
    }

    #[inline(always)]
    fn set(&self, value: u64) {
        AtomicU64::store(self, value, Ordering::Relaxed);
    }

    #[inline(always)]
    fn load(&self, edge: Edge) -> u64 {
        AtomicU64::load(self, edge.ordering)
    }

    #[inline(always)]
    fn store(&self, value: u64, edge: Edge) {
        AtomicU64::store(self, value, edge.ordering);
    }

    #[inline]
    fn compare_exchange_relaxed(&self, old: u64, new: u64) -> bool {
        let relaxed = Ordering::Relaxed;
        self.compare_exchange(old, new, relaxed, relaxed).is_ok()
    }

    #[inline]
    fn compare_exchange_ordered(&self, old: u64, new: u64, edge: Edge) -> bool {
        self.compare_exchange(old, new, edge.ordering, Ordering::Relaxed)
            .is_ok()
    }
}

/// Prevents the compiler from moving memory accesses across this call. This is enough if another
/// thread makes the kernel execute a barrier on this CPU.
#[inline(always)]
pub(crate) fn compiler_fence(edge: Edge) {
    atomic::compiler_fence(edge.ordering);
}

/// Executes a fence with the ordering of `edge`.
#[inline(always)]
pub(crate) fn fence(edge: Edge) {
    atomic::fence(edge.ordering);
}

/// Loads the address of an object that is created only once. Returns null if the object does not
/// exist yet.
#[inline(always)]
pub(crate) fn load_pointer<T>(place: &AtomicPtr<T>, edge: Edge) -> *mut T {
    place.load(edge.ordering)
}

/// Publishes the address `new` of an object that is created only once. Returns false if `place`
/// already holds an address.
pub(crate) fn publish_pointer<T>(place: &AtomicPtr<T>, new: *mut T, edge: Edge) -> bool {
    let nothing = ptr::null_mut();
    place
        .compare_exchange(nothing, new, edge.ordering, Ordering::Relaxed)
        .is_ok()
}

/// Inserts `new` at the front of a linked list whose first element is `first`. `next` is the field
/// of `new` that links to the next element.
pub(crate) fn push_pointer<T>(first: &AtomicPtr<T>, next: &AtomicPtr<T>, new: *mut T, edge: Edge) {
    // Relaxed: nothing is read through the pointer here.
    let mut found = first.load(Ordering::Relaxed);
    loop {
        next.store(found, Ordering::Relaxed);
        match first.compare_exchange(found, new, edge.ordering, Ordering::Relaxed) {
            Ok(_) => return,
            Err(other) => found = other,
        }
    }
}

/// Adds 1 to `count` and returns the new count. Each call returns a different number.
pub(crate) fn next_unique_number(count: &AtomicU64) -> u64 {
    count.fetch_add(1, Ordering::Relaxed) + 1
}
