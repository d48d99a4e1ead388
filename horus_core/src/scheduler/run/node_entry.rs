//! The part of a node that threads other than the node's thread can access.

use std::sync::Arc;

use crate::scheduler::api::metrics::LiveMetrics;
use crate::scheduler::api::plan::NodeSpec;
use crate::scheduler::run::commands::Commands;

/// The settings, commands and metrics of a node, for the threads that do not run the node.
#[derive(Debug, Clone)]
pub(crate) struct NodeEntry {
    pub(crate) spec: NodeSpec,
    pub(crate) commands: Arc<Commands>,
    pub(crate) metrics: Arc<LiveMetrics>,
}
