//! Nodes with a rate: a thread each, at absolute times.

use std::io;

use horus_shm::clock::{Clock, sleep_until};
use horus_shm::rt;

use crate::scheduler::plan::Plan;
use crate::scheduler::runner::{After, Runner};
use crate::scheduler::shared::Shared;
use crate::scheduler::timeline::Timeline;

use super::best_effort::turns;

/// Sleeps by which is learned how late the kernel wakes: so many, of so long.
const TRIALS: usize = 20;
const TRIAL_NS: u64 = 200_000;
/// Of the lateness in those, how many are longer than what is burned.
const WORSE: usize = 2;
/// Part of a period that may be burned, in percent.
const SPIN_PERCENT: u64 = 8;

/// Asks for what the node's thread is to have; what could not be had, for a person.
pub(in crate::scheduler) fn prepare(plan: &Plan) -> Vec<String> {
    let mut refused = Vec::new();
    let mut note = |what: String, outcome: io::Result<()>| {
        if let Err(error) = outcome {
            refused.push(format!("{what}: {error}"));
        }
    };
    if let Some(core) = plan.core {
        note(format!("core {core}"), rt::pin_to(core));
    }
    if let Some(priority) = plan.priority {
        note(format!("priority {priority} (SCHED_FIFO)"), rt::run_first(priority));
        note("memory that stays (mlockall)".to_owned(), rt::lock_memory());
        rt::touch_stack();
    }
    refused
}

/// How long before a turn the thread has to wake in order to be in time nearly always, at most 8 %
/// of a period. Takes some 5 ms.
pub(in crate::scheduler) fn spin_ns(clock: &mut Clock, period_ns: u64) -> u64 {
    let mut late: [u64; TRIALS] = std::array::from_fn(|_| {
        let wake_ns = clock.resync() + TRIAL_NS;
        sleep_until(wake_ns);
        clock.resync().saturating_sub(wake_ns)
    });
    late.sort_unstable();
    late[TRIALS - 1 - WORSE].min(period_ns / 100 * SPIN_PERCENT)
}

/// The longest sleep, after which a thread looks whether everything is to stop, and for orders.
const SLICE_NS: u64 = 20_000_000;

/// Gives nodes their turns, one after the other at each due time, until everything is to stop.
///
/// Sleeps until `spin_ns` before they are due and burns the rest: the kernel wakes late by as much
/// as it likes. No allocation, lock or system call but the sleep.
pub(in crate::scheduler) fn run(
    runners: &mut [Runner],
    clock: &mut Clock,
    shared: &Shared,
    mut timeline: Timeline,
    spin_ns: u64,
) -> After {
    while !shared.is_stopping() {
        let due_ns = timeline.due_ns();
        let now_ns = clock.resync();
        let wake_ns = due_ns.saturating_sub(spin_ns);
        if now_ns < wake_ns {
            // WHY here too: a slow node is not due for long, and an emergency does not wait.
            runners.iter_mut().for_each(|runner| runner.heed(clock, now_ns));
            sleep_until(wake_ns.min(now_ns.saturating_add(SLICE_NS)));
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
