//! Compute nodes beside one that hangs and takes the only thread of their pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use horus_core::message::EmergencyStop;
use horus_core::scheduler::{
    Context, Hertz, Node, NodeResult, Scheduler, StopReason, emergency_stop_publisher,
};

use super::executors::{LONG, until};
use super::motor::{Calls, Motor};
use super::private::Private;

/// Adds a compute node that hangs in its first tick, until the sender is dropped. The receiver gets
/// a message when it hangs.
fn add_hanging(
    scheduler: &mut Scheduler,
    watchdog: Option<Duration>,
) -> (Sender<()>, Receiver<()>) {
    let (release, released) = channel::<()>();
    let (tell, told) = channel();
    let node = scheduler.node("hangs").compute();
    let node = match watchdog {
        Some(time) => node.watchdog(time),
        None => node,
    };
    let tick = move |_: &mut Context<'_>| {
        let _ = tell.send(());
        let _ = released.recv_timeout(LONG * 2);
    };
    node.build(tick).unwrap();
    (release, told)
}

/// Makes a scheduler with a motor and a node that hangs, which share one thread.
fn scheduler_with_motor(private: &Private, calls: &Calls) -> Scheduler {
    let mut scheduler = private.scheduler();
    scheduler.compute_threads(1);
    let node = scheduler.node("motor").compute().rate(100.hz());
    node.build(Motor::new("motor", calls)).unwrap();
    scheduler
}

#[test]
fn nodes_tick_beside_one_that_hangs_and_take_turns_again_when_it_has_returned() {
    let (mut scheduler, _private) = Private::alone();
    scheduler.compute_threads(1);
    let (release, hangs) = add_hanging(&mut scheduler, Some(Duration::from_millis(20)));
    let inside = Arc::new(AtomicU64::new(0));
    let at_once = Arc::new(AtomicU64::new(0));
    for name in ["a", "b"] {
        let (inside, at_once) = (Arc::clone(&inside), Arc::clone(&at_once));
        let tick = move |_: &mut Context<'_>| {
            let before = inside.fetch_add(1, Ordering::Relaxed);
            at_once.fetch_max(before + 1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(2));
            inside.fetch_sub(1, Ordering::Relaxed);
        };
        let node = scheduler.node(name).compute().rate(500.hz());
        node.watchdog(LONG).build(tick).unwrap();
    }
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    let ticks = |name| handle.metrics(name).unwrap().ticks;
    hangs.recv_timeout(LONG).unwrap();
    let before = [ticks("a"), ticks("b")];
    let go_on = |what, before: [u64; 2]| {
        until(what, || {
            ticks("a") > before[0] + 20 && ticks("b") > before[1] + 20
        });
    };
    go_on("they tick while it hangs", before);
    drop(release);
    until("it returns", || ticks("hangs") > 0);
    go_on("they tick when it has returned", [ticks("a"), ticks("b")]);
    assert_eq!(at_once.load(Ordering::Relaxed), 1, "on one thread");
    assert!(!running.is_stopping());
    running.finish().unwrap();
}

/// The node has no watchdog, so that its tick is not known to hang.
#[test]
fn an_emergency_stop_reaches_nodes_beside_one_that_hangs() {
    let (private, calls) = (Private::new(), Calls::default());
    let mut scheduler = scheduler_with_motor(&private, &calls);
    let (release, hangs) = add_hanging(&mut scheduler, None);
    let running = scheduler.start().unwrap();
    hangs.recv_timeout(LONG).unwrap();
    let mut stop = emergency_stop_publisher(private.namespace()).unwrap();
    let engage = EmergencyStop::engage("test", "on purpose");
    stop.send(engage).unwrap();
    until("it is made safe", || calls.of("motor") == ["safe"]);
    // The motor goes on when the stop is over and a thread is free.
    stop.send(EmergencyStop::release("test", "over")).unwrap();
    let ticks = || running.handle().metrics("motor").unwrap().ticks;
    let before = ticks();
    drop(release);
    until("it ticks again", || ticks() > before + 3);
    stop.send(engage).unwrap();
    until("it is made safe again", || calls.of("motor").len() == 2);
    running.finish().unwrap();
}

#[test]
fn a_failed_run_makes_nodes_safe_beside_one_that_hangs() {
    let (private, calls) = (Private::new(), Calls::default());
    let mut scheduler = scheduler_with_motor(&private, &calls);
    let (release, hangs) = add_hanging(&mut scheduler, None);
    let bad = move |_: &mut Context<'_>| -> NodeResult {
        hangs.recv_timeout(LONG)?;
        Err("on purpose".into())
    };
    scheduler.node("bad").rate(100.hz()).build(bad).unwrap();
    let running = scheduler.start().unwrap();
    // The thread that runs the scheduler does something else.
    until("it is made safe", || calls.of("motor") == ["safe"]);
    drop(release);
    let report = running.finish().unwrap_err().into_report().unwrap();
    assert!(matches!(&report.reason, StopReason::Node { name, .. } if name == "bad"));
    assert_eq!(calls.of("motor"), ["safe", "shutdown"]);
}

/// Hangs in `enter_safe_state`, until the sender is dropped.
struct HangsInSafeState(Sender<()>, Receiver<()>);

impl Node for HangsInSafeState {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        let _ = self.0.send(());
        let _ = self.1.recv_timeout(LONG * 2);
    }
}

#[test]
fn an_emergency_stop_reaches_nodes_beside_one_that_hangs_in_its_safe_state() {
    let (private, calls) = (Private::new(), Calls::default());
    let mut scheduler = private.scheduler();
    scheduler.compute_threads(1);
    let mut releases = Vec::new();
    let (tell, told) = channel();
    for name in ["a", "b"] {
        let (release, released) = channel();
        releases.push(release);
        let node = scheduler.node(name).compute().rate(100.hz());
        node.build(HangsInSafeState(tell.clone(), released))
            .unwrap();
    }
    let node = scheduler.node("motor").compute().rate(100.hz());
    node.build(Motor::new("motor", &calls)).unwrap();
    let running = scheduler.start().unwrap();
    let ticks = |name| running.handle().metrics(name).unwrap().ticks;
    until("all tick", || {
        ["a", "b", "motor"].iter().all(|name| ticks(name) > 0)
    });
    let mut stop = emergency_stop_publisher(private.namespace()).unwrap();
    stop.send(EmergencyStop::engage("test", "on purpose"))
        .unwrap();
    for _ in 0..2 {
        told.recv_timeout(LONG).unwrap();
    }
    until("it is made safe", || calls.of("motor") == ["safe"]);
    drop(releases);
    running.finish().unwrap();
}
