//! What the scheduler costs, how late its nodes are, and how fast a topic wakes one.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use horus_benchmarks::measure::pin;
use horus_benchmarks::measure::stats::{Samples, median};
use horus_benchmarks::measure::steal::StealWatch;
use horus_benchmarks::report::figures::Figures;
use horus_benchmarks::report::goals;
use horus_benchmarks::report::rows::Row;
use horus_benchmarks::run::args::Args;
use horus_benchmarks::run::namespace::PrivateNamespace;
use horus_benchmarks::run::progress::Progress;
use horus_benchmarks::run::session::Session;
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::scenario::lateness::{self, Lateness, LatenessPlan};
use horus_benchmarks::scenario::stalls::Stalls;
use horus_benchmarks::scenario::swapping::{MESSAGES_PER_SWAP, Swapping};
use horus_benchmarks::scenario::ticking::Ticking;
use horus_benchmarks::scenario::wakeup::{self, Mechanism};
use horus_shm::clock::{Clock, Source};
use serde_json::json;

const NAME: &str = "scheduler_benchmark";

const ABOUT: &str = "What a scheduler costs for each of its nodes, how late a node with a rate \
begins, beside a thread that only sleeps, how long it takes to wake a node in another process by \
a topic, beside a bare futex, and how fast a node can be replaced while messages go through it.";

/// Wakes of a round, unless told otherwise; with `--quick`. Each takes a tenth of a millisecond.
const SAMPLES: (u64, u64) = (500, 200);

/// Rounds of a scheduler for each of those.
const TICKS_PER_SAMPLE: u64 = 10;

/// Nodes, and what their row is called.
const TICKS: [(u64, &str); 5] = [
    (0, "tick/rust/0_nodes"),
    (1, "tick/rust/1_node"),
    (10, "tick/rust/10_nodes"),
    (50, "tick/rust/50_nodes"),
    (1000, "tick/rust/1000_nodes"),
];

/// As many nodes, timed by the kernel's clock.
const KERNEL_CLOCK: (u64, &str) = (50, "tick/rust/50_nodes/kernel_clock");

const TICK_BASIS: &str = "a round of all nodes, each timed by itself";

const SWAP: &str = "swap/blitz";

/// Swaps of a round for each of those samples.
const SWAPS_PER_SAMPLE: u64 = 10;

/// Rates, and whether processors are kept awake; their rows, and those of their floors; seconds for
/// each, with `--quick`.
const LATENESS: [(u32, bool, &str, &str, (u64, u64)); 4] = [
    (1000, false, "lateness/1kHz", "floor/nanosleep/1kHz", (60, 6)),
    (10_000, false, "lateness/10kHz", "floor/nanosleep/10kHz", (12, 6)),
    (1000, true, "lateness/1kHz/awake", "floor/nanosleep/1kHz/awake", (60, 6)),
    (10_000, true, "lateness/10kHz/awake", "floor/nanosleep/10kHz/awake", (12, 6)),
];

/// How long stalls are looked for; with `--quick`.
const STALLS_TIME: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(2));

/// Of the threads that are to be in time.
const PRIORITY: u8 = 80;

/// Group of the settings with what threads were to have and could not.
const REFUSED: &str = "refused";

fn main() -> ExitCode {
    entry::main(NAME, ABOUT, &[wakeup::ROLE], run)
}

fn run(mut args: Args) -> Outcome {
    let ticks_asked = args.samples;
    args.samples.get_or_insert(if args.quick { SAMPLES.1 } else { SAMPLES.0 });
    let mut session = Session::begin(args)?;
    let private = PrivateNamespace::create()?;
    tick(&mut session, &private)?;
    swap(&mut session, &private)?;
    late(&mut session, &private, ticks_asked)?;
    wake(&mut session, &private)?;
    Ok(session.finish()?)
}

/// A scheduler, and what was measured of it.
struct Ticked {
    id: &'static str,
    ticking: Ticking,
    samples: Samples,
    /// Median of each round, in ticks of the counter.
    p50: Vec<f64>,
}

/// Rounds of schedulers with nodes that only count.
fn tick(session: &mut Session, private: &PrivateNamespace) -> Result<(), Box<dyn Error>> {
    let mut all = Vec::new();
    // WHY on the far CPU: a scheduler's supervisor stays where it was started.
    pin::pin_current_thread(session.cpus.far)?;
    let wanted = TICKS.into_iter().map(|row| (row, false)).chain([(KERNEL_CLOCK, true)]);
    for ((nodes, id), by_kernel) in wanted {
        if session.args.wants(id) {
            let ticking = Ticking::start(nodes, by_kernel, &private.open()?)?;
            all.push(Ticked { id, ticking, samples: Samples::new(), p50: Vec::new() });
        }
    }
    pin::pin_current_thread(session.cpus.near)?;
    let (effort, clock) = (session.effort, &session.clock);
    let progress = Progress::new(u64::from(effort.rounds) * all.len() as u64);
    for _ in 0..effort.rounds {
        // One of each in turn, so that all of them meet the machine in the same state.
        for one in &mut all {
            progress.label(one.id);
            let [warm_up, samples] =
                [effort.warm_up, effort.samples].map(|count| count * TICKS_PER_SAMPLE);
            let round = one.ticking.rounds(clock.source(), warm_up, samples);
            one.p50.push(round.median_within(clock.resolution_ticks()));
            one.samples.merge(&round);
            progress.step();
        }
    }
    progress.finish();
    if !all.is_empty() {
        let source = Clock::new().source();
        session.report.set("scheduler_clock", format!("{source:?}").to_lowercase());
        if source != Source::Counter {
            let warning = "the scheduler does not trust the counter here: ticks by the kernel's";
            session.report.machine.warnings.push(warning.to_owned());
        }
    }
    for Ticked { id, ticking, samples, mut p50 } in all {
        let nodes = ticking.nodes().max(1) as f64;
        ticking.finish()?;
        let ns_per_node = Some(session.clock.ns_per_tick() * median(&mut p50) / nodes);
        let row = Row::samples(id, &samples, session.clock.ns_per_tick());
        let figures = Figures { ns_per_node, ..Figures::default() };
        session.report.push(Row { figures, ..row }, TICK_BASIS);
    }
    Ok(())
}

/// A node that is replaced again and again, while messages go through it.
fn swap(session: &mut Session, private: &PrivateNamespace) -> Result<(), Box<dyn Error>> {
    if !session.args.wants(SWAP) {
        return Ok(());
    }
    pin::pin_current_thread(session.cpus.far)?;
    let mut swapping = Swapping::start(&private.open()?)?;
    pin::pin_current_thread(session.cpus.near)?;
    let (effort, clock) = (session.effort, &session.clock);
    swapping.round(clock.source(), effort.warm_up * SWAPS_PER_SAMPLE)?;
    let (mut samples, mut per_s) = (Samples::new(), Vec::new());
    for _ in 0..effort.rounds {
        let round = swapping.round(clock.source(), effort.samples * SWAPS_PER_SAMPLE)?;
        samples.merge(&round.ticks);
        per_s.push(round.swaps as f64 / clock.to_ns(round.elapsed_ticks) * 1e9);
    }
    let (sent, received) = swapping.finish();
    if sent != received {
        return Err(format!("{sent} messages were sent and {received} handled").into());
    }
    let swaps_per_s = median(&mut per_s);
    let row = Row::samples(SWAP, &samples, clock.ns_per_tick());
    let figures = Figures { swaps_per_s: Some(swaps_per_s), ..Figures::default() };
    let msgs_per_s = Some(swaps_per_s * MESSAGES_PER_SWAP as f64);
    let basis = format!("a swap, {MESSAGES_PER_SWAP} messages and a turn, on one thread");
    session.report.push(Row { sent, received, msgs_per_s, figures, ..row }, &basis);
    Ok(())
}

/// Nodes with a rate, and the floor of the same rate before each.
fn late(
    session: &mut Session,
    private: &PrivateNamespace,
    ticks_asked: Option<u64>,
) -> Result<(), Box<dyn Error>> {
    if session.args.wants(goals::STALLS) {
        let time = if session.args.quick { STALLS_TIME.1 } else { STALLS_TIME.0 };
        let stalls = Stalls::find(session.cpus.far, PRIORITY, time)?;
        refusals(session, goals::STALLS, &stalls.refused);
        let basis = format!(
            "pauses of a thread that only reads the clock; CPU {}, priority {PRIORITY}",
            session.cpus.far
        );
        session.report.push(stalls.row(goals::STALLS), &basis);
    }
    for (hz, awake, id, floor, seconds) in LATENESS {
        let seconds = if session.args.quick { seconds.1 } else { seconds.0 };
        let ticks = ticks_asked.unwrap_or(seconds * u64::from(hz)).max(2);
        let cpu = session.cpus.far;
        let plan = LatenessPlan { hz, ticks, cpu, priority: PRIORITY, awake };
        if session.args.wants(floor) {
            let lateness = lateness::of_sleep(plan)?;
            note(session, floor, &lateness, &plan, "a bare clock_nanosleep, from due to awake");
        }
        if session.args.wants(id) {
            let watch = StealWatch::start(cpu)?;
            let lateness = lateness::of_node(&plan, &private.open()?)?;
            let windows = watch.stop()?;
            note(session, id, &lateness, &plan, "from due to the begin of the tick");
            let quiet = format!("{id}{}", goals::QUIET);
            if let Some(row) = lateness.quiet_row(&quiet, &plan, &windows) {
                session.report.push(row, &format!("of {id}: {}", windows.describe()));
            }
        }
    }
    Ok(())
}

fn note(session: &mut Session, id: &str, lateness: &Lateness, plan: &LatenessPlan, basis: &str) {
    refusals(session, id, &lateness.refused);
    let LatenessPlan { hz, cpu, priority, awake, .. } = plan;
    let awake = if *awake { ", processors kept awake" } else { "" };
    let basis = format!("{basis}; {hz} Hz, CPU {cpu}, priority {priority}{awake}");
    session.report.push(lateness.row(id, plan), &basis);
}

fn refusals(session: &mut Session, id: &str, refused: &[String]) {
    session.report.note(REFUSED, id, json!(refused));
    let warnings = refused.iter().map(|refused| format!("{id}: refused: {refused}"));
    session.report.machine.warnings.extend(warnings);
}

/// A node in another process, and a bare futex.
fn wake(session: &mut Session, private: &PrivateNamespace) -> Result<(), Box<dyn Error>> {
    if !session.args.wants(Mechanism::EventNode.id()) {
        return Ok(());
    }
    wakeup::check_counters(session)?;
    // The futex comes along whatever the filter says: it is what the node is compared with.
    wakeup::compare(session, private, &[Mechanism::Futex, Mechanism::EventNode])
}
