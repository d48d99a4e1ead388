//! Publishers and subscribers of one topic, more and more of them: what is delivered, what is lost.

use std::process::ExitCode;
use std::time::Duration;

use horus_benchmarks::measure::pin;
use horus_benchmarks::measure::stats;
use horus_benchmarks::report::figures::Figures;
use horus_benchmarks::report::rows::Row;
use horus_benchmarks::run::args::Args;
use horus_benchmarks::run::args::Effort;
use horus_benchmarks::run::namespace::PrivateNamespace;
use horus_benchmarks::run::progress::Progress;
use horus_benchmarks::run::session::Session;
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::scenario::scaling::{
    CAPACITY, Crew, Crowd, Delivered, Members, ScalingError,
};

const NAME: &str = "scalability_benchmark";

const ABOUT: &str = "Publishers and subscribers of one topic, 1 to 8 of each, as threads and as \
processes: messages delivered a second to all of them together and by member, and messages lost. \
Every subscriber gets every message.";

const BASIS: &str = "best-effort topic, 16 B; a message counts once for each subscriber";

/// Streams of each row, for `--quick` and else.
const ROUNDS: (u32, u32) = (5, 15);

/// About how long each stream takes, for `--quick` and else.
const TIME: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(300));

/// Messages of each publisher in the stream that shows how long one takes.
const PROBE: u64 = 5_000;

/// Messages of each publisher in a stream, at most.
const MESSAGES_MAX: u64 = 5_000_000;

fn main() -> ExitCode {
    entry::main(NAME, ABOUT, run)
}

fn run(args: Args) -> Outcome {
    let (rounds, time) = if args.quick { (ROUNDS.0, TIME.0) } else { (ROUNDS.1, TIME.1) };
    let (rounds, samples) = (args.rounds.unwrap_or(rounds), args.samples.unwrap_or(MESSAGES_MAX));
    let cpus = pin::allowed_cpus()?;
    let mut session = Session::begin_with(args, Effort { rounds, warm_up: 0, samples })?;
    session.report.set("capacity", CAPACITY);
    session.report.set("stream_ms", time.as_millis() as u64);
    let private = PrivateNamespace::create()?;
    let progress = Progress::new(2 * Crowd::ALL.len() as u64);
    for members in [Members::Threads, Members::Processes] {
        let mut base = None;
        for crowd in Crowd::ALL {
            let id = format!("scalability/{}/{}", members.id(), crowd.id());
            progress.step();
            progress.label(&id);
            if !session.args.wants(&id) {
                continue;
            }
            let mut crew = Crew::new(members, crowd, &cpus, session.clock.source(), &private)?;
            let streams = streams(&session, &mut crew, time)?;
            let row = row(&id, crowd, &streams, session.clock.hz(), &mut base);
            session.report.push(row, BASIS);
        }
    }
    progress.finish();
    session.finish()?;
    Ok(())
}

/// The streams of a row, each about as long as `time`.
fn streams(
    session: &Session,
    crew: &mut Crew,
    time: Duration,
) -> Result<Vec<Delivered>, ScalingError> {
    let Effort { rounds, samples, .. } = session.effort;
    let probe = PROBE.min(samples);
    let seconds = session.clock.to_ns(crew.stream(probe)?.elapsed_ticks.max(1)) / 1e9;
    let fitting = (probe as f64 / seconds * time.as_secs_f64()) as u64;
    let messages = fitting.clamp(probe, samples);
    (0..rounds).map(|_| crew.stream(messages)).collect()
}

/// The row of a crowd. The first one of its kind is the base of the others.
fn row(id: &str, crowd: Crowd, streams: &[Delivered], hz: f64, base: &mut Option<f64>) -> Row {
    let rate = |one: &Delivered| one.received as f64 / one.elapsed_ticks.max(1) as f64 * hz;
    let rate = stats::median(&mut streams.iter().map(rate).collect::<Vec<f64>>());
    if crowd == Crowd::ALL[0] {
        *base = Some(rate);
    }
    let pairs = crowd.producers.min(crowd.consumers) as f64;
    let sum = |field: fn(&Delivered) -> u64| streams.iter().map(field).sum();
    let figures = Figures {
        msgs_per_s_per_member: Some(rate / crowd.members() as f64),
        scaling_percent: base.map(|base| rate / base / pairs * 100.0),
        ..Figures::default()
    };
    let row = Row {
        id: id.to_owned(),
        sent: sum(|one| one.sent),
        received: sum(|one| one.received),
        lost: sum(|one| one.lost),
        msgs_per_s: Some(rate),
        figures,
        ..Row::default()
    };
    row.with_busy_threads(crowd.members())
}
