//! An emergency stop, from another process.

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use horus_core::message::{CmdVel, EmergencyStop, NodeEvent, NodeMetrics};
use horus_core::scheduler::{
    Context, Hertz, Node, NodeResult, Rate, RemoteScheduler, emergency_stop_publisher,
};
use horus_core::topic::Topic;

use super::{Site, is_halted, is_running, monotonic_ns, node_of};
use crate::actors::{Child, End, arm, exit, hear, namespace_in, private_dir, say, until};

/// Reports its initialisation and each entry into its safe state.
struct Machine {
    name: String,
}

impl Node for Machine {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        say(format_args!("init {}", self.name));
        Ok(())
    }

    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        say(format_args!("safe {}", self.name));
    }
}

/// The nodes that tick often, and those that tick seldom.
const QUICK: [&str; 6] = ["clocked", "first", "second", "woken", "pooled", "main"];
const SLOW: [&str; 2] = ["slow clocked", "slow pooled"];

pub(crate) fn plant(dir: &Path) {
    let mut scheduler = arm(dir);
    let machine = |name: &str| Machine {
        name: name.to_owned(),
    };
    let hour = Rate::every(Duration::from_secs(3600));
    scheduler
        .node("clocked")
        .rate(200.hz())
        .build(machine("clocked"))
        .unwrap();
    scheduler
        .node("slow clocked")
        .rate(hour)
        .build(machine("slow clocked"))
        .unwrap();
    for name in ["first", "second"] {
        scheduler
            .node(name)
            .rate(100.hz())
            .chain("chain")
            .build(machine(name))
            .unwrap();
    }
    let topic = Topic::<CmdVel>::builder("work").namespace(&namespace_in(dir));
    let mut work = topic.subscriber().unwrap();
    let woken = scheduler.node("woken").on(&work);
    struct Woken<F>(Machine, F);
    impl<F: FnMut() + Send + 'static> Node for Woken<F> {
        fn init(&mut self, context: &mut Context<'_>) -> NodeResult {
            self.0.init(context)
        }

        fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
            (self.1)();
            Ok(())
        }

        fn enter_safe_state(&mut self) {
            self.0.enter_safe_state();
        }
    }
    woken
        .build(Woken(machine("woken"), move || _ = work.try_iter().count()))
        .unwrap();
    scheduler
        .node("pooled")
        .compute()
        .rate(100.hz())
        .build(machine("pooled"))
        .unwrap();
    scheduler
        .node("slow pooled")
        .compute()
        .rate(hour)
        .build(machine("slow pooled"))
        .unwrap();
    scheduler.node("main").build(machine("main")).unwrap();
    exit(scheduler.run());
}

pub(crate) fn sender(dir: &Path) {
    let mut publisher = emergency_stop_publisher(&namespace_in(dir)).unwrap();
    publisher
        .send(EmergencyStop::engage("sender", "a hand in the gear"))
        .unwrap();
    say("engaged");
    while hear().is_some() {}
}

/// Sends messages to the node on topics until `is_so`.
fn with_work(site: &Site, what: &str, mut is_so: impl FnMut() -> bool) {
    let topic = Topic::<CmdVel>::builder("work").namespace(&site.namespace);
    let mut work = topic.publisher().unwrap();
    until(what, || {
        work.send(CmdVel::new(0.0, 0.0)).unwrap();
        is_so()
    });
}

/// Checks that all quick nodes tick, and that the status shows all nodes as active.
fn assert_runs(site: &Site) {
    let before = site.await_scheduler("runs", |info| is_running(info) && info.nodes.len() == 8);
    with_work(site, "all tick", || {
        let now = site.only();
        QUICK
            .iter()
            .all(|name| node_of(&now, name).ticks > node_of(&before, name).ticks + 2)
    });
    for name in QUICK.iter().chain(&SLOW) {
        site.await_state(name, NodeMetrics::STATE_ACTIVE);
    }
}

/// Checks that all nodes are in their safe states, and that none ticks, even if there are messages.
fn assert_stands_still(site: &Site) {
    site.await_scheduler("stands still", is_halted);
    for name in QUICK.iter().chain(&SLOW) {
        site.await_state(name, NodeMetrics::STATE_SAFE);
    }
    let before = site.await_statuses(1);
    let shown_ns = monotonic_ns(&before);
    with_work(site, "some time passes", || {
        monotonic_ns(&site.only()) > shown_ns + 400_000_000
    });
    let after = site.only();
    for name in QUICK.iter().chain(&SLOW) {
        assert_eq!(
            node_of(&after, name).ticks,
            node_of(&before, name).ticks,
            "{name} ticked"
        );
    }
    assert!(is_halted(&after));
}

/// Checks how often each node has entered its safe state.
fn assert_entered(child: &mut Child, times: usize) {
    for name in QUICK.iter().chain(&SLOW) {
        let word = format!("safe {name}");
        until(&word, || child.count(&word) >= times);
        assert_eq!(child.count(&word), times, "{name}: {:?}", child.said());
    }
}

#[test]
fn an_emergency_stop_reaches_every_node_once_and_lasts_until_it_is_released() {
    let site = Site::new();
    let mut child = site.child("plant");
    assert_runs(&site);
    assert_entered(&mut child, 0);
    let mut button = emergency_stop_publisher(&site.namespace).unwrap();
    let mut stops = 0;
    for again in [false, true, false] {
        button
            .send(EmergencyStop::engage("button", "test"))
            .unwrap();
        stops += 1;
        assert_stands_still(&site);
        assert_entered(&mut child, stops);
        if again {
            let mut other = emergency_stop_publisher(&site.namespace).unwrap();
            other.send(EmergencyStop::engage("other", "test")).unwrap();
            button
                .send(EmergencyStop::engage("button", "test"))
                .unwrap();
            // A node can be paused and resumed meanwhile.
            let mut remote = RemoteScheduler::open(&site.namespace, "arm").unwrap();
            remote.pause("clocked").unwrap();
            site.await_event(NodeEvent::PAUSED, "clocked");
            let is_safe = |node: &NodeMetrics| node.state == NodeMetrics::STATE_SAFE;
            site.await_node("paused", "clocked", |node| {
                is_safe(node) && node.is_paused == 1
            });
            assert_eq!(site.node("pooled").is_paused, 0);
            remote.resume("clocked").unwrap();
            site.await_event(NodeEvent::RESUMED, "clocked");
            site.await_node("resumed", "clocked", |node| {
                is_safe(node) && node.is_paused == 0
            });
            assert_stands_still(&site);
            assert_entered(&mut child, stops);
        }
        button
            .send(EmergencyStop::release("button", "test"))
            .unwrap();
        assert_runs(&site);
        assert_entered(&mut child, stops);
    }
    let stopped = site
        .events()
        .iter()
        .filter(|event| event.kind == NodeEvent::EMERGENCY_STOP)
        .count();
    assert_eq!(stopped, stops);
    // The run can be ended during an emergency stop, and no node enters its safe state twice.
    button
        .send(EmergencyStop::engage("button", "test"))
        .unwrap();
    assert_stands_still(&site);
    RemoteScheduler::open(&site.namespace, "arm")
        .unwrap()
        .stop()
        .unwrap();
    assert_eq!(child.wait(), End::Code(0));
    assert_entered(&mut child, stops + 1);
}

#[test]
fn an_emergency_stop_outlives_its_sender_and_applies_before_the_start() {
    let site = Site::new();
    let mut early = site.child("plant");
    assert_runs(&site);
    let mut hand = site.child("sender");
    hand.await_word("engaged");
    hand.kill();
    assert_stands_still(&site);
    assert_entered(&mut early, 1);
    early.kill();
    let mut late = site.child("plant");
    site.await_scheduler("began anew", |info| {
        info.process_id == Some(late.id()) && is_halted(info)
    });
    assert_stands_still(&site);
    // A node that was not initialised does not enter its safe state.
    assert!(
        late.told("init ").is_empty() && late.told("safe ").is_empty(),
        "{:?}",
        late.said()
    );
    assert!(site.only().nodes.iter().all(|node| node.ticks == 0));
    let mut button = emergency_stop_publisher(&site.namespace).unwrap();
    button
        .send(EmergencyStop::release("button", "test"))
        .unwrap();
    assert_runs(&site);
    late.kill();
    let mut last = site.child("plant");
    site.await_scheduler("began anew", |info| {
        info.process_id == Some(last.id()) && is_running(info)
    });
    assert_runs(&site);
    assert_entered(&mut last, 0);
}

/// A sender may be delayed between the creation of its message and `send`.
#[test]
fn an_older_release_does_not_end_a_newer_emergency_stop() {
    let dir = private_dir();
    let mut scheduler = arm(dir.path());
    let (record, events) = channel();
    scheduler.on_event(move |event| _ = record.send((event.kind, event.text)));
    scheduler
        .node("main")
        .build(|_: &mut Context<'_>| {})
        .unwrap();
    let running = scheduler.start().unwrap();
    let publisher = || emergency_stop_publisher(&namespace_in(dir.path())).unwrap();
    let (mut one, mut other) = (publisher(), publisher());
    // Returns the next event of an emergency stop.
    let next = || {
        let kinds = [
            NodeEvent::EMERGENCY_STOP,
            NodeEvent::EMERGENCY_OVER,
            NodeEvent::COMMAND,
        ];
        let mut events = std::iter::from_fn(|| events.recv_timeout(Duration::from_secs(120)).ok());
        let (kind, text) = events.find(|(kind, _)| kinds.contains(kind)).unwrap();
        (kind, text.as_str().to_owned())
    };
    let old = EmergencyStop::release("other", "");
    one.send(EmergencyStop::engage("one", "")).unwrap();
    assert_eq!(next().0, NodeEvent::EMERGENCY_STOP);
    other.send(old).unwrap();
    let (kind, text) = next();
    assert_eq!(kind, NodeEvent::COMMAND, "{text}");
    assert!(text.starts_with("emergency release, older than"), "{text}");
    assert!(text.contains("by other"), "{text}");
    // A message without this time, and a newer one, apply.
    let unstamped = EmergencyStop {
        monotonic_ns: 0,
        ..old
    };
    other.send(unstamped).unwrap();
    assert_eq!(next().0, NodeEvent::EMERGENCY_OVER);
    // A time in the future does not keep later messages from applying.
    let mut early = EmergencyStop::engage("one", "");
    early.monotonic_ns = u64::MAX;
    one.send(early).unwrap();
    assert_eq!(next().0, NodeEvent::EMERGENCY_STOP);
    other.send(EmergencyStop::release("other", "")).unwrap();
    assert_eq!(next().0, NodeEvent::EMERGENCY_OVER);
    // A stop that comes late is still wanted.
    other.send(EmergencyStop { engaged: 1, ..old }).unwrap();
    assert_eq!(next().0, NodeEvent::EMERGENCY_STOP);
    running.finish().unwrap();
}
