//! Nodes that do not enter their safe state in an emergency stop.

use horus_core::message::{EmergencyStop, NodeEvent};
use horus_core::scheduler::{Context, Health, Hertz, Scheduler, emergency_stop_publisher};

use super::executors::{Recorded, until};
use super::private::Private;

/// Starts the nodes that `add` adds, and one that is stopped. Engages the emergency stop once
/// `is_ready` returns true. Returns the text of the event that reports the nodes.
fn reported(add: impl FnOnce(&mut Scheduler), is_ready: impl Fn() -> bool) -> String {
    let (private, recorded) = (Private::new(), Recorded::default());
    let mut scheduler = recorded.scheduler(&private);
    add(&mut scheduler);
    let idle = |_: &mut Context<'_>| ();
    scheduler.node("idle").rate(100.hz()).build(idle).unwrap();
    let mut publisher = emergency_stop_publisher(private.namespace()).unwrap();
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    handle.stop_node("idle").unwrap();
    until("it is stopped", || {
        handle.metrics("idle").unwrap().health == Health::Stopped
    });
    until("the others are ready", is_ready);
    publisher
        .send(EmergencyStop::engage("test", "on purpose"))
        .unwrap();
    until("it is reported", || {
        recorded.count("", NodeEvent::FAILED) > 0
    });
    let event = recorded.of("", NodeEvent::FAILED)[0];
    assert!(event.value_ns >= 100_000_000, "{event}");
    running.finish().unwrap();
    assert_eq!(recorded.count("", NodeEvent::FAILED), 1, "only once");
    event.text.as_str().to_owned()
}

/// The thread that has to run the node is elsewhere.
#[test]
fn a_main_thread_node_that_does_not_run_is_reported_in_an_emergency_stop() {
    let idle = |_: &mut Context<'_>| ();
    let add = |scheduler: &mut Scheduler| scheduler.node("main").build(idle).unwrap();
    assert_eq!(
        reported(add, || true),
        "1 of 2 nodes are not in their safe state: main"
    );
}

/// An async node enters its safe state after its tick, which waits.
#[cfg(feature = "async-io")]
#[test]
fn an_async_node_that_waits_in_its_tick_is_reported_in_an_emergency_stop() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    let is_waiting = Arc::new(AtomicBool::new(false));
    let waits = Arc::clone(&is_waiting);
    let tick = async move |_: &mut Context<'_>| {
        waits.store(true, Ordering::Relaxed);
        std::future::pending::<()>().await;
    };
    let add = |scheduler: &mut Scheduler| scheduler.node("waits").build_async(tick).unwrap();
    assert_eq!(
        reported(add, || is_waiting.load(Ordering::Relaxed)),
        "1 of 2 nodes are not in their safe state: waits"
    );
}
