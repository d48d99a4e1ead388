//! The context of a tick, which the scheduler passes to the node.

use std::time::Duration;

use horus_shm::clock::Clock;

use crate::scheduler::api::checkpoints::CheckpointChecker;
use crate::scheduler::api::random::Random;

/// The services that the scheduler offers a node during a tick: the times of the tick, checkpoints,
/// random numbers, and a request to stop the run. All times come from the same monotonic clock.
#[derive(Debug)]
pub struct Context<'a> {
    pub(crate) clock: &'a Clock,
    pub(crate) tick: u64,
    pub(crate) due_ns: u64,
    pub(crate) begin_ns: u64,
    /// The time, in nanoseconds, at which the tick will have used up its budget; `u64::MAX` if the
    /// node has no budget.
    pub(crate) budget_end_ns: u64,
    pub(crate) period_ns: u64,
    pub(crate) is_in_safe_state: bool,
    pub(crate) stop: bool,
    pub(crate) checkpoints: Option<&'a mut CheckpointChecker>,
    pub(crate) random: &'a mut Random,
}

impl Context<'_> {
    /// Returns the number of this tick of the node; the first tick has number 0.
    #[must_use]
    pub const fn tick(&self) -> u64 {
        self.tick
    }

    /// Returns the time at which the tick was due, in nanoseconds of CLOCK_MONOTONIC.
    #[must_use]
    pub const fn scheduled_ns(&self) -> u64 {
        self.due_ns
    }

    /// Returns the time at which the tick began, in nanoseconds of CLOCK_MONOTONIC.
    #[must_use]
    pub const fn started_ns(&self) -> u64 {
        self.begin_ns
    }

    /// Returns how late the tick began: the time from when it was due to when it began.
    #[must_use]
    pub const fn lateness(&self) -> Duration {
        Duration::from_nanos(self.begin_ns.saturating_sub(self.due_ns))
    }

    /// Returns the period of the node, from one due time to the next; zero if the node has no rate.
    #[must_use]
    pub const fn period(&self) -> Duration {
        Duration::from_nanos(self.period_ns)
    }

    /// Returns the rest of the tick's budget: zero once the budget is used up, [`Duration::MAX`] if
    /// the node has no budget. Reads the clock once.
    #[must_use]
    pub fn budget_left(&self) -> Duration {
        if self.budget_end_ns == u64::MAX {
            return Duration::MAX;
        }
        Duration::from_nanos(self.budget_end_ns.saturating_sub(self.clock.now_ns()))
    }

    /// Returns true if the node is in its safe state during this tick. This happens only with
    /// [`MissPolicy::SafeMode`](crate::scheduler::MissPolicy::SafeMode), and with
    /// [`MissPolicy::Graduated`](crate::scheduler::MissPolicy::Graduated) after an isolation. The
    /// node should then read its inputs and send nothing that ends the safe state of what it
    /// controls.
    #[must_use]
    pub const fn is_in_safe_state(&self) -> bool {
        self.is_in_safe_state
    }

    /// Records that the tick has reached checkpoint `number`. Each tick has to reach 1, 2, and so
    /// on, up to the number that
    /// [`NodeBuilder::checkpoints`](crate::scheduler::NodeBuilder::checkpoints) has set. Has no
    /// effect if the builder has set no number, or outside of ticks. Costs about a nanosecond.
    #[inline]
    pub fn checkpoint(&mut self, number: u64) {
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.pass_checkpoint(number);
        }
    }

    /// Returns 64 random bits from the node's own random number generator. In simulated runs with
    /// the same seed, a node always gets the same numbers, whichever other nodes there are. Do not
    /// use them for secrets.
    pub const fn random(&mut self) -> u64 {
        self.random.next_u64()
    }

    /// Returns a random number that is at least 0 and less than 1, from the same generator as
    /// [`Self::random`].
    pub const fn random_f64(&mut self) -> f64 {
        // WHY 53 bits: this is the precision of an `f64`.
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Requests that the scheduler's run ends after this tick. All nodes are then shut down, in the
    /// reverse of the order in which they were started. In `init`, requests that the run ends
    /// before the node ticks.
    pub const fn stop(&mut self) {
        self.stop = true;
    }
}
