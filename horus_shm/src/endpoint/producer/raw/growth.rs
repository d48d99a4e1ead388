//! Growth: creates a new extent with longer slots when a message does not fit in the present slots,
//! and removes extents that all readers have left.

use std::sync::Arc;

use super::RawProducer;
use super::claim::LaneClaim;
use super::moving::PublisherSession;
use crate::endpoint::producer::SendError;
use crate::endpoint::reader_slot::{self, GateState};
use crate::file::error::{OpenError, is_lack_of_memory};
use crate::file::extent::{EXTENT_FILES_PER_LANE_MAX, Extent, ExtentUse};
use crate::file::header::ExtentId;
use crate::file::offer::Offer;
use crate::file::segment::{Segment, TopicBlocks as _};
use crate::file::topic_type::Reliability;
use crate::os::cancel::NoCancelGuard;
use crate::os::region::Access;
use crate::protocol::identity::TypeIdentity;
use crate::protocol::lane::{self, NoRoom};
use crate::protocol::memory::{LaneMemory, RawLane};
use crate::protocol::sync::Word as _;
use crate::protocol::takeover::take_over;

/// Maximum number of earlier extents (files of slots) that a publisher takes over from the previous
/// publishers of its lane.
const FORMER_EXTENTS_MAX: usize = 16;

/// Number of messages that a publisher whose lane has grown may send before the readers of its
/// former file have moved; more if the lane has more slots. WHY a limit: the publisher may have to
/// send all of these messages once more, each in a slot for the longest message.
const SENDS_BEFORE_READERS_MOVE_MIN: u64 = 8;

/// An earlier extent (file of slots) of a lane, which some readers may not have read to its end
/// yet.
#[derive(Debug)]
pub(super) struct FormerExtent {
    extent: Arc<Extent>,
    /// The position in the lane after the last message of the extent.
    end: u64,
}

impl FormerExtent {
    /// Returns true if a reader still has to read this extent (file of slots).
    /// `first_unread_position` is the first position that the reader has not read. Always false if
    /// the extent's publisher offered best effort.
    fn is_unread_from(&self, first_unread_position: u64) -> bool {
        self.extent.offer.reliability == Reliability::Reliable && first_unread_position < self.end
    }

    /// Returns true if the extent contains messages.
    fn has_messages(&self) -> bool {
        self.end > self.extent.base.position
    }

    /// Returns the position of the lane at which all messages of this extent would have been
    /// overwritten if the lane had not grown.
    fn overwrite_position_without_growth(&self) -> u64 {
        self.end.saturating_add(self.extent.offer.shape.capacity())
    }
}

/// A lane that a publisher has just claimed: its extents, and the position at which the publisher
/// begins to write.
pub(super) struct ClaimedLane {
    pub(super) extent: Arc<Extent>,
    pub(super) raw: RawLane,
    pub(super) position: u64,
    pub(super) former: Vec<FormerExtent>,
}

impl ClaimedLane {
    /// Takes over a lane that the caller has claimed. If the newest extent is one that this
    /// publisher could have created itself, the publisher continues there; otherwise it creates the
    /// next extent. Its session there is `session`.
    pub(super) fn new(
        segment: &Segment,
        claim: LaneClaim,
        offer: &Offer,
        session: PublisherSession,
    ) -> Result<Self, OpenError> {
        let lane = claim.lane;
        let block = segment.lane_block(lane, Access::Write)?;
        segment.record_publisher_death(lane)?;
        // Relaxed, both: the claim of the lane ordered them.
        let generation = block.generation.get();
        let newest = ExtentId { lane, generation };
        let mut former = Self::extents_before(segment, newest, block.oldest.get());
        let found = match (generation != 0).then(|| segment.extent(newest, ExtentUse::Write)) {
            // WHY not the same as a missing extent: the predecessor may have died after it had
            // published a message there, and before it had stored the head.
            Some(Err(error)) if is_lack_of_memory(error.errno_or(0)) => return Err(error),
            found => found.and_then(Result::ok),
        };
        // WHY before the takeover: an onlooker that finds this publisher there must not take it for
        // the predecessor. Relaxed: the takeover publishes it. A reader that does not know the
        // session, or finds that of the predecessor, starts where the lane began.
        block.session_id.set(session.id);
        let position = match &found {
            Some(extent) => take_over(&lane_for_writer(segment, extent)?, segment.own_owner_word()),
            None => lane::message_count_and_end(block).1.max(session.number),
        };
        let is_taken_over = found.is_some();
        if let Some(extent) = found {
            if segment.request().may_continue_extent(&extent.offer, offer) {
                let raw = lane_for_writer(segment, &extent)?;
                claim.publish_history_key(block, position);
                // WHY: the predecessor may have died after it had stored the generation, and before
                // readers could see that; or while it made the next extent.
                segment.publish_lane_change()?;
                segment.remove_extent(ExtentId {
                    lane,
                    generation: generation + 1,
                });
                return Ok(Self {
                    extent,
                    raw,
                    position,
                    former,
                });
            }
            former.push(FormerExtent {
                extent,
                end: position,
            });
        }
        let extent = segment.make_extent(lane, position, offer.clone())?;
        let raw = lane_for_writer(segment, &extent)?;
        let position = if is_taken_over {
            position
        } else {
            take_over(&raw, segment.own_owner_word())
        };
        claim.publish_history_key(block, position);
        // WHY not yet: readers take it for granted that a publisher that moved has sent its history
        // once more.
        if !(claim.is_moving && generation == 0) {
            segment.publish_extent(extent.id)?;
        }
        Ok(Self {
            extent,
            raw,
            position,
            former,
        })
    }

    /// Returns the extents of a lane from number `oldest_generation` up to the one before `newest`,
    /// oldest first: the oldest one, and the last [`FORMER_EXTENTS_MAX`].
    fn extents_before(
        segment: &Segment,
        newest: ExtentId,
        oldest_generation: u64,
    ) -> Vec<FormerExtent> {
        let first =
            oldest_generation.max(newest.generation.saturating_sub(FORMER_EXTENTS_MAX as u64));
        let mut behind = None;
        let open = |generation| {
            let id = ExtentId {
                generation,
                ..newest
            };
            let extent = segment.extent(id, ExtentUse::Read).ok()?;
            // WHY the next one that is there: those in between had no messages if they are gone.
            let end = segment.end_of_extent(id).map(|end| end.position);
            let end = end.or(behind)?;
            behind = Some(extent.base.position);
            Some(FormerExtent { extent, end })
        };
        let last = (first.max(1)..newest.generation).rev();
        let last = last.chain(
            (0 < oldest_generation && oldest_generation < first).then_some(oldest_generation),
        );
        let mut found: Vec<_> = last.filter_map(open).collect();
        found.reverse();
        found
    }
}

/// Returns the memory of the lane with the slots of `extent`, for a writer.
fn lane_for_writer(segment: &Segment, extent: &Arc<Extent>) -> Result<RawLane, OpenError> {
    segment.lane(extent, Access::Write, segment.readers(Access::Write)?)
}

impl RawProducer {
    /// Returns the length in bytes of the longest message that fits in the slots that the publisher
    /// uses now.
    #[inline(always)]
    #[must_use]
    pub const fn slot_bytes(&self) -> u64 {
        self.slot_bytes
    }

    /// Makes sure that messages of `bytes` bytes fit in the slots of this publisher. If they do not
    /// fit yet, reserves memory for longer slots, which takes some system calls, and 2 to 5 ms for
    /// each MiB of the message: at least four slots are filled with zeros.
    ///
    /// # Errors
    ///
    /// [`SendError::TooLong`] if this publisher may not send such messages. [`SendError::NoSpace`]
    /// if there is no memory; the publisher can still send shorter messages. A lane can have four
    /// extents; [`SendError::Full`] if all four exist, and the reliable reader for which this
    /// publisher waits still has to read the oldest of them.
    #[inline]
    pub fn reserve(&mut self, bytes: u64) -> Result<(), SendError<()>> {
        if bytes <= self.slot_bytes {
            return Ok(());
        }
        self.add_longer_extent(bytes)
    }

    #[cold]
    fn add_longer_extent(&mut self, message_bytes: u64) -> Result<(), SendError<()>> {
        let _uncancelled = NoCancelGuard::new();
        self.check_file_not_truncated()?;
        let topic = self.segment.label();
        let request = self.segment.request();
        let Some(offer) = request.offer_for_longer_messages(&self.extent.offer, message_bytes)
        else {
            return Err(SendError::TooLong {
                topic,
                message: (),
                bytes: message_bytes,
                max: request.longest_bytes(),
            });
        };
        self.remove_obsolete_extents();
        let is_last = self.former.len() + 1 >= EXTENT_FILES_PER_LANE_MAX;
        if is_last && self.must_wait_for_oldest_extent() {
            self.make_room_and_retry(|this| {
                if this.must_wait_for_oldest_extent() {
                    Err(NoRoom)
                } else {
                    Ok(())
                }
            })?;
        }
        let position = self.writer.position();
        let grown = self
            .segment
            .make_extent(self.lane, position, offer)
            .and_then(|extent| {
                let raw = lane_for_writer(&self.segment, &extent)?;
                self.segment.publish_extent(extent.id)?;
                Ok((extent, raw))
            });
        let (extent, raw) = grown.map_err(|error| SendError::NoSpace {
            topic,
            message: (),
            bytes: message_bytes,
            errno: error.errno_or(libc::EIO),
        })?;
        extent.populate_pages();
        self.writer.move_to_extent(raw);
        self.slot_bytes = extent.offer.shape.request().payload_bytes;
        let left = std::mem::replace(&mut self.extent, extent);
        let former = FormerExtent {
            extent: left,
            end: position,
        };
        self.former_due = self
            .former_due
            .min(former.overwrite_position_without_growth());
        self.former.push(former);
        self.keep_messages_for_unmoved_readers();
        // WHY not before: if there is no memory, readers keep what they have not read.
        self.remove_excess_extents();
        // WHY: a loan of a slot in the extent just left is over.
        self.lent = None;
        self.apart = Default::default();
        self.check_file_not_truncated()
    }

    /// Makes this publisher, whose lane has just grown, stop before it overwrites messages that
    /// readers of former files may still have to receive. Also limits the number of these messages.
    /// WHY a limit: if they have to be sent once more in the next file, they must have room in one
    /// lane.
    fn keep_messages_for_unmoved_readers(&mut self) {
        let Some(oldest) = self.former.first() else {
            return;
        };
        if self.is_waiting_for_readers_to_move() {
            let first = oldest.extent.base.position;
            let memory = self.writer.memory();
            let slots = memory.writer_lead_max();
            let end = memory.base_position().saturating_add(slots);
            let kept_max = slots.max(SENDS_BEFORE_READERS_MOVE_MIN);
            self.writer
                .lower_stop_position(end.min(first.saturating_add(kept_max)));
        }
    }

    /// Removes earlier extents (files of slots) as [`Self::remove_obsolete_extents`] does, but only
    /// if the writer has reached the position `former_due`, from which on the oldest extent may be
    /// removed.
    #[inline(always)]
    pub(super) fn remove_obsolete_extents_if_due(&mut self) {
        if self.writer.position() >= self.former_due {
            self.remove_obsolete_extents();
        }
    }

    /// Removes the extents (files of slots) whose messages would have been overwritten by now
    /// without growth, and which no reliable reader still has to read.
    #[cold]
    pub(super) fn remove_obsolete_extents(&mut self) {
        let position = self.writer.position();
        let is_overwritten =
            |oldest: &FormerExtent| position >= oldest.overwrite_position_without_growth();
        while self.former.first().is_some_and(is_overwritten) && !self.is_oldest_extent_unread() {
            self.remove_oldest_extent();
        }
        let due = self
            .former
            .first()
            .map(FormerExtent::overwrite_position_without_growth);
        // WHY later if it is due: a reliable reader is behind, and it is looked for again after a
        // lap.
        let lap = self.extent.offer.shape.capacity();
        self.former_due = due.map_or(u64::MAX, |due| due.max(position + lap));
    }

    /// Removes the oldest extents (files of slots) until only a few are left. Readers may lose
    /// their messages. If the oldest one has the history, and the later ones have no messages,
    /// removes the oldest of the later ones instead: publishers that send nothing must not end the
    /// history. WHY there may be more than [`EXTENT_FILES_PER_LANE_MAX`] while reliable readers
    /// have to read them: a publisher must never fail because of a reader for which it does not
    /// wait.
    pub(super) fn remove_excess_extents(&mut self) {
        while self.former.len() >= FORMER_EXTENTS_MAX
            || self.former.len() >= EXTENT_FILES_PER_LANE_MAX && !self.is_oldest_extent_unread()
        {
            if !self.has_history_only_in_oldest() {
                self.remove_oldest_extent();
            } else if self.former.len() > 1 {
                // WHY the next one: it has no messages, and its number may lead to no file.
                self.remove_former_extent(1);
            } else {
                return;
            }
        }
    }

    /// Returns true if the oldest extent (file of slots) contains the newest messages of the lane,
    /// because the later ones contain none, and if these messages may be history.
    fn has_history_only_in_oldest(&self) -> bool {
        let Some((oldest, later)) = self.former.split_first() else {
            return false;
        };
        oldest.extent.offer.history > 0
            && oldest.has_messages()
            && !later.iter().any(FormerExtent::has_messages)
            && self.writer.position() == self.extent.base.position
    }

    /// Returns true if a live reliable reader still has to read messages in the oldest extent (file
    /// of slots).
    fn is_oldest_extent_unread(&self) -> bool {
        !self.former.is_empty() && self.has_unmoved_readers()
            || self.slowest_reader_of_oldest_extent().is_some()
    }

    /// Returns true if the lane must not grow before a live reliable reader has read the oldest
    /// extent. Only a reader for which this publisher waits counts. WHY: a best-effort publisher
    /// waits for no reader, and a reliable one does not wait for a reader of another type, which
    /// may still have to read the extent of an earlier publisher.
    fn must_wait_for_oldest_extent(&self) -> bool {
        if !self.former.is_empty() && self.has_unmoved_readers() {
            return true;
        }
        // WHY not whether it is the slowest: a dead one may be slower, whose place another process
        // holds.
        self.slowest_reader_of_oldest_extent()
            .is_some_and(|reader| self.writer.waits_for_reader(reader))
    }

    /// Returns the live reliable reader that is furthest behind among those that still have to read
    /// messages in the oldest extent; `None` if there is none.
    fn slowest_reader_of_oldest_extent(&self) -> Option<u32> {
        let oldest = self.former.first()?;
        // WHY not `LaneMemory::is_read_by`: a predecessor may have sent messages of another type.
        let identity = oldest.extent.offer.type_info.identity();
        let reads = |reader| {
            let block = self.segment.reader_block(reader, Access::Read);
            // Relaxed: the reader stored it before the cursor that keeps the extent.
            block.is_ok_and(|block| identity.matches(&TypeIdentity::of_reader(block)))
        };
        let mut abandoned = 0u64;
        // WHY a limit: the bits are input.
        for _ in 0..self.segment.shape().reader_limit() {
            let counts = |reader: u32| abandoned & 1 << reader == 0 && reads(reader);
            match self.writer.slowest_reader_where(counts) {
                // WHY: the gate of a dead reader stays until a writer is in its way.
                Some((reader, unread)) if oldest.is_unread_from(unread) => {
                    match self.check_reader_gate(reader) {
                        GateState::Freed => {}
                        GateState::Abandoned { .. } => abandoned |= 1 << reader,
                        GateState::Live => return Some(reader),
                    }
                }
                _ => return None,
            }
        }
        None
    }

    /// Returns the state of a gated reader. Frees its slot if it is dead and this publisher waits
    /// for readers. WHY only then: a best-effort publisher is not held back by its cursors, and a
    /// successor may still continue there.
    fn check_reader_gate(&self, reader: u32) -> GateState {
        if self.extent.offer.reliability == Reliability::Reliable {
            reader_slot::release_dead_gate(&self.segment, reader)
        } else {
            reader_slot::state_of_gate(&self.segment, reader)
        }
    }

    fn remove_oldest_extent(&mut self) {
        let Some(removed) = self.remove_former_extent(0) else {
            return;
        };
        if let Ok(block) = self.segment.lane_block(self.lane, Access::Write) {
            // Relaxed: a hint for successors; the files decide.
            block.oldest.set(removed.generation + 1);
        }
    }

    /// Removes the former extent (file of slots) at index `index`, and returns its id; `None` if
    /// there is none.
    fn remove_former_extent(&mut self, index: usize) -> Option<ExtentId> {
        if index >= self.former.len() {
            return None;
        }
        let FormerExtent { extent, .. } = self.former.remove(index);
        // WHY the file first: if this process dies before it stores the next number, this number
        // leads to no file, which readers expect.
        self.segment.remove_extent(extent.id);
        Some(extent.id)
    }
}
