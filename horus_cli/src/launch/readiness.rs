//! Readiness: a program is ready when its processes have opened the topics that the launch file
//! lists.

use std::fs;
use std::sync::Arc;

use horus_core::introspect::{Inspector, Participant};
use horus_core::namespace::Namespace;

use super::file::ReadyCondition;

/// Returns a sentence that names the first topic of `ready` which no process of the program
/// publishes or subscribes to yet. Returns `None` if there is no such topic, which means that the
/// program is ready.
pub(super) fn missing_topic(
    namespace: &Arc<Namespace>,
    ready: &ReadyCondition,
    group: u32,
) -> Option<String> {
    let is_ours = |end: &Participant| {
        let process = end.process.as_ref();
        process.is_some_and(|process| {
            process.pid == group || process_group_of(process.pid) == Some(group)
        })
    };
    // A topic that cannot be opened is not there yet.
    let open = |topic: &String| Inspector::open_in(namespace, topic).ok();
    let publishes = |topic: &&String| {
        let lanes = open(topic).map(|topic| topic.publishers());
        let mut ends = lanes
            .into_iter()
            .flatten()
            .filter_map(|lane| lane.publisher);
        ends.any(|end| is_ours(&end))
    };
    let subscribes = |topic: &&String| {
        let readers = open(topic).map(|topic| topic.subscribers());
        let mut ends = readers.into_iter().flatten();
        ends.any(|reader| is_ours(&reader.subscriber))
    };
    let lacking = ready.publishes.iter().find(|topic| !publishes(topic));
    if let Some(topic) = lacking {
        return Some(format!("it does not publish {topic}"));
    }
    let lacking = ready.subscribes.iter().find(|topic| !subscribes(topic));
    lacking.map(|topic| format!("it does not subscribe to {topic}"))
}

/// Returns the id of the process group of the process `pid`; `None` if the process does not exist.
fn process_group_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program may contain anything, but the last parenthesis ends it.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(2)?.parse().ok()
}
