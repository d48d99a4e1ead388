//! Swaps: replaces an actor by another one of the same type, between two messages, and restores the
//! old one if the new one fails.

use std::any::{Any, type_name};
use std::fmt;

use crate::actor::timer::TimerMessage;
use crate::scheduler::run::pending_swap::{Swap, SwapState};

/// Number of messages that the new actor has to handle without a failure before a swap is final.
const TRIAL_MESSAGES: u32 = 10;

/// A request in the mailbox to replace the actor. If it is dropped, the swap is abandoned.
pub(crate) struct SwapRequest {
    actor: Option<Box<dyn Any + Send>>,
    swap: Swap,
}

impl SwapRequest {
    pub(crate) fn new<A: Send + 'static>(actor: A) -> Self {
        Self {
            actor: Some(Box::new(actor)),
            swap: Swap::default(),
        }
    }

    /// Returns a new handle with which a caller observes the outcome of the swap.
    pub(crate) fn swap_handle(&self) -> Swap {
        self.swap.clone()
    }

    /// Returns the new actor. Returns `None` if its type differs from that of the old actor; then
    /// the old one stays.
    pub(crate) fn take_actor<A: 'static>(&mut self) -> Option<A> {
        let actor = self.actor.take()?.downcast::<A>();
        if actor.is_err() {
            self.refuse(&format!("the actor is of type {}", type_name::<A>()));
        }
        actor.ok().map(|actor| *actor)
    }

    /// Refuses the swap, so that the old actor stays. The handle of the swap reports `reason`.
    pub(crate) fn refuse(&self, reason: &str) {
        self.swap
            .set_state(SwapState::RolledBack(reason.to_owned()));
    }

    /// Begins the trial of the new actor. Keeps the old actor `old`, to restore it if the new one
    /// fails. `generation` is the generation of the old actor.
    pub(super) fn begin_trial<A>(&self, old: A, generation: u32) -> SwapTrial<A> {
        self.swap.set_state(SwapState::OnTrial);
        SwapTrial {
            old: OldVersion {
                actor: old,
                generation,
                held: Vec::new(),
            },
            left: TRIAL_MESSAGES,
            swap: self.swap.clone(),
        }
    }
}

impl Drop for SwapRequest {
    fn drop(&mut self) {
        if self.swap.state() == SwapState::Pending {
            self.swap.set_state(SwapState::Abandoned);
        }
    }
}

impl fmt::Debug for SwapRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SwapRequest")
            .field("swap", &self.swap)
            .finish_non_exhaustive()
    }
}

/// The actor before a swap, with its generation and the messages that are held for it.
pub(super) struct OldVersion<A> {
    pub(super) actor: A,
    pub(super) generation: u32,
    /// The messages of the old actor's timers that were due during the trial of the new actor.
    /// There is at most one for each timer: a timer sends its next message only after the previous
    /// one was handled or dropped.
    pub(super) held: Vec<TimerMessage>,
}

/// The trial of a new actor. The old actor is kept until the trial ends.
pub(super) struct SwapTrial<A> {
    old: OldVersion<A>,
    left: u32,
    swap: Swap,
}

impl<A> SwapTrial<A> {
    /// Counts a message that the new actor has handled without a failure.
    pub(super) const fn count_message(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Returns true if the new actor has handled the last message of its trial.
    pub(super) const fn is_passed(&self) -> bool {
        self.left == 0
    }

    /// Holds the message of a timer for the old actor, if the old actor has started the timer.
    /// Otherwise returns the message.
    pub(super) fn hold_timer_message(&mut self, due: TimerMessage) -> Option<TimerMessage> {
        if due.generation() != self.old.generation {
            return Some(due);
        }
        self.old.held.push(due);
        None
    }

    /// Makes the swap final. Returns the old actor.
    pub(super) fn accept(self) -> OldVersion<A> {
        self.swap.set_state(SwapState::Done);
        self.old
    }

    /// Ends the swap because the new actor has failed. The handle of the swap reports `reason`.
    /// Returns the old actor, which the caller restores.
    pub(super) fn roll_back(self, reason: &str) -> OldVersion<A> {
        self.swap
            .set_state(SwapState::RolledBack(reason.to_owned()));
        self.old
    }

    /// Abandons the swap because the actor ends. Returns the old actor.
    pub(super) fn abandon(self) -> OldVersion<A> {
        self.swap.set_state(SwapState::Abandoned);
        self.old
    }
}
