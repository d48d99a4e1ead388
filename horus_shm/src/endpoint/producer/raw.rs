//! Untyped producers of a ring, which handle messages as bytes. Each producer owns one lane, and
//! writes only there.

mod claim;
mod growth;
mod in_place;
mod moving;
mod room;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use super::SendError;
use crate::endpoint::publisher_progress::PublisherProgress;
use crate::endpoint::reader_slot::{self, FRUITLESS_WAKES_MAX};
use crate::file::counters::Participant;
use crate::file::error::{OpenError, UnusableReason};
use crate::file::extent::Extent;
use crate::file::match_settings::MatchSettings;
use crate::file::segment::{Segment, TopicBlocks as _};
use crate::file::topic_type::Reliability;
use crate::os::cancel::NoCancelGuard;
use crate::os::fault;
use crate::os::futex::monotonic_time;
use crate::os::region::Access;
use crate::protocol::copy::FAST_PATH_MESSAGE_BYTES;
use crate::protocol::lane::{LaneWriter, NoRoom};
use crate::protocol::layout::{LaneBlock, WaitBlock};
use crate::protocol::memory::{LaneMemory, RawLane};
use crate::protocol::owner;
use crate::protocol::sync::Word;
use crate::protocol::takeover::end_session;
use crate::protocol::telemetry;
use crate::wait::{EventcountView, SleeperKind, WakeOrder, has_sleepers, wake};

pub use in_place::LoanMemory;
pub use room::OnStalled;

use claim::{HistoryFoundInLane, LaneClaim};
use growth::{ClaimedLane, FormerExtent};
use in_place::PrivateLoanMemory;
use moving::{FailedMove, PublisherSession};
use room::RefusalStreak;

/// A producer that handles messages as bytes, so that it can send messages of any type.
#[derive(Debug)]
pub struct RawProducer {
    writer: LaneWriter<RawLane>,
    /// The value of the process-wide fault counter when this producer last checked its file. If the
    /// counter has changed, the producer checks the file again.
    seen_epoch: u64,
    lane: u32,
    on_stalled: OnStalled,
    refused: Option<RefusalStreak>,
    /// True while a call waits for room, and tries again if there is none.
    is_waiting: bool,
    wait: *const WaitBlock<AtomicU64>,
    order: WakeOrder,
    fruitless: u32,
    /// True if readers can pin slots, so that messages are written and read in place.
    in_place: bool,
    /// The position of the slot that [`Self::lend`] has lent; `None` if no slot is lent.
    lent: Option<u64>,
    apart: PrivateLoanMemory,
    /// Length in bytes of the longest message that fits in the slots of `extent`.
    slot_bytes: u64,
    extent: Arc<Extent>,
    /// The earlier extents of the lane whose files still exist, from the oldest on.
    former: Vec<FormerExtent>,
    /// The writer's position in the lane from which on the oldest extent in `former` may be
    /// removed.
    former_due: u64,
    has_displaced: bool,
    /// The random number that identifies this publisher to readers, also after it has moved to
    /// another file.
    session_id: u64,
    /// The result of the last attempt to move to another file; `None` if it did not fail.
    not_moved: Option<FailedMove>,
    /// The producers of this publisher for its former files. Each is kept until all reliable
    /// readers in its file have moved.
    awaited: Vec<Self>,
    /// The time of the last check whether the readers of former files have moved; `None` before the
    /// first check.
    looked: Option<Instant>,
    /// True while this publisher sends, in the topic's current file, the messages again that it had
    /// sent in the file that this one replaced.
    is_repeating: bool,
    /// True if this publisher has ever moved to another file.
    has_moved: bool,
    segment: Arc<Segment>,
}

/// Leaves a lane that the caller owns, and in which it has sent nothing. `predecessor_session_id`
/// is the session id that the lane had before.
fn leave_lane(segment: &Segment, block: &LaneBlock<AtomicU64>, predecessor_session_id: u64) {
    // WHY: readers must find a session only where its publisher sends.
    block.session_id.set(predecessor_session_id);
    // WHY only if it began: otherwise the mark shows that the predecessor died.
    if block.epoch_owner.get() == segment.own_owner_word() {
        end_session(block);
    }
    owner::release_entry(&block.owner);
}

// SAFETY: `wait` points into the segment, which this producer keeps and which is `Sync`; all else
// is `Send`.
unsafe impl Send for RawProducer {}

impl RawProducer {
    /// Claims a free lane, or the lane of a dead owner, where it continues at the position that the
    /// owner had reached. If the publisher's history is to stay after it has left, it prefers the
    /// lane with the history that was kept under its key.
    ///
    /// # Errors
    ///
    /// [`OpenError::TooManyPublishers`], [`OpenError::NoSpace`], [`OpenError::Forked`],
    /// [`OpenError::RegionLost`] or [`OpenError::Io`].
    pub fn new(segment: Arc<Segment>, on_stalled: OnStalled) -> Result<Self, OpenError> {
        let segment = segment.reopen_if_name_lost(true)?;
        Self::open(segment, on_stalled, None)
    }

    /// Claims a lane as [`Self::new`] does, makes its memory, and leaves the lane at once. The next
    /// publisher that opens the topic with the same settings needs no free memory, unless another
    /// one has taken the lane. The messages that the lane keeps stay. Subscribers that such a
    /// publisher does not match report nothing.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::new`].
    pub fn reserve_lane(segment: Arc<Segment>) -> Result<(), OpenError> {
        let segment = segment.reopen_if_name_lost(true)?;
        segment.fault_epoch_or_open_error()?;
        let offer = segment.request().offer()?;
        let (segment, claim) = LaneClaim::claim_in_named_file(segment, &offer, false)?;
        let block = segment.lane_block(claim.lane, Access::Write)?;
        // Relaxed, both: as in `open`.
        let predecessor = block.session_id.get();
        let claimed = ClaimedLane::new(
            &segment,
            claim,
            &offer,
            PublisherSession::for_lane_reservation(),
        );
        leave_lane(&segment, block, predecessor);
        // WHY: readers that checked the lane meanwhile have found a publisher, perhaps one that
        // does not match them. WHY also after an error: they have found it then, too.
        let published = segment.publish_lane_change();
        claimed?;
        published?;
        segment.fault_epoch_or_open_error()?;
        Ok(())
    }

    /// Claims a lane in the same way as [`Self::new`]. The publisher continues the session `former`
    /// if that is given.
    fn open(
        segment: Arc<Segment>,
        on_stalled: OnStalled,
        former: Option<PublisherSession>,
    ) -> Result<Self, OpenError> {
        let seen_epoch = segment.fault_epoch_or_open_error()?;
        let request = segment.request();
        let mut offer = request.offer()?;
        if let Some(session) = former {
            offer = session
                .offer_for_continued_session(request, &offer)
                .unwrap_or(offer);
        }
        // WHY: before a lane is claimed, as `docs/memory-ordering.md` argues.
        let order = WakeOrder::of_sender(offer.wake_barrier);
        let (segment, claim) = LaneClaim::claim_in_named_file(segment, &offer, former.is_some())?;
        let wait: *const _ = segment.wait_block(Access::Write)?;
        let lane = claim.lane;
        let block = segment.lane_block(lane, Access::Write)?;
        // WHY: a predecessor may have died while it waited for room.
        segment
            .wait_block(Access::Write)?
            .room_waiters
            .clear_bits_relaxed(1 << lane);
        let session = PublisherSession::for_claimed_lane(block, former);
        // Relaxed, both: the claim of the lane ordered the load; the next owner stores another one.
        let predecessor = block.session_id.get();
        let claimed = ClaimedLane::new(&segment, claim, &offer, session);
        let ClaimedLane {
            extent,
            raw,
            position,
            former,
        } = claimed.inspect_err(|_| leave_lane(&segment, block, predecessor))?;
        let gated = offer.reliability == Reliability::Reliable;
        let in_place = offer.shape.request().pinnable;
        let slot_bytes = extent.offer.shape.request().payload_bytes;
        // WHY with the numbers also if this publisher skips no slot: earlier ones may have.
        let writer = LaneWriter::new(raw, position, gated).with_message_numbers();
        let mut this = Self {
            writer,
            seen_epoch,
            lane,
            on_stalled,
            refused: None,
            is_waiting: false,
            wait,
            order,
            fruitless: 0,
            in_place,
            slot_bytes,
            lent: None,
            apart: PrivateLoanMemory::default(),
            extent,
            former,
            former_due: u64::MAX,
            has_displaced: matches!(claim.found, HistoryFoundInLane::Other(_)),
            session_id: session.id,
            not_moved: None,
            awaited: Vec::new(),
            looked: None,
            is_repeating: false,
            has_moved: false,
            segment,
        };
        this.remove_obsolete_extents();
        this.remove_excess_extents();
        this.wake_readers_after_new_lane();
        // WHY: if the lane consists of private zero pages, it was never claimed; drop handles that.
        let seen_epoch = this.segment.fault_epoch_or_open_error()?;
        this.store_seen_fault_epoch(seen_epoch);
        Ok(this)
    }

    /// Stores `seen_epoch`, the value of the process-wide fault counter at which a check found this
    /// producer usable. Calls check the producer again when the counter has changed. If its file
    /// has lost the topic's name, or readers of former files still have to move, stores a value
    /// that makes each call check.
    fn store_seen_fault_epoch(&mut self, seen_epoch: u64) {
        self.seen_epoch = if self.segment.is_name_lost() || !self.awaited.is_empty() {
            fault::NO_FAULT_EPOCH
        } else {
            seen_epoch
        };
    }

    /// Makes the pages of the whole lane resident now, so that no send has to wait for a page.
    /// Blocks for some 0.1 ms for each MiB. Does nothing before Linux 5.14.
    pub fn prefault(&self) {
        self.extent.populate_pages();
    }

    /// Publishes a message that consists of the `bytes` bytes at `src`. Wait-free, except that it
    /// may check whether a reader is alive.
    ///
    /// # Errors
    ///
    /// [`SendError::Full`], [`SendError::Forked`] or [`SendError::RegionLost`].
    ///
    /// # Safety
    ///
    /// `src` is readable for `bytes` bytes. `bytes` is at most [`Self::slot_bytes`].
    #[inline(always)]
    pub unsafe fn send(&mut self, src: *const u8, bytes: usize) -> Result<(), SendError<()>> {
        if fault::fault_epoch() != self.seen_epoch {
            self.check_health_and_move()?;
        }
        // SAFETY: `src` is readable for `bytes`, at most the payload, by the contract.
        if unsafe { self.write(src, bytes) }.is_err() {
            // SAFETY: as above.
            self.make_room_and_retry(|this| unsafe { this.write(src, bytes) })?;
        }
        self.wake_readers();
        self.check_file_not_truncated()
    }

    /// Copies the `bytes` bytes at `src` into the next slot, and publishes the slot, if it is free.
    /// Wait-free, except that it may check whether a reader is alive.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::send`].
    #[inline(always)]
    unsafe fn write(&mut self, src: *const u8, bytes: usize) -> Result<(), NoRoom> {
        if self.in_place {
            // SAFETY: `src` is readable for `bytes`, at most the payload, by the contract.
            return unsafe { self.write_in_place(src, bytes) };
        }
        let pos = self.writer.position();
        if telemetry::is_latency_sampled(pos) {
            telemetry::record_publication_time(self.writer.memory().block(), pos, monotonic_time);
            self.remove_obsolete_extents_if_due();
        }
        // SAFETY: `src` is readable for `bytes`, at most the payload, by the contract; this
        // producer owns the lane.
        unsafe { self.writer.write(src, bytes) }
    }

    /// Publishes `message`, the bytes of a message. Wait-free, except that it may check whether a
    /// reader is alive.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::send`].
    ///
    /// # Panics
    ///
    /// The call panics if messages of the ring cannot have that length.
    #[inline(always)]
    pub fn send_bytes(&mut self, message: &[u8]) -> Result<(), SendError<()>> {
        self.assert_valid_length(message.len());
        self.reserve(message.len() as u64)?;
        if message.len() == FAST_PATH_MESSAGE_BYTES {
            // SAFETY: the slice is readable, and at most as long as the payload.
            return unsafe { self.send(message.as_ptr(), FAST_PATH_MESSAGE_BYTES) };
        }
        // SAFETY: as above.
        unsafe { self.send(message.as_ptr(), message.len()) }
    }

    /// Returns true if this publisher can send messages of `bytes` bytes.
    #[inline(always)]
    #[must_use]
    pub fn fits(&self, bytes: usize) -> bool {
        let request = self.segment.request();
        let bytes = bytes as u64;
        let max = request.longest_bytes();
        bytes == max || request.type_info.sized && bytes < max
    }

    #[inline]
    fn assert_valid_length(&self, bytes: usize) {
        let max = self.segment.request().longest_bytes();
        assert!(
            self.fits(bytes),
            "{bytes} bytes do not fit messages of {max}"
        );
    }

    /// Checks after a write to the lane's file that the file was not truncated before or during the
    /// write; returns an error if it was, because the bytes may have gone to private zero pages.
    #[inline(always)]
    fn check_file_not_truncated(&mut self) -> Result<(), SendError<()>> {
        if fault::fault_epoch_after_access() != self.seen_epoch {
            self.check_health()?;
        }
        Ok(())
    }

    /// Checks this producer's files and handle. Called when the process-wide fault counter (of
    /// events such as a truncated file) has changed. Returns an error if the producer can no longer
    /// be used.
    #[cold]
    fn check_health(&mut self) -> Result<(), SendError<()>> {
        let _uncancelled = NoCancelGuard::new();
        let topic = self.segment.label();
        let message = ();
        let seen_epoch = self
            .segment
            .fault_epoch_if_usable()
            .map_err(|error| match error {
                UnusableReason::Forked => SendError::Forked { topic, message },
                UnusableReason::RegionLost => SendError::RegionLost { topic, message },
            })?;
        self.store_seen_fault_epoch(seen_epoch);
        Ok(())
    }

    /// Wakes the readers that sleep until a message comes. If none sleeps, this costs only a load
    /// of a cache line that rarely changes.
    #[inline(always)]
    fn wake_readers(&mut self) {
        if has_sleepers(&self.readers_event()) {
            self.wake_sleeping_readers();
        }
    }

    /// Wakes the sleeping readers after a new lane was published. Executes a fence first. WHY:
    /// readers may rely on a fence in each send, but this publisher's sends may contain none.
    fn wake_readers_after_new_lane(&mut self) {
        // SAFETY: as in `readers_event`.
        let block = unsafe { &*self.wait };
        let event = EventcountView::of_messages(block, SleeperKind::Counted, WakeOrder::Fences);
        if has_sleepers(&event) {
            self.wake_sleeping_readers();
        }
    }

    #[inline(always)]
    fn readers_event(&self) -> EventcountView<'_> {
        // SAFETY: it points into the segment, which this producer keeps; it contains only atomics.
        EventcountView::of_messages(unsafe { &*self.wait }, SleeperKind::Counted, self.order)
    }

    #[cold]
    fn wake_sleeping_readers(&mut self) {
        self.writer.memory().block().wakes.fetch_add_one();
        if wake(&self.readers_event()) > 0 {
            self.fruitless = 0;
            return;
        }
        // WHY: a sleeper that died leaves its bit, and each send would cost a system call.
        self.fruitless += 1;
        if self.fruitless < FRUITLESS_WAKES_MAX {
            return;
        }
        self.fruitless = 0;
        reader_slot::reap_dead_sleepers(&self.segment);
    }

    /// Returns the number of messages that all owners of the producer's lane have sent. Skipped
    /// slots are not counted. Messages sent before a move to another file are included.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.writer.next_message_number()
    }

    /// Returns the progress of this producer, by which [`RawConsumer::ignore_publisher`] recognizes
    /// it.
    ///
    /// [`RawConsumer::ignore_publisher`]: crate::RawConsumer::ignore_publisher
    #[must_use]
    pub const fn progress(&self) -> PublisherProgress<'_> {
        PublisherProgress {
            session_id: self.session_id,
            segment: &self.segment,
            number: self.position(),
        }
    }

    /// Returns the settings that decide which readers this producer matches.
    /// [`MatchSettings::mismatch`] compares them with those of a reader.
    #[must_use]
    pub fn match_settings(&self) -> MatchSettings {
        self.extent.offer.match_settings()
    }

    /// Returns the index in the topic of the lane that this producer owns.
    #[must_use]
    pub const fn lane(&self) -> u32 {
        self.lane
    }

    /// Returns true if this publisher took the lane with the kept history of another publisher, and
    /// so ended that history, because the topic had no other lane left.
    #[must_use]
    pub const fn has_displaced_history(&self) -> bool {
        self.has_displaced
    }

    /// Returns the reliable reader that is furthest behind: one that has not moved to the present
    /// file, if there is one. `None` if there is no reliable reader. Meant for error messages after
    /// [`SendError::Full`]. Makes some system calls.
    #[must_use]
    pub fn slowest_reader(&self) -> Option<Participant> {
        let of_present_file = || Some((&self.segment, self.writer.slowest_reader()?.0));
        let (segment, reader) = self.unmoved_reader().or_else(of_present_file)?;
        let block = segment.reader_block(reader, Access::Read).ok()?;
        // Relaxed: for people.
        segment.live_participant(block.owner.get())
    }

    /// Returns the segment (mapped memory) of the topic.
    #[must_use]
    pub const fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }
}

impl Drop for RawProducer {
    fn drop(&mut self) {
        // WHY: a forked child owns nothing here.
        if self.segment.is_forked() {
            return;
        }
        self.wait_for_moving_readers();
        self.publish_final_counts();
        // SAFETY: as in `readers_event`.
        unsafe { &*self.wait }
            .room_waiters
            .clear_bits_relaxed(1 << self.lane);
        if let Ok(block) = self.segment.lane_block(self.lane, Access::Write) {
            end_session(block);
            owner::release_entry(&block.owner);
        }
    }
}
