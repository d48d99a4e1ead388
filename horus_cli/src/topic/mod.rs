//! The command `horus topic`: lists topics, measures and prints their messages, publishes messages,
//! and removes topics.

pub(crate) mod bw;
mod condition;
mod csv;
mod delay;
pub(crate) mod echo;
pub(crate) mod field;
mod find;
mod gaps;
pub(crate) mod hz;
pub(crate) mod info;
pub(crate) mod latency;
pub(crate) mod list;
pub(crate) mod meter;
pub(crate) mod observer;
mod path_check;
mod pattern;
mod publish;
mod publish_lines;
mod rm;
mod samples;
mod schema_type;
pub(crate) mod select;
mod stamps;
mod type_fields;
mod typed_value;
mod wait;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;

/// The commands of `horus topic`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    List(list::Arguments),
    Info(info::Arguments),
    Echo(echo::Arguments),
    Hz(hz::Arguments),
    Bw(bw::Arguments),
    Latency(latency::Arguments),
    Delay(delay::Arguments),
    #[command(name = "pub")]
    Publish(publish::Arguments),
    Wait(wait::Arguments),
    Rm(rm::Arguments),
    Type(schema_type::Arguments),
    Find(find::Arguments),
}

impl Command {
    /// Executes the command.
    pub(crate) fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self {
            Self::List(arguments) => list::run(&arguments, context),
            Self::Info(arguments) => info::run(&arguments, context),
            Self::Echo(arguments) => echo::run(&arguments, context),
            Self::Delay(arguments) => delay::run(&arguments, context),
            Self::Publish(arguments) => publish::run(&arguments, context),
            Self::Hz(arguments) => hz::run(&arguments, context),
            Self::Bw(arguments) => bw::run(&arguments, context),
            Self::Latency(arguments) => latency::run(&arguments, context),
            Self::Wait(arguments) => wait::run(&arguments, context),
            Self::Rm(arguments) => rm::run(&arguments, context),
            Self::Type(arguments) => schema_type::run(&arguments, context),
            Self::Find(arguments) => find::run(&arguments, context),
        }
    }
}
