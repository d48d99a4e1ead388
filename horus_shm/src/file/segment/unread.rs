//! The messages that readers have not passed yet, as any process sees them.

use crate::file::card::Card;
use crate::file::header::ExtentId;
use crate::file::segment::{Blocks as _, TopicMemory};
use crate::os::region::Access;
use crate::protocol::lane::Unread;
use crate::protocol::layout::POSITION_MAX;
use crate::protocol::sync::{Word, edge};

/// Maximum number of extents of a lane that are looked at.
const EXTENTS_MAX: usize = 16;

/// The facts about an extent that decide what a reader still gets. They never change.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExtentFacts {
    id: ExtentId,
    /// Its first position.
    base: u64,
    /// Number of its slots.
    capacity: u64,
    /// The card of its publisher.
    card: Card,
}

impl TopicMemory {
    /// Returns what the reader with the card `reader`, which has passed all positions of a lane
    /// before `next`, has not passed. Opens the lane files that this process has not seen before.
    ///
    /// A position counts as a message, also if its slot was stepped over.
    pub(crate) fn unread(&self, lane: u32, next: u64, reader: &Card) -> Unread {
        let Ok(block) = self.lane_block(lane, Access::Read) else {
            return Unread::default();
        };
        // ORDERING(head): pairs with the store in `LaneWriter::publish`.
        let mut end = Word::load(&block.head, edge::HEAD_SEE).min(POSITION_MAX);
        // Relaxed: the acquired head orders it. A newer extent begins at the head or behind it.
        let newest = block.generation.get();
        let mut unread = Unread::default();
        let mut is_owed = true;
        for generation in (1..=newest).rev().take(EXTENTS_MAX) {
            if end <= next {
                return unread;
            }
            let Some(extent) = self.extent_facts(ExtentId { lane, generation }) else {
                if generation == newest {
                    // WHY: a reader that cannot open the lane tries again.
                    unread.waiting = end - next;
                    return unread;
                }
                break;
            };
            is_owed = extent.card.mismatch(reader).is_none();
            if is_owed {
                let here = Unread::of(next.max(extent.base), end, extent.capacity);
                unread = unread.and(here);
            }
            end = end.min(extent.base);
        }
        // WHY: extents that are gone took their messages with them. Their publisher is taken to
        // have offered what it offered next.
        if is_owed {
            unread.lost += end.saturating_sub(next);
        }
        unread
    }

    fn extent_facts(&self, id: ExtentId) -> Option<ExtentFacts> {
        if let Some(facts) = self.lock_facts().iter().find(|facts| facts.id == id) {
            return Some(*facts);
        }
        let mapped = {
            let extents = self.lock_extents();
            let extent = extents.iter().find(|extent| extent.id == id);
            extent.map(|extent| (extent.base, extent.offer.clone()))
        };
        let (base, offer) = mapped.or_else(|| self.header_of(id))?;
        let facts = ExtentFacts {
            id,
            base: base.position,
            capacity: offer.shape.capacity(),
            card: offer.card(),
        };
        let is_of_use = |old: &ExtentFacts| {
            old.id.lane != id.lane || old.id.generation.abs_diff(id.generation) < EXTENTS_MAX as u64
        };
        let mut known = self.lock_facts();
        known.retain(is_of_use);
        known.push(facts);
        Some(facts)
    }
}
