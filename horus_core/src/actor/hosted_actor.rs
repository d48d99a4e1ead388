//! An actor together with its state: calls the methods of the actor, and applies its failure
//! policy.

mod failure;
mod swaps;

use horus_shm::internals::heap::{
    Activation, ActorEndReport, Behaviour, ControlHandle, Event, Flow, Panic,
};
use swaps::shut_down_old_version;

use crate::actor::address::Address;
use crate::actor::behaviour::Actor;
use crate::actor::context::Context;
use crate::actor::extras::RarelyUsedActorParts;
use crate::actor::group::{ActorGroup, ControlMessage};
use crate::actor::watch::{ChildEnd, DownReason};
use crate::actor::worker_context::WorkerContext;
use crate::scheduler::api::metrics::UserCall;
use crate::scheduler::api::node::{NodeError, NodeResult};
use crate::scheduler::run::catch_panic::{
    catch_panic, drop_and_catch_panic, error_text, panic_text,
};

/// An actor and its state, as they are stored in the actor's cell, the memory that senders share.
/// WHY so few fields: with a small actor, this fits in the second cache line of a cell.
pub(super) struct HostedActor<A: Actor> {
    actor: A,
    extras: Option<Box<RarelyUsedActorParts<A>>>,
    /// The number of the actor in its group's list of members; [`NO_MEMBER_NUMBER`] if it is not in
    /// the list.
    number: u64,
    /// The generation of the actor: 0 at first, and another number after each restart and swap.
    /// Timers and children belong to the generation that started them.
    generation: u32,
    state: HostedState,
    /// True once the actor has called [`Context::stop`].
    is_stopping: bool,
}

/// The value of [`HostedActor::number`] for an actor that is not in its group's list of members.
const NO_MEMBER_NUMBER: u64 = u64::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostedState {
    /// The actor was created, and has not been initialised yet.
    New,
    /// The actor is initialised, and handles messages.
    Active,
    /// The actor has failed, and has to be re-created before it handles the next event.
    Failed,
    /// The actor waits for its children to end, and then ends.
    Ending,
}

impl<A: Actor> HostedActor<A> {
    pub(super) const fn new(actor: A, extras: Option<Box<RarelyUsedActorParts<A>>>) -> Self {
        Self {
            actor,
            extras,
            number: NO_MEMBER_NUMBER,
            generation: 0,
            state: HostedState::New,
            is_stopping: false,
        }
    }

    #[inline(always)]
    fn handle_message(
        &mut self,
        message: A::Message,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) -> Flow {
        let (actor, mut context) = self.actor_and_context(turn);
        let result = actor.handle(message, &mut context);
        self.finish_message(result, turn)
    }

    /// Returns the actor, and the context for a call of one of its methods.
    #[inline(always)]
    fn actor_and_context<'a>(
        &'a mut self,
        turn: &'a mut Activation<'_, A::Message, ActorGroup>,
    ) -> (&'a mut A, Context<'a, A>) {
        let context = Context::new(
            turn,
            &mut self.extras,
            self.generation,
            &mut self.is_stopping,
        );
        (&mut self.actor, context)
    }

    /// Counts the message that was just handled. If its handler failed, applies the failure policy.
    #[inline(always)]
    fn finish_message(
        &mut self,
        result: NodeResult,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) -> Flow {
        let flow = turn.worker().count_message_and_check_limit();
        match result {
            Ok(()) if self.is_stopping => Flow::Stop,
            Ok(()) => {
                if self.extras.is_some() {
                    self.count_trial_message(turn.group());
                }
                flow
            }
            Err(error) => self.apply_failure_policy(&error, false, turn),
        }
    }

    #[cold]
    fn handle_control(
        &mut self,
        control: ControlMessage,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) -> Flow {
        let ends = matches!(
            control,
            ControlMessage::End | ControlMessage::Watch(_) | ControlMessage::ChildDown(_)
        );
        if matches!(control, ControlMessage::Visit) {
            return flow_after_visit(turn.group());
        }
        if self.state == HostedState::Ending && !ends {
            if control.counts_as_message() {
                turn.group().count_undelivered_messages(1);
            }
            // WHY caught: no failure policy applies to an actor that ends.
            drop_actor(control, turn.group());
            return Flow::Continue;
        }
        if A::IMPLEMENTS_END_BATCH
            && matches!(control, ControlMessage::Swap(_) | ControlMessage::Down(_))
        {
            let flow = catch_panic(|| self.handle_batch(turn));
            let flow = flow.unwrap_or_else(|panic| {
                self.apply_failure_policy(&NodeError::from(panic), true, turn)
            });
            if flow != Flow::Continue {
                // WHY: after a pause or a restart, it still has its turn.
                let extras = self.extras.get_or_insert_default();
                extras
                    .stash
                    .put_event_first((Event::Control(control), false));
                return flow;
            }
        }
        match control {
            ControlMessage::Init(handle) => self.init_on_spawn(handle, turn),
            ControlMessage::Restart | ControlMessage::Visit => Flow::Continue,
            ControlMessage::End => Flow::Stop,
            ControlMessage::Swap(request) => self.swap_actor(request, turn),
            ControlMessage::Watch(watch) => {
                watch.add_or_replace_in(&mut self.extras.get_or_insert_default().watches);
                Flow::Continue
            }
            ControlMessage::ChildDown(end) => self.remove_ended_child(&end, turn),
            ControlMessage::Down(down) => {
                let (actor, mut context) = self.actor_and_context(turn);
                let result = actor.on_down(&down, &mut context);
                self.finish_message(result, turn)
            }
            ControlMessage::Timer(due) => self.handle_timer_message(due, turn),
        }
    }

    /// Calls [`Actor::end_batch`], so that the actor handles the messages that it has collected as
    /// a batch. Returns what the worker has to do next with the actor.
    fn handle_batch(&mut self, turn: &mut Activation<'_, A::Message, ActorGroup>) -> Flow {
        if self.state != HostedState::Active {
            return Flow::Continue;
        }
        let (actor, mut context) = self.actor_and_context(turn);
        let result = actor.end_batch(&mut context);
        match result {
            Ok(()) if self.is_stopping => Flow::Stop,
            Ok(()) => {
                self.accept_swap_if_trial_passed(turn.group());
                Flow::Continue
            }
            Err(error) => self.apply_failure_policy(&error, false, turn),
        }
    }

    /// Initialises the actor for the first time, on the thread that spawns it.
    fn init_on_spawn(
        &mut self,
        handle: ControlHandle<ActorGroup>,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) -> Flow {
        let Some(number) = turn.group().add_member(handle) else {
            turn.worker().is_refused = true;
            return Flow::Stop;
        };
        self.number = number;
        match self.init_and_check_if_ending(turn) {
            Ok(true) => {
                self.state = HostedState::Active;
                Flow::Stop
            }
            // WHY: other threads may have sent messages, which the workers have to handle.
            Ok(false) => {
                self.state = HostedState::Active;
                if turn.worker().has_given_address {
                    Flow::Yield
                } else {
                    Flow::Continue
                }
            }
            Err((error, _)) => {
                turn.worker().init_error = Some(error);
                Flow::Stop
            }
        }
    }

    /// Calls the `init` of the actor. Returns true if the actor wants to end. If `init` fails,
    /// returns the error, and true if it was a panic.
    fn init_and_check_if_ending(
        &mut self,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) -> Result<bool, (NodeError, bool)> {
        let (actor, mut context) = self.actor_and_context(turn);
        match catch_panic(|| actor.init(&mut context)) {
            Ok(Ok(())) => Ok(self.is_stopping),
            Ok(Err(error)) => Err((error, false)),
            Err(panic) => Err((NodeError::from(panic), true)),
        }
    }

    /// Removes a child that has ended. If the child has failed and was not restarted, this actor
    /// fails. If this actor was waiting for its last child, it ends.
    fn remove_ended_child(
        &mut self,
        end: &ChildEnd,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) -> Flow {
        let Some(extras) = &mut self.extras else {
            return Flow::Continue;
        };
        let was_child = extras.children.remove(end.number);
        if self.state == HostedState::Ending {
            return if extras.children.is_empty() {
                Flow::Stop
            } else {
                Flow::Continue
            };
        }
        match end.down.reason() {
            DownReason::Failed(error) if was_child => {
                let error = NodeError::from(format!("a child failed: {error}"));
                self.apply_failure_policy(&error, false, turn)
            }
            _ => Flow::Continue,
        }
    }

    /// Handles an event. If the actor has failed, re-creates it first. If the actor is ending,
    /// drops its messages.
    #[inline(always)]
    fn handle_event(
        &mut self,
        event: Event<A::Message, ControlMessage>,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) -> Flow {
        // WHY not before its end: the new actor would only be shut down again.
        if self.state == HostedState::Failed
            && !matches!(event, Event::Control(ControlMessage::End))
            && let Err(flow) = self.restart(turn)
        {
            self.put_back_event(event, turn);
            return flow;
        }
        match event {
            Event::Message(message) if self.state != HostedState::Ending => {
                self.handle_message(message, turn)
            }
            Event::Message(message) => {
                turn.group().count_undelivered_messages(1);
                drop_actor(message, turn.group());
                Flow::Continue
            }
            Event::Control(control) => self.handle_control(control, turn),
        }
    }

    /// Puts an event that could not be handled back at the front, so that it is handled next.
    #[cold]
    fn put_back_event(
        &mut self,
        event: Event<A::Message, ControlMessage>,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) {
        // WHY not a restart: another one is on its way for each failure.
        if matches!(
            event,
            Event::Control(ControlMessage::Restart | ControlMessage::Visit)
        ) {
            return;
        }
        let is_counted = turn.keep_counting_if_counted();
        let extras = self.extras.get_or_insert_default();
        extras.stash.put_event_first((event, is_counted));
    }

    /// Returns true if the actor has unstashed messages, which it has to handle before other mail.
    #[inline]
    fn has_ready_event(&self) -> bool {
        self.extras
            .as_ref()
            .is_some_and(|extras| extras.stash.has_ready_event())
    }

    /// Puts an event behind the unstashed messages, so that it is handled after them.
    #[cold]
    fn queue_behind_ready_events(
        &mut self,
        event: Event<A::Message, ControlMessage>,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) -> Flow {
        // WHY: behind those messages, it would come too late.
        if matches!(event, Event::Control(ControlMessage::Visit)) {
            return flow_after_visit(turn.group());
        }
        let is_counted = turn.keep_counting_if_counted();
        if let Some(extras) = &mut self.extras {
            extras.stash.queue_event((event, is_counted));
        }
        Flow::Continue
    }

    /// Returns what the worker has to do after an event. An actor that is to end waits for its
    /// children first, unless it is not initialised. Unstashed messages are handled before other
    /// mail.
    #[cold]
    fn finish_event(
        &mut self,
        mut flow: Flow,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) -> Flow {
        loop {
            let Some(extras) = &mut self.extras else {
                return flow;
            };
            if flow == Flow::Stop {
                if extras.children.is_empty() {
                    return flow;
                }
                // WHY without a wait: it has nothing to shut down after its children.
                if matches!(self.state, HostedState::New | HostedState::Failed) {
                    extras.children.end_and_forget_all();
                    return flow;
                }
                self.state = HostedState::Ending;
                extras.children.request_end_of_all();
                // WHY: it handles no message any more.
                extras.timers.cancel_all_at_actor_end();
                flow = Flow::Continue;
            }
            if !extras.stash.has_ready_event() {
                return flow;
            }
            if flow != Flow::Continue {
                // WHY: without mail, nothing would make the actor go on. If it has ended, it need
                // not.
                drop(turn.control_handle().send(ControlMessage::Visit));
                return flow;
            }
            let Some((event, is_counted)) = extras.stash.next() else {
                return flow;
            };
            if is_counted {
                turn.begin_kept_message();
            }
            flow = self.handle_event(event, turn);
        }
    }
}

/// Returns what the worker has to do after a [`ControlMessage::Visit`]. If an emergency stop, or
/// the end of a failed run, began during this activation, the actor stays awake, so that a worker
/// visits it again.
fn flow_after_visit(group: &ActorGroup) -> Flow {
    // The sender of the control has stored before that the group is paused, or engaged. WHY both:
    // a group is not paused when its run fails.
    if group.is_paused() || group.emergency_stop.is_engaged() {
        Flow::Yield
    } else {
        Flow::Continue
    }
}

/// Drops an actor, or a message. A panic in its `drop` is caught, and recorded as a failure.
fn drop_actor<A>(actor: A, group: &ActorGroup) {
    if let Some(panic) = drop_and_catch_panic(actor) {
        group.record_repeated_failure(true, Some(UserCall::Drop), &panic);
    }
}

fn shut_down_actor<A: Actor>(actor: &mut A, group: &ActorGroup) {
    match catch_panic(|| actor.shutdown()) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            let text = error_text(&*error);
            group.record_repeated_failure(false, Some(UserCall::Shutdown), &text);
            drop_actor(error, group);
        }
        Err(panic) => group.record_repeated_failure(true, Some(UserCall::Shutdown), &panic),
    }
}

impl<A: Actor> Behaviour<ActorGroup> for HostedActor<A> {
    type Message = A::Message;

    #[inline(always)]
    fn handle(
        &mut self,
        event: Event<A::Message, ControlMessage>,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) -> Flow {
        let flow = if self.has_ready_event() {
            self.queue_behind_ready_events(event, turn)
        } else {
            self.handle_event(event, turn)
        };
        if self.extras.is_some() {
            self.finish_event(flow, turn)
        } else {
            flow
        }
    }

    #[inline]
    fn end_batch(&mut self, turn: &mut Activation<'_, A::Message, ActorGroup>) -> Flow {
        if !A::IMPLEMENTS_END_BATCH {
            return Flow::Continue;
        }
        let flow = self.handle_batch(turn);
        if self.extras.is_some() {
            self.finish_event(flow, turn)
        } else {
            flow
        }
    }

    #[cold]
    fn handle_panic(
        &mut self,
        panic: Panic,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) -> Flow {
        let flow = turn.worker().count_message_and_check_limit();
        let error = NodeError::from(panic_text(panic));
        let flow = match self.apply_failure_policy(&error, true, turn) {
            Flow::Continue => flow,
            other => other,
        };
        self.finish_event(flow, turn)
    }

    #[cold]
    fn outlives_addresses(&mut self, turn: &mut Activation<'_, A::Message, ActorGroup>) -> bool {
        if self.finish_event(Flow::Stop, turn) == Flow::Stop {
            return false;
        }
        let own = Address::from_heap(turn.address());
        self.extras.get_or_insert_default().own = Some(own);
        true
    }

    #[cold]
    fn handle_visit(&mut self, turn: &mut Activation<'_, A::Message, ActorGroup>) {
        let safe = self.extras.as_mut().and_then(|extras| extras.safe.as_mut());
        let Some(safe) = safe else {
            return;
        };
        let is_active = matches!(self.state, HostedState::Active | HostedState::Ending);
        match safe.enter_if_requested(&mut self.actor, is_active) {
            Ok(is_safe) => turn.worker().awaits_safe_state = !is_safe,
            Err(panic) => {
                let call = Some(UserCall::EnterSafeState);
                turn.group().record_repeated_failure(true, call, &panic);
            }
        }
    }

    fn counts_as_message(control: &ControlMessage) -> bool {
        control.counts_as_message()
    }

    /// Drops a control, unless it is a watch. WHY a watch is kept: the actor that watches has to
    /// learn the reason of the end.
    #[cold]
    fn drop_control(&mut self, control: ControlMessage) {
        if let ControlMessage::Watch(watch) = control {
            watch.add_or_replace_in(&mut self.extras.get_or_insert_default().watches);
        }
    }

    fn handle_end(
        &mut self,
        end: &ActorEndReport,
        group: &ActorGroup,
        _: Option<&mut WorkerContext>,
    ) {
        if matches!(self.state, HostedState::Active | HostedState::Ending) {
            let safe = self.extras.as_mut().and_then(|extras| extras.safe.as_mut());
            if let Some(safe) = safe
                && let Err(panic) = safe.enter_before_end(&mut self.actor, &group.emergency_stop)
            {
                let call = Some(UserCall::EnterSafeState);
                group.record_repeated_failure(true, call, &panic);
            }
            shut_down_actor(&mut self.actor, group);
        }
        let mut end = *end;
        if let Some(trial) = self.take_swap_trial() {
            let old = trial.abandon();
            let held = old.held.iter().filter(|due| due.is_undelivered());
            end.undelivered += held.count() as u64;
            shut_down_old_version(old, group);
        }
        group.record_drop_panics(end.panics);
        if let Some(extras) = &mut self.extras {
            extras.timers.cancel_all_at_actor_end();
            for kept in extras.stash.take_all() {
                let kept = match kept {
                    (Event::Control(ControlMessage::Watch(watch)), _) => {
                        watch.add_or_replace_in(&mut extras.watches);
                        continue;
                    }
                    kept => kept,
                };
                let is_message = match &kept.0 {
                    Event::Message(_) => true,
                    Event::Control(control) => control.counts_as_message(),
                };
                end.undelivered += u64::from(is_message);
                drop_actor(kept, group);
            }
            extras.children.end_and_forget_all();
            extras.own = None;
        }
        if A::APPLIES_COMMANDS {
            // WHY: its messages only wake it.
            end.undelivered = 0;
        }
        if self.number != NO_MEMBER_NUMBER {
            group.remove_member(self.number, &end);
        }
        if let Some(extras) = &mut self.extras {
            let error = extras.error.take();
            let reason = error.map_or(DownReason::Ended, DownReason::Failed);
            for watch in extras.watches.drain(..) {
                watch.report_end(reason.clone());
            }
        }
    }

    fn handle_drop_panic(group: &ActorGroup) {
        group.record_failure(true, "an actor panicked in its drop");
    }
}
