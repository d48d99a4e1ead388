//! The safe state of one actor: enters it once in each emergency stop, and confirms it.

use std::sync::Arc;

use crate::actor::behaviour::Actor;
use crate::actor::safety::{SafeState, Safety};
use crate::scheduler::run::catch_panic::catch_panic;

/// The safe state of an actor, as the thread that runs the actor sees it. The group shares `state`.
#[derive(Debug, Default)]
pub(super) struct SafeSlot {
    pub(super) state: Arc<SafeState>,
    /// The number of the last emergency stop for which `enter_safe_state` was called; 0 for none.
    entered: u64,
}

impl SafeSlot {
    /// Lets the actor enter its safe state, if an emergency stop wants it. Returns false if it is
    /// not safe yet and has to be visited again, and an error with the text of a panic. `is_active`
    /// is false if the actor is shut down, and so is safe.
    pub(super) fn enter_if_wanted<A: Actor>(
        &mut self,
        actor: &mut A,
        is_active: bool,
    ) -> Result<bool, String> {
        if self.state.is_confirmed() {
            return Ok(true);
        }
        if is_active {
            let wanted = self.state.wanted_stop();
            if std::mem::replace(&mut self.entered, wanted) != wanted {
                catch_panic(|| actor.enter_safe_state())?;
            }
            if !catch_panic(|| actor.is_safe_state())? {
                return Ok(false);
            }
        }
        self.state.confirm();
        Ok(true)
    }

    /// Lets the actor enter its safe state before it is shut down, if the run ends by a failure or
    /// in an emergency stop, and the actor has not entered it for that reason yet. An error has the
    /// text of a panic.
    pub(super) fn enter_before_end<A: Actor>(
        &mut self,
        actor: &mut A,
        safety: &Safety,
    ) -> Result<(), String> {
        let wanted = safety.failing_stop();
        if wanted == 0 || std::mem::replace(&mut self.entered, wanted) == wanted {
            return Ok(());
        }
        catch_panic(|| actor.enter_safe_state())
    }
}
