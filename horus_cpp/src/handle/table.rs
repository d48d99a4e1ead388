//! Tables of handles. Their entries are allocated in chunks when they are needed, and never freed.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64};

use super::sync::{Word, edge, load_pointer, publish_pointer};
use super::{
    GENERATION_MAX, GENERATION_SHIFT, HandleEntry, HandleError, KIND_SHIFT, hazard, spare,
};

const CHUNK_BITS: u32 = 8;
const CHUNK_ENTRIES: usize = 1 << CHUNK_BITS;
const CHUNKS_MAX: usize = 1024;

/// Maximum number of handles of one kind that can be open at the same time.
pub(crate) const HANDLES_MAX: usize = CHUNKS_MAX * CHUNK_ENTRIES;

/// The table of all values and handles of one kind.
#[derive(Debug)]
pub(super) struct Table<T: 'static> {
    kind: u8,
    chunks: [AtomicPtr<[HandleEntry<T>; CHUNK_ENTRIES]>; CHUNKS_MAX],
    /// Number of entries that have been used at least once. Entries at this index and above were
    /// never used.
    used: AtomicU64,
    /// The head of the stack of free entries. The module [`spare`] describes its encoding.
    free: AtomicU64,
}

// SAFETY: the value of an entry is accessed by the thread that popped it off the free list, by the
// thread that closed it, and in between through `Slab` or `SharedSlab`, which control the access.
unsafe impl<T: Send> Sync for Table<T> {}

impl<T> Table<T> {
    pub(super) const fn new(handle_kind: u8) -> Self {
        assert!(handle_kind != 0, "0 is the kind of null");
        Self {
            kind: handle_kind,
            chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS_MAX],
            used: AtomicU64::new(0),
            free: AtomicU64::new(0),
        }
    }

    /// Returns the entry at the index that `handle` contains. Returns `None` if the table is for
    /// another kind of handle, or has no entry at that index. Does not check that the handle is
    /// open.
    #[inline]
    pub(super) fn entry(&self, handle: u64) -> Option<&HandleEntry<T>> {
        if handle >> KIND_SHIFT != u64::from(self.kind) {
            return None;
        }
        self.entry_at(handle as u32)
    }

    #[inline]
    fn entry_at(&self, index: u32) -> Option<&HandleEntry<T>> {
        let chunk = self.chunks.get((index >> CHUNK_BITS) as usize)?;
        // ORDERING(chunk): pairs with the exchange in `make_chunk`.
        let chunk = load_pointer(chunk, edge::CHUNK_SEE);
        // SAFETY: null, or a chunk that `make_chunk` leaked.
        let chunk = unsafe { chunk.as_ref() }?;
        chunk.get(index as usize % CHUNK_ENTRIES)
    }

    pub(super) fn handle_error(&self, handle: u64) -> HandleError {
        let found = (handle >> KIND_SHIFT) as u8;
        let wanted = self.kind;
        match handle {
            // WHY also the greatest number: `Namespace` of the C++ wrapper has it when it is empty,
            // because 0 is the namespace of the environment.
            0 | u64::MAX => HandleError::Null,
            _ if found != wanted => HandleError::Kind { found, wanted },
            _ => HandleError::Stale,
        }
    }

    /// Stores `value` in a free entry, opens the entry, and returns its handle.
    pub(super) fn put(&self, value: T) -> Result<u64, HandleError> {
        let index = spare::pop_entry(&self.free, |index| Some(&self.entry_at(index)?.next));
        let index = index
            .or_else(|| self.claim_unused_index())
            .ok_or(HandleError::TooMany)?;
        let entry = self.entry_at(index).ok_or(HandleError::TooMany)?;
        // Relaxed: the entry belongs to this thread only.
        let generation = entry.generation.get() + 1;
        entry.generation.set(generation);
        // SAFETY: as above; its state is 0, so no call accesses it.
        unsafe { *entry.value.get() = Some(value) };
        let kind = u64::from(self.kind) << KIND_SHIFT;
        let handle = kind | generation << GENERATION_SHIFT | u64::from(index);
        hazard::publish_handle(&entry.state, handle);
        Ok(handle)
    }

    /// Takes the value out of the entry of `handle`, and puts the entry into the list of free
    /// entries.
    ///
    /// # Safety
    ///
    /// The caller has marked the entry as closed, and no call uses the value.
    pub(super) unsafe fn take(&self, handle: u64) -> Option<T> {
        let entry = self.entry_at(handle as u32)?;
        // SAFETY: the entry is marked and no call uses the value, by the contract.
        let value = unsafe { (*entry.value.get()).take() };
        // WHY: an entry whose generations are used up stays empty; otherwise an old handle could
        // stand for a new value.
        if entry.generation.get() < u64::from(GENERATION_MAX) {
            spare::push_entry(&self.free, &entry.next, handle as u32);
        }
        value
    }

    /// Returns the index of an entry that was never used, and marks it as used; `None` if there is
    /// none left.
    fn claim_unused_index(&self) -> Option<u32> {
        loop {
            // Relaxed: only the numbers themselves matter.
            let used = self.used.get();
            let index = u32::try_from(used)
                .ok()
                .filter(|_| used < HANDLES_MAX as u64)?;
            self.make_chunk((index >> CHUNK_BITS) as usize);
            if self.used.compare_exchange_relaxed(used, used + 1) {
                return Some(index);
            }
        }
    }

    fn make_chunk(&self, chunk: usize) {
        let place = &self.chunks[chunk];
        // ORDERING(chunk): as in `at`.
        if !load_pointer(place, edge::CHUNK_SEE).is_null() {
            return;
        }
        let made = Box::into_raw(Box::new([const { HandleEntry::new() }; CHUNK_ENTRIES]));
        // ORDERING(chunk): pairs with the load in `at`: a thread that sees the chunk sees its
        // entries.
        if !publish_pointer(place, made, edge::CHUNK_PUBLISH) {
            // SAFETY: another thread was faster, and no thread saw this chunk.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}
