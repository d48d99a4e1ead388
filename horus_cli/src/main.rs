//! The command `horus`: shows the topics, nodes and schedulers of a robot, and controls them.

#[cfg(test)]
use horus_testing as _;

mod blackbox;
mod clean;
mod cli;
mod completion;
mod context;
mod doctor;
#[cfg(test)]
mod document_tests;
mod estop;
mod external;
mod failure;
mod graph;
mod launch;
mod log;
mod man;
mod monitor;
mod msg;
mod namespace;
mod node;
mod output;
mod panics;
mod process;
mod random;
mod sample;
mod scheduler;
mod since;
mod stop;
#[cfg(test)]
mod testing;
mod top;
mod topic;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches as _;

use cli::Cli;
use context::Context;
use failure::Failure;

fn main() -> ExitCode {
    panics::report_panics_as_one_line();
    // WHY: a program without a logger gets the warnings of the library on stderr, and the commands
    // say the same in their own words. With this level, they go to the logger, and there is none.
    ::log::set_max_level(::log::LevelFilter::Error);
    let failure = match parse_arguments() {
        Ok(cli) => run(cli).err(),
        Err(error) => Some(Failure::from_arguments_error(&error)),
    };
    failure.map_or(ExitCode::SUCCESS, |failure| failure.report())
}

fn parse_arguments() -> Result<Cli, clap::Error> {
    let matches = cli::command().try_get_matches_from(process_arguments())?;
    Cli::from_arg_matches(&matches)
}

/// Returns the command-line arguments. Changes `horus help topic echo` to the equivalent `horus
/// topic echo --help`.
fn process_arguments() -> Vec<OsString> {
    let mut arguments: Vec<_> = env::args_os().collect();
    if arguments.get(1).is_some_and(|first| first == "help") {
        arguments.remove(1);
        arguments.push("--help".into());
    }
    arguments
}

fn run(cli: Cli) -> Result<(), Failure> {
    let mut context = Context::new(cli.global)?;
    cli.command.run(&mut context)?;
    context.out.flush()
}
