//! The lane: one writer, any number of readers, a stamp in every slot.
//!
//! A writer publishes position `p` by one store of the even stamp into slot `p mod capacity`. On
//! an *open* lane it says before, by the odd stamp, that the slot is no longer what it was, so
//! that a reader who is overwritten under its copy notices. Where every reader is gated (a
//! *gated-only* file) nobody can be in the slot, and the odd stamp is left out.

mod in_place;
mod reader;
mod writer;

use core::mem::size_of;

use crate::protocol::layout::published;
use crate::protocol::memory::LaneMemory;
use crate::protocol::sync::{Word, edge};

pub use in_place::{
    Blocked, Copying, InPlace, Pinned, count, count_all, let_go, number_at, take_pin, unpin,
};
pub use reader::{LaneReader, UNGATED};
pub use writer::LaneWriter;

/// A reader that was lapped this often within one call gives up until the next call.
pub const RESYNC_MAX: u32 = 3;

/// Cache lines that the hint of a writer runs ahead.
const PREFETCH_LINES: u64 = 32;

/// How many slots ahead of the next one a writer asks for its lines, so that several transfers
/// from the reader's cache are under way at once.
///
/// Measured on two Zen 5 cores, capacity 256, streaming 1:1, million messages a second with the
/// next slot asked for, and with this: 16 B 164 → 352, 304 B 62 → 87, 1480 B 19 → 23; where the
/// cores share no cache (floor 245 ns instead of 55): 16 B 24 → 33.
const fn prefetch_distance(slot_lines: u64, capacity: u64) -> u64 {
    let slots = PREFETCH_LINES / slot_lines;
    let slots = if slots < 2 { 2 } else { slots };
    let slots = if slots > 16 { 16 } else { slots };
    let quarter = capacity / 4;
    if slots < quarter { slots } else { quarter }
}

/// Every reliable reader is a whole lane behind; nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom;

/// What a look at a lane found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polled {
    /// A message was copied out.
    Message,
    /// Nothing new.
    Empty,
    /// The writer lapped this reader faster than it could follow; try again.
    Busy,
}

/// A position of a lane and the slot that it falls into.
///
/// WHY: a copy of the addresses, or the compiler loads them again after every access to what is
/// shared.
struct Spot<M> {
    memory: M,
    pos: u64,
    index: u64,
    mask: u64,
    /// Copies cannot race.
    exclusive: bool,
}

impl<M: LaneMemory> Spot<M> {
    /// The one of position `pos`.
    #[inline(always)]
    fn at(&self, pos: u64) -> Self
    where
        M: Clone,
    {
        let Self { mask, exclusive, .. } = *self;
        Self { memory: self.memory.clone(), pos, index: pos & mask, mask, exclusive }
    }

    /// The one of the position that comes `slots` after this one, in the same lap.
    #[inline(always)]
    fn behind(&self, slots: u64) -> Self
    where
        M: Clone,
    {
        let Self { pos, index, mask, exclusive, .. } = *self;
        Self {
            memory: self.memory.clone(),
            pos: pos + slots,
            index: index + slots,
            mask,
            exclusive,
        }
    }

    #[inline(always)]
    fn stamp(&self) -> &M::Word {
        self.memory.stamp(self.index)
    }

    /// True if nothing was written there since it was seen to be published.
    #[inline(always)]
    fn is_still(&self) -> bool {
        if self.exclusive {
            return true;
        }
        // ORDERING(overwrite): pairs with the fence in `LaneWriter::write`.
        self.memory.fence(edge::OVERWRITE_CHECK);
        // Relaxed: the fence orders it after the payload.
        self.stamp().get() == published(self.pos)
    }
}

const _: () = assert!(size_of::<usize>() == 8, "positions are used as 64-bit offsets");
