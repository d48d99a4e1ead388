//! The registry of a group, which finds its actors by name.

use std::any::{Any, type_name};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::actor::error::{FindError, RegisterError};

/// An address of an actor, regardless of the type of its messages.
pub(crate) trait RegisteredAddress: Any + Send + Sync {
    /// Returns the name of the type of the messages.
    fn message_type(&self) -> &'static str;

    /// Returns true if the actor has ended.
    fn has_ended(&self) -> bool;

    /// Returns the number of the actor's `ActorId`.
    fn actor_number(&self) -> usize;
}

/// The actors of a group that have a name.
#[derive(Default)]
pub(crate) struct Registry(Mutex<BTreeMap<String, Box<dyn RegisteredAddress>>>);

impl Registry {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Box<dyn RegisteredAddress>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a name for an actor. Fails if another actor has the name and has not ended.
    /// Succeeds if the same actor already has the name, because `init` may register it again after
    /// a restart.
    pub(crate) fn add(
        &self,
        name: &str,
        address: Box<dyn RegisteredAddress>,
    ) -> Result<(), RegisterError> {
        let mut names = self.lock();
        let is_taken = |other: &dyn RegisteredAddress| {
            !other.has_ended() && other.actor_number() != address.actor_number()
        };
        if names.get(name).is_some_and(|other| is_taken(&**other)) {
            return Err(RegisterError {
                name: name.to_owned(),
            });
        }
        let former = names.insert(name.to_owned(), address);
        // WHY: the drop of the last address may run user code.
        drop(names);
        drop(former);
        Ok(())
    }

    /// Returns the address of the actor with this name.
    pub(crate) fn find<T: RegisteredAddress + Clone>(
        &self,
        name: &str,
        wanted: &'static str,
    ) -> Result<T, FindError> {
        let names = self.lock();
        let unknown = || FindError::Unknown {
            name: name.to_owned(),
        };
        let found = names.get(name).filter(|address| !address.has_ended());
        let address = &**found.ok_or_else(unknown)?;
        let any: &dyn Any = address;
        any.downcast_ref::<T>()
            .cloned()
            .ok_or_else(|| FindError::Type {
                name: name.to_owned(),
                registered: address.message_type(),
                wanted,
            })
    }

    /// Removes a name. Returns false if no actor had it.
    pub(crate) fn remove(&self, name: &str) -> bool {
        let former = self.lock().remove(name);
        former.is_some()
    }

    /// Returns the names of actors that have not ended. Only names that begin with `prefix` are
    /// returned, sorted.
    pub(crate) fn names(&self, prefix: &str) -> Vec<String> {
        let names = self.lock();
        let alive = names.iter().filter(|(_, address)| !address.has_ended());
        let matching = alive.filter(|(name, _)| name.starts_with(prefix));
        matching.map(|(name, _)| name.clone()).collect()
    }

    /// Returns a name of the actor whose `ActorId` has this number.
    pub(crate) fn name_of(&self, number: usize) -> Option<String> {
        let names = self.lock();
        let mut of_it = names
            .iter()
            .filter(|(_, actor)| actor.actor_number() == number);
        of_it.next().map(|(name, _)| name.clone())
    }

    /// Removes all names.
    pub(crate) fn clear(&self) {
        let names = std::mem::take(&mut *self.lock());
        drop(names);
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.lock().keys()).finish()
    }
}

/// Returns the name of the type of messages, for use in errors.
pub(crate) fn message_type_name<M>() -> &'static str {
    type_name::<M>()
}
