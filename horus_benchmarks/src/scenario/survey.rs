//! Measures paths of messages: latency, cost of `send`, and throughput, each next to the floor.

use std::time::Duration;

use indicatif::ProgressBar;
use serde_json::{Value, json};

use crate::measure::bracket::{BracketedRounds, STEADY_FLOOR_RATIO_MAX, run_between_floors};
use crate::measure::loopback;
use crate::measure::micro::MicroPlan;
use crate::measure::stats::{self, Samples};
use crate::measure::stream::{StreamRecord, StreamResult};
use crate::measure::workload::{Round, Timing};
use crate::report::goals::{FLOOR_NS_KEY, FLOOR_RATIO_BY_STATE_KEY};
use crate::report::rows::{Report, Row};
use crate::run::args::{Args, Effort, QuickOrFull};
use crate::run::floor::{Floor, FloorLines, Placement};
use crate::run::namespace::PrivateNamespace;
use crate::run::session::{BenchmarkSession, progress_bar};
use crate::scenario::entry::Outcome;
use crate::transport::carrier::{CAPACITY, CAPACITY_LARGE, MessageSize, Transport};
use crate::transport::connection::{Connection, LoopedTransport};
use crate::transport::rendezvous::AnyError;

/// Number of rounds, and number of timed messages in each round.
/// WHY many short rounds: the floor is then the same before and after most of them.
const ROUNDS_AND_SAMPLES: QuickOrFull<(u32, u64)> = QuickOrFull {
    quick: (20, 6_000),
    full: (40, 20_000),
};

/// Number of additional rounds for each of two other measurements: the duration of the `send` call
/// alone, and the one-way time from the time stamp counter of one core to that of the other.
const EXTRA_ROUNDS: u32 = 4;

/// Number of messages in a stream for each timed message in a round. It applies to messages of at
/// most [`FULL_STREAM_MESSAGE_BYTES_MAX`] bytes.
const STREAM_FACTOR: u64 = 500;

/// Maximum message size in bytes for which a stream has its full number of messages. A stream of
/// larger messages, of up to n times this size, has 1/n of that number.
const FULL_STREAM_MESSAGE_BYTES_MAX: u64 = 100;

/// Approximate maximum duration of a stream. It matters if the
/// machine has other work to do.
const STREAM_TIME: QuickOrFull<Duration> = QuickOrFull {
    quick: Duration::from_millis(300),
    full: Duration::from_millis(600),
};

const STREAM_MESSAGES_MIN: u64 = 1000;

/// The number of streams of a row is about its number of rounds divided by this number.
const ROUNDS_PER_STREAM: u32 = 6;

/// A benchmark run that measures the paths which messages can take.
#[derive(Debug)]
pub struct Survey {
    session: BenchmarkSession,
    private: PrivateNamespace,
    progress: ProgressBar,
}

impl Survey {
    /// Begins a run of about `rows` rows. By default a row has 40 rounds of 20 000 messages, or
    /// with `--quick` 20 rounds of 6000.
    pub fn begin(mut args: Args, rows: usize) -> Result<Survey, AnyError> {
        args.set_default_rounds(ROUNDS_AND_SAMPLES);
        let mut survey = Survey {
            session: BenchmarkSession::begin(args)?,
            private: PrivateNamespace::create()?,
            progress: progress_bar(rows as u64),
        };
        survey.record_settings();
        Ok(survey)
    }

    fn record_settings(&mut self) {
        let messages = self.stream_messages(MessageSize::Bytes(16));
        let repetitions = self.stream_count();
        let report = &mut self.session.report;
        report.set("capacity", CAPACITY);
        report.set("capacity/large", CAPACITY_LARGE);
        report.set("capacity/pod_shm", "the ring's default");
        report.set(
            "paths",
            "rings of the same kind there and back, new ones for every round",
        );
        report.set("messages_per_stream_max/16B", messages);
        report.set("streams_per_row", repetitions);
        report.set("floor_change_max", STEADY_FLOOR_RATIO_MAX);
    }

    /// Returns the report, which contains the results measured so far.
    pub fn report(&mut self) -> &mut Report {
        &mut self.session.report
    }

    /// Prints the report and writes its files, as [`BenchmarkSession::finish`] does.
    pub fn finish(self) -> Outcome {
        drop(self.progress);
        Ok(self.session.finish()?)
    }

    /// Returns true if the command line selects the row `id`, so that it has to be measured. The
    /// progress bar counts the row in either case, and shows the id of a selected one.
    fn wants_row(&self, id: &str) -> bool {
        self.progress.inc(1);
        let wants = self.session.args.wants_row(id);
        if wants {
            self.progress.set_message(id.to_owned());
        }
        wants
    }

    /// Returns the number of messages that a stream of messages of this size has.
    fn stream_messages(&self, size: MessageSize) -> u64 {
        let all = self.session.effort.samples.saturating_mul(STREAM_FACTOR);
        (all / (size.bytes() as u64).div_ceil(FULL_STREAM_MESSAGE_BYTES_MAX)).max(1)
    }

    /// Returns the number of streams for a row. It is odd, so that the median is the result of one
    /// stream.
    fn stream_count(&self) -> u32 {
        (self.session.effort.rounds / ROUNDS_PER_STREAM) | 1
    }

    /// Measures rows for which both ends are in one thread. They show the cost of the instructions
    /// of `send` and `recv`, which is not a latency.
    pub fn measure_one_thread(&mut self, one_way: &[Transport], streams: &[Transport]) -> Outcome {
        for &transport in one_way {
            self.progress.inc(1);
            self.progress.set_message(transport.id());
            let basis = format!("{}; ", transport.carrier.basis());
            measure_send_and_receive(&mut self.session, &self.private, transport, 4, &basis)?;
        }
        for &transport in streams {
            let id = format!("throughput/same_thread/{}", transport.id());
            if self.wants_row(&id) {
                self.measure_one_thread_streams(&id, transport)?;
            }
        }
        Ok(())
    }

    fn measure_one_thread_streams(&mut self, id: &str, transport: Transport) -> Outcome {
        let messages = self.stream_messages(transport.size);
        let clock = &self.session.clock;
        let mut ends = LoopedTransport::open(transport, clock.source(), &self.private)?;
        let mut streams = Vec::new();
        let mut rates = Vec::new();
        for _ in 0..self.stream_count() {
            let streamed = ends.stream(messages)?;
            rates.push(streamed.messages_per_s(clock.ticks_per_s()));
            streams.push(streamed);
        }
        let row = Row::from_streams(id, &streams, None).with_rates(&rates);
        let basis = format!(
            "{}; bursts of {}",
            transport.carrier.basis(),
            loopback::BURST_MESSAGES
        );
        self.session.report.push(row, &basis);
        Ok(())
    }

    /// Measures all rows for one placement of the two ends, and the floor in the same placement.
    pub fn measure_two_ends(
        &mut self,
        placement: Placement,
        one_way: &[Transport],
        streams: &[Transport],
    ) -> Outcome {
        let place = placement.id();
        self.progress.set_message(place);
        let cpus = self.session.cpus;
        let effort = self.session.effort;
        let (mut floor, spin) = Floor::new(placement, cpus, &self.session.clock, effort)?;
        let source = self.session.clock.source();
        let connection = Connection::start(placement, cpus, source, &self.private)?;
        self.session.report.set(&format!("spin/{place}"), spin);
        let mut all = floor.round(FloorLines::Two, effort.warm_up, effort.samples)?;
        let mut ends = SurveyEnds {
            survey: self,
            floor,
            connection,
            place,
        };
        for &transport in one_way {
            let id = format!("one_way/{place}/{}", transport.id());
            if ends.survey.wants_row(&id) {
                all.merge(&ends.measure_one_way(&id, transport)?);
            }
        }
        for &transport in streams {
            let id = format!("throughput/{place}/{}", transport.id());
            if ends.survey.wants_row(&id) {
                ends.measure_streams(&id, transport)?;
            }
        }
        let id = format!("floor/{place}/two_lines/8B");
        if self.session.args.wants_row(&id) {
            self.session
                .report
                .push(Row::from_rounds(&id, &all, &self.session.clock), "RTT/2");
        }
        Ok(())
    }
}

/// Sends a message and receives it in this thread, again and again, and adds a row if the command
/// line selects it. `per_batch` is the number of samples in a batch. The text that says how the row
/// was measured begins with `basis`.
pub fn measure_send_and_receive(
    session: &mut BenchmarkSession,
    private: &PrivateNamespace,
    transport: Transport,
    per_batch: u64,
    basis: &str,
) -> Outcome {
    let id = format!("one_way/same_thread/{}", transport.id());
    if !session.args.wants_row(&id) {
        return Ok(());
    }
    let Effort {
        rounds, samples, ..
    } = session.effort;
    let source = session.clock.source();
    let plan = MicroPlan::new(source, u64::from(rounds) * samples / per_batch);
    let micro = LoopedTransport::open(transport, source, private)?.round(&plan)?;
    let row = Row::from_micro(&id, &micro, &session.clock);
    let basis = format!("{basis}send + recv, batches of {}", micro.batch);
    session.report.push(row, &basis);
    Ok(())
}

/// The two ends of the floor and the two ends of the measured transport, in one placement.
struct SurveyEnds<'a> {
    survey: &'a mut Survey,
    floor: Floor,
    connection: Connection,
    place: &'static str,
}

impl SurveyEnds<'_> {
    /// Measures a row of latencies; returns the merged rounds of the floor between its rounds.
    fn measure_one_way(&mut self, id: &str, transport: Transport) -> Result<Round, AnyError> {
        let effort = self.survey.session.effort;
        let clock = &self.survey.session.clock;
        let connection = &mut self.connection;
        let floor = &mut self.floor;
        let measured = run_between_floors(
            effort.rounds,
            clock,
            || floor.round(FloorLines::Two, effort.warm_up, effort.samples),
            || {
                // WHY: the relative timing of two ends stays the same as long as the rings do. One
                // pair of rings for the whole row would make its ratio a matter of chance.
                connection.open(transport)?;
                Ok(connection
                    .round(Timing::RoundTrip, effort.warm_up, effort.samples)?
                    .0)
            },
        )?;
        let (ratio, states) = measured.floor_ratio(|round| round.p50_ns(clock));
        let trips = Round::merge_all(measured.all.iter().map(|bracket| &bracket.subject));
        let calls = self.run_extra_rounds(Timing::SendCall)?;
        let clock = &self.survey.session.clock;
        let mut row = Row::from_rounds(id, &trips.ok_or("no rounds")?, clock)
            .with_floor_ratio(ratio)
            .with_send_times(&calls.0.ticks, calls.0.ns_per_unit(clock));
        row.figures.tsc_ns = self.measure_one_way_by_tsc(id, transport.size)?;
        let report = &mut self.survey.session.report;
        report.push(row, &format!("RTT/2; {}", transport.carrier.basis()));
        report.set_for_row(FLOOR_RATIO_BY_STATE_KEY, id, states);
        self.record_floor(id, &measured);
        measured
            .floor
            .ok_or_else(|| "no rounds of the floor".into())
    }

    /// Runs a few more rounds with another timing. Returns the merged rounds of the near end, and
    /// the one-way times to the far end.
    fn run_extra_rounds(&mut self, timing: Timing) -> Result<(Round, Samples), AnyError> {
        let effort = self.survey.session.effort;
        let (mut near, echo) = self
            .connection
            .round(timing, effort.warm_up, effort.samples)?;
        let mut forward = echo.forward;
        for _ in 1..EXTRA_ROUNDS.min(effort.rounds) {
            let (round, echo) = self
                .connection
                .round(timing, effort.warm_up, effort.samples)?;
            near.merge(&round);
            forward.merge(&echo.forward);
        }
        Ok((near, forward))
    }

    /// Stores the median and the 99th percentile of the one-way times that were measured with the
    /// counters of both cores. Does so only if the counters agree, and if a message is large enough
    /// for a stamp.
    fn measure_one_way_by_tsc(
        &mut self,
        id: &str,
        size: MessageSize,
    ) -> Result<Option<[f64; 2]>, AnyError> {
        let offset = self.floor.check_offset(&self.survey.session.clock)?;
        let report = &mut self.survey.session.report;
        report.set(&format!("tsc_offset/{}", self.place), offset);
        if !offset.sane || !size.has_stamp() {
            report.set_for_row("one_way_by_tsc", id, Value::Null);
            return Ok(None);
        }
        let (near, mut samples) = self.run_extra_rounds(Timing::OneWay)?;
        samples.merge(&near.ticks);
        let ns = samples.percentiles(self.survey.session.clock.ns_per_tick());
        let note = json!({ "p50": ns.p50, "p99": ns.p99, "backwards": near.backwards });
        self.survey
            .session
            .report
            .set_for_row("one_way_by_tsc", id, note);
        Ok(Some([ns.p50, ns.p99]))
    }

    /// Measures a row of throughput: the median of the streams during which the floor was steady.
    fn measure_streams(&mut self, id: &str, transport: Transport) -> Outcome {
        let messages = self.survey.stream_messages(transport.size);
        let repetitions = self.survey.stream_count();
        let limit = self.survey.session.args.quick_or_full(STREAM_TIME);
        let effort = self.survey.session.effort;
        let clock = &self.survey.session.clock;
        let connection = &mut self.connection;
        let floor = &mut self.floor;
        connection.open(transport)?;
        // Warms up the rings' pages and both ends' caches, and shows how long a stream takes.
        let (_, first) = connection.stream(messages.div_ceil(20))?;
        let per_s = first.sent() as f64 / clock.to_ns(first.elapsed_ticks.max(1)) * 1e9;
        let fitting = (per_s * limit.as_secs_f64()) as u64;
        let messages = messages.min(fitting.max(STREAM_MESSAGES_MIN));
        let measured = run_between_floors(
            repetitions,
            clock,
            || floor.round(FloorLines::Two, effort.warm_up, effort.samples),
            || connection.stream(messages),
        )?;
        let notes: Vec<StreamRecord> = measured
            .all
            .iter()
            .map(|bracket| StreamRecord::new(bracket, clock.ticks_per_s()))
            .collect();
        let rates = |rate: fn(&StreamRecord) -> f64| -> Vec<f64> {
            notes.iter().filter(|note| note.counts).map(rate).collect()
        };
        let received = rates(|note| note.msgs_per_s);
        let sent = stats::median(&mut rates(|note| note.sent_per_s));
        let streams: Vec<StreamResult> = measured
            .all
            .iter()
            .map(|bracket| bracket.subject.1)
            .collect();
        let what = if transport.carrier.is_duplex() {
            "due at both subscribers"
        } else {
            "sent"
        };
        let basis = format!("{}; {what} {:.1}M/s", transport.carrier.basis(), sent / 1e6);
        let row = Row::from_streams(id, &streams, None).with_rates(&received);
        let report = &mut self.survey.session.report;
        report.push(row, &basis);
        report.set_for_row("streams", id, notes);
        self.record_floor(id, &measured);
        Ok(())
    }

    fn record_floor<S>(&mut self, id: &str, measured: &BracketedRounds<S>) {
        let report = &mut self.survey.session.report;
        if let Some(range) = measured.floor_range_ns() {
            report.set_for_row(FLOOR_NS_KEY, id, range);
        }
        report.set_for_row("rounds_repeated", id, measured.repeated);
        report.set_for_row("rounds_unsteady", id, measured.unsteady);
    }
}
