//! The node that represents a group of actors among the nodes of a scheduler.

use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use horus_shm::clock::{Clock, ClockSource};

use crate::actor::group::ActorGroup;
use crate::actor::local;
use crate::actor::worker_context::WorkerContext;
use crate::scheduler::api::context::Context;
use crate::scheduler::api::node::{Node, NodeError, NodeResult};
use crate::scheduler::api::report::StopReason;
use crate::scheduler::run::catch_panic::error_text;
use crate::scheduler::run::run_state::RunState;

use super::actor_turns;

/// The time between two synchronisations of the clock with the kernel's clock, in nanoseconds.
const CLOCK_RESYNC_PERIOD_NS: u64 = 20_000_000;

/// The state of a thread that runs the actors of a group without threads.
///
/// Only one thread at a time uses this state: the thread that ticks the group's node, or a thread
/// that runs the actors while it waits for an answer from one of them.
#[derive(Debug, Default)]
struct InlineActorRuns {
    /// The number of the thread that ticked the group's node last, as returned by
    /// [`local::current_thread_number`]; 0 if no thread may run actors while it waits for an
    /// answer.
    thread: usize,
    /// The context in which the thread of the group's node runs the handlers of actors while the
    /// thread waits for an answer from one of them.
    worker: Option<WorkerContext>,
    resync_ns: u64,
    /// The first error of an actor that ran while the thread waited for an answer. The next tick of
    /// the group's node returns it, or its `shutdown` if the run ends before.
    error: Option<NodeError>,
}

impl InlineActorRuns {
    /// Runs the group's actors, on a thread that waits for an answer from one of them. Stops the
    /// run if an actor fails and its policy demands it. Returns true if an actor had something to
    /// do.
    fn run_actors(&mut self, group: &ActorGroup, shared: &RunState) -> bool {
        let Some(worker) = &mut self.worker else {
            return false;
        };
        if group.is_paused() {
            if group.emergency_stop.is_engaged() {
                actor_turns::make_actors_safe(group);
            }
            return false;
        }
        let mut now_ns = worker.clock.now_ns();
        if now_ns >= self.resync_ns {
            now_ns = worker.clock.resync_and_read_ns();
            self.resync_ns = now_ns.saturating_add(CLOCK_RESYNC_PERIOD_NS);
        }
        if !group.has_due_activations(now_ns) {
            return false;
        }
        if let Err(error) = actor_turns::run_actors_with_messages(group, worker, now_ns) {
            // WHY at once: the run may end before the next tick of the group's node.
            shared.stop(StopReason::Node {
                name: group.name().to_owned(),
                error: error_text(&*error),
            });
            self.error.get_or_insert(error);
        }
        true
    }
}

/// Locks the mutex without waiting, even if it is poisoned. Returns `None` if another thread holds
/// the lock.
fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// A node of the scheduler that represents a group of actors, and ends these actors. If the group
/// has no threads, or in a simulated run, the ticks of this node run the actors.
#[derive(Debug)]
pub(crate) struct GroupNode {
    group: Arc<ActorGroup>,
    shared: Arc<RunState>,
    turns: Arc<Mutex<InlineActorRuns>>,
}

impl GroupNode {
    pub(crate) fn new(group: &Arc<ActorGroup>, shared: &Arc<RunState>) -> Self {
        Self {
            group: Arc::clone(group),
            shared: Arc::clone(shared),
            turns: Arc::default(),
        }
    }

    /// Allows the calling thread, and no other, to run the actors also while it waits for an answer
    /// from one of them.
    fn allow_actor_runs_while_waiting(&self, inline_runs: &mut InlineActorRuns, clock: &Clock) {
        let thread = local::current_thread_number();
        if inline_runs.thread != thread {
            inline_runs.thread = thread;
            inline_runs.worker = Some(WorkerContext::without_mail_wait(clock));
        }
        local::add_threadless_group(&self.group, || {
            let (group, turns) = (Arc::clone(&self.group), Arc::clone(&self.turns));
            let shared = Arc::clone(&self.shared);
            Rc::new(move || {
                let mut turns = try_lock(&turns)?;
                (turns.thread == thread).then(|| turns.run_actors(&group, &shared))
            })
        });
    }

    /// Reverts [`Self::allow_actor_runs_while_waiting`]: afterwards, no thread runs the actors
    /// while it waits for an answer. Returns the error of an actor that no tick has returned.
    fn forbid_actor_runs_while_waiting(&self) -> Option<NodeError> {
        local::remove_threadless_group(&self.group);
        // WHY not in vain: a thread that has the lock finds no actor when its handler returns.
        let mut turns = try_lock(&self.turns)?;
        std::mem::take(&mut *turns).error
    }

    fn run_actors(&self, clock: &Clock) -> NodeResult {
        // WHY: it has no worker of its own, and a simulated time would never end the wait.
        let mut worker = WorkerContext::without_mail_wait(clock);
        let now_ns = clock.now_ns();
        actor_turns::run_actors_with_messages(&self.group, &mut worker, now_ns)
    }
}

impl Node for GroupNode {
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        let Some(mut turns) = try_lock(&self.turns) else {
            // WHY: the thread that ticked the node before waits for an answer, and runs the actors.
            return Ok(());
        };
        if self.group.thread_count() == 0 && context.clock.source() != ClockSource::Simulated {
            self.allow_actor_runs_while_waiting(&mut turns, context.clock);
        }
        if let Some(error) = turns.error.take() {
            return Err(error);
        }
        let Some(wrap_handlers) = self.group.handler_wrapper() else {
            return self.run_actors(context.clock);
        };
        let mut result = Ok(());
        wrap_handlers(&mut || result = self.run_actors(context.clock));
        result
    }

    fn shutdown(&mut self) -> NodeResult {
        let error = self.forbid_actor_runs_while_waiting();
        self.group.end();
        self.group.publish_counters();
        error.map_or(Ok(()), Err)
    }

    fn enter_safe_state(&mut self) {
        let is_end = self.shared.is_stopping();
        // WHY: the emergency stop may be over by now, and must not begin again.
        if !is_end && !self.group.emergency_stop.is_engaged() {
            return;
        }
        if self.shared.has_failed() {
            // WHY: the end of an emergency stop must not make a failed run a good one.
            self.group.emergency_stop.set_run_failed();
        } else {
            self.group.emergency_stop.set_node_failing(true);
        }
        // WHY not if its threads run: in an emergency stop, they make the actors safe.
        if self.group.are_threads_running() {
            return;
        }
        if is_end {
            return actor_turns::make_actors_safe_before_end(&self.group);
        }
        let make_safe = || actor_turns::make_actors_safe(&self.group);
        match self.group.handler_wrapper() {
            Some(wrap_handlers) => wrap_handlers(&mut || make_safe()),
            None => make_safe(),
        }
    }

    fn is_safe_state(&self) -> bool {
        self.group.emergency_stop.are_all_safe()
    }
}

impl Drop for GroupNode {
    fn drop(&mut self) {
        // WHY again: without a run, nobody has shut the node down.
        drop(self.forbid_actor_runs_while_waiting());
        self.group.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor::group_settings::GroupSettings;

    /// The supervisor may end an emergency stop after the thread of the node has seen the stop, and
    /// before that thread makes the node enter its safe state.
    #[test]
    fn an_emergency_stop_that_is_over_does_not_begin_again() {
        let group = ActorGroup::new("fleet", 0, GroupSettings::default());
        let shared = Arc::<RunState>::default();
        let mut node = GroupNode::new(&group, &shared);
        group.emergency_stop.engage();
        assert!(group.emergency_stop.release_held_tasks().is_empty());
        node.enter_safe_state();
        assert!(!group.emergency_stop.is_engaged());
        // At the end of a failed run, the actors enter their safe state without an emergency stop.
        shared.stop(StopReason::Requested);
        node.enter_safe_state();
        assert!(group.emergency_stop.is_engaged());
    }

    /// The run fails because of a tick that does not end, after all commands were applied.
    #[test]
    fn the_end_of_an_emergency_stop_does_not_release_a_failed_run() {
        let group = ActorGroup::new("fleet", 0, GroupSettings::default());
        let shared = Arc::<RunState>::default();
        let mut node = GroupNode::new(&group, &shared);
        shared.stop(StopReason::Node {
            name: "hangs".to_owned(),
            error: "a tick does not end".to_owned(),
        });
        node.enter_safe_state();
        group.set_pause_and_emergency(false, false);
        assert!(group.emergency_stop.is_safe_state_wanted());
    }
}
