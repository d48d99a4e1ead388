//! A node that was added to a scheduler, but has not been started yet.

use std::sync::Arc;

use crate::actor::group::ActorGroup;
use crate::scheduler::api::plan::{NodePlan, PlanError};
use crate::scheduler::api::safe_state::SafeStateCallback;
use crate::scheduler::api::subscription::Subscription;
use crate::scheduler::run::runner::Runner;
use crate::topic::WaitSet;

/// A node that was added to a scheduler, but has not been given to a thread yet.
pub(crate) struct PendingNode {
    pub(crate) runner: Runner,
    pub(crate) safe_state: Option<SafeStateCallback>,
    /// The topics whose messages make the node run; the set is empty if there are none.
    pub(crate) wake: WaitSet,
    /// The subscribers of the node that its builder created, or that were declared to the builder.
    pub(crate) subscriptions: Vec<Subscription>,
    /// The group of actors that the node represents; `None` if it is an ordinary node.
    pub(crate) actors: Option<Arc<ActorGroup>>,
    /// The group of actors on whose threads the node runs; `None` if it does not run on the threads
    /// of a group.
    pub(crate) shared: Option<Arc<ActorGroup>>,
}

/// Returns the group of actors on whose threads the node of `plan` runs; `None` if it does not run
/// on the threads of a group. `entries` are the nodes and groups that were added before.
pub(crate) fn find_thread_group_of_node(
    plan: &NodePlan,
    entries: &[PendingNode],
) -> Result<Option<Arc<ActorGroup>>, PlanError> {
    let Some(group) = &plan.shared_group else {
        return Ok(None);
    };
    let mut groups = entries.iter().filter_map(|entry| entry.actors.as_ref());
    match groups.find(|actors| actors.name() == group) {
        Some(actors) => Ok(Some(Arc::clone(actors))),
        None => Err(PlanError::NoGroup {
            node: plan.name.clone(),
            group: group.clone(),
        }),
    }
}
