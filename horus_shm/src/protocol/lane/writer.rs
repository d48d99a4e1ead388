//! Writers of a lane.

use super::{NoRoom, Spot, prefetch_distance};
use crate::protocol::copy::Intent;
use crate::protocol::gate::JOINING;
use crate::protocol::layout::{published, writing};
use crate::protocol::memory::LaneMemory;
use crate::protocol::sync::{Word, edge};

/// The writer of a lane.
#[derive(Debug)]
pub struct LaneWriter<M> {
    pub(super) memory: M,
    pub(super) mask: u64,
    pub(super) pos: u64,
    /// First position for which the gates must be read again.
    pub(super) limit: u64,
    /// Number of slots ahead of the next position that are prefetched; see [`prefetch_distance`].
    pub(super) ahead: u64,
    pub(super) exclusive: bool,
    /// Number of all positions ever skipped.
    pub(super) skips: u64,
    /// By gate: the cursor at which the writer gave the gate up; 0 for a gate that counts.
    pub(super) given_up: Box<[u64]>,
}

impl<M: LaneMemory + Clone> LaneWriter<M> {
    /// Creates the writer of a lane that was just claimed, from position `pos` on.
    ///
    /// `gated`: readers may register gates. `exclusive`: all readers do, so copies cannot race.
    pub fn new(memory: M, pos: u64, gated: bool, exclusive: bool) -> Self {
        let mask = memory.capacity() - 1;
        // WHY: with `pos` as the limit the first write reads the gates.
        let limit = if gated { pos } else { u64::MAX };
        let gates = if gated {
            memory.gate_limit() as usize
        } else {
            0
        };
        let ahead = prefetch_distance(memory.slot_lines(), memory.capacity());
        let skips = 0;
        let given_up = vec![0; gates].into();
        Self {
            memory,
            mask,
            pos,
            limit,
            ahead,
            exclusive,
            skips,
            given_up,
        }
    }

    /// Copies `bytes` bytes at `src` into the next slot and publishes it. Wait-free.
    ///
    /// # Errors
    ///
    /// [`NoRoom`] if a gate is a whole lane behind.
    ///
    /// # Safety
    ///
    /// * `src` is readable for `bytes` bytes, which fit the slot's payload.
    /// * This is the lane's only writer.
    #[inline(always)]
    pub unsafe fn write(&mut self, src: *const u8, bytes: usize) -> Result<(), NoRoom> {
        let pos = self.pos;
        if pos >= self.limit && !self.find_room() {
            return Err(NoRoom);
        }
        let spot = self.spot();
        let Spot { memory, index, .. } = &spot;
        if spot.exclusive {
            // SAFETY: `src` is valid for `bytes`, this is the only writer, and the gates keep
            // readers out.
            unsafe { memory.store_exclusive(*index, src, bytes) };
        } else {
            // Relaxed: the fence below orders it before the payload.
            spot.stamp().set(writing(pos));
            // ORDERING(overwrite): pairs with the fence in `Spot::is_still`.
            memory.fence(edge::OVERWRITE_BEGIN);
            // SAFETY: `src` is readable for `bytes`, which fit, and this is the only writer, by the
            // contract.
            unsafe { memory.store_racing(*index, src, bytes) };
        }
        self.publish(&spot, published(pos));
        if let Some(index) = self.ahead_of(&spot) {
            spot.memory.prefetch(index, Intent::Write);
        }
        Ok(())
    }

    /// Returns the position of the next message, and its slot.
    #[inline(always)]
    pub(super) fn spot(&self) -> Spot<M> {
        let Self {
            pos,
            mask,
            exclusive,
            ..
        } = *self;
        let exclusive = exclusive || M::EXCLUSIVE;
        Spot {
            memory: self.memory.clone(),
            pos,
            index: pos & mask,
            mask,
            exclusive,
        }
    }

    /// Returns the slot to prefetch now, which will be written soon after `spot`.
    ///
    /// WHY only if it is known to be free: otherwise the hint would take a cache line away from a
    /// reader that is in the slot.
    #[inline(always)]
    pub(super) fn ahead_of(&self, spot: &Spot<M>) -> Option<u64> {
        let pos = spot.pos + 1 + self.ahead;
        (pos < self.limit).then_some(pos & spot.mask)
    }

    /// Publishes the current position, which is `spot`, by its stamp, and goes on to the next one.
    #[inline(always)]
    pub(super) fn publish(&mut self, spot: &Spot<M>, stamp: u64) {
        let next = spot.pos + 1;
        // ORDERING(slot): pairs with the load in `LaneReader::read`.
        spot.stamp().store(stamp, edge::SLOT_PUBLISH);
        // ORDERING(head): pairs with the loads in `LaneReader::resync` and `takeover::session`.
        spot.memory.block().head.store(next, edge::HEAD_PUBLISH);
        self.pos = next;
    }

    /// Reads the gates again; returns true if the next position may be written.
    #[cold]
    pub(super) fn find_room(&mut self) -> bool {
        // ORDERING(gate): pairs with the fence in `gate::join`.
        self.memory.fence(edge::GATE_SCAN);
        let mut least = self.pos;
        for (gate, &given_up) in self.given_up.iter().enumerate() {
            // ORDERING(cursor): pairs with the store in `LaneReader::advance`.
            let cursor = self.memory.cursor(gate as u32).load(edge::CURSOR_SEE) & !JOINING;
            if cursor != 0 && cursor != given_up {
                least = least.min(cursor - 1);
            }
        }
        self.limit = least.saturating_add(self.memory.room());
        self.pos < self.limit
    }

    /// Returns the gate that is furthest behind and its cursor, if any gate counts.
    pub fn slowest_gate(&self) -> Option<(u32, u64)> {
        let cursors = self
            .given_up
            .iter()
            .enumerate()
            .filter_map(|(gate, &given_up)| {
                // Relaxed: it only selects the reader to probe; `find_room` decides.
                let cursor = self.memory.cursor(gate as u32).get() & !JOINING;
                (cursor != 0 && cursor != given_up).then_some((gate as u32, cursor))
            });
        cursors.min_by_key(|&(_, cursor)| cursor)
    }

    /// Stops waiting for `gate` until its cursor moves on from `cursor`.
    pub fn give_up(&mut self, gate: u32, cursor: u64) {
        self.given_up[gate as usize] = cursor;
    }

    /// Returns the position of the next write: the number of positions written so far.
    pub const fn position(&self) -> u64 {
        self.pos
    }

    /// Returns the memory under the lane.
    pub const fn memory(&self) -> &M {
        &self.memory
    }
}
