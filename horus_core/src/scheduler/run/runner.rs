//! The runner of a node. It is the only code that calls the node, measures the times of its ticks
//! and applies its policies.

mod event_log;
mod life;
mod policies;
mod safe_state;
mod swap;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::Arc;

use event_log::EventLog;
use horus_shm::clock::Clock;
use policies::Overrun;
use safe_state::SafeState;

use crate::actor::group::ActorGroup;
use crate::log::{NodeScope, intern_node_name};
use crate::message::NodeEvent;
use crate::scheduler::api::checkpoints::LastCheckpoint;
use crate::scheduler::api::context::Context;
use crate::scheduler::api::metrics::LiveMetrics;
use crate::scheduler::api::node::{Node, NodeResult};
use crate::scheduler::api::plan::NodePlan;
use crate::scheduler::api::policy::FailureHistory;
use crate::scheduler::api::random::Random;
use crate::scheduler::api::rate::Rate;
use crate::scheduler::api::report::NodeReport;
use crate::scheduler::remote::recorder::EventRecorder;
use crate::scheduler::run::catch_panic::catch_panic;
use crate::scheduler::run::commands::{Commands, NodeMode, TickLimits};
use crate::scheduler::run::miss_history::MissHistory;
use crate::scheduler::run::node_entry::NodeEntry;
use crate::scheduler::run::pending_swap::Probation;
use crate::scheduler::run::tick_checks::TickChecks;

/// A node with the state that is needed to run it. Only one thread at a time uses a runner.
pub(crate) struct Runner {
    node: Box<dyn Node>,
    metrics: Arc<LiveMetrics>,
    commands: Arc<Commands>,
    state: NodeState,
    /// True once `init` of the node was called.
    was_init_called: bool,
    /// The commands that prevent the node from ticking at present.
    blocked_by: BlockingCommands,
    safe_state: SafeState,
    /// Number of ticks that had ended when `enter_safe_state` was last called.
    safe_state_ticks: u64,
    /// The number of the last emergency stop for which the node entered its safe state.
    emergency_stop_number: u64,
    tick: u64,
    tick_limits: TickLimits,
    /// The time, in nanoseconds, at which the last `init`, `shutdown` or swap of the node ended, or
    /// a command or a miss that calls the node was handled. The next tick is not due, and does not
    /// begin, before this time.
    busy_until_ns: u64,
    failures: FailureHistory,
    miss_history: MissHistory,
    /// True if the miss policy lets the node tick only at every second due time.
    is_halved: bool,
    random: Random,
    probation: Option<Probation>,
    tick_checks: Option<Box<TickChecks>>,
    /// The new rate that a command has set; `None` if there is none, or once the executor has taken
    /// it.
    new_rate: Option<Rate>,
    event_log: EventLog,
    /// The name of the node as it appears in the lines that the node logs.
    log_name: &'static str,
    /// The text of the error because of which this node stops the run; `None` if it does not stop
    /// the run.
    fatal_error: Option<String>,
    plan: NodePlan,
    /// The node's position in the order in which the nodes of the scheduler were started.
    position: usize,
    /// The settings of the node's thread that the system refused, each with the reason.
    refused: Vec<String>,
}

/// The state of a node, which decides whether the node ticks when it is due next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeState {
    /// The node ticks whenever it is due.
    Active,
    /// The node skips its next tick.
    Skipping,
    /// The node ticks only at every second due time.
    Halved { ticks_next: bool },
    /// The node does not tick until a given time.
    BackingOff { until_ns: u64 },
    /// The node has to be initialised before it can tick, at a given time or later.
    New { at_ns: u64 },
    /// The node has requested the end of the run in its `init`. It does not tick any more, and its
    /// next turn stops the run.
    StopsRun,
    /// The node could not be initialised, which stops the run.
    Broken,
    /// The node was shut down and does not tick any more.
    ShutDown,
}

/// The commands that prevent a node from ticking at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct BlockingCommands {
    is_paused: bool,
    is_emergency: bool,
}

/// The instruction to the scheduler after a node was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunDecision {
    /// Continue the run of the scheduler.
    Continue,
    /// Stop the run, because the node requested it.
    Stop,
    /// Stop the run, because the node failed or was late and its policy demands it.
    Abort,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            plan,
            state,
            blocked_by,
            tick,
            ..
        } = self;
        f.debug_struct("Runner")
            .field("node", &plan.name)
            .field("state", state)
            .field("blocked_by", blocked_by)
            .field("tick", tick)
            .finish_non_exhaustive()
    }
}

impl Runner {
    pub(crate) fn new(node: Box<dyn Node>, plan: NodePlan, entry: &NodeEntry) -> Self {
        let tick_limits = TickLimits::from_plan(&plan);
        tick_limits.publish_to(&entry.metrics);
        Self {
            node,
            metrics: Arc::clone(&entry.metrics),
            commands: Arc::clone(&entry.commands),
            state: NodeState::New { at_ns: 0 },
            was_init_called: false,
            blocked_by: BlockingCommands::default(),
            safe_state: SafeState::Unwanted,
            safe_state_ticks: 0,
            emergency_stop_number: 0,
            tick: 0,
            tick_limits,
            busy_until_ns: 0,
            failures: FailureHistory::default(),
            miss_history: MissHistory::default(),
            is_halved: false,
            random: Random::new(0, ""),
            probation: None,
            tick_checks: TickChecks::for_plan(&plan),
            new_rate: None,
            event_log: EventLog::new(&plan.name),
            log_name: intern_node_name(&plan.name),
            fatal_error: None,
            plan,
            position: 0,
            refused: Vec::new(),
        }
    }

    /// Returns a report of the node, with its metrics and errors until now.
    pub(crate) fn report(&self) -> NodeReport {
        NodeReport {
            name: self.plan.name.clone(),
            position: self.position,
            hangs: false,
            class: self.plan.class,
            metrics: self.metrics.snapshot(),
            last_error: self.last_error().map(str::to_owned),
            refused: self.refused.clone(),
        }
    }

    /// Sets the seed of the node's random number generator.
    pub(crate) fn seed_random(&mut self, seed: u64) {
        self.random = Random::new(seed, &self.plan.name);
    }

    /// Sets the node's position in the order in which the nodes of the scheduler were started.
    pub(crate) const fn set_position_in_start_order(&mut self, position_in_start_order: usize) {
        self.position = position_in_start_order;
    }

    pub(crate) const fn position_in_start_order(&self) -> usize {
        self.position
    }

    /// Sets the recorder with which the runner writes the node's events.
    pub(crate) fn set_recorder(&mut self, recorder: EventRecorder) {
        self.event_log.set_recorder(recorder);
    }

    /// Stores the settings of the node's thread that the system refused, and records an event for
    /// each of them.
    pub(crate) fn record_refused_settings(&mut self, refused: Vec<String>) {
        refused.iter().for_each(|what| {
            self.event_log
                .record(self.tick, NodeEvent::REFUSED, 0, what)
        });
        self.add_refused_settings(refused);
    }

    /// Stores settings that the system refused, without an event. Those that are already stored are
    /// left out.
    pub(crate) fn add_refused_settings(&mut self, refused: Vec<String>) {
        for what in refused {
            if !self.refused.contains(&what) {
                self.refused.push(what);
            }
        }
    }

    pub(crate) const fn plan(&self) -> &NodePlan {
        &self.plan
    }

    pub(crate) const fn metrics(&self) -> &Arc<LiveMetrics> {
        &self.metrics
    }

    /// Returns the number of the last checkpoint that the node has passed. It is shared, so that
    /// another thread can read it during a tick. Returns `None` if the node has no checkpoints.
    pub(crate) fn last_checkpoint(&self) -> Option<Arc<LastCheckpoint>> {
        self.tick_checks.as_ref()?.last_checkpoint()
    }

    /// Returns the text of the node's last failure or fault; `None` if there was none.
    pub(crate) fn last_error(&self) -> Option<&str> {
        self.event_log.last_error()
    }

    /// Declares that the node of this runner represents the group of actors `group`.
    pub(crate) fn set_actor_group(&self, group: &Arc<ActorGroup>) {
        self.commands.set_listener(Arc::clone(group));
        group.set_metrics(Arc::clone(&self.metrics));
    }

    /// Returns the commands for the node, which other threads store there.
    pub(crate) const fn commands(&self) -> &Arc<Commands> {
        &self.commands
    }

    /// Sets the text of the node's last failure.
    pub(crate) fn set_last_error(&mut self, error: &str) {
        self.event_log.set_last_error(error);
    }

    /// Returns the text of the error because of which this node stops the run; `None` if the node
    /// does not stop the run.
    pub(crate) fn fatal_error(&self) -> Option<&str> {
        self.fatal_error.as_deref()
    }

    /// Returns the new rate if a command has changed the node's rate since the last call; `None`
    /// otherwise.
    #[inline]
    pub(crate) const fn take_new_rate(&mut self) -> Option<Rate> {
        self.new_rate.take()
    }

    /// Returns true if the node was shut down for the rest of the run.
    pub(crate) const fn is_shut_down(&self) -> bool {
        matches!(self.state, NodeState::ShutDown)
    }

    /// Applies pending commands to the node, and asks a node that enters its safe state whether it
    /// has reached it. Costs an atomic load and a comparison if there is nothing to do.
    #[inline(always)]
    pub(crate) fn poll_commands(&mut self, clock: &Clock, now_ns: u64) {
        if self.commands.must_be_read_before_tick() {
            self.apply_commands(clock, now_ns);
        } else {
            self.check_safe_state_if_entering();
        }
    }

    /// Applies pending commands to the node, and returns true if commands forbid the node to tick
    /// now.
    pub(crate) fn poll_commands_and_is_blocked(&mut self, clock: &Clock, now_ns: u64) -> bool {
        self.poll_commands(clock, now_ns);
        match self.state {
            NodeState::BackingOff { until_ns: at_ns } | NodeState::New { at_ns } => now_ns < at_ns,
            NodeState::ShutDown => true,
            _ => self.blocked_by != BlockingCommands::default(),
        }
    }

    /// Returns the time, in nanoseconds, at which a pause that a policy has set for the node ends.
    /// The time may be in the past; it is 0 if commands forbade the node to be initialised at the
    /// start of the run, and no longer do. Returns `None` if there is no such pause, if commands
    /// forbid the node to tick, or if an `init` that failed is repeated with the next tick.
    pub(crate) fn pause_end_ns(&self) -> Option<u64> {
        match self.state {
            _ if self.blocked_by != BlockingCommands::default() => None,
            NodeState::New { at_ns: 0 } if self.was_init_called => None,
            NodeState::BackingOff { until_ns: at_ns } | NodeState::New { at_ns } => Some(at_ns),
            _ => None,
        }
    }

    /// Returns the number of ticks of the node.
    pub(crate) const fn tick_count(&self) -> u64 {
        self.tick
    }

    /// Returns the time, in nanoseconds, at which the last call of a method of the node other than
    /// `tick` ended, for instance of `init` after a swap.
    pub(crate) const fn busy_until_ns(&self) -> u64 {
        self.busy_until_ns
    }

    /// Runs one turn of the node: applies pending commands, and lets the node tick, unless commands
    /// or policies forbid it. The turn was due at `due_ns` and begins at `begin_ns`. Returns the
    /// time at which the turn ended, and what the scheduler has to do next.
    #[inline]
    pub(crate) fn run_turn(
        &mut self,
        clock: &Clock,
        due_ns: u64,
        begin_ns: u64,
    ) -> (u64, RunDecision) {
        let (due_ns, begin_ns) = match self.begin_turn(clock, due_ns, begin_ns) {
            ControlFlow::Continue(times) => times,
            ControlFlow::Break(outcome) => return outcome,
        };
        let scope = self.log_scope();
        let (node, mut context) = self.node_and_context(clock, due_ns, begin_ns);
        let outcome = catch_panic(|| node.tick(&mut context));
        let stop = context.stop;
        drop(scope);
        self.end_turn(outcome, stop, (due_ns, begin_ns, clock.now_ns()), clock)
    }

    /// Returns the name of the node as it appears in the lines that the node logs.
    #[cfg(feature = "async-io")]
    pub(crate) const fn log_name(&self) -> &'static str {
        self.log_name
    }

    /// Adds the name of this node to the lines that the calling thread logs, until the returned
    /// guard is dropped. Costs about a nanosecond.
    #[inline(always)]
    pub(crate) fn log_scope(&self) -> NodeScope {
        NodeScope::enter(self.log_name)
    }

    /// Does the part of a turn that comes before the tick: applies pending commands, and
    /// initialises the node if that is due. If the node has to tick now, returns the due time and
    /// the start of the tick, which are later than the arguments if the node was initialised
    /// meanwhile. If the node does not tick, the turn is over, and the result is that of
    /// [`Self::run_turn`].
    #[inline(always)]
    pub(crate) fn begin_turn(
        &mut self,
        clock: &Clock,
        due_ns: u64,
        begin_ns: u64,
    ) -> ControlFlow<(u64, RunDecision), (u64, u64)> {
        let is_plain = !self.commands.must_be_read_before_tick() && !self.is_entering_safe_state();
        let may_tick =
            (is_plain && self.state == NodeState::Active) || self.try_prepare_tick(clock, begin_ns);
        let begin_ns = begin_ns.max(self.busy_until_ns);
        if !may_tick {
            return ControlFlow::Break((begin_ns, self.decision_without_tick()));
        }
        let due_ns = due_ns.max(self.busy_until_ns);
        self.metrics.record_tick_begin(due_ns, begin_ns);
        if let Some(tick_checks) = &mut self.tick_checks {
            tick_checks.begin_tick(begin_ns, self.tick_limits.period_ns);
        }
        ControlFlow::Continue((due_ns, begin_ns))
    }

    /// Returns the node, and the context for a tick that was due at `due_ns` and begins at
    /// `begin_ns`.
    #[inline(always)]
    pub(crate) fn node_and_context<'a>(
        &'a mut self,
        clock: &'a Clock,
        due_ns: u64,
        begin_ns: u64,
    ) -> (&'a mut dyn Node, Context<'a>) {
        let Self {
            node,
            random,
            safe_state,
            tick,
            tick_limits,
            tick_checks,
            ..
        } = self;
        let context = Context {
            clock,
            tick: *tick,
            due_ns,
            begin_ns,
            budget_end_ns: begin_ns.saturating_add(tick_limits.budget_ns),
            period_ns: tick_limits.period_ns,
            is_in_safe_state: safe_state.is_wanted(),
            stop: false,
            checkpoints: tick_checks
                .as_mut()
                .and_then(|tick_checks| tick_checks.checkpoints.as_mut()),
            random,
        };
        (&mut **node, context)
    }

    /// Does the part of a turn that comes after the tick. `outcome` is the result of the tick.
    /// Returns the same values as [`Self::run_turn`].
    #[inline(always)]
    pub(crate) fn end_turn(
        &mut self,
        outcome: Result<NodeResult, String>,
        stop: bool,
        (due_ns, begin_ns, end_ns): (u64, u64, u64),
        clock: &Clock,
    ) -> (u64, RunDecision) {
        self.metrics.record_tick_end(begin_ns, end_ns);
        let overrun = Overrun {
            past_deadline_ns: end_ns
                .saturating_sub(due_ns)
                .saturating_sub(self.tick_limits.deadline_ns),
            past_budget_ns: end_ns
                .saturating_sub(begin_ns)
                .saturating_sub(self.tick_limits.budget_ns),
        };
        let (end_ns, decision) = match outcome {
            Ok(Ok(())) => {
                self.record_success(clock);
                let decision = if self.tick_checks.is_none() {
                    self.apply_miss_policy(overrun.exceeds_limit(), None, overrun, (end_ns, clock))
                } else {
                    self.apply_end_checks_and_miss_policy(overrun, begin_ns, (end_ns, clock))
                };
                (end_ns, decision)
            }
            failed => self.end_failed_tick(failed, overrun, (begin_ns, end_ns), clock),
        };
        // WHY not before: the events above belong to the tick that has ended.
        self.tick += 1;
        (
            end_ns.max(self.busy_until_ns),
            if stop && decision == RunDecision::Continue {
                RunDecision::Stop
            } else {
                decision
            },
        )
    }

    /// Applies pending commands, and initialises the node if that is due. Returns true if the node
    /// has to tick now.
    #[cold]
    fn try_prepare_tick(&mut self, clock: &Clock, now_ns: u64) -> bool {
        self.poll_commands(clock, now_ns);
        if self.blocked_by != BlockingCommands::default() {
            return false;
        }
        match self.state {
            NodeState::Active => true,
            NodeState::Skipping => {
                self.state = NodeState::Active;
                self.metrics.count_skipped_ticks(1);
                false
            }
            NodeState::Halved { ticks_next } => {
                self.state = NodeState::Halved {
                    ticks_next: !ticks_next,
                };
                if !ticks_next {
                    self.metrics.count_skipped_ticks(1);
                }
                ticks_next
            }
            NodeState::BackingOff { until_ns } if now_ns >= until_ns => {
                // WHY: during the pause the node could not receive.
                self.restart_timeouts(now_ns);
                self.resume_ticking();
                true
            }
            NodeState::New { at_ns } if now_ns >= at_ns => self.try_init_node(clock, now_ns),
            NodeState::BackingOff { .. } => {
                self.metrics.count_skipped_ticks(1);
                false
            }
            NodeState::New { .. }
            | NodeState::StopsRun
            | NodeState::Broken
            | NodeState::ShutDown => false,
        }
    }

    /// Allows the node to tick again after a pause. The node stays in its safe state if it is
    /// there.
    fn resume_ticking(&mut self) {
        self.state = self.ticking_state();
        self.publish_health();
    }

    /// Returns what the scheduler has to do after a turn in which the node did not tick.
    const fn decision_without_tick(&self) -> RunDecision {
        match self.state {
            NodeState::Broken => RunDecision::Abort,
            NodeState::StopsRun => RunDecision::Stop,
            _ => RunDecision::Continue,
        }
    }

    #[cold]
    fn apply_commands(&mut self, clock: &Clock, now_ns: u64) {
        let commands = Arc::clone(&self.commands);
        let look = commands.try_with_wanted_state(|wanted| {
            (
                wanted.mode,
                wanted.engaged_emergency_stop_number(),
                wanted.tick_limits.take(),
                wanted.pending_swap.take(),
            )
        });
        let Some((mode, emergency_stop, limits, pending_swap)) = look else {
            return;
        };
        if let Some(limits) = limits {
            (self.tick_limits, self.new_rate) = (limits, limits.rate);
            limits.publish_to(&self.metrics);
            self.event_log
                .record(self.tick, NodeEvent::RATE_CHANGED, limits.period_ns, "");
        }
        let is_paused = mode == NodeMode::Pause;
        let is_emergency = emergency_stop.is_some();
        let before = std::mem::replace(
            &mut self.blocked_by,
            BlockingCommands {
                is_paused,
                is_emergency,
            },
        );
        let is_released =
            before != BlockingCommands::default() && self.blocked_by == BlockingCommands::default();
        if is_released {
            // WHY: without ticks the node could not receive, and an emergency stop has stopped the
            // publishers, too.
            self.restart_timeouts(now_ns);
        }
        if let Some(number) = emergency_stop {
            self.enter_safe_state_for_emergency_stop(number);
        } else {
            self.leave_safe_state();
            self.check_safe_state_if_entering();
        }
        if is_paused != before.is_paused {
            let kind = if is_paused {
                NodeEvent::PAUSED
            } else {
                NodeEvent::RESUMED
            };
            self.event_log.record(self.tick, kind, 0, "");
        }
        self.publish_health();
        let is_stopped = mode == NodeMode::Stop && !self.is_shut_down();
        let calls_node =
            is_stopped || pending_swap.is_some() || is_emergency != before.is_emergency;
        if mode == NodeMode::Stop {
            if is_stopped {
                self.shut_down();
            }
            self.drop_value(pending_swap);
        } else if let Some(pending_swap) = pending_swap {
            self.swap_node(pending_swap, clock, now_ns);
        }
        if calls_node {
            self.busy_until_ns = clock.now_ns();
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // WHY again: without a run, nothing has shut the node down.
        let untaken = self.commands.refuse_further_swaps();
        self.drop_value(untaken);
        self.drop_node();
    }
}
