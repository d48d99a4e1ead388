//! A node that was added to a scheduler but does not run yet.

use std::sync::Arc;

use crate::actor::group::ActorGroup;
use crate::scheduler::api::plan::{NodePlan, PlanError};
use crate::scheduler::api::safe_state::SafeStateCallback;
use crate::scheduler::api::subscription::Subscription;
use crate::scheduler::run::runner::Runner;
use crate::topic::WaitSet;

/// A node that was added to a scheduler but has no thread yet.
pub(crate) struct PendingNode {
    pub(crate) runner: Runner,
    pub(crate) safe_state: Option<SafeStateCallback>,
    /// The topics whose messages make the node run; empty if there are none.
    pub(crate) wake: WaitSet,
    /// The subscribers of the node that were declared to its builder.
    pub(crate) subscriptions: Vec<Subscription>,
    /// The group of actors, if the node represents one.
    pub(crate) actors: Option<Arc<ActorGroup>>,
    /// The group of actors on whose threads the node runs; `None` if it does not share threads.
    pub(crate) shared: Option<Arc<ActorGroup>>,
}

/// Returns the group of actors on whose threads the node runs; `None` if it does not share threads.
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
