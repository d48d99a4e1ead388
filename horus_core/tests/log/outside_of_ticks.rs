//! The lines that nodes log outside of their ticks, and the events of a program without a log.

use std::fmt;
use std::io::Read as _;
use std::process::Stdio;

use horus_core::message::EmergencyStop;
use horus_core::scheduler::{Health, Node, NodeError, emergency_stop_publisher};

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

/// Runs a node until it is in its safe state. The process has no log.
pub(super) fn run_without_log(role: &str, dir: &Path) {
    let mut scheduler = Scheduler::new();
    scheduler.namespace(&namespace_in(dir));
    if role == "no log, panics" {
        scheduler.on_event(|_| panic!("on purpose"));
    }
    let node = scheduler.node("arm").rate(100.hz());
    node.build(|_: &mut Context<'_>| {}).unwrap();
    let running = scheduler.start().unwrap();
    say("ready");
    until("the node is safe", || {
        running.handle().metrics("arm").unwrap().health == Health::Safe
    });
    running.finish().unwrap();
    say("over");
}

/// Returns what a program without a log writes to stderr when an emergency stop is engaged for this
/// reason.
fn stderr_of_stop(role: &str, reason: &str) -> String {
    let dir = private_dir();
    let mut child = Child::spawn_with(role, dir.path(), |command| {
        command.stderr(Stdio::piped());
    });
    child.await_word("ready");
    let mut publisher = emergency_stop_publisher(&namespace_in(dir.path())).unwrap();
    publisher
        .send(EmergencyStop::engage("test", reason))
        .unwrap();
    child.await_word("over");
    let mut printed = String::new();
    child.stderr().read_to_string(&mut printed).unwrap();
    assert_eq!(child.wait(), End::Code(0), "{printed}");
    printed
}

#[test]
fn an_event_without_a_log_cannot_imitate_another_line() {
    let printed = stderr_of_stop("no log", "\x1b[2J");
    assert!(printed.contains("EMERGENCY STOP"), "{printed}");
    assert!(printed.contains(r": \u{1b}[2J"), "{printed}");
}

#[test]
fn events_are_printed_after_a_panic_of_the_callback() {
    let printed = stderr_of_stop("no log, panics", "a test");
    assert_eq!(printed.matches("on purpose").count(), 1, "{printed}");
    assert!(printed.contains("EMERGENCY STOP"), "{printed}");
}
