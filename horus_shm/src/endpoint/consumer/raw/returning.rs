//! Returning: a reader whose current file has lost the topic's name continues in a former file, if
//! that file has the name again, because a user renamed it away and back.
//!
//! The reader of the former file becomes that of the current file, with its positions. WHY not a
//! new reader: both would receive the same messages.

use std::sync::Arc;

use super::{FollowedLane, RawConsumer, discover};
use crate::endpoint::consumer::watch::close_consumer;
use crate::file::name_watch::NameState;
use crate::file::segment::Segment;

impl RawConsumer {
    /// Returns the index of the former file that `is_wanted` selects.
    pub(super) fn former_file_index(&self, is_wanted: impl Fn(&Segment) -> bool) -> Option<usize> {
        let mut former = self.former_file_readers().iter();
        former.position(|former| is_wanted(&former.segment))
    }

    /// Returns the index of a former file that has the topic's name again, as the last check of the
    /// name found it.
    pub(super) fn index_of_file_to_return_to(&self) -> Option<usize> {
        self.former_file_index(|file| file.name_state() == NameState::Linked)
    }

    /// Makes the reader of the former file at index `index` the reader of the current file again.
    /// Does nothing while messages wait there in a lane from which a publisher has moved on. WHY:
    /// its later messages may be in the current file. All others wait for this reader there.
    pub(super) fn return_to_former_file(&mut self, index: usize) {
        let former = &self.former_file_readers()[index];
        let has_waiting = |followed: &FollowedLane| {
            former.has_any_publisher_moved(followed.lane)
                && former.waiting_message_count_in(followed.lane) > 0
        };
        let waits = former.unmapped_lane_count() > 0
            || former.lanes.iter().any(has_waiting)
            || former.has_unread_lane_of_moved_publisher();
        if waits || former.segment.fault_epoch_if_usable().is_err() {
            return;
        }
        // WHY now: as in `move_to_new_file`. A publisher may have been in the file that this reader
        // leaves, and have come back before the reader found its lane there.
        if self.segment.fault_epoch_if_usable().is_ok() {
            self.look_for_lanes();
        }
        let mut past = self.past.take().unwrap_or_default();
        let past_of_left = past.data_for_former_reader();
        let mut returned = past.former.remove(index);
        returned.on_mismatch = self.on_mismatch;
        returned.whole = self.whole;
        returned.last = self.last;
        let mut left = std::mem::replace(self, returned);
        left.past = Some(Box::new(past_of_left));
        past.last_lane = left.last_lane_and_claims().or(past.last_lane);
        past.changes += 1;
        past.not_moved = None;
        // WHY a new one: watches have followed the reader from the old one to the file just left.
        let renewed = Arc::new(self.progress.renewed_for_consumer(self.progress.health()));
        let left_behind = std::mem::replace(&mut self.progress, renewed);
        close_consumer(&left_behind, self.place.as_deref());
        left.progress
            .set_watch_of_next_file(self.watch_without_former_files());
        left.store_current_fault_epoch();
        past.former.push(left);
        self.past = Some(past);
        self.store_other_files_in_former_readers();
        // WHY: lanes of publishers that came back are looked for with what is known now.
        self.known = discover::LANES_NEVER_SEARCHED;
        self.look_for_lanes();
        self.store_current_fault_epoch();
        self.announce_current_file();
        if let Some(place) = &self.place {
            place.announce_move(0);
        }
    }

    /// Announces in the former files to which file this reader has moved.
    pub(super) fn announce_current_file(&self) {
        let former = self.former_file_readers().iter();
        let places = former.filter_map(|former| former.place.as_ref());
        places.for_each(|place| place.announce_move(self.segment.file_number()));
    }
}
