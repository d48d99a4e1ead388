//! How much the time of one message differs from that of another: runs of pinned threads and
//! processes.

use std::process::ExitCode;

use horus_benchmarks::measure::endpoint::Closures;
use horus_benchmarks::measure::workload::Timing;
use horus_benchmarks::run::args::Args;
use horus_benchmarks::run::args::Effort;
use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::run::namespace::PrivateNamespace;
use horus_benchmarks::run::progress::Progress;
use horus_benchmarks::run::session::Session;
use horus_benchmarks::scenario::determinism::{self, Run, RunPlan, Unit};
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::transport::carrier::{Carrier, Size, Transport};
use horus_benchmarks::transport::connection::Connection;
use horus_benchmarks::transport::packet::Packet16;
use horus_core::channel::spsc;
use horus_core::topic::Topic;
use serde_json::{Value, json};

const NAME: &str = "determinism_benchmark";

const ABOUT: &str = "How much the time of one message differs from that of another: a message of \
16 bytes is sent and received, by one pinned thread, between two threads and between two \
processes that are pinned, through a topic and through a channel in the process, and each is timed \
by itself. A round is a run with ends of its own. No sample is left out.";

const RUNS: u32 = 10;

/// Messages of a run, unless told otherwise; with `--quick`.
const SAMPLES: (u64, u64) = (100_000, 20_000);

/// What one message may take, in nanoseconds.
const DEADLINE_NS: f64 = 1000.0;

/// Messages that the channel has room for: as many as the topic has by default.
const CAPACITY: usize = 16;

const TOPIC: &str = "determinism/topic/16B";
const CHANNEL: &str = "determinism/spsc/16B";

/// Between two ends.
const BETWEEN: [(Placement, Carrier, &str); 3] = [
    (Placement::CrossThread, Carrier::Topic, "determinism/cross_thread/topic/16B"),
    (Placement::CrossThread, Carrier::SPSC, "determinism/cross_thread/spsc/16B"),
    (Placement::CrossProcess, Carrier::Topic, "determinism/cross_process/topic/16B"),
];

const IN_ONE_THREAD: &str = "send and receive, each timed by itself";
const BETWEEN_TWO: &str = "RTT/2, each timed by itself";

fn main() -> ExitCode {
    entry::main(NAME, ABOUT, run)
}

fn run(args: Args) -> Outcome {
    let samples = args.samples.unwrap_or(if args.quick { SAMPLES.1 } else { SAMPLES.0 });
    let rounds = args.rounds.unwrap_or(RUNS);
    let effort = Effort { rounds, warm_up: samples.div_ceil(10), samples };
    let mut session = Session::begin_with(args, effort)?;
    session.report.set("deadline_ns", DEADLINE_NS);
    one_thread(&mut session)?;
    two_ends(&mut session)?;
    Ok(session.finish()?)
}

fn deadline_ticks(session: &Session) -> u64 {
    (DEADLINE_NS / session.clock.ns_per_tick()) as u64
}

fn push(session: &mut Session, id: &str, runs: &[Run], unit: Unit, basis: &str) {
    if runs.is_empty() {
        return;
    }
    let records: Vec<Value> = runs.iter().map(|run| run.record_of(unit)).collect();
    session.report.note("runs", id, json!(records));
    session.report.push(determinism::row(id, runs, unit), basis);
}

fn one_thread(session: &mut Session) -> Outcome {
    let private = PrivateNamespace::create()?;
    let effort = session.effort;
    let plan = RunPlan {
        source: session.clock.source(),
        warm_up: effort.warm_up,
        samples: effort.samples,
        deadline_ticks: deadline_ticks(session),
    };
    let (mut topic, mut channel) = (Vec::new(), Vec::new());
    let progress = Progress::new(u64::from(effort.rounds) * 2);
    for number in 0..effort.rounds {
        // One of each in turn, so that both meet the machine in the same state.
        if session.args.wants(TOPIC) {
            topic.push(through_topic(&private, number, &plan)?);
        }
        progress.step();
        if session.args.wants(CHANNEL) {
            channel.push(through_channel(&plan)?);
        }
        progress.step();
    }
    progress.finish();
    let unit = Unit::ticks(&session.clock);
    push(session, TOPIC, &topic, unit, IN_ONE_THREAD);
    push(session, CHANNEL, &channel, unit, IN_ONE_THREAD);
    Ok(())
}

fn through_topic(
    private: &PrivateNamespace,
    number: u32,
    plan: &RunPlan,
) -> Result<Run, Box<dyn std::error::Error>> {
    let namespace = private.open()?;
    let name = format!("determinism_{number}");
    let builder = || Topic::<Packet16>::builder(&name).namespace(&namespace);
    let (mut publisher, mut subscriber) = (builder().publisher()?, builder().subscriber()?);
    let mut ends =
        Closures(|message: &Packet16| publisher.send(*message).is_ok(), || subscriber.recv());
    Ok(Run::measure(&mut ends, plan)?)
}

fn through_channel(plan: &RunPlan) -> Result<Run, Box<dyn std::error::Error>> {
    let (mut sender, mut receiver) = spsc::channel::<Packet16>(CAPACITY);
    let mut ends = Closures(
        |message: &Packet16| sender.try_send(*message).is_ok(),
        || receiver.try_recv().ok(),
    );
    Ok(Run::measure(&mut ends, plan)?)
}

fn two_ends(session: &mut Session) -> Outcome {
    let wanted = BETWEEN.iter().filter(|(_, _, id)| session.args.wants(id));
    let wanted: Vec<_> = wanted.copied().collect();
    let private = PrivateNamespace::create()?;
    let (effort, deadline_ticks) = (session.effort, deadline_ticks(session));
    let source = session.clock.source();
    let start = |&(placement, ..): &(Placement, Carrier, &str)| {
        Connection::start(placement, session.cpus, source, &private)
    };
    let mut connections = wanted.iter().map(start).collect::<Result<Vec<Connection>, _>>()?;
    let mut runs = vec![Vec::new(); wanted.len()];
    let progress = Progress::new(u64::from(effort.rounds) * wanted.len() as u64);
    for _ in 0..effort.rounds {
        for ((connection, runs), &(_, carrier, id)) in
            connections.iter_mut().zip(&mut runs).zip(&wanted)
        {
            progress.label(id);
            connection.open(Transport { carrier, size: Size::Bytes(16) })?;
            let (round, _) = connection.round(Timing::RoundTrip, effort.warm_up, effort.samples)?;
            runs.push(Run::of_round(&round, deadline_ticks));
            progress.step();
        }
    }
    progress.finish();
    let unit = Unit::round_trip(&session.clock);
    for (runs, (_, _, id)) in runs.iter().zip(wanted) {
        push(session, id, runs, unit, BETWEEN_TWO);
    }
    Ok(())
}
