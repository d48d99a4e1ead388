//! The `main` of every benchmark: a run, or the far end of one.

use std::error::Error;
use std::process::ExitCode;

use crate::run::args::Args;
use crate::run::child::ChildContext;
use crate::run::floor::{self, FLOOR_ROLE};
use crate::run::session;
use crate::scenario::large::{self, LARGE_ROLE};
use crate::scenario::scaling::{self, SCALING_ROLE};
use crate::scenario::wakeup::{self, WAKEUP_ROLE};
use crate::transport::connection::{self, CONNECTION_ROLE};

/// What a benchmark gives, if nothing fails.
pub type Outcome = Result<(), Box<dyn Error>>;

/// Reads the command line and runs the benchmark `name`; in a child process, serves its role.
pub fn main(name: &str, about: &str, run: impl FnOnce(Args) -> Outcome) -> ExitCode {
    let Some(child) = ChildContext::enter() else {
        return session::exit_code(name, run(Args::from_env(name, about)));
    };
    match child.role() {
        FLOOR_ROLE => floor::serve_child(&child),
        LARGE_ROLE => large::serve_child(&child),
        CONNECTION_ROLE => connection::serve_child(&child),
        SCALING_ROLE => scaling::serve_child(&child),
        WAKEUP_ROLE => wakeup::serve_child(&child),
        other => {
            eprintln!("{name}: no far end is called '{other}'");
            ExitCode::FAILURE
        }
    }
}
