//! The command `horus msg`: shows and compares message types. They may be standard messages, the
//! types of topics, or types in files.

mod diff;
mod fields;
mod hash;
mod list;
mod show;
mod source;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;

/// The commands of `horus msg`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Show(show::Arguments),
    Hash(hash::Arguments),
    Diff(diff::Arguments),
}

impl Command {
    /// Executes the command.
    pub(crate) fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self {
            Self::List(arguments) => list::run(&arguments, context),
            Self::Show(arguments) => show::run(&arguments, context),
            Self::Hash(arguments) => hash::run(&arguments, context),
            Self::Diff(arguments) => diff::run(&arguments, context),
        }
    }
}
