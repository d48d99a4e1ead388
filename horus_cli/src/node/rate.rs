//! The command `horus node rate`: changes the rate of a node.

use clap::Args;
use horus_core::message::NodeMetrics;
use horus_core::scheduler::Rate;

use super::apply::send_command_and_wait;
use crate::context::Context;
use crate::failure::Failure;

/// Change the rate of a node, and of all nodes of its chain
///
/// Returns when the status of the scheduler shows the rate. Gives up after 5
/// seconds, or after --timeout, with exit code 124. The exit code is 4 if the
/// scheduler refuses: an event node has no rate, and a rate may not fit the
/// deadline.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the node, or SCHEDULER/NODE
    node: String,
    /// New rate in hertz, from 0.000001 to 1000000
    // WHY negative numbers: the error then says what a rate is.
    #[arg(value_parser = parse_rate, allow_negative_numbers = true)]
    hz: Rate,
}

/// Parses a rate in hertz. Returns an error text if it is not valid.
fn parse_rate(text: &str) -> Result<Rate, String> {
    let hertz: f64 = text.parse().map_err(|_| "not a number of hertz")?;
    let rate = Rate::hz(hertz).check();
    rate.map_err(|_| "a rate is from 0.000001 Hz to 1000000 Hz (1 MHz)".to_owned())
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let rate = arguments.hz;
    let period_ns = rate.period().as_nanos();
    let is_applied = |node: &NodeMetrics| u128::from(node.period_ns) == period_ns;
    send_command_and_wait(
        &arguments.node,
        context,
        |scheduler, node| scheduler.set_rate(node, rate),
        is_applied,
    )
}
