//! The policies for nodes that are late or that fail. The code here decides what follows a failure,
//! and the module `miss_history` decides what follows a miss. The runner of the node carries out
//! these decisions.

use std::time::Duration;

/// The reaction to a miss. A miss is a tick that exceeds its deadline or budget, passes its
/// checkpoints in a wrong order or begins too soon, or an input whose last message is too old.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissPolicy {
    /// The miss is counted and reported, and has no other effect.
    #[default]
    Warn,
    /// The node skips its next tick, so that other nodes get that time.
    Skip,
    /// The node enters its safe state. It still ticks there, and leaves the safe state after ten
    /// ticks in a row without a miss. What a tick sends takes effect as usual, so a tick that
    /// commands an actuator has to look at
    /// [`Context::is_in_safe_state`](crate::scheduler::Context::is_in_safe_state).
    SafeMode,
    /// The reaction grows step by step. First, misses only cause warnings. Then the node ticks only
    /// at every second due time. Then it enters its safe state and does not tick for one second.
    /// The second time, it does not tick for two seconds, and the third time for four. Then the
    /// whole scheduler stops. Four misses lead to the next step. After ten ticks in a row without a
    /// miss, the last step is undone, and the count of misses starts again.
    Graduated,
    /// Every node enters its safe state, and the whole scheduler stops.
    Stop,
}

/// The reaction to a `tick` or an `init` of a node that returns an error or panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailurePolicy {
    /// Every node enters its safe state, and the whole scheduler stops. The thread of a node makes
    /// it enter that state after its present tick, or within 20 ms. The nodes of the main thread
    /// enter it when that thread calls the scheduler again.
    #[default]
    Fatal,
    /// The node is shut down and initialised again, after a pause that doubles each time.
    Restart {
        /// Number of restarts in a row that are allowed; one more failure stops the scheduler. The
        /// count starts again after a minute without a failure.
        max: u32,
        /// The pause before the first restart. It doubles before each further restart, up to a
        /// minute; a longer `backoff` counts as a minute.
        backoff: Duration,
    },
    /// The node continues with its next tick, unless too many ticks in a row fail.
    Skip {
        /// Number of failures in a row that are tolerated. After one more failure, the node does
        /// not tick for `cooldown`. The count starts again after a minute without a failure.
        max: u32,
        /// The time for which the node does not tick after too many failures.
        cooldown: Duration,
    },
    /// The failure is counted and reported, and has no other effect.
    Ignore,
}

/// The longest pause before a node is restarted.
const BACKOFF_MAX: Duration = Duration::from_secs(60);
/// The time without a failure, in nanoseconds, after which earlier failures no longer count.
const FAILURES_FORGOTTEN_AFTER_NS: u64 = 60_000_000_000;

/// The reaction to one failure of a node, as chosen by the node's failure policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureAction {
    /// Let the node continue with its next tick.
    Continue,
    /// Skip all ticks of the node until a given time.
    Rest {
        /// The end of the pause, in nanoseconds of the scheduler's clock.
        until_ns: u64,
    },
    /// Shut the node down, and initialise it again at a given time.
    Restart {
        /// The time of the initialisation, in nanoseconds of the scheduler's clock.
        at_ns: u64,
    },
    /// Stop the whole scheduler.
    Stop,
}

/// The recent failures of one node. The node's failure policy decides with them what to do next.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FailureHistory {
    in_a_row: u32,
    last_ns: u64,
}

impl FailureHistory {
    /// Records a failure at `now_ns`, and returns the reaction that the policy chooses.
    pub(crate) fn record_failure(&mut self, policy: FailurePolicy, now_ns: u64) -> FailureAction {
        if now_ns.saturating_sub(self.last_ns) > FAILURES_FORGOTTEN_AFTER_NS {
            self.in_a_row = 0;
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.last_ns = now_ns;
        match policy {
            FailurePolicy::Fatal => FailureAction::Stop,
            FailurePolicy::Ignore => FailureAction::Continue,
            FailurePolicy::Restart { max, .. } if self.in_a_row > max => FailureAction::Stop,
            FailurePolicy::Restart { backoff, .. } => {
                let doublings = (self.in_a_row - 1).min(31);
                let pause = backoff.saturating_mul(1 << doublings).min(BACKOFF_MAX);
                let at_ns = now_ns.saturating_add(saturating_nanos(pause));
                // WHY: during the pause, the node cannot fail.
                self.last_ns = at_ns;
                FailureAction::Restart { at_ns }
            }
            FailurePolicy::Skip { max, .. } if self.in_a_row <= max => FailureAction::Continue,
            FailurePolicy::Skip { cooldown, .. } => {
                self.in_a_row = 0;
                FailureAction::Rest {
                    until_ns: now_ns.saturating_add(saturating_nanos(cooldown)),
                }
            }
        }
    }

    /// Records a tick without a failure. Under `Skip`, this resets the count of failures in a row;
    /// under `Restart`, it does not.
    pub(crate) fn record_success(&mut self, policy: FailurePolicy) {
        if matches!(policy, FailurePolicy::Skip { .. }) {
            self.in_a_row = 0;
        }
    }
}

/// Converts a duration to nanoseconds; returns `u64::MAX` if it is longer than 584 years.
pub(crate) fn saturating_nanos(duration: Duration) -> u64 {
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
        let mut failures = FailureHistory::default();
        let pauses = [1, 2, 4].map(|seconds| FailureAction::Restart {
            at_ns: seconds * SECOND,
        });
        for action in pauses {
            assert_eq!(failures.record_failure(policy, 0), action);
        }
        assert_eq!(failures.record_failure(policy, 0), FailureAction::Stop);
        // After a minute without a failure the count restarts.
        assert_eq!(
            failures.record_failure(policy, 61 * SECOND),
            FailureAction::Restart { at_ns: 62 * SECOND }
        );
    }

    #[test]
    fn pauses_are_bounded_and_nothing_overflows() {
        let policy = FailurePolicy::Restart {
            max: u32::MAX,
            backoff: Duration::MAX,
        };
        let mut failures = FailureHistory::default();
        for _ in 0..100 {
            assert_eq!(
                failures.record_failure(policy, 0),
                FailureAction::Restart { at_ns: 60 * SECOND }
            );
        }
        let action = failures.record_failure(policy, u64::MAX);
        assert_eq!(action, FailureAction::Restart { at_ns: u64::MAX });
    }

    /// The pauses before restarts do not count as time without a failure, however long they are.
    #[test]
    fn long_pauses_do_not_make_restarts_endless() {
        for (max, backoff_s) in [(3, 60), (10, 1), (4, 10)] {
            let backoff = Duration::from_secs(backoff_s);
            let policy = FailurePolicy::Restart { max, backoff };
            let (mut failures, mut now_ns) = (FailureHistory::default(), 0);
            for _ in 0..max {
                let FailureAction::Restart { at_ns } = failures.record_failure(policy, now_ns)
                else {
                    panic!("stops too early, of {max}");
                };
                now_ns = at_ns + 1;
            }
            assert_eq!(
                failures.record_failure(policy, now_ns),
                FailureAction::Stop,
                "{max}"
            );
        }
    }

    #[test]
    fn only_failures_in_a_row_make_a_node_back_off() {
        let policy = FailurePolicy::Skip {
            max: 2,
            cooldown: Duration::from_secs(5),
        };
        let mut failures = FailureHistory::default();
        for _ in 0..10 {
            assert_eq!(failures.record_failure(policy, 0), FailureAction::Continue);
            assert_eq!(failures.record_failure(policy, 0), FailureAction::Continue);
            failures.record_success(policy);
        }
        for _ in 0..3 {
            assert_eq!(
                failures.record_failure(policy, SECOND),
                FailureAction::Continue
            );
            assert_eq!(
                failures.record_failure(policy, SECOND),
                FailureAction::Continue
            );
            assert_eq!(
                failures.record_failure(policy, SECOND),
                FailureAction::Rest {
                    until_ns: 6 * SECOND
                }
            );
        }
    }

    #[test]
    fn fatal_is_fatal_and_ignored_is_ignored() {
        for (policy, action) in [
            (FailurePolicy::Fatal, FailureAction::Stop),
            (FailurePolicy::Ignore, FailureAction::Continue),
        ] {
            let mut failures = FailureHistory::default();
            assert!((0..1000).all(|_| failures.record_failure(policy, 0) == action));
        }
    }
}
