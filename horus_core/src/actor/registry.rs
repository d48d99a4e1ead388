//! The registry of a group, which finds its actors by name.

use std::any::{Any, type_name};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::actor::error::{FindError, RegisterError};

/// An address of an actor, as the registry of names stores it: regardless of the type of the
/// actor's messages.
pub(crate) trait RegisteredAddress: Any + Send + Sync {
    /// Returns the name of the Rust type of the actor's messages.
    fn message_type(&self) -> &'static str;

    /// Returns true if the actor has ended.
    fn has_ended(&self) -> bool;

    /// Returns the actor's identity as a number, as
    /// [`ActorId::number`](crate::actor::ActorId::number) does.
    fn actor_number(&self) -> usize;
}

/// The actors of a group that were registered under a name, each with its name as the key.
#[derive(Default)]
pub(crate) struct Registry(Mutex<RegisteredNames>);

#[derive(Default)]
struct RegisteredNames {
    /// The address of each actor, by its name. Actors that have ended may still be among them.
    addresses: BTreeMap<String, Box<dyn RegisteredAddress>>,
    /// Number of entries at which the actors that have ended are removed.
    limit: usize,
}

impl RegisteredNames {
    /// Removes the actors that have ended, if there are many entries, and returns them.
    ///
    /// WHY only then: registering a name then takes the same time on average, however many names
    /// there are.
    fn take_ended_actors(&mut self) -> BTreeMap<String, Box<dyn RegisteredAddress>> {
        if self.addresses.len() < self.limit {
            return BTreeMap::new();
        }
        let all = std::mem::take(&mut self.addresses).into_iter();
        let (ended, alive) = all.partition(|(_, address)| address.has_ended());
        self.addresses = alive;
        self.limit = (2 * self.addresses.len()).max(NAMES_BEFORE_CLEANUP_MIN);
        ended
    }
}

/// Number of entries below which actors that have ended are not removed.
const NAMES_BEFORE_CLEANUP_MIN: usize = 64;

impl Registry {
    fn lock(&self) -> MutexGuard<'_, RegisteredNames> {
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
        if names
            .addresses
            .get(name)
            .is_some_and(|other| is_taken(&**other))
        {
            return Err(RegisterError {
                name: name.to_owned(),
            });
        }
        let ended = names.take_ended_actors();
        let former = names.addresses.insert(name.to_owned(), address);
        // WHY: the drop of the last address may run user code.
        drop(names);
        drop((ended, former));
        Ok(())
    }

    /// Returns the address of the actor that is registered under `name`.
    pub(crate) fn find<T: RegisteredAddress + Clone>(
        &self,
        name: &str,
        wanted_message_type: &'static str,
    ) -> Result<T, FindError> {
        let names = self.lock();
        let unknown = || FindError::Unknown {
            name: name.to_owned(),
        };
        let found = names
            .addresses
            .get(name)
            .filter(|address| !address.has_ended());
        let address = &**found.ok_or_else(unknown)?;
        let any: &dyn Any = address;
        any.downcast_ref::<T>()
            .cloned()
            .ok_or_else(|| FindError::Type {
                name: name.to_owned(),
                registered: address.message_type(),
                wanted: wanted_message_type,
            })
    }

    /// Removes a name. Returns false if no actor had it.
    pub(crate) fn remove(&self, name: &str) -> bool {
        let former = self.lock().addresses.remove(name);
        former.is_some()
    }

    /// Returns the names of actors that have not ended. Only names that begin with `prefix` are
    /// returned, sorted.
    pub(crate) fn names(&self, prefix: &str) -> Vec<String> {
        let names = self.lock();
        let addresses = names.addresses.iter();
        let alive = addresses.filter(|(_, address)| !address.has_ended());
        let matching = alive.filter(|(name, _)| name.starts_with(prefix));
        matching.map(|(name, _)| name.clone()).collect()
    }

    /// Returns a name under which the actor with this [`ActorId`](crate::actor::ActorId) number is
    /// registered; `None` if it has no name. Searches all names.
    pub(crate) fn name_of_actor(&self, actor_number: usize) -> Option<String> {
        let names = self.lock();
        let mut of_it = names
            .addresses
            .iter()
            .filter(|(_, actor)| actor.actor_number() == actor_number);
        of_it.next().map(|(name, _)| name.clone())
    }

    /// Returns the number of names, including those of actors that have ended.
    pub(crate) fn len(&self) -> usize {
        self.lock().addresses.len()
    }

    /// Removes all names, so that they no longer keep their actors alive.
    pub(crate) fn clear(&self) {
        let names = std::mem::take(&mut *self.lock());
        drop(names);
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.lock().addresses.keys())
            .finish()
    }
}

/// Returns the name of the Rust type `M`, for use in errors.
pub(crate) fn message_type_name<M>() -> &'static str {
    type_name::<M>()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    struct FakeAddress(usize, Arc<AtomicBool>);

    impl RegisteredAddress for FakeAddress {
        fn message_type(&self) -> &'static str {
            "()"
        }

        fn has_ended(&self) -> bool {
            self.1.load(Ordering::Relaxed)
        }

        fn actor_number(&self) -> usize {
            self.0
        }
    }

    /// Actors that register and end, for as long as the group runs, do not fill the memory.
    #[test]
    fn ended_actors_are_removed() {
        let registry = Registry::default();
        let alive = Arc::new(AtomicBool::new(false));
        for number in 0..10_000 {
            let has_ended = Arc::new(AtomicBool::new(false));
            let [of_it, of_all] = [&has_ended, &alive].map(Arc::clone);
            registry
                .add(
                    &format!("ends {number}"),
                    Box::new(FakeAddress(number, of_it)),
                )
                .unwrap();
            if number % 100 == 0 {
                let stays = FakeAddress(10_000 + number, of_all);
                registry
                    .add(&format!("stays {number}"), Box::new(stays))
                    .unwrap();
            }
            has_ended.store(true, Ordering::Relaxed);
            let limit = NAMES_BEFORE_CLEANUP_MIN.max(2 * (number / 100 + 2));
            assert!(registry.lock().addresses.len() <= limit);
        }
        assert_eq!(registry.names("").len(), 100);
    }
}
