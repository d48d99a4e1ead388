//! Measures schedulers: the costs of a round, the lateness of nodes, and the time in which a topic
//! wakes a node.

use std::process::ExitCode;

use crate::run::args::Args;
use crate::run::namespace::PrivateNamespace;
use crate::run::session::BenchmarkSession;
use crate::scenario::entry::{self, Outcome};
use crate::scenario::{lateness, swapping, ticking, wakeup};
use crate::transport::carrier::Mechanism;

const ABOUT: &str = "Measures the cost of a scheduler for each of its nodes; the lateness of a \
node with a rate, beside that of a thread that only sleeps; the time to wake a node in another \
process through a topic, beside a bare futex; and the rate at which a node can be replaced while \
messages are sent to it.";

/// Runs the benchmark `scheduler_benchmark`.
pub fn main() -> ExitCode {
    entry::main("scheduler_benchmark", ABOUT, &[], run)
}

fn run(mut args: Args) -> Outcome {
    let ticks_asked = args.samples;
    let samples = args.quick_or_full(wakeup::SAMPLES_PER_ROUND);
    args.samples.get_or_insert(samples);
    let mut session = BenchmarkSession::begin(args)?;
    let private = PrivateNamespace::create()?;
    ticking::measure(&mut session, &private)?;
    swapping::measure(&mut session, &private)?;
    lateness::measure(&mut session, &private, ticks_asked)?;
    if session.args.wants_row(Mechanism::EventNode.id()) {
        wakeup::check_counters(&mut session)?;
        // The futex comes along whatever the filter says: the node is compared with it.
        let mechanisms = [Mechanism::Futex, Mechanism::EventNode];
        wakeup::measure(&mut session, &private, &mechanisms)?;
    }
    Ok(session.finish()?)
}
