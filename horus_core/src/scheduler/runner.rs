//! The one place that calls a node: its turns, its clock, its failures.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use horus_shm::clock::Clock;

use super::context::Context;
use super::node::{Node, NodeError, NodeResult};
use super::plan::Plan;
use super::policy::{Failures, Remedy, nanos};
use super::pulse::Pulse;
use super::punctuality::{Punctuality, Verdict};
use super::random::Random;

/// A node and everything that is known of it. Driven by one thread at a time.
pub(super) struct Runner {
    node: Box<dyn Node>,
    plan: Plan,
    pulse: Arc<Pulse>,
    state: State,
    failures: Failures,
    punctuality: Punctuality,
    /// Whether it runs at every second due time only.
    is_halved: bool,
    tick: u64,
    budget_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
    last_error: Option<String>,
    random: Random,
    /// What its thread could not have.
    pub(super) refused: Vec<String>,
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
    /// It is shut down.
    Over,
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

impl Runner {
    pub(super) fn new(node: Box<dyn Node>, plan: Plan, pulse: Arc<Pulse>) -> Self {
        let or_never = |time: Option<_>| time.map_or(u64::MAX, nanos);
        Self {
            budget_ns: or_never(plan.budget),
            deadline_ns: or_never(plan.deadline),
            period_ns: plan.rate.map_or(0, |rate| nanos(rate.period())),
            node,
            plan,
            pulse,
            state: State::New { at_ns: 0 },
            failures: Failures::default(),
            punctuality: Punctuality::default(),
            is_halved: false,
            tick: 0,
            last_error: None,
            random: Random::new(0, ""),
            refused: Vec::new(),
        }
    }

    /// Gives the node the random numbers that belong to this seed.
    pub(super) fn seed(&mut self, seed: u64) {
        self.random = Random::new(seed, &self.plan.name);
    }

    pub(super) const fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(super) const fn pulse(&self) -> &Arc<Pulse> {
        &self.pulse
    }

    /// The last failure, for a person.
    pub(super) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
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
        if self.state != State::Active && !self.wake(clock, begin_ns) {
            return Some(self.after_waking());
        }
        self.pulse.begin(due_ns, begin_ns);
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
        let Self { node, random, tick, budget_ns, period_ns, .. } = self;
        let context = Context {
            clock,
            tick: *tick,
            due_ns,
            begin_ns,
            budget_end_ns: begin_ns.saturating_add(*budget_ns),
            period_ns: *period_ns,
            stop: false,
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
        let is_late = end_ns.saturating_sub(due_ns) > self.deadline_ns
            || end_ns.saturating_sub(begin_ns) > self.budget_ns;
        let after = match outcome {
            Ok(Ok(())) => self.judge(is_late, end_ns),
            failed => self.fail(failed, end_ns),
        };
        (end_ns, if stop && after == After::Continue { After::Stop } else { after })
    }

    /// After a tick without an error: was it in time?
    #[inline]
    fn judge(&mut self, is_late: bool, now_ns: u64) -> After {
        self.failures.forgive(self.plan.on_failure);
        match self.punctuality.record(self.plan.on_miss, is_late, now_ns) {
            Verdict::Fine => After::Continue,
            verdict => self.carry_out(verdict),
        }
    }

    #[cold]
    fn carry_out(&mut self, verdict: Verdict) -> After {
        if !matches!(verdict, Verdict::LeaveSafeState | Verdict::Restore) {
            self.pulse.count_miss();
        }
        match verdict {
            Verdict::Fine | Verdict::Warn | Verdict::LeaveSafeState => {}
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
            Verdict::EnterSafeState => self.enter_safe_state(),
            Verdict::Stop => return After::Abort,
        }
        After::Continue
    }

    /// The state of a node that ticks: now, not necessarily the next time.
    const fn awake(&self) -> State {
        if self.is_halved { State::Halved { ticks_next: false } } else { State::Active }
    }

    /// Brings the node into its safe state; a panic in that is only noted.
    pub(super) fn enter_safe_state(&mut self) {
        let node = &mut self.node;
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| node.enter_safe_state())) {
            self.last_error = Some(message_of(&panic));
            self.pulse.count_failure(true);
        }
    }

    #[cold]
    fn fail(&mut self, outcome: std::thread::Result<NodeResult>, now_ns: u64) -> After {
        let (error, is_panic): (NodeError, bool) = match outcome {
            Ok(Ok(())) => return After::Continue,
            Ok(Err(error)) => (error, false),
            Err(panic) => (format!("panicked: {}", message_of(&panic)).into(), true),
        };
        self.pulse.count_failure(is_panic);
        self.last_error = Some(error.to_string());
        let node = &mut self.node;
        // A panic while it is told of a failure says no more than the failure.
        let _ = catch_unwind(AssertUnwindSafe(|| node.on_error(&error)));
        match self.failures.record(self.plan.on_failure, now_ns) {
            Remedy::Continue => {}
            Remedy::Rest { until_ns } => self.state = State::Resting { until_ns },
            Remedy::Restart { at_ns } => {
                self.end();
                self.state = State::New { at_ns };
            }
            Remedy::Stop => return After::Abort,
        }
        After::Continue
    }

    /// Whether a node that does not tick can now.
    #[cold]
    fn wake(&mut self, clock: &Clock, now_ns: u64) -> bool {
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
                self.state = self.awake();
                true
            }
            State::New { at_ns } if now_ns >= at_ns => self.begin(clock, now_ns),
            State::Resting { .. } | State::New { .. } | State::Over => false,
        }
    }

    /// What follows from a turn in which the node could not be woken.
    const fn after_waking(&self) -> After {
        match self.state {
            State::Over => After::Abort,
            _ => After::Continue,
        }
    }

    /// Initialises the node; true if it can tick.
    fn begin(&mut self, clock: &Clock, now_ns: u64) -> bool {
        let Self { node, random, tick, period_ns, .. } = self;
        let mut context = Context {
            clock,
            tick: *tick,
            due_ns: now_ns,
            begin_ns: now_ns,
            budget_end_ns: u64::MAX,
            period_ns: *period_ns,
            stop: false,
            random,
        };
        match catch_unwind(AssertUnwindSafe(|| node.init(&mut context))) {
            Ok(Ok(())) => {
                self.state = self.awake();
                true
            }
            failed => {
                if self.fail(failed, now_ns) == After::Abort {
                    self.state = State::Over;
                }
                false
            }
        }
    }

    /// Initialises the node before the first tick of any.
    pub(super) fn start(&mut self, clock: &Clock) -> After {
        if self.wake(clock, clock.now_ns()) { After::Continue } else { self.after_waking() }
    }

    fn end(&mut self) {
        let node = &mut self.node;
        match catch_unwind(AssertUnwindSafe(|| node.shutdown())) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.last_error = Some(error.to_string()),
            Err(panic) => self.last_error = Some(message_of(&panic)),
        }
    }

    /// Shuts the node down, if it was ever initialised.
    pub(super) fn stop(&mut self) {
        if !matches!(self.state, State::New { .. } | State::Over) {
            self.end();
        }
        self.state = State::Over;
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
        let mut runner = Runner::new(node, wish.whole(1).unwrap(), Arc::default());
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
