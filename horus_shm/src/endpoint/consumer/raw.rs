//! Untyped consumers of a ring, which handle messages as bytes. A consumer has a read position
//! (cursor) in every lane.

mod bytes;
mod discover;
mod follow;
mod grown;
mod ignoring;
mod in_place;
mod join;
mod latest;
mod ledger;
mod left;
mod matching;
mod moving;
mod polling;
mod returning;
mod sessions;
mod waits;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::health::ConsumerHealth;
use super::watch::{self, ConsumerProgress};
use crate::endpoint::reader_slot::ReaderSlot;
use crate::file::counters::MismatchedPublisher;
use crate::file::error::{OpenError, RecvError, UnusableReason};
use crate::file::extent::Extent;
use crate::file::segment::{Segment, TopicBlocks as _};
use crate::os::cancel::NoCancelGuard;
use crate::os::fault;
use crate::os::region::Access;
use crate::protocol::gate;
use crate::protocol::lane::{LaneReader, PollOutcome};
use crate::protocol::layout::LANE_CAPACITY_MIN;
use crate::protocol::memory::{LaneMemory, RawLane};
use crate::protocol::sync::Word;
use crate::protocol::telemetry;

pub use bytes::Key;
pub(crate) use grown::PrivateMessageCopies;
pub use ledger::ReadStats;

use join::{LaneStart, StartRule};
use moving::FormerFiles;
use waits::PublisherWaker;

/// The value of the field `last_lane` of [`RawConsumer`] that means "no lane".
const NO_LANE_INDEX: usize = usize::MAX;

/// Number of times that the cursor is published while a full lane is drained. WHY more than once:
/// publishers can use the room while the reader is still draining.
const CURSOR_PUBLICATIONS_PER_DRAIN: u64 = 8;

/// The way in which a reader reads a topic. It decides whether publishers wait for the reader, and
/// whether publishers know that it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMode {
    /// The reader never delays a writer. If it is too slow, writers overwrite messages that it has
    /// not read.
    KeepLast,
    /// Reliable publishers do not overwrite a message until this reader has read it. The reader is
    /// then called gated.
    Gated,
    /// The reader maps all memory read-only and has no reader slot, so publishers do not know that
    /// it exists. Meant for tools.
    Observer,
}

/// A lane that this consumer reads, and the consumer's state in that lane.
#[derive(Debug)]
struct FollowedLane {
    lane: u32,
    reader: LaneReader<RawLane>,
    extent: Arc<Extent>,
    /// The extents after `extent` that this reader has mapped, from the earliest to the newest.
    later: Vec<Arc<Extent>>,
    /// Number of bytes that this reader copies of each message of the lane; the maximum number if
    /// messages vary in length.
    shared: usize,
    /// The converter for the messages of the lane, whose type is another version of the reader's
    /// type; `None` if they need no conversion.
    other: Option<Box<grown::VersionConverter>>,
    /// True if the lane had no publisher and no unread message when the reader last looked, so that
    /// it does not limit which messages may be borrowed. While this is true, nothing is borrowed
    /// from the lane. A new publisher increments the change counter, and the reader looks again.
    has_ended: bool,
}

impl FollowedLane {
    /// Returns true if the messages of the lane can be borrowed: in their slots, or as private
    /// copies that are completed with default values.
    fn can_be_borrowed(&self) -> bool {
        self.extent.offer.shape.request().pinnable || self.other.is_some()
    }

    /// Returns true if the sequence numbers of messages differ from their positions. In a lane
    /// whose slots cannot be pinned, this is so if an earlier publisher has skipped slots.
    fn has_skipped_positions(&self) -> bool {
        self.extent.base.number != self.extent.base.position
    }

    /// Returns the sequence number of the message that was read last in a lane whose slots cannot
    /// be pinned.
    fn sequence_in_unpinnable_lane(&self) -> u64 {
        let (base, position) = (self.extent.base, self.reader.position());
        base.messages_before(position).unwrap_or(position)
    }
}

/// The metadata of a received message: its sequence number and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageInfo {
    /// Sequence number of the message among those of its lane, counted from 1.
    number: u64,
    /// Number of bytes that were copied to the caller's buffer. Default values for further fields
    /// may follow them there.
    bytes: usize,
}

/// A consumer that handles messages as bytes, so that it can receive messages of any type.
#[derive(Debug)]
pub struct RawConsumer {
    /// The state of each mapped lane, in the order in which the lanes were found.
    lanes: Vec<FollowedLane>,
    next: usize,
    /// The metadata of the message that was received last.
    last: MessageInfo,
    /// The index in `lanes` of the lane from which the last message came; [`NO_LANE_INDEX`] before
    /// the first message.
    last_lane: usize,
    received: u64,
    /// The number of messages that had been received when a `recv` call last found none. The
    /// messages received since then form a burst.
    received_at_empty_poll: u64,
    /// State of a pseudo-random number generator, which varies the length of the pauses between
    /// polls.
    chance: u64,
    /// The value of the topic's change counter at the last search for new lanes. If the counter has
    /// a different value, a lane has new slots.
    known: u64,
    /// The lanes that could not be mapped at the last attempt, if this reader misses messages
    /// there; otherwise `None`.
    failed: Option<discover::FailedMapping>,
    changes: *const AtomicU64,
    /// The value of the process-wide fault counter when this consumer last checked its file. If the
    /// counter has changed, the consumer checks the file again.
    seen_epoch: u64,
    /// For each lane, by its index: the place at which this reader began to read.
    starts: Box<[LaneStart]>,
    /// A bit mask of the lanes from which this consumer does not receive: bit i stands for lane i.
    ignored: u64,
    reading: ReadMode,
    /// True if the consumer has to take the slower path, because the slots of a lane can be pinned
    /// or were skipped, or because the messages of a lane have to be completed with default values.
    in_place: bool,
    /// True if messages vary in length, so that each one stores its own; false if all messages have
    /// the same size.
    sized: bool,
    /// Length in bytes of the longest message that fits in a slot of any lane now.
    longest: usize,
    /// Number of slots of the lane that has the most slots. (A lap is one pass over all slots.)
    lap: u64,
    /// Number of slots of the shortest lane whose slots can be pinned. It limits the number of
    /// messages that may be borrowed at a time.
    pinnable_slots: u64,
    /// True if a message that does not fit in the caller's buffer must not be cut: see
    /// [`Self::require_whole_messages`].
    whole: bool,
    /// True if at least one lane has a newer extent (file of slots) than the one that this consumer
    /// reads.
    has_later: bool,
    /// The lanes that this consumer does not read, because their publishers send a different
    /// message type, or offer less reliability than the consumer requests.
    unmatched: Vec<matching::UnmatchedLane>,
    on_mismatch: Option<fn(&MismatchedPublisher)>,
    place: Option<Arc<ReaderSlot>>,
    /// Wakes the publishers that wait until this reader frees slots; `None` if the reader is not
    /// gated.
    room: Option<PublisherWaker>,
    /// The topic files that this reader read before its present one; `None` if it has always used
    /// the same file.
    past: Option<Box<FormerFiles>>,
    progress: Arc<ConsumerProgress>,
    segment: Arc<Segment>,
}

// SAFETY: `changes` and `room` point into the segment, which this consumer keeps and
// which is `Sync`; all else is `Send`.
unsafe impl Send for RawConsumer {}

impl RawConsumer {
    /// Joins the topic as a reader. In every lane, it reads the messages sent from now on, and the
    /// history that the lane's publisher offers.
    ///
    /// # Errors
    ///
    /// [`OpenError::TooManySubscribers`], [`OpenError::Forked`], [`OpenError::RegionLost`],
    /// [`OpenError::LaneNotMapped`] or [`OpenError::Io`].
    pub fn new(segment: Arc<Segment>, reading: ReadMode) -> Result<Self, OpenError> {
        let segment = segment.reopen_if_name_lost(reading != ReadMode::Observer)?;
        Self::open(segment, reading, StartRule::Head)
    }

    /// Joins as a gated reader, as [`Self::new`] does, but continues at the cursors of a gated
    /// reader that died, if that reader's slot has not been freed. Its death then loses no message.
    /// A message that it was reading may be received twice.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::new`].
    pub fn successor(segment: Arc<Segment>) -> Result<Self, OpenError> {
        let segment = segment.reopen_if_name_lost(true)?;
        Self::open(segment, ReadMode::Gated, StartRule::Successor)
    }

    fn open(
        segment: Arc<Segment>,
        reading: ReadMode,
        start_rule: StartRule,
    ) -> Result<Self, OpenError> {
        // WHY: the lanes that are looked at first are mapped for good when they are found.
        let topic = Arc::clone(&segment);
        let _mapped = topic.keep_extents_mapped();
        let mut this = Self::join_lanes(segment, reading, start_rule, Arc::default())?;
        this.look_for_lanes();
        this.segment.fault_epoch_or_open_error()?;
        if let Err(RecvError::LaneNotMapped { cause, .. }) = this.check_lanes_mapped() {
            return Err(OpenError::LaneNotMapped {
                path: this.segment.path(),
                cause,
            });
        }
        this.map_lanes_and_announce_join()?;
        Ok(this)
    }

    /// Creates the consumer and joins every lane, without reading the messages in them.
    fn join_lanes(
        segment: Arc<Segment>,
        reading: ReadMode,
        start_rule: StartRule,
        health: Arc<ConsumerHealth>,
    ) -> Result<Self, OpenError> {
        let seen_epoch = segment.fault_epoch_or_open_error()?;
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
            last_lane: NO_LANE_INDEX,
            received: 0,
            received_at_empty_poll: 0,
            chance: 0,
            known: discover::LANES_NEVER_SEARCHED,
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
            pinnable_slots: LANE_CAPACITY_MIN,
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
        this.join(start_rule)?;
        Ok(this)
    }

    /// Maps the memory of all lanes, and then announces to publishers that this reader has joined.
    fn map_lanes_and_announce_join(&mut self) -> Result<(), OpenError> {
        self.look_for_lanes();
        if let Some(place) = &self.place {
            place.announce_join();
        }
        // WHY again: the announcement may have gone to private zero pages.
        let seen_epoch = self.segment.fault_epoch_or_open_error()?;
        self.store_seen_fault_epoch(seen_epoch);
        Ok(())
    }

    /// Copies the next message of any lane to `dst`. Never blocks.
    ///
    /// Each call polls two lanes in turn. If these have no message, it polls the lane of the last
    /// message next, and then all others. So while a message waits, the number of messages received
    /// from other lanes is at most half the number of lanes.
    ///
    /// # Safety
    ///
    /// `dst` is writable for `bytes` bytes. Unless messages vary in length, `bytes` is at most the
    /// payload of the ring.
    #[inline(always)]
    pub unsafe fn recv(&mut self, dst: *mut u8, bytes: usize) -> PollOutcome {
        if self.is_unusable() {
            // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
            return unsafe { self.recv_from_all_files(dst, bytes) };
        }
        self.look_for_lanes();
        if self.would_cut_message(bytes) {
            return PollOutcome::Empty;
        }
        // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
        let polled = unsafe { self.poll(dst, bytes) };
        if polled == PollOutcome::Message {
            return self.confirm_copied_message();
        }
        if self.has_received_burst() || self.has_later {
            // SAFETY: as above.
            return unsafe { self.poll_again(dst, bytes) };
        }
        self.received_at_empty_poll = self.received;
        self.back_off_after_empty_poll();
        polled
    }

    /// Copies messages into `dst` one after another, and calls `each` after each message. Ends when
    /// there is no more message now, or when it has received about as many as a lane has slots.
    /// Returns their number. Never blocks.
    ///
    /// In reliable lanes, the reader makes room for the publishers in steps of an eighth of a
    /// lane's capacity.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::recv`].
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
            if !self.is_reading_former_files() {
                // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
                drained += unsafe { self.drain_last_lane(dst, bytes, &mut each) };
            }
        }
        drained
    }

    /// Receives more messages from the lane from which the last message was received, up to an
    /// eighth of the lane's capacity, and then publishes the reader's position. Returns the number
    /// of messages.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::recv`].
    #[inline(always)]
    unsafe fn drain_last_lane(
        &mut self,
        dst: *mut u8,
        bytes: usize,
        each: &mut impl FnMut(),
    ) -> u64 {
        if self.in_place {
            return 0;
        }
        let lane = self.last_lane;
        let limit = self.lanes[lane].extent.offer.shape.capacity() / CURSOR_PUBLICATIONS_PER_DRAIN;
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
            (fault::fault_epoch_after_access() == *seen_epoch).then_some(())
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

    /// Checks the file after a message was copied. If the file was truncated, the copied bytes came
    /// from private zero pages, so the message is discarded.
    #[inline(always)]
    fn confirm_copied_message(&mut self) -> PollOutcome {
        if self.is_unusable_after_access() {
            self.received -= 1;
            return PollOutcome::Empty;
        }
        PollOutcome::Message
    }

    /// Returns true if this handle must not access its memory, because it is a copy in a forked
    /// child, or because the memory is lost. Also returns true while it still reads former files,
    /// which have lost the topic's name. The caller then continues with `recv_from_all_files` or a
    /// similar function.
    #[inline(always)]
    fn is_unusable(&mut self) -> bool {
        fault::fault_epoch() != self.seen_epoch && !self.check_health_and_move()
    }

    /// Does the same as [`Self::is_unusable`] after the caller has accessed shared memory. True
    /// means that the bytes that were read must be discarded.
    #[inline(always)]
    fn is_unusable_after_access(&mut self) -> bool {
        fault::fault_epoch_after_access() != self.seen_epoch && !self.check_health()
    }

    /// Checks this consumer's files and handle, after the process-wide fault counter (of events
    /// such as a truncated file) has changed. Returns false if the consumer is unusable.
    #[cold]
    fn check_health(&mut self) -> bool {
        let _uncancelled = NoCancelGuard::new();
        let checked = self.segment.fault_epoch_if_usable();
        match checked {
            Ok(seen_epoch) => self.store_seen_fault_epoch(seen_epoch),
            Err(UnusableReason::RegionLost) => self.progress.set_memory_lost(),
            Err(UnusableReason::Forked) => {}
        }
        checked.is_ok()
    }

    /// Checks the health of this consumer as [`Self::check_health`] does. If the topic's name no
    /// longer leads to the current file, moves to the file that has the name now. Also returns
    /// false while this consumer still reads former files, which have lost the topic's name.
    #[cold]
    fn check_health_and_move(&mut self) -> bool {
        let is_usable = self.check_health();
        if is_usable {
            let _uncancelled = NoCancelGuard::new();
            self.move_if_name_lost();
        }
        is_usable && !self.is_reading_former_files()
    }

    /// Returns an error if this consumer can no longer receive.
    ///
    /// Takes about a nanosecond, and some system calls if a publisher does not match.
    ///
    /// # Errors
    ///
    /// [`RecvError::Forked`] or [`RecvError::RegionLost`] if the consumer can never receive again.
    /// [`RecvError::NamespaceRemoved`] or [`RecvError::NameLost`] if it does not receive from
    /// publishers that open the topic from now on. [`RecvError::LaneNotMapped`] if the last receive
    /// call could not read the lane of one publisher, and [`RecvError::Incompatible`] if no live
    /// publisher, in the current file or a former one, matches this consumer.
    #[inline]
    pub fn check(&self) -> Result<(), RecvError> {
        if fault::fault_epoch() != self.seen_epoch {
            let topic = self.segment.label();
            self.segment
                .fault_epoch_if_usable()
                .map_err(|error| error.to_recv_error(topic))?;
        }
        self.check_can_move()?;
        self.check_lanes_mapped()?;
        self.check_former_lanes_mapped()?;
        if self.unmatched.is_empty() {
            return Ok(());
        }
        self.check_any_publisher_matches()
    }

    /// Counts the message that was just read from the lane at index `lane` of `lanes`, and stores
    /// its metadata as that of the last message.
    #[inline(always)]
    fn count_received_message(&mut self, lane: usize, arrival: MessageInfo) {
        self.count_received_at(lane, self.lanes[lane].reader.position(), arrival);
    }

    /// Counts the received message as [`Self::count_received_message`] does. `position` is the
    /// reader's present position in the lane. WHY the caller passes it: to look it up in the list
    /// of lanes again would make `recv` slower.
    #[inline(always)]
    fn count_received_at(&mut self, lane: usize, position: u64, arrival: MessageInfo) {
        self.received += 1;
        self.last = arrival;
        self.last_lane = lane;
        self.record_latency_if_sampled(lane, position);
        self.wake_sleeping_publishers();
    }

    /// Returns the sequence number of the message that was received last, counted from 1 in its
    /// lane; 0 before the first message.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.last.number
    }

    /// Returns the index of the lane from which the last message came; `None` before the first
    /// message, and if that lane is ignored now.
    #[must_use]
    pub fn last_lane(&self) -> Option<u32> {
        match self.lanes.get(self.last_lane) {
            Some(followed) => Some(followed.lane),
            None => Some(self.last_former_lane_and_claims()?.0),
        }
    }

    /// Returns the index of the lane from which the last message came, as [`Self::last_lane`] does,
    /// and the number of times that publishers have claimed this lane, in the file from which the
    /// message came.
    #[must_use]
    pub fn last_lane_and_claims(&self) -> Option<(u32, u64)> {
        match self.lanes.get(self.last_lane) {
            Some(&FollowedLane { lane, .. }) => Some((lane, self.segment.lane_claims(lane))),
            None => self.last_former_lane_and_claims(),
        }
    }

    /// Returns true if this handle was inherited through `fork`. A handle that was inherited can
    /// never receive.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.segment.is_forked()
    }

    /// Returns how many times a reliable publisher has stopped waiting for this reader because it
    /// did not read for too long, in all files of the topic in which this reader has been.
    #[must_use]
    pub fn detach_count(&self) -> u64 {
        let ended = self.past.as_ref().map_or(0, |past| past.ended_detaches);
        let present = self
            .readers_of_all_files()
            .map(|file| file.progress.reader_block().detached.get());
        present.fold(ended, u64::wrapping_add)
    }

    /// Returns the mode in which this reader reads the topic, such as gated or not.
    #[must_use]
    pub const fn read_mode(&self) -> ReadMode {
        self.reading
    }

    /// Returns the segment (mapped memory) of the topic.
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
            self.wake_sleeping_publishers();
        }
    }
}
