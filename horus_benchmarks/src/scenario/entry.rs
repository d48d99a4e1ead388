//! The `main` function that the benchmark binaries share: runs the benchmark, or, in a child
//! process, the far end.

use std::env;
use std::error::Error;
use std::process::ExitCode;

use horus_shm::internals;

use crate::run::args::Args;
use crate::run::child::ChildContext;
use crate::run::floor::{self, FLOOR_ROLE};
use crate::run::session;
use crate::transport::connection::{self, CONNECTION_ROLE};

/// The result of a benchmark, or of a part of it.
pub type Outcome = Result<(), Box<dyn Error>>;

/// A role that child processes of some benchmarks have: its name, and the function that performs
/// it.
pub type ChildRole = (&'static str, fn(&ChildContext) -> ExitCode);

/// Name of the environment variable that replaces the settings for copying messages and for pausing
/// in spin loops, in this process and in its children.
const TUNING_VARIABLE: &str = "HORUS_BENCH_TUNING";

fn apply_tuning_variable() -> Result<(), String> {
    let Some(text) = env::var_os(TUNING_VARIABLE) else {
        return Ok(());
    };
    internals::set_tuning(&text.to_string_lossy())
}

/// Parses the command line and runs the benchmark `name`. In a child process, performs the role of
/// the child instead.
pub fn main(
    name: &str,
    about: &str,
    roles: &[ChildRole],
    run: impl FnOnce(Args) -> Outcome,
) -> ExitCode {
    if let Err(error) = apply_tuning_variable() {
        eprintln!("{name}: {TUNING_VARIABLE}: {error}");
        return ExitCode::from(2);
    }
    let Some(child) = ChildContext::enter() else {
        return session::exit_code(name, run(Args::from_env(about)));
    };
    let shared: [ChildRole; 2] = [
        (FLOOR_ROLE, floor::serve_child),
        (CONNECTION_ROLE, connection::serve_child),
    ];
    match shared
        .iter()
        .chain(roles)
        .find(|(role, _)| *role == child.role)
    {
        Some((_, serve)) => serve(&child),
        None => {
            eprintln!("{name}: no far end is called '{}'", child.role);
            ExitCode::FAILURE
        }
    }
}
