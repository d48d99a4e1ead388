//! The safe state of one actor: makes the actor enter it once in each emergency stop, and confirms
//! that it did.

use std::sync::Arc;

use crate::actor::behaviour::Actor;
use crate::actor::emergency_stop::{GroupEmergencyStop, SafeStateProgress};
use crate::scheduler::run::catch_panic::catch_panic;

/// The safe state of an actor, as the thread that runs the actor sees it. The field `state` is
/// shared with the group.
#[derive(Debug, Default)]
pub(super) struct ActorSafeState {
    pub(super) state: Arc<SafeStateProgress>,
    /// The number of the last emergency stop for which `enter_safe_state` was called; 0 if there
    /// was none.
    entered: u64,
}

impl ActorSafeState {
    /// Makes the actor enter its safe state, if an emergency stop requires that. Returns false if
    /// the actor is not yet safe and has to be visited again. If the actor panics, the error is the
    /// text of the panic. `is_active` is false if the actor was shut down; such an actor counts as
    /// safe.
    pub(super) fn enter_if_requested<A: Actor>(
        &mut self,
        actor: &mut A,
        is_active: bool,
    ) -> Result<bool, String> {
        if self.state.is_safe_state_confirmed() && !A::APPLIES_COMMANDS {
            return Ok(true);
        }
        if is_active {
            let wanted = self.state.requested_stop_number();
            if std::mem::replace(&mut self.entered, wanted) != wanted {
                catch_panic(|| actor.enter_safe_state())?;
            }
            if !catch_panic(|| actor.is_safe_state())? {
                return Ok(false);
            }
        }
        self.state.confirm_safe_state();
        Ok(true)
    }

    /// Makes the actor enter its safe state before it is shut down. Does nothing if the run ends
    /// neither after a failure nor in an emergency stop, or if the actor has already entered its
    /// safe state for that reason. If the actor panics, the error is the text of the panic.
    pub(super) fn enter_before_end<A: Actor>(
        &mut self,
        actor: &mut A,
        emergency_stop: &GroupEmergencyStop,
    ) -> Result<(), String> {
        let wanted = emergency_stop.failure_stop_number();
        if wanted == 0 || std::mem::replace(&mut self.entered, wanted) == wanted {
            return Ok(());
        }
        catch_panic(|| actor.enter_safe_state())
    }
}
