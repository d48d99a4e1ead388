//! The ledger of a reader: for its owner, and as counters for other processes.

use super::RawConsumer;
use crate::file::segment::Blocks as _;
use crate::os::futex::monotonic;
use crate::os::region::Access;
use crate::protocol::lane::{self, LaneReader, Unread};
use crate::protocol::layout::POSITION_MAX;
use crate::protocol::memory::{LaneMemory, RawLane};
use crate::protocol::sync::Word;
use crate::protocol::telemetry;

/// The ledger of a consumer, in messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Number of messages delivered to the caller.
    pub received: u64,
    /// Number of messages overwritten before this reader read them, whether it has met the gap
    /// already or not.
    pub lost: u64,
    /// Number of messages skipped by calls for the latest message.
    pub skipped: u64,
    /// Number of messages published since this reader joined that it has not passed, and would
    /// still get.
    pub waiting: u64,
    /// Number of messages published since this reader joined. While no writer is writing, it is
    /// `received` + `lost` + `skipped` + `waiting`.
    pub sent: u64,
    /// Number of calls that gave up because the writer was faster; that alone lost no message.
    pub busy: u64,
    /// Number of publishers whose lane could not be mapped at the last attempt; their messages
    /// count as waiting.
    pub unmapped: u64,
}

impl RawConsumer {
    /// Notes the latency of the message just read from a lane, before `position`, if it is sampled.
    #[inline(always)]
    pub(super) fn count(&self, lane: usize, position: u64) {
        let pos = position - 1;
        if telemetry::is_sampled(pos) {
            let block = self.lanes[lane].reader.memory().block();
            telemetry::note_received(block, pos, monotonic, self.progress.block());
            self.publish_counters();
        }
    }

    /// Stores all counters that this reader publishes. Those of losses are published when they
    /// change; this call corrects them, too, if another process damaged them.
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
        let block = self.progress.block();
        block.passed.set(positions.wrapping_sub(self.received));
        block.lost.set(sum(LaneReader::lost));
        block.skipped.set(sum(LaneReader::skipped));
        block.busy.set(sum(LaneReader::busy));
    }

    /// Returns the ledger since this reader joined. Loads every lane's head.
    #[must_use]
    pub fn stats(&self) -> ReadStats {
        self.publish_counters();
        let mut stats = ReadStats {
            received: self.received,
            unmapped: self.unmapped(),
            ..ReadStats::default()
        };
        // WHY wrapping: a damaged head makes wrong numbers, which must not cause a panic.
        let add = |sum: &mut u64, figure: u64| *sum = sum.wrapping_add(figure);
        for lane in 0..self.starts.len() as u32 {
            if self.ignored & (1 << lane) != 0 {
                continue;
            }
            let reader = self.lanes.iter().find(|followed| followed.lane == lane);
            let reader = reader.map(|followed| &followed.reader);
            let (first, next, end) = self.extent(lane, reader);
            let window = self.unread(lane);
            // WHY the minimum: what publishers send that do not match is not in the ledger, and
            // slots that were stepped over are no messages.
            let owed = window.waiting.saturating_add(window.lost);
            let unread = end.wrapping_sub(next).min(owed);
            let waiting = window.waiting.min(unread);
            add(&mut stats.sent, next.wrapping_sub(first));
            add(&mut stats.sent, unread);
            add(&mut stats.waiting, waiting);
            add(&mut stats.lost, unread - waiting);
            add(&mut stats.lost, reader.map_or(0, LaneReader::lost));
            add(&mut stats.skipped, reader.map_or(0, LaneReader::skipped));
            add(&mut stats.busy, reader.map_or(0, LaneReader::busy));
        }
        stats
    }

    /// Returns what this reader has not passed in a lane, in positions.
    fn unread(&self, lane: u32) -> Unread {
        let followed = self.lanes.iter().find(|followed| followed.lane == lane);
        let next = followed.map_or(self.starts[lane as usize].position, |followed| {
            followed.reader.position()
        });
        // WHY: this takes no lock, and most lanes have one extent.
        if let Some(end) = followed.and_then(|followed| followed.reader.newest_head()) {
            let capacity = followed.map_or(0, |followed| followed.extent.offer.shape.capacity());
            return Unread::of(next, end, capacity);
        }
        self.segment.unread(lane, next, &self.card())
    }

    /// Returns three message numbers of a lane, in ascending order: of the first message that this
    /// reader accounts for, of the next one to read, and of the next one to be published.
    fn extent(&self, lane: u32, reader: Option<&LaneReader<RawLane>>) -> (u64, u64, u64) {
        let start = self.starts[lane as usize];
        let Ok(block) = self.segment.lane_block(lane, Access::Read) else {
            return (0, 0, 0);
        };
        // WHY the maximum, in both cases: a publisher that died between stamp and head leaves a
        // message that was received and is past the head.
        if let Some(reader) = reader.filter(|reader| !reader.is_numbered()) {
            let next = reader.position();
            // Relaxed: a counter.
            let end = block.head.get().min(POSITION_MAX);
            return (start.position, next, end.max(next));
        }
        let (end, _) = lane::count(block);
        let numbers = reader.and_then(LaneReader::numbers);
        let promised = start.number.map(|number| (number, number));
        let (first, next) = numbers.or(promised).unwrap_or((end, end));
        (first, next, end.max(next))
    }
}
