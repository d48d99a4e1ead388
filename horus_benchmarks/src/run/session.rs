//! One run of a benchmark binary: what is set up before the rounds, and reported after them.

use std::error::Error;
use std::io;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::measure::machine::{self, CpuTimes, Machine};
use crate::measure::pin::{self, CpuPair, PinError};
use crate::measure::tsc::{OffsetCheck, TscClock};
use crate::report::goals;
use crate::report::rows::Report;
use crate::report::table;
use crate::run::args::{Args, Effort, VERDICT_ROUNDS};

const CALIBRATION: Duration = Duration::from_millis(100);

/// The parts that every benchmark needs while it runs.
#[derive(Debug)]
pub struct Session {
    /// The command line.
    pub args: Args,
    /// The CPUs of the ends; this thread is pinned to `cpus.near`.
    pub cpus: CpuPair,
    /// The calibrated timer.
    pub clock: TscClock,
    /// The number of rounds and messages.
    pub effort: Effort,
    /// The results so far.
    pub report: Report,
    /// The times of the CPUs when the run began.
    cpu_times: Option<CpuTimes>,
}

impl Session {
    /// Chooses CPUs, calibrates the timer, looks at the machine, and pins the calling thread.
    ///
    /// Sleeps for 100 ms and runs `git`.
    pub fn begin(args: Args) -> Result<Session, PinError> {
        let effort = Effort::new(&args);
        let mut session = Session::begin_with(args, effort)?;
        if effort.rounds < VERDICT_ROUNDS {
            let warning = format!("{} rounds: too few for a verdict on ratios", effort.rounds);
            session.report.machine.warnings.push(warning);
        }
        Ok(session)
    }

    /// As [`begin`](Self::begin), for a benchmark without ratios, whose effort is its own.
    pub fn begin_with(args: Args, effort: Effort) -> Result<Session, PinError> {
        let cpus = CpuPair::choose(args.cpus)?;
        let clock = TscClock::calibrate(CALIBRATION);
        let machine = Machine::probe(cpus, &clock)?;
        let commit = machine::commit();
        pin::pin_current_thread(cpus.near)?;

        let mut report = Report::new(machine, commit);
        report.set("quick", args.quick);
        report.set("rounds", effort.rounds);
        report.set("samples_per_round", effort.samples);
        report.set("warm_up_per_round", effort.warm_up);
        report.set("samples_removed", 0);
        report.set("timer_overhead_subtracted", false);
        let unix = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        report.set("begun_unix_s", unix.as_secs());
        let cpu_times = CpuTimes::now(&cpus.both());
        Ok(Session {
            args,
            cpus,
            clock,
            effort,
            report,
            cpu_times,
        })
    }

    /// Notes whether times by the counters of both CPUs mean anything at `place`.
    pub fn note_offset(&mut self, place: &str, offset: &OffsetCheck) {
        self.report
            .set(&format!("tsc_offset/{place}"), json!(offset));
        if !offset.sane {
            let warning = format!(
                "{place}: the CPUs' counters differ by {:.0} ns",
                offset.offset_ns
            );
            self.report.machine.warnings.push(warning);
        }
    }

    /// Prints the report and what became of the goals, which is noted among the settings; if asked
    /// for, writes the JSON and the histograms.
    pub fn finish(mut self) -> io::Result<()> {
        self.report
            .machine
            .note_steal(self.cpu_times, CpuTimes::now(&self.cpus.both()));
        let verdicts = goals::verdicts(&self.report.rows, &self.report.settings);
        self.report.set(goals::VERDICTS, json!(verdicts));
        println!("{}", table::render(&self.report));
        if let Some(table) = goals::table(&self.report, &verdicts) {
            println!("\n{table}");
        }
        match &self.args.json {
            Some(path) => self.report.write_json(path),
            None => Ok(()),
        }
    }
}

/// The exit code of a benchmark; says on standard error why it failed, down to the first cause.
pub fn exit_code(name: &str, outcome: Result<(), Box<dyn Error>>) -> ExitCode {
    let Err(error) = outcome else {
        return ExitCode::SUCCESS;
    };
    let mut message = format!("{name}: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        message.push_str(&format!(": {error}"));
        cause = error.source();
    }
    eprintln!("{message}");
    ExitCode::FAILURE
}
