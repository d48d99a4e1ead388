//! Every path a message can take: latency, the cost of `send`, and throughput of every ring and
//! topic in one thread, between two and between two processes, each beside the floor.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use horus_benchmarks::args::Args;
use horus_benchmarks::bracket::{Bracketed, STEADY_RATIO_MAX, between_floors};
use horus_benchmarks::child::ChildContext;
use horus_benchmarks::floor::{self, FLOOR_ROLE, Floor, Lines, Placement};
use horus_benchmarks::goals::{self, FLOOR_NS, STATES};
use horus_benchmarks::loopback;
use horus_benchmarks::micro::MicroPlan;
use horus_benchmarks::namespace::PrivateNamespace;
use horus_benchmarks::path::{CAPACITY, Path, Ring, Size};
use horus_benchmarks::path_pair::{self, PathError, PathPair};
use horus_benchmarks::progress::Progress;
use horus_benchmarks::report::Row;
use horus_benchmarks::session::{self, Session};
use horus_benchmarks::side::{self, Direction, Side};
use horus_benchmarks::stats::{self, Samples};
use horus_benchmarks::stream::{StreamNote, StreamPlan, Streamed};
use horus_benchmarks::workload::{Round, Timing};
use serde_json::{Value, json};

const NAME: &str = "all_paths_latency";

const ABOUT: &str = "Latency, cost of send and throughput of every ring and topic, in one thread, \
between two threads and between two processes, as multiples of what two cache lines do.";

/// Seed of the bootstrap: the same samples give the same interval.
const SEED: u64 = 7;

/// Rounds and timed messages of each, for `--quick` and else. WHY: short rounds, many of them, so
/// that the floor is the same before and after most.
const QUICK: (u32, u64) = (20, 6_000);
const FULL: (u32, u64) = (40, 20_000);

/// Further rounds in which only the `send` call is timed, and one way by both counters.
const EXTRA_ROUNDS: u32 = 4;

/// 16-byte messages of a stream for each timed message of a round; larger ones are fewer.
const STREAM_FACTOR: u64 = 500;

/// About how long a stream may take, for `--quick` and else, on a machine with other work to do.
const STREAM_TIME: (Duration, Duration) = (Duration::from_millis(300), Duration::from_millis(600));

/// Messages of a stream at least, however slow it is.
const STREAM_MIN: u64 = 1000;

/// Rounds for each repetition of a stream.
const ROUNDS_PER_STREAM: u32 = 6;

const IN_ONE_THREAD: [Ring; 3] = [Ring::SpscShm, Ring::FanoutShm, Ring::Topic];

const ONE_WAY: [Ring; 7] = [
    Ring::SpscShm,
    Ring::MpscShm,
    Ring::SpmcShm,
    Ring::FanoutShm,
    Ring::FanoutShm2p2s,
    Ring::PodShm,
    Ring::Topic,
];

const STREAMS: [Ring; 5] =
    [Ring::SpscShm, Ring::MpscShm, Ring::FanoutShm, Ring::Topic, Ring::TopicReliable];

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    match ChildContext::enter() {
        Some(child) if child.role() == FLOOR_ROLE => floor::serve_child(&child),
        Some(child) => path_pair::serve_child(&child),
        None => session::exit_code(NAME, run(Args::from_env(NAME, ABOUT))),
    }
}

fn run(mut args: Args) -> Outcome {
    let (rounds, samples) = if args.quick { QUICK } else { FULL };
    args.rounds.get_or_insert(rounds);
    args.samples.get_or_insert(samples);
    let rows = Size::ALL.len() * (IN_ONE_THREAD.len() + 2 * ONE_WAY.len() + 3 * STREAMS.len());
    let mut bench = Bench {
        session: Session::begin(args)?,
        private: PrivateNamespace::create()?,
        progress: Progress::new(rows as u64),
    };
    bench.note_settings();
    bench.one_thread()?;
    for placement in [Placement::CrossThread, Placement::CrossProcess] {
        bench.two_ends(placement)?;
    }
    bench.progress.finish();
    let verdict = goals::verdict(&bench.session.report);
    bench.session.finish()?;
    if let Some(verdict) = verdict {
        println!("\n{verdict}");
    }
    Ok(())
}

struct Bench {
    session: Session,
    private: PrivateNamespace,
    progress: Progress,
}

impl Bench {
    fn note_settings(&mut self) {
        let (messages, repetitions) = (self.messages(Size::Small), self.repetitions());
        let report = &mut self.session.report;
        report.set("capacity", CAPACITY);
        report.set("capacity/pod_shm", "the ring's default");
        report.set("paths", "rings of the same kind there and back, new ones for every round");
        report.set("messages_per_stream_max/16B", messages);
        report.set("streams_per_row", repetitions);
        report.set("floor_change_max", STEADY_RATIO_MAX);
    }

    /// Whether a row was asked for. Says so on the terminal.
    fn wants(&self, id: &str) -> bool {
        self.progress.step();
        self.progress.label(id);
        self.session.args.wants(id)
    }

    /// Messages of one stream.
    fn messages(&self, size: Size) -> u64 {
        let all = self.session.effort.samples.saturating_mul(STREAM_FACTOR);
        let share = match size {
            Size::Small => 1,
            Size::Medium => 5,
            Size::Large => 15,
        };
        (all / share).max(1)
    }

    /// Streams of one row: an odd number.
    fn repetitions(&self) -> u32 {
        (self.session.effort.rounds / ROUNDS_PER_STREAM) | 1
    }

    fn one_thread(&mut self) -> Outcome {
        for path in Path::over(&IN_ONE_THREAD) {
            let id = format!("one_way/same_thread/{}", path.id());
            if self.wants(&id) {
                self.loop_round(&id, path)?;
            }
        }
        for path in Path::over(&STREAMS) {
            let id = format!("throughput/same_thread/{}", path.id());
            if self.wants(&id) {
                self.loop_streams(&id, path)?;
            }
        }
        Ok(())
    }

    fn open_loop(&self, id: &str, path: Path) -> Result<Box<dyn Side>, Box<dyn Error>> {
        let namespace = self.private.open()?;
        let out = Direction { name: id, create: true };
        let back = Direction { name: id, create: false };
        Ok(side::open(&namespace, path, out, back)?)
    }

    fn loop_round(&mut self, id: &str, path: Path) -> Outcome {
        let mut side = self.open_loop(id, path)?;
        let effort = self.session.effort;
        let batches = (u64::from(effort.rounds) * effort.samples / 4).max(1);
        let source = self.session.clock.source();
        let plan = MicroPlan { source, warm_up: batches.div_ceil(10), batches };
        let micro = side.loop_round(&plan, 1)?;
        let row = Row::micro(id, &micro, &self.session.clock);
        let basis = format!("{}; send + recv, batches of {}", path.ring.arrangement(), micro.batch);
        self.session.report.push(row, &basis);
        Ok(())
    }

    fn loop_streams(&mut self, id: &str, path: Path) -> Outcome {
        let mut side = self.open_loop(id, path)?;
        let (messages, producers) = (self.messages(path.size), path.ring.producers());
        let clock = &self.session.clock;
        let (mut streams, mut rates) = (Vec::new(), Vec::new());
        for number in 0..u64::from(self.repetitions()) {
            let plan = StreamPlan { messages, first_seq: 1 + number * messages, producers };
            let streamed = side.loop_stream(&plan, clock.source())?;
            path_pair::check_loss(path.ring, &streamed)?;
            rates.push(streamed.messages_per_s(clock.hz()));
            streams.push(streamed);
        }
        let row = Row::throughput(id, &streams, None).with_rates(&rates);
        let basis = format!("{}; bursts of {}", path.ring.arrangement(), loopback::BURST);
        self.session.report.push(row, &basis);
        Ok(())
    }

    /// All rows of one placement of two ends, and the floor they were measured beside.
    fn two_ends(&mut self, placement: Placement) -> Outcome {
        let place = placement.id();
        self.progress.label(place);
        let (cpus, effort) = (self.session.cpus, self.session.effort);
        let (mut floor, spin) = Floor::new(placement, cpus, &self.session.clock, effort)?;
        let source = self.session.clock.source();
        let pair = PathPair::start(placement, cpus, source, &self.private)?;
        self.session.report.set(&format!("spin/{place}"), serde_json::to_value(spin)?);
        let mut all = floor.round(Lines::Two, effort.warm_up, effort.samples)?;
        let mut ends = Ends { bench: self, floor, pair, place };
        for path in Path::over(&ONE_WAY) {
            let id = format!("one_way/{place}/{}", path.id());
            if ends.bench.wants(&id) {
                all.merge(&ends.one_way(&id, path)?);
            }
        }
        for path in Path::over(&STREAMS) {
            let id = format!("throughput/{place}/{}", path.id());
            if ends.bench.wants(&id) {
                ends.streams(&id, path)?;
            }
        }
        let id = format!("floor/{place}/two_lines/8B");
        if self.session.args.wants(&id) {
            self.session.report.push(Row::latency(&id, &all, &self.session.clock), "RTT/2");
        }
        Ok(())
    }
}

/// The two ends of a placement, of the floor and of the paths.
struct Ends<'a> {
    bench: &'a mut Bench,
    floor: Floor,
    pair: PathPair,
    place: &'static str,
}

impl Ends<'_> {
    /// Measures a row of latencies; all rounds of the floor beside it.
    fn one_way(&mut self, id: &str, path: Path) -> Result<Round, Box<dyn Error>> {
        let (effort, clock) = (self.bench.session.effort, &self.bench.session.clock);
        let (pair, floor) = (&mut self.pair, &mut self.floor);
        let measured = between_floors(
            effort.rounds,
            clock,
            || Ok::<_, Box<dyn Error>>(floor.round(Lines::Two, effort.warm_up, effort.samples)?),
            || {
                // WHY: two ends lock into a rhythm that stays as long as the rings do; one pair of
                // rings for the whole row would make its ratio a draw from a lottery.
                pair.open(path)?;
                Ok(pair.round(Timing::RoundTrip, effort.warm_up, effort.samples)?.0)
            },
        )?;
        let ratio = measured.pairs(|round| round.p50_ns(clock)).ratio(SEED);
        let states = measured.states(|round| round.p50_ns(clock), SEED);
        let trips = Round::merged(measured.all.iter().map(|bracket| &bracket.subject));
        let calls = self.extra(Timing::SendCall)?;
        let row = Row::latency(id, &trips.ok_or("no rounds")?, &self.bench.session.clock)
            .with_floor_ratio(ratio)
            .with_send_call(&calls.0, &self.bench.session.clock);
        self.one_way_by_tsc(id)?;
        self.bench.session.report.push(row, &format!("RTT/2; {}", path.ring.arrangement()));
        self.bench.session.report.note(STATES, id, serde_json::to_value(states)?);
        self.note_floor(id, &measured);
        measured.floor.ok_or_else(|| "no rounds of the floor".into())
    }

    /// A few more rounds of another timing: at the near end, and far-bound times.
    fn extra(&mut self, timing: Timing) -> Result<(Round, Samples), PathError> {
        let effort = self.bench.session.effort;
        let (mut near, echo) = self.pair.round(timing, effort.warm_up, effort.samples)?;
        let mut forward = echo.forward;
        for _ in 1..EXTRA_ROUNDS.min(effort.rounds) {
            let (round, echo) = self.pair.round(timing, effort.warm_up, effort.samples)?;
            near.merge(&round);
            forward.merge(&echo.forward);
        }
        Ok((near, forward))
    }

    /// Notes the one-way times by the two cores' counters, if these agree.
    fn one_way_by_tsc(&mut self, id: &str) -> Outcome {
        let offset = self.floor.check_offset(&self.bench.session.clock)?;
        let report = &mut self.bench.session.report;
        report.set(&format!("tsc_offset/{}", self.place), serde_json::to_value(offset)?);
        if !offset.sane {
            report.note("one_way_by_tsc", id, Value::Null);
            return Ok(());
        }
        let (near, mut samples) = self.extra(Timing::OneWay)?;
        samples.merge(&near.ticks);
        let ns = samples.percentiles(self.bench.session.clock.ns_per_tick());
        let note = json!({ "p50": ns.p50, "p99": ns.p99, "backwards": near.backwards });
        self.bench.session.report.note("one_way_by_tsc", id, note);
        Ok(())
    }

    /// Measures a row of throughput: the median of the streams beside a steady floor.
    fn streams(&mut self, id: &str, path: Path) -> Outcome {
        let (messages, repetitions) = (self.bench.messages(path.size), self.bench.repetitions());
        let limit = if self.bench.session.args.quick { STREAM_TIME.0 } else { STREAM_TIME.1 };
        let (effort, clock) = (self.bench.session.effort, &self.bench.session.clock);
        let (pair, floor) = (&mut self.pair, &mut self.floor);
        pair.open(path)?;
        // Warms up the rings' pages and both ends' caches, and shows how long a stream takes.
        let (_, first) = pair.stream(messages.div_ceil(20))?;
        let per_s = first.sent() as f64 / clock.to_ns(first.elapsed_ticks.max(1)) * 1e9;
        let fitting = (per_s * limit.as_secs_f64()) as u64;
        let messages = messages.min(fitting.max(STREAM_MIN));
        let measured = between_floors(
            repetitions,
            clock,
            || Ok::<_, Box<dyn Error>>(floor.round(Lines::Two, effort.warm_up, effort.samples)?),
            || Ok(pair.stream(messages)?),
        )?;
        let notes: Vec<StreamNote> =
            measured.all.iter().map(|bracket| StreamNote::new(bracket, clock.hz())).collect();
        let rates = |rate: fn(&StreamNote) -> f64| -> Vec<f64> {
            notes.iter().filter(|note| note.counts).map(rate).collect()
        };
        let received = rates(|note| note.msgs_per_s);
        let sent = stats::median(&mut rates(|note| note.sent_per_s));
        let streams: Vec<Streamed> = measured.all.iter().map(|bracket| bracket.subject.1).collect();
        let basis = format!("{}; sent {:.1}M/s", path.ring.arrangement(), sent / 1e6);
        let report = &mut self.bench.session.report;
        report.push(Row::throughput(id, &streams, None).with_rates(&received), &basis);
        report.note("streams", id, serde_json::to_value(notes)?);
        self.note_floor(id, &measured);
        Ok(())
    }

    fn note_floor<S>(&mut self, id: &str, measured: &Bracketed<S>) {
        let report = &mut self.bench.session.report;
        if let Some(range) = measured.floor_range_ns() {
            report.note(FLOOR_NS, id, range.to_vec());
        }
        report.note("rounds_repeated", id, measured.repeated);
        report.note("rounds_unsteady", id, measured.unsteady);
    }
}
