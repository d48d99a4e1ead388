//! A scheduler that cannot be started returns an error; no node has ticked, and initialised nodes
//! are shut down.

use horus_testing as _;

mod noise;
mod private;
#[path = "scheduler_start/threads.rs"]
mod threads;

use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use horus_core::prelude::*;
use horus_core::scheduler::{Context, Hertz, Node, NodeResult, RunError, StartError, StopReason};
use noise::result;
use private::Private;

const ROLE: &str = "HORUS_TEST_ROLE";

/// Logs its calls.
struct Noting(&'static str, Arc<Mutex<Vec<String>>>);

impl Noting {
    fn note(&self, what: &str) {
        self.1.lock().unwrap().push(format!("{} {what}", self.0));
    }
}

impl Node for Noting {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.note("init");
        Ok(())
    }

    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.note("tick");
        Ok(())
    }

    fn shutdown(&mut self) -> NodeResult {
        self.note("shutdown");
        Ok(())
    }
}

/// Stops the run in its `init`.
struct StopsInInit(Noting);

impl Node for StopsInInit {
    fn init(&mut self, context: &mut Context<'_>) -> NodeResult {
        context.stop();
        self.0.init(context)
    }

    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.0.tick(context)
    }

    fn shutdown(&mut self) -> NodeResult {
        self.0.shutdown()
    }
}

/// A node that finds in its `init` that there is nothing to do ends the run before any node ticks.
#[test]
fn a_node_can_stop_the_run_in_its_init() {
    for kind in ["main", "timed", "woken", "pooled"] {
        let (mut scheduler, private) = Private::alone();
        let calls = Arc::default();
        let commands = private.subscriber::<CmdVel>("cmd_vel", Qos::new());
        let node = scheduler.node("a");
        let node = match kind {
            "timed" => node.rate(100.hz()),
            "woken" => node.on(&commands),
            "pooled" => node.compute().rate(100.hz()),
            _ => node,
        };
        let stops = StopsInInit(Noting("a", Arc::clone(&calls)));
        node.build(stops).unwrap();
        let later = Noting("later", Arc::clone(&calls));
        scheduler.node("later").order(1).build(later).unwrap();
        let report = scheduler.run_for(Duration::from_millis(200)).unwrap();
        assert_eq!(report.reason, StopReason::Requested, "{kind}");
        assert_eq!(*calls.lock().unwrap(), ["a init", "a shutdown"], "{kind}");
    }
}

#[test]
fn an_invalid_main_rate_is_refused_before_any_node_is_initialised() {
    for (hertz, shown) in [
        (0.0, "not 0"),
        (-1.0, "not -1"),
        (f64::NAN, "not NaN"),
        (2e6, "not 2000000"),
    ] {
        for is_simulated in [false, true] {
            let (mut scheduler, _private) = Private::alone();
            let calls = Arc::default();
            let node = Noting("main", Arc::clone(&calls));
            scheduler.node("main").build(node).unwrap();
            let error = scheduler.main_rate(hertz.hz()).unwrap_err().to_string();
            assert!(error.ends_with(shown), "{error}");
            assert_eq!(calls.lock().unwrap().len(), 0);
            // The scheduler has kept its rate.
            let report = if is_simulated {
                scheduler.simulate(Duration::from_millis(50), 0, 0)
            } else {
                let mut running = scheduler.start().unwrap();
                running.tick_once().unwrap();
                running.finish().unwrap()
            };
            assert!(report.nodes[0].metrics.ticks > 0, "{report}");
        }
    }
}

/// Returns the bytes of address space that this process uses.
fn address_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
}

/// Allows this process `bytes` of address space; without limit for `None`.
fn limit_address_bytes(bytes: Option<u64>) {
    let limit = libc::rlimit {
        rlim_cur: bytes.unwrap_or(libc::RLIM_INFINITY),
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the limit is valid.
    let status = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    assert_eq!(status, 0);
}

/// Reserves heap, whatever address space is left. WHY: a Rust program aborts without heap, which is
/// not the subject of this test.
fn reserve_heap() {
    const HEAP_BYTES: usize = 16 << 20;
    for (option, value) in [
        (libc::M_ARENA_MAX, 1),
        (libc::M_TRIM_THRESHOLD, i32::MAX),
        (libc::M_MMAP_THRESHOLD, 2 * HEAP_BYTES as i32),
    ] {
        // SAFETY: the call takes no pointer.
        assert_eq!(unsafe { libc::mallopt(option, value) }, 1);
    }
    drop(std::hint::black_box(vec![1_u8; HEAP_BYTES]));
}

/// Starts nodes of all kinds with `room_bytes` of address space left; returns the error if it
/// fails.
fn start(private: &Private, room_bytes: u64) -> Option<StartError> {
    let calls = Arc::<Mutex<Vec<String>>>::default();
    let mut scheduler = private.scheduler();
    scheduler.on_event(|_| {});
    let commands = private.subscriber::<CmdVel>("cmd_vel", Qos::new());
    let noting = |name| Noting(name, Arc::clone(&calls));
    scheduler
        .node("main")
        .order(0)
        .build(noting("main"))
        .unwrap();
    scheduler
        .node("event")
        .order(1)
        .on(&commands)
        .build(noting("event"))
        .unwrap();
    scheduler
        .node("timed")
        .order(2)
        .rate(1.khz())
        .build(noting("timed"))
        .unwrap();
    let chain = scheduler.node("chain").order(3).rate(1.khz()).chain("a");
    chain.build(noting("chain")).unwrap();
    scheduler.compute_threads(2);
    scheduler
        .node("pool")
        .order(4)
        .compute()
        .rate(1.khz())
        .build(noting("pool"))
        .unwrap();
    scheduler
        .node("pool 2")
        .order(5)
        .compute()
        .rate(1.khz())
        .build(noting("pool 2"))
        .unwrap();
    #[cfg(feature = "async-io")]
    scheduler
        .node("task")
        .order(6)
        .async_io()
        .rate(1.khz())
        .build(noting("task"))
        .unwrap();
    let mut publisher = private.publisher::<CmdVel>("cmd_vel", Qos::new());
    publisher.send(CmdVel::default()).unwrap();
    limit_address_bytes(Some(address_bytes() + room_bytes));
    let outcome = scheduler.start();
    limit_address_bytes(None);
    match outcome {
        Ok(mut running) => {
            running.run_for(Duration::from_millis(50)).unwrap();
            assert_eq!(
                running.finish().unwrap().reason,
                StopReason::DurationElapsed
            );
            None
        }
        Err(error) => {
            let calls = calls.lock().unwrap();
            let ended: Vec<_> = calls
                .iter()
                .filter_map(|call| call.strip_suffix(" shutdown"))
                .collect();
            let mut begun: Vec<_> = calls
                .iter()
                .filter_map(|call| call.strip_suffix(" init"))
                .collect();
            begun.reverse();
            assert_eq!(ended, begun, "{error}");
            assert!(
                !calls.iter().any(|call| call.ends_with("tick")),
                "{error}: {calls:?}"
            );
            Some(error)
        }
    }
}

/// Not a test: entry point of the re-executed child process, which has little memory.
#[test]
fn child_role() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    if role == "nowhere" {
        let mut scheduler = Scheduler::new();
        scheduler.name("arm");
        scheduler
            .node("idle")
            .build(|_: &mut Context<'_>| {})
            .unwrap();
        println!("@{}", scheduler.start().unwrap_err());
        return;
    }
    reserve_heap();
    let private = Private::new();
    let mut errors = Vec::<String>::new();
    for quarters in 0..200 {
        let Some(error) = start(&private, quarters << 18) else {
            println!(
                "@{} MiB suffice; without: {}",
                quarters / 4,
                errors.join("; ")
            );
            return;
        };
        let is_known = matches!(error, StartError::Thread { .. } | StartError::Topics(_));
        assert!(is_known, "{error:?}");
        let text = match error {
            StartError::Thread { name, cause } => format!("no thread for '{name}' ({cause})"),
            error => error.to_string(),
        };
        if errors.last() != Some(&text) {
            errors.push(text);
        }
    }
    panic!("it never had enough: {errors:?}");
}

#[test]
fn a_start_without_room_for_a_thread_fails_and_shuts_initialised_nodes_down() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child_role", "--exact", "--nocapture", "--test-threads=1"]);
    let child = child
        .env(ROLE, "small")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let [output, errors] =
        [child.stdout, child.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(
        child.status.success(),
        "{:?}: {output}\n{errors}",
        child.status
    );
    let found = output
        .lines()
        .find_map(|line| Some(line.split_once('@')?.1))
        .unwrap();
    assert!(found.contains("no thread for 'supervisor'"), "{found}");
    assert!(found.contains("no thread for 'timed'"), "{found}");
    result("scheduler_start/no_room", found);
}

/// The topic that the error names is one of the scheduler.
#[test]
fn a_start_without_a_namespace_fails_with_the_name_of_a_topic() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child_role", "--exact", "--nocapture", "--test-threads=1"]);
    child
        .env(ROLE, "nowhere")
        .env("HORUS_SHM_DIR", "/dev/null/horus");
    let output = child.stdin(Stdio::null()).output().unwrap().stdout;
    let output = String::from_utf8(output).unwrap();
    let part = "cannot be opened: topic 'horus/schedulers/arm/status': ";
    assert!(output.contains(part), "{output}");
}

#[test]
fn a_scheduler_without_nodes_is_refused() {
    let (scheduler, private) = Private::alone();
    let refused = scheduler.run();
    assert!(matches!(refused, Err(RunError::Start(StartError::NoNodes))));
    let mut scheduler = private.scheduler();
    scheduler.actors("fleet").build().unwrap();
    scheduler.handle().stop();
    scheduler.run().unwrap();
}

/// WHY 40,000: more threads than the mappings of a process suffice for, by the kernel's default.
#[test]
fn a_start_with_more_threads_than_the_system_allows_is_an_error() {
    const NODES: u64 = 40_000;
    let private = Private::new();
    let mut scheduler = private.scheduler();
    let calls = Arc::<Mutex<Vec<String>>>::default();
    let commands = private.subscriber::<CmdVel>("cmd_vel", Qos::new());
    for number in 0..NODES {
        let node = scheduler.node(&format!("node {number}")).on(&commands);
        node.build(Noting("node", Arc::clone(&calls))).unwrap();
    }
    let Err(error) = scheduler.start() else {
        return result(
            "scheduler_start/too_many",
            "not tested: the limits are higher",
        );
    };
    let text = error.to_string();
    assert!(text.contains("on_group_threads(..)"), "{text}");
    let StartError::TooManyThreads { wanted, room, .. } = error else {
        panic!("{text}");
    };
    // One thread is the supervisor's.
    assert_eq!(wanted, NODES + 1);
    assert!(room < wanted, "{text}");
    assert!(calls.lock().unwrap().is_empty(), "no node was initialised");
    result("scheduler_start/too_many", &text);
}
