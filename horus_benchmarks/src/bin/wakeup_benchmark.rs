//! Waking a blocked receiver in another process: how long it takes, and what it costs the sender.

use std::error::Error;
use std::process::ExitCode;

use horus_benchmarks::args::Args;
use horus_benchmarks::child::ChildContext;
use horus_benchmarks::floor::{self, FLOOR_ROLE, Floor, Placement};
use horus_benchmarks::goals::{self, RATIOS};
use horus_benchmarks::micro::MicroPlan;
use horus_benchmarks::namespace::PrivateNamespace;
use horus_benchmarks::progress::Progress;
use horus_benchmarks::report::{Row, SendCall};
use horus_benchmarks::session::{self, Effort, Session};
use horus_benchmarks::stats::{Alternation, Samples};
use horus_benchmarks::wakeup::{self, WakeupPair, Way, Woken, awake_sends};
use horus_core::topic::WakeEdge;
use serde_json::json;

const NAME: &str = "wakeup_benchmark";

const ABOUT: &str = "How long it takes to wake a receiver that is blocked in another process, from \
before the send to after its blocked call returned: topics, a wait set, a bare futex, a pipe and, \
with the feature iceoryx2, an iceoryx2 event. And what a send costs when nobody sleeps.";

/// Seed of the bootstrap: the same samples give the same interval.
const SEED: u64 = 7;

/// Wakes of a round, unless told otherwise; with `--quick`. Each takes a tenth of a millisecond.
const SAMPLES: (u64, u64) = (500, 200);

/// Of the check of the counters: messages enough for a median.
const CHECK: Effort = Effort { rounds: 1, warm_up: 100, samples: 2000 };

const BASIS: &str = "TSC of both CPUs; asleep for 50 us before each send";

fn main() -> ExitCode {
    match ChildContext::enter() {
        Some(child) if child.role() == FLOOR_ROLE => floor::serve_child(&child),
        Some(child) => wakeup::serve_child(&child),
        None => session::exit_code(NAME, run(Args::from_env(NAME, ABOUT))),
    }
}

fn run(mut args: Args) -> Result<(), Box<dyn Error>> {
    args.samples.get_or_insert(if args.quick { SAMPLES.1 } else { SAMPLES.0 });
    let mut session = Session::begin(args)?;
    check_counters(&mut session)?;
    let private = PrivateNamespace::create()?;
    wake(&mut session, &private)?;
    for (edge, name) in [(WakeEdge::Membarrier, "topic"), (WakeEdge::Fence, "topic_fence")] {
        nobody_asleep(&mut session, &private, edge, name)?;
    }
    let verdict = goals::verdict(&session.report);
    session.finish()?;
    if let Some(verdict) = verdict {
        println!("\n{verdict}");
    }
    Ok(())
}

/// Whether times by the counters of both CPUs mean anything.
fn check_counters(session: &mut Session) -> Result<(), Box<dyn Error>> {
    let (mut floor, _) = Floor::new(Placement::CrossProcess, session.cpus, &session.clock, CHECK)?;
    let offset = floor.check_offset(&session.clock)?;
    session.report.set("tsc_offset/cross_process", serde_json::to_value(offset)?);
    if !offset.sane {
        let warning = format!("the CPUs' counters differ by {:.0} ns", offset.offset_ns);
        session.report.machine.warnings.push(warning);
    }
    Ok(())
}

/// Everything that was measured of one way.
struct Measured {
    way: Way,
    latency: Samples,
    send: Samples,
    /// Median of each round, in ticks.
    p50: Vec<f64>,
}

impl Measured {
    fn take(&mut self, woken: &Woken, resolution: u64) {
        self.latency.merge(&woken.latency);
        self.send.merge(&woken.send);
        self.p50.push(woken.latency.median_within(resolution));
    }
}

/// A round of each way, again and again, so that all of them meet the machine in the same state.
fn wake(session: &mut Session, private: &PrivateNamespace) -> Result<(), Box<dyn Error>> {
    let ways: Vec<_> =
        Way::ALL.iter().copied().filter(|way| session.args.wants(way.id())).collect();
    let (effort, clock) = (session.effort, &session.clock);
    let mut pair = WakeupPair::start(&ways, session.cpus, clock.source(), private)?;
    let empty = |&way| {
        let (latency, send, p50) = (Samples::new(), Samples::new(), Vec::new());
        Measured { way, latency, send, p50 }
    };
    let mut all: Vec<_> = ways.iter().map(empty).collect();
    let progress = Progress::new(u64::from(effort.rounds) * all.len() as u64);
    for _ in 0..effort.rounds {
        for one in &mut all {
            progress.label(one.way.id());
            let woken = pair.round(one.way, effort.warm_up, effort.samples)?;
            one.take(&woken, clock.resolution_ticks());
            progress.step();
        }
    }
    progress.finish();
    pair.close()?;
    for one in &all {
        let row = Row::samples(one.way.id(), &one.latency, session.clock.ns_per_tick());
        let send = one.send.percentiles(session.clock.ns_per_tick());
        let send_ns = Some(SendCall { p50: send.p50, p99: send.p99 });
        session.report.push(Row { send_ns, ..row }, BASIS);
        let others = all.iter().filter(|other| other.way != one.way);
        let ratios = others.filter_map(|other| ratio(one, other)).collect();
        session.report.note(RATIOS, one.way.id(), serde_json::Value::Object(ratios));
    }
    Ok(())
}

/// How much longer `one` takes than `other`, round by round: what [`goals`] looks at.
fn ratio(one: &Measured, other: &Measured) -> Option<(String, serde_json::Value)> {
    let mut pairs = Alternation::default();
    one.p50.iter().zip(&other.p50).for_each(|(&one, &other)| pairs.push(other, one));
    let ratio = pairs.ratio(SEED)?;
    Some((other.way.id().to_owned(), json!([ratio.median, ratio.low, ratio.high])))
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
