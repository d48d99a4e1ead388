//! Measures candidates side by side: one round of each candidate, again and again, so that all of
//! them run while the machine is in the same state. Compares each of our carriers with each carrier
//! of another library. A carrier is a ring, topic, channel, socket or pipe that transports
//! messages.

use std::time::Duration;

use crate::measure::bracket::{RoundBetweenFloors, RoundsBetweenFloors, run_rounds_between_floors};
use crate::measure::micro::{BatchPlan, BatchResult};
use crate::measure::rounds::alternating_order;
use crate::measure::state::find_machine_states;
use crate::measure::stats;
use crate::measure::stream::StreamResult;
use crate::measure::workload::RoundResult;
use crate::report::goals::{FLOOR_RATIO_BY_STATE_KEY, RATE_BY_STATE_KEY};
use crate::report::rows::Row;
use crate::report::versus::{self, LatencyOrThroughput};
use crate::run::args::MeasurementEffort;
use crate::run::bounce::PAUSES_AFTER_POLL_MAX;
use crate::run::floor::PauseCountChoice;
use crate::run::session::BenchmarkSession;
use crate::scenario::ends::TwoEnds;
use crate::scenario::entry::Outcome;
use crate::scenario::survey;
use crate::transport::carrier::{Carrier, MessageSize, Transport};
use crate::transport::connection::{Connection, LoopedTransport};

/// Number of messages of a first, short stream. Its duration is used to estimate the number of
/// messages for the measured streams.
const PROBE_STREAM_MESSAGES: u64 = 2_000;

/// Maximum number of messages in a stream, for each timed message of a round.
const STREAM_MESSAGES_PER_SAMPLE_MAX: u64 = 500;

/// Minimum number of messages in a stream.
const STREAM_MESSAGES_MIN: u64 = 500;

/// Maximum number of rounds, and of streams of a round, with each number of pauses between empty
/// polls, to find the one with which a transport of another library is best.
const PAUSE_CHOICE_ROUNDS_MAX: u32 = 5;

/// Maximum duration of a stream of these rounds.
const PAUSE_CHOICE_STREAM_TIME_MAX: Duration = Duration::from_millis(5);

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
type CandidateRounds<M> = RoundsBetweenFloors<(M, f64)>;

/// Returns the values of the rounds that count.
fn values_of_rounds_in_result<M>(measured: &CandidateRounds<M>) -> Vec<f64> {
    let rounds = measured.rounds_in_result();
    rounds.map(|bracket| bracket.result.1).collect()
}

/// Returns the floors beside the rounds that count, in nanoseconds.
fn floors_of_rounds_in_result_ns<M>(measured: &CandidateRounds<M>) -> Vec<f64> {
    let rounds = measured.rounds_in_result();
    rounds.map(RoundBetweenFloors::mean_floor_ns).collect()
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
    pub fn comparison_row_id(
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
            (0..self.candidates.len()).partition(|&index| self.candidates[index].is_of_horus());
        let with = |one| theirs.iter().map(move |&other| (one, other));
        ours.into_iter().flat_map(with).collect()
    }

    /// Counts a step of the progress bar. Returns true if the command line selects at least one row
    /// of this group, so that it has to be measured.
    fn begin_if_selected(&self, session: &BenchmarkSession, measure: LatencyOrThroughput) -> bool {
        let all = &self.candidates;
        let pairs = self.pairs().into_iter();
        let versus =
            pairs.map(|(one, other)| self.comparison_row_id(measure, all[one], all[other]));
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
        if !self.begin_if_selected(session, measure) {
            return Ok(());
        }
        let (effort, clock) = (session.effort, &session.clock);
        let round = |connection: &mut Connection, _: Option<f64>| -> Outcome<(RoundResult, f64)> {
            let round = connection.run_round_trips(effort)?;
            let p50_ns = round.p50_ns(clock);
            Ok((round, p50_ns))
        };
        let pauses = self.choose_pause_counts(effort, ends, measure, round)?;
        let all = self.measure_rounds(session, ends, &pauses, round)?;
        for ((&one, measured), pauses) in self.candidates.iter().zip(&all).zip(&pauses) {
            let (ratio, states) = measured.ratio_to_floor_by_state(|(_, p50_ns)| *p50_ns);
            let rounds = measured.all.iter();
            let merged = RoundResult::merge_all(rounds.map(|bracket| &bracket.result.0));
            let id = self.id(measure, one);
            let row = Row::from_rounds(&id, &merged.ok_or("no rounds")?, &session.clock);
            let report = &mut session.report;
            report.set_row_setting(FLOOR_RATIO_BY_STATE_KEY, &id, states);
            let method = format!("RTT/2; {}", describe_candidate(one, *pauses));
            session.add_row(row.with_floor_ratio(ratio), method);
            survey::record_floor(session, &id, measured);
        }
        self.add_comparison_rows(session, measure, &all);
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
        if !self.begin_if_selected(session, measure) {
            return Ok(());
        }
        // WHY a limit: a user who only wants to see that all works sets it on the command line.
        let messages_max = session
            .effort
            .samples
            .saturating_mul(STREAM_MESSAGES_PER_SAMPLE_MAX);
        let hz = session.clock.ticks_per_s();
        let round = |connection: &mut Connection,
                     last: Option<f64>,
                     time: Duration,
                     parts: u32|
         -> Outcome<(Vec<StreamResult>, f64)> {
            let (_, probe) = connection.run_stream(PROBE_STREAM_MESSAGES.min(messages_max))?;
            let per_s = probe.sent_messages() as f64 / probe.elapsed_ticks.max(1) as f64 * hz;
            let fitting = (per_s.max(last.unwrap_or(per_s)) * time.as_secs_f64()) as u64;
            let messages =
                fitting.clamp(STREAM_MESSAGES_MIN, messages_max.max(STREAM_MESSAGES_MIN));
            let streams = (0..parts).map(|_| Ok(connection.run_stream(messages)?.1));
            let streams = streams.collect::<Outcome<Vec<StreamResult>>>()?;
            let rates = streams.iter().map(|stream| stream.messages_per_s(hz));
            let rate = stats::median(&mut rates.collect::<Vec<_>>());
            Ok((streams, rate))
        };
        let (short, few) = (
            time.min(PAUSE_CHOICE_STREAM_TIME_MAX),
            parts.min(PAUSE_CHOICE_ROUNDS_MAX),
        );
        let pauses =
            self.choose_pause_counts(session.effort, ends, measure, |connection, last| {
                round(connection, last, short, few)
            })?;
        let all = self.measure_rounds(session, ends, &pauses, |connection, last| {
            round(connection, last, time, parts)
        })?;
        for ((&one, measured), pauses) in self.candidates.iter().zip(&all).zip(&pauses) {
            let streams = measured.all.iter().flat_map(|bracket| &bracket.result.0);
            let id = self.id(measure, one);
            let rates = values_of_rounds_in_result(measured);
            let row = Row::from_streams(&id, &streams.copied().collect::<Vec<_>>(), &rates);
            let pairs: Vec<_> = rates.iter().map(|&rate| (1.0, rate)).collect();
            let states = find_machine_states(&floors_of_rounds_in_result_ns(measured), &pairs);
            session
                .report
                .set_row_setting(RATE_BY_STATE_KEY, &id, states);
            session.add_row(row, describe_candidate(one, *pauses));
            survey::record_floor(session, &id, measured);
        }
        self.add_comparison_rows(session, measure, &all);
        Ok(())
    }

    /// Returns for each candidate the number of pauses after a poll that found nothing. It is 0 for
    /// ours, which pause by themselves, and otherwise the number with which the candidate is best
    /// in some rounds before the measured ones. `round` measures one round, as in
    /// [`Self::measure_rounds`].
    fn choose_pause_counts<M>(
        &self,
        effort: MeasurementEffort,
        ends: &mut TwoEnds,
        measure: LatencyOrThroughput,
        round: impl Fn(&mut Connection, Option<f64>) -> Outcome<(M, f64)>,
    ) -> Outcome<Vec<u32>> {
        let connection = &mut ends.connection;
        let rounds = effort.rounds.min(PAUSE_CHOICE_ROUNDS_MAX);
        let choose = |&candidate: &Carrier| {
            if candidate.is_of_horus() {
                return Ok(0);
            }
            let choice = PauseCountChoice::measure(rounds, |pauses| {
                self.open(connection, candidate, pauses)?;
                let (_, figure) = round(connection, None)?;
                Ok(measure.badness(figure))
            });
            Ok(choice?.pauses)
        };
        self.candidates.iter().map(choose).collect()
    }

    /// Opens a candidate anew. WHY for each round: the relative timing of two ends stays the same
    /// as long as the memory does.
    fn open(&self, connection: &mut Connection, carrier: Carrier, pauses: u32) -> Outcome {
        let size = self.size;
        connection.pauses_after_poll = pauses;
        connection.open(Transport { carrier, size })
    }

    /// Measures rounds of all candidates, with the floor before and after each. Returns the rounds
    /// of each candidate, all of which have the same number of rounds that count. `round` measures
    /// one round of a candidate. It gets the figure (the median time or the rate) of the
    /// candidate's previous round, and returns the results and the figure of the new one.
    fn measure_rounds<M>(
        &self,
        session: &BenchmarkSession,
        ends: &mut TwoEnds,
        pauses: &[u32],
        round: impl Fn(&mut Connection, Option<f64>) -> Outcome<(M, f64)>,
    ) -> Outcome<Vec<CandidateRounds<M>>> {
        let (effort, clock) = (session.effort, &session.clock);
        let (floor, connection) = (&mut ends.floor, &mut ends.connection);
        let mut last: Vec<Option<f64>> = vec![None; pauses.len()];
        let all = run_rounds_between_floors(
            effort.rounds,
            self.candidates.len(),
            || -> Outcome<f64> { Ok(floor.measure_round_beside(effort)?.p50_ns(clock)) },
            |index| {
                self.open(connection, self.candidates[index], pauses[index])?;
                let (result, figure) = round(connection, last[index])?;
                last[index] = Some(figure);
                Ok((result, figure))
            },
        )?;
        connection.pauses_after_poll = 0;
        connection.close()?;
        Ok(all)
    }

    /// Adds a row for each pair of a carrier of ours and a carrier of another library. The row
    /// counts the messages of both carriers.
    fn add_comparison_rows<M>(
        &self,
        session: &mut BenchmarkSession,
        measure: LatencyOrThroughput,
        all: &[CandidateRounds<M>],
    ) {
        let report = &mut session.report;
        for (one, other) in self.pairs() {
            let [ours, theirs] = [one, other].map(|index| self.candidates[index]);
            let id = self.comparison_row_id(measure, ours, theirs);
            let figures = [one, other].map(|index| values_of_rounds_in_result(&all[index]));
            let figures = [&figures[0][..], &figures[1]];
            let Some(row) = versus::comparison_row(&id, measure, figures) else {
                continue;
            };
            let floors = [one, other].map(|index| floors_of_rounds_in_result_ns(&all[index]));
            let floors = floors[0].iter().zip(&floors[1]);
            let floors: Vec<f64> = floors.map(|(one, other)| (one + other) / 2.0).collect();
            let states = find_machine_states(&floors, &versus::ratio_pairs(measure, figures));
            report.set_row_setting(FLOOR_RATIO_BY_STATE_KEY, &id, states);
            let rows = [ours, theirs].map(|one| report.row(&self.id(measure, one)));
            let sum = |field: fn(&Row) -> u64| rows.iter().flatten().map(|row| field(row)).sum();
            let row = row.with_counts(sum(Row::sent_messages), sum(Row::received_messages));
            let method =
                "medians of rounds next to each other; theirs with its best number of pauses";
            report.add_row(row.with_busy_threads(BUSY_THREADS), method);
        }
    }
}

/// Returns the text that says how a candidate was measured.
fn describe_candidate(candidate: Carrier, pauses: u32) -> String {
    let method = candidate.description();
    match candidate.is_of_horus() {
        true => method,
        false => format!(
            "{method}; best of 0 to {PAUSES_AFTER_POLL_MAX} pauses between empty polls: {pauses}"
        ),
    }
}

/// Adds the row `id`, which compares values that were measured in adjacent rounds. `count` is the
/// number of messages.
pub fn add_comparison_row(
    session: &mut BenchmarkSession,
    id: &str,
    ours_and_theirs: [&[f64]; 2],
    count: u64,
    method: &str,
) -> Outcome {
    let row = versus::comparison_row(id, LatencyOrThroughput::Latency, ours_and_theirs);
    let row = row.ok_or("no rounds")?.with_counts(count, count);
    session.add_row(row, method);
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
    let open = |transport| LoopedTransport::open(transport, clock.source, &session.private);
    let mut ends = [open(transports[0])?, open(transports[1])?];
    let plan = BatchPlan::new(clock.source, session.effort.samples.div_ceil(4));
    let mut p50_ns = [Vec::new(), Vec::new()];
    let mut all: [Option<BatchResult>; 2] = [None, None];
    for round in 0..session.effort.rounds {
        for turn in alternating_order(round, ends.len()) {
            let micro = ends[turn].run_batches(&plan)?;
            let ticks = micro.batches.interpolated_median(clock.resolution_ticks);
            p50_ns[turn].push(ticks * clock.ns_per_tick / micro.operations_per_batch as f64);
            match &mut all[turn] {
                Some(all) => all.merge(&micro),
                none => *none = Some(micro),
            }
        }
    }
    let mut count = 0;
    for (micro, transport) in all.iter().flatten().zip(transports) {
        let id = format!("one_way/same_thread/{}", transport.id());
        count += micro.verified;
        session.add_batches_row(
            &id,
            micro,
            &format!("{}; ", transport.carrier.description()),
        );
    }
    let figures = [&p50_ns[0][..], &p50_ns[1]];
    add_comparison_row(session, id, figures, count, "send + recv, in batches")
}
