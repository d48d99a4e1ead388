//! Untyped consumers of a ring. Each has a cursor in every lane.

mod bytes;
mod follow;
mod grown;
mod in_place;
mod join;
mod latest;
mod ledger;
mod matching;
mod moving;
mod polling;
mod waits;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::watch::{self, ConsumerHealth, ConsumerProgress};
use crate::endpoint::reader_slot::ReaderSlot;
use crate::file::counters::UnmatchedPublisher;
use crate::file::error::{OpenError, RecvError};
use crate::file::extent::Extent;
use crate::file::segment::{Blocks as _, Segment};
use crate::os::cancel::NoCancelGuard;
use crate::os::fault;
use crate::os::region::Access;
use crate::protocol::gate;
use crate::protocol::lane::{LaneReader, PollOutcome};
use crate::protocol::layout::CAPACITY_MIN;
use crate::protocol::memory::{LaneMemory, RawLane};
use crate::protocol::sync::Word;
use crate::protocol::telemetry;

pub use bytes::Key;
pub(crate) use grown::PrivateCopies;
pub use ledger::ReadStats;

use join::{LaneStart, StartOrigin};
use moving::FormerFiles;
use waits::PublisherRoom;

/// The value of an index in `RawConsumer::lanes` that stands for no lane.
const NO_LANE: usize = usize::MAX;

/// Number of messages in a row that make a burst.
const BURST_MESSAGES_MIN: u64 = 2;
/// Number of times that the cursor is published while a full lane is drained. WHY not once:
/// publishers should write meanwhile.
const DRAIN_STEPS: u64 = 8;

/// The way in which a reader reads a topic: whether publishers wait for it, or know of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMode {
    /// The reader never delays a writer. It loses messages if it is slow.
    KeepLast,
    /// The reader is gated: reliable writers do not overwrite messages that it has not read.
    Gated,
    /// The reader maps all memory read-only and claims no reader slot, so no writer knows of it.
    /// For tools.
    Observer,
}

/// A lane and this consumer's reader of it.
#[derive(Debug)]
struct FollowedLane {
    lane: u32,
    reader: LaneReader<RawLane>,
    extent: Arc<Extent>,
    /// Number of bytes of a message of this lane that this reader takes.
    shared: usize,
    /// The version of the lane's messages, if this reader has to complete them with its defaults.
    other: Option<Box<grown::OtherVersion>>,
}

/// The metadata of a received message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageInfo {
    /// Sequence number of the message in its lane, from 1 on.
    number: u64,
    /// Number of bytes that were received; defaults may follow them.
    bytes: usize,
}

/// The untyped consumer of a ring.
#[derive(Debug)]
pub struct RawConsumer {
    /// Readers of the mapped lanes, in the order of their discovery.
    lanes: Vec<FollowedLane>,
    next: usize,
    /// The last message received.
    last: MessageInfo,
    /// Index in `lanes` of the lane of the last message; [`NO_LANE`] if there is none.
    last_lane: usize,
    received: u64,
    /// Number of messages that had been received when `recv` last found none. The messages since
    /// then are a burst.
    rested: u64,
    /// Random state that decides the length of a pause.
    chance: u64,
    /// The topic's count of changes at the time of the last search for new lanes.
    known: u64,
    /// The last attempt to map lanes, if it failed.
    failed: Option<Box<join::FailedMapping>>,
    changes: *const AtomicU64,
    /// The fault epoch that this consumer last observed. If the present one differs, the consumer
    /// checks its file.
    seen_epoch: u64,
    /// The start of this reader in each lane, by the index of the lane.
    starts: Box<[LaneStart]>,
    /// A mask with a bit for each lane that this consumer does not read at all.
    ignored: u64,
    reading: ReadMode,
    /// True if a lane's slots can be pinned, and are read in place, or if its messages have to be
    /// completed.
    in_place: bool,
    /// True if each message has a length of its own.
    sized: bool,
    /// Length of the longest message that fits a slot of any lane, in bytes.
    longest: usize,
    /// Number of slots of the longest lane.
    lap: u64,
    /// Number of slots of the shortest lane whose slots can be pinned.
    pinnable_slots: u64,
    /// True if no message may be cut: see [`Self::whole_bytes`].
    whole: bool,
    /// True if a lane has a later extent than the one that is read.
    has_later: bool,
    /// The lanes whose publisher does not offer what this reader requests.
    unmatched: Vec<matching::UnmatchedLane>,
    on_mismatch: Option<fn(&UnmatchedPublisher)>,
    place: Option<Arc<ReaderSlot>>,
    /// Of a gated reader: the eventcount at which publishers wait for room.
    room: Option<PublisherRoom>,
    /// The files that this reader read before; `None` before it moves for the first time.
    past: Option<Box<FormerFiles>>,
    progress: Arc<ConsumerProgress>,
    segment: Arc<Segment>,
}

// SAFETY: `changes` and `room` point into the segment, which this consumer keeps and
// which is `Sync`; all else is `Send`.
unsafe impl Send for RawConsumer {}

impl RawConsumer {
    /// Joins as a reader, from the present head of every lane on. The reader also gets the history
    /// that the lane's publisher offers.
    ///
    /// # Errors
    ///
    /// [`OpenError::TooManySubscribers`], [`OpenError::Forked`], [`OpenError::RegionLost`],
    /// [`OpenError::LaneNotMapped`] or [`OpenError::Io`].
    pub fn new(segment: Arc<Segment>, reading: ReadMode) -> Result<Self, OpenError> {
        let segment = segment.present(reading != ReadMode::Observer)?;
        Self::open(segment, reading, StartOrigin::Head)
    }

    /// Joins as [`Self::new`] does, as a gated reader, but goes on at the cursors of a gated reader
    /// that died, if its slot was not freed since then: messages are not lost by its death. A
    /// message that it was reading may come twice.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn successor(segment: Arc<Segment>) -> Result<Self, OpenError> {
        let segment = segment.present(true)?;
        Self::open(segment, ReadMode::Gated, StartOrigin::Successor)
    }

    fn open(
        segment: Arc<Segment>,
        reading: ReadMode,
        origin: StartOrigin,
    ) -> Result<Self, OpenError> {
        let mut this = Self::join_lanes(segment, reading, origin, Arc::default())?;
        this.look_for_lanes();
        this.segment.expect_usable()?;
        if let Err(RecvError::LaneNotMapped { cause, .. }) = this.expect_mapped() {
            return Err(OpenError::LaneNotMapped {
                path: this.segment.path(),
                cause,
            });
        }
        this.map_and_announce()?;
        Ok(this)
    }

    /// Joins every lane, without a look at the messages in them.
    fn join_lanes(
        segment: Arc<Segment>,
        reading: ReadMode,
        origin: StartOrigin,
        health: Arc<ConsumerHealth>,
    ) -> Result<Self, OpenError> {
        let seen_epoch = segment.expect_usable()?;
        let changes: *const _ = &segment.control(Access::Read)?.changes;
        let limit = segment.shape().lane_limit();
        let lanes = limit as usize;
        let type_info = &segment.request().type_info;
        let longest = type_info.bytes as usize;
        let sized = type_info.sized;
        let mut this = Self {
            lanes: Vec::new(),
            next: 0,
            last: MessageInfo {
                number: 0,
                bytes: 0,
            },
            last_lane: NO_LANE,
            received: 0,
            rested: 0,
            chance: 0,
            known: join::NEVER_LOOKED,
            failed: None,
            changes,
            seen_epoch,
            starts: vec![LaneStart::default(); lanes].into(),
            ignored: 0,
            reading,
            in_place: false,
            sized,
            longest,
            lap: 1,
            pinnable_slots: CAPACITY_MIN,
            whole: false,
            has_later: false,
            unmatched: Vec::new(),
            on_mismatch: None,
            place: None,
            room: None,
            past: None,
            progress: Arc::new(ConsumerProgress::in_private_memory(limit, health)),
            segment,
        };
        // WHY: from here on, drop gives back all that was claimed.
        this.join(origin)?;
        Ok(this)
    }

    /// Maps the lanes, and announces that this reader has joined.
    fn map_and_announce(&mut self) -> Result<(), OpenError> {
        self.look_for_lanes();
        if let Some(place) = &self.place {
            place.announce_join();
        }
        // WHY again: the announcement may have gone to private zero pages.
        let seen_epoch = self.segment.expect_usable()?;
        self.note_epoch(seen_epoch);
        Ok(())
    }

    /// Copies the next message of any lane into `dst`. Never blocks.
    ///
    /// Lanes have their turn one after another, two in each call; if these are empty, the lane of
    /// the last message comes before all others. A message waits behind messages of another lane
    /// for half as many calls as there are lanes at most.
    ///
    /// # Safety
    ///
    /// `dst` is writable for `bytes` bytes, which are at most the payload of the ring.
    #[inline(always)]
    pub unsafe fn recv(&mut self, dst: *mut u8, bytes: usize) -> PollOutcome {
        if self.is_unusable() {
            // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
            return unsafe { self.recv_draining(dst, bytes) };
        }
        self.look_for_lanes();
        if self.would_cut(bytes) {
            return PollOutcome::Empty;
        }
        let mut backed_off = false;
        loop {
            let mut nothing = PollOutcome::Empty;
            if self.in_place {
                // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
                match unsafe { self.poll_in_place(dst, bytes) } {
                    PollOutcome::Message => return self.confirm_message(),
                    polled => nothing = polled,
                }
            } else {
                for look in 0..self.looks_per_poll() {
                    let lane = self.lane_to_look_at(look);
                    let followed = &mut self.lanes[lane];
                    // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
                    let polled = unsafe { followed.reader.read(dst, bytes) };
                    let number = followed.reader.position();
                    match polled {
                        PollOutcome::Message => {
                            self.count_received_at(lane, number, MessageInfo { number, bytes });
                            return self.confirm_message();
                        }
                        PollOutcome::Busy => nothing = PollOutcome::Busy,
                        PollOutcome::Empty => {}
                    }
                    self.wake_publishers_that_sleep();
                }
            }
            if self.received.wrapping_sub(self.rested) < BURST_MESSAGES_MIN {
                self.rested = self.received;
                self.spin_back_off();
                return nothing;
            }
            if backed_off {
                self.rested = self.received;
                self.publish_counters();
                return nothing;
            }
            self.back_off();
            backed_off = true;
        }
    }

    /// Copies messages into `dst` one after another, and calls `each` after every one, until
    /// there is none right now, or there were enough to fill a lane. Returns their number. Never
    /// blocks.
    ///
    /// The cursors that make room in reliable lanes are published in steps of an eighth of a lane's
    /// capacity.
    ///
    /// # Safety
    ///
    /// As [`Self::recv`].
    #[inline]
    pub unsafe fn drain(&mut self, dst: *mut u8, bytes: usize, mut each: impl FnMut()) -> u64 {
        if !self.is_unusable() {
            self.look_for_lanes();
        }
        let lap = self.lap;
        let mut drained = 0;
        // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
        while drained < lap && unsafe { self.recv(dst, bytes) } == PollOutcome::Message {
            each();
            drained += 1;
            if !self.is_draining() {
                // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
                drained += unsafe { self.recv_run(dst, bytes, &mut each) };
            }
        }
        drained
    }

    /// Receives more messages from the lane of the last one, up to an eighth of its capacity, and
    /// publishes the reader's position at the end. Returns their number.
    ///
    /// # Safety
    ///
    /// As [`Self::recv`].
    #[inline(always)]
    unsafe fn recv_run(&mut self, dst: *mut u8, bytes: usize, each: &mut impl FnMut()) -> u64 {
        if self.in_place {
            return 0;
        }
        let lane = self.last_lane;
        let limit = self.lanes[lane].extent.offer.shape.capacity() / DRAIN_STEPS;
        let Self {
            lanes,
            received,
            seen_epoch,
            ..
        } = self;
        let reader = &mut lanes[lane].reader;
        let load = |memory: &RawLane, index| {
            // SAFETY: `dst` is writable for `bytes` by the contract; the reader's index is below
            // the capacity.
            unsafe { memory.load_racing(index, dst, bytes) };
            // WHY: after a truncation the copy came from private zero pages and is no message.
            (fault::epoch_after_access() == *seen_epoch).then_some(())
        };
        // WHY: then a message to be timed can only be the last one.
        let limit = limit.min(telemetry::messages_until_sample(reader.position()));
        let run = reader.drain(limit, limit, load, |()| {
            *received += 1;
            each();
        });
        if run > 0 {
            // WHY: all are counted already, so that none is missing if `each` panics;
            // `count_received_at` counts one.
            self.received -= 1;
            let number = self.lanes[lane].reader.position();
            self.count_received_at(lane, number, MessageInfo { number, bytes });
        }
        run
    }

    /// Checks the file again after a copy. If it was truncated, the bytes came from private zero
    /// pages, and the message does not count.
    #[inline(always)]
    fn confirm_message(&mut self) -> PollOutcome {
        if self.became_unusable() {
            self.received -= 1;
            return PollOutcome::Empty;
        }
        PollOutcome::Message
    }

    /// Returns true if this handle must not access its memory: it is a forked copy, or the memory
    /// is lost. Also returns true while it reads former files: calls then go to `recv_draining` and
    /// its like.
    #[inline(always)]
    fn is_unusable(&mut self) -> bool {
        fault::epoch() != self.seen_epoch && !self.check_health_and_move()
    }

    /// Does the same as [`Self::is_unusable`] after this thread accessed shared memory; if true,
    /// the bytes it read are meaningless.
    #[inline(always)]
    fn became_unusable(&mut self) -> bool {
        fault::epoch_after_access() != self.seen_epoch && !self.check_health()
    }

    /// Checks whether a new fault epoch concerns this consumer; returns false if it is unusable.
    #[cold]
    fn check_health(&mut self) -> bool {
        let _uncancelled = NoCancelGuard::new();
        let checked = self.segment.check_health();
        if let Ok(seen_epoch) = checked {
            self.note_epoch(seen_epoch);
        }
        checked.is_ok()
    }

    /// Checks as [`Self::check_health`] does, before a call, and moves to another file if the
    /// present one has lost its name. Also returns false while this consumer reads former files.
    #[cold]
    fn check_health_and_move(&mut self) -> bool {
        let is_usable = self.check_health();
        if is_usable {
            let _uncancelled = NoCancelGuard::new();
            self.follow_name();
        }
        is_usable && !self.is_draining()
    }

    /// Checks that this consumer can still receive. Takes about a nanosecond.
    ///
    /// # Errors
    ///
    /// [`RecvError::Forked`] or [`RecvError::RegionLost`] if it will never receive again.
    /// [`RecvError::NamespaceRemoved`] or [`RecvError::NameLost`] if it does not receive from
    /// publishers that open the topic from now on. [`RecvError::LaneNotMapped`] if the last call to
    /// receive could not receive from one of the publishers, and [`RecvError::Incompatible`] if it
    /// could receive from none.
    #[inline]
    pub fn check(&self) -> Result<(), RecvError> {
        if fault::epoch() != self.seen_epoch {
            let topic = self.segment.label();
            self.segment
                .check_health()
                .map_err(|error| error.to_recv_error(topic))?;
        }
        self.expect_name()?;
        self.expect_mapped()?;
        if self.unmatched.is_empty() {
            return Ok(());
        }
        self.expect_match()
    }

    /// Counts the message that was just read from a lane as received.
    #[inline(always)]
    fn count_received(&mut self, lane: usize, arrival: MessageInfo) {
        self.count_received_at(lane, self.lanes[lane].reader.position(), arrival);
    }

    /// Counts as [`Self::count_received`] does, for a reader that is now at `position`. WHY that is
    /// passed: each access to the list of lanes costs loads, and `recv` has too many already.
    #[inline(always)]
    fn count_received_at(&mut self, lane: usize, position: u64, arrival: MessageInfo) {
        self.received += 1;
        self.last = arrival;
        self.last_lane = lane;
        self.note_latency(lane, position);
        self.wake_publishers_that_sleep();
    }

    /// Returns the sequence number of the last message received, in its lane from 1 on; 0 before
    /// the first.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.last.number
    }

    /// Returns the lane of the last message received; `None` before the first, or if that lane is
    /// ignored now.
    #[must_use]
    pub fn last_lane(&self) -> Option<u32> {
        match self.lanes.get(self.last_lane) {
            Some(followed) => Some(followed.lane),
            None => self.last_former_lane(),
        }
    }

    /// Returns true once this handle is a copy in a forked child: it receives nothing any more.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.segment.is_forked()
    }

    /// Returns the number of times that a publisher stopped waiting for this reader (reliable
    /// topics).
    #[must_use]
    pub fn detached(&self) -> u64 {
        self.progress.block().detached.get()
    }

    /// Returns the way in which this reader takes part.
    #[must_use]
    pub const fn reading(&self) -> ReadMode {
        self.reading
    }

    /// Returns the topic's segment.
    #[must_use]
    pub const fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }
}

impl Drop for RawConsumer {
    fn drop(&mut self) {
        // WHY: a forked child owns nothing here.
        if self.is_forked() {
            return;
        }
        watch::close_consumer(&self.progress, self.place.as_deref());
        if let Some(place) = &self.place {
            place.announce_leave();
        }
        if self.reading == ReadMode::Observer {
            self.segment.remove_observer();
        }
        if self.reading == ReadMode::Gated
            && let (Some(place), Ok(wait)) = (&self.place, self.segment.wait_block(Access::Write))
        {
            // WHY now: borrowed messages may keep the slot, but hold back no writer.
            gate::withdraw_gated_reader(&wait.gated, place.index());
            // WHY: no other code wakes the publishers that this reader held back.
            self.wake_publishers_that_sleep();
        }
    }
}
