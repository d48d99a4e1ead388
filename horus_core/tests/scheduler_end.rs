//! The end of a run as the program sees it: an error if a node failed, and the exit status.

use horus_testing as _;

mod actors;
mod private;
#[path = "scheduler_end/starved.rs"]
mod starved;

use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use actors::{Child, End, arm, private_dir, role};
use horus_core::message::{CmdVel, NodeEvent};
use horus_core::scheduler::{
    Context, FailurePolicy, Hertz, Node, NodeBuilder, NodeError, NodeResult, Rate, Report,
    RunError, Scheduler, StartError, StopReason,
};
use horus_core::topic::Qos;
use private::Private;

/// Not a test: entry point of the re-executed child process; does nothing without a role.
#[test]
fn child_role() -> Result<(), Box<dyn Error>> {
    let Some((role, dir)) = role() else {
        return Ok(());
    };
    match role.as_str() {
        "run failing" => simple(&dir, true),
        "run" => simple(&dir, false),
        "rounds failing" => simple_rounds(&dir, true),
        "rounds" => simple_rounds(&dir, false),
        "slow panics" => {
            slow_panics();
            Ok(())
        }
        "blocked panic" => {
            blocked_panic();
            Ok(())
        }
        other => panic!("no role '{other}'"),
    }
}

/// Adds a node that fails in its first tick, or stops the run in it.
fn add_node(scheduler: &mut Scheduler, policy: FailurePolicy, is_failing: bool) {
    let node = move |context: &mut Context<'_>| {
        if is_failing && context.tick() == 0 {
            return Err("the wheel fell off");
        }
        context.stop();
        Ok(())
    };
    scheduler
        .node("wheel")
        .failure_policy(policy)
        .build(node)
        .unwrap();
}

/// The simplest program.
fn simple(dir: &Path, is_failing: bool) -> Result<(), Box<dyn Error>> {
    let mut scheduler = arm(dir);
    add_node(&mut scheduler, FailurePolicy::Fatal, is_failing);
    scheduler.run()?;
    Ok(())
}

/// The simplest program with a main loop of its own.
fn simple_rounds(dir: &Path, is_failing: bool) -> Result<(), Box<dyn Error>> {
    let mut scheduler = arm(dir);
    add_node(&mut scheduler, FailurePolicy::Fatal, is_failing);
    let mut running = scheduler.start()?;
    while running.tick_once()? {}
    Ok(())
}

#[test]
fn the_simplest_program_ends_with_an_error_status_when_a_node_failed() {
    let dir = private_dir();
    for program in ["run", "rounds"] {
        // The harness ends with 101 when a test returns an error.
        let failing = Child::spawn(&format!("{program} failing"), dir.path()).wait();
        assert_eq!(failing, End::Code(101), "{program}");
        assert_eq!(
            Child::spawn(program, dir.path()).wait(),
            End::Code(0),
            "{program}"
        );
    }
}

/// All ways to run a scheduler to its end.
const WAYS: [fn(Scheduler) -> Result<Report, RunError>; 6] = [
    Scheduler::run,
    |scheduler| scheduler.run_for(Duration::from_secs(60)),
    |scheduler| {
        let mut running = scheduler.start()?;
        running.run_for(Duration::from_secs(60))?;
        running.finish()
    },
    |scheduler| {
        let mut running = scheduler.start()?;
        while running.tick_once()? {}
        running.finish()
    },
    // `finish` returns the error again that was ignored.
    |scheduler| {
        let mut running = scheduler.start()?;
        while running.tick_once().unwrap_or(false) {}
        running.finish()
    },
    |scheduler| {
        let mut running = scheduler.start()?;
        drop(running.run_for(Duration::from_secs(60)));
        running.finish()
    },
];

#[test]
fn every_way_to_run_gives_an_error_with_the_report_when_a_node_failed() {
    let reason = StopReason::Node {
        name: "wheel".into(),
        error: "the wheel fell off".into(),
    };
    for run in WAYS {
        let (mut scheduler, _private) = Private::alone();
        scheduler.name("cart");
        add_node(&mut scheduler, FailurePolicy::Fatal, true);
        let error = run(scheduler).unwrap_err();
        let text = "the run of scheduler 'cart' ended: node 'wheel' failed: the wheel fell off";
        assert_eq!(error.to_string(), text);
        // `main` shows one short line.
        assert!(
            format!("{error:?}").contains("the wheel fell off"),
            "{error:?}"
        );
        assert!(!format!("{error:?}").contains("histogram"), "{error:?}");
        assert_eq!(error.report().map(|report| &report.reason), Some(&reason));
        let report = error.into_report().unwrap();
        assert_eq!(
            (report.exit_code(), report.nodes[0].metrics.failures),
            (1, 1)
        );
    }
}

#[test]
fn a_failure_that_its_policy_ignores_is_no_error() {
    for run in WAYS {
        let (mut scheduler, _private) = Private::alone();
        add_node(&mut scheduler, FailurePolicy::Ignore, true);
        let report = run(scheduler).unwrap();
        assert_eq!(
            (report.reason, report.nodes[0].metrics.failures),
            (StopReason::Requested, 1)
        );
    }
}

#[test]
fn a_program_can_take_the_report_of_a_failed_run() {
    let (mut scheduler, _private) = Private::alone();
    add_node(&mut scheduler, FailurePolicy::Fatal, true);
    let report: Result<Report, StartError> = scheduler.run().or_else(RunError::into_report);
    assert!(report.unwrap().reason.is_failure());
}

#[test]
fn every_error_of_a_scheduler_is_an_error_of_the_library() {
    fn program(private: &Private) -> horus_core::Result<()> {
        let mut scheduler = private.scheduler();
        add_node(&mut scheduler, FailurePolicy::Fatal, true);
        scheduler.handle().pause("wheel")?;
        scheduler.handle().resume("wheel")?;
        let running = scheduler.start()?;
        running.handle().stop();
        running.finish()?;
        let mut scheduler = private.scheduler();
        add_node(&mut scheduler, FailurePolicy::Fatal, true);
        scheduler.run()?;
        Ok(())
    }
    let error = program(&Private::new()).unwrap_err();
    assert!(
        matches!(error, horus_core::Error::Run(RunError::Failed(_))),
        "{error:?}"
    );
    assert!(error.to_string().contains("the wheel fell off"), "{error}");
}

#[test]
fn a_node_that_hangs_when_the_run_ends_is_made_safe_once() {
    // Before the watchdog finds it stuck, and after.
    for watchdog in [Duration::from_secs(3600), Duration::from_millis(20)] {
        let (mut scheduler, _private) = Private::alone();
        let calls = Arc::<AtomicU64>::default();
        let release = Arc::<AtomicBool>::default();
        let handle = scheduler.handle();
        let called = Arc::clone(&calls);
        let released = Arc::clone(&release);
        let has_called = Arc::clone(&calls);
        let tick = move |_: &mut Context<'_>| {
            while watchdog < Duration::from_secs(1) && has_called.load(Ordering::Relaxed) == 0 {
                thread::sleep(Duration::from_millis(1));
            }
            handle.stop();
            while !released.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
        };
        let node = scheduler.node("hangs").rate(100.hz()).watchdog(watchdog);
        let count = move || _ = called.fetch_add(1, Ordering::Relaxed);
        node.safe_state(count).build(tick).unwrap();
        let report = scheduler.run().or_else(RunError::into_report).unwrap();
        release.store(true, Ordering::Relaxed);
        assert!(
            report.nodes[0]
                .last_error
                .as_ref()
                .unwrap()
                .contains("left behind")
        );
        assert_eq!(calls.load(Ordering::Relaxed), 1, "{watchdog:?}");
    }
}

#[test]
fn a_node_that_is_left_behind_has_failed_whatever_ended_the_run() {
    for is_asked in [false, true] {
        let (mut scheduler, _private) = Private::alone();
        let begun = Arc::<AtomicBool>::default();
        let release = Arc::<AtomicBool>::default();
        let begins = Arc::clone(&begun);
        let released = Arc::clone(&release);
        let hang = move |_: &mut Context<'_>| {
            begins.store(true, Ordering::Relaxed);
            while !released.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
        };
        scheduler
            .node("hangs")
            .compute()
            .rate(100.hz())
            .build(hang)
            .unwrap();
        let mut running = scheduler.start().unwrap();
        while !begun.load(Ordering::Relaxed) {
            running.run_for(Duration::from_millis(1)).unwrap();
        }
        if is_asked {
            running.handle().stop();
        }
        let outcome = running.finish();
        release.store(true, Ordering::Relaxed);
        let error = outcome.expect_err("a node was left behind");
        let text = "node 'hangs' failed: a tick does not end: its thread was left behind";
        assert!(
            error.to_string().ends_with(text),
            "asked: {is_asked}: {error}"
        );
        assert_eq!(error.report().unwrap().exit_code(), 1);
    }
}

/// Counts how often it enters its safe state.
struct Bystander(Arc<AtomicU64>);

impl Node for Bystander {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_failure_in_a_last_tick_is_an_error_whatever_ended_the_run() {
    for (is_asked, is_compute) in [(false, false), (false, true), (true, false), (true, true)] {
        let (mut scheduler, _private) = Private::alone();
        let begun = Arc::<AtomicBool>::default();
        let begins = Arc::clone(&begun);
        let handle = scheduler.handle();
        let last = move |_: &mut Context<'_>| -> NodeResult {
            begins.store(true, Ordering::Relaxed);
            while !handle.is_stopping() {
                thread::sleep(Duration::from_millis(1));
            }
            Err("the wheel fell off".into())
        };
        let node = scheduler.node("wheel").rate(100.hz());
        let node = if is_compute { node.compute() } else { node };
        node.watchdog(Duration::from_secs(3600))
            .build(last)
            .unwrap();
        let entered = Arc::<AtomicU64>::default();
        scheduler
            .node("bystander")
            .build(Bystander(Arc::clone(&entered)))
            .unwrap();
        let mut running = scheduler.start().unwrap();
        while !begun.load(Ordering::Relaxed) {
            running.run_for(Duration::from_millis(1)).unwrap();
        }
        if is_asked {
            running.handle().stop();
        }
        let error = running.finish().expect_err("a node failed");
        let what = format!("asked: {is_asked}, compute: {is_compute}");
        let text = "node 'wheel' failed: the wheel fell off";
        assert!(error.to_string().ends_with(text), "{what}: {error}");
        assert_eq!(error.report().unwrap().exit_code(), 1, "{what}");
        assert_eq!(entered.load(Ordering::Relaxed), 1, "{what}");
    }
}

/// A node whose first tick fails, and which then hangs in one of its other methods.
struct HangsIn {
    method: &'static str,
    has_ticked: bool,
    begun: Arc<AtomicBool>,
    release: Arc<AtomicBool>,
}

impl HangsIn {
    fn hang_in(&self, method: &str) {
        if self.has_ticked && self.method == method {
            self.begun.store(true, Ordering::Relaxed);
            while !self.release.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

impl Node for HangsIn {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.hang_in("init");
        Ok(())
    }

    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.has_ticked = true;
        Err("the wheel fell off".into())
    }

    fn on_error(&mut self, _: &NodeError) {
        self.hang_in("on_error");
    }

    fn shutdown(&mut self) -> NodeResult {
        self.hang_in("shutdown");
        Ok(())
    }
}

#[test]
fn a_node_that_hangs_outside_of_a_tick_has_failed() {
    for method in ["init", "on_error", "shutdown"] {
        let (mut scheduler, _private) = Private::alone();
        let (begun, release) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        let node = HangsIn {
            method,
            has_ticked: false,
            begun: Arc::clone(&begun),
            release: Arc::clone(&release),
        };
        let backoff = Duration::from_millis(1);
        let builder = scheduler.node("hangs").rate(100.hz());
        let builder = builder.failure_policy(FailurePolicy::Restart { max: 9, backoff });
        builder.build(node).unwrap();
        let entered = Arc::<AtomicU64>::default();
        let bystander = Bystander(Arc::clone(&entered));
        scheduler.node("bystander").build(bystander).unwrap();
        let mut running = scheduler.start().unwrap();
        while !begun.load(Ordering::Relaxed) {
            running.run_for(Duration::from_millis(1)).unwrap();
        }
        let outcome = running.finish();
        release.store(true, Ordering::Relaxed);
        let error = outcome.expect_err("a node was left behind");
        let text =
            format!("'hangs' failed: its {method} does not return: its thread was left behind");
        assert!(error.to_string().ends_with(&text), "{method}: {error}");
        assert_eq!(error.report().unwrap().exit_code(), 1, "{method}");
        assert_eq!(entered.load(Ordering::Relaxed), 1, "{method}");
    }
}

/// Panics in each tick.
struct Panicking(Arc<AtomicU64>);

#[test]
fn a_panic_with_a_slow_hook_is_no_hang_and_is_made_safe_once() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    // WHY a process of its own: a panic hook applies to the whole process.
    assert_eq!(Child::spawn("slow panics", dir.path()).wait(), End::Code(0));
}

/// The text of a panic for which the hook takes long.
const SLOW_PANIC: &str = "with a long backtrace";

impl Node for Panicking {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        panic!("{SLOW_PANIC}")
    }

    fn enter_safe_state(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The watchdog of a node that panics. WHY so long: a busy machine may displace the thread of the
/// node between the begin of its tick and the panic.
const PANIC_WATCHDOG: Duration = Duration::from_millis(200);

/// Runs a node that panics, with a slow panic hook, in each way to run one.
fn slow_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload().downcast_ref::<String>();
        // As long as a backtrace takes if the symbols have to be read first.
        if text.is_some_and(|text| text == SLOW_PANIC) {
            thread::sleep(2 * PANIC_WATCHDOG);
        } else {
            before(panic);
        }
    }));
    for class in ["thread", "topic", "pool", "main", "main, by itself"] {
        let private = Private::new();
        let mut scheduler = private.scheduler();
        let entered = Arc::<AtomicU64>::default();
        let called = Arc::<AtomicU64>::default();
        let recorded = Arc::<Mutex<Vec<u8>>>::default();
        let kinds = Arc::clone(&recorded);
        scheduler.on_event(move |event| kinds.lock().unwrap().push(event.kind));
        let work = private.subscriber::<CmdVel>("work", Qos::new());
        private
            .publisher::<CmdVel>("work", Qos::new())
            .send(CmdVel::default())
            .unwrap();
        let node = scheduler.node("panics");
        let node = match class {
            "thread" => node.rate(100.hz()),
            "topic" => node.on(&work),
            "pool" => node.compute().rate(100.hz()),
            _ => node,
        };
        let calls = Arc::clone(&called);
        let node = node.watchdog(PANIC_WATCHDOG);
        let node = node.safe_state(move || _ = calls.fetch_add(1, Ordering::Relaxed));
        node.build(Panicking(Arc::clone(&entered))).unwrap();
        let outcome = if class == "main, by itself" {
            let mut running = scheduler.start().unwrap();
            while running.tick_once().unwrap_or(false) {}
            running.finish()
        } else {
            scheduler.run()
        };
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains(SLOW_PANIC), "{class}: {error}");
        let count = |kind: u8| {
            recorded
                .lock()
                .unwrap()
                .iter()
                .filter(|found| **found == kind)
                .count()
        };
        let found = [
            NodeEvent::STUCK,
            NodeEvent::PANICKED,
            NodeEvent::SAFE_STATE_ENTERED,
        ];
        assert_eq!(
            found.map(count),
            [0, 1, 1],
            "{class}: stuck, panicked, safe"
        );
        let safe = [called, entered].map(|calls| calls.load(Ordering::Relaxed));
        assert_eq!(safe, [0, 1], "{class}");
    }
}

#[test]
fn a_node_whose_panic_hook_blocks_is_made_safe_meanwhile() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    assert_eq!(
        Child::spawn("blocked panic", dir.path()).wait(),
        End::Code(0)
    );
}

/// Runs a node whose panic hook blocks until the node is safe.
fn blocked_panic() {
    let called = Arc::<AtomicU64>::default();
    let has_called = Arc::clone(&called);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        before(panic);
        while has_called.load(Ordering::Relaxed) == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }));
    let (mut scheduler, _private) = Private::alone();
    let recorded = Arc::<Mutex<Vec<u8>>>::default();
    let kinds = Arc::clone(&recorded);
    scheduler.on_event(move |event| kinds.lock().unwrap().push(event.kind));
    let calls = Arc::clone(&called);
    let node = scheduler
        .node("panics")
        .rate(100.hz())
        .watchdog(PANIC_WATCHDOG);
    let node = node.safe_state(move || _ = calls.fetch_add(1, Ordering::Relaxed));
    node.build(Panicking(Arc::default())).unwrap();
    assert!(
        scheduler
            .run()
            .unwrap_err()
            .to_string()
            .contains(SLOW_PANIC)
    );
    assert_eq!(called.load(Ordering::Relaxed), 1);
    let recorded = recorded.lock().unwrap();
    assert!(recorded.contains(&NodeEvent::PANICKED), "{recorded:?}");
    assert!(!recorded.contains(&NodeEvent::STUCK), "{recorded:?}");
}

#[test]
fn a_safe_state_that_would_never_be_called_is_refused() {
    let (mut scheduler, _private) = Private::alone();
    let mut build = |name: &str, watchdog: Option<Duration>, rate: Option<Rate>| {
        let node = scheduler.node(name).safe_state(|| {});
        let node = rate.into_iter().fold(node, NodeBuilder::rate);
        let node = watchdog.into_iter().fold(node, NodeBuilder::watchdog);
        node.build(|_: &mut Context<'_>| {})
    };
    let error = build("unwatched", None, None).unwrap_err().to_string();
    assert!(
        error.contains("unwatched") && error.contains("watchdog"),
        "{error}"
    );
    build("watched", Some(Duration::from_secs(1)), None).unwrap();
    build("clocked", None, Some(100.hz())).unwrap();
}

#[test]
fn a_report_is_shown_as_a_line_for_the_scheduler_and_one_for_each_node() {
    let (mut scheduler, _private) = Private::alone();
    scheduler.name("cart");
    scheduler
        .node("idle")
        .build(|_: &mut Context<'_>| {})
        .unwrap();
    add_node(&mut scheduler, FailurePolicy::Ignore, true);
    let text = scheduler.run().unwrap().to_string();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "scheduler 'cart' ended: it was asked to stop");
    assert!(
        lines[1].starts_with("  idle (BestEffort): 2 ticks, the longest "),
        "{text}"
    );
    assert!(
        lines[2].starts_with("  wheel (BestEffort): 2 ticks, the longest "),
        "{text}"
    );
    // WHY not the numbers of misses and skipped ticks: they depend on the load of the machine.
    let ending = " skipped ticks, 1 failures; last error: the wheel fell off";
    assert!(lines[2].ends_with(ending), "{text}");
    assert!(lines[2].contains(" misses, "), "{text}");
    assert_eq!(lines.len(), 3);
}
