//! The command `horus topic wait`: waits until a topic exists, has participants or carries a new
//! message.

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use horus_core::OpenError;
use horus_core::introspect::Inspector;
use horus_core::namespace::Namespace;

use super::select::without_leading_slash;
use crate::cli::parse_number;
use crate::context::Context;
use crate::failure::Failure;
use crate::namespace::{find_replacement_namespace, replacement_namespace_note};

/// Time between two checks of the conditions that the command waits for.
const POLL_PERIOD: Duration = Duration::from_millis(10);

/// Wait until a topic exists, has publishers or subscribers, or a message
///
/// Prints nothing. The exit code is 0 when that is so, and 124 after --timeout.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the topic
    topic: String,
    /// Wait for the next message
    #[arg(long)]
    message: bool,
    /// Wait for at least N publishers
    #[arg(long, value_name = "N", value_parser = parse_number::<usize>)]
    pubs: Option<usize>,
    /// Wait for at least N subscribers
    #[arg(long, value_name = "N", value_parser = parse_number::<usize>)]
    subs: Option<usize>,
}

pub(super) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let name = without_leading_slash(&arguments.topic);
    let mut namespace = context.open_namespace()?;
    let deadline = context.deadline();
    // The number of messages at the first look, or 0 if there was no topic.
    let mut sent_at_begin = None;
    loop {
        if let Some(other) = find_replacement_namespace(&namespace)? {
            context.print_note(replacement_namespace_note(&other));
            namespace = other;
            // All topics there are new.
            sent_at_begin = Some(0);
        }
        let missing = unfulfilled_condition_text(arguments, &namespace, name, &mut sent_at_begin)?;
        let Some(missing) = missing else {
            return Ok(());
        };
        if deadline.is_over() {
            return Err(Failure::timeout(format_args!("{name}: {missing}")));
        }
        let due = deadline.or_earlier(Instant::now() + POLL_PERIOD);
        if !context.stop.sleep_until(due) {
            return Err(Failure::interrupted());
        }
    }
}

/// Returns a text about the first condition that is not fulfilled yet; `None` if all conditions are
/// fulfilled.
///
/// WHY each call opens the topic again: if it stayed open, it would continue to exist after the
/// processes that use it have ended.
fn unfulfilled_condition_text(
    arguments: &Arguments,
    namespace: &Arc<Namespace>,
    name: &str,
    sent_at_begin: &mut Option<u64>,
) -> Result<Option<String>, Failure> {
    let topic = match Inspector::open_in(namespace, name) {
        Ok(topic) => topic,
        Err(error) => {
            return match error.as_open_error() {
                Some(OpenError::NotFound { .. }) => {
                    // WHY also later: a topic of this name is a new one then.
                    *sent_at_begin = Some(0);
                    Ok(Some("no such topic".to_owned()))
                }
                _ => Err(Failure::from_topic_error(&error)),
            };
        }
    };
    let sent = topic.snapshot().sent;
    let mut before = *sent_at_begin.get_or_insert(sent);
    if sent < before {
        // The topic was created anew.
        before = 0;
        *sent_at_begin = Some(0);
    }
    let lanes = topic.publishers();
    let publishers = lanes.iter().filter(|lane| lane.publisher.is_some()).count();
    let subscribers = topic.subscribers().len();
    let lacks = |kind: &str, found: usize, wanted: Option<usize>| {
        let wanted = wanted.filter(|wanted| found < *wanted)?;
        Some(format!("{found} of {wanted} {kind}"))
    };
    let no_message = arguments.message && sent == before;
    Ok(lacks("publishers", publishers, arguments.pubs)
        .or_else(|| lacks("subscribers", subscribers, arguments.subs))
        .or_else(|| no_message.then(|| "no message".to_owned())))
}
