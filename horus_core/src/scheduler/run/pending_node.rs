//! A node before it runs.

use std::sync::Arc;

use crate::actor::group::ActorGroup;
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
    /// The actors, if it is a group of them.
    pub(crate) actors: Option<Arc<ActorGroup>>,
}
