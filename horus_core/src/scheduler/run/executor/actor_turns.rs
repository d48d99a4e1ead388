//! Runs the actors of a group on the thread that runs the scheduler, or on the thread that runs a
//! simulation.

use horus_shm::internals::heap::ActivationOutcome;

use crate::actor::group::{ActorGroup, Task};
use crate::actor::local;
use crate::actor::worker_context::WorkerContext;
use crate::scheduler::api::node::NodeResult;

use super::actors::MESSAGES_PER_ACTIVATION_MAX;

/// Number of activations (an actor handles some of its messages) after which the thread runs its
/// other nodes.
const GROUP_RUN_ACTIVATIONS_MAX: u32 = 65_536;

/// The time, in nanoseconds, after which the thread stops running actors and runs its other nodes.
const GROUP_RUN_NS_MAX: u64 = 1_000_000;

/// Runs the actors that have messages or whose timers are due, in the order in which they received
/// messages. Returns when no such actor is left, or about a millisecond after `begin_ns` by the
/// clock of `worker`.
///
/// # Errors
///
/// Returns the error of an actor whose failure policy stops the scheduler.
pub(crate) fn run_actors_with_messages(
    group: &ActorGroup,
    worker: &mut WorkerContext,
    begin_ns: u64,
) -> NodeResult {
    let mut now_ns = begin_ns;
    group.set_simulated_time(now_ns);
    for _ in 0..GROUP_RUN_ACTIVATIONS_MAX {
        if group.is_paused() {
            break;
        }
        // WHY before the timers: their functions must not wait, either.
        let marked = local::mark_thread_in_handler();
        let is_due = now_ns >= group.timers.next_due_ns();
        let run = || group.run_due_timers(now_ns, group.worker_activity(0));
        let due = is_due.then(run).flatten();
        let Some(task) = due.or_else(|| group.waiting.pop()) else {
            break;
        };
        worker.begin_activation(now_ns);
        group
            .worker_activity(0)
            .record_activation_begin(task.id(), now_ns);
        let ran = task.run(group, worker, MESSAGES_PER_ACTIVATION_MAX);
        drop(marked);
        group.worker_activity(0).record_activation_end();
        match ran {
            ActivationOutcome::Slept | ActivationOutcome::Ended => {}
            ActivationOutcome::More(task) => group.inject(task),
            ActivationOutcome::Suspended(task) => {
                group.suspend_actor(task, worker.resume_ns);
            }
        }
        let handled;
        (now_ns, handled) = worker.end_activation_ns_and_messages();
        group.worker_activity(0).count_handled_messages(handled);
        if let Some(error) = worker.fatal_error.take() {
            return Err(error.into());
        }
        if now_ns.saturating_sub(begin_ns) >= GROUP_RUN_NS_MAX {
            break;
        }
    }
    Ok(())
}

/// Makes the actors that have a safe state enter it, because there is an emergency stop.
pub(crate) fn make_actors_safe(group: &ActorGroup) {
    let again = group.emergency_stop.tasks_to_revisit();
    visit_actors_for_safe_state(group, again.chain(group.waiting.take_all()));
}

/// Makes the actors that have a safe state enter it, and stay there until they end. Called because
/// the run has failed, when no thread of the group runs actors any more. An actor whose handler has
/// not returned is left out. May be called again: an actor enters its safe state only once.
pub(crate) fn make_actors_safe_before_end(group: &ActorGroup) {
    let make_safe = || {
        let in_queues = group.begin_last_emergency_stop();
        visit_actors_for_safe_state(group, in_queues);
        make_actors_safe(group);
    };
    match group.handler_wrapper() {
        Some(wrap_handlers) => wrap_handlers(&mut || make_safe()),
        None => make_safe(),
    }
}

/// Visits actors, so that those with a safe state enter it. None of them runs again until the
/// emergency stop ends.
fn visit_actors_for_safe_state(group: &ActorGroup, tasks: impl IntoIterator<Item = Task>) {
    let mut worker = WorkerContext::new(&group.clock());
    for mut task in tasks {
        let stop = &group.emergency_stop;
        let revisit_request_count = stop.revisit_request_count();
        let marked = local::mark_thread_in_handler();
        // WHY only without threads: at the end of the run, the first one may hang in an activation.
        let activity = (group.thread_count() == 0).then(|| group.worker_activity(0));
        if let Some(activity) = activity {
            activity.record_activation_begin(task.id(), worker.clock.now_ns());
        }
        task.visit_actor(group, &mut worker);
        if let Some(activity) = activity {
            activity.record_activation_end();
        }
        drop(marked);
        let is_safe = !std::mem::take(&mut worker.awaits_safe_state);
        if let Some(task) = stop.hold_task(task, is_safe, revisit_request_count) {
            group.inject(task);
        }
    }
}
