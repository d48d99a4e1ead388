//! The command `horus node rate`: changes the rate of a node.

use clap::Args;
use horus_core::message::NodeMetrics;
use horus_core::scheduler::Rate;

use super::apply::send_and_wait;
use crate::cli::parse_hertz;
use crate::context::Context;
use crate::failure::Failure;

/// Change the rate of a node
///
/// Returns when the status of the scheduler shows it. Gives up after 5 seconds,
/// or after --timeout, with exit code 124.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the node, or SCHEDULER/NODE
    node: String,
    /// New rate in hertz
    #[arg(value_parser = parse_hertz)]
    hz: f64,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let rate = Rate::hz(arguments.hz);
    let period_ns = rate.check().map_err(Failure::usage)?.period().as_nanos();
    let is_applied = |node: &NodeMetrics| u128::from(node.period_ns) == period_ns;
    send_and_wait(
        &arguments.node,
        context,
        |scheduler, node| scheduler.set_rate(node, rate),
        is_applied,
    )
}
