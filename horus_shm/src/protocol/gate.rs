//! Gates: the cursors that a reliable reader publishes, and that hold writers back.

use crate::protocol::layout::{GateBlock, POSITION_MAX};
use crate::protocol::memory::LaneMemory;
use crate::protocol::sync::{Word, edge};

/// Bit of a cursor whose reader is still registering. The cursor holds writers back, but a writer
/// may have passed it unseen, so no successor may start there.
pub const JOINING: u64 = 1 << 63;

/// Registers `gate` with a lane and returns the position from which it holds the writer back: the
/// head, or `back_to` if that is lower.
///
/// The writer may overwrite positions before the head until it reads the gates next. On an
/// exclusive lane `back_to` must therefore not be below the head.
pub fn join<M: LaneMemory>(memory: &M, gate: u32, back_to: u64) -> u64 {
    let head = &memory.block().head;
    let cursor = memory.cursor(gate);
    // WHY: a first guess that is never too high. Between the two loads of the head the writer may
    // go on; messages that it publishes meanwhile are not owed to this reader.
    let guess = (head.get().min(POSITION_MAX) + 1) | JOINING;
    // ORDERING(cursor): as `LaneReader::advance`; it also hands on what the gate's previous owner
    // read, which the claim of the gate ordered before this store.
    cursor.store(guess, edge::CURSOR_ADVANCE);
    // ORDERING(gate): pairs with the fence in `LaneWriter::find_room`.
    memory.fence(edge::GATE_JOIN);
    // Relaxed: positions below the start are covered by the head that `takeover::session` saw,
    // those from the start on by their stamps.
    let start = head.get().min(POSITION_MAX).min(back_to);
    // Relaxed: the fence above releases everything before it.
    cursor.set(start + 1);
    start
}

/// Returns the position at which the dead owner of `gate` stopped in a lane, if its cursor held the
/// writer back until now: then nothing from there on was overwritten.
///
/// The caller has claimed the gate from a dead owner.
pub fn resume<M: LaneMemory>(memory: &M, gate: u32) -> Option<u64> {
    // Relaxed: the death of the owner ordered the cursor, and the stamps order the payloads.
    let cursor = memory.cursor(gate).get();
    let head = memory.block().head.get().min(POSITION_MAX);
    (cursor != 0 && cursor & JOINING == 0 && cursor - 1 <= head).then(|| cursor - 1)
}

/// Frees a gate whose owner died or leaves: clears its cursors, then its owner word.
///
/// `owner` is the present owner, `me` the process that frees the gate. Returns false if another
/// process was faster. A process that dies in this function leaves the gate owned by `me`, which is
/// dead, so that another process frees it.
pub fn free<'a, W: Word + 'a>(
    block: &GateBlock<W>,
    cursors: impl Iterator<Item = &'a W>,
    owner: u64,
    me: u64,
) -> bool {
    // ORDERING(owner): pairs with the release below.
    if owner != me
        && !block
            .owner
            .compare_exchange_at(owner, me, edge::OWNER_CLAIM)
    {
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
