//! Ours against theirs: alternating rounds in one run, and how many times better ours is.

use std::error::Error;

use crate::entry::Outcome;
use crate::floor::Placement;
use crate::micro::MicroPlan;
use crate::namespace::PrivateNamespace;
use crate::path::{Path, Ring, Size};
use crate::path_pair::PathPair;
use crate::report::Row;
use crate::session::Session;
use crate::side::{self, Direction, Side};
use crate::stats::{self, Alternation, Ratio, Samples};
use crate::stream::Streamed;
use crate::survey::carry;
use crate::workload::{Round, Timing};

/// Seed of the bootstrap: the same samples give the same interval.
const SEED: u64 = 7;

/// Messages that show how long a stream takes.
const TRIAL_MESSAGES: u64 = 20_000;

/// About how long a stream may take, in nanoseconds.
const STREAM_NS: f64 = 100e6;

/// A figure of ours and of theirs for each round.
#[derive(Debug, Clone, Default)]
pub struct Scores {
    /// Ours, in the order of the rounds.
    pub ours: Vec<f64>,
    /// Theirs.
    pub theirs: Vec<f64>,
}

/// Which figure is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// The smaller one: nanoseconds.
    Less,
    /// The larger one: messages a second.
    More,
}

impl Scores {
    /// How many times better ours is: median over the rounds, with its interval.
    pub fn ratio(&self, better: Better) -> Option<Ratio> {
        let mut pairs = Alternation::default();
        for (&ours, &theirs) in self.ours.iter().zip(&self.theirs) {
            match better {
                Better::Less => pairs.push(ours, theirs),
                Better::More => pairs.push(theirs, ours),
            }
        }
        pairs.ratio(SEED)
    }

    /// A row of the two medians and the ratio, of so many messages; `None` without rounds.
    pub fn row(&self, id: &str, better: Better, sent: u64, received: u64) -> Option<Row> {
        let ratio = self.ratio(better)?;
        let mut row = Row { sent, received, lost: sent - received, ..Row::default() };
        row.id = id.to_owned();
        row.figures.ours = Some(stats::median(&mut self.ours.clone()));
        row.figures.theirs = Some(stats::median(&mut self.theirs.clone()));
        row.figures.ratio = Some(ratio.median);
        row.figures.ratio_ci = Some([ratio.low, ratio.high]);
        Some(row)
    }
}

/// One comparison: the same message over two rings.
#[derive(Debug, Clone, Copy)]
pub struct Contest {
    /// Last part of the row's id, with the size: `cross_process/16B`.
    pub id: &'static str,
    /// Ours.
    pub ours: Ring,
    /// Theirs.
    pub theirs: Ring,
    /// The message.
    pub size: Size,
    /// What is compared, and where.
    pub kind: Kind,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Send and receive in one thread, in batches.
    SameThread,
    /// Half a round trip between two ends.
    OneWay(Placement),
    /// A stream between two processes.
    Throughput,
}

impl Contest {
    fn paths(&self) -> [Path; 2] {
        [self.ours, self.theirs].map(|ring| Path { ring, size: self.size })
    }
}

/// Whose turn it is: an index into what there are two of.
const OURS: usize = 0;
const THEIRS: usize = 1;

/// The order of a round: every other one begins with theirs, so that a drift favours neither.
fn turns(round: u32) -> [usize; 2] {
    if round.is_multiple_of(2) { [OURS, THEIRS] } else { [THEIRS, OURS] }
}

/// Runs one comparison: its row, and one for each of the two with all percentiles or the rate.
///
/// # Errors
///
/// If an end fails, or a message is not what was sent.
pub fn run(
    session: &mut Session,
    private: &PrivateNamespace,
    rival: &str,
    contest: &Contest,
) -> Outcome {
    let id = format!("vs_{rival}/{}", contest.id);
    if !session.args.wants(&id) {
        return Ok(());
    }
    match contest.kind {
        Kind::SameThread => same_thread(session, private, &id, contest),
        Kind::OneWay(placement) => one_way(session, private, &id, contest, placement),
        Kind::Throughput => throughput(session, private, &id, contest),
    }
}

fn push(session: &mut Session, row: Option<Row>, contest: &Contest, unit: &str) -> Outcome {
    let row = row.ok_or("no rounds")?;
    let [ours, theirs] = [contest.ours, contest.theirs].map(Ring::arrangement);
    let basis = session.basis(&format!("{unit}; ours: {ours}; theirs: {theirs}"));
    session.report.push(row, &basis);
    Ok(())
}

fn same_thread(
    session: &mut Session,
    private: &PrivateNamespace,
    id: &str,
    contest: &Contest,
) -> Outcome {
    let (namespace, effort, clock) = (private.open()?, session.effort, &session.clock);
    let open = |path: Path| -> Result<Box<dyn Side>, Box<dyn Error>> {
        let name = format!("{id}/{}", path.id());
        let direction = |create| Direction { name: &name, create };
        Ok(side::open(&namespace, path, direction(true), direction(false))?)
    };
    let [ours, theirs] = contest.paths();
    let mut sides = [open(ours)?, open(theirs)?];
    let batches = effort.samples.div_ceil(4);
    let plan = MicroPlan { source: clock.source(), warm_up: batches.div_ceil(10), batches };
    let (mut scores, mut next) = ([Vec::new(), Vec::new()], [1, 1]);
    let mut micros: [Option<crate::micro::Micro>; 2] = [None, None];
    for round in 0..effort.rounds {
        for turn in turns(round) {
            let micro = sides[turn].loop_round(&plan, next[turn])?;
            next[turn] += (plan.warm_up + plan.batches) * micro.batch;
            let ticks = micro.batches.median_within(clock.resolution_ticks());
            scores[turn].push(clock.to_ns(1) * ticks / micro.batch as f64);
            match &mut micros[turn] {
                Some(all) => all.merge(&micro),
                none => *none = Some(micro),
            }
        }
    }
    let mut count = (0, 0);
    for (micro, path) in micros.iter().flatten().zip(contest.paths()) {
        let row = Row::micro(&format!("one_way/same_thread/{}", path.id()), micro, &session.clock);
        count = (count.0 + row.sent, count.1 + row.received);
        let basis = format!("{}; batches of {}", path.ring.arrangement(), micro.batch);
        session.report.push(row, &basis);
    }
    let [ours, theirs] = scores;
    let row = Scores { ours, theirs }.row(id, Better::Less, count.0, count.1);
    push(session, row, contest, "ns, send + recv")
}

fn one_way(
    session: &mut Session,
    private: &PrivateNamespace,
    id: &str,
    contest: &Contest,
    placement: Placement,
) -> Outcome {
    let (effort, clock) = (session.effort, &session.clock);
    let mut pair = PathPair::start(placement, session.cpus, clock.source(), private)?;
    let (mut scores, mut rounds) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    let mut calls: [Option<Round>; 2] = [None, None];
    for round in 0..effort.rounds {
        for turn in turns(round) {
            pair.open(contest.paths()[turn])?;
            let (trips, _) = pair.round(Timing::RoundTrip, effort.warm_up, effort.samples)?;
            scores[turn].push(trips.p50_ns(clock));
            rounds[turn].push(trips);
            if calls[turn].is_none() {
                let sends = pair.round(Timing::SendCall, effort.warm_up, effort.samples)?;
                calls[turn] = Some(sends.0);
            }
        }
    }
    pair.close()?;
    let mut count = (0, 0);
    for ((rounds, calls), path) in rounds.iter().zip(&calls).zip(contest.paths()) {
        let all = Round::merged(rounds).ok_or("no rounds")?;
        let row = Row::latency(
            &format!("one_way/{}/{}", placement.id(), path.id()),
            &all,
            &session.clock,
        );
        count = (count.0 + row.sent, count.1 + row.received);
        let row = match calls {
            Some(calls) => row.with_send_call(calls, &session.clock),
            None => row,
        };
        let basis = session.basis(&format!("RTT/2; {}", path.ring.arrangement()));
        session.report.push(row, &basis);
    }
    let [ours, theirs] = scores;
    let row = Scores { ours, theirs }.row(id, Better::Less, count.0, count.1);
    push(session, row, contest, "ns, RTT/2")
}

fn throughput(
    session: &mut Session,
    private: &PrivateNamespace,
    id: &str,
    contest: &Contest,
) -> Outcome {
    let (effort, clock) = (session.effort, &session.clock);
    let place = Placement::CrossProcess;
    let mut pair = PathPair::start(place, session.cpus, clock.source(), private)?;
    let (mut scores, mut streams) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    let mut messages = [0; 2];
    for round in 0..effort.rounds {
        for turn in turns(round) {
            let path = contest.paths()[turn];
            pair.open(path)?;
            if messages[turn] == 0 {
                let trial = TRIAL_MESSAGES.min(effort.samples);
                let (_, streamed) = carry(&mut pair, path, trial)?;
                let each_ns = clock.to_ns(streamed.elapsed_ticks) / streamed.sent() as f64;
                messages[turn] = ((STREAM_NS / each_ns) as u64).clamp(1, effort.samples * 500);
            }
            let (_, streamed) = carry(&mut pair, path, messages[turn])?;
            scores[turn].push(streamed.messages_per_s(clock.hz()));
            streams[turn].push(streamed);
        }
    }
    pair.close()?;
    let mut count = (0, 0);
    for ((streams, rates), path) in streams.iter().zip(&scores).zip(contest.paths()) {
        let rate = stats::median(&mut rates.clone());
        let streams: &Vec<Streamed> = streams;
        let id = format!("throughput/{}/{}", place.id(), path.id());
        let row = Row::throughput(&id, streams, Some(rate));
        count = (count.0 + row.sent, count.1 + row.received);
        let basis = session.basis(path.ring.arrangement());
        session.report.push(row, &basis);
    }
    let [ours, theirs] = scores;
    let row = Scores { ours, theirs }.row(id, Better::More, count.0, count.1);
    push(session, row, contest, "messages/s")
}

/// A row of two sets of samples that were measured elsewhere in alternating rounds.
///
/// # Errors
///
/// If there are no rounds.
pub fn push_scores(
    session: &mut Session,
    id: &str,
    scores: &Scores,
    samples: [&Samples; 2],
    basis: &str,
) -> Outcome {
    let count = samples.iter().map(|samples| samples.count()).sum();
    let row = scores.row(id, Better::Less, count, count).ok_or("no rounds")?;
    let basis = session.basis(basis);
    session.report.push(row, &basis);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_says_how_many_times_better_ours_is() {
        let scores = Scores { ours: vec![2.0, 4.0, 2.0], theirs: vec![10.0, 20.0, 12.0] };
        assert_eq!(scores.ratio(Better::Less).unwrap().median, 5.0);
        let rates = Scores { ours: scores.theirs, theirs: scores.ours };
        assert_eq!(rates.ratio(Better::More).unwrap().median, 5.0);
        let row = rates.row("vs_x/throughput/8B", Better::More, 10, 9).unwrap();
        assert_eq!((row.sent, row.received, row.lost), (10, 9, 1));
        let figures = row.figures;
        assert_eq!(
            (figures.ours, figures.theirs, figures.ratio),
            (Some(12.0), Some(2.0), Some(5.0))
        );
        assert!(Scores::default().row("x", Better::Less, 0, 0).is_none());
    }

    #[test]
    fn neither_is_always_first() {
        assert_eq!(
            [turns(0), turns(1), turns(2)],
            [[OURS, THEIRS], [THEIRS, OURS], [OURS, THEIRS]]
        );
    }
}
