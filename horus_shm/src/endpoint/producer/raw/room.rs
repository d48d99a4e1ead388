//! Full lanes: a producer waits for a free slot, and continues without readers that are dead or
//! stalled.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::RawProducer;
use crate::endpoint::producer::SendError;
use crate::endpoint::reader_slot::{self, GateState};
use crate::file::segment::TopicBlocks as _;
use crate::os::cancel::NoCancelGuard;
use crate::os::region::Access;
use crate::protocol::lane::NoRoom;
use crate::protocol::memory::{LaneMemory, ReaderId};
use crate::protocol::sync::Word;
use crate::wait::{
    EventcountView, POLL_INTERVAL, SLEEP_MAX, SleeperKind, WaitPolicy, WakeOrder, wait_in_slices,
};

/// Minimum time between two checks whether the reader that keeps the lane full is alive.
const READER_PROBE_PERIOD: Duration = Duration::from_millis(1);

/// The action of a producer whose lane is full because a live reliable reader does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnStalled {
    /// Every send fails with [`SendError::Full`] until the reader reads again.
    #[default]
    Full,
    /// Refuse sends for the time `after`, then continue without the reader until it reads again.
    /// When it does, the publisher may notice this only after it has sent as many messages as the
    /// lane has slots. Until then, it may overwrite unread messages. The reader counts exactly how
    /// many messages it lost.
    Detach {
        /// Time for which sends of one message are refused before the publisher stops waiting for
        /// the reader.
        after: Duration,
    },
}

/// A streak of refused sends of the same message, all because the lane is full.
#[derive(Debug, Clone, Copy)]
pub(super) struct RefusalStreak {
    position: u64,
    since: Instant,
    /// The time of the last check whether the reader that keeps the lane full is alive.
    probed: Instant,
    /// Bit mask of the readers with pins in the way that were found alive after that check.
    alive: u64,
}

/// The end of a wait for room in a lane.
enum RoomWaitEnd<R> {
    Found(R),
    /// The publisher has moved to another lane, in which it has to continue to wait.
    Moved,
}

impl RawProducer {
    /// Sends as [`Self::send_bytes`] does, but waits for room in the lane until `wait_policy` ends.
    /// Blocks in the same way as [`Self::send_until`].
    ///
    /// # Errors
    ///
    /// The same as for [`Self::send`]; [`SendError::Full`] only after the wait.
    ///
    /// # Panics
    ///
    /// The call panics if messages of the ring cannot have that length.
    pub fn send_bytes_until(
        &mut self,
        wait_policy: WaitPolicy,
        message: &[u8],
    ) -> Result<(), SendError<()>> {
        // WHY before: a panic must not end the wait.
        self.assert_valid_length(message.len());
        self.retry_until_room(wait_policy, SendError::is_full, |this| {
            this.send_bytes(message)
        })
    }

    /// Does a part of a wait that the caller divides, for example to look at signals between the
    /// parts. Waits and sends as [`Self::send_bytes_until`] does, but counts no refused send if
    /// there is no room until `wait_policy` ends. If the whole wait ends without room, the caller
    /// calls [`Self::count_refused_send`] once.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::send_bytes_until`].
    ///
    /// # Panics
    ///
    /// The call panics if messages of the ring cannot have that length.
    pub fn send_bytes_uncounted(
        &mut self,
        wait_policy: WaitPolicy,
        message: &[u8],
    ) -> Result<(), SendError<()>> {
        // WHY before: a panic must not end the wait.
        self.assert_valid_length(message.len());
        self.retry_without_counting_refusal(wait_policy, &SendError::is_full, |this| {
            this.send_bytes(message)
        })
    }

    /// Counts a send or loan that is refused because the lane is full. Only for callers that wait
    /// in parts, as with [`Self::send_bytes_uncounted`]: all other calls count their refusals
    /// themselves.
    #[cold]
    pub fn count_refused_send(&self) {
        self.writer.memory().block().refused.fetch_add_one();
    }

    /// Sends as [`Self::send`] does, but waits for a free slot until `wait_policy` ends.
    ///
    /// Blocks: spins for a short time, then sleeps until a reader has read more. Polls at least
    /// every 50 ms.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::send`]; [`SendError::Full`] only after the wait.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::send`].
    pub unsafe fn send_until(
        &mut self,
        wait_policy: WaitPolicy,
        src: *const u8,
        bytes: usize,
    ) -> Result<(), SendError<()>> {
        self.retry_until_room(wait_policy, SendError::is_full, |this| {
            // SAFETY: `src` is readable for `bytes`, at most the payload, by the contract.
            unsafe { this.send(src, bytes) }
        })
    }

    /// Calls `attempt` again as long as its error is one for which `is_full` is true, until
    /// `wait_policy` ends. Sleeps between the calls until there may be room. If the wait ends
    /// first, counts one refused send, and returns the error of the first call. `attempt` must not
    /// panic.
    #[inline]
    pub(super) fn retry_until_room<T, E>(
        &mut self,
        wait_policy: WaitPolicy,
        is_full: impl Fn(&E) -> bool,
        attempt: impl FnMut(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let outcome = self.retry_without_counting_refusal(wait_policy, &is_full, attempt);
        if outcome.as_ref().is_err_and(is_full) {
            self.count_refused_send();
        }
        outcome
    }

    /// Calls `attempt` as [`Self::retry_until_room`] does, but counts no refused send.
    #[inline]
    pub(super) fn retry_without_counting_refusal<T, E>(
        &mut self,
        wait_policy: WaitPolicy,
        is_full: &impl Fn(&E) -> bool,
        mut attempt: impl FnMut(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.is_waiting = true;
        let outcome = match attempt(self) {
            Err(full) if is_full(&full) => self
                .wait_for_room(wait_policy, |this| match attempt(this) {
                    Err(error) if is_full(&error) => None,
                    outcome => Some(outcome),
                })
                .unwrap_or(Err(full)),
            outcome => outcome,
        };
        self.is_waiting = false;
        outcome
    }

    /// Calls `look` repeatedly until it returns a value, or until `wait_policy` ends. Between two
    /// calls, sleeps until there may be room.
    fn wait_for_room<R>(
        &mut self,
        wait_policy: WaitPolicy,
        mut look: impl FnMut(&mut Self) -> Option<R>,
    ) -> Option<R> {
        loop {
            // WHY anew after a move: readers wake the publishers that sleep in their own file.
            match self.wait_for_room_in_lane(wait_policy, &mut look)? {
                RoomWaitEnd::Found(found) => return Some(found),
                RoomWaitEnd::Moved => {}
            }
        }
    }

    /// Waits as [`Self::wait_for_room`] does, but only until a call of `look` moves this publisher
    /// to another lane.
    fn wait_for_room_in_lane<R>(
        &mut self,
        wait_policy: WaitPolicy,
        look: &mut impl FnMut(&mut Self) -> Option<R>,
    ) -> Option<RoomWaitEnd<R>> {
        let lane = self.lane;
        let segment = Arc::clone(&self.segment);
        let on_stalled = self.on_stalled;
        let event = segment.wait_block(Access::Write).ok().map(|block| {
            // WHY a barrier: readers have no fence between a cursor and their look at the waiters.
            EventcountView::of_room(block, SleeperKind::Bit(lane), WakeOrder::Barrier)
        });
        let events: &[&EventcountView<'_>] = match &event {
            Some(event) => &[event],
            None => &[],
        };
        // WHY: only a send gives a reader up, so one must be tried when the time has come.
        let slice = match on_stalled {
            OnStalled::Detach { after } => after.clamp(POLL_INTERVAL, SLEEP_MAX),
            OnStalled::Full => SLEEP_MAX,
        };
        wait_in_slices(events, wait_policy, slice, || match look(self) {
            Some(found) => Some(RoomWaitEnd::Found(found)),
            None if lane != self.lane || !segment.is_same_file(&self.segment) => {
                Some(RoomWaitEnd::Moved)
            }
            None => None,
        })
    }

    /// Makes room in a full lane, and calls `attempt` again until it finds room. Returns the result
    /// of that call.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::try_make_room`].
    #[cold]
    pub(super) fn make_room_and_retry<R>(
        &mut self,
        mut attempt: impl FnMut(&mut Self) -> Result<R, NoRoom>,
    ) -> Result<R, SendError<()>> {
        let mut tries = 0;
        loop {
            tries = self.try_make_room(tries)?;
            if let Ok(done) = attempt(self) {
                return Ok(done);
            }
        }
    }

    /// Handles the reader that keeps the lane full: frees its slot if it is dead, or stops waiting
    /// for it if it has stalled. After an `Ok`, the caller tries to send again. If the lane is
    /// still full, the caller passes the value of the `Ok` as `earlier_tries`, which is 0 in the
    /// first call for a message.
    ///
    /// # Errors
    ///
    /// [`SendError::Full`] if nothing more can be done; otherwise the same as for
    /// [`Self::check_file_not_truncated`].
    fn try_make_room(&mut self, earlier_tries: u32) -> Result<u32, SendError<()>> {
        let _uncancelled = NoCancelGuard::new();
        let refused = if earlier_tries == 0 {
            self.extend_refusal_streak()
        } else {
            self.refused
        };
        let was_held_back = self.is_waiting_for_readers_to_move();
        if self.must_wait_before_send() {
            match (self.on_stalled, refused) {
                (OnStalled::Detach { after }, Some(run)) if run.probed - run.since >= after => {
                    self.detach_unmoved_readers();
                    // WHY no further: those kept the lane full. The readers that are here may have
                    // read all of it, and are not stalled.
                    return Ok(earlier_tries + 1);
                }
                _ => {
                    self.check_file_not_truncated()?;
                    return Err(self.refused_send_error());
                }
            }
        } else if was_held_back {
            return Ok(earlier_tries + 1);
        }
        // It may be necessary for every gated reader, one after the other.
        if let Some(run) = refused
            && earlier_tries < self.segment.shape().reader_limit()
            && self.release_slowest_reader(run.probed - run.since)
        {
            return Ok(earlier_tries + 1);
        }
        self.check_file_not_truncated()?;
        Err(self.refused_send_error())
    }

    /// Returns the error of a send for which the lane had no free slot. Counts the send as refused,
    /// unless the caller waits, and tries again.
    #[cold]
    fn refused_send_error(&self) -> SendError<()> {
        if !self.is_waiting {
            self.count_refused_send();
        }
        SendError::Full {
            topic: self.segment.label(),
            message: (),
        }
    }

    /// Adds an attempt that found no room to the streak of such attempts for the same message, and
    /// returns the streak; `None` if the slowest reader was checked less than
    /// [`READER_PROBE_PERIOD`] ago.
    fn extend_refusal_streak(&mut self) -> Option<RefusalStreak> {
        let now = Instant::now();
        let position = self.position();
        // WHY: a send that succeeded since then began a new run, without storing that anywhere.
        let run = self.refused.filter(|run| run.position == position);
        if run.is_some_and(|run| now - run.probed < READER_PROBE_PERIOD) {
            return None;
        }
        let since = run.map_or(now, |run| run.since);
        self.refused = Some(RefusalStreak {
            position,
            since,
            probed: now,
            alive: 0,
        });
        self.refused
    }

    /// Returns true if reader `reader`, which has a pin in the way of the next message, is dead,
    /// and this producer may ignore its pins from now on. If a send of that message was refused,
    /// checks each reader once in [`READER_PROBE_PERIOD`], and returns false in between. WHY: each
    /// check costs some system calls, and a publisher that waits tries again at once.
    pub(super) fn releases_pins_of_dead_reader(&mut self, reader: u32) -> bool {
        let position = self.position();
        let is_recent = |run: &RefusalStreak| {
            run.position == position && run.probed.elapsed() < READER_PROBE_PERIOD
        };
        let recent = self.refused.filter(is_recent);
        if recent.is_some_and(|run| run.alive >> reader & 1 != 0) {
            return false;
        }
        // WHY the second: the process that takes the pins back may be stopped.
        let is_dead = reader_slot::reap_dead_reader(&self.segment, reader)
            || self.writer.try_ignore_dead_reader(reader);
        if let Some(run) = &mut self.refused
            && recent.is_some()
            && !is_dead
        {
            run.alive |= 1 << reader;
        }
        is_dead
    }

    /// Frees the slot of the slowest gated reader if that reader is dead, or stops waiting for it
    /// if it has not read for too long. Returns true if the caller should try again.
    fn release_slowest_reader(&mut self, stalled_time: Duration) -> bool {
        let Some((reader, cursor)) = self.writer.slowest_reader() else {
            return true;
        };
        match reader_slot::release_dead_gate(&self.segment, reader) {
            GateState::Freed => return true,
            GateState::Abandoned { owner } => {
                // WHY 0: the counters in the slot may still be those of the dead reader.
                let id = ReaderId { owner, detached: 0 };
                self.writer.stop_waiting_for_reader(reader, cursor, id);
                return true;
            }
            GateState::Live => {}
        }
        let Ok(block) = self.segment.reader_block(reader, Access::Write) else {
            return false;
        };
        match self.on_stalled {
            OnStalled::Detach { after } if stalled_time >= after => {
                block.detached.fetch_add_one();
                let id = self.writer.memory().reader_id(reader);
                self.writer.stop_waiting_for_reader(reader, cursor, id);
                true
            }
            _ => false,
        }
    }
}
