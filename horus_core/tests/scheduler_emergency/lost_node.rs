//! Nodes that cannot be called in an emergency stop: one that was lost in a swap, and one whose
//! `init` has failed.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use horus_core::message::NodeEvent;
use horus_core::prelude::*;
use horus_core::scheduler::{FailurePolicy, Health, Hertz};

use super::executors::{LONG, Recorded, until};
use super::private::Private;
use super::{Calls, Motor, SlowInit, engage};

/// Waits for the event that names the nodes that are not safe, and returns its text.
fn text_of_unsafe(recorded: &Recorded) -> String {
    until("it is an event", || {
        recorded.count("", NodeEvent::FAILED) > 0
    });
    let event = recorded.of("", NodeEvent::FAILED).remove(0);
    event.text.as_str().to_owned()
}

/// A node that cannot be initialised.
struct Broken;

impl Node for Broken {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        Err("on purpose".into())
    }

    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }
}

/// The nodes of the main thread are in their safe state, although the stop comes when nothing
/// applies commands to them any more.
#[test]
fn an_emergency_stop_after_a_failed_start_finds_all_nodes_safe() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let mut scheduler = recorded.scheduler(&private);
    let motor = Motor::new("main", &calls);
    scheduler.node("main").build(motor).unwrap();
    scheduler.node("broken").order(1).build(Broken).unwrap();
    let running = scheduler.start().unwrap();
    until("it is safe", || calls.of("main") == ["safe"]);
    engage(&private);
    until("it is applied", || {
        recorded.count("", NodeEvent::EMERGENCY_STOP) > 0
    });
    thread::sleep(Duration::from_millis(300));
    running.finish().unwrap_err();
    assert_eq!(
        recorded.count("", NodeEvent::FAILED),
        0,
        "{:?}",
        recorded.all()
    );
    assert_eq!(calls.of("main"), ["safe", "shutdown"]);
}

/// The function of the swap panics, so that the node is dropped. Nothing has made it safe.
#[test]
fn a_node_that_was_lost_in_a_swap_does_not_count_as_safe() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let mut scheduler = recorded.scheduler(&private);
    let motor = Motor::new("motor", &calls);
    let node = scheduler.node("motor").rate(100.hz());
    let node = node.failure_policy(FailurePolicy::Ignore);
    node.build(motor).unwrap();
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    let change = |_: Motor| -> Motor { panic!("on purpose") };
    let swap = handle.swap_with("motor", change, |motor: Motor| motor);
    let _ = swap.unwrap().wait(LONG);
    engage(&private);
    let text = text_of_unsafe(&recorded);
    assert_eq!(text, "1 of 1 nodes are not in their safe state: motor");
    assert_ne!(handle.metrics("motor").unwrap().health, Health::Safe);
    running.finish().unwrap();
    assert_eq!(recorded.count("motor", NodeEvent::SAFE_STATE_ENTERED), 0);
    assert_eq!(calls.of("motor"), [""; 0]);
}

/// A node whose `init` fails.
struct FailedInit;

impl Node for FailedInit {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        Err("on purpose".into())
    }

    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }
}

/// Engages a stop while a node waits for its restart and a later one is in its `init`. Returns the
/// text about the nodes that are not safe.
fn text_while_a_node_waits_for_its_restart() -> String {
    let (private, recorded) = (Private::new(), Recorded::default());
    let mut scheduler = recorded.scheduler(&private);
    let restart = FailurePolicy::Restart {
        max: 5,
        backoff: LONG,
    };
    let node = scheduler.node("waits").rate(100.hz());
    node.failure_policy(restart).build(FailedInit).unwrap();
    let (begin, begun) = channel();
    let (end, is_over) = channel();
    let slow = SlowInit(begin, is_over);
    scheduler.node("slow").order(1).build(slow).unwrap();
    let starting = thread::spawn(|| scheduler.start().unwrap());
    begun.recv_timeout(LONG).unwrap();
    engage(&private);
    let text = text_of_unsafe(&recorded);
    drop(end);
    let mut running = starting.join().unwrap();
    running.run_for(Duration::from_millis(1)).unwrap();
    running.finish().unwrap();
    text
}

#[test]
fn a_node_that_waits_for_its_restart_is_not_reported_in_an_emergency_stop() {
    // WHY again: on a busy machine the stop may reach the waiting node too late.
    until("only the node in its `init` is reported", || {
        let text = text_while_a_node_waits_for_its_restart();
        text == "1 of 2 nodes are not in their safe state: slow"
    });
}
