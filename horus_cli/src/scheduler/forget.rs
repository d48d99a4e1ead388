//! The command `horus scheduler forget`: removes the files that an ended scheduler left behind.

use clap::Args;
use horus_core::scheduler::{remove_scheduler_topics, schedulers};

use super::{open_namespace_of_scheduler, unknown_scheduler};
use crate::context::Context;
use crate::failure::Failure;

/// Remove the status and the black box of a scheduler that has ended
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the scheduler
    scheduler: String,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let name = &arguments.scheduler;
    let namespace = open_namespace_of_scheduler(context, name)?;
    let all = schedulers(&namespace).map_err(|error| Failure::from_open_error(&error))?;
    if !all.iter().any(|info| info.name == *name) {
        return Err(unknown_scheduler(&namespace, name));
    }
    let is_gone = remove_scheduler_topics(&namespace, name)
        .map_err(|error| Failure::from_topic_error(&error))?;
    if !is_gone {
        return Err(Failure::refused(format_args!(
            "scheduler '{name}' is in use: stop it first, and end programs that watch it"
        )));
    }
    if context.is_json() {
        return context
            .out
            .write_json(serde_json::json!({ "scheduler": name, "forgotten": true }));
    }
    context.print_note(format_args!("forgot scheduler '{name}'"));
    Ok(())
}
