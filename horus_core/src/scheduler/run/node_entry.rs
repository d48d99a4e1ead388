//! A node as the threads know it that do not run it.

use std::sync::Arc;

use crate::scheduler::api::metrics::LiveMetrics;
use crate::scheduler::api::plan::NodeSpec;
use crate::scheduler::run::commands::Commands;

/// What is known of a node by those who do not run it.
#[derive(Debug, Clone)]
pub(crate) struct NodeEntry {
    pub(crate) spec: NodeSpec,
    pub(crate) commands: Arc<Commands>,
    pub(crate) metrics: Arc<LiveMetrics>,
}
