//! The command `horus node resume`: resumes a paused node.

use clap::Args;
use horus_core::message::NodeMetrics;

use super::apply::send_command_and_wait;
use crate::context::Context;
use crate::failure::Failure;

/// Resume a paused node
///
/// Returns when the status of the scheduler shows that the node runs. Gives up
/// after 5 seconds, or after --timeout, with exit code 124. The exit code is 4 if
/// the node was stopped: that cannot be undone.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the node, or SCHEDULER/NODE
    node: String,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let is_applied =
        |node: &NodeMetrics| node.is_paused == 0 && node.state != NodeMetrics::STATE_STOPPED;
    send_command_and_wait(
        &arguments.node,
        context,
        |scheduler, node| scheduler.resume(node),
        is_applied,
    )
}
