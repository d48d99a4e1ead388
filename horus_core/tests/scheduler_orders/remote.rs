//! Commands and events while the supervisor is busy: those that are overwritten meanwhile are
//! reported, and a scheduler that has just started is not taken for the one before it.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use horus_core::message::NodeEvent;
use horus_core::prelude::*;
use horus_core::scheduler::{Health, Hertz, RemoteScheduler, schedulers};

use super::executors::{LONG, until};
use super::private::Private;

/// All events that the supervisor has passed on.
type Events = Arc<Mutex<Vec<NodeEvent>>>;

/// Keeps the supervisor busy in its first event.
struct Busy {
    begun: Receiver<()>,
    end: Sender<()>,
    events: Events,
}

impl Busy {
    fn new(scheduler: &mut Scheduler) -> Self {
        let (begin, begun) = channel();
        let (end, is_over) = channel();
        let events = Events::default();
        let all = Arc::clone(&events);
        scheduler.on_event(move |event| {
            all.lock().unwrap().push(*event);
            if begin.send(()).is_ok() {
                let _ = is_over.recv_timeout(LONG * 10);
            }
        });
        Self { begun, end, events }
    }

    /// Lets the supervisor go on. It is not kept busy again.
    fn end(self) -> Events {
        drop(self.begun);
        self.end.send(()).unwrap();
        self.events
    }
}

/// Waits for an event without a node whose text contains `text`, and returns its text.
fn text_with(events: &Events, text: &str) -> String {
    let find = || {
        let events = events.lock().unwrap();
        let mut found = events.iter().filter(|event| event.node.is_empty());
        found.find_map(|event| {
            let whole = event.text.as_str();
            whole.contains(text).then(|| whole.to_owned())
        })
    };
    until(text, || find().is_some());
    find().unwrap()
}

/// More commands come at once than the topic has slots.
#[test]
fn commands_that_were_overwritten_are_reported() {
    const NODES: usize = 100;
    let private = Private::new();
    let mut scheduler = private.scheduler();
    scheduler.name("robot");
    let busy = Busy::new(&mut scheduler);
    let name = |index| format!("n{index}");
    for index in 0..NODES {
        let idle = |_: &mut Context<'_>| {};
        scheduler.node(&name(index)).build(idle).unwrap();
    }
    let mut running = scheduler.start().unwrap();
    busy.begun.recv_timeout(LONG).unwrap();
    let mut remote = RemoteScheduler::open(private.namespace(), "robot").unwrap();
    (0..NODES).for_each(|index| remote.pause(&name(index)).unwrap());
    let events = busy.end();
    let text = text_with(&events, "commands");
    running.run_for(Duration::from_millis(50)).unwrap();
    let handle = running.handle();
    let is_paused = |index: &usize| {
        let metrics = handle.metrics(&name(*index)).unwrap();
        metrics.health == Health::Paused
    };
    let lost = NODES - (0..NODES).filter(is_paused).count();
    running.finish().unwrap();
    assert!(lost > 0, "nothing was overwritten");
    assert_eq!(
        text,
        format!("{lost} commands were overwritten before they were read: send them again")
    );
}

/// A node has more events than its lane of the black box has slots. One of them is a new rate.
#[test]
fn events_that_were_overwritten_are_reported_and_the_status_is_right() {
    let private = Private::new();
    let mut scheduler = private.scheduler();
    scheduler.name("robot");
    let busy = Busy::new(&mut scheduler);
    let idle = |_: &mut Context<'_>| {};
    scheduler.node("n").rate(1.khz()).build(idle).unwrap();
    let running = scheduler.start().unwrap();
    busy.begun.recv_timeout(LONG).unwrap();
    let handle = running.handle();
    handle.set_rate("n", 500.hz()).unwrap();
    let health = || handle.metrics("n").unwrap().health;
    for _ in 0..200 {
        handle.pause("n").unwrap();
        until("it is paused", || health() == Health::Paused);
        handle.resume("n").unwrap();
        until("it is resumed", || health() == Health::Active);
    }
    let events = busy.end();
    let text = text_with(&events, "events");
    let remote = RemoteScheduler::open(private.namespace(), "robot").unwrap();
    let period_ns = || remote.info().unwrap().nodes[0].period_ns;
    until("its period is in the status", || period_ns() == 2_000_000);
    running.finish().unwrap();
    let events = events.lock().unwrap();
    let of_node = events.iter().filter(|event| event.node == *"n").count();
    let lost: usize = text.split_once(' ').unwrap().0.parse().unwrap();
    // Ticks of a busy machine may have been late, too.
    assert!(lost > 0 && of_node + lost >= 401, "{of_node}: {text}");
}

/// The supervisor has not finished its first round.
#[test]
fn a_scheduler_that_has_just_started_accepts_commands() {
    let private = Private::new();
    let idle = |_: &mut Context<'_>| {};
    let mut scheduler = private.scheduler();
    scheduler.name("robot");
    scheduler.node("n").rate(100.hz()).build(idle).unwrap();
    scheduler.run_for(Duration::from_millis(20)).unwrap();
    let mut scheduler = private.scheduler();
    scheduler.name("robot");
    let busy = Busy::new(&mut scheduler);
    scheduler.node("n").rate(100.hz()).build(idle).unwrap();
    scheduler.node("new").rate(100.hz()).build(idle).unwrap();
    let running = scheduler.start().unwrap();
    busy.begun.recv_timeout(LONG).unwrap();
    let info = schedulers(private.namespace()).unwrap().remove(0);
    assert_eq!((info.nodes.len(), info.is_alive), (2, true));
    let mut remote = RemoteScheduler::open(private.namespace(), "robot").unwrap();
    for node in ["n", "new"] {
        remote.pause(node).unwrap();
    }
    busy.end();
    let handle = running.handle();
    for node in ["n", "new"] {
        until("it is paused", || {
            handle.metrics(node).unwrap().health == Health::Paused
        });
    }
    running.finish().unwrap();
}
