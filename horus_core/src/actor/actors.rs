//! The handle of a group of actors, which spawns actors and reads the group's counters.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use horus_shm::fork_epoch;
use horus_shm::internals::heap::{self, ActivationOutcome};

use crate::actor::actor_safe_state::ActorSafeState;
use crate::actor::address::Address;
use crate::actor::behaviour::Actor;
use crate::actor::counters::ActorCounters;
use crate::actor::error::{FindError, RegisterError, SpawnError};
use crate::actor::extras::RarelyUsedActorParts;
use crate::actor::group::ActorGroup;
use crate::actor::hosted_actor::HostedActor;
use crate::actor::inbox::Inbox;
use crate::actor::local;
use crate::actor::mailbox::MailboxKind;
use crate::actor::registry::{Registry, message_type_name};
use crate::actor::watch::ActorWatch;
use crate::actor::worker_context::WorkerContext;
use crate::scheduler::api::policy::FailurePolicy;

/// The failure policy that an actor spawned by [`Actors::spawn_with`] has, unless it is spawned
/// with a different one.
const DEFAULT_RESTART_POLICY: FailurePolicy = FailurePolicy::Restart {
    max: 5,
    backoff: Duration::from_millis(100),
};

/// A group of actors. A clone is another handle of the same group.
#[derive(Clone)]
pub struct Actors(Arc<ActorGroup>);

impl Actors {
    pub(crate) const fn from_group(group: Arc<ActorGroup>) -> Self {
        Self(group)
    }

    /// Spawns an actor: initialises it on the calling thread, and returns its address. The actor
    /// handles messages once the scheduler runs. If a handler fails, the actor ends.
    ///
    /// # Errors
    ///
    /// [`SpawnError`] if the `init` of the actor fails, the group has ended, or this process has
    /// inherited the group through `fork`.
    pub fn spawn<A: Actor>(&self, actor: A) -> Result<Address<A::Message>, SpawnError> {
        self.options().spawn(actor)
    }

    /// Spawns the actor that `make` returns, as [`Self::spawn`] does. If a handler fails, the actor
    /// is shut down. After a pause, `make` is called again for a new actor, which gets the messages
    /// that waited in the mailbox.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::spawn`].
    pub fn spawn_with<A: Actor>(
        &self,
        make: impl FnMut() -> A + Send + 'static,
    ) -> Result<Address<A::Message>, SpawnError> {
        self.options().spawn_with(make)
    }

    /// Returns the default settings for an actor of this group. Change them, then call
    /// [`SpawnOptions::spawn`].
    #[must_use]
    pub fn options(&self) -> SpawnOptions<'_> {
        SpawnOptions {
            group: &self.0,
            mailbox: self.0.default_mailbox(),
            on_failure: None,
            has_safe_state: false,
            label: None,
        }
    }

    /// Creates an inbox: a mailbox out of which a thread receives the messages that are sent to its
    /// address. The inbox counts as an actor of the group, but no thread of the group runs it.
    ///
    /// # Errors
    ///
    /// [`SpawnError::Closed`] if the group has ended; [`SpawnError::Forked`] in a forked child.
    pub fn inbox<M: Send + 'static>(
        &self,
        mailbox: MailboxKind,
    ) -> Result<(Address<M>, Inbox<M>), SpawnError> {
        check_not_forked(&self.0)?;
        Inbox::open(&self.0, mailbox).ok_or_else(|| SpawnError::Closed {
            group: self.0.name().to_owned(),
        })
    }

    /// Registers a name for an actor, so that [`Self::find`] finds it. Like an address, the name
    /// keeps the actor alive, until [`Self::unregister`] removes it. An actor that stops, or fails
    /// and is not restarted, is no longer found. A forked child, in which all actors of its parent
    /// count as ended, registers and finds nothing.
    ///
    /// # Errors
    ///
    /// [`RegisterError`] if another actor of the group already has the name, and has not ended.
    pub fn register<M: Send + 'static>(
        &self,
        name: &str,
        address: &Address<M>,
    ) -> Result<(), RegisterError> {
        match self.registry() {
            Some(registry) => registry.add(name, Box::new(address.clone())),
            None => Ok(()),
        }
    }

    /// Removes the name of an actor. Returns false if no actor had this name.
    pub fn unregister(&self, name: &str) -> bool {
        self.registry()
            .is_some_and(|registry| registry.remove(name))
    }

    /// Returns the address of the actor that has this name. Look the address up once, and keep it.
    ///
    /// # Errors
    ///
    /// [`FindError`] if no actor has the name, or if it handles messages of another type.
    pub fn find<M: Send + 'static>(&self, name: &str) -> Result<Address<M>, FindError> {
        let unknown = || FindError::Unknown {
            name: name.to_owned(),
        };
        let registry = self.registry().ok_or_else(unknown)?;
        registry.find(name, message_type_name::<M>())
    }

    /// Returns the registered names that begin with `prefix`, sorted. Names of actors that have
    /// ended are left out.
    #[must_use]
    pub fn names(&self, prefix: &str) -> Vec<String> {
        self.registry()
            .map_or_else(Vec::new, |registry| registry.names(prefix))
    }

    /// Returns the counters of the group. They may have been read at slightly different moments.
    #[must_use]
    pub fn counters(&self) -> ActorCounters {
        self.0.counters()
    }

    /// Returns the name of this group of actors.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Returns the registered names; `None` in a forked child, where a thread of the parent may
    /// hold their lock for ever.
    fn registry(&self) -> Option<&Registry> {
        (self.0.epoch == fork_epoch()).then_some(&self.0.registry)
    }
}

/// Returns an error in a child process that inherited the group through `fork`: no thread would run
/// an actor there, and a lock of the group may be held for ever.
fn check_not_forked(group: &ActorGroup) -> Result<(), SpawnError> {
    if group.epoch == fork_epoch() {
        return Ok(());
    }
    Err(SpawnError::Forked {
        group: group.name().to_owned(),
    })
}

impl fmt::Debug for Actors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Actors")
            .field("name", &self.0.name())
            .field("counters", &self.0.counters())
            .finish()
    }
}

/// A function that makes a new actor the child of its parent, and returns the watch of the parent.
pub(super) type AdoptChild<'a, M> = &'a mut dyn FnMut(Address<M>) -> ActorWatch;

/// The settings with which an actor is spawned, for example its mailbox and failure policy.
#[derive(Debug, Clone)]
pub struct SpawnOptions<'a> {
    group: &'a Arc<ActorGroup>,
    mailbox: MailboxKind,
    on_failure: Option<FailurePolicy>,
    has_safe_state: bool,
    /// The name under which reports mention the actor; `None` if they use the name under which it
    /// is registered.
    label: Option<&'a str>,
}

impl<'a> SpawnOptions<'a> {
    /// Sets the kind of the mailbox. Default: the kind that was set for the whole group.
    #[must_use]
    pub const fn mailbox(mut self, mailbox: MailboxKind) -> Self {
        self.mailbox = mailbox;
        self
    }

    /// Sets the reaction to a handler that fails. Default for [`Self::spawn_with`]: five restarts,
    /// the first after 100 ms. Default for [`Self::spawn`]: the actor ends.
    ///
    /// [`FailurePolicy::Restart`] restarts only actors spawned by [`Self::spawn_with`], because
    /// other actors cannot be re-created. All others end, as does an actor that has failed too
    /// often. [`FailurePolicy::Fatal`] stops the scheduler.
    #[must_use]
    pub const fn on_failure(mut self, policy: FailurePolicy) -> Self {
        self.on_failure = Some(policy);
        self
    }

    /// Makes the actor enter its safe state in an emergency stop: [`Actor::enter_safe_state`] is
    /// called before the actor handles any waiting message. If the actor does not confirm its safe
    /// state ([`Actor::is_safe_state`]) within 100 ms, the supervisor reports it.
    #[must_use]
    pub const fn safe_state(mut self) -> Self {
        self.has_safe_state = true;
        self
    }

    /// Sets the name under which reports mention the actor.
    pub(crate) const fn label(mut self, label: &'a str) -> Self {
        self.label = Some(label);
        self
    }

    /// Spawns an actor with these settings, as [`Actors::spawn`] does.
    ///
    /// # Errors
    ///
    /// The same as for [`Actors::spawn`].
    pub fn spawn<A: Actor>(self, actor: A) -> Result<Address<A::Message>, SpawnError> {
        let extras = self.extras_without_factory();
        self.spawn_hosted_actor(actor, extras, None)
    }

    /// Spawns the actor that `make` returns with these settings, as [`Actors::spawn_with`] does.
    ///
    /// # Errors
    ///
    /// The same as for [`Actors::spawn`].
    pub fn spawn_with<A: Actor>(
        self,
        make: impl FnMut() -> A + Send + 'static,
    ) -> Result<Address<A::Message>, SpawnError> {
        let (actor, extras) = self.actor_and_extras(make);
        self.spawn_hosted_actor(actor, Some(extras), None)
    }

    /// Spawns an actor as [`Self::spawn`] does. The actor is a child of the one whose watch `adopt`
    /// creates.
    pub(super) fn spawn_child<A: Actor>(
        self,
        actor: A,
        adopt: AdoptChild<'_, A::Message>,
    ) -> Result<Address<A::Message>, SpawnError> {
        let extras = self.extras_without_factory();
        self.spawn_hosted_actor(actor, extras, Some(adopt))
    }

    /// Spawns an actor as [`Self::spawn_with`] does. The actor is a child of the one whose watch
    /// `adopt` creates.
    pub(super) fn spawn_child_with<A: Actor>(
        self,
        make: impl FnMut() -> A + Send + 'static,
        adopt: AdoptChild<'_, A::Message>,
    ) -> Result<Address<A::Message>, SpawnError> {
        let (actor, extras) = self.actor_and_extras(make);
        self.spawn_hosted_actor(actor, Some(extras), Some(adopt))
    }

    /// Returns the extras of an actor that cannot be re-created; `None` if it needs none.
    fn extras_without_factory<A: Actor>(&self) -> Option<RarelyUsedActorParts<A>> {
        let has_extras = self.on_failure.is_some() || self.has_safe_state;
        has_extras.then(|| RarelyUsedActorParts {
            policy: self.on_failure,
            ..RarelyUsedActorParts::default()
        })
    }

    /// Returns the first actor of `make`, and the extras of an actor that `make` re-creates.
    fn actor_and_extras<A: Actor>(
        &self,
        mut make: impl FnMut() -> A + Send + 'static,
    ) -> (A, RarelyUsedActorParts<A>) {
        let actor = make();
        let extras = RarelyUsedActorParts {
            make: Some(Box::new(make)),
            policy: Some(self.on_failure.unwrap_or(DEFAULT_RESTART_POLICY)),
            ..RarelyUsedActorParts::default()
        };
        (actor, extras)
    }

    fn spawn_hosted_actor<A: Actor>(
        &self,
        actor: A,
        mut extras: Option<RarelyUsedActorParts<A>>,
        adopt: Option<AdoptChild<'_, A::Message>>,
    ) -> Result<Address<A::Message>, SpawnError> {
        let group = self.group;
        check_not_forked(group)?;
        let safe = self.has_safe_state.then(ActorSafeState::default);
        let safe_state = safe.as_ref().map(|safe| Arc::clone(&safe.state));
        if let Some(extras) = &mut extras {
            extras.safe = safe;
        }
        let hosted = HostedActor::new(actor, extras.map(Box::new));
        let (address, handle) =
            heap::spawn_with_handle(Arc::clone(group), hosted, self.mailbox.limit());
        let closed = || SpawnError::Closed {
            group: group.name().to_owned(),
        };
        let watch = adopt.map(|adopt| adopt(Address::from_heap(address.clone())));
        let Some(task) = local::wake_actor_for_init(&address, handle, watch) else {
            return Err(closed());
        };
        task.set_last_worker_index(group.next_worker_index());
        let mut context = WorkerContext::without_mail_wait(&group.clock());
        // WHY three: a thing more than `init` and the watch of a parent, so that the actor is
        // asleep afterwards.
        let woken = match task.run(group, &mut context, 3) {
            ActivationOutcome::More(task) | ActivationOutcome::Suspended(task) => Some(task),
            ActivationOutcome::Slept | ActivationOutcome::Ended => None,
        };
        let is_spawned = context.init_error.is_none() && !context.is_refused;
        if is_spawned && let Some(state) = safe_state {
            let label = self.label.map(str::to_owned);
            group
                .emergency_stop
                .add_actor(address.control_handle(), state, label);
        }
        // WHY after `add`: in an emergency stop, a worker that visits the actor before would take
        // it for safe.
        if let Some(task) = woken {
            group.inject(task);
        }
        if let Some(cause) = context.init_error {
            return Err(SpawnError::Init {
                group: group.name().to_owned(),
                cause,
            });
        }
        if context.is_refused {
            return Err(closed());
        }
        Ok(Address::from_heap(address))
    }
}
