//! Spawns the children of an actor. WHY not with its context: an actor knows its context, and not
//! how actors are made.

use crate::actor::actors::Actors;
use crate::actor::address::Address;
use crate::actor::behaviour::Actor;
use crate::actor::context::Context;
use crate::actor::error::SpawnError;

impl<A: Actor> Context<'_, A> {
    /// Spawns a child of this actor in its group, as [`Actors::spawn`] does. The child needs no
    /// address to stay alive. It ends before its parent, and when its parent restarts. If it fails
    /// for good, its parent fails.
    ///
    /// # Errors
    ///
    /// As [`Actors::spawn`].
    pub fn spawn<B: Actor>(&mut self, child: B) -> Result<Address<B::Message>, SpawnError> {
        let address = Actors::from_group(self.group_handle()).spawn(child)?;
        self.adopt(&address);
        Ok(address)
    }

    /// Spawns the child that `make` returns, as [`Actors::spawn_with`] does: see [`Self::spawn`].
    ///
    /// # Errors
    ///
    /// As [`Actors::spawn`].
    pub fn spawn_with<B: Actor>(
        &mut self,
        make: impl FnMut() -> B + Send + 'static,
    ) -> Result<Address<B::Message>, SpawnError> {
        let address = Actors::from_group(self.group_handle()).spawn_with(make)?;
        self.adopt(&address);
        Ok(address)
    }
}
