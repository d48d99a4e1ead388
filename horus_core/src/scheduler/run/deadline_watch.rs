//! How a node keeps its deadlines, and what follows when it does not: decided here, done elsewhere.

use crate::scheduler::api::policy::Miss;

/// What to do about a tick that was late, or about one that was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    Fine,
    /// Say so.
    Warn,
    /// Leave out the next tick.
    Skip,
    /// From now on tick at every second due time only.
    Halve,
    /// Leave ticks out until then, and go on at every second due time.
    Isolate {
        /// On the scheduler's clock.
        until_ns: u64,
        /// Enter the safe state first. Not when the node is in it already.
        enters_safe_state: bool,
    },
    /// Enter the safe state.
    EnterSafeState,
    /// Leave the safe state.
    LeaveSafeState,
    /// Tick at every due time again.
    Restore,
    /// Stop everything.
    Stop,
}

/// Ticks in time, in a row, that take one step back.
const GOOD_TICKS: u32 = 10;
/// Misses that lead one step further: these have been warned of.
const WARNINGS: u32 = 3;
/// So often a node is isolated; then everything stops.
const ISOLATIONS_MAX: u32 = 3;
/// How long it is isolated first. Doubles each time.
const ISOLATION_NS: u64 = 1_000_000_000;

/// How far it has come with a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Rung {
    /// It ticks at every due time.
    #[default]
    Free,
    /// It ticks at every second due time.
    Halved,
    /// It is in its safe state: for good ticks to get it out, and before that, if the policy is
    /// graduated, isolated.
    Safe,
}

/// How a node has kept its deadlines so far.
///
/// WHY misses are neither counted in a row nor in a window of time: a node that is late every other
/// tick would never have three misses in a row, and a window would have to know the node's period.
/// Misses add up until ten ticks in a row were in time. So a miss in eleven ticks is warned of
/// forever, and one in ten ticks or more leads on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DeadlineWatch {
    rung: Rung,
    /// Whether there is anything that good ticks would take back.
    is_on_trial: bool,
    good_in_a_row: u32,
    /// On this rung, since ten ticks in a row were in time.
    misses: u32,
    /// Since the node ticked at every due time.
    isolations: u32,
}

impl DeadlineWatch {
    /// The node's tick, over at `now_ns`, missed its deadline, or did not. Costs a branch as long
    /// as it does not.
    #[inline(always)]
    pub(crate) fn record(&mut self, policy: Miss, missed: bool, now_ns: u64) -> Verdict {
        match (missed, self.is_on_trial) {
            (false, false) => Verdict::Fine,
            (false, true) => self.keep(policy),
            (true, _) => self.miss(policy, now_ns),
        }
    }

    /// Whether the node is to be in its safe state.
    pub(crate) fn is_safe(&self) -> bool {
        self.rung == Rung::Safe
    }

    /// A good tick after a miss: ten of them take one step back.
    #[cold]
    fn keep(&mut self, policy: Miss) -> Verdict {
        self.good_in_a_row += 1;
        if self.good_in_a_row < GOOD_TICKS {
            return Verdict::Fine;
        }
        (self.good_in_a_row, self.misses) = (0, 0);
        match self.rung {
            Rung::Free => {
                self.is_on_trial = false;
                Verdict::Fine
            }
            Rung::Halved => {
                *self = Self::default();
                Verdict::Restore
            }
            Rung::Safe if policy == Miss::Graduated => {
                self.rung = Rung::Halved;
                Verdict::LeaveSafeState
            }
            Rung::Safe => {
                *self = Self::default();
                Verdict::LeaveSafeState
            }
        }
    }

    #[cold]
    fn miss(&mut self, policy: Miss, now_ns: u64) -> Verdict {
        self.is_on_trial = true;
        self.good_in_a_row = 0;
        match policy {
            Miss::Warn => Verdict::Warn,
            Miss::Skip => Verdict::Skip,
            Miss::SafeMode if self.rung == Rung::Safe => Verdict::Warn,
            Miss::SafeMode => {
                self.rung = Rung::Safe;
                Verdict::EnterSafeState
            }
            Miss::Graduated => self.climb(now_ns),
            Miss::Stop => Verdict::Stop,
        }
    }

    /// One more miss under [`Miss::Graduated`].
    fn climb(&mut self, now_ns: u64) -> Verdict {
        self.misses += 1;
        if self.misses <= WARNINGS {
            return Verdict::Warn;
        }
        self.misses = 0;
        if self.rung == Rung::Free {
            self.rung = Rung::Halved;
            return Verdict::Halve;
        }
        if self.isolations >= ISOLATIONS_MAX {
            return Verdict::Stop;
        }
        let until_ns = now_ns.saturating_add(ISOLATION_NS << self.isolations);
        self.isolations += 1;
        let enters_safe_state = self.rung != Rung::Safe;
        self.rung = Rung::Safe;
        Verdict::Isolate { until_ns, enters_safe_state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Judges so many ticks at `now_ns`; what there was to do, without what is fine.
    fn judge(
        deadline_watch: &mut DeadlineWatch,
        missed: bool,
        ticks: u32,
        now_ns: u64,
    ) -> Vec<Verdict> {
        let verdicts = (0..ticks).map(|_| deadline_watch.record(Miss::Graduated, missed, now_ns));
        verdicts.filter(|verdict| *verdict != Verdict::Fine).collect()
    }

    /// Three warnings, and then this.
    fn after_warnings(verdict: Verdict) -> Vec<Verdict> {
        vec![Verdict::Warn, Verdict::Warn, Verdict::Warn, verdict]
    }

    const fn isolated(until_ns: u64, enters_safe_state: bool) -> Verdict {
        Verdict::Isolate { until_ns, enters_safe_state }
    }

    #[test]
    fn a_safe_state_is_entered_once_and_left_when_the_node_is_in_time_again() {
        let mut deadline_watch = DeadlineWatch::default();
        let mut judge = |missed| deadline_watch.record(Miss::SafeMode, missed, 0);
        for _ in 0..3 {
            assert_eq!(judge(false), Verdict::Fine);
            assert_eq!(judge(true), Verdict::EnterSafeState);
            assert_eq!(judge(true), Verdict::Warn);
            for _ in 1..GOOD_TICKS {
                assert_eq!(judge(false), Verdict::Fine);
            }
            assert_eq!(judge(true), Verdict::Warn, "not for long enough");
            for _ in 1..GOOD_TICKS {
                assert_eq!(judge(false), Verdict::Fine);
            }
            assert_eq!(judge(false), Verdict::LeaveSafeState);
        }
    }

    #[test]
    fn each_policy_says_what_it_is_called() {
        for (policy, verdict) in
            [(Miss::Warn, Verdict::Warn), (Miss::Skip, Verdict::Skip), (Miss::Stop, Verdict::Stop)]
        {
            let mut deadline_watch = DeadlineWatch::default();
            for _ in 0..100 {
                assert_eq!(deadline_watch.record(policy, false, 0), Verdict::Fine);
                assert_eq!(deadline_watch.record(policy, true, 0), verdict);
                assert_eq!(deadline_watch.record(policy, false, 0), Verdict::Fine);
            }
        }
    }

    #[test]
    fn a_node_that_is_always_late_climbs_to_the_end() {
        let mut node = DeadlineWatch::default();
        assert_eq!(judge(&mut node, true, 4, 0), after_warnings(Verdict::Halve));
        assert_eq!(judge(&mut node, true, 4, 0), after_warnings(isolated(SECOND, true)));
        // In its safe state it stays from one isolation to the next.
        assert_eq!(judge(&mut node, true, 4, SECOND), after_warnings(isolated(3 * SECOND, false)));
        let third = isolated(7 * SECOND, false);
        assert_eq!(judge(&mut node, true, 4, 3 * SECOND), after_warnings(third));
        assert_eq!(judge(&mut node, true, 4, 7 * SECOND), after_warnings(Verdict::Stop));
        assert_eq!(isolated(u64::MAX, true), {
            let mut node = DeadlineWatch::default();
            *judge(&mut node, true, 8, u64::MAX - 1).last().unwrap()
        });
    }

    #[test]
    fn who_is_in_time_again_gets_back_one_step_after_the_other() {
        let mut node = DeadlineWatch::default();
        for round in 0..5 {
            judge(&mut node, true, 7, 0);
            assert_eq!(judge(&mut node, true, 1, 0), [isolated(SECOND, true)], "round {round}");
            assert_eq!(judge(&mut node, false, 9, 0), []);
            assert_eq!(judge(&mut node, false, 1, 0), [Verdict::LeaveSafeState]);
            assert_eq!(judge(&mut node, false, 9, 0), []);
            assert_eq!(judge(&mut node, false, 1, 0), [Verdict::Restore]);
            assert_eq!(judge(&mut node, false, 1000, 0), []);
        }
    }

    #[test]
    fn halfway_back_is_no_fresh_start() {
        let mut node = DeadlineWatch::default();
        judge(&mut node, true, 8, 0);
        assert_eq!(judge(&mut node, false, 10, 0), [Verdict::LeaveSafeState]);
        // Isolated for longer than before, and from outside of the safe state.
        assert_eq!(judge(&mut node, true, 4, 0), after_warnings(isolated(2 * SECOND, true)));
        assert_eq!(judge(&mut node, false, 20, 0), [Verdict::LeaveSafeState, Verdict::Restore]);
        assert_eq!(judge(&mut node, true, 4, 0), after_warnings(Verdict::Halve));
        assert_eq!(judge(&mut node, true, 4, 0), after_warnings(isolated(SECOND, true)));
    }

    #[test]
    fn a_miss_now_and_then_is_warned_of_and_one_too_often_leads_on() {
        // (in time between two misses, what a hundred misses lead to)
        for (good, halves) in [(0, true), (1, true), (9, true), (10, false), (100, false)] {
            let mut node = DeadlineWatch::default();
            let mut verdicts = Vec::new();
            for _ in 0..100 {
                verdicts.extend(judge(&mut node, true, 1, 0));
                verdicts.extend(judge(&mut node, false, good, 0));
            }
            assert_eq!(verdicts.contains(&Verdict::Halve), halves, "{good} between two");
            assert_eq!(verdicts.iter().all(|verdict| *verdict == Verdict::Warn), !halves);
        }
    }
}
