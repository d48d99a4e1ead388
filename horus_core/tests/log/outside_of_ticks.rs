//! The lines that nodes log outside of their ticks.

use std::fmt;

use horus_core::scheduler::{Node, NodeError};

use super::*;

const CALLS: [&str; 7] = [
    "init",
    "on_error",
    "drop of the error",
    "enter_safe_state",
    "is_safe_state",
    "shutdown",
    "drop",
];

/// A node that logs a line in each of its methods but `tick`, which fails.
struct Talker;

impl Node for Talker {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        log::info!("init");
        Ok(())
    }

    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Err(Fault.into())
    }

    fn on_error(&mut self, _: &NodeError) {
        log::info!("on_error");
    }

    fn enter_safe_state(&mut self) {
        log::info!("enter_safe_state");
    }

    fn is_safe_state(&self) -> bool {
        log::info!("is_safe_state");
        true
    }

    fn shutdown(&mut self) -> NodeResult {
        log::info!("shutdown");
        Ok(())
    }
}

impl Drop for Talker {
    fn drop(&mut self) {
        log::info!("drop");
    }
}

#[derive(Debug)]
struct Fault;

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("on purpose")
    }
}

impl std::error::Error for Fault {}

impl Drop for Fault {
    fn drop(&mut self) {
        log::info!("drop of the error");
    }
}

/// Runs a node that fails.
pub(super) fn fail(dir: &Path) {
    let mut scheduler = Scheduler::new();
    scheduler.namespace(&namespace_in(dir));
    scheduler.node("talker").build(Talker).unwrap();
    scheduler.run().unwrap_err();
}

#[test]
fn lines_of_all_calls_of_a_node_have_its_name() {
    let site = Site::new();
    let mut child = site.child("program");
    order(&mut child, "node_fails");
    let (lines, _) = site.lines();
    let of = |node: &str| {
        let texts = lines.iter().filter(|record| record.line.node == *node);
        let mut texts: Vec<_> = texts
            .map(|record| record.line.text().into_owned())
            .collect();
        // The scheduler logs the failure and the safe state.
        texts.retain(|text| CALLS.contains(&text.as_str()));
        texts
    };
    assert_eq!(of("talker"), CALLS);
    assert!(of("").is_empty());
}
