//! What happens when a node is late, and when it fails: decided here, done elsewhere.

use std::time::Duration;

/// What follows when a node misses its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Miss {
    /// It is counted and reported, and nothing else.
    #[default]
    Warn,
    /// The node leaves out its next tick, which gives the others the time back.
    Skip,
    /// The node enters its safe state, and goes on in it until it has kept its deadline for a
    /// while.
    SafeMode,
    /// One step after the other: it is warned of; then the node runs at every second due time only;
    /// then it enters its safe state and does not run for a second, and longer the second and the
    /// third time; then the whole scheduler stops. Each step needs four misses since ten ticks in a
    /// row were in time, and ten such ticks take one step back.
    Graduated,
    /// The whole scheduler stops, every node in its safe state.
    Stop,
}

/// What follows when a node's tick returns an error or panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailurePolicy {
    /// The whole scheduler stops, every node in its safe state.
    #[default]
    Fatal,
    /// The node is shut down and initialised again, after a pause that doubles each time.
    Restart {
        /// Restarts in a row; one more failure is fatal. A minute without a failure begins anew.
        max: u32,
        /// The first pause.
        backoff: Duration,
    },
    /// The tick is lost, and the node goes on.
    Skip {
        /// Failures in a row; after one more the node rests.
        max: u32,
        /// For how long it rests then.
        cooldown: Duration,
    },
    /// It is counted and reported, and the node goes on.
    Ignore,
}

/// The longest pause before a restart.
const BACKOFF_MAX: Duration = Duration::from_secs(60);
/// Without a failure for this long, earlier ones are forgotten.
const FORGET_NS: u64 = 60_000_000_000;

/// What to do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Go on with the next tick.
    Continue,
    /// Leave ticks out until then.
    Rest {
        /// On the scheduler's clock.
        until_ns: u64,
    },
    /// Initialise the node again then.
    Restart {
        /// On the scheduler's clock.
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
    /// The node failed at `now_ns`.
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

    /// The node ticked without a failure: of a `Skip`, only failures in a row count.
    pub(crate) fn forgive(&mut self, policy: FailurePolicy) {
        if matches!(policy, FailurePolicy::Skip { .. }) {
            self.in_a_row = 0;
        }
    }
}

/// Nanoseconds; saturates after 584 years.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_node_that_fails_is_restarted_later_and_later_and_then_no_more() {
        let backoff = Duration::from_secs(1);
        let policy = FailurePolicy::Restart { max: 3, backoff };
        let mut failures = Failures::default();
        let pauses = [1, 2, 4].map(|seconds| Remedy::Restart { at_ns: seconds * SECOND });
        for remedy in pauses {
            assert_eq!(failures.record(policy, 0), remedy);
        }
        assert_eq!(failures.record(policy, 0), Remedy::Stop);
        // After a minute without one it is as if none had been.
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
    fn only_failures_in_a_row_make_a_node_rest() {
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
