//! Reading many messages of a lane in one call.

use super::LaneReader;
use crate::protocol::layout::published_stamp;
use crate::protocol::memory::LaneMemory;
use crate::protocol::sync::{Word, edge};

impl<M: LaneMemory + Clone> LaneReader<M> {
    /// Reads up to `messages_max` messages in a row, and returns their number. Stops at the first
    /// message that has not been published yet, or that was overwritten. For each message, calls
    /// `load` with the memory and the index of the slot, moves on to the next position, and then
    /// calls `each` with the result of `load`. Never blocks.
    ///
    /// The cursor is published after every `cursor_step` messages, after the last slot of the ring,
    /// and at the end of the call, even if `each` panics. If `load` returns `None`, the call ends,
    /// and the message counts as not read.
    ///
    /// On a lane that is not exclusive (a channel between threads), the message that `load` copies
    /// may be torn; `each` is called only if the message is whole. This function stops at skips and
    /// overwritten messages; [`Self::read`] handles them.
    ///
    /// If the slots have no stamps, because the writer publishes by the head, the cursor is also
    /// published whenever the reader has read all messages before the head that it last loaded.
    ///
    /// WHY the cursor is not published for each message: if the writer keeps the lane full, that
    /// would cost two transfers of a cache line for each message.
    #[inline(always)]
    pub fn drain<R>(
        &mut self,
        messages_max: u64,
        cursor_step: u64,
        mut load: impl FnMut(&M, u64) -> Option<R>,
        mut each: impl FnMut(R),
    ) -> u64 {
        let start = self.pos;
        let last = start.saturating_add(messages_max);
        let by_head = self.memory.publishes_by_head();
        let mut first = self.next_slot();
        let mut progress = CursorPublisher {
            pos: start,
            published_pos: start,
            reader: self,
        };
        'run: while progress.pos < last {
            first = first.slot_at(progress.pos);
            // WHY not across the end of the lap: consecutive slots need no mask.
            let mut slots = cursor_step
                .min(last - first.pos)
                .min(first.mask + 1 - first.index);
            if by_head {
                slots = slots.min(progress.reader.published_messages_from(first.pos));
                if slots == 0 {
                    break;
                }
            }
            for behind in 0..slots {
                let spot = first.slot_after(behind);
                // ORDERING(slot): pairs with the store in `LaneWriter::publish`.
                if !by_head && spot.stamp().load(edge::SLOT_SEE) != published_stamp(spot.pos) {
                    progress.reader.postpone_head_load(spot.pos);
                    break 'run;
                }
                let Some(message) = load(&spot.memory, spot.index) else {
                    break 'run;
                };
                if !spot.is_unchanged() {
                    break 'run;
                }
                progress.pos = spot.pos + 1;
                if M::PREFETCHES_WHILE_DRAINING {
                    progress.reader.prefetch_next(&spot);
                }
                if behind + 1 == slots {
                    progress.publish_cursor();
                }
                each(message);
            }
        }
        progress.pos - start
    }
}

/// A guard that publishes the reader's cursor once for several messages: on request, and on drop.
struct CursorPublisher<'a, M: LaneMemory + Clone> {
    reader: &'a mut LaneReader<M>,
    /// The reader's position. WHY a copy here: the compiler can keep it in a register, instead of
    /// loading and storing it for each message.
    pos: u64,
    /// The position that the reader's cursor in shared memory has now.
    published_pos: u64,
}

impl<M: LaneMemory + Clone> CursorPublisher<'_, M> {
    #[inline(always)]
    fn publish_cursor(&mut self) {
        // WHY not always: a poll that finds nothing must not write the cursor's line.
        if self.pos != self.published_pos {
            self.published_pos = self.pos;
            self.reader.advance_to(self.pos);
        }
    }
}

impl<M: LaneMemory + Clone> Drop for CursorPublisher<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        self.publish_cursor();
    }
}
