//! Simulated runs in which a node fails, or in which commands change a rate.

use horus_testing as _;

mod private;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use horus_core::actor::{self, Actor};
use horus_core::message::timestamp_now_ns;
use horus_core::prelude::*;
use horus_core::scheduler::{
    Context, FailurePolicy, Handle, Hertz, MissPolicy, Node, NodeError, NodeResult, Scheduler,
};
use private::Private;

type Calls = Arc<Mutex<Vec<String>>>;

/// Notes its calls. Receives a message in each tick, if it has a subscriber.
struct Noted {
    name: &'static str,
    calls: Calls,
    input: Option<Subscriber<CmdVel>>,
    /// The call that fails.
    failing: &'static str,
}

impl Noted {
    fn new(name: &'static str, calls: &Calls) -> Self {
        Self {
            name,
            calls: Arc::clone(calls),
            input: None,
            failing: "none",
        }
    }

    fn note(&self, call: &str) -> NodeResult {
        let text = format!("{call} {}", self.name);
        self.calls.lock().unwrap().push(text);
        if call == self.failing {
            return Err("on purpose".into());
        }
        Ok(())
    }
}

impl Node for Noted {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.note("init")
    }

    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        if let Some(input) = &mut self.input {
            assert!(input.recv().is_some());
        }
        self.note("tick")
    }

    fn enter_safe_state(&mut self) {
        self.note("safe").unwrap();
    }

    fn shutdown(&mut self) -> NodeResult {
        self.note("shutdown")
    }
}

impl Actor for Noted {
    type Message = ();

    fn handle(&mut self, (): (), _: &mut actor::Context<'_, Self>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.note("safe").unwrap();
    }

    fn shutdown(&mut self) -> NodeResult {
        self.note("shutdown")
    }
}

fn add(scheduler: &mut Scheduler, node: Noted) {
    scheduler
        .node(node.name)
        .rate(100.hz())
        .build(node)
        .unwrap();
}

/// A node whose failure ends the run does not tick again, and all nodes and actors enter their safe
/// state before any of them is shut down, as in a real run.
#[test]
fn a_failure_ends_the_run_at_once_in_the_safe_state() {
    let (mut scheduler, private) = Private::alone();
    let calls = Calls::default();
    let actors = scheduler.actors("fleet").threads(0).order(-1).build();
    let actors = actors.unwrap();
    let options = actors.options().safe_state();
    let _wheel = options.spawn(Noted::new("wheel", &calls)).unwrap();
    let mut publisher = private.publisher::<CmdVel>("commands", Qos::reliable());
    let commands = private.subscriber::<CmdVel>("commands", Qos::reliable());
    for _ in 0..3 {
        publisher.send(CmdVel::default()).unwrap();
    }
    let node = scheduler.node("failing").on(&commands);
    let failing = Noted {
        input: Some(commands),
        failing: "tick",
        ..Noted::new("failing", &calls)
    };
    node.build(failing).unwrap();
    let other = Noted::new("other", &calls);
    scheduler
        .node("other")
        .order(1)
        .rate(100.hz())
        .build(other)
        .unwrap();
    let report = scheduler.simulate(Duration::from_secs(1), 7, 0);
    assert_eq!(report.exit_code(), 1, "{report}");
    assert_eq!(report.node("failing").unwrap().metrics.ticks, 1);
    let wanted = [
        "init failing",
        "init other",
        "tick failing",
        "safe other",
        "safe failing",
        "safe wheel",
        "shutdown other",
        "shutdown failing",
        "shutdown wheel",
    ];
    assert_eq!(*calls.lock().unwrap(), wanted);
}

/// After a failed `init`, no other node is initialised.
#[test]
fn a_failed_init_ends_the_run_before_the_next_init() {
    let (mut scheduler, _private) = Private::alone();
    let calls = Calls::default();
    add(&mut scheduler, Noted::new("a", &calls));
    let failing = Noted {
        failing: "init",
        ..Noted::new("b", &calls)
    };
    add(&mut scheduler, failing);
    add(&mut scheduler, Noted::new("c", &calls));
    let report = scheduler.simulate(Duration::from_secs(1), 7, 0);
    assert_eq!(report.exit_code(), 1, "{report}");
    let wanted = ["init a", "init b", "safe a", "shutdown a"];
    assert_eq!(*calls.lock().unwrap(), wanted);
}

/// A node that stops the run lets the others finish the round, but begins no other one.
#[test]
fn a_stop_ends_the_run_after_the_round() {
    let (mut scheduler, private) = Private::alone();
    let mut publisher = private.publisher::<CmdVel>("commands", Qos::reliable());
    let mut commands = private.subscriber::<CmdVel>("commands", Qos::reliable());
    for _ in 0..3 {
        publisher.send(CmdVel::default()).unwrap();
    }
    let node = scheduler.node("stopping").on(&commands);
    let tick = move |context: &mut Context<'_>| {
        assert!(commands.recv().is_some());
        context.stop();
    };
    node.build(tick).unwrap();
    let other = scheduler.node("other").order(1).rate(100.hz());
    other.build(|_: &mut Context<'_>| {}).unwrap();
    let report = scheduler.simulate(Duration::from_secs(1), 7, 0);
    let ticks = ["stopping", "other"].map(|name| report.node(name).unwrap().metrics.ticks);
    assert_eq!((report.exit_code(), ticks), (0, [1, 1]), "{report}");
}

/// Adds a node that sets the rate of the node `paced` to 10 Hz at half a second.
fn add_setter(scheduler: &mut Scheduler, name: &str) {
    let handle: Handle = scheduler.handle();
    let tick = move |context: &mut Context<'_>| -> NodeResult {
        if context.tick() == 500 {
            handle.set_rate("paced", 10.hz())?;
        }
        Ok(())
    };
    scheduler.node(name).rate(1000.hz()).build(tick).unwrap();
}

/// A new rate applies from the next due time on, as in a real run, and to a whole chain.
#[test]
fn a_command_sets_the_rate_of_a_simulated_node() {
    // The setter runs before the nodes of the chain, between them, or after them.
    for (setter, wanted) in [("a", 51 + 4), ("q", 51 + 4), ("z", 52 + 4)] {
        let (mut scheduler, _private) = Private::alone();
        add_setter(&mut scheduler, setter);
        for name in ["paced", "same"] {
            let node = scheduler.node(name).rate(100.hz()).chain("arm");
            node.build(|_: &mut Context<'_>| {}).unwrap();
        }
        let report = scheduler.simulate(Duration::from_secs(1), 7, 0);
        let ticks = ["paced", "same"].map(|name| report.node(name).unwrap().metrics.ticks);
        assert_eq!(ticks, [wanted; 2], "{setter}: {report}");
    }
}

/// Nodes that topics wake need no other node that lets the time advance: not for messages that wait
/// from the start on, nor for a restart after a failure.
#[test]
fn nodes_that_topics_wake_run_without_others() {
    let (mut scheduler, private) = Private::alone();
    let mut publisher = private.publisher::<CmdVel>("commands", Qos::reliable());
    let mut commands = private.subscriber::<CmdVel>("commands", Qos::reliable());
    for _ in 0..3 {
        publisher.send(CmdVel::default()).unwrap();
    }
    let node = scheduler.node("failing").on(&commands);
    let node = node.failure_policy(FailurePolicy::Restart {
        max: 1,
        backoff: Duration::from_millis(100),
    });
    let times = Arc::<Mutex<Vec<u64>>>::default();
    let noted = Arc::clone(&times);
    let tick = move |context: &mut Context<'_>| -> NodeResult {
        assert!(commands.recv().is_some());
        noted.lock().unwrap().push(context.started_ns());
        match context.tick() {
            0 => Err("on purpose".into()),
            _ => Ok(()),
        }
    };
    node.build(tick).unwrap();
    let report = scheduler.simulate(Duration::from_secs(10), 7, 0);
    assert_eq!(report.exit_code(), 0, "{report}");
    assert_eq!(*times.lock().unwrap(), [0, 100_000_000, 100_000_000]);
    let metrics = report.node("failing").unwrap().metrics;
    assert_eq!((metrics.ticks, metrics.failures), (3, 1));
}

/// Nodes that answer each other without end do so until the end of the run.
#[test]
fn nodes_that_answer_each_other_do_so_until_the_end() {
    let (mut scheduler, private) = Private::alone();
    let mut first = private.publisher::<CmdVel>("ping", Qos::reliable());
    let last_ns = Arc::<Mutex<u64>>::default();
    for (name, from, to) in [("a", "ping", "pong"), ("b", "pong", "ping")] {
        let mut input = private.subscriber::<CmdVel>(from, Qos::reliable());
        let mut output = private.publisher::<CmdVel>(to, Qos::reliable());
        let node = scheduler.node(name).on(&input);
        let last_ns = Arc::clone(&last_ns);
        let tick = move |context: &mut Context<'_>| {
            *last_ns.lock().unwrap() = context.started_ns();
            while input.recv().is_some() {
                output.send(CmdVel::default()).unwrap();
            }
        };
        node.build(tick).unwrap();
    }
    first.send(CmdVel::default()).unwrap();
    let report = scheduler.simulate(Duration::from_millis(10), 7, 0);
    assert_eq!(report.exit_code(), 0, "{report}");
    assert_eq!(*last_ns.lock().unwrap(), 9_000_000);
}

/// The due times in a rest after failures, and in an isolation after misses, count as skipped.
#[test]
fn due_times_in_a_pause_of_a_policy_are_skipped() {
    let (mut scheduler, _private) = Private::alone();
    let fails = |_: &mut Context<'_>| -> NodeResult { Err("on purpose".into()) };
    let rests = scheduler.node("rests").rate(100.hz());
    let policy = FailurePolicy::Skip {
        max: 2,
        cooldown: Duration::from_millis(300),
    };
    rests.failure_policy(policy).build(fails).unwrap();
    // It never passes its checkpoint, so each tick is a miss.
    let isolated = scheduler.node("isolated").rate(100.hz()).checkpoints(1);
    let isolated = isolated.on_miss(MissPolicy::Graduated);
    isolated.build(|_: &mut Context<'_>| ()).unwrap();
    let report = scheduler.simulate(Duration::from_secs(2), 1, 0);
    for name in ["rests", "isolated"] {
        let metrics = &report.node(name).unwrap().metrics;
        assert!(metrics.ticks < 100, "{name}: {metrics:?}");
        assert_eq!(metrics.ticks + metrics.skipped_ticks, 200, "{name}");
    }
}

/// Notes the timestamp of each call.
struct Stamped(Arc<Mutex<Vec<(&'static str, u64)>>>);

impl Stamped {
    fn note(&self, call: &'static str) {
        self.0.lock().unwrap().push((call, timestamp_now_ns()));
    }
}

impl Node for Stamped {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.note("init");
        Ok(())
    }

    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.note("tick");
        if context.tick() == 2 {
            return Err("on purpose".into());
        }
        Ok(())
    }

    fn on_error(&mut self, _: &NodeError) {
        self.note("error");
    }

    fn enter_safe_state(&mut self) {
        self.note("safe");
    }

    fn shutdown(&mut self) -> NodeResult {
        self.note("shutdown");
        Ok(())
    }
}

impl Drop for Stamped {
    fn drop(&mut self) {
        self.note("drop");
    }
}

/// Messages that a node sends before its first tick and after its last one are the same in each
/// run, too.
#[test]
fn all_calls_of_a_node_have_the_simulated_time() {
    let (mut scheduler, _private) = Private::alone();
    let stamps = Arc::default();
    let node = Stamped(Arc::clone(&stamps));
    scheduler.node("n").rate(100.hz()).build(node).unwrap();
    let report = scheduler.simulate(Duration::from_secs(1), 0, 1000);
    assert!(report.into_result().is_err());
    let end = 20_001_000;
    let wanted = [
        ("init", 1000),
        ("tick", 1000),
        ("tick", 10_001_000),
        ("tick", end),
        ("error", end),
        ("safe", end),
        ("shutdown", end),
        ("drop", end),
    ];
    assert_eq!(*stamps.lock().unwrap(), wanted);
    assert!(timestamp_now_ns() > end, "the real clock is back");
}
