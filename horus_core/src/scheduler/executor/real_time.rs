//! Nodes with a rate: a thread each, at absolute times.

use horus_shm::clock::{Clock, sleep_until};

use crate::scheduler::runner::{After, Runner};
use crate::scheduler::shared::Shared;
use crate::scheduler::timeline::Timeline;

/// The longest sleep, after which a thread looks whether everything is to stop.
const SLICE_NS: u64 = 50_000_000;

/// Gives a node its turns until everything is to stop; the first one is due at `first_ns`.
///
/// Sleeps until `spin_ns` before a turn and burns the rest: the kernel wakes late by as much as it
/// likes. No allocation, lock or system call but the sleep.
pub(in crate::scheduler) fn run(
    runner: &mut Runner,
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
            sleep_until(wake_ns.min(now_ns.saturating_add(SLICE_NS)));
            continue;
        }
        let mut begin_ns = clock.now_ns();
        while begin_ns < due_ns {
            std::hint::spin_loop();
            begin_ns = clock.now_ns();
        }
        let (end_ns, after) = runner.turn(clock, due_ns, begin_ns);
        if after != After::Continue {
            return after;
        }
        let passed = timeline.advance(end_ns);
        if passed > 0 {
            runner.pulse().count_passed_over(passed);
        }
    }
    After::Continue
}
