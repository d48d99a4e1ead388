//! Nodes that share a few threads: each at its rate, never twice at once, and without delay for
//! other nodes.

use horus_testing as _;

mod executors;
#[path = "scheduler_compute/hanging.rs"]
mod hanging;
mod motor;
mod private;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::message::EmergencyStop;
use horus_core::scheduler::{
    Context, FailurePolicy, Hertz, Node, NodeClass, NodeResult, Rate, RunError, StopReason,
    SwapState, emergency_stop_publisher,
};
use private::Private;

/// The timeout of a wait that would otherwise hang; a machine may be slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `is_so`; returns false after a timeout.
fn eventually(is_so: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > PATIENCE {
            return false;
        }
        thread::sleep(Duration::from_micros(200));
    }
    true
}

/// Makes a node that counts its ticks.
fn counting(ticks: &Arc<AtomicU64>) -> impl FnMut(&mut Context<'_>) + Send + 'static {
    let ticks = Arc::clone(ticks);
    move |_| _ = ticks.fetch_add(1, Ordering::Relaxed)
}

/// One tick of the slow node lasts until the other nodes have ticked five times. If it delayed
/// them, it would never end.
#[test]
fn a_slow_node_delays_neither_the_main_thread_nor_a_real_time_node() {
    let (mut scheduler, _private) = Private::alone();
    let main = Arc::default();
    let real_time = Arc::default();
    scheduler.node("main").build(counting(&main)).unwrap();
    scheduler
        .node("real-time")
        .rate(200.hz())
        .build(counting(&real_time))
        .unwrap();
    let slow = move |context: &mut Context<'_>| -> NodeResult {
        for ticks in [&main, &real_time] {
            let before = ticks.load(Ordering::Relaxed);
            if !eventually(|| ticks.load(Ordering::Relaxed) >= before + 5) {
                return Err("the other nodes do not tick".into());
            }
        }
        context.stop();
        Ok(())
    };
    scheduler.node("slow").compute().build(slow).unwrap();
    let report = scheduler.run().unwrap();
    assert_eq!(report.reason, StopReason::Requested, "{report:?}");
    assert_eq!(report.node("slow").unwrap().class, NodeClass::Compute);
    assert_eq!(report.node("slow").unwrap().metrics.ticks, 1);
}

/// Each of two nodes waits in its fourth tick for the other to be in its fourth tick, too. So the
/// thread that has been asleep since the third one has to be notified.
#[test]
fn as_many_nodes_run_at_once_as_there_are_threads() {
    let (mut scheduler, _private) = Private::alone();
    scheduler.compute_threads(2);
    let inside: [Arc<AtomicU64>; 2] = Default::default();
    for (index, name) in ["one", "other"].into_iter().enumerate() {
        let mine = Arc::clone(&inside[index]);
        let theirs = Arc::clone(&inside[1 - index]);
        let node = move |context: &mut Context<'_>| -> NodeResult {
            if context.tick() < 3 {
                return Ok(());
            }
            mine.store(1, Ordering::Relaxed);
            context.stop();
            match eventually(|| theirs.load(Ordering::Relaxed) == 1) {
                true => Ok(()),
                false => Err("alone".into()),
            }
        };
        scheduler.node(name).compute().build(node).unwrap();
    }
    let report = scheduler.run().unwrap();
    assert_eq!(report.reason, StopReason::Requested, "{report:?}");
}

/// The first and the last due time of a node.
type FirstAndLast = Arc<Mutex<Option<(u64, u64)>>>;

#[test]
fn many_nodes_on_two_threads_have_their_turns_or_skip_them() {
    const NODES: usize = 24;
    let (mut scheduler, _private) = Private::alone();
    scheduler.compute_threads(2);
    let threads = Arc::new(Mutex::new(HashSet::new()));
    let twice = Arc::new(AtomicU64::new(0));
    let times: Vec<FirstAndLast> = (0..NODES).map(|_| Arc::default()).collect();
    let ticks_of: Arc<[AtomicU64; NODES]> = Arc::new([const { AtomicU64::new(0) }; NODES]);
    for (index, times) in times.iter().enumerate() {
        let ticks = Arc::clone(&ticks_of);
        let times = Arc::clone(times);
        let twice = Arc::clone(&twice);
        let threads = Arc::clone(&threads);
        let busy = AtomicBool::new(false);
        let node = move |context: &mut Context<'_>| {
            if busy.swap(true, Ordering::Relaxed) {
                twice.fetch_add(1, Ordering::Relaxed);
            }
            threads.lock().unwrap().insert(thread::current().id());
            let due = context.scheduled_ns();
            assert!(context.started_ns() >= due, "before it was due");
            let mut times = times.lock().unwrap();
            let (first, last) = times.unwrap_or((due, 0));
            assert!(due > last, "due twice");
            *times = Some((first, due));
            // WHY: too long for all of them, so that some ticks have to be skipped.
            thread::sleep(Duration::from_micros(500));
            ticks[index].fetch_add(1, Ordering::Relaxed);
            busy.store(false, Ordering::Relaxed);
        };
        scheduler
            .node(&format!("n{index}"))
            .compute()
            .rate(250.hz())
            // WHY: on a busy machine a tick may last so long that the pool gets another thread.
            .watchdog(PATIENCE)
            .build(node)
            .unwrap();
    }
    let stopper = scheduler.handle();
    let all_ticks = Arc::clone(&ticks_of);
    let all_threads = Arc::clone(&threads);
    let watch = thread::spawn(move || {
        let all = eventually(|| {
            let enough = |ticks: &AtomicU64| ticks.load(Ordering::Relaxed) >= 10;
            all_ticks.iter().all(enough) && all_threads.lock().unwrap().len() >= 2
        });
        stopper.stop();
        all
    });
    let report = scheduler.run().unwrap();
    assert!(watch.join().unwrap(), "a node has no turns: {report:?}");
    assert_eq!(
        twice.load(Ordering::Relaxed),
        0,
        "two turns of one node at once"
    );
    assert_eq!(threads.lock().unwrap().len(), 2);
    let mut skipped_ticks = 0;
    for (index, times) in times.iter().enumerate() {
        let metrics = report.node(&format!("n{index}")).unwrap().metrics;
        let (first, last) = times.lock().unwrap().expect("a node without a turn");
        assert_eq!((last - first) % 4_000_000, 0, "the phase was not kept");
        let due = (last - first) / 4_000_000 + 1;
        let ticks = metrics.ticks;
        let passed = metrics.skipped_ticks;
        // The last tick may have skipped due times after it.
        assert!(
            ticks <= due && ticks + passed >= due,
            "n{index}: {due} due, {metrics:?}"
        );
        skipped_ticks += passed;
    }
    assert!(
        skipped_ticks > 0,
        "24 nodes of 0.5 ms each do not fit into 4 ms of two threads"
    );
}

#[test]
fn a_node_without_a_rate_runs_a_hundred_times_a_second() {
    let (mut scheduler, _private) = Private::alone();
    let due = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&due);
    let node = move |context: &mut Context<'_>| {
        seen.lock().unwrap().push(context.scheduled_ns());
        if context.tick() == 3 {
            context.stop();
        }
    };
    scheduler.node("n").compute().build(node).unwrap();
    assert_eq!(scheduler.run().unwrap().reason, StopReason::Requested);
    let due = due.lock().unwrap();
    assert_eq!(due.len(), 4);
    assert!(
        due.windows(2)
            .all(|pair| (pair[1] - pair[0]) % 10_000_000 == 0),
        "{due:?}"
    );
}

#[test]
fn a_panic_fails_only_its_node() {
    let (mut scheduler, _private) = Private::alone();
    let panics = |context: &mut Context<'_>| {
        assert!(context.tick() % 2 == 0, "on purpose");
    };
    let policy = FailurePolicy::Ignore;
    scheduler
        .node("bad")
        .compute()
        .rate(200.hz())
        .failure_policy(policy)
        .build(panics)
        .unwrap();
    let good = |context: &mut Context<'_>| {
        if context.tick() == 20 {
            context.stop();
        }
    };
    scheduler
        .node("good")
        .compute()
        .rate(100.hz())
        .build(good)
        .unwrap();
    let report = scheduler.run().unwrap();
    assert_eq!(
        (&report.reason, report.node("good").unwrap().metrics.ticks),
        (&StopReason::Requested, 21)
    );
    let bad = report.node("bad").unwrap();
    assert_eq!(
        bad.metrics.panics,
        bad.metrics.ticks / 2,
        "every other tick"
    );
    assert!(bad.metrics.panics > 0);
    assert_eq!(bad.last_error.as_deref(), Some("panicked: on purpose"));
}

#[test]
fn a_fatal_failure_ends_the_run() {
    let (mut scheduler, _private) = Private::alone();
    let bad = |_: &mut Context<'_>| -> NodeResult { Err("on purpose".into()) };
    scheduler.node("bad").compute().build(bad).unwrap();
    scheduler
        .node("good")
        .compute()
        .build(|_: &mut Context<'_>| ())
        .unwrap();
    let report = scheduler.run().or_else(RunError::into_report).unwrap();
    let reason = StopReason::Node {
        name: "bad".to_owned(),
        error: "on purpose".to_owned(),
    };
    assert_eq!(report.reason, reason);
}

/// Logs its shutdown.
struct Noting(&'static str, Arc<Mutex<Vec<&'static str>>>);

impl Node for Noting {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    fn shutdown(&mut self) -> NodeResult {
        self.1.lock().unwrap().push(self.0);
        Ok(())
    }
}

#[test]
fn nodes_are_shut_down_in_reverse_order_on_any_executor() {
    let (mut scheduler, _private) = Private::alone();
    scheduler.compute_threads(2);
    let ended = Arc::default();
    for (name, order) in [("b", 1), ("d", 3), ("a", 0)] {
        let node = Noting(name, Arc::clone(&ended));
        scheduler
            .node(name)
            .compute()
            .order(order)
            .build(node)
            .unwrap();
    }
    let real_time = Noting("c", Arc::clone(&ended));
    scheduler
        .node("c")
        .order(2)
        .rate(100.hz())
        .build(real_time)
        .unwrap();
    let report = scheduler.run_for(Duration::from_millis(50)).unwrap();
    assert_eq!(*ended.lock().unwrap(), ["d", "c", "b", "a"]);
    assert!(
        report
            .nodes
            .iter()
            .map(|node| node.name.as_str())
            .eq(["a", "b", "c", "d"])
    );
}

#[test]
fn a_node_that_hangs_is_left_behind_and_all_other_nodes_are_shut_down() {
    let (mut scheduler, _private) = Private::alone();
    scheduler.compute_threads(2);
    let ended = Arc::default();
    let node = Noting("good", Arc::clone(&ended));
    scheduler.node("good").compute().build(node).unwrap();
    let (release, released) = mpsc::channel::<()>();
    let stopper = scheduler.handle();
    let hangs = move |_: &mut Context<'_>| {
        stopper.stop();
        let _ = released.recv_timeout(PATIENCE);
    };
    scheduler.node("hangs").compute().build(hangs).unwrap();
    let report = scheduler.run().or_else(RunError::into_report).unwrap();
    drop(release);
    assert_eq!(*ended.lock().unwrap(), ["good"]);
    let hangs = report.node("hangs").unwrap();
    assert_eq!((hangs.metrics.ticks, hangs.class), (0, NodeClass::Compute));
    assert!(
        hangs.last_error.as_ref().unwrap().contains("left behind"),
        "{hangs:?}"
    );
    assert!(report.node("good").unwrap().last_error.is_none());
}

/// A node that calls a function in its `init`, and in `enter_safe_state`.
struct Calls<F: FnMut() + Send + 'static>(F);

impl<F: FnMut() + Send + 'static> Node for Calls<F> {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        (self.0)();
        Ok(())
    }

    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        (self.0)();
    }
}

/// The `init` of a node that is swapped in takes one thread of the pool, and no more.
#[test]
fn a_swap_of_one_node_does_not_stop_the_others() {
    let (mut scheduler, _private) = Private::alone();
    scheduler.compute_threads(2);
    let fast = Arc::default();
    // WHY no more: one thread sleeps until the due time, and the other one without a limit.
    let node = scheduler.node("fast").compute().rate(5.hz());
    node.build(counting(&fast)).unwrap();
    let slow = Arc::default();
    let node = scheduler.node("slow").compute().rate(Rate::hz(0.1));
    node.build(counting(&slow)).unwrap();
    let running = scheduler.start().unwrap();
    assert!(eventually(|| slow.load(Ordering::Relaxed) > 0));
    thread::sleep(Duration::from_millis(50));
    let (begins, begun) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let init = move || {
        begins.send(()).unwrap();
        assert!(released.recv().is_err());
    };
    let swap = running.handle().swap("slow", Calls(init)).unwrap();
    begun.recv_timeout(PATIENCE).unwrap();
    let before = fast.load(Ordering::Relaxed);
    let ticks_on = eventually(|| fast.load(Ordering::Relaxed) > before + 2);
    drop(release);
    assert!(ticks_on, "the other thread runs it");
    assert_ne!(swap.state(), SwapState::Pending);
    running.finish().unwrap();
}

/// In an emergency stop, a node whose `enter_safe_state` takes long does not delay that of others.
#[test]
fn a_slow_safe_state_does_not_delay_that_of_others() {
    let (mut scheduler, private) = Private::alone();
    scheduler.compute_threads(2);
    let (begins, begun) = mpsc::channel();
    let releases: Vec<_> = ["a", "b"]
        .into_iter()
        .map(|name| {
            let (release, released) = mpsc::channel::<()>();
            let (begins, mut calls) = (begins.clone(), 0);
            let call = move || {
                calls += 1;
                // The first call is that of `init`.
                if calls == 2 {
                    begins.send(()).unwrap();
                    assert!(released.recv().is_err());
                }
            };
            let node = scheduler.node(name).compute().rate(Rate::hz(0.1));
            node.build(Calls(call)).unwrap();
            release
        })
        .collect();
    let running = scheduler.start().unwrap();
    let ticks = |name| running.handle().metrics(name).unwrap().ticks;
    assert!(eventually(|| ticks("a") > 0 && ticks("b") > 0));
    let mut stop = emergency_stop_publisher(private.namespace()).unwrap();
    stop.send(EmergencyStop::engage("test", "on purpose"))
        .unwrap();
    let both = [(); 2].map(|()| begun.recv_timeout(PATIENCE));
    drop(releases);
    assert_eq!(both, [Ok(()); 2]);
    running.finish().unwrap();
}
