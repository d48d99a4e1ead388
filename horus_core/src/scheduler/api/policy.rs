//! Policies for late and for failed nodes. They decide here; the runner carries the decisions out.

use std::time::Duration;

/// The reaction when a node misses its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Miss {
    /// The miss is counted and reported, and has no other effect.
    #[default]
    Warn,
    /// The node skips its next tick, so that other nodes get that time.
    Skip,
    /// The node enters its safe state. It goes on ticking in it, and leaves it after ten ticks in a
    /// row in time.
    SafeMode,
    /// The reaction grows step by step. First the misses are warned of. Then the node runs at every
    /// second due time only. Then it enters its safe state and does not run for a second; twice as
    /// long the second time, and four times the third time. Then the whole scheduler stops. Each
    /// step takes four misses without ten ticks in a row in time between them; ten such ticks take
    /// one step back.
    Graduated,
    /// The whole scheduler stops, every node in its safe state.
    Stop,
}

/// The reaction when a node's tick returns an error or panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailurePolicy {
    /// The whole scheduler stops, every node in its safe state.
    #[default]
    Fatal,
    /// The node is shut down and initialised again, after a pause that doubles each time.
    Restart {
        /// The restarts in a row; one more failure is fatal. After a minute without a failure the
        /// count restarts.
        max: u32,
        /// The first pause.
        backoff: Duration,
    },
    /// The tick is lost, and the node goes on.
    Skip {
        /// The failures in a row; after one more the node backs off.
        max: u32,
        /// The time for which it backs off.
        cooldown: Duration,
    },
    /// The failure is counted and reported, and the node goes on.
    Ignore,
}

/// The longest pause before a restart.
const BACKOFF_MAX: Duration = Duration::from_secs(60);
/// The time without a failure after which earlier ones are forgotten.
const FORGET_NS: u64 = 60_000_000_000;

/// The action that a failure policy decides on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Go on with the next tick.
    Continue,
    /// Skip ticks until then.
    Rest {
        /// The time on the scheduler's clock.
        until_ns: u64,
    },
    /// Initialise the node again then.
    Restart {
        /// The time on the scheduler's clock.
        at_ns: u64,
    },
    /// Stop everything.
    Stop,
}

/// The failures of one node so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Failures {
    in_a_row: u32,
    last_ns: u64,
}

impl Failures {
    /// Notes that the node failed at `now_ns`, and returns what to do.
    pub(crate) fn record(&mut self, policy: FailurePolicy, now_ns: u64) -> Remedy {
        if now_ns.saturating_sub(self.last_ns) > FORGET_NS {
            self.in_a_row = 0;
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.last_ns = now_ns;
        match policy {
            FailurePolicy::Fatal => Remedy::Stop,
            FailurePolicy::Ignore => Remedy::Continue,
            FailurePolicy::Restart { max, .. } if self.in_a_row > max => Remedy::Stop,
            FailurePolicy::Restart { backoff, .. } => {
                let doublings = (self.in_a_row - 1).min(31);
                let pause = backoff.saturating_mul(1 << doublings).min(BACKOFF_MAX);
                Remedy::Restart { at_ns: now_ns.saturating_add(nanos(pause)) }
            }
            FailurePolicy::Skip { max, .. } if self.in_a_row <= max => Remedy::Continue,
            FailurePolicy::Skip { cooldown, .. } => {
                self.in_a_row = 0;
                Remedy::Rest { until_ns: now_ns.saturating_add(nanos(cooldown)) }
            }
        }
    }

    /// Notes a tick without a failure. Under `Skip` only failures in a row count.
    pub(crate) fn forgive(&mut self, policy: FailurePolicy) {
        if matches!(policy, FailurePolicy::Skip { .. }) {
            self.in_a_row = 0;
        }
    }
}

/// Converts to nanoseconds; saturates after 584 years.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn pauses_before_restarts_double_until_the_scheduler_stops() {
        let backoff = Duration::from_secs(1);
        let policy = FailurePolicy::Restart { max: 3, backoff };
        let mut failures = Failures::default();
        let pauses = [1, 2, 4].map(|seconds| Remedy::Restart { at_ns: seconds * SECOND });
        for remedy in pauses {
            assert_eq!(failures.record(policy, 0), remedy);
        }
        assert_eq!(failures.record(policy, 0), Remedy::Stop);
        // After a minute without a failure the count restarts.
        assert_eq!(failures.record(policy, 61 * SECOND), Remedy::Restart { at_ns: 62 * SECOND });
    }

    #[test]
    fn pauses_are_bounded_and_nothing_overflows() {
        let policy = FailurePolicy::Restart { max: u32::MAX, backoff: Duration::MAX };
        let mut failures = Failures::default();
        for _ in 0..100 {
            assert_eq!(failures.record(policy, 0), Remedy::Restart { at_ns: 60 * SECOND });
        }
        let remedy = failures.record(policy, u64::MAX);
        assert_eq!(remedy, Remedy::Restart { at_ns: u64::MAX });
    }

    #[test]
    fn only_failures_in_a_row_make_a_node_back_off() {
        let policy = FailurePolicy::Skip { max: 2, cooldown: Duration::from_secs(5) };
        let mut failures = Failures::default();
        for _ in 0..10 {
            assert_eq!(failures.record(policy, 0), Remedy::Continue);
            assert_eq!(failures.record(policy, 0), Remedy::Continue);
            failures.forgive(policy);
        }
        for _ in 0..3 {
            assert_eq!(failures.record(policy, SECOND), Remedy::Continue);
            assert_eq!(failures.record(policy, SECOND), Remedy::Continue);
            assert_eq!(failures.record(policy, SECOND), Remedy::Rest { until_ns: 6 * SECOND });
        }
    }

    #[test]
    fn fatal_is_fatal_and_ignored_is_ignored() {
        for (policy, remedy) in
            [(FailurePolicy::Fatal, Remedy::Stop), (FailurePolicy::Ignore, Remedy::Continue)]
        {
            let mut failures = Failures::default();
            assert!((0..1000).all(|_| failures.record(policy, 0) == remedy));
        }
    }
}
