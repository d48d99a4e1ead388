//! Sessions: how far a reader has read the messages of a publisher that moved, and where it begins
//! in the publisher's next lane. A publisher keeps the number of its session, and its count of
//! messages, when it moves to another lane.

use std::sync::Arc;

use super::RawConsumer;
use super::join::LaneStart;
use crate::file::error::OpenError;
use crate::file::segment::{Blocks as _, Segment};
use crate::os::region::Access;
use crate::protocol::lane;
use crate::protocol::sync::Word as _;

/// The progress of a reader in the messages of one publisher, at the time when the publisher or the
/// reader moves to another file.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionProgress {
    pub(super) id: u64,
    /// The lane; `None` if the reader has left its file.
    pub(super) lane: Option<u32>,
    /// Sequence number of the first message that the reader takes from the new file. It reads
    /// earlier ones in the former file.
    pub(super) number: u64,
    pub(super) is_ignored: bool,
}

/// Returns the publisher session of each lane of a file, with the progress of a reader that has
/// read the whole lane. Bit i of `ignored` is set if that reader ignores lane i.
pub(super) fn lane_sessions(
    segment: &Segment,
    ignored: u64,
) -> impl Iterator<Item = SessionProgress> {
    (0..segment.shape().lane_limit()).filter_map(move |lane| {
        let block = segment.lane_block(lane, Access::Read).ok()?;
        // Relaxed: it is compared with the session in a new lane, whose publisher stored this one,
        // and the head, before it claimed that lane.
        let id = block.session_id.get();
        (id != 0).then(|| SessionProgress {
            id,
            lane: Some(lane),
            number: lane::count_messages(block).0,
            is_ignored: ignored & 1 << lane != 0,
        })
    })
}

impl RawConsumer {
    /// Returns how far this reader has read the messages of a publisher session in lanes to which
    /// the publisher came before it came to `lane`: in former files, or else in the same file.
    /// `None` if it did not read them there.
    fn session_progress(&self, session_id: u64, lane: u32) -> Option<SessionProgress> {
        let past = self.past.as_deref().filter(|_| session_id != 0);
        let former = past.map_or(&[][..], |past| &past.former).iter();
        let former = former.map(|former| (Arc::clone(&former.segment), former.ignored));
        let earlier = past.into_iter().flat_map(|past| &past.earlier);
        let earlier = earlier.filter_map(|(file, ignored)| Some((file.upgrade()?, *ignored)));
        let in_files = former
            .chain(earlier)
            .flat_map(|(file, ignored)| lane_sessions(&file, ignored).collect::<Vec<_>>());
        let ended = past.into_iter().flat_map(|past| &past.sessions).copied();
        let elsewhere = in_files.chain(ended).filter(|found| found.id == session_id);
        let all = elsewhere.chain(self.progress_in_file(session_id, lane));
        let block = self.segment.lane_block(lane, Access::Read).ok()?;
        let sent = lane::count_messages(block).0;
        // WHY: a publisher that moves keeps its count. If the count is higher than in this lane,
        // the publisher came there later.
        let before = all.filter(|found| found.number <= sent);
        before.max_by_key(|found| found.number)
    }

    /// Returns how far this reader has read the messages of a publisher session in the other lanes
    /// of its file from which the publisher moved to another file, before it came back to `lane`.
    fn progress_in_file(
        &self,
        session_id: u64,
        lane: u32,
    ) -> impl Iterator<Item = SessionProgress> + use<'_> {
        // WHY the lane, too: a publisher that comes back claims one that was never used, and may
        // have sent nothing since.
        let place = |lane| (self.first_position(lane), lane);
        let came_before = move |found: &SessionProgress| {
            let at = found.lane.filter(|&found| found != lane);
            found.id == session_id && at.is_some_and(|at| place(at) < place(lane))
        };
        let sessions = lane_sessions(&self.segment, self.ignored);
        sessions.filter(move |found| session_id != 0 && came_before(found))
    }

    /// Returns the place at which this reader begins in a lane that it does not read yet; `None` if
    /// it ignores the lane's publisher.
    pub(super) fn start_in(&self, lane: u32) -> Result<Option<LaneStart>, OpenError> {
        let joined = self.starts[lane as usize];
        let block = self.segment.lane_block(lane, Access::Read)?;
        // Relaxed, both: the load of the changes ordered them.
        if block.generation.get() == 0 {
            return Ok(Some(joined));
        }
        let begun = self.segment.lane_beginning(lane);
        let reached = if self.observes_one_lane() {
            None
        } else {
            let reached = self.session_progress(block.session_id.get(), lane);
            if reached.is_some_and(|reached| reached.is_ignored) {
                return Ok(None);
            }
            // WHY also the publisher that began the lane: it may have moved here, and be dead, and
            // another one have the lane. It had sent its history once more before the lane was
            // shown.
            reached.or_else(|| self.session_progress(begun?.session_id, lane))
        };
        let first = reached.map(|reached| reached.number);
        let first = first.or(begun.map(|begun| begun.position));
        let first = first.filter(|&position| position > joined.position);
        Ok(Some(first.map_or(joined, |position| LaneStart {
            position,
            number: Some(position),
        })))
    }

    /// Finds the place in a new lane at which this reader begins to read. Returns false if the
    /// reader must not read it now: it ignores the lane if it ignored its session in a former file,
    /// and first reads what the publisher sent before.
    pub(super) fn find_start_in(&mut self, lane: u32) -> Result<bool, OpenError> {
        let Some(start) = self.start_in(lane)? else {
            self.ignore(lane);
            return Ok(false);
        };
        if self.must_wait_for_former_lane(lane) {
            self.has_later = true;
            return Ok(false);
        }
        if start.position != self.starts[lane as usize].position {
            self.begin_at(lane, start);
            self.publish_counters();
        }
        Ok(true)
    }

    /// Returns true if this reader must not read a lane yet, because its publisher came back to
    /// this file, and sent other messages before that: here, or in the file to which this reader
    /// moved, too. This process then notices that the file has its name again, so that this reader
    /// returns from there in its next call.
    fn must_wait_for_former_lane(&self, lane: u32) -> bool {
        if self.observes_one_lane() {
            return false;
        }
        let block = self.segment.lane_block(lane, Access::Read);
        // Relaxed: as in `start_in`.
        let session_id = block.map_or(0, |block| block.session_id.get());
        let before = self.progress_in_file(session_id, lane);
        let before = before.filter(|before| !before.is_ignored);
        let before: Vec<_> = before.filter_map(|before| before.lane).collect();
        let waits_here = || {
            before
                .iter()
                .any(|&lane| self.waiting_messages_in(lane) > 0)
        };
        let waits_elsewhere = || {
            // WHY: until then the message in the lane keeps waking those who wait for the reader.
            let waits = self.progress.has_moved() && !self.segment.is_name_lost_now();
            if waits {
                self.segment.notice_return_of_name();
            }
            waits
        };
        !before.is_empty() && (waits_here() || waits_elsewhere())
    }

    /// Returns the position at which a lane begins; 0 if that is not known.
    fn first_position(&self, lane: u32) -> u64 {
        let beginning = self.segment.lane_beginning(lane);
        beginning.map_or(0, |beginning| beginning.position)
    }
}
