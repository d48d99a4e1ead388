//! Magazines of free blocks, the depot through which threads exchange magazines, and the slabs of
//! memory from which blocks are cut.

use core::cell::UnsafeCell;
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicU64;
use std::alloc::{self, Layout};
use std::sync::{Mutex, PoisonError};

use super::{
    BLOCK_ADDRESS_MAX, BLOCK_CLASS_COUNT, BlockClass, PREFETCHED_BLOCKS_AHEAD, prefetch_block,
};
use crate::os::region::{advise_huge_pages, advise_small_pages, move_to_huge_pages};
use crate::process::fork::ForkLocal;
use crate::protocol::depot::{self, DepotMemory};
use crate::protocol::sync::Word;

/// Number of blocks that fit in a magazine.
pub(super) const BLOCKS_PER_MAGAZINE: usize = 64;

/// Size of the first slab, in bytes. Each further slab is twice as large as the previous one, up to
/// [`SLAB_BYTES_MAX`].
const SLAB_BYTES_MIN: usize = 64 << 10;

/// Size in bytes of the largest slabs (pieces of memory from which blocks are cut): the size of a
/// huge page.
const SLAB_BYTES_MAX: usize = 2 << 20;

/// Number of bytes of a slab that must be in use before the kernel is asked to move the slab to a
/// huge page.
const USED_BYTES_BEFORE_HUGE_PAGE: usize = SLAB_BYTES_MAX / 4;

/// A stack of free blocks of one size. A magazine belongs to one thread, or to the depot that all
/// threads share.
pub(super) struct Magazine {
    /// The number of the magazine below this one in a stack of the depot; 0 if there is none.
    next: AtomicU64,
    number: u32,
    blocks: UnsafeCell<MagazineBlocks>,
}

struct MagazineBlocks {
    count: usize,
    addresses: [*mut u8; BLOCKS_PER_MAGAZINE],
}

// SAFETY: the contracts of its methods let one thread use the blocks at a time; all else is atomic
// or constant.
unsafe impl Sync for Magazine {}

impl Magazine {
    /// Takes a block out of the magazine; returns `None` if the magazine is empty.
    ///
    /// # Safety
    ///
    /// The magazine belongs to the caller.
    #[inline(always)]
    pub(super) unsafe fn pop_block(&self) -> Option<NonNull<u8>> {
        // SAFETY: no other thread uses the blocks, by the contract.
        let blocks = unsafe { &mut *self.blocks.get() };
        blocks.count = blocks.count.checked_sub(1)?;
        if let Some(ahead) = blocks.count.checked_sub(PREFETCHED_BLOCKS_AHEAD) {
            prefetch_block(blocks.addresses[ahead]);
        }
        NonNull::new(blocks.addresses[blocks.count])
    }

    /// Puts a block into the magazine. Returns false if the magazine is full.
    ///
    /// # Safety
    ///
    /// As [`Self::pop_block`].
    #[inline(always)]
    pub(super) unsafe fn push_block(&self, block: NonNull<u8>) -> bool {
        // SAFETY: as in `pop_block`.
        let blocks = unsafe { &mut *self.blocks.get() };
        let Some(address) = blocks.addresses.get_mut(blocks.count) else {
            return false;
        };
        *address = block.as_ptr();
        blocks.count += 1;
        true
    }

    /// Returns true if the magazine contains no blocks.
    ///
    /// # Safety
    ///
    /// As [`Self::pop_block`].
    pub(super) unsafe fn is_empty(&self) -> bool {
        // SAFETY: as in `pop_block`.
        let blocks = unsafe { &*self.blocks.get() };
        blocks.count == 0
    }
}

/// Number of magazines in the first chunk. Each further chunk contains twice as many as the
/// previous one.
const MAGAZINES_IN_FIRST_CHUNK: u32 = 16;

/// The largest number of a magazine. Numbers begin at 1, so all chunks together contain this many
/// magazines.
const MAGAZINE_NUMBER_MAX: u32 = depot::ITEM_NUMBER_MAX - MAGAZINES_IN_FIRST_CHUNK + 1;

/// Maximum number of chunks, which are arrays of magazines.
const MAGAZINE_CHUNKS_MAX: usize =
    (MAGAZINE_NUMBER_MAX / MAGAZINES_IN_FIRST_CHUNK).ilog2() as usize + 1;

/// The magazines that all threads share: a table of all magazines by number, and stacks of those
/// that belong to no thread.
struct MagazineDepot {
    /// The address of each chunk (array) of magazines; 0 if the chunk was not allocated yet.
    chunks: [AtomicU64; MAGAZINE_CHUNKS_MAX],
    /// Number of magazines that have been created so far.
    made: AtomicU64,
    /// For each class of blocks: the top of the stack of magazines that contain blocks. Encoded in
    /// the same way as `empty`.
    filled: [AtomicU64; BLOCK_CLASS_COUNT],
    /// The top of the stack of magazines without blocks: the number of the topmost magazine (0 if
    /// there is none), and a tag.
    empty: AtomicU64,
}

static BLOCK_DEPOT: MagazineDepot = MagazineDepot {
    chunks: [const { AtomicU64::new(0) }; MAGAZINE_CHUNKS_MAX],
    made: AtomicU64::new(0),
    filled: [const { AtomicU64::new(0) }; BLOCK_CLASS_COUNT],
    empty: AtomicU64::new(0),
};

/// The slabs, with a lock that also protects [`MagazineDepot::made`]. WHY re-created in a forked
/// child: another thread may hold the lock during the fork.
static SLAB_ALLOCATOR: ForkLocal<Mutex<SlabAllocator>> = ForkLocal::new();

impl DepotMemory for MagazineDepot {
    type Word = AtomicU64;

    fn next(&self, number: u32) -> &AtomicU64 {
        &self.magazine(number).next
    }
}

impl MagazineDepot {
    /// Returns the magazine with the number `number`, which must have been created.
    fn magazine(&self, number: u32) -> &'static Magazine {
        let (chunk, index) = chunk_and_index_of_magazine(number);
        // Relaxed: the stack or the lock that the number came from orders it.
        let first = self.chunks[chunk].get();
        let first = ptr::with_exposed_provenance::<Magazine>(first as usize);
        // SAFETY: the chunk of a magazine that was made exists, with this many magazines.
        let magazine = unsafe { first.add(index) };
        // SAFETY: as above; chunks are initialised and never freed.
        unsafe { &*magazine }
    }

    /// Creates a magazine that contains no blocks.
    #[cold]
    fn create_empty_magazine(&self) -> &'static Magazine {
        let _lock = slab_allocator()
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Relaxed, all of it: the lock orders it.
        let number = self.made.get() as u32 + 1;
        assert!(number <= MAGAZINE_NUMBER_MAX, "too many magazines");
        let (chunk, _) = chunk_and_index_of_magazine(number);
        if self.chunks[chunk].get() == 0 {
            self.chunks[chunk].set(allocate_magazine_chunk(chunk));
        }
        self.made.set(u64::from(number));
        self.magazine(number)
    }
}

/// Returns the place of the magazine with the number `number`: the index of its chunk, and its
/// index in that chunk.
const fn chunk_and_index_of_magazine(number: u32) -> (usize, usize) {
    let place = number - 1 + MAGAZINES_IN_FIRST_CHUNK;
    let chunk = place.ilog2() - MAGAZINES_IN_FIRST_CHUNK.ilog2();
    (
        chunk as usize,
        (place - (MAGAZINES_IN_FIRST_CHUNK << chunk)) as usize,
    )
}

/// Allocates the array of magazines of the chunk with index `chunk`, and returns its address.
fn allocate_magazine_chunk(chunk: usize) -> u64 {
    let count = MAGAZINES_IN_FIRST_CHUNK << chunk;
    let first = (0..chunk)
        .map(|earlier| MAGAZINES_IN_FIRST_CHUNK << earlier)
        .sum::<u32>()
        + 1;
    let magazines = (first..first + count).map(|number| Magazine {
        next: AtomicU64::new(0),
        number,
        blocks: UnsafeCell::new(MagazineBlocks {
            count: 0,
            addresses: [ptr::null_mut(); BLOCKS_PER_MAGAZINE],
        }),
    });
    let magazines: Box<[_]> = magazines.collect();
    Box::into_raw(magazines)
        .cast::<Magazine>()
        .expose_provenance() as u64
}

/// Takes a magazine with blocks of this class out of the depot. It then belongs to the caller.
/// Returns `None` if the depot has none.
pub(super) fn pop_filled_magazine(class: BlockClass) -> Option<&'static Magazine> {
    let number = depot::pop_item(&BLOCK_DEPOT, &BLOCK_DEPOT.filled[class.number() as usize])?;
    Some(BLOCK_DEPOT.magazine(number))
}

/// Returns a magazine without blocks, from the depot or newly created. It belongs to the caller.
pub(super) fn take_empty_magazine() -> &'static Magazine {
    match depot::pop_item(&BLOCK_DEPOT, &BLOCK_DEPOT.empty) {
        Some(number) => BLOCK_DEPOT.magazine(number),
        None => BLOCK_DEPOT.create_empty_magazine(),
    }
}

/// Gives a magazine that belongs to the caller to the depot. Its blocks, if any, have the class
/// `class`.
pub(super) fn return_magazine(magazine: &'static Magazine, class: BlockClass) {
    // SAFETY: the magazine is the caller's.
    let top = if unsafe { magazine.is_empty() } {
        &BLOCK_DEPOT.empty
    } else {
        &BLOCK_DEPOT.filled[class.number() as usize]
    };
    depot::push_item(&BLOCK_DEPOT, top, magazine.number);
}

/// The state of the allocator for new blocks: the present slab (piece of memory), from which blocks
/// are cut, and the size of the next one.
struct SlabAllocator {
    /// The address of the first byte of the present slab that has not been used yet.
    free: *mut u8,
    free_bytes: usize,
    /// The size of the next slab, in bytes.
    next_bytes: usize,
    /// The address of the present slab, if it is as large as a huge page but still consists of
    /// small pages; else null.
    of_small_pages: *mut u8,
    /// True until the kernel has failed to move a slab to a huge page. After that it is not tried
    /// again.
    moves_pages: bool,
}

// SAFETY: it owns the memory that is free.
unsafe impl Send for SlabAllocator {}

impl Default for SlabAllocator {
    fn default() -> Self {
        Self {
            free: ptr::null_mut(),
            free_bytes: 0,
            next_bytes: SLAB_BYTES_MIN,
            of_small_pages: ptr::null_mut(),
            moves_pages: true,
        }
    }
}

fn slab_allocator() -> &'static Mutex<SlabAllocator> {
    SLAB_ALLOCATOR.get()
}

/// Fills an empty magazine, which belongs to the caller, with new blocks of the given class: at
/// least one.
pub(super) fn fill_magazine(magazine: &Magazine, class: BlockClass) {
    let mut slabs = slab_allocator()
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    slabs.skip_to_multiple_of(class.bytes());
    if slabs.free_bytes < class.bytes() {
        slabs.allocate_slab();
    }
    let count = (slabs.free_bytes / class.bytes()).min(BLOCKS_PER_MAGAZINE);
    // WHY the last block first: blocks are taken in the order of their addresses.
    for index in (0..count).rev() {
        let block = slabs.free.wrapping_add(index * class.bytes());
        let block = NonNull::new(block).expect("a slab has no address 0");
        // SAFETY: the magazine is the caller's.
        let is_in = unsafe { magazine.push_block(block) };
        debug_assert!(is_in, "an empty magazine has room");
    }
    slabs.skip_bytes(count * class.bytes());
    slabs.move_to_huge_page_if_used();
}

impl SlabAllocator {
    /// Skips unused bytes of the present slab, up to the next address that is a multiple of
    /// `bytes`, a power of two.
    fn skip_to_multiple_of(&mut self, bytes: usize) {
        let skipped = self.free.addr().wrapping_neg() & (bytes - 1);
        self.skip_bytes(skipped.min(self.free_bytes));
    }

    fn skip_bytes(&mut self, bytes: usize) {
        self.free = self.free.wrapping_add(bytes);
        self.free_bytes -= bytes;
    }

    /// Asks the kernel to move the present slab to a huge page, if enough of the slab is in use.
    ///
    /// WHY not at once: a huge page occupies all its memory from its first byte on. 100,000 idle
    /// actors need 164 bytes each if the last slab, which is only partly used, is a huge page, and
    /// 146 bytes if it is not. WHY at all: without huge pages, 100,000 actors with ten messages
    /// each take a quarter more time.
    fn move_to_huge_page_if_used(&mut self) {
        let used_bytes = SLAB_BYTES_MAX - self.free_bytes;
        if !self.of_small_pages.is_null() && used_bytes >= USED_BYTES_BEFORE_HUGE_PAGE {
            let slab = std::mem::replace(&mut self.of_small_pages, ptr::null_mut());
            self.moves_pages = move_to_huge_pages(slab, SLAB_BYTES_MAX);
        }
    }

    /// Allocates a new slab, from which blocks are cut from now on.
    #[cold]
    fn allocate_slab(&mut self) {
        let bytes = self.next_bytes;
        // WHY aligned to its size: a full-size slab is one huge page.
        let layout = Layout::from_size_align(bytes, bytes).expect("sizes are powers of two");
        // SAFETY: the size is not 0.
        let slab = unsafe { alloc::alloc(layout) };
        if slab.is_null() {
            alloc::handle_alloc_error(layout);
        }
        assert!(
            (slab.addr() + bytes - 1) as u64 <= BLOCK_ADDRESS_MAX,
            "memory above 2^48 cannot hold messages"
        );
        if bytes == SLAB_BYTES_MAX && self.moves_pages {
            advise_small_pages(slab, bytes);
            self.of_small_pages = slab;
        } else if bytes == SLAB_BYTES_MAX {
            advise_huge_pages(slab, bytes);
        }
        self.free = slab;
        self.free_bytes = bytes;
        self.next_bytes = (2 * bytes).min(SLAB_BYTES_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_one_position() {
        assert_eq!(chunk_and_index_of_magazine(1), (0, 0));
        assert_eq!(
            chunk_and_index_of_magazine(MAGAZINES_IN_FIRST_CHUNK),
            (0, MAGAZINES_IN_FIRST_CHUNK as usize - 1)
        );
        assert_eq!(
            chunk_and_index_of_magazine(MAGAZINES_IN_FIRST_CHUNK + 1),
            (1, 0)
        );
        assert_eq!(
            chunk_and_index_of_magazine(3 * MAGAZINES_IN_FIRST_CHUNK + 1),
            (2, 0)
        );
        let (chunk, index) = chunk_and_index_of_magazine(MAGAZINE_NUMBER_MAX);
        assert!(
            chunk < MAGAZINE_CHUNKS_MAX && index < (MAGAZINES_IN_FIRST_CHUNK as usize) << chunk
        );
    }

    #[test]
    fn a_magazine_is_found_by_its_number() {
        for _ in 0..3 * MAGAZINES_IN_FIRST_CHUNK {
            let made = BLOCK_DEPOT.create_empty_magazine();
            assert!(ptr::eq(made, BLOCK_DEPOT.magazine(made.number)));
            return_magazine(made, BlockClass::for_bytes(16).expect("a small block"));
        }
    }
}
