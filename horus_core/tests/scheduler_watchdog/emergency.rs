//! Nodes that do not enter their safe state in an emergency stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use horus_core::message::{CmdVel, EmergencyStop, NodeEvent};
use horus_core::prelude::Qos;
use horus_core::scheduler::{
    Context, Health, Hertz, Node, NodeResult, Scheduler, emergency_stop_publisher,
};

use super::executors::{EXECUTORS, Executor, Recorded, until};
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

/// A node whose safe state is reached when `is_reached` says so, and whose `enter_safe_state` may
/// panic.
struct Slow {
    is_reached: Arc<AtomicBool>,
    panics: bool,
}

impl Node for Slow {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        assert!(!self.panics, "on purpose");
    }

    fn is_safe_state(&self) -> bool {
        self.is_reached.load(Ordering::Relaxed)
    }
}

/// Three nodes that do not enter their safe state at once: one reaches it later, one never does,
/// and one panics.
fn reach_their_safe_states_late(executor: Option<Executor>) {
    let what = format!("{executor:?}");
    let (private, recorded) = (Private::new(), Recorded::default());
    let mut scheduler = recorded.scheduler(&private);
    let is_reached = [false, false, true].map(|is_reached| Arc::new(AtomicBool::new(is_reached)));
    let [late, never, panics] = ["late", "never", "panics"];
    if executor.is_none() {
        scheduler.actors("fleet").threads(1).build().unwrap();
    }
    for (name, is_reached) in [late, never, panics].into_iter().zip(&is_reached) {
        let commands = private.subscriber::<CmdVel>("cmd_vel", Qos::new());
        let node = scheduler.node(name);
        let node = match executor {
            // WHY so slowly: the node is asked more often than it ticks.
            Some(executor) if executor != Executor::Chain => executor.runs(node, 1, &commands),
            Some(executor) => executor.runs(node, 100, &commands),
            None => node.on(&commands).on_group_threads("fleet"),
        };
        let is_reached = Arc::clone(is_reached);
        let panics = name == panics;
        node.build(Slow { is_reached, panics }).unwrap();
    }
    let mut publisher = emergency_stop_publisher(private.namespace()).unwrap();
    let mut running = scheduler.start().unwrap();
    let handle = running.handle();
    let health = |node| handle.metrics(node).unwrap().health;
    // Nodes of the main thread run here.
    let mut run_until = |what: &str, is_so: &dyn Fn() -> bool| {
        until(what, || {
            running.run_for(Duration::from_millis(30)).unwrap();
            is_so()
        });
    };
    publisher
        .send(EmergencyStop::engage("test", "on purpose"))
        .unwrap();
    run_until(&what, &|| recorded.count("", NodeEvent::FAILED) > 0);
    let event = recorded.of("", NodeEvent::FAILED)[0];
    assert_eq!(
        event.text.as_str(),
        "3 of 3 nodes are not in their safe state: late, never, panics",
        "{what}"
    );
    for node in [late, never, panics] {
        assert_ne!(health(node), Health::Safe, "{what}: {node}");
        assert_eq!(recorded.count(node, NodeEvent::SAFE_STATE_ENTERED), 0);
    }
    is_reached[0].store(true, Ordering::Relaxed);
    run_until(&what, &|| {
        recorded.count(late, NodeEvent::SAFE_STATE_ENTERED) > 0 && health(late) == Health::Safe
    });
    running.finish().unwrap();
    for (node, kinds) in [(late, [1, 0, 0]), (never, [0, 0, 1]), (panics, [0, 1, 0])] {
        use NodeEvent as Event;
        let found = [Event::SAFE_STATE_ENTERED, Event::PANICKED, Event::FAILED];
        let found = found.map(|kind| recorded.count(node, kind));
        assert_eq!(found, kinds, "{what}: {node}");
    }
}

#[test]
fn a_node_counts_as_safe_only_when_it_says_so() {
    for executor in EXECUTORS {
        reach_their_safe_states_late(Some(*executor));
    }
    // On the threads of a group of actors.
    reach_their_safe_states_late(None);
}
