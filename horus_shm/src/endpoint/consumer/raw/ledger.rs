//! The ledger of a reader: the counters that the reader itself sees, and those that it publishes
//! for other processes.

use super::join::LaneStart;
use super::{FollowedLane, RawConsumer};
use crate::file::header::{ExtentBoundary, ExtentId};
use crate::file::segment::{ReadProgress, TopicBlocks as _};
use crate::os::futex::monotonic_time;
use crate::os::region::Access;
use crate::protocol::lane::{self, LaneReader, UnreadCounts};
use crate::protocol::memory::{LaneMemory, RawLane};
use crate::protocol::sync::Word;
use crate::protocol::telemetry;

/// The ledger of a consumer: its counters since it joined. All fields except `busy` and `unmapped`
/// count messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Number of messages that were delivered to the caller.
    pub received: u64,
    /// Number of messages that were overwritten before this reader read them, even if the reader
    /// has not noticed this yet.
    pub lost: u64,
    /// Number of readable messages that this reader skipped because it asked for the latest
    /// message.
    pub skipped: u64,
    /// Number of messages that this reader can still receive, of those published since it joined.
    pub waiting: u64,
    /// Number of messages published since this reader joined. While no writer is writing, it is
    /// `received` + `lost` + `skipped` + `waiting`.
    pub sent: u64,
    /// Number of receive calls that returned nothing because the writer kept overwriting what the
    /// reader copied. Such a call does not itself lose a message.
    pub busy: u64,
    /// Number of publishers whose lane could not be mapped at the last attempt. Their messages
    /// count as `waiting`.
    pub unmapped: u64,
}

impl ReadStats {
    /// Returns the sum of two ledgers, field by field.
    #[must_use]
    pub(super) const fn plus(self, other: Self) -> Self {
        // WHY wrapping: a damaged head makes wrong numbers, which must not cause a panic.
        Self {
            received: self.received.wrapping_add(other.received),
            lost: self.lost.wrapping_add(other.lost),
            skipped: self.skipped.wrapping_add(other.skipped),
            waiting: self.waiting.wrapping_add(other.waiting),
            sent: self.sent.wrapping_add(other.sent),
            busy: self.busy.wrapping_add(other.busy),
            unmapped: self.unmapped.wrapping_add(other.unmapped),
        }
    }

    /// Returns this ledger as the final one of a topic file that the reader leaves: messages that
    /// were still waiting in the file count as lost.
    #[must_use]
    pub(super) const fn with_waiting_as_lost(mut self) -> Self {
        self.lost = self.lost.wrapping_add(self.waiting);
        self.waiting = 0;
        self.unmapped = 0;
        self
    }
}

impl RawConsumer {
    /// Records the latency of the message just read from a lane, if it is one of those that are
    /// sampled. `position` is the position after the message.
    #[inline(always)]
    pub(super) fn record_latency_if_sampled(&self, lane: usize, position: u64) {
        let pos = position - 1;
        if telemetry::is_latency_sampled(pos) {
            let block = self.lanes[lane].reader.memory().block();
            telemetry::record_latency_of_message(
                block,
                pos,
                monotonic_time,
                self.progress.reader_block(),
            );
            self.publish_counters();
        }
    }

    /// Stores this reader's counters in its block in shared memory, where other processes read
    /// them. The number of lost messages is also stored there whenever it changes; this call
    /// corrects it if another process has damaged it.
    #[cold]
    pub(super) fn publish_counters(&self) {
        let sum = |count: fn(&LaneReader<RawLane>) -> u64| {
            let readers = self.lanes.iter().map(|followed| &followed.reader);
            readers.map(count).fold(0, u64::wrapping_add)
        };
        let positions = (0..self.starts.len() as u32)
            .filter(|lane| self.ignored & 1 << lane == 0)
            .map(|lane| {
                let reader = self.lanes.iter().find(|followed| followed.lane == lane);
                let start = self.starts[lane as usize].position;
                reader.map_or(start, |followed| followed.reader.position())
            });
        let positions = positions.fold(0, u64::wrapping_add);
        // Relaxed, here and below: counters.
        let block = self.progress.reader_block();
        block.passed.set(positions.wrapping_sub(self.received));
        block.lost.set(sum(LaneReader::lost));
        block.skipped.set(sum(LaneReader::skipped));
        block.busy.set(sum(LaneReader::busy_call_count));
    }

    /// Adds one to the number of messages that this reader could not read, for other processes. Its
    /// own ledger counts such a message as received. Does nothing if the last message came from a
    /// former file, because the counters of the present one do not contain that message.
    #[cold]
    pub fn publish_malformed(&self) {
        if self.lanes.get(self.last_lane).is_none() {
            return;
        }
        // Relaxed: a counter, which only this reader writes.
        let malformed = &self.progress.reader_block().malformed;
        malformed.set(malformed.get().wrapping_add(1));
    }

    /// Returns the counters since this reader joined. Reads the position of the newest message in
    /// every lane.
    #[must_use]
    pub fn stats(&self) -> ReadStats {
        self.publish_counters();
        let mut stats = ReadStats {
            received: self.received,
            unmapped: self.unmapped_lane_count(),
            ..ReadStats::default()
        };
        // WHY wrapping: a damaged head makes wrong numbers, which must not cause a panic.
        let add = |sum: &mut u64, figure: u64| *sum = sum.wrapping_add(figure);
        for lane in 0..self.starts.len() as u32 {
            if self.ignored & (1 << lane) != 0 {
                continue;
            }
            let followed = self.lanes.iter().find(|followed| followed.lane == lane);
            let reader = followed.map(|followed| &followed.reader);
            let unread = self.unread_counts_in(lane, followed);
            add(&mut stats.sent, self.passed_message_count(lane, reader));
            add(&mut stats.sent, unread.waiting);
            add(&mut stats.sent, unread.lost);
            add(&mut stats.waiting, unread.waiting);
            add(&mut stats.lost, unread.lost);
            add(&mut stats.lost, reader.map_or(0, LaneReader::lost));
            add(&mut stats.skipped, reader.map_or(0, LaneReader::skipped));
            add(
                &mut stats.busy,
                reader.map_or(0, LaneReader::busy_call_count),
            );
        }
        self.with_former_files_added(stats)
    }

    /// Returns `stats` plus the counters of all former files.
    fn with_former_files_added(&self, stats: ReadStats) -> ReadStats {
        let Some(past) = &self.past else {
            return stats;
        };
        let former = past.former.iter().map(Self::stats);
        former.fold(stats.plus(past.ended), ReadStats::plus)
    }

    /// Returns the number of messages of a lane that this reader can still receive.
    pub(super) fn waiting_message_count_in(&self, lane: u32) -> u64 {
        let followed = self.lanes.iter().find(|followed| followed.lane == lane);
        self.unread_counts_in(lane, followed).waiting
    }

    /// Returns the number of messages of a lane that this reader has passed: that is, received,
    /// skipped or lost.
    fn passed_message_count(&self, lane: u32, reader: Option<&LaneReader<RawLane>>) -> u64 {
        let first = self.starts[lane as usize].position;
        match reader {
            None => 0,
            Some(reader) if reader.counts_by_numbers() => reader
                .first_and_next_number()
                .map_or(0, |(first, next)| next.wrapping_sub(first)),
            Some(reader) => reader.position().wrapping_sub(first),
        }
    }

    /// Returns the boundary at which the extent (file of slots) that this reader reads in a lane
    /// ends, if the lane has later extents, but the next one is gone; otherwise `None`.
    fn extent_end_if_next_is_gone(&self, followed: &FollowedLane) -> Option<ExtentBoundary> {
        let FollowedLane { reader, extent, .. } = followed;
        let next = ExtentId {
            generation: extent.id.generation + 1,
            ..extent.id
        };
        // WHY also if its file is there: it may be readable later.
        if self.segment.end_of_extent(extent.id).is_some() || self.segment.is_extent_reachable(next)
        {
            return None;
        }
        let has_numbers = extent.offer.shape.request().pinnable;
        let number = has_numbers.then_some(extent.base.number);
        let (position, mut number) = lane::end_position_and_message_number(reader.memory(), number);
        if !has_numbers {
            // WHY: earlier publishers may have skipped slots.
            number = extent.base.messages_before(position).unwrap_or(position);
        }
        Some(ExtentBoundary {
            position,
            number,
            ..ExtentBoundary::default()
        })
    }

    /// Returns how many messages of a lane wait for this reader, and how many were lost although
    /// this reader has not noticed it yet.
    pub(super) fn unread_counts_in(
        &self,
        lane: u32,
        followed: Option<&FollowedLane>,
    ) -> UnreadCounts {
        // WHY not `starts` in a lane that it does not read yet: it may have received the first
        // messages of the lane in another file.
        let start = match followed {
            Some(_) => Some(self.starts[lane as usize]),
            None => self.start_in_unread_lane(lane).ok().flatten(),
        };
        let Some(LaneStart { position, number }) = start else {
            return UnreadCounts::default();
        };
        let Ok(block) = self.segment.lane_block(lane, Access::Read) else {
            return UnreadCounts::default();
        };
        let reader = followed.map(|followed| &followed.reader);
        let position = reader.map_or(position, LaneReader::position);
        let counts_by_numbers = reader.is_none_or(LaneReader::counts_by_numbers);
        let next = reader
            .and_then(LaneReader::first_and_next_number)
            .map(|(_, next)| next);
        let number = next.or(number).filter(|_| counts_by_numbers);
        if counts_by_numbers && number.is_none() {
            // WHY: it is not known which messages are owed, until one is read.
            return UnreadCounts::default();
        }
        // WHY: this takes no lock, and most lanes have one extent.
        if let Some(FollowedLane { reader, extent, .. }) = followed
            && let Some(end) = reader.head_if_in_newest_extent()
        {
            let here = UnreadCounts::of_positions(position, end, extent.offer.shape.capacity());
            return number.map_or(here, |number| {
                here.of_messages(lane::message_count_and_end(block).0.saturating_sub(number))
            });
        }
        let reader = ReadProgress {
            position,
            number,
            match_settings: self.match_settings(),
            followed: Some(followed.map_or(0, |followed| followed.extent.id.generation)),
            own_end: followed.and_then(|followed| self.extent_end_if_next_is_gone(followed)),
        };
        self.segment.unread_counts_in(lane, reader)
    }
}
