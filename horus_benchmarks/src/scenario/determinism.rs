//! The same work again and again: how much one time differs from another, and one run from another.

use crate::measure::endpoint::Endpoint;
use crate::measure::payload::{Corrupt, Payload};
use crate::measure::stats::{Samples, round_share, variation};
use crate::measure::tsc::{TickSource, TscClock};
use crate::measure::workload::Round;
use crate::report::figures::Figures;
use crate::report::rows::Row;

/// How a run is timed.
#[derive(Debug, Clone, Copy)]
pub struct RunPlan {
    /// What to time with.
    pub source: TickSource,
    /// Messages before the first sample; verified, but not counted.
    pub warm_up: u64,
    /// Messages that are timed, each by itself.
    pub samples: u64,
    /// Ticks that one may take.
    pub deadline_ticks: u64,
}

/// What a sample is counted in.
#[derive(Debug, Clone, Copy)]
pub struct Unit {
    /// Nanoseconds of one.
    pub ns: f64,
    /// The step in which samples differ.
    pub step: u64,
}

impl Unit {
    /// Ticks of the timer.
    pub fn ticks(clock: &TscClock) -> Unit {
        Unit { ns: clock.ns_per_tick(), step: clock.resolution_ticks() }
    }

    /// Ticks of a round trip, of which one way is half.
    pub fn round_trip(clock: &TscClock) -> Unit {
        Unit { ns: clock.ns_per_tick() / 2.0, step: clock.resolution_ticks() }
    }
}

/// What a run gave, in ticks. No sample is left out.
#[derive(Debug, Clone, Default)]
pub struct Run {
    samples: Samples,
    misses: u64,
}

impl Run {
    /// Sends a message and receives it, over and over, in one thread. Each is timed by itself, from
    /// before the send to after it was received, and verified.
    pub fn measure<P: Payload>(end: &mut impl Endpoint<P>, plan: &RunPlan) -> Result<Run, Corrupt> {
        let mut run = Run::default();
        for seq in 1..=plan.warm_up + plan.samples {
            let message = P::compose(seq);
            let mut received = P::compose(0);
            let start = plan.source.start();
            let arrived = end.send(&message) && end.recv(&mut received);
            let ticks = plan.source.stop().since(start);
            if !arrived {
                return Err(Corrupt { expected_seq: seq, found_seq: 0 });
            }
            received.check(seq)?;
            if seq > plan.warm_up {
                run.record(ticks, plan.deadline_ticks);
            }
        }
        Ok(run)
    }

    /// A run that was measured as a round of ping-pong: half a round trip is one way, so that a
    /// sample has two deadlines' time. Misses are as exact as the percentiles.
    pub fn of_round(round: &Round, deadline_ticks: u64) -> Run {
        let late = round.ticks.counted().filter(|&(ticks, _)| ticks > 2 * deadline_ticks);
        Run { samples: round.ticks.clone(), misses: late.map(|(_, count)| count).sum() }
    }

    fn record(&mut self, ticks: u64, deadline_ticks: u64) {
        self.samples.record(ticks);
        self.misses += u64::from(ticks > deadline_ticks);
    }

    fn merge(&mut self, other: &Run) {
        self.samples.merge(&other.samples);
        self.misses += other.misses;
    }

    /// The run as a record: what differs from run to run.
    pub fn record_of(&self, unit: Unit) -> serde_json::Value {
        let ns = self.samples.percentiles(unit.ns);
        serde_json::json!({
            "mean": ns.mean, "p50": ns.p50, "p99": ns.p99, "max": ns.max,
            "sd": round_share(unit.ns * self.samples.sd()), "deadline_misses": self.misses,
        })
    }
}

/// A row of several runs: percentiles of the samples of all of them, and how far the runs differ.
pub fn row(id: &str, runs: &[Run], unit: Unit) -> Row {
    let mut all = Run::default();
    runs.iter().for_each(|run| all.merge(run));
    let means: Vec<f64> = runs.iter().map(|run| run.samples.mean()).collect();
    let medians: Vec<f64> = runs.iter().map(|run| run.samples.median_within(unit.step)).collect();
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
    use crate::measure::endpoint::Closures;
    use crate::measure::workload::Timing;

    const PLAN: RunPlan = RunPlan {
        source: TickSource::Monotonic,
        warm_up: 3,
        samples: 20,
        deadline_ticks: 1_000_000_000_000,
    };

    fn run_of(values: &[u64], deadline_ticks: u64) -> Run {
        let mut run = Run::default();
        values.iter().for_each(|&value| run.record(value, deadline_ticks));
        run
    }

    #[test]
    fn every_message_is_timed_and_verified() {
        let held: Cell<Option<[u64; 2]>> = Cell::new(None);
        let mut end =
            Closures(|message: &[u64; 2]| held.replace(Some(*message)).is_none(), || held.take());
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
        let runs = [run_of(&[2, 4, 4, 4, 5, 5, 7, 9], 8), run_of(&[10, 10, 10, 10], 8)];
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
        let round = Round { timing, ticks, sent: 4, received: 4, backwards: 0 };
        let run = Run::of_round(&round, 100);
        assert_eq!((run.samples.count(), run.misses), (4, 2));
        let clock = TscClock::calibrate(Duration::from_millis(1));
        assert_eq!(Unit::round_trip(&clock).ns * 2.0, Unit::ticks(&clock).ns);
    }
}
