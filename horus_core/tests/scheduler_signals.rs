//! Termination signals to schedulers that stop on them: none is lost, nothing is left, and the exit
//! code is right.

use horus_testing as _;

mod actors;
#[path = "scheduler_signals/failed.rs"]
mod failed;
mod noise;
#[path = "scheduler_signals/repeated.rs"]
mod repeated;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use actors::{Child, End, arm, exit, hear, namespace_in, role, say};
use fastrand::Rng;
use horus_core::message::{CmdVel, NodeEvent, SchedulerStatusHeader};
use horus_core::scheduler::{
    Context, Hertz, Node, NodeResult, Rate, RunError, Scheduler, black_box, schedulers,
};
use horus_core::topic::{Qos, Topic};
use noise::rounds;
use tempfile::TempDir;

/// Not a test: entry point of the re-executed child process; does nothing without a role.
#[test]
fn child_role() {
    let Some((role, dir)) = role() else { return };
    match role.split_once(' ').unwrap_or((&role, "")) {
        ("short", _) => short(&dir),
        ("hangs", class) => hangs(&dir, class),
        ("fails_at_end", _) => failed::fails_at_end(&dir),
        ("hangs_at_end", _) => ends_by(&dir, hang),
        ("slow_end", _) => ends_by(&dir, || thread::sleep(Duration::from_millis(100))),
        ("detached", _) => detached(&dir),
        ("stormed", _) => stormed(&dir),
        ("restored", _) => restored(&dir),
        (other, _) => panic!("no role '{other}'"),
    }
}

fn shm_dir() -> TempDir {
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    tempfile::Builder::new()
        .permissions(private)
        .tempdir_in("/dev/shm")
        .unwrap()
}

/// Reports its initialisation, first tick and shutdown; calls `tick` in its ticks, and `end` in its
/// shutdown.
struct Saying<T, E> {
    name: &'static str,
    tick: T,
    end: E,
}

impl<T, E> Node for Saying<T, E>
where
    T: FnMut(&mut Context<'_>) + Send + 'static,
    E: FnMut() + Send + 'static,
{
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        say(format_args!("init {}", self.name));
        Ok(())
    }

    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        if context.tick() == 0 {
            say(format_args!("tick {}", self.name));
        }
        (self.tick)(context);
        Ok(())
    }

    fn shutdown(&mut self) -> NodeResult {
        say(format_args!("end {}", self.name));
        (self.end)();
        Ok(())
    }
}

/// Makes a node that only reports its calls.
fn plain(name: &'static str) -> Saying<fn(&mut Context<'_>), fn()> {
    Saying {
        name,
        tick: |_| {},
        end: || {},
    }
}

const NAMES: [&str; 4] = ["clocked", "pooled", "woken", "main"];

/// Makes a scheduler with a node of each kind, in this order; `build` adds each node.
fn nodes(
    dir: &Path,
    mut build: impl FnMut(horus_core::scheduler::NodeBuilder<'_>, &'static str),
) -> Scheduler {
    let mut scheduler = arm(dir);
    scheduler.stop_on_signals();
    let work = Topic::<CmdVel>::builder("work").namespace(&namespace_in(dir));
    let work = work.subscriber().unwrap();
    let never = Duration::from_secs(3600);
    for (order, name) in NAMES.into_iter().enumerate() {
        let node = scheduler.node(name).order(order as i32).watchdog(never);
        build(
            match name {
                "clocked" => node.rate(200.hz()),
                "pooled" => node.compute().rate(200.hz()),
                "woken" => node.on(&work),
                _ => node,
            },
            name,
        );
    }
    // WHY: a node whose subscriber was dropped ends, and none of these receives.
    std::mem::forget(work);
    scheduler
}

/// Returns the nodes that were shut down, in order.
fn ends(child: &mut Child) -> Vec<String> {
    child.told("end ")
}

fn is_reversed(child: &mut Child) -> bool {
    let mut begun = child.told("init ");
    begun.reverse();
    begun == child.told("end ")
}

// Signals at any time.

/// Runs for some milliseconds.
fn short(dir: &Path) {
    let scheduler = nodes(dir, |node, name| {
        let end = || thread::sleep(Duration::from_millis(2));
        node.build(Saying {
            name,
            tick: |_: &mut Context<'_>| {},
            end,
        })
        .unwrap();
    });
    exit(scheduler.run_for(Duration::from_millis(15)));
}

/// Returns the topics that are left in a directory.
fn left(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(namespace_in(dir).topics_path()).unwrap();
    let mut names: Vec<_> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        // Lane files go with their topic.
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

#[test]
fn a_signal_at_any_time_ends_a_process_with_its_number_and_leaves_nothing() {
    let mut rng = Rng::with_seed(26);
    // The duration of a child, from its first moment to its last.
    let begin = Instant::now();
    {
        let dir = shm_dir();
        let mut child = Child::spawn("short", dir.path());
        child.await_word("over 0");
        assert_eq!(child.wait(), End::Code(0));
    }
    let life_us = begin.elapsed().as_micros() as usize;
    let (mut outcomes, mut worst) = (BTreeMap::<&str, u64>::new(), Duration::ZERO);
    let points = rounds(100, 1000);
    for point in 0..points {
        let dir = shm_dir();
        let mut child = Child::spawn("short", dir.path());
        let word = match point % 5 {
            0 | 1 => None,
            2 => Some("init "),
            3 => Some("tick "),
            _ => Some("end "),
        };
        match word {
            Some(word) => {
                child.await_word(word);
                thread::sleep(Duration::from_micros(rng.usize(..life_us / 4) as u64));
            }
            None => thread::sleep(Duration::from_micros(rng.usize(..life_us) as u64)),
        }
        let signal = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP][rng.usize(..3)];
        child.signal(signal);
        let sent = Instant::now();
        let mut words = std::iter::from_fn(|| child.try_listen().map(str::to_owned));
        let over = words.find(|word| word.starts_with("over "));
        if over.as_deref() == Some("over 0") {
            // WHY: the signal came too late for the report, so it ends the process, as soon as the
            // thread that received it runs. The process stays until then.
            while child.try_listen().is_some() {}
        }
        let end = child.wait();
        worst = worst.max(sent.elapsed());
        let case = format!("point {point}: {end:?} by {signal}, {:?}", child.said());
        let begun = child.told("init ").len();
        let ended = ends(&mut child).len();
        let outcome = match end {
            End::Code(code) => {
                assert_eq!(code, 128 + signal, "{case}");
                assert!(is_reversed(&mut child), "{case}");
                assert_eq!(child.told("over "), [code.to_string()], "{case}");
                let names = ["emergency_stop", "events", "graph", "status"];
                let left = left(dir.path());
                assert!(
                    left.iter()
                        .all(|file| names.iter().any(|name| file.ends_with(name))),
                    "{left:?}"
                );
                let info = schedulers(&namespace_in(dir.path())).unwrap().remove(0);
                assert!(!info.is_alive, "{case}");
                let state = info.status.unwrap().state;
                assert_eq!(state, SchedulerStatusHeader::STATE_STOPPED, "{case}");
                if begun < NAMES.len() {
                    "reported, in the start"
                } else {
                    "reported"
                }
            }
            // Before the handlers are installed, or after they were removed.
            End::Signal(by) => {
                assert_eq!(by, signal, "{case}");
                assert!(
                    begun == 0 || (ended == NAMES.len() && is_reversed(&mut child)),
                    "{case}"
                );
                if begun == 0 {
                    "by default, before"
                } else {
                    "by default, after"
                }
            }
        };
        *outcomes.entry(outcome).or_default() += 1;
    }
    assert!(outcomes.contains_key("reported"), "{outcomes:?}");
    noise::result(
        "scheduler_signals",
        format!("{points} points: {outcomes:?}, the last exit after at most {worst:?}"),
    );
}

// Hanging nodes.

static HANGING: AtomicBool = AtomicBool::new(false);

/// Runs a scheduler in which the node of this name hangs in its first tick.
fn hangs(dir: &Path, hanging: &str) {
    let hanging = hanging.to_owned();
    let scheduler = nodes(dir, |node, name| {
        if name != hanging {
            return node.build(plain(name)).unwrap();
        }
        let tick = |_: &mut Context<'_>| {
            HANGING.store(true, Ordering::Relaxed);
            say("hangs");
            loop {
                thread::park();
            }
        };
        node.build(Saying {
            name,
            tick,
            end: || {},
        })
        .unwrap();
    });
    let report = scheduler.run().or_else(RunError::into_report).unwrap();
    let is_left = |error: &String| error == "a tick does not end: its thread was left behind";
    for node in report
        .nodes
        .iter()
        .filter(|node| node.last_error.as_ref().is_some_and(is_left))
    {
        say(format_args!("left {}", node.name));
    }
    say(format_args!("all {}", report.nodes.len()));
    exit(Ok(report));
}

#[test]
fn a_node_that_hangs_is_left_behind_and_named_when_a_signal_comes() {
    let mut best = Duration::MAX;
    let mut worst = Duration::ZERO;
    let kinds = [
        ("clocked", libc::SIGINT),
        ("pooled", libc::SIGTERM),
        ("woken", libc::SIGINT),
    ];
    for (round, (name, signal)) in kinds.into_iter().cycle().take(30).enumerate() {
        if round >= kinds.len() && best < Duration::from_secs(1) {
            break;
        }
        let dir = shm_dir();
        let mut child = Child::spawn(&format!("hangs {name}"), dir.path());
        child.await_word("tick main");
        let work = Topic::<CmdVel>::builder("work").namespace(&namespace_in(dir.path()));
        let mut work = work.publisher().unwrap();
        work.send(CmdVel::new(0.0, 0.0)).unwrap();
        if child.count("hangs") == 0 {
            child.await_word("hangs");
        }
        let sent = Instant::now();
        child.signal(signal);
        child.await_word("over ");
        worst = worst.max(sent.elapsed());
        assert_eq!(child.wait(), End::Code(1), "{name}: {:?}", child.said());
        best = best.min(sent.elapsed());
        assert_eq!(child.told("left "), [name]);
        assert_eq!(child.told("all "), ["4"]);
        let others: Vec<_> = NAMES
            .into_iter()
            .rev()
            .filter(|other| *other != name)
            .collect();
        assert_eq!(ends(&mut child), others);
        // The supervisor has time to report the end.
        let namespace = namespace_in(dir.path());
        let events = black_box(&namespace, "arm").unwrap();
        let stuck = events
            .iter()
            .find(|event| event.kind == NodeEvent::STUCK)
            .unwrap();
        assert_eq!(stuck.node, *name);
        let last = events.last().unwrap();
        assert_eq!(last.kind, NodeEvent::SCHEDULER_STOPPED, "{last}");
        let text = format!("because of {name}: a tick does not end: its thread was left behind");
        assert_eq!(last.text.as_str(), text);
        let status = schedulers(&namespace).unwrap().remove(0).status.unwrap();
        assert_eq!(status.state, SchedulerStatusHeader::STATE_STOPPED);
    }
    // The guarantee. WHY the best: a busy machine may delay any of them.
    assert!(
        best < Duration::from_secs(1),
        "the process was there for {best:?} at least"
    );
    noise::result(
        "scheduler_hangs",
        format!("3 kinds of nodes, over after at most {worst:?}"),
    );
}

/// Runs a scheduler whose node `woken` calls `shut_down` in its shutdown.
fn ends_by(dir: &Path, shut_down: fn()) {
    let scheduler = nodes(dir, |node, name| {
        let end = move || {
            if name == "woken" {
                shut_down();
            }
        };
        node.build(Saying {
            name,
            tick: |_: &mut Context<'_>| {},
            end,
        })
        .unwrap();
    });
    exit(scheduler.run());
}

fn hang() {
    say("hangs");
    loop {
        thread::park();
    }
}

// A closed terminal.

/// Runs with SIGHUP ignored, as `nohup` starts programs, until another signal stops it.
fn detached(dir: &Path) {
    // SAFETY: the action is one of the two that every signal can have.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    let scheduler = nodes(dir, |node, name| {
        node.build(plain(name)).unwrap();
    });
    exit(scheduler.run());
}

#[test]
fn a_program_that_ignores_a_closed_terminal_runs_on() {
    let dir = shm_dir();
    let mut child = Child::spawn("detached", dir.path());
    child.await_word("tick main");
    child.signal(libc::SIGHUP);
    thread::sleep(Duration::from_millis(50));
    child.signal(libc::SIGTERM);
    assert_eq!(child.wait(), End::Code(128 + libc::SIGTERM));
    assert!(is_reversed(&mut child), "{:?}", child.said());
}

// Other signals.

static STORMED: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: libc::c_int) {
    STORMED.fetch_add(1, Ordering::Relaxed);
}

/// Runs until a signal stops it, and counts faults.
fn stormed(dir: &Path) {
    for signal in [libc::SIGCHLD, libc::SIGALRM] {
        // SAFETY: an action of zeros is valid.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // WHY without SA_RESTART: every system call is interrupted.
        action.sa_sigaction = count as *const () as usize;
        // SAFETY: the action is valid, and its handler only counts.
        let status = unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
        assert_eq!(status, 0);
    }
    let mut scheduler = arm(dir);
    scheduler.stop_on_signals();
    scheduler.on_event(|event| say(format_args!("event {event}")));
    let qos = Qos::command().capacity(1024);
    let topic = || {
        Topic::<CmdVel>::builder("work")
            .namespace(&namespace_in(dir))
            .qos(qos)
    };
    let mut work = topic().subscriber().unwrap();
    let mut sender = topic().publisher().unwrap();
    let mut sent = 0_u64;
    let mut received = 0_u64;
    let mut before_ns = 0;
    let clocked = move |context: &mut Context<'_>| {
        assert!(context.started_ns() >= context.scheduled_ns(), "too early");
        assert!(context.scheduled_ns() > before_ns, "twice");
        before_ns = context.scheduled_ns();
        sender.send(CmdVel::new(sent as f32, 0.0)).unwrap();
        sent += 1;
    };
    scheduler
        .node("clocked")
        .rate(250.hz())
        .build(clocked)
        .unwrap();
    let woken = scheduler.node("woken").on(&work);
    let receive = move |_: &mut Context<'_>| {
        for message in work.try_iter() {
            assert_eq!(message.linear, received as f32, "lost");
            received += 1;
            if received.is_multiple_of(100) {
                say(format_args!("received {received}"));
            }
        }
    };
    woken.build(receive).unwrap();
    let pooled = scheduler.node("pooled").compute().rate(100.hz());
    pooled
        .build(|_: &mut Context<'_>| thread::sleep(Duration::from_micros(300)))
        .unwrap();
    scheduler
        .node("main")
        .build(|_: &mut Context<'_>| ())
        .unwrap();
    scheduler.main_rate(Rate::hz(200.0)).unwrap();
    let report = scheduler.run().or_else(RunError::into_report).unwrap();
    for node in &report.nodes {
        assert!(
            node.metrics.ticks > 0 && node.metrics.failures == 0,
            "{node:?}"
        );
    }
    say(format_args!("storms {}", STORMED.load(Ordering::Relaxed)));
    exit(Ok(report));
}

#[test]
fn many_other_signals_disturb_no_node() {
    let dir = shm_dir();
    let mut child = Child::spawn("stormed", dir.path());
    child.await_word("received 100");
    let mut sent = 0_u64;
    while child.count("received 500") == 0 {
        for signal in [libc::SIGCHLD, libc::SIGALRM] {
            child.signal(signal);
            sent += 1;
        }
        thread::sleep(Duration::from_millis(1));
    }
    child.signal(libc::SIGTERM);
    assert_eq!(
        child.wait(),
        End::Code(128 + libc::SIGTERM),
        "{:?}",
        child.said()
    );
    let events = child.told("event ");
    let is_bad = |event: &String| event.contains("failed") || event.contains("panicked");
    assert!(!events.iter().any(is_bad), "{events:?}");
    let got: u64 = child.told("storms ")[0].parse().unwrap();
    // Signals of one kind that come together count as one.
    assert!(got > 0 && got <= sent, "{got} of {sent}");
    noise::result(
        "scheduler_storm",
        format!("{sent} signals sent, {got} arrived, nothing failed"),
    );
}

// Afterwards.

fn action_of(signal: i32) -> usize {
    // SAFETY: an action of zeros is valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: null requests no change, and the action is valid for the write.
    let status = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    assert_eq!(status, 0);
    action.sa_sigaction
}

/// Runs twice, with another handler for SIGTERM before and after.
fn restored(dir: &Path) {
    // SAFETY: the handler only counts.
    unsafe { libc::signal(libc::SIGTERM, count as *const () as usize) };
    for _ in 0..2 {
        let mut scheduler = arm(dir);
        scheduler.stop_on_signals();
        scheduler
            .node("main")
            .build(|_: &mut Context<'_>| ())
            .unwrap();
        let mut running = scheduler.start().unwrap();
        assert_ne!(action_of(libc::SIGINT), libc::SIG_DFL);
        assert_ne!(action_of(libc::SIGTERM), count as *const () as usize);
        // A second scheduler beside it changes nothing, and neither does its end.
        let mut other = arm(dir);
        other.stop_on_signals();
        drop(other.start().unwrap());
        assert_ne!(action_of(libc::SIGINT), libc::SIG_DFL);
        running.run_for(Duration::from_millis(5)).unwrap();
        let report = running.finish().unwrap();
        assert_eq!(report.exit_code(), 0);
        assert_eq!(action_of(libc::SIGINT), libc::SIG_DFL);
        assert_eq!(action_of(libc::SIGTERM), count as *const () as usize);
    }
    say("over");
    while let Some(word) = hear() {
        if word == "count" {
            say(format_args!("counted {}", STORMED.load(Ordering::Relaxed)));
        }
    }
}

#[test]
fn signal_handlers_are_restored_after_a_run() {
    let dir = shm_dir();
    let mut child = Child::spawn("restored", dir.path());
    child.await_word("over");
    child.signal(libc::SIGTERM);
    child.tell("count");
    while child.await_word("counted") != "counted 1" {
        child.tell("count");
    }
    child.signal(libc::SIGINT);
    assert_eq!(child.wait(), End::Signal(libc::SIGINT));
}
