//! The atomic operations of the lane algorithms: words that may be in real or simulated memory, and
//! memory orderings that have names.
//!
//! Each ordering on which another thread or process relies is a named [`Edge`]. On real memory an
//! edge compiles to its ordering. The loom models can weaken any single edge by its name; at least
//! one model must then fail. `docs/memory-ordering.md` lists both halves of every label.

pub mod edge;
mod pointer;

use core::sync::atomic::{self, AtomicU8, AtomicU32, AtomicU64, Ordering};

pub use self::pointer::PointerWord;

/// The memory ordering of certain accesses or fences, with a label. `docs/memory-ordering.md`
/// explains the need for each label, and models test that no weaker ordering suffices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The name of the edge, such as `slot/publish`: the name of the pair to which it belongs, a
    /// slash, and its own name in the pair.
    pub label: &'static str,
    /// The memory ordering of the access or fence. (A model may weaken it.)
    pub ordering: Ordering,
}

impl Edge {
    const fn new(label: &'static str, ordering: Ordering) -> Self {
        Self { label, ordering }
    }
}

/// Keeps the compiler from moving writes across this call. WHY: speed depends on the order in which
/// cache lines are written. Correctness depends on this call only where another thread executes a
/// barrier on all CPUs.
#[inline(always)]
pub(crate) fn keep_compiler_order() {
    // ORDERING(copy_order): SeqCst, for the compiler only. Pairs with nothing.
    atomic::compiler_fence(Ordering::SeqCst);
}

/// A shared 64-bit word: an ordinary atomic in programs, a loom atomic in models.
pub trait Word {
    /// Loads the word with relaxed ordering. Each caller has a comment that says why that is
    /// enough.
    fn get(&self) -> u64;
    /// Stores `value` with relaxed ordering. Each caller has a comment that says why that is
    /// enough.
    fn set(&self, value: u64);
    /// Loads the word with the ordering of `edge`.
    fn load(&self, edge: Edge) -> u64;
    /// Stores `value` with the ordering of `edge`.
    fn store(&self, value: u64, edge: Edge);
    /// Sets the bits that are set in `bits`, atomically and with the ordering of `edge`.
    fn set_bits_ordered(&self, bits: u64, edge: Edge);
    /// Clears the bits that are set in `bits`, atomically and with the ordering of `edge`.
    fn clear_bits_ordered(&self, bits: u64, edge: Edge);
    /// Sets the bits that are set in `bits`, atomically and with relaxed ordering.
    fn set_bits_relaxed(&self, bits: u64);
    /// Clears the bits that are set in `bits`, atomically and with relaxed ordering.
    fn clear_bits_relaxed(&self, bits: u64);
    /// Adds one to the word, atomically and with relaxed ordering.
    fn fetch_add_one(&self);
    /// Adds one to the word, atomically and with the ordering of `edge`.
    fn fetch_add_one_ordered(&self, edge: Edge);
    /// Subtracts one from the word, atomically and with relaxed ordering.
    fn fetch_sub_one(&self);
    /// Subtracts one from the word, atomically and with the ordering of `edge`.
    fn fetch_sub_one_ordered(&self, edge: Edge);
    /// Subtracts `value` from the word, atomically and with relaxed ordering. Returns the previous
    /// value.
    fn fetch_sub_relaxed(&self, value: u64) -> u64;
    /// Subtracts `value` from the word, atomically and with the ordering of `edge`. Returns the
    /// previous value.
    fn fetch_sub_ordered(&self, value: u64, edge: Edge) -> u64;
    /// Replaces the word by `value`, atomically and with the ordering of `edge`. Returns the
    /// previous value.
    fn swap_ordered(&self, value: u64, edge: Edge) -> u64;
    /// Replaces the word by `new` if its value is `old`, atomically and with relaxed ordering.
    /// Returns true if it did.
    fn compare_exchange_relaxed(&self, old: u64, new: u64) -> bool;
    /// Replaces the word by `new` if it is `old`, atomically. Returns true if it was replaced. The
    /// ordering is that of `edge`, or relaxed if the word is not replaced.
    fn compare_exchange_ordered(&self, old: u64, new: u64, edge: Edge) -> bool;
}

/// The ordering of loads that need no ordering. WHY not always relaxed: ThreadSanitizer does not
/// understand fences, and would report accesses that are ordered by a fence as data races.
const UNORDERED_LOAD: Ordering = if IS_THREAD_SANITIZER {
    // ORDERING(sanitizer): pairs with `UNORDERED_STORE` and `UNORDERED_EXCHANGE`.
    Ordering::Acquire
} else {
    Ordering::Relaxed
};

/// The ordering of stores that need no ordering; see [`UNORDERED_LOAD`].
const UNORDERED_STORE: Ordering = if IS_THREAD_SANITIZER {
    // ORDERING(sanitizer): pairs with `UNORDERED_LOAD` and `UNORDERED_EXCHANGE`.
    Ordering::Release
} else {
    Ordering::Relaxed
};

/// The ordering of exchanges that need no ordering; see [`UNORDERED_LOAD`].
const UNORDERED_EXCHANGE: Ordering = if IS_THREAD_SANITIZER {
    // ORDERING(sanitizer): pairs with `UNORDERED_LOAD`, `UNORDERED_STORE` and itself.
    Ordering::AcqRel
} else {
    Ordering::Relaxed
};

/// True if the code is compiled for ThreadSanitizer, which does not take fences into account.
const IS_THREAD_SANITIZER: bool = cfg!(horus_sanitizer = "thread");

/// Returns the memory ordering of an atomic exchange (read-modify-write) whose edge is `edge`.
#[inline(always)]
const fn exchange_ordering(edge: Edge) -> Ordering {
    if IS_THREAD_SANITIZER {
        UNORDERED_EXCHANGE
    } else {
        edge.ordering
    }
}

impl Word for AtomicU64 {
    #[inline(always)]
    fn get(&self) -> u64 {
        AtomicU64::load(self, UNORDERED_LOAD)
    }

    #[inline(always)]
    fn set(&self, value: u64) {
        AtomicU64::store(self, value, UNORDERED_STORE);
    }

    #[inline(always)]
    fn load(&self, edge: Edge) -> u64 {
        AtomicU64::load(self, edge.ordering)
    }

    #[inline(always)]
    fn fetch_add_one_ordered(&self, edge: Edge) {
        self.fetch_add(1, exchange_ordering(edge));
    }

    #[inline(always)]
    fn store(&self, value: u64, edge: Edge) {
        AtomicU64::store(self, value, edge.ordering);
    }

    #[inline]
    fn set_bits_ordered(&self, bits: u64, edge: Edge) {
        AtomicU64::fetch_or(self, bits, exchange_ordering(edge));
    }

    #[inline]
    fn clear_bits_ordered(&self, bits: u64, edge: Edge) {
        AtomicU64::fetch_and(self, !bits, exchange_ordering(edge));
    }

    fn set_bits_relaxed(&self, bits: u64) {
        self.fetch_or(bits, UNORDERED_EXCHANGE);
    }

    fn clear_bits_relaxed(&self, bits: u64) {
        self.fetch_and(!bits, UNORDERED_EXCHANGE);
    }

    fn fetch_add_one(&self) {
        self.fetch_add(1, UNORDERED_EXCHANGE);
    }

    fn fetch_sub_one(&self) {
        self.fetch_sub(1, UNORDERED_EXCHANGE);
    }

    fn fetch_sub_one_ordered(&self, edge: Edge) {
        self.fetch_sub(1, exchange_ordering(edge));
    }

    #[inline(always)]
    fn fetch_sub_relaxed(&self, value: u64) -> u64 {
        self.fetch_sub(value, UNORDERED_EXCHANGE)
    }

    #[inline(always)]
    fn fetch_sub_ordered(&self, value: u64, edge: Edge) -> u64 {
        self.fetch_sub(value, exchange_ordering(edge))
    }

    #[inline(always)]
    fn swap_ordered(&self, value: u64, edge: Edge) -> u64 {
        self.swap(value, exchange_ordering(edge))
    }

    #[inline]
    fn compare_exchange_relaxed(&self, old: u64, new: u64) -> bool {
        self.compare_exchange(old, new, UNORDERED_EXCHANGE, UNORDERED_LOAD)
            .is_ok()
    }

    #[inline]
    fn compare_exchange_ordered(&self, old: u64, new: u64, edge: Edge) -> bool {
        self.compare_exchange(old, new, exchange_ordering(edge), UNORDERED_LOAD)
            .is_ok()
    }
}

/// A shared word on which threads can sleep, because the kernel compares its value before a sleep.
/// It is a core atomic on real memory, and a loom atomic in a model.
///
/// WHY 32 bits: the kernel compares words of this size, and an access to a part of a larger atomic
/// would formally be a data race.
pub trait FutexWord {
    /// Loads the word with relaxed ordering. Each caller has a comment that says why that is
    /// enough.
    fn load_relaxed(&self) -> u32;
    /// Adds one to the word, atomically and with relaxed ordering. The word wraps around to 0.
    fn fetch_add_one(&self);
}

impl FutexWord for AtomicU32 {
    fn load_relaxed(&self) -> u32 {
        AtomicU32::load(self, UNORDERED_LOAD)
    }

    fn fetch_add_one(&self) {
        self.fetch_add(1, UNORDERED_EXCHANGE);
    }
}

/// Keeps the compiler from moving memory accesses across this call. Executes no instruction: on the
/// CPU, the accesses are ordered by a barrier that another process or thread makes.
#[inline(always)]
pub(crate) fn compiler_fence(edge: Edge) {
    atomic::compiler_fence(edge.ordering);
}

/// Executes a memory fence with the ordering of `edge` on the CPU (not in a model).
#[inline(always)]
pub(crate) fn fence(edge: Edge) {
    atomic::fence(edge.ordering);
}

/// Loads a hint: a byte whose value affects only speed, not correctness.
#[inline(always)]
pub(crate) fn load_hint(hint: &AtomicU8) -> u8 {
    hint.load(Ordering::Relaxed)
}

/// Stores a hint: a byte whose value affects only speed, not correctness.
#[inline(always)]
pub(crate) fn store_hint(hint: &AtomicU8, value: u8) {
    hint.store(value, Ordering::Relaxed);
}
