//! One run of a benchmark binary: its preparation before the rounds, and its report after them.

use std::io;
use std::iter::successors;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use crate::Outcome;
use crate::measure::machine::{self, CpuTimes, Machine};
use crate::measure::micro::BatchResult;
use crate::measure::pin::{self, CpuPair};
use crate::measure::tsc::{CounterOffsetCheck, TscClock};
use crate::report::goals;
use crate::report::rows::{Report, Row};
use crate::report::table;
use crate::run::args::{Args, MeasurementEffort, QuickOrFull};
use crate::run::namespace::PrivateNamespace;

const CALIBRATION_TIME: Duration = Duration::from_millis(100);

const PROGRESS_TEMPLATE: &str = "{msg:40!} [{bar:30}] {pos}/{len} {elapsed}";

/// The objects that every benchmark needs during its run.
#[derive(Debug)]
pub struct BenchmarkSession {
    /// The arguments of the command line.
    pub args: Args,
    /// The CPUs of the two ends. The main thread is pinned to `cpus.near`.
    pub cpus: CpuPair,
    /// The calibrated timer of the run.
    pub clock: TscClock,
    /// The number of rounds, and the numbers of messages in each round.
    pub effort: MeasurementEffort,
    /// The report, with the results measured so far.
    pub report: Report,
    /// Texts that are printed after the report.
    pub closing_texts: Vec<String>,
    /// The namespace for the topics and files of the run.
    pub private: PrivateNamespace,
    /// The progress bar on standard error. It is drawn only when the benchmark reports a step, so
    /// never during a round, and only on a terminal. [`finish`](Self::finish) removes it.
    pub progress: ProgressBar,
    /// The CPU times at the beginning of the run, from which the steal time is computed; `None` if
    /// the kernel does not report them.
    cpu_times: Option<CpuTimes>,
}

impl BenchmarkSession {
    /// Chooses CPUs, calibrates the timer, reads the machine's properties, pins the calling thread,
    /// and creates the private namespace. `rounds_and_samples` has the default numbers of rounds
    /// and of timed messages in each round.
    ///
    /// Sleeps for 100 ms and runs `git`.
    pub fn begin(
        args: Args,
        rounds_and_samples: QuickOrFull<(u32, u64)>,
    ) -> Outcome<BenchmarkSession> {
        let effort = MeasurementEffort::new(&args, rounds_and_samples);
        let cpus = CpuPair::choose(args.cpus)?;
        let clock = TscClock::calibrate(CALIBRATION_TIME);
        let machine = Machine::probe(cpus, &clock)?;
        let commit = machine::git_commit();
        pin::pin_current_thread(cpus.near)?;

        let mut report = Report::new(machine, commit);
        report.set_setting("quick", args.quick);
        report.set_setting("rounds", effort.rounds);
        report.set_setting("samples_per_round", effort.samples);
        report.set_setting("warm_up_per_round", effort.warm_up);
        report.set_setting("samples_removed", 0);
        report.set_setting("timer_overhead_subtracted", false);
        let unix = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        report.set_setting("begun_unix_s", unix.as_secs());
        let cpu_times = CpuTimes::read(&cpus.both());
        Ok(BenchmarkSession {
            args,
            cpus,
            clock,
            effort,
            report,
            closing_texts: Vec::new(),
            private: PrivateNamespace::create()?,
            progress: new_progress_bar(),
            cpu_times,
        })
    }

    /// Adds steps to the length of the progress bar.
    pub fn add_progress_steps(&self, steps: usize) {
        self.progress.inc_length(steps as u64);
    }

    /// Adds a row to the report. `method` says how it was measured.
    pub fn add_row(&mut self, row: Row, method: impl AsRef<str>) {
        self.report.add_row(row, method.as_ref());
    }

    /// Adds a row of timed batches to the report. The text that says how it was measured is
    /// `method`, followed by the number of operations in a batch.
    pub fn add_batches_row(&mut self, id: &str, batches: &BatchResult, method: &str) {
        let method = format!("{method}batches of {}", batches.operations_per_batch);
        self.add_row(Row::from_batches(id, batches, &self.clock), method);
    }

    /// Counts a step of the progress bar. Returns true if the command line selects the row `id`, so
    /// that it has to be measured; the bar then shows the id.
    pub fn begin_row_if_selected(&self, id: &str) -> bool {
        self.progress.inc(1);
        let is_wanted = self.args.wants_row(id);
        if is_wanted {
            self.progress.set_message(id.to_owned());
        }
        is_wanted
    }

    /// Stores in the report whether the counters of both CPUs agree. `place` names the placement of
    /// the two ends. Adds a warning if the counters do not agree.
    pub fn record_counter_offset(&mut self, place: &str, offset: &CounterOffsetCheck) {
        self.report
            .set_setting(&format!("tsc_offset/{place}"), offset);
        if !offset.sane {
            let ns = offset.offset_ns;
            let warning = format!("{place}: the CPUs' counters differ by {ns:.0} ns");
            self.report.machine.warnings.push(warning);
        }
    }

    /// Prints the report and the verdicts on the goals. Writes them and the histograms to files if
    /// the command line requests it.
    pub fn finish(mut self) -> io::Result<()> {
        self.progress.finish_and_clear();
        self.report
            .machine
            .record_steal_time(self.cpu_times, CpuTimes::read(&self.cpus.both()));
        let verdicts = goals::judge_goals(&self.report.rows, &self.report.settings);
        self.report.set_setting(goals::VERDICTS_KEY, &verdicts);
        println!("{}", table::render(&self.report));
        if let Some(table) = goals::verdict_table(&self.report, &verdicts) {
            println!("\n{table}");
        }
        for text in &self.closing_texts {
            println!("\n{text}");
        }
        match &self.args.json {
            Some(path) => self.report.write_json(path),
            None => Ok(()),
        }
    }
}

/// The exit code of a benchmark that measures nothing, because it was built without what it needs.
/// `run_all.sh` records such a benchmark as skipped.
pub const SKIPPED_EXIT_CODE: u8 = 77;

/// The reason why a benchmark measures nothing, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BenchmarkSkipped(pub &'static str);

/// Returns the exit code of the benchmark `name`: [`SKIPPED_EXIT_CODE`] for the error
/// [`BenchmarkSkipped`].
/// If the benchmark failed, prints the error with all of its causes to standard error.
pub fn exit_code(name: &str, outcome: Outcome) -> ExitCode {
    let Err(error) = outcome else {
        return ExitCode::SUCCESS;
    };
    let mut message = format!("{name}: {error}");
    for cause in successors(error.source(), |&cause| cause.source()) {
        message.push_str(&format!(": {cause}"));
    }
    eprintln!("{message}");
    if error.is::<BenchmarkSkipped>() {
        return ExitCode::from(SKIPPED_EXIT_CODE);
    }
    ExitCode::FAILURE
}

fn new_progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template(PROGRESS_TEMPLATE).expect("a constant template");
    let bar = ProgressBar::new(0).with_style(style);
    bar.with_finish(ProgressFinish::AndClear)
}
