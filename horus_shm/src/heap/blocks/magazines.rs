//! Magazines of free blocks, the depot through which threads exchange magazines, and the slabs of
//! memory from which blocks are cut.

use core::cell::UnsafeCell;
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicU64;
use std::alloc::{self, Layout};
use std::sync::{Mutex, PoisonError};

use super::{
    BLOCK_ADDRESS_MAX, BLOCK_CLASSES, BlockClass, PREFETCHED_BLOCKS_AHEAD, prefetch_block,
};
use crate::os::region::{advise_huge_pages, advise_small_pages, move_to_huge_pages};
use crate::process::fork::ForkLocal;
use crate::protocol::depot::{self, DepotMemory};
use crate::protocol::sync::Word;

/// Number of blocks that a full magazine contains.
pub(super) const MAGAZINE_BLOCKS: usize = 64;

/// Size of the first slab, in bytes. Each further slab is twice as large as the previous one, up to
/// [`SLAB_BYTES_MAX`].
const SLAB_BYTES_MIN: usize = 64 << 10;

/// Size of the largest slabs, in bytes: that of a huge page.
const SLAB_BYTES_MAX: usize = 2 << 20;

/// Number of bytes of a slab that have to be in use before the slab is moved to a huge page.
const USED_BYTES_BEFORE_MOVE: usize = SLAB_BYTES_MAX / 4;

/// A stack of free blocks of one size. It belongs to one thread, or to the depot.
pub(super) struct Magazine {
    /// The number of the next magazine below this one in a stack of the depot.
    next: AtomicU64,
    number: u32,
    blocks: UnsafeCell<MagazineBlocks>,
}

struct MagazineBlocks {
    count: usize,
    addresses: [*mut u8; MAGAZINE_BLOCKS],
}

// SAFETY: the contracts of its methods let one thread use the blocks at a time; all else is atomic
// or constant.
unsafe impl Sync for Magazine {}

impl Magazine {
    /// Takes a block out of the magazine; returns `None` if it is empty.
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
        // SAFETY: as in `pop`.
        let blocks = unsafe { &mut *self.blocks.get() };
        let Some(address) = blocks.addresses.get_mut(blocks.count) else {
            return false;
        };
        *address = block.as_ptr();
        blocks.count += 1;
        true
    }

    /// Returns true if the magazine contains no block.
    ///
    /// # Safety
    ///
    /// As [`Self::pop_block`].
    pub(super) unsafe fn is_empty(&self) -> bool {
        // SAFETY: as in `pop`.
        let blocks = unsafe { &*self.blocks.get() };
        blocks.count == 0
    }
}

/// Number of magazines in the first chunk. Each further chunk has twice as many as the previous
/// one.
const FIRST_CHUNK_MAGAZINES: u32 = 16;

/// The largest number that a magazine can have, which is also the number of magazines in all chunks
/// together.
const MAGAZINE_NUMBER_MAX: u32 = depot::ITEM_NUMBER_MAX - FIRST_CHUNK_MAGAZINES + 1;

/// Maximum number of chunks of magazines.
const CHUNK_COUNT: usize = (MAGAZINE_NUMBER_MAX / FIRST_CHUNK_MAGAZINES).ilog2() as usize + 1;

/// The magazines of the process, by their numbers, and stacks of the magazines that belong to no
/// thread.
struct Depot {
    /// The address of each chunk of magazines; 0 if the chunk has not been allocated.
    chunks: [AtomicU64; CHUNK_COUNT],
    /// The number of magazines that have been created so far.
    made: AtomicU64,
    /// For each class of blocks, the top of the stack of magazines that contain blocks, encoded as
    /// in `empty`.
    filled: [AtomicU64; BLOCK_CLASSES],
    /// The top of the stack of magazines without blocks: the number of the topmost magazine, or 0,
    /// and a tag.
    empty: AtomicU64,
}

static DEPOT: Depot = Depot {
    chunks: [const { AtomicU64::new(0) }; CHUNK_COUNT],
    made: AtomicU64::new(0),
    filled: [const { AtomicU64::new(0) }; BLOCK_CLASSES],
    empty: AtomicU64::new(0),
};

/// The slabs, with a lock that also protects [`Depot::made`]. WHY re-created in a forked child:
/// another thread may hold the lock during the fork.
static SLABS: ForkLocal<Mutex<Slabs>> = ForkLocal::new();

impl DepotMemory for Depot {
    type Word = AtomicU64;

    fn next(&self, number: u32) -> &AtomicU64 {
        &self.magazine(number).next
    }
}

impl Depot {
    /// Returns magazine `number`, which must have been created.
    fn magazine(&self, number: u32) -> &'static Magazine {
        let (chunk, index) = chunk_position(number);
        // Relaxed: the stack or the lock that the number came from orders it.
        let first = self.chunks[chunk].get();
        let first = ptr::with_exposed_provenance::<Magazine>(first as usize);
        // SAFETY: the chunk of a magazine that was made exists, with this many magazines.
        let magazine = unsafe { first.add(index) };
        // SAFETY: as above; chunks are initialised and never freed.
        unsafe { &*magazine }
    }

    /// Creates a magazine without blocks.
    #[cold]
    fn make_magazine(&self) -> &'static Magazine {
        let _lock = slabs().lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed, all of it: the lock orders it.
        let number = self.made.get() as u32 + 1;
        assert!(number <= MAGAZINE_NUMBER_MAX, "too many magazines");
        let (chunk, _) = chunk_position(number);
        if self.chunks[chunk].get() == 0 {
            self.chunks[chunk].set(make_chunk(chunk));
        }
        self.made.set(u64::from(number));
        self.magazine(number)
    }
}

/// Returns the index of the chunk that contains magazine `number`, and the index of the magazine in
/// that chunk.
const fn chunk_position(number: u32) -> (usize, usize) {
    let place = number - 1 + FIRST_CHUNK_MAGAZINES;
    let chunk = place.ilog2() - FIRST_CHUNK_MAGAZINES.ilog2();
    (
        chunk as usize,
        (place - (FIRST_CHUNK_MAGAZINES << chunk)) as usize,
    )
}

/// Allocates the magazines of a chunk, and returns their address.
fn make_chunk(chunk: usize) -> u64 {
    let count = FIRST_CHUNK_MAGAZINES << chunk;
    let first = (0..chunk)
        .map(|earlier| FIRST_CHUNK_MAGAZINES << earlier)
        .sum::<u32>()
        + 1;
    let magazines = (first..first + count).map(|number| Magazine {
        next: AtomicU64::new(0),
        number,
        blocks: UnsafeCell::new(MagazineBlocks {
            count: 0,
            addresses: [ptr::null_mut(); MAGAZINE_BLOCKS],
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
    let number = depot::pop_item(&DEPOT, &DEPOT.filled[class.number() as usize])?;
    Some(DEPOT.magazine(number))
}

/// Takes a magazine without blocks out of the depot, or creates one. It then belongs to the caller.
pub(super) fn take_empty_magazine() -> &'static Magazine {
    match depot::pop_item(&DEPOT, &DEPOT.empty) {
        Some(number) => DEPOT.magazine(number),
        None => DEPOT.make_magazine(),
    }
}

/// Puts a magazine for blocks of this class, which belongs to the caller, into the depot.
pub(super) fn put_magazine(magazine: &'static Magazine, class: BlockClass) {
    // SAFETY: the magazine is the caller's.
    let top = if unsafe { magazine.is_empty() } {
        &DEPOT.empty
    } else {
        &DEPOT.filled[class.number() as usize]
    };
    depot::push_item(&DEPOT, top, magazine.number);
}

/// The present slab, which is the memory from which new blocks are cut, and the size of the next
/// slab.
struct Slabs {
    /// The address of the first free byte of the present slab.
    free: *mut u8,
    free_bytes: usize,
    /// The size of the next slab, in bytes.
    next_bytes: usize,
    /// The present slab, if it has the size of a huge page but still consists of small pages; else
    /// null.
    of_small_pages: *mut u8,
    /// False once the kernel could not move a slab to a huge page.
    moves_pages: bool,
}

// SAFETY: it owns the memory that is free.
unsafe impl Send for Slabs {}

impl Default for Slabs {
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

fn slabs() -> &'static Mutex<Slabs> {
    SLABS.get()
}

/// Fills an empty magazine, which belongs to the caller, with at least one new block.
pub(super) fn fill_magazine(magazine: &Magazine, class: BlockClass) {
    let mut slabs = slabs().lock().unwrap_or_else(PoisonError::into_inner);
    slabs.align(class.bytes());
    if slabs.free_bytes < class.bytes() {
        slabs.allocate_slab();
    }
    let count = (slabs.free_bytes / class.bytes()).min(MAGAZINE_BLOCKS);
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

impl Slabs {
    /// Skips free bytes of the slab up to an address that is a multiple of `bytes`, which is a
    /// power of two.
    fn align(&mut self, bytes: usize) {
        let skipped = self.free.addr().wrapping_neg() & (bytes - 1);
        self.skip_bytes(skipped.min(self.free_bytes));
    }

    fn skip_bytes(&mut self, bytes: usize) {
        self.free = self.free.wrapping_add(bytes);
        self.free_bytes -= bytes;
    }

    /// Moves the present slab to a huge page, if enough of it is in use.
    ///
    /// WHY not at once: a huge page occupies all its memory from its first byte on. 100,000 idle
    /// actors need 164 bytes each if the last slab, which is only partly used, is a huge page, and
    /// 146 bytes if it is not. WHY at all: without huge pages, 100,000 actors with ten messages
    /// each take a quarter more time.
    fn move_to_huge_page_if_used(&mut self) {
        let used_bytes = SLAB_BYTES_MAX - self.free_bytes;
        if !self.of_small_pages.is_null() && used_bytes >= USED_BYTES_BEFORE_MOVE {
            let slab = std::mem::replace(&mut self.of_small_pages, ptr::null_mut());
            self.moves_pages = move_to_huge_pages(slab, SLAB_BYTES_MAX);
        }
    }

    /// Allocates the next slab, from which blocks are cut from now on.
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
        assert_eq!(chunk_position(1), (0, 0));
        assert_eq!(
            chunk_position(FIRST_CHUNK_MAGAZINES),
            (0, FIRST_CHUNK_MAGAZINES as usize - 1)
        );
        assert_eq!(chunk_position(FIRST_CHUNK_MAGAZINES + 1), (1, 0));
        assert_eq!(chunk_position(3 * FIRST_CHUNK_MAGAZINES + 1), (2, 0));
        let (chunk, index) = chunk_position(MAGAZINE_NUMBER_MAX);
        assert!(chunk < CHUNK_COUNT && index < (FIRST_CHUNK_MAGAZINES as usize) << chunk);
    }

    #[test]
    fn a_magazine_is_found_by_its_number() {
        for _ in 0..3 * FIRST_CHUNK_MAGAZINES {
            let made = DEPOT.make_magazine();
            assert!(ptr::eq(made, DEPOT.magazine(made.number)));
            put_magazine(made, BlockClass::for_bytes(16).expect("a small block"));
        }
    }
}
