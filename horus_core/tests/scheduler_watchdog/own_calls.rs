//! Calls that the scheduler makes after a tick (`on_error`, `enter_safe_state`) take no time of the
//! next tick, of the same node or of the next one on the thread.

use std::thread;
use std::time::Duration;

use horus_core::prelude::*;
use horus_core::scheduler::{FailurePolicy, Hertz, MissPolicy, NodeError};

use super::executors::{LONG, Recorded, ticks, until};
use super::private::Private;

/// A node whose ticks fail, and whose `on_error` takes long.
struct SlowOnError(Duration);

impl Node for SlowOnError {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Err("on purpose".into())
    }

    fn on_error(&mut self, _: &NodeError) {
        thread::sleep(self.0);
    }
}

#[test]
fn an_on_error_takes_no_time_of_the_next_node() {
    // WHY again: a busy machine may displace a tick.
    until("no tick is a miss", || {
        misses_and_longest_after_slow_on_errors() == (0, true)
    });
}

/// Runs a node after one whose `on_error` takes long. Returns the number of its misses, and true if
/// its longest tick was shorter than that call.
fn misses_and_longest_after_slow_on_errors() -> (u64, bool) {
    let private = Private::new();
    let recorded = Recorded::default();
    let mut scheduler = recorded.scheduler(&private);
    let time = Duration::from_millis(500);
    let node = scheduler.node("fails");
    let node = node.failure_policy(FailurePolicy::Ignore);
    node.build(SlowOnError(time)).unwrap();
    let node = scheduler.node("next").budget(time / 2).watchdog(LONG);
    node.build(|_: &mut Context<'_>| {}).unwrap();
    let mut running = scheduler.start().unwrap();
    for _ in 0..3 {
        running.tick_once().unwrap();
    }
    let report = running.finish().unwrap();
    let metrics = &report.node("next").unwrap().metrics;
    assert_eq!(metrics.ticks, 3, "{report}");
    (metrics.misses, metrics.max < time)
}

/// A node whose fifth tick takes longer than its deadline allows, and whose `enter_safe_state`
/// takes longer still.
struct SlowSafeState {
    tick: Duration,
    enter: Duration,
}

impl Node for SlowSafeState {
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        if context.tick() == 4 {
            thread::sleep(self.tick);
        }
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        thread::sleep(self.enter);
    }
}

/// The call ends after the next due time.
#[test]
fn an_enter_safe_state_does_not_make_the_next_tick_a_miss() {
    // WHY again: a busy machine may make other ticks late.
    until("only the slow tick is a miss", || {
        misses_with_a_slow_enter_safe_state() == 1
    });
}

fn misses_with_a_slow_enter_safe_state() -> u64 {
    let private = Private::new();
    let recorded = Recorded::default();
    let mut scheduler = recorded.scheduler(&private);
    let node = scheduler.node("n").rate(5.hz()).watchdog(LONG);
    let node = node.on_miss(MissPolicy::SafeMode);
    let slow = SlowSafeState {
        tick: Duration::from_millis(250),
        enter: Duration::from_millis(900),
    };
    node.build(slow).unwrap();
    let running = scheduler.start().unwrap();
    until("it ticks", || ticks(&running.handle(), "n") >= 7);
    running.finish().unwrap().nodes[0].metrics.misses
}
