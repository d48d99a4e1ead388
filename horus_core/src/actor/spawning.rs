//! Spawns the children of an actor. WHY not in the file of the context: the context does not depend
//! on the code that creates actors.

use crate::actor::actors::{Actors, AdoptChild};
use crate::actor::address::Address;
use crate::actor::behaviour::Actor;
use crate::actor::context::Context;
use crate::actor::error::SpawnError;

impl<A: Actor> Context<'_, A> {
    /// Spawns a child of this actor in the same group, as [`Actors::spawn`] does. The child stays
    /// alive even if no address of it is kept. It ends before its parent ends. If its parent
    /// restarts, the child is told to end, and first handles the messages in its mailbox, while the
    /// new parent may already run. If the child fails and is not restarted, its parent fails.
    ///
    /// # Errors
    ///
    /// The same as for [`Actors::spawn`].
    pub fn spawn<B: Actor>(&mut self, child: B) -> Result<Address<B::Message>, SpawnError> {
        let actors = Actors::from_group(self.group_handle());
        self.spawn_child(|adopt| actors.options().spawn_child(child, adopt))
    }

    /// Spawns the child that `make` returns, as [`Actors::spawn_with`] does. [`Self::spawn`]
    /// describes when the child ends.
    ///
    /// # Errors
    ///
    /// The same as for [`Actors::spawn`].
    pub fn spawn_with<B: Actor>(
        &mut self,
        make: impl FnMut() -> B + Send + 'static,
    ) -> Result<Address<B::Message>, SpawnError> {
        let actors = Actors::from_group(self.group_handle());
        self.spawn_child(|adopt| actors.options().spawn_child_with(make, adopt))
    }

    /// Calls `spawn`, which spawns a child. `spawn` gets the function that makes the new actor a
    /// child of this one. If `spawn` fails, there is no child.
    ///
    /// WHY this actor watches the child before the child is initialised: from then on, the child
    /// may fail.
    fn spawn_child<M: Send + 'static>(
        &mut self,
        spawn: impl FnOnce(AdoptChild<'_, M>) -> Result<Address<M>, SpawnError>,
    ) -> Result<Address<M>, SpawnError> {
        let mut number = None;
        let spawned = spawn(&mut |child| {
            let (added, watch) = self.adopt_child(child);
            number = Some(added);
            watch
        });
        if let (Err(_), Some(number)) = (&spawned, number) {
            self.forget_child(number);
        }
        spawned
    }
}
