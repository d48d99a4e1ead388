//! Failures outside of ticks that may occur in every tick: few of them are events.

use std::error::Error;
use std::fmt;
use std::time::{Duration, Instant};

use horus_core::message::NodeEvent;
use horus_core::scheduler::{Context, FailurePolicy, Hertz, MissPolicy, Node, NodeResult};

use super::executors::{Recorded, until};
use super::private::Private;

/// An error whose drop panics.
#[derive(Debug)]
struct Bomb;

impl fmt::Display for Bomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("on purpose")
    }
}

impl Error for Bomb {}

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("in its drop");
    }
}

/// Fails in every tick and in every shutdown.
struct Failing;

impl Node for Failing {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Err(Bomb.into())
    }

    fn shutdown(&mut self) -> NodeResult {
        Err("no shutdown".into())
    }
}

/// Panics in every shutdown, and is shut down after every tick.
struct Panicking;

impl Node for Panicking {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Err("on purpose".into())
    }

    fn shutdown(&mut self) -> NodeResult {
        panic!("no shutdown");
    }
}

/// Panics whenever it has to enter its safe state: at least after every twelfth tick.
struct Unsafe;

impl Node for Unsafe {
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        if context.tick().is_multiple_of(12) {
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        panic!("not safe");
    }
}

/// An event for each tick would displace all others from the black box.
#[test]
fn the_events_of_failures_outside_of_ticks_are_limited() {
    let (private, recorded) = (Private::new(), Recorded::default());
    let mut scheduler = recorded.scheduler(&private);
    let restart = FailurePolicy::Restart {
        max: u32::MAX,
        backoff: Duration::ZERO,
    };
    let node = scheduler.node("failing").rate(200.hz());
    node.failure_policy(restart).build(Failing).unwrap();
    let node = scheduler.node("panicking").rate(200.hz());
    node.failure_policy(restart).build(Panicking).unwrap();
    let node = scheduler.node("unsafe").rate(1000.hz());
    let node = node.budget(Duration::from_millis(1));
    let node = node.watchdog(Duration::from_secs(60));
    let node = node.on_miss(MissPolicy::SafeMode);
    node.build(Unsafe).unwrap();
    let began = Instant::now();
    let running = scheduler.start().unwrap();
    let all_limited = [
        ("failing", NodeEvent::PANICKED, "in its drop"),
        ("failing", NodeEvent::FAILED, "no shutdown"),
        ("panicking", NodeEvent::PANICKED, "no shutdown"),
        ("unsafe", NodeEvent::PANICKED, "not safe"),
    ];
    let count = |(name, kind, text)| recorded.count_with_left_out(name, kind, text);
    until("events of each kind are left out", || {
        all_limited.iter().all(|one| count(*one).1 > 20)
    });
    running.finish().unwrap();
    let periods = began.elapsed().as_millis() as u64 / 100;
    for one in all_limited {
        let (shown, _) = count(one);
        assert!(shown <= 1 + periods, "{one:?}: {shown} events");
    }
}
