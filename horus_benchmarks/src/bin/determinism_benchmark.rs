//! How much the time of one message differs from that of another: runs of a pinned thread.

use std::error::Error;
use std::process::ExitCode;

use horus_benchmarks::args::Args;
use horus_benchmarks::determinism::{self, Run, RunPlan};
use horus_benchmarks::namespace::PrivateNamespace;
use horus_benchmarks::packet::Packet16;
use horus_benchmarks::progress::Progress;
use horus_benchmarks::session::{self, Effort, Session};
use horus_benchmarks::workload::Ends;
use horus_core::channel::spsc;
use horus_core::topic::Topic;
use serde_json::{Value, json};

const NAME: &str = "determinism_benchmark";

const ABOUT: &str = "How much the time of one message differs from that of another: a message of \
16 bytes is sent and received by one pinned thread, through a topic and through a channel in the \
process, and each is timed by itself. A round is a run with ends of its own. No sample is left \
out.";

const RUNS: u32 = 10;

/// Messages of a run, unless told otherwise; with `--quick`.
const SAMPLES: (u64, u64) = (100_000, 20_000);

/// What one message may take, in nanoseconds.
const DEADLINE_NS: f64 = 1000.0;

/// Messages that the channel has room for: as many as the topic has by default.
const CAPACITY: usize = 16;

const TOPIC: &str = "determinism/topic/16B";
const CHANNEL: &str = "determinism/spsc/16B";

const BASIS: &str = "send and receive, each timed by itself";

fn main() -> ExitCode {
    session::exit_code(NAME, run(Args::from_env(NAME, ABOUT)))
}

fn run(args: Args) -> Result<(), Box<dyn Error>> {
    let samples = args.samples.unwrap_or(if args.quick { SAMPLES.1 } else { SAMPLES.0 });
    let rounds = args.rounds.unwrap_or(RUNS);
    let effort = Effort { rounds, warm_up: samples.div_ceil(10), samples };
    let mut session = Session::begin_with(args, effort)?;
    let private = PrivateNamespace::create()?;
    let deadline_ticks = (DEADLINE_NS / session.clock.ns_per_tick()) as u64;
    let (source, warm_up) = (session.clock.source(), effort.warm_up);
    let plan = RunPlan { source, warm_up, samples, deadline_ticks };

    let (mut topic, mut channel) = (Vec::new(), Vec::new());
    let progress = Progress::new(u64::from(rounds) * 2);
    for number in 0..rounds {
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

    session.report.set("deadline_ns", DEADLINE_NS);
    for (id, runs) in [(TOPIC, topic), (CHANNEL, channel)] {
        if runs.is_empty() {
            continue;
        }
        let records: Vec<Value> = runs.iter().map(|run| run.record_of(&session.clock)).collect();
        session.report.note("runs", id, json!(records));
        let row = determinism::row(id, &runs, &session.clock);
        session.report.push(row, BASIS);
    }
    Ok(session.finish()?)
}

fn through_topic(
    private: &PrivateNamespace,
    number: u32,
    plan: &RunPlan,
) -> Result<Run, Box<dyn Error>> {
    let namespace = private.open()?;
    let name = format!("determinism_{number}");
    let builder = || Topic::<Packet16>::builder(&name).namespace(&namespace);
    let (mut publisher, mut subscriber) = (builder().publisher()?, builder().subscriber()?);
    let mut ends =
        Ends(|message: &Packet16| publisher.send(*message).is_ok(), || subscriber.recv());
    Ok(Run::measure(&mut ends, plan)?)
}

fn through_channel(plan: &RunPlan) -> Result<Run, Box<dyn Error>> {
    let (mut sender, mut receiver) = spsc::channel::<Packet16>(CAPACITY);
    let mut ends =
        Ends(|message: &Packet16| sender.try_send(*message).is_ok(), || receiver.try_recv().ok());
    Ok(Run::measure(&mut ends, plan)?)
}
