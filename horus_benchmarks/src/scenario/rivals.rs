//! Ours beside theirs where a contest of two ends does not fit: in one thread.

use std::error::Error;

use crate::measure::micro::{Micro, MicroPlan};
use crate::report::rows::Row;
use crate::report::versus::{self, Measure};
use crate::run::namespace::PrivateNamespace;
use crate::run::session::Session;
use crate::scenario::entry::Outcome;
use crate::transport::path::Path;
use crate::transport::side::{self, Direction, Side};

/// Seed of the bootstrap: the same samples give the same interval.
const SEED: u64 = 7;

/// Index of ours in what there are two of.
const OURS: usize = 0;

/// Adds the row `id` that compares figures of rounds next to each other, of `count` messages.
pub fn push(
    session: &mut Session,
    id: &str,
    [ours, theirs]: [&[f64]; 2],
    count: u64,
    basis: &str,
) -> Outcome {
    let row = versus::row(id, Measure::Latency, ours, theirs, SEED).ok_or("no rounds")?;
    session.report.push(Row { sent: count, received: count, ..row }, basis);
    Ok(())
}

/// Sends and receives in this thread over both paths, in turn: the row `id`, and one of each.
pub fn same_thread(
    session: &mut Session,
    private: &PrivateNamespace,
    id: &str,
    paths: [Path; 2],
) -> Outcome {
    let (namespace, effort, clock) = (private.open()?, session.effort, &session.clock);
    let open = |path: Path| -> Result<Box<dyn Side>, Box<dyn Error>> {
        let name = format!("same_thread/{}", path.id());
        let direction = |create| Direction { name: &name, create };
        Ok(side::open(&namespace, path, direction(true), direction(false))?)
    };
    let mut sides = [open(paths[0])?, open(paths[1])?];
    let batches = effort.samples.div_ceil(4);
    let plan = MicroPlan { source: clock.source(), warm_up: batches.div_ceil(10), batches };
    let (mut p50_ns, mut next_seq) = ([Vec::new(), Vec::new()], [1, 1]);
    let mut all: [Option<Micro>; 2] = [None, None];
    for round in 0..effort.rounds {
        // Every other round begins with theirs, so that a drift favours neither.
        let first = if round.is_multiple_of(2) { OURS } else { 1 - OURS };
        for turn in [first, 1 - first] {
            let micro = sides[turn].loop_round(&plan, next_seq[turn])?;
            next_seq[turn] += (plan.warm_up + plan.batches) * micro.batch;
            let ticks = micro.batches.median_within(clock.resolution_ticks());
            p50_ns[turn].push(ticks * clock.ns_per_tick() / micro.batch as f64);
            match &mut all[turn] {
                Some(all) => all.merge(&micro),
                none => *none = Some(micro),
            }
        }
    }
    let mut count = 0;
    for (micro, path) in all.iter().flatten().zip(paths) {
        let row = Row::micro(&format!("one_way/same_thread/{}", path.id()), micro, &session.clock);
        count += row.received;
        let basis = format!("{}; batches of {}", path.ring.arrangement(), micro.batch);
        session.report.push(row, &basis);
    }
    push(session, id, [&p50_ns[0], &p50_ns[1]], count, "send + recv, in batches")
}
