//! The command `horus estop`: sends an emergency stop to all schedulers of the namespace.

use std::sync::Arc;

use clap::{Args, Subcommand};
use horus_core::OpenError;
use horus_core::message::EmergencyStop;
use horus_core::namespace::Namespace;
use horus_core::scheduler::{EMERGENCY_STOP_TOPIC, emergency_stop};
use horus_core::topic::{Qos, Topic};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, error_chain_text};
use crate::output::Tone;
use crate::output::format::{date_time, visible};

/// Value of the field `source` in the emergency stops that this command sends.
const SOURCE: &str = "horus estop";

/// The commands of `horus estop`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Stop all schedulers: nothing may move until it is released
    Engage(ReasonArguments),
    /// Release the emergency stop
    Release(ReasonArguments),
    /// Show whether the emergency stop is engaged, by whom and why
    ///
    /// The exit code is 1 if it is engaged.
    Status,
}

/// The arguments of a command that takes a reason.
#[derive(Debug, Args)]
pub(crate) struct ReasonArguments {
    /// Reason, for people
    #[arg(long, default_value = "", hide_default_value = true)]
    reason: String,
}

#[derive(Debug, Serialize)]
struct Status {
    engaged: bool,
    timestamp_ns: Option<u64>,
    source: Option<String>,
    reason: Option<String>,
}

impl Command {
    /// Executes the command.
    pub(crate) fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self {
            Self::Engage(ReasonArguments { reason }) => {
                send_and_report(EmergencyStop::engage(SOURCE, &reason), context)
            }
            Self::Release(ReasonArguments { reason }) => {
                send_and_report(EmergencyStop::release(SOURCE, &reason), context)
            }
            Self::Status => print_status(context),
        }
    }
}

fn send_and_report(stop: EmergencyStop, context: &mut Context) -> Result<(), Failure> {
    let namespace = context.open_namespace()?;
    if publish_stop(&namespace, stop)? == 0 {
        context.print_note("no scheduler runs that could receive it");
    }
    print_state(Some(&stop), context)
}

/// Sends an emergency stop, or the release from one, to all schedulers of the namespace. Returns
/// the number of schedulers that receive it.
pub(crate) fn publish_stop(
    namespace: &Arc<Namespace>,
    stop: EmergencyStop,
) -> Result<usize, Failure> {
    let mut publisher =
        emergency_stop(namespace).map_err(|error| Failure::from_topic_error(&error))?;
    let sent = publisher.send(stop);
    sent.map_err(|error| Failure::refused(error_chain_text(&error.with(()))))?;
    Ok(publisher.subscriber_count())
}

fn print_status(context: &mut Context) -> Result<(), Failure> {
    let last = match context.open_existing_namespace()? {
        Some(namespace) => read_last_message(&namespace)?,
        None => None,
    };
    print_state(last.as_ref(), context)?;
    if last.is_some_and(|stop| stop.is_engaged()) {
        context.out.flush()?;
        return Err(Failure::check_answered_no());
    }
    Ok(())
}

/// Returns the last message that stopped the schedulers or released them; `None` if there was none.
fn read_last_message(namespace: &Arc<Namespace>) -> Result<Option<EmergencyStop>, Failure> {
    let topic = Topic::<EmergencyStop>::builder(EMERGENCY_STOP_TOPIC).namespace(namespace);
    match topic.qos(Qos::new().strict(true)).observer() {
        Ok(mut observer) => Ok(observer.latest()),
        Err(error) => match error.as_open_error() {
            Some(OpenError::NotFound { .. }) => Ok(None),
            _ => Err(Failure::from_topic_error(&error)),
        },
    }
}

fn print_state(stop: Option<&EmergencyStop>, context: &mut Context) -> Result<(), Failure> {
    if context.is_json() {
        return context.out.json(Status {
            engaged: stop.is_some_and(EmergencyStop::is_engaged),
            timestamp_ns: stop.map(|stop| stop.timestamp_ns),
            source: stop.map(|stop| stop.source.to_string()),
            reason: stop.map(|stop| stop.reason.to_string()),
        });
    }
    match stop {
        None => context.out.line("never engaged"),
        Some(stop) => {
            let is_engaged = stop.is_engaged();
            let tone = if is_engaged { Tone::Bad } else { Tone::Plain };
            let text = context.out.paint(tone, &visible(&stop.to_string()));
            context
                .out
                .line(format_args!("{} {text}", date_time(stop.timestamp_ns)))
        }
    }
}
