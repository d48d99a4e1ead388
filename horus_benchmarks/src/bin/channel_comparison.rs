//! Our channels between threads beside those of other crates: latency and throughput.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use horus_benchmarks::measure::micro::MicroPlan;
use horus_benchmarks::measure::payload::size_label;
use horus_benchmarks::report::rows::Row;
use horus_benchmarks::run::args::Args;
use horus_benchmarks::run::floor::{Floor, Placement};
use horus_benchmarks::run::progress::Progress;
use horus_benchmarks::run::session::{self, Session};
use horus_benchmarks::scenario::contest::{Arena, Group};
use horus_benchmarks::transport::channels::{self, CAPACITY, Channel, Meeting, Shape, Width};
use horus_benchmarks::transport::pair::Pair;

const NAME: &str = "channel_comparison";

const ABOUT: &str = "Our channels between threads beside rtrb, disruptor, crossbeam-channel, std, \
kanal and flume: a send and a receive on one thread, latency and throughput between two threads, \
for messages of 8 to 1024 bytes, in rounds that alternate.";

/// Rounds and timed messages of each, for `--quick` and else.
const QUICK: (u32, u64) = (20, 4_000);
const FULL: (u32, u64) = (40, 10_000);

/// How long one stream takes.
const STREAM_TIME: Duration = Duration::from_millis(1);

/// Streams in each round, for `--quick` and else.
const PARTS: (u32, u32) = (9, 31);

const SHAPES: [Shape; 3] = [Shape::OneToOne, Shape::TwoToOne, Shape::OneToTwo];

fn main() -> ExitCode {
    session::exit_code(NAME, run(Args::from_env(NAME, ABOUT)))
}

fn run(mut args: Args) -> Result<(), Box<dyn Error>> {
    let (rounds, samples) = if args.quick { QUICK } else { FULL };
    args.rounds.get_or_insert(rounds);
    args.samples.get_or_insert(samples);
    let parts = if args.quick { PARTS.0 } else { PARTS.1 };
    let mut session = Session::begin(args)?;
    session.report.set("capacity", CAPACITY);
    session.report.set("stream_ms", STREAM_TIME.as_millis() as u64);
    session.report.set("streams_per_round", parts);
    one_thread(&mut session)?;
    two_threads(&mut session, parts)?;
    Ok(session.finish()?)
}

fn one_thread(session: &mut Session) -> Result<(), Box<dyn Error>> {
    let batches = (u64::from(session.effort.rounds) * session.effort.samples / 40).max(1);
    let source = session.clock.source();
    let plan = MicroPlan { source, warm_up: batches.div_ceil(10), batches };
    for width in Width::ALL {
        for maker in channels::IN_ONE_THREAD {
            let id = format!("one_way/same_thread/{}/{}", maker.id(), size_label(width.bytes()));
            if session.args.wants(&id) {
                let micro = channels::in_one_thread(maker, width, &plan)?;
                let basis = format!("send + recv, batches of {}", micro.batch);
                session.report.push(Row::micro(&id, &micro, &session.clock), &basis);
            }
        }
    }
    Ok(())
}

fn two_threads(session: &mut Session, parts: u32) -> Result<(), Box<dyn Error>> {
    let (cpus, source) = (session.cpus, session.clock.source());
    let (floor, spin) = Floor::new(Placement::CrossThread, cpus, &session.clock, session.effort)?;
    session.report.set("spin/cross_thread", serde_json::to_value(spin)?);
    let meeting = Meeting::default();
    let pair = Pair::threads(cpus, source, [meeting.clone(), meeting])?;
    let progress = Progress::new((2 * SHAPES.len() * Width::ALL.len()) as u64);
    let mut arena = Arena { session, floor, pair, progress: &progress };
    for shape in SHAPES {
        for width in Width::ALL {
            let group = Group {
                entrants: Channel::entrants(shape, width),
                place: shape.id().to_owned(),
                size: size_label(width.bytes()),
            };
            arena.latency(&group)?;
            arena.throughput_in_parts(&group, STREAM_TIME, parts)?;
        }
    }
    progress.finish();
    Ok(())
}
