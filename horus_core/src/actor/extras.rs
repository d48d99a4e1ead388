//! The rarely used parts of an actor. They are allocated when the actor first needs one of them.

use crate::actor::actor_safe_state::ActorSafeState;
use crate::actor::address::Address;
use crate::actor::behaviour::Actor;
use crate::actor::children::{Child, Children};
use crate::actor::context::ContextExtras;
use crate::actor::started_timers::StartedTimers;
use crate::actor::stash::Stash;
use crate::actor::swap::SwapTrial;
use crate::actor::timer::Timer;
use crate::actor::watch::ActorWatch;
use crate::scheduler::api::policy::{FailureHistory, FailurePolicy};

/// The rarely used parts of an actor, such as its children, its timers and its failure policy.
pub(super) struct RarelyUsedActorParts<A: Actor> {
    pub(super) make: Option<Box<dyn FnMut() -> A + Send>>,
    /// The policy that decides what follows a failure; `None` if the actor ends when it fails.
    pub(super) policy: Option<FailurePolicy>,
    pub(super) failures: FailureHistory,
    /// Number of restarts and swaps of this actor that have begun. It is also the generation that
    /// began last.
    pub(super) generations: u32,
    /// The actors that are notified when this actor ends.
    pub(super) watches: Vec<ActorWatch>,
    /// The text of the failure that ends this actor; `None` if it has not failed for good. The
    /// actors that watch this one receive the text.
    pub(super) error: Option<String>,
    /// The trial period of this actor after a swap, in which the old actor may still be restored;
    /// `None` outside of a trial.
    pub(super) trial: Option<SwapTrial<A>>,
    /// The progress of the actor towards its safe state; `None` if the actor was spawned without a
    /// safe state.
    pub(super) safe: Option<ActorSafeState>,
    pub(super) children: Children,
    pub(super) timers: StartedTimers,
    /// An address of this actor, held while the actor waits for its children to end. It keeps the
    /// actor alive for that time.
    pub(super) own: Option<Address<A::Message>>,
    pub(super) stash: Stash<A::Message>,
}

impl<A: Actor> Default for RarelyUsedActorParts<A> {
    fn default() -> Self {
        Self {
            make: None,
            policy: None,
            failures: FailureHistory::default(),
            generations: 0,
            watches: Vec::new(),
            error: None,
            trial: None,
            safe: None,
            children: Children::default(),
            timers: StartedTimers::default(),
            own: None,
            stash: Stash::default(),
        }
    }
}

impl<A: Actor> ContextExtras<A::Message> for Option<Box<RarelyUsedActorParts<A>>> {
    fn stash(&mut self, message: A::Message, is_counted: bool) {
        self.get_or_insert_default()
            .stash
            .stash_message(message, is_counted);
    }

    fn unstash_all(&mut self) {
        if let Some(extras) = self {
            extras.stash.unstash_all();
        }
    }

    fn add_child(&mut self, child: Child) -> u64 {
        self.get_or_insert_default().children.add(child)
    }

    fn remove_child(&mut self, number: u64) {
        if let Some(extras) = self {
            extras.children.remove(number);
        }
    }

    fn add_timer(&mut self, generation: u32, timer: Timer) {
        self.get_or_insert_default().timers.add(generation, timer);
    }
}
