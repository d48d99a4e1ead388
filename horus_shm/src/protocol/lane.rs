//! Lanes: rings of slots with one writer and any number of readers. The slots have stamps.
//!
//! A writer publishes position `p` by one store of the even stamp into slot `p mod capacity`.
//! Before it writes the message, it stores the odd stamp, which marks the slot as invalid. A reader
//! that copies the slot at that time notices this, and discards its copy. On an *exclusive* lane (a
//! channel between threads) every reader is gated, so that no reader accesses a slot that is being
//! written, and the writer omits the odd stamp. The slots of such a lane may have no stamps: the
//! writer then publishes by the lane's head ([`LaneMemory::publishes_by_head`]).

mod drain;
mod in_place;
mod losses;
mod message_numbers;
mod reader;
mod unread;
mod writer;

use core::mem::size_of;

use crate::protocol::layout::published_stamp;
use crate::protocol::memory::LaneMemory;
use crate::protocol::sync::{Word, edge};

pub use in_place::{CopyOptions, PinnableLane, PinnedMessage, ReaderPin, SlotBlocked};
pub use message_numbers::{
    end_position_and_message_number, message_count_and_end, message_count_and_end_after_death,
    message_number_at,
};
pub use reader::LaneReader;
use unread::JumpToNewest;
pub use unread::{UnreadCounts, lapped_reader_distance};
pub use writer::LaneWriter;

/// Maximum number of times that a reader starts again within one call because the writer has
/// overwritten the messages that the reader was about to read. After that, the call returns without
/// a message.
pub const OVERWRITE_RETRIES_MAX: u32 = 3;

/// Number of cache lines that a writer prefetches ahead of its next slot.
const WRITER_PREFETCH_LINES: u64 = 32;

/// Returns how many slots ahead of the next slot a writer prefetches, so that several transfers
/// from the reader's cache are in flight at once.
///
/// Measured on two Zen 5 cores, with one writer, one reader and a capacity of 256. Millions of
/// messages a second if only the next slot is prefetched → with this distance: 16 B 164 → 352, 304
/// B 62 → 87, 1480 B 19 → 23; on cores that share no cache (with a latency floor of 245 ns instead
/// of 55): 16 B 24 → 33.
const fn prefetch_distance(cache_lines_per_slot: u64, capacity: u64) -> u64 {
    let slots = WRITER_PREFETCH_LINES / cache_lines_per_slot;
    let slots = if slots < 2 { 2 } else { slots };
    let slots = if slots > 16 { 16 } else { slots };
    let quarter = capacity / 4;
    if slots < quarter { slots } else { quarter }
}

/// The error of a write for which there is no free slot, because a reliable reader has not read the
/// oldest message yet. Nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom;

/// The result of an attempt to receive a message from a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollOutcome {
    /// A message was received: it was copied to the caller's buffer.
    Message,
    /// The lane contains no message that this reader has not read.
    Empty,
    /// The writer overwrote every message that the reader tried to copy. The caller has to try
    /// again.
    Busy,
}

/// A position in a lane, and the slot that belongs to it.
///
/// WHY a type: it holds copies of the lane's addresses, which the compiler would otherwise load
/// again after every access to shared memory.
struct LaneSlot<M> {
    memory: M,
    pos: u64,
    index: u64,
    mask: u64,
}

impl<M: LaneMemory> LaneSlot<M> {
    /// Returns the slot that belongs to position `pos`.
    #[inline(always)]
    fn slot_at(&self, pos: u64) -> Self
    where
        M: Clone,
    {
        let mask = self.mask;
        Self {
            memory: self.memory.clone(),
            pos,
            index: pos & mask,
            mask,
        }
    }

    /// Returns the slot that comes `slots_ahead` slots after this one in memory. The caller makes
    /// sure that this is not past the end of the ring.
    #[inline(always)]
    fn slot_after(&self, slots_ahead: u64) -> Self
    where
        M: Clone,
    {
        let Self {
            pos, index, mask, ..
        } = *self;
        Self {
            memory: self.memory.clone(),
            pos: pos + slots_ahead,
            index: index + slots_ahead,
            mask,
        }
    }

    #[inline(always)]
    fn stamp(&self) -> &M::Word {
        self.memory.stamp(self.index)
    }

    /// Returns true if the slot still holds the message whose stamp the caller has seen. A copy
    /// that was made in between is then whole.
    #[inline(always)]
    fn is_unchanged(&self) -> bool {
        if self.memory.is_exclusive() {
            return true;
        }
        // ORDERING(overwrite): pairs with the fence in `LaneWriter::write`.
        self.memory.fence(edge::OVERWRITE_CHECK);
        // Relaxed: the fence orders it after the payload.
        self.stamp().get() == published_stamp(self.pos)
    }
}

const _: () = assert!(
    size_of::<usize>() == 8,
    "positions are used as 64-bit offsets"
);
