//! The command `horus node pause`: pauses a node until it is resumed.

use clap::Args;
use horus_core::message::NodeMetrics;

use super::apply::send_command_and_wait;
use crate::context::Context;
use crate::failure::Failure;

/// Pause a node until it is resumed
///
/// Only stops the ticks: no safe state is entered, and what the node has set in
/// motion keeps moving. Returns when the status of the scheduler shows the pause.
/// Gives up after 5 seconds, or after --timeout, with exit code 124. The exit code
/// is 4 if the node was stopped.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the node, or SCHEDULER/NODE
    node: String,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let is_applied =
        |node: &NodeMetrics| node.is_paused != 0 && node.state != NodeMetrics::STATE_STOPPED;
    send_command_and_wait(
        &arguments.node,
        context,
        |scheduler, node| scheduler.pause(node),
        is_applied,
    )
}
