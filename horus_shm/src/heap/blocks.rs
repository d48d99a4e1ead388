//! Blocks: small pieces of memory for messages, answers and cells, which threads pass to each
//! other.
//!
//! A block has one of five sizes. Each thread has two *magazines* of free blocks of each size, so
//! that most blocks are allocated and freed without an access to shared memory. Threads exchange
//! full and empty magazines through the [depot](magazines). The addresses of free blocks are stored
//! in magazines, never in the blocks, so that freeing a block does not touch its cache line. Memory
//! is never returned to the system: a process keeps as much as it ever used at one time.

mod magazines;

use core::cell::{Cell, UnsafeCell};
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::{self, NonNull};

use std::alloc::{self, Layout};

use self::magazines::{BLOCKS_PER_MAGAZINE, Magazine};
use crate::process::fork::install_handlers;
use crate::protocol::copy::{self, CACHE_LINE_BYTES, PrefetchIntent};
use crate::protocol::mailbox::{self, Tag};

/// Number of block sizes: the sizes are 16 bytes times powers of two.
const BLOCK_CLASS_COUNT: usize = 5;

/// The size of the smallest blocks, in bytes.
const BLOCK_BYTES_MIN: usize = 16;

/// The size of the largest blocks, in bytes.
const BLOCK_BYTES_MAX: usize = BLOCK_BYTES_MIN << (BLOCK_CLASS_COUNT - 1);

/// The largest address that a block may have, because the word of a mailbox has only so many bits
/// for it.
pub(super) const BLOCK_ADDRESS_MAX: u64 = mailbox::BLOCK_ADDRESS_MAX;

/// Distance of the prefetch of free blocks: when a thread takes a block, it prefetches the block
/// that it will take this many blocks later.
const PREFETCHED_BLOCKS_AHEAD: usize = 6;

/// Maximum number of blocks of one size that a thread can reserve for itself: as many as fit in its
/// two magazines.
pub const RESERVED_BLOCKS_MAX: usize = 2 * BLOCKS_PER_MAGAZINE;

/// A size class of blocks. Class number n has blocks of 16 × 2^n bytes, which are aligned to their
/// size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockClass(u8);

impl BlockClass {
    /// Returns the class of the smallest blocks that have room for `bytes` bytes; `None` if no
    /// block is large enough.
    pub(super) const fn for_bytes(bytes: usize) -> Option<Self> {
        let mut class = 0;
        while (BLOCK_BYTES_MIN << class) < bytes {
            class += 1;
        }
        if class < BLOCK_CLASS_COUNT {
            Some(Self(class as u8))
        } else {
            None
        }
    }

    /// Returns the class with the number `number`, which [`Self::number`] has returned.
    pub(super) const fn from_number(number: u8) -> Self {
        Self(number)
    }

    pub(super) const fn number(self) -> u8 {
        self.0
    }

    const fn bytes(self) -> usize {
        BLOCK_BYTES_MIN << self.0
    }
}

/// The two magazines that a thread has for blocks of one class. Blocks are taken from the first
/// one, and put back into it. WHY two: a thread that takes and frees blocks in turn, while its
/// first magazine is just full or empty, does not access the depot each time.
struct MagazinePair {
    loaded: Cell<Option<&'static Magazine>>,
    spare: Cell<Option<&'static Magazine>>,
}

/// The magazines (stacks of free blocks) of one thread, two for each size. They are given to the
/// depot when the thread ends.
struct ThreadMagazines([MagazinePair; BLOCK_CLASS_COUNT]);

thread_local! {
    static THREAD_MAGAZINES: ThreadMagazines = const { ThreadMagazines::new() };
}

/// Allocates a block of the given class. The thread does not wait, unless the process needs more
/// memory from the system.
#[inline]
pub(super) fn allocate_block(class: BlockClass) -> NonNull<u8> {
    // WHY an alternative: destructors of other thread locals run after this one is gone.
    THREAD_MAGAZINES
        .try_with(|local| local.allocate_block(class))
        .unwrap_or_else(|_| ThreadMagazines::new().allocate_block(class))
}

/// Frees a block of the given class. The thread does not wait, unless memory for new magazines has
/// to be allocated.
///
/// # Safety
///
/// The block was allocated with the same class, and nothing uses it any more.
#[inline]
pub(super) unsafe fn free_block(block: NonNull<u8>, class: BlockClass) {
    THREAD_MAGAZINES
        .try_with(|local| local.free_block(block, class))
        .unwrap_or_else(|_| ThreadMagazines::new().free_block(block, class));
}

/// Reserves memory so that this thread can send `count` messages of type `T` without an allocation
/// from the system. `count` is at most [`RESERVED_BLOCKS_MAX`]. A real-time thread should call this
/// function before its real-time work begins.
///
/// The function has no effect on messages of more than 248 bytes, each of which is allocated when
/// it is sent.
pub fn reserve_blocks<T>(count: usize) {
    let class = Envelope::<T>::BLOCK_CLASS;
    let blocks: Vec<_> = (0..count.min(RESERVED_BLOCKS_MAX))
        .map(|_| allocate_block(class))
        .collect();
    for block in blocks {
        // SAFETY: its memory is the caller's. WHY: the first access to a page is a fault.
        unsafe { block.write(0) };
        // SAFETY: it was just taken with this class.
        unsafe { free_block(block, class) };
    }
}

impl ThreadMagazines {
    const fn new() -> Self {
        Self(
            [const {
                MagazinePair {
                    loaded: Cell::new(None),
                    spare: Cell::new(None),
                }
            }; BLOCK_CLASS_COUNT],
        )
    }

    #[inline(always)]
    fn allocate_block(&self, class: BlockClass) -> NonNull<u8> {
        let pair = &self.0[class.0 as usize];
        // SAFETY: a loaded magazine is this thread's.
        let found = pair
            .loaded
            .get()
            .and_then(|loaded| unsafe { loaded.pop_block() });
        found.unwrap_or_else(|| pair.refill_and_pop(class))
    }

    #[inline(always)]
    fn free_block(&self, block: NonNull<u8>, class: BlockClass) {
        let pair = &self.0[class.0 as usize];
        // SAFETY: a loaded magazine is this thread's.
        let is_in = pair
            .loaded
            .get()
            .is_some_and(|loaded| unsafe { loaded.push_block(block) });
        if !is_in {
            pair.unload_and_push(block, class);
        }
    }
}

impl MagazinePair {
    /// Takes a block if the thread's first magazine has none or does not exist: replaces the first
    /// magazine by one with blocks, or fills it, before that.
    #[cold]
    fn refill_and_pop(&self, class: BlockClass) -> NonNull<u8> {
        let spare = self.spare.get();
        // SAFETY: the spare magazine is this thread's.
        if spare.is_some_and(|spare| !unsafe { spare.is_empty() }) {
            self.loaded.swap(&self.spare);
        } else if let Some(full) = magazines::pop_filled_magazine(class) {
            if let Some(empty) = self.loaded.replace(Some(full)) {
                magazines::return_magazine(empty, class);
            }
        } else {
            let empty = self
                .loaded
                .get()
                .unwrap_or_else(magazines::take_empty_magazine);
            self.loaded.set(Some(empty));
            magazines::fill_magazine(empty, class);
        }
        let loaded = self.loaded.get();
        // SAFETY: the loaded magazine is this thread's.
        let block = loaded.and_then(|loaded| unsafe { loaded.pop_block() });
        block.expect("a magazine that was filled has a block")
    }

    /// Frees a block if the thread's first magazine is full or does not exist: replaces the first
    /// magazine by an empty one before that.
    #[cold]
    fn unload_and_push(&self, block: NonNull<u8>, class: BlockClass) {
        let spare = self.spare.get();
        // SAFETY: the spare magazine is this thread's.
        if spare.is_some_and(|spare| unsafe { spare.is_empty() }) {
            self.loaded.swap(&self.spare);
        } else {
            if let Some(full) = spare {
                magazines::return_magazine(full, class);
            }
            self.spare.set(self.loaded.get());
            self.loaded.set(Some(magazines::take_empty_magazine()));
        }
        let loaded = self.loaded.get();
        // SAFETY: the loaded magazine is this thread's.
        let is_in = loaded.is_some_and(|loaded| unsafe { loaded.push_block(block) });
        debug_assert!(is_in, "an empty magazine has room");
    }
}

impl Drop for ThreadMagazines {
    fn drop(&mut self) {
        for (class, pair) in (0..).map(BlockClass).zip(&self.0) {
            let own = [pair.loaded.take(), pair.spare.take()];
            own.into_iter()
                .flatten()
                .for_each(|magazine| magazines::return_magazine(magazine, class));
        }
    }
}

/// Prefetches, for writing, the first cache line of a free block that this thread will take soon.
#[inline(always)]
fn prefetch_block(block: *mut u8) {
    copy::prefetch_lines(block, 1, PrefetchIntent::Write);
}

/// The content of a block that is sent to a mailbox: a link to the next older block, and a value.
#[repr(C)]
struct LinkedBlock<T> {
    link: UnsafeCell<u64>,
    content: MaybeUninit<T>,
}

/// A value in a block of its own, which can be sent to an actor without copying the value. Dropping
/// the envelope drops the value.
///
/// ```
/// use horus_shm::internals::heap::Envelope;
///
/// assert_eq!(Envelope::new("content").into_inner(), "content");
/// ```
pub struct Envelope<T> {
    block: NonNull<u8>,
    content: PhantomData<T>,
}

// SAFETY: it owns its value, and blocks belong to no thread.
unsafe impl<T: Send> Send for Envelope<T> {}
// SAFETY: a shared envelope gives no access to the value.
unsafe impl<T: Send> Sync for Envelope<T> {}

impl<T> Envelope<T> {
    const IS_BOXED: bool = size_of::<LinkedBlock<T>>() > BLOCK_BYTES_MAX;

    /// The size class of the blocks that hold values of type `T`.
    const BLOCK_CLASS: BlockClass = {
        let bytes = if Self::IS_BOXED {
            size_of::<LinkedBlock<Box<T>>>()
        } else {
            size_of::<LinkedBlock<T>>()
        };
        BlockClass::for_bytes(bytes).expect("a box is small")
    };

    /// Allocates a block, and moves `value` into it.
    #[inline(always)]
    #[must_use]
    pub fn new(value: T) -> Self {
        // WHY: a value that were dropped if `allocate_block` panicked would need an address, and be
        // written there before it is copied.
        let value = ManuallyDrop::new(value);
        let block = allocate_block(Self::BLOCK_CLASS);
        let value = ManuallyDrop::into_inner(value);
        if Self::IS_BOXED {
            let content = Box::into_raw(Box::new(value));
            // SAFETY: the block is large enough for a box, aligned, and this thread's.
            unsafe { value_address_in::<*mut T>(block).write(content) };
        } else {
            // SAFETY: the block is large enough for the value, aligned, and this thread's.
            unsafe { value_address_in::<T>(block).write(value) };
        }
        Self {
            block,
            content: PhantomData,
        }
    }

    /// Moves the value out of the block, and frees the block.
    #[inline(always)]
    #[must_use]
    pub fn into_inner(self) -> T {
        let block = ManuallyDrop::new(self).block;
        // SAFETY: the block has a value of this type, which `self` owned.
        let value = unsafe { Self::take_value_at(block_address(block)) };
        // SAFETY: the block is of this class, and its value was moved out.
        unsafe { free_block(block, Self::BLOCK_CLASS) };
        value
    }

    /// Returns the address of the block. The caller owns the block and its value from now on.
    #[inline(always)]
    pub(super) fn into_block_address(self) -> u64 {
        block_address(ManuallyDrop::new(self).block)
    }

    /// Returns an envelope that owns the block at `address`.
    ///
    /// # Safety
    ///
    /// `address` was returned by [`Self::into_block_address`], and the value was not moved out of
    /// the block.
    #[inline(always)]
    pub(super) unsafe fn from_block_address(address: u64) -> Self {
        Self {
            // SAFETY: the address of a block, by the contract.
            block: unsafe { block_from_address(address) },
            content: PhantomData,
        }
    }

    /// Moves the value out of the block at `address`, without freeing the block.
    ///
    /// # Safety
    ///
    /// As [`Self::from_block_address`].
    #[inline(always)]
    pub(super) unsafe fn take_value_at(address: u64) -> T {
        // SAFETY: the address of a block, by the contract.
        let block = unsafe { block_from_address(address) };
        if Self::IS_BOXED {
            // SAFETY: `new` wrote the address of a box there.
            let content = unsafe { value_address_in::<*mut T>(block).read() };
            // SAFETY: as above; the value was not moved out.
            *unsafe { Box::from_raw(content) }
        } else {
            // SAFETY: `new` wrote the value, which was not moved out.
            unsafe { value_address_in::<T>(block).read() }
        }
    }

    /// Returns the tag with which the block of this envelope is sent to a mailbox. `kind` says what
    /// the value is.
    pub(super) const fn block_tag(kind: u8, is_counted: bool) -> Tag {
        make_block_tag(kind, Self::BLOCK_CLASS, is_counted)
    }
}

impl<T> Drop for Envelope<T> {
    fn drop(&mut self) {
        let block = self.block;
        // SAFETY: the block has a value, which is not used after this.
        let value = unsafe { Self::take_value_at(block_address(block)) };
        // SAFETY: the block is of this class, and its value was moved out.
        unsafe { free_block(block, Self::BLOCK_CLASS) };
        drop(value);
    }
}

impl<T> core::fmt::Debug for Envelope<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Envelope").finish_non_exhaustive()
    }
}

/// Number of bits of a tag that hold the kind of the block. The bits above them hold its size
/// class.
const BLOCK_KIND_BITS: u32 = 3;

/// Returns the tag of blocks of this kind and class. `is_counted` says whether they count in the
/// mailbox's depth.
pub(super) const fn make_block_tag(kind: u8, class: BlockClass, is_counted: bool) -> Tag {
    Tag::new(kind | class.0 << BLOCK_KIND_BITS, is_counted)
}

/// Returns the kind that is stored in the tag of a block.
pub(super) const fn block_kind_of(tag: Tag) -> u8 {
    tag.kind() & ((1 << BLOCK_KIND_BITS) - 1)
}

/// Returns the size class that is stored in the tag of a block.
pub(super) const fn block_class_of(tag: Tag) -> BlockClass {
    BlockClass::from_number(tag.kind() >> BLOCK_KIND_BITS)
}

/// Returns the address of a block as a number. [`block_from_address`] converts it back.
#[inline(always)]
pub(super) fn block_address(block: NonNull<u8>) -> u64 {
    block.as_ptr().expose_provenance() as u64
}

/// Converts the address of a block, as a number, back to a pointer.
///
/// # Safety
///
/// `address` was returned by [`block_address`].
#[inline(always)]
pub(super) unsafe fn block_from_address(address: u64) -> NonNull<u8> {
    // SAFETY: no block is at address 0.
    unsafe { NonNull::new_unchecked(ptr::with_exposed_provenance_mut(address as usize)) }
}

/// Returns the address of the value in a block, which comes after the link.
#[inline(always)]
fn value_address_in<T>(block: NonNull<u8>) -> *mut T {
    let offset = core::mem::offset_of!(LinkedBlock<T>, content);
    block.as_ptr().wrapping_add(offset).cast()
}

/// Returns the address of the link in the block at `address`. The link is the block's first word.
///
/// # Safety
///
/// As [`block_from_address`].
#[inline(always)]
pub(super) unsafe fn link_of_block_at(address: u64) -> NonNull<u64> {
    // SAFETY: the contract.
    unsafe { block_from_address(address) }.cast()
}

/// Allocates memory of the given layout. Small memory is taken from a block; larger memory comes
/// from the system, aligned to cache lines.
pub(super) fn allocate(layout: Layout) -> NonNull<u8> {
    if let Some(class) = BlockClass::for_bytes(layout.size()) {
        return allocate_block(class);
    }
    // WHY: without the handlers, a forked child would use its copies. They lack memory only where
    // the allocation below does, too.
    let _ = install_handlers();
    let layout = align_to_cache_line_pair(layout);
    // SAFETY: the size is not 0.
    let memory = unsafe { alloc::alloc(layout) };
    let Some(memory) = NonNull::new(memory) else {
        alloc::handle_alloc_error(layout)
    };
    memory
}

/// Frees memory that [`allocate`] returned.
///
/// # Safety
///
/// The memory was allocated with this layout, and no code uses it any more.
pub(super) unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
    match BlockClass::for_bytes(layout.size()) {
        // SAFETY: `allocate` took it with this class.
        Some(class) => unsafe { free_block(memory, class) },
        // SAFETY: `allocate` allocated it with this layout.
        None => unsafe { alloc::dealloc(memory.as_ptr(), align_to_cache_line_pair(layout)) },
    }
}

/// Returns `layout` with its alignment raised to at least two cache lines.
fn align_to_cache_line_pair(layout: Layout) -> Layout {
    layout
        .align_to(2 * CACHE_LINE_BYTES)
        .expect("a layout this large overflows nothing")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// A class of blocks that no other test of this binary uses.
    const OWN: BlockClass = BlockClass((BLOCK_CLASS_COUNT - 1) as u8);

    fn take_and_give(count: usize) -> Vec<usize> {
        let blocks: Vec<_> = (0..count).map(|_| allocate_block(OWN)).collect();
        for &block in &blocks {
            // SAFETY: it was taken with this class, and nothing uses it.
            unsafe { free_block(block, OWN) };
        }
        blocks.iter().map(|block| block.addr().get()).collect()
    }

    /// Checks that freed blocks are used again: by the same thread, and after the end of that
    /// thread by other threads.
    #[test]
    fn blocks_are_used_again() {
        let rounds = if cfg!(miri) { 3 } else { 40 };
        let count = 5 * BLOCKS_PER_MAGAZINE + 3;
        let mut seen = HashSet::new();
        for _ in 0..rounds {
            seen.extend(take_and_give(count));
            let ended = std::thread::spawn(move || take_and_give(count));
            seen.extend(ended.join().expect("the thread ends"));
        }
        let most = 2 * (count + 2 * BLOCKS_PER_MAGAZINE);
        assert!(seen.len() <= most, "{} blocks of {most}", seen.len());
        assert!(seen.iter().all(|address| address % OWN.bytes() == 0));
    }

    #[test]
    fn a_class_holds_its_bytes() {
        for bytes in 0..=BLOCK_BYTES_MAX {
            let class = BlockClass::for_bytes(bytes).expect("a small block");
            assert!(class.bytes() >= bytes);
            assert!(class.0 == 0 || class.bytes() / 2 < bytes);
        }
        assert_eq!(BlockClass::for_bytes(BLOCK_BYTES_MAX + 1), None);
    }
}
