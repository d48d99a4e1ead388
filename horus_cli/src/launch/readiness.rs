//! Readiness: a program is ready when its processes have opened the topics that the launch file
//! lists.

use std::fs;
use std::sync::Arc;

use horus_core::OpenError;
use horus_core::introspect::{Inspector, Participant};
use horus_core::namespace::Namespace;

use super::file::ReadyCondition;
use crate::failure::error_chain_text;
use crate::output::format::{participant, visible};

/// Returns a text that names the first topic of `ready` which no process of the program publishes
/// or subscribes to yet. The processes of the program are those of the process group `group`.
/// Returns `None` if there is no such topic, which means that the program is ready.
pub(super) fn missing_topic(
    namespace: &Arc<Namespace>,
    ready: &ReadyCondition,
    group: u32,
) -> Option<String> {
    let publishers = |topic: &Inspector| {
        let lanes = topic.publishers().into_iter();
        lanes.filter_map(|lane| lane.publisher).collect()
    };
    let subscribers = |topic: &Inspector| {
        let readers = topic.subscribers().into_iter();
        readers.map(|reader| reader.subscriber).collect()
    };
    let mut published = ready.publishes.iter();
    let lacking = published.find_map(|name| {
        let ends = open_topic(namespace, name, publishers);
        describe_lack(ends, group, &format!("publish {name}"))
    });
    let mut subscribed = ready.subscribes.iter();
    lacking.or_else(|| {
        subscribed.find_map(|name| {
            let ends = open_topic(namespace, name, subscribers);
            describe_lack(ends, group, &format!("subscribe to {name}"))
        })
    })
}

/// Opens the topic `name`, and returns those of its endpoints that `endpoints` selects. Returns
/// none if there is no such topic.
///
/// # Errors
///
/// The text of the error if the topic exists, but cannot be opened.
fn open_topic(
    namespace: &Arc<Namespace>,
    name: &str,
    endpoints: impl FnOnce(&Inspector) -> Vec<Participant>,
) -> Result<Vec<Participant>, String> {
    match Inspector::open_in(namespace, name) {
        Ok(topic) => Ok(endpoints(&topic)),
        Err(error) if matches!(error.as_open_error(), Some(OpenError::NotFound { .. })) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error_chain_text(&error)),
    }
}

/// Returns a text that says that the program does not do `action`; `None` if a process of the group
/// does. `ends` are the endpoints of the topic, or the reason why they are not known.
fn describe_lack(
    ends: Result<Vec<Participant>, String>,
    group: u32,
    action: &str,
) -> Option<String> {
    let ends = match ends {
        Ok(ends) => ends,
        Err(error) => {
            let error = visible(&error);
            return Some(format!("it is not known whether it does {action}: {error}"));
        }
    };
    if ends.iter().any(|end| is_in_group(end, group)) {
        return None;
    }
    // WHY: a process in a container has another id for this process, and belongs to no group.
    let other = ends.first().map(|end| {
        let other = participant(Some(end));
        format!("; {other} does, but is not in the process group {group} of this program")
    });
    Some(format!("it does not {action}{}", other.unwrap_or_default()))
}

fn is_in_group(end: &Participant, group: u32) -> bool {
    let process = end.process.as_ref();
    process
        .is_some_and(|process| process.pid == group || process_group_of(process.pid) == Some(group))
}

/// Returns the id of the process group of the process `pid`; `None` if the process does not exist.
fn process_group_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program may contain anything, but the last parenthesis ends it.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(2)?.parse().ok()
}
