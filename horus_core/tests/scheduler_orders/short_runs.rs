//! Nodes of the main thread in short calls of `run_for`: commands are applied although the next due
//! time is far away, and each due time has a tick or counts as skipped.

use std::thread;
use std::time::{Duration, Instant};

use horus_core::actor::{self, Actor};
use horus_core::prelude::Context;
use horus_core::scheduler::{Health, Hertz, NodeResult, Rate, Running, Scheduler};

use super::executors::{ticks, until};
use super::private::Private;
use super::{Counter, scheduler};

/// Pauses and resumes the node `main` while `run` runs it, again and again.
fn pause_and_resume(mut scheduler: Scheduler, mut run: impl FnMut(&mut Running)) {
    scheduler
        .main_rate(Rate::every(Duration::from_secs(1000)))
        .unwrap();
    scheduler.node("main").build(Counter::default()).unwrap();
    let mut running = scheduler.start().unwrap();
    let handle = running.handle();
    for _ in 0..3 {
        handle.pause("main").unwrap();
        until("it is paused", || {
            run(&mut running);
            handle.metrics("main").unwrap().health == Health::Paused
        });
        handle.resume("main").unwrap();
        until("it is resumed", || {
            run(&mut running);
            handle.metrics("main").unwrap().health == Health::Active
        });
    }
    running.finish().unwrap();
}

/// The program does its own work between short calls of `run_for`.
#[test]
fn short_runs_apply_commands_before_the_next_due_time() {
    for time in [Duration::ZERO, Duration::from_millis(3)] {
        let private = Private::new();
        pause_and_resume(scheduler(&private), |running| {
            running.run_for(time).unwrap();
        });
    }
}

/// Tells itself each message again.
struct Busy;

impl Actor for Busy {
    type Message = ();

    fn handle(&mut self, (): (), context: &mut actor::Context<'_, Self>) -> NodeResult {
        let _ = context.address().tell(());
        Ok(())
    }
}

#[test]
fn commands_are_applied_while_actors_of_the_main_thread_always_have_messages() {
    let private = Private::new();
    let mut scheduler = scheduler(&private);
    let actors = scheduler.actors("busy").threads(0).build().unwrap();
    let busy = actors.spawn(Busy).unwrap();
    busy.tell(()).unwrap();
    pause_and_resume(scheduler, |running| {
        running.run_for(Duration::from_millis(50)).unwrap();
    });
}

/// Each due time comes while the program does its own work.
#[test]
fn due_times_between_two_short_runs_are_late_or_skipped_and_never_lost() {
    let private = Private::new();
    let mut scheduler = private.scheduler();
    scheduler.main_rate(10.hz()).unwrap();
    scheduler
        .node("main")
        .build(|_: &mut Context<'_>| {})
        .unwrap();
    let mut running = scheduler.start().unwrap();
    let handle = running.handle();
    let period = Duration::from_millis(100);
    // The due times begin with this call, which makes no tick.
    running.run_for(Duration::ZERO).unwrap();
    let begin = Instant::now();
    let mut last = begin;
    for _ in 0..8 {
        thread::sleep(period * 3 / 2);
        let before = ticks(&handle, "main");
        // WHY again: on a busy machine the time of a call may pass before it looks for a due time.
        until("it ticks", || {
            last = Instant::now();
            running.run_for(Duration::from_millis(10)).unwrap();
            ticks(&handle, "main") > before
        });
    }
    let metrics = handle.metrics("main").unwrap();
    running.finish().unwrap();
    // The first due time is that of the start, which was before `begin`.
    let due = 1 + (last - begin).as_nanos() / period.as_nanos();
    let counted = u128::from(metrics.ticks + metrics.skipped_ticks);
    assert!(counted >= due, "{counted} of {due}: {metrics:?}");
}

/// The whole run is shorter than the period.
#[test]
fn a_run_that_is_shorter_than_a_period_begins_with_a_tick() {
    let private = Private::new();
    let mut scheduler = private.scheduler();
    scheduler.main_rate(1.hz()).unwrap();
    scheduler
        .node("main")
        .build(|_: &mut Context<'_>| {})
        .unwrap();
    let report = scheduler.run_for(Duration::from_millis(100)).unwrap();
    assert_eq!(report.nodes[0].metrics.ticks, 1);
}
