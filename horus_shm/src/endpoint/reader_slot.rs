//! Reader slots. A slot is a reader's block in the topic file, and the bit that shows publishers
//! whether the reader sleeps.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::endpoint::sample::borrows_max;
use crate::file::error::OpenError;
use crate::file::segment::{Segment, TopicBlocks as _};
use crate::os::region::Access;
use crate::protocol::gate;
use crate::protocol::identity::TypeIdentity;
use crate::protocol::layout::ReaderBlock;
use crate::protocol::owner::{self, OWNER_HELD_BIT};
use crate::protocol::pins::{
    OtherReaderPins, PinLimit, PinLimitMemory, clear_pin, raise_pin_limit,
};
use crate::protocol::sync::{self, Edge, Word, edge};
use crate::wait::{EventcountView, SleeperKind, WakeOrder};

pub use crate::protocol::pins::BORROWS_MAX;

/// Number of times that a claimant yields the CPU when all entries are taken. After that it sleeps
/// [`CLAIM_SLEEPS_MAX`] times, for a millisecond each.
const CLAIM_YIELDS_MAX: u32 = 32;
/// Number of times that a claimant sleeps when all entries are still taken after its yields.
const CLAIM_SLEEPS_MAX: u32 = 8;

/// Returns a function for [`owner::hold_first_free_slot`]. Each call of the function pauses; it
/// returns false after some 10 ms of pauses in all. This is enough for a process that is freeing an
/// entry and was preempted. On the heap the function does not pause, because no owner can be dead
/// there.
pub(crate) fn make_claim_pause(is_file: bool) -> impl FnMut() -> bool {
    let mut pauses = 0;
    move || {
        pauses += 1;
        match pauses {
            _ if !is_file => {}
            1..=CLAIM_YIELDS_MAX => std::thread::yield_now(),
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
        is_file && pauses <= CLAIM_YIELDS_MAX + CLAIM_SLEEPS_MAX
    }
}

/// The slot of one reader, which is freed on drop. (Observers have no slot.) The reader and each
/// message that it has borrowed keep the slot.
#[derive(Debug)]
pub(crate) struct ReaderSlot {
    index: u32,
    /// A bit mask of the pins that hold a message that the reader has borrowed: bit i stands for
    /// pin i.
    held: AtomicU64,
    /// The number of slots that the shortest lane had when this reader last raised its limit (see
    /// [`ReaderBlock::pin_limit`]).
    ///
    /// [`ReaderBlock::pin_limit`]: crate::protocol::layout::ReaderBlock::pin_limit
    reserved_beside: AtomicU64,
    /// Number of threads of this process that sleep until the reader gets a message. They share one
    /// bit in the topic file.
    sleepers: Mutex<u32>,
    /// 1 if every publisher executes a memory fence in each send, so that a sleeper needs no
    /// barrier; otherwise 0.
    fences: AtomicU64,
    segment: Arc<Segment>,
}

/// A reader slot that this process has just claimed for a new reader.
#[derive(Debug)]
pub(crate) struct ClaimedReaderSlot {
    pub(crate) slot: ReaderSlot,
    /// True if the slot belonged to a gated reader that died. The cursors that it left still
    /// prevent writers from overwriting its messages.
    pub(crate) resumed: bool,
}

/// Index of the pin (mark that keeps a slot from being overwritten) that protects a message while
/// the reader copies it. All other pins are for borrowed messages.
pub(crate) const COPY_PIN_INDEX: u32 = BORROWS_MAX;

impl ReaderSlot {
    /// Claims the first slot that is free or whose reader is dead. If `resumes_dead_reader` is true
    /// and the dead reader was gated, leaves its cursors unchanged. If `waits_for_free_slot` is
    /// true and there is no such slot, blocks for up to 10 ms.
    ///
    /// # Errors
    ///
    /// [`OpenError::TooManySubscribers`] or [`OpenError::Io`].
    pub(crate) fn claim(
        segment: &Arc<Segment>,
        resumes_dead_reader: bool,
        waits_for_free_slot: bool,
    ) -> Result<ClaimedReaderSlot, OpenError> {
        let limits = segment.shape().reader_limit();
        let limit = segment
            .request()
            .reader_limit
            .map_or(limits, |own| own.min(limits));
        let blocks: Vec<_> = (0..limit)
            .map(|reader| segment.reader_block(reader, Access::Write))
            .collect::<Result<_, _>>()?;
        let owners = blocks.iter().map(|block| &block.owner);
        let me = segment.own_owner_word();
        let mut pause = make_claim_pause(segment.file().is_some());
        let held = owner::hold_first_free_slot(
            owners,
            me,
            |owner| segment.is_dead(owner),
            || waits_for_free_slot && pause(),
        );
        let (index, predecessor) = held.ok_or(OpenError::TooManySubscribers { limit })?;
        let held = AtomicU64::new(0);
        let (reserved_beside, sleepers, fences) = Default::default();
        let slot = Self {
            index,
            held,
            reserved_beside,
            sleepers,
            fences,
            segment: Arc::clone(segment),
        };
        // Relaxed, both: the claim ordered them.
        let gated = segment.wait_block(Access::Write)?.gated.get() & 1 << index != 0;
        segment.record_subscriber_death(index)?;
        // WHY while the slot is held: writers ignore the pins in it only until then, and this
        // process may be stopped at any time.
        clear_announcements_except_gate(segment, index);
        let block = segment.reader_block(index, Access::Write)?;
        let identity = segment.request().type_info.identity();
        let same_type = TypeIdentity::of_reader(block) == identity;
        let resumed = resumes_dead_reader
            && gated
            && predecessor != 0
            && same_type
            && owner::try_continue_gate(&block.owner, predecessor, me);
        if !resumed {
            clear_gate(segment, index);
        }
        if let Ok(block) = segment.reader_block(index, Access::Write) {
            identity.store(block);
            // Relaxed: as the identity.
            block.moved_to.set(0);
            let losses = [&block.passed, &block.lost, &block.skipped];
            let others = [&block.busy, &block.detached, &block.malformed];
            // Relaxed: the counters of this reader, not of its predecessor.
            losses
                .into_iter()
                .chain(others)
                .chain(&block.latency)
                .for_each(|word| word.set(0));
            owner::own_held_slot(&block.owner);
        }
        Ok(ClaimedReaderSlot { slot, resumed })
    }

    /// Announces to publishers that this reader has joined every lane. Must be the last step when a
    /// reader joins.
    pub(crate) fn announce_join(&self) {
        if let Ok(block) = self.segment.reader_block(self.index, Access::Write) {
            // ORDERING(session_owner): a publisher that sees it sends behind the start of this
            // reader. Pairs with the load in `EndpointSession::load`.
            Word::store(
                &block.joined,
                self.segment.own_owner_word(),
                edge::SESSION_OWNER_PUBLISH,
            );
        }
    }

    /// Announces that the reader has left. The slot itself is freed only when no borrowed message
    /// needs it any more.
    pub(crate) fn announce_leave(&self) {
        if let Ok(block) = self.segment.reader_block(self.index, Access::Write) {
            // ORDERING(session_owner): pairs with the load in `EndpointSession::load`.
            Word::store(&block.joined, 0, edge::SESSION_OWNER_PUBLISH);
        }
    }

    /// Announces that this reader has joined the topic file with the number `file_number`, which
    /// has the topic's name now. The reader still reads this slot's file, too.
    pub(crate) fn announce_move(&self, file_number: u64) {
        if let Ok(block) = self.segment.reader_block(self.index, Access::Write) {
            // ORDERING(session_owner): pairs with the load in `unmoved_readers_in`: a publisher
            // that sees it sees the cursors of this reader in the other file.
            Word::store(&block.moved_to, file_number, edge::SESSION_OWNER_PUBLISH);
        }
    }

    /// Announces that this reader pins slots, so that writers check its pins. Must be called before
    /// the first pin.
    pub(crate) fn announce_use_of_pins(&self) {
        if let Ok(wait) = self.segment.wait_block(Access::Write) {
            // Relaxed: the fence behind the first pin orders it.
            wait.pinners.set_bits_relaxed(1 << self.index);
        }
    }

    /// Raises the number of messages that this reader may borrow at the same time to `borrows`. If
    /// necessary, lowers the limits of other readers that borrow fewer messages than they may. If
    /// `is_reservation` is true, no other reader can lower this reader's limit again.
    /// `shortest_lane_slots` is the number of slots of the reader's shortest lane. All readers
    /// together can borrow at most [`borrows_max`] messages. Returns false if this reader cannot
    /// borrow so many.
    ///
    /// Gives back what was reserved when all lanes were longer.
    pub(crate) fn try_raise_pin_limit(
        &self,
        borrows: u32,
        is_reservation: bool,
        shortest_lane_slots: u64,
    ) -> bool {
        let Ok(block) = self.segment.reader_block(self.index, Access::Write) else {
            return false;
        };
        let reserved = self.current_pin_limit(shortest_lane_slots).reserved;
        // WHY those in use also where the limit is 0: they may be in any lane.
        let in_use = self.pins_in_use();
        let limit = reserved.max(in_use.max(borrows).into());
        let wanted = PinLimit {
            limit,
            reserved: if is_reservation { limit } else { reserved },
        };
        let memory = ReaderPinLimits { slot: self, block };
        let is_raised =
            raise_pin_limit(&memory, wanted, reserved, borrows_max(shortest_lane_slots));
        if is_raised {
            // Relaxed: only the thread that reads uses it.
            self.reserved_beside.set(shortest_lane_slots);
        }
        is_raised
    }

    /// Returns the number of pins that hold a borrowed message.
    pub(crate) fn pins_in_use(&self) -> u32 {
        // Relaxed: other threads only free pins. A publisher that does not see that yet skips one
        // slot too many.
        self.held.get().count_ones()
    }

    /// Returns the number of messages that this reader may borrow at the same time now.
    /// `shortest_lane_slots` is the number of slots of its shortest lane.
    pub(crate) fn pin_limit(&self, shortest_lane_slots: u64) -> u32 {
        self.current_pin_limit(shortest_lane_slots).limit as u32
    }

    /// Returns the number of messages that the reader may borrow; 0 if that limit was set when all
    /// lanes were longer, because more was permitted then.
    fn current_pin_limit(&self, shortest_lane_slots: u64) -> PinLimit {
        if shortest_lane_slots < self.reserved_beside.get() {
            return PinLimit::default();
        }
        let block = self.segment.reader_block(self.index, Access::Read);
        // Relaxed: `LaneReader::pin_next` loads it again.
        block.map_or_else(
            |_| PinLimit::default(),
            |block| PinLimit::from_word(block.pin_limit.get()),
        )
    }

    /// Returns the bit mask of the pins that hold a borrowed message: bit i stands for pin i.
    pub(crate) const fn held_pin_mask(&self) -> &AtomicU64 {
        &self.held
    }

    /// Returns the segment (mapped memory) of the topic.
    pub(crate) const fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// Returns the word in shared memory that holds pin number `pin_index`; `None` if the reader's
    /// block cannot be accessed.
    pub(crate) fn pin_word(&self, pin_index: u32) -> Option<&AtomicU64> {
        self.segment
            .reader_block(self.index, Access::Write)
            .ok()?
            .pins
            .get(pin_index as usize)
    }

    /// Returns the index of this reader slot in the topic.
    pub(crate) const fn index(&self) -> u32 {
        self.index
    }

    /// Returns true if every publisher executes a memory fence in each send, so that a thread needs
    /// no barrier before it sleeps.
    pub(crate) fn publishers_use_fences(&self) -> bool {
        // Relaxed: it belongs to the thread that reads; a watch that sees an older value looks
        // again after a slice.
        self.fences.get() != 0
    }

    /// Sets the value that [`Self::publishers_use_fences`] returns.
    pub(crate) fn set_publishers_use_fences(&self, fences: bool) {
        // Relaxed: as above.
        self.fences.set(fences.into());
    }

    /// Returns the eventcount at which this reader sleeps; `None` if this is a copy in a forked
    /// child.
    pub(crate) fn event(&self) -> Option<EventcountView<'_>> {
        let order = if self.publishers_use_fences() {
            WakeOrder::Fences
        } else {
            WakeOrder::Barrier
        };
        let block = self.segment.wait_block(Access::Write);
        let block = block.ok().filter(|_| !self.segment.is_forked())?;
        let event = EventcountView::of_messages(block, SleeperKind::Bit(self.index), order);
        Some(event.with_shared_bit(&self.sleepers))
    }
}

/// The limits of all readers of a topic, for the reader with slot `slot` and block `block`.
struct ReaderPinLimits<'a> {
    slot: &'a ReaderSlot,
    block: &'a ReaderBlock<AtomicU64>,
}

impl PinLimitMemory for ReaderPinLimits<'_> {
    type Word = AtomicU64;

    fn own_limit_word(&self) -> &AtomicU64 {
        &self.block.pin_limit
    }

    fn other_readers(&self) -> impl Iterator<Item = OtherReaderPins<'_, AtomicU64>> {
        let segment = &self.slot.segment;
        (0..segment.shape().reader_limit())
            .filter(|&reader| reader != self.slot.index)
            .filter_map(|reader| segment.reader_block(reader, Access::Write).ok())
            .filter(|block| {
                // Relaxed: the fence in `store_pin_limit` orders it.
                let owner = block.owner.get();
                // WHY not a held slot: its reader is dead, and publishers ignore its pins.
                owner != 0 && owner & OWNER_HELD_BIT == 0 && !segment.is_dead(owner)
            })
            .map(|block| OtherReaderPins {
                limit: &block.pin_limit,
                pins: &block.pins[..BORROWS_MAX as usize],
            })
    }

    fn fence(&self, edge: Edge) {
        sync::fence(edge);
    }
}

impl Drop for ReaderSlot {
    fn drop(&mut self) {
        // WHY: a forked child owns nothing here.
        if self.segment.is_forked() {
            return;
        }
        if let Ok(block) = self.segment.reader_block(self.index, Access::Write) {
            let me = self.segment.own_owner_word();
            owner::try_free_slot(&block.owner, me, me, || {
                clear_announcements(&self.segment, self.index);
            });
        }
    }
}

/// Clears everything that an owner of a reader slot has announced to publishers: that it is gated,
/// its pins, and that it sleeps. Only the present owner of the slot may call this.
fn clear_announcements(segment: &Segment, index: u32) {
    clear_gate(segment, index);
    clear_announcements_except_gate(segment, index);
}

/// Clears what makes the reader of a slot gated: its bit, and its cursors. Only the present owner
/// of the slot may call this.
fn clear_gate(segment: &Segment, index: u32) {
    if let Ok(wait) = segment.wait_block(Access::Write) {
        gate::withdraw_gated_reader(&wait.gated, index);
    }
    if let Ok(cursors) = segment.cursors(index, Access::Write) {
        cursors.iter().for_each(gate::leave_lane);
    }
}

/// Clears everything that an owner of a reader slot has announced to publishers, except that it is
/// gated, so that writers still wait for its cursors. Only the present owner of the slot may call
/// this.
fn clear_announcements_except_gate(segment: &Segment, index: u32) {
    if let Ok(block) = segment.reader_block(index, Access::Write) {
        block.pin_limit.set(0);
        block.pins.iter().for_each(clear_pin);
    }
    if let Ok(wait) = segment.wait_block(Access::Write) {
        wait.waiters.clear_bits_relaxed(1 << index);
        wait.pinners.clear_bits_relaxed(1 << index);
    }
}

/// Number of wakes in a row that woke no thread, after which the waker checks whether the
/// registered sleepers are alive.
pub(crate) const FRUITLESS_WAKES_MAX: u32 = 8;

/// Withdraws what a dead reader had announced in slot `index`, and frees the slot. Returns false if
/// the reader is alive, or if another process did this first. If the slot is already free,
/// announcements in it are damage, and are cleared, too.
///
/// The slot of a gated reader is not freed, and keeps its cursors, because a successor may continue
/// there. Only [`release_dead_gate`] frees it.
pub(crate) fn reap_dead_reader(segment: &Segment, index: u32) -> bool {
    let Some((word, owner)) = owner_word_if_free_or_dead(segment, index) else {
        return false;
    };
    let Ok(wait) = segment.wait_block(Access::Write) else {
        return false;
    };
    // Relaxed: the death of the owner ordered it.
    let is_gated = wait.gated.get() & 1 << index != 0;
    let me = segment.own_owner_word();
    if owner != 0 && is_gated {
        owner::try_clear_dead_slot(word, owner, me, || {
            clear_announcements_except_gate(segment, index)
        })
    } else {
        owner::try_free_slot(word, owner, me, || clear_announcements(segment, index))
    }
}

/// The state of a reader slot after [`release_dead_gate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GateState {
    /// The reader was dead, and its slot was freed.
    Freed,
    /// The reader is dead, and the writer need not wait for it: another process holds the slot, to
    /// free it or to claim it. That process may be stopped.
    Abandoned {
        /// The owner word of the slot.
        owner: u64,
    },
    /// The reader is alive.
    Live,
}

/// Frees the slot of a gated reader if the reader is dead, so that it no longer stops writers.
///
/// The caller must have loaded the reader's cursor before, with Acquire.
pub(crate) fn release_dead_gate(segment: &Segment, index: u32) -> GateState {
    // WHY this is enough: a probe by system call came before, and the dead reader's last loads
    // before its lock was released; the exchange excludes a second reaper.
    let is_freed = owner_word_if_free_or_dead(segment, index).is_some_and(|(word, owner)| {
        owner::try_free_slot(word, owner, segment.own_owner_word(), || {
            clear_announcements(segment, index)
        })
    });
    if is_freed {
        return GateState::Freed;
    }
    let block = segment.reader_block(index, Access::Write);
    let abandoned = block
        .ok()
        .and_then(|block| owner::try_abandon_gate(&block.owner));
    abandoned.map_or(GateState::Live, |owner| GateState::Abandoned { owner })
}

/// Returns the state of a gated reader's slot, as [`release_dead_gate`] does, but changes nothing.
/// A dead reader counts as [`GateState::Abandoned`], because its slot is not freed.
pub(crate) fn state_of_gate(segment: &Segment, index: u32) -> GateState {
    let Ok(block) = segment.reader_block(index, Access::Read) else {
        return GateState::Live;
    };
    // Relaxed: no slot is written because of it.
    let owner = block.owner.get();
    if owner == 0 || owner & OWNER_HELD_BIT != 0 || segment.is_dead(owner) {
        GateState::Abandoned { owner }
    } else {
        GateState::Live
    }
}

/// Returns the owner word of a reader slot and its value if the slot is free or its process is
/// dead; otherwise `None`.
fn owner_word_if_free_or_dead(segment: &Segment, index: u32) -> Option<(&AtomicU64, u64)> {
    let word = &segment.reader_block(index, Access::Write).ok()?.owner;
    // Relaxed: the exchange decides.
    let owner = word.get();
    (owner == 0 || segment.is_dead(owner)).then_some((word, owner))
}

/// Removes from the list of sleepers the readers that died while they were registered, and frees
/// their slots.
#[cold]
pub(crate) fn reap_dead_sleepers(segment: &Segment) {
    let Ok(wait) = segment.wait_block(Access::Write) else {
        return;
    };
    for reader in indices_of_set_bits(&wait.waiters, segment.shape().reader_limit()) {
        if reap_dead_reader(segment, reader) {
            continue;
        }
        let Ok(block) = segment.reader_block(reader, Access::Read) else {
            continue;
        };
        // Relaxed: at worst, one wake is superfluous, or comes a slice too late.
        let owner = block.owner.get();
        // WHY also in a held slot: its reader is dead, and its holder may be stopped.
        if owner & OWNER_HELD_BIT != 0 {
            wait.waiters.clear_bits_relaxed(1 << reader);
            if block.owner.get() != owner {
                // WHY: the next reader may have announced itself meanwhile.
                wait.waiters.set_bits_relaxed(1 << reader);
            }
        }
    }
}

/// Removes from the list of sleepers the publishers that have left, or that died while they waited
/// for a free slot.
#[cold]
pub(crate) fn reap_dead_publishers(segment: &Segment) {
    let Ok(wait) = segment.wait_block(Access::Write) else {
        return;
    };
    for lane in indices_of_set_bits(&wait.room_waiters, segment.shape().lane_limit()) {
        let Ok(block) = segment.lane_block(lane, Access::Read) else {
            continue;
        };
        // Relaxed: at worst, one wake is superfluous, or comes a slice too late.
        let owner = block.owner.get();
        if owner != 0 && !segment.is_dead(owner) {
            continue;
        }
        wait.room_waiters.clear_bits_relaxed(1 << lane);
        if block.owner.get() != owner {
            // WHY: the next owner may have announced itself meanwhile.
            wait.room_waiters.set_bits_relaxed(1 << lane);
        }
    }
}

fn indices_of_set_bits(word: &AtomicU64, limit: u32) -> impl Iterator<Item = u32> {
    // Relaxed: bits that are missed here are found next time.
    let bits = word.get();
    (0..limit).filter(move |bit| bits & 1 << bit != 0)
}
