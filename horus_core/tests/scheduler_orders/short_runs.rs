//! Commands to nodes of the main thread, if the next due time is far away.

use std::time::Duration;

use horus_core::actor::{self, Actor};
use horus_core::scheduler::{Health, NodeResult, Rate, Running, Scheduler};

use super::executors::until;
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
