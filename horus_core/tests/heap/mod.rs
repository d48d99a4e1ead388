//! An allocator that counts its calls by this thread, and the heap bytes that the thread holds, now
//! and at most.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with these counts.
pub struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn count(change: isize) {
    let held = HELD.get() + change;
    HELD.set(held);
    PEAK.set(PEAK.get().max(held));
    CALLS.set(CALLS.get() + 1);
}

// SAFETY: every call is passed to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's contract: `layout` has a size other than 0.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's contract: `layout` has a size other than 0.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // WHY: the old and the new block may exist at the same time.
        count(bytes as isize);
        count(-(layout.size() as isize));
        // SAFETY: the caller's contract: `block` is an allocation of this allocator with `layout`,
        // and `bytes` is not 0.
        unsafe { System.realloc(block, layout, bytes) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's contract: `block` is an allocation of this allocator with `layout`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the number of allocations, deallocations and changes of size by this thread so far; a
/// change of size counts twice.
pub fn allocator_calls() -> u64 {
    CALLS.get()
}

/// Begins the count of [`allocator_calls`] anew.
pub fn reset_allocator_calls() {
    CALLS.set(0);
}

/// Returns the result of `f`, and the most bytes that this thread held at once while it ran, beyond
/// those that it held before.
pub fn peak<T>(f: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let out = f();
    (out, (PEAK.get() - before) as usize)
}
