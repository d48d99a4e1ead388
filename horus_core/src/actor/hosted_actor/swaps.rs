//! Replaces an actor by a new one, and restores the old one if the new one fails during its trial.

use horus_shm::internals::heap::{Activation, Event, Flow};

use super::{HostedActor, drop_actor, shut_down_actor};
use crate::actor::behaviour::Actor;
use crate::actor::group::{ActorGroup, ControlMessage};
use crate::actor::swap::{OldVersion, SwapRequest, SwapTrial};
use crate::actor::timer::TimerMessage;
use crate::scheduler::api::node::NodeError;
use crate::scheduler::run::catch_panic::error_text;

/// Shuts down and drops a version of an actor that will not come back.
pub(super) fn shut_down_old_version<A: Actor>(old: OldVersion<A>, group: &ActorGroup) {
    let OldVersion {
        mut actor, held, ..
    } = old;
    shut_down_actor(&mut actor, group);
    drop_actor(actor, group);
    held.into_iter().for_each(|due| drop_actor(due, group));
}

impl<A: Actor> HostedActor<A> {
    /// Returns the trial of a new actor that has replaced the old one, and may still be replaced by
    /// it again; `None` if there is no trial.
    pub(super) fn swap_trial(&mut self) -> Option<&mut SwapTrial<A>> {
        self.extras.as_mut()?.trial.as_mut()
    }

    /// Counts a message that a new actor has handled. After the last message of its trial, accepts
    /// the swap.
    pub(super) fn count_trial_message(&mut self, group: &ActorGroup) {
        if let Some(trial) = self.swap_trial() {
            trial.count_message();
        }
        // WHY: otherwise the message may only have been put aside.
        if !A::IMPLEMENTS_END_BATCH {
            self.accept_swap_if_trial_passed(group);
        }
    }

    /// Makes the swap final if the new actor has handled enough messages without a failure.
    pub(super) fn accept_swap_if_trial_passed(&mut self, group: &ActorGroup) {
        if self.swap_trial().is_some_and(|trial| trial.is_passed()) {
            self.accept_swap(group);
        }
    }

    pub(super) fn accept_swap(&mut self, group: &ActorGroup) {
        if let Some(trial) = self.take_swap_trial() {
            let old = trial.accept();
            self.end_children_and_timers(old.generation);
            shut_down_old_version(old, group);
        }
    }

    /// Ends the trial of a new actor, and returns it; `None` if there is no trial. The caller then
    /// accepts the new actor or restores the old one.
    pub(super) fn take_swap_trial(&mut self) -> Option<SwapTrial<A>> {
        self.extras.as_mut().and_then(|extras| extras.trial.take())
    }

    /// Begins a new generation of the actor. The timers and children that the actor starts from now
    /// on belong to it. Returns the generation before.
    pub(super) fn begin_generation_and_get_previous(&mut self) -> u32 {
        let extras = self.extras.get_or_insert_default();
        extras.generations = extras.generations.wrapping_add(1);
        std::mem::replace(&mut self.generation, extras.generations)
    }

    /// Ends the present generation of the actor, and returns to an earlier one.
    fn return_to_generation(&mut self, generation: u32) {
        let failed = std::mem::replace(&mut self.generation, generation);
        self.end_children_and_timers(failed);
    }

    /// Tells the children that the actor has spawned in this generation to end, and cancels the
    /// timers that it has started in it.
    fn end_children_and_timers(&mut self, generation: u32) {
        if let Some(extras) = &mut self.extras {
            extras.children.end_and_forget_generation(generation);
            extras.timers.cancel_generation(generation);
        }
    }

    /// Handles the message of a timer. A timer of an earlier version of the actor is cancelled. If
    /// that version may still come back, the message is held for it.
    pub(super) fn handle_timer_message(
        &mut self,
        due: TimerMessage,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) -> Flow {
        let due = match self.swap_trial() {
            Some(trial) => trial.hold_timer_message(due),
            None => Some(due),
        };
        let Some(mut due) = due else {
            return Flow::Continue;
        };
        let message = due.take_message(self.generation);
        // WHY caught: the actor does not fail by the message of a timer that it has cancelled.
        drop_actor(due, turn.group());
        match message {
            Some(Ok(message)) => self.handle_message(message, turn),
            Some(Err(panic)) => {
                let error = NodeError::from(format!("in the function of a timer: {panic}"));
                self.apply_failure_policy(&error, true, turn)
            }
            None => Flow::Continue,
        }
    }

    /// Replaces the actor by the new actor of a swap request, and initialises the new actor.
    pub(super) fn swap_actor(
        &mut self,
        mut request: SwapRequest,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) -> Flow {
        // WHY: a caller that swaps again is satisfied with the swap before.
        self.accept_swap(turn.group());
        let Some(actor) = request.take_actor::<A>() else {
            return Flow::Continue;
        };
        let generation = self.begin_generation_and_get_previous();
        let old = std::mem::replace(&mut self.actor, actor);
        let stop = match self.init_and_check_if_ending(turn) {
            Ok(stop) => stop,
            Err((error, is_panic)) => {
                let text = error_text(&*error);
                turn.group().record_failure(is_panic, &text);
                self.return_to_generation(generation);
                // WHY: the one that asked to end does not replace this one.
                self.is_stopping = false;
                drop_actor(std::mem::replace(&mut self.actor, old), turn.group());
                request.refuse(&text);
                return Flow::Continue;
            }
        };
        let extras = self.extras.get_or_insert_default();
        extras.trial = Some(request.begin_trial(old, generation));
        if stop { Flow::Stop } else { Flow::Continue }
    }

    /// Restores the old actor if the new one has failed during its trial. Returns false if there is
    /// no new actor on trial.
    pub(super) fn try_roll_back_swap(&mut self, error: &str, group: &ActorGroup) -> bool {
        let Some(trial) = self.take_swap_trial() else {
            return false;
        };
        let OldVersion {
            actor,
            generation,
            held,
        } = trial.roll_back(error);
        self.return_to_generation(generation);
        let extras = self.extras.get_or_insert_default();
        for due in held {
            let event = Event::Control(ControlMessage::Timer(due));
            extras.stash.queue_event((event, false));
        }
        let mut new = std::mem::replace(&mut self.actor, actor);
        shut_down_actor(&mut new, group);
        drop_actor(new, group);
        true
    }
}
