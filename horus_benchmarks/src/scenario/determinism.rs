//! Measures how much the latencies of messages vary, within a run and between runs. The runs are
//! repeated with pinned threads and processes.

use std::process::ExitCode;

use horus_core::channel::spsc;
use horus_core::topic::{Qos, Topic};
use serde_json::{Value, json};

use crate::measure::endpoint::{ClosureEndpoint, Endpoint};
use crate::measure::stats::{Samples, coefficient_of_variation, round_to_six_decimals};
use crate::measure::tsc::{TickSource, TscClock};
use crate::measure::wait::OtherEndWatch;
use crate::measure::workload::{RoundPlan, TimedPart, run_measuring_end};
use crate::report::additional_values::AdditionalValues;
use crate::report::rows::Row;
use crate::run::args::{MeasurementEffort, QuickOrFull};
use crate::run::floor::Placement::{self, CrossProcess, CrossThread};
use crate::run::session::BenchmarkSession;
use crate::scenario::ends::connect;
use crate::scenario::entry::{Outcome, Program};
use crate::transport::carrier::{CARRIER_CAPACITY, Carrier, MessageSize, Transport};
use crate::transport::connection::Connection;
use crate::transport::packet::Packet16;

const ABOUT: &str = "Measures how much the times of single messages of 16 bytes vary: within a \
pinned thread, between two pinned threads and between two pinned processes, over a topic and over \
a channel within the process. Each message is timed by itself, and each round has new endpoints. \
No sample is left out.";

/// Number of runs, and number of messages in each run.
const RUNS_AND_SAMPLES: QuickOrFull<(u32, u64)> = QuickOrFull((10, 20_000), (10, 100_000));

/// Deadline for the delivery of one message, in nanoseconds. Later messages are counted.
const DEADLINE_NS: f64 = 1000.0;

/// The rows. For each one: the middle of its id, the placement of the two ends (`None` for one
/// thread), and the carrier.
const MEASURED_ROWS: [(&str, Option<Placement>, Carrier); 5] = [
    ("topic", None, Carrier::Topic),
    ("spsc", None, Carrier::SPSC),
    ("cross_thread/topic", Some(CrossThread), Carrier::Topic),
    ("cross_thread/spsc", Some(CrossThread), Carrier::SPSC),
    ("cross_process/topic", Some(CrossProcess), Carrier::Topic),
];

/// Runs the benchmark `determinism_benchmark`.
pub fn main() -> ExitCode {
    let program = Program::new(ABOUT, RUNS_AND_SAMPLES).without_ratio_goals();
    program.main(|session| {
        session.report.set_setting("deadline_ns", DEADLINE_NS);
        let method = "send and receive, each timed by itself";
        measure_rows(session, true, method)?;
        measure_rows(session, false, "RTT/2, each timed by itself")
    })
}

/// Makes one run of each row in turn, again and again, so that all of them run while the machine is
/// in the same state. Then adds the rows to the report. Measures the rows in one thread, or those
/// between two ends.
fn measure_rows(session: &mut BenchmarkSession, in_one_thread: bool, method: &str) -> Outcome {
    let effort = session.effort;
    let mut all = Vec::new();
    for (name, placement, carrier) in MEASURED_ROWS {
        let id = format!("determinism/{name}/16B");
        if placement.is_none() == in_one_thread && session.args.wants_row(&id) {
            let connection = placement.map(|placement| connect(session, placement));
            all.push((id, carrier, connection.transpose()?, Vec::new()));
        }
    }
    session.add_progress_steps(effort.rounds as usize * all.len());
    for number in 0..effort.rounds {
        for (id, carrier, connection, runs) in &mut all {
            session.progress.set_message(id.clone());
            runs.push(match connection {
                Some(connection) => run_between_two_ends(connection, *carrier, effort)?,
                None => run_in_one_thread(session, *carrier, number)?,
            });
            session.progress.inc(1);
        }
    }
    let unit = SampleUnit::new(&session.clock, if in_one_thread { 1 } else { 2 });
    for (id, _, _, runs) in &all {
        let records: Vec<Value> = runs.iter().map(|run| unit.run_json(run)).collect();
        session.report.set_row_setting("runs", id, records);
        session.add_row(row_of_runs(id, runs, unit), method);
    }
    Ok(())
}

/// Makes one run between two ends. Returns its samples in ticks, of which none was removed.
fn run_between_two_ends(
    connection: &mut Connection,
    carrier: Carrier,
    effort: MeasurementEffort,
) -> Outcome<Samples> {
    let size = MessageSize::Bytes(16);
    connection.open(Transport { carrier, size })?;
    Ok(connection.run_round_trips(effort)?.ticks)
}

/// Makes one run in one thread. Returns its samples in ticks, of which none was removed.
fn run_in_one_thread(
    session: &BenchmarkSession,
    carrier: Carrier,
    number: u32,
) -> Outcome<Samples> {
    let source = session.clock.source;
    let plan = RoundPlan {
        timing: TimedPart::RoundTrip,
        warm_up: session.effort.warm_up,
        samples: session.effort.samples,
        first_seq: 1,
    };
    if carrier == Carrier::SPSC {
        return run_over_channel(&plan, source);
    }
    let namespace = session.private.open()?;
    let name = format!("determinism_{number}");
    // WHY not the default: the channel has as many slots.
    let qos = Qos::new().capacity(CARRIER_CAPACITY);
    let builder = || {
        Topic::<Packet16>::builder(&name)
            .namespace(&namespace)
            .qos(qos)
    };
    let mut publisher = builder().publisher()?;
    let mut subscriber = builder().subscriber()?;
    let send = |message: &Packet16| publisher.send(*message).is_ok();
    time_messages(
        &mut ClosureEndpoint(send, || subscriber.recv()),
        &plan,
        source,
    )
}

fn run_over_channel(plan: &RoundPlan, source: TickSource) -> Outcome<Samples> {
    let (mut sender, mut receiver) = spsc::channel::<Packet16>(CARRIER_CAPACITY as usize);
    let send = |message: &Packet16| sender.try_send(*message).is_ok();
    let receive = || receiver.try_recv().ok();
    time_messages(&mut ClosureEndpoint(send, receive), plan, source)
}

/// Sends a message and receives it, again and again in one thread. Times each message from before
/// the send until after it was received. A message that has not arrived when `send` returns never
/// arrives; the run then fails.
fn time_messages(
    ends: &mut impl Endpoint<Packet16>,
    plan: &RoundPlan,
    source: TickSource,
) -> Outcome<Samples> {
    let watch = OtherEndWatch::new(false, || true);
    Ok(run_measuring_end::<Packet16>(ends, plan, source, &watch)?.ticks)
}

/// The unit in which a run stores its samples, with the numbers that convert it to nanoseconds.
#[derive(Debug, Clone, Copy)]
struct SampleUnit {
    ns: f64,
    /// The step in which the timer advances, in ticks. Samples are multiples of it.
    step: u64,
}

impl SampleUnit {
    /// Returns the unit of samples in ticks of `clock`. Each sample lasts for `ways_per_sample`
    /// one-way times: 1, or 2 if it is a round trip.
    fn new(clock: &TscClock, ways_per_sample: u32) -> SampleUnit {
        SampleUnit {
            ns: clock.ns_per_tick / f64::from(ways_per_sample),
            step: clock.resolution_ticks,
        }
    }

    /// Returns the number of samples that exceed the deadline. It is as exact as the percentiles of
    /// the samples.
    fn count_deadline_misses(self, samples: &Samples) -> u64 {
        let is_late = |&(ticks, _): &(u64, u64)| ticks as f64 * self.ns > DEADLINE_NS;
        let late = samples.value_counts().filter(is_late);
        late.map(|(_, count)| count).sum()
    }

    /// Returns the values of one run as JSON: the percentiles, mean and standard deviation in
    /// nanoseconds, and the number of missed deadlines. The report lists them for each run, as the
    /// row itself combines all runs.
    fn run_json(self, run: &Samples) -> Value {
        let ns = run.percentiles(self.ns);
        json!({
            "mean": ns.mean, "p50": ns.p50, "p99": ns.p99, "max": ns.max,
            "sd": round_to_six_decimals(self.ns * run.standard_deviation()),
            "deadline_misses": self.count_deadline_misses(run),
        })
    }
}

/// Creates a row from several runs: percentiles of all samples, and the variation among the runs.
fn row_of_runs(id: &str, runs: &[Samples], unit: SampleUnit) -> Row {
    let mut all = Samples::new();
    runs.iter().for_each(|run| all.merge(run));
    let means: Vec<f64> = runs.iter().map(Samples::mean).collect();
    let medians = runs.iter().map(|run| run.interpolated_median(unit.step));
    let misses = runs.iter().map(|run| unit.count_deadline_misses(run)).sum();
    let additional = AdditionalValues {
        sd_ns: Some(round_to_six_decimals(all.standard_deviation() * unit.ns)),
        run_cv: coefficient_of_variation(&means).map(round_to_six_decimals),
        run_cv_median: coefficient_of_variation(&medians.collect::<Vec<f64>>())
            .map(round_to_six_decimals),
        deadline_misses: Some(misses),
        deadline_miss_share: Some(misses as f64 / all.count().max(1) as f64),
        ..AdditionalValues::default()
    };
    let row = Row::from_samples(id, &all, unit.ns);
    Row { additional, ..row }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::measure::payload::Payload;

    const PLAN: RoundPlan = RoundPlan {
        timing: TimedPart::RoundTrip,
        warm_up: 3,
        samples: 20,
        first_seq: 1,
    };

    fn run_of(values: &[u64]) -> Samples {
        let mut run = Samples::new();
        values.iter().for_each(|&value| run.record(value));
        run
    }

    #[test]
    fn every_message_is_timed_and_verified() {
        let run = run_over_channel(&PLAN, TickSource::detect()).unwrap();
        assert_eq!(run.count(), 20);
    }

    #[test]
    fn a_message_that_is_lost_or_old_ends_the_run() {
        let source = TickSource::detect();
        let mut deaf = ClosureEndpoint(|_: &Packet16| true, || None);
        assert!(time_messages(&mut deaf, &PLAN, source).is_err());
        let mut stuck = ClosureEndpoint(|_: &Packet16| true, || Some(Packet16::compose(1)));
        assert!(time_messages(&mut stuck, &PLAN, source).is_err());
    }

    #[test]
    fn the_figures_are_those_of_the_formulas() {
        let runs = [run_of(&[2, 4, 4, 4, 5, 5, 7, 9]), run_of(&[10, 10, 10, 10])];
        assert_eq!(runs[0].standard_deviation(), 2.0);
        assert_eq!(runs[1].standard_deviation(), 0.0);
        // The deadline is 8 ticks.
        let row = row_of_runs("x", &runs, SampleUnit { ns: 125.0, step: 1 });
        assert_eq!(row.sent_messages(), 12);
        assert_eq!(row.additional.deadline_misses, Some(5));
        assert_eq!(row.additional.deadline_miss_share, Some(5.0 / 12.0));
        // Means 5 and 10: 5 / sqrt(2) by 7.5.
        assert!((row.additional.run_cv.unwrap() - 0.471_405).abs() < 1e-5);
        assert_eq!(coefficient_of_variation(&[1.0]), None);
    }

    #[test]
    fn half_a_round_trip_is_what_has_a_deadline() {
        let clock = TscClock::calibrate(Duration::from_millis(1));
        let units = [1, 2].map(|ways| SampleUnit::new(&clock, ways));
        assert_eq!(units[1].ns * 2.0, units[0].ns);
        let ticks = |ns: f64| (ns / units[0].ns) as u64;
        let run = run_of(&[1000.0, 1990.0, 2010.0, 5000.0].map(ticks));
        assert_eq!(units[1].count_deadline_misses(&run), 2);
    }
}
