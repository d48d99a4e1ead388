//! Replaces an actor by a new one, and restores the old one if the new one fails during its trial.

use horus_shm::internals::heap::{Activation, Flow};

use super::{HostedActor, drop_actor, shut_down_actor};
use crate::actor::behaviour::Actor;
use crate::actor::group::ActorGroup;
use crate::actor::swap::{SwapRequest, SwapTrial};
use crate::scheduler::run::catch_panic::error_text;

impl<A: Actor> HostedActor<A> {
    pub(super) fn trial(&mut self) -> Option<&mut SwapTrial<A>> {
        self.extras.as_mut()?.trial.as_mut()
    }

    /// Counts a message that a new actor has handled. After the last message of its trial, accepts
    /// the swap.
    pub(super) fn count_trial_message(&mut self, group: &ActorGroup) {
        if let Some(trial) = self.trial() {
            trial.count_message();
        }
        // WHY: otherwise the message may only have been put aside.
        if !A::HAS_BATCHES {
            self.accept_swap_after_trial(group);
        }
    }

    /// Makes the swap final if the new actor has handled enough messages without a failure.
    pub(super) fn accept_swap_after_trial(&mut self, group: &ActorGroup) {
        if self.trial().is_some_and(|trial| trial.is_over()) {
            self.accept_swap(group);
        }
    }

    pub(super) fn accept_swap(&mut self, group: &ActorGroup) {
        if let Some(trial) = self.take_trial() {
            let mut old = trial.accept();
            shut_down_actor(&mut old, group);
            drop_actor(old, group);
        }
    }

    pub(super) fn take_trial(&mut self) -> Option<SwapTrial<A>> {
        self.extras.as_mut().and_then(|extras| extras.trial.take())
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
        let old = std::mem::replace(&mut self.actor, actor);
        let (result, stop) = self.init(turn);
        if let Err(error) = result {
            let text = error_text(&*error);
            turn.group().record_failure(false, &text);
            drop_actor(std::mem::replace(&mut self.actor, old), turn.group());
            request.refuse(&text);
            return Flow::Continue;
        }
        let extras = self.extras.get_or_insert_default();
        extras.trial = Some(request.begin_trial(old));
        if stop { Flow::Stop } else { Flow::Continue }
    }

    /// Restores the old actor if the new one has failed during its trial. Returns false if there is
    /// no new actor on trial.
    pub(super) fn roll_back(&mut self, error: &str, group: &ActorGroup) -> bool {
        let Some(trial) = self.take_trial() else {
            return false;
        };
        let mut new = std::mem::replace(&mut self.actor, trial.roll_back(error));
        shut_down_actor(&mut new, group);
        drop_actor(new, group);
        true
    }
}
