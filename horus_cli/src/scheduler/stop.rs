//! The command `horus scheduler stop`: stops a scheduler and waits until it has ended.

use std::time::{Duration, Instant};

use clap::Args;
use horus_core::scheduler::{RemoteScheduler, schedulers};

use super::{open_namespace_of_scheduler, unknown_scheduler};
use crate::context::Context;
use crate::failure::Failure;
use crate::node::remote_failure;
use crate::stop::Deadline;

/// Time after which the command fails if the scheduler has not ended, unless `--timeout` sets
/// another limit.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time between two checks of whether the scheduler has ended.
const POLL_PERIOD: Duration = Duration::from_millis(10);

/// Stop a scheduler: all of its nodes are shut down
///
/// Returns when it has ended. Gives up after 5 seconds, or after --timeout, with
/// exit code 124.
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
    let mut remote = RemoteScheduler::open(&namespace, name).map_err(remote_failure)?;
    let deadline = Deadline::after(context.timeout().or(Some(DEFAULT_TIMEOUT)));
    remote.stop().map_err(remote_failure)?;
    // WHY an error counts as ended: another command may have removed its topics.
    while remote.info().is_ok_and(|info| info.is_alive) {
        if deadline.is_over() {
            return Err(Failure::timeout(format_args!(
                "scheduler '{name}' has not ended"
            )));
        }
        if !context
            .stop
            .sleep_until(deadline.or_earlier(Instant::now() + POLL_PERIOD))
        {
            return Err(Failure::interrupted());
        }
    }
    if context.is_json() {
        return context
            .out
            .write_json(serde_json::json!({ "scheduler": name, "stopped": true }));
    }
    context.print_note(format_args!("scheduler '{name}' has ended"));
    Ok(())
}
