//! The consuming end whatever its messages are: a cursor in every lane.

mod bytes;
mod in_place;
mod join;
mod ledger;
mod waits;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::watch::{self, Progress};
use crate::endpoint::reader_slot::ReaderSlot;
use crate::file::error::{OpenError, RecvError};
use crate::file::segment::{Blocks as _, Segment};
use crate::file::topic_type::Reliability;
use crate::os::cancel::Uncancelled;
use crate::os::fault;
use crate::os::region::Access;
use crate::protocol::gate;
use crate::protocol::lane::{LaneReader, Polled};
use crate::protocol::memory::{LaneMemory, RawLane};
use crate::protocol::sync::Word;
use crate::protocol::telemetry;

pub use bytes::Key;
pub use ledger::ReadStats;

use join::Start;
use ledger::Counters;
use waits::Room;

/// Messages in a row that make a burst.
const BURST_MIN: u64 = 2;
/// Pauses at the end of a burst: some 0.1 µs (AMD Zen 5) to 0.5 µs (Intel since Skylake).
const REST_PAUSES: u32 = 8;
/// Steps in which publishers are told of a lap that is drained. WHY not one: they are to write
/// meanwhile.
const RUNS_PER_LAP: u64 = 8;

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

/// A lane and this consumer's reader of it.
#[derive(Debug)]
struct Followed {
    lane: u32,
    reader: LaneReader<RawLane>,
}

impl Followed {
    /// How far the reader is.
    #[inline(always)]
    const fn reached(&self) -> Reached {
        Reached { lane: self.lane, position: self.reader.position() }
    }
}

/// How far a reader is in a lane.
///
/// WHY a copy: each look at the list of lanes takes loads, of which a `recv` has too many already.
#[derive(Debug, Clone, Copy)]
struct Reached {
    lane: u32,
    /// Of the next message.
    position: u64,
}

/// What is known of a message besides its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Its number, as its lane counts from 1 on.
    number: u64,
    /// Its length.
    bytes: usize,
}

/// The consuming end, whatever its messages are.
#[derive(Debug)]
pub struct RawConsumer {
    /// Readers of the lanes that are mapped, in the order of their discovery.
    lanes: Vec<Followed>,
    next: usize,
    /// The last message received.
    last: Arrival,
    received: u64,
    /// Messages received when `recv` last found nothing: those since then are a burst.
    rested: u64,
    /// Decides how long to pause.
    chance: u64,
    /// The ready bits that were looked at.
    known: u64,
    /// The last attempt to map lanes, if it failed.
    failed: Option<Box<join::Failed>>,
    ready: *const AtomicU64,
    /// Disturbances that did not concern this end.
    seen_epoch: u64,
    /// By lane: where this reader starts.
    starts: Box<[Start]>,
    /// Lanes that have a reader, or are not to have one.
    mapped: u64,
    ignored: u64,
    reading: Reading,
    /// Slots can be pinned, and are read in place.
    in_place: bool,
    place: Option<Arc<ReaderSlot>>,
    /// This reader's own block, if it has one.
    counters: Option<Counters>,
    gate: Option<u32>,
    /// Behind a gate: where publishers wait for room, and how they are woken.
    room: Option<Room>,
    progress: Arc<Progress>,
    segment: Arc<Segment>,
}

// SAFETY: `ready`, `room` and `counters` point into the segment, which is kept and is `Sync`; all
// else is `Send`.
unsafe impl Send for RawConsumer {}

impl RawConsumer {
    /// Joins as a reader, from the present head of every lane on, plus the topic's history.
    ///
    /// # Errors
    ///
    /// [`OpenError::IncompatibleQos`], [`OpenError::GatedOnly`], [`OpenError::TooManySubscribers`],
    /// [`OpenError::TooManyReliableSubscribers`], [`OpenError::Forked`],
    /// [`OpenError::RegionLost`], [`OpenError::LaneNotMapped`] or [`OpenError::Io`].
    pub fn new(segment: Arc<Segment>, reading: Reading) -> Result<Self, OpenError> {
        let seen_epoch = segment.expect_usable()?;
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
        let lanes = contract.shape.request().lane_limit as usize;
        let mut this = Self {
            lanes: Vec::with_capacity(lanes),
            next: 0,
            last: Arrival { number: 0, bytes: 0 },
            received: 0,
            rested: 0,
            chance: 0,
            known: 0,
            failed: None,
            ready,
            seen_epoch,
            starts: vec![Start::default(); lanes].into(),
            mapped: 0,
            ignored: 0,
            reading,
            in_place: contract.shape.request().pinnable,
            place: None,
            counters: None,
            gate: None,
            room: None,
            progress: Arc::new(Progress::new([])),
            segment,
        };
        // WHY: from here on the drop gives back whatever was claimed.
        this.join()?;
        let starts = this.starts.iter().map(|start| start.position);
        this.progress = Arc::new(Progress::new(starts));
        this.look_for_lanes();
        this.segment.expect_usable()?;
        if let Err(RecvError::LaneNotMapped { cause, .. }) = this.expect_mapped() {
            return Err(OpenError::LaneNotMapped { path: this.segment.path(), cause });
        }
        Ok(this)
    }

    /// Copies the next message of any lane into `dst`, lane after lane in turn. Never blocks.
    ///
    /// # Safety
    ///
    /// `dst` is writable for `bytes` bytes, which are at most the payload of the ring.
    #[inline(always)]
    pub unsafe fn recv(&mut self, dst: *mut u8, bytes: usize) -> Polled {
        if self.is_unusable() {
            return Polled::Empty;
        }
        self.look_for_lanes();
        // SAFETY: the caller's contract.
        let polled = unsafe { self.poll(dst, bytes) };
        if polled == Polled::Message {
            return self.confirmed();
        }
        if self.received.wrapping_sub(self.rested) < BURST_MIN {
            self.rested = self.received;
            self.pause();
            return polled;
        }
        // SAFETY: the caller's contract.
        unsafe { self.back_off(dst, bytes) }
    }

    /// Copies message after message into `dst` and calls `each` after every one, until there is
    /// none right now, or there were enough to fill a lane: how many. Never blocks.
    ///
    /// Publishers of a reliable topic hear of it in steps of an eighth of a lap.
    ///
    /// # Safety
    ///
    /// As [`Self::recv`].
    #[inline]
    pub unsafe fn drain(&mut self, dst: *mut u8, bytes: usize, mut each: impl FnMut()) -> u64 {
        let lap = self.segment.shape().capacity();
        let mut drained = 0;
        // SAFETY: the caller's contract.
        while drained < lap && unsafe { self.recv(dst, bytes) } == Polled::Message {
            each();
            // SAFETY: the caller's contract.
            drained += 1 + unsafe { self.run(dst, bytes, &mut each) };
        }
        drained
    }

    /// Goes on in the lane of the message just received for an eighth of a lap, and tells its
    /// publisher, and those who look, at the end.
    ///
    /// # Safety
    ///
    /// As [`Self::recv`].
    #[inline(always)]
    unsafe fn run(&mut self, dst: *mut u8, bytes: usize, each: &mut impl FnMut()) -> u64 {
        if self.in_place {
            return 0;
        }
        let lane = self.next.checked_sub(1).unwrap_or(self.lanes.len() - 1);
        let limit = self.segment.shape().capacity() / RUNS_PER_LAP;
        let Self { lanes, received, seen_epoch, .. } = self;
        let reader = &mut lanes[lane].reader;
        let load = |memory: &RawLane, index| {
            // SAFETY: the caller's contract; the reader's index is below the capacity.
            unsafe { memory.load_racing(index, dst, bytes) };
            // WHY: what comes out of zeros that nobody shares is no message.
            (fault::epoch_after() == *seen_epoch).then_some(())
        };
        // WHY: so that the last one is the message that is timed, if there is one.
        let limit = limit.min(telemetry::until_sample(reader.position()));
        let run = reader.drain(limit, limit, load, |()| {
            *received += 1;
            each();
        });
        if run > 0 {
            // WHY: all are counted, so that none is forgotten if `each` panics; `take` counts one.
            self.received -= 1;
            let reached = self.lanes[lane].reached();
            self.take(lane, reached, Arrival { number: reached.position, bytes });
        }
        run
    }

    /// Asks for what is awaited, and pauses between two looks that found nothing: once, or with one
    /// lane once or twice by chance.
    ///
    /// WHY: a reader that looks again at once takes the line away that is being written. And one
    /// that looks in a fixed rhythm can lock into it: ends that answer each other then meet at the
    /// same bad moment every time, for as long as they run. Measured, one way between processes on
    /// two near cores, 16 B, × floor with the 95 % interval over rings: no pause 1.3 to 1.6, one
    /// 1.39 [1.11, 1.70], one or two 1.25 [1.24, 1.26], two or three 1.8. With two lanes the looks
    /// are apart already: one 1.1 to 1.25, one or two 1.7.
    #[inline(always)]
    fn pause(&mut self) {
        let lanes = self.lanes.len();
        self.lanes.iter().for_each(|followed| followed.reader.prefetch_slot(lanes));
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
        if self.in_place {
            // SAFETY: the caller's contract.
            return unsafe { self.poll_in_place(dst, bytes) };
        }
        let mut nothing = Polled::Empty;
        for _ in 0..self.lanes.len() {
            let lane = self.next_lane();
            let followed = &mut self.lanes[lane];
            // SAFETY: the caller's contract.
            let polled = unsafe { followed.reader.read(dst, bytes) };
            let reached = followed.reached();
            match polled {
                Polled::Message => {
                    self.take(lane, reached, Arrival { number: reached.position, bytes });
                    return Polled::Message;
                }
                Polled::Busy => nothing = Polled::Busy,
                Polled::Empty => {}
            }
            self.note(reached);
        }
        nothing
    }

    /// The lane whose turn it is.
    #[inline(always)]
    fn next_lane(&mut self) -> usize {
        let lane = self.next;
        self.next = if lane + 1 == self.lanes.len() { 0 } else { lane + 1 };
        lane
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
    unsafe fn back_off(&mut self, dst: *mut u8, bytes: usize) -> Polled {
        for _ in 0..REST_PAUSES {
            std::hint::spin_loop();
        }
        // SAFETY: the caller's contract.
        let polled = unsafe { self.poll(dst, bytes) };
        if polled != Polled::Message {
            self.rested = self.received;
            self.count_losses();
            return polled;
        }
        self.rested = self.received.wrapping_sub(BURST_MIN);
        self.confirmed()
    }

    /// A message was copied out: stands by it, unless it came out of zeros that nobody shares.
    #[inline(always)]
    fn confirmed(&mut self) -> Polled {
        if self.became_unusable() {
            self.received -= 1;
            return Polled::Empty;
        }
        Polled::Message
    }

    /// True if this end is a forked copy, or its memory is lost: it is to touch nothing.
    #[inline(always)]
    fn is_unusable(&mut self) -> bool {
        fault::epoch() != self.seen_epoch && self.check_health()
    }

    /// [`Self::is_unusable`] after this thread touched shared memory, whose content then is junk.
    #[inline(always)]
    fn became_unusable(&mut self) -> bool {
        fault::epoch_after() != self.seen_epoch && self.check_health()
    }

    /// Finds out whether a disturbance concerns this end.
    #[cold]
    fn check_health(&mut self) -> bool {
        let _uncancelled = Uncancelled::begin();
        match self.segment.check_health() {
            Ok(seen_epoch) => self.seen_epoch = seen_epoch,
            Err(_) => return true,
        }
        false
    }

    /// Whether this end can still receive. About a nanosecond.
    ///
    /// # Errors
    ///
    /// Why it never will again: [`RecvError::Forked`] or [`RecvError::RegionLost`]. Or why it does
    /// not receive from one publisher: [`RecvError::LaneNotMapped`], as the last call to receive
    /// found it.
    #[inline]
    pub fn check(&self) -> Result<(), RecvError> {
        if fault::epoch() == self.seen_epoch {
            return self.expect_mapped();
        }
        let topic = self.segment.label();
        self.segment.check_health().map_err(|error| error.on_recv(topic))?;
        self.expect_mapped()
    }

    /// Copies the newest message of lane `lane` (by discovery) into `dst`, passing over the rest.
    ///
    /// # Safety
    ///
    /// As [`Self::recv`].
    #[inline(always)]
    pub(super) unsafe fn latest_of(
        &mut self,
        lane: usize,
        dst: *mut u8,
        bytes: usize,
    ) -> Option<Arrival> {
        let found = if self.in_place {
            // SAFETY: the caller's contract.
            unsafe { self.copy_of(lane, dst, bytes, true) }.ok()
        } else {
            let reader = &mut self.lanes[lane].reader;
            // SAFETY: the caller's contract.
            let polled = unsafe { reader.read_latest(dst, bytes) };
            (polled == Polled::Message).then(|| Arrival { number: reader.position(), bytes })
        };
        self.note(self.lanes[lane].reached());
        found
    }

    /// Takes the newest message of all lanes, which `read` finds in one, given the best so far,
    /// with what tells which is newer. The others are passed over.
    #[inline(always)]
    pub(super) fn latest_among<M>(
        &mut self,
        mut read: impl FnMut(&mut Self, usize, Option<&M>) -> Option<(Arrival, u64, M)>,
    ) -> Option<M> {
        if self.is_unusable() {
            return None;
        }
        self.look_for_lanes();
        let (mut best, mut of_best) = (None, None);
        for lane in 0..self.lanes.len() {
            let Some((arrival, key, message)) = read(self, lane, best.as_ref()) else { continue };
            if of_best.is_some_and(|(_, _, best)| best > key) {
                self.pass_over(lane);
                continue;
            }
            best = Some(message);
            if let Some((passed, ..)) = of_best.replace((lane, arrival, key)) {
                self.pass_over(passed);
            }
        }
        let Some((lane, arrival, _)) = of_best else {
            // WHY: as after an empty look of `recv`.
            std::hint::spin_loop();
            return None;
        };
        self.take(lane, self.lanes[lane].reached(), arrival);
        best.filter(|_| self.confirmed() == Polled::Message)
    }

    /// Counts what was just read of a lane as received.
    #[inline(always)]
    fn take(&mut self, lane: usize, reached: Reached, arrival: Arrival) {
        self.received += 1;
        self.last = arrival;
        self.count(lane, reached);
        self.note(reached);
    }

    /// Counts what [`Self::latest_of`] just read of a lane as passed over.
    fn pass_over(&mut self, lane: usize) {
        self.lanes[lane].reader.count_skipped();
    }

    /// Number of the last message received, counted by its publisher's lane from 1 on; 0 before
    /// the first.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.last.number
    }

    /// Length of the last message received, in bytes; 0 before the first.
    #[must_use]
    pub const fn message_bytes(&self) -> usize {
        self.last.bytes
    }

    /// True once this handle is a copy in a forked child: it receives nothing any more.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.segment.is_forked()
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
        if self.reading == Reading::Observer {
            self.segment.unobserve();
        }
        let me = self.segment.me();
        if let Some(gate) = self.gate
            && let (Ok(block), Ok(cursors)) = (
                self.segment.gate_block(gate, Access::Write),
                self.segment.cursors(gate, Access::Write),
            )
        {
            gate::free(block, cursors.iter(), me, me);
            // WHY: nobody else tells those whom this reader held back that there is room.
            self.wake_publishers_that_sleep();
        }
    }
}
