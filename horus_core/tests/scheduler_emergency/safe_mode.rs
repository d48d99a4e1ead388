//! Nodes that tick in their safe state, because of missed deadlines, when an emergency stop begins
//! or the run fails.

use std::thread;
use std::time::Duration;

use horus_core::prelude::*;
use horus_core::scheduler::{Health, Hertz, MissPolicy};

use super::executors::{LONG, Recorded, until};
use super::private::Private;
use super::{Calls, engage};

/// A node whose ticks are all too long, and that ignores that it is in its safe state.
struct Wheel(Calls);

impl Node for Wheel {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.0.note("wheel", "drive");
        thread::sleep(Duration::from_millis(2));
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.0.note("wheel", "safe");
    }
}

/// Makes a scheduler with a wheel, which enters safe mode after its first tick.
fn scheduler_with_wheel(private: &Private, recorded: &Recorded, calls: &Calls) -> Scheduler {
    let mut scheduler = recorded.scheduler(private);
    let node = scheduler.node("wheel").rate(100.hz()).watchdog(LONG);
    let node = node.budget(Duration::from_millis(1));
    let node = node.on_miss(MissPolicy::SafeMode);
    node.build(Wheel(calls.clone())).unwrap();
    scheduler
}

#[test]
fn an_emergency_stop_calls_enter_safe_state_of_a_node_that_ticks_in_it() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let scheduler = scheduler_with_wheel(&private, &recorded, &calls);
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    let safe = || {
        let all = calls.of("wheel");
        all.iter().filter(|call| **call == "safe").count()
    };
    until("it ticks in safe mode", || calls.of("wheel").len() > 9);
    assert_eq!(safe(), 1, "once for each entry");
    engage(&private);
    until("it is called again", || safe() == 2);
    // It does not tick any more, so nothing comes after that.
    assert_eq!(handle.metrics("wheel").unwrap().health, Health::Safe);
    running.finish().unwrap();
    assert_eq!(calls.of("wheel").last(), Some(&"safe"));
    assert_eq!(safe(), 2);
}

#[test]
fn a_failed_run_calls_enter_safe_state_of_a_node_that_ticks_in_it() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let mut scheduler = scheduler_with_wheel(&private, &recorded, &calls);
    let seen = calls.clone();
    let fails = move |_: &mut Context<'_>| -> NodeResult {
        if seen.of("wheel").len() > 9 {
            return Err("on purpose".into());
        }
        Ok(())
    };
    scheduler.node("fails").rate(100.hz()).build(fails).unwrap();
    scheduler.run().unwrap_err();
    assert_eq!(calls.of("wheel").last(), Some(&"safe"));
}
