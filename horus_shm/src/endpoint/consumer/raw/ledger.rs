//! The account of a reader: for its owner, and as counters for those who look.

use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use super::{RawConsumer, Reached};
use crate::file::segment::Blocks as _;
use crate::os::futex::monotonic;
use crate::os::region::Access;
use crate::protocol::lane::{self, LaneReader};
use crate::protocol::layout::{POSITION_MAX, ReaderBlock};
use crate::protocol::memory::{LaneMemory, RawLane};
use crate::protocol::sync::Word;
use crate::protocol::telemetry;

/// What a consumer has seen, in messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Delivered to the caller.
    pub received: u64,
    /// Overwritten before this reader came to them.
    pub lost: u64,
    /// Passed over by asking for the latest only.
    pub skipped: u64,
    /// Published since this reader joined and not yet passed by it.
    pub waiting: u64,
    /// Published since this reader joined: the sum of the other four, once the writers rest.
    pub sent: u64,
    /// Calls that gave up because the writer was faster; the message was not lost by that.
    pub busy: u64,
    /// Publishers whose lane could not be mapped when it was last tried; their messages count as
    /// waiting.
    pub unmapped: u64,
}

/// A reader's own block, where it counts for those who look.
#[derive(Debug)]
pub(super) struct Counters(NonNull<ReaderBlock<AtomicU64>>);

impl Counters {
    pub(super) const fn new(block: &ReaderBlock<AtomicU64>) -> Self {
        Self(NonNull::from_ref(block))
    }

    #[inline(always)]
    fn block(&self) -> &ReaderBlock<AtomicU64> {
        // SAFETY: points into the segment, which the consumer keeps; all of it atomics.
        unsafe { self.0.as_ref() }
    }
}

impl RawConsumer {
    /// Counts the message just read of a lane, where others can see it.
    #[inline(always)]
    pub(super) fn count(&self, lane: usize, reached: Reached) {
        let Some(counters) = &self.counters else { return };
        // Relaxed, here and below: figures.
        counters.block().received.set(self.received);
        let pos = reached.position - 1;
        if telemetry::is_sampled(pos) {
            let block = self.lanes[lane].reader.memory().block();
            telemetry::note_received(block, pos, monotonic, counters.block());
            self.count_losses();
        }
    }

    /// Brings the counters that rarely change up to date.
    #[cold]
    pub(super) fn count_losses(&self) {
        let Some(counters) = &self.counters else { return };
        let readers = || self.lanes.iter().map(|followed| &followed.reader);
        let block = counters.block();
        block.lost.set(readers().map(LaneReader::lost).fold(0, u64::wrapping_add));
        block.skipped.set(readers().map(LaneReader::skipped).fold(0, u64::wrapping_add));
        block.busy.set(readers().map(LaneReader::busy).fold(0, u64::wrapping_add));
    }

    /// The ledger since this reader joined. Costs a look at every lane's head.
    #[must_use]
    pub fn stats(&self) -> ReadStats {
        self.count_losses();
        let mut stats = ReadStats {
            received: self.received,
            unmapped: self.unmapped(),
            ..ReadStats::default()
        };
        // WHY wrapping: a damaged head makes wild figures, which must not make a panic.
        let add = |sum: &mut u64, figure: u64| *sum = sum.wrapping_add(figure);
        for lane in 0..self.starts.len() as u32 {
            if self.ignored & (1 << lane) != 0 {
                continue;
            }
            let reader = self.lanes.iter().find(|followed| followed.lane == lane);
            let reader = reader.map(|followed| &followed.reader);
            let (first, next, end) = self.extent(lane, reader);
            add(&mut stats.sent, end.wrapping_sub(first));
            add(&mut stats.waiting, end.wrapping_sub(next));
            add(&mut stats.lost, reader.map_or(0, LaneReader::lost));
            add(&mut stats.skipped, reader.map_or(0, LaneReader::skipped));
            add(&mut stats.busy, reader.map_or(0, LaneReader::busy));
        }
        stats
    }

    /// Numbers of a lane: of the first message that this reader accounts for, of the next one, and
    /// of the one that is published next; the third is not less than the second, nor that than the
    /// first.
    fn extent(&self, lane: u32, reader: Option<&LaneReader<RawLane>>) -> (u64, u64, u64) {
        let start = self.starts[lane as usize];
        let Ok(block) = self.segment.lane_block(lane, Access::Read) else { return (0, 0, 0) };
        // WHY the maximum, in both cases: a publisher that died between stamp and head leaves a
        // message that was received and is past the head.
        if !self.in_place {
            let next = reader.map_or(start.position, LaneReader::position);
            // Relaxed: a figure.
            return (start.position, next, block.head.get().min(POSITION_MAX).max(next));
        }
        let (end, _) = lane::count(block);
        let numbers = reader.and_then(LaneReader::numbers);
        let promised = start.number.map(|number| (number, number));
        let (first, next) = numbers.or(promised).unwrap_or((end, end));
        (first, next, end.max(next))
    }
}
