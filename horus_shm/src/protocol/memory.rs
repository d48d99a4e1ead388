//! The memory of one lane, in the form that the lane algorithms need.
//!
//! The lane algorithms are generic over [`LaneMemory`]. So the same code runs on real memory
//! ([`RawLane`], which is on the heap or mapped) and in the loom models.

use core::ops::RangeInclusive;
use core::sync::atomic::AtomicU64;

use crate::protocol::copy::{self, CACHE_LINE_BYTES, PrefetchIntent};
use crate::protocol::identity::TypeIdentity;
use crate::protocol::lane::PinnableLane;
use crate::protocol::layout::{LaneBlock, ReaderBlock, WaitBlock};
use crate::protocol::owner;
use crate::protocol::sync::{self, Edge, Word};
use crate::protocol::tuning::Tuning;

/// Maximum number of cache lines of a slot that are prefetched. More of them would evict each other
/// from the cache.
const SLOT_PREFETCH_LINES_MAX: usize = 64;

/// Lengths, in cache lines, of the messages whose lines the writer *demotes*: it moves the lines to
/// a cache that the cores share. WHY no shorter ones: a waiting reader has fetched all their lines
/// by the time it sees the stamp, and reading the time stamp counter would cost as much as is
/// gained. WHY no longer ones: streams and single messages could not be distinguished by the time
/// between two messages.
const DEMOTED_LINE_COUNTS: RangeInclusive<usize> = 8..=32;

/// The memory of one lane: its bookkeeping block, its slots, and the cursor of each reader.
pub trait LaneMemory {
    /// The type of the words in shared memory: ordinary atomics in programs, loom atomics in
    /// models.
    type Word: Word;

    /// True if a reader that reads many messages in one call
    /// ([`LaneReader::drain`](crate::protocol::lane::LaneReader::drain)) prefetches slots.
    const PREFETCHES_WHILE_DRAINING: bool = true;

    /// Returns the number of slots of the lane: a power of two.
    fn capacity(&self) -> u64;

    /// Returns true if the writer waits for every reader before it overwrites a slot, so that a
    /// reader never copies a slot that is being written.
    #[inline(always)]
    fn is_exclusive(&self) -> bool {
        false
    }

    /// Returns true if the writer publishes messages by the lane's head, and not by stamps, which
    /// the slots then do not have. Such a lane is exclusive, and none of its positions is ever
    /// skipped.
    #[inline(always)]
    fn publishes_by_head(&self) -> bool {
        false
    }

    /// Returns the maximum number of positions that a writer may be ahead of a gated reader: the
    /// number of slots, or fewer.
    fn writer_lead_max(&self) -> u64 {
        self.capacity()
    }

    /// Returns the number of cache lines of each slot. It decides how many slots ahead a writer
    /// prefetches.
    fn cache_lines_per_slot(&self) -> u64 {
        1
    }

    /// Returns the position of the first slot of this extent (file of slots). Earlier positions
    /// belong to earlier extents of the lane.
    fn base_position(&self) -> u64 {
        0
    }

    /// Returns the number of this extent (file of slots) within its lane, as in
    /// [`LaneBlock::generation`].
    fn generation(&self) -> u64 {
        0
    }

    /// Returns the bookkeeping block of the lane: its owner, its head and its counters.
    fn block(&self) -> &LaneBlock<Self::Word>;

    /// Returns the stamp of the slot with index `index`, which must be below the capacity. Not used
    /// if the writer publishes by the head.
    fn stamp(&self, index: u64) -> &Self::Word;

    /// Returns the maximum number of readers of the topic, which is at most 64.
    fn reader_limit(&self) -> u32;

    /// Returns the bit mask of the gated readers: bit i stands for reader i.
    fn gated_reader_mask(&self) -> &Self::Word;

    /// Returns the cursor of reader `reader`, which is below the reader limit, in this lane. A
    /// cursor is the next unread position plus one, or 0 while the reader does not read the lane.
    fn cursor(&self, reader: u32) -> &Self::Word;

    /// Returns true if reader `reader` reads messages of this lane's type. The caller must have
    /// loaded the reader's cursor before, with the ordering [`edge::CURSOR_SEE`]; with a weaker
    /// ordering the result may be wrong.
    ///
    /// [`edge::CURSOR_SEE`]: crate::protocol::sync::edge::CURSOR_SEE
    fn is_read_by(&self, _reader: u32) -> bool {
        true
    }

    /// Returns the reader that has slot `reader`. The caller must have loaded the reader's cursor
    /// before, with the ordering [`edge::CURSOR_SEE`]; with a weaker ordering, this may be the
    /// reader that had the slot before.
    ///
    /// [`edge::CURSOR_SEE`]: crate::protocol::sync::edge::CURSOR_SEE
    fn reader_id(&self, _reader: u32) -> ReaderId {
        ReaderId::default()
    }

    /// Adds `passed` to the counters in which reader `reader` publishes the messages that it did
    /// not receive. Only that reader calls this function.
    fn publish_passed_counts(&self, _reader: u32, _passed: PassedCounts) {}

    /// Copies a message into slot `index` while readers may read the slot.
    ///
    /// # Safety
    ///
    /// * `index` is below the capacity, and `bytes` fits the slot's payload.
    /// * `src` is readable for `bytes` bytes.
    /// * The caller is the lane's only writer.
    unsafe fn store_racing(&self, index: u64, src: *const u8, bytes: usize);

    /// Copies a message out of slot `index` while the writer may write the slot, so the copy may be
    /// torn.
    ///
    /// # Safety
    ///
    /// * `index` is below the capacity, and `bytes` fits the slot's payload.
    /// * `dst` is writable for `bytes` bytes.
    unsafe fn load_racing(&self, index: u64, dst: *mut u8, bytes: usize);

    /// Copies a message into slot `index`, while the cursors keep all readers out of the slot.
    ///
    /// # Safety
    ///
    /// As [`Self::store_racing`], and no reader may be in the slot.
    unsafe fn store_exclusive(&self, index: u64, src: *const u8, bytes: usize);

    /// Copies a message out of slot `index`, while a cursor keeps the writer out of the slot.
    ///
    /// # Safety
    ///
    /// As [`Self::load_racing`], and the writer may not be in the slot.
    unsafe fn load_exclusive(&self, index: u64, dst: *mut u8, bytes: usize);

    /// Executes a memory fence with the ordering of `edge`.
    fn fence(&self, edge: Edge);

    /// Prefetches the slot with index `index` for the purpose `intent`. It is only a hint.
    fn prefetch(&self, index: u64, intent: PrefetchIntent);

    /// Returns the number of cache lines that the writer of a message of `bytes` bytes demotes
    /// (moves to a cache that the cores share); 0 if that is not worthwhile.
    #[inline(always)]
    fn cache_lines_to_demote(&self, _bytes: usize) -> usize {
        0
    }

    /// Moves the first `lines` cache lines of slot `index`, and that of its stamp, to a cache that
    /// cores share. It is only a hint.
    #[inline(always)]
    fn demote_cache_lines(&self, _index: u64, _lines: usize) {}
}

/// The numbers of positions and messages that a reader passes without receiving a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PassedCounts {
    /// Number of positions at which the reader received nothing.
    pub positions: u64,
    /// Number of messages at these positions that were overwritten before the reader could read
    /// them.
    pub lost: u64,
    /// Number of readable messages at these positions that the reader skipped because it wanted a
    /// newer one.
    pub skipped: u64,
}

/// Gives access to the bookkeeping blocks and cursors of all readers of a topic.
#[derive(Debug, Clone, Copy)]
pub struct ReaderBlocks {
    wait: *const WaitBlock<AtomicU64>,
    blocks: *const u8,
    /// Distance in bytes between the beginnings of the blocks of two successive readers.
    bytes: usize,
    limit: u32,
}

// SAFETY: all that is behind the addresses is atomic.
unsafe impl Send for ReaderBlocks {}
// SAFETY: as above.
unsafe impl Sync for ReaderBlocks {}

impl ReaderBlocks {
    /// Creates a view of the blocks of `limit` readers. The first block is at `blocks`, and
    /// neighbouring blocks are `bytes` bytes apart.
    ///
    /// # Safety
    ///
    /// For as long as the value or a copy of it is used, `wait` is valid for one block. At each of
    /// the `limit` addresses from `blocks` on, `bytes` bytes apart, there is a [`ReaderBlock`],
    /// followed by one cursor for each lane. All of them are aligned. The memory is mapped writable
    /// if a reader uses it.
    #[must_use]
    pub const unsafe fn new(
        wait: *const WaitBlock<AtomicU64>,
        blocks: *const u8,
        bytes: usize,
        limit: u32,
    ) -> Self {
        Self {
            wait,
            blocks,
            bytes,
            limit,
        }
    }

    /// Returns the block that all readers of the topic share.
    #[inline(always)]
    fn wait_block(&self) -> &WaitBlock<AtomicU64> {
        // SAFETY: valid by the contract of `new`; it contains only atomics.
        unsafe { &*self.wait }
    }

    /// Returns the block of the reader with index `reader`, which must be below the limit.
    #[inline(always)]
    pub(crate) fn block(&self, reader: u32) -> &ReaderBlock<AtomicU64> {
        debug_assert!(reader < self.limit);
        // SAFETY: `reader` is below the limit, so its block lies in the reader area.
        let block = unsafe { self.blocks.add(reader as usize * self.bytes) };
        // SAFETY: valid and aligned by the contract of `new`; it contains only atomics.
        unsafe { &*block.cast() }
    }

    /// Returns the cursor of reader `reader` in lane `lane`. The index of the reader must be below
    /// the limit.
    #[inline(always)]
    pub(crate) fn cursor(&self, reader: u32, lane: u32) -> &AtomicU64 {
        debug_assert!(reader < self.limit);
        let offset = reader as usize * self.bytes + CURSORS_OFFSET + lane as usize * 8;
        // SAFETY: `reader` is below the limit, and a cursor for each lane follows its block.
        let cursor = unsafe { self.blocks.add(offset) };
        // SAFETY: aligned, in bounds, and accessed only atomically.
        unsafe { AtomicU64::from_ptr(cursor.cast_mut().cast()) }
    }
}

/// The offset in bytes of a reader's first cursor from the beginning of its block.
const CURSORS_OFFSET: usize = size_of::<ReaderBlock<AtomicU64>>();

/// A lane in mapped memory or on the heap: the addresses and sizes of its parts.
#[derive(Debug, Clone, Copy)]
pub struct RawLane {
    slots: *mut u8,
    stride: usize,
    /// Number of cache lines of each slot that are prefetched.
    lines_ahead: usize,
    capacity: u64,
    block: *const LaneBlock<AtomicU64>,
    base: u64,
    generation: u64,
    lane: u32,
    type_identity: *const TypeIdentity,
    readers: ReaderBlocks,
}

// SAFETY: every access through the addresses is atomic or guarded by the lane protocol, whose
// single-writer rule the endpoints uphold by `&mut self`.
unsafe impl Send for RawLane {}

/// The addresses and sizes of the parts of a lane, from which [`RawLane::new`] creates it.
#[derive(Debug, Clone, Copy)]
pub struct RawLaneParts {
    /// Address of the first slot. It must be a multiple of 64.
    pub slots: *mut u8,
    /// Distance in bytes between the beginnings of two successive slots.
    pub stride: usize,
    /// Number of slots of the lane.
    pub capacity: u64,
    /// Address of the bookkeeping block of the lane.
    pub block: *const LaneBlock<AtomicU64>,
    /// The position of the first of these slots. Earlier positions belong to earlier extents of the
    /// lane.
    pub base: u64,
    /// The number of the extent that contains these slots. A lane that needs larger slots continues
    /// in a new extent, whose number is one higher.
    pub generation: u64,
    /// The index of the lane in its topic.
    pub lane: u32,
    /// Address of the identity of the lane's message type. WHY an address: the lane is copied with
    /// each message that is read.
    pub type_identity: *const TypeIdentity,
    /// Access to the blocks and cursors of the topic's readers.
    pub readers: ReaderBlocks,
}

impl RawLane {
    /// Creates a lane from the addresses and sizes in `parts`.
    ///
    /// # Safety
    ///
    /// For as long as the value or a copy of it is used:
    /// * `slots` is valid for `stride × capacity` bytes, and `block` for one block, both aligned;
    /// * they are mapped writable if a writer uses them;
    /// * `type_identity` is valid, and its target does not change;
    /// * `readers` has a cursor for this lane;
    /// * the stride has room for a trailer of 24 bytes if the topic is pinnable, and only then is
    ///   the lane used as [`PinnableLane`].
    pub unsafe fn new(parts: RawLaneParts) -> Self {
        debug_assert!(parts.capacity.is_power_of_two() && parts.stride.is_multiple_of(64));
        let RawLaneParts {
            slots,
            stride,
            capacity,
            block,
            base,
            generation,
            lane,
            type_identity,
            readers,
        } = parts;
        let lines_ahead = (stride / CACHE_LINE_BYTES).min(SLOT_PREFETCH_LINES_MAX);
        Self {
            slots,
            stride,
            lines_ahead,
            capacity,
            block,
            base,
            generation,
            lane,
            type_identity,
            readers,
        }
    }

    /// Returns the word that begins `words_before_end` words before the end of slot `index`. The
    /// words at the end of a slot are its trailer.
    #[inline(always)]
    fn trailer_word(&self, index: u64, words_before_end: usize) -> &AtomicU64 {
        // SAFETY: a stride is at least 64 bytes, and a trailer at most 4 words.
        let word = unsafe {
            self.slot_address(index)
                .add(self.stride - words_before_end * size_of::<u64>())
        };
        // SAFETY: aligned, in bounds, and accessed only atomically.
        unsafe { AtomicU64::from_ptr(word.cast()) }
    }

    /// Returns the address of slot `index`, which is also the address of its message.
    #[inline(always)]
    pub(crate) fn slot_address(&self, index: u64) -> *mut u8 {
        debug_assert!(index < self.capacity);
        // SAFETY: `index` is below the capacity, so the slot lies in the lane's memory.
        unsafe { self.slots.add(index as usize * self.stride) }
    }
}

/// The identity of the reader in a reader slot: two words of its block, which distinguish most
/// readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReaderId {
    /// The owner word of the slot.
    pub owner: u64,
    /// The number of times that a writer has stopped waiting for this reader because it did not
    /// read. WHY: the next reader in the slot may be of the same process. It begins at 0.
    pub detached: u64,
}

impl ReaderId {
    /// Returns true if `self`, a reader for which a writer has stopped waiting, may still be
    /// `current`, the reader that has the slot.
    pub const fn may_still_be(self, current: Self) -> bool {
        self.owner == current.owner && self.detached <= current.detached
    }
}

impl LaneMemory for RawLane {
    type Word = AtomicU64;

    #[inline(always)]
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn cache_lines_per_slot(&self) -> u64 {
        self.stride as u64 / CACHE_LINE_BYTES as u64
    }

    fn base_position(&self) -> u64 {
        self.base
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    #[inline(always)]
    fn block(&self) -> &LaneBlock<AtomicU64> {
        // SAFETY: valid and aligned by the contract of `new`; it contains only atomics.
        unsafe { &*self.block }
    }

    #[inline(always)]
    fn stamp(&self, index: u64) -> &AtomicU64 {
        self.trailer_word(index, 1)
    }

    fn reader_limit(&self) -> u32 {
        self.readers.limit
    }

    fn gated_reader_mask(&self) -> &AtomicU64 {
        &self.readers.wait_block().gated
    }

    #[inline(always)]
    fn cursor(&self, reader: u32) -> &AtomicU64 {
        self.readers.cursor(reader, self.lane)
    }

    fn is_read_by(&self, reader: u32) -> bool {
        // SAFETY: valid and constant by the contract of `new`.
        let own = unsafe { &*self.type_identity };
        own.matches_reader(self.readers.block(reader))
    }

    #[cold]
    fn reader_id(&self, reader: u32) -> ReaderId {
        let block = self.readers.block(reader);
        // Relaxed, both: the reader stored them before its first cursor.
        ReaderId {
            owner: block.owner.get(),
            detached: block.detached.get(),
        }
    }

    #[cold]
    fn publish_passed_counts(&self, reader: u32, passed: PassedCounts) {
        let block = self.readers.block(reader);
        // Relaxed: counters, which only this reader writes.
        let add = |word: &AtomicU64, count| word.set(word.get().wrapping_add(count));
        add(&block.passed, passed.positions);
        add(&block.lost, passed.lost);
        add(&block.skipped, passed.skipped);
    }

    #[inline(always)]
    unsafe fn store_racing(&self, index: u64, src: *const u8, bytes: usize) {
        // SAFETY: `index` and `bytes` fit and `src` is readable by the contract; slots are
        // 64-aligned and hold whole words.
        unsafe { copy::copy_to_shared(self.slot_address(index), src, bytes) }
    }

    #[inline(always)]
    unsafe fn load_racing(&self, index: u64, dst: *mut u8, bytes: usize) {
        // SAFETY: `index` and `bytes` fit and `dst` is writable by the contract; slots are
        // 64-aligned and hold whole words.
        unsafe { copy::copy_from_shared(dst, self.slot_address(index), bytes) }
    }

    // WHY: exclusive copies use the racing ones, too: these cost the same, and a hostile peer that
    // ignores a cursor can then spoil data but not cause a data race.
    #[inline(always)]
    unsafe fn store_exclusive(&self, index: u64, src: *const u8, bytes: usize) {
        // SAFETY: the contract includes that of `store_racing`.
        unsafe { self.store_racing(index, src, bytes) }
    }

    #[inline(always)]
    unsafe fn load_exclusive(&self, index: u64, dst: *mut u8, bytes: usize) {
        // SAFETY: the contract includes that of `load_racing`.
        unsafe { self.load_racing(index, dst, bytes) }
    }

    #[inline(always)]
    fn fence(&self, edge: Edge) {
        sync::fence(edge);
    }

    #[inline(always)]
    fn prefetch(&self, index: u64, intent: PrefetchIntent) {
        copy::prefetch_lines(self.slot_address(index), self.lines_ahead, intent);
    }

    #[inline(always)]
    fn cache_lines_to_demote(&self, bytes: usize) -> usize {
        let lines = bytes.div_ceil(CACHE_LINE_BYTES);
        if DEMOTED_LINE_COUNTS.contains(&lines) && Tuning::current().demotes_lines {
            lines
        } else {
            0
        }
    }

    #[inline(always)]
    fn demote_cache_lines(&self, index: u64, lines: usize) {
        copy::prefetch_lines(self.slot_address(index), lines, PrefetchIntent::Demote);
        if lines * CACHE_LINE_BYTES < self.stride {
            copy::prefetch_lines(
                self.trailer_word(index, 1).as_ptr().cast(),
                1,
                PrefetchIntent::Demote,
            );
        }
    }
}

impl PinnableLane for RawLane {
    fn lane_index(&self) -> u32 {
        self.lane
    }

    fn message_number(&self, index: u64) -> &AtomicU64 {
        self.trailer_word(index, 2)
    }

    fn message_length(&self, index: u64) -> &AtomicU64 {
        self.trailer_word(index, 3)
    }

    #[inline(always)]
    fn prefetch_message(&self, index: u64, bytes: u64) {
        let lines = (bytes as usize)
            .div_ceil(CACHE_LINE_BYTES)
            .clamp(1, self.lines_ahead);
        copy::prefetch_lines(self.slot_address(index), lines, PrefetchIntent::Write);
        if lines * CACHE_LINE_BYTES < self.stride {
            copy::prefetch_lines(
                self.trailer_word(index, 1).as_ptr().cast(),
                1,
                PrefetchIntent::Write,
            );
        }
    }

    fn pinning_reader_mask(&self) -> &AtomicU64 {
        &self.readers.wait_block().pinners
    }

    fn pin_word(&self, reader: u32, pin: u32) -> &AtomicU64 {
        let block = self.readers.block(reader);
        &block.pins[pin as usize % block.pins.len()]
    }

    fn pin_limit_word(&self, reader: u32) -> &AtomicU64 {
        &self.readers.block(reader).pin_limit
    }

    #[cold]
    fn is_reader_slot_held(&self, reader: u32) -> bool {
        owner::is_slot_held(&self.readers.block(reader).owner)
    }
}
