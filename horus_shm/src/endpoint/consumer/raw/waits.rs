//! Waiting for messages, and telling those who wait for room.

use std::sync::atomic::AtomicU64;

use super::{RawConsumer, Reached};
use crate::endpoint::consumer::watch::Watch;
use crate::endpoint::reader_slot::{self, FRUITLESS_MAX};
use crate::file::error::OpenError;
use crate::file::segment::{Blocks as _, Segment};
use crate::os::region::Access;
use crate::protocol::lane::Polled;
use crate::protocol::layout::WaitBlock;
use crate::wait::{Event, Sleeper, WaitPolicy, WakeOrder, has_sleepers, wait_until, wake};

/// Where the publishers of a reliable topic wait for room.
#[derive(Debug)]
pub(super) struct Room {
    block: *const WaitBlock<AtomicU64>,
    order: WakeOrder,
    /// Wakes in a row that woke nobody.
    fruitless: u32,
}

impl Room {
    /// Of the topic in `segment`. To be asked for before the first cursor is stored: whoever wakes
    /// others must be known to the kernel.
    pub(super) fn of(segment: &Segment) -> Result<Self, OpenError> {
        let order = WakeOrder::of_sender(segment.contract().wake_edge);
        let block: *const _ = segment.wait_block(Access::Write)?;
        Ok(Self { block, order, fruitless: 0 })
    }

    #[inline(always)]
    fn event(&self) -> Event<'_> {
        // SAFETY: points into the segment, which the consumer keeps; all of it atomics.
        Event::of_room(unsafe { &*self.block }, Sleeper::Counted, self.order)
    }
}

impl RawConsumer {
    /// Tells those who wait, on either side, how far the reader of a lane is.
    #[inline(always)]
    pub(super) fn note(&mut self, reached: Reached) {
        self.progress.set(reached.lane, reached.position);
        self.wake_publishers_that_sleep();
    }

    /// Wakes the publishers that wait for room, after this reader's cursors changed.
    #[inline(always)]
    pub(super) fn wake_publishers_that_sleep(&mut self) {
        if self.room.as_ref().is_some_and(|room| has_sleepers(&room.event())) {
            self.wake_publishers();
        }
    }

    #[cold]
    fn wake_publishers(&mut self) {
        let Some(room) = &mut self.room else { return };
        if wake(&room.event()) > 0 {
            room.fruitless = 0;
            return;
        }
        // WHY: as in `RawProducer::wake`: the bit of a dead one would cost a system call a message.
        room.fruitless += 1;
        if room.fruitless >= FRUITLESS_MAX {
            room.fruitless = 0;
            reader_slot::reap_publishers(&self.segment);
        }
    }

    /// [`Self::recv`], but waits for a message until the patience ends.
    ///
    /// Blocks; see [`Watch::wait_any`].
    ///
    /// # Safety
    ///
    /// As [`Self::recv`].
    pub unsafe fn recv_until(
        &mut self,
        wait_policy: WaitPolicy,
        dst: *mut u8,
        bytes: usize,
    ) -> Polled {
        let place = self.place.clone();
        let event = place.as_ref().and_then(|place| place.event());
        let events: &[&Event<'_>] = match &event {
            Some(event) => &[event],
            None => &[],
        };
        let look = || {
            // SAFETY: the caller's contract.
            let polled = unsafe { self.recv(dst, bytes) };
            (polled == Polled::Message || self.check().is_err()).then_some(polled)
        };
        wait_until(events, wait_policy, look).unwrap_or(Polled::Empty)
    }

    /// A watch on this consumer, for whoever waits on its behalf.
    #[must_use]
    pub fn watch(&self) -> Watch {
        Watch::new(&self.segment, &self.progress, self.place.as_ref())
    }
}
