//! Returning: a reader whose present file has lost the topic's name continues in a former file, if
//! that file has the name again, because a user renamed it away and back.
//!
//! The reader of the former file becomes that of the present file, with its positions. WHY not a
//! new reader: both would receive the same messages.

use std::sync::Arc;

use super::moving::{SessionProgress, lane_sessions};
use super::{RawConsumer, join};
use crate::endpoint::consumer::watch::close_consumer;
use crate::file::name_watch::NameState;
use crate::file::segment::{Blocks as _, Segment};
use crate::os::region::Access;
use crate::protocol::lane;

impl RawConsumer {
    /// Returns the index of the former file that `is_it` selects.
    pub(super) fn former_file(&self, is_it: impl Fn(&Segment) -> bool) -> Option<usize> {
        let mut former = self.former().iter();
        former.position(|former| is_it(&former.segment))
    }

    /// Returns the index of a former file that has the topic's name again, as the last check of the
    /// name found it.
    pub(super) fn file_to_return_to(&self) -> Option<usize> {
        self.former_file(|file| file.name_state() == NameState::Linked)
    }

    /// Makes the reader of the former file at index `at` the reader of the present file again. Does
    /// nothing while messages wait there. WHY: publishers that have left that file sent them before
    /// those in the present file.
    pub(super) fn return_to_file(&mut self, at: usize) {
        let former = &self.former()[at];
        if former.segment.check_health().is_err() || former.stats().waiting > 0 {
            return;
        }
        let mut past = self.past.take().unwrap_or_default();
        let past_of_left = past.for_former();
        let mut returned = past.former.remove(at);
        returned.on_mismatch = self.on_mismatch;
        returned.whole = self.whole;
        returned.last = self.last;
        let mut left = std::mem::replace(self, returned);
        left.past = Some(Box::new(past_of_left));
        past.last_lane = left.last_lane().or(past.last_lane);
        past.changes += 1;
        past.not_moved = None;
        // WHY a new one: watches have followed the reader from the old one to the file just left.
        let renewed = Arc::new(self.progress.renewed());
        let left_behind = std::mem::replace(&mut self.progress, renewed);
        close_consumer(&left_behind, self.place.as_deref());
        left.progress.set_watch_of_next_file(self.watch());
        left.note_own_epoch();
        past.former.push(left);
        self.past = Some(past);
        self.note_other_file();
        // WHY: lanes of publishers that came back are looked for with what is known now.
        self.known = join::NEVER_SEARCHED;
        self.look_for_lanes();
        self.note_own_epoch();
        self.announce_present_file();
        if let Some(place) = &self.place {
            place.announce_move(0);
        }
    }

    /// Announces in the former files to which file this reader has moved.
    pub(super) fn announce_present_file(&self) {
        let former = self.former().iter();
        let places = former.filter_map(|former| former.place.as_ref());
        places.for_each(|place| place.announce_move(self.segment.file_number()));
    }

    /// Makes the present file known to the readers of the former files. WHY: a publisher may return
    /// from it to one of these.
    pub(super) fn note_other_file(&mut self) {
        let present = (Arc::downgrade(&self.segment), self.ignored);
        let Some(past) = &mut self.past else { return };
        for former in &mut past.former {
            let others = &mut former.past.get_or_insert_default().others;
            others.retain(|(file, _)| file.strong_count() > 0 && !file.ptr_eq(&present.0));
            others.push(present.clone());
        }
    }

    /// Returns how far this reader has read the messages of a publisher session in other lanes than
    /// `lane`, to which the publisher moved then; `None` if it did not read them there.
    ///
    /// WHY not beyond the count of `lane`: the publisher may have left that lane, too, and have
    /// sent more in a later one.
    pub(super) fn session_progress(&self, session: u64, lane: u32) -> Option<SessionProgress> {
        if session == 0 {
            return None;
        }
        let block = self.segment.lane_block(lane, Access::Read).ok()?;
        let sent = lane::count_messages(block).0;
        let past = self.past.as_deref();
        let former = self.former().iter();
        let former = former.map(|former| (Arc::clone(&former.segment), former.ignored));
        let others = past.into_iter().flat_map(|past| &past.others);
        let others = others.filter_map(|(file, ignored)| Some((file.upgrade()?, *ignored)));
        let elsewhere = former
            .chain(others)
            .flat_map(|(file, ignored)| lane_sessions(&file, ignored).collect::<Vec<_>>());
        let here = lane_sessions(&self.segment, self.ignored);
        let ended = past.into_iter().flat_map(|past| &past.sessions).copied();
        let of_session = |found: &SessionProgress| found.id == session && found.number <= sent;
        let here = here.filter(|found| found.lane != Some(lane));
        let all = elsewhere.chain(ended).chain(here).filter(of_session);
        all.max_by_key(|found| found.number)
    }
}
