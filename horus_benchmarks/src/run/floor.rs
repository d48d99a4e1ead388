//! The hardware floor: the time in which two cores exchange one word. No message between them can
//! be faster.
//!
//! ```text
//! two lines   near writes line 0, far answers on line 1     what a ring with two lanes does
//! one line    near and far write the same word              a single line changes hands
//! ```

use std::collections::VecDeque;
use std::env;
use std::fs::File;
use std::process::ExitCode;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Outcome;
use crate::measure::lines::SharedCacheLines;
use crate::measure::pin::CpuPair;
use crate::measure::rounds::alternating_order;
use crate::measure::stats;
use crate::measure::tsc::{CounterOffsetCheck, TickSource, TscClock};
use crate::measure::wait::OtherEndWatch;
use crate::measure::workload::{RoundPlan, RoundResult, TimedPart};
use crate::run::args::MeasurementEffort;
pub use crate::run::bounce::FloorCacheLines;
use crate::run::bounce::{FloorEndRole, FloorJob, PAUSES_AFTER_POLL_MAX, run_floor_end};
use crate::run::child::{ChildContext, ChildSpec};
pub use crate::run::far_end::Placement;
use crate::run::far_end::{self, FarEndHandle};

/// Name of the role of a child process that is the floor's far end.
pub const FLOOR_ROLE: &str = "floor";

/// Maximum number of rounds that are measured at the beginning of a run with each number of pauses,
/// to find the one with which the floor is lowest.
const PAUSE_CHOICE_ROUNDS_MAX: u32 = 25;

/// Maximum number of messages that are timed in each of the [`PAUSE_CHOICE_ROUNDS_MAX`] rounds.
const PAUSE_CHOICE_SAMPLES_MAX: u64 = 4_000;

/// Minimum number of timed messages in a round of the floor beside other rounds, unless a quarter
/// of it is more than the other rounds have.
const ROUND_SAMPLES_MIN: u64 = 8_000;

/// Number of recent rounds whose medians decide which number of pauses is best.
const RECENT_ROUNDS_MAX: usize = 5;

/// Name of the environment variable of a child process with the path of the lines.
const LINES_PATH_VARIABLE: &str = "HORUS_BENCH_LINES";

/// The choice of the number of `pause` instructions after a poll that found nothing new, from
/// rounds with different numbers, which alternate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PauseCountChoice {
    /// Median one-way time in nanoseconds. The index is the number of `pause` instructions after a
    /// poll that found nothing new.
    pub p50_ns: Vec<f64>,
    /// The number of pauses with the smallest median.
    pub pauses: u32,
}

impl PauseCountChoice {
    /// Measures `rounds` rounds with each number of pauses. `measure_p50_ns` measures one of them,
    /// and returns a value of which less is better.
    pub fn measure(
        rounds: u32,
        mut measure_p50_ns: impl FnMut(u32) -> Outcome<f64>,
    ) -> Outcome<PauseCountChoice> {
        let mut medians = vec![Vec::new(); PAUSES_AFTER_POLL_MAX as usize + 1];
        for round in 0..rounds.max(1) {
            for pauses in alternating_order(round, medians.len()) {
                medians[pauses].push(measure_p50_ns(pauses as u32)?);
            }
        }
        let p50_ns = medians.iter_mut().map(|medians| stats::median(medians));
        let p50_ns: Vec<f64> = p50_ns.collect();
        let best = (0..).zip(&p50_ns).min_by(|a, b| a.1.total_cmp(b.1));
        let (pauses, _) = best.expect("there is at least one number of pauses");
        Ok(PauseCountChoice { p50_ns, pauses })
    }
}

/// The best numbers of pauses at the beginning of a run, for one cache line and for two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct PauseCountChoices {
    pub one_line: PauseCountChoice,
    pub two_lines: PauseCountChoice,
}

/// Both ends of the floor. Between rounds, the far end sleeps.
#[derive(Debug)]
pub struct Floor {
    memory: Arc<SharedCacheLines>,
    far_end: FarEndHandle<FloorJob, RoundResult>,
    source: TickSource,
    /// The number of pauses that was best at the beginning of the run, for
    /// [`FloorCacheLines::Two`].
    pauses: u32,
    resolution_ticks: u64,
    /// Medians of the recent rounds, in ticks. The first index is 1 for [`FloorCacheLines::Two`]
    /// and 0 otherwise, the second is the number of pauses.
    recent_medians: [[VecDeque<f64>; PAUSES_AFTER_POLL_MAX as usize + 1]; 2],
    choice: MeasurementEffort,
}

impl Floor {
    /// Starts the far end, pinned to `cpus.far`, and measures which number of pauses is best. With
    /// two CPUs this takes about 100 ms. The caller must be pinned to `cpus.near`, and the `main`
    /// of this binary must serve [`FLOOR_ROLE`] in a child process.
    pub fn new(
        placement: Placement,
        cpus: CpuPair,
        clock: &TscClock,
        effort: MeasurementEffort,
    ) -> Outcome<(Floor, PauseCountChoices)> {
        let memory = Arc::new(SharedCacheLines::create()?);
        let spec = ChildSpec {
            role: FLOOR_ROLE,
            cpu: cpus.far,
            share_cpu: cpus.shares_cpu(),
            env: &[(
                LINES_PATH_VARIABLE.to_owned(),
                memory.path_for_other_processes().into(),
            )],
        };
        let lines = memory.clone();
        let far_end = FarEndHandle::launch(placement, &spec, move || {
            move |job, watch: &OtherEndWatch| run_floor_end(FloorEndRole::Far, &lines, &job, watch)
        })?;
        let samples = effort.samples.min(PAUSE_CHOICE_SAMPLES_MAX);
        let mut floor = Floor {
            memory,
            far_end,
            source: clock.source,
            pauses: 0,
            resolution_ticks: clock.resolution_ticks,
            recent_medians: Default::default(),
            choice: MeasurementEffort {
                rounds: effort.rounds.min(PAUSE_CHOICE_ROUNDS_MAX),
                warm_up: samples.div_ceil(4),
                samples,
            },
        };
        let choices = PauseCountChoices {
            one_line: floor.choose_pause_count(FloorCacheLines::One, clock)?,
            two_lines: floor.choose_pause_count(FloorCacheLines::Two, clock)?,
        };
        floor.pauses = choices.two_lines.pauses;
        Ok((floor, choices))
    }

    /// Measures one round of verified round trips. Each number of pauses is used for an equal part
    /// of the `samples` messages. Returns only the part with the number of pauses that was best in
    /// the recent rounds. Spins all the time.
    ///
    /// WHY all numbers in each round: the best number depends on where the hypervisor places the
    /// two CPUs, which may change at any moment. With a wrong number the floor is too high, and the
    /// ratios of the rings to it look too good. WHY not the best part of each round: it would be
    /// the best by chance, and the rings that are compared with it have no such choice.
    pub fn measure_round(
        &mut self,
        lines: FloorCacheLines,
        warm_up: u64,
        samples: u64,
    ) -> Outcome<RoundResult> {
        let effort = MeasurementEffort {
            rounds: 1,
            warm_up,
            samples: samples.div_ceil(u64::from(PAUSES_AFTER_POLL_MAX) + 1),
        };
        let mut best: Option<(f64, RoundResult)> = None;
        for pauses in 0..=PAUSES_AFTER_POLL_MAX {
            let (round, _) = self.run_round(lines, pauses, TimedPart::RoundTrip, effort)?;
            let last = &mut self.recent_medians[usize::from(lines == FloorCacheLines::Two)]
                [pauses as usize];
            last.push_back(round.ticks.interpolated_median(self.resolution_ticks));
            if last.len() > RECENT_ROUNDS_MAX {
                last.pop_front();
            }
            let median = stats::median(&mut last.iter().copied().collect::<Vec<f64>>());
            if best.as_ref().is_none_or(|&(least, _)| median < least) {
                best = Some((median, round));
            }
        }
        let (_, round) = best.expect("there is at least one number of pauses");
        Ok(round)
    }

    /// Measures a round of the floor with two cache lines, beside rounds of `effort`. WHY at least
    /// four times as many messages as in short rounds: the floor is divided into parts, and one
    /// interrupt would decide the median of a part.
    pub fn measure_round_beside(&mut self, effort: MeasurementEffort) -> Outcome<RoundResult> {
        let samples = effort
            .samples
            .max(ROUND_SAMPLES_MIN.min(4 * effort.samples));
        self.measure_round(FloorCacheLines::Two, effort.warm_up, samples)
    }

    /// Checks by messages in both directions whether the counters of the two cores agree.
    pub fn check_counter_offset(&mut self, clock: &TscClock) -> Outcome<CounterOffsetCheck> {
        let mut effort = self.choice;
        effort.samples *= 5;
        let (lines, pauses) = (FloorCacheLines::Two, self.pauses);
        let (near, far) = self.run_round(lines, pauses, TimedPart::OneWay, effort)?;
        let [forward_ns, backward_ns] = [&far.ticks, &near.ticks]
            .map(|ticks| ticks.interpolated_median(clock.resolution_ticks) * clock.ns_per_tick);
        let backwards = near.backwards + far.backwards;
        Ok(CounterOffsetCheck::new(forward_ns, backward_ns, backwards))
    }

    fn choose_pause_count(
        &mut self,
        lines: FloorCacheLines,
        clock: &TscClock,
    ) -> Outcome<PauseCountChoice> {
        let effort = self.choice;
        PauseCountChoice::measure(effort.rounds, |pauses| {
            let (round, _) = self.run_round(lines, pauses, TimedPart::RoundTrip, effort)?;
            Ok(round.p50_ns(clock))
        })
    }

    /// Runs one round with the numbers of messages of `effort`. Returns the results of both ends.
    fn run_round(
        &mut self,
        lines: FloorCacheLines,
        pauses: u32,
        timing: TimedPart,
        effort: MeasurementEffort,
    ) -> Outcome<(RoundResult, RoundResult)> {
        // The lines are cleared before each round, so the numbers may start again.
        let plan = RoundPlan {
            timing,
            warm_up: effort.warm_up,
            samples: effort.samples,
            first_seq: 1,
        };
        let job = FloorJob {
            lines,
            pauses,
            plan,
            source: self.source,
        };
        self.memory.zero_words();
        self.far_end.start_job(job)?;
        let round = run_floor_end(FloorEndRole::Near, &self.memory, &job, &self.far_end.watch)?;
        Ok((round, self.far_end.finish_job()?))
    }
}

/// Performs the role [`FLOOR_ROLE`] in a child process, until the parent closes the connection.
pub fn serve_child(context: &ChildContext) -> ExitCode {
    far_end::serve_jobs(context, || {
        let path = env::var_os(LINES_PATH_VARIABLE).ok_or("the floor came without lines")?;
        let memory = SharedCacheLines::map(File::options().read(true).write(true).open(path)?)?;
        Ok(move |job: FloorJob, watch: &OtherEndWatch| {
            run_floor_end(FloorEndRole::Far, &memory, &job, watch)
        })
    })
}
