//! Gates. A gated reader's cursor prevents the lane's writer from overwriting messages that the
//! reader has not read.
//!
//! Every reader publishes its cursor in each lane. A reader is gated while its bit is set in
//! `WaitBlock::gated`. No writer overwrites a message that a gated reader has not read yet.

use crate::protocol::layout::POSITION_MAX;
use crate::protocol::memory::LaneMemory;
use crate::protocol::sync::{Word, edge};

/// Bit of a cursor that is set while its reader is still joining the lane. The cursor holds the
/// writer back, but a writer that did not see the cursor in time may already be past it. So if the
/// reader dies, its successor must not start at this cursor.
pub const JOINING_BIT: u64 = 1 << 63;

/// Marks `reader` as gated. Its cursors must be 0. From now on the reader holds back the writer of
/// each lane that it joins.
pub fn announce_gated_reader<W: Word>(gated_reader_mask: &W, reader: u32) {
    // Relaxed: the fence in `join_lane` orders it before the load of the head. That it is a
    // read-modify-write keeps the release of a reader that withdrew before.
    gated_reader_mask.set_bits_relaxed(1 << reader);
}

/// Publishes the cursor of the gated reader `reader` in a lane. From then on the writer does not
/// overwrite messages that this reader has not read. Returns the position at which the reader has
/// to begin: the head, or `wanted_position` if that is lower.
///
/// Until the writer next reads the cursors, it may still overwrite positions before the head. So
/// `wanted_position` must not be below the head on an exclusive lane, where a reader does not check
/// whether its copy is whole.
pub fn join_lane<M: LaneMemory>(memory: &M, reader: u32, wanted_position: u64) -> u64 {
    let head = &memory.block().head;
    let cursor = memory.cursor(reader);
    // WHY: a first guess that is never too high. Between the two loads of the head the writer may
    // go on; messages that it publishes meanwhile are not owed to this reader.
    let guess = (head.get().min(POSITION_MAX) + 1) | JOINING_BIT;
    // ORDERING(cursor): as `LaneReader::advance_to`; it also hands on what the previous owner of
    // the slot read, which the claim of the slot ordered before this store.
    cursor.store(guess, edge::CURSOR_ADVANCE);
    // ORDERING(gate): pairs with the fence in `LaneWriter::try_find_room`.
    memory.fence(edge::GATE_JOIN);
    // Relaxed: positions below the start are covered by the head that
    // `takeover::head_and_live_session_start` saw, those from the start on by their stamps.
    let start = head.get().min(POSITION_MAX).min(wanted_position);
    // Relaxed: the fence above releases everything before it.
    cursor.set(start + 1);
    start
}

/// Returns the position at which a dead reader stopped in a lane, so that its successor can go on
/// there. Returns `None` if the dead reader's cursor did not hold the writer back, as messages may
/// then have been overwritten.
///
/// The caller has claimed the reader slot `reader` from the dead reader, whose bit in the mask of
/// gated readers is still set.
pub fn dead_reader_position<M: LaneMemory>(memory: &M, reader: u32) -> Option<u64> {
    // Relaxed: the death of the owner ordered the cursor, and the stamps order the payloads.
    let cursor = memory.cursor(reader).get();
    let head = memory.block().head.get().min(POSITION_MAX);
    (cursor != 0 && cursor & JOINING_BIT == 0 && cursor - 1 <= head).then(|| cursor - 1)
}

/// Marks `reader` as not gated, so that it no longer holds any writer back. Must be called before
/// the reader slot is freed.
pub fn withdraw_gated_reader<W: Word>(gated_reader_mask: &W, reader: u32) {
    // ORDERING(gated_reader): pairs with the load in `LaneWriter::try_find_room`: the last reads of
    // a slot happen before it is written again.
    gated_reader_mask.clear_bits_ordered(1 << reader, edge::GATED_READER_WITHDRAW);
}

/// Takes a reader out of a lane: clears `cursor`, the reader's cursor in that lane, which then no
/// longer holds the writer back.
pub fn leave_lane<W: Word>(cursor: &W) {
    // ORDERING(cursor): pairs with the load in `LaneWriter::try_find_room`, as the store in
    // `LaneReader::advance_to`.
    cursor.store(0, edge::CURSOR_ADVANCE);
}
