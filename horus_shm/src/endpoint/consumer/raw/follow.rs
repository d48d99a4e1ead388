//! Follows a publisher from extent to extent (file of slots): a reader that has read one extent of
//! a lane continues in the next one.

use std::sync::Arc;

use super::{FollowedLane, RawConsumer};
use crate::file::error::OpenError;
use crate::file::extent::Extent;
use crate::file::header::{ExtentBoundary, ExtentId};
use crate::file::segment::SEARCHED_EXTENTS_MAX;
use crate::protocol::memory::{LaneMemory, RawLane};
use crate::protocol::sync::Word;

impl RawConsumer {
    /// Moves the reader of the lane at index `lane_index` on to later extents (files of slots), up
    /// to `newest`. The reader leaves an extent only when it has read all of its messages.
    pub(super) fn follow_extents_up_to(
        &mut self,
        lane_index: usize,
        newest: ExtentId,
    ) -> Result<(), OpenError> {
        while self.lanes[lane_index].extent.id.generation < newest.generation {
            let mut extent =
                self.map_next_extent(lane_index, self.lanes[lane_index].extent.id, newest)?;
            // WHY: extents of a publisher that does not match may be gone already.
            let unmatched = self
                .unmatched_lane(newest.lane)
                .map(|unmatched| unmatched.base);
            let end = unmatched.or_else(|| self.end_of_followed_extent(lane_index, &extent));
            let reader = &mut self.lanes[lane_index].reader;
            let limit = end.unwrap_or(extent.base).position;
            reader.set_extent_end(limit);
            // WHY: if the extent that began at its end is gone, it ends where no message is.
            let is_read = reader.has_read_up_to(limit) || end.is_none() && !reader.has_message();
            if !is_read {
                self.has_later = true;
                break;
            }
            let left_out = unmatched.unwrap_or(extent.base);
            while !self.matches_extent(&extent) && extent.id != newest {
                self.lanes[lane_index].later.remove(0);
                extent = self.map_next_extent(lane_index, extent.id, newest)?;
            }
            let raw = self.lane_with_slots_of(&extent)?;
            self.lanes[lane_index].later.remove(0);
            if !self.check_and_record_match(&extent, left_out) {
                break;
            }
            // WHY: what was in extents that are gone is lost.
            let ExtentBoundary {
                position, number, ..
            } = left_out;
            self.lanes[lane_index]
                .reader
                .move_to_counting_lost(position, number);
            self.skip_messages_without_counting(lane_index, left_out, extent.base);
            self.move_to_later_extent(lane_index, extent, raw);
        }
        Ok(())
    }

    /// Skips messages that this reader must not receive, without counting them: those between
    /// `end`, where the last extent (file of slots) that it reads ends, and `next`, where the next
    /// one begins. The ledger continues as if there were no such messages.
    fn skip_messages_without_counting(
        &mut self,
        lane_index: usize,
        end: ExtentBoundary,
        next: ExtentBoundary,
    ) {
        let FollowedLane { lane, reader, .. } = &mut self.lanes[lane_index];
        let start = &mut self.starts[*lane as usize];
        let positions = next.position.saturating_sub(end.position);
        let numbers = next.number.saturating_sub(end.number);
        start.position = start.position.saturating_add(positions);
        start.number = start.number.map(|number| number.saturating_add(numbers));
        reader.skip_without_counting(next.position.max(reader.position()), numbers);
    }

    /// Moves the reader of the lane at index `lane_index` to the later extent `extent`. The ledger
    /// (counters) of a lane is kept in message numbers if slots can be pinned, and otherwise in
    /// positions. If the two extents differ in this, converts the ledger.
    fn move_to_later_extent(&mut self, lane_index: usize, extent: Arc<Extent>, raw: RawLane) {
        let fit = self.copied_bytes_and_converter(&extent.offer.type_info);
        let FollowedLane {
            lane,
            reader,
            extent: present,
            shared,
            other,
            ..
        } = &mut self.lanes[lane_index];
        (*shared, *other) = fit;
        let start = &mut self.starts[*lane as usize];
        let ExtentBoundary {
            position, number, ..
        } = extent.base;
        reader.move_to_extent(raw, number);
        let counts_by_numbers = extent.offer.shape.request().pinnable;
        if counts_by_numbers && !reader.counts_by_numbers() {
            let passed = position.wrapping_sub(start.position);
            reader.start_counting_by_numbers(number.wrapping_sub(passed), number);
        } else if !counts_by_numbers && reader.counts_by_numbers() {
            let first = reader.stop_counting_by_numbers(number).unwrap_or(number);
            start.position = position.wrapping_sub(number.wrapping_sub(first));
        }
        *present = extent;
    }

    /// Returns the boundary at which the extent (file of slots) that is being read in a lane ends.
    /// `next` is the next extent that can be opened. Returns `None` if unknown extents lie between
    /// the two.
    fn end_of_followed_extent(&self, lane_index: usize, next: &Extent) -> Option<ExtentBoundary> {
        let id = self.lanes[lane_index].extent.id;
        if next.id.generation == id.generation + 1 {
            return Some(next.base);
        }
        // WHY the bases: they ascend, unless a head was damaged in between.
        let end = self.segment.end_of_extent(id);
        end.filter(|end| end.position <= next.base.position)
    }

    /// Returns the first extent (file of slots) after `extent` that can be opened, and maps all
    /// later ones for the lane at index `lane_index`. The extent directly after `extent` may be
    /// missing, because the publisher may have removed it.
    ///
    /// WHY all: their publisher may remove their files before this reader comes to them. WHY it
    /// does not search again if the newest one is mapped: each receive call calls this function
    /// while there are later extents.
    fn map_next_extent(
        &mut self,
        lane_index: usize,
        extent: ExtentId,
        newest: ExtentId,
    ) -> Result<Arc<Extent>, OpenError> {
        let mapped = &self.lanes[lane_index].later;
        if mapped.last().is_none_or(|last| last.id != newest) {
            self.lanes[lane_index].later = self.map_later_extents(extent, newest)?;
        }
        Ok(Arc::clone(&self.lanes[lane_index].later[0]))
    }

    /// Returns extents (files of slots) after `extent` up to `newest`, in ascending order. Searches
    /// back from the one before `newest`, and ends at the first that cannot be opened. Returns an
    /// error if it can open none.
    pub(super) fn map_later_extents(
        &self,
        extent: ExtentId,
        newest: ExtentId,
    ) -> Result<Vec<Arc<Extent>>, OpenError> {
        let ExtentId { lane, generation } = newest;
        let first = (extent.generation + 1).max(generation.saturating_sub(SEARCHED_EXTENTS_MAX));
        let map = |generation| Ok(self.map_extent(ExtentId { lane, generation })?.0);
        let last = map(generation);
        let earlier = (first..generation).rev().map_while(|at| map(at).ok());
        let mut found: Vec<_> = earlier.collect();
        found.reverse();
        match last {
            Ok(last) => found.push(last),
            Err(error) if found.is_empty() => return Err(error),
            Err(_) => {}
        }
        Ok(found)
    }

    /// Moves to the next extent (file of slots) of each lane if the present one is read to its end.
    /// Returns true if this reader has moved in a lane, so that it may find a message now. WHY not
    /// only before a poll: what was left in an extent may have been skips and overwritten messages.
    #[cold]
    pub(super) fn leave_extents_read_to_end(&mut self) -> bool {
        if !self.has_later {
            return false;
        }
        let generations = |this: &Self| {
            let lanes = this.lanes.iter();
            let generations = lanes.map(|followed| followed.extent.id.generation);
            generations.fold(0, u64::wrapping_add)
        };
        let before = generations(self);
        self.look_for_lanes();
        generations(self) != before
    }

    /// In each lane, skips the remaining messages of every extent whose successor already contains
    /// messages.
    #[cold]
    pub(super) fn skip_ended_extents(&mut self) {
        for at in 0..self.lanes.len() {
            let lane = self.lanes[at].lane;
            while let Ok(Some(newest)) = self.newest_extent(lane)
                && self.lanes[at].extent.id.generation < newest.generation
                && !self.is_extent_unmatched(newest)
                && let Ok(next) = self.map_next_extent(at, self.lanes[at].extent.id, newest)
            {
                let end = self.end_of_followed_extent(at, &next).unwrap_or(next.base);
                let followed = &mut self.lanes[at];
                // Relaxed: a head that is not seen yet is seen by the next call.
                let head = followed.reader.memory().block().head.get();
                if head <= next.base.position || followed.reader.has_read_up_to(end.position) {
                    break;
                }
                followed.reader.skip_to_extent_end(end.position, end.number);
                if self.follow_extents_up_to(at, newest).is_err() {
                    break;
                }
            }
        }
        self.update_lane_totals();
    }
}
