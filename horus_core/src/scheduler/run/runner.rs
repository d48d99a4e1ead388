//! The runner of a node: the only place that calls it, times it and applies its policies.

mod event_log;
mod life;
mod swap;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use event_log::EventLog;
use horus_shm::clock::Clock;

use crate::message::NodeEvent;
use crate::scheduler::api::checkpoints::CheckpointPosition;
use crate::scheduler::api::context::Context;
use crate::scheduler::api::metrics::{Health, LiveMetrics};
use crate::scheduler::api::node::{Node, NodeError, NodeResult};
use crate::scheduler::api::plan::Plan;
use crate::scheduler::api::policy::{Failures, Remedy};
use crate::scheduler::api::random::Random;
use crate::scheduler::api::rate::Rate;
use crate::scheduler::api::report::NodeReport;
use crate::scheduler::remote::recorder::Recorder;
use crate::scheduler::run::caught::{caught, dropped, said_by};
use crate::scheduler::run::commands::{Commands, Mode, Pace};
use crate::scheduler::run::deadline_watch::{DeadlineWatch, Verdict};
use crate::scheduler::run::exchange::Probation;
use crate::scheduler::run::guards::{Fault, Guards};
use crate::scheduler::run::node_entry::NodeEntry;

/// A node with all its state. Only one thread at a time uses it.
pub(crate) struct Runner {
    node: Box<dyn Node>,
    metrics: Arc<LiveMetrics>,
    commands: Arc<Commands>,
    state: State,
    /// The commands that keep it from ticking.
    held: HeldBack,
    /// True if it was brought into its safe state and has not left it.
    is_safe: bool,
    tick: u64,
    pace: Pace,
    failures: Failures,
    deadline_watch: DeadlineWatch,
    /// True if it runs at every second due time only.
    is_halved: bool,
    random: Random,
    probation: Option<Probation>,
    guards: Option<Box<Guards>>,
    /// A rate that the executor has not yet taken.
    new_rate: Option<Rate>,
    event_log: EventLog,
    /// The reason why this node stops the run.
    fatal: Option<String>,
    plan: Plan,
    /// Its position in the order of start.
    position: usize,
    /// The thread settings that the system refused.
    refused: Vec<String>,
}

/// The state of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It ticks.
    Active,
    /// It skips its next tick.
    Skipping,
    /// It skips every second tick.
    Halved { ticks_next: bool },
    /// It skips ticks until then.
    Resting { until_ns: u64 },
    /// It has to be initialised, at that time or at once.
    New { at_ns: u64 },
    /// It could not be initialised, which stops the run.
    Broken,
    /// It is shut down.
    Over,
}

/// The commands that have been applied and keep a node from ticking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct HeldBack {
    is_paused: bool,
    is_emergency: bool,
}

/// The action of the scheduler after a node's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// Go on.
    Continue,
    /// Stop the run: the node asked for it.
    Stop,
    /// Stop the run: the node failed or was late, and its policy demands it.
    Abort,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { plan, state, held, tick, .. } = self;
        f.debug_struct("Runner")
            .field("node", &plan.name)
            .field("state", state)
            .field("held", held)
            .field("tick", tick)
            .finish_non_exhaustive()
    }
}

impl Runner {
    pub(crate) fn new(node: Box<dyn Node>, plan: Plan, entry: &NodeEntry) -> Self {
        Self {
            node,
            metrics: Arc::clone(&entry.metrics),
            commands: Arc::clone(&entry.commands),
            state: State::New { at_ns: 0 },
            held: HeldBack::default(),
            is_safe: false,
            tick: 0,
            pace: Pace::of(&plan),
            failures: Failures::default(),
            deadline_watch: DeadlineWatch::default(),
            is_halved: false,
            random: Random::new(0, ""),
            probation: None,
            guards: Guards::of(&plan),
            new_rate: None,
            event_log: EventLog::of(&plan.name),
            fatal: None,
            plan,
            position: 0,
            refused: Vec::new(),
        }
    }

    /// Returns the report of the node so far.
    pub(crate) fn report(&self) -> NodeReport {
        NodeReport {
            name: self.plan.name.clone(),
            position: self.position,
            hangs: false,
            class: self.plan.class,
            metrics: self.metrics.metrics(),
            last_error: self.last_error().map(str::to_owned),
            refused: self.refused.clone(),
        }
    }

    /// Seeds the node's random numbers.
    pub(crate) fn seed(&mut self, seed: u64) {
        self.random = Random::new(seed, &self.plan.name);
    }

    /// Sets its position in the order of start.
    pub(crate) const fn stand_at(&mut self, position: usize) {
        self.position = position;
    }

    pub(crate) const fn position(&self) -> usize {
        self.position
    }

    /// Sets the recorder of its events.
    pub(crate) fn record_to(&mut self, recorder: Recorder) {
        self.event_log.record_to(recorder);
    }

    /// Notes the thread settings that the system refused.
    pub(crate) fn refuse(&mut self, refused: Vec<String>) {
        refused.iter().for_each(|what| self.event_log.note(self.tick, NodeEvent::REFUSED, 0, what));
        self.refused = refused;
    }

    pub(crate) const fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) const fn metrics(&self) -> &Arc<LiveMetrics> {
        &self.metrics
    }

    /// Returns its checkpoint position, for another thread, if it has checkpoints.
    pub(crate) fn place(&self) -> Option<Arc<CheckpointPosition>> {
        self.guards.as_ref()?.place()
    }

    /// Returns the text of the last failure.
    pub(crate) fn last_error(&self) -> Option<&str> {
        self.event_log.last_error()
    }

    /// Returns the reason why this node stops the run, if it does.
    pub(crate) fn fatal(&self) -> Option<&str> {
        self.fatal.as_deref()
    }

    /// Takes the new rate, if there is one.
    #[inline]
    pub(crate) const fn take_new_rate(&mut self) -> Option<Rate> {
        self.new_rate.take()
    }

    /// Returns true if it will never tick again.
    pub(crate) const fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Applies commands, if there are any. Costs a load if there are none.
    #[inline(always)]
    pub(crate) fn poll(&mut self, clock: &Clock, now_ns: u64) {
        if self.commands.attention() {
            self.apply(clock, now_ns);
        }
    }

    /// Applies commands, if there are any, and returns true if the node may not tick yet.
    pub(crate) fn is_held(&mut self, clock: &Clock, now_ns: u64) -> bool {
        self.poll(clock, now_ns);
        match self.state {
            State::Resting { until_ns: at_ns } | State::New { at_ns } => now_ns < at_ns,
            State::Over => true,
            _ => self.held != HeldBack::default(),
        }
    }

    /// Returns true if there are commands, applied or not. Costs a load.
    pub(crate) fn has_commands(&self) -> bool {
        self.commands.attention()
    }

    /// Runs the node's turn, which was due at `due_ns` and begins at `begin_ns`. Returns its end,
    /// at which the next node's turn begins, and what to do then.
    #[inline]
    pub(crate) fn turn(&mut self, clock: &Clock, due_ns: u64, begin_ns: u64) -> (u64, After) {
        if let Some(after) = self.open(clock, due_ns, begin_ns) {
            return (begin_ns, after);
        }
        let (node, mut context) = self.parts(clock, due_ns, begin_ns);
        let outcome = caught(|| node.tick(&mut context));
        let stop = context.stop;
        self.close(outcome, stop, (due_ns, begin_ns, clock.now_ns()))
    }

    /// Runs the first part of a turn. Returns what to do if the node does not tick.
    #[inline(always)]
    pub(crate) fn open(&mut self, clock: &Clock, due_ns: u64, begin_ns: u64) -> Option<After> {
        if (self.commands.attention() || self.state != State::Active)
            && !self.may_tick(clock, begin_ns)
        {
            return Some(self.after_no_tick());
        }
        self.metrics.begin(due_ns, begin_ns);
        if let Some(guards) = &mut self.guards {
            guards.begin(begin_ns);
        }
        None
    }

    /// Returns the node and the context of the tick.
    #[inline(always)]
    pub(crate) fn parts<'a>(
        &'a mut self,
        clock: &'a Clock,
        due_ns: u64,
        begin_ns: u64,
    ) -> (&'a mut dyn Node, Context<'a>) {
        let Self { node, random, tick, pace, guards, .. } = self;
        let context = Context {
            clock,
            tick: *tick,
            due_ns,
            begin_ns,
            budget_end_ns: begin_ns.saturating_add(pace.budget_ns),
            period_ns: pace.period_ns,
            stop: false,
            checkpoints: guards.as_mut().and_then(|guards| guards.checkpoints.as_mut()),
            random,
        };
        (&mut **node, context)
    }

    /// Runs the last part of a turn, with the outcome of the tick. Returns as [`Self::turn`].
    #[inline(always)]
    pub(crate) fn close(
        &mut self,
        outcome: Result<NodeResult, String>,
        stop: bool,
        (due_ns, begin_ns, end_ns): (u64, u64, u64),
    ) -> (u64, After) {
        self.metrics.end(begin_ns, end_ns);
        self.tick += 1;
        let late_ns = end_ns.saturating_sub(due_ns).saturating_sub(self.pace.deadline_ns);
        let over_ns = end_ns.saturating_sub(begin_ns).saturating_sub(self.pace.budget_ns);
        let late_ns = late_ns.max(over_ns);
        let is_late = late_ns > 0;
        let after = match outcome {
            Ok(Ok(())) if self.guards.is_none() => self.judge(is_late, None, late_ns, end_ns),
            Ok(Ok(())) => self.judge_guarded(is_late, begin_ns, late_ns, end_ns),
            failed => self.fail(failed, "", end_ns),
        };
        (end_ns, if stop && after == After::Continue { After::Stop } else { after })
    }

    fn judge_guarded(&mut self, is_late: bool, begin_ns: u64, late_ns: u64, end_ns: u64) -> After {
        let fault = self.guard(|guards| guards.end(begin_ns));
        self.judge(is_late || fault.is_some(), fault, late_ns, end_ns)
    }

    /// Runs a check of the guards, and records what is new.
    fn guard(&mut self, look: impl FnOnce(&mut Guards) -> Option<Fault>) -> Option<Fault> {
        let guards = self.guards.as_mut()?;
        let was_stale = guards.is_stale();
        let fault = look(guards);
        let is_fresh = was_stale && !guards.is_stale();
        if is_fresh {
            self.event_log.note(self.tick, NodeEvent::FRESH_INPUT, 0, "");
        }
        if let Some(Fault { kind: Some(kind), text }) = &fault {
            self.event_log.note_often(self.tick, *kind, 0, text.as_str());
        }
        fault
    }

    /// Checks the inputs at a time without a turn: a stale input is a miss then, too.
    pub(crate) fn idle(&mut self, now_ns: u64) -> After {
        let is_waiting = matches!(self.state, State::Active | State::Halved { .. });
        if self.guards.is_none() || !is_waiting || self.held != HeldBack::default() {
            return After::Continue;
        }
        match self.guard(|guards| guards.look_at_inputs(now_ns)) {
            None => After::Continue,
            fault => self.judge(true, fault, 0, now_ns),
        }
    }

    /// Judges a tick without an error: its times and its guards.
    #[inline]
    fn judge(&mut self, is_miss: bool, fault: Option<Fault>, late_ns: u64, now_ns: u64) -> After {
        if self.probation.is_some() {
            self.pass_trial();
        }
        self.failures.forgive(self.plan.on_failure);
        match self.deadline_watch.record(self.plan.on_miss, is_miss, now_ns) {
            Verdict::Fine => After::Continue,
            verdict => self.carry_out(verdict, fault, late_ns),
        }
    }

    #[cold]
    fn carry_out(&mut self, verdict: Verdict, fault: Option<Fault>, late_ns: u64) -> After {
        if !matches!(verdict, Verdict::LeaveSafeState | Verdict::Restore) {
            self.metrics.count_miss();
            match &fault {
                // The fault has been recorded.
                Some(fault) => self.event_log.set_last_error(fault.text.as_str()),
                None => self.event_log.note_often(self.tick, NodeEvent::MISSED, late_ns, ""),
            }
        }
        match verdict {
            Verdict::Fine | Verdict::Warn => {}
            Verdict::LeaveSafeState => self.leave_safe_state(),
            Verdict::Skip => self.state = State::Skipping,
            Verdict::Halve | Verdict::Restore => {
                self.is_halved = verdict == Verdict::Halve;
                self.state = self.awake();
            }
            Verdict::Isolate { until_ns, enters_safe_state } => {
                if enters_safe_state {
                    self.enter_safe_state();
                }
                self.state = State::Resting { until_ns };
            }
            Verdict::EnterSafeState => {
                self.enter_safe_state();
            }
            Verdict::Stop => {
                let late = || {
                    let late = Duration::from_nanos(late_ns);
                    format!("missed its deadline or its budget by {late:?}")
                };
                self.fatal = Some(fault.map_or_else(late, |fault| fault.text.as_str().to_owned()));
                return After::Abort;
            }
        }
        After::Continue
    }

    /// Returns the state of a node that ticks at this due time, though not necessarily at the next.
    const fn awake(&self) -> State {
        if self.is_halved { State::Halved { ticks_next: false } } else { State::Active }
    }

    /// Brings the node into its safe state, unless it is in it: once, even for several reasons. A
    /// panic in that call is only recorded.
    pub(crate) fn enter_safe_state(&mut self) {
        if self.is_safe || matches!(self.state, State::Over | State::New { .. } | State::Broken) {
            return;
        }
        self.is_safe = true;
        self.show();
        let node = &mut self.node;
        let reached = caught(|| {
            node.enter_safe_state();
            node.is_safe_state()
        });
        match reached {
            Ok(is_reached) => {
                let text = if is_reached { "" } else { "not reached yet" };
                self.event_log.note(self.tick, NodeEvent::SAFE_STATE_ENTERED, 0, text);
            }
            Err(panic) => self.note_panic(&panic, " in enter_safe_state"),
        }
    }

    /// Takes the node out of its safe state, unless another reason keeps it there.
    fn leave_safe_state(&mut self) {
        if self.is_safe && !self.held.is_emergency && !self.deadline_watch.is_safe() {
            self.is_safe = false;
            self.event_log.note(self.tick, NodeEvent::SAFE_STATE_LEFT, 0, "");
        }
        self.show();
    }

    /// Publishes the health of the node in its metrics.
    fn show(&self) {
        self.metrics.is_now(match self.state {
            State::Over | State::Broken => Health::Stopped,
            // Also a node that is not initialised yet: it has moved nothing.
            _ if self.held.is_emergency => Health::Safe,
            _ if self.held.is_paused => Health::Paused,
            _ if self.is_safe => Health::Safe,
            State::Resting { .. } | State::New { at_ns: 1.. } => Health::Resting,
            State::New { .. } | State::Active | State::Skipping | State::Halved { .. } => {
                Health::Active
            }
        });
    }

    /// Counts and records a panic that no policy covers.
    fn note_panic(&mut self, panic: &str, call: &str) {
        let error = format!("panicked{call}: {panic}");
        self.metrics.count_failure(true);
        self.event_log.note(self.tick, NodeEvent::PANICKED, 0, &error);
        self.event_log.set_last_error(&error);
    }

    /// Handles a failure of the node's tick, or of the call that `call` names, by its policy.
    #[cold]
    fn fail(&mut self, outcome: Result<NodeResult, String>, call: &str, now_ns: u64) -> After {
        let (error, is_panic): (NodeError, bool) = match outcome {
            Ok(Ok(())) => return After::Continue,
            Ok(Err(error)) => (error, false),
            Err(panic) => (format!("panicked{call}: {panic}").into(), true),
        };
        let text = said_by(&*error);
        self.metrics.count_failure(is_panic);
        let kind = if is_panic { NodeEvent::PANICKED } else { NodeEvent::FAILED };
        self.event_log.note_often(self.tick, kind, 0, &text);
        let node = &mut self.node;
        if let Err(panic) = caught(|| node.on_error(&error)) {
            self.note_panic(&panic, " in on_error");
        }
        if let Some(panic) = dropped(error) {
            self.note_panic(&panic, " in the drop of an error");
        }
        if let Some(probation) = self.probation.take() {
            self.roll_back(probation, &text);
            self.event_log.set_last_error(&text);
            return After::Continue;
        }
        self.event_log.set_last_error(&text);
        match self.failures.record(self.plan.on_failure, now_ns) {
            Remedy::Continue => {}
            // WHY: a node that could not be initialised cannot go on, and needs no shutdown.
            Remedy::Rest { until_ns } => {
                self.state = match self.state {
                    State::New { .. } => State::New { at_ns: until_ns },
                    _ => State::Resting { until_ns },
                };
                self.show();
            }
            Remedy::Restart { at_ns } => {
                if !matches!(self.state, State::New { .. }) {
                    self.end();
                }
                // The history of the deadlines ends with the old instance.
                (self.deadline_watch, self.is_halved) = (DeadlineWatch::default(), false);
                (self.state, self.is_safe) = (State::New { at_ns }, false);
                self.show();
            }
            Remedy::Stop => {
                self.fatal = Some(text);
                return After::Abort;
            }
        }
        After::Continue
    }

    /// Applies commands, and returns true if the node ticks now.
    #[cold]
    fn may_tick(&mut self, clock: &Clock, now_ns: u64) -> bool {
        self.poll(clock, now_ns);
        if self.held != HeldBack::default() {
            return false;
        }
        match self.state {
            State::Active => true,
            State::Skipping => {
                self.state = State::Active;
                self.metrics.count_skipped_ticks(1);
                false
            }
            State::Halved { ticks_next } => {
                self.state = State::Halved { ticks_next: !ticks_next };
                if !ticks_next {
                    self.metrics.count_skipped_ticks(1);
                }
                ticks_next
            }
            State::Resting { until_ns } if now_ns >= until_ns => {
                self.is_awake();
                true
            }
            State::New { at_ns } if now_ns >= at_ns => self.begin(clock, now_ns),
            State::Resting { .. } | State::New { .. } | State::Broken | State::Over => false,
        }
    }

    /// Lets the node tick again, in its safe state if it was in that.
    fn is_awake(&mut self) {
        self.state = self.awake();
        self.show();
    }

    /// Returns what to do after a turn in which the node did not tick.
    const fn after_no_tick(&self) -> After {
        match self.state {
            State::Broken => After::Abort,
            _ => After::Continue,
        }
    }

    #[cold]
    fn apply(&mut self, clock: &Clock, now_ns: u64) {
        let commands = Arc::clone(&self.commands);
        let look = commands.poll(|wanted| {
            (wanted.mode, wanted.is_emergency, wanted.pace.take(), wanted.exchange.take())
        });
        let Some((mode, is_emergency, pace, exchange)) = look else { return };
        if let Some(pace) = pace {
            (self.pace, self.new_rate) = (pace, pace.rate);
            self.event_log.note(self.tick, NodeEvent::RATE_CHANGED, pace.period_ns, "");
        }
        let is_paused = mode == Mode::Pause;
        let before = std::mem::replace(&mut self.held, HeldBack { is_paused, is_emergency });
        if is_emergency {
            self.enter_safe_state();
        } else {
            self.leave_safe_state();
        }
        if is_paused != before.is_paused {
            self.event_log.note(
                self.tick,
                if is_paused { NodeEvent::PAUSED } else { NodeEvent::RESUMED },
                0,
                "",
            );
        }
        self.show();
        if mode == Mode::Stop && !self.is_over() {
            self.stop();
        } else if let Some(exchange) = exchange {
            self.exchange(exchange, clock, now_ns);
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.release();
    }
}
