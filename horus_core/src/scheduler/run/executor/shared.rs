//! Runs nodes that wait for messages on the threads of a group of actors. Each node becomes an
//! actor, which is woken by messages of the node's topics.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::Duration;

use horus_shm::Watch;
use horus_shm::clock::Clock;

use crate::actor::group::ActorGroup;
use crate::actor::{Actor, Actors, Address, Context, MailboxKind};
use crate::scheduler::api::node::NodeResult;
use crate::scheduler::api::policy::saturating_nanos;
use crate::scheduler::api::report::NodeReport;
use crate::scheduler::run::commands::CommandListener;
use crate::scheduler::run::panics::ThreadNodesGuard;
use crate::scheduler::run::run_state::RunState;
use crate::scheduler::run::runner::{RunDecision, Runner};
use crate::topic::WaitSet;

use super::event::{
    BLOCKED_NODE_PAUSE, INPUT_CHECK_PERIOD, SAFE_STATE_CHECK_PERIOD, has_unreadable_message,
    pause_duration_until,
};
use super::thread::{NodeReportSource, RunEndTimeLimit};
use super::topic_wait_threads::{TopicWaitThreads, WakingTopic};

/// A node that will run on the threads of a group of actors, but does not run yet.
pub(crate) struct PendingGroupThreadNode {
    pub(crate) runner: Runner,
    pub(crate) wake: WaitSet,
    pub(crate) group: Arc<ActorGroup>,
}

/// Holds the runner of a node. The node's actor locks it to run the node. At the end of the run,
/// the runner is taken out, which leaves `None`.
type RunnerSlot = Arc<Mutex<Option<Runner>>>;

/// The nodes that run on the threads of groups of actors, and the threads that wait for these
/// nodes' topics.
#[derive(Debug, Default)]
pub(crate) struct NodesOnGroupThreads {
    nodes: Vec<(RunnerSlot, NodeReportSource)>,
    wait_threads: Vec<TopicWaitThreads>,
}

impl NodesOnGroupThreads {
    /// Spawns an actor for each node, and starts the threads that wait for the topics of these
    /// nodes.
    ///
    /// # Errors
    ///
    /// If the system cannot create a thread, returns the name of the group for which the thread was
    /// needed, and the system error.
    pub(crate) fn start(
        &mut self,
        nodes: Vec<PendingGroupThreadNode>,
        clock: &Clock,
        shared: &Arc<RunState>,
    ) -> Result<(), (String, io::Error)> {
        let mut topics = BTreeMap::<String, Vec<WakingTopic>>::new();
        for node in nodes {
            let name = node.group.name().to_owned();
            let woken = self.spawn_node_actor(node, clock, shared);
            topics.entry(name).or_default().extend(woken);
        }
        for (group, topics) in topics {
            match TopicWaitThreads::start(&group, topics, shared) {
                Ok(wait_threads) => self.wait_threads.push(wait_threads),
                Err((error, wait_threads)) => {
                    self.wait_threads.push(wait_threads);
                    return Err((group, error));
                }
            }
        }
        Ok(())
    }

    /// Spawns an actor that runs the node. Returns the topics whose messages wake this actor.
    fn spawn_node_actor(
        &mut self,
        node: PendingGroupThreadNode,
        clock: &Clock,
        shared: &Arc<RunState>,
    ) -> Vec<WakingTopic> {
        let PendingGroupThreadNode {
            runner,
            wake,
            group,
        } = node;
        let member = NodeReportSource::from_runner(&runner);
        let (name, commands) = (runner.plan().name.clone(), Arc::clone(runner.commands()));
        let actor = NodeActor::new(runner, wake.watches().to_vec(), clock, shared);
        self.nodes.push((Arc::clone(&actor.slot), member));
        let waker_group = Arc::clone(&group);
        let group = Actors::from_group(group);
        let options = group.options().mailbox(MailboxKind::latest()).safe_state();
        let slot = Arc::clone(&actor.slot);
        let Ok(address) = options.label(&name).spawn(actor) else {
            // WHY no error: the group was stopped before the run, so the node is stopped, too.
            lock_runner(&slot).iter_mut().for_each(Runner::shut_down);
            return Vec::new();
        };
        commands.set_listener(NodeWaker {
            group: waker_group,
            address: address.clone(),
            shared: Arc::downgrade(shared),
        });
        // WHY: a command may have come before.
        commands.wake();
        let topic = |watch: &Watch| WakingTopic::new(watch.clone(), address.clone());
        wake.watches().iter().map(topic).collect()
    }

    /// Wakes the threads that wait for topics, so that they see that the run stops.
    pub(crate) fn wake(&self) {
        self.wait_threads.iter().for_each(TopicWaitThreads::wake);
    }

    /// Waits until the threads that wait for topics have ended, or until `time` is over. Returns
    /// the runners of the nodes, and reports of those nodes whose ticks have not ended. Before this
    /// call, the caller has to end the threads of the groups.
    pub(crate) fn end(&mut self, time: &mut RunEndTimeLimit) -> (Vec<Runner>, Vec<NodeReport>) {
        for wait_threads in self.wait_threads.drain(..) {
            wait_threads.end(time);
        }
        let (mut runners, mut left_behind) = (Vec::new(), Vec::new());
        for (slot, member) in self.nodes.drain(..) {
            let runner = match slot.try_lock() {
                Ok(mut runner) => runner.take(),
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().take(),
                Err(TryLockError::WouldBlock) => None,
            };
            match runner {
                Some(runner) => runners.push(runner),
                None => left_behind.push(member.hanging_node_report()),
            }
        }
        (runners, left_behind)
    }
}

/// Wakes the actor of a node when a command has come.
struct NodeWaker {
    group: Arc<ActorGroup>,
    address: Address<()>,
    /// WHY weak: the run owns the commands, which own this.
    shared: Weak<RunState>,
}

impl CommandListener for NodeWaker {
    fn wake(&self) {
        // WHY not from the stop on: the actor handles no message any more.
        if self.shared.upgrade().is_some_and(|run| !run.is_stopping()) {
            // WHY ignored: the actor keeps one wake, or the node is stopped.
            let _ = self.address.tell(());
        }
        // WHY: in an emergency stop, the actor is held, and the message does not wake it.
        self.group.emergency_stop.revisit_held_actors();
    }
}

/// The actor that runs a node. Each message to the actor makes it check whether there are commands
/// to the node or messages in the node's topics.
struct NodeActor {
    slot: RunnerSlot,
    watches: Vec<Watch>,
    clock: Clock,
    shared: Arc<RunState>,
    /// The shortest allowed time from the start of one tick to the start of the next, in
    /// nanoseconds.
    pause_ns: u64,
    not_before_ns: u64,
    /// The time, in nanoseconds, at which the messages that wait now were first noticed; `None` if
    /// no messages wait.
    seen_ns: Option<u64>,
    /// The time, in nanoseconds, at which the actor's last timer wakes the actor. It may lie in the
    /// past.
    timer_ns: u64,
    checks_inputs: bool,
}

fn lock_runner(slot: &RunnerSlot) -> MutexGuard<'_, Option<Runner>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

impl NodeActor {
    fn new(runner: Runner, watches: Vec<Watch>, clock: &Clock, shared: &Arc<RunState>) -> Self {
        let plan = runner.plan();
        Self {
            pause_ns: plan
                .at_most
                .map_or(0, |rate| saturating_nanos(rate.period())),
            checks_inputs: !plan.inputs.is_empty(),
            slot: Arc::new(Mutex::new(Some(runner))),
            watches,
            clock: clock.clone(),
            shared: Arc::clone(shared),
            not_before_ns: 0,
            seen_ns: None,
            timer_ns: 0,
        }
    }

    /// Applies commands to the node, or, after its last tick, only what keeps it safe.
    fn apply_commands_or_keep_safe_after_last_tick(&self, runner: &mut Runner) {
        if self.shared.is_stopping() {
            self.shared.keep_node_safe(runner, &self.clock);
        } else {
            runner.poll_commands(&self.clock, self.clock.now_ns());
        }
    }

    fn has_message(&self) -> bool {
        self.watches.iter().any(Watch::has_message)
    }

    /// Makes sure that a timer wakes the actor at `wake_at_ns` or earlier.
    fn schedule_wake(&mut self, now_ns: u64, wake_at_ns: u64, context: &mut Context<'_, Self>) {
        // WHY: each message may come here, and one timer suffices.
        if self.timer_ns <= now_ns || wake_at_ns < self.timer_ns {
            self.timer_ns = wake_at_ns;
            let delay = Duration::from_nanos(wake_at_ns.saturating_sub(now_ns));
            context.tell_after(delay, ());
        }
    }

    /// Lets the node tick, if messages wait and nothing forbids a tick. Returns what the scheduler
    /// has to do next.
    fn run_turn(&mut self, runner: &mut Runner, context: &mut Context<'_, Self>) -> RunDecision {
        self.watches.iter_mut().for_each(Watch::follow_consumer);
        let now_ns = self.clock.resync_and_read_ns();
        let pause_ns = now_ns.saturating_add(saturating_nanos(BLOCKED_NODE_PAUSE));
        let has_message = self.has_message();
        if runner.poll_commands_and_is_blocked(&self.clock, now_ns) {
            // The deadline counts from when the node is allowed to tick again.
            self.seen_ns = None;
            return RunDecision::Continue;
        }
        if !has_message {
            return runner.check_idle_inputs(&self.clock, now_ns);
        }
        let due_ns = self.not_before_ns.max(*self.seen_ns.get_or_insert(now_ns));
        if now_ns < due_ns {
            self.schedule_wake(now_ns, due_ns, context);
            return RunDecision::Continue;
        }
        let marked = runner
            .plan()
            .has_tick_limit()
            .then(|| ThreadNodesGuard::register([&*runner]));
        let ticks = runner.tick_count();
        let (_, decision) = runner.run_turn(&self.clock, due_ns, now_ns);
        drop(marked);
        // WHY after a tick: it has shown the error to the node.
        if runner.tick_count() != ticks {
            self.watches.retain(|watch| !watch.is_memory_lost());
        }
        (self.not_before_ns, self.seen_ns) = (now_ns.saturating_add(self.pause_ns), None);
        if runner.tick_count() == ticks || has_unreadable_message(&self.watches) {
            self.schedule_wake(now_ns, pause_ns, context);
        } else if self.has_message() {
            // WHY ignored: the actor is not ended, and keeps one wake.
            let _ = context.address().tell(());
        }
        decision
    }
}

impl Actor for NodeActor {
    type Message = ();

    const APPLIES_COMMANDS: bool = true;

    fn init(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
        if self.checks_inputs {
            context.tell_every(INPUT_CHECK_PERIOD, || ());
        }
        Ok(())
    }

    fn handle(&mut self, (): (), context: &mut Context<'_, Self>) -> NodeResult {
        let slot = Arc::clone(&self.slot);
        let mut slot = lock_runner(&slot);
        let Some(runner) = slot.as_mut().filter(|runner| !runner.is_shut_down()) else {
            context.stop();
            return Ok(());
        };
        if !self.shared.is_stopping() {
            let decision = self.run_turn(runner, context);
            // WHY not if a command forbids ticks: the command that ends this wakes the actor.
            if let Some(end_ns) = runner.pause_end_ns() {
                let now_ns = self.clock.now_ns();
                let wake_ns =
                    now_ns.saturating_add(saturating_nanos(pause_duration_until(end_ns, now_ns)));
                self.schedule_wake(now_ns, wake_ns, context);
            }
            if runner.is_entering_safe_state() {
                let now_ns = self.clock.now_ns();
                let ask_ns = now_ns.saturating_add(saturating_nanos(SAFE_STATE_CHECK_PERIOD));
                self.schedule_wake(now_ns, ask_ns, context);
            }
            self.shared.stop_run_if_decided([&*runner], decision);
        }
        Ok(())
    }

    /// Shuts the node down if its group is stopped during the run: nothing would apply commands to
    /// the node any more. At the end of the run, the scheduler shuts the node down in its order.
    fn shutdown(&mut self) -> NodeResult {
        if !self.shared.is_stopping()
            && let Some(runner) = lock_runner(&self.slot)
                .as_mut()
                .filter(|runner| !runner.is_shut_down())
        {
            runner.shut_down();
        }
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        if let Some(runner) = lock_runner(&self.slot).as_mut() {
            self.apply_commands_or_keep_safe_after_last_tick(runner);
        }
    }

    /// Returns true if the node has reached its safe state. WHY this method applies commands again:
    /// the emergency stop may reach the node later than its group, and others come during it.
    fn is_safe_state(&self) -> bool {
        lock_runner(&self.slot).as_mut().is_none_or(|runner| {
            self.apply_commands_or_keep_safe_after_last_tick(runner);
            runner.is_safe_in_emergency()
        })
    }
}
