//! Rounds of several ways to be woken, interleaved and compared.

use std::error::Error;

use serde_json::{Value, json};

use super::{WakeupPair, Way, Woken};
use crate::measure::stats::{Alternation, Samples};
use crate::report::goals::RATIOS;
use crate::report::rows::{Row, SendCall};
use crate::run::args::Effort;
use crate::run::floor::{Floor, Placement};
use crate::run::namespace::PrivateNamespace;
use crate::run::progress::Progress;
use crate::run::session::Session;
use crate::scenario::comparison;

/// Seed of the bootstrap: the same samples give the same interval.
const SEED: u64 = 7;

/// Of the check of the counters: messages enough for a median.
const CHECK: Effort = Effort { rounds: 1, warm_up: 100, samples: 2000 };

const BASIS: &str = "TSC of both CPUs; asleep for 50 us before each send";

/// Notes in the report whether times by the counters of both CPUs mean anything. The program's
/// `main` serves [`FLOOR_ROLE`](crate::run::floor::FLOOR_ROLE).
pub fn check_counters(session: &mut Session) -> Result<(), Box<dyn Error>> {
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
    fn new(way: Way) -> Measured {
        Measured { way, latency: Samples::new(), send: Samples::new(), p50: Vec::new() }
    }

    fn take(&mut self, woken: &Woken, resolution: u64) {
        self.latency.merge(&woken.latency);
        self.send.merge(&woken.send);
        self.p50.push(woken.latency.median_within(resolution));
    }
}

/// A round of each way, again and again, so that all of them meet the machine in the same state;
/// their rows, and the ratio of each to each, go into the report.
pub fn compare(
    session: &mut Session,
    private: &PrivateNamespace,
    ways: &[Way],
) -> Result<(), Box<dyn Error>> {
    let all = measure(session, private, ways)?;
    push_rows(session, &all);
    Ok(())
}

/// The rows of ways that were measured, and the ratio of each to each.
fn push_rows(session: &mut Session, all: &[Measured]) {
    for one in all {
        let row = Row::samples(one.way.id(), &one.latency, session.clock.ns_per_tick());
        let send = one.send.percentiles(session.clock.ns_per_tick());
        let send_ns = Some(SendCall { p50: send.p50, p99: send.p99 });
        session.report.push(Row { send_ns, ..row }, BASIS);
        let others = all.iter().filter(|other| other.way != one.way);
        let ratios = others.filter_map(|other| ratio(one, other)).collect();
        session.report.note(RATIOS, one.way.id(), Value::Object(ratios));
    }
}

/// [`compare`] of ours and theirs, and the row `id` with the ratio of both.
pub fn duel(
    session: &mut Session,
    private: &PrivateNamespace,
    id: &str,
    ways: [Way; 2],
) -> Result<(), Box<dyn Error>> {
    let all = measure(session, private, &ways)?;
    push_rows(session, &all);
    let [ours, theirs] = &all[..] else { return Err("two ways are compared".into()) };
    let count = ours.latency.count() + theirs.latency.count();
    let ns_per_tick = session.clock.ns_per_tick();
    let ns = |one: &Measured| one.p50.iter().map(|p50| p50 * ns_per_tick).collect::<Vec<f64>>();
    comparison::push(session, id, [&ns(ours), &ns(theirs)], count, BASIS)
}

/// A round of each way, again and again.
fn measure(
    session: &Session,
    private: &PrivateNamespace,
    ways: &[Way],
) -> Result<Vec<Measured>, Box<dyn Error>> {
    let (effort, clock) = (session.effort, &session.clock);
    let mut pair = WakeupPair::start(ways, session.cpus, clock.source(), private)?;
    let mut all: Vec<_> = ways.iter().copied().map(Measured::new).collect();
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
    Ok(all)
}

/// Returns how much longer `one` takes than `other`, round by round, for
/// [`goals`](crate::report::goals).
fn ratio(one: &Measured, other: &Measured) -> Option<(String, Value)> {
    let mut pairs = Alternation::default();
    one.p50.iter().zip(&other.p50).for_each(|(&one, &other)| pairs.push(other, one));
    let ratio = pairs.ratio(SEED)?;
    Some((other.way.id().to_owned(), json!([ratio.median, ratio.low, ratio.high])))
}
