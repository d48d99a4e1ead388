//! Sends a command to a node, and waits until the status of its scheduler shows the effect.

use std::time::{Duration, Instant};

use horus_core::message::NodeMetrics;
use horus_core::scheduler::{RemoteError, RemoteScheduler};
use serde::Serialize;

use super::lookup::find_node;
use super::metrics::Metrics;
use crate::context::Context;
use crate::failure::{Failure, error_chain_text};
use crate::output::format::visible;
use crate::scheduler::liveness::Liveness;
use crate::stop::Deadline;

/// Maximum time until the node has applied the command, unless `--timeout` sets another limit.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time between two reads of the scheduler's status.
const POLL_PERIOD: Duration = Duration::from_millis(10);

/// Number of reads of the scheduler's status between two reads of its black box. WHY not each time:
/// reading a black box that is full takes milliseconds.
const POLLS_PER_REFUSAL_CHECK: u32 = 10;

#[derive(Debug, Serialize)]
struct AppliedCommand<'a> {
    scheduler: &'a str,
    node: &'a str,
    state: &'static str,
    is_paused: bool,
    rate_hz: Option<f64>,
}

/// Finds the node `wanted`, and calls `send` with its scheduler and its name. Then waits until
/// `is_applied` returns true for the node's metrics. Fails if the scheduler refuses the command, or
/// if the node has stopped meanwhile and `is_applied` returns false for it.
pub(super) fn send_command_and_wait(
    wanted: &str,
    context: &mut Context,
    send: impl FnOnce(&mut RemoteScheduler, &str) -> Result<(), RemoteError>,
    is_applied: impl Fn(&NodeMetrics) -> bool,
) -> Result<(), Failure> {
    let found = find_node(context, wanted)?;
    let (name, scheduler) = (found.name(), found.scheduler.name.as_str());
    let mut remote = RemoteScheduler::open(&found.namespace, scheduler).map_err(remote_failure)?;
    let deadline = Deadline::after(context.timeout().or(Some(DEFAULT_TIMEOUT)));
    send(&mut remote, &name).map_err(remote_failure)?;
    let mut polls = 0_u32;
    loop {
        polls += 1;
        let info = remote.info().map_err(remote_failure)?;
        let metrics = info.nodes.iter().find(|node| node.name == *name);
        if let Some(metrics) = metrics.filter(|metrics| is_applied(metrics)) {
            let metrics = Metrics::new(scheduler, Liveness::of(&info), metrics);
            return print_applied_command(&metrics, context);
        }
        let stopped = metrics.filter(|node| node.state == NodeMetrics::STATE_STOPPED);
        if stopped.is_some() && info.is_alive {
            return Err(remote_failure(RemoteError::NodeStopped {
                scheduler: scheduler.to_owned(),
                node: name,
            }));
        }
        if !info.is_alive {
            return Err(Failure::refused(format_args!(
                "scheduler '{scheduler}' ended before node '{name}' had applied the command"
            )));
        }
        let is_over = deadline.is_over();
        if is_over || polls.is_multiple_of(POLLS_PER_REFUSAL_CHECK) {
            // WHY an error is no failure: the status still shows whether the command is applied.
            if let Ok(Some(reason)) = remote.last_command_refusal() {
                return Err(Failure::refused(format_args!(
                    "scheduler '{scheduler}' has refused the command: {}",
                    visible(&reason)
                )));
            }
        }
        if is_over {
            return Err(Failure::timeout(format_args!(
                "node '{name}' of scheduler '{scheduler}' has not applied the command"
            )));
        }
        if !context
            .stop
            .sleep_until(deadline.or_earlier(Instant::now() + POLL_PERIOD))
        {
            return Err(Failure::interrupted());
        }
    }
}

fn print_applied_command(metrics: &Metrics, context: &mut Context) -> Result<(), Failure> {
    let (scheduler, node) = (metrics.scheduler.as_str(), metrics.node.as_str());
    if context.is_json() {
        return context.out.write_json(AppliedCommand {
            scheduler,
            node,
            state: metrics.state,
            is_paused: metrics.is_paused,
            rate_hz: metrics.rate_hz,
        });
    }
    context.print_note(format_args!(
        "{scheduler}/{node}: {}, {}",
        metrics.state_text(),
        metrics.rate_text()
    ));
    Ok(())
}

/// Converts an error of sending a command to a scheduler into a failure with an exit code.
pub(crate) fn remote_failure(error: RemoteError) -> Failure {
    match error {
        RemoteError::NotRunning { .. } | RemoteError::NoSuchNode { .. } => {
            Failure::not_found(error)
        }
        RemoteError::NodeName(_) | RemoteError::Rate(_) => Failure::usage(error),
        RemoteError::Topic(error) => Failure::from_topic_error(&error),
        error => Failure::refused(error_chain_text(&error)),
    }
}
