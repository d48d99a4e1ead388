//! Measures candidates side by side: one round of each candidate, again and again, so that all of
//! them run while the machine is in the same state. Compares each of our carriers with each carrier
//! of another library. A carrier is a ring, topic, channel, socket or pipe that transports
//! messages.

use std::time::Duration;

use indicatif::ProgressBar;

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
use crate::run::args::Effort;
use crate::run::floor::{Floor, FloorLines, Placement};
use crate::run::namespace::PrivateNamespace;
use crate::run::session::{BenchmarkSession, progress_bar};
use crate::scenario::entry::Outcome;
use crate::transport::carrier::{Carrier, MessageSize, Transport};
use crate::transport::connection::{Connection, LoopedTransport};
use crate::transport::rendezvous::AnyError;

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
        let with = |&one: &usize| {
            theirs
                .iter()
                .map(move |&other| (one, other))
                .collect::<Vec<_>>()
        };
        ours.iter().flat_map(with).collect()
    }

    /// Returns true if the command line selects at least one row of this group.
    fn is_wanted(&self, session: &BenchmarkSession, measure: LatencyOrThroughput) -> bool {
        let all = &self.candidates;
        let versus = self.pairs().into_iter();
        let versus = versus.map(|(one, other)| self.versus_id(measure, all[one], all[other]));
        let rows = all.iter().map(|&one| self.id(measure, one));
        let rows = rows.filter(|_| self.versus.is_none());
        versus.chain(rows).any(|id| session.args.wants_row(&id))
    }
}

/// A running comparison of several carriers, all of them between the same two ends.
#[derive(Debug)]
pub struct Comparison<'a> {
    session: &'a mut BenchmarkSession,
    floor: Floor,
    connection: Connection,
    progress: ProgressBar,
}

/// The results of one candidate, with one element for each round.
struct CandidateResults<M> {
    rounds: Vec<M>,
    /// The figure of each round: the median one-way time in nanoseconds, or the number of messages
    /// per second.
    figures: Vec<f64>,
}

impl<'a> Comparison<'a> {
    /// Starts the far ends of the floor and of the candidates. `steps` is the approximate number of
    /// steps that the progress bar will have.
    pub fn start(
        session: &'a mut BenchmarkSession,
        placement: Placement,
        private: &PrivateNamespace,
        steps: usize,
    ) -> Result<Comparison<'a>, AnyError> {
        let cpus = session.cpus;
        let clock = &session.clock;
        let (floor, spin) = Floor::new(placement, cpus, clock, session.effort)?;
        let connection = Connection::start(placement, cpus, clock.source(), private)?;
        let name = format!("spin/{}", placement.id());
        session.report.set(&name, spin);
        let progress = progress_bar(steps as u64);
        Ok(Comparison {
            session,
            floor,
            connection,
            progress,
        })
    }

    /// Stores `value` for the row `id` in the group `group` of the report's settings.
    pub fn set_for_row(&mut self, group: &str, id: &str, value: String) {
        self.session.report.set_for_row(group, id, value);
    }

    /// Shows the group on the progress bar, and counts a step. Returns true if the command line
    /// selects a row of the group, so that it has to be measured.
    fn begin_step(&mut self, group: &CandidateGroup, measure: LatencyOrThroughput) -> bool {
        self.progress.inc(1);
        let place = group.place;
        let size = group.size.id();
        self.progress
            .set_message(format!("{place} {size} {}", measure.id()));
        group.is_wanted(self.session, measure)
    }

    /// Measures the ping-pong of each candidate in turn, with rounds of the floor between them.
    pub fn measure_latency(&mut self, group: &CandidateGroup) -> Outcome {
        if !self.begin_step(group, LatencyOrThroughput::Latency) {
            return Ok(());
        }
        let Effort {
            warm_up, samples, ..
        } = self.session.effort;
        let (all, floors) = self.measure_rounds(group, |connection, clock, _| {
            let (round, _) = connection.round(Timing::RoundTrip, warm_up, samples)?;
            let p50_ns = round.p50_ns(clock);
            Ok((vec![round], p50_ns))
        })?;
        for (&one, measured) in group.candidates.iter().zip(&all) {
            let ratio = stats::ratio_of_medians(&floors, &measured.figures);
            let pairs: Vec<_> = floors
                .iter()
                .copied()
                .zip(measured.figures.clone())
                .collect();
            let merged = Round::merge_all(&measured.rounds).ok_or("no rounds")?;
            let id = group.id(LatencyOrThroughput::Latency, one);
            let row = Row::from_rounds(&id, &merged, &self.session.clock);
            let row = row.with_floor_ratio(ratio);
            let report = &mut self.session.report;
            report.set_for_row(
                FLOOR_RATIO_BY_STATE_KEY,
                &id,
                split_by_state(&floors, &pairs),
            );
            report.push(row, &format!("RTT/2; {}", one.basis()));
        }
        self.add_comparison_rows(group, LatencyOrThroughput::Latency, &all, &floors);
        Ok(())
    }

    /// Measures one round of the floor and one round of each candidate, again and again. Returns
    /// the results of each candidate, and the floor of each round in nanoseconds. `round` measures
    /// one round of a candidate. It gets the figure (the median time or the rate) of the
    /// candidate's previous round, and returns the results and the figure of the new one.
    fn measure_rounds<M>(
        &mut self,
        group: &CandidateGroup,
        round: impl Fn(&mut Connection, &TscClock, Option<f64>) -> Result<(Vec<M>, f64), AnyError>,
    ) -> Result<(Vec<CandidateResults<M>>, Vec<f64>), AnyError> {
        let none = |_: &Carrier| CandidateResults {
            rounds: Vec::new(),
            figures: Vec::new(),
        };
        let mut all: Vec<CandidateResults<M>> = group.candidates.iter().map(none).collect();
        let mut floors = Vec::new();
        for number in 0..self.session.effort.rounds {
            // WHY for streams as well: it says which state the machine is in.
            floors.push(self.measure_floor_ns()?);
            for index in alternating_order(number, all.len()) {
                let (carrier, size) = (group.candidates[index], group.size);
                // WHY: the relative timing of two ends stays the same as long as the memory does.
                self.connection.open(Transport { carrier, size })?;
                let results = &mut all[index];
                let last = results.figures.last().copied();
                let (rounds, figure) = round(&mut self.connection, &self.session.clock, last)?;
                results.rounds.extend(rounds);
                results.figures.push(figure);
            }
        }
        self.connection.close()?;
        Ok((all, floors))
    }

    /// Measures one round of the floor. Returns its median in nanoseconds.
    fn measure_floor_ns(&mut self) -> Result<f64, AnyError> {
        let effort = self.session.effort;
        let floor = self
            .floor
            .round(FloorLines::Two, effort.warm_up, effort.samples)?;
        Ok(floor.p50_ns(&self.session.clock))
    }

    /// Measures streams of all candidates in turn. Each round has `parts` streams of about `time`,
    /// and its result is their median. WHY several: on a machine with other work to do, both ends
    /// have their CPUs at the same time for short intervals only.
    pub fn measure_throughput(
        &mut self,
        group: &CandidateGroup,
        time: Duration,
        parts: u32,
    ) -> Outcome {
        if !self.begin_step(group, LatencyOrThroughput::Throughput) {
            return Ok(());
        }
        // WHY a limit: a user who only wants to see that all works sets it on the command line.
        let messages_max = self.session.effort.samples.saturating_mul(STREAM_FACTOR);
        let (all, floors) = self.measure_rounds(group, |connection, clock, last| {
            let hz = clock.ticks_per_s();
            let (_, probe) = connection.stream(PROBE_MESSAGES.min(messages_max))?;
            let per_s = probe.sent() as f64 / probe.elapsed_ticks.max(1) as f64 * hz;
            let fitting = (per_s.max(last.unwrap_or(per_s)) * time.as_secs_f64()) as u64;
            let messages =
                fitting.clamp(STREAM_MESSAGES_MIN, messages_max.max(STREAM_MESSAGES_MIN));
            let streams = (0..parts).map(|_| Ok(connection.stream(messages)?.1));
            let streams = streams.collect::<Result<Vec<StreamResult>, AnyError>>()?;
            let rates = streams.iter().map(|stream| stream.messages_per_s(hz));
            let rate = stats::median(&mut rates.collect::<Vec<_>>());
            Ok((streams, rate))
        })?;
        for (&one, measured) in group.candidates.iter().zip(&all) {
            let id = group.id(LatencyOrThroughput::Throughput, one);
            let rate = stats::median(&mut measured.figures.clone());
            let row = Row::from_streams(&id, &measured.rounds, Some(rate));
            self.session.report.push(row, &one.basis());
        }
        self.add_comparison_rows(group, LatencyOrThroughput::Throughput, &all, &floors);
        Ok(())
    }

    /// Adds a row for each pair of a carrier of ours and a carrier of another library. The row
    /// counts the messages of both carriers. `floors_ns` has the floor of each round.
    fn add_comparison_rows<M>(
        &mut self,
        group: &CandidateGroup,
        measure: LatencyOrThroughput,
        all: &[CandidateResults<M>],
        floors_ns: &[f64],
    ) {
        for (one, other) in group.pairs() {
            let [ours, theirs] = [one, other].map(|index| group.candidates[index]);
            let id = group.versus_id(measure, ours, theirs);
            let figures = [one, other].map(|index| &all[index].figures[..]);
            let Some(row) = versus::comparison_row(&id, measure, figures) else {
                continue;
            };
            let pairs = versus::ratio_pairs(measure, figures);
            let report = &mut self.session.report;
            report.set_for_row(
                FLOOR_RATIO_BY_STATE_KEY,
                &id,
                split_by_state(floors_ns, &pairs),
            );
            let rows = [ours, theirs].map(|one| report.row(&group.id(measure, one)));
            let sum = |field: fn(&Row) -> u64| rows.iter().flatten().map(|row| field(row)).sum();
            let row = row.with_counts(sum(|row| row.sent()), sum(|row| row.received()));
            let row = row.with_busy_threads(BUSY_THREADS);
            report.push(row, "medians of rounds next to each other");
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
    let row =
        versus::comparison_row(id, LatencyOrThroughput::Latency, figures).ok_or("no rounds")?;
    session.report.push(row.with_counts(count, count), basis);
    Ok(())
}

/// Sends and receives messages in this thread, over our carrier and the other one in turn. Adds a
/// row for each of the two carriers, and the row `id` that compares them.
pub fn compare_in_same_thread(
    session: &mut BenchmarkSession,
    private: &PrivateNamespace,
    id: &str,
    transports: [Transport; 2],
) -> Outcome {
    let effort = session.effort;
    let clock = &session.clock;
    let open = |transport| LoopedTransport::open(transport, clock.source(), private);
    let mut ends = [open(transports[0])?, open(transports[1])?];
    let plan = MicroPlan::new(clock.source(), effort.samples.div_ceil(4));
    let mut p50_ns = [Vec::new(), Vec::new()];
    let mut all: [Option<MicroResult>; 2] = [None, None];
    for round in 0..effort.rounds {
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
        session.report.push(row, &basis);
    }
    add_comparison_row(
        session,
        id,
        [&p50_ns[0], &p50_ns[1]],
        count,
        "send + recv, in batches",
    )
}
