//! Moving: when a publisher's file has lost the topic's name, the publisher continues in the file
//! that has the name now.
//!
//! It claims a lane of the new file that no publisher has used, and continues its sequence numbers
//! there, so that its readers neither miss a message nor receive one twice. It sends its history
//! again with the old sequence numbers, and then ends its session in the old file.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use super::RawProducer;
use crate::endpoint::consumer::RawConsumer;
use crate::endpoint::producer::SendError;
use crate::file::error::{OpenError, RecvError};
use crate::file::offer::{Offer, Request};
use crate::file::segment::{Segment, TopicBlocks as _};
use crate::file::topic_files::TopicFiles;
use crate::file::topic_type::Reliability;
use crate::os;
use crate::os::cancel::NoCancelGuard;
use crate::os::fault;
use crate::os::region::Access;
use crate::protocol::identity::TypeIdentity;
use crate::protocol::layout::{LaneBlock, NO_SESSION};
use crate::protocol::memory::LaneMemory;
use crate::protocol::owner::{self, OWNER_HELD_BIT};
use crate::protocol::sync::{Word, edge};
use crate::protocol::takeover::end_session;

/// Maximum time for which closing a publisher waits for readers that still have to move. Each
/// process checks the names of its topics ten times a second.
const CLOSE_WAIT_FOR_READERS_MAX: Duration = Duration::from_millis(500);
/// Minimum time between two attempts of a publisher to move to the file that has the topic's name
/// now.
const MOVE_RETRY_PERIOD: Duration = Duration::from_millis(100);

/// Maximum number of pauses, of a millisecond each, in an attempt to move while another process
/// removes the file that has the topic's name. WHY not none: otherwise the send that tries to move
/// would fail.
pub(super) const PAUSES_PER_MOVE_MAX: u32 = 4;

/// Minimum time between two checks whether the readers of former files have moved.
const MOVED_READER_CHECK_PERIOD: Duration = Duration::from_millis(10);

/// The data that a publisher keeps when it moves to another topic file: its identity and the number
/// of its messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct PublisherSession {
    /// The random number that identifies the publisher, as in [`LaneBlock::session_id`].
    pub(super) id: u64,
    /// The number of messages that the publisher had sent before its first message in its present
    /// file.
    pub(super) number: u64,
    /// Length in bytes of the longest message for which the publisher's slots must have room. It is
    /// the length for which the former slots had room, or that of a longer message that is sent
    /// once more.
    slot_bytes: u64,
    /// Number of messages that the publisher sends once more in its current file.
    repeated: u64,
}

impl PublisherSession {
    /// Returns the session of a publisher that has claimed the lane of `block`. The session is
    /// `former` if the lane was never used, and otherwise a new one. WHY: the positions of a used
    /// lane continue after those of another publisher, so the old sequence numbers do not fit
    /// there.
    pub(super) fn for_claimed_lane(block: &LaneBlock<AtomicU64>, former: Option<Self>) -> Self {
        // Relaxed, both: the claim of the lane ordered them.
        let is_unused = block.generation.get() == 0 && block.head.get() == 0;
        former
            .filter(|_| is_unused)
            .unwrap_or_else(Self::with_new_id)
    }

    /// Returns the session of a process that claims a lane only to reserve its memory.
    pub(super) const fn for_lane_reservation() -> Self {
        Self {
            id: NO_SESSION,
            number: 0,
            slot_bytes: 0,
            repeated: 0,
        }
    }

    /// Creates a new session: a random number as its id, and no messages sent yet.
    fn with_new_id() -> Self {
        let bytes = os::random_bytes().unwrap_or_default();
        let id = bytes.first_chunk().copied().map_or(0, u64::from_ne_bytes);
        Self {
            id,
            number: 0,
            slot_bytes: 0,
            repeated: 0,
        }
    }

    /// Returns the offer (lane settings) of a publisher that continues this session in another
    /// file; `None` if no lane can have these settings. `offer` is what the publisher would offer
    /// without the session. The slots are at least as long as in the former file, because callers
    /// rely on that, and the lane has room for all messages that are sent once more. WHY the lane
    /// does not grow later instead: if that failed, the lane would already be in use.
    pub(super) fn offer_for_continued_session(
        self,
        request: &Request,
        offer: &Offer,
    ) -> Option<Offer> {
        let longer = if self.slot_bytes <= offer.shape.request().payload_bytes {
            offer.clone()
        } else {
            request.offer_for_longer_messages(offer, self.slot_bytes)?
        };
        request.offer_for_more_slots(longer, self.repeated)
    }
}

/// A failed attempt of a publisher to move to another topic file: the time of the attempt, and the
/// error.
#[derive(Debug, Clone, Copy)]
pub(super) struct FailedMove {
    at: Instant,
    errno: i32,
}

impl RawProducer {
    /// Checks this producer as [`Self::check_health`] does, before a message is begun. If its file
    /// has lost its name, moves to the file that has the name now.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::send`].
    #[cold]
    pub(super) fn check_health_and_move(&mut self) -> Result<(), SendError<()>> {
        self.check_health()?;
        let _uncancelled = NoCancelGuard::new();
        self.end_wait_if_readers_moved();
        if !self.segment.is_name_lost() || self.is_repeating {
            return Ok(());
        }
        if let Some(failed) = self.not_moved
            && failed.at.elapsed() < MOVE_RETRY_PERIOD
        {
            return Err(self.name_lost_error(failed.errno));
        }
        match self.open_in_named_file(true) {
            Ok(None) => self.check_health(),
            Ok(Some(mut moved)) => {
                moved.is_waiting = self.is_waiting;
                let mut former = std::mem::replace(self, moved);
                former.has_moved = true;
                self.keep_messages_until_readers_move(former);
                Ok(())
            }
            Err(error) => {
                let errno = error.errno_or(libc::EUCLEAN);
                let at = Instant::now();
                self.not_moved = Some(FailedMove { at, errno });
                Err(self.name_lost_error(errno))
            }
        }
    }

    /// Returns the files of the topic in which endpoints may be: those whose reliable readers still
    /// have to move, the current file, and the file that has the topic's name now.
    #[must_use]
    pub fn topic_files(&self) -> TopicFiles {
        let former = self.awaited.iter().map(|former| &former.segment);
        let mut files = TopicFiles::new(former, &self.segment);
        files.add_current_file();
        files
    }

    fn name_lost_error(&self, errno: i32) -> SendError<()> {
        SendError::NameLost {
            topic: self.segment.label(),
            message: (),
            errno,
        }
    }

    /// Opens this publisher in the file that has the topic's name now. If there is no such file and
    /// `may_create` is true, creates one. Returns `None` if this publisher uses that file already.
    fn open_in_named_file(&self, may_create: bool) -> Result<Option<Self>, OpenError> {
        let segment = self
            .segment
            .reopen_within(may_create, PAUSES_PER_MOVE_MAX)?;
        if segment.is_same_file(&self.segment) {
            return Ok(None);
        }
        let messages = self.messages_to_repeat()?;
        let session = PublisherSession {
            id: self.session_id,
            number: self.position().saturating_sub(messages.len() as u64),
            slot_bytes: messages.iter().fold(self.slot_bytes, |longest, message| {
                longest.max(message.len() as u64)
            }),
            repeated: messages.len() as u64,
        };
        let mut moved = Self::open(segment, self.on_stalled, Some(session))?;
        let repeated = moved.send_messages_again(&messages);
        repeated.map_err(|error| {
            // WHY: the next attempt is made in another lane, and readers must find only that.
            if let Ok(block) = moved.segment.lane_block(moved.lane, Access::Write) {
                block.session_id.set(0);
            }
            moved.has_moved = true;
            OpenError::Io {
                operation: "moving to",
                path: moved.segment.path(),
                source: io::Error::from_raw_os_error(error.errno_or(libc::EIO)),
            }
        })?;
        // WHY before readers find the new lane: from then on they have to find in the former one
        // how far they have read it, even if this publisher dies now. Relaxed: only the owner of
        // the lane writes it, and the release of the lane orders it.
        let record = self.segment.lane_record(self.lane, Access::Write)?;
        record.moved_session_id.set(self.session_id);
        moved.segment.publish_extent(moved.extent.id)?;
        moved.wake_readers_after_new_lane();
        if !messages.is_empty() {
            moved.end_histories_left_by(self);
        }
        Ok(Some(moved))
    }

    /// Ends the histories that `former`, from which this publisher has just moved here, left in
    /// other lanes of this file when it moved away from here. WHY: this lane repeats what is left
    /// of them, and nobody would ever end them, so that readers that join would get old messages.
    /// WHY not when it moves away: the file may come back without the publisher.
    fn end_histories_left_by(&self, former: &Self) {
        for lane in 0..self.segment.shape().lane_limit() {
            let (Ok(block), Ok(record)) = (
                self.segment.lane_block(lane, Access::Write),
                self.segment.lane_record(lane, Access::Write),
            ) else {
                return;
            };
            // Relaxed, all: this publisher stored them, and the claim below orders what the next
            // owner of the lane stored.
            let is_left = || {
                let session_id = block.session_id.get();
                session_id == former.session_id && record.moved_session_id.get() == session_id
            };
            if lane == self.lane || !is_left() {
                continue;
            }
            // WHY: a reliable publisher may still have the lane, until its readers have moved.
            let mut awaited = former.awaited.iter();
            let is_own =
                awaited.any(|own| own.lane == lane && own.segment.is_same_file(&self.segment));
            if is_own {
                block.latched.set(0);
                end_session(block);
                continue;
            }
            if block.latched.get() == 0 {
                continue;
            }
            let is_dead = |owner| self.segment.is_dead(owner);
            let owner = [&block.owner].into_iter();
            let me = self.segment.own_owner_word();
            if owner::claim_first_free_entry(owner, me, is_dead).is_some() {
                // WHY again: another publisher may have used the lane since.
                if is_left() {
                    block.latched.set(0);
                }
                owner::release_entry(&block.owner);
            }
        }
    }

    /// Sends `messages` again, which this publisher had already sent in a former file.
    fn send_messages_again(&mut self, messages: &[Vec<u8>]) -> Result<(), SendError<()>> {
        // WHY: a message that is repeated must not make it move once more.
        self.is_repeating = true;
        for message in messages {
            self.send_bytes(message)?;
        }
        self.is_repeating = false;
        Ok(())
    }

    /// Returns the messages that this publisher sends again when it moves to the next file. Usually
    /// these are its history. If a reliable reader of an earlier file has not arrived in this file
    /// yet, they are all messages that were sent in this file.
    fn messages_to_repeat(&self) -> Result<Vec<Vec<u8>>, OpenError> {
        let mut messages = Vec::new();
        let has_unmoved_readers = self.has_unmoved_readers();
        if self.extent.offer.history == 0 && !has_unmoved_readers {
            return Ok(messages);
        }
        let segment = Arc::clone(&self.segment);
        let mut reader = RawConsumer::observe_lane(segment, self.lane, has_unmoved_readers)?;
        let mut buffer = Vec::new();
        loop {
            let longest = reader.require_whole_messages();
            buffer.resize(longest, 0);
            match reader.recv_bytes(&mut buffer) {
                Some(bytes) if self.fits(bytes) => messages.push(buffer[..bytes].to_vec()),
                // WHY also those before: the numbers of the messages that are left must follow
                // each other. A predecessor may have sent longer messages.
                Some(_) => messages.clear(),
                // WHY again: the slots grew before the next message, which is longer.
                None if reader.max_bytes() > longest => {}
                None => break,
            }
        }
        // WHY: a publisher that cannot read its messages must not move without them.
        match reader.check() {
            Err(RecvError::LaneNotMapped { cause, .. }) => Err(OpenError::LaneNotMapped {
                path: self.segment.path(),
                cause,
            }),
            _ => Ok(messages),
        }
    }

    /// Makes a reliable publisher that has just moved here from `former` keep its first messages
    /// until the reliable readers of the former file have moved, too. Until then, it sends no more
    /// messages than the lane has slots.
    ///
    /// WHY `former` is kept until then: readers do not leave its file while its lane has an owner.
    /// So this publisher can see to which file they have moved.
    fn keep_messages_until_readers_move(&mut self, mut former: Self) {
        if self.extent.offer.reliability != Reliability::Reliable {
            return;
        }
        self.awaited = std::mem::take(&mut former.awaited);
        self.awaited.push(former);
        if self.has_unmoved_readers() {
            let memory = self.writer.memory();
            self.writer.set_stop_position(
                memory
                    .base_position()
                    .saturating_add(memory.writer_lead_max()),
            );
            self.seen_epoch = fault::NO_FAULT_EPOCH;
        } else {
            self.awaited.clear();
        }
    }

    /// Stops waiting for the readers of former files if all of them have moved. Looks at most once
    /// per [`MOVED_READER_CHECK_PERIOD`].
    fn end_wait_if_readers_moved(&mut self) {
        if self.awaited.is_empty()
            || self
                .looked
                .is_some_and(|at| at.elapsed() < MOVED_READER_CHECK_PERIOD)
        {
            return;
        }
        self.looked = Some(Instant::now());
        if !self.has_unmoved_readers() {
            self.end_wait_for_readers();
        }
    }

    /// Returns true if this publisher waits for a reliable reader that has not yet moved from a
    /// file that the publisher has left.
    pub(super) fn has_unmoved_readers(&self) -> bool {
        self.unmoved_reader().is_some()
    }

    /// Returns a reliable reader for which this publisher waits, because it has not yet moved from
    /// a file that the publisher has left: that file, and the index of the reader there.
    pub(super) fn unmoved_reader(&self) -> Option<(&Arc<Segment>, u32)> {
        self.unmoved_readers().next()
    }

    /// Returns all readers that [`Self::unmoved_reader`] may return. A reader that was in several
    /// files, but is not in the present one, comes once for each of them.
    fn unmoved_readers(&self) -> impl Iterator<Item = (&Arc<Segment>, u32)> {
        let identity = self.extent.offer.type_info.identity();
        let file = self.segment.file_number();
        self.awaited.iter().flat_map(move |former| {
            let lane = (&*former.segment, former.lane);
            let readers = unmoved_readers_in(lane, identity, file);
            readers.map(|reader| (&former.segment, reader))
        })
    }

    /// Returns true if the last check found that readers of former files have not moved yet.
    pub(super) const fn is_waiting_for_readers_to_move(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// Returns true if the publisher must not send yet, because reliable readers of former files
    /// have not moved yet.
    pub(super) fn must_wait_before_send(&mut self) -> bool {
        if !self.awaited.is_empty() && !self.has_unmoved_readers() {
            self.end_wait_for_readers();
        }
        !self.awaited.is_empty()
    }

    /// Waits for a short time until the reliable readers of former files have joined the present
    /// file. Called when this publisher is closed right after it moved. WHY: if no other process
    /// has the file open, the file is removed, and the messages with it.
    pub(super) fn wait_for_moving_readers(&self) {
        let end = Instant::now() + CLOSE_WAIT_FOR_READERS_MAX;
        while self.has_unmoved_readers() && Instant::now() < end {
            thread::sleep(MOVED_READER_CHECK_PERIOD);
        }
    }

    /// Stops waiting for the readers of former files, because they have not moved for too long.
    /// Counts that for each of them, in the file in which it still is.
    pub(super) fn detach_unmoved_readers(&mut self) {
        for (segment, reader) in self.unmoved_readers() {
            // WHY not if it has moved on: it is counted once, in the file in which it is now.
            // Relaxed: for people.
            if let Ok(block) = segment.reader_block(reader, Access::Write)
                && block.moved_to.get() == 0
            {
                block.detached.fetch_add_one();
            }
        }
        self.end_wait_for_readers();
    }

    /// Stops waiting for the readers of former files, so that the publisher may send without them.
    pub(super) fn end_wait_for_readers(&mut self) {
        self.awaited.clear();
        self.writer.set_stop_position(u64::MAX);
    }

    /// Publishes the history and the number of messages in the file that has the topic's name now.
    /// Called when this publisher is dropped in a file that has lost the name. WHY: readers that
    /// never were in the old file then count these messages correctly.
    pub(super) fn publish_final_counts(&self) {
        let is_last = self.segment.is_name_lost() && !self.has_moved;
        if is_last && self.segment.fault_epoch_if_usable().is_ok() {
            let _uncancelled = NoCancelGuard::new();
            // WHY the error is ignored: nobody could act on it.
            if let Ok(Some(mut moved)) =
                self.open_in_named_file(self.extent.offer.latched_message_count() > 0)
            {
                moved.has_moved = true;
            }
        }
    }
}

/// Returns the live reliable readers in the given file that read the given lane and messages of the
/// given type, and that have not moved to the file `current_file_number`.
fn unmoved_readers_in(
    (segment, lane): (&Segment, u32),
    identity: TypeIdentity,
    current_file_number: u64,
) -> impl Iterator<Item = u32> {
    let wait = segment.wait_block(Access::Read);
    // Relaxed: a reader that is not seen came after the file had lost its name.
    let gated = wait.map_or(0, |wait| wait.gated.get());
    let is_present = segment.file_number() == current_file_number;
    (0..segment.shape().reader_limit()).filter(move |&reader| {
        let Ok(block) = segment.reader_block(reader, Access::Read) else {
            return false;
        };
        // ORDERING(session_owner): pairs with the store in `ReaderSlot::announce_move`: a publisher
        // that sees that the reader moved sees its cursors in the new file.
        let moved_to = Word::load(&block.moved_to, edge::SESSION_OWNER_SEE);
        let owner = block.owner.get();
        let cursors = segment.cursors(reader, Access::Read);
        // WHY: a handle with both ends may leave out its own lane.
        let reads_lane = cursors.is_ok_and(|cursors| {
            // ORDERING(cursor): pairs with the store in `gate::join_lane`: `matches_reader` sees
            // the type of the reader that has the cursor, not of an earlier one in its slot.
            Word::load(&cursors[lane as usize], edge::CURSOR_SEE) != 0
        });
        // WHY 0 in the current file: this publisher came back to a file that the reader has not
        // left, or to which the reader has returned.
        let has_arrived = moved_to == current_file_number || moved_to == 0 && is_present;
        reads_lane
            && !has_arrived
            && gated & 1 << reader != 0
            && owner != 0
            && owner & OWNER_HELD_BIT == 0
            && identity.matches_reader(block)
            && !segment.is_dead(owner)
    })
}
