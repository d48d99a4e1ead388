//! Nodes with a rate: a thread each, at absolute times.

use std::io;

use horus_shm::clock::{Clock, sleep_until};
use horus_shm::rt::{self, Awake};

use crate::scheduler::plan::Plan;
use crate::scheduler::runner::{After, Runner};
use crate::scheduler::shared::Shared;
use crate::scheduler::timeline::Timeline;

use super::best_effort::turns;

/// Sleeps by which is learned how late the kernel wakes at first: so many, of so long at most.
const TRIALS: usize = 10;
const TRIAL_NS_MAX: u64 = 1_000_000;
/// Of the lateness in those, how many are longer than what is burned.
const WORSE: usize = 1;
/// Part of a period that may be burned, in percent.
const SPIN_PERCENT: u64 = 8;
/// What may be burned however short the period is. WHY: the kernel wakes no sooner for a shorter
/// one, and a node that is woken later than its next turn misses that.
const SPIN_NS: u64 = 80_000;
/// If less than this would be left to sleep, all of the period may be burned.
const SLEEP_NS_MIN: u64 = 50_000;
/// Time without a sleep after which one is tried again. WHY: Linux gives a core that SCHED_FIFO
/// kept for a second to all that wait for it, for up to 50 ms at once (the fair server, before it
/// RT throttling): measured were 26 to 46 ms in each second. What waits needs some microseconds,
/// and gets them so.
const SLEEPLESS_NS_MAX: u64 = 250_000_000;

/// Asks for what the node's thread is to have: what it has as long as that is kept, and what could
/// not be had, for a person.
pub(in crate::scheduler) fn prepare(plan: &Plan) -> (Option<Awake>, Vec<String>) {
    let mut refused = Vec::new();
    let mut note = |what: String, outcome: io::Result<()>| {
        if let Err(error) = outcome {
            refused.push(format!("{what}: {error}"));
        }
    };
    let mut awake = None;
    if plan.stays_awake {
        let kept = Awake::keep().map(|kept| awake = Some(kept));
        note("processors that stay awake (/dev/cpu_dma_latency)".to_owned(), kept);
    }
    if let Some(core) = plan.core {
        note(format!("core {core}"), rt::pin_to(core));
    }
    if let Some(priority) = plan.priority {
        note(format!("priority {priority} (SCHED_FIFO)"), rt::run_first(priority));
        note("memory that stays (mlockall)".to_owned(), rt::lock_memory());
        rt::touch_stack();
    }
    (awake, refused)
}

/// How long before a turn a thread has to wake in order to be in time nearly always: what the
/// kernel's wakes are late by, all but one in a hundred, and no more than [`spin_max_ns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::scheduler) struct Spin {
    ns: u64,
    max_ns: u64,
    /// When it last slept.
    slept_ns: u64,
}

/// A wake that was not late enough to matter takes so much of the spin, in parts of its most; one
/// that was later adds so many times that, which is where one in a hundred is later.
const DOWN_PARTS: u64 = 2000;
const UP_TIMES: u64 = 99;

impl Spin {
    /// Learns it from a few sleeps. Takes 10 ms at most, and what the kernel is late by.
    pub(in crate::scheduler) fn learn(clock: &mut Clock, period_ns: u64) -> Self {
        // WHY no shorter than the sleeps to come: who sleeps deeper wakes later.
        let trial_ns = period_ns.min(TRIAL_NS_MAX);
        let mut late: [u64; TRIALS] = std::array::from_fn(|_| {
            let wake_ns = clock.resync() + trial_ns;
            sleep_until(wake_ns);
            clock.resync().saturating_sub(wake_ns)
        });
        late.sort_unstable();
        let max_ns = spin_max_ns(period_ns);
        let ns = late[TRIALS - 1 - WORSE].min(max_ns);
        Self { ns, max_ns, slept_ns: clock.resync() }
    }

    /// Goes on learning: a wake was late by this much.
    fn note(&mut self, late_ns: u64) {
        let down_ns = (self.max_ns / DOWN_PARTS).max(1);
        self.ns = if late_ns > self.ns {
            (self.ns + down_ns * UP_TIMES).min(self.max_ns)
        } else {
            self.ns.saturating_sub(down_ns)
        };
    }

    /// How long before a turn to wake, at this time. After long without a sleep, as all of the
    /// period is burned, leaves a quarter of it to sleep; whether that is kept, the wakes tell.
    fn ns_at(&mut self, now_ns: u64) -> u64 {
        if now_ns.saturating_sub(self.slept_ns) >= SLEEPLESS_NS_MAX {
            self.slept_ns = now_ns;
            self.ns = self.ns.min(self.max_ns / 4 * 3);
        }
        self.ns
    }
}

/// What may be burned before each turn: 8 % of a period; of one that is shorter than 1 ms as much
/// as of that one, or all of it if that leaves next to nothing to sleep.
fn spin_max_ns(period_ns: u64) -> u64 {
    let ns = (period_ns / 100 * SPIN_PERCENT).max(SPIN_NS);
    if period_ns < ns + SLEEP_NS_MIN { period_ns } else { ns }
}

/// The longest sleep, after which a thread looks whether everything is to stop, and for orders.
const SLICE_NS: u64 = 20_000_000;

/// Gives nodes their turns, one after the other at each due time, until everything is to stop.
///
/// Sleeps until `spin` before they are due and burns the rest: the kernel wakes late by as much as
/// it likes. No allocation, lock or system call but the sleep.
pub(in crate::scheduler) fn run(
    runners: &mut [Runner],
    clock: &mut Clock,
    shared: &Shared,
    mut timeline: Timeline,
    mut spin: Spin,
) -> After {
    let mut slept_until_ns = None;
    while !shared.is_stopping() {
        let due_ns = timeline.due_ns();
        let now_ns = clock.resync();
        if let Some(wanted_ns) = slept_until_ns.take()
            && now_ns >= wanted_ns
        {
            spin.note(now_ns - wanted_ns);
        }
        let wake_ns = due_ns.saturating_sub(spin.ns_at(now_ns));
        if now_ns < wake_ns {
            let until_ns = wake_ns.min(now_ns.saturating_add(SLICE_NS));
            // WHY here too: a slow node is not due for long, and an emergency does not wait.
            runners.iter_mut().for_each(|runner| runner.heed(clock, now_ns));
            sleep_until(until_ns);
            slept_until_ns = Some(until_ns);
            spin.slept_ns = until_ns;
            continue;
        }
        let mut begin_ns = clock.now_ns();
        while begin_ns < due_ns {
            std::hint::spin_loop();
            begin_ns = clock.now_ns();
        }
        let (end_ns, after) = turns(runners, clock, due_ns, begin_ns);
        if after != After::Continue || runners.iter().all(Runner::is_over) {
            return after;
        }
        if let Some(rate) = runners.iter_mut().find_map(Runner::take_new_rate) {
            timeline = timeline.at_rate(rate);
        }
        let passed = timeline.advance(end_ns);
        if passed > 0 {
            runners.iter().for_each(|runner| runner.pulse().count_passed_over(passed));
        }
    }
    After::Continue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_period_may_burn_as_much_as_one_of_a_millisecond() {
        let most = [10_000_000, 1_000_000, 500_000, 100_000, 50_000].map(spin_max_ns);
        assert_eq!(most, [800_000, 80_000, 80_000, 100_000, 50_000]);
    }

    #[test]
    fn the_spin_settles_where_one_wake_in_a_hundred_is_later() {
        let mut spin = Spin { ns: 0, max_ns: 80_000, slept_ns: 0 };
        let mut state = 1_u64;
        let mut later = 0;
        for index in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let late_ns = (state >> 33) % 40_000;
            later += u64::from(index >= 100_000 && late_ns > spin.ns);
            spin.note(late_ns);
            assert!(spin.ns <= spin.max_ns);
        }
        assert!((700..1300).contains(&later), "{later} of 100000");
        assert!((38_000..42_000).contains(&spin.ns), "{} ns", spin.ns);
        (0..1_000_000).for_each(|_| spin.note(0));
        assert_eq!(spin.ns, 0);
        (0..1000).for_each(|_| spin.note(u64::MAX));
        assert_eq!(spin.ns, spin.max_ns);
        assert_eq!(spin.ns_at(SLEEPLESS_NS_MAX - 1), spin.max_ns);
        assert_eq!(spin.ns_at(SLEEPLESS_NS_MAX), spin.max_ns / 4 * 3);
        spin.note(u64::MAX);
        assert!(spin.ns_at(SLEEPLESS_NS_MAX + 1) > spin.max_ns / 4 * 3);
    }
}
