//! An injector: the entries that other threads send to a worker, on a stack that is taken as a
//! whole.
//!
//! The entries are linked through themselves, so a push allocates nothing. A worker that takes the
//! stack walks down a limited number of links. The rest is a *chain*, which it returns for itself
//! and for thieves, and which comes before the next stack. So only the parts of one stack come
//! newest first; all else comes oldest first.

use std::ptr;
use std::sync::atomic::AtomicPtr;

use crate::protocol::sync::{PointerWord, edge};

/// A type whose instances can be entries of an injector.
///
/// # Safety
///
/// * `injector_link` returns the same word in each call.
/// * Nothing else stores to that word while the instance is in an injector or a chain.
pub unsafe trait InjectorEntry: Sized {
    /// Returns the word that names the entry below this one.
    fn injector_link(&self) -> &AtomicPtr<Self>;
}

/// The memory of an injector: a stack to which any thread pushes entries, and a chain of entries
/// that its owner returned.
pub trait InjectorMemory {
    /// The type of the entries.
    type Entry: InjectorEntry;
    /// The shared pointers.
    type Pointer: PointerWord<Self::Entry>;

    /// Returns the newest entry, or null.
    fn newest(&self) -> &Self::Pointer;

    /// Returns the newest entry of the chain, or null. Only the owner stores another value than
    /// null.
    fn chain(&self) -> &Self::Pointer;
}

/// Pushes `entry`. Returns true if the injector had no entry. Lock-free: tries again only if
/// another thread was faster.
///
/// # Safety
///
/// `entry` stays valid until it is taken out, and is in no other queue.
#[inline]
pub unsafe fn inject<M: InjectorMemory>(memory: &M, entry: *mut M::Entry) -> bool {
    // Relaxed: the exchange decides.
    let mut newest = memory.newest().get();
    loop {
        // SAFETY: valid by the contract.
        let link = unsafe { (*entry).injector_link() };
        // Relaxed: the exchange publishes it.
        link.set(newest);
        // ORDERING(inject): pairs with the exchange in `take`.
        let pushed = memory
            .newest()
            .compare_exchange_at(newest, entry, edge::INJECT_PUSH);
        match pushed {
            Ok(()) => return newest.is_null(),
            Err(found) => newest = found,
        }
        std::hint::spin_loop();
    }
}

/// Takes all entries of the chain, or all of the stack if there is no chain, as a list; null if
/// there is no entry. Wait-free.
pub fn take_all<M: InjectorMemory>(memory: &M) -> *mut M::Entry {
    let null = ptr::null_mut();
    // Relaxed: the exchange decides.
    if !memory.chain().get().is_null() {
        // ORDERING(chain): pairs with the store in `put_back`.
        let chain = memory.chain().swap_at(null, edge::CHAIN_TAKE);
        if !chain.is_null() {
            return chain;
        }
    }
    // Relaxed: as above.
    if memory.newest().get().is_null() {
        return null;
    }
    // ORDERING(inject): pairs with the exchange in `inject`.
    memory.newest().swap_at(null, edge::INJECT_TAKE)
}

/// Returns true if no entry was there when the words were loaded.
#[inline]
pub fn is_empty<M: InjectorMemory>(memory: &M) -> bool {
    // Relaxed, both: the caller orders the loads, or needs only a hint.
    memory.newest().get().is_null() && memory.chain().get().is_null()
}

/// Stores `list` as the chain of the injector, from which the owner and thieves take entries.
///
/// # Safety
///
/// Only the owner of the injector calls this. It has no chain. `list` is not null, and the caller
/// has the entries for itself.
pub unsafe fn put_back<M: InjectorMemory>(memory: &M, list: *mut M::Entry) {
    // ORDERING(chain): pairs with the exchange in `take`.
    memory.chain().store(list, edge::CHAIN_RETURN);
}

/// Takes the first entry off `list`; null if there is none.
///
/// # Safety
///
/// The caller has the entries of the list for itself, and they are valid.
#[inline]
pub unsafe fn pop_front<T: InjectorEntry>(list: &mut *mut T) -> *mut T {
    let first = *list;
    if !first.is_null() {
        // SAFETY: valid by the contract.
        let link = unsafe { (*first).injector_link() };
        // Relaxed: the list is the caller's alone.
        *list = link.get();
    }
    first
}

/// Reverses the first `most` entries of `list` into a list of their own, and leaves the others.
///
/// # Safety
///
/// As of [`pop_front`].
pub unsafe fn take_reversed<T: InjectorEntry>(list: &mut *mut T, most: u32) -> *mut T {
    let mut reversed = ptr::null_mut();
    for _ in 0..most {
        // SAFETY: by the contract.
        let entry = unsafe { pop_front(list) };
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
