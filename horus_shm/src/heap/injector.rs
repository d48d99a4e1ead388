//! An injector: a stack of the entries that other threads send to a worker, from which all entries
//! are taken at once.
//!
//! Each entry contains the link to the next one, so a push allocates nothing. A worker that has
//! taken the stack keeps a limited number of entries. It returns the others to its injector as a
//! *chain*, from which it or thieves take entries before they take the next stack. The entries that
//! are kept at one time are reversed, so that the oldest of them comes first. But the newest part
//! of a long stack comes before its older parts.

use std::ptr;
use std::sync::atomic::AtomicPtr;

use crate::protocol::sync::{PointerWord, edge};

/// A type whose values can be put into an injector.
///
/// # Safety
///
/// * `injector_link` returns the same word in each call.
/// * Only the functions of this module store to that word while the value is in an injector or a
///   chain.
pub unsafe trait InjectorEntry: Sized {
    /// Returns the word in which the injector stores the pointer to the entry below this one.
    fn injector_link(&self) -> &AtomicPtr<Self>;
}

/// The memory of an injector: a stack to which any thread pushes entries, and a chain of entries
/// that its owner returned.
pub trait InjectorMemory {
    /// The type of the entries that are pushed.
    type Entry: InjectorEntry;
    /// The type of the pointers in shared memory: ordinary atomics in programs, loom atomics in
    /// models.
    type Pointer: PointerWord<Self::Entry>;

    /// Returns the pointer to the newest entry of the stack; null if the stack is empty.
    fn newest_entry(&self) -> &Self::Pointer;

    /// Returns the pointer to the newest entry of the chain; null if there is none. Only the owner
    /// stores a value other than null.
    fn newest_chain_entry(&self) -> &Self::Pointer;
}

/// Pushes `entry` onto the stack. Returns true if the stack was empty before. Lock-free: tries
/// again only if another thread was faster.
///
/// # Safety
///
/// `entry` stays valid until it is taken out, and is in no other queue.
#[inline]
pub unsafe fn inject_and_check_was_empty<M: InjectorMemory>(
    memory: &M,
    entry: *mut M::Entry,
) -> bool {
    // Relaxed: the exchange decides.
    let mut newest = memory.newest_entry().get();
    loop {
        // SAFETY: valid by the contract.
        let link = unsafe { (*entry).injector_link() };
        // Relaxed: the exchange publishes it.
        link.set(newest);
        // ORDERING(injector): pairs with the exchange in `take_all`.
        let pushed =
            memory
                .newest_entry()
                .compare_exchange_ordered(newest, entry, edge::INJECTOR_PUSH);
        match pushed {
            Ok(()) => return newest.is_null(),
            Err(found) => newest = found,
        }
        std::hint::spin_loop();
    }
}

/// Takes all entries of the chain, or all entries of the stack if there is no chain. Returns them
/// as a linked list: a pointer to its first entry, or null if there is no entry. Wait-free.
pub fn take_chain_or_stack<M: InjectorMemory>(memory: &M) -> *mut M::Entry {
    let null = ptr::null_mut();
    // Relaxed: the exchange decides.
    if !memory.newest_chain_entry().get().is_null() {
        // ORDERING(chain): pairs with the store in `put_back_as_chain`.
        let chain = memory
            .newest_chain_entry()
            .swap_ordered(null, edge::RETURNED_CHAIN_TAKE);
        if !chain.is_null() {
            return chain;
        }
    }
    // Relaxed: as above.
    if memory.newest_entry().get().is_null() {
        return null;
    }
    // ORDERING(injector): pairs with the exchange in `inject`.
    memory
        .newest_entry()
        .swap_ordered(null, edge::INJECTOR_TAKE)
}

/// Returns true if the injector had no entry when this function loaded its two pointers.
#[inline]
pub fn is_empty<M: InjectorMemory>(memory: &M) -> bool {
    // Relaxed, both: the caller orders the loads, or needs only a hint.
    memory.newest_entry().get().is_null() && memory.newest_chain_entry().get().is_null()
}

/// Stores `list` as the chain of the injector: the entries that the owner has taken from the stack,
/// but does not keep. The owner and thieves can take them again with [`take_chain_or_stack`].
///
/// # Safety
///
/// Only the owner of the injector calls this function, and the injector has no chain. `list` is not
/// null, and no other thread uses its entries.
pub unsafe fn put_back_as_chain<M: InjectorMemory>(memory: &M, list: *mut M::Entry) {
    // ORDERING(chain): pairs with the exchange in `take_all`.
    memory
        .newest_chain_entry()
        .store(list, edge::RETURNED_CHAIN_PUT);
}

/// Removes the first entry from `list` and returns it; returns null if the list is empty.
///
/// # Safety
///
/// The entries of the list are valid, and no other thread uses them.
#[inline]
pub unsafe fn pop_from_list<T: InjectorEntry>(list: &mut *mut T) -> *mut T {
    let first = *list;
    if !first.is_null() {
        // SAFETY: valid by the contract.
        let link = unsafe { (*first).injector_link() };
        // Relaxed: the list is the caller's alone.
        *list = link.get();
    }
    first
}

/// Removes the first `entries_max` entries from `list`, and returns them as a list in reverse
/// order.
///
/// # Safety
///
/// As for [`pop_from_list`].
pub unsafe fn take_first_entries_reversed<T: InjectorEntry>(
    list: &mut *mut T,
    entries_max: u32,
) -> *mut T {
    let mut reversed = ptr::null_mut();
    for _ in 0..entries_max {
        // SAFETY: by the contract.
        let entry = unsafe { pop_from_list(list) };
        if entry.is_null() {
            break;
        }
        // SAFETY: valid by the contract.
        let link = unsafe { (*entry).injector_link() };
        // Relaxed: as above.
        link.set(reversed);
        reversed = entry;
    }
    reversed
}
