//! Readers of a lane: each has a position of its own.

use super::{
    LaneSlot, OVERWRITE_RETRIES_MAX, PollOutcome, lapped_reader_distance, message_count_and_end,
    prefetch_distance,
};
use crate::protocol::copy::{PrefetchIntent, is_prefetch_worthwhile};
use crate::protocol::layout::{POSITION_MAX, SKIP_BIT, published_stamp};
use crate::protocol::memory::{LaneMemory, PassedCounts};
use crate::protocol::sync::{Word, edge};

/// Number of empty polls in a row after which a reader checks whether a stamp or its own cursor is
/// damaged.
const EMPTY_POLLS_PER_DAMAGE_CHECK: u64 = 256;

/// Minimum number of messages that a reader reads before it loads the head again to see how many
/// there are, in a lane with 128 slots or more. In a shorter lane it is half of the slots, but at
/// least [`SHORT_LANE_MESSAGES_PER_HEAD_LOAD`], so that most messages can still be prefetched.
///
/// WHY not fewer: each load takes the head's cache line away from the writer, which stores to it
/// for every message. Measured on a Zen 4 between two processes, 16 B, 256 slots, 16 → 64 messages,
/// in millions of messages a second: 50 → 53; if the slots are mapped writable, 124 → 132; on cores
/// that share no cache 11 → 13 and 18 → 25. 256 messages gain no more.
const MESSAGES_PER_HEAD_LOAD: u64 = 64;
/// The value of [`messages_per_head_load`] in the shortest lanes, those with fewer than 32 slots.
const SHORT_LANE_MESSAGES_PER_HEAD_LOAD: u64 = 16;

/// Returns the minimum number of messages between two loads of the head, in a lane of `capacity`
/// slots.
const fn messages_per_head_load(capacity: u64) -> u64 {
    let half = capacity / 2;
    if half < SHORT_LANE_MESSAGES_PER_HEAD_LOAD {
        SHORT_LANE_MESSAGES_PER_HEAD_LOAD
    } else if half < MESSAGES_PER_HEAD_LOAD {
        half
    } else {
        MESSAGES_PER_HEAD_LOAD
    }
}

/// The value of [`LaneReader::end`] while no later extent of the lane is known.
const UNKNOWN_END_POSITION: u64 = u64::MAX;

/// A reader of one lane. It also publishes its position, as its cursor, for the writer.
#[derive(Debug)]
pub struct LaneReader<M> {
    pub(super) memory: M,
    pub(super) mask: u64,
    pub(super) pos: u64,
    /// The index of this reader in its topic, which selects the cursor that it publishes.
    pub(super) reader: u32,
    pub(super) lost: u64,
    pub(super) skipped: u64,
    pub(super) busy: u64,
    /// Number of polls in a row that found no message. It triggers checks for damage.
    pub(super) idle: u64,
    /// Position after the last one of this extent (file of slots); [`UNKNOWN_END_POSITION`] while
    /// no later extent is known.
    pub(super) end: u64,
    /// Number of slots that are prefetched ahead of the next position; see [`prefetch_distance`].
    pub(super) ahead: u64,
    /// First position that this reader does not know to be published.
    pub(super) horizon: u64,
    /// The position at which this reader next loads the lane's head, to learn how far it may
    /// prefetch.
    pub(super) next_head_load: u64,
    /// Minimum number of messages between two loads of the head; see [`messages_per_head_load`].
    pub(super) run: u64,
    /// True if lost messages are counted by message numbers; false if by positions.
    pub(super) numbered: bool,
    pub(super) first_number: Option<u64>,
    pub(super) next_number: Option<u64>,
}

impl<M: LaneMemory + Clone> LaneReader<M> {
    /// Creates the reader with index `reader`, and publishes `pos`, the position at which it
    /// begins, as its cursor.
    pub fn new(memory: M, pos: u64, reader: u32) -> Self {
        let mask = memory.capacity() - 1;
        let lost = 0;
        let skipped = 0;
        let busy = 0;
        let idle = 0;
        let numbered = false;
        let first_number = None;
        let next_number = None;
        let ahead = prefetch_distance(memory.cache_lines_per_slot(), memory.capacity());
        let horizon = 0;
        let run = messages_per_head_load(memory.capacity());
        let next_head_load = pos + run;
        Self {
            memory,
            mask,
            pos,
            reader,
            lost,
            skipped,
            busy,
            idle,
            end: UNKNOWN_END_POSITION,
            ahead,
            horizon,
            next_head_load,
            run,
            numbered,
            first_number,
            next_number,
        }
    }

    /// Copies the next message into `dst`. Never blocks; the amount of work is bounded.
    ///
    /// `dst` holds a message only if [`PollOutcome::Message`] is returned; otherwise its bytes are
    /// meaningless.
    ///
    /// # Safety
    ///
    /// `dst` is writable for `bytes` bytes, which are at most the slot's payload.
    #[inline(always)]
    pub unsafe fn read(&mut self, dst: *mut u8, bytes: usize) -> PollOutcome {
        if self.memory.is_exclusive() {
            let found = self.find_message();
            if found == PollOutcome::Message {
                // SAFETY: `dst` is valid for `bytes` by the contract; the cursor keeps the writer
                // out of the slot.
                unsafe {
                    self.memory
                        .load_exclusive(self.found_slot_index(), dst, bytes)
                };
                self.move_past_found_message();
            }
            return found;
        }
        let spot = self.next_slot();
        let want = published_stamp(spot.pos);
        // ORDERING(slot): pairs with the store in `LaneWriter::publish`.
        let stamp = spot.stamp().load(edge::SLOT_SEE);
        if stamp < want {
            // An older message, or this position while it is being written.
            return self.count_empty_poll();
        }
        if stamp == want {
            // SAFETY: `dst` is writable for `bytes`, which fit the payload, by the contract.
            unsafe { spot.memory.load_racing(spot.index, dst, bytes) };
            if spot.is_unchanged() {
                self.advance_to(spot.pos + 1);
                self.prefetch_next(&spot);
                return PollOutcome::Message;
            }
        }
        // SAFETY: `dst` is writable for `bytes`, which fit the payload, by the contract.
        unsafe { self.read_past_skips(dst, bytes) }
    }

    /// Finds the next message of an exclusive lane, which is a lane whose readers are all gated.
    /// Ignores skipped positions. The message stays in its slot, whose index is
    /// [`Self::found_slot_index`], and the writer does not write that slot until
    /// [`Self::move_past_found_message`] is called. Never blocks.
    #[inline(always)]
    pub fn find_message(&mut self) -> PollOutcome {
        debug_assert!(self.memory.is_exclusive());
        if self.memory.publishes_by_head() {
            return if self.published_messages_from(self.pos) > 0 {
                PollOutcome::Message
            } else {
                PollOutcome::Empty
            };
        }
        let want = published_stamp(self.pos);
        // ORDERING(slot): pairs with the store in `LaneWriter::publish`.
        let stamp = self.memory.stamp(self.pos & self.mask).load(edge::SLOT_SEE);
        if stamp == want {
            return PollOutcome::Message;
        }
        if stamp < want {
            self.count_empty_poll()
        } else {
            self.find_message_past_skips()
        }
    }

    /// Returns the number of messages from position `pos` on that are known to be published. Only
    /// for a lane whose writer publishes by the head.
    ///
    /// WHY the head is loaded only if no such message is known: the head's cache line belongs to
    /// the writer.
    #[inline(always)]
    pub(super) fn published_messages_from(&mut self, pos: u64) -> u64 {
        if pos >= self.horizon {
            // ORDERING(head): pairs with the store in `LaneWriter::publish`.
            self.horizon = self.memory.block().head.load(edge::HEAD_SEE);
        }
        self.horizon.saturating_sub(pos)
    }

    #[cold]
    fn find_message_past_skips(&mut self) -> PollOutcome {
        self.try_at_next_message(|_| Some(()))
            .err()
            .unwrap_or(PollOutcome::Message)
    }

    /// Returns the index of the slot of the message that [`Self::find_message`] found.
    #[inline(always)]
    pub fn found_slot_index(&self) -> u64 {
        self.pos & self.mask
    }

    /// Moves to the position after the message that [`Self::find_message`] found.
    #[inline(always)]
    pub fn move_past_found_message(&mut self) {
        let spot = self.next_slot();
        self.advance_to(spot.pos + 1);
        self.prefetch_next(&spot);
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

    /// Copies the message in `spot`, the slot of the current position, which was published. If the
    /// slot still holds that message after the copy, moves on to the next position and returns
    /// true.
    ///
    /// # Safety
    ///
    /// As [`Self::read`].
    #[inline(always)]
    unsafe fn copy_out_if_unchanged(
        &mut self,
        spot: &LaneSlot<M>,
        dst: *mut u8,
        bytes: usize,
    ) -> bool {
        let LaneSlot {
            memory, pos, index, ..
        } = spot;
        if memory.is_exclusive() {
            // SAFETY: `dst` is valid for `bytes` by the contract; the cursor keeps the writer out
            // of the slot.
            unsafe { memory.load_exclusive(*index, dst, bytes) };
        } else {
            // SAFETY: `dst` is writable for `bytes`, which fit the payload, by the contract.
            unsafe { memory.load_racing(*index, dst, bytes) };
        }
        let is_whole = spot.is_unchanged();
        if is_whole {
            self.advance_to(pos + 1);
        }
        is_whole
    }

    /// Does the work of [`Self::read`] for the rare case in which the slot holds a skip or a later
    /// message.
    ///
    /// # Safety
    ///
    /// As [`Self::read`].
    #[cold]
    unsafe fn read_past_skips(&mut self, dst: *mut u8, bytes: usize) -> PollOutcome {
        let copied = self.try_at_next_message(|this| {
            // SAFETY: `dst` is writable for `bytes`, which fit the payload, by the contract.
            unsafe { this.copy_out_if_unchanged(&this.next_slot(), dst, bytes) }.then_some(())
        });
        copied.err().unwrap_or(PollOutcome::Message)
    }

    /// Moves to the next message, past skips and lost messages, and calls `attempt` to get the
    /// message at the current position; returns the result of `attempt`. If `attempt` returns
    /// `None`, because the writer has overwritten the message, tries again a few times.
    pub(super) fn try_at_next_message<R>(
        &mut self,
        mut attempt: impl FnMut(&mut Self) -> Option<R>,
    ) -> Result<R, PollOutcome> {
        let mut resyncs = 0;
        let mut skips = 0;
        loop {
            let want = published_stamp(self.pos);
            // ORDERING(slot): pairs with the store in `LaneWriter::publish`.
            let stamp = self.memory.stamp(self.pos & self.mask).load(edge::SLOT_SEE);
            if stamp & !SKIP_BIT < want {
                if resyncs > 0 || skips > 0 {
                    self.count_passed_messages(None);
                }
                return Err(self.count_empty_poll());
            }
            if stamp == want
                && let Some(found) = attempt(self)
            {
                return Ok(found);
            }
            if stamp == want | SKIP_BIT && skips < self.memory.capacity() {
                skips += 1;
                self.advance_and_count(self.pos + 1, 0, 0);
                continue;
            }
            if resyncs == OVERWRITE_RETRIES_MAX {
                self.busy += 1;
                self.count_passed_messages(None);
                return Err(PollOutcome::Busy);
            }
            resyncs += 1;
            self.move_past_overwritten();
        }
    }

    /// Prefetches the slot that this reader will read some messages after the slot `spot`.
    ///
    /// WHY only if the head says that the slot is published: otherwise the prefetch would take a
    /// cache line away from the writer. The head is loaded only while the reader reads many
    /// messages in a row, because its cache line belongs to the writer, too.
    #[inline(always)]
    pub(super) fn prefetch_next(&mut self, spot: &LaneSlot<M>) {
        if spot.memory.publishes_by_head() {
            return;
        }
        let pos = spot.pos + self.ahead;
        if pos < self.horizon {
            spot.memory.prefetch(pos & spot.mask, PrefetchIntent::Read);
        } else if spot.pos >= self.next_head_load {
            self.load_head(spot.pos);
        }
    }

    #[cold]
    fn load_head(&mut self, pos: u64) {
        // Relaxed: no payload is read because of it.
        self.horizon = self.memory.block().head.get();
        self.postpone_head_load(pos);
    }

    /// Postpones the next load of the head until the reader has read [`messages_per_head_load`]
    /// messages from `pos` on.
    #[inline(always)]
    pub(super) fn postpone_head_load(&mut self, pos: u64) {
        self.next_head_load = pos + self.run;
    }

    /// Prefetches all cache lines of the slot of the next message, if that is worthwhile for a
    /// reader that waits for messages from `lanes` lanes. It is only a hint.
    #[inline(always)]
    pub fn prefetch_slot(&self, lanes: usize) {
        if is_prefetch_worthwhile(self.memory.cache_lines_per_slot(), lanes) {
            self.memory
                .prefetch(self.pos & self.mask, PrefetchIntent::Read);
        }
    }

    /// Counts a poll that found no message, and returns [`PollOutcome::Empty`]. After every
    /// [`EMPTY_POLLS_PER_DAMAGE_CHECK`] such polls, checks for damage.
    #[inline(always)]
    pub(super) fn count_empty_poll(&mut self) -> PollOutcome {
        self.postpone_head_load(self.pos);
        self.idle += 1;
        if self.idle.is_multiple_of(EMPTY_POLLS_PER_DAMAGE_CHECK) {
            self.repair_damage();
        }
        PollOutcome::Empty
    }

    /// Repairs the reader if it receives nothing because of damaged memory. The damage may be a
    /// stamp that no writer will ever correct, or a cursor that holds the writer back at a message
    /// that was read long ago.
    #[cold]
    fn repair_damage(&mut self) {
        if self.memory.cursor(self.reader).get() != self.pos + 1 {
            self.advance_to(self.pos);
        }
        // ORDERING(head): pairs with the store in `LaneWriter::publish`: a head past this position
        // was stored after its stamp.
        let head = self.memory.block().head.load(edge::HEAD_SEE);
        let Some(head) = self.clamp_head_to_extent(head) else {
            return;
        };
        for _ in 0..self.memory.capacity() {
            // Relaxed: the acquired head orders it.
            let stamp = self.memory.stamp(self.pos & self.mask).get() & !SKIP_BIT;
            if head <= self.pos || head > POSITION_MAX || stamp >= published_stamp(self.pos) {
                break;
            }
            // WHY: what is more than a lap behind the head was overwritten, even in new slots.
            let oldest = head.saturating_sub(self.memory.capacity());
            let next = oldest.max(self.pos + 1);
            let lost = if self.numbered { 0 } else { next - self.pos };
            self.advance_and_count(next, lost, 0);
        }
        self.count_passed_messages(None);
    }

    /// Copies the newest message into `dst`. The unread messages before it count as
    /// [`Self::skipped`], or as [`Self::lost`] if they have already been overwritten.
    ///
    /// # Safety
    ///
    /// As [`Self::read`].
    #[inline]
    pub unsafe fn read_latest(&mut self, dst: *mut u8, bytes: usize) -> PollOutcome {
        for _ in 0..=OVERWRITE_RETRIES_MAX {
            // WHY: the head is loaded only if there is a message: its line is the writer's.
            // Relaxed: no payload is read because of it; the stamp is loaded again below.
            if !self.has_message() {
                return self.count_empty_poll();
            }
            // ORDERING(head): pairs with the store in `LaneWriter::publish`.
            let head = self.memory.block().head.load(edge::HEAD_SEE);
            let head = self.clamp_head_to_extent(head).unwrap_or(self.pos + 1);
            let newest = head.wrapping_sub(1);
            if head <= POSITION_MAX && head > 0 && newest > self.pos {
                self.skip_to(newest, head);
            }
            let spot = self.next_slot();
            let want = published_stamp(spot.pos);
            // ORDERING(slot): pairs with the store in `LaneWriter::publish`.
            let stamp = spot.stamp().load(edge::SLOT_SEE);
            // SAFETY: `dst` is writable for `bytes`, which fit the payload, by the contract.
            if stamp == want && unsafe { self.copy_out_if_unchanged(&spot, dst, bytes) } {
                return PollOutcome::Message;
            }
            if stamp == want | SKIP_BIT {
                self.advance_and_count(self.pos + 1, 0, 0);
            }
        }
        self.busy += 1;
        PollOutcome::Busy
    }

    /// Moves the reader past its current message, which was overwritten. If the writer has lapped
    /// the reader, so that later messages were overwritten, too, moves the reader to a published
    /// slot, some slots ahead of the slot that is overwritten next. Counts what is in between as
    /// lost.
    ///
    /// WHY not always some slots ahead: the writer may have begun to overwrite only the current
    /// message, and then stopped. This happens if it has lent the slot to the user, who fills it
    /// slowly. The later messages are then not lost.
    pub(super) fn move_past_overwritten(&mut self) {
        let block = self.memory.block();
        // ORDERING(head): pairs with the store in `LaneWriter::publish`.
        let head = block.head.load(edge::HEAD_SEE);
        // WHY the position that belongs to the count: a skip after it must not be counted.
        let counted = (self.knows_next_message_number() && head <= POSITION_MAX)
            .then(|| message_count_and_end(block));
        let Some(head) = self.clamp_head_to_extent(counted.map_or(head, |(_, position)| position))
        else {
            return;
        };
        let capacity = self.memory.capacity();
        let after = self.pos + 1;
        // WHY a limit: a damaged head may have any value.
        let is_lapped = head <= POSITION_MAX && head.saturating_sub(self.pos) > capacity;
        let target = if is_lapped {
            head - lapped_reader_distance(capacity)
        } else {
            after
        };
        let lost = if self.numbered { 0 } else { target - self.pos };
        self.advance_and_count(target, lost, 0);
        if let Some(counted) = counted {
            self.count_passed_messages_up_to(counted, None);
        }
    }

    /// Returns `head`, or the position at which this reader's extent (file of slots) ends, if that
    /// is lower. Returns `None` if the lane has a newer extent and this reader does not know where
    /// its own extent ends. `head` is the lane's head, loaded with [`edge::HEAD_SEE`].
    ///
    /// WHY: positions after the end of the extent are in slots of another extent. In the slots of
    /// this extent they would look like damage.
    pub(super) fn clamp_head_to_extent(&self, head: u64) -> Option<u64> {
        // Relaxed: the acquired head orders it. A writer stores the generation before the first
        // head that lies behind the end of the extent before.
        let is_newest = self.memory.block().generation.get() == self.memory.generation();
        if is_newest {
            return Some(head);
        }
        (self.end != UNKNOWN_END_POSITION).then(|| head.min(self.end))
    }

    /// Returns the lane's head (the position after its newest message); `None` if the lane has a
    /// newer extent (file of slots) than the one that this reader reads.
    pub fn head_if_in_newest_extent(&self) -> Option<u64> {
        // ORDERING(head): pairs with the store in `LaneWriter::publish`.
        let head = self.memory.block().head.load(edge::HEAD_SEE);
        // Relaxed: see `clamp_head_to_extent`.
        let is_newest = self.memory.block().generation.get() == self.memory.generation();
        is_newest.then_some(head.min(POSITION_MAX))
    }

    /// Returns true if lost messages are counted by message numbers, false if by positions.
    pub const fn counts_by_numbers(&self) -> bool {
        self.numbered
    }

    /// Returns true if this reader has read all positions before `end`, the position at which its
    /// extent (file of slots) ends.
    pub const fn has_read_up_to(&self, end: u64) -> bool {
        self.pos >= end
    }

    /// Sets the position at which this reader's extent (file of slots) ends, because the next
    /// extent begins there.
    pub const fn set_extent_end(&mut self, end: u64) {
        self.end = end;
    }

    /// Moves to a later extent (file of slots) of the lane, whose first message has the number
    /// `first_number`. Earlier messages that were not read count as lost.
    pub fn move_to_extent(&mut self, memory: M, first_number: u64) {
        let base = memory.base_position();
        self.mask = memory.capacity() - 1;
        self.ahead = prefetch_distance(memory.cache_lines_per_slot(), memory.capacity());
        self.run = messages_per_head_load(memory.capacity());
        self.memory = memory;
        self.end = UNKNOWN_END_POSITION;
        self.horizon = 0;
        self.move_to_counting_lost(base, first_number);
        self.postpone_head_load(self.pos);
    }

    /// Moves to position `pos`, and publishes it as this reader's cursor.
    #[inline(always)]
    pub(super) fn advance_to(&mut self, pos: u64) {
        self.pos = pos;
        // ORDERING(cursor): pairs with the load in `LaneWriter::try_find_room`.
        self.memory
            .cursor(self.reader)
            .store(pos + 1, edge::CURSOR_ADVANCE);
    }

    /// Returns true if the next message of this reader has been published, even if it was
    /// overwritten since, or if the next position was skipped.
    #[inline]
    pub fn has_message(&self) -> bool {
        // Relaxed, both: no payload is read because of it; `read` loads the word again.
        if self.memory.publishes_by_head() {
            return self.pos < self.horizon || self.pos < self.memory.block().head.get();
        }
        self.memory.stamp(self.pos & self.mask).get() & !SKIP_BIT >= published_stamp(self.pos)
    }

    /// Returns the position of the next message that this reader reads.
    pub const fn position(&self) -> u64 {
        self.pos
    }

    /// Returns the number of messages that were overwritten before this reader read them.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the number of readable messages that this reader skipped in [`Self::read_latest`].
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the number of calls that returned no message because the writer kept overwriting
    /// messages before this reader had copied them.
    pub const fn busy_call_count(&self) -> u64 {
        self.busy
    }

    /// Counts the message that was just read as skipped, for a caller that discards it because it
    /// has found a newer message in another lane.
    pub fn count_last_read_as_skipped(&mut self) {
        self.count_passed_positions(PassedCounts {
            positions: 1,
            lost: 0,
            skipped: 1,
        });
    }

    /// Returns the number of published messages, according to the head, that this reader has
    /// neither read nor lost nor skipped.
    pub fn waiting_messages(&self) -> u64 {
        // Relaxed: a counter for people.
        self.memory.block().head.get().saturating_sub(self.pos)
    }

    /// Returns the memory of the lane.
    pub const fn memory(&self) -> &M {
        &self.memory
    }
}
