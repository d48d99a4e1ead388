//! Tests that other processes can observe and command a scheduler, and that its topics outlive it.

mod commands;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{self, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::*;
use crate::message::DiagnosticStatus;
use crate::namespace::{NamespaceConfig, NamespaceName};
use crate::scheduler::{
    GraphNode, Hertz, NodeClass, SchedulerInfo, black_box, remove_scheduler_topics,
    scheduler_graph, schedulers,
};
use crate::topic::{Qos, Topic};

const ROLE: &str = "HORUS_MONITOR_TEST_ROLE";
const PATIENCE: Duration = Duration::from_secs(60);
const RUNNING: u8 = SchedulerStatusHeader::STATE_RUNNING;

/// A namespace in a new directory in shared memory.
struct Home {
    // Before the directory: fields are dropped in this order.
    namespace: Arc<Namespace>,
    dir: TempDir,
}

impl Home {
    fn new() -> Self {
        let private = PermissionsExt::from_mode(0o700);
        let dir = tempfile::Builder::new()
            .permissions(private)
            .tempdir_in("/dev/shm")
            .unwrap();
        Self {
            namespace: namespace_in(dir.path()),
            dir,
        }
    }

    fn open(&self, name: &str, nodes: usize, threads: usize) -> SchedulerEndpoints {
        SchedulerEndpoints::open(&self.namespace, name, &graph(nodes), threads).unwrap()
    }

    fn child(&self, role: &str) -> Child {
        Child::spawn(role, self.dir.path())
    }

    fn black_box(&self, name: &str) -> Vec<NodeEvent> {
        black_box(&self.namespace, name).unwrap()
    }

    fn only(&self) -> SchedulerInfo {
        let mut all = schedulers(&self.namespace).unwrap();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }
}

/// Returns a graph of `nodes` nodes, each of which reads what the previous one writes.
fn graph(nodes: usize) -> Graph {
    Graph::new((0..nodes).map(|index| GraphNode {
        name: format!("node {index}"),
        class: NodeClass::RealTime,
        order: -1,
        rate: (index > 0).then(|| 12.5.hz()),
        reads: vec![format!("topic_{index}")],
        writes: vec![format!("topic_{}", index + 1)],
    }))
}

fn namespace_in(dir: &Path) -> Arc<Namespace> {
    Namespace::open(&NamespaceConfig::new(dir, NamespaceName::default())).unwrap()
}

/// A child process that runs this test binary in a given role. It is killed when this value is
/// dropped.
struct Child {
    process: process::Child,
    output: BufReader<ChildStdout>,
    stdin: ChildStdin,
}

impl Child {
    fn spawn(role: &str, dir: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([
                "scheduler::remote::scheduler_endpoints::tests::child_role",
                "--exact",
                "--nocapture",
            ])
            .arg("--test-threads=1")
            .env(ROLE, format!("{role} {}", dir.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let stdin = process.stdin.take().unwrap();
        Self {
            process,
            output,
            stdin,
        }
    }

    /// Returns the next word that the child has written; `None` when the child has ended.
    fn try_listen(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            // WHY: a word that a killed child has not completed is dropped.
            if let Some(word) = line
                .strip_prefix('@')
                .and_then(|word| word.strip_suffix('\n'))
            {
                return Some(word.to_owned());
            }
            line.clear();
        }
        None
    }

    fn listen(&mut self) -> String {
        self.try_listen()
            .expect("the child ended before its next word")
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Waits until the child has ended, and checks that it was successful.
    fn finish(&mut self) {
        let _ = self.stdin.write_all(b"end\n");
        while self.try_listen().is_some() {}
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends a word to the parent process, in a single write. WHY: the test harness may be in the
/// middle of writing a line.
fn say(word: impl std::fmt::Display) {
    let line = format!("\n@{word}\n");
    // WHY: without a parent this process has nothing left to do.
    if std::io::stdout().lock().write_all(line.as_bytes()).is_err() {
        process::exit(0);
    }
}

/// Waits until the parent process ends this process, or has ended itself.
fn park() {
    let _ = std::io::stdin().read(&mut [0]);
}

fn now_ns() -> u64 {
    Clock::kernel().now_ns()
}

fn event(tick: u64, node: &str) -> NodeEvent {
    NodeEvent::new(NodeEvent::MISSED, node, now_ns()).with_tick(tick)
}

fn metrics(name: &str, ticks: u64) -> NodeMetrics {
    NodeMetrics {
        ticks,
        state: NodeMetrics::STATE_ACTIVE,
        ..NodeMetrics::new(name)
    }
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let (role, dir) = role.split_once(' ').unwrap();
    let mut endpoints =
        SchedulerEndpoints::open(&namespace_in(Path::new(dir)), "robot", &graph(2), 2).unwrap();
    say(endpoints.name());
    match role {
        "shows" => {
            let nodes = ["eye", "arm"]
                .into_iter()
                .zip(40..)
                .map(|(name, n)| metrics(name, n));
            endpoints.publish_status(RUNNING, now_ns(), nodes).unwrap();
            endpoints
                .recorder(0)
                .record(NodeEvent::new(NodeEvent::STUCK, "arm", now_ns()));
            say("shown");
            park();
        }
        "obeys" => loop {
            let command = endpoints
                .commands()
                .subscriber()
                .unwrap()
                .recv_timeout(PATIENCE)
                .unwrap();
            let heard = NodeEvent::new(NodeEvent::COMMAND, command.node.as_str(), now_ns());
            endpoints
                .recorder(1)
                .record(heard.with_text(&command.to_string()));
            say(command);
            if command.kind == NodeCommand::STOP_SCHEDULER {
                break;
            }
        },
        // Sends each number, or each hundredth, before it records it.
        "records-all" | "records-fast" => {
            let step = if role == "records-all" { 1 } else { 100 };
            let recorder = endpoints.recorder(1);
            for number in 1.. {
                if number % step == 0 {
                    say(number);
                }
                recorder.record(event(number, "counter"));
            }
        }
        other => panic!("no role called '{other}'"),
    }
}

#[test]
fn status_and_events_are_read_from_another_process_and_after_its_death() {
    let home = Home::new();
    let mut child = home.child("shows");
    assert_eq!(child.listen(), "robot");
    assert_eq!(child.listen(), "shown");
    let pid = child.process.id();
    assert_eq!(scheduler_graph(&home.namespace, "robo"), None);
    for is_alive in [true, false] {
        let found = scheduler_graph(&home.namespace, "robot");
        assert_eq!(found.as_ref(), Some(&graph(2)));
        let info = home.only();
        assert_eq!((info.name.as_str(), info.is_alive), ("robot", is_alive));
        assert_eq!(info.process_id, Some(pid));
        let status = info.status.unwrap();
        assert_eq!(
            (status.state, status.count, status.process_id),
            (RUNNING, 2, pid)
        );
        assert!(
            info.nodes
                .iter()
                .map(|node| node.name.as_str())
                .eq(["eye", "arm"])
        );
        assert!(info.nodes.iter().map(|node| node.ticks).eq([40, 41]));
        let events = home.black_box("robot");
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!(events[0].to_string(), "arm: stuck");
        assert_eq!(
            (events[0].process_id, events[0].level),
            (pid, DiagnosticStatus::ERROR)
        );
        child.kill();
    }
}

#[test]
fn the_black_box_of_a_killed_process_lacks_at_most_the_last_event() {
    const ROUNDS: u64 = 20;
    let home = Home::new();
    let mut whole = 0;
    let mut lacking = 0;
    for round in 0..ROUNDS {
        // WHY both: a child that sends every number is mostly killed while it sends one. The other
        // child is killed while it records, and then the last recorded number is unknown.
        let says_all = round % 2 == 0;
        let mut child = home.child(if says_all {
            "records-all"
        } else {
            "records-fast"
        });
        let pid = child.process.id();
        // A restarted scheduler gets the name of the killed one.
        assert_eq!(child.listen(), "robot", "round {round}");
        let wait = round * round * 7 % 1000;
        let mut said = 0;
        while said <= wait {
            said = child.listen().parse().unwrap();
        }
        child.kill();
        while let Some(word) = child.try_listen() {
            said = word.parse().unwrap();
        }
        let events = home.black_box("robot");
        let numbers: Vec<_> = events
            .iter()
            .filter(|event| event.process_id == pid)
            .map(|event| event.tick)
            .collect();
        let last = numbers.last().copied().unwrap_or(0);
        assert!(
            last + 1 >= said,
            "round {round}: said {said}, recorded {last}"
        );
        assert!(
            last <= said || !says_all,
            "round {round}: said {said}, recorded {last}"
        );
        let kept = last.min(224);
        assert!(
            numbers.iter().copied().eq(last - kept + 1..=last),
            "round {round}: {numbers:?}"
        );
        *(if last < said {
            &mut lacking
        } else {
            &mut whole
        }) += 1;
    }
    println!("RESULT black_box_kills: rounds={ROUNDS} whole={whole} without_the_last={lacking}");
}

#[test]
fn old_events_stay_until_new_ones_need_their_slots_and_are_not_this_runs() {
    let home = Home::new();
    let record = |endpoints: &SchedulerEndpoints, range: std::ops::Range<u64>| {
        let recorder = endpoints.recorder(0);
        range.for_each(|tick| recorder.record(event(tick, "old or new")));
    };
    let ticks = |events: Vec<NodeEvent>| events.iter().map(|event| event.tick).collect::<Vec<_>>();
    record(&home.open("robot", 1, 1), 0..150);
    assert_eq!(ticks(home.black_box("robot")), Vec::from_iter(0..150));
    let mut again = home.open("robot", 1, 1);
    assert_eq!(again.name(), "robot");
    assert!(again.events().recv().is_none());
    record(&again, 150..200);
    assert_eq!(ticks(home.black_box("robot")), Vec::from_iter(0..200));
    assert_eq!(
        ticks(again.events().try_iter().collect()),
        Vec::from_iter(150..200)
    );
    assert_eq!(again.events().stats().lost, 0);
    record(&again, 200..300);
    assert_eq!(ticks(home.black_box("robot")), Vec::from_iter(76..300));
}

#[test]
fn a_taken_name_gets_a_number_and_the_name_of_a_dead_scheduler_is_free() {
    let home = Home::new();
    let mut child = home.child("shows");
    assert_eq!(
        (child.listen(), child.listen()),
        ("robot".into(), "shown".into())
    );
    let second = home.open("robot", 1, 1);
    let third = home.open("robot", 1, 1);
    assert_eq!((second.name(), third.name()), ("robot-2", "robot-3"));
    drop(second);
    assert_eq!(home.open("robot", 1, 1).name(), "robot-2");
    child.kill();
    let names = |infos: Vec<SchedulerInfo>| -> Vec<_> {
        infos
            .into_iter()
            .map(|info| (info.name, info.is_alive))
            .collect()
    };
    let all = names(schedulers(&home.namespace).unwrap());
    // The second one has left, and nothing stays of a scheduler that published nothing.
    let wanted = [("robot", false), ("robot-3", true)];
    assert_eq!(
        all,
        wanted.map(|(name, is_alive)| (name.to_owned(), is_alive))
    );
    // More nodes than the topic of the dead scheduler has room for.
    let mut first = home.open("robot", 1000, 1);
    assert_eq!(first.name(), "robot");
    let nodes = (0..1000).map(|n| metrics(&format!("node {n}"), n));
    first.publish_status(RUNNING, now_ns(), nodes).unwrap();
    let info = schedulers(&home.namespace).unwrap().remove(0);
    assert_eq!((info.is_alive, info.nodes.len()), (true, 1000));
    assert_eq!(info.nodes[999].name, *"node 999");
    assert_eq!(home.black_box("robot")[0].kind, NodeEvent::STUCK);
}

#[test]
fn topics_of_another_version_are_replaced_unless_a_process_has_them_open() {
    let home = Home::new();
    let foreign = |name: &str| {
        let topic = Topic::<DiagnosticStatus>::builder(name).namespace(&home.namespace);
        let mut publisher = topic.qos(Qos::latched()).publisher().unwrap();
        publisher.send(DiagnosticStatus::default()).unwrap();
        publisher
    };
    for part in ["status", "events", "graph", "commands"] {
        drop(foreign(&format!("horus/schedulers/robot/{part}")));
    }
    let info = home.only();
    assert_eq!((info.is_alive, info.status), (false, None));
    assert_eq!(home.open("robot", 1, 1).name(), "robot");
    let graphs = |nodes| scheduler_graph(&home.namespace, "robot") == Some(graph(nodes));
    assert!(graphs(1));
    // The next run of the name has another graph, which replaces the old one.
    assert_eq!(home.open("robot", 3000, 1).name(), "robot");
    assert!(graphs(3000));
    assert_eq!(home.open("robot", 0, 1).name(), "robot");
    assert!(graphs(0));
    for part in ["status", "events", "commands"] {
        let name = format!("horus/schedulers/{part}/{part}");
        let held = foreign(&name);
        assert_eq!(home.open(part, 1, 1).name(), format!("{part}-2"));
        assert_eq!(held.publisher_count(), 1);
    }
    // Without a graph, a scheduler runs all the same.
    let _held = foreign("horus/schedulers/plain/graph");
    let endpoints = home.open("plain", 1, 1);
    assert_eq!(endpoints.name(), "plain");
    assert_eq!(scheduler_graph(&home.namespace, "plain"), None);
}

#[test]
fn a_dead_scheduler_is_forgotten_and_a_living_one_is_not() {
    let home = Home::new();
    let mut child = home.child("shows");
    assert_eq!(
        (child.listen(), child.listen()),
        ("robot".into(), "shown".into())
    );
    let mine = home.open("mine", 1, 1);
    assert!(!remove_scheduler_topics(&home.namespace, "robot").unwrap());
    assert!(!remove_scheduler_topics(&home.namespace, "mine").unwrap());
    assert_eq!(
        (home.black_box("robot").len(), home.black_box("mine").len()),
        (1, 0)
    );
    child.kill();
    drop(mine);
    for name in ["robot", "mine", "mine"] {
        assert!(
            remove_scheduler_topics(&home.namespace, name).unwrap(),
            "{name}"
        );
    }
    assert!(schedulers(&home.namespace).unwrap().is_empty());
    let left = horus_shm::topic_names(&home.namespace).unwrap();
    assert_eq!(left, [], "no emergency stop was sent");
}

#[test]
fn a_hundred_threads_record_and_lose_nothing() {
    const THREADS: usize = 100;
    const EVENTS: u64 = 64;
    let home = Home::new();
    let mut endpoints = home.open("crowd", 1, THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let recorder = endpoints.recorder(thread);
            scope.spawn(move || {
                let name = format!("thread {thread}");
                (0..EVENTS).for_each(|tick| recorder.record(event(tick, &name)));
            });
        }
    });
    for mut events in [
        home.black_box("crowd"),
        endpoints.events().try_iter().collect(),
    ] {
        assert_eq!(events.len(), THREADS * EVENTS as usize);
        for thread in 0..THREADS {
            let name = format!("thread {thread}");
            let of_thread = events.extract_if(.., |event| event.node == *name.as_str());
            assert!(of_thread.map(|event| event.tick).eq(0..EVENTS), "{name}");
        }
        assert!(events.is_empty());
    }
    assert_eq!(endpoints.events().stats().lost, 0);
}

#[test]
fn reading_a_black_box_takes_no_slot_and_is_in_order_of_time() {
    let home = Home::new();
    let endpoints = home.open("robot", 1, 2);
    let at = |monotonic_ns, thread| {
        let event = NodeEvent::new(NodeEvent::PAUSED, "arm", monotonic_ns);
        endpoints.recorder(thread).record(event);
    };
    [(30, 0), (10, 1), (40, 0), (20, 1)]
        .into_iter()
        .for_each(|(ns, thread)| at(ns, thread));
    let subscribers = endpoints.events.subscriber_count();
    let times = home
        .black_box("robot")
        .into_iter()
        .map(|event| event.monotonic_ns);
    assert!(times.eq([10, 20, 30, 40]));
    assert_eq!(home.black_box("robot").len(), 4);
    assert_eq!(endpoints.events.subscriber_count(), subscribers);
    let nobody = black_box(&home.namespace, "nobody").unwrap_err();
    assert!(
        matches!(nobody.as_open_error(), Some(OpenError::NotFound { .. })),
        "{nobody}"
    );
}

#[test]
fn a_status_is_of_one_moment_while_it_is_published_repeatedly() {
    const NODES: u64 = 50;
    let home = Home::new();
    let mut endpoints = home.open("robot", NODES as usize, 1);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut received = 0;
            while received < 100 {
                assert!(begin.elapsed() < PATIENCE, "{received} statuses received");
                let info = home.only();
                if info.status.is_some_and(|status| status.uptime_ns > 0) {
                    assert_eq!(info.nodes.len() as u64, NODES);
                    assert!(
                        info.nodes
                            .iter()
                            .all(|node| node.ticks == info.nodes[0].ticks)
                    );
                    received += 1;
                }
            }
        });
        for round in 0.. {
            let nodes = (0..NODES + 1).map(|_| metrics("node", round));
            endpoints.publish_status(RUNNING, now_ns(), nodes).unwrap();
            if reader.is_finished() {
                break;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    });
}
