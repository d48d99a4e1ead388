//! An actor in its cell: calls its methods, and applies its failure policy.

use horus_shm::internals::heap::{Behaviour, End, Event, Flow, Panic, Turn};

use crate::actor::behaviour::Actor;
use crate::actor::context::Context;
use crate::actor::group::{ActorGroup, Control};
use crate::actor::swap::{SwapRequest, Trial};
use crate::actor::watch::{DownReason, Watch};
use crate::actor::worker_context::WorkerContext;
use crate::scheduler::api::node::{NodeError, NodeResult};
use crate::scheduler::api::policy::{FailureHistory, FailurePolicy, Remedy};
use crate::scheduler::run::catch_panic::{catch_panic, drop_caught, error_text, panic_text};

/// An actor with what belongs to it. WHY so few fields: with a small actor, it fits in the second
/// line of a cell.
pub(super) struct Seat<A> {
    actor: A,
    extras: Option<Box<Extras<A>>>,
    /// The number among the members of the group, or [`NO_MEMBER`].
    number: u64,
    restarts: u32,
    state: State,
}

/// The number of an actor that is no member of its group.
const NO_MEMBER: u64 = u64::MAX;

/// The parts of an actor that few have.
pub(super) struct Extras<A> {
    pub(super) make: Option<Box<dyn FnMut() -> A + Send>>,
    /// The reaction to a failure. Without one, the actor ends.
    pub(super) policy: Option<FailurePolicy>,
    pub(super) failures: FailureHistory,
    /// The actors that watch this one.
    pub(super) watches: Vec<Watch>,
    /// The error that ends the actor.
    pub(super) error: Option<String>,
    /// The trial of this actor, which has replaced another one.
    pub(super) trial: Option<Trial<A>>,
}

impl<A> Default for Extras<A> {
    fn default() -> Self {
        Self {
            make: None,
            policy: None,
            failures: FailureHistory::default(),
            watches: Vec::new(),
            error: None,
            trial: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has to be initialised.
    New,
    /// It handles messages.
    Active,
    /// It has to be made anew before the next message.
    Failed,
}

impl<A: Actor> Seat<A> {
    pub(super) const fn new(actor: A, extras: Option<Box<Extras<A>>>) -> Self {
        Self {
            actor,
            extras,
            number: NO_MEMBER,
            restarts: 0,
            state: State::New,
        }
    }

    fn handle_message(
        &mut self,
        message: A::Message,
        turn: &mut Turn<'_, A::Message, ActorGroup>,
    ) -> Flow {
        self.act(turn, |actor, context| actor.handle(message, context))
    }

    /// Calls a handler, and applies the failure policy if it fails.
    #[inline]
    fn act(
        &mut self,
        turn: &mut Turn<'_, A::Message, ActorGroup>,
        call: impl FnOnce(&mut A, &mut Context<'_, A>) -> NodeResult,
    ) -> Flow {
        let mut context = Context::new(turn, self.restarts);
        let result = call(&mut self.actor, &mut context);
        let stop = context.stop;
        let flow = turn.worker().count_message();
        match result {
            Ok(()) if stop => Flow::Stop,
            Ok(()) => {
                if self.extras.is_some() {
                    self.count_trial_message(turn.group());
                }
                flow
            }
            Err(error) => self.apply_policy(&error, false, turn),
        }
    }

    /// Counts a message that a new actor has handled, and accepts the swap after the last one of
    /// its trial.
    fn count_trial_message(&mut self, group: &ActorGroup) {
        let trial = self
            .extras
            .as_mut()
            .and_then(|extras| extras.trial.as_mut());
        if trial.is_some_and(Trial::count_message) {
            self.accept_swap(group);
        }
    }

    fn accept_swap(&mut self, group: &ActorGroup) {
        if let Some(trial) = self.take_trial() {
            let mut old = trial.accept();
            shut_down(&mut old, group);
            drop_quietly(old, group);
        }
    }

    fn take_trial(&mut self) -> Option<Trial<A>> {
        self.extras.as_mut().and_then(|extras| extras.trial.take())
    }

    /// Replaces the actor, and initialises the new one.
    fn swap(
        &mut self,
        mut request: SwapRequest,
        turn: &mut Turn<'_, A::Message, ActorGroup>,
    ) -> Flow {
        // WHY: a caller that swaps again is satisfied with the swap before.
        self.accept_swap(turn.group());
        let Some(actor) = request.take::<A>() else {
            return Flow::Continue;
        };
        let old = std::mem::replace(&mut self.actor, actor);
        let (result, stop) = init(&mut self.actor, turn, self.restarts);
        if let Err(error) = result {
            let text = error_text(&*error);
            turn.group().record_failure(false, &text);
            drop_quietly(std::mem::replace(&mut self.actor, old), turn.group());
            request.refuse(&text);
            return Flow::Continue;
        }
        let extras = self.extras.get_or_insert_default();
        extras.trial = Some(request.begin_trial(old));
        if stop { Flow::Stop } else { Flow::Continue }
    }

    /// Brings the old actor back, if the new one has failed in its trial. Returns true if it did.
    fn roll_back(&mut self, error: &str, group: &ActorGroup) -> bool {
        let Some(trial) = self.take_trial() else {
            return false;
        };
        let mut new = std::mem::replace(&mut self.actor, trial.roll_back(error));
        shut_down(&mut new, group);
        drop_quietly(new, group);
        true
    }

    #[cold]
    fn handle_control(
        &mut self,
        control: Control,
        turn: &mut Turn<'_, A::Message, ActorGroup>,
    ) -> Flow {
        match control {
            Control::Init => self.begin(turn),
            Control::Restart => Flow::Continue,
            Control::End => Flow::Stop,
            Control::Swap(request) => self.swap(request, turn),
            Control::Watch(watch) => {
                self.extras.get_or_insert_default().watches.push(watch);
                Flow::Continue
            }
            Control::Down(down) => self.act(turn, |actor, context| actor.on_down(&down, context)),
            Control::Timer(due) => match due.into_message(self.restarts) {
                Some(message) => self.handle_message(message, turn),
                None => Flow::Continue,
            },
        }
    }

    /// Initialises the actor for the first time, on the thread that spawns it.
    fn begin(&mut self, turn: &mut Turn<'_, A::Message, ActorGroup>) -> Flow {
        let Some(number) = turn.group().add_member(turn.control()) else {
            turn.worker().is_refused = true;
            return Flow::Stop;
        };
        self.number = number;
        match init(&mut self.actor, turn, self.restarts) {
            (Ok(()), true) => {
                self.state = State::Active;
                Flow::Stop
            }
            // WHY: other threads may have sent messages, which the workers have to handle.
            (Ok(()), false) => {
                self.state = State::Active;
                if turn.worker().has_given_address {
                    Flow::Yield
                } else {
                    Flow::Continue
                }
            }
            (Err(error), _) => {
                turn.worker().init_error = Some(error);
                Flow::Stop
            }
        }
    }

    /// Makes the actor anew, and initialises it. Returns what follows if that fails.
    #[cold]
    fn restart(&mut self, turn: &mut Turn<'_, A::Message, ActorGroup>) -> Result<(), Flow> {
        let make = self.extras.as_mut().and_then(|extras| extras.make.as_mut());
        let Some(make) = make else {
            return Err(Flow::Stop);
        };
        self.restarts = self.restarts.wrapping_add(1);
        let made = catch_panic(make).map_err(NodeError::from);
        let result = made.and_then(|actor| {
            let former = std::mem::replace(&mut self.actor, actor);
            drop_quietly(former, turn.group());
            match init(&mut self.actor, turn, self.restarts) {
                (Ok(()), true) => Ok(true),
                (result, _) => result.map(|()| false),
            }
        });
        match result {
            Ok(true) => Err(Flow::Stop),
            Ok(false) => {
                self.state = State::Active;
                Ok(())
            }
            Err(error) => Err(self.apply_policy(&error, false, turn)),
        }
    }

    /// Reports a failure, and decides what follows.
    #[cold]
    fn apply_policy(
        &mut self,
        error: &NodeError,
        is_panic: bool,
        turn: &mut Turn<'_, A::Message, ActorGroup>,
    ) -> Flow {
        let text = error_text(&**error);
        turn.group().record_failure(is_panic, &text);
        if let Err(panic) = catch_panic(|| self.actor.on_error(error)) {
            turn.group().record_failure(true, &panic);
        }
        if self.roll_back(&text, turn.group()) {
            return Flow::Continue;
        }
        let now_ns = turn.worker().clock.now_ns();
        let Some(extras) = &mut self.extras else {
            return Flow::Stop;
        };
        let Some(policy) = extras.policy else {
            extras.error = Some(text);
            return Flow::Stop;
        };
        match extras.failures.record(policy, now_ns) {
            Remedy::Continue => Flow::Continue,
            Remedy::Rest { until_ns } => {
                turn.worker().resume_ns = until_ns;
                Flow::Suspend
            }
            Remedy::Restart { at_ns } => self.restart_at(at_ns, turn),
            Remedy::Stop => {
                if policy == FailurePolicy::Fatal {
                    turn.worker().fatal_error = Some(text.clone());
                }
                extras.error = Some(text);
                Flow::Stop
            }
        }
    }

    /// Shuts the actor down, and lets it pause until it is made anew.
    fn restart_at(&mut self, at_ns: u64, turn: &mut Turn<'_, A::Message, ActorGroup>) -> Flow {
        if std::mem::replace(&mut self.state, State::Failed) == State::Active {
            shut_down(&mut self.actor, turn.group());
        }
        turn.worker().resume_ns = at_ns;
        // WHY: without mail, nothing else would make the actor run after the pause.
        let is_sent = turn.control().send(Control::Restart).is_ok();
        if is_sent { Flow::Suspend } else { Flow::Stop }
    }
}

/// Initialises an actor. Returns the result, and true if it wants to end.
fn init<A: Actor>(
    actor: &mut A,
    turn: &mut Turn<'_, A::Message, ActorGroup>,
    restarts: u32,
) -> (NodeResult, bool) {
    let mut context = Context::new(turn, restarts);
    let result = catch_panic(|| actor.init(&mut context));
    let result = result.unwrap_or_else(|panic| Err(NodeError::from(panic)));
    (result, context.stop)
}

/// Drops an actor; records a panic of its drop.
fn drop_quietly<A>(actor: A, group: &ActorGroup) {
    if let Some(panic) = drop_caught(actor) {
        group.record_failure(true, &panic);
    }
}

fn shut_down<A: Actor>(actor: &mut A, group: &ActorGroup) {
    match catch_panic(|| actor.shutdown()) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => group.record_failure(false, &error_text(&*error)),
        Err(panic) => group.record_failure(true, &panic),
    }
}

impl<A: Actor> Behaviour<ActorGroup> for Seat<A> {
    type Message = A::Message;

    #[inline]
    fn handle(
        &mut self,
        event: Event<A::Message, Control>,
        turn: &mut Turn<'_, A::Message, ActorGroup>,
    ) -> Flow {
        if self.state == State::Failed
            && let Err(flow) = self.restart(turn)
        {
            return flow;
        }
        match event {
            Event::Message(message) => self.handle_message(message, turn),
            Event::Control(control) => self.handle_control(control, turn),
        }
    }

    #[inline]
    fn end_batch(&mut self, turn: &mut Turn<'_, A::Message, ActorGroup>) -> Flow {
        if !A::HAS_BATCHES || self.state != State::Active {
            return Flow::Continue;
        }
        let mut context = Context::new(turn, self.restarts);
        let result = self.actor.end_batch(&mut context);
        let stop = context.stop;
        match result {
            Ok(()) if stop => Flow::Stop,
            Ok(()) => Flow::Continue,
            Err(error) => self.apply_policy(&error, false, turn),
        }
    }

    #[cold]
    fn failed(&mut self, panic: Panic, turn: &mut Turn<'_, A::Message, ActorGroup>) -> Flow {
        let flow = turn.worker().count_message();
        let error = NodeError::from(panic_text(panic));
        match self.apply_policy(&error, true, turn) {
            Flow::Continue => flow,
            other => other,
        }
    }

    fn ended(&mut self, end: &End, group: &ActorGroup, _: Option<&mut WorkerContext>) {
        if self.state == State::Active {
            shut_down(&mut self.actor, group);
        }
        if let Some(trial) = self.take_trial() {
            let mut old = trial.abandon();
            shut_down(&mut old, group);
            drop_quietly(old, group);
        }
        if self.number != NO_MEMBER {
            group.remove_member(self.number, end);
        }
        if let Some(extras) = &mut self.extras {
            let error = extras.error.take();
            let reason = error.map_or(DownReason::Ended, DownReason::Failed);
            for watch in extras.watches.drain(..) {
                watch.end(reason.clone());
            }
        }
    }
}
