//! The consuming end whatever its messages are: a cursor in every lane, and where it starts.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::watch::{self, Progress, Watch};
use crate::contract::Reliability;
use crate::error::OpenError;
use crate::fork::fork_epoch;
use crate::gate;
use crate::lane::{LaneReader, Polled, UNGATED};
use crate::layout::{POSITION_MAX, WaitBlock};
use crate::memory::{LaneMemory, RawLane};
use crate::owner;
use crate::place::{self, FRUITLESS_MAX, Place};
use crate::region::Access;
use crate::segment::Segment;
use crate::sync::{Word, edge};
use crate::takeover;
use crate::wait::{Event, Order, Patience, Sleeper, has_sleepers, wait_until, wake};

/// Messages in a row that make a burst.
const BURST_MIN: u64 = 2;
/// Pauses at the end of a burst: some 0.1 µs (AMD Zen 5) to 0.5 µs (Intel since Skylake).
const REST_PAUSES: u32 = 8;

/// How a reader takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Keeps private cursors; never delays a writer; loses messages when it is slow.
    KeepLast,
    /// Registers a gate: writers do not overrun it.
    Gated,
    /// Maps everything read-only and is not counted: tools.
    Observer,
}

/// What a consumer has seen, in messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Delivered to the caller.
    pub received: u64,
    /// Overwritten before this reader came to them.
    pub lost: u64,
    /// Passed over by asking for the latest only.
    pub skipped: u64,
    /// Published since this reader joined and not yet passed by it.
    pub waiting: u64,
    /// Published since this reader joined: the sum of the other four, once the writers rest.
    pub sent: u64,
    /// Calls that gave up because the writer was faster; the message was not lost by that.
    pub busy: u64,
}

/// A lane and this consumer's reader of it.
#[derive(Debug)]
struct Followed {
    lane: u32,
    reader: LaneReader<RawLane>,
}

/// The consuming end, whatever its messages are.
#[derive(Debug)]
pub struct RawConsumer {
    /// Readers of the lanes that are mapped, in the order of their discovery.
    lanes: Vec<Followed>,
    next: usize,
    /// Number of the last message received, as its lane counts.
    sequence: u64,
    received: u64,
    /// Messages received since a look found nothing.
    burst: u64,
    /// Decides how long to pause.
    chance: u64,
    /// The ready bits that were looked at.
    known: u64,
    ready: *const AtomicU64,
    epoch: u64,
    /// By lane: where this reader starts.
    starts: Box<[u64]>,
    /// Lanes that have a reader, or are not to have one.
    mapped: u64,
    ignored: u64,
    reading: Reading,
    place: Option<Arc<Place>>,
    gate: Option<u32>,
    /// Behind a gate: where publishers wait for room, and how they are woken.
    room: Option<Room>,
    progress: Arc<Progress>,
    segment: Arc<Segment>,
}

// SAFETY: `ready` and `room` point into the segment, which is kept and is `Sync`; all else is
// `Send`.
unsafe impl Send for RawConsumer {}

/// Where the publishers of a reliable topic wait for room.
#[derive(Debug)]
struct Room {
    block: *const WaitBlock<AtomicU64>,
    order: Order,
    /// Wakes in a row that woke nobody.
    fruitless: u32,
}

impl Room {
    #[inline(always)]
    fn event(&self) -> Event<'_> {
        // SAFETY: points into the segment, which the consumer keeps; all of it atomics.
        Event::of_room(unsafe { &*self.block }, Sleeper::Counted, self.order)
    }
}

impl RawConsumer {
    /// Joins as a reader, from the present head of every lane on, plus the topic's history.
    ///
    /// # Errors
    ///
    /// [`OpenError::IncompatibleQos`], [`OpenError::GatedOnly`], [`OpenError::TooManySubscribers`],
    /// [`OpenError::TooManyReliableSubscribers`], [`OpenError::Forked`] or [`OpenError::Io`].
    pub fn new(segment: Arc<Segment>, reading: Reading) -> Result<Self, OpenError> {
        if segment.is_forked() {
            return Err(OpenError::Forked);
        }
        let contract = segment.contract();
        let gatable = contract.gated_only || contract.reliability == Reliability::Reliable;
        // WHY: without the odd stamp, only a gate keeps a copy from being torn: no keep-last
        // reader, and no observer either.
        if contract.gated_only && reading != Reading::Gated {
            return Err(OpenError::GatedOnly { path: segment.path(), found: true });
        }
        if reading == Reading::Gated && !gatable {
            return Err(OpenError::IncompatibleQos {
                offered: contract.reliability,
                requested: Reliability::Reliable,
            });
        }
        let ready: *const _ = &segment.control(Access::Read)?.ready;
        let mut this = Self {
            lanes: Vec::with_capacity(contract.shape.request().lane_limit as usize),
            next: 0,
            sequence: 0,
            received: 0,
            burst: 0,
            chance: 0,
            known: 0,
            ready,
            epoch: fork_epoch(),
            starts: vec![0; contract.shape.request().lane_limit as usize].into(),
            mapped: 0,
            ignored: 0,
            reading,
            place: None,
            gate: None,
            room: None,
            progress: Arc::new(Progress::new(&[])),
            segment,
        };
        // WHY: from here on the drop gives back whatever was claimed.
        this.join()?;
        this.progress = Arc::new(Progress::new(&this.starts));
        this.look_for_lanes();
        Ok(this)
    }

    fn join(&mut self) -> Result<(), OpenError> {
        let segment = Arc::clone(&self.segment);
        let mut adopted = false;
        if self.reading != Reading::Observer {
            self.place = Some(Arc::new(Place::claim(&segment)?));
        }
        if self.reading == Reading::Gated {
            // WHY: before the first cursor: whoever wakes others must be known to the kernel.
            let order = Order::of_sender(segment.contract().wake_edge);
            let block = segment.wait_block(Access::Write)?;
            self.room = Some(Room { block, order, fruitless: 0 });
            let (gate, predecessor) = claim_gate(&segment)?;
            self.gate = Some(gate);
            adopted = predecessor != 0 && segment.contract().gated_only;
        }
        for lane in 0..self.starts.len() {
            self.starts[lane] = self.start(lane as u32, adopted)?;
        }
        Ok(())
    }

    /// Where to start in a lane; registers the gate there.
    fn start(&self, lane: u32, adopted: bool) -> Result<u64, OpenError> {
        let contract = self.segment.contract();
        let block = self.segment.lane_block(lane, Access::Read)?;
        let (head, session) = takeover::session(block, |owner| self.segment.is_dead(owner));
        let floor = if contract.persists { Some(0) } else { session };
        // WHY: as far back as a lapped reader would go, no further.
        let history = u64::from(contract.history).min(contract.shape.capacity() * 7 / 8);
        let back_to = floor.map(|floor| head.saturating_sub(history).max(floor));
        let Some(gate) = self.gate else { return Ok(back_to.unwrap_or(head)) };
        let memory = self.bare_lane(lane)?;
        let resumed = if adopted { gate::resume(&memory, gate) } else { None };
        let back_to = back_to.filter(|_| history > 0).unwrap_or(u64::MAX);
        Ok(resumed.unwrap_or_else(|| gate::join(&memory, gate, back_to)))
    }

    /// Block and cursors of a lane, without its slots.
    fn bare_lane(&self, lane: u32) -> Result<RawLane, OpenError> {
        let parts = self.segment.bare_lane(lane, Access::Read, Access::Write)?;
        // SAFETY: block and cursors are mapped as the segment says; no slot is touched.
        Ok(unsafe { RawLane::new(parts) })
    }

    #[inline(always)]
    fn ready(&self) -> &AtomicU64 {
        // SAFETY: points into the segment, which this end keeps; an atomic, never torn down.
        unsafe { &*self.ready }
    }

    #[inline(always)]
    pub(super) fn look_for_lanes(&mut self) {
        // ORDERING(ready): pairs with the bits set in `RawProducer::open_lane`.
        let ready = Word::load(self.ready(), edge::READY_SEE);
        if ready != self.known {
            self.discover(ready);
        }
    }

    /// Maps the lanes that `ready` says are there. What cannot be mapped is tried again.
    #[cold]
    fn discover(&mut self, ready: u64) {
        let mut complete = true;
        for lane in 0..self.starts.len() as u32 {
            let bit = 1 << lane;
            if ready & bit == 0 || self.mapped & bit != 0 {
                continue;
            }
            let area = if self.reading == Reading::Observer { Access::Read } else { Access::Write };
            // WHY: a bit that lies would have this process read a hole, and on a full file system
            // that is fatal. Reserving what is reserved costs one system call.
            let reserved = self.segment.reserve_lane(lane);
            let raw = reserved.and_then(|()| self.segment.lane(lane, Access::Read, area));
            let Ok(raw) = raw else {
                complete = false;
                continue;
            };
            let (gate, exclusive) = (self.gate.unwrap_or(UNGATED), self.is_exclusive());
            let reader = LaneReader::new(raw, self.starts[lane as usize], gate, exclusive);
            self.lanes.push(Followed { lane, reader });
            self.mapped |= bit;
        }
        if complete {
            self.known = ready;
        }
    }

    fn is_exclusive(&self) -> bool {
        self.segment.contract().gated_only
    }

    /// Copies the next message of any lane into `dst`, lane after lane in turn. Never blocks.
    ///
    /// # Safety
    ///
    /// `dst` is writable for `bytes` bytes, which are at most the payload of the ring.
    #[inline(always)]
    pub unsafe fn recv(&mut self, dst: *mut u8, bytes: usize) -> Polled {
        if fork_epoch() != self.epoch {
            return Polled::Empty;
        }
        self.look_for_lanes();
        // SAFETY: the caller's contract.
        let polled = unsafe { self.poll(dst, bytes) };
        if polled == Polled::Message {
            self.burst += 1;
            return polled;
        }
        if self.burst < BURST_MIN {
            self.burst = 0;
            self.pause();
            return polled;
        }
        // SAFETY: the caller's contract.
        unsafe { self.rest(dst, bytes) }
    }

    /// Pauses between two looks that found nothing: once, or with one lane once or twice by chance.
    ///
    /// WHY: a reader that looks again at once takes the line away that is being written. And one
    /// that looks in a fixed rhythm can lock into it: ends that answer each other then meet at the
    /// same bad moment every time, for as long as they run. Measured, one way between processes on
    /// two near cores, 16 B, × floor with the 95 % interval over rings: no pause 1.3 to 1.6, one
    /// 1.39 [1.11, 1.70], one or two 1.25 [1.24, 1.26], two or three 1.8. With two lanes the looks
    /// are apart already: one 1.1 to 1.25, one or two 1.7.
    #[inline(always)]
    fn pause(&mut self) {
        std::hint::spin_loop();
        // A linear congruential step (Knuth's MMIX constants): any bit pattern without a rhythm.
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if self.lanes.len() == 1 && self.chance >> 63 == 1 {
            std::hint::spin_loop();
        }
    }

    /// Looks into each lane once, in turn.
    ///
    /// # Safety
    ///
    /// As [`Self::recv`].
    #[inline(always)]
    unsafe fn poll(&mut self, dst: *mut u8, bytes: usize) -> Polled {
        let mut busy = false;
        for _ in 0..self.lanes.len() {
            let lane = self.next;
            self.next = if lane + 1 == self.lanes.len() { 0 } else { lane + 1 };
            // SAFETY: the caller's contract.
            match unsafe { self.lanes[lane].reader.read(dst, bytes) } {
                Polled::Message => {
                    self.take(lane);
                    return Polled::Message;
                }
                Polled::Empty => {}
                Polled::Busy => busy = true,
            }
            self.note(lane);
        }
        if busy { Polled::Busy } else { Polled::Empty }
    }

    /// At the end of a burst: gives the writers a moment, then looks once more.
    ///
    /// WHY: a reader that catches up with a streaming writer takes the line away that is being
    /// written, message after message. Measured with [`REST_PAUSES`], streaming 1:1, 304 B: 47 →
    /// 70 million messages a second. Where messages come one at a time nothing is waited for.
    ///
    /// # Safety
    ///
    /// As [`Self::recv`].
    #[cold]
    unsafe fn rest(&mut self, dst: *mut u8, bytes: usize) -> Polled {
        for _ in 0..REST_PAUSES {
            std::hint::spin_loop();
        }
        // SAFETY: the caller's contract.
        let polled = unsafe { self.poll(dst, bytes) };
        self.burst = if polled == Polled::Message { BURST_MIN } else { 0 };
        polled
    }

    /// Copies the newest message of lane `lane` (by discovery) into `dst`, passing over the rest.
    ///
    /// # Safety
    ///
    /// As [`Self::recv`].
    #[inline(always)]
    pub(super) unsafe fn latest_of(&mut self, lane: usize, dst: *mut u8, bytes: usize) -> Polled {
        // SAFETY: the caller's contract.
        unsafe { self.lanes[lane].reader.read_latest(dst, bytes) }
    }

    /// Leaves lane `lane` out of everything, the ledger included: a participant's own messages.
    pub fn ignore(&mut self, lane: u32) {
        let bit = 1 << lane;
        if self.ignored & bit != 0 || lane as usize >= self.starts.len() {
            return;
        }
        self.ignored |= bit;
        self.progress.set_ignored(self.ignored);
        self.mapped |= bit;
        if let Some(at) = self.lanes.iter().position(|followed| followed.lane == lane) {
            let reader = self.lanes.remove(at).reader;
            let passed = reader.position().wrapping_sub(self.starts[lane as usize]);
            let passed_over = reader.lost().wrapping_add(reader.skipped());
            let received = passed.wrapping_sub(passed_over);
            self.received = self.received.saturating_sub(received);
            self.next = 0;
        }
        if let Some(gate) = self.gate
            && let Ok(cursors) = self.segment.cursors(gate, Access::Write)
        {
            // ORDERING(cursor): pairs with the load in `LaneWriter::find_room`.
            Word::store(&cursors[lane as usize], 0, edge::CURSOR_ADVANCE);
        }
    }

    /// Takes lane `lane` in again, from now on, after [`Self::ignore`]: its next owner may be
    /// somebody else.
    ///
    /// # Errors
    ///
    /// [`OpenError::Io`]; the lane stays ignored.
    pub fn heed(&mut self, lane: u32) -> Result<(), OpenError> {
        let bit = 1 << lane;
        if self.ignored & bit == 0 {
            return Ok(());
        }
        let memory = self.bare_lane(lane)?;
        self.starts[lane as usize] = match self.gate {
            Some(gate) => gate::join(&memory, gate, u64::MAX),
            // ORDERING(head): pairs with the store in `LaneWriter::write`.
            None => Word::load(&memory.block().head, edge::HEAD_SEE).min(POSITION_MAX),
        };
        self.progress.set(lane, self.starts[lane as usize]);
        self.ignored &= !bit;
        self.progress.set_ignored(self.ignored);
        self.mapped &= !bit;
        // WHY: makes the next call look for lanes.
        self.known = 0;
        Ok(())
    }

    /// Number of the last message received, counted by its publisher's lane from 1 on; 0 before
    /// the first.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Lanes that are mapped.
    pub(super) fn lane_count(&self) -> usize {
        self.lanes.len()
    }

    /// Counts what [`Self::latest_of`] just read of a lane as passed over.
    pub(super) fn pass_over(&mut self, lane: usize) {
        self.lanes[lane].reader.count_skipped();
    }

    /// Counts what was just read of a lane as received.
    #[inline(always)]
    pub(super) fn take(&mut self, lane: usize) {
        self.received += 1;
        self.sequence = self.lanes[lane].reader.position();
        self.note(lane);
    }

    /// Tells those who wait, on either side, how far the reader of a lane is.
    #[inline(always)]
    pub(super) fn note(&mut self, lane: usize) {
        let Followed { lane, reader } = &self.lanes[lane];
        self.progress.set(*lane, reader.position());
        if self.room.as_ref().is_some_and(|room| has_sleepers(&room.event())) {
            self.wake_publishers();
        }
    }

    #[cold]
    fn wake_publishers(&mut self) {
        let Some(room) = &mut self.room else { return };
        if wake(&room.event()) > 0 {
            room.fruitless = 0;
            return;
        }
        // WHY: as in `RawProducer::wake`: the bit of a dead one would cost a system call a message.
        room.fruitless += 1;
        if room.fruitless >= FRUITLESS_MAX {
            room.fruitless = 0;
            place::reap_publishers(&self.segment);
        }
    }

    /// [`Self::recv`], but waits for a message until the patience ends.
    ///
    /// Blocks; see [`Watch::wait_any`].
    ///
    /// # Safety
    ///
    /// As [`Self::recv`].
    pub unsafe fn recv_until(&mut self, patience: Patience, dst: *mut u8, bytes: usize) -> Polled {
        let place = self.place.clone();
        let event = place.as_ref().and_then(|place| place.event());
        let events: &[&Event<'_>] = match &event {
            Some(event) => &[event],
            None => &[],
        };
        let look = || {
            // SAFETY: the caller's contract.
            let polled = unsafe { self.recv(dst, bytes) };
            (polled == Polled::Message || self.is_forked()).then_some(polled)
        };
        wait_until(events, patience, look).unwrap_or(Polled::Empty)
    }

    /// A watch on this consumer, for whoever waits on its behalf.
    #[must_use]
    pub fn watch(&self) -> Watch {
        Watch::new(&self.segment, &self.progress, self.place.as_ref())
    }

    /// The ledger since this reader joined. Costs a look at every lane's head.
    #[must_use]
    pub fn stats(&self) -> ReadStats {
        let mut stats = ReadStats { received: self.received, ..ReadStats::default() };
        for (lane, &start) in self.starts.iter().enumerate() {
            if self.ignored & (1 << lane) != 0 {
                continue;
            }
            let followed = self.lanes.iter().find(|followed| followed.lane as usize == lane);
            let reader = followed.map(|followed| &followed.reader);
            let position = reader.map_or(start, LaneReader::position);
            let head = self.segment.lane_block(lane as u32, Access::Read);
            // Relaxed: a figure. WHY the maximum: a publisher that died between stamp and head
            // leaves a message that was received and is past the head.
            let head = head.map_or(start, |block| block.head.get().min(POSITION_MAX)).max(position);
            // WHY wrapping: a damaged head makes wild figures, which must not make a panic.
            let add = |sum: &mut u64, figure: u64| *sum = sum.wrapping_add(figure);
            add(&mut stats.sent, head - start);
            add(&mut stats.waiting, head - position);
            add(&mut stats.lost, reader.map_or(0, LaneReader::lost));
            add(&mut stats.skipped, reader.map_or(0, LaneReader::skipped));
            add(&mut stats.busy, reader.map_or(0, LaneReader::busy));
        }
        stats
    }

    /// True once this handle is a copy in a forked child: it receives nothing any more.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        fork_epoch() != self.epoch
    }

    /// How often a publisher stopped waiting for this reader (reliable topics).
    #[must_use]
    pub fn detached(&self) -> u64 {
        let block = self.gate.and_then(|gate| self.segment.gate_block(gate, Access::Read).ok());
        block.map_or(0, |block| block.detached.get())
    }

    /// How this reader takes part.
    #[must_use]
    pub const fn reading(&self) -> Reading {
        self.reading
    }

    /// The topic.
    #[must_use]
    pub const fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }
}

impl Drop for RawConsumer {
    fn drop(&mut self) {
        // A forked child owns nothing here.
        if self.is_forked() {
            return;
        }
        watch::close(&self.progress, self.place.as_deref());
        let me = self.segment.me();
        if let Some(gate) = self.gate
            && let (Ok(block), Ok(cursors)) = (
                self.segment.gate_block(gate, Access::Write),
                self.segment.cursors(gate, Access::Write),
            )
        {
            gate::free(block, cursors.iter(), me, me);
        }
    }
}

/// Claims a gate; also says whose place it takes, 0 for a free one.
fn claim_gate(segment: &Segment) -> Result<(u32, u64), OpenError> {
    let limit = segment.shape().request().gate_limit;
    let blocks: Vec<_> =
        (0..limit).map(|gate| segment.gate_block(gate, Access::Write)).collect::<Result<_, _>>()?;
    let owners = blocks.iter().map(|block| &block.owner);
    let claimed = owner::claim_first(owners, segment.me(), |owner| segment.is_dead(owner));
    if let Some((gate, _)) = claimed {
        // Relaxed: a counter of this reader, not of its predecessor.
        blocks[gate as usize].detached.set(0);
    }
    claimed.ok_or(OpenError::TooManyReliableSubscribers { limit })
}
