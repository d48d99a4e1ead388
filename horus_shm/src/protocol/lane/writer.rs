//! The writer of a lane.

use super::{LaneSlot, NoRoom, prefetch_distance};
use crate::protocol::copy::{self, PrefetchIntent};
use crate::protocol::gate::JOINING_BIT;
use crate::protocol::layout::{published_stamp, writing_stamp};
use crate::protocol::memory::{LaneMemory, ReaderId};
use crate::protocol::sync::{Word, edge};

/// Messages are treated as a *stream* if the time between them is at most this number of ticks,
/// some 0.4 µs, plus [`STREAM_GAP_TICKS_PER_LINE`] for each cache line of a message.
const STREAM_GAP_TICKS_MAX: u64 = 1000;
/// Ticks by which each cache line of a message extends the time that may pass between two messages
/// of a stream, because its copy takes so long.
const STREAM_GAP_TICKS_PER_LINE: u64 = 16;

/// The only writer of a lane. It knows the position of the next message, and how far gated readers
/// permit it to write.
#[derive(Debug)]
pub struct LaneWriter<M> {
    pub(super) memory: M,
    pub(super) mask: u64,
    pub(super) pos: u64,
    /// First position that the writer may write only after it has read the cursors of the gated
    /// readers again.
    pub(super) limit: u64,
    /// First position that this writer must not write, because [`Self::set_stop_position`] says so;
    /// [`u64::MAX`] if there is none. The cursors of readers may hold the writer back even earlier.
    pub(super) stop_position: u64,
    /// Number of slots that are prefetched ahead of the next position; see [`prefetch_distance`].
    pub(super) ahead: u64,
    /// The time of the last write of a message whose cache lines may be demoted
    /// ([`Self::demote_cache_lines`]), in ticks of the CPU's counter.
    pub(super) last_ticks: u64,
    /// Number of positions that this lane's writers have skipped so far, because readers had pinned
    /// the slots.
    pub(super) skips: u64,
    /// Bit mask of the readers whose pins are ignored until this writer moves on.
    pub(super) ignored: u64,
    /// For each reader slot, the reader for which the writer has stopped waiting.
    pub(super) given_up: Box<[GivenUpReader]>,
}

/// A reader for which a writer has stopped waiting. The default value stands for none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GivenUpReader {
    /// The value of the reader's cursor: when it changes, the reader has read.
    cursor: u64,
    /// The reader itself, as [`LaneMemory::reader_id`] returns it. WHY: another reader may have the
    /// slot later, and begin at the same cursor.
    reader: ReaderId,
}

impl GivenUpReader {
    /// Returns true if this is the reader in slot `reader` of `memory`, with the cursor `cursor`.
    /// The caller must have loaded the cursor with [`edge::CURSOR_SEE`].
    fn is_in_slot<M: LaneMemory>(self, memory: &M, reader: u32, cursor: u64) -> bool {
        self.cursor != 0
            && self.cursor == cursor
            && self.reader.may_still_be(memory.reader_id(reader))
    }
}

impl<M: LaneMemory + Clone> LaneWriter<M> {
    /// Creates the writer of a lane that the caller has just claimed. It begins at position `pos`.
    ///
    /// `gated` is true if readers may be gated.
    pub fn new(memory: M, pos: u64, gated: bool) -> Self {
        let mask = memory.capacity() - 1;
        // WHY: with `pos` as the limit the first write reads the cursors.
        let limit = if gated { pos } else { u64::MAX };
        let readers = if gated {
            memory.reader_limit() as usize
        } else {
            0
        };
        let ahead = prefetch_distance(memory.cache_lines_per_slot(), memory.capacity());
        let last_ticks = 0;
        let (skips, ignored) = (0, 0);
        let given_up = vec![GivenUpReader::default(); readers].into();
        Self {
            memory,
            mask,
            pos,
            limit,
            stop_position: u64::MAX,
            ahead,
            last_ticks,
            skips,
            ignored,
            given_up,
        }
    }

    /// Copies the `bytes` bytes at `src` into the next slot, and publishes the slot. Wait-free.
    ///
    /// # Errors
    ///
    /// [`NoRoom`] if a gated reader has not read the message in the next slot yet.
    ///
    /// # Safety
    ///
    /// * `src` is readable for `bytes` bytes, which fit the slot's payload.
    /// * This is the lane's only writer.
    #[inline(always)]
    pub unsafe fn write(&mut self, src: *const u8, bytes: usize) -> Result<(), NoRoom> {
        let pos = self.pos;
        if pos >= self.limit && !self.try_find_room() {
            return Err(NoRoom);
        }
        let spot = self.next_slot();
        let LaneSlot { memory, index, .. } = &spot;
        if memory.is_exclusive() {
            // SAFETY: `src` is valid for `bytes`, this is the only writer, and the cursors keep
            // readers out.
            unsafe { memory.store_exclusive(*index, src, bytes) };
        } else {
            // Relaxed: the fence below orders it before the payload.
            spot.stamp().set(writing_stamp(pos));
            // ORDERING(overwrite): pairs with the fence in `LaneSlot::is_unchanged`.
            memory.fence(edge::OVERWRITE_BEGIN);
            // SAFETY: `src` is readable for `bytes`, which fit, and this is the only writer, by the
            // contract.
            unsafe { memory.store_racing(*index, src, bytes) };
        }
        self.publish(&spot, published_stamp(pos));
        self.demote_cache_lines(&spot, bytes);
        if let Some(index) = self.slot_to_prefetch(&spot) {
            spot.memory.prefetch(index, PrefetchIntent::Write);
        }
        Ok(())
    }

    /// Returns the position of the next message, and the slot of that position.
    #[inline(always)]
    pub(super) fn next_slot(&self) -> LaneSlot<M> {
        let Self { pos, mask, .. } = *self;
        LaneSlot {
            memory: self.memory.clone(),
            pos,
            index: pos & mask,
            mask,
        }
    }

    /// Returns the index of the slot that should be prefetched now, because it will be written soon
    /// after the slot `spot`.
    ///
    /// Returns `None` if that slot is not known to be free: a prefetch could then take a cache line
    /// away from a reader. Also returns `None` for slots without stamps: there a prefetch lengthens
    /// the latency of messages of 64 bytes from 63 to 86 ns on a Zen 4, and streams do not become
    /// faster.
    #[inline(always)]
    pub(super) fn slot_to_prefetch(&self, spot: &LaneSlot<M>) -> Option<u64> {
        if spot.memory.publishes_by_head() {
            return None;
        }
        let pos = spot.pos + 1 + self.ahead;
        (pos < self.limit).then_some(pos & spot.mask)
    }

    /// Stores `stamp` in the slot `spot` of the current position, which publishes it, and moves on
    /// to the next position.
    #[inline(always)]
    pub(super) fn publish(&mut self, spot: &LaneSlot<M>, stamp: u64) {
        let next = spot.pos + 1;
        if !spot.memory.publishes_by_head() {
            // ORDERING(slot): pairs with the load in `LaneReader::read`.
            spot.stamp().store(stamp, edge::SLOT_PUBLISH);
        }
        // ORDERING(head): pairs with the loads in `LaneReader::published_messages_from`,
        // `LaneReader::move_past_overwritten` and `takeover::head_and_live_session_start`.
        spot.memory.block().head.store(next, edge::HEAD_PUBLISH);
        self.pos = next;
    }

    /// Moves the cache lines of `spot`, the slot that was just published, to a cache that the
    /// reader's core shares. Does not do this if messages come in a stream.
    ///
    /// WHY not in a stream: the reader then fetches the lines while this core writes the next
    /// message, and moving the lines takes longer than leaving them. WHY the time decides, and not
    /// the reader's cursor: loading the cursor would take its cache line away from the reader.
    #[inline(always)]
    pub(super) fn demote_cache_lines(&mut self, spot: &LaneSlot<M>, bytes: usize) {
        let lines = spot.memory.cache_lines_to_demote(bytes);
        if lines == 0 {
            return;
        }
        let now = copy::counter_ticks();
        let since_last = now.wrapping_sub(self.last_ticks);
        self.last_ticks = now;
        if since_last > STREAM_GAP_TICKS_MAX + STREAM_GAP_TICKS_PER_LINE * lines as u64 {
            spot.memory.demote_cache_lines(spot.index, lines);
        }
    }

    /// Reads the cursors of all gated readers again. Returns true if the writer may write the next
    /// position.
    #[cold]
    pub(super) fn try_find_room(&mut self) -> bool {
        // ORDERING(gate): pairs with the fence in `gate::join_lane`, and with the exchange in
        // `owner::try_hold_slot` if this writer has just abandoned a gate.
        self.memory.fence(edge::GATE_SCAN);
        // ORDERING(gated_reader): pairs with the clear in `gate::withdraw_gated_reader`.
        let gated = self.memory.gated_reader_mask().load(edge::GATED_READER_SEE);
        let mut least = self.pos;
        let memory = &self.memory;
        for (reader, given_up) in (0..).zip(&mut self.given_up) {
            if gated >> reader & 1 == 0 {
                *given_up = GivenUpReader::default();
                continue;
            }
            // ORDERING(cursor): pairs with the store in `LaneReader::advance_to`.
            let cursor = memory.cursor(reader).load(edge::CURSOR_SEE) & !JOINING_BIT;
            if given_up.is_in_slot(memory, reader, cursor) {
                continue;
            }
            *given_up = GivenUpReader::default();
            if cursor != 0 && memory.is_read_by(reader) {
                least = least.min(cursor - 1);
            }
        }
        // WHY the maximum: positions before the base are in other extents.
        self.limit = least
            .max(self.memory.base_position())
            .saturating_add(self.memory.writer_lead_max())
            .min(self.stop_position);
        self.pos < self.limit
    }

    /// Returns the indices of the readers whose bits are set in `mask`, each with the reader for
    /// which this writer has stopped waiting in that slot. WHY bits above the number of readers are
    /// ignored: another process may set any bit.
    fn gated_readers_in_mask(
        &self,
        mask: u64,
    ) -> impl Iterator<Item = (u32, GivenUpReader)> + use<'_, M> {
        let readers = (0..).zip(self.given_up.iter().copied());
        readers.filter(move |(reader, _)| mask >> reader & 1 != 0)
    }

    /// Returns the index and the cursor of the gated reader that is furthest behind; `None` if this
    /// writer waits for no reader.
    pub fn slowest_reader(&self) -> Option<(u32, u64)> {
        let cursors = self.awaited_readers();
        cursors.min_by_key(|&(_, cursor)| cursor)
    }

    /// Returns true if this writer waits for the reader in slot `reader`.
    pub fn waits_for_reader(&self, reader: u32) -> bool {
        self.awaited_readers().any(|(awaited, _)| awaited == reader)
    }

    /// Returns the index and the cursor of each gated reader for which this writer waits.
    fn awaited_readers(&self) -> impl Iterator<Item = (u32, u64)> + use<'_, M> {
        // Relaxed: it only selects the reader to probe; `try_find_room` decides.
        let gated = self.memory.gated_reader_mask().get();
        self.gated_readers_in_mask(gated)
            .filter_map(|(reader, given_up)| {
                // ORDERING(cursor): pairs with the store in `gate::join_lane`: a writer that sees
                // the cursor of a new reader sees that the reader owns its slot
                // (`owner::try_abandon_gate`).
                let cursor = self.memory.cursor(reader).load(edge::CURSOR_SEE) & !JOINING_BIT;
                let counts = cursor != 0
                    && !given_up.is_in_slot(&self.memory, reader, cursor)
                    && self.memory.is_read_by(reader);
                counts.then_some((reader, cursor))
            })
    }

    /// Returns the index of the gated reader that is furthest behind, and the position that it
    /// reads next, even if this writer never waits for readers. Ignores readers for which this
    /// writer has stopped waiting ([`Self::stop_waiting_for_reader`]), and those for which
    /// `is_included` returns false.
    pub fn slowest_reader_where(&self, is_included: impl Fn(u32) -> bool) -> Option<(u32, u64)> {
        // Relaxed: a reader whose bit is not seen yet begins behind the extents before the newest
        // one.
        let gated = self.memory.gated_reader_mask().get();
        let readers = (0..self.memory.reader_limit()).filter(|reader| gated >> reader & 1 != 0);
        let cursors = readers.filter_map(|reader| {
            // ORDERING(cursor): as in `awaited_readers`.
            let cursor = self.memory.cursor(reader).load(edge::CURSOR_SEE) & !JOINING_BIT;
            let given_up = self.given_up.get(reader as usize);
            let is_given_up =
                given_up.is_some_and(|given_up| given_up.is_in_slot(&self.memory, reader, cursor));
            let is_included = cursor != 0 && !is_given_up && is_included(reader);
            is_included.then(|| (reader, cursor - 1))
        });
        cursors.min_by_key(|&(_, position)| position)
    }

    /// Moves to another extent (file of slots) of the lane, which begins at the next position.
    pub fn move_to_extent(&mut self, memory: M) {
        self.mask = memory.capacity() - 1;
        self.ahead = prefetch_distance(memory.cache_lines_per_slot(), memory.capacity());
        // WHY: the next write then reads the cursors, and allows for the new number of slots.
        self.limit = if self.given_up.is_empty() {
            u64::MAX
        } else {
            self.pos
        };
        self.ignored = 0;
        self.memory = memory;
    }

    /// Makes the writer stop before `position`, until the next call of this function;
    /// [`u64::MAX`] means no such limit. WHY: a write of that position would overwrite the oldest
    /// message, which readers that have not joined the lane yet still have to receive.
    pub const fn set_stop_position(&mut self, position: u64) {
        self.stop_position = position;
    }

    /// Makes the writer stop before `position`, if it does not have to stop even earlier.
    /// Lasts until the next call of [`Self::set_stop_position`].
    pub const fn lower_stop_position(&mut self, position: u64) {
        if position < self.stop_position {
            self.stop_position = position;
        }
    }

    /// Stops waiting for the reader in slot `slot` for as long as its cursor has the value
    /// `cursor`, that is, until it reads again. `reader` is that reader, or the process that holds
    /// the slot of the dead reader.
    pub fn stop_waiting_for_reader(&mut self, slot: u32, cursor: u64, reader: ReaderId) {
        self.given_up[slot as usize] = GivenUpReader { cursor, reader };
    }

    /// Returns the position of the next write. It equals the number of positions written so far.
    pub const fn position(&self) -> u64 {
        self.pos
    }

    /// Returns the memory of the lane.
    pub const fn memory(&self) -> &M {
        &self.memory
    }
}
