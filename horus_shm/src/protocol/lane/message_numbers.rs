//! The numbers of the messages of a lane in which positions may be skipped: how many messages were
//! published, and which number the message at a position has.

use super::PinnableLane;
use crate::protocol::layout::{LaneBlock, POSITION_MAX, SKIP_BIT, SkipCounter, published_stamp};
use crate::protocol::sync::{Word, edge};

/// Number of attempts to count the messages of a lane. An attempt fails if the head moves very far
/// between its two loads, so that the position of the last skip is ambiguous. WHY more than one:
/// this happens if the thread is stopped for seconds. WHY not without limit: with a damaged head,
/// every attempt may fail.
const MESSAGE_COUNT_ATTEMPTS_MAX: u32 = 3;

/// Returns the number of messages that were published in a lane so far, and the position up to
/// which they are counted, where a new reader may start.
pub fn message_count_and_end<W: Word>(block: &LaneBlock<W>) -> (u64, u64) {
    let mut counted = (0, 0);
    for _ in 0..MESSAGE_COUNT_ATTEMPTS_MAX {
        // ORDERING(head): pairs with the store in `LaneWriter::publish`: a thread that sees the
        // head sees every skip before it.
        let head = block.head.load(edge::HEAD_SEE).min(POSITION_MAX);
        // ORDERING(pin): pairs with the fence in `LaneWriter::claim_slot_unless_pinned`, which lies
        // between a head and the next skip: a thread that sees the skip sees that head, or a later
        // one.
        let skips = SkipCounter::from_word(block.skips.load(edge::SKIP_COUNT_SEE));
        // Relaxed: it only bounds how far the writer went meanwhile.
        let now = block.head.get().min(POSITION_MAX);
        let position = skips.counted_up_to(head, now);
        counted = (
            position.unwrap_or(head).saturating_sub(skips.count),
            position.unwrap_or(head),
        );
        if position.is_some() {
            break;
        }
    }
    counted
}

/// Does the same as [`message_count_and_end`] for a lane without a live publisher, but also
/// counts messages that the dead publisher had published without storing the new head. `memory` is
/// the memory of the lane's newest extent.
pub fn message_count_and_end_after_death<M: PinnableLane>(memory: &M) -> (u64, u64) {
    let (mut number, start) = message_count_and_end(memory.block());
    let mask = memory.capacity() - 1;
    for pos in start..start + memory.capacity() {
        // Relaxed: no payload is read here.
        let stamp = memory.stamp(pos & mask).get();
        if stamp & !SKIP_BIT != published_stamp(pos) {
            return (number, pos);
        }
        number += u64::from(stamp & SKIP_BIT == 0);
    }
    (number, start + memory.capacity())
}

/// Returns the end of an extent (file of slots) that the writer has left: the position after the
/// last one that was published in it, and the message number after that of its last message.
/// `first_number` is that of the extent's first message; `None` if its slots contain no numbers,
/// because positions are the numbers.
pub fn end_position_and_message_number<M: PinnableLane>(
    memory: &M,
    first_number: Option<u64>,
) -> (u64, u64) {
    let mask = memory.capacity() - 1;
    let base = memory.base_position();
    let mut end = (base, first_number.unwrap_or(base));
    for index in 0..memory.capacity() {
        // Relaxed, both: the system call that found the next extent gone ordered them.
        let stamp = memory.stamp(index).get();
        let is_published = stamp != 0 && stamp & 1 == 0;
        let after = (stamp & !SKIP_BIT) / 2;
        // WHY the index: a damaged stamp must not end the extent.
        if is_published && after > end.0 && (after - 1) & mask == index {
            end.0 = after;
        }
        if is_published && stamp & SKIP_BIT == 0 && first_number.is_some() {
            let next = memory.message_number(index).get().saturating_add(1);
            end.1 = end.1.max(next);
        }
    }
    (end.0, if first_number.is_some() { end.1 } else { end.0 })
}

/// Returns the number of the message at `position`, which is at or before the head. Returns `None`
/// if `position` or a later position was skipped.
pub fn message_number_at<W: Word>(block: &LaneBlock<W>, position: u64) -> Option<u64> {
    // ORDERING(pin): as in `message_count_and_end`. The head that led to the position was
    // acquired, so every skip before it is visible.
    let skips = SkipCounter::from_word(block.skips.load(edge::SKIP_COUNT_SEE));
    // Relaxed: ordered by the line above.
    let head = block.head.get().min(POSITION_MAX);
    skips
        .are_all_skips_before(position, head)
        .then(|| position.saturating_sub(skips.count))
}
