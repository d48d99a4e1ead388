//! The command `horus node stop`: stops a node for the rest of the scheduler's run.

use clap::Args;
use horus_core::message::NodeMetrics;

use super::apply::send_command_and_wait;
use crate::context::Context;
use crate::failure::Failure;

/// End a node after its present tick, for the rest of the run
///
/// Calls shutdown of the node, and not enter_safe_state. Returns when the status of
/// the scheduler shows the end. Gives up after 5 seconds, or after --timeout, with
/// exit code 124.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the node, or SCHEDULER/NODE
    node: String,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let is_applied = |node: &NodeMetrics| node.state == NodeMetrics::STATE_STOPPED;
    send_command_and_wait(
        &arguments.node,
        context,
        |scheduler, node| scheduler.stop_node(node),
        is_applied,
    )
}
