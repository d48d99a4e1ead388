//! Measures schedulers: the costs of a round, the lateness of nodes, and the time in which a topic
//! wakes a node.

use std::process::ExitCode;

use crate::run::session::BenchmarkSession;
use crate::scenario::entry::{Outcome, Program};
use crate::scenario::{lateness, swapping, ticking, wakeup};
use crate::transport::carrier::WakeupMechanism;

const ABOUT: &str = "Measures the cost of a scheduler for each of its nodes; the lateness of a \
node with a rate, beside that of a thread that only sleeps; the time to wake a node in another \
process through a topic, beside a bare futex; and the rate at which a node can be replaced while \
messages are sent to it.";

/// Runs the benchmark `scheduler_benchmark`.
pub fn main() -> ExitCode {
    Program::new(ABOUT, wakeup::ROUNDS_AND_SAMPLES).main(run)
}

fn run(session: &mut BenchmarkSession) -> Outcome {
    ticking::measure_ticks(session)?;
    swapping::measure_swaps(session)?;
    lateness::measure_lateness(session)?;
    if session.args.wants_row(WakeupMechanism::EventNode.id()) {
        wakeup::check_cpu_counters(session)?;
        // The futex comes along whatever the filter says: the node is compared with it.
        wakeup::measure_wakeups(
            session,
            &[WakeupMechanism::Futex, WakeupMechanism::EventNode],
        )?;
    }
    Ok(())
}
