//! The command `horus topic rm`: removes a topic that no process uses.

use std::sync::Arc;

use clap::Args;
use horus_core::introspect::LivenessCache;
use horus_core::namespace::{Namespace, remove_topic};
use horus_core::scheduler::EMERGENCY_STOP_TOPIC;

use super::meter::Counters;
use super::select::select_topics;
use crate::context::Context;
use crate::estop::remove_stop_topic;
use crate::failure::Failure;
use crate::output::format::participant;

/// Remove topics that no process uses, also those that are kept after exit
///
/// Refuses to remove an engaged emergency stop: release it first.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Names or patterns of topics
    #[arg(required = true)]
    topics: Vec<String>,
}

pub(super) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let (namespace, names) = select_topics(context, &arguments.topics)?;
    let mut failures = Vec::new();
    for name in &names {
        if let Err(failure) = remove(&namespace, name, context) {
            if context.is_json() && names.len() > 1 {
                let error = failure.text();
                let object = serde_json::json!({ "topic": name, "removed": false, "error": error });
                context.out.write_json(object)?;
            }
            failures.push(failure);
            continue;
        }
        if context.is_json() {
            context
                .out
                .write_json(serde_json::json!({ "topic": name, "removed": true }))?;
        } else {
            context.print_note(format_args!("removed {name}"));
        }
    }
    if names.len() == 1 {
        return failures.pop().map_or(Ok(()), Err);
    }
    Failure::result_of_attempts(&failures, names.len(), "not removed")
}

/// Removes the topic `name`. Returns a failure if it does not exist or is in use, or if it keeps an
/// engaged emergency stop.
fn remove(namespace: &Arc<Namespace>, name: &str, context: &Context) -> Result<(), Failure> {
    // WHY first: removing a topic that does not exist is no error of the library.
    let users = match context.open_inspector(namespace, name) {
        Ok(topic) => topic_users(&topic),
        Err(failure) if failure.is_not_found() => return Err(failure),
        // A damaged file can be removed, but shows no users.
        Err(_) => Vec::new(),
    };
    let is_gone = if name == EMERGENCY_STOP_TOPIC {
        remove_stop_topic(namespace)?
    } else {
        remove_topic(namespace, name).map_err(|error| Failure::from_topic_error(&error))?
    };
    if is_gone {
        return Ok(());
    }
    let users = users.join(", ");
    Err(Failure::refused(format_args!(
        "{name} is in use, or was used meanwhile, and was not removed: stop {users} first"
    )))
}

/// Returns a text about each process that publishes or subscribes to the topic.
fn topic_users(topic: &horus_core::introspect::Inspector) -> Vec<String> {
    let counters = Counters::read(topic, &mut LivenessCache::default());
    let users = counters.participants().map(|user| participant(Some(user)));
    let mut users: Vec<_> = users.collect();
    users.sort();
    users.dedup();
    if users.is_empty() {
        users.push("the program that has it open".to_owned());
    }
    users
}
