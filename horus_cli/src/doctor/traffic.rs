//! Checks of the topics: unreadable ones, losses, refusals, and subscribers without a publisher.

use std::sync::Arc;

use horus_core::introspect::{Inspector, topics};
use horus_core::namespace::Namespace;

use super::Finding;
use crate::context::Context;
use crate::failure::{Failure, chain};
use crate::output::format::count;

pub(super) fn check(context: &Context) -> Result<Vec<Finding>, Failure> {
    let Some(namespace) = context.existing_namespace()? else {
        return Ok(Vec::new());
    };
    let names = topics(&namespace).map_err(|error| Failure::of_open(&error))?;
    let mut findings: Vec<Finding> = names
        .iter()
        .flat_map(|name| check_topic(&namespace, name))
        .collect();
    if findings.is_empty() {
        let found = format!("{} topics, all without loss", names.len());
        findings.push(Finding::ok("topics", found));
    }
    Ok(findings)
}

fn check_topic(namespace: &Arc<Namespace>, name: &str) -> Vec<Finding> {
    let topic = match Inspector::open_in(namespace, name) {
        Ok(topic) => topic,
        Err(error) => {
            let advice = format!("horus topic rm {name}");
            return vec![Finding::fault("unreadable topic", chain(&error), advice)];
        }
    };
    let mut findings = Vec::new();
    let lanes = topic.publishers();
    let readers = topic.subscribers();
    let lost: u64 = readers.iter().map(|reader| reader.lost).sum();
    if lost > 0 {
        let found = format!("{name}: subscribers have lost {} messages", count(lost));
        let advice = "receive more often, skip to the latest, or give the topic more slots \
                      (Qos::capacity)";
        findings.push(Finding::note("loss", found, advice));
    }
    let refused: u64 = lanes.iter().map(|lane| lane.refused).sum();
    if refused > 0 {
        let found = format!("{name}: {} sends were refused", count(refused));
        let advice = format!("a reliable subscriber is too slow: horus topic info {name}");
        findings.push(Finding::note("refusal", found, advice));
    }
    let has_publisher = lanes.iter().any(|lane| lane.publisher.is_some());
    let is_latched = topic.persists() && topic.history() > 0;
    if !readers.is_empty() && !has_publisher && !is_latched {
        let found = format!("{name}: {} subscribers, and no publisher", readers.len());
        let advice = format!("start its publisher, or compare names: horus topic info {name}");
        findings.push(Finding::note("silent topic", found, advice));
    }
    findings
}
