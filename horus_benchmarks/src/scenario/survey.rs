//! Measures paths of messages: latency, cost of `send`, and throughput, each next to the floor.

use std::time::Duration;

use serde_json::{Value, json};

use crate::measure::bracket::{
    RoundsBetweenFloors, STEADY_FLOOR_MAX_TO_MIN_RATIO, run_rounds_between_floors,
};
use crate::measure::loopback;
use crate::measure::micro::BatchPlan;
use crate::measure::stats;
use crate::measure::stream::StreamRecord;
use crate::measure::workload::{RoundResult, TimedPart};
use crate::report::goals::{FLOOR_NS_KEY, FLOOR_RATIO_BY_STATE_KEY, STREAMS_KEY};
use crate::report::rows::Row;
use crate::run::args::{MeasurementEffort, QuickOrFull};
use crate::run::floor::Placement;
use crate::run::session::BenchmarkSession;
use crate::scenario::ends::TwoEnds;
use crate::scenario::entry::Outcome;
use crate::transport::carrier::{
    CAPACITY_FOR_LARGE_MESSAGES, CARRIER_CAPACITY, Carrier, MessageSize, Transport,
};
use crate::transport::connection::LoopedTransport;

/// Number of rounds, and number of timed messages in each round.
/// WHY many short rounds: the floor is then the same before and after most of them.
pub const ROUNDS_AND_SAMPLES: QuickOrFull<(u32, u64)> = QuickOrFull((20, 6_000), (40, 20_000));

/// Number of additional rounds for each of two other measurements: the duration of the `send` call
/// alone, and the one-way time from the time stamp counter of one core to that of the other.
const EXTRA_ROUNDS_MAX: u32 = 4;

/// Number of messages in a stream for each timed message in a round. It applies to messages of at
/// most [`FULL_STREAM_MESSAGE_BYTES_MAX`] bytes.
const STREAM_MESSAGES_PER_SAMPLE: u64 = 500;

/// Maximum message size in bytes for which a stream has its full number of messages. A stream of
/// larger messages, of up to n times this size, has 1/n of that number.
const FULL_STREAM_MESSAGE_BYTES_MAX: u64 = 100;

/// Approximate maximum duration of a stream. It matters if the machine has other work to do.
const STREAM_TIME: QuickOrFull<Duration> =
    QuickOrFull(Duration::from_millis(150), Duration::from_millis(300));

const STREAM_MESSAGES_MIN: u64 = 1000;

/// The number of streams of a row is about its number of rounds divided by this number. WHY not
/// more: the streams of each state of the machine need enough streams for an interval.
const ROUNDS_PER_STREAM: u32 = 3;

/// The paths to measure in one placement: every carrier with every size.
#[derive(Debug, Clone, Copy)]
pub struct TransportsToMeasure<'a> {
    /// The placement of the two ends. With `None`, both are in one thread, which shows the cost of
    /// the instructions of `send` and `recv`. That is not a latency.
    pub placement: Option<Placement>,
    /// The carriers whose latency is measured.
    pub one_way: &'a [Carrier],
    /// The carriers whose throughput is measured.
    pub streams: &'a [Carrier],
    /// The sizes of the messages.
    pub sizes: &'a [MessageSize],
}

/// Measures `all` paths, and adds their rows to the report.
pub fn measure_paths(session: &mut BenchmarkSession, all: &[TransportsToMeasure<'_>]) -> Outcome {
    record_settings(session);
    for paths in all {
        let carriers = paths.one_way.len() + paths.streams.len();
        let rows = carriers * paths.sizes.len();
        session.add_progress_steps(rows);
    }
    for paths in all {
        let [one_way, streams] = [paths.one_way, paths.streams]
            .map(|carriers| Transport::combinations(carriers, paths.sizes));
        match paths.placement {
            None => measure_in_one_thread(session, &one_way, &streams)?,
            Some(placement) => measure_between_two_ends(session, placement, &one_way, &streams)?,
        }
    }
    Ok(())
}

fn record_settings(session: &mut BenchmarkSession) {
    let messages = stream_messages(session.effort, MessageSize::Bytes(16));
    let report = &mut session.report;
    report.set_setting("capacity", CARRIER_CAPACITY);
    report.set_setting("capacity/large", CAPACITY_FOR_LARGE_MESSAGES);
    report.set_setting("capacity/pod_shm", "the ring's default");
    let paths = "rings of the same kind there and back, new ones for every round";
    report.set_setting("paths", paths);
    report.set_setting("messages_per_stream_max/16B", messages);
    report.set_setting("streams_per_row", stream_count(session.effort));
    report.set_setting("floor_change_max", STEADY_FLOOR_MAX_TO_MIN_RATIO);
}

/// Returns the number of messages that a stream of messages of this size has.
fn stream_messages(effort: MeasurementEffort, size: MessageSize) -> u64 {
    let all = effort.samples.saturating_mul(STREAM_MESSAGES_PER_SAMPLE);
    (all / (size.bytes() as u64).div_ceil(FULL_STREAM_MESSAGE_BYTES_MAX)).max(1)
}

/// Returns the number of streams for a row. It is odd, so that the median is the result of one
/// stream.
fn stream_count(effort: MeasurementEffort) -> u32 {
    (effort.rounds / ROUNDS_PER_STREAM) | 1
}

fn measure_in_one_thread(
    session: &mut BenchmarkSession,
    one_way: &[Transport],
    streams: &[Transport],
) -> Outcome {
    for &transport in one_way {
        let method = format!("{}; ", transport.carrier.description());
        measure_send_and_receive(session, transport, 4, &method)?;
    }
    for &transport in streams {
        let id = format!("throughput/same_thread/{}", transport.id());
        if !session.begin_row_if_selected(&id) {
            continue;
        }
        let messages = stream_messages(session.effort, transport.size);
        let clock = &session.clock;
        let mut ends = LoopedTransport::open(transport, clock.source, &session.private)?;
        let streams = (0..stream_count(session.effort)).map(|_| ends.run_stream(messages));
        let streams = streams.collect::<Outcome<Vec<_>>>()?;
        let hz = clock.ticks_per_s();
        let rates = streams.iter().map(|stream| stream.messages_per_s(hz));
        let row = Row::from_streams(&id, &streams, &rates.collect::<Vec<_>>());
        let bursts = loopback::BURST_MESSAGES;
        let method = format!("{}; bursts of {bursts}", transport.carrier.description());
        session.add_row(row, method);
    }
    Ok(())
}

/// Sends a message and receives it in this thread, again and again, and adds a row if the command
/// line selects it. `samples_per_batch` is the number of samples in a batch. The text that says how
/// the row was measured begins with `method`.
pub fn measure_send_and_receive(
    session: &mut BenchmarkSession,
    transport: Transport,
    samples_per_batch: u64,
    method: &str,
) -> Outcome {
    let id = format!("one_way/same_thread/{}", transport.id());
    if !session.begin_row_if_selected(&id) {
        return Ok(());
    }
    let plan = BatchPlan::new(
        session.clock.source,
        session.effort.samples / samples_per_batch,
    );
    let mut ends = LoopedTransport::open(transport, plan.source, &session.private)?;
    let mut micro = ends.run_batches(&plan)?;
    for _ in 1..session.effort.rounds {
        micro.merge(&ends.run_batches(&plan)?);
    }
    session.add_batches_row(&id, &micro, &format!("{method}send + recv, "));
    Ok(())
}

/// Measures all rows for one placement of the two ends, and the floor in the same placement.
fn measure_between_two_ends(
    session: &mut BenchmarkSession,
    placement: Placement,
    one_way: &[Transport],
    streams: &[Transport],
) -> Outcome {
    let mut ends = TwoEnds::start(session, placement)?;
    let place = ends.place;
    let mut all = ends.floor.measure_round_beside(session.effort)?;
    for &transport in one_way {
        let id = format!("one_way/{place}/{}", transport.id());
        if session.begin_row_if_selected(&id) {
            measure_latency_row(session, &mut ends, &id, transport, &mut all)?;
        }
    }
    for &transport in streams {
        let id = format!("throughput/{place}/{}", transport.id());
        if session.begin_row_if_selected(&id) {
            measure_throughput_row(session, &mut ends, &id, transport)?;
        }
    }
    let id = format!("floor/{place}/two_lines/8B");
    if session.args.wants_row(&id) {
        let row = Row::from_rounds(&id, &all, &session.clock);
        session.add_row(row, "RTT/2");
    }
    Ok(())
}

/// Measures a row of latencies, and merges the rounds of the floor between its rounds into
/// `all_floors`.
fn measure_latency_row(
    session: &mut BenchmarkSession,
    ends: &mut TwoEnds,
    id: &str,
    transport: Transport,
    all_floors: &mut RoundResult,
) -> Outcome {
    let effort = session.effort;
    let clock = &session.clock;
    let (floor, connection) = (&mut ends.floor, &mut ends.connection);
    let measured = run_rounds_between_floors(
        effort.rounds,
        1,
        || -> Outcome<f64> {
            let round = floor.measure_round_beside(effort)?;
            all_floors.merge(&round);
            Ok(round.p50_ns(clock))
        },
        |_| {
            // WHY: the relative timing of two ends stays the same as long as the rings do. One
            // pair of rings for the whole row would make its ratio a matter of chance.
            connection.open(transport)?;
            connection.run_round_trips(effort)
        },
    )?;
    let measured = measured.first().ok_or("no rounds")?;
    let (ratio, states) = measured.ratio_to_floor_by_state(|round| round.p50_ns(clock));
    let trips = RoundResult::merge_all(measured.all.iter().map(|bracket| &bracket.result));
    let (calls, _) = run_extra_rounds(ends, TimedPart::SendCall, effort)?;
    let mut row = Row::from_rounds(id, &trips.ok_or("no rounds")?, clock)
        .with_floor_ratio(ratio)
        .with_send_times(&calls.ticks, calls.ns_per_unit(clock));
    row.additional.tsc_ns = measure_one_way_by_tsc(session, ends, id, transport.size)?;
    let method = format!("RTT/2; {}", transport.carrier.description());
    session.add_row(row, method);
    let report = &mut session.report;
    report.set_row_setting(FLOOR_RATIO_BY_STATE_KEY, id, states);
    record_floor(session, id, measured);
    Ok(())
}

/// Runs a few more rounds with another timing. Returns the merged rounds of the near end and of the
/// far end.
fn run_extra_rounds(
    ends: &mut TwoEnds,
    timing: TimedPart,
    effort: MeasurementEffort,
) -> Outcome<(RoundResult, RoundResult)> {
    let mut round = || {
        ends.connection
            .run_ping_pong_round(timing, effort.warm_up, effort.samples)
    };
    let (mut near, mut far) = round()?;
    for _ in 1..EXTRA_ROUNDS_MAX.min(effort.rounds) {
        let (more_near, more_far) = round()?;
        near.merge(&more_near);
        far.merge(&more_far);
    }
    Ok((near, far))
}

/// Returns the median and the 99th percentile of the one-way times that were measured with the
/// counters of both cores, in nanoseconds, and stores them in the report. Does so only if the
/// counters agree, and if a message is large enough for a stamp.
fn measure_one_way_by_tsc(
    session: &mut BenchmarkSession,
    ends: &mut TwoEnds,
    id: &str,
    size: MessageSize,
) -> Outcome<Option<[f64; 2]>> {
    let offset = ends.floor.check_counter_offset(&session.clock)?;
    let is_measured = offset.sane && size.has_stamp();
    let name = format!("tsc_offset/{}", ends.place);
    session.report.set_setting(&name, offset);
    let mut note = Value::Null;
    let mut figures = None;
    if is_measured {
        let (near, far) = run_extra_rounds(ends, TimedPart::OneWay, session.effort)?;
        let mut samples = far.ticks;
        samples.merge(&near.ticks);
        let ns = samples.percentiles(session.clock.ns_per_tick);
        note = json!({ "p50": ns.p50, "p99": ns.p99, "backwards": near.backwards });
        figures = Some([ns.p50, ns.p99]);
    }
    session.report.set_row_setting("one_way_by_tsc", id, note);
    Ok(figures)
}

/// Measures a row of throughput: the median of the streams during which the floor was steady.
fn measure_throughput_row(
    session: &mut BenchmarkSession,
    ends: &mut TwoEnds,
    id: &str,
    transport: Transport,
) -> Outcome {
    let messages = stream_messages(session.effort, transport.size);
    let limit = session.args.quick_or_full(STREAM_TIME);
    let effort = session.effort;
    let clock = &session.clock;
    let (floor, connection) = (&mut ends.floor, &mut ends.connection);
    connection.open(transport)?;
    // Warms up the rings' pages and both ends' caches, and shows how long a stream takes.
    let (_, first) = connection.run_stream(messages.div_ceil(20))?;
    let per_s = first.sent_messages() as f64 / clock.to_ns(first.elapsed_ticks.max(1)) * 1e9;
    let fitting = (per_s * limit.as_secs_f64()) as u64;
    let messages = messages.min(fitting.max(STREAM_MESSAGES_MIN));
    let measured = run_rounds_between_floors(
        stream_count(session.effort),
        1,
        || -> Outcome<f64> { Ok(floor.measure_round_beside(effort)?.p50_ns(clock)) },
        |_| connection.run_stream(messages),
    )?;
    let measured = measured.first().ok_or("no streams")?;
    let brackets = measured.all.iter();
    let streams: Vec<_> = brackets.clone().map(|bracket| bracket.result.1).collect();
    let notes = brackets.map(|bracket| StreamRecord::new(bracket, clock.ticks_per_s()));
    let notes: Vec<StreamRecord> = notes.collect();
    let counting = notes.iter().filter(|note| note.counts);
    let received: Vec<f64> = counting.clone().map(|note| note.msgs_per_s).collect();
    let sent = stats::median(&mut counting.map(|note| note.sent_per_s).collect::<Vec<_>>());
    let what = match transport.carrier.is_duplex() {
        true => "due at both subscribers",
        false => "sent",
    };
    let method = format!(
        "{}; {what} {:.1}M/s",
        transport.carrier.description(),
        sent / 1e6
    );
    let row = Row::from_streams(id, &streams, &received);
    session.add_row(row, method);
    session.report.set_row_setting(STREAMS_KEY, id, notes);
    record_floor(session, id, measured);
    Ok(())
}

/// Stores the floor beside the rounds of the row `id`, and the number of its repeated rounds.
pub(super) fn record_floor<S>(
    session: &mut BenchmarkSession,
    id: &str,
    measured: &RoundsBetweenFloors<S>,
) {
    let report = &mut session.report;
    if let Some(range) = measured.floor_min_median_max_ns() {
        report.set_row_setting(FLOOR_NS_KEY, id, range);
    }
    report.set_row_setting("rounds_repeated", id, measured.repeated);
    report.set_row_setting("rounds_unsteady", id, measured.unsteady);
}
