//! Counts the messages that a reader did not receive: as lost if they were overwritten, as skipped
//! if it did not want them.

use super::{JumpToNewest, LaneReader, UnreadCounts, message_count_and_end};
use crate::protocol::layout::POSITION_MAX;
use crate::protocol::memory::{LaneMemory, PassedCounts};

impl<M: LaneMemory + Clone> LaneReader<M> {
    /// Moves this reader, which counts losses by positions, to `pos`. Of the positions that it
    /// passes, those that have already been overwritten count as lost, and the others as skipped.
    /// `end` is the position that is written next; `pos` is at most `end`.
    pub(super) fn skip_to(&mut self, pos: u64, end: u64) {
        let passed = pos - self.pos;
        let unread = UnreadCounts::of_positions(self.pos, end, self.memory.capacity());
        let lost = unread.lost.min(passed);
        self.advance_and_count(pos, lost, passed - lost);
    }

    /// Skips the rest of this reader's extent (file of slots), for a call that wants only the
    /// newest message. The extent ends at position `end_position`; the first message of the next
    /// extent has the number `next_number`.
    pub fn skip_to_extent_end(&mut self, end_position: u64, next_number: u64) {
        if self.numbered {
            let (start, head) = (self.pos, end_position);
            self.count_missed_before(next_number, JumpToNewest { start, head });
            self.advance_and_count(end_position, 0, 0);
        } else {
            self.skip_to(end_position, end_position);
        }
    }

    /// Moves to `pos`, the first position of an extent (file of slots), without counting the
    /// positions before it, or the `message_count` messages in them, as lost or skipped.
    pub fn skip_without_counting(&mut self, pos: u64, message_count: u64) {
        let shifted = |number: Option<u64>| number.map(|number| number.wrapping_add(message_count));
        self.first_number = shifted(self.first_number);
        self.next_number = shifted(self.next_number);
        self.advance_to(pos);
    }

    /// Moves to `pos`, if the reader is before that position. The message at `pos` has the number
    /// `number`. Earlier messages that were not read count as lost.
    pub fn move_to_counting_lost(&mut self, pos: u64, number: u64) {
        if self.pos < pos {
            let lost = if self.numbered { 0 } else { pos - self.pos };
            if self.numbered {
                self.count_missed_before(number, JumpToNewest::NONE);
            }
            self.advance_and_count(pos, lost, 0);
        }
    }

    /// Moves to position `pos` without receiving the messages before it. Adds `lost` and `skipped`
    /// to the counters with these names.
    pub(super) fn advance_and_count(&mut self, pos: u64, lost: u64, skipped: u64) {
        self.count_passed_positions(PassedCounts {
            positions: pos - self.pos,
            lost,
            skipped,
        });
        self.advance_to(pos);
    }

    /// Makes this reader count its losses by message numbers from now on. The messages from number
    /// `first_number` up to, but not including, number `next_number` are already counted.
    pub fn start_counting_by_numbers(&mut self, first_number: u64, next_number: u64) {
        self.numbered = true;
        (self.first_number, self.next_number) = (Some(first_number), Some(next_number));
    }

    /// Makes this reader count its losses by positions from now on. Messages before number
    /// `next_number` that were not read count as lost. Returns the number of the first message that
    /// this reader has counted, if there is one.
    pub fn stop_counting_by_numbers(&mut self, next_number: u64) -> Option<u64> {
        let first = self.first_number;
        self.count_missed_before(next_number, JumpToNewest::NONE);
        self.numbered = false;
        (self.first_number, self.next_number) = (None, None);
        first
    }

    /// Returns the number of the first message that this reader counts (as received, lost or
    /// skipped), and the number of the next message that it expects. Returns `None` if no message
    /// was read yet, and the reader was created without a first number.
    pub fn first_and_next_number(&self) -> Option<(u64, u64)> {
        self.first_number.zip(self.next_number)
    }

    /// Counts the message with the number `number` as received, and the messages between the
    /// previously received one and this one as lost or skipped. `jump` says from where the reader
    /// moved to the message, if it wants only the newest one.
    pub(super) fn count_received_message(&mut self, number: u64, jump: JumpToNewest) {
        if let Some(next) = self.next_number {
            self.count_missed_messages(number.saturating_sub(next), jump, 1);
        }
        self.first_number = self.first_number.or(Some(number));
        self.next_number = Some(number.wrapping_add(1));
    }

    /// Counts the messages before the message with the number `number` as lost or skipped, except
    /// those that are already counted. `jump` is as in [`Self::count_received_message`].
    pub(super) fn count_missed_before(&mut self, number: u64, jump: JumpToNewest) {
        if let Some(next) = self.next_number
            && self.count_missed_messages(number.saturating_sub(next), jump, 0)
        {
            self.next_number = Some(number);
        }
    }

    /// Counts the messages that this reader has passed without receiving them as lost or skipped,
    /// if it counts by message numbers. Called when a receive call returns no message although the
    /// reader has moved. `jump_start` is the reader's position before a jump to the newest message;
    /// `None` if the call is for the next message.
    pub(super) fn count_passed_messages(&mut self, jump_start: Option<u64>) {
        if self.knows_next_message_number() {
            let counted = message_count_and_end(self.memory.block());
            self.count_passed_messages_up_to(counted, jump_start);
        }
    }

    /// Returns true if this reader counts losses by message numbers, and knows the number of the
    /// next message that it expects.
    pub(super) const fn knows_next_message_number(&self) -> bool {
        self.numbered && self.next_number.is_some()
    }

    /// Does the same as [`Self::count_passed_messages`]. The lane has `message_count` messages
    /// before position `head`.
    ///
    /// All slots that were skipped may lie before this reader's position, so this counts the least
    /// number of messages that there can be. The next message shows how many there were.
    /// WHY not only then: each further skip would make fewer of these messages count as lost.
    pub(super) fn count_passed_messages_up_to(
        &mut self,
        (message_count, head): (u64, u64),
        jump_start: Option<u64>,
    ) {
        let unread = head.saturating_sub(self.pos);
        let number = message_count.saturating_sub(unread);
        let jump = jump_start.map_or(JumpToNewest::NONE, |start| JumpToNewest {
            start,
            // WHY not the head itself: the messages of later extents are in other slots.
            head: self.clamp_head_to_extent(head).unwrap_or(self.pos),
        });
        let kept = jump.head.saturating_sub(self.pos);
        if let Some(next) = self.next_number
            && self.count_missed_messages(number.saturating_sub(next), jump, kept)
        {
            self.next_number = Some(number);
        }
    }

    /// Counts `missed_count` messages that were not received. Those that were still in their slots
    /// when the reader began `jump` count as skipped, the others as lost. `kept_count` is the
    /// number of the last messages of the jump that are not among the `missed_count` ones, because
    /// the reader receives them or has not passed them. Returns true if any message was counted.
    fn count_missed_messages(
        &mut self,
        missed_count: u64,
        jump: JumpToNewest,
        kept_count: u64,
    ) -> bool {
        // WHY the maximum: a damaged number must not make the counters implausible.
        let is_sound = 0 < missed_count && missed_count < POSITION_MAX;
        if is_sound {
            let unread = UnreadCounts::of_positions(jump.start, jump.head, self.memory.capacity());
            let skipped = missed_count.min(unread.waiting.saturating_sub(kept_count));
            self.count_passed_positions(PassedCounts {
                positions: 0,
                lost: missed_count - skipped,
                skipped,
            });
        }
        is_sound
    }

    /// Adds the numbers in `passed` to the reader's private counters, and to those that it
    /// publishes for other processes.
    pub(super) fn count_passed_positions(&mut self, passed: PassedCounts) {
        self.lost = self.lost.wrapping_add(passed.lost);
        self.skipped = self.skipped.wrapping_add(passed.skipped);
        self.memory.publish_passed_counts(self.reader, passed);
    }
}
