//! Safe states on other threads that take long.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::message::{EmergencyStop, NodeEvent};
use horus_core::scheduler::{Context, Handle, Hertz, black_box, emergency_stop_publisher};

use super::executors::{LONG, Recorded, ticks, until};
use super::left_out;
use super::private::Private;

/// Number of nodes that hang at the same time.
const NODES: usize = 30;
/// The longest time from the first call of a safe state to the last one, once all nodes hang. If
/// the supervisor waited 20 ms for each safe state that has begun, after each new one, it would
/// take 9 s.
const CALLS_TIME_MAX: Duration = Duration::from_secs(3);

/// All nodes may wait for the same lock or bus.
#[test]
fn the_supervisor_does_not_wait_again_for_each_slow_safe_state() {
    let (private, recorded) = (Private::new(), Recorded::default());
    let mut scheduler = recorded.scheduler(&private);
    scheduler.compute_threads(NODES);
    let is_free = Arc::new(AtomicBool::new(false));
    let calls = Arc::new(Mutex::new(Vec::new()));
    let begins = Arc::new(Mutex::new(Vec::new()));
    for number in 0..NODES {
        let node = scheduler.node(&format!("node {number}")).compute();
        let node = node.rate(10.hz()).watchdog(Duration::from_millis(100));
        let noted = Arc::clone(&calls);
        let begin = move || {
            let (sender, receiver) = mpsc::channel();
            noted.lock().unwrap().push((Instant::now(), sender));
            receiver
        };
        let is_free = Arc::clone(&is_free);
        let begins = Arc::clone(&begins);
        let tick = move |_: &mut Context<'_>| {
            begins.lock().unwrap().push(Instant::now());
            while !is_free.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
        };
        node.safe_state_on_other_thread(begin).build(tick).unwrap();
    }
    let running = scheduler.start().unwrap();
    until("all are called", || calls.lock().unwrap().len() == NODES);
    let last_begin = begins.lock().unwrap().iter().copied().max().unwrap();
    is_free.store(true, Ordering::Relaxed);
    let times = calls.lock().unwrap();
    let times = times.iter().map(|(time, _)| *time);
    let (first, last) = (times.clone().min().unwrap(), times.max().unwrap());
    // WHY the last begin: a busy machine may start the threads late.
    let took = last.saturating_duration_since(first.max(last_begin));
    assert!(took < CALLS_TIME_MAX, "{took:?}");
    running.finish().unwrap();
}

/// Stops the run when it is dropped.
struct StopWhenDropped(Handle);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Only the last of several safe states of a node is waited for.
#[test]
fn a_safe_state_that_has_not_returned_when_the_node_hangs_again_is_reported() {
    let (private, recorded) = (Private::new(), Recorded::default());
    let mut scheduler = recorded.scheduler(&private);
    let senders = Arc::new(Mutex::new(Vec::new()));
    let calls = Arc::new(AtomicU64::new(0));
    let (kept, counted) = (Arc::clone(&senders), Arc::clone(&calls));
    let begin = move || {
        let (sender, receiver) = mpsc::channel();
        kept.lock().unwrap().push(sender);
        counted.fetch_add(1, Ordering::Relaxed);
        receiver
    };
    let node = scheduler.node("bad").watchdog(LONG / 100);
    let tick = move |context: &mut Context<'_>| {
        let number = context.tick().min(1);
        until("it is called", || calls.load(Ordering::Relaxed) > number);
    };
    node.safe_state_on_other_thread(begin).build(tick).unwrap();
    let (handle, watched) = (scheduler.handle(), recorded.clone());
    let watch = thread::spawn(move || {
        // WHY when dropped: the run must end even if this thread fails.
        let _end = StopWhenDropped(handle);
        until("it is called twice", || senders.lock().unwrap().len() == 2);
        let sender = senders.lock().unwrap().pop().unwrap();
        sender.send(Ok(())).unwrap();
        until("the second one returns", || {
            watched.count("bad", NodeEvent::SAFE_STATE_ENTERED) == 1
        });
    });
    scheduler.run().unwrap();
    watch.join().unwrap();
    let failed = recorded.of("bad", NodeEvent::FAILED);
    let failed: Vec<_> = failed.iter().map(|event| event.text.as_str()).collect();
    assert_eq!(
        failed,
        ["safe_state was called again before it had returned"]
    );
    assert_eq!(recorded.count("bad", NodeEvent::SAFE_STATE_ENTERED), 1);
}

/// Number of ticks that are too slow. If each of them had its three events in the black box, it
/// would have no room for others.
const SLOW_TICKS: u64 = 100;

/// All ticks last longer than the limit of the watchdog.
#[test]
fn a_node_that_is_always_stuck_leaves_an_emergency_stop_in_the_black_box() {
    let (private, recorded) = (Private::new(), Recorded::default());
    let mut scheduler = recorded.scheduler(&private);
    scheduler.name("robot");
    let node = scheduler.node("slow").rate(500.hz());
    let node = node.watchdog(Duration::from_millis(1)).safe_state(|| ());
    let tick = |_: &mut Context<'_>| thread::sleep(Duration::from_millis(5));
    node.build(tick).unwrap();
    let mut publisher = emergency_stop_publisher(private.namespace()).unwrap();
    let began = Instant::now();
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    let stops = |event: &NodeEvent| event.kind == NodeEvent::EMERGENCY_STOP;
    let stop = EmergencyStop::engage("test", "on purpose");
    publisher.send(stop).unwrap();
    until("it stops", || recorded.all().iter().any(stops));
    publisher.send(EmergencyStop::release("test", "")).unwrap();
    let before = ticks(&handle, "slow");
    until("it is slow", || {
        ticks(&handle, "slow") > before + SLOW_TICKS
    });
    running.finish().unwrap();
    let events = black_box(private.namespace(), "robot").unwrap();
    assert!(events.iter().any(stops), "{} events", events.len());
    // At most ten in a second, and those that were left out are counted.
    let times = began.elapsed().as_nanos() / 100_000_000 + 1;
    for kind in [
        NodeEvent::STUCK,
        NodeEvent::RECOVERED,
        NodeEvent::SAFE_STATE_ENTERED,
    ] {
        let count = recorded.count("slow", kind);
        assert!((1..=times).contains(&(count as u128)), "{count} of {kind}");
    }
    assert!(left_out(&recorded.of("slow", NodeEvent::STUCK)) > 0);
}
