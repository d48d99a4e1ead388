//! A publisher that a subscriber of a node cannot map for lack of memory is an event of that node,
//! and so is it if the subscriber matches no publisher. A publisher of the emergency stop that the
//! scheduler cannot map stops all nodes.

use horus_testing as _;

mod executors;
mod private;

use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use executors::{LONG, supervisor_time, ticks, until};
use horus_core::message::{EmergencyStop, NodeEvent};
use horus_core::prelude::*;
use horus_core::scheduler::{Health, Running, emergency_stop_publisher};
use private::Private;

const ROLE: &str = "HORUS_TEST_ROLE";
/// The slots of a lane, which then takes more than 4 MiB.
const CAPACITY: u64 = 1 << 17;
/// The nodes that messages wake: one with its own thread, and one on the threads of a group.
const WOKEN: [&str; 2] = ["woken", "shared"];
/// A time longer than that between two attempts to map a lane.
const TWO_ATTEMPTS: Duration = Duration::from_millis(250);

/// Returns the bytes of address space that this process uses.
fn address_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
}

/// Allows this process `more` bytes of address space; without limit for `None`.
fn limit_address_bytes(more: Option<u64>) {
    let limit = libc::rlimit {
        rlim_cur: more.map_or(libc::RLIM_INFINITY, |bytes| address_bytes() + bytes),
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the limit is valid.
    let status = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    assert_eq!(status, 0);
}

/// Returns the new events about lanes, of all nodes: node, kind, text.
fn news(events: &Receiver<NodeEvent>) -> Vec<(String, u8, String)> {
    let about_lanes = [
        NodeEvent::LANE_NOT_MAPPED,
        NodeEvent::LANE_MAPPED,
        NodeEvent::INCOMPATIBLE,
        NodeEvent::COMPATIBLE,
    ];
    let events = events
        .try_iter()
        .filter(|event| about_lanes.contains(&event.kind));
    let mut news: Vec<_> = events
        .map(|event| (event.node.to_string(), event.kind, event.text.to_string()))
        .collect();
    news.sort();
    news
}

/// Runs until each of the `nodes` subscribers that the scheduler knows has an event, and for a
/// while longer.
fn tick_until_news(
    nodes: usize,
    running: &mut Running,
    events: &Receiver<NodeEvent>,
) -> Vec<(String, u8, String)> {
    let begin = Instant::now();
    let mut all = Vec::new();
    while all.len() < nodes {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "no event: {all:?}"
        );
        running.run_for(Duration::from_millis(20)).unwrap();
        all.extend(news(events));
    }
    running.run_for(TWO_ATTEMPTS).unwrap();
    all.extend(news(events));
    all.sort();
    all
}

/// Not a test: entry point of the re-executed child process, which has little memory.
#[test]
fn child_role() {
    let Some(role) = std::env::var_os(ROLE) else {
        return;
    };
    // SAFETY: the call takes no pointer. One heap, which is large enough.
    assert_eq!(unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) }, 1);
    if role == "stop" {
        miss_emergency_stop();
    } else if role == "release" {
        miss_publisher_at_release();
    } else {
        miss_publishers();
    }
    println!("@well");
}

fn miss_publishers() {
    let private = Private::new();
    let qos = Qos::new().capacity(CAPACITY);
    let mut scheduler = private.scheduler();
    let (sender, events) = channel();
    scheduler.on_event(move |event| sender.send(*event).unwrap_or_default());
    let mut asked = scheduler.node("asked");
    let mut commands = asked.subscriber_with::<CmdVel>("cmd_vel", qos).unwrap();
    let reads = |commands: &mut Subscriber<CmdVel>| while commands.recv().is_some() {};
    asked
        .build(move |_: &mut Context<'_>| reads(&mut commands))
        .unwrap();
    let mut commands = private.subscriber::<CmdVel>("cmd_vel", qos);
    let given = scheduler.node("given").reads(&commands).reads(&commands);
    given
        .build(move |_: &mut Context<'_>| reads(&mut commands))
        .unwrap();
    let mut commands = private.subscriber::<CmdVel>("cmd_vel", qos);
    let unknown = scheduler.node("unknown");
    unknown
        .build(move |_: &mut Context<'_>| reads(&mut commands))
        .unwrap();
    scheduler.actors("fleet").threads(1).build().unwrap();
    for name in WOKEN {
        let mut commands = private.subscriber::<CmdVel>("cmd_vel", qos);
        let mut node = scheduler.node(name).on(&commands);
        if name == "shared" {
            node = node.on_group_threads("fleet");
        }
        node.build(move |_: &mut Context<'_>| reads(&mut commands))
            .unwrap();
    }
    let mut running = scheduler.start().unwrap();
    let handle = running.handle();
    for lane in 0..2 {
        let mut publisher = private.publisher::<CmdVel>("cmd_vel", qos);
        limit_address_bytes(Some(1 << 20));
        publisher.send(CmdVel::new(0.5, 0.0)).unwrap();
        let all = tick_until_news(4, &mut running, &events);
        let named: Vec<_> = all
            .iter()
            .map(|(node, kind, _)| (node.as_str(), *kind))
            .collect();
        let kind = NodeEvent::LANE_NOT_MAPPED;
        assert_eq!(
            named,
            ["asked", "given", "shared", "woken"].map(|node| (node, kind)),
            "once each: {all:?}"
        );
        for part in [
            format!("bytes of lane {lane} "),
            "'cmd_vel'".into(),
            "RLIMIT_AS".into(),
        ] {
            assert!(
                all.iter().all(|(_, _, text)| text.contains(&part)),
                "no '{part}': {all:?}"
            );
        }
        let begin = Instant::now();
        let before = WOKEN.map(|node| ticks(&handle, node));
        running.run_for(TWO_ATTEMPTS).unwrap();
        let after = WOKEN.map(|node| ticks(&handle, node));
        // One in a millisecond, and those at both ends of the time.
        let most = begin.elapsed().as_millis() as u64 + 2;
        for (index, node) in WOKEN.into_iter().enumerate() {
            let passed = after[index] - before[index];
            assert!(
                passed <= most,
                "{node} does not pause: {passed} ticks in {most} ms"
            );
        }
        limit_address_bytes(None);
        let all = tick_until_news(4, &mut running, &events);
        let well = |node: &str| {
            (
                node.to_owned(),
                NodeEvent::LANE_MAPPED,
                "cmd_vel".to_owned(),
            )
        };
        assert_eq!(all, ["asked", "given", "shared", "woken"].map(well));
        // The next round needs another lane, and this one must not be free before.
        std::mem::forget(publisher);
    }
    running.finish().unwrap();
    assert_eq!(news(&events), [], "nodes that end have no such events");
}

/// A publisher of the emergency stop comes that cannot be mapped. The stop that it sends cannot be
/// seen, so it counts as engaged from the beginning.
fn miss_emergency_stop() {
    let private = Private::new();
    let mut scheduler = private.scheduler();
    let (sender, events) = channel();
    scheduler.on_event(move |event| sender.send(*event).unwrap_or_default());
    let node = scheduler.node("driver").rate(100.hz());
    node.build(|_: &mut Context<'_>| {}).unwrap();
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    let health = || handle.metrics("driver").unwrap().health;
    // Returns the texts of the next events of these kinds, which concern no node.
    let next = |kinds: &[u8]| -> Vec<String> {
        let end = Instant::now() + LONG;
        let left = || end.saturating_duration_since(Instant::now());
        let mut all = std::iter::from_fn(|| events.recv_timeout(left()).ok());
        let next = |kind: &u8| {
            let event = all.find(|event| event.kind == *kind && event.node.is_empty());
            event.expect("such an event").to_string()
        };
        kinds.iter().map(next).collect()
    };
    for is_engaged in [false, true] {
        // The publisher can map its lane, and the scheduler cannot map it, too.
        limit_address_bytes(Some(6 << 20));
        let qos = Qos::latched().capacity(CAPACITY / 4);
        let mut publisher = private.publisher::<EmergencyStop>("emergency_stop", qos);
        let kinds = [NodeEvent::EMERGENCY_STOP, NodeEvent::LANE_NOT_MAPPED];
        let texts = next(&kinds);
        let advice = "EMERGENCY STOP until all publishers of 'emergency_stop' can be read: \
                      free memory, raise the limit, or end the publisher";
        assert_eq!(texts[0], advice);
        assert!(texts[1].contains("RLIMIT_AS"), "{texts:?}");
        assert!(texts[1].contains("'emergency_stop'"), "{texts:?}");
        until("it is safe", || health() == Health::Safe);
        if is_engaged {
            // A release from elsewhere does not tell what the other publisher has sent.
            let mut other = emergency_stop_publisher(private.namespace()).unwrap();
            other.send(EmergencyStop::release("other", "")).unwrap();
            let text = next(&[NodeEvent::COMMAND]).remove(0);
            assert!(text.contains("by other"), "{text}");
            assert!(text.contains("cannot be read"), "{text}");
            publisher.send(EmergencyStop::engage("bumper", "")).unwrap();
            let before = supervisor_time();
            std::thread::sleep(Duration::from_millis(500));
            let passed = supervisor_time().saturating_sub(before);
            assert!(passed < 25, "it does not sleep: {passed} of 50 ticks");
        }
        limit_address_bytes(None);
        if is_engaged {
            // Now it is known who has engaged it.
            let text = next(&[NodeEvent::EMERGENCY_STOP]).remove(0);
            assert!(text.contains("by bumper"), "{text}");
            std::thread::sleep(TWO_ATTEMPTS);
            assert_eq!(health(), Health::Safe);
            publisher
                .send(EmergencyStop::release("bumper", ""))
                .unwrap();
        }
        next(&[NodeEvent::EMERGENCY_OVER]);
        until("it ticks again", || health() == Health::Active);
        // The next round needs another lane, and this one must not be free before.
        std::mem::forget(publisher);
    }
    running.finish().unwrap();
}

/// The supervisor receives the release of an emergency stop when it finds a publisher that cannot
/// be mapped. No stop was engaged before.
fn miss_publisher_at_release() {
    let private = Private::new();
    let mut scheduler = private.scheduler();
    let (sender, events) = channel();
    let (go, may_go) = channel::<()>();
    scheduler.on_event(move |event| {
        sender.send(*event).unwrap_or_default();
        if event.kind == NodeEvent::EMERGENCY_OVER {
            // The supervisor calls this, so it looks at no topic meanwhile.
            may_go.recv().unwrap_or_default();
        }
    });
    let node = scheduler.node("driver").rate(100.hz());
    node.build(|_: &mut Context<'_>| {}).unwrap();
    let running = scheduler.start().unwrap();
    let next = |kinds: &[u8]| {
        let end = Instant::now() + LONG;
        let left = || end.saturating_duration_since(Instant::now());
        let mut all = std::iter::from_fn(|| events.recv_timeout(left()).ok());
        let event = all.find(|event| kinds.contains(&event.kind)).unwrap();
        (event.kind, event.to_string())
    };
    let mut known = emergency_stop_publisher(private.namespace()).unwrap();
    known.send(EmergencyStop::engage("known", "")).unwrap();
    next(&[NodeEvent::EMERGENCY_STOP]);
    known.send(EmergencyStop::release("known", "")).unwrap();
    next(&[NodeEvent::EMERGENCY_OVER]);
    limit_address_bytes(Some(6 << 20));
    let qos = Qos::latched().capacity(CAPACITY / 4);
    let publisher = private.publisher::<EmergencyStop>("emergency_stop", qos);
    known.send(EmergencyStop::release("known", "")).unwrap();
    go.send(()).unwrap();
    let kinds = [NodeEvent::COMMAND, NodeEvent::EMERGENCY_STOP];
    let (kind, text) = next(&kinds);
    assert_eq!(kind, NodeEvent::COMMAND, "{text}");
    assert!(text.contains("by known"), "{text}");
    let (kind, text) = next(&kinds);
    assert_eq!(kind, NodeEvent::EMERGENCY_STOP, "{text}");
    assert!(text.contains("until all publishers"), "{text}");
    drop(go);
    limit_address_bytes(None);
    next(&[NodeEvent::EMERGENCY_OVER]);
    running.finish().unwrap();
    drop(publisher);
}

#[test]
fn a_node_has_an_event_each_time_it_begins_to_miss_a_publisher() {
    run_child("publishers");
}

#[test]
fn an_emergency_stop_that_cannot_be_read_counts_as_engaged() {
    run_child("stop");
}

#[test]
fn an_emergency_stop_that_begins_with_a_release_is_an_event() {
    run_child("release");
}

/// Runs the child process in this role, and expects that it succeeds.
fn run_child(role: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child_role", "--exact", "--nocapture", "--test-threads=1"]);
    let child = child.env(ROLE, role).stdin(Stdio::null()).output().unwrap();
    let [output, errors] =
        [child.stdout, child.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(
        child.status.success() && output.contains("@well"),
        "{output}\n{errors}"
    );
}

#[test]
fn a_node_has_an_event_each_time_it_begins_to_match_no_publisher() {
    let (mut scheduler, private) = Private::alone();
    let (sender, events) = channel();
    scheduler.on_event(move |event| sender.send(*event).unwrap_or_default());
    let mut node = scheduler.node("reader");
    let mut commands = node.subscriber::<CmdVel>("cmd_vel").unwrap();
    let demanding = node.subscriber_with::<CmdVel>("cmd_vel", Qos::reliable());
    let mut demanding = demanding.unwrap();
    node.build(move |_: &mut Context<'_>| {
        commands.recv();
        demanding.recv();
    })
    .unwrap();
    let mut running = scheduler.start().unwrap();
    for _ in 0..2 {
        let event = |kind, text: &str| ("reader".to_owned(), kind, text.to_owned());
        let other: Publisher<Imu> = private.publisher("cmd_vel", Qos::new());
        let text = "it reads another message than they send: topic 'cmd_vel': message 'CmdVel' \
                    here, 'Imu' in the topic";
        let incompatible = event(NodeEvent::INCOMPATIBLE, text);
        let all = tick_until_news(2, &mut running, &events);
        assert_eq!(all, [incompatible.clone(), incompatible]);
        let reliable: Publisher<CmdVel> = private.publisher("cmd_vel", Qos::reliable());
        let compatible = event(NodeEvent::COMPATIBLE, "cmd_vel");
        let all = tick_until_news(2, &mut running, &events);
        assert_eq!(all, [compatible.clone(), compatible]);
        drop((other, reliable));
    }
    running.finish().unwrap();
    assert_eq!(news(&events), [], "nodes that end have no such events");
}

/// Returns the next events of a running scheduler whose kinds `kinds` lists, `count` at least:
/// node, kind, text.
fn next_events(
    running: &mut Running,
    events: &Receiver<NodeEvent>,
    kinds: &[u8],
    count: usize,
) -> Vec<(String, u8, String)> {
    let mut found = Vec::new();
    while found.len() < count {
        running.run_for(Duration::from_millis(20)).unwrap();
        let all = events
            .try_iter()
            .filter(|event| kinds.contains(&event.kind));
        found.extend(all.map(|event| (event.node.to_string(), event.kind, event.text.to_string())));
    }
    found.sort();
    found
}

#[test]
fn a_node_has_an_event_if_its_topic_loses_its_file_or_its_namespace() {
    let (mut scheduler, private) = Private::alone();
    let (sender, events) = channel();
    scheduler.on_event(move |event| sender.send(*event).unwrap_or_default());
    let mut node = scheduler.node("reader");
    let mut commands = node.subscriber::<CmdVel>("cmd_vel").unwrap();
    node.build(move |_: &mut Context<'_>| {
        commands.recv();
    })
    .unwrap();
    let mut running = scheduler.start().unwrap();
    let kinds = [NodeEvent::TOPIC_MOVED, NodeEvent::NAMESPACE_REMOVED];
    let event = |node: &str, kind, topic: &str| (node.to_owned(), kind, topic.to_owned());
    let topics = private.namespace().topics_path();
    for _ in 0..2 {
        std::fs::remove_file(topics.join("cmd_vel")).unwrap();
        let found = next_events(&mut running, &events, &kinds, 1);
        let moved = event("reader", NodeEvent::TOPIC_MOVED, "cmd_vel");
        assert_eq!(found, [moved]);
    }
    // WHY a rename: the namespace has to be lost at once, with all of its files.
    let namespace = private.namespace().path();
    std::fs::rename(namespace, namespace.with_extension("removed")).unwrap();
    let found = next_events(&mut running, &events, &kinds, 3);
    // Those without a node are the scheduler's own topics.
    let removed = |node, topic| event(node, NodeEvent::NAMESPACE_REMOVED, topic);
    let commands = format!("horus/schedulers/{}/commands", running.name());
    let all = [
        removed("", "emergency_stop"),
        removed("", &commands),
        removed("reader", "cmd_vel"),
    ];
    assert_eq!(found, all);
    running.finish().unwrap();
}
