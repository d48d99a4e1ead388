//! Files that a reader has left: what it remembers of them. A file that was only renamed away may
//! get the topic's name back. A reader that joins it once more begins behind all that it has
//! accounted for.

use super::join::LaneStart;
use super::moving::FormerFiles;
use super::sessions::{SessionProgress, lane_sessions_read_to_end};
use super::{RawConsumer, ReadStats};
use crate::file::segment::{Segment, TopicBlocks as _};
use crate::os::region::Access;
use crate::protocol::lane::{self, LaneReader};
use crate::protocol::sync::Word as _;

/// Maximum number of files that a reader remembers after it has left them. The oldest ones are
/// forgotten first.
const REMEMBERED_FILES_MAX: usize = 64;

/// A topic file that a reader has left.
#[derive(Debug)]
pub(super) struct RememberedFile {
    /// The number that identifies the file.
    number: u64,
    /// For each lane in which there were messages, the place behind those that the reader has
    /// accounted for.
    ends: Vec<(u32, LaneStart)>,
}

/// The final data about a topic file that a reader has read to the end.
#[derive(Debug)]
pub(super) struct FinishedFile {
    /// The counters of the reader in this file.
    ledger: ReadStats,
    detaches: u64,
    left: RememberedFile,
    sessions: Vec<SessionProgress>,
}

/// The numbers of a lane that change with each message or with each publisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LaneSnapshot {
    session_id: u64,
    messages: u64,
    position: u64,
}

impl FormerFiles {
    /// Stores the final data about a file, which the reader leaves now.
    pub(super) fn remember_finished_file(&mut self, finished: FinishedFile) {
        let FinishedFile {
            ledger,
            detaches,
            left,
            sessions,
        } = finished;
        self.ended = self.ended.plus(ledger.with_waiting_as_lost());
        self.ended_detaches = self.ended_detaches.wrapping_add(detaches);
        self.left.retain(|other| other.number != left.number);
        self.left.push(left);
        let forgotten = self.left.len().saturating_sub(REMEMBERED_FILES_MAX);
        self.left.drain(..forgotten);
        self.remember_sessions(sessions.into_iter());
    }
}

impl RawConsumer {
    /// Returns the final data about the file of this reader, which leaves it. `ledger` contains the
    /// counters of the reader in the file.
    pub(super) fn finished_file_data(&self, ledger: ReadStats) -> FinishedFile {
        let lanes = 0..self.starts.len() as u32;
        let ends = lanes.filter_map(|lane| Some((lane, self.end_of_accounted_messages(lane)?)));
        let left = RememberedFile {
            number: self.segment.file_number(),
            ends: ends.collect(),
        };
        let sessions =
            lane_sessions_read_to_end(&self.segment, self.ignored).map(|found| SessionProgress {
                lane: None,
                first: None,
                ..found
            });
        FinishedFile {
            ledger,
            detaches: self.detach_count(),
            left,
            sessions: sessions.collect(),
        }
    }

    /// Returns, for each lane, the numbers that change with each message or with each publisher.
    ///
    /// None of these numbers ever returns to an earlier value, except the session id of a lane that
    /// a process only reserves, in which it sends nothing. So if two calls return the same, each
    /// lane had the same publisher and the same messages at every moment between its two loads.
    pub(super) fn lane_snapshots(&self) -> Vec<LaneSnapshot> {
        let lanes = 0..self.starts.len() as u32;
        let mark = |lane| {
            let block = self.segment.lane_block(lane, Access::Read).ok()?;
            let (messages, position) = lane::message_count_and_end(block);
            Some(LaneSnapshot {
                // Relaxed: it is only compared.
                session_id: block.session_id.get(),
                messages,
                position,
            })
        };
        lanes.filter_map(mark).collect()
    }

    /// Returns the place in a lane behind all messages that this reader has accounted for: that is,
    /// received, skipped, lost or ignored. `None` if this reader knows of no message there.
    /// Messages that still wait are included, because a reader that leaves the file counts them as
    /// lost.
    fn end_of_accounted_messages(&self, lane: u32) -> Option<LaneStart> {
        let block = self.segment.lane_block(lane, Access::Read).ok()?;
        let followed = self.lanes.iter().find(|followed| followed.lane == lane);
        let unread = self.unread_counts_in(lane, followed);
        let is_lost = unread.lost > 0 || unread.waiting > 0;
        let end = if is_lost || self.ignored & 1 << lane != 0 {
            place_after_newest_message(&self.segment, lane)?
        } else {
            let start = self.starts[lane as usize];
            let reader = followed.map(|followed| &followed.reader);
            let position = reader.map_or(start.position, LaneReader::position);
            let number = match reader {
                Some(reader) => reader.first_and_next_number().map(|(_, next)| next),
                None => start.number,
            };
            let number = number.or_else(|| lane::message_number_at(block, position));
            LaneStart { position, number }
        };
        (end.position > 0).then_some(end)
    }

    /// Makes this reader, which has just joined its file, begin behind all messages of the file
    /// that it has accounted for in `past`: behind the place at which it left the file earlier, and
    /// behind the messages of each publisher whose later messages it has received in other files.
    pub(super) fn skip_messages_accounted_in(&mut self, past: &FormerFiles) {
        let number = self.segment.file_number();
        let left = past.left.iter().find(|left| left.number == number);
        for &(lane, end) in left.iter().flat_map(|left| &left.ends) {
            self.begin_lane_at(lane, end);
        }
        let former = past.former.iter().flat_map(Self::sessions_in_own_file);
        let known: Vec<_> = former.chain(past.sessions.iter().copied()).collect();
        for here in lane_sessions_read_to_end(&self.segment, 0).collect::<Vec<_>>() {
            // WHY not before the lane is shown: its publisher repeats its history.
            let Some(lane) = here.lane else { continue };
            if self.segment.lane_beginning(lane).is_none() {
                continue;
            }
            let Some(end) = place_after_newest_message(&self.segment, lane) else {
                continue;
            };
            let count = end.number.unwrap_or(u64::MAX);
            // WHY also the same number, in a lane that is read: the publisher has repeated there
            // what it sent here.
            let has_all = |known: &SessionProgress| {
                known.number > count || known.is_begun && known.number == count
            };
            if known
                .iter()
                .any(|known| known.id == here.id && has_all(known))
            {
                self.begin_lane_at(lane, end);
            }
        }
        self.publish_counters();
    }

    /// Makes this reader begin in a lane at `place`, unless it begins behind that.
    pub(super) fn begin_lane_at(&mut self, lane: u32, place: LaneStart) {
        // WHY not back: it may have begun to receive from the lane again.
        if let Some(start) = self.starts.get_mut(lane as usize)
            && start.position < place.position
        {
            *start = place;
            self.publish_start_as_cursor(lane);
        }
    }
}

/// Returns the place behind the newest message of a lane.
fn place_after_newest_message(segment: &Segment, lane: u32) -> Option<LaneStart> {
    let block = segment.lane_block(lane, Access::Read).ok()?;
    let (number, position) = lane::message_count_and_end(block);
    let number = Some(number);
    Some(LaneStart { position, number })
}
