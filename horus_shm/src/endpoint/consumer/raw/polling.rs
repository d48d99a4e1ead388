//! Decides in which order a reader polls its lanes, and how long it pauses between polls.

use super::{NO_LANE, RawConsumer};
use crate::protocol::tuning::{Pauses, Tuning};

/// Number of lanes that a receive call polls in turn before it polls the lane from which the last
/// message came.
///
/// WHY the lane of the last message is not polled first: a publisher that floods the topic would
/// keep the messages of others waiting. With this number, while a message waits, at most half as
/// many messages as there are lanes are received first. WHY not all other lanes are polled first:
/// with 64 lanes of which one is active, that would cost 64 polls for each message.
const LANES_BEFORE_LAST: usize = 2;

/// Number of PAUSE instructions after a burst of messages. Together they take some 0.1 µs (Zen 5 of
/// AMD) to 0.5 µs (Intel since Skylake).
const BURST_PAUSES: u32 = 8;

impl RawConsumer {
    /// Backs off after an empty poll: prefetches the awaited slots, then executes PAUSE once. With
    /// one lane, [`Tuning`] may choose no PAUSE instead, or one or two at random.
    ///
    /// WHY a pause: a reader that polls again at once takes away the cache line that is being
    /// written. WHY at random: the polls of a reader with a fixed rhythm can stay in phase with the
    /// writer. Two endpoints that answer each other then meet at the same bad moment each time, as
    /// long as they run.
    ///
    /// Measured: one way between processes on two near cores, 16 B, as a multiple of the floor,
    /// with the 95 % interval over rings. No pause: 1.3 to 1.6. One pause: 1.39 [1.11, 1.70]. One
    /// or two: 1.25 [1.24, 1.26]. Two or three: 1.8. With two lanes the polls are further apart
    /// anyway. One pause: 1.1 to 1.25. One or two: 1.7.
    #[inline(always)]
    pub(super) fn spin_back_off(&mut self) {
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

    /// Returns how many lanes one receive call polls: each lane once, and the lane of the last
    /// message once more if there are more than a few lanes.
    #[inline(always)]
    pub(super) fn polls_per_recv(&self) -> usize {
        let lanes = self.lanes.len();
        lanes + usize::from(lanes > LANES_BEFORE_LAST)
    }

    /// Returns the index in `lanes` of the lane to poll in step `look` of a receive call. The last
    /// message's lane is polled twice if there are many lanes.
    #[inline(always)]
    pub(super) fn lane_to_look_at(&mut self, look: usize) -> usize {
        if look == LANES_BEFORE_LAST && self.last_lane != NO_LANE {
            return self.last_lane;
        }
        self.next_lane()
    }

    /// Returns the index in `lanes` of the lane whose turn it is, and gives the turn to the lane
    /// after it.
    #[inline(always)]
    pub(super) fn next_lane(&mut self) -> usize {
        let lane = self.next;
        self.next = if lane + 1 == self.lanes.len() {
            0
        } else {
            lane + 1
        };
        lane
    }

    /// Pauses at the end of a burst of messages, so that writers can continue. The caller polls
    /// once more afterwards.
    ///
    /// WHY: a reader that keeps up with a streaming writer takes away the cache line that is being
    /// written, for one message after another. Measured with [`BURST_PAUSES`], streaming 1:1,
    /// 304 B: without pauses 47 million messages a second, with them 70 million. Messages that come
    /// one at a time are not delayed.
    #[cold]
    pub(super) fn back_off(&mut self) {
        for _ in 0..BURST_PAUSES {
            std::hint::spin_loop();
        }
    }
}
