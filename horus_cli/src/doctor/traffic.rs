//! Checks of the processes and topics of a namespace. They find unreadable topics, lost messages,
//! refused sends, and subscribers without a publisher.

use std::collections::BTreeSet;
use std::sync::Arc;

use horus_core::introspect::{self, Inspector, LivenessCache, Participant, topics};
use horus_core::namespace::Namespace;
use horus_core::scheduler::EMERGENCY_STOP_TOPIC;
use horus_core::{OpenError, TopicError};

use super::Finding;
use super::emergency::check_emergency_stop;
use super::fix::Fix;
use super::frozen::{check_dead_schedulers, check_frozen_processes};
use super::mismatch::check_pairs;
use crate::failure::{Failure, error_chain_text};
use crate::output::format::{count, visible};
use crate::output::nearest;
use crate::topic::meter::Counters;
use crate::topic::select::is_internal_topic;

pub(super) fn check_traffic(namespace: &Arc<Namespace>) -> Result<Vec<Finding>, Failure> {
    let names = topics(namespace).map_err(|error| Failure::from_open_error(&error))?;
    let opened = open_topics(namespace, &names);
    let written = opened.iter().filter(|(name, topic)| {
        let is_written = |topic: &OpenedTopic| topic.counters.publishers() > 0;
        topic.as_ref().is_ok_and(is_written) && !is_internal_topic(name)
    });
    let written: Vec<String> = written.map(|(name, _)| (*name).clone()).collect();
    let mut users = BTreeSet::new();
    let mut findings = Vec::new();
    for (name, topic) in &opened {
        match topic {
            Ok(topic) => {
                users.extend(topic.counters.participants().map(|user| user.owner_id));
                findings.extend(check_topic(name, topic, &written));
            }
            Err(error) => {
                let advice = format!("horus topic rm {name}");
                let finding = Finding::fault("unreadable topic", error_chain_text(error), advice);
                findings.push(finding.with_fix(Fix::RemoveTopic((*name).clone())));
            }
        }
    }
    if findings.is_empty() {
        let found = format!("{} topics, all without loss", opened.len());
        findings.push(Finding::ok("topics", found));
    }
    findings.insert(0, check_processes(namespace, &users)?);
    findings.extend(check_frozen_processes(namespace)?);
    findings.extend(check_dead_schedulers(namespace)?);
    findings.extend(check_emergency_stop(namespace)?);
    Ok(findings)
}

/// Opens the topics `names`, and returns each with the error if it cannot be opened. Leaves out
/// those that were removed since the names were read, as topics of short-lived programs are.
fn open_topics<'a>(
    namespace: &Arc<Namespace>,
    names: &'a [String],
) -> Vec<(&'a String, Result<OpenedTopic, TopicError>)> {
    let is_there = |topic: &Result<OpenedTopic, TopicError>| {
        let error = topic.as_ref().err().and_then(TopicError::as_open_error);
        !matches!(error, Some(OpenError::NotFound { .. }))
    };
    let opened = names
        .iter()
        .map(|name| (name, OpenedTopic::open(namespace, name)));
    opened.filter(|(_, topic)| is_there(topic)).collect()
}

/// Returns a finding that lists the live processes of the namespace. `users` are the owner ids of
/// the processes that use a topic. An owner id identifies a process within its namespace.
fn check_processes(namespace: &Namespace, users: &BTreeSet<u64>) -> Result<Finding, Failure> {
    let own = namespace.registry().own_owner_word().to_bits();
    let all = introspect::processes(namespace).map_err(|error| Failure::from_open_error(&error))?;
    let others = all.iter().filter(|process| process.owner_id != own);
    let (with, without): (Vec<_>, Vec<_>) =
        others.partition(|process| users.contains(&process.owner_id));
    let list = |processes: &[&Participant]| {
        let processes = processes.iter().filter_map(|one| one.process.as_ref());
        let names = processes.map(|one| format!("{} ({})", visible(&one.name), one.pid));
        names.collect::<Vec<_>>().join(", ")
    };
    let found = match (with.as_slice(), without.as_slice()) {
        ([], []) => "none in this namespace".to_owned(),
        (with, []) => list(with),
        ([], without) => format!("without a topic: {}", list(without)),
        (with, without) => format!("{}; without a topic: {}", list(with), list(without)),
    };
    Ok(Finding::ok("processes", found))
}

fn subscribers_text(number: usize) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} subscriber{plural}")
}

/// A topic, and the counters of its publishers and subscribers.
struct OpenedTopic {
    inspector: Inspector,
    counters: Counters,
}

impl OpenedTopic {
    fn open(namespace: &Arc<Namespace>, name: &str) -> Result<Self, TopicError> {
        let inspector = Inspector::open_in(namespace, name)?;
        let counters = Counters::read(&inspector, &mut LivenessCache::default());
        Ok(Self {
            inspector,
            counters,
        })
    }
}

/// Checks the topic `name`, and returns the findings. `written` are the names of the topics that
/// have a publisher.
fn check_topic(name: &str, topic: &OpenedTopic, written: &[String]) -> Vec<Finding> {
    let OpenedTopic {
        inspector,
        counters,
    } = topic;
    let mut findings = check_pairs(name, inspector);
    let lost = counters.lost();
    if lost > 0 {
        let found = format!("{name}: subscribers have lost {} messages", count(lost));
        let advice = "receive more often, skip to the latest, or give the topic more slots \
                      (Qos::capacity)";
        findings.push(Finding::note("loss", found, advice));
    }
    // WHY saturating: another process may have written anything.
    let malformed = counters
        .readers
        .iter()
        .fold(0_u64, |all, reader| all.saturating_add(reader.malformed));
    if malformed > 0 {
        let found = format!(
            "{name}: subscribers could not read {} messages",
            count(malformed)
        );
        let advice = format!(
            "their bytes are no message of the subscriber's type: correct the publisher, and \
             compare horus topic info {name}"
        );
        findings.push(Finding::fault("malformed", found, advice));
    }
    let refused = counters.refused();
    if refused > 0 {
        let found = format!("{name}: {} sends were refused", count(refused));
        let advice = format!("a reliable subscriber is too slow: horus topic info {name}");
        findings.push(Finding::note("refusal", found, advice));
    }
    let is_latched = inspector.persists() && inspector.history() > 0;
    let subscribers = counters.readers.len();
    // WHY not these: each scheduler subscribes to the topics of commands, which are sent rarely.
    let is_rare = is_internal_topic(name) || name == EMERGENCY_STOP_TOPIC;
    if subscribers > 0 && counters.publishers() == 0 && !is_latched && !is_rare {
        let found = format!(
            "{name}: {}, and no publisher",
            subscribers_text(subscribers)
        );
        let advice = match nearest::similar_names(name, written).as_slice() {
            [] => format!("start its publisher, or compare names: horus topic info {name}"),
            near => format!(
                "a similar name is published: {}. Use one name in both programs, or start the \
                 publisher of {name}",
                near.join(", ")
            ),
        };
        findings.push(Finding::note("silent topic", found, advice));
    }
    findings
}

#[cfg(test)]
mod tests {
    use horus_core::message::CmdVel;
    use horus_core::topic::Topic;

    use super::*;
    use crate::testing::private_namespace;

    #[test]
    fn a_topic_that_was_removed_meanwhile_is_no_fault() {
        let (_dir, namespace) = private_namespace();
        let topic = Topic::<CmdVel>::builder("here").namespace(&namespace);
        let _publisher = topic.publisher().unwrap();
        let names = ["gone".to_owned(), "here".to_owned()];
        let opened = open_topics(&namespace, &names);
        let found = opened
            .iter()
            .map(|(name, topic)| (name.as_str(), topic.is_ok()));
        assert_eq!(found.collect::<Vec<_>>(), [("here", true)]);
    }
}
