//! Readiness: a program is ready when its processes have opened the topics that the launch file
//! lists.

use std::sync::Arc;

use horus_core::OpenError;
use horus_core::introspect::{Inspector, Participant};
use horus_core::namespace::Namespace;

use super::file::ReadyCondition;
use crate::failure::error_chain_text;
use crate::output::format::{participant, visible};
use crate::process::ProcessStat;

/// Returns a text that names the first topic of `ready` which no process of the program publishes
/// or subscribes to yet. The processes of the program are those of the process group `group`.
/// Returns `None` if there is no such topic, which means that the program is ready.
pub(super) fn missing_topic_text(
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
        let ends = read_topic_endpoints(namespace, name, publishers);
        missing_endpoint_text(ends, group, &format!("publish {name}"))
    });
    let mut subscribed = ready.subscribes.iter();
    lacking.or_else(|| {
        subscribed.find_map(|name| {
            let ends = read_topic_endpoints(namespace, name, subscribers);
            missing_endpoint_text(ends, group, &format!("subscribe to {name}"))
        })
    })
}

/// Opens the topic `name`, and returns those of its endpoints that `endpoints` selects. Returns
/// none if there is no such topic.
///
/// # Errors
///
/// The text of the error if the topic exists, but cannot be opened.
fn read_topic_endpoints(
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
/// does. `endpoints` are the endpoints of the topic, or the reason why they are not known.
fn missing_endpoint_text(
    endpoints: Result<Vec<Participant>, String>,
    group: u32,
    action: &str,
) -> Option<String> {
    let endpoints = match endpoints {
        Ok(endpoints) => endpoints,
        Err(error) => {
            let error = visible(&error);
            return Some(format!("it is not known whether it does {action}: {error}"));
        }
    };
    if endpoints
        .iter()
        .any(|endpoint| is_in_group(endpoint, group))
    {
        return None;
    }
    // WHY: a process in a container has another id for this process, and belongs to no group.
    let other = endpoints.first().map(|endpoint| {
        let other = participant(Some(endpoint));
        format!("; {other} does, but is not in the process group {group} of this program")
    });
    Some(format!("it does not {action}{}", other.unwrap_or_default()))
}

/// Returns true if the process of an endpoint is in the process group `group`. WHY not by its id
/// alone: a process of another container may have the same one.
fn is_in_group(endpoint: &Participant, group: u32) -> bool {
    let stat = endpoint.process.as_ref().and_then(ProcessStat::of);
    stat.is_some_and(|stat| stat.group == group)
}

#[cfg(test)]
mod tests {
    use horus_core::introspect::processes;

    use super::*;
    use crate::testing::private_namespace;

    /// A process of another container may have the id of a process of the program.
    #[test]
    fn a_process_with_the_same_id_is_not_in_the_group() {
        let (_dir, namespace) = private_namespace();
        let mut own = processes(&namespace).unwrap().remove(0);
        let pid = own.process.as_ref().unwrap().pid;
        let group = ProcessStat::read(pid).unwrap().group;
        assert!(is_in_group(&own, group), "{own:?}");
        own.process.as_mut().unwrap().start_time += 1;
        for group in [group, pid] {
            assert!(!is_in_group(&own, group), "{own:?}");
        }
    }
}
