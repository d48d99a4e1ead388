//! Joins a topic as a reader: claims a reader slot, and determines where to start in each lane.

use std::ops::Range;
use std::sync::Arc;

use super::waits::PublisherWaker;
use super::{RawConsumer, ReadMode};
use crate::endpoint::consumer::watch::ConsumerProgress;
use crate::endpoint::reader_slot::ReaderSlot;
use crate::file::error::OpenError;
use crate::file::extent::{Extent, ExtentUse};
use crate::file::header::ExtentId;
use crate::file::offer::Offer;
use crate::file::segment::{SEARCHED_EXTENTS_MAX, TopicBlocks as _};
use crate::os::region::Access;
use crate::protocol::gate;
use crate::protocol::lane;
use crate::protocol::layout::LatchedHistory;
use crate::protocol::memory::{LaneMemory, RawLane};
use crate::protocol::sync::{Word, edge};
use crate::protocol::takeover::{self, TakeoverState, message_number_in_slot};
use crate::wait::WakeBarrier;

/// The place in a lane at which a reader began, or begins, to read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LaneStart {
    pub(super) position: u64,
    /// Sequence number of the first message that the reader gets; `None` if the number becomes
    /// known only when that message is read.
    pub(super) number: Option<u64>,
}

/// The rule that determines at which place a reader begins to read each lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartRule {
    /// The position after the newest message of every lane; an earlier position if the lane's
    /// publisher offers history.
    Head,
    /// The positions (cursors) that a gated reader left when it died, if there are any; otherwise
    /// the same as `Head`.
    Successor,
    /// Position 0 of every lane. It is for a reader that comes from an earlier file of the topic,
    /// which must not wait for a free reader slot, and for an observer of a whole lane.
    Beginning,
}

/// The result of one look at a lane that a reader joins.
struct LaneStartAttempt {
    start: LaneStart,
    /// The position after the newest message that the reader has seen before it chose the start.
    head: u64,
    /// The state of the lane that the last publisher had stored before the look.
    state: TakeoverState,
    /// True if the publisher offers history.
    has_history: bool,
    /// True if no message can have been missed: the reader continues at the cursor of the reader
    /// that died, or begins at the beginning of the lane.
    is_complete: bool,
}

/// Maximum number of looks at a lane that a reader joins. WHY more than two: each publisher that
/// takes over the lane meanwhile makes a few more necessary.
const LANE_START_ATTEMPTS_MAX: u32 = 16;

impl RawConsumer {
    /// Claims a reader slot, unless this reader is an observer, and starts to read every lane at
    /// the place that `start_rule` determines.
    pub(super) fn join(&mut self, start_rule: StartRule) -> Result<(), OpenError> {
        let segment = Arc::clone(&self.segment);
        let resumes = start_rule == StartRule::Successor;
        let mut resumed = false;
        if self.reading == ReadMode::Observer {
            segment.add_observer();
        } else {
            let waits = start_rule != StartRule::Beginning;
            let claimed = ReaderSlot::claim(&segment, resumes, waits)?;
            let place = self.place.insert(Arc::new(claimed.slot));
            resumed = claimed.resumed;
            let health = Arc::clone(self.progress.health());
            self.progress = Arc::new(ConsumerProgress::in_shared_memory(
                &segment,
                place.index(),
                health,
            )?);
            place.announce_use_of_pins();
        }
        if self.reading == ReadMode::Gated {
            // WHY before the first cursor: a process that wakes others must be registered with the
            // kernel.
            self.room = Some(PublisherWaker::of_topic(&segment)?);
            if !resumed {
                let wait = segment.wait_block(Access::Write)?;
                gate::announce_gated_reader(&wait.gated, self.progress.reader_index());
            }
        }
        for lane in 0..self.starts.len() as u32 {
            self.starts[lane as usize] = match start_rule {
                StartRule::Beginning => self.join_lane_at_beginning(lane)?,
                _ => self.find_lane_start(lane, resumed)?,
            };
            self.publish_start_as_cursor(lane);
        }
        self.publish_counters();
        Ok(())
    }

    /// Stores the place where this reader starts in a lane as its cursor. If the reader is gated,
    /// its cursor already prevents the writer from overwriting that place.
    pub(super) fn publish_start_as_cursor(&self, lane: u32) {
        let position = self.starts[lane as usize].position;
        // ORDERING(cursor): pairs with the load in `LaneWriter::try_find_room`.
        Word::store(
            self.progress.cursor(lane),
            position + 1,
            edge::CURSOR_ADVANCE,
        );
    }

    /// Returns the beginning of a lane as the place at which to start. If this reader is gated, it
    /// publishes its cursor there first.
    fn join_lane_at_beginning(&self, lane: u32) -> Result<LaneStart, OpenError> {
        if self.reading == ReadMode::Gated {
            gate::join_lane(
                &self.lane_without_slots(lane)?,
                self.progress.reader_index(),
                0,
            );
        }
        Ok(LaneStart {
            position: 0,
            number: Some(0),
        })
    }

    /// Determines where this reader starts in a lane: at the head, or before it if the reader gets
    /// history. A gated reader publishes its cursor there. If `resumed` is true, it continues at
    /// the cursor of the reader that died.
    ///
    /// Looks again if messages were sent during the look that this reader would get as history if
    /// it joined now: they are neither before the start that it has found, nor after it. Looks
    /// again also if another publisher has taken over the lane during the look, or has only then
    /// shown its history.
    fn find_lane_start(&self, lane: u32, resumed: bool) -> Result<LaneStart, OpenError> {
        let memory = self.lane_without_slots(lane)?;
        let mut look = self.try_find_lane_start(lane, resumed)?;
        for _ in 1..LANE_START_ATTEMPTS_MAX {
            // WHY also without a later start: the head may be that of another publisher.
            let is_reclaimed = !look.state.is_unchanged(&memory);
            let missed_history = look.has_history && look.start.position > look.head;
            if look.is_complete || (!is_reclaimed && !missed_history) {
                break;
            }
            // WHY not `resumed`: the cursor is this reader's own by now.
            look = self.try_find_lane_start(lane, false)?;
        }
        Ok(look.start)
    }

    /// Looks once at a lane, as [`Self::find_lane_start`] says.
    fn try_find_lane_start(&self, lane: u32, resumed: bool) -> Result<LaneStartAttempt, OpenError> {
        let block = self.segment.lane_block(lane, Access::Read)?;
        // WHY before the head: a publisher stores all of it before its first message.
        let state = TakeoverState::load(block);
        let Some(newest) = self.newest_extent(lane)? else {
            // WHY: if a publisher moves here, it has not shown its history yet.
            return Ok(LaneStartAttempt {
                start: self.join_lane_at_beginning(lane)?,
                head: 0,
                state,
                has_history: false,
                is_complete: true,
            });
        };
        let (mut head, session) =
            takeover::head_and_live_session_start(block, |owner| self.segment.is_dead(owner));
        // WHY no error: a lane that cannot be mapped is tried again.
        let newest = self.map_extent(newest).ok();
        let mut ended = None;
        if session.is_none_or(|start| start > head)
            && let Some((_, memory)) = &newest
        {
            head = takeover::first_unpublished_position(memory, head);
            ended = Some(memory);
        }
        let offer = newest.as_ref().map(|(extent, _)| &extent.offer);
        // Relaxed: the owner stored it before its first message.
        let latched = LatchedHistory::from_word(block.latched.get());
        let floor = match latched {
            Some(latched) if latched.continues => Some(0),
            Some(_) => Some(takeover::history_start(block, head)),
            None => session.map(|start| start.min(head)),
        };
        // WHY: as far back as a lapped reader would go, no further. WHY not nothing if the file
        // cannot be read: the reader misses messages then.
        let latched_message_count = latched.map_or(0, |latched| latched.messages.into());
        let history = offer.map_or(latched_message_count, |offer| {
            u64::from(offer.history).min(offer.shape.capacity() * 7 / 8)
        });
        // WHY: what a predecessor sent stays only if it offered that itself.
        let is_owed = |extent: &Extent| {
            self.matches_extent(extent)
                && (latched.is_none() || extent.offer.latched_message_count() > 0)
        };
        let first = floor.map(|floor| match &newest {
            Some(newest) => self.find_history_start(newest, floor..head, history, is_owed),
            None => LaneStart {
                position: head.saturating_sub(history).max(floor),
                number: None,
            },
        });
        let back_to = first.map(|first| first.position);
        let mut position = back_to.unwrap_or(head);
        let has_history = first.is_some() && history > 0;
        let look_of = |start| LaneStartAttempt {
            start,
            head,
            state,
            has_history,
            is_complete: false,
        };
        if self.reading == ReadMode::Gated {
            let memory = self.lane_without_slots(lane)?;
            let reader = self.progress.reader_index();
            if let Some(position) = gate::dead_reader_position(&memory, reader).filter(|_| resumed)
            {
                let number = lane::message_number_at(block, position);
                let start = LaneStart { position, number };
                return Ok(LaneStartAttempt {
                    is_complete: true,
                    ..look_of(start)
                });
            }
            let back_to = back_to.filter(|_| history > 0).unwrap_or(u64::MAX);
            // WHY: the head at which the reader joins may be before the positions just passed.
            position = gate::join_lane(&memory, reader, back_to).max(position);
        }
        // WHY only if the offer is known: an extent that cannot be mapped may contain skips.
        if let Some((extent, _)) = &newest
            && !extent.offer.shape.request().pinnable
        {
            let number = extent.base.messages_before(position);
            let number = number.or_else(|| lane::message_number_at(block, position));
            return Ok(look_of(LaneStart { position, number }));
        }
        if back_to.is_some_and(|back_to| back_to < head) {
            // WHY not always the number in the slot: the writer may have overwritten it, or this
            // reader may begin behind it.
            let known = first.filter(|first| first.position == position);
            let known = known.and_then(|first| first.number);
            return Ok(look_of(LaneStart {
                position,
                number: known.or_else(|| lane::message_number_at(block, position)),
            }));
        }
        self.place_after_last_message(lane, ended).map(look_of)
    }

    /// Returns the place at which a new reader begins, to receive the last `messages` messages in
    /// the range of positions `positions`: the place of the oldest of them. If the range contains
    /// fewer, this is the first message in the range; if it contains none, the end of the range.
    /// The number is known only if the message is in a slot that can be pinned.
    ///
    /// Searches back through the extents (files of slots) of the lane, from `newest`, up to one
    /// that cannot be opened, or for which `is_owed` returns false.
    fn find_history_start(
        &self,
        newest: &(Arc<Extent>, RawLane),
        positions: Range<u64>,
        mut messages: u64,
        is_owed: impl Fn(&Extent) -> bool,
    ) -> LaneStart {
        let (mut extent, mut memory) = (Arc::clone(&newest.0), newest.1);
        let Range {
            start: floor,
            mut end,
        } = positions;
        let mut start = LaneStart {
            position: end,
            number: None,
        };
        for _ in 0..SEARCHED_EXTENTS_MAX {
            let base = extent.base.position;
            let first = base.max(floor);
            let is_pinnable = extent.offer.shape.request().pinnable;
            let (oldest, found) = if is_pinnable {
                takeover::find_last_messages(&memory, first, end, messages)
            } else {
                let found = messages.min(end.saturating_sub(first));
                (end - found, found)
            };
            messages -= found;
            if found > 0 {
                let number = is_pinnable.then(|| message_number_in_slot(&memory, oldest));
                start = LaneStart {
                    position: oldest,
                    number: number.flatten(),
                };
            }
            // WHY not further back if the lane went round: there are no messages in between.
            let is_lapped = end.saturating_sub(base) > memory.capacity();
            if messages == 0 || base <= floor || is_lapped {
                break;
            }
            match self.map_former_extent(&extent) {
                Some((former, slots)) if is_owed(&former) => (extent, memory) = (former, slots),
                _ => break,
            }
            end = end.min(base);
        }
        start
    }

    /// Returns the extent (file of slots) that contains `position`, which is `newest` or an earlier
    /// one. Searches backwards from `newest`, up to an extent that cannot be opened.
    pub(super) fn extent_containing(&self, newest: &Arc<Extent>, position: u64) -> Arc<Extent> {
        let mut found = Arc::clone(newest);
        for _ in 0..SEARCHED_EXTENTS_MAX {
            if found.base.position <= position {
                break;
            }
            match self.map_former_extent(&found) {
                Some((former, _)) => found = former,
                None => break,
            }
        }
        found
    }

    /// Maps the extent (file of slots) before `extent` in its lane; returns `None` if there is
    /// none, or if it cannot be opened. If the file of the extent directly before is gone, maps the
    /// lane's oldest extent instead: publishers remove extents without messages, but keep the
    /// history in the oldest one.
    fn map_former_extent(&self, extent: &Extent) -> Option<(Arc<Extent>, RawLane)> {
        let ExtentId { lane, generation } = extent.id;
        let block = self.segment.lane_block(lane, Access::Read).ok()?;
        // Relaxed: a hint; the files decide.
        let mut before = [generation.saturating_sub(1), block.oldest.get()].into_iter();
        let former = before.find_map(|before| {
            let generation = Some(before).filter(|before| (1..generation).contains(before))?;
            self.map_extent(ExtentId { lane, generation }).ok()
        })?;
        // WHY the bases: they ascend, unless a head was damaged in between.
        (former.0.base.position <= extent.base.position).then_some(former)
    }

    /// Returns the place after the last message of a pinnable lane: its position, and the sequence
    /// number of the next message. `ended_lane` is the memory of the lane if the session of its
    /// publisher has ended; otherwise `None`.
    pub(super) fn place_after_last_message(
        &self,
        lane: u32,
        ended_lane: Option<&RawLane>,
    ) -> Result<LaneStart, OpenError> {
        let (number, position) = match ended_lane {
            Some(memory) => lane::message_count_and_end_after_death(memory),
            None => lane::message_count_and_end(self.segment.lane_block(lane, Access::Read)?),
        };
        Ok(LaneStart {
            position,
            number: Some(number),
        })
    }

    /// Returns the id of the newest extent (file of slots) of a lane; `None` if the lane has no
    /// extent yet.
    pub(super) fn newest_extent(&self, lane: u32) -> Result<Option<ExtentId>, OpenError> {
        let block = self.segment.lane_block(lane, Access::Read)?;
        // Relaxed: the load of the changes ordered it, and system calls order the lane file.
        let generation = block.generation.get();
        Ok((generation != 0).then_some(ExtentId { lane, generation }))
    }

    /// Maps an extent (file of slots) of a lane. Returns the extent, and the lane with the slots of
    /// this extent.
    pub(super) fn map_extent(&self, id: ExtentId) -> Result<(Arc<Extent>, RawLane), OpenError> {
        let usage = match self.reading {
            ReadMode::Observer => ExtentUse::Observe,
            _ if self.segment.request().reader_limit == Some(1) => ExtentUse::ReadAlone,
            _ => ExtentUse::Read,
        };
        let extent = self.segment.extent(id, usage)?;
        let raw = self.lane_with_slots_of(&extent)?;
        Ok((extent, raw))
    }

    /// Returns the lane of `extent`, with the slots of that extent.
    pub(super) fn lane_with_slots_of(&self, extent: &Arc<Extent>) -> Result<RawLane, OpenError> {
        let readers = self.progress.readers();
        self.segment.lane(extent, Access::Read, readers)
    }

    /// Returns the control block and the cursors of a lane, without mapping any slots.
    pub(super) fn lane_without_slots(&self, lane: u32) -> Result<RawLane, OpenError> {
        let readers = self.progress.readers();
        let parts = self
            .segment
            .lane_parts_without_slots(lane, Access::Read, readers)?;
        // SAFETY: block and cursors are mapped by the segment; no slot is accessed.
        Ok(unsafe { RawLane::new(parts) })
    }

    /// Updates the fields that are computed from all lanes, such as the longest message length.
    pub(super) fn update_lane_totals(&mut self) {
        let lanes = || self.lanes.iter();
        let offers = || lanes().map(|followed| &followed.extent.offer);
        let own = self.segment.request().type_info.bytes;
        let former = self.former_max_message_bytes_and_slots();
        let longest = lanes()
            .map(|followed| self.max_message_bytes_of(followed))
            .max();
        self.longest = longest.unwrap_or(0).max(own as usize).max(former.0);
        self.lap = offers()
            .map(|offer| offer.shape.capacity())
            .max()
            .unwrap_or(1)
            .max(former.1);
        self.in_place =
            lanes().any(|followed| followed.can_be_borrowed() || followed.has_skipped_positions());
        let fences = offers().all(|offer| offer.wake_barrier == WakeBarrier::Fence);
        if let Some(place) = &self.place {
            place.set_publishers_use_fences(fences && !self.lanes.is_empty());
        }
        self.update_pinnable_slot_count(|followed| followed.has_ended);
    }

    /// Returns the length of the longest message that a publisher of a former file can send, and
    /// the largest number of slots of a lane there.
    fn former_max_message_bytes_and_slots(&self) -> (usize, u64) {
        let former = self.former_file_readers().iter();
        former.fold((0, 1), |(longest, lap), former| {
            (longest.max(former.longest), lap.max(former.lap))
        })
    }

    /// Returns the offer (settings) of the present publisher of a lane, or of the last one; `None`
    /// if it cannot be read.
    #[must_use]
    pub fn offer_in(&self, lane: u32) -> Option<Offer> {
        let newest = self.newest_extent(lane).ok()??;
        self.segment.offer_of_extent(newest)
    }
}
