//! The command `horus node`: shows the nodes of running schedulers, and controls them.

mod apply;
mod info;
mod list;
mod lookup;
pub(crate) mod metrics;
mod pause;
mod rate;
mod resume;
mod stop;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;

pub(crate) use apply::remote_failure;

/// The commands of `horus node`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Info(info::Arguments),
    Pause(pause::Arguments),
    Resume(resume::Arguments),
    Stop(stop::Arguments),
    Rate(rate::Arguments),
}

impl Command {
    /// Executes the command.
    pub(crate) fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self {
            Self::List(arguments) => list::run(&arguments, context),
            Self::Info(arguments) => info::run(&arguments, context),
            Self::Pause(arguments) => pause::run(&arguments, context),
            Self::Resume(arguments) => resume::run(&arguments, context),
            Self::Stop(arguments) => stop::run(&arguments, context),
            Self::Rate(arguments) => rate::run(&arguments, context),
        }
    }
}
