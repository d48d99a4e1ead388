//! Differences among the times of messages, and between runs: repeated runs of pinned threads and
//! processes.

use std::error::Error;
use std::process::ExitCode;

use horus_core::channel::spsc;
use horus_core::topic::Topic;
use serde_json::{Value, json};

use crate::measure::endpoint::{Closures, Endpoint};
use crate::measure::payload::{Corrupt, Payload};
use crate::measure::stats::{Samples, round_share, variation};
use crate::measure::tsc::{TickSource, TscClock};
use crate::measure::workload::{Round, Timing};
use crate::report::figures::Figures;
use crate::report::rows::Row;
use crate::run::args::{Args, Effort};
use crate::run::floor::Placement;
use crate::run::namespace::PrivateNamespace;
use crate::run::progress::Progress;
use crate::run::session::Session;
use crate::scenario::entry::{self, Outcome};
use crate::transport::carrier::{Carrier, Size, Transport};
use crate::transport::connection::Connection;
use crate::transport::packet::Packet16;

const ABOUT: &str = "How much the time of one message differs from that of another: a message of \
16 bytes is sent and received, by one pinned thread, between two threads and between two \
processes that are pinned, through a topic and through a channel in the process, and each is timed \
by itself. A round is a run with ends of its own. No sample is left out.";

const RUNS: u32 = 10;

/// Number of messages of a run by default, and with `--quick`.
const SAMPLES: (u64, u64) = (100_000, 20_000);

/// The deadline of one message, in nanoseconds.
const DEADLINE_NS: f64 = 1000.0;

/// Number of messages that the channel can hold: the default of topics.
const CAPACITY: usize = 16;

const TOPIC: &str = "determinism/topic/16B";
const CHANNEL: &str = "determinism/spsc/16B";

const BETWEEN: [(Placement, Carrier, &str); 3] = [
    (
        Placement::CrossThread,
        Carrier::Topic,
        "determinism/cross_thread/topic/16B",
    ),
    (
        Placement::CrossThread,
        Carrier::SPSC,
        "determinism/cross_thread/spsc/16B",
    ),
    (
        Placement::CrossProcess,
        Carrier::Topic,
        "determinism/cross_process/topic/16B",
    ),
];

const IN_ONE_THREAD: &str = "send and receive, each timed by itself";
const BETWEEN_TWO: &str = "RTT/2, each timed by itself";

/// Runs `determinism_benchmark`.
pub fn main() -> ExitCode {
    entry::main("determinism_benchmark", ABOUT, &[], run)
}

fn run(args: Args) -> Outcome {
    let samples = args
        .samples
        .unwrap_or(if args.quick { SAMPLES.1 } else { SAMPLES.0 });
    let rounds = args.rounds.unwrap_or(RUNS);
    let effort = Effort {
        rounds,
        warm_up: samples.div_ceil(10),
        samples,
    };
    let mut session = Session::begin_with(args, effort)?;
    session.report.set("deadline_ns", DEADLINE_NS);
    one_thread(&mut session)?;
    two_ends(&mut session)?;
    Ok(session.finish()?)
}

fn deadline_ticks(session: &Session) -> u64 {
    (DEADLINE_NS / session.clock.ns_per_tick()) as u64
}

fn push(session: &mut Session, id: &str, runs: &[Run], unit: Unit, basis: &str) {
    if runs.is_empty() {
        return;
    }
    let records: Vec<Value> = runs.iter().map(|run| run.record_of(unit)).collect();
    session.report.note("runs", id, json!(records));
    session.report.push(row(id, runs, unit), basis);
}

fn one_thread(session: &mut Session) -> Outcome {
    let private = PrivateNamespace::create()?;
    let effort = session.effort;
    let plan = RunPlan {
        source: session.clock.source(),
        warm_up: effort.warm_up,
        samples: effort.samples,
        deadline_ticks: deadline_ticks(session),
    };
    let mut topic = Vec::new();
    let mut channel = Vec::new();
    let progress = Progress::new(u64::from(effort.rounds) * 2);
    for number in 0..effort.rounds {
        // One of each in turn, so that both meet the machine in the same state.
        if session.args.wants(TOPIC) {
            topic.push(through_topic(&private, number, &plan)?);
        }
        progress.step();
        if session.args.wants(CHANNEL) {
            channel.push(through_channel(&plan)?);
        }
        progress.step();
    }
    progress.finish();
    let unit = Unit::ticks(&session.clock);
    push(session, TOPIC, &topic, unit, IN_ONE_THREAD);
    push(session, CHANNEL, &channel, unit, IN_ONE_THREAD);
    Ok(())
}

fn through_topic(
    private: &PrivateNamespace,
    number: u32,
    plan: &RunPlan,
) -> Result<Run, Box<dyn Error>> {
    let namespace = private.open()?;
    let name = format!("determinism_{number}");
    let builder = || Topic::<Packet16>::builder(&name).namespace(&namespace);
    let mut publisher = builder().publisher()?;
    let mut subscriber = builder().subscriber()?;
    let mut ends = Closures(
        |message: &Packet16| publisher.send(*message).is_ok(),
        || subscriber.recv(),
    );
    Ok(Run::measure(&mut ends, plan)?)
}

fn through_channel(plan: &RunPlan) -> Result<Run, Box<dyn Error>> {
    let (mut sender, mut receiver) = spsc::channel::<Packet16>(CAPACITY);
    let mut ends = Closures(
        |message: &Packet16| sender.try_send(*message).is_ok(),
        || receiver.try_recv().ok(),
    );
    Ok(Run::measure(&mut ends, plan)?)
}

fn two_ends(session: &mut Session) -> Outcome {
    let wanted = BETWEEN.iter().filter(|(_, _, id)| session.args.wants(id));
    let wanted: Vec<_> = wanted.copied().collect();
    let private = PrivateNamespace::create()?;
    let effort = session.effort;
    let deadline_ticks = deadline_ticks(session);
    let source = session.clock.source();
    let start = |&(placement, ..): &(Placement, Carrier, &str)| {
        Connection::start(placement, session.cpus, source, &private)
    };
    let mut connections = wanted
        .iter()
        .map(start)
        .collect::<Result<Vec<Connection>, _>>()?;
    let mut runs = vec![Vec::new(); wanted.len()];
    let progress = Progress::new(u64::from(effort.rounds) * wanted.len() as u64);
    for _ in 0..effort.rounds {
        for ((connection, runs), &(_, carrier, id)) in
            connections.iter_mut().zip(&mut runs).zip(&wanted)
        {
            progress.label(id);
            connection.open(Transport {
                carrier,
                size: Size::Bytes(16),
            })?;
            let (round, _) = connection.round(Timing::RoundTrip, effort.warm_up, effort.samples)?;
            runs.push(Run::of_round(&round, deadline_ticks));
            progress.step();
        }
    }
    progress.finish();
    let unit = Unit::round_trip(&session.clock);
    for (runs, (_, _, id)) in runs.iter().zip(wanted) {
        push(session, id, runs, unit, BETWEEN_TWO);
    }
    Ok(())
}

#[derive(Debug, Clone, Copy)]
struct RunPlan {
    source: TickSource,
    /// Number of warm-up messages: verified, but not timed.
    warm_up: u64,
    /// Number of messages that are each timed.
    samples: u64,
    /// The deadline of one message, in ticks.
    deadline_ticks: u64,
}

#[derive(Debug, Clone, Copy)]
struct Unit {
    ns: f64,
    /// The step in which the timer advances, in ticks.
    step: u64,
}

impl Unit {
    fn ticks(clock: &TscClock) -> Unit {
        Unit {
            ns: clock.ns_per_tick(),
            step: clock.resolution_ticks(),
        }
    }

    /// Returns the unit for samples that are ticks of round trips: one way is half of a round trip.
    fn round_trip(clock: &TscClock) -> Unit {
        Unit {
            ns: clock.ns_per_tick() / 2.0,
            step: clock.resolution_ticks(),
        }
    }
}

/// The samples of a run, in ticks, with none removed.
#[derive(Debug, Clone, Default)]
struct Run {
    samples: Samples,
    misses: u64,
}

impl Run {
    /// Sends a message and receives it, again and again, in one thread. Each message is verified,
    /// and timed from before the send until after it was received.
    fn measure<P: Payload>(end: &mut impl Endpoint<P>, plan: &RunPlan) -> Result<Run, Corrupt> {
        let mut run = Run::default();
        for seq in 1..=plan.warm_up + plan.samples {
            let message = P::compose(seq);
            let mut received = P::compose(0);
            let start = plan.source.start();
            let arrived = end.send(&message) && end.recv(&mut received);
            let ticks = plan.source.stop().since(start);
            if !arrived {
                return Err(Corrupt {
                    expected_seq: seq,
                    found_seq: 0,
                });
            }
            received.check(seq)?;
            if seq > plan.warm_up {
                run.record(ticks, plan.deadline_ticks);
            }
        }
        Ok(run)
    }

    /// Makes a run from a round of ping-pong. One way is half a round trip, so a sample misses its
    /// deadline if it exceeds twice `deadline_ticks`. The number of misses is as exact as the
    /// percentiles.
    fn of_round(round: &Round, deadline_ticks: u64) -> Run {
        let late = round
            .ticks
            .counted()
            .filter(|&(ticks, _)| ticks > 2 * deadline_ticks);
        Run {
            samples: round.ticks.clone(),
            misses: late.map(|(_, count)| count).sum(),
        }
    }

    fn record(&mut self, ticks: u64, deadline_ticks: u64) {
        self.samples.record(ticks);
        self.misses += u64::from(ticks > deadline_ticks);
    }

    fn merge(&mut self, other: &Run) {
        self.samples.merge(&other.samples);
        self.misses += other.misses;
    }

    /// Returns the figures that may differ from run to run, for the report's settings.
    fn record_of(&self, unit: Unit) -> Value {
        let ns = self.samples.percentiles(unit.ns);
        json!({
            "mean": ns.mean, "p50": ns.p50, "p99": ns.p99, "max": ns.max,
            "sd": round_share(unit.ns * self.samples.sd()), "deadline_misses": self.misses,
        })
    }
}

/// Makes a row from several runs: percentiles of all samples, and the variation among the runs.
fn row(id: &str, runs: &[Run], unit: Unit) -> Row {
    let mut all = Run::default();
    runs.iter().for_each(|run| all.merge(run));
    let means: Vec<f64> = runs.iter().map(|run| run.samples.mean()).collect();
    let medians: Vec<f64> = runs
        .iter()
        .map(|run| run.samples.median_within(unit.step))
        .collect();
    let row = Row::samples(id, &all.samples, unit.ns);
    let share = all.misses as f64 / all.samples.count().max(1) as f64;
    let figures = Figures {
        sd_ns: Some(round_share(all.samples.sd() * unit.ns)),
        run_cv: variation(&means).map(round_share),
        run_cv_median: variation(&medians).map(round_share),
        deadline_misses: Some(all.misses),
        deadline_miss_share: Some(share),
        ..Figures::default()
    };
    Row { figures, ..row }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::*;

    const PLAN: RunPlan = RunPlan {
        source: TickSource::Monotonic,
        warm_up: 3,
        samples: 20,
        deadline_ticks: 1_000_000_000_000,
    };

    fn run_of(values: &[u64], deadline_ticks: u64) -> Run {
        let mut run = Run::default();
        values
            .iter()
            .for_each(|&value| run.record(value, deadline_ticks));
        run
    }

    #[test]
    fn every_message_is_timed_and_verified() {
        let held: Cell<Option<[u64; 2]>> = Cell::new(None);
        let mut end = Closures(
            |message: &[u64; 2]| held.replace(Some(*message)).is_none(),
            || held.take(),
        );
        let run = Run::measure(&mut end, &PLAN).unwrap();
        assert_eq!((run.samples.count(), run.misses), (20, 0));
    }

    #[test]
    fn a_message_that_is_lost_or_old_ends_the_run() {
        let mut deaf = Closures(|_: &[u64; 2]| true, || None);
        assert_eq!(Run::measure(&mut deaf, &PLAN).unwrap_err().expected_seq, 1);
        let mut stuck = Closures(|_: &[u64; 2]| true, || Some(<[u64; 2]>::compose(1)));
        assert_eq!(Run::measure(&mut stuck, &PLAN).unwrap_err().expected_seq, 2);
    }

    #[test]
    fn the_figures_are_those_of_the_formulas() {
        let runs = [
            run_of(&[2, 4, 4, 4, 5, 5, 7, 9], 8),
            run_of(&[10, 10, 10, 10], 8),
        ];
        assert_eq!(runs[0].samples.sd(), 2.0);
        assert_eq!(runs[1].samples.sd(), 0.0);
        let clock = TscClock::calibrate(Duration::from_millis(1));
        let row = row("x", &runs, Unit::ticks(&clock));
        assert_eq!(row.sent, 12);
        assert_eq!(row.figures.deadline_misses, Some(5));
        assert_eq!(row.figures.deadline_miss_share, Some(5.0 / 12.0));
        // Means 5 and 10: 5 / sqrt(2) by 7.5.
        assert!((row.figures.run_cv.unwrap() - 0.471_405).abs() < 1e-5);
        assert_eq!(variation(&[1.0]), None);
    }

    #[test]
    fn half_a_round_trip_is_what_has_a_deadline() {
        let ticks = run_of(&[100, 199, 201, 500], 0).samples;
        let timing = Timing::RoundTrip;
        let round = Round {
            timing,
            ticks,
            sent: 4,
            received: 4,
            backwards: 0,
        };
        let run = Run::of_round(&round, 100);
        assert_eq!((run.samples.count(), run.misses), (4, 2));
        let clock = TscClock::calibrate(Duration::from_millis(1));
        assert_eq!(Unit::round_trip(&clock).ns * 2.0, Unit::ticks(&clock).ns);
    }
}
