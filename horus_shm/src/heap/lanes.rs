//! The memory of a channel that consists of lanes: allocates it, assigns lanes to writers and
//! numbers to readers, and drops the values that were not received.

use core::fmt;
use core::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use super::lane::{MoveValues, ReadPolicy, ShareValues, ValueLane, ValueLaneParts};
use super::reader::{FanInReader, ValueReader};
use super::slot::{SlotRow, Slots, panic_without_memory};
use super::writer::ValueWriter;
use crate::os::cpu;
use crate::protocol::gate;
use crate::protocol::lane::LaneReader;
use crate::protocol::layout::{LaneBlock, WRITER_SEPARATION_BYTES};
use crate::protocol::owner;
use crate::protocol::sync::{Word, edge};
use crate::protocol::tuning::Tuning;

/// Maximum number of lanes of one channel, and also of its readers: masks have one bit for each
/// lane or reader.
///
/// WHY fewer under miri: a channel has a cursor for each lane and reader, and the interpreter takes
/// a second to initialise 4,096 of them.
pub const LANES_MAX: usize = if cfg!(miri) { 8 } else { 64 };

/// The owner word of every claimed lane and reader. WHY the same for all owners: the threads of a
/// process die together, so nobody checks whether an owner is alive.
const CLAIMED_OWNER_WORD: u64 = 1;

/// The index of the only reader of a channel whose values are moved out of the slots.
const ONLY_READER_INDEX: u32 = 0;

/// The value of the cursor of a reader that has not read anything. (A cursor is the position plus
/// 1.)
const INITIAL_CURSOR: u64 = 1;

const WORDS_PER_LINE: usize = WRITER_SEPARATION_BYTES / size_of::<AtomicU64>();

/// Cursors of one reader that share cache lines. No other reader has a cursor on these lines.
#[repr(align(128))]
#[derive(Debug, Default)]
struct CursorCacheLine([AtomicU64; WORDS_PER_LINE]);

/// The bit mask of the lanes whose slots have been allocated. It shares its cache lines with no
/// other data.
#[repr(align(128))]
#[derive(Debug, Default)]
struct ReadyLaneMask(AtomicU64);

/// The lanes of a channel for values of type `T`, and the cursors of their readers, all of which
/// are gated.
///
/// If values are moved out, there is only one reader, which counts as gated from the beginning. So
/// values that are written before the reader is created wait for it, and no value is overwritten.
/// All endpoints keep this object alive. Dropping it drops the values that were not received.
pub struct Lanes<T, H: ReadPolicy<T>> {
    ready: ReadyLaneMask,
    blocks: Box<[LaneBlock<AtomicU64>]>,
    /// The owner word of each reader: not 0 if the reader exists.
    readers: Box<[AtomicU64]>,
    /// A bit mask of the gated readers: bit i stands for reader i.
    gated: AtomicU64,
    /// The cursors of all readers in all lanes, sorted by reader, and then by lane.
    cursors: Box<[CursorCacheLine]>,
    /// The slots of each lane. They are allocated when a writer claims the lane for the first time.
    slots: Box<[OnceLock<Slots<T, H>>]>,
    capacity: u64,
    /// True if the writers publish values by the heads of their lanes, and not by stamps in the
    /// slots, provided that the type of the values permits it.
    publishes_by_head: bool,
    handling: core::marker::PhantomData<H>,
}

// SAFETY: slots are accessed through the lane algorithms only, which hand each value from one
// thread to another; all else is atomic.
unsafe impl<T: Send> Sync for Lanes<T, MoveValues> {}
// SAFETY: as above; besides, several readers read one value at once.
unsafe impl<T: Clone + Send + Sync> Sync for Lanes<T, ShareValues> {}

impl<T, H: ReadPolicy<T>> Lanes<T, H> {
    /// Creates at most `lane_limit` lanes of `capacity` values each, for at most `reader_limit`
    /// readers. No lane or reader is claimed yet, and no lane has memory for slots.
    ///
    /// # Panics
    ///
    /// If a limit is 0 or above [`LANES_MAX`]; if values are moved out and `reader_limit` is not 1;
    /// or if `capacity` is 0.
    #[must_use]
    pub fn new(lane_limit: usize, reader_limit: usize, capacity: usize) -> Arc<Self> {
        let publishes_by_head = SlotRow::<T, H>::MAY_OMIT_STAMPS && {
            // WHY first: it chooses the settings.
            cpu::machine();
            Tuning::current().publishes_by_head
        };
        Self::with_publishing_mode(publishes_by_head, lane_limit, reader_limit, capacity)
    }

    /// Does the same as [`Self::new`]. If `publishes_by_head` is true, the writers publish values
    /// by the heads of their lanes, and not by stamps in the slots, provided that the type of the
    /// values permits it.
    fn with_publishing_mode(
        publishes_by_head: bool,
        lane_limit: usize,
        reader_limit: usize,
        capacity: usize,
    ) -> Arc<Self> {
        let limits = 1..=LANES_MAX;
        assert!(limits.contains(&lane_limit) && limits.contains(&reader_limit));
        assert!(
            H::KEEPS_VALUE_IN_SLOT || reader_limit == 1,
            "a value is moved out once"
        );
        assert!(capacity > 0, "a channel holds at least one message");
        let reader_lines = lane_limit.div_ceil(WORDS_PER_LINE);
        let lanes = Self {
            ready: ReadyLaneMask::default(),
            blocks: (0..lane_limit).map(|_| LaneBlock::default()).collect(),
            readers: (0..reader_limit).map(|_| AtomicU64::default()).collect(),
            gated: AtomicU64::default(),
            cursors: (0..reader_limit * reader_lines)
                .map(|_| CursorCacheLine::default())
                .collect(),
            slots: (0..lane_limit).map(|_| OnceLock::new()).collect(),
            capacity: capacity as u64,
            publishes_by_head,
            handling: core::marker::PhantomData,
        };
        if !H::KEEPS_VALUE_IN_SLOT {
            gate::announce_gated_reader(&lanes.gated, ONLY_READER_INDEX);
            for lane in 0..lane_limit as u32 {
                // Relaxed: no other thread knows the value yet.
                lanes.cursor(lane, ONLY_READER_INDEX).set(INITIAL_CURSOR);
            }
        }
        Arc::new(lanes)
    }

    /// Claims a lane that has no writer, and returns a writer for it, which continues after the
    /// values of the lane's previous writer. Returns `None` if every lane has a writer.
    ///
    /// # Panics
    ///
    /// If there is no memory for the slots of a lane that is used for the first time.
    #[must_use]
    pub fn claim_writer(self: &Arc<Self>) -> Option<ValueWriter<T, H>> {
        let owners = self.blocks.iter().map(|block| &block.owner);
        let (lane, _) = owner::claim_first_free_entry(owners, CLAIMED_OWNER_WORD, |_| false)?;
        let slots = &self.slots[lane as usize];
        if slots.get().is_none() {
            let Some(new) = Slots::new(self.capacity, self.publishes_by_head, |_| 0) else {
                self.release_lane(lane);
                panic_without_memory(self.capacity, size_of::<T>());
            };
            // WHY it succeeds: only the owner of the lane, which is this thread, sets its slots.
            let _ = slots.set(new);
        }
        // ORDERING(lane_ready): pairs with the load in `ready_lane_mask`.
        self.ready
            .0
            .set_bits_ordered(1 << lane, edge::LANE_READY_PUBLISH);
        Some(ValueWriter::new(Arc::clone(self), lane))
    }

    /// Creates a reader of the first lane, which begins at the lane's present head. If values are
    /// moved out, the reader begins at the first value instead, and this function succeeds only
    /// once. Returns `None` if the maximum number of readers is reached.
    ///
    /// # Panics
    ///
    /// If the first lane was never claimed.
    #[must_use]
    pub fn claim_reader(self: &Arc<Self>) -> Option<ValueReader<T, H>> {
        let index = self.claim_reader_index()?;
        Some(ValueReader::new(Arc::clone(self), index))
    }

    /// Claims a reader of all lanes, including those that get a writer later. Otherwise the same as
    /// [`Self::claim_reader`].
    #[must_use]
    pub fn claim_fan_in_reader(self: &Arc<Self>) -> Option<FanInReader<T, H>> {
        let index = self.claim_reader_index()?;
        Some(FanInReader::new(Arc::clone(self), index))
    }

    fn claim_reader_index(&self) -> Option<u32> {
        let (reader, _) =
            owner::claim_first_free_entry(self.readers.iter(), CLAIMED_OWNER_WORD, |_| false)?;
        if H::KEEPS_VALUE_IN_SLOT {
            gate::announce_gated_reader(&self.gated, reader);
            for lane in 0..self.blocks.len() as u32 {
                gate::join_lane(&self.lane(lane, SlotRow::EMPTY), reader, u64::MAX);
            }
        }
        Some(reader)
    }

    /// Creates the reader with index `reader` of lane `lane`. It continues at the position of its
    /// cursor.
    ///
    /// # Safety
    ///
    /// The caller has claimed the number `reader`, and has no other reader of this lane with that
    /// number.
    pub(super) unsafe fn lane_reader(&self, lane: u32, reader: u32) -> LaneReader<ValueLane<T, H>> {
        let memory = self.claimed_lane(lane);
        // Relaxed: the caller's own cursor.
        let start = self.cursor(lane, reader).get() - INITIAL_CURSOR;
        LaneReader::new(memory, start, reader)
    }

    /// Returns the lane with index `lane` and its slots. A writer must have claimed the lane
    /// before.
    pub(super) fn claimed_lane(&self, lane: u32) -> ValueLane<T, H> {
        let slots = self.slots[lane as usize]
            .get()
            .expect("a claimed lane has slots");
        self.lane(lane, slots.row())
    }

    /// Returns the lane with index `lane`. `slots` are the slots of the lane, or an empty row if
    /// the caller uses only the other parts of the lane.
    fn lane(&self, lane: u32, slots: SlotRow<T, H>) -> ValueLane<T, H> {
        let cursors = self.cursors.as_ptr().cast::<AtomicU64>();
        let words = self.cursors.len() * WORDS_PER_LINE;
        // SAFETY: `CursorCacheLine` consists only of words, one after another.
        let cursors = unsafe { core::slice::from_raw_parts(cursors, words) };
        let parts = ValueLaneParts {
            slots,
            room: self.capacity,
            block: &self.blocks[lane as usize],
            gated: &self.gated,
            cursors: &cursors[lane as usize..],
            reader_words: words / self.readers.len(),
            reader_limit: self.readers.len() as u32,
        };
        // SAFETY: the parts are in this value, which is in an `Arc`, or in its boxes, and every
        // user of the lane keeps this value. A lane has one writer, which claimed it, and claimed
        // readers: only one unless values stay in their slots.
        unsafe { ValueLane::new(parts) }
    }

    fn cursor(&self, lane: u32, reader: u32) -> &AtomicU64 {
        let lines = self.cursors.len() / self.readers.len();
        let line = reader as usize * lines + lane as usize / WORDS_PER_LINE;
        &self.cursors[line].0[lane as usize % WORDS_PER_LINE]
    }

    /// Returns the bit mask of the lanes that have slots, because a writer has claimed them at
    /// least once.
    #[inline(always)]
    pub(super) fn ready_lane_mask(&self) -> u64 {
        // ORDERING(lane_ready): pairs with the bit set in `writer`.
        Word::load(&self.ready.0, edge::LANE_READY_SEE)
    }

    /// Returns the number of values in the lane `lane` that the reader with index `reader` has not
    /// read.
    pub(super) fn waiting_value_count(&self, lane: u32, reader: u32) -> u64 {
        // Relaxed: counters.
        let head = self.blocks[lane as usize].head.get();
        (head + 1).saturating_sub(self.cursor(lane, reader).get())
    }

    /// Returns the maximum number of lanes of the channel.
    pub(super) const fn lane_limit(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the number of values that one lane can hold.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// Makes the lane with index `lane` free, so that another writer can claim it.
    pub(super) fn release_lane(&self, lane: u32) {
        owner::release_entry(&self.blocks[lane as usize].owner);
    }

    /// Frees the reader number `reader`, so that another reader can claim it. Does nothing if the
    /// policy `H` moves values out: the cursors of the only reader are still needed, to find the
    /// values that have to be dropped.
    pub(super) fn release_reader(&self, reader: u32) {
        if H::KEEPS_VALUE_IN_SLOT {
            gate::withdraw_gated_reader(&self.gated, reader);
            for lane in 0..self.blocks.len() as u32 {
                gate::leave_lane(self.cursor(lane, reader));
            }
            owner::release_entry(&self.readers[reader as usize]);
        }
    }
}

impl<T, H: ReadPolicy<T>> Drop for Lanes<T, H> {
    fn drop(&mut self) {
        for lane in 0..self.blocks.len() {
            // Relaxed: the last owner of an `Arc` comes after all others.
            let head = self.blocks[lane].head.get();
            let cursor = self.cursor(lane as u32, ONLY_READER_INDEX).get();
            let Some(slots) = self.slots[lane].get_mut() else {
                continue;
            };
            let kept = head.saturating_sub(slots.len());
            let start = if H::KEEPS_VALUE_IN_SLOT {
                kept
            } else {
                cursor - INITIAL_CURSOR
            };
            // SAFETY: every position below the head was filled. Where values are moved out, the
            // cursor held the writers back from the first one on. So the values from the cursor to
            // the head are in slots of their own, and the reader moved out those below. Where
            // values stay, those of the last lap are there (or a replacement, after a write that
            // panicked).
            unsafe { slots.set_remaining_positions(start..head) };
        }
    }
}

impl<T, H: ReadPolicy<T>> fmt::Debug for Lanes<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lanes")
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

const _: () = assert!(size_of::<CursorCacheLine>() == WRITER_SEPARATION_BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns values whose drops can be counted separately, so that one drop too many cannot hide
    /// one that is missing.
    fn tokens(count: usize) -> Vec<Arc<()>> {
        (0..count).map(|_| Arc::new(())).collect()
    }

    fn assert_dropped_once(tokens: &[Arc<()>]) {
        let alive: Vec<_> = tokens.iter().map(Arc::strong_count).collect();
        assert_eq!(
            alive,
            vec![1; tokens.len()],
            "each value is dropped exactly once"
        );
    }

    #[test]
    fn unread_values_are_dropped_once() {
        for publishes_by_head in [false, true] {
            let tokens = tokens(10);
            let lanes = Lanes::<_, MoveValues>::with_publishing_mode(publishes_by_head, 2, 1, 4);
            let mut writers = [lanes.claim_writer().unwrap(), lanes.claim_writer().unwrap()];
            let [first, second] = &mut writers;
            let sent = tokens[..7]
                .iter()
                .filter(|token| first.push(Arc::clone(token)).is_ok())
                .count();
            assert_eq!(
                sent, 4,
                "nothing is read, and a value to be moved is not overwritten"
            );
            second.push(Arc::clone(&tokens[9])).unwrap();
            drop((writers, lanes));
            assert_dropped_once(&tokens);
        }
    }

    #[test]
    fn a_late_reader_gets_earlier_values() {
        for publishes_by_head in [false, true] {
            let tokens = tokens(12);
            let lanes = Lanes::<_, MoveValues>::with_publishing_mode(publishes_by_head, 1, 1, 4);
            let mut writer = lanes.claim_writer().unwrap();
            for token in &tokens[..4] {
                writer.push(Arc::clone(token)).unwrap();
            }
            let mut reader = lanes.claim_reader().unwrap();
            for (read, token) in tokens[4..].iter().enumerate() {
                let taken = reader
                    .find_next()
                    .map(|take| take())
                    .expect("a value is there");
                assert!(Arc::ptr_eq(&taken, &tokens[read]));
                writer.push(Arc::clone(token)).unwrap();
            }
            assert_eq!(
                (reader.waiting_value_count(), writer.waiting_value_count()),
                (4, 4)
            );
            drop((writer, reader, lanes));
            assert_dropped_once(&tokens);
        }
    }

    #[test]
    fn a_value_is_moved_to_only_one_reader() {
        for publishes_by_head in [false, true] {
            let tokens = tokens(3);
            let lanes = Lanes::<_, MoveValues>::with_publishing_mode(publishes_by_head, 1, 1, 4);
            let mut writer = lanes.claim_writer().unwrap();
            for token in &tokens {
                writer.push(Arc::clone(token)).unwrap();
            }
            let mut reader = lanes.claim_reader().unwrap();
            drop(reader.find_next().map(|take| take()));
            drop(reader);
            assert!(lanes.claim_reader().is_none());
            drop((writer, lanes));
            assert_dropped_once(&tokens);
        }
    }

    #[test]
    fn a_panic_in_a_drain_loses_only_the_value_that_it_got() {
        for publishes_by_head in [false, true] {
            let tokens = tokens(6);
            let lanes = Lanes::<_, MoveValues>::with_publishing_mode(publishes_by_head, 1, 1, 8);
            let mut writer = lanes.claim_writer().unwrap();
            for token in &tokens {
                writer.push(Arc::clone(token)).unwrap();
            }
            let mut reader = lanes.claim_reader().unwrap();
            let mut drained = 0;
            let panicking = std::panic::AssertUnwindSafe(|| {
                reader.drain(|_| {
                    drained += 1;
                    assert!(drained < 3, "the third value");
                })
            });
            std::panic::catch_unwind(panicking).unwrap_err();
            assert_eq!(reader.waiting_value_count(), 3);
            let next = reader
                .find_next()
                .map(|take| take())
                .expect("a value is there");
            assert!(Arc::ptr_eq(&next, &tokens[3]));
            drop((next, writer, reader, lanes));
            assert_dropped_once(&tokens);
        }
    }

    #[test]
    fn shared_values_are_dropped_once_read_or_not() {
        let tokens = tokens(11);
        let lanes = Lanes::<_, ShareValues>::new(1, 2, 4);
        let mut writer = lanes.claim_writer().unwrap();
        for token in &tokens[..9] {
            writer.push(Arc::clone(token)).unwrap();
        }
        let mut reader = lanes.claim_reader().unwrap();
        for token in &tokens[9..] {
            writer.push(Arc::clone(token)).unwrap();
        }
        assert!(
            reader
                .find_next()
                .is_some_and(|take| Arc::ptr_eq(&take(), &tokens[9]))
        );
        drop((writer, reader, lanes));
        assert_dropped_once(&tokens);
    }
}
