//! Moving: when a reader's file has lost the topic's name, the reader continues in the file that
//! has the name now.
//!
//! The reader joins the new file at the beginning of every lane. It also reads the former file
//! until the owner of each of its lanes has left or died. A publisher that moves keeps its session
//! and continues its sequence numbers in the new file. So the reader can tell which of the
//! publisher's messages it has already read, and takes only the later ones.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use std::{iter, mem};

use super::join::StartRule;
use super::left::{FinishedFile, RememberedFile};
use super::sessions::{LanesFoundAfterMove, SessionProgress};
use super::{FollowedLane, MessageInfo, NO_LANE_INDEX, RawConsumer, ReadMode, ReadStats};
use crate::endpoint::sample::{BorrowError, RawSample};
use crate::file::error::{OpenError, RecvError, is_lack_of_memory};
use crate::file::name_watch::NameState;
use crate::file::segment::{Segment, TopicBlocks as _};
use crate::file::topic_files::TopicFiles;
use crate::os::cancel::NoCancelGuard;
use crate::os::fault;
use crate::os::region::Access;
use crate::protocol::lane::PollOutcome;
use crate::protocol::memory::LaneMemory;
use crate::protocol::sync::{Word, edge, fence};

/// Minimum time between two attempts of a reader to move to the file that has the topic's name now.
const MOVE_RETRY_PERIOD: Duration = Duration::from_millis(100);
/// Minimum time between two checks whether former files (which have lost the topic's name) still
/// have publishers.
const FORMER_FILE_CHECK_PERIOD: Duration = Duration::from_millis(10);
/// Maximum time for which a reader keeps a former file without publishers, because this process has
/// no memory to map a lane in which messages wait.
const UNMAPPED_LANE_WAIT_MAX: Duration = Duration::from_secs(10);
/// Maximum number of publisher sessions that a reader remembers from the files that it has left.
/// The oldest ones are forgotten first.
const REMEMBERED_SESSIONS_MAX: usize = 1024;

/// The files of the topic in which a reader was before its current file: those that it has left,
/// and those that it still reads to the end.
#[derive(Debug, Default)]
pub(super) struct FormerFiles {
    /// One reader for each former file that is still being read, from the oldest file to the
    /// newest.
    pub(super) former: Vec<RawConsumer>,
    /// The sum of the counters of the files that the reader has read to the end and left.
    pub(super) ended: ReadStats,
    /// The number of times that a publisher stopped waiting for the reader in these files.
    pub(super) ended_detaches: u64,
    /// For each publisher in the files that the reader has left: how far the reader has read its
    /// messages.
    pub(super) sessions: Vec<SessionProgress>,
    /// The files that the reader has left, from the first one that it left to the last.
    pub(super) left: Vec<RememberedFile>,
    /// Used only in the reader of a former file: the other files that the reader reads, each with a
    /// bit mask of the lanes that are ignored there.
    pub(super) others: Vec<(Weak<Segment>, u64)>,
    /// Used only in the reader of a former file: its lanes that wait for messages in other files.
    pub(super) late: LanesFoundAfterMove,
    /// Lane of the message that was received last, if it came from a former file, and the number of
    /// times that the lane was claimed there; otherwise `None`.
    pub(super) last_lane: Option<(u32, u64)>,
    /// The time of the last check whether former files still have publishers; `None` before the
    /// first check.
    looked: Option<Instant>,
    /// Used only in the reader of a former file: the time of the first check that found no
    /// publisher there, but a lane with messages that could not be mapped; `None` if there is no
    /// such lane.
    unmapped_since: Option<Instant>,
    /// Used only in the reader of a former file: true if it has searched for lanes since the reader
    /// of the current file last reported to watches what was found.
    pub(super) has_searched: bool,
    /// True if the reader is an observer of one lane. It never moves to another file, even if its
    /// file loses its name.
    stays: bool,
    /// Number of times that the reader has joined or left a topic file.
    pub(super) changes: u64,
    /// Time and `errno` of the last attempt to move to another file, if that attempt failed. The
    /// `errno` is `None` if no file had the topic's name, or if the file was being removed at the
    /// first attempt.
    pub(super) not_moved: Option<(Instant, Option<i32>)>,
}

impl FormerFiles {
    /// Returns the data about earlier files that the reader of the current file still needs when
    /// the current file becomes a former file, too.
    pub(super) fn data_for_former_reader(&self) -> Self {
        Self {
            sessions: self.sessions.clone(),
            ..Self::default()
        }
    }

    /// Adds `found` to the publisher sessions that the reader remembers from files that it does not
    /// read.
    pub(super) fn remember_sessions(&mut self, found: impl Iterator<Item = SessionProgress>) {
        self.sessions.extend(found);
        let forgotten = self.sessions.len().saturating_sub(REMEMBERED_SESSIONS_MAX);
        self.sessions.drain(..forgotten);
    }
}

impl RawConsumer {
    /// Joins the file of `segment`, even if the file has lost its name, as an observer of one lane.
    /// It reads from the lane's beginning if `from_beginning` is true; otherwise it begins with the
    /// history that the publisher offers.
    pub(crate) fn observe_lane(
        segment: Arc<Segment>,
        lane: u32,
        from_beginning: bool,
    ) -> Result<Self, OpenError> {
        let health = Arc::default();
        let start_rule = if from_beginning {
            StartRule::Beginning
        } else {
            StartRule::Head
        };
        let topic = Arc::clone(&segment);
        let _mapped = topic.keep_extents_mapped();
        let mut this = Self::join_lanes(segment, ReadMode::Observer, start_rule, health)?;
        this.ignored = !(1 << lane);
        this.past.get_or_insert_default().stays = true;
        this.map_lanes_and_announce_join()?;
        Ok(this)
    }

    /// Stores `seen_epoch`, the value of the process-wide fault counter at which a check found this
    /// reader usable. Calls check the reader again when the counter has changed. If the reader has
    /// to move to another file, or still reads former files, stores a value that makes each call
    /// check.
    pub(super) fn store_seen_fault_epoch(&mut self, seen_epoch: u64) {
        if self.segment.name_state() == NameState::NamespaceRemoved {
            self.progress.set_namespace_removed();
        }
        self.seen_epoch = if self.must_move_to_new_file() || self.is_reading_former_files() {
            fault::NO_FAULT_EPOCH
        } else {
            seen_epoch
        };
    }

    /// Returns true if the topic's name no longer leads to this reader's file, and the reader has
    /// not moved to another file yet.
    fn must_move_to_new_file(&self) -> bool {
        let is_lost = self.segment.is_name_lost() && !self.progress.has_moved_to_other_file();
        is_lost && !self.is_observer_of_one_lane()
    }

    /// Returns true while this reader still reads files that no longer have the topic's name.
    pub(super) fn is_reading_former_files(&self) -> bool {
        self.past
            .as_ref()
            .is_some_and(|past| !past.former.is_empty())
    }

    /// Returns a counter that changes whenever this reader joins or leaves a topic file.
    pub(super) fn file_change_count(&self) -> u64 {
        self.past.as_ref().map_or(0, |past| past.changes)
    }

    /// Returns true if this reader is an observer of one lane, which reads all that is in the lane.
    pub(super) fn is_observer_of_one_lane(&self) -> bool {
        self.past.as_ref().is_some_and(|past| past.stays)
    }

    /// Returns one reader for each former file that is still being read.
    pub(super) fn former_file_readers(&self) -> &[Self] {
        self.past.as_ref().map_or(&[], |past| &past.former)
    }

    /// Returns the readers of all files that are being read: this one, and one for each former
    /// file.
    pub(super) fn readers_of_all_files(&self) -> impl Iterator<Item = &Self> {
        iter::once(self).chain(self.former_file_readers())
    }

    /// Returns the files of the topic in which endpoints may be: the files that this reader reads,
    /// and the file that has the topic's name now.
    #[must_use]
    pub fn topic_files(&self) -> TopicFiles {
        let former = self
            .former_file_readers()
            .iter()
            .map(|former| &former.segment);
        let mut files = TopicFiles::new(former, &self.segment);
        files.add_current_file();
        files
    }

    /// Moves to the file that has the name now, if the current file has lost it. If that fails,
    /// this reader continues as before, and tries again after [`MOVE_RETRY_PERIOD`].
    pub(super) fn move_if_name_lost(&mut self) {
        if !self.must_move_to_new_file() {
            return;
        }
        if let Some(at) = self.index_of_file_to_return_to() {
            self.return_to_former_file(at);
            return;
        }
        let past = self.past.get_or_insert_default();
        if past
            .not_moved
            .is_some_and(|(at, _)| at.elapsed() < MOVE_RETRY_PERIOD)
        {
            return;
        }
        let has_failed = past.not_moved.is_some();
        let failed = self.move_to_new_file().err().map(|error| {
            let is_normal = match error {
                // WHY: an observer creates no file.
                OpenError::NotFound { .. } => true,
                // WHY only at first: a file is usually removed before the next attempt.
                OpenError::Retiring { .. } => !has_failed,
                _ => false,
            };
            let errno = (!is_normal).then(|| error.errno_or(libc::EUCLEAN));
            self.progress.delay_next_move(MOVE_RETRY_PERIOD);
            (Instant::now(), errno)
        });
        self.past.get_or_insert_default().not_moved = failed;
    }

    fn move_to_new_file(&mut self) -> Result<(), OpenError> {
        let creates = self.reading != ReadMode::Observer;
        // WHY no pauses: receive calls never block, and try again.
        let segment = self.segment.reopen_within(creates, 0)?;
        if segment.is_same_file(&self.segment) {
            self.store_current_fault_epoch();
            return Ok(());
        }
        if let Some(at) = self.former_file_index(|former| segment.is_same_file(former)) {
            self.return_to_former_file(at);
            return Ok(());
        }
        let (start_rule, own_health) = (StartRule::Beginning, Arc::default());
        let mut moved = Self::join_lanes(segment, self.reading, start_rule, own_health)?;
        // WHY not before: if the join fails, the drop of what was made marks its health as closed.
        moved.progress = Arc::new(moved.progress.renewed_for_consumer(self.progress.health()));
        moved.on_mismatch = self.on_mismatch;
        moved.whole = self.whole;
        moved.last = self.last;
        let mut former = mem::replace(self, moved);
        // WHY now: lanes that are found later are of publishers that came back to this file.
        former.look_for_lanes();
        let mut past = former.past.take().unwrap_or_default();
        former.past = Some(Box::new(past.data_for_former_reader()));
        past.last_lane = former.last_lane_and_claims().or(past.last_lane);
        past.changes += 1;
        former
            .progress
            .set_watch_of_next_file(self.watch_without_former_files());
        former.store_current_fault_epoch();
        past.former.push(former);
        self.skip_messages_accounted_in(&past);
        self.past = Some(past);
        self.store_other_files_in_former_readers();
        self.map_lanes_and_announce_join()?;
        self.announce_current_file();
        Ok(())
    }

    /// Stores the present value of the fault counter, so that calls check this reader only when it
    /// has changed. If this reader has to move to another file, or still reads former files, each
    /// call checks it.
    pub(super) fn store_current_fault_epoch(&mut self) {
        if let Ok(seen_epoch) = self.segment.fault_epoch_if_usable() {
            self.store_seen_fault_epoch(seen_epoch);
        }
    }

    /// Calls `poll_former` for each former file, and then `poll_own_lane` for each lane of the
    /// current file, until a call returns a message. The caller has checked that this reader is
    /// usable, and can take messages of up to `bytes` bytes. Returns nothing that comes after a
    /// message that is longer, if messages must not be cut.
    ///
    /// WHY former files are polled twice: a publisher sends its first message in the current file
    /// after its last one in the former file. When this reader has seen a message in the present
    /// file, the second poll of the former files therefore finds all earlier messages of that
    /// publisher.
    fn poll_all_files<R>(
        &mut self,
        bytes: usize,
        mut poll_former: impl FnMut(&mut Self) -> Option<R>,
        mut poll_own_lane: impl FnMut(&mut Self, usize) -> Option<R>,
    ) -> Option<R> {
        self.look_for_lanes();
        if let Some(found) = self.poll_former_files(bytes, &mut poll_former) {
            return Some(found);
        }
        self.leave_finished_files();
        for _ in 0..self.lanes.len() {
            let lane = self.take_next_lane_in_turn();
            let reader = &self.lanes[lane].reader;
            // ORDERING(head): pairs with the store in `LaneWriter::publish`.
            let head = Word::load(&reader.memory().block().head, edge::HEAD_SEE);
            if head <= reader.position() {
                continue;
            }
            if let Some(found) = self.poll_former_files(bytes, &mut poll_former) {
                return Some(found);
            }
            if !self.would_cut_message(bytes)
                && !self.has_earlier_unmapped_messages(lane)
                && let Some(found) = poll_own_lane(self, lane)
            {
                return Some(found);
            }
        }
        None
    }

    /// Polls the former files as [`Self::poll_each_former_file`] does, and reports to watches what
    /// was found there.
    fn poll_former_files<R>(
        &mut self,
        bytes: usize,
        poll_former: &mut impl FnMut(&mut Self) -> Option<R>,
    ) -> Option<R> {
        let found = self.poll_each_former_file(bytes, poll_former);
        let former = self.past.iter_mut().flat_map(|past| &mut past.former);
        let past = former.filter_map(|former| former.past.as_mut());
        let searched = past.filter_map(|past| mem::take(&mut past.has_searched).then_some(()));
        if searched.count() > 0 {
            self.report_to_watches();
        }
        found
    }

    /// Calls `poll_former` for each former file, from the oldest on, until a call returns a
    /// message. Ends at a file in which messages may wait that cannot be mapped now, or that are
    /// longer than `bytes` and must not be cut. WHY: the later files may have newer messages of the
    /// same publishers.
    fn poll_each_former_file<R>(
        &mut self,
        bytes: usize,
        poll_former: &mut impl FnMut(&mut Self) -> Option<R>,
    ) -> Option<R> {
        self.store_unread_sessions();
        for at in 0..self.former_file_readers().len() {
            let mut found = self.poll_former_file(at, poll_former);
            if found.is_none() && self.has_new_lanes_found_after_move() {
                // WHY: such a lane is read only now, and the other files may have later messages.
                self.store_unread_sessions();
                found = self.poll_former_file(at, poll_former);
            }
            let former = self.former_file_readers().get(at)?;
            if found.is_some() || former.lacks_memory_for_lane() || former.would_cut_message(bytes)
            {
                return found;
            }
        }
        None
    }

    /// Calls `poll_former` for the former file at index `at`, and returns the message that it
    /// found.
    fn poll_former_file<R>(
        &mut self,
        at: usize,
        poll_former: &mut impl FnMut(&mut Self) -> Option<R>,
    ) -> Option<R> {
        let past = self.past.as_mut()?;
        let former = past.former.get_mut(at)?;
        former.whole = self.whole;
        let found = poll_former(former);
        if found.is_some() {
            self.last = former.last;
            self.last_lane = NO_LANE_INDEX;
            past.last_lane = former.last_lane_and_claims();
        } else {
            // WHY now: the call may have found longer messages, and the caller has to make room.
            self.longest = self.longest.max(former.longest);
            self.lap = self.lap.max(former.lap);
        }
        found
    }

    /// Stops reading former files that have been read to the end and to which no publisher can send
    /// any more.
    fn leave_finished_files(&mut self) {
        let Some(past) = &mut self.past else { return };
        if past
            .looked
            .is_some_and(|at| at.elapsed() < FORMER_FILE_CHECK_PERIOD)
        {
            return;
        }
        past.looked = Some(Instant::now());
        let mut finished = Vec::new();
        let is_finished = |former: &mut Self| {
            let found = former.finish_file_if_read();
            let is_finished = found.is_some();
            finished.extend(found);
            is_finished
        };
        let ended: Vec<_> = past.former.extract_if(.., is_finished).collect();
        if ended.is_empty() {
            return;
        }
        let _uncancelled = NoCancelGuard::new();
        past.changes += ended.len() as u64;
        for file in finished {
            past.remember_finished_file(file);
        }
        // WHY before they go: publishers that moved from there have their lanes here already, and
        // these readers find their sessions there.
        past.former.iter_mut().for_each(Self::look_for_lanes);
        drop(ended);
        self.store_other_files_in_former_readers();
        self.store_current_fault_epoch();
        self.report_to_watches();
    }

    /// Returns the final data about this reader's file if no publisher can send to it any more, and
    /// all readable messages have been read; otherwise `None`.
    ///
    /// All of the data are of one moment. WHY: the file may have the topic's name again, and new
    /// publishers. This reader then comes back, and gets the messages that are not in the data.
    fn finish_file_if_read(&mut self) -> Option<FinishedFile> {
        if self.segment.fault_epoch_if_usable().is_err() {
            return Some(self.finished_file_data(self.stats()));
        }
        // ORDERING(name_lost): pairs with the fence in `LaneClaim::claim_in_named_file`.
        fence(edge::NAME_LOST_READER_FENCE);
        let is_owned = |lane: u32| {
            let is_read = self.ignored & 1 << lane == 0 && self.unmatched_lane(lane).is_none();
            let owner = self.segment.lane_block(lane, Access::Read).map(|block| {
                // ORDERING(owner): pairs with the release in `owner::release_entry`: the messages
                // of an owner that left are seen below.
                Word::load(&block.owner, edge::OWNER_SEE)
            });
            is_read && owner.is_ok_and(|owner| owner != 0 && !self.segment.is_dead(owner))
        };
        if (0..self.starts.len() as u32).any(is_owned) {
            return None;
        }
        let snapshots = self.lane_snapshots();
        let ledger = self.stats();
        if ledger.waiting > 0 && !self.must_give_up_waiting_messages() {
            return None;
        }
        let finished = self.finished_file_data(ledger);
        (snapshots == self.lane_snapshots()).then_some(finished)
    }

    /// Returns true if this reader gives up messages of its file, because a lane cannot be mapped.
    /// These messages are in that lane, or have to be received after those in it.
    fn must_give_up_waiting_messages(&mut self) -> bool {
        let has_message = |followed: &FollowedLane| followed.reader.has_message();
        let is_readable = self.unmapped_lane_count() == 0 || self.lanes.iter().any(has_message);
        let past = self.past.get_or_insert_default();
        if is_readable {
            past.unmapped_since = None;
            return false;
        }
        let since = *past.unmapped_since.get_or_insert_with(Instant::now);
        !self.lacks_memory_for_lane() || since.elapsed() >= UNMAPPED_LANE_WAIT_MAX
    }

    /// Returns true if a lane could not be mapped at the last attempt because of a limit of this
    /// process, or because the machine has no memory, so that a later attempt may succeed.
    pub(super) fn lacks_memory_for_lane(&self) -> bool {
        let Err(RecvError::LaneNotMapped { cause, .. }) = self.check_lanes_mapped() else {
            return false;
        };
        is_lack_of_memory(cause.errno)
    }

    /// Returns the error of a lane of a former file that could not be mapped at the last attempt.
    pub(super) fn check_former_lanes_mapped(&self) -> Result<(), RecvError> {
        self.former_file_readers()
            .iter()
            .try_for_each(Self::check_lanes_mapped)
    }

    /// Does the same as [`Self::recv`], for a reader that still reads former files, which have lost
    /// the topic's name. Messages of former files come first.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::recv`].
    #[cold]
    pub(super) unsafe fn recv_from_all_files(&mut self, dst: *mut u8, bytes: usize) -> PollOutcome {
        if !self.can_read_former_files() {
            return PollOutcome::Empty;
        }
        self.look_for_lanes();
        if self.would_cut_message(bytes) {
            return PollOutcome::Empty;
        }
        let old = |former: &mut Self| {
            // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
            let polled = unsafe { former.recv(dst, bytes) };
            (polled == PollOutcome::Message).then_some(PollOutcome::Message)
        };
        let own = |this: &mut Self, lane| {
            // SAFETY: as above.
            let arrival = unsafe { this.copy_from_lane(lane, dst, bytes, false) }.ok()?;
            this.count_received_message(lane, arrival);
            Some(this.confirm_copied_message())
        };
        let found = self.poll_all_files(bytes, old, own);
        found.unwrap_or_else(|| {
            self.publish_counters();
            self.back_off_after_empty_poll();
            PollOutcome::Empty
        })
    }

    /// Does the same as [`Self::recv_length`], for a reader that still reads former files, which
    /// have lost the topic's name. Messages of former files come first.
    #[cold]
    pub(super) fn recv_length_from_all_files(&mut self) -> Option<usize> {
        if !self.can_read_former_files() {
            return None;
        }
        let own = |this: &mut Self, lane| {
            let arrival = this.recv_length_from_lane(lane).ok()?;
            this.count_received_message(lane, arrival);
            (this.confirm_copied_message() == PollOutcome::Message)
                .then(|| this.last_message_bytes_in_buffer(this.longest))
        };
        self.poll_all_files(usize::MAX, Self::recv_length, own)
    }

    /// Does the same as [`Self::borrow`], for a reader that still reads former files, which have
    /// lost the topic's name. Messages of former files come first.
    #[cold]
    pub(super) fn borrow_from_all_files(&mut self) -> Result<Option<RawSample>, BorrowError> {
        if !self.can_read_former_files() {
            return Ok(None);
        }
        let own = |this: &mut Self, lane| this.borrow_from_lane(lane).transpose();
        let old = |former: &mut Self| former.borrow().transpose();
        let found = self.poll_all_files(usize::MAX, old, own);
        found.transpose()
    }

    /// Returns true if this reader still reads former files, and its current file is usable.
    fn can_read_former_files(&self) -> bool {
        self.is_reading_former_files() && self.segment.fault_epoch_if_usable().is_ok()
    }

    /// Returns the newest message, as [`Self::latest_among`] does, while this reader has not read
    /// all messages in the former files. These messages come first, and the next call returns the
    /// newer ones in the current file. So no call returns a message that was sent before that of an
    /// earlier call.
    ///
    /// WHY lanes are looked for before the former files are polled, and not again: a publisher
    /// shows its lane in the current file after it has sent all its messages in the former one.
    #[cold]
    pub(super) fn read_latest_from_all_files<M>(
        &mut self,
        bytes: usize,
        mut read: impl FnMut(&mut Self, usize, Option<&M>) -> Option<(MessageInfo, u64, M)>,
    ) -> Option<M> {
        self.look_for_lanes();
        let found = self.poll_former_files(bytes, &mut |former: &mut Self| {
            let is_usable = !former.is_unusable();
            is_usable
                .then(|| former.read_latest_in_current_file(&mut read))
                .flatten()
        });
        if found.is_some() {
            return found;
        }
        self.leave_finished_files();
        self.read_latest_of_known_lanes(|this, lane, best| {
            let waits = this.would_cut_message(bytes) || this.has_earlier_unmapped_messages(lane);
            (!waits).then(|| read(this, lane, best)).flatten()
        })
    }

    /// Returns the lane of the message that was received last, if it came from a former file, and
    /// the number of times that the lane was claimed there; otherwise `None`.
    pub(super) fn last_former_lane_and_claims(&self) -> Option<(u32, u64)> {
        self.past.as_ref()?.last_lane
    }

    /// Returns an error if the topic's namespace was removed, or if this reader cannot move to the
    /// topic's new file.
    pub(super) fn check_can_move(&self) -> Result<(), RecvError> {
        let topic = self.segment.label();
        match self.segment.name_state() {
            NameState::Linked => Ok(()),
            NameState::NamespaceRemoved => Err(RecvError::NamespaceRemoved { topic }),
            NameState::Lost => {
                let failed = self.past.as_ref().and_then(|past| past.not_moved);
                match failed.and_then(|(_, errno)| errno) {
                    Some(errno) => Err(RecvError::NameLost { topic, errno }),
                    None => Ok(()),
                }
            }
        }
    }
}
