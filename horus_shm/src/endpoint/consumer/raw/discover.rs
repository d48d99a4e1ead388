//! Finds the lanes of a topic that appear while a reader reads it, and maps their slots.

use std::time::Duration;

use super::join::LaneStart;
use super::{FollowedLane, RawConsumer};
use crate::file::error::{LaneNotMapped, OpenError, RecvError};
use crate::file::header::ExtentBoundary;
use crate::file::segment::TopicBlocks as _;
use crate::os::cancel::NoCancelGuard;
use crate::os::clock::coarse_time;
use crate::os::region::Access;
use crate::protocol::lane::LaneReader;
use crate::protocol::sync::{Word, edge};

/// The value of the field `known` of [`RawConsumer`] before the first search for lanes. The change
/// counter never has this value.
pub(super) const LANES_NEVER_SEARCHED: u64 = u64::MAX;

/// Minimum time between two attempts to map a lane that could not be mapped. An attempt makes a few
/// system calls.
const MAPPING_RETRY_PERIOD: Duration = Duration::from_millis(100);

/// The lanes that this reader could not map at the last attempt, and from which it misses messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct FailedMapping {
    /// The error of the first of these lanes.
    error: LaneNotMapped,
    /// The lanes that could not be mapped, as a bit mask: bit i stands for lane i.
    lanes: u64,
    /// The value of the topic's change counter at the time of the attempt.
    changes: u64,
    /// The [`coarse_time`] of the attempt.
    at: Duration,
}

impl RawConsumer {
    #[inline(always)]
    pub(in crate::endpoint::consumer) fn look_for_lanes(&mut self) {
        // SAFETY: it points into the segment, which this consumer keeps; it is an atomic.
        let changes = unsafe { &*self.changes };
        // ORDERING(change_counter): pairs with the count in `TopicMemory::publish_lane_change`.
        let changes = Word::load(changes, edge::CHANGE_COUNTER_SEE);
        if changes != self.known {
            self.discover_lanes(changes);
        }
    }

    /// Maps the newest file of slots (extent) of each lane that has one. `change_count` is the
    /// present value of the change counter. If a lane cannot be mapped, calls after
    /// [`MAPPING_RETRY_PERIOD`] try again; until then [`Self::check`] returns the error. The other
    /// lanes do not wait for it.
    #[cold]
    fn discover_lanes(&mut self, change_count: u64) {
        let now = coarse_time();
        let mut failed = self.failed.filter(|failed| {
            failed.changes == change_count && now.saturating_sub(failed.at) < MAPPING_RETRY_PERIOD
        });
        let waiting = failed.map_or(0, |failed| failed.lanes);
        if waiting != 0 && !self.has_later {
            return;
        }
        let _uncancelled = NoCancelGuard::new();
        let mut read_lanes = waiting;
        let mut unmatched = Vec::new();
        self.has_later = false;
        for lane in (0..self.starts.len() as u32).filter(|lane| waiting & 1 << lane == 0) {
            // WHY before the search: a publisher that claims the lane later was not found.
            let claims = self.segment.lane_claims(lane);
            let discovered = self.discover_lane(lane);
            if discovered.is_err() || self.may_receive_from_lane(lane) {
                read_lanes |= 1 << lane;
            } else if self.unmatched_lane(lane).is_some() {
                unmatched.push((lane, claims));
            }
            // WHY a lane from which this reader misses nothing is not tried again: a publisher that
            // claims it increments the change counter.
            if let Err(cause) = discovered
                && let Some(error) = self.lane_not_mapped_error(lane, &cause)
            {
                let new = || FailedMapping {
                    error,
                    lanes: 0,
                    changes: change_count,
                    at: now,
                };
                failed.get_or_insert_with(new).lanes |= 1 << lane;
            }
        }
        let is_variable_length = self.segment.request().type_info.sized;
        self.progress
            .set_unmatched_lanes(self.match_settings(), is_variable_length, &unmatched);
        self.progress.set_read_lanes(read_lanes, change_count);
        let complete = failed.is_none();
        self.failed = failed;
        self.update_lane_totals();
        self.report_to_watches();
        // WHY not if there are later extents: the reader goes on there when it has reached their
        // beginning.
        if complete && !self.has_later {
            self.known = change_count;
        }
    }

    /// Returns true if this reader may get messages from a lane before the change counter changes
    /// again. Also returns true for a lane that it ignores, because it may stop ignoring the lane,
    /// and for a lane that it must not read before another one.
    fn may_receive_from_lane(&self, lane: u32) -> bool {
        let has_extent = matches!(self.newest_extent(lane), Ok(Some(_)));
        self.ignored & 1 << lane != 0 || has_extent && self.unmatched_lane(lane).is_none()
    }

    /// Begins to read a lane that this reader has not read so far, or moves on to the next extent
    /// of a lane that it reads.
    fn discover_lane(&mut self, lane: u32) -> Result<(), OpenError> {
        let Some(newest) = self.newest_extent(lane)? else {
            return Ok(());
        };
        if self.ignored & 1 << lane != 0 {
            return Ok(());
        }
        if self.is_extent_unmatched(newest) {
            self.report_mismatch(lane);
            return Ok(());
        }
        if let Some(at) = self.lanes.iter().position(|followed| followed.lane == lane) {
            return self.follow_extents_up_to(at, newest);
        }
        // WHY before it is mapped: this reader may have to wait, and then looks often.
        if !self.try_set_start_in_new_lane(lane)? {
            return Ok(());
        }
        let (extent, _) = self.map_extent(newest)?;
        let extent = self.extent_containing(&extent, self.starts[lane as usize].position);
        let (mut extent, mut raw) = self.map_extent(extent.id)?;
        let mut is_owed_before = self.unmatched_lane(lane).is_none();
        while !self.matches_extent(&extent) && extent.id != newest {
            extent = self.map_later_extents(extent.id, newest)?.remove(0);
            raw = self.lane_with_slots_of(&extent)?;
            is_owed_before = false;
        }
        if !self.check_and_record_match(&extent, extent.base) {
            return Ok(());
        }
        if !is_owed_before {
            let ExtentBoundary {
                position, number, ..
            } = extent.base;
            let number = Some(number);
            self.starts[lane as usize] = LaneStart { position, number };
        }
        let LaneStart { position, number } = self.starts[lane as usize];
        let mut reader = LaneReader::new(raw, position, self.progress.reader_index());
        if extent.offer.shape.request().pinnable {
            reader = reader.with_message_numbers(number);
        }
        // WHY: what was in extents that are gone is lost.
        reader.move_to_extent(raw, extent.base.number);
        let (shared, other) = self.copied_bytes_and_converter(&extent.offer.type_info);
        self.lanes.push(FollowedLane {
            lane,
            reader,
            extent,
            later: Vec::new(),
            shared,
            other,
            has_ended: false,
        });
        self.follow_extents_up_to(self.lanes.len() - 1, newest)
    }

    /// Stores for the threads that watch this reader what it found in all of its files: the error
    /// of a lane that cannot be mapped, and whether a publisher matches.
    ///
    /// The reader of a former file stores nothing. WHY: the reader of the current file stores the
    /// result for all files, as soon as it has polled the former ones.
    pub(super) fn report_to_watches(&mut self) {
        if self.progress.has_moved_to_other_file() {
            self.past.get_or_insert_default().has_searched = true;
            return;
        }
        let mut failed = self.readers_of_all_files().filter_map(|file| file.failed);
        let error = failed.next().map(|failed| failed.error);
        self.progress.set_unmapped_lane(error);
        self.store_mismatch_for_watches();
    }

    /// Returns the error for a lane that cannot be mapped; `None` if this reader misses nothing,
    /// because the lane has no publisher and no waiting message.
    fn lane_not_mapped_error(&self, lane: u32, cause: &OpenError) -> Option<LaneNotMapped> {
        let offer = self.offer_in(lane);
        let bytes = offer.map_or(0, |offer| offer.shape.slots_bytes());
        let error = LaneNotMapped::new(lane, bytes, cause);
        // Relaxed, both: a publisher that comes later is found by the next attempt.
        let matters = self
            .segment
            .lane_block(lane, Access::Read)
            .map_or(true, |block| {
                let mut followed = self.lanes.iter().filter(|followed| followed.lane == lane);
                let position = followed.next().map_or_else(
                    || self.starts[lane as usize].position,
                    |followed| followed.reader.position(),
                );
                let waiting = block.head.get() > position;
                let owner = block.owner.get();
                owner != 0 && !self.segment.is_dead(owner) || waiting
            });
        matters.then_some(error)
    }

    /// Returns an error if this reader misses messages because the last attempt could not map a
    /// lane.
    #[inline]
    pub(super) fn check_lanes_mapped(&self) -> Result<(), RecvError> {
        match self.failed {
            Some(failed) => Err(RecvError::LaneNotMapped {
                topic: self.segment.label(),
                cause: failed.error,
            }),
            None => Ok(()),
        }
    }

    /// Returns the number of lanes that could not be mapped, so that this reader misses messages.
    pub(super) fn unmapped_lane_count(&self) -> u64 {
        self.failed
            .map_or(0, |failed| failed.lanes.count_ones().into())
    }
}
