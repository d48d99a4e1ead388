//! Waking a blocked receiver in another process: how long it takes, and what it costs the sender.

use std::error::Error;
use std::process::ExitCode;

use horus_benchmarks::measure::micro::MicroPlan;
use horus_benchmarks::report::rows::Row;
use horus_benchmarks::run::args::Args;
use horus_benchmarks::run::namespace::PrivateNamespace;
use horus_benchmarks::run::session::Session;
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::scenario::wakeup::{self, Way, awake_sends};
use horus_core::topic::WakeEdge;

const NAME: &str = "wakeup_benchmark";

const ABOUT: &str = "How long it takes to wake a receiver that is blocked in another process, from \
before the send to after its blocked call returned: topics, a wait set, a bare futex, a pipe and, \
with the feature iceoryx2, an iceoryx2 event. And what a send costs when nobody sleeps.";

/// Wakes of a round, unless told otherwise; with `--quick`. Each takes a tenth of a millisecond.
const SAMPLES: (u64, u64) = (500, 200);

fn main() -> ExitCode {
    entry::main(NAME, ABOUT, run)
}

fn run(mut args: Args) -> Outcome {
    args.samples.get_or_insert(if args.quick { SAMPLES.1 } else { SAMPLES.0 });
    let mut session = Session::begin(args)?;
    wakeup::check_counters(&mut session)?;
    let private = PrivateNamespace::create()?;
    let ways = Way::ALL.iter().copied().filter(|way| session.args.wants(way.id()));
    let ways: Vec<Way> = ways.collect();
    wakeup::compare(&mut session, &private, &ways)?;
    for (edge, name) in [(WakeEdge::Membarrier, "topic"), (WakeEdge::Fence, "topic_fence")] {
        nobody_asleep(&mut session, &private, edge, name)?;
    }
    Ok(session.finish()?)
}

/// Sends on a topic whose reader has slept before and is awake.
fn nobody_asleep(
    session: &mut Session,
    private: &PrivateNamespace,
    edge: WakeEdge,
    name: &str,
) -> Result<(), Box<dyn Error>> {
    let id = format!("send_to_the_awake/{name}/16B");
    if !session.args.wants(&id) {
        return Ok(());
    }
    let batches = u64::from(session.effort.rounds) * session.effort.samples.div_ceil(10);
    let source = session.clock.source();
    let plan = MicroPlan { source, warm_up: batches.div_ceil(10), batches };
    let micro = awake_sends(&private.open()?, edge, &plan)?;
    let row = Row::micro(&id, &micro, &session.clock);
    session.report.push(row, &format!("batches of {}", micro.batch));
    Ok(())
}
