//! The one place that calls a node: its turns, its orders, its clock, its failures.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use horus_shm::clock::Clock;

use super::checkpoints::Place;
use super::context::Context;
use super::exchange::{Exchange, Trial};
use super::guards::{Fault, Guards};
use super::node::{Node, NodeError, NodeResult};
use super::orders::{Mode, Orders, Pace};
use super::plan::Plan;
use super::policy::{Failures, Remedy};
use super::pulse::{Health, Pulse};
use super::punctuality::{Punctuality, Verdict};
use super::random::Random;
use super::rate::Rate;
use super::recorder::Recorder;
use super::shared::Seat;
use crate::message::{NodeEvent, Text};

/// A node and everything that is known of it. Driven by one thread at a time.
pub(super) struct Runner {
    node: Box<dyn Node>,
    pulse: Arc<Pulse>,
    orders: Arc<Orders>,
    state: State,
    /// Whether orders keep it from ticking.
    held: Held,
    /// Whether it has entered its safe state and not left it.
    is_safe: bool,
    /// Whether misses keep it there.
    is_unpunctual: bool,
    tick: u64,
    pace: Pace,
    failures: Failures,
    punctuality: Punctuality,
    /// Whether it runs at every second due time only.
    is_halved: bool,
    random: Random,
    trial: Option<Trial>,
    guards: Option<Box<Guards>>,
    /// A rate that the executor has not yet taken.
    new_rate: Option<Rate>,
    recorder: Option<Recorder>,
    /// What was noted last of what may happen in every tick.
    repeated: Repeated,
    last_error: Option<String>,
    /// Why everything is to stop because of it.
    fatal: Option<String>,
    plan: Plan,
    /// Its place in the order of start.
    position: usize,
    /// What its thread could not have.
    refused: Vec<String>,
}

/// Whether a node runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It ticks.
    Active,
    /// It leaves out its next tick.
    Skipping,
    /// It leaves out every second tick.
    Halved { ticks_next: bool },
    /// It leaves out ticks until then.
    Resting { until_ns: u64 },
    /// It is to be initialised, then or at once.
    New { at_ns: u64 },
    /// It could not be initialised, and that stops everything.
    Broken,
    /// It is shut down.
    Over,
}

/// Events of one kind that follow each other closely.
#[derive(Debug, Clone, Copy, Default)]
struct Repeated {
    kind: u8,
    noted_ns: u64,
    left_out: u64,
}

/// How soon after another one of its kind an event is left out that may come in every tick.
const REPEAT_NS: u64 = 100_000_000;

/// What orders have already been carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Held {
    is_paused: bool,
    is_emergency: bool,
}

/// What the scheduler is to do after a node's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// Go on.
    Continue,
    /// Stop everything: the node asked for it.
    Stop,
    /// Stop everything: the node failed, or was late, and its policy says so.
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
    pub(super) fn new(node: Box<dyn Node>, plan: Plan, seat: &Seat) -> Self {
        Self {
            node,
            pulse: Arc::clone(&seat.pulse),
            orders: Arc::clone(&seat.orders),
            state: State::New { at_ns: 0 },
            held: Held::default(),
            is_safe: false,
            is_unpunctual: false,
            tick: 0,
            pace: Pace::of(&plan),
            failures: Failures::default(),
            punctuality: Punctuality::default(),
            is_halved: false,
            random: Random::new(0, ""),
            trial: None,
            guards: Guards::of(&plan),
            new_rate: None,
            recorder: None,
            repeated: Repeated::default(),
            last_error: None,
            fatal: None,
            plan,
            position: 0,
            refused: Vec::new(),
        }
    }

    /// Gives the node the random numbers that belong to this seed.
    pub(super) fn seed(&mut self, seed: u64) {
        self.random = Random::new(seed, &self.plan.name);
    }

    /// Notes its place in the order of start.
    pub(super) const fn stand_at(&mut self, position: usize) {
        self.position = position;
    }

    pub(super) const fn position(&self) -> usize {
        self.position
    }

    /// Where its events go from now on.
    pub(super) fn record_to(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
    }

    /// Notes what its thread could not have.
    pub(super) fn refuse(&mut self, refused: Vec<String>) {
        refused.iter().for_each(|what| self.note(NodeEvent::REFUSED, 0, what));
        self.refused = refused;
    }

    pub(super) fn refused(&self) -> &[String] {
        &self.refused
    }

    pub(super) const fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(super) const fn pulse(&self) -> &Arc<Pulse> {
        &self.pulse
    }

    /// Where it is in its tick, for another thread, if it has checkpoints.
    pub(super) fn place(&self) -> Option<Arc<Place>> {
        self.guards.as_ref()?.place()
    }

    /// The last failure, for a person.
    pub(super) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    /// Why everything is to stop because of it, if it is.
    pub(super) fn fatal(&self) -> Option<&str> {
        self.fatal.as_deref()
    }

    /// The rate that it is to have from now on, once.
    #[inline]
    pub(super) const fn take_new_rate(&mut self) -> Option<Rate> {
        self.new_rate.take()
    }

    /// Whether it will never tick again.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Carries out orders, if there are any. A load if there are none.
    #[inline(always)]
    pub(super) fn heed(&mut self, clock: &Clock, now_ns: u64) {
        if self.orders.attention() {
            self.obey(clock, now_ns);
        }
    }

    /// Carries out orders, if there are any, and says whether something keeps the node from ticking
    /// until later.
    pub(super) fn is_held(&mut self, clock: &Clock, now_ns: u64) -> bool {
        self.heed(clock, now_ns);
        match self.state {
            State::Resting { until_ns: at_ns } | State::New { at_ns } => now_ns < at_ns,
            State::Over => true,
            _ => self.held != Held::default(),
        }
    }

    /// Whether there are orders, carried out or not. A load.
    pub(super) fn has_orders(&self) -> bool {
        self.orders.attention()
    }

    /// The node's turn, which was due at `due_ns` and begins at `begin_ns`. Returns when it ended,
    /// which is when the next node's turn begins, and what follows.
    #[inline]
    pub(super) fn turn(&mut self, clock: &Clock, due_ns: u64, begin_ns: u64) -> (u64, After) {
        if let Some(after) = self.open(clock, due_ns, begin_ns) {
            return (begin_ns, after);
        }
        let (node, mut context) = self.parts(clock, due_ns, begin_ns);
        // WHY unwind safe: a node that panicked is only ticked again if its policy says so.
        let outcome = catch_unwind(AssertUnwindSafe(|| node.tick(&mut context)));
        let stop = context.stop;
        self.close(outcome, stop, (due_ns, begin_ns, clock.now_ns()))
    }

    /// The first part of a turn: what follows if the node does not tick.
    #[inline(always)]
    pub(super) fn open(&mut self, clock: &Clock, due_ns: u64, begin_ns: u64) -> Option<After> {
        if (self.orders.attention() || self.state != State::Active)
            && !self.may_tick(clock, begin_ns)
        {
            return Some(self.after_no_tick());
        }
        self.pulse.begin(due_ns, begin_ns);
        if let Some(guards) = &mut self.guards {
            guards.begin(begin_ns);
        }
        None
    }

    /// What ticks, and what it is told.
    #[inline(always)]
    pub(super) fn parts<'a>(
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

    /// The last part of a turn: what the tick came to. Returns as [`Self::turn`].
    #[inline(always)]
    pub(super) fn close(
        &mut self,
        outcome: std::thread::Result<NodeResult>,
        stop: bool,
        (due_ns, begin_ns, end_ns): (u64, u64, u64),
    ) -> (u64, After) {
        self.pulse.end(begin_ns, end_ns);
        self.tick += 1;
        let late_ns = end_ns.saturating_sub(due_ns).saturating_sub(self.pace.deadline_ns);
        let over_ns = end_ns.saturating_sub(begin_ns).saturating_sub(self.pace.budget_ns);
        let late_ns = late_ns.max(over_ns);
        let is_late = late_ns > 0;
        let after = match outcome {
            Ok(Ok(())) if self.guards.is_none() => self.judge(is_late, None, late_ns, end_ns),
            Ok(Ok(())) => self.judge_guarded(is_late, begin_ns, late_ns, end_ns),
            failed => self.fail(failed, end_ns),
        };
        (end_ns, if stop && after == After::Continue { After::Stop } else { after })
    }

    fn judge_guarded(&mut self, is_late: bool, begin_ns: u64, late_ns: u64, end_ns: u64) -> After {
        let fault = self.guard(|guards| guards.end(begin_ns));
        self.judge(is_late || fault.is_some(), fault, late_ns, end_ns)
    }

    /// Asks the guards, and notes what is new.
    fn guard(&mut self, look: impl FnOnce(&mut Guards) -> Option<Fault>) -> Option<Fault> {
        let guards = self.guards.as_mut()?;
        let was_stale = guards.is_stale();
        let fault = look(guards);
        let is_fresh = was_stale && !guards.is_stale();
        if is_fresh {
            self.note(NodeEvent::FRESH_INPUT, 0, "");
        }
        if let Some(Fault { kind: Some(kind), text }) = &fault {
            self.note_often(*kind, 0, text);
        }
        fault
    }

    /// A time at which the node has no turn: a stale input is a miss then, too.
    pub(super) fn idle(&mut self, now_ns: u64) -> After {
        let is_waiting = matches!(self.state, State::Active | State::Halved { .. });
        if self.guards.is_none() || !is_waiting || self.held != Held::default() {
            return After::Continue;
        }
        match self.guard(|guards| guards.look_at_inputs(now_ns)) {
            None => After::Continue,
            fault => self.judge(true, fault, 0, now_ns),
        }
    }

    /// After a tick without an error: was it in time, and as it should be?
    #[inline]
    fn judge(&mut self, is_miss: bool, fault: Option<Fault>, late_ns: u64, now_ns: u64) -> After {
        if self.trial.is_some() {
            self.pass_trial();
        }
        self.failures.forgive(self.plan.on_failure);
        match self.punctuality.record(self.plan.on_miss, is_miss, now_ns) {
            Verdict::Fine => After::Continue,
            verdict => self.carry_out(verdict, fault, late_ns),
        }
    }

    #[cold]
    fn carry_out(&mut self, verdict: Verdict, fault: Option<Fault>, late_ns: u64) -> After {
        if !matches!(verdict, Verdict::LeaveSafeState | Verdict::Restore) {
            self.pulse.count_miss();
            match &fault {
                // What is wrong with it has been noted.
                Some(fault) => self.last_error = Some(fault.text.clone()),
                None => self.note_often(NodeEvent::MISSED, late_ns, ""),
            }
        }
        match verdict {
            Verdict::Fine | Verdict::Warn => {}
            Verdict::LeaveSafeState => {
                self.is_unpunctual = false;
                self.leave_safe_state();
            }
            Verdict::Skip => self.state = State::Skipping,
            Verdict::Halve | Verdict::Restore => {
                self.is_halved = verdict == Verdict::Halve;
                self.state = self.awake();
            }
            Verdict::Isolate { until_ns, enters_safe_state } => {
                if enters_safe_state {
                    self.is_unpunctual = true;
                    self.enter_safe_state();
                }
                self.state = State::Resting { until_ns };
            }
            Verdict::EnterSafeState => {
                self.is_unpunctual = true;
                self.enter_safe_state();
            }
            Verdict::Stop => {
                let late = || {
                    let late = Duration::from_nanos(late_ns);
                    format!("missed its deadline or its budget by {late:?}")
                };
                self.fatal = Some(fault.map_or_else(late, |fault| fault.text));
                return After::Abort;
            }
        }
        After::Continue
    }

    /// The state of a node that ticks: now, not necessarily the next time.
    const fn awake(&self) -> State {
        if self.is_halved { State::Halved { ticks_next: false } } else { State::Active }
    }

    /// Brings the node into its safe state, unless it is there; a panic in that is only noted.
    pub(super) fn enter_safe_state(&mut self) {
        if self.is_safe || matches!(self.state, State::Over | State::New { .. } | State::Broken) {
            return;
        }
        self.is_safe = true;
        let node = &mut self.node;
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| node.enter_safe_state())) {
            let error = message_of(&panic);
            self.pulse.count_failure(true);
            self.note(NodeEvent::PANICKED, 0, &error);
            self.last_error = Some(error);
        }
        self.show_health();
        self.note(NodeEvent::SAFE_STATE_ENTERED, 0, "");
    }

    /// Lets the node out of its safe state, if nothing keeps it there.
    fn leave_safe_state(&mut self) {
        if !self.is_unpunctual && !self.held.is_emergency && std::mem::take(&mut self.is_safe) {
            self.note(NodeEvent::SAFE_STATE_LEFT, 0, "");
        }
        self.show_health();
    }

    /// Shows others how the node is.
    fn show_health(&self) {
        self.pulse.is_now(match self.state {
            State::Over => Health::Stopped,
            _ if self.held.is_emergency => Health::Safe,
            _ if self.held.is_paused => Health::Paused,
            _ if self.is_safe => Health::Safe,
            State::Resting { .. } | State::New { at_ns: 1.. } => Health::Resting,
            _ => Health::Active,
        });
    }

    #[cold]
    fn fail(&mut self, outcome: std::thread::Result<NodeResult>, now_ns: u64) -> After {
        let (error, is_panic): (NodeError, bool) = match outcome {
            Ok(Ok(())) => return After::Continue,
            Ok(Err(error)) => (error, false),
            Err(panic) => (format!("panicked: {}", message_of(&panic)).into(), true),
        };
        let text = error.to_string();
        self.pulse.count_failure(is_panic);
        let kind = if is_panic { NodeEvent::PANICKED } else { NodeEvent::FAILED };
        self.note_often(kind, 0, &text);
        let node = &mut self.node;
        // A panic while it is told of a failure says no more than the failure.
        let _ = catch_unwind(AssertUnwindSafe(|| node.on_error(&error)));
        if let Some(trial) = self.trial.take() {
            self.roll_back(trial, &text);
            self.last_error = Some(text);
            return After::Continue;
        }
        self.last_error = Some(text);
        match self.failures.record(self.plan.on_failure, now_ns) {
            Remedy::Continue => {}
            Remedy::Rest { until_ns } => {
                self.state = State::Resting { until_ns };
                self.show_health();
            }
            Remedy::Restart { at_ns } => {
                self.end();
                self.state = State::New { at_ns };
                // What is initialised anew has not entered anything.
                (self.is_safe, self.is_unpunctual) = (false, false);
                self.show_health();
            }
            Remedy::Stop => {
                self.fatal.clone_from(&self.last_error);
                return After::Abort;
            }
        }
        After::Continue
    }

    /// Carries out orders, and says whether the node ticks now.
    #[cold]
    fn may_tick(&mut self, clock: &Clock, now_ns: u64) -> bool {
        self.heed(clock, now_ns);
        if self.held != Held::default() {
            return false;
        }
        match self.state {
            State::Active => true,
            State::Skipping => {
                self.state = State::Active;
                self.pulse.count_passed_over(1);
                false
            }
            State::Halved { ticks_next } => {
                self.state = State::Halved { ticks_next: !ticks_next };
                if !ticks_next {
                    self.pulse.count_passed_over(1);
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

    /// The node ticks again, in its safe state if it was in that.
    fn is_awake(&mut self) {
        self.state = self.awake();
        self.show_health();
    }

    /// What follows from a turn in which the node did not tick.
    const fn after_no_tick(&self) -> After {
        match self.state {
            State::Broken => After::Abort,
            _ => After::Continue,
        }
    }

    #[cold]
    fn obey(&mut self, clock: &Clock, now_ns: u64) {
        let orders = Arc::clone(&self.orders);
        let look = orders.heed(|wanted| {
            (wanted.mode, wanted.is_emergency, wanted.pace.take(), wanted.exchange.take())
        });
        let Some((mode, is_emergency, pace, exchange)) = look else { return };
        if let Some(pace) = pace {
            (self.pace, self.new_rate) = (pace, pace.rate);
            self.note(NodeEvent::RATE_CHANGED, pace.period_ns, "");
        }
        let is_paused = mode == Mode::Pause;
        let before = std::mem::replace(&mut self.held, Held { is_paused, is_emergency });
        if is_paused != before.is_paused {
            self.note(if is_paused { NodeEvent::PAUSED } else { NodeEvent::RESUMED }, 0, "");
        }
        match (before.is_emergency, is_emergency) {
            (false, true) => self.enter_safe_state(),
            (true, false) => self.leave_safe_state(),
            _ => {}
        }
        self.show_health();
        if mode == Mode::Stop && !self.is_over() {
            self.stop();
        } else if let Some(exchange) = exchange {
            self.exchange(exchange, clock, now_ns);
        }
    }

    /// Puts another node in this one's place, and initialises it.
    fn exchange(&mut self, exchange: Exchange, clock: &Clock, now_ns: u64) {
        if matches!(self.state, State::Over | State::Broken) {
            return;
        }
        // An earlier one that is still on trial has passed: who swaps again has seen enough.
        self.accept_trial();
        let place = &mut self.node;
        match catch_unwind(AssertUnwindSafe(|| exchange.carry_out(place))) {
            Ok(Ok(trial)) => {
                self.trial = Some(trial);
                self.note(NodeEvent::SWAPPED, 0, "");
                let was_safe = std::mem::take(&mut self.is_safe);
                // If that fails it is rolled back.
                if !matches!(self.state, State::New { .. }) {
                    self.begin(clock, now_ns);
                }
                if was_safe && self.trial.is_some() {
                    self.enter_safe_state();
                } else {
                    // The old one is back, as it was.
                    self.is_safe = was_safe;
                }
            }
            Ok(Err(reason)) => self.note(NodeEvent::SWAP_FAILED, 0, &reason),
            Err(panic) => self.note(NodeEvent::SWAP_FAILED, 0, &message_of(&panic)),
        }
    }

    #[cold]
    fn pass_trial(&mut self) {
        if self.trial.as_mut().is_some_and(Trial::passes_tick) {
            self.accept_trial();
        }
    }

    fn accept_trial(&mut self) {
        if let Some(mut trial) = self.trial.take() {
            trial.take_old().into_iter().for_each(|old| self.end_of(old));
            trial.accept();
        }
    }

    fn roll_back(&mut self, trial: Trial, why: &str) {
        let place = &mut self.node;
        let new = catch_unwind(AssertUnwindSafe(|| trial.roll_back(place, why)));
        self.note(NodeEvent::SWAP_FAILED, 0, why);
        match new {
            Ok(new) => new.into_iter().for_each(|new| self.end_of(new)),
            Err(panic) => self.last_error = Some(message_of(&panic)),
        }
        // A node that was to be initialised still is.
        if !matches!(self.state, State::New { .. }) {
            self.is_awake();
        }
    }

    /// Initialises the node; true if it can tick.
    fn begin(&mut self, clock: &Clock, now_ns: u64) -> bool {
        self.guards.iter().for_each(|guards| guards.restart(now_ns));
        let Self { node, random, tick, pace, .. } = self;
        let mut context = Context {
            clock,
            tick: *tick,
            due_ns: now_ns,
            begin_ns: now_ns,
            budget_end_ns: u64::MAX,
            period_ns: pace.period_ns,
            stop: false,
            checkpoints: None,
            random,
        };
        match catch_unwind(AssertUnwindSafe(|| node.init(&mut context))) {
            Ok(Ok(())) => {
                self.is_awake();
                self.note(NodeEvent::STARTED, 0, "");
                true
            }
            failed => {
                if self.fail(failed, now_ns) == After::Abort {
                    self.state = State::Broken;
                }
                // After a rollback the old node goes on at once.
                matches!(self.state, State::Active | State::Halved { .. })
            }
        }
    }

    /// Initialises the node before the first tick of any.
    pub(super) fn start(&mut self, clock: &Clock) -> After {
        if self.may_tick(clock, clock.now_ns()) { After::Continue } else { self.after_no_tick() }
    }

    /// Shuts the node down.
    fn end(&mut self) {
        let error = shut_down(&mut *self.node);
        self.note_end(error);
    }

    /// Shuts down and drops a node that has left its place.
    fn end_of(&mut self, mut node: Box<dyn Node>) {
        let error = shut_down(&mut *node);
        self.note_end(error);
        // WHY: what a node drops may panic too.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(node)));
    }

    fn note_end(&mut self, error: Option<String>) {
        self.note(NodeEvent::FINISHED, 0, error.as_deref().unwrap_or_default());
        if error.is_some() {
            self.last_error = error;
        }
    }

    /// Shuts the node down, if it was ever initialised.
    pub(super) fn stop(&mut self) {
        if !matches!(self.state, State::New { .. } | State::Broken | State::Over) {
            self.end();
        }
        self.state = State::Over;
        self.show_health();
    }

    /// Writes down what may happen in every tick: of one kind, ten in a second. The next one says
    /// how many were left out. WHY: they would drive everything else out of the black box.
    #[cold]
    fn note_often(&mut self, kind: u8, value_ns: u64, text: &str) {
        let now_ns = Clock::kernel().now_ns();
        let Repeated { kind: last_kind, noted_ns, left_out } = self.repeated;
        if kind == last_kind && now_ns.saturating_sub(noted_ns) < REPEAT_NS {
            self.repeated.left_out += 1;
            return;
        }
        self.repeated = Repeated { kind, noted_ns: now_ns, left_out: 0 };
        if kind == last_kind && left_out > 0 {
            let between = if text.is_empty() { "" } else { "; " };
            let more = format_args!("{text}{between}and {left_out} more before this");
            self.note(kind, value_ns, Text::<128>::format(more).as_str());
        } else {
            self.note(kind, value_ns, text);
        }
    }

    /// Writes down what happened.
    #[cold]
    fn note(&self, kind: u8, value_ns: u64, text: &str) {
        let Some(recorder) = &self.recorder else { return };
        let event = NodeEvent::new(kind, &self.plan.name, Clock::kernel().now_ns());
        recorder.record(event.lasting(value_ns).in_tick(self.tick).saying(text));
    }
}

/// What went wrong in the end of a node, if anything did.
fn shut_down(node: &mut dyn Node) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(|| node.shutdown())) {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(panic) => Some(message_of(&panic)),
    }
}

/// What a panic said.
fn message_of(panic: &Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use horus_shm::sync::Word;

    use super::*;
    use crate::scheduler::plan::Wish;
    use crate::scheduler::policy::Miss;
    use crate::scheduler::rate::Hertz;

    /// A node that only counts how often it enters its safe state.
    struct Counting(Arc<AtomicU64>);

    impl Node for Counting {
        fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
            Ok(())
        }

        fn enter_safe_state(&mut self) {
            self.0.count();
        }
    }

    #[test]
    fn a_late_node_is_halved_isolated_and_ends_everything_in_one_safe_state() {
        let rate = Some(1000.hz());
        let wish =
            Wish { name: "n".into(), rate, on_miss: Some(Miss::Graduated), ..Wish::default() };
        let entered = Arc::default();
        let node = Box::new(Counting(Arc::clone(&entered)));
        let seat = Seat { wish: wish.clone(), orders: Arc::default(), pulse: Arc::default() };
        let mut runner = Runner::new(node, wish.whole(1).unwrap(), &seat);
        runner.start(&Clock::simulated(0));
        let mut ticked_at_ms = Vec::new();
        let after = (0..20_000_u64).find_map(|ms| {
            let (before, due_ns) = (runner.tick, ms * 1_000_000);
            let clock = Clock::simulated(due_ns + 999_999);
            let (_, after) = runner.turn(&clock, due_ns, due_ns);
            ticked_at_ms.extend((runner.tick > before).then_some(ms));
            (after != After::Continue).then_some(after)
        });
        assert_eq!(after, Some(After::Abort));
        let wanted = [
            [0, 1, 2, 3],
            [5, 7, 9, 11],
            [1012, 1014, 1016, 1018],
            [3019, 3021, 3023, 3025],
            [7026, 7028, 7030, 7032],
        ];
        assert_eq!(ticked_at_ms, wanted.concat());
        assert_eq!(runner.pulse.figures().misses, 20);
        assert_eq!(entered.get(), 1);
    }
}
