//! Sessions: how far a reader has read the messages of a publisher that moved, and where it begins
//! in the publisher's next lane. A publisher keeps the number of its session, and its count of
//! messages, when it moves to another lane.

use std::sync::Arc;

use super::join::LaneStart;
use super::{FollowedLane, RawConsumer};
use crate::file::error::OpenError;
use crate::file::segment::{Segment, TopicBlocks as _};
use crate::os::region::Access;
use crate::protocol::lane;
use crate::protocol::sync::Word as _;

/// The progress of a reader in the messages of one publisher, at the time when the publisher or the
/// reader moves to another file.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionProgress {
    pub(super) id: u64,
    /// The publisher's lane; `None` if the reader has left the lane's file.
    pub(super) lane: Option<u32>,
    /// Sequence number of the first message in the lane; `None` if the lane is not shown yet, and
    /// if the reader has left its file.
    pub(super) first: Option<u64>,
    /// Sequence number of the first message that the reader takes from the new file. It reads
    /// earlier ones in the former file.
    pub(super) number: u64,
    /// True if the publisher has left the lane to continue in another file.
    pub(super) has_left: bool,
    /// True if the reader has begun to read the lane, or if that is not known.
    pub(super) is_begun: bool,
    /// True if the lane has messages that the reader has not read yet.
    pub(super) has_unread: bool,
    pub(super) is_ignored: bool,
}

/// Lanes that the reader found in a former file only after it had moved to a newer file. The reader
/// reads such a lane only when it has read what the lane's publisher sent earlier, in other files.
#[derive(Debug, Default)]
pub(super) struct LanesFoundAfterMove {
    /// A bit mask of these lanes.
    found: u64,
    /// The lanes in `found` that were known when `sessions` was found.
    looked_for: u64,
    /// The sessions in all other files that the reader reads; empty if no lane waits.
    sessions: Vec<SessionProgress>,
}

impl SessionProgress {
    /// Returns the progress of a reader that has read the whole lane, in the messages of the
    /// publisher session `id`, which has the lane, or had it before.
    fn after_whole_lane(segment: &Segment, lane: u32, id: u64) -> Option<Self> {
        let block = segment.lane_block(lane, Access::Read).ok()?;
        let record = segment.lane_record(lane, Access::Read).ok()?;
        Some(Self {
            id,
            lane: Some(lane),
            first: segment.lane_beginning(lane).map(|begun| begun.position),
            number: lane::message_count_and_end(block).0,
            // Relaxed: as the session id in `lane_sessions_read_to_end`.
            has_left: record.moved_session_id.get() == id,
            is_begun: true,
            has_unread: false,
            is_ignored: false,
        })
    }

    /// Returns the progress of a reader in the messages of the publisher session `id`, up to but
    /// not including message `number`, in a file that it does not read.
    pub(super) const fn in_unread_file(id: u64, number: u64, is_ignored: bool) -> Self {
        Self {
            id,
            lane: None,
            first: None,
            number,
            has_left: false,
            is_begun: true,
            has_unread: false,
            is_ignored,
        }
    }

    /// Returns true if the publisher was in this lane before it came to the lane of `later`.
    ///
    /// A publisher keeps its count, and marks a lane that it leaves before it shows the next one.
    /// WHY the mark first: if it repeated all messages of the lane that it left, both lanes have
    /// the same numbers. Each lane would then count as the earlier one, the reader would take these
    /// messages from neither, and they would be lost. If the publisher has left both such lanes,
    /// they have the same messages for ever, and the one that the reader has begun is enough.
    fn is_of_earlier_lane_than(&self, later: &Self) -> bool {
        let Some(first) = self.first else {
            // WHY also the same number: a reader leaves a file when it has read it to the end.
            return self.lane.is_none() && self.number <= later.number;
        };
        if self.has_left != later.has_left {
            return self.has_left;
        }
        let later_first = later.first.unwrap_or(u64::MAX);
        if (first, self.number) == (later_first, later.number) {
            return self.is_begun;
        }
        first <= later_first && self.number <= later.number
    }
}

/// Returns the publisher session of each lane of a file, with the progress of a reader that has
/// read the whole lane. Bit i of `ignored_lane_mask` is set if that reader ignores lane i.
pub(super) fn lane_sessions_read_to_end(
    segment: &Segment,
    ignored_lane_mask: u64,
) -> impl Iterator<Item = SessionProgress> {
    (0..segment.shape().lane_limit()).filter_map(move |lane| {
        let block = segment.lane_block(lane, Access::Read).ok()?;
        // Relaxed: it is compared with the session in a new lane, whose publisher stored this one,
        // and the head, before it claimed that lane.
        let id = block.session_id.get();
        let found = SessionProgress::after_whole_lane(segment, lane, id).filter(|_| id != 0)?;
        Some(SessionProgress {
            is_ignored: ignored_lane_mask & 1 << lane != 0,
            ..found
        })
    })
}

impl RawConsumer {
    /// Returns the publisher sessions in the lanes of this reader's file.
    pub(super) fn sessions_in_own_file(&self) -> impl Iterator<Item = SessionProgress> {
        lane_sessions_read_to_end(&self.segment, self.ignored).map(|found| {
            let is_of = |followed: &FollowedLane| Some(followed.lane) == found.lane;
            SessionProgress {
                is_begun: self.lanes.iter().any(is_of),
                ..found
            }
        })
    }

    /// Returns how far this reader has read the messages of a publisher session in lanes to which
    /// the publisher came before it came to `lane`: in other files, or in the same one. `None` if
    /// it did not read them there.
    fn progress_before_lane(&self, session_id: u64, lane: u32) -> Option<SessionProgress> {
        let here = SessionProgress::after_whole_lane(&self.segment, lane, session_id)?;
        let past = self.past.as_deref().filter(|_| session_id != 0);
        let former = past.map_or(&[][..], |past| &past.former).iter();
        let former = former.flat_map(|former| former.sessions_in_own_file().collect::<Vec<_>>());
        let looked_at = past.map_or(&[][..], |past| &past.late.sessions);
        // WHY both: what the reader of the current file found there may be out of date. It says
        // more about which lanes are begun.
        let is_begun = looked_at.is_empty();
        let others = past.into_iter().flat_map(|past| &past.others);
        let others = others.filter_map(|(file, ignored)| Some((file.upgrade()?, *ignored)));
        let others = others.flat_map(|(file, ignored)| {
            lane_sessions_read_to_end(&file, ignored).collect::<Vec<_>>()
        });
        let others = others.map(move |found| SessionProgress { is_begun, ..found });
        let ended = past.into_iter().flat_map(|past| &past.sessions).copied();
        let elsewhere = former
            .chain(others)
            .chain(looked_at.iter().copied())
            .chain(ended);
        let elsewhere = elsewhere
            .filter(|found| found.id == session_id && found.is_of_earlier_lane_than(&here));
        let in_file = self.progress_in_other_lanes(session_id, lane);
        let in_file = in_file.filter(|found| found.number <= here.number);
        elsewhere.chain(in_file).max_by_key(|found| found.number)
    }

    /// Returns how far this reader has read the messages of a publisher session in the other lanes
    /// of its file from which the publisher moved to another file, before it came back to `lane`.
    fn progress_in_other_lanes(
        &self,
        session_id: u64,
        lane: u32,
    ) -> impl Iterator<Item = SessionProgress> + use<'_> {
        // WHY the lane, too: a publisher that comes back claims one that was never used, and may
        // have sent nothing since.
        let place = |lane| (self.lane_beginning_position(lane), lane);
        let came_before = move |found: &SessionProgress| {
            let at = found.lane.filter(|&found| found != lane);
            found.id == session_id && at.is_some_and(|at| place(at) < place(lane))
        };
        let sessions = lane_sessions_read_to_end(&self.segment, self.ignored);
        sessions.filter(move |found| session_id != 0 && came_before(found))
    }

    /// Returns the place at which this reader begins in a lane that it does not read yet; `None` if
    /// it ignores the lane's publisher.
    pub(super) fn start_in_unread_lane(&self, lane: u32) -> Result<Option<LaneStart>, OpenError> {
        let joined = self.starts[lane as usize];
        let block = self.segment.lane_block(lane, Access::Read)?;
        // Relaxed, both: the load of the changes ordered them.
        if block.generation.get() == 0 {
            return Ok(Some(joined));
        }
        let begun = self.segment.lane_beginning(lane);
        let reached = if self.is_observer_of_one_lane() {
            None
        } else {
            let reached = self.progress_before_lane(block.session_id.get(), lane);
            if reached.is_some_and(|reached| reached.is_ignored) {
                return Ok(None);
            }
            // WHY also the publisher that began the lane: it may have moved here, and be dead, and
            // another one have the lane. It had sent its history once more before the lane was
            // shown.
            reached.or_else(|| self.progress_before_lane(begun?.session_id, lane))
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
    pub(super) fn try_set_start_in_new_lane(&mut self, lane: u32) -> Result<bool, OpenError> {
        let Some(start) = self.start_in_unread_lane(lane)? else {
            self.ignore(lane);
            // WHY: the readers of other files read this reader's ignored lanes there.
            self.store_other_files_in_former_readers();
            return Ok(false);
        };
        if self.must_wait_for_earlier_lane(lane) {
            self.has_later = true;
            return Ok(false);
        }
        if let Some(past) = &mut self.past
            && past.late.found & 1 << lane != 0
        {
            past.late = LanesFoundAfterMove::default();
        }
        if start.position != self.starts[lane as usize].position {
            self.begin_lane_at(lane, start);
            self.publish_counters();
        }
        Ok(true)
    }

    /// Returns true if this reader must not read a lane yet, because earlier messages of the lane's
    /// publisher may still have to be read: in another lane of this file, or in a file to which
    /// this reader has moved.
    ///
    /// If the file has its name again, the reader returns to it in its next call, after this
    /// process has noticed that. If it has lost the name once more by then, or the publisher has
    /// moved on, the reader first reads what the publisher sent elsewhere before.
    fn must_wait_for_earlier_lane(&mut self, lane: u32) -> bool {
        if self.is_observer_of_one_lane() {
            return false;
        }
        let block = self.segment.lane_block(lane, Access::Read);
        // Relaxed: as in `start_in_unread_lane`.
        let session_id = block.map_or(0, |block| block.session_id.get());
        let begun = self.segment.lane_beginning(lane);
        // WHY also the publisher that began the lane: as in `start_in_unread_lane`.
        let ids = [session_id, begun.map_or(0, |begun| begun.session_id)];
        let before = ids
            .iter()
            .flat_map(|&id| self.progress_in_other_lanes(id, lane));
        let before = before.filter(|before| !before.is_ignored);
        let before: Vec<_> = before.filter_map(|before| before.lane).collect();
        let has_moved = self.progress.has_moved_to_other_file();
        // WHY only then: all lanes that were here when this reader moved are known since then.
        let came_later = has_moved && begun.is_some_and(|begun| begun.position > 0);
        if !came_later && before.is_empty() {
            return false;
        }
        if before
            .iter()
            .any(|&lane| self.waiting_message_count_in(lane) > 0)
        {
            return true;
        }
        if has_moved
            && !self.has_first_or_last_publisher_moved(lane)
            && !self.segment.is_name_lost_now()
        {
            // WHY: until then the message in the lane keeps waking those who wait for the reader.
            self.segment.notice_return_of_name();
            return true;
        }
        has_moved && self.has_unread_in_other_files(lane, ids)
    }

    /// Returns true if a publisher of a lane has moved on to another file, so that its later
    /// messages are in other lanes. The publisher that began the lane, and the last one, count.
    fn has_first_or_last_publisher_moved(&self, lane: u32) -> bool {
        let block = self.segment.lane_block(lane, Access::Read);
        let record = self.segment.lane_record(lane, Access::Read);
        let (Ok(block), Ok(record)) = (block, record) else {
            return false;
        };
        let begun = self.segment.lane_beginning(lane);
        // Relaxed, both: as in `SessionProgress::after_whole_lane`.
        let left_by = record.moved_session_id.get();
        let is_of = |id| id != 0 && id == left_by;
        is_of(block.session_id.get()) || begun.is_some_and(|begun| is_of(begun.session_id))
    }

    /// Returns true if any publisher of a lane has ever moved on to another file, or if that cannot
    /// be determined. Unlike [`Self::has_first_or_last_publisher_moved`], takes all publishers of
    /// the lane into account, not only the first and the last one.
    pub(super) fn has_any_publisher_moved(&self, lane: u32) -> bool {
        let record = self.segment.lane_record(lane, Access::Read);
        // Relaxed: as in `SessionProgress::after_whole_lane`.
        record.map_or(true, |record| record.moved_session_id.get() != 0)
    }

    /// Returns true if messages wait in a lane that this reader has not begun to read, and from
    /// which a publisher has moved on. Its next messages are in other files.
    pub(super) fn has_unread_lane_of_moved_publisher(&self) -> bool {
        let is_read = |lane| self.lanes.iter().any(|followed| followed.lane == lane);
        let mut lanes = (0..self.starts.len() as u32).filter(|lane| {
            let is_ignored = self.ignored & 1 << lane != 0;
            !is_ignored && !is_read(*lane) && self.has_first_or_last_publisher_moved(*lane)
        });
        lanes.any(|lane| self.waiting_message_count_in(lane) > 0)
    }

    /// Returns true if messages that the publisher of a lane of this former file sent before it
    /// came to this lane may wait in other files. `session_ids` are the sessions of the lane.
    ///
    /// WHY true until the reader of the current file has searched once more: its earlier searches
    /// did not know of this lane, so their result may be incomplete.
    fn has_unread_in_other_files(&mut self, lane: u32, session_ids: [u64; 2]) -> bool {
        let past = self.past.get_or_insert_default();
        past.late.found |= 1 << lane;
        if past.late.looked_for & 1 << lane == 0 {
            return true;
        }
        let here = session_ids.map(|id| SessionProgress::after_whole_lane(&self.segment, lane, id));
        let mut here = here.into_iter().flatten().filter(|here| here.id != 0);
        here.any(|here| {
            let mut unread = past.late.sessions.iter().filter(|found| found.has_unread);
            unread.any(|unread| unread.id == here.id && unread.is_of_earlier_lane_than(&here))
        })
    }

    /// Returns true if messages that the publisher of a lane sent before wait in a former file, in
    /// a lane that cannot be mapped now, or behind such a lane in a later file. WHY: the messages
    /// of a publisher keep their order.
    pub(super) fn has_earlier_unmapped_messages(&self, lane: usize) -> bool {
        let session = |segment: &Segment, lane| {
            let block = segment.lane_block(lane, Access::Read);
            // Relaxed: as in `lane_sessions_read_to_end`.
            block.map_or(0, |block| block.session_id.get())
        };
        let mut former = self
            .former_file_readers()
            .iter()
            .skip_while(|file| !file.lacks_memory_for_lane());
        former.any(|former| {
            let id = session(&self.segment, self.lanes[lane].lane);
            let is_of = |lane| id != 0 && session(&former.segment, lane) == id;
            (0..former.starts.len() as u32)
                .any(|lane| is_of(lane) && former.waiting_message_count_in(lane) > 0)
        })
    }

    /// Returns true if a lane of a former file waits for messages in other files, and was found
    /// after [`Self::store_unread_sessions`] had looked for those.
    pub(super) fn has_new_lanes_found_after_move(&self) -> bool {
        let late = self
            .former_file_readers()
            .iter()
            .filter_map(|file| file.past.as_ref());
        let mut late = late.map(|past| &past.late);
        late.any(|late| late.found & !late.looked_for != 0)
    }

    /// Finds which publisher sessions have unread messages in any file, and stores that in each
    /// former file in which a lane waits. Such a lane is read only when the earlier messages of its
    /// publisher in other files have been read.
    pub(super) fn store_unread_sessions(&mut self) {
        let has_late = |file: &Self| file.past.as_ref().is_some_and(|past| past.late.found != 0);
        if !self.former_file_readers().iter().any(has_late) {
            return;
        }
        let sessions = |file: &Self| {
            let found = file.sessions_in_own_file().map(|found| {
                let waiting = found
                    .lane
                    .map_or(0, |lane| file.waiting_message_count_in(lane));
                SessionProgress {
                    has_unread: waiting > 0 && !found.is_ignored,
                    ..found
                }
            });
            found.collect::<Vec<_>>()
        };
        let sessions: Vec<_> = self.readers_of_all_files().map(sessions).collect();
        let former = self.past.iter_mut().flat_map(|past| &mut past.former);
        for (at, former) in former.enumerate() {
            let Some(past) = &mut former.past else {
                continue;
            };
            past.late.looked_for = past.late.found;
            if past.late.found != 0 {
                // WHY + 1: the first of them is the current file. WHY not its own file: a lane that
                // has got messages since would count as earlier than itself.
                let others = sessions.iter().enumerate();
                let others = others.filter(|(other, _)| *other != at + 1);
                past.late.sessions = others.flat_map(|(_, found)| found).copied().collect();
            }
        }
    }

    /// Stores in the readers of former files which other files this reader reads, and which
    /// sessions it remembers from the files that it has left.
    pub(super) fn store_other_files_in_former_readers(&mut self) {
        let files = self.readers_of_all_files();
        let all: Vec<_> = files
            .map(|file| (Arc::downgrade(&file.segment), file.ignored))
            .collect();
        let Some(past) = &mut self.past else { return };
        for (at, former) in past.former.iter_mut().enumerate() {
            let others = all.iter().enumerate();
            // WHY + 1: the first of them is the current file.
            let others = others.filter(|(other, _)| *other != at + 1);
            let kept = former.past.get_or_insert_default();
            kept.others = others.map(|(_, other)| other.clone()).collect();
            kept.sessions.clone_from(&past.sessions);
        }
    }

    /// Returns the position at which a lane begins; 0 if that is not known.
    fn lane_beginning_position(&self, lane: u32) -> u64 {
        let beginning = self.segment.lane_beginning(lane);
        beginning.map_or(0, |beginning| beginning.position)
    }
}
