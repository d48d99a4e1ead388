//! Checks of the topics that a process uses, and of the processes with which it shares these
//! topics.

use horus_core::Mismatch;
use horus_core::introspect::{Inspector, Participant, topics};
use horus_core::namespace::Namespace;

use super::process::PeerProcess;
use crate::context::Context;
use crate::doctor::Finding;
use crate::doctor::mismatch::mismatch_fault;
use crate::failure::{Failure, error_chain_text};
use crate::output::nearest;
use crate::topic::select::is_internal_topic;

/// The role of a process in one topic: it publishes, subscribes, or both. Also has the numbers of
/// publishers and subscribers in other processes.
#[derive(Debug)]
struct TopicRole {
    topic: String,
    publishes: bool,
    subscribes: bool,
    /// Number of publishers of the topic in other processes. `other_subscribers` is the number of
    /// subscribers there.
    other_publishers: usize,
    other_subscribers: usize,
    /// True if a subscriber requests reliable messages and a publisher does not offer them, so no
    /// message passes between the two. At least one of the two endpoints is in the process.
    is_unreliable: bool,
    /// True if a subscriber reads a different message type from the one that a publisher sends. At
    /// least one of the two endpoints is in the process.
    has_other_types: bool,
}

pub(super) fn check_topics(peer: &PeerProcess, context: &Context) -> Result<Vec<Finding>, Failure> {
    let Some(namespace) = context.open_existing_namespace()? else {
        return Ok(Vec::new());
    };
    let names = topics(&namespace).map_err(|error| Failure::from_open_error(&error))?;
    let mut findings = Vec::new();
    let mut parts = Vec::new();
    // The library's own topics have no counterpart.
    for name in names.iter().filter(|name| !is_internal_topic(name)) {
        match Inspector::open_in(&namespace, name) {
            Ok(topic) => parts.extend(TopicRole::of(peer, name, &topic)),
            Err(error) => findings.extend(check_unreadable(
                peer,
                &namespace,
                name,
                &error_chain_text(&error),
            )),
        }
    }
    if parts.is_empty() {
        let advice = "it publishes and subscribes to nothing yet: wait for it, or look at its log";
        findings.push(Finding::note("topics", "none", advice));
    }
    findings.extend(parts.iter().flat_map(|part| part.findings(&names)));
    Ok(findings)
}

/// Returns a fault if the process has mapped the file of the topic `name`; otherwise `None`. It is
/// called if this command could not open the topic, which means that the process uses another
/// version of the library.
fn check_unreadable(
    peer: &PeerProcess,
    namespace: &Namespace,
    name: &str,
    error: &str,
) -> Option<Finding> {
    let file = namespace.topics_path().join(name.replace('/', "+"));
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", peer.pid)).ok()?;
    let file = file.display().to_string();
    let is_mapped = maps.lines().any(|line| line.ends_with(&file));
    let advice = "it uses another version of this library: build both from the same one";
    is_mapped.then(|| Finding::fault("version", format!("{name}: {error}"), advice))
}

impl TopicRole {
    /// Returns the role of the process `peer` in a topic; `None` if the process neither publishes
    /// nor subscribes.
    fn of(peer: &PeerProcess, name: &str, topic: &Inspector) -> Option<Self> {
        let is_peer = |end: &Participant| {
            let process = end.process.as_ref();
            process.is_some_and(|process| {
                process.pid == peer.pid_in_its_namespace()
                    && Some(process.start_time) == peer.start_time
            })
        };
        let lanes = topic.publishers();
        let publishers: Vec<bool> = lanes
            .iter()
            .filter_map(|lane| lane.publisher.as_ref().map(is_peer))
            .collect();
        let readers = topic.subscribers();
        let subscribers: Vec<bool> = readers
            .iter()
            .map(|reader| is_peer(&reader.subscriber))
            .collect();
        let count = |ends: &[bool], theirs| ends.iter().filter(|end| **end == theirs).count();
        let mut unmatched = topic.unmatched_pairs();
        unmatched.retain(|pair| is_peer(&pair.publisher) || is_peer(&pair.subscriber));
        let is_unmatched = |cause| unmatched.iter().any(|pair| pair.cause == cause);
        let part = Self {
            topic: name.to_owned(),
            publishes: count(&publishers, true) > 0,
            subscribes: count(&subscribers, true) > 0,
            other_publishers: count(&publishers, false),
            other_subscribers: count(&subscribers, false),
            has_other_types: is_unmatched(Mismatch::Type),
            is_unreliable: is_unmatched(Mismatch::Reliability),
        };
        (part.publishes || part.subscribes).then_some(part)
    }

    fn findings(&self, names: &[String]) -> Vec<Finding> {
        let Self { topic, .. } = self;
        let mut findings = Vec::new();
        if self.publishes {
            let found = format!("it publishes {topic}");
            let verbs = ("subscribe", "subscribes");
            findings.push(self.finding_about_other_endpoints(
                &found,
                verbs,
                self.other_subscribers,
                names,
            ));
        }
        if self.subscribes {
            let found = format!("it subscribes to {topic}");
            let verbs = ("publish", "publishes");
            findings.push(self.finding_about_other_endpoints(
                &found,
                verbs,
                self.other_publishers,
                names,
            ));
        }
        if self.is_unreliable {
            let found = format!(
                "{topic}: a subscriber requests reliable messages, and a publisher offers best \
                 effort"
            );
            findings.push(mismatch_fault(Mismatch::Reliability, found));
        }
        if self.has_other_types {
            let found =
                format!("{topic}: a subscriber reads another message than a publisher sends");
            findings.push(mismatch_fault(Mismatch::Type, found));
        }
        findings
    }

    /// Returns a finding about the process as a publisher, or as a subscriber. `others` is the
    /// number of endpoints with the opposite role in other processes. `plural_verb` and
    /// `singular_verb` are the verb for that opposite role, such as "subscribe" and "subscribes".
    fn finding_about_other_endpoints(
        &self,
        found: &str,
        (plural_verb, singular_verb): (&str, &str),
        others: usize,
        topic_names: &[String],
    ) -> Finding {
        const CHECK_NAME: &str = "topic";
        if others > 0 {
            let found = format!("{found}, and {others} in other processes {plural_verb}");
            return Finding::ok(CHECK_NAME, found);
        }
        let others: Vec<String> = topic_names
            .iter()
            .filter(|name| **name != self.topic)
            .cloned()
            .collect();
        let near = nearest::suggestion_text(&self.topic, &others);
        let found = format!("{found}, and nobody else {singular_verb}");
        Finding::note(
            CHECK_NAME,
            found,
            format!("compare the names of the topics.{near}"),
        )
    }
}
