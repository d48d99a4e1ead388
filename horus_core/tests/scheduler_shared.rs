//! Nodes on topics that share the threads of a group of actors.

use horus_testing as _;

mod executors;
mod noise;
mod private;

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use executors::{LONG, Recorded, ticks, until};
use horus_core::actor::{self, Actor};
use horus_core::message::{EmergencyStop, NodeEvent};
use horus_core::prelude::*;
use horus_core::scheduler::{
    Context, FailurePolicy, Health, Hertz, MissPolicy, Node, NodeClass, NodeResult, PlanError,
    StartError, StopReason, emergency_stop_publisher,
};
use noise::result;
use private::Private;

/// Returns how often the threads whose name begins with `name` have gone to sleep, and the number
/// of these threads.
fn sleeps(name: &str) -> (u64, usize) {
    let mut threads = (0, 0);
    for thread in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let read = |file| fs::read_to_string(thread.path().join(file)).unwrap_or_default();
        if !read("comm").starts_with(name) {
            continue;
        }
        let status = read("status");
        let count = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        threads.0 += count.map_or(0, |count| count.trim().parse::<u64>().unwrap());
        threads.1 += 1;
    }
    threads
}

fn message(number: u64) -> CmdVel {
    CmdVel {
        timestamp_ns: number,
        ..CmdVel::default()
    }
}

/// Each of many nodes handles its own messages in their order, on few threads, and costs nothing
/// while there are none.
#[test]
fn a_thousand_nodes_share_two_threads() {
    const NODES: usize = 1000;
    const ROUNDS: u64 = 20;
    let (mut scheduler, private) = Private::alone();
    scheduler.actors("thousand").threads(2).build().unwrap();
    let handled = Arc::new(AtomicU64::new(0));
    let mut publishers = Vec::new();
    for number in 0..NODES {
        let topic = format!("imu_{number}");
        publishers.push(private.publisher::<CmdVel>(&topic, Qos::reliable()));
        let mut imu = private.subscriber::<CmdVel>(&topic, Qos::reliable());
        let node = scheduler.node(&format!("imu {number}")).on(&imu);
        let handled = Arc::clone(&handled);
        let mut next = 0;
        let tick = move |_: &mut Context<'_>| {
            while let Some(message) = imu.recv() {
                assert_eq!(message.timestamp_ns, next);
                next += 1;
                handled.fetch_add(1, Ordering::Relaxed);
            }
        };
        node.on_group_threads("thousand").build(tick).unwrap();
    }
    let running = scheduler.start().unwrap();
    // Two that run nodes, and eight that wait for topics.
    until("ten have their name", || sleeps("thousand").1 == 10);
    let mut sent = 0;
    let begin = Instant::now();
    for number in 0..ROUNDS {
        for publisher in &mut publishers {
            publisher.send(message(number)).unwrap();
            sent += 1;
        }
        if number % 4 == 0 {
            until("all are handled", || {
                handled.load(Ordering::Relaxed) == sent
            });
        }
    }
    until("all are handled", || {
        handled.load(Ordering::Relaxed) == sent
    });
    let took = begin.elapsed();
    thread::sleep(Duration::from_millis(200));
    // WHY again: a busy machine may delay the threads before their sleep.
    let is_idle = (0..10).any(|_| {
        let before = sleeps("thousand").0;
        thread::sleep(Duration::from_secs(3));
        let idle = sleeps("thousand").0 - before;
        let text = format!("{sent} messages in {took:?}, 10 threads, {idle} wake-ups in 3 s idle");
        result("scheduler_shared/thousand", &text);
        idle <= 20
    });
    assert!(is_idle);
    assert_eq!(sleeps("thousand").1, 10, "no thread was added");
    // A node that sleeps is woken by one message.
    publishers[NODES / 2].send(message(ROUNDS)).unwrap();
    until("one is handled", || {
        handled.load(Ordering::Relaxed) == sent + 1
    });
    let report = running.finish().unwrap();
    let node = report.node("imu 500").unwrap();
    assert_eq!(node.class, NodeClass::Event);
    assert!((1..=ROUNDS + 1).contains(&node.metrics.ticks));
}

/// Topics beyond those at which eight threads can sleep are looked at every millisecond.
#[test]
fn more_topics_than_threads_can_wait_for_wake_their_nodes() {
    const NODES: usize = 40;
    let (mut scheduler, private) = Private::alone();
    scheduler.actors("many").threads(1).build().unwrap();
    let (done, ticked) = mpsc::channel();
    let mut publishers = Vec::new();
    for number in 0..NODES {
        let mut node = scheduler.node(&format!("node {number}"));
        let topic = format!("many_{number}");
        publishers.push(private.publisher::<CmdVel>(&topic, Qos::new()));
        // WHY 30 subscribers of one topic: 1,200 topics take long to make.
        let mut all = Vec::new();
        for _ in 0..30 {
            let subscriber = private.subscriber::<CmdVel>(&topic, Qos::new());
            node = node.on(&subscriber);
            all.push(subscriber);
        }
        let done = done.clone();
        let tick = move |_: &mut Context<'_>| {
            let received: usize = all.iter_mut().map(|one| one.try_iter().count()).sum();
            done.send((number, received)).unwrap();
        };
        node.on_group_threads("many").build(tick).unwrap();
    }
    let running = scheduler.start().unwrap();
    for publisher in &mut publishers {
        publisher.send(CmdVel::default()).unwrap();
    }
    let mut received = [0; NODES];
    while received != [30; NODES] {
        let (number, count) = ticked.recv_timeout(LONG).unwrap();
        received[number] += count;
    }
    running.finish().unwrap();
}

/// Notes its calls, and fails as the message says.
struct Noted {
    commands: Subscriber<CmdVel>,
    calls: mpsc::Sender<String>,
}

impl Noted {
    fn note(&self, call: &str) {
        self.calls.send(call.to_owned()).unwrap();
    }
}

impl Node for Noted {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.note("init");
        Ok(())
    }

    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        let number = self
            .commands
            .recv()
            .map_or(0, |message| message.timestamp_ns);
        self.note(&format!("tick {number}"));
        match number {
            666 => Err("on purpose".into()),
            667 => panic!("on purpose"),
            _ => Ok(()),
        }
    }

    fn shutdown(&mut self) -> NodeResult {
        self.note("shutdown");
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.note("safe");
    }
}

/// Commands, failure policies and emergency stops have the same effects on a node that shares a
/// thread as on others.
#[test]
fn commands_and_policies_are_those_of_other_nodes() {
    let (private, recorded) = (Private::new(), Recorded::default());
    let mut scheduler = recorded.scheduler(&private);
    scheduler.actors("fleet").threads(2).build().unwrap();
    let mut publisher = private.publisher::<CmdVel>("commands", Qos::reliable());
    let commands = private.subscriber::<CmdVel>("commands", Qos::reliable());
    let (sender, calls) = mpsc::channel();
    let policy = FailurePolicy::Restart {
        max: 3,
        backoff: Duration::from_millis(1),
    };
    let node = scheduler
        .node("driver")
        .on(&commands)
        .on_group_threads("fleet");
    let noted = Noted {
        commands,
        calls: sender,
    };
    node.failure_policy(policy).build(noted).unwrap();
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    let next = || calls.recv_timeout(LONG).unwrap();
    let none = || {
        thread::sleep(Duration::from_millis(50));
        assert_eq!(calls.try_recv(), Err(mpsc::TryRecvError::Empty));
    };
    let mut send = |number| publisher.send(message(number)).unwrap();
    assert_eq!(next(), "init");
    send(1);
    assert_eq!(next(), "tick 1");
    none();

    handle.pause("driver").unwrap();
    let health = || handle.metrics("driver").unwrap().health;
    until("it pauses", || health() == Health::Paused);
    send(2);
    none();
    handle.resume("driver").unwrap();
    assert_eq!(next(), "tick 2");

    // The group is paused, so its nodes are.
    handle.pause("fleet").unwrap();
    send(3);
    none();
    handle.resume("fleet").unwrap();
    assert_eq!(next(), "tick 3");

    for failing in [666, 667] {
        send(failing);
        send(4);
        let wanted = [&format!("tick {failing}"), "shutdown", "init", "tick 4"];
        wanted.iter().for_each(|call| assert_eq!(next(), *call));
    }
    let metrics = handle.metrics("driver").unwrap();
    assert_eq!((metrics.failures, metrics.panics), (2, 1));

    let mut stop = emergency_stop_publisher(private.namespace()).unwrap();
    let (mut rounds, mut slow_rounds) = (0, 0);
    while rounds < 3 || slow_rounds == rounds {
        assert!(rounds < 30, "no round was fast");
        let begin = Instant::now();
        stop.send(EmergencyStop::engage("test", "on purpose"))
            .unwrap();
        assert_eq!(next(), "safe");
        // A group that is not safe after 100 ms is reported. A busy machine may delay it.
        slow_rounds += u64::from(begin.elapsed() >= Duration::from_millis(50));
        send(5 + rounds);
        none();
        stop.send(EmergencyStop::release("test", "over")).unwrap();
        assert_eq!(next(), format!("tick {}", 5 + rounds));
        rounds += 1;
    }
    assert!(recorded.count("fleet", NodeEvent::FAILED) <= slow_rounds);

    handle.stop_node("driver").unwrap();
    assert_eq!(next(), "shutdown");
    assert_eq!(ticks(&handle, "driver"), 7 + rounds);
    let report = running.finish().unwrap();
    assert_eq!(
        report.node("driver").unwrap().metrics.health,
        Health::Stopped
    );
}

#[test]
fn a_burst_is_one_tick_and_none_begins_too_soon() {
    const SENT: u64 = 40;
    let (mut scheduler, private) = Private::alone();
    scheduler.actors("fleet").threads(1).build().unwrap();
    let mut publisher = private.publisher::<CmdVel>("commands", Qos::reliable());
    let mut commands = private.subscriber::<CmdVel>("commands", Qos::reliable());
    let node = scheduler.node("driver").on(&commands).at_most(50.hz());
    let (sender, noted) = mpsc::channel();
    let tick = move |context: &mut Context<'_>| {
        let received = commands.try_iter().count() as u64;
        sender.send((context.started_ns(), received)).unwrap();
    };
    node.on_group_threads("fleet").build(tick).unwrap();
    let running = scheduler.start().unwrap();
    for number in 0..SENT {
        publisher.send(message(number)).unwrap();
        thread::sleep(Duration::from_millis(2));
    }
    let (mut all, mut received) = (Vec::new(), 0);
    while received < SENT {
        let tick = noted.recv_timeout(LONG).unwrap();
        received += tick.1;
        all.push(tick);
    }
    running.finish().unwrap();
    assert_eq!(received, SENT);
    let is_late = |pair: &[(u64, u64)]| pair[1].0 - pair[0].0 >= 20_000_000;
    assert!(all.windows(2).all(is_late), "{all:?}");
    assert!(all.len() < SENT as usize, "a tick a message: {all:?}");
}

/// A node whose input stays silent misses, without a message that wakes it.
#[test]
fn a_silent_input_is_a_miss() {
    let (mut scheduler, private) = Private::alone();
    scheduler.actors("fleet").threads(1).build().unwrap();
    let commands = private.subscriber::<CmdVel>("commands", Qos::new());
    let mut node = scheduler.node("driver");
    let _input = node
        .subscribe_with_timeout::<CmdVel>("lidar", Duration::from_millis(30))
        .unwrap();
    let node = node
        .on(&commands)
        .on_miss(MissPolicy::Stop)
        .on_group_threads("fleet");
    node.build(|_: &mut Context<'_>| {}).unwrap();
    let error = scheduler.run().unwrap_err().to_string();
    assert!(
        error.contains("driver") && error.contains("lidar"),
        "{error}"
    );
}

/// Notes that it enters its safe state, and its end.
struct Wheel(mpsc::Sender<String>);

impl Actor for Wheel {
    type Message = ();

    fn handle(&mut self, (): (), _: &mut actor::Context<'_, Self>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.0.send("wheel safe".to_owned()).unwrap();
    }

    fn shutdown(&mut self) -> NodeResult {
        self.0.send("wheel shutdown".to_owned())?;
        Ok(())
    }
}

/// At the end, a node whose tick does not return is left behind, and the others are shut down, in
/// their safe state, also if no thread of the group is left.
#[test]
fn a_tick_that_does_not_return_is_left_behind() {
    for threads in [1, 2] {
        let (mut scheduler, private) = Private::alone();
        let actors = scheduler.actors("fleet").threads(threads).build().unwrap();
        let mut publisher = private.publisher::<CmdVel>("commands", Qos::new());
        let (first, second) = (
            private.subscriber::<CmdVel>("commands", Qos::new()),
            private.subscriber::<CmdVel>("commands", Qos::new()),
        );
        let (release, block) = mpsc::channel::<()>();
        let (began, hangs) = mpsc::channel();
        let node = scheduler.node("hung").on(&first).on_group_threads("fleet");
        let tick = move |_: &mut Context<'_>| {
            began.send(()).unwrap();
            block.recv().unwrap_err();
        };
        node.build(tick).unwrap();
        let (sender, calls) = mpsc::channel();
        let (sent, wheel_calls) = mpsc::channel();
        let _wheel = actors.options().safe_state().spawn(Wheel(sent)).unwrap();
        let noted = Noted {
            commands: second,
            calls: sender,
        };
        let node = scheduler
            .node("other")
            .order(1)
            .on(&noted.commands)
            .on_group_threads("fleet");
        node.build(noted).unwrap();
        let running = scheduler.start().unwrap();
        publisher.send(message(1)).unwrap();
        hangs.recv_timeout(LONG).unwrap();
        let next = || calls.recv_timeout(LONG).unwrap();
        assert_eq!(next(), "init");
        if threads == 2 {
            assert_eq!(next(), "tick 1");
        }
        let report = running.finish().unwrap_err().into_report().unwrap();
        let error = report.reason.to_string();
        assert!(error.contains("hung"), "{error}");
        assert_eq!(report.nodes.len(), 3, "{report}");
        let mut last: Vec<_> = calls.try_iter().collect();
        last.retain(|call| call != "tick 1");
        assert_eq!(last, ["safe", "shutdown"], "{threads} threads");
        let wheel: Vec<_> = wheel_calls.try_iter().collect();
        assert_eq!(wheel, ["wheel safe", "wheel shutdown"], "{threads} threads");
        drop(release);
    }
}

/// A node that shares the threads of a group ends with this group, also in an emergency stop, and
/// if the group is stopped before the start.
#[test]
fn a_node_ends_with_the_group_whose_threads_it_shares() {
    for (begins_stopped, is_emergency) in [(false, false), (false, true), (true, false)] {
        let (mut scheduler, private) = Private::alone();
        scheduler.actors("fleet").threads(1).build().unwrap();
        let commands = private.subscriber::<CmdVel>("commands", Qos::new());
        let (sender, calls) = mpsc::channel();
        let node = scheduler
            .node("driver")
            .on(&commands)
            .on_group_threads("fleet");
        let noted = Noted {
            commands,
            calls: sender,
        };
        node.build(noted).unwrap();
        let handle = scheduler.handle();
        if begins_stopped {
            handle.stop_node("fleet").unwrap();
        }
        let running = scheduler.start().unwrap();
        let next = || calls.recv_timeout(LONG).unwrap();
        assert_eq!(next(), "init");
        let mut stop = emergency_stop_publisher(private.namespace()).unwrap();
        let engage = EmergencyStop::engage("test", "on purpose");
        if is_emergency {
            stop.send(engage).unwrap();
            assert_eq!(next(), "safe");
        }
        handle.stop_node("fleet").unwrap();
        if is_emergency {
            stop.send(EmergencyStop::release("test", "over")).unwrap();
        }
        assert_eq!(next(), "shutdown");
        let health = || handle.metrics("driver").unwrap().health;
        until("it is stopped", || health() == Health::Stopped);
        // Another emergency stop does not reach a node that was shut down.
        stop.send(engage).unwrap();
        let of_group = || handle.metrics("fleet").unwrap().health;
        until("its group is stopped", || of_group() == Health::Stopped);
        let report = running.finish().unwrap();
        let node = report.node("driver").unwrap();
        assert_eq!(node.metrics.health, Health::Stopped);
        assert!(calls.try_recv().is_err(), "it was shut down once");
    }
}

#[test]
fn simulated_runs_run_nodes_that_share_threads() {
    let (mut scheduler, private) = Private::alone();
    scheduler.actors("fleet").build().unwrap();
    let mut publisher = private.publisher::<CmdVel>("commands", Qos::new());
    let mut commands = private.subscriber::<CmdVel>("commands", Qos::new());
    let sends = move |_: &mut Context<'_>| -> NodeResult {
        publisher.send(CmdVel::default())?;
        Ok(())
    };
    scheduler.node("sends").rate(100.hz()).build(sends).unwrap();
    let node = scheduler
        .node("woken")
        .on(&commands)
        .on_group_threads("fleet");
    node.build(move |_: &mut Context<'_>| assert!(commands.recv().is_some()))
        .unwrap();
    let report = scheduler.simulate(Duration::from_secs(1), 7, 0);
    assert_eq!(report.node("woken").unwrap().metrics.ticks, 100);
    assert_eq!(report.reason, StopReason::DurationElapsed);
}

#[test]
fn a_group_has_to_be_there() {
    let (mut scheduler, private) = Private::alone();
    let commands = private.subscriber::<CmdVel>("commands", Qos::new());
    let node = scheduler
        .node("driver")
        .on(&commands)
        .on_group_threads("fleet");
    let error = node.build(|_: &mut Context<'_>| {}).unwrap_err();
    assert!(matches!(&error, PlanError::NoGroup { .. }), "{error}");
    assert!(error.to_string().contains("'fleet'"), "{error}");
    // A node with a thread is counted, one without is not.
    scheduler.actors("fleet").threads(1).build().unwrap();
    for number in 0..20_000 {
        let node = scheduler.node(&format!("driver {number}")).on(&commands);
        node.on_group_threads("fleet")
            .build(|_: &mut Context<'_>| {})
            .unwrap();
    }
    let outcome = scheduler.start();
    assert!(!matches!(outcome, Err(StartError::TooManyThreads { .. })));
}

/// Commands to a node on the threads of a group are applied also during an emergency stop.
/// Commands and stops wake the actor of a node, and are no messages that nobody handles.
#[test]
fn the_end_of_a_run_leaves_no_message_of_a_node_undelivered() {
    let (mut scheduler, private) = Private::alone();
    let group = scheduler.actors("group").threads(2).build().unwrap();
    let mut commands = private.subscriber::<CmdVel>("cmd_vel", Qos::new());
    let node = scheduler.node("shared").on(&commands);
    let tick = move |_: &mut Context<'_>| _ = commands.recv();
    node.on_group_threads("group").build(tick).unwrap();
    let running = scheduler.start().unwrap();
    let mut publisher = private.publisher::<CmdVel>("cmd_vel", Qos::new());
    publisher.send(message(0)).unwrap();
    let handle = running.handle();
    until("it ticks", || ticks(&handle, "shared") == 1);
    handle.pause("shared").unwrap();
    until("it is paused", || {
        handle.metrics("shared").unwrap().health == Health::Paused
    });
    publisher.send(message(1)).unwrap();
    handle.stop();
    running.finish().unwrap();
    assert_eq!(group.counters().undelivered, 0);
}

#[test]
fn a_node_is_paused_and_stopped_in_an_emergency_stop() {
    let private = Private::new();
    let recorded = Recorded::default();
    let mut scheduler = recorded.scheduler(&private);
    scheduler.actors("fleet").threads(1).build().unwrap();
    let commands = private.subscriber::<CmdVel>("commands", Qos::new());
    let (sender, noted) = mpsc::channel();
    let node = scheduler.node("driver").on(&commands);
    let driver = Noted {
        commands,
        calls: sender,
    };
    node.on_group_threads("fleet").build(driver).unwrap();
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    let next = || noted.recv_timeout(LONG).unwrap();
    assert_eq!(next(), "init");
    let mut stop = emergency_stop_publisher(private.namespace()).unwrap();
    stop.send(EmergencyStop::engage("test", "on purpose"))
        .unwrap();
    assert_eq!(next(), "safe");
    let entered = || recorded.count("fleet", NodeEvent::SAFE_STATE_ENTERED) > 0;
    until("all are safe", entered);
    handle.pause("driver").unwrap();
    until("it is paused", || {
        recorded.count("driver", NodeEvent::PAUSED) == 1
    });
    handle.resume("driver").unwrap();
    until("it is resumed", || {
        recorded.count("driver", NodeEvent::RESUMED) == 1
    });
    handle.stop_node("driver").unwrap();
    assert_eq!(next(), "shutdown");
    running.finish().unwrap();
}
