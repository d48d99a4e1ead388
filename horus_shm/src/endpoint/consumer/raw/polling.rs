//! Polls the lanes of a reader: in which order, and with which pauses between polls.

use super::{FollowedLane, MessageInfo, NO_LANE_INDEX, RawConsumer};
use crate::protocol::lane::PollOutcome;
use crate::protocol::tuning::{Pauses, Tuning};

/// Number of lanes that a receive call polls in turn before it polls the lane from which the last
/// message came.
///
/// WHY the lane of the last message is not polled first: a publisher that floods the topic would
/// keep the messages of others waiting. With this number, a waiting message is overtaken by at most
/// half as many messages as there are lanes. WHY not all other lanes are polled first: with 64
/// lanes of which one is active, that would cost 64 polls for each message.
const LANES_POLLED_BEFORE_LAST_LANE: usize = 2;

/// Minimum number of messages received without an empty poll between them that count as a burst.
/// The consumer pauses after a burst.
const BURST_MESSAGES_MIN: u64 = 2;
/// Number of PAUSE instructions after a burst of messages. Together they take some 0.1 µs (Zen 5 of
/// AMD) to 0.5 µs (Intel since Skylake).
const BURST_PAUSES: u32 = 8;

impl RawConsumer {
    /// Backs off after an empty poll: prefetches the awaited slots, then executes PAUSE once. With
    /// one lane, [`Tuning`] may choose no PAUSE instead, or one or two at random.
    ///
    /// WHY a pause: a reader that polls again at once takes away the cache line that is being
    /// written. WHY at random: the polls of a reader with a fixed rhythm can stay in phase with the
    /// writer. If two endpoints answer each other, each poll then comes at the same bad moment, in
    /// every round.
    ///
    /// Measured: one way between processes on two near cores, 16 B, as a multiple of the floor,
    /// with the 95 % interval over rings. No pause: 1.3 to 1.6. One pause: 1.39 [1.11, 1.70]. One
    /// or two: 1.25 [1.24, 1.26]. Two or three: 1.8. With two lanes, the polls are further apart
    /// anyway: one pause 1.1 to 1.25, one or two 1.7.
    #[inline(always)]
    pub(super) fn back_off_after_empty_poll(&mut self) {
        let lanes = self.lanes.len();
        self.lanes
            .iter()
            .for_each(|followed| followed.reader.prefetch_slot(lanes));
        let pauses = Tuning::current().pauses;
        if pauses == Pauses::None && lanes == 1 {
            return;
        }
        std::hint::spin_loop();
        if pauses != Pauses::OneOrTwo || lanes != 1 {
            return;
        }
        // A step of a linear congruential generator (Knuth's MMIX constants): only to break the
        // rhythm.
        self.chance = self
            .chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        if self.chance >> 63 == 1 {
            std::hint::spin_loop();
        }
    }

    /// Polls the lanes in turn, and copies the first message that it finds to `dst`.
    ///
    /// WHY it does not call `poll_lanes_in_turn`, which has the same loop: the compiler does not
    /// inline the closure. With it, a receive executed 152 instructions instead of 101.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::recv`].
    #[inline(always)]
    pub(super) unsafe fn poll(&mut self, dst: *mut u8, bytes: usize) -> PollOutcome {
        if self.in_place {
            // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
            return unsafe { self.poll_in_place(dst, bytes) };
        }
        let mut nothing = PollOutcome::Empty;
        let mut lane = self.take_next_lane_in_turn();
        let mut polls = 0;
        loop {
            let Some(FollowedLane { reader, .. }) = self.lanes.get_mut(lane) else {
                return nothing;
            };
            // SAFETY: as above.
            let polled = unsafe { reader.read(dst, bytes) };
            let number = reader.position();
            match polled {
                PollOutcome::Message => {
                    self.count_received_at(lane, number, MessageInfo { number, bytes });
                    return polled;
                }
                PollOutcome::Busy => nothing = polled,
                PollOutcome::Empty => {}
            }
            self.wake_sleeping_publishers();
            polls += 1;
            // WHY at the end: a message in the first lane then costs no more than with one lane.
            lane = match self.next_lane_to_poll(polls) {
                Some(lane) => lane,
                None => return nothing,
            };
        }
    }

    /// Returns true if a burst of messages was received since the last empty poll.
    #[inline(always)]
    pub(super) const fn has_received_burst(&self) -> bool {
        self.received.wrapping_sub(self.received_at_empty_poll) >= BURST_MESSAGES_MIN
    }

    /// Pauses at the end of a burst of messages, so that writers can continue, and then polls once
    /// more. [`Self::recv`] calls it if a poll after a burst found no message, or if a lane has
    /// later extents (files of slots). Polls those, too, if the poll came to the end of an extent.
    ///
    /// WHY a pause: a reader that keeps up with a streaming writer takes away the cache line that
    /// is being written, for one message after another. Measured with [`BURST_PAUSES`], streaming
    /// 1:1, 304 B: without pauses 47 million messages a second, with them 70 million. Messages that
    /// come one at a time are not delayed.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::recv`].
    #[cold]
    pub(super) unsafe fn poll_again(&mut self, dst: *mut u8, bytes: usize) -> PollOutcome {
        for _ in 0..BURST_PAUSES {
            std::hint::spin_loop();
        }
        // SAFETY: `dst` is writable for `bytes`, at most the payload, by the contract.
        let mut polled = unsafe { self.poll(dst, bytes) };
        while polled != PollOutcome::Message
            && self.leave_extents_read_to_end()
            && !self.would_cut_message(bytes)
        {
            // SAFETY: as above.
            polled = unsafe { self.poll(dst, bytes) };
        }
        if polled == PollOutcome::Message {
            return self.confirm_copied_message();
        }
        self.received_at_empty_poll = self.received;
        self.publish_counters();
        polled
    }

    /// Returns the index in `lanes` of the lane that a receive call polls after `polls_done` polls;
    /// `None` if it has polled each lane. If there are more than a few lanes, the lane of the last
    /// message is polled twice.
    #[inline(always)]
    pub(super) fn next_lane_to_poll(&mut self, polls_done: usize) -> Option<usize> {
        let lanes = self.lanes.len();
        if polls_done >= lanes + usize::from(lanes > LANES_POLLED_BEFORE_LAST_LANE) {
            return None;
        }
        if polls_done == LANES_POLLED_BEFORE_LAST_LANE && self.last_lane != NO_LANE_INDEX {
            return Some(self.last_lane);
        }
        Some(self.take_next_lane_in_turn())
    }

    /// Returns the index in `lanes` of the lane whose turn it is, and gives the turn to the lane
    /// after it. Returns 0 if there is no lane.
    #[inline(always)]
    pub(super) fn take_next_lane_in_turn(&mut self) -> usize {
        let lane = self.next;
        let lanes = self.lanes.len();
        // WHY the test: most topics have one publisher, and this runs for each message.
        if lanes > 1 {
            self.next = if lane + 1 == lanes { 0 } else { lane + 1 };
        }
        lane
    }
}
