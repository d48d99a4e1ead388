//! Checks of the processes and topics of a namespace. They find unreadable topics, lost messages,
//! refused sends, and subscribers without a publisher.

use std::collections::BTreeSet;
use std::sync::Arc;

use horus_core::OpenError;
use horus_core::introspect::{self, Inspector, LivenessCache, Participant, topics};
use horus_core::namespace::Namespace;
use horus_core::scheduler::EMERGENCY_STOP_TOPIC;

use super::Finding;
use super::emergency::check_emergency_stop;
use super::fix::Fix;
use super::frozen::{check_dead_schedulers, check_frozen_processes};
use super::mismatch::find_unmatched_pairs;
use crate::failure::{Failure, error_chain_text};
use crate::output::format::{count, visible};
use crate::output::nearest;
use crate::topic::meter::Counters;
use crate::topic::select::is_internal_topic;

/// Runs all checks of the namespace. A check that fails becomes a fault. WHY: the findings of the
/// other checks may tell the reason.
pub(super) fn check_traffic(namespace: &Arc<Namespace>) -> Vec<Finding> {
    let mut users = TopicUsers::default();
    let topics = check_topics(namespace, &mut users);
    let checks = [
        ("processes", check_processes(namespace, &users)),
        ("topics", topics),
        ("suspended processes", check_frozen_processes(namespace)),
        ("dead schedulers", check_dead_schedulers(namespace)),
        ("emergency stop", check_emergency_stop(namespace)),
    ];
    let findings = checks.into_iter().map(|(check, findings)| {
        findings.unwrap_or_else(|failure| vec![Finding::unknown(check, failure.text())])
    });
    findings.flatten().collect()
}

/// The processes that use the topics of the namespace.
#[derive(Debug, Default)]
struct TopicUsers {
    /// The owner ids of the processes. An owner id identifies a process within its namespace.
    owner_ids: BTreeSet<u64>,
    /// True if all topics could be inspected, so that no process is missing.
    is_complete: bool,
}

/// Checks all topics of the namespace. Stores the processes that use them in `users`.
fn check_topics(
    namespace: &Arc<Namespace>,
    users: &mut TopicUsers,
) -> Result<Vec<Finding>, Failure> {
    let names = topics(namespace).map_err(|error| Failure::from_open_error(&error))?;
    let reports = inspect_topics(namespace, &names, users);
    let written = reports.iter().filter(|report| report.is_written);
    let written: Vec<String> = written.map(|report| report.name.to_owned()).collect();
    let number = reports.len();
    let mut findings = Vec::new();
    for report in reports {
        findings.extend(report.findings);
        if let Some(subscribers) = report.unserved_subscribers {
            findings.push(silent_topic_note(report.name, subscribers, &written));
        }
    }
    if findings.is_empty() {
        let found = format!("{number} topics, all without loss");
        findings.push(Finding::ok("topics", found));
    }
    Ok(findings)
}

/// Inspects the topics `names` one after the other. Leaves out those that were removed since the
/// names were read, as topics of short-lived programs are. Stores the processes that use them in
/// `users`.
///
/// WHY none stays open: each one needs a file descriptor, and the other checks need some, too.
fn inspect_topics<'a>(
    namespace: &Arc<Namespace>,
    names: &'a [String],
    users: &mut TopicUsers,
) -> Vec<TopicReport<'a>> {
    users.is_complete = true;
    let reports = names.iter().filter_map(|name| {
        let error = match Inspector::open_in(namespace, name) {
            Ok(topic) => {
                let counters = Counters::read(&topic, &mut LivenessCache::default());
                let owner_ids = counters.participants().map(|user| user.owner_id);
                users.owner_ids.extend(owner_ids);
                return Some(inspect_topic(name, &topic, &counters));
            }
            Err(error) => error,
        };
        let cause = error.as_open_error();
        if matches!(cause, Some(OpenError::NotFound { .. })) {
            return None;
        }
        users.is_complete = false;
        const CHECK_NAME: &str = "unreadable topic";
        let text = error_chain_text(&error);
        let finding = if cause.is_some_and(OpenError::is_lack_of_resources) {
            // WHY no repair: the error says nothing about the topic.
            Finding::unknown(CHECK_NAME, text)
        } else {
            let fault = Finding::fault(CHECK_NAME, text, format!("horus topic rm {name}"));
            fault.with_fix(Fix::RemoveTopic(name.clone()))
        };
        Some(TopicReport {
            name,
            findings: vec![finding],
            is_written: false,
            unserved_subscribers: None,
        })
    });
    reports.collect()
}

/// Returns one finding, which lists the live processes of the namespace except this one. Processes
/// that are not in `users` are listed as those without a topic, unless `users` is not complete.
fn check_processes(namespace: &Namespace, users: &TopicUsers) -> Result<Vec<Finding>, Failure> {
    let own = namespace.registry().own_owner_word().to_bits();
    let all = introspect::processes(namespace).map_err(|error| Failure::from_open_error(&error))?;
    let others = all.iter().filter(|process| process.owner_id != own);
    let (with, without): (Vec<_>, Vec<_>) = others
        .partition(|process| !users.is_complete || users.owner_ids.contains(&process.owner_id));
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
    Ok(vec![Finding::ok("processes", found)])
}

fn subscribers_text(number: usize) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} subscriber{plural}")
}

/// The result of the check of one topic.
#[derive(Debug)]
struct TopicReport<'a> {
    name: &'a str,
    findings: Vec<Finding>,
    /// True if the topic has a publisher, and is not one of the library's own.
    is_written: bool,
    /// The number of subscribers if the topic has some, but no publisher although it should have
    /// one; otherwise `None`.
    unserved_subscribers: Option<usize>,
}

/// Checks the topic `name`, and returns what it has found.
fn inspect_topic<'a>(name: &'a str, inspector: &Inspector, counters: &Counters) -> TopicReport<'a> {
    let mut findings = find_unmatched_pairs(name, inspector);
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
    let is_silent = counters.publishers() == 0 && !is_latched && !is_rare;
    TopicReport {
        name,
        findings,
        is_written: counters.publishers() > 0 && !is_internal_topic(name),
        unserved_subscribers: (subscribers > 0 && is_silent).then_some(subscribers),
    }
}

/// Returns the note for a topic that has subscribers, but no publisher. `published_names` are the
/// names of the topics that have a publisher.
fn silent_topic_note(name: &str, subscribers: usize, published_names: &[String]) -> Finding {
    let found = format!(
        "{name}: {}, and no publisher",
        subscribers_text(subscribers)
    );
    let advice = match nearest::similar_names(name, published_names).as_slice() {
        [] => format!("start its publisher, or compare names: horus topic info {name}"),
        near => format!(
            "a similar name is published: {}. Use one name in both programs, or start the \
             publisher of {name}",
            near.join(", ")
        ),
    };
    Finding::note("silent topic", found, advice)
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
        let reports = inspect_topics(&namespace, &names, &mut TopicUsers::default());
        let found = reports
            .iter()
            .map(|report| (report.name, report.is_written));
        assert_eq!(found.collect::<Vec<_>>(), [("here", true)]);
    }
}
