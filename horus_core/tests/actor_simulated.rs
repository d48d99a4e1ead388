//! Actors in simulated runs: a pause, and a run inside of a handler.

use horus_testing as _;

mod executors;
mod private;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use executors::LONG;
use horus_core::actor::{Actor, Context, Reply};
use horus_core::scheduler::{self, Hertz, NodeResult};
use private::Private;

/// Counts its timers; runs a simulation of its own.
struct Ticker(Arc<Mutex<u64>>);

enum Tick {
    Timer,
    Simulate(Reply<u64>),
}

impl Actor for Ticker {
    type Message = Tick;

    fn init(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
        context.tell_every(Duration::from_millis(1), || Tick::Timer);
        Ok(())
    }

    fn handle(&mut self, message: Tick, _: &mut Context<'_, Self>) -> NodeResult {
        match message {
            Tick::Timer => *self.0.lock().unwrap() += 1,
            Tick::Simulate(reply) => reply.send(simulate_paused(10, 10)),
        }
        Ok(())
    }
}

/// Simulates 100 ms, in which a node pauses a group with a timer, and resumes it, at these times,
/// in milliseconds. Returns the number of messages of the timer.
fn simulate_paused(pause_ms: u64, resume_ms: u64) -> u64 {
    let (mut scheduler, _private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(0).build().unwrap();
    let ticks = Arc::default();
    let _ticker = actors.spawn(Ticker(Arc::clone(&ticks))).unwrap();
    let handle = scheduler.handle();
    let node = move |context: &mut scheduler::Context<'_>| -> NodeResult {
        if context.tick() == pause_ms {
            handle.pause("fleet")?;
        }
        if context.tick() == resume_ms {
            handle.resume("fleet")?;
        }
        Ok(())
    };
    let pacer = scheduler.node("pacer").rate(1000.hz());
    pacer.build(node).unwrap();
    let _ = scheduler.simulate(Duration::from_millis(100), 7, 0);
    *ticks.lock().unwrap()
}

#[test]
fn a_group_with_a_timer_may_be_paused_in_a_simulated_run() {
    assert_eq!(simulate_paused(1000, 1000), 99);
    let some = simulate_paused(20, 60);
    assert!((50..70).contains(&some), "{some}");
    let few = simulate_paused(20, 1000);
    assert!((10..30).contains(&few), "{few}");
}

/// A handler may run a simulation, whose time stands still during each activation.
#[test]
fn a_handler_may_run_a_simulation() {
    let (mut scheduler, _private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(1).build().unwrap();
    let running = scheduler.start().unwrap();
    let ticker = actors.spawn(Ticker(Arc::default())).unwrap();
    let count = ticker.ask(Tick::Simulate).unwrap();
    assert!(count.wait(LONG).unwrap() > 90);
    running.finish().unwrap();
}
