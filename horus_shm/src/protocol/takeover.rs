//! Takeover: the next owner of a lane continues, in whatever state the previous owner left the
//! lane.

use crate::protocol::lane::PinnableLane;
use crate::protocol::layout::{
    LaneBlock, PLAUSIBLE_POSITION_MAX, POSITION_MAX, SKIP_BIT, SkipCounter, published_stamp,
    writing_stamp,
};
use crate::protocol::memory::LaneMemory;
use crate::protocol::sync::{Word, edge};

/// Begins the session of a lane's new owner `new_owner`. Returns the position at which the owner
/// continues to write.
///
/// The predecessor may have stopped after any instruction. It may have published a slot, but not
/// stored the head after it (then the message counts), or it may have written only a part of a slot
/// (then the position is used again, and counted as aborted). The work is bounded by the capacity.
/// If the new owner dies in this function, it leaves a state that the next takeover handles in the
/// same way.
pub fn take_over<M: LaneMemory>(memory: &M, new_owner: u64) -> u64 {
    let block = memory.block();
    let pos = resume_position_at_head(memory).unwrap_or_else(|| {
        block.corrupt_resync.fetch_add_one();
        position_after_newest_stamp(memory)
    });
    block.epoch.fetch_add_one();
    // Relaxed, both: the claim of the owner word ordered the one, the store below the other.
    let predecessor = block.epoch_start.get();
    if pos > predecessor {
        block.history_start.set(predecessor);
    }
    // ORDERING(session_start): pairs with the load in `history_start`.
    block.epoch_start.store(pos, edge::SESSION_START_PUBLISH);
    // ORDERING(session_owner): pairs with the load in `head_and_live_session_start`.
    block
        .epoch_owner
        .store(new_owner, edge::SESSION_OWNER_PUBLISH);
    // ORDERING(head): pairs with the loads in `LaneReader::move_past_overwritten` and
    // `head_and_live_session_start`.
    block.head.store(pos, edge::HEAD_PUBLISH);
    pos
}

/// Ends the session of the lane's owner, which leaves the lane. From then on, new readers do not
/// get its messages as history.
pub fn end_session<W: Word>(block: &LaneBlock<W>) {
    // ORDERING(session_owner): pairs with the load in `EndpointSession::load`.
    block.epoch_owner.store(0, edge::SESSION_OWNER_PUBLISH);
}

/// The words of a lane's block that a publisher changes when it takes over the lane, before its
/// first message there. They determine whether that message is history for readers that join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakeoverState {
    claims: u64,
    session_owner: u64,
    latched: u64,
    generation: u64,
}

impl TakeoverState {
    /// Loads the present state of a lane. If the state is that of a publisher whose session has
    /// begun, a later call of [`head_and_live_session_start`] sees that this publisher owns the
    /// lane, or has left it.
    pub fn load<W: Word>(block: &LaneBlock<W>) -> Self {
        // ORDERING(session_owner): pairs with the store in `take_over`.
        let session_owner = block.epoch_owner.load(edge::SESSION_OWNER_SEE);
        // Relaxed, all: a caller that has loaded a word here finds no older value of that word
        // later, and `is_unchanged` detects a mixture of the states of two publishers.
        Self {
            claims: block.epoch.get(),
            session_owner,
            latched: block.latched.get(),
            generation: block.generation.get(),
        }
    }

    /// Returns true if no publisher has changed the state since it was loaded. The messages that
    /// the caller has seen since then, by the head of the lane or by their stamps, are then of
    /// publishers whose state was complete when it was loaded.
    pub fn is_unchanged<M: LaneMemory>(&self, memory: &M) -> bool {
        // ORDERING(head): pairs with the stores in `LaneWriter::publish`: a thread that has seen a
        // message sees the state that its publisher stored before.
        memory.fence(edge::HEAD_SEE);
        *self == Self::load(memory.block())
    }
}

/// Returns the head of a lane, and the position where the session (the time as owner) of its live
/// owner began. The second value is `None` if there is no live owner, or if the owner is still
/// taking over the lane.
///
/// The head is loaded first, so that the head of a later session is never paired with the start of
/// an earlier one. If the head belongs to an earlier session than the start, the start may lie
/// after the head: see [`first_unpublished_position`].
pub fn head_and_live_session_start<W: Word>(
    block: &LaneBlock<W>,
    is_dead: impl Fn(u64) -> bool,
) -> (u64, Option<u64>) {
    // ORDERING(head): pairs with the stores in `take_over` and `LaneWriter::publish`.
    let head = block.head.load(edge::HEAD_SEE).min(POSITION_MAX);
    // ORDERING(owner): pairs with the release in `owner::release_entry`, also through the claim
    // that followed it: a thread that sees the successor sees that the session ended.
    let owner = block.owner.load(edge::OWNER_SEE);
    // ORDERING(session_owner): pairs with the store in `take_over`.
    let session = block.epoch_owner.load(edge::SESSION_OWNER_SEE) == owner && owner != 0;
    if !session || is_dead(owner) {
        return (head, None);
    }
    // Relaxed: ordered by the load of the epoch's owner, and by the load of the head.
    (head, Some(block.epoch_start.get()))
}

/// Returns the position where the history before `head` begins: the start of the last session that
/// sent messages. `head` is the head that [`head_and_live_session_start`] returned. A session that
/// has only skipped positions so far begins at its head (see `LaneWriter::skip_pinned_position`).
pub fn history_start<W: Word>(block: &LaneBlock<W>, head: u64) -> u64 {
    // ORDERING(session_start): pairs with the store in `take_over`.
    let present = block.epoch_start.load(edge::SESSION_START_SEE);
    if head > present {
        return present;
    }
    // Relaxed: the load of the start of the session ordered it.
    block.history_start.get().min(head)
}

/// Discards the history of a lane, which from now on begins at `pos`. Called by an owner that has
/// just taken over the lane at `pos`.
pub fn discard_history_before<W: Word>(block: &LaneBlock<W>, pos: u64) {
    // Relaxed: a reader that joins meanwhile gets the history of the predecessor.
    block.history_start.set(pos);
}

/// Returns the first position from `head` on that is not published. Used if
/// [`head_and_live_session_start`] returned `head` without a live session: the publisher that died
/// may have published a message after its head.
///
/// If a new owner sends messages during this call, the returned position may be after some of these
/// messages. A reader that joins at the same time has no claim to those messages. The work is
/// bounded by the capacity.
pub fn first_unpublished_position<M: LaneMemory>(memory: &M, head: u64) -> u64 {
    let mask = memory.capacity() - 1;
    // Relaxed: no payload is read here. A reader that goes on past a stamp loads the next one
    // itself.
    let is_published =
        |&pos: &u64| memory.stamp(pos & mask).get() & !SKIP_BIT == published_stamp(pos);
    head + (head..head + memory.capacity())
        .take_while(is_published)
        .count() as u64
}

/// Searches an extent (file of slots) whose slots can be pinned for its last `messages` messages,
/// backwards from the position `end`. Returns the position of the oldest of them, and how many were
/// found. The position is `end` if there is none. Does not search before `first`, which is not
/// before the extent's base.
///
/// Positions that the writer skipped, because a reader had pinned the slot, are not counted. The
/// work is bounded by the capacity: older messages were overwritten. If the writer goes on
/// meanwhile, only messages are found that it had not overwritten by then.
pub fn find_last_messages<M: LaneMemory>(
    memory: &M,
    first: u64,
    end: u64,
    messages: u64,
) -> (u64, u64) {
    let mask = memory.capacity() - 1;
    let first = first.max(end.saturating_sub(memory.capacity()));
    // Relaxed: as in `first_unpublished_position`; the head that led to `end` ordered it.
    let is_message = |&pos: &u64| memory.stamp(pos & mask).get() == published_stamp(pos);
    let newest_first = (first..end).rev().filter(is_message);
    newest_first
        .take(messages.try_into().unwrap_or(usize::MAX))
        .fold((end, 0), |(_, found), pos| (pos, found + 1))
}

/// Returns the number of the message at `position`, as it is stored in the slot. Returns `None` if
/// the slot does not hold that message, or not any more.
pub fn message_number_in_slot<M: PinnableLane>(memory: &M, position: u64) -> Option<u64> {
    let index = position & (memory.capacity() - 1);
    let want = published_stamp(position);
    // ORDERING(slot): pairs with the store in `LaneWriter::publish`.
    if memory.stamp(index).load(edge::SLOT_SEE) != want {
        return None;
    }
    // Relaxed: it is used only if the slot still holds this message below.
    let number = memory.message_number(index).get();
    // ORDERING(overwrite): pairs with the fence in `LaneWriter::claim_slot_unless_pinned`, which is
    // stronger.
    memory.fence(edge::OVERWRITE_CHECK);
    // Relaxed: the fence orders it after the number.
    let is_unchanged = memory.stamp(index).get() == want;
    // WHY the limit: a damaged number must not make the counters implausible.
    (is_unchanged && number <= position).then_some(number)
}

/// Returns the first position from the head on that is not published. Returns `None` if the head
/// and the stamps contradict each other.
fn resume_position_at_head<M: LaneMemory>(memory: &M) -> Option<u64> {
    let block = memory.block();
    // Relaxed: the claim of the owner word ordered it.
    let head = block.head.get();
    if head > PLAUSIBLE_POSITION_MAX || head < memory.base_position() {
        return None;
    }
    let mask = memory.capacity() - 1;
    for pos in head..=head + memory.capacity() {
        // Relaxed: as above; no payload is read here.
        let stamp = memory.stamp(pos & mask).get();
        if stamp == published_stamp(pos) | SKIP_BIT {
            count_skip_once(block, pos);
        }
        if stamp & !SKIP_BIT == published_stamp(pos) {
            continue;
        }
        if stamp == writing_stamp(pos) {
            block.aborted.fetch_add_one();
        }
        return (stamp & !SKIP_BIT <= writing_stamp(pos)).then_some(pos);
    }
    None
}

/// Counts position `pos` as skipped, unless the dead previous owner has already done so.
fn count_skip_once<W: Word>(block: &LaneBlock<W>, pos: u64) {
    // Relaxed: as in `resume_position_at_head`; the head that `take_over` stores publishes it.
    let skips = SkipCounter::from_word(block.skips.get());
    if !skips.is_last_skip(pos) {
        block
            .skips
            .set(SkipCounter::new(skips.count + 1, pos).to_word());
    }
}

/// Returns the position after the newest stamp whose value is plausible. If there is no such stamp,
/// returns the first position of the extent.
fn position_after_newest_stamp<M: LaneMemory>(memory: &M) -> u64 {
    let mask = memory.capacity() - 1;
    let after = |index: u64| {
        // Relaxed: as in `resume_position_at_head`.
        let stamp = memory.stamp(index).get() & !SKIP_BIT;
        let pos = (stamp / 2).wrapping_sub(u64::from(stamp.is_multiple_of(2)));
        let is_here = pos >= memory.base_position() && pos & mask == index;
        let plausible = stamp != 0 && is_here && pos < PLAUSIBLE_POSITION_MAX;
        let reusable = stamp % 2;
        if plausible { pos + 1 - reusable } else { 0 }
    };
    let newest = (0..memory.capacity()).map(after).max().unwrap_or(0);
    newest.max(memory.base_position())
}
