//! A node's entry: what threads that do not run the node know of it.

use std::sync::Arc;

use crate::scheduler::api::metrics::LiveMetrics;
use crate::scheduler::api::plan::NodeSpec;
use crate::scheduler::run::commands::Commands;

/// The entry of a node, for threads that do not run it.
#[derive(Debug, Clone)]
pub(crate) struct NodeEntry {
    pub(crate) spec: NodeSpec,
    pub(crate) commands: Arc<Commands>,
    pub(crate) metrics: Arc<LiveMetrics>,
}
