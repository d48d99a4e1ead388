//! The builder of a group of actors, which collects the settings of the group.

use std::time::Duration;

use super::Scheduler;
use crate::actor::group::{ActorGroup, GROUP_THREADS_MAX};
use crate::actor::group_settings::{GroupSettings, HandlerWrapper};
use crate::actor::{Actors, Idle, MailboxKind};
use crate::scheduler::api::plan::{NodeSpec, PlanError};
use crate::scheduler::run::executor::group_node::GroupNode;
use crate::topic::WaitSet;

/// Collects the settings of a group of actors. [`Self::build`] then adds the group to the
/// scheduler.
#[must_use = "a group is added by `build()`"]
#[derive(Debug)]
pub struct ActorsBuilder<'a> {
    scheduler: &'a mut Scheduler,
    spec: NodeSpec,
    threads: usize,
    settings: GroupSettings,
}

impl<'a> ActorsBuilder<'a> {
    pub(super) fn new(scheduler: &'a mut Scheduler, name: &str) -> Self {
        let spec = NodeSpec {
            name: name.to_owned(),
            is_actors: true,
            ..NodeSpec::default()
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            scheduler,
            spec,
            threads: threads.saturating_sub(1).clamp(1, GROUP_THREADS_MAX),
            settings: GroupSettings::default(),
        }
    }

    /// Sets the number of threads that run the actors. Default: one less than the number of CPUs,
    /// and at least one.
    ///
    /// With 0, the group has no threads. The thread that runs the scheduler then runs the actors:
    /// at [`Scheduler::main_rate`], like nodes without a rate, and also between these times. In a
    /// program with its own loop, [`Running::tick_once`](crate::scheduler::Running::tick_once) runs
    /// them. In this case, actors run in the order in which they received messages.
    pub const fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets the kind of the mailbox that actors get by default. Without this call, a mailbox holds
    /// up to 1024 messages.
    pub const fn mailbox(mut self, mailbox: MailboxKind) -> Self {
        self.settings.mailbox = mailbox;
        self
    }

    /// Pins the threads of the group to these CPUs: the first thread to the first CPU, and so on.
    /// If there are more threads than CPUs, the list starts again with the first CPU. On a machine
    /// with several NUMA nodes, add a group of actors for each NUMA node.
    pub fn cores(mut self, cores: impl IntoIterator<Item = usize>) -> Self {
        self.settings.cores = cores.into_iter().collect();
        self
    }

    /// Sets the SCHED_FIFO priority of the group's threads, from 1 to 99, if the system allows it.
    pub const fn priority(mut self, priority: u8) -> Self {
        self.settings.priority = Some(priority);
        self
    }

    /// Sets the time after which an actor whose handler has not returned is reported as stuck. The
    /// report is an event of the group, and contains the name of the actor. Default: one second.
    pub const fn watchdog(mut self, limit: Duration) -> Self {
        self.settings.watchdog = limit;
        self
    }

    /// Sets how the threads of the group wait while no actor has messages. Default:
    /// [`Idle::Sleep`].
    pub const fn idle(mut self, idle: Idle) -> Self {
        self.settings.idle = idle;
        self
    }

    /// Sets a function that wraps the work of actors. Each thread calls this function, and runs
    /// actors inside the call, for up to 20 ms. Actors also end inside such a call. Actors that are
    /// written in another language need it, for instance to attach the thread to an interpreter.
    #[doc(hidden)]
    pub const fn wrap_handlers(mut self, wrap_handlers: HandlerWrapper) -> Self {
        self.settings.wrap_handlers = Some(wrap_handlers);
        self
    }

    /// Sets the order of the group among the scheduler's nodes. Nodes and groups start from the
    /// smallest order to the largest, and are shut down in reverse. Default: 0.
    pub const fn order(mut self, order: i32) -> Self {
        self.spec.order = order;
        self
    }

    /// Adds the group with these settings to the scheduler. Actors can be spawned immediately, but
    /// handle messages only once the scheduler runs.
    ///
    /// # Errors
    ///
    /// Returns [`PlanError`] if a setting is invalid, or if a node or another group already has the
    /// name.
    pub fn build(mut self) -> Result<Actors, PlanError> {
        if self.threads > GROUP_THREADS_MAX {
            return Err(PlanError::Range {
                node: self.spec.name,
                setting: "threads",
                found: self.threads.to_string(),
                wanted: format!("0 to {GROUP_THREADS_MAX}"),
            });
        }
        let GroupSettings {
            cores, priority, ..
        } = &self.settings;
        let setting = [
            (!cores.is_empty(), "cores"),
            (priority.is_some(), "a priority"),
        ];
        if self.threads == 0
            && let Some((_, other)) = setting.iter().find(|(is_set, _)| *is_set)
        {
            return Err(PlanError::Contradiction {
                node: self.spec.name,
                one: "no threads".to_owned(),
                other: (*other).to_owned(),
                reason: "the thread of the scheduler runs its actors, so set up that thread, or \
                         give the group threads",
            });
        }
        // WHY the largest: the plan refuses a CPU that does not exist.
        self.spec.core = cores.iter().copied().max();
        self.spec.priority = *priority;
        let group = ActorGroup::new(&self.spec.name, self.threads, self.settings);
        let node = Box::new(GroupNode::new(&group, &self.scheduler.shared));
        let none = (WaitSet::new(), Vec::new());
        self.scheduler.add_node(node, self.spec, None, none)?;
        if let Some(entry) = self.scheduler.entries.last_mut() {
            entry.runner.set_actor_group(&group);
            entry.actors = Some(group.clone());
        }
        Ok(Actors::from_group(group))
    }
}
