//! A gate: the cursors that a reliable reader publishes, and that hold writers back.

use crate::layout::{GateBlock, POSITION_MAX};
use crate::memory::LaneMemory;
use crate::sync::{Word, edge};

/// Registers `gate` with a lane and returns the position from which it holds the writer back.
///
/// `history` positions before the head, but none before `floor`, are included as far as they are
/// still there; the writer may overwrite those until it looks at the gates next.
pub fn join<M: LaneMemory>(memory: &M, gate: u32, history: u64, floor: u64) -> u64 {
    let head = &memory.block().head;
    let cursor = memory.cursor(gate);
    // WHY: a first guess that is never too high. Between the two looks at the head the writer
    // may run on; what it published meanwhile is not owed to this reader.
    // ORDERING(cursor): as `LaneReader::advance`; it also hands on what the gate's previous owner
    // read, which the claim of the gate ordered before this.
    cursor.store(head.get().min(POSITION_MAX) + 1, edge::CURSOR_ADVANCE);
    // ORDERING(gate): pairs with the fence in `LaneWriter::find_room`.
    memory.fence(edge::GATE_JOIN);
    // ORDERING(head): pairs with the store in `LaneWriter::write`.
    let start = head.load(edge::HEAD_SEE).min(POSITION_MAX);
    let start = start.saturating_sub(history).max(floor.min(start));
    // ORDERING(cursor): pairs with the load in `LaneWriter::find_room`.
    cursor.store(start + 1, edge::CURSOR_ADVANCE);
    start
}

/// Frees a gate whose owner died or leaves: clears its cursors, then its owner word.
///
/// `owner` is the present owner, `me` whoever does this; false if somebody else was faster. A
/// death in here leaves the gate owned by `me`, dead, for the next one.
pub fn free<'a, W: Word + 'a>(
    block: &GateBlock<W>,
    cursors: impl Iterator<Item = &'a W>,
    owner: u64,
    me: u64,
) -> bool {
    // ORDERING(owner): pairs with the release below.
    if owner != me && !block.owner.claim(owner, me, edge::OWNER_CLAIM) {
        return false;
    }
    for cursor in cursors {
        // ORDERING(cursor): pairs with the load in `LaneWriter::find_room`: the last reads behind
        // this gate happen before the slots are written again.
        cursor.store(0, edge::CURSOR_ADVANCE);
    }
    // ORDERING(owner): pairs with the claim in `owner::claim_first`.
    block.owner.store(0, edge::OWNER_RELEASE);
    true
}
