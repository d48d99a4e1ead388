//! A node before it runs.

use std::sync::Arc;

use crate::actor::group::ActorGroup;
use crate::scheduler::api::plan::{NodePlan, PlanError};
use crate::scheduler::api::safe_state::SafeStateCallback;
use crate::scheduler::api::subscription::Subscription;
use crate::scheduler::run::runner::Runner;
use crate::topic::WaitSet;

/// A node that was added to a scheduler and has no thread yet.
pub(crate) struct PendingNode {
    pub(crate) runner: Runner,
    pub(crate) safe_state: Option<SafeStateCallback>,
    /// The topics whose messages make the node run, if there are any.
    pub(crate) wake: WaitSet,
    /// The subscribers of the node, as far as they were declared.
    pub(crate) subscriptions: Vec<Subscription>,
    /// The group of actors, if the node is one.
    pub(crate) actors: Option<Arc<ActorGroup>>,
    /// The group of actors whose threads run the node, if it has no thread of its own.
    pub(crate) shared: Option<Arc<ActorGroup>>,
}

/// Returns the group of actors whose threads run a node, if it has no thread of its own.
pub(crate) fn shared_group(
    plan: &NodePlan,
    entries: &[PendingNode],
) -> Result<Option<Arc<ActorGroup>>, PlanError> {
    let Some(group) = &plan.shared else {
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
