//! The command `horus topic rm`: removes a topic that no process uses.

use clap::Args;
use horus_core::introspect::LivenessCache;
use horus_core::namespace::remove_topic;

use super::meter::Counters;
use super::select::select_topics;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::format::participant;

/// Remove topics that no process uses, also those that are kept after exit
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Names or patterns of topics
    #[arg(required = true)]
    topics: Vec<String>,
}

pub(super) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let (namespace, names) = select_topics(context, &arguments.topics)?;
    for name in &names {
        // WHY first: removing a topic that does not exist is no error of the library.
        let users = match context.open_inspector(&namespace, name) {
            Ok(topic) => topic_users(&topic),
            Err(failure) if failure.is_not_found() => return Err(failure),
            // A damaged file can be removed, but shows no users.
            Err(_) => Vec::new(),
        };
        let is_gone =
            remove_topic(&namespace, name).map_err(|error| Failure::from_topic_error(&error))?;
        if !is_gone {
            let users = users.join(", ");
            return Err(Failure::refused(format_args!(
                "{name} is in use and was not removed: stop {users} first"
            )));
        }
        if context.is_json() {
            context
                .out
                .write_json(serde_json::json!({ "topic": name, "removed": true }))?;
        } else {
            context.print_note(format_args!("removed {name}"));
        }
    }
    Ok(())
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
