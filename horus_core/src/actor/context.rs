//! The context of a handler.

use std::fmt;

use horus_shm::internals::heap::Turn;

use crate::actor::address::Address;
use crate::actor::behaviour::Actor;
use crate::actor::group::{ActorGroup, WorkerContext};

/// The services of a group to the actor whose handler runs: its address, the time, its end.
pub struct Context<'a, A: Actor> {
    services: &'a mut dyn Services<A::Message>,
    pub(super) stop: bool,
}

/// An activation, as the context uses it. WHY a trait: the activation has a lifetime of its own,
/// which users need not see.
pub(super) trait Services<M> {
    fn address(&mut self) -> Address<M>;

    fn worker(&mut self) -> &mut WorkerContext;
}

impl<M: Send + 'static> Services<M> for Turn<'_, M, ActorGroup> {
    fn address(&mut self) -> Address<M> {
        self.worker().has_given_address = true;
        Address::of(Turn::address(self))
    }

    fn worker(&mut self) -> &mut WorkerContext {
        Turn::worker(self)
    }
}

impl<'a, A: Actor> Context<'a, A> {
    pub(super) fn new(services: &'a mut dyn Services<A::Message>) -> Self {
        Self {
            services,
            stop: false,
        }
    }

    /// Returns an address of this actor. While it exists, the actor does not end by itself.
    #[must_use]
    pub fn address(&mut self) -> Address<A::Message> {
        self.services.address()
    }

    /// Ends the actor after this handler: what waits in its mailbox is dropped, and senders are
    /// refused.
    pub const fn stop(&mut self) {
        self.stop = true;
    }

    /// Returns the present time, in nanoseconds of CLOCK_MONOTONIC.
    #[must_use]
    pub fn now_ns(&mut self) -> u64 {
        self.services.worker().clock.now_ns()
    }
}

impl<A: Actor> fmt::Debug for Context<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("stop", &self.stop)
            .finish_non_exhaustive()
    }
}
