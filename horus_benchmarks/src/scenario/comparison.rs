//! Measures candidates side by side: one round of each candidate, again and again, so that all of
//! them run while the machine is in the same state. Compares each of our carriers with each carrier
//! of another library. A carrier is a ring, topic, channel, socket or pipe that transports
//! messages.

use std::time::Duration;

use crate::measure::micro::{MicroPlan, MicroResult};
use crate::measure::rounds::alternating_order;
use crate::measure::state::split_by_state;
use crate::measure::stats;
use crate::measure::stream::StreamResult;
use crate::measure::tsc::TscClock;
use crate::measure::workload::{Round, Timing};
use crate::report::goals::FLOOR_RATIO_BY_STATE_KEY;
use crate::report::rows::Row;
use crate::report::versus::{self, LatencyOrThroughput};
use crate::run::session::BenchmarkSession;
use crate::scenario::ends::TwoEnds;
use crate::scenario::entry::Outcome;
use crate::transport::carrier::{Carrier, MessageSize, Transport};
use crate::transport::connection::{Connection, LoopedTransport};

/// Number of messages of a first, short stream. Its duration is used to estimate the number of
/// messages for the measured streams.
const PROBE_MESSAGES: u64 = 2_000;

/// Maximum number of messages in a stream, for each timed message of a round.
const STREAM_FACTOR: u64 = 500;

/// Minimum number of messages in a stream.
const STREAM_MESSAGES_MIN: u64 = 500;

/// Number of threads that are busy at the same time during a comparison: one for each end.
const BUSY_THREADS: usize = 2;

/// A group of carriers that are compared: all of them carry messages of the same size between the
/// same two ends.
#[derive(Debug)]
pub struct CandidateGroup {
    /// The carriers to measure. Each carrier of our library is compared with each carrier of
    /// another library.
    pub candidates: Vec<Carrier>,
    /// The part of the rows' ids that names the placement of the two ends, such as `cross_thread`.
    pub place: &'static str,
    /// The size of the messages that the candidates carry.
    pub size: MessageSize,
    /// The id of the row that compares two candidates. If it is `None`, the id is derived from
    /// their names.
    pub versus: Option<String>,
}

/// The rounds of one candidate. For each: its results, and its figure, which is the median one-way
/// time in nanoseconds, or the number of messages per second.
type CandidateRounds<M> = Vec<(M, f64)>;

fn figures<M>(rounds: &CandidateRounds<M>) -> Vec<f64> {
    rounds.iter().map(|(_, figure)| *figure).collect()
}

impl CandidateGroup {
    /// Returns the id of a candidate's row, such as `one_way/cross_thread/spsc/16B`.
    pub fn id(&self, measure: LatencyOrThroughput, candidate: Carrier) -> String {
        let kind = match measure {
            LatencyOrThroughput::Latency => "one_way",
            LatencyOrThroughput::Throughput => "throughput",
        };
        format!(
            "{kind}/{}/{}/{}",
            self.place,
            candidate.id(),
            self.size.id()
        )
    }

    /// Returns the id of the row that compares two candidates, such as `vs_rtrb/spsc/latency/16B`.
    pub fn versus_id(
        &self,
        measure: LatencyOrThroughput,
        ours: Carrier,
        theirs: Carrier,
    ) -> String {
        self.versus.clone().unwrap_or_else(|| {
            let [ours, theirs] = [ours, theirs].map(Carrier::id);
            format!("vs_{theirs}/{ours}/{}/{}", measure.id(), self.size.id())
        })
    }

    /// Returns all pairs of a carrier of ours and a carrier of another library, as indices into
    /// `candidates`.
    pub fn pairs(&self) -> Vec<(usize, usize)> {
        let (ours, theirs): (Vec<usize>, Vec<usize>) =
            (0..self.candidates.len()).partition(|&index| self.candidates[index].is_ours());
        let with = |one| theirs.iter().map(move |&other| (one, other));
        ours.into_iter().flat_map(with).collect()
    }

    /// Counts a step of the progress bar. Returns true if the command line selects at least one row
    /// of this group, so that it has to be measured.
    fn begin(&self, session: &BenchmarkSession, measure: LatencyOrThroughput) -> bool {
        let all = &self.candidates;
        let pairs = self.pairs().into_iter();
        let versus = pairs.map(|(one, other)| self.versus_id(measure, all[one], all[other]));
        let rows = all.iter().map(|&one| self.id(measure, one));
        let mut ids = versus.chain(rows.filter(|_| self.versus.is_none()));
        let message = format!("{} {} {}", self.place, self.size.id(), measure.id());
        session.progress.set_message(message);
        session.progress.inc(1);
        ids.any(|id| session.args.wants_row(&id))
    }

    /// Measures the ping-pong of each candidate in turn, with rounds of the floor between them.
    pub fn measure_latency(&self, session: &mut BenchmarkSession, ends: &mut TwoEnds) -> Outcome {
        let measure = LatencyOrThroughput::Latency;
        if !self.begin(session, measure) {
            return Ok(());
        }
        let effort = session.effort;
        let (all, floors) = self.measure_rounds(session, ends, |connection, clock, _| {
            let round = connection
                .round(Timing::RoundTrip, effort.warm_up, effort.samples)?
                .0;
            let p50_ns = round.p50_ns(clock);
            Ok((round, p50_ns))
        })?;
        for (&one, rounds) in self.candidates.iter().zip(&all) {
            let figures = figures(rounds);
            let ratio = stats::ratio_of_medians(&floors, &figures);
            let pairs: Vec<_> = floors.iter().copied().zip(figures).collect();
            let merged = Round::merge_all(rounds.iter().map(|(round, _)| round));
            let id = self.id(measure, one);
            let row = Row::from_rounds(&id, &merged.ok_or("no rounds")?, &session.clock);
            let states = split_by_state(&floors, &pairs);
            session
                .report
                .set_row_setting(FLOOR_RATIO_BY_STATE_KEY, &id, states);
            let basis = format!("RTT/2; {}", one.basis());
            session.push(row.with_floor_ratio(ratio), basis);
        }
        self.add_comparison_rows(session, measure, &all, &floors);
        Ok(())
    }

    /// Measures streams of all candidates in turn. Each round has `parts` streams of about `time`,
    /// and its result is their median. WHY several: on a machine with other work to do, both ends
    /// have their CPUs at the same time for short intervals only.
    pub fn measure_throughput(
        &self,
        session: &mut BenchmarkSession,
        ends: &mut TwoEnds,
        time: Duration,
        parts: u32,
    ) -> Outcome {
        let measure = LatencyOrThroughput::Throughput;
        if !self.begin(session, measure) {
            return Ok(());
        }
        // WHY a limit: a user who only wants to see that all works sets it on the command line.
        let messages_max = session.effort.samples.saturating_mul(STREAM_FACTOR);
        let (all, floors) = self.measure_rounds(session, ends, |connection, clock, last| {
            let hz = clock.ticks_per_s();
            let (_, probe) = connection.stream(PROBE_MESSAGES.min(messages_max))?;
            let per_s = probe.sent() as f64 / probe.elapsed_ticks.max(1) as f64 * hz;
            let fitting = (per_s.max(last.unwrap_or(per_s)) * time.as_secs_f64()) as u64;
            let messages =
                fitting.clamp(STREAM_MESSAGES_MIN, messages_max.max(STREAM_MESSAGES_MIN));
            let streams = (0..parts).map(|_| Ok(connection.stream(messages)?.1));
            let streams = streams.collect::<Outcome<Vec<StreamResult>>>()?;
            let rates = streams.iter().map(|stream| stream.messages_per_s(hz));
            let rate = stats::median(&mut rates.collect::<Vec<_>>());
            Ok((streams, rate))
        })?;
        for (&one, rounds) in self.candidates.iter().zip(&all) {
            let streams = rounds.iter().flat_map(|(streams, _)| streams).copied();
            let rate = stats::median(&mut figures(rounds));
            let id = self.id(measure, one);
            let row = Row::from_streams(&id, &streams.collect::<Vec<_>>(), Some(rate));
            session.push(row, one.basis());
        }
        self.add_comparison_rows(session, measure, &all, &floors);
        Ok(())
    }

    /// Measures one round of the floor and one round of each candidate, again and again. Returns
    /// the rounds of each candidate, and the floor of each round in nanoseconds. `round` measures
    /// one round of a candidate. It gets the figure (the median time or the rate) of the
    /// candidate's previous round, and returns the results and the figure of the new one.
    fn measure_rounds<M>(
        &self,
        session: &BenchmarkSession,
        ends: &mut TwoEnds,
        round: impl Fn(&mut Connection, &TscClock, Option<f64>) -> Outcome<(M, f64)>,
    ) -> Outcome<(Vec<CandidateRounds<M>>, Vec<f64>)> {
        let mut all: Vec<_> = self.candidates.iter().map(|_| Vec::new()).collect();
        let mut floors = Vec::new();
        for number in 0..session.effort.rounds {
            // WHY for streams as well: it says which state the machine is in.
            floors.push(ends.floor_round(session.effort)?.p50_ns(&session.clock));
            for index in alternating_order(number, all.len()) {
                let (carrier, size) = (self.candidates[index], self.size);
                // WHY: the relative timing of two ends stays the same as long as the memory does.
                ends.connection.open(Transport { carrier, size })?;
                let last = all[index].last().map(|(_, figure)| *figure);
                all[index].push(round(&mut ends.connection, &session.clock, last)?);
            }
        }
        ends.connection.close()?;
        Ok((all, floors))
    }

    /// Adds a row for each pair of a carrier of ours and a carrier of another library. The row
    /// counts the messages of both carriers. `floors_ns` has the floor of each round.
    fn add_comparison_rows<M>(
        &self,
        session: &mut BenchmarkSession,
        measure: LatencyOrThroughput,
        all: &[CandidateRounds<M>],
        floors_ns: &[f64],
    ) {
        let report = &mut session.report;
        for (one, other) in self.pairs() {
            let [ours, theirs] = [one, other].map(|index| self.candidates[index]);
            let id = self.versus_id(measure, ours, theirs);
            let figures = [one, other].map(|index| figures(&all[index]));
            let figures = [&figures[0][..], &figures[1]];
            let Some(row) = versus::comparison_row(&id, measure, figures) else {
                continue;
            };
            let states = split_by_state(floors_ns, &versus::ratio_pairs(measure, figures));
            report.set_row_setting(FLOOR_RATIO_BY_STATE_KEY, &id, states);
            let rows = [ours, theirs].map(|one| report.row(&self.id(measure, one)));
            let sum = |field: fn(&Row) -> u64| rows.iter().flatten().map(|row| field(row)).sum();
            let row = row.with_counts(sum(Row::sent), sum(Row::received));
            let basis = "medians of rounds next to each other";
            report.push(row.with_busy_threads(BUSY_THREADS), basis);
        }
    }
}

/// Adds the row `id`, which compares values that were measured in adjacent rounds. `count` is the
/// number of messages.
pub fn add_comparison_row(
    session: &mut BenchmarkSession,
    id: &str,
    figures: [&[f64]; 2],
    count: u64,
    basis: &str,
) -> Outcome {
    let row = versus::comparison_row(id, LatencyOrThroughput::Latency, figures);
    let row = row.ok_or("no rounds")?.with_counts(count, count);
    session.push(row, basis);
    Ok(())
}

/// Sends and receives messages in this thread, over our carrier and the other one in turn. Adds a
/// row for each of the two carriers, and the row `id` that compares them.
pub fn compare_in_same_thread(
    session: &mut BenchmarkSession,
    id: &str,
    transports: [Transport; 2],
) -> Outcome {
    let clock = &session.clock;
    let open = |transport| LoopedTransport::open(transport, clock.source(), &session.private);
    let mut ends = [open(transports[0])?, open(transports[1])?];
    let plan = MicroPlan::new(clock.source(), session.effort.samples.div_ceil(4));
    let mut p50_ns = [Vec::new(), Vec::new()];
    let mut all: [Option<MicroResult>; 2] = [None, None];
    for round in 0..session.effort.rounds {
        for turn in alternating_order(round, ends.len()) {
            let micro = ends[turn].round(&plan)?;
            let ticks = micro.batches.median_within_steps(clock.resolution_ticks());
            p50_ns[turn].push(ticks * clock.ns_per_tick() / micro.batch as f64);
            match &mut all[turn] {
                Some(all) => all.merge(&micro),
                none => *none = Some(micro),
            }
        }
    }
    let mut count = 0;
    for (micro, transport) in all.iter().flatten().zip(transports) {
        let id = format!("one_way/same_thread/{}", transport.id());
        let row = Row::from_micro(&id, micro, &session.clock);
        count += row.received();
        let basis = format!("{}; batches of {}", transport.carrier.basis(), micro.batch);
        session.push(row, basis);
    }
    let figures = [&p50_ns[0][..], &p50_ns[1]];
    add_comparison_row(session, id, figures, count, "send + recv, in batches")
}
