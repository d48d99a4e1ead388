//! Applies the failure policy of an actor, and re-creates an actor that has failed.

use horus_shm::internals::heap::{Activation, Flow};

use super::{HostedActor, HostedState, drop_actor, shut_down_actor};
use crate::actor::behaviour::Actor;
use crate::actor::group::{ActorGroup, ControlMessage};
use crate::scheduler::api::metrics::UserCall;
use crate::scheduler::api::node::NodeError;
use crate::scheduler::api::policy::{FailureAction, FailurePolicy};
use crate::scheduler::run::catch_panic::{catch_panic, error_text};

impl<A: Actor> HostedActor<A> {
    /// Reports a failure of the actor and applies its failure policy. Returns what the worker has
    /// to do next with the actor.
    #[cold]
    pub(super) fn apply_failure_policy(
        &mut self,
        error: &NodeError,
        is_panic: bool,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) -> Flow {
        let text = error_text(&**error);
        let report = turn.group().with_actor_name(turn.address().id(), &text);
        turn.group()
            .record_repeated_failure(is_panic, None, &report);
        if let Err(panic) = catch_panic(|| self.actor.on_error(error)) {
            turn.group()
                .record_repeated_failure(true, Some(UserCall::OnError), &panic);
        }
        if self.try_roll_back_swap(&text, turn.group()) {
            return if self.is_stopping {
                Flow::Stop
            } else {
                Flow::Continue
            };
        }
        let now_ns = turn.worker().clock.now_ns();
        // WHY also without a policy: the actors that watch this one learn the error.
        let extras = self.extras.get_or_insert_default();
        let Some(policy) = extras.policy else {
            extras.error = Some(text);
            return Flow::Stop;
        };
        let action = match extras.failures.record_failure(policy, now_ns) {
            // WHY at once: nothing can make it anew after the pause.
            FailureAction::Restart { .. } if extras.make.is_none() => FailureAction::Stop,
            action => action,
        };
        // WHY before the policy: the actor does not go on in any case.
        if self.is_stopping && action != FailureAction::Stop {
            return Flow::Stop;
        }
        match action {
            FailureAction::Continue => Flow::Continue,
            FailureAction::Rest { until_ns } => {
                turn.worker().resume_ns = until_ns;
                Flow::Suspend
            }
            FailureAction::Restart { at_ns } => self.pause_before_restart(at_ns, turn),
            FailureAction::Stop => {
                if policy == FailurePolicy::Fatal {
                    // WHY here: the actor is shut down before its worker stops the run.
                    turn.group().emergency_stop.set_run_failed();
                    turn.worker().fatal_error = Some(report);
                }
                extras.error = Some(text);
                Flow::Stop
            }
        }
    }

    /// Shuts a failed actor down, and suspends it until the time at which it has to be re-created.
    fn pause_before_restart(
        &mut self,
        restart_at_ns: u64,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) -> Flow {
        if let Some(extras) = &mut self.extras {
            extras.children.end_and_forget_all();
            extras.stash.unstash_all();
        }
        if std::mem::replace(&mut self.state, HostedState::Failed) == HostedState::Active {
            shut_down_actor(&mut self.actor, turn.group());
        }
        // WHY before the restart: what they hold, such as a port, is free for the new actor.
        if let Some(extras) = &mut self.extras {
            extras.timers.cancel_all();
        }
        turn.worker().resume_ns = restart_at_ns;
        // WHY: without mail, nothing else would make the actor run after the pause.
        let is_sent = turn.control_handle().send(ControlMessage::Restart).is_ok();
        if is_sent { Flow::Suspend } else { Flow::Stop }
    }

    /// Re-creates the actor and initialises it. If that fails, or if the new actor wants to end,
    /// returns as an error what its worker has to do next.
    #[cold]
    pub(super) fn restart(
        &mut self,
        turn: &mut Activation<'_, A::Message, ActorGroup>,
    ) -> Result<(), Flow> {
        self.begin_generation_and_get_previous();
        let make = self.extras.as_mut().and_then(|extras| extras.make.as_mut());
        let Some(make) = make else {
            return Err(Flow::Stop);
        };
        let made = catch_panic(make).map_err(|panic| (NodeError::from(panic), true));
        let result = made.and_then(|actor| {
            let former = std::mem::replace(&mut self.actor, actor);
            drop_actor(former, turn.group());
            self.init_and_check_if_ending(turn)
        });
        match result {
            Ok(wants_end) => {
                // WHY also if it wants to end: it is initialised, and so is shut down.
                self.state = HostedState::Active;
                if wants_end { Err(Flow::Stop) } else { Ok(()) }
            }
            Err((error, is_panic)) => Err(self.apply_failure_policy(&error, is_panic, turn)),
        }
    }
}
