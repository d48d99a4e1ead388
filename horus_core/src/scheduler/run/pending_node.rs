//! A node before it runs.

use crate::scheduler::api::safe_state::SafeState;
use crate::scheduler::api::subscription::Subscription;
use crate::scheduler::run::runner::Runner;
use crate::topic::WaitSet;

/// A node that was added to a scheduler and has no thread yet.
pub(crate) struct PendingNode {
    pub(crate) runner: Runner,
    pub(crate) safe_state: Option<SafeState>,
    /// The topics that wake it, if it waits for any.
    pub(crate) wake: WaitSet,
    /// The subscribers that the scheduler knows.
    pub(crate) subscriptions: Vec<Subscription>,
}
