//! The trait that makes a type an actor.

use crate::actor::context::Context;
use crate::actor::watch::Down;
use crate::scheduler::api::node::{NodeError, NodeResult};

/// A type with private state that handles messages, one at a time.
///
/// No two calls of an actor overlap, although different threads may make them. A panic in a call is
/// caught and counts as a failure. A handler must not wait for another actor.
pub trait Actor: Send + Sized + 'static {
    /// The type of the messages: an enum, if there are several kinds.
    type Message: Send + 'static;

    /// True if [`Self::end_batch`] has to be called.
    #[doc(hidden)]
    const HAS_BATCHES: bool = false;

    /// Initialises the actor. Called by the thread that spawns it, before the first message, and
    /// after a restart by the thread that runs it.
    ///
    /// # Errors
    ///
    /// An error means that the actor does not start; the caller of `spawn` gets the error. After a
    /// restart, the error counts as a failure.
    fn init(&mut self, _context: &mut Context<'_, Self>) -> NodeResult {
        Ok(())
    }

    /// Handles one message.
    ///
    /// # Errors
    ///
    /// An error means that the message was not handled. The failure policy of the actor decides
    /// what follows.
    fn handle(&mut self, message: Self::Message, context: &mut Context<'_, Self>) -> NodeResult;

    /// Handles the messages that [`Self::handle`] has collected as a batch. Called when no message
    /// waits, and before other actors have their turns.
    ///
    /// # Errors
    ///
    /// As of [`Self::handle`].
    #[doc(hidden)]
    fn end_batch(&mut self, _context: &mut Context<'_, Self>) -> NodeResult {
        Ok(())
    }

    /// Shuts the actor down. Called when it ends, after the mail that still waited was dropped, and
    /// before a restart.
    ///
    /// # Errors
    ///
    /// An error is counted and has no other effect.
    fn shutdown(&mut self) -> NodeResult {
        Ok(())
    }

    /// Handles the end of an actor that this one watches ([`Context::watch`]).
    ///
    /// # Errors
    ///
    /// As of [`Self::handle`].
    fn on_down(&mut self, _down: &Down, _context: &mut Context<'_, Self>) -> NodeResult {
        Ok(())
    }

    /// Brings the actor into its safe state, where it stays until it handles its next message.
    ///
    /// Called only if the actor was spawned with
    /// [`safe_state`](crate::actor::SpawnOptions::safe_state): in an emergency stop, before any
    /// waiting mail is handled; and after a node has failed, before the actor is shut down.
    fn enter_safe_state(&mut self) {}

    /// Returns true if the actor is in its safe state. Called after [`Self::enter_safe_state`],
    /// again and again until it returns true.
    fn is_safe_state(&self) -> bool {
        true
    }

    /// Handles a failure of this actor. Called on every failed `handle`, and on a failed `init`
    /// after a restart, before the failure policy is applied.
    fn on_error(&mut self, _error: &NodeError) {}
}
