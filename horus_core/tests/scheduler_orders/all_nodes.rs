//! Commands of other processes to all nodes of a scheduler at once.

use std::time::Duration;

use horus_core::message::NodeEvent;
use horus_core::scheduler::{Context, Hertz, NodeBuilder, RemoteScheduler};

use super::executors::{Recorded, until};
use super::private::Private;

/// Sends a new rate for all nodes of a scheduler with the nodes that `add` adds, and with a node at
/// another rate. Returns the text with which it is refused, if it is refused.
fn refusal_of_rate(add: impl Fn(NodeBuilder<'_>) -> NodeBuilder<'_>) -> Option<String> {
    let (private, recorded) = (Private::new(), Recorded::default());
    let mut scheduler = recorded.scheduler(&private);
    let idle = |_: &mut Context<'_>| ();
    for name in ["left", "right"] {
        add(scheduler.node(name)).build(idle).unwrap();
    }
    scheduler.node("timed").rate(100.hz()).build(idle).unwrap();
    let running = scheduler.start().unwrap();
    let mut remote = RemoteScheduler::open(private.namespace(), running.name()).unwrap();
    remote.set_rate("", 500.hz()).unwrap();
    until("the rate is changed", || {
        recorded.count("timed", NodeEvent::RATE_CHANGED) == 1
    });
    running.finish().unwrap();
    remote.last_command_refusal().unwrap()
}

/// There is nothing to do for a node without a rate.
#[test]
fn a_rate_for_all_nodes_is_not_refused_because_of_nodes_without_a_rate() {
    assert_eq!(refusal_of_rate(|node| node), None);
}

#[test]
fn a_command_to_all_nodes_names_each_node_that_refuses_it() {
    let deadline = Duration::from_millis(5);
    let refusal = refusal_of_rate(|node| node.rate(100.hz()).deadline(deadline));
    let refusal = refusal.unwrap();
    assert!(
        ["left", "right"].iter().all(|node| refusal.contains(node)) && !refusal.contains("timed"),
        "{refusal}"
    );
}
