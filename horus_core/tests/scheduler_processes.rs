//! Schedulers and other processes: status, black box, commands and emergency stops.

use horus_testing as _;

mod actors;
#[path = "scheduler_processes/emergency.rs"]
mod emergency;
mod forked;
#[path = "scheduler_processes/forks.rs"]
mod forks;
mod noise;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use actors::{Child, End, arm, exit, hear, namespace_in, private_dir, role, say, until};
use emergency::{plant, sender};
use fastrand::Rng;
use horus_core::message::{
    CmdVel, NodeCommand, NodeEvent, NodeMetrics, SchedulerStatusHeader, Text,
};
use horus_core::namespace::Namespace;
use horus_core::scheduler::{
    Context, FailurePolicy, Handle, Hertz, Node, NodeResult, Rate, RemoteError, RemoteScheduler,
    SchedulerInfo, black_box, schedulers,
};
use horus_core::topic::{Publisher, Qos, Subscriber, Topic};
use noise::rounds;
use tempfile::TempDir;

const FAULTY: [&str; 6] = ["clocked", "first", "second", "woken", "pooled", "main"];

/// Not a test: entry point of the re-executed child process; does nothing without a role.
#[test]
fn child_role() {
    let Some((role, dir)) = role() else { return };
    match role.as_str() {
        "faulty" => faulty(&dir),
        "shown" => shown(&dir),
        "plant" => plant(&dir),
        "sender" => sender(&dir),
        "forks" => forks::fork_while_a_scheduler_starts(&dir),
        other => panic!("no role '{other}'"),
    }
}

/// A directory for namespaces, and the default namespace in it.
struct Site {
    // Before the directory: fields are dropped in this order.
    namespace: Arc<Namespace>,
    dir: TempDir,
}

impl Site {
    fn new() -> Self {
        let dir = private_dir();
        Self {
            namespace: namespace_in(dir.path()),
            dir,
        }
    }

    fn child(&self, role: &str) -> Child {
        Child::spawn(role, self.dir.path())
    }

    /// Returns the only scheduler, which has published a status.
    fn only(&self) -> SchedulerInfo {
        let mut all = schedulers(&self.namespace).unwrap();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    /// Waits until the scheduler `is_so`.
    fn await_scheduler(&self, what: &str, is_so: impl Fn(&SchedulerInfo) -> bool) -> SchedulerInfo {
        let look = || schedulers(&self.namespace).unwrap().into_iter().next();
        until(what, || {
            look().is_some_and(|info| info.status.is_some() && is_so(&info))
        });
        self.only()
    }

    /// Waits until the scheduler has published its status `times` times more.
    fn await_statuses(&self, times: u32) -> SchedulerInfo {
        for _ in 0..times {
            let shown_ns = monotonic_ns(&self.only());
            self.await_scheduler("publishes its status", |info| monotonic_ns(info) > shown_ns);
        }
        self.only()
    }

    fn await_node(&self, what: &str, name: &str, is_so: impl Fn(&NodeMetrics) -> bool) {
        self.await_scheduler(&format!("{name}: {what}"), |info| {
            info.nodes
                .iter()
                .any(|node| node.name == *name && is_so(node))
        });
    }

    fn await_state(&self, name: &str, state: u8) {
        self.await_node(&format!("state {state}"), name, |node| node.state == state);
    }

    fn node(&self, name: &str) -> NodeMetrics {
        node_of(&self.only(), name)
    }

    fn events(&self) -> Vec<NodeEvent> {
        black_box(&self.namespace, "arm").unwrap()
    }

    fn await_event(&self, kind: u8, node: &str) -> NodeEvent {
        let find = || {
            self.events()
                .into_iter()
                .find(|event| event.kind == kind && event.node == *node)
        };
        until(&format!("event {kind} of '{node}'"), || find().is_some());
        find().unwrap()
    }
}

fn monotonic_ns(info: &SchedulerInfo) -> u64 {
    info.status.map_or(0, |status| status.monotonic_ns)
}

fn node_of(info: &SchedulerInfo, name: &str) -> NodeMetrics {
    *info.nodes.iter().find(|node| node.name == *name).unwrap()
}

fn is_running(info: &SchedulerInfo) -> bool {
    info.status
        .is_some_and(|status| status.state == SchedulerStatusHeader::STATE_RUNNING)
}

fn is_halted(info: &SchedulerInfo) -> bool {
    info.status
        .is_some_and(|status| status.state == SchedulerStatusHeader::STATE_EMERGENCY_STOP)
}

// The black box.

/// Requests in every tick a swap that fails before its next tick, and reports that before. WHY a
/// swap: the black box leaves out most events of other failures that repeat.
struct Faulty {
    name: &'static str,
    handle: Handle,
    work: Option<Publisher<CmdVel>>,
    input: Option<Subscriber<CmdVel>>,
}

impl Faulty {
    const fn new(name: &'static str, handle: Handle) -> Self {
        Self {
            name,
            handle,
            work: None,
            input: None,
        }
    }
}

/// A node of another type, from which no swap can make anything.
struct Other;

impl Node for Other {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }
}

impl Node for Faulty {
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        if let Some(work) = &mut self.work {
            work.send(CmdVel::new(0.0, 0.0))?;
        }
        if let Some(input) = &mut self.input {
            let _ = input.recv();
        }
        say(format_args!("{} {}", self.name, context.tick()));
        let same = |other: Other| other;
        self.handle.swap_with(self.name, same, same)?;
        Ok(())
    }
}

fn faulty(dir: &Path) {
    let mut scheduler = arm(dir);
    let namespace = namespace_in(dir);
    let handle = scheduler.handle();
    let mut add = |name, rate: Rate, chain: Option<&str>| {
        let node = scheduler.node(name).rate(rate);
        let node = if name == "pooled" {
            node.compute()
        } else {
            node
        };
        let node = match chain {
            Some(chain) => node.chain(chain),
            None => node,
        };
        node.build(Faulty::new(name, handle.clone())).unwrap();
    };
    add("clocked", 500.hz(), None);
    add("first", 200.hz(), Some("chain"));
    add("second", 200.hz(), Some("chain"));
    add("pooled", 300.hz(), None);
    let work = Topic::<CmdVel>::builder("work")
        .namespace(&namespace)
        .subscriber()
        .unwrap();
    let mut woken = Faulty::new("woken", handle.clone());
    let node = scheduler.node("woken").on(&work);
    woken.input = Some(work);
    node.build(woken).unwrap();
    let mut main = Faulty::new("main", handle);
    let mut node = scheduler.node("main");
    main.work = Some(node.publisher("work").unwrap());
    node.build(main).unwrap();
    // One node that is late in every tick, and one without events.
    let budget = Duration::from_nanos(1);
    let deadline = Duration::from_nanos(2);
    let late = scheduler
        .node("late")
        .rate(300.hz())
        .budget(budget)
        .deadline(deadline);
    late.build(|_: &mut Context<'_>| ()).unwrap();
    scheduler
        .node("quiet")
        .rate(100.hz())
        .build(|_: &mut Context<'_>| ())
        .unwrap();
    scheduler.main_rate(400.hz()).unwrap();
    let mut running = scheduler.start().unwrap();
    say(format_args!("called {}", running.name()));
    running.run_for(Duration::MAX).unwrap();
}

/// Returns the numbers of the ticks of a node whose failed swaps are in the black box. Each event
/// has the number of the tick that follows.
fn noted(events: &[NodeEvent], node: &str) -> Vec<u64> {
    let is_failure = |event: &&NodeEvent| event.kind == NodeEvent::SWAP_FAILED;
    let events = events
        .iter()
        .filter(|event| event.node == *node)
        .filter(is_failure);
    events.map(|event| event.tick - 1).collect()
}

#[test]
fn a_black_box_has_all_events_until_the_kill_except_the_last() {
    let site = Site::new();
    let mut rng = Rng::with_seed(5);
    let mut before = Vec::<NodeEvent>::new();
    let mut last_missing = 0;
    let mut found = 0;
    let mut kept = 0;
    let kills = rounds(20, 200);
    for round in 0..kills {
        let mut child = site.child("faulty");
        assert_eq!(child.await_word("called"), "called arm", "round {round}");
        FAULTY
            .iter()
            .for_each(|node| _ = child.await_word(&format!("{node} ")));
        let has_ticked = |node: &NodeMetrics| node.name == *"quiet" || node.ticks > 0;
        site.await_scheduler("lives", |info| {
            info.process_id == Some(child.id())
                && info.is_alive
                && is_running(info)
                && (round > 0 || info.nodes.iter().all(has_ticked))
        });
        let id = child.id();
        let is_late = |event: &NodeEvent| {
            event.kind == NodeEvent::MISSED && event.node == *"late" && event.process_id == id
        };
        until("'late' is late", || site.events().iter().any(is_late));
        let mut remote = RemoteScheduler::open(&site.namespace, "arm").unwrap();
        for command in 0..rng.usize(..6) {
            if command % 2 == 0 {
                remote.pause("quiet")
            } else {
                remote.resume("quiet")
            }
            .unwrap();
            thread::sleep(Duration::from_micros(rng.usize(..20_000) as u64));
        }
        thread::sleep(Duration::from_micros(rng.usize(..300_000) as u64));
        child.kill();
        let events = site.events();
        let mine: Vec<_> = events
            .iter()
            .filter(|event| event.process_id == child.id())
            .copied()
            .collect();
        for node in FAULTY {
            let told = child.told(&format!("{node} ")).len() as u64;
            let noted = noted(&mine, node);
            let case = format!("round {round}, {node}: told {told}, noted {noted:?}");
            assert!(
                noted.windows(2).all(|pair| pair[1] == pair[0] + 1),
                "{case}"
            );
            let next = noted.last().map_or(0, |last| last + 1);
            assert!(next == told || next + 1 == told, "{case}");
            assert!(noted.len() as u64 >= next.min(64), "{case}");
            last_missing += told - next;
            found += noted.len();
        }
        let is_pause =
            |event: &&NodeEvent| matches!(event.kind, NodeEvent::PAUSED | NodeEvent::RESUMED);
        let pauses: Vec<_> = mine
            .iter()
            .filter(is_pause)
            .map(|event| event.kind)
            .collect();
        let in_turn = [NodeEvent::PAUSED, NodeEvent::RESUMED].into_iter().cycle();
        assert!(
            pauses.iter().copied().eq(in_turn.take(pauses.len())),
            "{pauses:?}"
        );
        assert!(
            mine.iter()
                .any(|event| event.kind == NodeEvent::SCHEDULER_STARTED)
        );
        assert!(mine.iter().any(is_late));
        // An old event is overwritten only by a new one.
        let stayed = before.iter().filter(|event| events.contains(event)).count();
        assert!(
            before.len() - stayed <= mine.len(),
            "{} - {stayed}",
            before.len()
        );
        kept += stayed;
        before = events;
        let info = site.only();
        assert!(!info.is_alive);
        assert_eq!(
            (info.name.as_str(), info.process_id),
            ("arm", Some(child.id()))
        );
        assert!(
            is_running(&info) && info.nodes.len() == 8,
            "the last status: {info:?}"
        );
        assert!(round > 0 || info.nodes.iter().all(has_ticked));
        let error = remote.pause("quiet").unwrap_err();
        assert!(matches!(error, RemoteError::NotRunning { .. }), "{error}");
    }
    assert!(kept > 0, "no event outlived a restart");
    noise::result(
        "scheduler_black_box",
        format!(
            "{kills} kills, {found} failures found, none out of order, the last one missing of \
             {last_missing} of {} threads' nodes, {kept} events of earlier runs kept",
            kills * FAULTY.len() as u64
        ),
    );
}

// Metrics and commands.

/// Reports each due time, and its period.
struct Steady;

impl Node for Steady {
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        say(format_args!(
            "due {} {}",
            context.scheduled_ns(),
            context.period().as_nanos()
        ));
        Ok(())
    }

    fn shutdown(&mut self) -> NodeResult {
        say("steady is shut down");
        Ok(())
    }
}

static HANGS: AtomicBool = AtomicBool::new(false);

fn shown(dir: &Path) {
    let mut scheduler = arm(dir);
    scheduler
        .node("steady")
        .rate(100.hz())
        .build(Steady)
        .unwrap();
    let bad = scheduler
        .node("bad")
        .rate(50.hz())
        .failure_policy(FailurePolicy::Ignore);
    bad.build(|_: &mut Context<'_>| -> NodeResult { Err("no such port".into()) })
        .unwrap();
    let planner = scheduler
        .node("planner")
        .compute()
        .watchdog(Duration::from_millis(50));
    let hang = |_: &mut Context<'_>| {
        while HANGS.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
    };
    planner.build(hang).unwrap();
    scheduler
        .node("idle")
        .build(|_: &mut Context<'_>| ())
        .unwrap();
    thread::spawn(|| {
        while let Some(word) = hear() {
            HANGS.store(word == "hang", Ordering::Relaxed);
        }
    });
    exit(scheduler.run());
}

fn sum(buckets: &[u64]) -> u64 {
    buckets.iter().sum()
}

#[test]
fn metrics_are_seen_from_another_process_while_nodes_run() {
    let site = Site::new();
    let mut child = site.child("shown");
    child.await_word("due");
    site.await_scheduler("runs", is_running);
    for _ in 0..5 {
        let ticks = site.node("steady").ticks;
        site.await_node("ticks", "steady", |node| node.ticks > ticks);
    }
    site.await_node("fails", "bad", |node| {
        node.last_error.as_str().starts_with("no such port")
    });
    let bad = site.node("bad");
    assert!(bad.failures > 0 && bad.panics == 0, "{bad:?}");
    let mut remote = RemoteScheduler::open(&site.namespace, "arm").unwrap();
    remote.pause("").unwrap();
    for node in ["steady", "bad", "planner", "idle"] {
        site.await_state(node, NodeMetrics::STATE_PAUSED);
    }
    // The first status may show a tick that was half done.
    let paused = site.await_statuses(2);
    let later = site.await_statuses(3);
    for node in &paused.nodes {
        assert_eq!(sum(&node.durations), node.ticks, "{node}");
        assert_eq!(sum(&node.lateness), node.ticks, "{node}");
        assert_eq!(
            node_of(&later, node.name.as_str()).ticks,
            node.ticks,
            "it is paused: {node}"
        );
    }
    assert_eq!(
        node_of(&paused, "bad").failures,
        node_of(&paused, "bad").ticks
    );
    remote.resume("").unwrap();
    site.await_state("planner", NodeMetrics::STATE_ACTIVE);
    child.tell("hang");
    site.await_state("planner", NodeMetrics::STATE_STUCK);
    let ticks = site.node("planner").ticks;
    let others = site.node("steady").ticks;
    site.await_node("goes on", "steady", |node| node.ticks > others + 10);
    assert_eq!(site.node("planner").ticks, ticks);
    child.tell("go on");
    site.await_state("planner", NodeMetrics::STATE_ACTIVE);
    site.await_event(NodeEvent::STUCK, "planner");
    site.await_event(NodeEvent::RECOVERED, "planner");
    remote.stop().unwrap();
    assert_eq!(child.wait(), End::Code(0));
    let info = site.only();
    assert!(!info.is_alive);
    assert_eq!(
        info.status.unwrap().state,
        SchedulerStatusHeader::STATE_STOPPED
    );
    assert!(
        info.nodes
            .iter()
            .all(|node| node.state == NodeMetrics::STATE_STOPPED),
        "{info:?}"
    );
}

#[test]
fn commands_from_another_process_are_applied_or_refused() {
    let site = Site::new();
    let nobody = RemoteScheduler::open(&site.namespace, "arm").unwrap_err();
    assert!(matches!(nobody, RemoteError::NotRunning { .. }), "{nobody}");
    let mut child = site.child("shown");
    child.await_word("due");
    site.await_scheduler("runs", |info| is_running(info) && info.nodes.len() == 4);
    let mut remote = RemoteScheduler::open(&site.namespace, "arm").unwrap();

    remote.pause("steady").unwrap();
    site.await_state("steady", NodeMetrics::STATE_PAUSED);
    let ticks = site.await_statuses(1);
    let still = site.await_statuses(3);
    assert_eq!(
        node_of(&ticks, "steady").ticks,
        node_of(&still, "steady").ticks
    );
    assert!(
        node_of(&ticks, "idle").ticks < node_of(&still, "idle").ticks,
        "it is not paused"
    );
    remote.resume("steady").unwrap();
    let ticks = node_of(&still, "steady").ticks;
    site.await_node("goes on", "steady", |node| node.ticks > ticks + 3);

    remote.set_rate("steady", 125.hz()).unwrap();
    let changed = site.await_event(NodeEvent::RATE_CHANGED, "steady");
    assert_eq!(changed.value_ns, 8_000_000);
    site.await_node("has another period", "steady", |node| {
        node.period_ns == 8_000_000
    });
    assert_rate(&mut child, 8_000_000);
    remote.set_rate("steady", 20.hz()).unwrap();
    site.await_node("has another period", "steady", |node| {
        node.period_ns == 50_000_000
    });
    assert_rate(&mut child, 50_000_000);

    let error = remote.set_rate("planner", 10.hz()).unwrap_err();
    assert!(matches!(error, RemoteError::NoRate { .. }), "{error}");
    // The scheduler also refuses it if a program sends it without looking.
    let topic = Topic::<NodeCommand>::builder("horus/schedulers/arm/commands");
    let topic = topic.namespace(&site.namespace).qos(Qos::command());
    let mut commands = topic.publisher().unwrap();
    let name = |node: &str| Text::new(node).unwrap();
    let set_rate = NodeCommand::new(NodeCommand::SET_RATE, name("planner"));
    commands.send(set_rate.with_rate_hz(10.0)).unwrap();
    let refused = site.await_event(NodeEvent::COMMAND, "planner");
    assert!(refused.text.as_str().contains("has no rate"), "{refused}");
    let error = remote.pause("wheel").unwrap_err();
    let wanted = "scheduler 'arm' has no node 'wheel'; there are: ";
    assert!(error.to_string().starts_with(wanted), "{error}");

    remote.stop_node("steady").unwrap();
    site.await_state("steady", NodeMetrics::STATE_STOPPED);
    child.await_word("steady is shut down");
    let error = remote.resume("steady").unwrap_err();
    assert!(matches!(error, RemoteError::NodeStopped { .. }), "{error}");
    let resume = NodeCommand::new(NodeCommand::RESUME, name("steady"));
    commands.send(resume).unwrap();
    let then = site.await_statuses(1);
    let later = site.await_statuses(3);
    assert_eq!(
        node_of(&then, "steady").ticks,
        node_of(&later, "steady").ticks
    );
    assert_eq!(node_of(&later, "steady").state, NodeMetrics::STATE_STOPPED);

    remote.stop().unwrap();
    assert_eq!(child.wait(), End::Code(0));
    assert_eq!(child.count("steady is shut down"), 1);
    let error = remote.stop().unwrap_err();
    assert!(matches!(error, RemoteError::NotRunning { .. }), "{error}");
}

/// Checks that ticks at a new period are due that long after one another, or a multiple of it if
/// ticks were skipped.
fn assert_rate(child: &mut Child, period_ns: u64) {
    let mut dues = Vec::new();
    loop {
        let word = child.await_word("due ");
        let numbers: Vec<u64> = word
            .split(' ')
            .skip(1)
            .map(|part| part.parse().unwrap())
            .collect();
        if numbers[1] != period_ns {
            assert!(dues.is_empty(), "it is back at another rate: {word}");
            continue;
        }
        dues.push(numbers[0]);
        // The first was due by the previous rate.
        let [_, .., before, last] = dues[..] else {
            continue;
        };
        assert_eq!((last - before) % period_ns, 0, "{dues:?}");
        if last - before == period_ns {
            return;
        }
    }
}

// Emergency stops.
