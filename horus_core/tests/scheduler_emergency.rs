//! Emergency stops, and ends of a run, that come at an inconvenient moment: every node that is to
//! enter its safe state does so.

use horus_testing as _;

mod actors;
mod executors;
#[path = "scheduler_emergency/lost_name.rs"]
mod lost_name;
#[path = "scheduler_emergency/lost_node.rs"]
mod lost_node;
mod motor;
#[path = "scheduler_emergency/no_room.rs"]
mod no_room;
mod private;
#[path = "scheduler_emergency/safe_mode.rs"]
mod safe_mode;

use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use actors::{Child, End, exit, hear, namespace_in, private_dir, role, say};
use executors::{EXECUTORS, Executor, LONG, Recorded, supervisor_time, ticks, until};
use horus_core::actor::Actors;
use horus_core::message::{EmergencyStop, NodeEvent, monotonic_now_ns};
use horus_core::prelude::*;
#[cfg(feature = "async-io")]
use horus_core::scheduler::{AsyncNode, AsyncNodeAdapter, TickFuture};
use horus_core::scheduler::{
    Context, FailurePolicy, Health, Hertz, Node, NodeResult, RemoteScheduler, Scheduler,
    StopReason, emergency_stop_publisher,
};
use motor::{Calls, Motor};
use private::Private;

/// Adds a motor to each executor, one that runs on the threads of a group, and two groups with an
/// actor each. Returns the names of the motors, and the groups, which have to be kept.
fn add_motors(
    scheduler: &mut Scheduler,
    private: &Private,
    calls: &Calls,
) -> (Vec<String>, Vec<Actors>) {
    let motor = |name: &str| Motor::new(name, calls);
    let mut names = Vec::new();
    let mut groups = Vec::new();
    for threads in [0, 1] {
        let name = format!("group{threads}");
        let group = scheduler.actors(&name).threads(threads).build().unwrap();
        let actor = format!("actor{threads}");
        // WHY forgotten: an actor without an address ends.
        std::mem::forget(group.options().safe_state().spawn(motor(&actor)).unwrap());
        groups.push(group);
        names.push(actor);
    }
    let commands = private.subscriber::<CmdVel>("cmd_vel", Qos::new());
    for executor in EXECUTORS {
        let name = format!("{executor:?}");
        let node = executor.runs(scheduler.node(&name), 100, &commands);
        node.build(motor(&name)).unwrap();
        names.push(name);
    }
    let node = Executor::Event.runs(scheduler.node("shared"), 100, &commands);
    node.on_group_threads("group1")
        .build(motor("shared"))
        .unwrap();
    names.push("shared".to_owned());
    (names, groups)
}

fn engage(private: &Private) {
    let mut publisher = emergency_stop_publisher(private.namespace()).unwrap();
    publisher.send(EmergencyStop::engage("test", "")).unwrap();
}

/// The ticks of a node begin an emergency stop and end the run. The threads of the other nodes see
/// the end of the run before the supervisor sees the stop.
#[test]
fn a_node_that_begins_an_emergency_stop_and_ends_the_run_makes_all_others_safe() {
    let (mut rounds, mut late_rounds) = (0, 0);
    until("all are safe five times", || {
        let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
        let mut scheduler = recorded.scheduler(&private);
        let (names, _groups) = add_motors(&mut scheduler, &private, &calls);
        let mut publisher = emergency_stop_publisher(private.namespace()).unwrap();
        let (begin, begun) = channel();
        let bumper = move |context: &mut Context<'_>| {
            begin.send(context.started_ns()).unwrap();
            publisher.send(EmergencyStop::engage("bumper", "")).unwrap();
            context.stop();
        };
        scheduler
            .node("bumper")
            .rate(100.hz())
            .build(bumper)
            .unwrap();
        assert_eq!(scheduler.run().unwrap().reason, StopReason::Requested);
        // The end of a run waits 40 ms for the supervisor. A busy machine may delay it for longer.
        let late_ns = begun.recv().unwrap() + 40_000_000;
        let stops = recorded.of("", NodeEvent::EMERGENCY_STOP);
        let is_seen_late = stops.iter().all(|stop| stop.monotonic_ns >= late_ns);
        let is_late = is_seen_late && monotonic_now_ns() >= late_ns;
        let is_safe = |name: &String| calls.of(name) == ["safe", "shutdown"];
        let are_safe = stops.len() == 1 && names.iter().all(is_safe);
        assert!(are_safe || is_late, "{stops:?}: {:?}", calls.0);
        rounds += u64::from(are_safe);
        late_rounds += u64::from(!are_safe);
        assert!(
            late_rounds <= 3,
            "late, or not seen, in {late_rounds} rounds"
        );
        rounds == 5
    });
}

/// A slow tick keeps the run from its end. The threads of the other nodes have ended when the
/// emergency stop begins.
#[test]
fn an_emergency_stop_during_the_last_tick_makes_all_nodes_safe() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let mut scheduler = recorded.scheduler(&private);
    let (names, _groups) = add_motors(&mut scheduler, &private, &calls);
    let (begin, begun) = channel();
    let slow = move |_: &mut Context<'_>| {
        begin.send(()).unwrap();
        thread::sleep(Duration::from_millis(500));
    };
    scheduler.node("slow").compute().build(slow).unwrap();
    let running = scheduler.start().unwrap();
    begun.recv_timeout(LONG).unwrap();
    running.handle().stop();
    // A thread of a node sees the end of the run within 20 ms.
    thread::sleep(Duration::from_millis(100));
    engage(&private);
    running.finish().unwrap();
    for name in names {
        assert_eq!(calls.of(&name), ["safe", "shutdown"], "{name}");
    }
}

/// A node whose `init` takes until the channel is closed.
struct SlowInit(Sender<()>, Receiver<()>);

impl Node for SlowInit {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.0.send(())?;
        assert!(self.1.recv().is_err());
        Ok(())
    }

    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }
}

/// The threads of the nodes start after the last `init`.
#[test]
fn an_emergency_stop_during_a_long_init_makes_the_nodes_before_it_safe() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let mut scheduler = recorded.scheduler(&private);
    let (names, _groups) = add_motors(&mut scheduler, &private, &calls);
    let (begin, begun) = channel();
    let (end, is_over) = channel();
    let slow = SlowInit(begin, is_over);
    scheduler.node("slow").order(1).build(slow).unwrap();
    let starting = thread::spawn(|| scheduler.start().unwrap());
    begun.recv_timeout(LONG).unwrap();
    engage(&private);
    // The thread that calls nodes without a rate is in the `init`, and groups have no threads yet.
    let is_later = |name: &str| name == "BestEffort" || name.starts_with("actor");
    for name in names.iter().filter(|name| !is_later(name)) {
        until(name, || calls.of(name) == ["safe"]);
    }
    drop(end);
    let mut running = starting.join().unwrap();
    running.run_for(Duration::from_millis(100)).unwrap();
    running.finish().unwrap();
    for name in names {
        assert_eq!(calls.of(&name), ["safe", "shutdown"], "{name}");
    }
}

/// A node whose `enter_safe_state` takes until the channel is closed.
struct SlowSafeState(Sender<()>, Receiver<()>);

impl Node for SlowSafeState {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.0.send(()).unwrap();
        assert!(self.1.recv().is_err());
    }
}

/// After the start, each node has its own thread, or shares one with its chain or its group.
#[test]
fn a_safe_state_that_hangs_during_a_long_init_keeps_no_other_node_from_its_own() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let mut scheduler = recorded.scheduler(&private);
    let mut hanging = Vec::new();
    for name in ["hangs", "hangs, too"] {
        let (begin, begun) = channel();
        let (end, is_over) = channel();
        let node = SlowSafeState(begin, is_over);
        scheduler.node(name).rate(100.hz()).build(node).unwrap();
        hanging.push((begun, end));
    }
    let motor = Motor::new("motor", &calls);
    scheduler.node("motor").rate(100.hz()).build(motor).unwrap();
    let (begin, begun) = channel();
    let (end, is_over) = channel();
    let slow = SlowInit(begin, is_over);
    scheduler.node("slow").order(1).build(slow).unwrap();
    let starting = thread::spawn(|| scheduler.start().unwrap());
    begun.recv_timeout(LONG).unwrap();
    engage(&private);
    for (begun, _) in &hanging {
        begun.recv_timeout(LONG).unwrap();
    }
    until("the motor is safe", || calls.of("motor") == ["safe"]);
    until("it is an event", || {
        recorded.count("motor", NodeEvent::SAFE_STATE_ENTERED) == 1
    });
    assert_eq!(recorded.count("hangs", NodeEvent::SAFE_STATE_ENTERED), 0);
    drop((end, hanging));
    starting.join().unwrap().finish().unwrap();
    for name in ["hangs", "hangs, too", "motor"] {
        assert_eq!(recorded.count(name, NodeEvent::SAFE_STATE_ENTERED), 1);
    }
    assert_eq!(calls.of("motor"), ["safe", "shutdown"]);
}

/// The `init` of a node that a swap puts in may take long, too.
#[test]
fn a_swap_during_a_long_init_waits_for_its_end() {
    /// A node that notes its `init`.
    struct Replacement(Calls);

    impl Node for Replacement {
        fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
            self.0.note("replacement", "init");
            Ok(())
        }

        fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
            Ok(())
        }
    }

    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let mut scheduler = recorded.scheduler(&private);
    for name in ["first", "second"] {
        let motor = Motor::new(name, &calls);
        scheduler.node(name).rate(100.hz()).build(motor).unwrap();
    }
    let (begin, begun) = channel();
    let (end, is_over) = channel();
    let slow = SlowInit(begin, is_over);
    scheduler.node("slow").order(1).build(slow).unwrap();
    let handle = scheduler.handle();
    let starting = thread::spawn(|| scheduler.start().unwrap());
    begun.recv_timeout(LONG).unwrap();
    let _swap = handle.swap("first", Replacement(calls.clone())).unwrap();
    engage(&private);
    until("the second is safe", || calls.of("second") == ["safe"]);
    assert_eq!(calls.of("first"), ["safe"]);
    assert_eq!(calls.of("replacement"), [""; 0]);
    drop(end);
    let running = starting.join().unwrap();
    until("the swap", || calls.of("replacement") == ["init"]);
    running.finish().unwrap();
}

/// Truncates the file of the emergency stop.
fn truncate(private: &Private) {
    let file = private.namespace().topics_path().join("emergency_stop");
    let file = std::fs::File::options().write(true).open(file).unwrap();
    file.set_len(0).unwrap();
}

/// The file of the topic is truncated. While another publisher has it open, it cannot be opened
/// again, and no emergency stop could be received.
#[test]
fn an_emergency_stop_that_cannot_be_received_counts_as_engaged() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let mut scheduler = recorded.scheduler(&private);
    let motor = Motor::new("motor", &calls);
    scheduler.node("motor").rate(100.hz()).build(motor).unwrap();
    let publisher = emergency_stop_publisher(private.namespace()).unwrap();
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    let health = || handle.metrics("motor").unwrap().health;
    truncate(&private);
    until("it is safe", || health() == Health::Safe);
    until("it is an event", || {
        recorded.count("", NodeEvent::EMERGENCY_STOP) == 1
    });
    let event = recorded.of("", NodeEvent::EMERGENCY_STOP).remove(0);
    let text = "EMERGENCY STOP until 'emergency_stop' can be opened";
    assert!(event.to_string().starts_with(text), "{event}");
    let (before, begin) = (supervisor_time(), Instant::now());
    thread::sleep(Duration::from_millis(500));
    let passed = supervisor_time().saturating_sub(before);
    let all = begin.elapsed().as_millis() as u64 / 10;
    assert!(
        passed < all / 2,
        "it does not sleep: {passed} of {all} ticks"
    );
    assert_eq!(calls.of("motor"), ["safe"]);
    drop(publisher);
    until("it is over", || {
        recorded.count("", NodeEvent::EMERGENCY_OVER) == 1
    });
    until("it ticks again", || health() == Health::Active);
    engage(&private);
    until("it is safe again", || health() == Health::Safe);
    running.finish().unwrap();
    assert_eq!(calls.of("motor"), ["safe", "safe", "shutdown"]);
}

/// Nobody else has the file open, so the scheduler opens it again at once, and no node stops.
#[test]
fn topics_of_commands_that_lose_their_memory_are_opened_again() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let mut scheduler = recorded.scheduler(&private);
    let motor = Motor::new("motor", &calls);
    scheduler.node("motor").rate(100.hz()).build(motor).unwrap();
    scheduler.name("arm");
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    let health = || handle.metrics("motor").unwrap().health;
    for (file, topic) in [
        ("emergency_stop", "emergency_stop"),
        (
            "horus+schedulers+arm+commands",
            "horus/schedulers/arm/commands",
        ),
    ] {
        let file = private.namespace().topics_path().join(file);
        let file = std::fs::File::options().write(true).open(file).unwrap();
        file.set_len(0).unwrap();
        let is_told = |event: &NodeEvent| event.text.as_str().starts_with(topic);
        until("it is an event", || {
            recorded.of("", NodeEvent::TOPIC_MOVED).iter().any(is_told)
        });
    }
    assert_eq!(calls.of("motor"), [""; 0]);
    let mut remote = RemoteScheduler::open(private.namespace(), "arm").unwrap();
    remote.pause("motor").unwrap();
    until("it pauses", || health() == Health::Paused);
    engage(&private);
    until("it is safe", || health() == Health::Safe);
    running.finish().unwrap();
}

/// An async node that notes its calls, and whose ticks may wait for ever.
#[cfg(feature = "async-io")]
struct AsyncMotor(Motor, bool);

#[cfg(feature = "async-io")]
impl AsyncNode for AsyncMotor {
    fn tick<'a>(&'a mut self, _: &'a mut Context<'_>) -> TickFuture<'a> {
        if self.1 {
            Box::pin(std::future::pending())
        } else {
            Box::pin(async { Ok(()) })
        }
    }

    fn enter_safe_state(&mut self) {
        Node::enter_safe_state(&mut self.0);
    }

    fn shutdown(&mut self) -> NodeResult {
        Node::shutdown(&mut self.0)
    }
}

/// The tick that hangs uses up the time for the last ticks.
#[cfg(feature = "async-io")]
#[test]
fn a_node_that_hangs_does_not_keep_async_nodes_from_their_safe_states() {
    let (private, recorded, calls) = (Private::new(), Recorded::default(), Calls::default());
    let mut scheduler = recorded.scheduler(&private);
    let (begin, begun) = channel();
    let (end, is_over) = channel::<()>();
    let hang = move |_: &mut Context<'_>| {
        begin.send(()).unwrap();
        is_over.recv().unwrap_err();
    };
    scheduler.node("hangs").rate(100.hz()).build(hang).unwrap();
    let names = ["waits", "ticks"];
    for name in names {
        let motor = Motor::new(name, &calls);
        let node = AsyncNodeAdapter::new(AsyncMotor(motor, name == "waits"));
        scheduler
            .node(name)
            .async_io()
            .rate(100.hz())
            .build(node)
            .unwrap();
    }
    let running = scheduler.start().unwrap();
    begun.recv_timeout(LONG).unwrap();
    until("the other one ticks", || {
        ticks(&running.handle(), "ticks") > 2
    });
    running.handle().stop();
    let report = running.finish().unwrap_err().into_report().unwrap();
    let hanging = report.nodes.iter().filter(|node| node.last_error.is_some());
    let hanging: Vec<_> = hanging.map(|node| node.name.as_str()).collect();
    assert_eq!(hanging, ["hangs", "waits"], "{report}");
    let waiting = report.node("waits").unwrap().last_error.as_deref().unwrap();
    assert!(waiting.contains("the tick was dropped"), "{waiting}");
    for name in names {
        assert_eq!(calls.of(name), ["safe", "shutdown"], "{name}");
    }
    drop(end);
}

/// Not a test: entry point of the re-executed child process; does nothing without a role.
#[test]
fn child_role() {
    match role() {
        Some((role, dir)) if role == "no room" => no_room::run(&dir),
        Some((role, dir)) if role == "request reliable" => no_room::request_reliable(&dir),
        Some((_, dir)) => fill_stderr(&dir),
        None => {}
    }
}

/// A node that says when it enters its safe state.
struct Speaker;

impl Node for Speaker {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        say("safe");
    }
}

/// Runs nodes whose failures are printed to stderr, until a signal comes.
fn fill_stderr(dir: &Path) {
    assert_eq!(hear().as_deref(), Some("the pipe is short"));
    let mut scheduler = Scheduler::new();
    scheduler.namespace(&namespace_in(dir));
    scheduler.stop_on_signals();
    scheduler
        .node("speaker")
        .rate(100.hz())
        .build(Speaker)
        .unwrap();
    for number in 0..20 {
        let node = scheduler.node(&format!("fails {number}")).rate(100.hz());
        let fail = |_: &mut Context<'_>| -> NodeResult { Err("on purpose".into()) };
        let node = node.failure_policy(FailurePolicy::Ignore);
        node.build(fail).unwrap();
    }
    exit(scheduler.run());
}

/// By default, events are printed to stderr. The pipe behind it is full, and nobody reads it.
#[test]
fn a_full_stderr_keeps_no_node_from_its_safe_state_and_no_signal_from_the_run() {
    let dir = private_dir();
    let mut child = Child::spawn_with("fill stderr", dir.path(), |command| {
        command.stderr(Stdio::piped());
    });
    let stderr = child.stderr();
    let bytes = 4096;
    // SAFETY: the call takes no pointer.
    let set = unsafe { libc::fcntl(stderr.as_raw_fd(), libc::F_SETPIPE_SZ, bytes) };
    assert_eq!(set, bytes);
    child.tell("the pipe is short");
    until("it is full", || {
        let mut waiting = 0;
        // SAFETY: the number is valid for the write.
        let asked = unsafe { libc::ioctl(stderr.as_raw_fd(), libc::FIONREAD, &raw mut waiting) };
        assert_eq!(asked, 0);
        waiting > bytes - 100
    });
    thread::sleep(Duration::from_millis(300));
    let mut publisher = emergency_stop_publisher(&namespace_in(dir.path())).unwrap();
    publisher.send(EmergencyStop::engage("test", "")).unwrap();
    child.await_word("safe");
    child.signal(libc::SIGTERM);
    child.await_word("over 143");
    assert_eq!(child.wait(), End::Code(143));
}
