//! The `main` of every benchmark: runs the benchmark, or the far end in a child process.

use std::error::Error;
use std::process::ExitCode;

use crate::run::args::Args;
use crate::run::child::ChildContext;
use crate::run::floor::{self, FLOOR_ROLE};
use crate::run::session;
use crate::transport::connection::{self, CONNECTION_ROLE};

/// The result of a benchmark.
pub type Outcome = Result<(), Box<dyn Error>>;

/// A role that child processes of only some benchmarks have, and the function that serves it.
pub type Role = (&'static str, fn(&ChildContext) -> ExitCode);

/// Parses the command line and runs the benchmark `name`; in a child process, serves the child's
/// role.
pub fn main(
    name: &str,
    about: &str,
    roles: &[Role],
    run: impl FnOnce(Args) -> Outcome,
) -> ExitCode {
    let Some(child) = ChildContext::enter() else {
        return session::exit_code(name, run(Args::from_env(name, about)));
    };
    let shared: [Role; 2] = [
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
