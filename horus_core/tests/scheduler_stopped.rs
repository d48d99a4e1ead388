//! A run that has to stop while the thread that runs the scheduler is busy elsewhere: the threads
//! of the nodes keep their nodes safe until that thread shuts the nodes down.

use horus_testing as _;

mod executors;
mod motor;
mod private;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use executors::{EXECUTORS, Executor, LONG, Recorded, until};
use horus_core::actor::{Actor, Actors, Context as ActorContext};
use horus_core::message::{EmergencyStop, NodeEvent};
use horus_core::prelude::*;
#[cfg(feature = "async-io")]
use horus_core::scheduler::{AsyncNode, AsyncNodeAdapter, TickFuture};
use horus_core::scheduler::{
    Context, Hertz, Node, NodeResult, Scheduler, emergency_stop_publisher,
};
use motor::{Calls, Motor};
use private::Private;

/// Returns the name of the thread of the first such call of the node or actor `name`.
fn thread_of(calls: &Calls, name: &str, call: &str) -> Option<String> {
    let all = calls.0.lock().unwrap();
    let mut own = all.iter().filter(|(caller, ..)| caller == name);
    let found = own.find(|(_, called, _)| *called == call)?;
    Some(found.2.clone())
}

/// Adds a motor to each executor that has threads of its own, one that runs on the threads of a
/// group, and an actor of this group. Returns their names, and the group, which has to be kept.
fn add_motors(
    scheduler: &mut Scheduler,
    private: &Private,
    calls: &Calls,
) -> (Vec<String>, Actors) {
    let group = scheduler.actors("group").threads(2).build().unwrap();
    let actor = group
        .options()
        .safe_state()
        .spawn(Motor::new("actor", calls));
    // WHY forgotten: an actor without an address ends.
    std::mem::forget(actor.unwrap());
    let commands = private.subscriber::<CmdVel>("cmd_vel", Qos::new());
    let node = Executor::Event.runs(scheduler.node("shared"), 100, &commands);
    node.on_group_threads("group")
        .build(Motor::new("shared", calls))
        .unwrap();
    let mut names = vec!["actor".to_owned(), "shared".to_owned()];
    for executor in EXECUTORS {
        if *executor == Executor::BestEffort {
            continue;
        }
        let name = format!("{executor:?}");
        let node = executor.runs(scheduler.node(&name), 100, &commands);
        node.build(Motor::new(&name, calls)).unwrap();
        names.push(name);
    }
    (names, group)
}

/// Adds a node with a rate that fails once `fail` sends something.
fn add_failing_node(scheduler: &mut Scheduler, fail: Receiver<()>) {
    let node = move |_: &mut Context<'_>| match fail.try_recv() {
        Ok(()) => Err("the wheel fell off"),
        Err(_) => Ok(()),
    };
    scheduler.node("wheel").rate(100.hz()).build(node).unwrap();
}

fn engage(private: &Private) {
    let mut publisher = emergency_stop_publisher(private.namespace()).unwrap();
    publisher.send(EmergencyStop::engage("test", "")).unwrap();
}

fn wait_until_safe(names: &[String], calls: &Calls) {
    for name in names {
        let what = format!("{name} is in its safe state");
        until(&what, || calls.of(name) == ["safe"]);
    }
}

/// Asserts that all motors were made safe once, on another thread than this one, and then shut
/// down.
fn assert_shut_down(names: &[String], calls: &Calls) {
    let here = thread::current().name().map(str::to_owned);
    for name in names {
        assert_eq!(calls.of(name), ["safe", "shutdown"], "{name}");
        assert_ne!(thread_of(calls, name, "safe"), here, "{name}");
    }
}

#[test]
fn nodes_are_safe_after_a_failure_before_the_program_calls_again() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let mut scheduler = recorded.scheduler(&private);
    let (names, _group) = add_motors(&mut scheduler, &private, &calls);
    let (fail, failing) = channel();
    add_failing_node(&mut scheduler, failing);
    let running = scheduler.start().unwrap();
    fail.send(()).unwrap();
    wait_until_safe(&names, &calls);
    assert!(running.is_stopping());
    engage(&private);
    until("the stop is an event", || {
        recorded.count("", NodeEvent::EMERGENCY_STOP) == 1
    });
    // An emergency stop that is over does not end the safe states of a failed run.
    let mut publisher = emergency_stop_publisher(private.namespace()).unwrap();
    publisher.send(EmergencyStop::release("test", "")).unwrap();
    until("the end is an event", || {
        recorded.count("", NodeEvent::EMERGENCY_OVER) == 1
    });
    running.finish().unwrap_err();
    assert_shut_down(&names, &calls);
    for name in &names {
        assert_eq!(
            recorded.count(name, NodeEvent::SAFE_STATE_LEFT),
            0,
            "{name}"
        );
    }
}

/// Stops a run whose own loop is elsewhere, then engages an emergency stop. Returns the number of
/// the nodes with threads, and the text of the event about the nodes that are not safe.
fn report_of_a_stop_after_a_run() -> (usize, String) {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let mut scheduler = recorded.scheduler(&private);
    let (names, _group) = add_motors(&mut scheduler, &private, &calls);
    // The program's own loop, in which this node ticks, is elsewhere.
    let main = Motor::new("main", &calls);
    scheduler.node("main").build(main).unwrap();
    let running = scheduler.start().unwrap();
    running.handle().stop();
    // A thread of a node sees the end of the run within 20 ms.
    thread::sleep(Duration::from_millis(100));
    engage(&private);
    wait_until_safe(&names, &calls);
    until("the other one is reported", || {
        recorded.count("", NodeEvent::FAILED) == 1
    });
    let event = recorded.of("", NodeEvent::FAILED).remove(0);
    running.finish().unwrap();
    assert_shut_down(&names, &calls);
    assert_eq!(calls.of("main"), ["safe", "shutdown"]);
    (names.len(), event.text.as_str().to_owned())
}

#[test]
fn an_emergency_stop_reaches_the_nodes_of_a_stopped_run_before_the_program_calls_again() {
    // WHY again: on a busy machine another node may need longer for its safe state, too.
    until("only the node of the main thread is reported", || {
        let (nodes, text) = report_of_a_stop_after_a_run();
        text == format!("1 of {nodes} nodes are not in their safe state: main")
    });
}

/// A node of the main thread whose tick lasts until the channel is closed.
fn add_long_tick(scheduler: &mut Scheduler) -> Sender<()> {
    let (end, is_over) = channel::<()>();
    let tick = move |_: &mut Context<'_>| assert!(is_over.recv().is_err());
    scheduler.node("long").build(tick).unwrap();
    end
}

#[test]
fn nodes_are_safe_after_a_failure_during_a_long_tick_of_the_main_thread() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let mut scheduler = recorded.scheduler(&private);
    let (names, _group) = add_motors(&mut scheduler, &private, &calls);
    let (fail, failing) = channel();
    add_failing_node(&mut scheduler, failing);
    let end = add_long_tick(&mut scheduler);
    let run = thread::spawn(|| scheduler.run());
    fail.send(()).unwrap();
    wait_until_safe(&names, &calls);
    drop(end);
    run.join().unwrap().unwrap_err();
    for name in &names {
        assert_eq!(calls.of(name), ["safe", "shutdown"], "{name}");
    }
}

/// A node whose `enter_safe_state` takes longer than the last tick of a node may take.
struct SlowToStop(Motor);

impl Node for SlowToStop {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        thread::sleep(Duration::from_millis(1200));
        Node::enter_safe_state(&mut self.0);
    }

    fn shutdown(&mut self) -> NodeResult {
        Node::shutdown(&mut self.0)
    }
}

#[test]
fn the_end_of_a_failed_run_waits_for_slow_safe_states() {
    let (private, calls) = (Private::new(), Calls::default());
    let mut scheduler = private.scheduler();
    let commands = private.subscriber::<CmdVel>("cmd_vel", Qos::new());
    for executor in EXECUTORS {
        let name = format!("{executor:?}");
        let node = executor.runs(scheduler.node(&name), 100, &commands);
        let motor = SlowToStop(Motor::new(&name, &calls));
        node.build(motor).unwrap();
    }
    let (fail, failing) = channel();
    add_failing_node(&mut scheduler, failing);
    fail.send(()).unwrap();
    let report = scheduler.run().unwrap_err().into_report().unwrap();
    for executor in EXECUTORS {
        let name = format!("{executor:?}");
        assert_eq!(calls.of(&name), ["safe", "shutdown"], "{name}");
        assert_eq!(report.node(&name).unwrap().last_error, None, "{name}");
    }
}

/// An async node whose ticks wait for ever.
#[cfg(feature = "async-io")]
struct Waits(Motor, Sender<()>);

#[cfg(feature = "async-io")]
impl AsyncNode for Waits {
    fn tick<'a>(&'a mut self, _: &'a mut Context<'_>) -> TickFuture<'a> {
        self.1.send(()).unwrap();
        Box::pin(std::future::pending())
    }

    fn enter_safe_state(&mut self) {
        Node::enter_safe_state(&mut self.0);
    }

    fn shutdown(&mut self) -> NodeResult {
        Node::shutdown(&mut self.0)
    }
}

#[cfg(feature = "async-io")]
#[test]
fn an_async_tick_that_waits_does_not_keep_its_node_from_its_safe_state_after_a_failure() {
    let (private, calls) = (Private::new(), Calls::default());
    let mut scheduler = private.scheduler();
    let (begin, begun) = channel();
    let waits = AsyncNodeAdapter::new(Waits(Motor::new("waits", &calls), begin));
    let node = scheduler.node("waits").async_io().rate(100.hz());
    node.build(waits).unwrap();
    let (fail, failing) = channel();
    add_failing_node(&mut scheduler, failing);
    let running = scheduler.start().unwrap();
    begun.recv_timeout(LONG).unwrap();
    fail.send(()).unwrap();
    wait_until_safe(&["waits".to_owned()], &calls);
    running.finish().unwrap_err();
    assert_shut_down(&["waits".to_owned()], &calls);
}

/// A node that cannot be initialised.
struct Broken;

impl Node for Broken {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        Err("no camera".into())
    }

    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }
}

#[test]
fn nodes_are_safe_after_a_failed_init_before_the_program_calls_again() {
    let (private, calls) = (Private::new(), Calls::default());
    let mut scheduler = private.scheduler();
    let (mut names, _group) = add_motors(&mut scheduler, &private, &calls);
    let main = Motor::new("main", &calls);
    scheduler.node("main").build(main).unwrap();
    scheduler.node("broken").order(1).build(Broken).unwrap();
    names.push("main".to_owned());
    let running = scheduler.start().unwrap();
    assert_eq!(calls.of("main"), ["safe"]);
    wait_until_safe(&names, &calls);
    running.finish().unwrap_err();
    for name in &names {
        assert_eq!(calls.of(name), ["safe", "shutdown"], "{name}");
    }
}

/// Number of messages that an actor handles before the one during which the run fails.
const SHORT_MESSAGES: usize = 40;

/// An actor whose handler waits until the test lets it go on.
struct SlowHandler {
    begun: Sender<()>,
    go_on: Receiver<()>,
    motor: Motor,
}

impl Actor for SlowHandler {
    type Message = ();

    fn handle(&mut self, (): (), _: &mut ActorContext<'_, Self>) -> NodeResult {
        self.begun.send(())?;
        Ok(self.go_on.recv_timeout(LONG)?)
    }

    fn enter_safe_state(&mut self) {
        Actor::enter_safe_state(&mut self.motor);
    }
}

/// The other thread of the group begins the safe states meanwhile.
#[test]
fn an_actor_is_safe_after_a_failure_when_its_handler_returns() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let mut scheduler = recorded.scheduler(&private);
    let group = scheduler.actors("group").threads(2).build().unwrap();
    let (begun, begins) = channel();
    let (go_on, goes_on) = channel();
    let slow = SlowHandler {
        begun,
        go_on: goes_on,
        motor: Motor::new("slow", &calls),
    };
    let slow = group.options().safe_state().spawn(slow).unwrap();
    let idle = group.options().safe_state();
    let _idle = idle.spawn(Motor::new("idle", &calls)).unwrap();
    let (fail, failing) = channel();
    add_failing_node(&mut scheduler, failing);
    let running = scheduler.start().unwrap();
    // WHY many short ones first: a worker reads the clock less often during them.
    (0..SHORT_MESSAGES).for_each(|_| go_on.send(()).unwrap());
    (0..=SHORT_MESSAGES).for_each(|_| slow.tell(()).unwrap());
    (0..=SHORT_MESSAGES).for_each(|_| begins.recv_timeout(LONG).unwrap());
    fail.send(()).unwrap();
    wait_until_safe(&["idle".to_owned()], &calls);
    go_on.send(()).unwrap();
    wait_until_safe(&["slow".to_owned()], &calls);
    running.finish().unwrap_err();
}
