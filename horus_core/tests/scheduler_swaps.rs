//! Swaps whose values call the scheduler or panic when they are dropped.

use horus_testing as _;

mod executors;
mod private;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use executors::{LONG, ticks, until};
use horus_core::prelude::*;
use horus_core::scheduler::{
    CommandError, FailurePolicy, Handle, Health, Hertz, NodeResult, Running, SwapState,
};
use private::Private;

/// A node that calls a function when it is dropped.
struct OnDrop<F: FnMut() + Send + 'static>(F);

impl<F: FnMut() + Send + 'static> Node for OnDrop<F> {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }
}

impl<F: FnMut() + Send + 'static> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A value whose drop panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

/// A node that stops the run in its `init`.
struct StopsInInit;

impl Node for StopsInInit {
    fn init(&mut self, context: &mut Context<'_>) -> NodeResult {
        context.stop();
        Ok(())
    }

    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Err("it must not tick".into())
    }
}

#[test]
fn a_replacement_can_stop_the_run_in_its_init() {
    let (mut scheduler, _private) = Private::alone();
    let idle = |_: &mut Context<'_>| ();
    scheduler.node("n").rate(100.hz()).build(idle).unwrap();
    let running = scheduler.start().unwrap();
    let _swap = running.handle().swap("n", StopsInInit).unwrap();
    until("the run stops", || running.is_stopping());
    let report = running.finish().unwrap();
    assert_eq!(report.node("n").unwrap().metrics.failures, 0, "{report}");
}

/// Starts a scheduler with a node `n` that blocks in its tick. Returns the run and the end whose
/// drop lets the node go on.
fn blocked() -> (Running, mpsc::Sender<()>, Private) {
    let (mut scheduler, private) = Private::alone();
    scheduler.on_event(|_| {});
    let (release, released) = mpsc::channel::<()>();
    let (begins, begun) = mpsc::channel();
    let tick = move |_: &mut Context<'_>| {
        let _ = begins.send(());
        let _ = released.recv();
    };
    // WHY a compute node: it may block for any time.
    let node = scheduler.node("n").compute().rate(500.hz());
    node.build(tick).unwrap();
    let running = scheduler.start().unwrap();
    begun.recv_timeout(LONG).unwrap();
    (running, release, private)
}

fn panics(handle: &Handle) -> u64 {
    handle.metrics("n").unwrap().panics
}

/// A swap replaces one that the node has not taken yet. The drop of that one may use a handle.
#[test]
fn a_swap_that_was_not_taken_is_dropped_without_a_lock() {
    let (running, release, _private) = blocked();
    let handle = running.handle();
    let (noted, notes) = mpsc::channel();
    let inner = handle.clone();
    let first = OnDrop(move || noted.send(inner.nodes()).unwrap());
    let first = handle.swap("n", first).unwrap();
    // WHY on another thread: without the fix, it waits for itself for ever.
    let second = {
        let handle = handle.clone();
        thread::spawn(move || handle.swap("n", |_: &mut Context<'_>| {}))
    };
    assert_eq!(notes.recv_timeout(LONG).unwrap(), ["n"]);
    assert_eq!(first.state(), SwapState::Abandoned);
    drop(release);
    let second = second.join().unwrap().unwrap();
    assert_eq!(second.wait(LONG), SwapState::Done);
    running.finish().unwrap();
}

/// A node that is stopped drops the swap that it was to take; a panic of this drop is recorded.
#[test]
fn a_swap_for_a_node_that_stops_may_panic_in_its_drop() {
    let (running, release, _private) = blocked();
    let handle = running.handle();
    let swap = handle.swap("n", OnDrop(|| panic!("on purpose"))).unwrap();
    handle.stop_node("n").unwrap();
    drop(release);
    until("it is stopped", || {
        handle.metrics("n").unwrap().health == Health::Stopped
    });
    let report = running.finish().unwrap();
    assert_eq!(swap.state(), SwapState::Abandoned);
    let node = report.node("n").unwrap();
    assert_eq!(node.metrics.panics, 1);
    let error = node.last_error.as_deref().unwrap_or_default();
    assert!(error.contains("in its drop: on purpose"), "{error}");
}

/// The same for a swap that comes after the node was shut down.
#[test]
fn a_swap_for_a_node_that_was_stopped_may_panic_in_its_drop() {
    let (mut scheduler, _private) = Private::alone();
    scheduler.on_event(|_| {});
    scheduler.node("n").build(|_: &mut Context<'_>| {}).unwrap();
    let mut running = scheduler.start().unwrap();
    let handle = running.handle();
    assert!(running.tick_once().unwrap());
    handle.stop_node("n").unwrap();
    assert!(running.tick_once().unwrap());
    let swap = handle.swap("n", OnDrop(|| panic!("on purpose"))).unwrap();
    assert!(running.tick_once().unwrap());
    assert_eq!(swap.state(), SwapState::Abandoned);
    assert_eq!(panics(&handle), 1);
    running.finish().unwrap();
}

/// The function that would turn the new node back into the old one is dropped when the swap is
/// final, or when the node is stopped during the trial.
#[test]
fn the_way_back_of_a_swap_may_panic_in_its_drop() {
    struct Plain;
    impl Node for Plain {
        fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
            Ok(())
        }
    }
    for is_stopped in [false, true] {
        let (mut scheduler, _private) = Private::alone();
        scheduler.on_event(|_| {});
        scheduler.node("n").build(Plain).unwrap();
        let mut running = scheduler.start().unwrap();
        let handle = running.handle();
        let bomb = Bomb;
        let undo = move |new: Plain| {
            let _kept = &bomb;
            new
        };
        let swap = handle.swap_with("n", |old: Plain| old, undo).unwrap();
        assert!(running.tick_once().unwrap());
        assert_eq!(swap.state(), SwapState::OnTrial);
        if is_stopped {
            handle.stop_node("n").unwrap();
        }
        for _ in 0..10 {
            assert!(running.tick_once().unwrap());
        }
        if is_stopped {
            assert_eq!(handle.metrics("n").unwrap().health, Health::Stopped);
        } else {
            assert_eq!(swap.state(), SwapState::Done);
            assert_eq!(ticks(&handle, "n"), 11);
        }
        let report = running.finish().unwrap();
        assert_eq!(report.node("n").unwrap().metrics.panics, 1);
    }
}

/// The subscribers that wake a node are its own, so that a replacement with others is refused. A
/// new node that takes them over is woken by them.
#[test]
fn a_node_that_topics_wake_is_replaced_only_with_its_subscribers() {
    struct Drains(Subscriber<CmdVel>);
    impl Node for Drains {
        fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
            while self.0.recv().is_some() {}
            Ok(())
        }
    }
    let (mut scheduler, private) = Private::alone();
    let _group = scheduler.actors("fleet").threads(1).build().unwrap();
    let mut publisher = private.publisher::<CmdVel>("commands", Qos::reliable());
    let drains = || Drains(private.subscriber::<CmdVel>("commands", Qos::reliable()));
    let (alone, shared) = (drains(), drains());
    let node = scheduler.node("alone").on(&alone.0);
    node.build(alone).unwrap();
    let node = scheduler.node("shared").on(&shared.0);
    node.on_group_threads("fleet").build(shared).unwrap();
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    for name in ["alone", "shared"] {
        let refused = handle.swap(name, drains()).unwrap_err();
        let node = name.to_owned();
        assert_eq!(refused, CommandError::WokenByTopics { node });
        assert!(refused.to_string().contains("use `swap_with`"), "{refused}");
        let swap = handle.swap_with(name, |old: Drains| old, |new: Drains| new);
        let swap = swap.unwrap();
        assert_eq!(swap.wait_while_pending(LONG), SwapState::OnTrial);
        let before = ticks(&handle, name);
        for count in 1..=20 {
            publisher.send(CmdVel::default()).unwrap();
            until("it ticks", || ticks(&handle, name) >= before + count);
        }
        assert_eq!(swap.wait(LONG), SwapState::Done);
    }
    running.finish().unwrap();
}

/// A swap that nobody takes is abandoned: one for a node that was stopped, or that a run has left.
#[test]
fn a_swap_that_is_not_taken_before_the_end_of_its_node_is_abandoned() {
    let (mut scheduler, _private) = Private::alone();
    let idle = |_: &mut Context<'_>| {};
    scheduler
        .node("stopped")
        .rate(100.hz())
        .build(idle)
        .unwrap();
    scheduler.node("main").build(idle).unwrap();
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    handle.stop_node("stopped").unwrap();
    until("it is stopped", || {
        handle.metrics("stopped").unwrap().health == Health::Stopped
    });
    let late = handle.swap("stopped", idle).unwrap();
    assert_eq!(late.wait(LONG), SwapState::Abandoned);
    let untaken = handle.swap("main", idle).unwrap();
    assert_eq!(untaken.state(), SwapState::Pending);
    running.finish().unwrap();
    assert_eq!(untaken.state(), SwapState::Abandoned);
    assert_eq!(
        handle.swap("main", idle).unwrap().state(),
        SwapState::Abandoned
    );
}

/// The same for a scheduler that is dropped before it has started.
#[test]
fn a_swap_for_a_scheduler_that_never_runs_is_abandoned() {
    let (mut scheduler, _private) = Private::alone();
    let idle = |_: &mut Context<'_>| {};
    scheduler.node("n").build(idle).unwrap();
    let handle = scheduler.handle();
    let swap = handle.swap("n", idle).unwrap();
    assert_eq!(swap.state(), SwapState::Pending);
    drop(scheduler);
    assert_eq!(swap.state(), SwapState::Abandoned);
    let late = handle.swap("n", idle).unwrap();
    assert_eq!(late.state(), SwapState::Abandoned);
}

/// The same for a node whose tick outlives its run.
#[test]
fn a_swap_for_a_node_that_hangs_is_abandoned_at_the_end() {
    let (running, release, _private) = blocked();
    let handle = running.handle();
    let swap = handle.swap("n", |_: &mut Context<'_>| {}).unwrap();
    running.finish().unwrap_err();
    assert_eq!(swap.state(), SwapState::Abandoned);
    drop(release);
}

/// A replacement whose `init` fails does not end the isolation of the old node.
#[test]
fn a_swap_that_is_rolled_back_ends_no_isolation() {
    struct Refuses;
    impl Node for Refuses {
        fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
            Err("on purpose".into())
        }

        fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
            Ok(())
        }
    }
    let (mut scheduler, _private) = Private::alone();
    scheduler.on_event(|_| {});
    let is_failing = Arc::new(AtomicBool::new(true));
    let fails = Arc::clone(&is_failing);
    let tick = move |_: &mut Context<'_>| -> NodeResult {
        match fails.load(Ordering::Relaxed) {
            true => Err("on purpose".into()),
            false => Ok(()),
        }
    };
    let policy = FailurePolicy::Skip {
        max: 0,
        cooldown: Duration::from_secs(3600),
    };
    let node = scheduler.node("n").failure_policy(policy);
    node.build(tick).unwrap();
    let mut running = scheduler.start().unwrap();
    let handle = running.handle();
    until("it rests", || {
        assert!(running.tick_once().unwrap());
        handle.metrics("n").unwrap().failures > 0
    });
    is_failing.store(false, Ordering::Relaxed);
    assert!(running.tick_once().unwrap());
    let before = ticks(&handle, "n");
    let swap = handle.swap("n", Refuses).unwrap();
    for _ in 0..3 {
        assert!(running.tick_once().unwrap());
    }
    assert!(matches!(swap.state(), SwapState::RolledBack(_)));
    assert_eq!(ticks(&handle, "n"), before, "it rests on");
    running.finish().unwrap();
}
