//! Restarts of programs: decides whether a program that has ended is restarted, and after which
//! delay.

use std::time::Duration;

/// Minimum time for which a program must have been ready, so that its next restart counts as the
/// first one. WHY: each run is longer than a `restart_delay_max` of 0.
const READY_TIME_RESETTING_RESTARTS: Duration = Duration::from_secs(1);

/// The rule that decides when a program is restarted.
#[derive(Debug, Clone)]
pub(super) struct RestartPolicy {
    pub(super) restart: RestartCondition,
    /// Delay before the first of several consecutive restarts. It doubles with each further
    /// restart.
    pub(super) restart_delay: Duration,
    pub(super) restart_delay_max: Duration,
    /// Maximum number of consecutive restarts. `None` means that there is no limit.
    pub(super) restarts_max: Option<u32>,
}

/// The ends of a program after which it is restarted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum RestartCondition {
    Never,
    /// The program is restarted after an exit code other than 0, and after a signal has ended it.
    #[default]
    OnFailure,
    Always,
}

impl RestartCondition {
    /// Returns the rule that has this name in launch files; `None` if there is none.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "never" => Some(Self::Never),
            "on-failure" => Some(Self::OnFailure),
            "always" => Some(Self::Always),
            _ => None,
        }
    }
}

/// The number of restarts of one program so far, which determines the delay of the next one.
#[derive(Debug, Default)]
pub(super) struct RestartCount {
    /// Number of consecutive restarts between which the program was never ready for longer than
    /// `restart_delay_max` and [`READY_TIME_RESETTING_RESTARTS`]. A longer run sets it to 0.
    in_a_row: u32,
}

impl RestartCount {
    /// Returns the delay after which the program is restarted; `None` if it is not restarted.
    /// `ready_for` is the duration for which it was ready in its last run; 0 if it was not ready.
    pub(super) fn next_delay(
        &mut self,
        policy: &RestartPolicy,
        is_failure: bool,
        ready_for: Duration,
    ) -> Option<Duration> {
        let is_wanted = match policy.restart {
            RestartCondition::Never => false,
            RestartCondition::OnFailure => is_failure,
            RestartCondition::Always => true,
        };
        // WHY the longest delay: a program that runs longer than that is not in a loop of ends.
        if ready_for > policy.restart_delay_max.max(READY_TIME_RESETTING_RESTARTS) {
            self.in_a_row = 0;
        }
        if !is_wanted || policy.restarts_max.is_some_and(|max| self.in_a_row >= max) {
            return None;
        }
        let factor = 2_u32.saturating_pow(self.in_a_row);
        self.in_a_row += 1;
        let delay = policy.restart_delay.saturating_mul(factor);
        Some(delay.min(policy.restart_delay_max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(restart: RestartCondition, restarts_max: Option<u32>) -> RestartPolicy {
        RestartPolicy {
            restart,
            restart_delay: Duration::from_millis(100),
            restart_delay_max: Duration::from_secs(1),
            restarts_max,
        }
    }

    #[test]
    fn delays_double_until_a_program_runs_long_enough() {
        let policy = policy(RestartCondition::OnFailure, None);
        let mut restarts = RestartCount::default();
        let mut delay_ms = |ready_ms| {
            let ready_for = Duration::from_millis(ready_ms);
            let delay = restarts.next_delay(&policy, true, ready_for);
            delay.unwrap().as_millis()
        };
        let delays = [5, 5, 1000, 5, 5, 5].map(&mut delay_ms);
        assert_eq!(delays, [100, 200, 400, 800, 1000, 1000]);
        assert_eq!([1001, 5].map(delay_ms), [100, 200]);
        for _ in 0..100 {
            restarts.next_delay(&policy, true, Duration::ZERO);
        }
    }

    #[test]
    fn the_policy_decides() {
        let next = |restart, is_failure| {
            let policy = policy(restart, None);
            let next = RestartCount::default().next_delay(&policy, is_failure, Duration::ZERO);
            next.is_some()
        };
        assert!(!next(RestartCondition::Never, true));
        assert!(
            next(RestartCondition::OnFailure, true) && !next(RestartCondition::OnFailure, false)
        );
        assert!(next(RestartCondition::Always, true) && next(RestartCondition::Always, false));
    }

    #[test]
    fn restarts_in_a_row_are_limited() {
        let policy = policy(RestartCondition::Always, Some(2));
        let mut restarts = RestartCount::default();
        let mut next = |ready_s| {
            let ready_for = Duration::from_secs(ready_s);
            restarts.next_delay(&policy, true, ready_for).is_some()
        };
        assert_eq!(
            [0, 0, 0, 2, 0, 0].map(&mut next),
            [true, true, false, true, true, false]
        );
    }
}
