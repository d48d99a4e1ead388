//! The `main` function that the benchmark binaries share: runs the benchmark, or, in a child
//! process, the far end.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use horus_shm::internals;

use crate::run::args::{Args, QuickOrFull, VERDICT_ROUNDS_MIN};
use crate::run::child::ChildContext;
use crate::run::floor::{self, FLOOR_ROLE};
use crate::run::session::{self, BenchmarkSession};
use crate::transport::connection::{self, CONNECTION_ROLE};

pub use crate::Outcome;

/// A role that child processes of a benchmark have: its name, and the function that performs it.
pub type ChildRole = (&'static str, fn(&ChildContext) -> ExitCode);

/// Name of the environment variable that replaces the settings for copying messages and for pausing
/// in spin loops, in this process and in its children.
const TUNING_VARIABLE: &str = "HORUS_BENCH_TUNING";

/// Returns the file name of this binary, as messages show it.
pub(super) fn program_name() -> String {
    let path = env::args_os().next().unwrap_or_default();
    let name = Path::new(&path).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// A benchmark program.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// The text with which the output of `--help` begins.
    about: &'a str,
    /// The default numbers of rounds, and of timed messages in each round.
    rounds_and_samples: QuickOrFull<(u32, u64)>,
    /// True if ratios of the program have goals, so that it warns of too few rounds.
    judges_ratios: bool,
    /// The role of the child processes that only this program has.
    child_role: Option<ChildRole>,
}

impl<'a> Program<'a> {
    /// Creates a program that compares results as ratios, and so warns if there are too few rounds
    /// for a verdict. Its child processes have only the roles that all programs share. Change this
    /// with [`Self::without_ratio_goals`] and [`Self::with_child_role`].
    pub const fn new(about: &'a str, rounds_and_samples: QuickOrFull<(u32, u64)>) -> Program<'a> {
        Program {
            about,
            rounds_and_samples,
            judges_ratios: true,
            child_role: None,
        }
    }

    /// Returns the program as one that judges no ratios.
    pub const fn without_ratio_goals(mut self) -> Program<'a> {
        self.judges_ratios = false;
        self
    }

    /// Returns the program with a role for its child processes.
    pub const fn with_child_role(mut self, role: ChildRole) -> Program<'a> {
        self.child_role = Some(role);
        self
    }

    /// Parses the command line, runs the benchmark `run` and writes its report. In a child process,
    /// performs the role of the child instead.
    pub fn main(self, run: impl FnOnce(&mut BenchmarkSession) -> Outcome) -> ExitCode {
        let name = program_name();
        if let Some(text) = env::var_os(TUNING_VARIABLE)
            && let Err(error) = internals::set_tuning(&text.to_string_lossy())
        {
            eprintln!("{name}: {TUNING_VARIABLE}: {error}");
            return ExitCode::from(2);
        }
        let Some(child) = ChildContext::from_arguments() else {
            return session::exit_code(&name, self.run_benchmark(run));
        };
        let own_role = self.child_role.filter(|(role, _)| *role == child.role);
        match (child.role.as_str(), own_role) {
            (FLOOR_ROLE, _) => floor::serve_child(&child),
            (CONNECTION_ROLE, _) => connection::serve_child(&child),
            (_, Some((_, serve))) => serve(&child),
            (role, None) => {
                eprintln!("{name}: no far end is called '{role}'");
                ExitCode::FAILURE
            }
        }
    }

    fn run_benchmark(self, run: impl FnOnce(&mut BenchmarkSession) -> Outcome) -> Outcome {
        let args = Args::from_env(self.about);
        let mut session = BenchmarkSession::begin(args, self.rounds_and_samples)?;
        let rounds = session.effort.rounds;
        if self.judges_ratios && rounds < VERDICT_ROUNDS_MIN {
            let warning = format!("{rounds} rounds: too few for a verdict on ratios");
            session.report.machine.warnings.push(warning);
        }
        let outcome = run(&mut session);
        if let Err(error) = &outcome {
            if session.report.rows.is_empty() {
                return outcome;
            }
            // WHY: what was measured before the failure may have taken minutes.
            session.report.set_setting("failure", error.to_string());
        }
        session.finish()?;
        outcome
    }
}
