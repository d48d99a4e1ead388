//! Files that a reader has left: what it remembers of them. A file that was only renamed away may
//! get the topic's name back. A reader that joins it once more begins behind all that it has
//! accounted for.

use super::RawConsumer;
use super::join::LaneStart;
use super::moving::FormerFiles;
use super::sessions::lane_sessions;
use crate::file::segment::{Blocks as _, Segment};
use crate::os::region::Access;
use crate::protocol::lane::{self, LaneReader};

/// Maximum number of files that a reader remembers after it has left them. The oldest ones are
/// forgotten first.
const LEFT_FILES_MAX: usize = 64;

/// A topic file that a reader has left.
#[derive(Debug)]
pub(super) struct LeftFile {
    /// The number that identifies the file.
    number: u64,
    /// For each lane in which there were messages, the place behind those that the reader has
    /// accounted for.
    ends: Vec<(u32, LaneStart)>,
}

impl FormerFiles {
    /// Stores how far `former` has read each lane of its file, which it leaves now.
    pub(super) fn remember_file(&mut self, former: &RawConsumer) {
        let number = former.segment.file_number();
        let lanes = 0..former.starts.len() as u32;
        let ends = lanes.filter_map(|lane| Some((lane, former.accounted_end(lane)?)));
        let ends = ends.collect();
        self.left.retain(|left| left.number != number);
        self.left.push(LeftFile { number, ends });
        let forgotten = self.left.len().saturating_sub(LEFT_FILES_MAX);
        self.left.drain(..forgotten);
    }
}

impl RawConsumer {
    /// Returns the place in a lane behind all messages that this reader has accounted for: that is,
    /// received, skipped, lost or ignored. `None` if this reader knows of no message there.
    fn accounted_end(&self, lane: u32) -> Option<LaneStart> {
        let block = self.segment.lane_block(lane, Access::Read).ok()?;
        let followed = self.lanes.iter().find(|followed| followed.lane == lane);
        let unread = self.unread_counts_in(lane, followed);
        // What waits in lanes that cannot be mapped counts as lost.
        let is_lost = unread.lost > 0 || unread.waiting > 0 && self.unmapped_lanes() > 0;
        let end = if is_lost || self.ignored & 1 << lane != 0 {
            lane_end(&self.segment, lane)?
        } else {
            // WHY not the head: a message may have come since this reader looked.
            let start = self.starts[lane as usize];
            let reader = followed.map(|followed| &followed.reader);
            let position = reader.map_or(start.position, LaneReader::position);
            let number = match reader {
                Some(reader) => reader.accounted_numbers().map(|(_, next)| next),
                None => start.number,
            };
            let number = number.or_else(|| lane::message_number_at(block, position));
            LaneStart { position, number }
        };
        (end.position > 0).then_some(end)
    }

    /// Makes this reader, which has just joined its file, begin behind all messages of the file
    /// that it has accounted for in `past`: where it left the file, and behind the messages of a
    /// publisher from which it has got later ones in other files.
    pub(super) fn begin_behind_past(&mut self, past: &FormerFiles) {
        let number = self.segment.file_number();
        let left = past.left.iter().find(|left| left.number == number);
        for &(lane, end) in left.iter().flat_map(|left| &left.ends) {
            self.begin_at(lane, end);
        }
        let former = past.former.iter();
        let former = former.flat_map(|former| lane_sessions(&former.segment, former.ignored));
        let known: Vec<_> = former.chain(past.sessions.iter().copied()).collect();
        for here in lane_sessions(&self.segment, 0).collect::<Vec<_>>() {
            let is_later = known
                .iter()
                .any(|known| known.id == here.id && known.number > here.number);
            // WHY not before the lane is shown: its publisher repeats its history.
            if is_later
                && let Some(lane) = here.lane
                && self.segment.lane_beginning(lane).is_some()
                && let Some(end) = lane_end(&self.segment, lane)
            {
                self.begin_at(lane, end);
            }
        }
        self.publish_counters();
    }

    /// Makes this reader begin in a lane at `place`, unless it begins behind that.
    pub(super) fn begin_at(&mut self, lane: u32, place: LaneStart) {
        // WHY not back: it may have begun to receive from the lane again.
        if let Some(start) = self.starts.get_mut(lane as usize)
            && start.position < place.position
        {
            *start = place;
            self.publish_start(lane);
        }
    }
}

/// Returns the place behind all messages of a lane.
fn lane_end(segment: &Segment, lane: u32) -> Option<LaneStart> {
    let block = segment.lane_block(lane, Access::Read).ok()?;
    let (number, position) = lane::count_messages(block);
    let number = Some(number);
    Some(LaneStart { position, number })
}
