//! The trait that makes a type an actor.

use crate::actor::context::Context;
use crate::actor::watch::Down;
use crate::scheduler::api::node::{NodeError, NodeResult};

/// A type whose values have private state and handle messages, one at a time.
///
/// Calls of an actor's methods never overlap, although different threads may make them. A panic in
/// a call is caught and counts as a failure. A handler must not wait for another actor.
pub trait Actor: Send + Sized + 'static {
    /// The type of the messages. An actor that handles several kinds of messages uses an enum.
    type Message: Send + 'static;

    /// True if the actor implements [`Self::end_batch`]. Only then is that method called.
    #[doc(hidden)]
    const IMPLEMENTS_END_BATCH: bool = false;

    /// True if [`Self::is_safe_state`] applies commands. During an emergency stop it is then also
    /// called after it has returned true, whenever a command has come.
    #[doc(hidden)]
    const APPLIES_COMMANDS: bool = false;

    /// Initialises the actor. The first call is made before the first message, on the thread that
    /// spawns the actor. After a restart, the thread that runs the actor calls this again.
    ///
    /// # Errors
    ///
    /// An error means that the actor does not start; the caller of `spawn` gets the error. After a
    /// restart, the error counts as a failure.
    fn init(&mut self, _context: &mut Context<'_, Self>) -> NodeResult {
        Ok(())
    }

    /// Handles one message out of the actor's mailbox.
    ///
    /// # Errors
    ///
    /// An error means that the message was not handled. The failure policy of the actor decides
    /// what follows.
    fn handle(&mut self, message: Self::Message, context: &mut Context<'_, Self>) -> NodeResult;

    /// Handles the messages that [`Self::handle`] has collected as a batch. Called when no further
    /// message waits in the mailbox, before the thread runs other actors.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::handle`].
    #[doc(hidden)]
    fn end_batch(&mut self, _context: &mut Context<'_, Self>) -> NodeResult {
        Ok(())
    }

    /// Shuts the actor down. Called before a restart, and when the actor ends; then the messages
    /// that still waited have already been dropped.
    ///
    /// # Errors
    ///
    /// An error is counted and has no other effect.
    fn shutdown(&mut self) -> NodeResult {
        Ok(())
    }

    /// Handles the end of another actor that this actor watches ([`Context::watch`]).
    ///
    /// # Errors
    ///
    /// The same as for [`Self::handle`].
    fn on_down(&mut self, _down: &Down, _context: &mut Context<'_, Self>) -> NodeResult {
        Ok(())
    }

    /// Brings the actor into its safe state, where it stays until it handles its next message.
    ///
    /// Called only if the actor was spawned with
    /// [`safe_state`](crate::actor::SpawnOptions::safe_state): in an emergency stop, before any
    /// waiting mail is handled; and after a node has failed, before the actor is shut down.
    fn enter_safe_state(&mut self) {}

    /// Returns true if the actor is in its safe state. Called after [`Self::enter_safe_state`], and
    /// repeated until it returns true.
    fn is_safe_state(&self) -> bool {
        true
    }

    /// Handles a failure of this actor. Called on every failed `handle`, and on a failed `init`
    /// after a restart, before the failure policy is applied.
    fn on_error(&mut self, _error: &NodeError) {}
}
