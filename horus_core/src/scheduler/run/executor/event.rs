//! Runs a node that waits for messages on its own thread, which sleeps until a topic has messages.

use std::sync::Arc;
use std::time::Duration;

use horus_shm::Watch;
use horus_shm::clock::Clock;
use horus_shm::internals::wait::LocalEventcount;

use crate::scheduler::api::policy::saturating_nanos;
use crate::scheduler::run::commands::CommandListener;
use crate::scheduler::run::run_state::RunState;
use crate::scheduler::run::runner::{RunDecision, Runner};
use crate::topic::{Reason, WaitSet};

/// The longest sleep of the thread of a node whose inputs have timeouts. The thread checks the
/// timeouts after each sleep. This constant is also the longest sleep of a node that may not tick
/// yet because of its `at_most` rate.
pub(super) const INPUT_CHECK_PERIOD: Duration = Duration::from_millis(20);

/// The longest sleep of the thread of a node that enters its safe state. After each sleep, the node
/// is asked whether it has reached that state.
pub(super) const SAFE_STATE_CHECK_PERIOD: Duration = Duration::from_millis(20);

/// The pause of the thread if messages wait but the node may not tick, for instance because it is
/// paused, or cannot receive them. WHY: otherwise the waiting messages would wake the thread again
/// immediately.
pub(super) const BLOCKED_NODE_PAUSE: Duration = Duration::from_millis(1);

impl CommandListener for Arc<LocalEventcount> {
    fn wake(&self) {
        self.notify();
    }
}

/// Returns the time from `now_ns` to the end of a pause at `end_ns`, but at least
/// [`BLOCKED_NODE_PAUSE`]. WHY: a node whose `init` fails again must not keep its thread busy.
pub(super) fn pause_duration_until(end_ns: u64, now_ns: u64) -> Duration {
    Duration::from_nanos(end_ns.saturating_sub(now_ns)).max(BLOCKED_NODE_PAUSE)
}

/// Returns true if messages wait that the node may be unable to receive: its last receive call from
/// one of these topics could not map the memory of a publisher. Takes a lock for each topic, but
/// only if messages wait.
pub(super) fn has_unreadable_message(watches: &[Watch]) -> bool {
    let has_unmapped_publisher = |watch: &Watch| watch.health_watch().unmapped_lane().is_some();
    watches.iter().any(Watch::has_message) && watches.iter().any(has_unmapped_publisher)
}

/// Runs the node whenever it has messages, but not faster than its `at_most` rate. Returns when the
/// run has to stop, or when the node was shut down. A topic that has lost its memory makes the node
/// tick once more. If no subscriber of the node is left, the thread only applies commands.
///
/// The thread sleeps until there are messages or `wake_event` is notified. `wake_event` is notified
/// after each command, at the end of the run, and, if a wake was lost, by the supervisor.
pub(crate) fn run_event_node(
    runner: &mut Runner,
    clock: &mut Clock,
    shared: &RunState,
    (wake, wake_event): (&mut WaitSet, &LocalEventcount),
) -> RunDecision {
    let longest = if runner.plan().inputs.is_empty() {
        Duration::MAX
    } else {
        INPUT_CHECK_PERIOD
    };
    let commands = Arc::clone(runner.commands());
    let must_end_wait = || commands.has_unapplied_command() || shared.is_stopping();
    let pause_ns = runner
        .plan()
        .at_most
        .map_or(0, |rate| saturating_nanos(rate.period()));
    let mut not_before_ns = 0;
    let mut seen_ns = None;
    while !shared.is_stopping() && !runner.is_shut_down() {
        let longest = match runner.pause_end_ns() {
            Some(end_ns) => longest.min(pause_duration_until(end_ns, clock.now_ns())),
            None => longest,
        };
        let longest = if runner.is_entering_safe_state() {
            longest.min(SAFE_STATE_CHECK_PERIOD)
        } else {
            longest
        };
        let Ok(ready) = wake.wait_without_polling(longest, (wake_event, &must_end_wait)) else {
            return RunDecision::Continue;
        };
        if shared.is_stopping() {
            break;
        }
        let has_message = ready.iter().any(|ready| ready.reason == Reason::Message);
        let now_ns = clock.resync_and_read_ns();
        let decision = if runner.poll_commands_and_is_blocked(clock, now_ns) {
            // The deadline counts from when the node is allowed to tick again.
            seen_ns = None;
            if has_message {
                shared.wait_for_stop(BLOCKED_NODE_PAUSE);
            }
            RunDecision::Continue
        } else if !has_message {
            runner.check_idle_inputs(clock, now_ns)
        } else {
            // The due time: when the messages were first seen, but not before the node is allowed
            // to tick.
            let due_ns = not_before_ns.max(*seen_ns.get_or_insert(now_ns));
            if now_ns < due_ns {
                shared.wait_for_stop(Duration::from_nanos(due_ns - now_ns).min(INPUT_CHECK_PERIOD));
                continue;
            }
            let ticks = runner.tick_count();
            let (_, decision) = runner.run_turn(clock, due_ns, now_ns);
            // WHY after a tick: it has shown the error to the node.
            if runner.tick_count() != ticks {
                wake.remove_lost_topics();
            }
            (not_before_ns, seen_ns) = (now_ns.saturating_add(pause_ns), None);
            let is_in_vain = runner.tick_count() == ticks || has_unreadable_message(wake.watches());
            if decision == RunDecision::Continue && is_in_vain {
                shared.wait_for_stop(BLOCKED_NODE_PAUSE);
            }
            decision
        };
        if decision != RunDecision::Continue {
            return decision;
        }
    }
    RunDecision::Continue
}
