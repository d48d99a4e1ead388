//! Runs nodes with a rate at their due times. Each node, or each chain of nodes, has its own
//! thread.

use std::io;

use horus_shm::clock::{Clock, sleep_until};
use horus_shm::rt::{self, CpuAwakeRequest};

use crate::scheduler::api::plan::{NodeClass, NodePlan};
use crate::scheduler::api::timeline::Timeline;
use crate::scheduler::run::run_state::RunState;
use crate::scheduler::run::runner::{RunDecision, Runner};

use super::best_effort::run_turns;
use super::spin::SpinTime;

/// Applies the thread settings of a node to the calling thread, except the CPU of a thread of a
/// group of actors. Returns a guard that prevents the
/// CPUs from sleeping (`None` if the node does not require that), and a list of the settings that
/// the system refused, each with the reason.
pub(crate) fn apply_thread_settings(plan: &NodePlan) -> (Option<CpuAwakeRequest>, Vec<String>) {
    let mut refused = Vec::new();
    let mut awake = None;
    if plan.stays_awake {
        let kept = CpuAwakeRequest::new().map(|kept| awake = Some(kept));
        let what = "CPUs that stay awake (/dev/cpu_dma_latency)";
        push_refused_setting(&mut refused, what.to_owned(), kept);
    }
    // WHY not a group of actors: each of its threads has a CPU of its own.
    let core = plan.core.filter(|_| plan.class != NodeClass::Actors);
    refused.append(&mut pin_and_prioritise_thread(core, plan.priority));
    (awake, refused)
}

/// Pins the calling thread to the CPU `core`, and sets its SCHED_FIFO priority; `None` changes
/// nothing. Returns the settings that the system refused, each with the reason.
pub(crate) fn pin_and_prioritise_thread(core: Option<usize>, priority: Option<u8>) -> Vec<String> {
    let mut refused = Vec::new();
    let mut note = |what, outcome| push_refused_setting(&mut refused, what, outcome);
    if let Some(core) = core {
        note(format!("core {core}"), rt::pin_thread_to(core));
    }
    if let Some(priority) = priority {
        note(
            format!("priority {priority} (SCHED_FIFO)"),
            rt::set_fifo_priority(priority),
        );
        note("locked memory (mlockall)".to_owned(), rt::lock_memory());
        rt::prefault_stack();
    }
    refused
}

fn push_refused_setting(refused: &mut Vec<String>, setting: String, outcome: io::Result<()>) {
    if let Err(error) = outcome {
        refused.push(format!("{setting}: {error}"));
    }
}

/// The longest sleep of a thread that runs nodes with a rate, in nanoseconds. After it, the thread
/// checks whether the run has to stop, and applies pending commands.
const COMMAND_POLL_PERIOD_NS: u64 = 20_000_000;

/// Runs the nodes one after the other at each due time, until the run has to stop.
///
/// The thread sleeps until shortly before the due time, and then spins, because the kernel wakes
/// threads late. `spin` decides how long it spins. This function allocates no memory and takes no
/// lock; the only system call is the sleep.
pub(crate) fn run_real_time_nodes(
    runners: &mut [Runner],
    clock: &mut Clock,
    shared: &RunState,
    mut timeline: Timeline,
    mut spin: SpinTime,
) -> RunDecision {
    let mut slept_until_ns = None;
    while !shared.is_stopping() {
        let due_ns = timeline.due_ns();
        let now_ns = clock.resync_and_read_ns();
        if let Some(wanted_ns) = slept_until_ns.take()
            && now_ns >= wanted_ns
        {
            spin.record_sleep_end(now_ns, now_ns - wanted_ns);
        }
        let wake_ns = spin.sleep_until_ns(now_ns, due_ns);
        if now_ns < wake_ns {
            let until_ns = wake_ns.min(now_ns.saturating_add(COMMAND_POLL_PERIOD_NS));
            // WHY commands are applied before a sleep, too: the next tick may be far away, and an
            // emergency stop must not wait for it.
            runners
                .iter_mut()
                .for_each(|runner| runner.poll_commands(clock, now_ns));
            let busy_until_ns = runners.iter().map(Runner::busy_until_ns).max();
            if let Some(end_ns) = busy_until_ns.filter(|end_ns| *end_ns >= due_ns) {
                // A command has lasted beyond the due time, for instance a swap whose `init` is
                // slow.
                let passed = 1 + timeline.advance(end_ns);
                count_skipped_ticks(runners, passed);
                continue;
            }
            spin.record_sleep_begin(now_ns);
            sleep_until(until_ns);
            slept_until_ns = Some(until_ns);
            continue;
        }
        let mut begin_ns = clock.now_ns();
        while begin_ns < due_ns {
            std::hint::spin_loop();
            begin_ns = clock.now_ns();
        }
        let (end_ns, decision) = run_turns(runners, clock, due_ns, begin_ns);
        if decision != RunDecision::Continue || runners.iter().all(Runner::is_shut_down) {
            return decision;
        }
        if let Some(rate) = runners.iter_mut().find_map(Runner::take_new_rate) {
            timeline = timeline.at_rate(rate);
            spin = spin.with_period(timeline.period_ns());
        }
        let passed = timeline.advance(end_ns);
        if passed > 0 {
            count_skipped_ticks(runners, passed);
        }
    }
    RunDecision::Continue
}

fn count_skipped_ticks(runners: &[Runner], ticks: u64) {
    runners
        .iter()
        .for_each(|runner| runner.metrics().count_skipped_ticks(ticks));
}
