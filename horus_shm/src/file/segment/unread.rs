//! Counts the messages that a reader has not passed yet. Any process can do so from shared memory.

use super::extents::SEARCHED_EXTENTS_MAX;
use crate::file::header::{ExtentBoundary, ExtentId};
use crate::file::match_settings::MatchSettings;
use crate::file::segment::{TopicBlocks as _, TopicMemory};
use crate::os::region::Access;
use crate::protocol::lane::{self, UnreadCounts};
use crate::protocol::sync::Word as _;

/// The fields in the header of an extent (file of slots) that decide which of its messages a reader
/// still gets.
#[derive(Debug, Clone, Copy)]
struct ExtentShape {
    base: ExtentBoundary,
    capacity: u64,
    /// True if the publisher may skip slots, so that positions and message numbers differ.
    pinnable: bool,
    /// The settings of the extent's publisher: its message type and its reliability.
    match_settings: MatchSettings,
}

impl ExtentShape {
    /// Returns the numbers of waiting and lost messages of this extent (file of slots), for a
    /// reader at `position`. `number` is the sequence number of the reader's next message, if that
    /// is known. `end` is the boundary between this extent and the next one, or the lane's head.
    fn unread_counts(
        &self,
        position: u64,
        number: Option<u64>,
        end: ExtentBoundary,
    ) -> UnreadCounts {
        let first = self.base.position.max(position);
        let here = UnreadCounts::of_positions(first, end.position, self.capacity);
        let least = self.base.number.saturating_add(first - self.base.position);
        let messages = |first| here.of_messages(end.number.saturating_sub(first));
        if first > position || !self.pinnable {
            // Before the first position, and where no slot is stepped over.
            return messages(least);
        }
        // WHY not `messages(least)`: slots that were stepped over before the position are none of
        // those waiting. WHY the minimum: what counts as lost must not turn out to be no message.
        number.map_or(
            UnreadCounts {
                waiting: here.waiting,
                lost: here.lost.min(messages(least).lost),
            },
            messages,
        )
    }
}

/// The progress of a reader in one lane: the position and the sequence number of the next message
/// that it reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadProgress {
    /// The first position that the reader has neither read nor skipped.
    pub(crate) position: u64,
    /// The sequence number of the reader's next message; `None` if it is not known.
    pub(crate) number: Option<u64>,
    /// The type that the reader reads, and the reliability that it requests. It gets messages only
    /// from publishers that match.
    pub(crate) match_settings: MatchSettings,
    /// Number of the extent (file of slots) that the reader is reading now; 0 if it reads none.
    /// `None` if the reader is in another process, where this is not known.
    pub(crate) followed: Option<u64>,
    /// The end of the extent that the reader is reading now, if the lane continues in later
    /// extents, but the next one cannot be opened any more. Otherwise `None`, and also if the
    /// reader belongs to another process than the caller.
    pub(crate) own_end: Option<ExtentBoundary>,
}

impl ReadProgress {
    /// Returns true if the reader has mapped the extent (file of slots) with the number
    /// `generation`, so that it can be read even after its file was removed. `base` is the extent's
    /// first position.
    fn keeps_extent_mapped(&self, generation: u64, base: u64) -> bool {
        match self.followed {
            Some(followed) => followed == generation,
            // WHY also at the base: what counts as lost must not turn out to be received.
            None => base <= self.position,
        }
    }
}

impl TopicMemory {
    /// Returns the numbers of waiting and lost messages of a lane for a reader. Opens the lane
    /// files that this process has not seen before, and makes a system call for each earlier extent
    /// in which the reader has not read everything.
    ///
    /// If `reader` does not contain the number of its next message, slots that publishers skipped
    /// after the reader's position cannot be distinguished from messages.
    /// [`UnreadCounts::waiting`] then includes the skipped slots of the reader's own extent, and
    /// [`UnreadCounts::lost`] is a lower bound.
    pub(crate) fn unread_counts_in(&self, lane: u32, reader: ReadProgress) -> UnreadCounts {
        let Ok(block) = self.lane_block(lane, Access::Read) else {
            return UnreadCounts::default();
        };
        let (count, position_behind) = lane::message_count_and_end(block);
        let mut end = ExtentBoundary {
            position: position_behind,
            number: count,
            ..ExtentBoundary::default()
        };
        // Relaxed: the acquired head orders it. A newer extent begins at the head or behind it.
        let newest = block.generation.get();
        // WHY: what its publisher sent before the lane began was in another topic file.
        let (position, number) = match self.lane_beginning(lane) {
            Some(first) if reader.position < first.position => {
                (first.position, Some(first.position))
            }
            _ => (reader.position, reader.number),
        };
        let at_position = lane::message_number_at(block, position);
        // WHY: a reader that was lapped, and read past a skip, has not counted what it lost yet.
        let lost = match (number, at_position) {
            (Some(number), Some(at_position)) => at_position.saturating_sub(number),
            _ => 0,
        };
        let number = number.max(at_position);
        let before = |end: ExtentBoundary| match number {
            Some(first) => end.number.saturating_sub(first),
            None => end.position - position,
        };
        let mut unread = UnreadCounts { waiting: 0, lost };
        // WHY not owed without an extent: the head is where a publisher that moves will begin.
        let mut is_owed = newest != 0;
        let last = (1..=newest).rev().take(SEARCHED_EXTENTS_MAX as usize);
        // WHY also the oldest one, which may have history that publishers left that sent nothing.
        // Relaxed: a hint; the files decide.
        let first_searched = newest.saturating_sub(SEARCHED_EXTENTS_MAX - 1).max(1);
        let oldest = Some(block.oldest.get()).filter(|oldest| (1..first_searched).contains(oldest));
        for generation in last.chain(oldest) {
            if end.position <= position {
                return unread;
            }
            let id = ExtentId { lane, generation };
            let Some(shape) = self.extent_shape(id) else {
                if generation == newest {
                    // WHY: a reader that cannot open the lane tries again.
                    unread.waiting = before(end);
                    return unread;
                }
                continue;
            };
            is_owed = shape
                .match_settings
                .mismatch(&reader.match_settings)
                .is_none();
            if let Some(own) = reader
                .own_end
                .filter(|_| reader.followed == Some(generation))
                && own.position < end.position
            {
                // WHY: extents between this one and the next one that is there are gone.
                if is_owed {
                    let gone = end.number.saturating_sub(own.number);
                    unread.lost = unread.lost.saturating_add(gone);
                }
                end = own;
            }
            if is_owed {
                let here = shape.unread_counts(position, number, end);
                let is_there = generation == newest
                    || reader.keeps_extent_mapped(generation, shape.base.position)
                    || self.is_extent_reachable(id);
                unread = unread.plus(if is_there { here } else { here.all_lost() });
            }
            if generation == 1 {
                // WHY: what its publisher sent before was in another topic file.
                return unread;
            }
            end.position = end.position.min(shape.base.position);
            end.number = end.number.min(shape.base.number);
        }
        // WHY: extents that are gone took their messages with them. Their publisher is taken to
        // have offered what it offered next.
        if is_owed && end.position > position {
            unread.lost = unread.lost.saturating_add(before(end));
        }
        unread
    }

    fn extent_shape(&self, id: ExtentId) -> Option<ExtentShape> {
        self.with_header(id, |base, offer| ExtentShape {
            base,
            capacity: offer.shape.capacity(),
            pinnable: offer.shape.request().pinnable,
            match_settings: offer.match_settings(),
        })
    }
}
