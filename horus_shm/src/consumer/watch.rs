//! A watch on a consumer that somebody else holds: is there a message for it, and how to sleep
//! until there is.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::layout::POSITION_MAX;
use crate::region::Access;
use crate::segment::Segment;
use crate::sync::Word;
use crate::wait::{Event, Order, Patience, Sleeper, wait_until};

/// How far a consumer is, for those who wait on its behalf.
#[derive(Debug)]
pub(crate) struct Progress {
    /// By lane: the position that is read next.
    positions: Box<[AtomicU64]>,
    /// A bit a lane that is not read at all.
    ignored: AtomicU64,
}

impl Progress {
    pub(crate) fn new(starts: impl IntoIterator<Item = u64>) -> Self {
        let positions = starts.into_iter().map(AtomicU64::new).collect();
        Self { positions, ignored: AtomicU64::new(0) }
    }

    /// Relaxed, all of it: a watch that is late is looked at again after the next message.
    #[inline(always)]
    pub(crate) fn set(&self, lane: u32, position: u64) {
        if let Some(known) = self.positions.get(lane as usize) {
            known.set(position);
        }
    }

    pub(crate) fn set_ignored(&self, lanes: u64) {
        self.ignored.set(lanes);
    }
}

/// Waits for the messages of a [`RawConsumer`](crate::RawConsumer) without holding it.
///
/// `Send` and `Sync`; any number of threads may wait at one. Once the consumer is gone nothing
/// moves any more, and a watch says for good what it said last.
#[derive(Debug, Clone)]
pub struct Watch {
    segment: Arc<Segment>,
    progress: Arc<Progress>,
    /// The consumer's place, which is the bit that it sleeps under.
    place: Option<u32>,
}

impl Watch {
    pub(crate) const fn new(
        segment: Arc<Segment>,
        progress: Arc<Progress>,
        place: Option<u32>,
    ) -> Self {
        Self { segment, progress, place }
    }

    /// True if a publisher says that it published something which the consumer has not read yet.
    ///
    /// A look at the head of each lane: a few nanoseconds for each that has changed. May say true
    /// for messages that are not for the consumer (skips), or for none in a damaged file. True in a
    /// forked child and for a truncated file: who asks the consumer then learns why nothing comes.
    #[must_use]
    pub fn has_message(&self) -> bool {
        if self.segment.look_around().is_err() {
            return true;
        }
        // Relaxed, all of it: nothing is read by it, and a sleeper has a fence before.
        let ignored = self.progress.ignored.get();
        self.progress.positions.iter().enumerate().any(|(lane, position)| {
            let block = self.segment.lane_block(lane as u32, Access::Read);
            let head = block.map_or(0, |block| block.head.get());
            ignored & 1 << lane == 0 && head > position.get() && head <= POSITION_MAX
        })
    }

    /// Looks until there is something, or until the patience ends, and sleeps between two looks
    /// until one of `watches` gets a message.
    ///
    /// Blocks; wakes at least every 50 ms to look, and every millisecond if one of the watches is
    /// that of an observer, which cannot be woken, or if the kernel lacks `futex_waitv` (Linux
    /// before 5.16) and there are several. At most 128 watches; others are looked after once a
    /// slice.
    pub fn wait_any<R>(
        watches: &[Self],
        patience: Patience,
        look: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        let events: Option<Vec<_>> = watches.iter().map(Self::event).collect();
        let events = events.unwrap_or_default();
        let events: Vec<_> = events.iter().collect();
        wait_until(&events, patience, look)
    }

    fn event(&self) -> Option<Event<'_>> {
        event_of(&self.segment, self.place)
    }

    /// The topic.
    #[must_use]
    pub const fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }
}

/// Where the reader in `place` sleeps; nowhere, if it has no place or is a copy in a child.
pub(crate) fn event_of(segment: &Segment, place: Option<u32>) -> Option<Event<'_>> {
    let order = Order::of_waiter(segment.contract().wake_edge);
    let block = segment.wait_block(Access::Write).ok().filter(|_| !segment.is_forked())?;
    Some(Event::of_messages(block, Sleeper::Bit(place?), order))
}
