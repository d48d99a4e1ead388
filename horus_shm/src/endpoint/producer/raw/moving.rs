//! Moving: a publisher goes on in the file that has the topic's name now, after its own file lost
//! the name.
//!
//! It claims a lane of the new file that no publisher has had, and continues its count of messages
//! there, so that its readers neither miss a message nor receive one twice. It sends its history
//! once more, under the old numbers, and then ends its session in the old file.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use super::RawProducer;
use crate::endpoint::consumer::RawConsumer;
use crate::endpoint::producer::SendError;
use crate::file::error::OpenError;
use crate::file::offer::{Offer, Request};
use crate::file::segment::{Blocks as _, Segment};
use crate::file::topic_files::TopicFiles;
use crate::file::topic_type::Reliability;
use crate::os;
use crate::os::cancel::NoCancelGuard;
use crate::os::fault;
use crate::os::region::Access;
use crate::protocol::identity::TypeIdentity;
use crate::protocol::layout::LaneBlock;
use crate::protocol::memory::LaneMemory;
use crate::protocol::sync::{Word, edge};

/// The longest time for which closing waits for readers that have to move: each process looks at
/// the names ten times a second.
const CLOSE_WAIT_MAX: Duration = Duration::from_millis(500);
/// Minimum time between two attempts to move.
const RETRY_PERIOD: Duration = Duration::from_millis(100);

/// Minimum time between two looks at the readers of former files.
const LOOK_PERIOD: Duration = Duration::from_millis(10);

/// The identity of a publisher and the count of its messages, which it keeps when it moves to
/// another file.
#[derive(Debug, Clone, Copy)]
pub(super) struct PublisherSession {
    /// The random number in [`LaneBlock::session`].
    pub(super) id: u64,
    /// The number of messages that it has sent before those that it sends in the new file.
    pub(super) number: u64,
    /// Length of the longest message that fit its slots, in bytes.
    slot_bytes: u64,
}

impl PublisherSession {
    /// Returns the session of a publisher that has claimed the lane of `block`: `former` if it can
    /// go on there, otherwise a new one. WHY only in a lane that was never used: its positions only
    /// grow, and those of another publisher are before them.
    pub(super) fn in_lane(block: &LaneBlock<AtomicU64>, former: Option<Self>) -> Self {
        // Relaxed, both: the claim of the lane ordered them.
        let is_unused = block.generation.get() == 0 && block.head.get() == 0;
        former
            .filter(|_| is_unused)
            .unwrap_or_else(Self::with_new_id)
    }

    /// Returns a new session.
    fn with_new_id() -> Self {
        let bytes = os::random_bytes().unwrap_or_default();
        let id = bytes.first_chunk().copied().map_or(0, u64::from_ne_bytes);
        Self {
            id,
            number: 0,
            slot_bytes: 0,
        }
    }

    /// Returns the offer of a publisher that goes on with this session, and would offer `offer`
    /// without it: callers rely on the length of its slots. WHY not to grow later: if the second
    /// extent of a lane cannot be made, the lane is used.
    pub(super) fn offer_to_continue(self, request: &Request, offer: Offer) -> Offer {
        if self.slot_bytes <= offer.shape.request().payload_bytes {
            return offer;
        }
        request
            .offer_for_longer(&offer, self.slot_bytes)
            .unwrap_or(offer)
    }
}

/// A failed attempt of a publisher to move to another file: its time and its error.
#[derive(Debug, Clone, Copy)]
pub(super) struct FailedMove {
    at: Instant,
    errno: i32,
}

impl RawProducer {
    /// Checks whether a new fault epoch concerns this producer, before it begins a message; moves
    /// if its file has lost its name.
    ///
    /// # Errors
    ///
    /// As [`Self::send`].
    #[cold]
    pub(super) fn check_health_and_move(&mut self) -> Result<(), SendError<()>> {
        self.check_health()?;
        let _uncancelled = NoCancelGuard::new();
        self.poll_moved_readers();
        if !self.segment.is_name_lost() || self.is_repeating {
            return Ok(());
        }
        if let Some(failed) = self.not_moved
            && failed.at.elapsed() < RETRY_PERIOD
        {
            return Err(self.name_lost_error(failed.errno));
        }
        match self.open_in_new_file(true) {
            Ok(moved) => {
                let mut former = std::mem::replace(self, moved);
                former.has_moved = true;
                self.await_readers_of(former);
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

    /// Returns the files of the topic in which endpoints may be: those whose reliable readers have
    /// to move, the present one, and the one that has the name now.
    #[must_use]
    pub fn files(&self) -> TopicFiles {
        let former = self.awaited.iter().map(|former| &former.segment);
        let mut files = TopicFiles::new(former, &self.segment);
        files.follow_name();
        files
    }

    fn name_lost_error(&self, errno: i32) -> SendError<()> {
        SendError::NameLost {
            topic: self.segment.label(),
            message: (),
            errno,
        }
    }

    /// Opens this publisher in the file that has the name now; creates that if `creates`.
    fn open_in_new_file(&self, creates: bool) -> Result<Self, OpenError> {
        let segment = self.segment.reopen(creates)?;
        let messages = self.messages_to_repeat()?;
        let session = PublisherSession {
            id: self.session,
            number: self.position().saturating_sub(messages.len() as u64),
            slot_bytes: self.slot_bytes,
        };
        let mut moved = Self::open(segment, self.on_stalled, Some(session))?;
        let repeated = moved.repeat_messages(&messages);
        repeated.map_err(|error| {
            // WHY: the next attempt is made in another lane, and readers must find only that.
            if let Ok(block) = moved.segment.lane_block(moved.lane, Access::Write) {
                block.session.set(0);
            }
            moved.has_moved = true;
            OpenError::Io {
                operation: "moving to",
                path: moved.segment.path(),
                source: io::Error::from_raw_os_error(error.errno_or(libc::EIO)),
            }
        })?;
        moved.segment.publish_extent(moved.extent.id)?;
        moved.wake_after_publication();
        Ok(moved)
    }

    /// Sends messages of a former file once more.
    fn repeat_messages(&mut self, messages: &[Vec<u8>]) -> Result<(), SendError<()>> {
        // WHY: a message that is repeated must not make it move once more.
        self.is_repeating = true;
        for message in messages {
            self.send_bytes(message)?;
        }
        self.is_repeating = false;
        Ok(())
    }

    /// Returns the messages that this publisher sends once more: its history, and all that it sent
    /// since it moved here if a reliable reader of a file before this one did not come yet.
    fn messages_to_repeat(&self) -> Result<Vec<Vec<u8>>, OpenError> {
        let mut messages = Vec::new();
        let is_awaiting = self.is_awaiting();
        if self.extent.offer.history == 0 && !is_awaiting {
            return Ok(messages);
        }
        let segment = Arc::clone(&self.segment);
        let mut reader = RawConsumer::observer_of(segment, self.lane, is_awaiting)?;
        let mut buffer = vec![0; self.slot_bytes as usize];
        while let Some(bytes) = reader.recv_bytes(&mut buffer) {
            messages.push(buffer[..bytes].to_vec());
        }
        Ok(messages)
    }

    /// Makes a reliable publisher, which has just moved here from `former`, keep its first messages
    /// here until the reliable readers there have moved, too: it sends only as many as the lane has
    /// slots.
    ///
    /// WHY `former` is kept until then: its readers do not leave its file while its lane has an
    /// owner, so this publisher sees to which file they have moved.
    fn await_readers_of(&mut self, mut former: Self) {
        if self.extent.offer.reliability != Reliability::Reliable {
            return;
        }
        self.awaited = std::mem::take(&mut former.awaited);
        self.awaited.push(former);
        if self.is_awaiting() {
            let memory = self.writer.memory();
            self.writer
                .stop_before(memory.base_position().saturating_add(memory.lead_max()));
            self.seen_epoch = fault::NO_EPOCH;
        } else {
            self.awaited.clear();
        }
    }

    /// Checks, once in each [`LOOK_PERIOD`] at most, whether the readers of former files have
    /// moved.
    fn poll_moved_readers(&mut self) {
        if self.awaited.is_empty() || self.looked.is_some_and(|at| at.elapsed() < LOOK_PERIOD) {
            return;
        }
        self.looked = Some(Instant::now());
        if !self.is_awaiting() {
            self.end_wait_for_readers();
        }
    }

    /// Returns true if a reliable reader of a file that this publisher left did not move yet.
    fn is_awaiting(&self) -> bool {
        let identity = self.extent.offer.type_info.identity();
        let file = self.segment.file_number();
        let mut awaited = self.awaited.iter();
        awaited.any(|former| awaits_reader((&former.segment, former.lane), &identity, file))
    }

    /// Returns true if the writer may not go on before readers of former files have moved.
    pub(super) fn is_held_back(&mut self) -> bool {
        if !self.awaited.is_empty() && !self.is_awaiting() {
            self.end_wait_for_readers();
        }
        !self.awaited.is_empty()
    }

    /// Waits for a short time until the reliable readers of former files have joined this one, if
    /// this publisher is closed right after it moved. WHY: if nobody else has this file open, its
    /// messages go with it.
    pub(super) fn wait_for_moving_readers(&self) {
        let end = Instant::now() + CLOSE_WAIT_MAX;
        while self.is_awaiting() && Instant::now() < end {
            thread::sleep(LOOK_PERIOD);
        }
    }

    /// Stops waiting for the readers of former files.
    pub(super) fn end_wait_for_readers(&mut self) {
        self.awaited.clear();
        self.writer.stop_before(u64::MAX);
    }

    /// Leaves a last trace in the file that has the name now, if this publisher is dropped in a
    /// file that lost the name: its history, and the number of its messages, so that readers that
    /// were never here count them.
    pub(super) fn publish_last_trace(&self) {
        let is_last = self.segment.is_name_lost() && !self.has_moved;
        if is_last && self.segment.check_health().is_ok() {
            let _uncancelled = NoCancelGuard::new();
            // WHY the error is ignored: nobody could act on it.
            if let Ok(mut moved) = self.open_in_new_file(self.extent.offer.latched() > 0) {
                moved.has_moved = true;
            }
        }
    }
}

/// Returns true if a reliable reader of a lane, and of messages of a type, lives in a file, and has
/// not moved to the file `present`.
fn awaits_reader((segment, lane): (&Segment, u32), identity: &TypeIdentity, present: u64) -> bool {
    let Ok(wait) = segment.wait_block(Access::Read) else {
        return false;
    };
    // Relaxed: a reader that is not seen came after the file had lost its name.
    let gated = wait.gated.get();
    (0..segment.shape().reader_limit()).any(|reader| {
        let Ok(block) = segment.reader_block(reader, Access::Read) else {
            return false;
        };
        // ORDERING(epoch): pairs with the store in `ReaderSlot::announce_move`: a publisher that
        // sees that the reader moved sees its cursors in the new file.
        let moved_to = Word::load(&block.moved_to, edge::EPOCH_SEE);
        let owner = block.owner.get();
        let cursors = segment.cursors(reader, Access::Read);
        // WHY: a handle with both ends may leave out its own lane.
        let reads_lane = cursors.is_ok_and(|cursors| cursors[lane as usize].get() != 0);
        reads_lane
            && gated & 1 << reader != 0
            && owner != 0
            && moved_to != present
            && identity.matches_reader(block)
            && !segment.is_dead(owner)
    })
}
