//! The command `horus scheduler`: lists schedulers, stops them, and removes the files of those that
//! have ended.

mod forget;
mod list;
pub(crate) mod liveness;
mod stop;

use clap::Subcommand;
use horus_core::scheduler::SchedulerInfo;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::nearest;

/// The commands of `horus scheduler`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Stop(stop::Arguments),
    Forget(forget::Arguments),
}

impl Command {
    /// Executes the command.
    pub(crate) fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self {
            Self::List(arguments) => list::run(&arguments, context),
            Self::Stop(arguments) => stop::run(&arguments, context),
            Self::Forget(arguments) => forget::run(&arguments, context),
        }
    }
}

/// Returns the failure for an unknown scheduler `name`. Its message suggests similar names among
/// `schedulers`.
pub(crate) fn unknown_scheduler(name: &str, schedulers: &[SchedulerInfo]) -> Failure {
    let names: Vec<String> = schedulers.iter().map(|info| info.name.clone()).collect();
    let near = nearest::suggestion_text(name, &names);
    Failure::not_found(format_args!("no scheduler '{name}'.{near}"))
}
