//! Counts the messages that a reader did not receive: as lost if they were overwritten, as skipped
//! if it did not want them.

use super::{Jump, LaneReader, UnreadCounts};
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
        self.advance_counting(pos, lost, passed - lost);
    }

    /// Skips the rest of this reader's extent (file of slots), for a call that wants only the
    /// newest message. The extent ends at position `end`; the first message of the next extent has
    /// the number `number`.
    pub fn skip_to_end(&mut self, end: u64, number: u64) {
        if self.numbered {
            let (start, head) = (self.pos, end);
            self.count_missed_before(number, Jump { start, head });
            self.advance_counting(end, 0, 0);
        } else {
            self.skip_to(end, end);
        }
    }

    /// Moves to `pos`, the first position of an extent (file of slots), without counting the
    /// positions before it, or the `numbers` messages in them, as lost or skipped.
    pub fn skip_without_counting(&mut self, pos: u64, numbers: u64) {
        let shifted = |number: Option<u64>| number.map(|number| number.wrapping_add(numbers));
        self.first_number = shifted(self.first_number);
        self.next_number = shifted(self.next_number);
        self.advance_to(pos);
    }

    /// Moves to `pos`, if the reader is before that position. The message at `pos` has the number
    /// `number`. Earlier messages that were not read count as lost.
    pub fn count_lost_to(&mut self, pos: u64, number: u64) {
        if self.pos < pos {
            let lost = if self.numbered { 0 } else { pos - self.pos };
            if self.numbered {
                self.count_missed_before(number, Jump::NONE);
            }
            self.advance_counting(pos, lost, 0);
        }
    }

    /// Moves to position `pos` without receiving the messages before it. Adds `lost` and `skipped`
    /// to the counters with these names.
    pub(super) fn advance_counting(&mut self, pos: u64, lost: u64, skipped: u64) {
        self.count_passed_positions(PassedCounts {
            positions: pos - self.pos,
            lost,
            skipped,
        });
        self.advance_to(pos);
    }

    /// Counts the message with the number `number` as received, and the messages between the
    /// previously received one and this one as lost or skipped. `jump` says from where the reader
    /// moved to the message, if it wants only the newest one.
    pub(super) fn count_received_message(&mut self, number: u64, jump: Jump) {
        if let Some(next) = self.next_number {
            self.count_missed_messages(number.saturating_sub(next), jump, 1);
        }
        self.first_number = self.first_number.or(Some(number));
        self.next_number = Some(number.wrapping_add(1));
    }

    /// Counts the messages before the message with the number `number` as lost or skipped, except
    /// those that are already counted. `jump` is as in [`Self::count_received_message`].
    pub(super) fn count_missed_before(&mut self, number: u64, jump: Jump) {
        if let Some(next) = self.next_number
            && self.count_missed_messages(number.saturating_sub(next), jump, 0)
        {
            self.next_number = Some(number);
        }
    }

    /// Counts `gap` messages that were not received. Those that were still in their slots when the
    /// reader began `jump` count as skipped, the others as lost. `received` is 1 if the reader
    /// receives the last message of the jump, which is not one of the `gap` messages; else 0.
    /// Returns true if any message was counted.
    fn count_missed_messages(&mut self, gap: u64, jump: Jump, received: u64) -> bool {
        // WHY the maximum: a damaged number must not make the counters implausible.
        let is_sound = 0 < gap && gap < POSITION_MAX;
        if is_sound {
            let unread = UnreadCounts::of_positions(jump.start, jump.head, self.memory.capacity());
            let skipped = gap.min(unread.waiting.saturating_sub(received));
            self.count_passed_positions(PassedCounts {
                positions: 0,
                lost: gap - skipped,
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
        self.memory.note_passed(self.reader, passed);
    }
}
