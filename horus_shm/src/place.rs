//! A reader's place: its block in the file, with its bit among the sleepers.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use crate::error::OpenError;
use crate::owner;
use crate::region::Access;
use crate::segment::Segment;
use crate::sync::{Word, edge};
use crate::wait::{Event, Order, Sleeper};

/// The place of one announced reader; given back on drop.
#[derive(Debug)]
pub(crate) struct Place {
    index: u32,
    /// Threads of this process that sleep here.
    sleepers: Mutex<u32>,
    segment: Arc<Segment>,
}

impl Place {
    /// Claims the first place that is free or whose reader is dead.
    ///
    /// # Errors
    ///
    /// [`OpenError::TooManySubscribers`] or [`OpenError::Io`].
    pub(crate) fn claim(segment: &Arc<Segment>) -> Result<Self, OpenError> {
        let limit = segment.shape().request().reader_limit;
        let blocks: Vec<_> = (0..limit)
            .map(|reader| segment.reader_block(reader, Access::Write))
            .collect::<Result<_, _>>()?;
        let owners = blocks.iter().map(|block| &block.owner);
        let claimed = owner::claim_first(owners, segment.me(), |owner| segment.is_dead(owner));
        let (index, _) = claimed.ok_or(OpenError::TooManySubscribers { limit })?;
        let this = Self { index, sleepers: Mutex::new(0), segment: Arc::clone(segment) };
        clear(segment, index);
        Ok(this)
    }

    /// Where its reader sleeps; nowhere, if this is a copy in a forked child.
    pub(crate) fn event(&self) -> Option<Event<'_>> {
        let order = Order::of_waiter(self.segment.contract().wake_edge);
        let block = self.segment.wait_block(Access::Write);
        let block = block.ok().filter(|_| !self.segment.is_forked())?;
        let event = Event::of_messages(block, Sleeper::Bit(self.index), order);
        Some(event.shared(&self.sleepers))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A forked child owns nothing here.
        if self.segment.is_forked() {
            return;
        }
        clear(&self.segment, self.index);
        if let Ok(block) = self.segment.reader_block(self.index, Access::Write) {
            owner::release(&block.owner);
        }
    }
}

/// Takes back what the owner of a place had announced. Only its owner may.
fn clear(segment: &Segment, index: u32) {
    if let Ok(wait) = segment.wait_block(Access::Write) {
        wait.waiters.lower(1 << index);
    }
}

/// Wakes in a row that woke nobody, after which the waker makes sure that the sleepers live.
pub(crate) const FRUITLESS_MAX: u32 = 8;

/// Frees the place `index` if its reader is dead: nobody waits for that one any more.
pub(crate) fn reap(segment: &Segment, index: u32) -> bool {
    let Ok(block) = segment.reader_block(index, Access::Write) else { return false };
    // Relaxed: the exchange decides.
    let owner = block.owner.get();
    // ORDERING(owner): pairs with the release in `owner::release`.
    if !segment.is_dead(owner) || !block.owner.claim(owner, segment.me(), edge::OWNER_CLAIM) {
        return false;
    }
    clear(segment, index);
    owner::release(&block.owner);
    true
}

/// Frees the places of dead readers that are announced as asleep.
#[cold]
pub(crate) fn reap_sleepers(segment: &Segment) {
    let Ok(wait) = segment.wait_block(Access::Write) else { return };
    for reader in bits(&wait.waiters, segment.shape().request().reader_limit) {
        reap(segment, reader);
    }
}

/// Clears the bits of publishers that died waiting for room, or left.
#[cold]
pub(crate) fn reap_publishers(segment: &Segment) {
    let Ok(wait) = segment.wait_block(Access::Write) else { return };
    for lane in bits(&wait.room_waiters, segment.shape().request().lane_limit) {
        let Ok(block) = segment.lane_block(lane, Access::Read) else { continue };
        // Relaxed: a wake too many, or one that comes a slice too late, is all that is at stake.
        let owner = block.owner.get();
        if owner != 0 && !segment.is_dead(owner) {
            continue;
        }
        wait.room_waiters.lower(1 << lane);
        if block.owner.get() != owner {
            // The next owner may have announced itself meanwhile.
            wait.room_waiters.raise(1 << lane);
        }
    }
}

fn bits(word: &AtomicU64, limit: u32) -> impl Iterator<Item = u32> {
    // Relaxed: what is missed comes next time.
    let bits = word.get();
    (0..limit).filter(move |bit| bits & 1 << bit != 0)
}
