//! Ignoring: a reader does not receive from a lane, or from a publisher in all files of the topic.

use std::cmp::Ordering;

use super::join::LaneStart;
use super::sessions::SessionProgress;
use super::{FollowedLane, NO_LANE_INDEX, RawConsumer, ReadMode, discover};
use crate::endpoint::publisher_progress::PublisherProgress;
use crate::file::error::OpenError;
use crate::file::segment::{Segment, TopicBlocks as _};
use crate::os::region::Access;
use crate::protocol::gate;
use crate::protocol::layout::POSITION_MAX;
use crate::protocol::memory::LaneMemory;
use crate::protocol::sync::{Word, edge};

impl RawConsumer {
    /// Returns the bit that stands for lane `lane` in bit masks; `None` if no topic can have a lane
    /// with this index.
    fn lane_bit(&self, lane: u32) -> Option<u64> {
        ((lane as usize) < self.starts.len()).then(|| 1 << lane)
    }

    /// Stops receiving from lane `lane`, and leaves its messages out of the ledger (counters). A
    /// participant that also publishes uses this so that it does not receive its own messages.
    /// Does nothing if the topic cannot have a lane of this index.
    pub fn ignore(&mut self, lane: u32) {
        let Some(bit) = self.lane_bit(lane).filter(|bit| self.ignored & bit == 0) else {
            return;
        };
        self.ignored |= bit;
        if let Some(at) = self.lanes.iter().position(|followed| followed.lane == lane) {
            let FollowedLane { reader, .. } = self.lanes.remove(at);
            let start = self.starts[lane as usize];
            let passed = match reader.first_and_next_number() {
                Some((first, next)) => next.wrapping_sub(first),
                None => reader.position().wrapping_sub(start.position),
            };
            let skipped = reader.lost().wrapping_add(reader.skipped());
            let received = passed.wrapping_sub(skipped);
            self.received = self.received.saturating_sub(received);
            self.received_at_empty_poll = self.received;
            self.next = 0;
            self.last_lane = match self.last_lane.cmp(&at) {
                Ordering::Less => self.last_lane,
                Ordering::Equal => NO_LANE_INDEX,
                Ordering::Greater if self.last_lane == NO_LANE_INDEX => NO_LANE_INDEX,
                Ordering::Greater => self.last_lane - 1,
            };
            self.update_lane_totals();
        }
        gate::leave_lane(self.progress.cursor(lane));
        // WHY: this reader may have held back the publisher.
        self.wake_sleeping_publishers();
        self.publish_counters();
    }

    /// Receives from lane `lane` again after [`Self::ignore`], beginning with messages sent after
    /// this call. Call this when the lane may belong to a different participant. The publisher that
    /// has the lane is included wherever it moves, too.
    ///
    /// # Errors
    ///
    /// [`OpenError::Io`] if a system call fails; the lane is still ignored then.
    pub fn include(&mut self, lane: u32) -> Result<(), OpenError> {
        if self
            .lane_bit(lane)
            .is_none_or(|bit| self.ignored & bit == 0)
        {
            return Ok(());
        }
        // Relaxed: the caller knows whose lane it is.
        let session_id = self
            .segment
            .lane_block(lane, Access::Read)?
            .session_id
            .get();
        self.stop_ignoring_lane(lane)?;
        self.stop_ignoring_session(session_id)
    }

    /// Receives from an ignored lane again, beginning with messages sent after this call. Does
    /// nothing if the lane is not ignored.
    fn stop_ignoring_lane(&mut self, lane: u32) -> Result<(), OpenError> {
        let Some(bit) = self.lane_bit(lane).filter(|bit| self.ignored & bit != 0) else {
            return Ok(());
        };
        let memory = self.lane_without_slots(lane)?;
        let position = match self.reading {
            ReadMode::Gated => gate::join_lane(&memory, self.progress.reader_index(), u64::MAX),
            // ORDERING(head): pairs with the store in `LaneWriter::publish`.
            _ => Word::load(&memory.block().head, edge::HEAD_SEE).min(POSITION_MAX),
        };
        let newest = self
            .newest_extent(lane)?
            .and_then(|id| self.map_extent(id).ok());
        let start = match newest {
            // WHY only if it is mapped: as in `find_lane_start`.
            Some((extent, _)) if !extent.offer.shape.request().pinnable => LaneStart {
                position,
                number: extent.base.messages_before(position),
            },
            _ => self.place_after_last_message(lane, None)?,
        };
        self.starts[lane as usize] = start;
        self.publish_start_as_cursor(lane);
        self.ignored &= !bit;
        self.publish_counters();
        // WHY: the next call then looks for lanes.
        self.known = discover::LANES_NEVER_SEARCHED;
        self.failed = None;
        self.report_to_watches();
        Ok(())
    }

    /// Stops receiving from `publisher`, and leaves its messages out of the ledger (counters), in
    /// all files of the topic, wherever the two move. Another publisher that takes over a lane of
    /// `publisher` later is ignored there, too.
    pub fn ignore_publisher(&mut self, publisher: PublisherProgress<'_>) {
        let session_id = publisher.session_id;
        self.for_each_file_reader(|file| {
            let lanes = lane_mask_of_session(&file.segment, session_id);
            lane_indices(lanes).for_each(|lane| file.ignore(lane));
            file.record_ignored_session(session_id, true);
        });
        self.record_publisher_in_unread_file(publisher, true);
    }

    /// Receives from `publisher` again after [`Self::ignore_publisher`], beginning with messages
    /// sent after this call. Does nothing if the publisher is not ignored.
    ///
    /// # Errors
    ///
    /// [`OpenError::Io`] if a system call fails; the publisher is still ignored then.
    pub fn include_publisher(&mut self, publisher: PublisherProgress<'_>) -> Result<(), OpenError> {
        if !self.ignores_session(publisher.session_id) {
            return Ok(());
        }
        // WHY: the publisher may have moved, and does not wait for a reader that ignores it and is
        // in another file.
        self.move_if_name_lost();
        // WHY first: in a lane that is found later, this reader would begin with messages that it
        // ignores until now.
        self.for_each_file_reader(|file| {
            if file.segment.fault_epoch_if_usable().is_ok() {
                file.look_for_lanes();
            }
        });
        self.stop_ignoring_session(publisher.session_id)?;
        self.record_publisher_in_unread_file(publisher, false);
        Ok(())
    }

    /// Receives again from the publisher session `session_id`, in all files that this reader reads.
    fn stop_ignoring_session(&mut self, session_id: u64) -> Result<(), OpenError> {
        let mut included = Ok(());
        self.for_each_file_reader(|file| {
            let lanes = lane_indices(lane_mask_of_session(&file.segment, session_id));
            for lane in lanes {
                let now = file.stop_ignoring_lane(lane);
                if included.is_ok() {
                    included = now;
                }
            }
            if included.is_ok() {
                file.record_ignored_session(session_id, false);
            }
        });
        included
    }

    /// Returns true if this reader ignores a publisher session in one of its files, or remembers
    /// that it did elsewhere.
    fn ignores_session(&self, session_id: u64) -> bool {
        let past = self.past.iter();
        let mut known = past.flat_map(|past| &past.sessions);
        let mut files = self.former_file_readers().iter().chain([self]);
        files.any(|file| file.ignored & lane_mask_of_session(&file.segment, session_id) != 0)
            || known.any(|known| known.is_ignored && known.id == session_id)
    }

    /// Calls `call` for the reader of each former file, and then for that of the present one.
    fn for_each_file_reader(&mut self, mut call: impl FnMut(&mut Self)) {
        if let Some(past) = &mut self.past {
            past.former.iter_mut().for_each(&mut call);
        }
        call(self);
    }

    /// Records, in the data about files other than the present one, whether this reader ignores a
    /// publisher session.
    fn record_ignored_session(&mut self, session_id: u64, is_ignored: bool) {
        let Some(past) = &mut self.past else { return };
        let known = past.sessions.iter_mut();
        known
            .filter(|known| known.id == session_id)
            .for_each(|known| known.is_ignored = is_ignored);
        for (file, ignored) in &mut past.others {
            let lanes = file
                .upgrade()
                .map_or(0, |file| lane_mask_of_session(&file, session_id));
            *ignored = if is_ignored {
                *ignored | lanes
            } else {
                *ignored & !lanes
            };
        }
    }

    /// Records from which message on this reader ignores a publisher, or receives from it again.
    /// Does so only if the publisher is in a file to which this reader has not moved yet: otherwise
    /// the reader finds the publisher's session in a lane.
    fn record_publisher_in_unread_file(
        &mut self,
        publisher: PublisherProgress<'_>,
        is_ignored: bool,
    ) {
        let is_in = |file: &Self| file.segment.is_same_file(publisher.segment);
        if is_in(self) || self.former_file_readers().iter().any(is_in) {
            return;
        }
        let noted =
            SessionProgress::in_unread_file(publisher.session_id, publisher.number, is_ignored);
        let past = self.past.get_or_insert_default();
        past.remember_sessions([noted].into_iter());
    }
}

/// Returns a bit mask of the lanes of a file in which a publisher session is, or was last.
fn lane_mask_of_session(segment: &Segment, session_id: u64) -> u64 {
    let lanes = 0..segment.shape().lane_limit();
    // Relaxed: as in `lane_sessions_read_to_end`.
    let is_of = |&lane: &u32| {
        let block = segment.lane_block(lane, Access::Read);
        session_id != 0 && block.is_ok_and(|block| block.session_id.get() == session_id)
    };
    lanes.filter(is_of).fold(0, |mask, lane| mask | 1 << lane)
}

/// Returns the indices of the lanes in a bit mask.
fn lane_indices(mask: u64) -> impl Iterator<Item = u32> {
    (0..u64::BITS).filter(move |lane| mask & 1 << lane != 0)
}
