//! Watches on a consumer that another thread holds: is there a message for it, and a sleep until
//! there is one.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::alarm;
use crate::endpoint::reader_slot::ReaderSlot;
use crate::file::error::LaneNotMapped;
use crate::file::segment::{Blocks as _, Segment};
use crate::os::region::Access;
use crate::protocol::layout::{PARTICIPANTS_MAX, POSITION_MAX};
use crate::protocol::sync::{Word, edge};
use crate::wait::{
    EVENTS_MAX, Event, Eventcount, POLL_INTERVAL, SLEEP_MAX, WaitPolicy, wait_in_slices, wake,
};

/// The position of a consumer in each lane, for threads that wait on its behalf.
#[derive(Debug)]
pub(crate) struct Progress {
    /// By lane: the position that is read next. WHY inline, not in an allocation of its own: every
    /// received message writes it.
    positions: [AtomicU64; PARTICIPANTS_MAX as usize],
    lanes: usize,
    /// A bit for each lane that is not read at all.
    ignored: AtomicU64,
    /// Not 0 once the consumer is dropped.
    closed: AtomicU64,
    /// Not 0 once a task waited for the consumer.
    alarmed: AtomicU64,
    /// A lane whose messages the consumer misses because it cannot be mapped.
    unmapped: Mutex<Option<LaneNotMapped>>,
}

impl Progress {
    pub(crate) fn new(starts: impl IntoIterator<Item = u64>) -> Self {
        let positions = [const { AtomicU64::new(0) }; PARTICIPANTS_MAX as usize];
        let starts = starts.into_iter().zip(&positions);
        let lanes = starts.map(|(start, position)| position.set(start)).count();
        let (ignored, closed, alarmed, unmapped) = Default::default();
        Self {
            positions,
            lanes,
            ignored,
            closed,
            alarmed,
            unmapped,
        }
    }

    /// Stores the position of a lane. Relaxed, all of it: a watch that sees it late looks again
    /// after the next message.
    #[inline(always)]
    pub(crate) fn set(&self, lane: u32, position: u64) {
        if let Some(known) = self.positions.get(lane as usize) {
            known.set(position);
        }
    }

    pub(crate) fn set_ignored(&self, lanes: u64) {
        self.ignored.set(lanes);
    }

    /// Stores the error of a lane that cannot be mapped, or `None` if there is none any more.
    #[cold]
    pub(crate) fn set_unmapped(&self, error: Option<LaneNotMapped>) {
        *self.unmapped.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// Makes the drop of the consumer also remove its alarms.
    pub(super) fn set_alarmed(&self) {
        self.alarmed.set(1);
    }
}

/// Marks a consumer as dropped for its watches, and wakes the threads that sleep on them.
#[cold]
pub(super) fn close(progress: &Arc<Progress>, place: Option<&ReaderSlot>) {
    // Relaxed: the fence below orders it before the load of the sleepers.
    progress.closed.set(1);
    if let Some(event) = place.and_then(ReaderSlot::event) {
        // ORDERING(wake): pairs with the fence in `sleep_once`.
        crate::protocol::sync::fence(edge::WAKE_LOOK);
        // Relaxed: as in `wait::has_sleepers`.
        if event.waiters().get() != 0 {
            wake(&event);
        }
    }
    if progress.alarmed.get() != 0 {
        alarm::forget(progress);
    }
}

/// Waits for the messages of a [`RawConsumer`](crate::RawConsumer) without holding it.
///
/// `Send` and `Sync`; any number of threads may wait on one. Keeps the topic open in this process,
/// but not the consumer's slot.
#[derive(Debug, Clone)]
pub struct Watch {
    segment: Arc<Segment>,
    progress: Arc<Progress>,
    /// The consumer's slot, under whose bit all threads sleep that wait on its behalf.
    place: Option<Weak<ReaderSlot>>,
}

impl Watch {
    pub(super) fn new(
        segment: &Arc<Segment>,
        progress: &Arc<Progress>,
        place: Option<&Arc<ReaderSlot>>,
    ) -> Self {
        let segment = Arc::clone(segment);
        let progress = Arc::clone(progress);
        Self {
            segment,
            progress,
            place: place.map(Arc::downgrade),
        }
    }

    /// Returns true if a publisher's head is past the consumer's position.
    ///
    /// Loads the head of each lane: a few nanoseconds for each that has changed. May return true
    /// for positions without a message for the consumer (skips, or a damaged file). Returns true in
    /// a forked child and for a truncated file, so that a caller polls the consumer and gets the
    /// error. If a publisher was killed before it stored the head, its last message shows when the
    /// next one is published.
    #[must_use]
    pub fn has_message(&self) -> bool {
        self.segment.check_health().is_err()
            || self
                .lanes()
                .any(|(head, position)| head > position && head <= POSITION_MAX)
    }

    /// Returns true once the consumer is dropped: there will be no message any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        // Relaxed: as in `has_message`.
        self.progress.closed.get() != 0
    }

    /// Returns true in a forked child, whose copy of the consumer receives nothing.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.segment.is_forked()
    }

    /// Returns a number that changes with every published message, read or not.
    #[must_use]
    pub fn arrivals(&self) -> u64 {
        self.lanes()
            .fold(0, |sum, (head, _)| sum.wrapping_add(head))
    }

    /// Returns the head, and the position of the consumer, of each lane that it reads.
    ///
    /// Relaxed, all of it: no payload is read because of it, and a sleeper has a fence before.
    fn lanes(&self) -> impl Iterator<Item = (u64, u64)> {
        let ignored = self.progress.ignored.get();
        let lanes = self.progress.positions[..self.progress.lanes]
            .iter()
            .enumerate();
        lanes
            .filter(move |(lane, _)| ignored & 1 << lane == 0)
            .map(|(lane, position)| {
                let block = self.segment.lane_block(lane as u32, Access::Read);
                (block.map_or(0, |block| block.head.get()), position.get())
            })
    }

    /// Polls `look` until it returns a value, or until `wait_policy` ends. Sleeps between two polls
    /// until one of `watches` gets a message or loses its consumer.
    ///
    /// Blocks; wakes at least every 50 ms to poll. It polls every millisecond if one of the watches
    /// is that of an observer, which cannot be woken; if there are more than 128; or if there are
    /// several and the kernel lacks `futex_waitv` (Linux before 5.16).
    pub fn wait_any<R>(
        watches: &[Self],
        wait_policy: WaitPolicy,
        look: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        Self::wait_any_or(None, watches, wait_policy, look)
    }

    /// Does the same as [`Self::wait_any`], but also sleeps at `own`.
    pub(super) fn wait_any_or<R>(
        own: Option<Event<'_>>,
        watches: &[Self],
        wait_policy: WaitPolicy,
        look: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        // WHY kept: the bit under which this thread sleeps must not be given to another reader.
        let places: Vec<_> = watches.iter().map(Self::place).collect();
        let theirs = places.iter().flatten().filter_map(|place| place.event());
        let events: Vec<_> = own.into_iter().chain(theirs).take(EVENTS_MAX).collect();
        let open = watches.iter().filter(|watch| !watch.is_closed()).count();
        let all = open + usize::from(own.is_some());
        let slice = if events.len() < all {
            POLL_INTERVAL
        } else {
            SLEEP_MAX
        };
        let events: Vec<_> = events.iter().collect();
        wait_in_slices(&events, wait_policy, slice, look)
    }

    fn place(&self) -> Option<Arc<ReaderSlot>> {
        self.place.as_ref()?.upgrade()
    }

    /// Returns a watch on the same consumer for lanes that cannot be mapped.
    #[must_use]
    pub fn lanes_mapped(&self) -> LaneWatch {
        LaneWatch {
            progress: Arc::downgrade(&self.progress),
        }
    }

    /// Returns the progress of the watched consumer.
    pub(super) const fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Returns the topic's segment.
    #[must_use]
    pub const fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }
}

/// Reports whether a [`RawConsumer`](crate::RawConsumer) misses a publisher whose lane it cannot
/// map.
///
/// `Send` and `Sync`. Keeps neither the consumer nor its topic open.
#[derive(Debug, Clone)]
pub struct LaneWatch {
    progress: Weak<Progress>,
}

impl LaneWatch {
    /// Returns the error of such a lane, as the consumer's last call to receive found it; `None` if
    /// there is none, or the consumer is dropped. Takes a lock that the consumer takes only when
    /// this changes.
    #[must_use]
    pub fn unmapped(&self) -> Option<LaneNotMapped> {
        let progress = self.progress.upgrade()?;
        *progress
            .unmapped
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true once the consumer is dropped.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        // Relaxed: nothing is read because of it.
        self.progress
            .upgrade()
            .is_none_or(|progress| progress.closed.get() != 0)
    }

    /// Returns true if both are watches on the same consumer.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Weak::ptr_eq(&self.progress, &other.progress)
    }
}
