//! Waits for messages, and wakes the publishers that wait for room in a lane.

use std::sync::atomic::AtomicU64;

use super::RawConsumer;
use crate::endpoint::consumer::watch::Watch;
use crate::endpoint::reader_slot::{self, FRUITLESS_WAKES_MAX};
use crate::file::error::OpenError;
use crate::file::segment::{Segment, TopicBlocks as _};
use crate::os::region::Access;
use crate::protocol::lane::PollOutcome;
use crate::protocol::layout::WaitBlock;
use crate::wait::{
    EVENTCOUNTS_MAX, EventcountView, SleeperKind, WaitPolicy, WakeBarrier, WakeOrder, has_sleepers,
    wait_until, wake,
};

/// Wakes the reliable publishers that sleep while their lanes are full. A gated reader uses it
/// after it has freed slots.
#[derive(Debug)]
pub(super) struct PublisherWaker {
    block: *const WaitBlock<AtomicU64>,
    order: WakeOrder,
    /// Number of wakes in a row that woke no thread. After too many of them, dead publishers are
    /// removed from the list of sleepers.
    fruitless: u32,
}

impl PublisherWaker {
    /// Creates the waker for the publishers of the topic in `segment`. Must be called before the
    /// first cursor is stored, because a process that wakes others must be registered with the
    /// kernel.
    pub(super) fn of_topic(segment: &Segment) -> Result<Self, OpenError> {
        // WHY never a fence: publishers that wait make a barrier.
        let order = WakeOrder::of_sender(WakeBarrier::Membarrier);
        let block: *const _ = segment.wait_block(Access::Write)?;
        Ok(Self {
            block,
            order,
            fruitless: 0,
        })
    }

    #[inline(always)]
    fn event(&self) -> EventcountView<'_> {
        // SAFETY: it points into the segment, which the consumer keeps; it contains only atomics.
        EventcountView::of_room(unsafe { &*self.block }, SleeperKind::Counted, self.order)
    }
}

impl RawConsumer {
    /// Wakes the publishers that sleep until a slot is free. The caller has just advanced this
    /// reader's cursor, which frees slots.
    #[inline(always)]
    pub(super) fn wake_sleeping_publishers(&mut self) {
        if self
            .room
            .as_ref()
            .is_some_and(|room| has_sleepers(&room.event()))
        {
            self.wake_publishers_and_reap_dead();
        }
    }

    #[cold]
    fn wake_publishers_and_reap_dead(&mut self) {
        let Some(room) = &mut self.room else { return };
        if wake(&room.event()) > 0 {
            room.fruitless = 0;
            return;
        }
        // WHY: as in `RawProducer::wake_sleeping_readers`: the bit of a dead publisher would cost a
        // system call a message.
        room.fruitless += 1;
        if room.fruitless >= FRUITLESS_WAKES_MAX {
            room.fruitless = 0;
            reader_slot::reap_dead_publishers(&self.segment);
        }
    }

    /// Receives as [`Self::recv`] does, but waits for a message until `wait_policy` ends.
    ///
    /// Blocks in the same way as [`Watch::wait_any`].
    ///
    /// # Safety
    ///
    /// The same as for [`Self::recv`].
    pub unsafe fn recv_until(
        &mut self,
        wait_policy: WaitPolicy,
        dst: *mut u8,
        bytes: usize,
    ) -> PollOutcome {
        loop {
            let place = self.place.clone();
            let fences = place.as_ref().map(|place| place.publishers_use_fences());
            let event = place.as_ref().and_then(|place| place.event());
            let files = self.file_change_count();
            let of_former = self
                .former_file_readers()
                .iter()
                .filter_map(|former| former.place.clone());
            let of_former: Vec<_> = of_former.collect();
            let former = of_former.iter().filter_map(|place| place.event());
            let former: Vec<_> = former.take(EVENTCOUNTS_MAX - 1).collect();
            let all: Vec<_>;
            let events: &[&EventcountView<'_>] = match &event {
                Some(event) if former.is_empty() => &[event],
                Some(event) => {
                    all = former.iter().chain([event]).collect();
                    &all
                }
                None => &[],
            };
            let mut is_other_order = false;
            let look = || {
                // SAFETY: `dst` is writable for `bytes`, by the contract.
                let polled = unsafe { self.recv(dst, bytes) };
                is_other_order = files != self.file_change_count()
                    || fences != place.as_ref().map(|place| place.publishers_use_fences());
                let is_over = polled == PollOutcome::Message
                    || is_other_order
                    || self.would_cut_message(bytes)
                    || self.check().is_err();
                is_over.then_some(polled)
            };
            let polled = wait_until(events, wait_policy, look).unwrap_or(PollOutcome::Empty);
            if !is_other_order || polled == PollOutcome::Message {
                return polled;
            }
        }
    }

    /// Returns true if a file that this consumer reads has a live publisher, which need not match.
    /// Does not look at a file to which the consumer has yet to move, allocates nothing, and takes
    /// about 0.2 µs.
    #[must_use]
    pub fn has_publisher(&self) -> bool {
        self.readers_of_all_files()
            .any(|file| file.segment.has_publisher())
    }

    /// Returns a watch, with which another thread can wait until this consumer has a message.
    #[must_use]
    pub fn watch(&self) -> Watch {
        // WHY: from the oldest file, the watch leads to all later ones.
        let oldest = self.former_file_readers().first().unwrap_or(self);
        oldest.watch_without_former_files()
    }

    /// Returns a watch on this consumer that does not show messages in its former files.
    pub(super) fn watch_without_former_files(&self) -> Watch {
        Watch::new(&self.segment, &self.progress, self.place.as_ref())
    }
}
