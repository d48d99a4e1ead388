//! Decides what follows a miss: a tick that was late or had a fault. The runner, which calls the
//! node's methods, carries out the decision.

use crate::scheduler::api::policy::MissPolicy;

/// The action that the runner of a node has to take after a tick, as decided by the node's miss
/// policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissAction {
    /// Do nothing, because the tick was in time or the node's state does not change.
    Fine,
    /// Count and record the miss, but do nothing else.
    Warn,
    /// Make the node skip its next tick.
    Skip,
    /// Make the node tick only at every second due time from now on.
    Halve,
    /// Make the node pause until a given time, and then tick only at every second due time.
    Isolate {
        /// The end of the time without ticks, in nanoseconds of the scheduler's clock.
        until_ns: u64,
        /// True if the node has to enter its safe state first; false if it is already in its safe
        /// state.
        enters_safe_state: bool,
    },
    /// Make the node enter its safe state.
    EnterSafeState,
    /// Make the node leave its safe state.
    LeaveSafeState,
    /// Make the node tick at every due time again.
    Restore,
    /// Stop the whole scheduler.
    Stop,
}

/// Number of ticks in a row without a miss after which the last step of the node's miss policy is
/// undone; for example, the node leaves its safe state.
const RECOVERY_TICKS: u32 = 10;
/// Number of misses on one level of the miss policy that only cause warnings. One more miss leads
/// to the next level.
const WARNED_MISSES_PER_LEVEL_MAX: u32 = 3;
/// Number of isolations (times without ticks) of a node that are allowed. The next step of the miss
/// policy then stops the scheduler.
const ISOLATIONS_MAX: u32 = 3;
/// The duration of a node's first isolation (time without ticks), in nanoseconds. Each further
/// isolation lasts twice as long as the previous one.
const FIRST_ISOLATION_DURATION_NS: u64 = 1_000_000_000;

/// The level of the miss policy that a node has reached because of its misses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum EscalationLevel {
    /// The node ticks at every due time.
    #[default]
    Free,
    /// The node ticks at every second due time.
    Halved,
    /// The node is in its safe state. Under [`MissPolicy::Graduated`], it was isolated before. It
    /// leaves the safe state after ten ticks in a row without a miss.
    Safe,
}

/// The recent misses of a node, and the level to which they have led.
///
/// WHY not misses in a row: a node that is late in every other tick would never have three misses
/// in a row. WHY not misses in a time window: the window would depend on the node's period.
/// Instead, misses add up until ten ticks in a row are without a miss. So one miss in eleven ticks
/// only ever causes warnings, and one in ten leads to the next level.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MissHistory {
    level: EscalationLevel,
    /// True if misses are counted or the policy has taken a step, so that the node needs some ticks
    /// without a miss to recover.
    is_recovering: bool,
    good_in_a_row: u32,
    /// Number of misses since the node reached its present level, or since the last ten ticks in a
    /// row without a miss.
    misses: u32,
    /// Number of isolations since the node last ticked at every due time.
    isolations: u32,
}

impl MissHistory {
    /// Records whether the tick that ended at `now_ns` was a miss, and returns what to do. Costs a
    /// branch as long as there are no misses.
    #[inline(always)]
    pub(crate) fn record_tick(
        &mut self,
        policy: MissPolicy,
        is_miss: bool,
        now_ns: u64,
    ) -> MissAction {
        match (is_miss, self.is_recovering) {
            (false, false) => MissAction::Fine,
            (false, true) => self.record_tick_in_time(policy),
            (true, _) => self.record_miss(policy, now_ns),
        }
    }

    /// Returns true if the node's misses require that the node is in its safe state.
    pub(crate) fn requires_safe_state(&self) -> bool {
        self.level == EscalationLevel::Safe
    }

    /// Records a tick without a miss, while earlier misses still count. After ten such ticks in a
    /// row, returns the action that undoes the last step of the miss policy.
    #[cold]
    fn record_tick_in_time(&mut self, policy: MissPolicy) -> MissAction {
        self.good_in_a_row += 1;
        if self.good_in_a_row < RECOVERY_TICKS {
            return MissAction::Fine;
        }
        (self.good_in_a_row, self.misses) = (0, 0);
        match self.level {
            EscalationLevel::Free => {
                self.is_recovering = false;
                MissAction::Fine
            }
            EscalationLevel::Halved => {
                *self = Self::default();
                MissAction::Restore
            }
            EscalationLevel::Safe if policy == MissPolicy::Graduated => {
                self.level = EscalationLevel::Halved;
                MissAction::LeaveSafeState
            }
            EscalationLevel::Safe => {
                *self = Self::default();
                MissAction::LeaveSafeState
            }
        }
    }

    #[cold]
    fn record_miss(&mut self, policy: MissPolicy, now_ns: u64) -> MissAction {
        self.is_recovering = true;
        self.good_in_a_row = 0;
        match policy {
            MissPolicy::Warn => MissAction::Warn,
            MissPolicy::Skip => MissAction::Skip,
            MissPolicy::SafeMode if self.level == EscalationLevel::Safe => MissAction::Warn,
            MissPolicy::SafeMode => {
                self.level = EscalationLevel::Safe;
                MissAction::EnterSafeState
            }
            MissPolicy::Graduated => self.count_miss_and_escalate(now_ns),
            MissPolicy::Stop => MissAction::Stop,
        }
    }

    /// Counts a miss under [`MissPolicy::Graduated`], and returns the action that the number of
    /// misses requires.
    fn count_miss_and_escalate(&mut self, now_ns: u64) -> MissAction {
        self.misses += 1;
        if self.misses <= WARNED_MISSES_PER_LEVEL_MAX {
            return MissAction::Warn;
        }
        self.misses = 0;
        if self.level == EscalationLevel::Free {
            self.level = EscalationLevel::Halved;
            return MissAction::Halve;
        }
        if self.isolations >= ISOLATIONS_MAX {
            return MissAction::Stop;
        }
        let until_ns = now_ns.saturating_add(FIRST_ISOLATION_DURATION_NS << self.isolations);
        self.isolations += 1;
        let enters_safe_state = self.level != EscalationLevel::Safe;
        self.level = EscalationLevel::Safe;
        MissAction::Isolate {
            until_ns,
            enters_safe_state,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Records `ticks` ticks at `now_ns`. Returns all resulting actions except
    /// [`MissAction::Fine`].
    fn judge(
        miss_history: &mut MissHistory,
        is_miss: bool,
        ticks: u32,
        now_ns: u64,
    ) -> Vec<MissAction> {
        let actions =
            (0..ticks).map(|_| miss_history.record_tick(MissPolicy::Graduated, is_miss, now_ns));
        actions
            .filter(|action| *action != MissAction::Fine)
            .collect()
    }

    /// Returns a list of three warnings, followed by `action`.
    fn after_warnings(action: MissAction) -> Vec<MissAction> {
        vec![MissAction::Warn, MissAction::Warn, MissAction::Warn, action]
    }

    const fn isolated(until_ns: u64, enters_safe_state: bool) -> MissAction {
        MissAction::Isolate {
            until_ns,
            enters_safe_state,
        }
    }

    #[test]
    fn a_safe_state_is_entered_once_and_left_when_the_node_is_in_time_again() {
        let mut miss_history = MissHistory::default();
        let mut judge = |is_miss| miss_history.record_tick(MissPolicy::SafeMode, is_miss, 0);
        for _ in 0..3 {
            assert_eq!(judge(false), MissAction::Fine);
            assert_eq!(judge(true), MissAction::EnterSafeState);
            assert_eq!(judge(true), MissAction::Warn);
            for _ in 1..RECOVERY_TICKS {
                assert_eq!(judge(false), MissAction::Fine);
            }
            assert_eq!(judge(true), MissAction::Warn, "not for long enough");
            for _ in 1..RECOVERY_TICKS {
                assert_eq!(judge(false), MissAction::Fine);
            }
            assert_eq!(judge(false), MissAction::LeaveSafeState);
        }
    }

    #[test]
    fn warn_skip_and_stop_give_the_verdict_of_their_name() {
        for (policy, action) in [
            (MissPolicy::Warn, MissAction::Warn),
            (MissPolicy::Skip, MissAction::Skip),
            (MissPolicy::Stop, MissAction::Stop),
        ] {
            let mut miss_history = MissHistory::default();
            for _ in 0..100 {
                assert_eq!(miss_history.record_tick(policy, false, 0), MissAction::Fine);
                assert_eq!(miss_history.record_tick(policy, true, 0), action);
                assert_eq!(miss_history.record_tick(policy, false, 0), MissAction::Fine);
            }
        }
    }

    #[test]
    fn a_node_that_is_always_late_goes_through_all_steps_to_the_stop() {
        let mut node = MissHistory::default();
        assert_eq!(
            judge(&mut node, true, 4, 0),
            after_warnings(MissAction::Halve)
        );
        assert_eq!(
            judge(&mut node, true, 4, 0),
            after_warnings(isolated(SECOND, true))
        );
        // It stays in its safe state from one isolation to the next.
        assert_eq!(
            judge(&mut node, true, 4, SECOND),
            after_warnings(isolated(3 * SECOND, false))
        );
        let third = isolated(7 * SECOND, false);
        assert_eq!(judge(&mut node, true, 4, 3 * SECOND), after_warnings(third));
        assert_eq!(
            judge(&mut node, true, 4, 7 * SECOND),
            after_warnings(MissAction::Stop)
        );
        assert_eq!(isolated(u64::MAX, true), {
            let mut node = MissHistory::default();
            *judge(&mut node, true, 8, u64::MAX - 1).last().unwrap()
        });
    }

    #[test]
    fn a_node_that_is_in_time_again_goes_back_step_by_step() {
        let mut node = MissHistory::default();
        for round in 0..5 {
            judge(&mut node, true, 7, 0);
            assert_eq!(
                judge(&mut node, true, 1, 0),
                [isolated(SECOND, true)],
                "round {round}"
            );
            assert_eq!(judge(&mut node, false, 9, 0), []);
            assert_eq!(judge(&mut node, false, 1, 0), [MissAction::LeaveSafeState]);
            assert_eq!(judge(&mut node, false, 9, 0), []);
            assert_eq!(judge(&mut node, false, 1, 0), [MissAction::Restore]);
            assert_eq!(judge(&mut node, false, 1000, 0), []);
        }
    }

    #[test]
    fn a_miss_halfway_back_does_not_begin_anew() {
        let mut node = MissHistory::default();
        judge(&mut node, true, 8, 0);
        assert_eq!(judge(&mut node, false, 10, 0), [MissAction::LeaveSafeState]);
        // The isolation is longer than before, and begins outside of the safe state.
        assert_eq!(
            judge(&mut node, true, 4, 0),
            after_warnings(isolated(2 * SECOND, true))
        );
        assert_eq!(
            judge(&mut node, false, 20, 0),
            [MissAction::LeaveSafeState, MissAction::Restore]
        );
        assert_eq!(
            judge(&mut node, true, 4, 0),
            after_warnings(MissAction::Halve)
        );
        assert_eq!(
            judge(&mut node, true, 4, 0),
            after_warnings(isolated(SECOND, true))
        );
    }

    #[test]
    fn rare_misses_are_warned_of_and_frequent_ones_lead_on() {
        // (ticks in time between two misses, true if a hundred misses lead to the next step)
        for (good, halves) in [(0, true), (1, true), (9, true), (10, false), (100, false)] {
            let mut node = MissHistory::default();
            let mut actions = Vec::new();
            for _ in 0..100 {
                actions.extend(judge(&mut node, true, 1, 0));
                actions.extend(judge(&mut node, false, good, 0));
            }
            assert_eq!(
                actions.contains(&MissAction::Halve),
                halves,
                "{good} between two"
            );
            assert_eq!(
                actions.iter().all(|action| *action == MissAction::Warn),
                !halves
            );
        }
    }
}
