//! Nodes run at their rates, in order, and independently of each other.

use horus_testing as _;

mod executors;
mod forked;
mod private;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use executors::{Recorded, until};
use forked::fork;
use horus_core::message::NodeEvent;
use horus_core::prelude::*;
use horus_core::scheduler::{
    Context, FailurePolicy, Hertz, MissPolicy, Node, NodeClass, NodeResult, Report, RunError,
    Scheduler, StopReason,
};
use private::Private;

/// The calls of nodes, in order.
#[derive(Clone, Default)]
struct CallLog(Arc<Mutex<Vec<String>>>);

impl CallLog {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn read(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// A node that logs every call, and fails or stops by `act`.
struct Noting {
    name: &'static str,
    calls: CallLog,
    act: fn(u64, &mut Context<'_>) -> NodeResult,
}

impl Node for Noting {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.calls.note(format!("{} init", self.name));
        Ok(())
    }

    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.calls.note(format!("{} {}", self.name, context.tick()));
        (self.act)(context.tick(), context)
    }

    fn shutdown(&mut self) -> NodeResult {
        self.calls.note(format!("{} shutdown", self.name));
        Ok(())
    }
}

fn ticks(report: &Report, name: &str) -> u64 {
    report
        .nodes
        .iter()
        .find(|node| node.name == name)
        .unwrap()
        .metrics
        .ticks
}

#[test]
fn nodes_begin_tick_and_end_in_order() {
    let calls = CallLog::default();
    let (mut scheduler, _private) = Private::alone();
    for (name, order) in [("c", 2), ("a", 0), ("b", 1)] {
        let act = |tick, context: &mut Context<'_>| {
            if tick == 1 {
                context.stop();
            }
            Ok(())
        };
        let node = Noting {
            name,
            calls: calls.clone(),
            act,
        };
        scheduler.node(name).order(order).build(node).unwrap();
    }
    let report = scheduler.run().unwrap();
    assert_eq!(report.reason, StopReason::Requested);
    let wanted = "a init,b init,c init,a 0,b 0,c 0,a 1,b 1,c 1,c shutdown,b shutdown,a shutdown";
    assert_eq!(calls.read().join(","), wanted);
    assert!(
        report
            .nodes
            .iter()
            .map(|node| node.name.as_str())
            .eq(["a", "b", "c"])
    );
}

#[test]
fn due_times_do_not_drift_and_skipped_ticks_are_not_made_up_for() {
    let (mut scheduler, _private) = Private::alone();
    let first_and_last = Arc::new(Mutex::new((0, 0)));
    let times = Arc::clone(&first_and_last);
    let node = move |context: &mut Context<'_>| {
        let mut times = times.lock().unwrap();
        if context.tick() == 0 {
            times.0 = context.scheduled_ns();
        }
        assert!(context.scheduled_ns() > times.1, "due twice");
        times.1 = context.scheduled_ns();
        assert!(context.started_ns() >= context.scheduled_ns());
    };
    scheduler.node("fast").rate(500.hz()).build(node).unwrap();
    let report = scheduler.run_for(Duration::from_millis(500)).unwrap();
    assert_eq!(report.reason, StopReason::DurationElapsed);
    let metrics = report.nodes[0].metrics;
    let (first, last) = *first_and_last.lock().unwrap();
    // Each tick ran at its due time or was skipped; no due time was shifted.
    assert_eq!((last - first) % 2_000_000, 0);
    let due = (last - first) / 2_000_000 + 1;
    let passed = metrics.skipped_ticks;
    assert!(
        metrics.ticks <= due && metrics.ticks + passed >= due,
        "{due}: {metrics:?}"
    );
    assert_eq!(metrics.durations.count(), metrics.ticks);
}

/// Runs a node that fails in its second tick, under a policy; returns the report and its calls.
fn failing(policy: FailurePolicy, ticks: u64, panics: bool) -> (Report, Vec<String>) {
    let calls = CallLog::default();
    let act: fn(u64, &mut Context<'_>) -> NodeResult = match panics {
        true => |tick, _| {
            if tick == 1 {
                panic!("on purpose")
            } else {
                Ok(())
            }
        },
        false => |tick, _| {
            if tick == 1 {
                Err("on purpose".into())
            } else {
                Ok(())
            }
        },
    };
    let (mut scheduler, _private) = Private::alone();
    let node = Noting {
        name: "bad",
        calls: calls.clone(),
        act,
    };
    scheduler
        .node("bad")
        .failure_policy(policy)
        .build(node)
        .unwrap();
    let stop = move |context: &mut Context<'_>| {
        if context.tick() == ticks {
            context.stop();
        }
    };
    scheduler.node("good").order(1).build(stop).unwrap();
    (
        scheduler.run().or_else(RunError::into_report).unwrap(),
        calls.read(),
    )
}

#[test]
fn a_failure_ends_the_run_or_is_handled_by_its_policy() {
    for panics in [false, true] {
        let (report, noted) = failing(FailurePolicy::Fatal, 5, panics);
        let error = if panics {
            "panicked: on purpose"
        } else {
            "on purpose"
        };
        assert_eq!(
            report.reason,
            StopReason::Node {
                name: "bad".into(),
                error: error.into()
            }
        );
        assert_eq!(noted, ["bad init", "bad 0", "bad 1", "bad shutdown"]);

        let (report, noted) = failing(FailurePolicy::Ignore, 3, panics);
        assert_eq!(
            (report.reason.clone(), ticks(&report, "bad")),
            (StopReason::Requested, 4)
        );
        assert_eq!(
            noted,
            [
                "bad init",
                "bad 0",
                "bad 1",
                "bad 2",
                "bad 3",
                "bad shutdown"
            ]
        );
        let metrics = report.nodes[0].metrics;
        assert_eq!((metrics.failures, metrics.panics), (1, u64::from(panics)));
        assert_eq!(report.nodes[0].last_error.as_deref(), Some(error));

        let backoff = Duration::from_millis(1);
        let (report, noted) = failing(FailurePolicy::Restart { max: 1, backoff }, 4, panics);
        assert_eq!(report.reason, StopReason::Requested);
        let wanted = [
            "bad init",
            "bad 0",
            "bad 1",
            "bad shutdown",
            "bad init",
            "bad 2",
        ];
        assert_eq!(noted[..6], wanted);
    }
}

#[test]
fn a_node_that_hangs_is_found_and_made_safe_once_while_other_nodes_go_on() {
    let safe = Arc::new(AtomicU64::new(0));
    let entered = Arc::clone(&safe);
    let (private, recorded) = (Private::new(), Recorded::default());
    let mut scheduler = recorded.scheduler(&private);
    let events = recorded.clone();
    let others = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&others);
    let node = move |context: &mut Context<'_>| match context.tick() {
        3 => {
            let before = seen.load(Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(60));
            until("the other node goes on", || {
                seen.load(Ordering::Relaxed) > before
            });
            // On a machine without free CPU time it may hang more than once.
            until("it is made safe once for each time that it hangs", || {
                let (stuck, left_out) = events.count_with_left_out("hangs", NodeEvent::STUCK, "");
                stuck > 0 && safe.load(Ordering::Relaxed) == stuck + left_out
            });
        }
        4 => context.stop(),
        _ => {}
    };
    let enter = move || _ = entered.fetch_add(1, Ordering::Relaxed);
    scheduler
        .node("hangs")
        .rate(100.hz())
        .safe_state(enter)
        .build(node)
        .unwrap();
    let other = move |_: &mut Context<'_>| _ = others.fetch_add(1, Ordering::Relaxed);
    scheduler.node("other").rate(1.khz()).build(other).unwrap();
    let report = scheduler.run().unwrap();
    let events: Vec<_> = recorded.all().iter().map(NodeEvent::to_string).collect();
    let of_it = |what: &str| events.iter().filter(|event| event.contains(what)).count() as u64;
    let stuck = of_it("hangs: stuck, a tick has lasted");
    assert!(stuck >= 1, "{events:?}");
    assert!(
        of_it("hangs: recovered, the tick lasted") + 1 >= stuck,
        "{events:?}"
    );
    let hanging = report
        .nodes
        .iter()
        .find(|node| node.name == "hangs")
        .unwrap()
        .metrics;
    assert!(
        hanging.misses >= 1 && hanging.skipped_ticks >= 4,
        "{hanging:?}"
    );
    let other = report
        .nodes
        .iter()
        .find(|node| node.name == "other")
        .unwrap();
    assert_eq!(other.class, NodeClass::RealTime);
}

#[test]
fn a_node_that_never_returns_ends_the_run_and_is_left_behind() {
    let (mut scheduler, _private) = Private::alone();
    scheduler.on_event(|_| {});
    let node = |_: &mut Context<'_>| {
        while std::hint::black_box(true) {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let watchdog = Duration::from_millis(10);
    scheduler
        .node("loops")
        .rate(100.hz())
        .watchdog(watchdog)
        .build(node)
        .unwrap();
    let report = scheduler.run().or_else(RunError::into_report).unwrap();
    let StopReason::Node { name, error } = &report.reason else {
        panic!("{report:?}")
    };
    assert!(name == "loops" && error.contains("does not end"), "{error}");
    assert!(
        report.nodes[0]
            .last_error
            .as_deref()
            .unwrap()
            .contains("left behind")
    );
}

#[test]
fn a_node_on_a_topic_runs_when_there_are_messages_and_only_then() {
    let private = Private::new();
    let builder = || private.builder::<CmdVel>("cmd_vel");
    let mut publisher = builder().publisher().unwrap();
    let mut commands = builder().subscriber().unwrap();
    let received = Arc::new(AtomicU64::new(0));
    let sent = 20;
    let count = Arc::clone(&received);
    let (mut scheduler, _private) = Private::alone();
    let both = scheduler
        .node("driver")
        .on(&commands)
        .rate(10.hz())
        .build(|_: &mut Context<'_>| {});
    assert!(
        both.unwrap_err()
            .to_string()
            .contains("by the clock or by messages")
    );
    let driver = scheduler.node("driver").on(&commands);
    let node = move |context: &mut Context<'_>| {
        // Receives one message of a burst in each tick.
        count.fetch_add(u64::from(commands.recv().is_some()), Ordering::Relaxed);
        if count.load(Ordering::Relaxed) == sent {
            context.stop();
        }
    };
    driver.build(node).unwrap();
    let sender = std::thread::spawn(move || {
        for number in 0..sent {
            publisher.send(CmdVel::new(number as f32, 0.0)).unwrap();
            if number % 5 == 4 {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        publisher
    });
    let report = scheduler.run().unwrap();
    sender.join().unwrap();
    assert_eq!(
        (report.reason.clone(), received.load(Ordering::Relaxed)),
        (StopReason::Requested, sent)
    );
    assert_eq!(
        (ticks(&report, "driver"), report.nodes[0].class),
        (sent, NodeClass::Event)
    );
}

#[test]
fn refused_thread_settings_are_reported() {
    let (mut scheduler, _private) = Private::alone();
    scheduler
        .node("first")
        .rate(100.hz())
        .core(0)
        .priority(50)
        .stay_awake()
        .build(once)
        .unwrap();
    let report = scheduler.run().unwrap();
    let refused = &report.nodes[0].refused;
    println!("RESULT scheduler-privileges: {refused:?}");
    let known = [
        "CPUs that stay awake (/dev/cpu_dma_latency): ",
        "core 0: ",
        "priority 50 (SCHED_FIFO): ",
        "locked memory (mlockall): ",
    ];
    assert!(
        refused
            .iter()
            .all(|one| known.iter().any(|known| one.starts_with(known)))
    );
    assert_eq!(report.nodes[0].metrics.ticks, 1);
}

fn once(context: &mut Context<'_>) {
    context.stop();
}

/// Simulates a robot of four nodes that answer each other, with noise; returns all sent bytes.
fn simulated(seed: u64, added: [usize; 4]) -> Vec<u8> {
    let private = Private::new();
    let mut sensor = private.builder::<Imu>("imu").publisher().unwrap();
    let mut imu = private.builder::<Imu>("imu").subscriber().unwrap();
    let mut motors = private.builder::<CmdVel>("cmd_vel").publisher().unwrap();
    let mut log = private.builder::<CmdVel>("cmd_vel").subscriber().unwrap();
    let written = Arc::new(Mutex::new(Vec::new()));
    let output = Arc::clone(&written);
    let (mut scheduler, _private) = Private::alone();
    type Add = Box<dyn FnOnce(&mut Scheduler)>;
    let nodes: [Add; 4] = [
        Box::new(move |scheduler| {
            let node = move |context: &mut Context<'_>| {
                let noise = context.random_f64();
                sensor
                    .send(Imu {
                        angular_velocity: [noise; 3],
                        ..Imu::now()
                    })
                    .unwrap();
            };
            scheduler.node("sensor").rate(200.hz()).build(node).unwrap();
        }),
        Box::new(move |scheduler| {
            let control = scheduler.node("control").on(&imu);
            let node = move |context: &mut Context<'_>| {
                let noise = context.random_f64() as f32;
                let turn = imu.recv().unwrap().angular_velocity[2] as f32;
                motors.send(CmdVel::new(noise, turn)).unwrap();
            };
            control.build(node).unwrap();
        }),
        Box::new(move |scheduler| {
            let node = move |context: &mut Context<'_>| {
                let mut output = output.lock().unwrap();
                output.extend(context.scheduled_ns().to_ne_bytes());
                for message in log.try_iter() {
                    output.extend(bytemuck::bytes_of(&message));
                }
            };
            scheduler
                .node("log")
                .rate(33.3.hz())
                .order(1)
                .build(node)
                .unwrap();
        }),
        Box::new(move |scheduler| {
            scheduler
                .node("bystander")
                .build(|context: &mut Context<'_>| _ = context.random())
                .unwrap();
        }),
    ];
    let mut nodes = nodes.map(Some);
    for index in added {
        nodes[index].take().unwrap()(&mut scheduler);
    }
    let report = scheduler.simulate(Duration::from_secs(10), seed, 1_000_000_000);
    assert_eq!(report.reason, StopReason::DurationElapsed);
    assert_eq!(
        (ticks(&report, "sensor"), ticks(&report, "control")),
        (2000, 2000)
    );
    let written = written.lock().unwrap();
    written.clone()
}

#[test]
fn a_simulated_run_is_the_same_to_the_byte_in_whatever_order_nodes_were_added() {
    let first = simulated(7, [0, 1, 2, 3]);
    assert_eq!(first.len(), 333 * 8 + 1994 * 16);
    for added in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
        assert!(simulated(7, added) == first, "{added:?}");
    }
    assert!(simulated(8, [0, 1, 2, 3]) != first);
}

#[test]
fn a_late_node_skips_a_tick_or_stops_the_run_by_its_policy() {
    let slow = |_: &mut Context<'_>| std::thread::sleep(Duration::from_millis(6));
    let (mut scheduler, _private) = Private::alone();
    scheduler
        .node("skips")
        .rate(200.hz())
        .on_miss(MissPolicy::Skip)
        .build(slow)
        .unwrap();
    let report = scheduler.run_for(Duration::from_millis(200)).unwrap();
    let metrics = report.nodes[0].metrics;
    assert_eq!(metrics.misses, metrics.ticks, "{metrics:?}");
    assert!(metrics.skipped_ticks >= metrics.ticks - 1, "{metrics:?}");
    for (deadline_ms, budget_ms, wanted) in [
        (900, 1, "exceeded its budget by "),
        // As long as the deadline, which is counted from an earlier time.
        (5, 5, "missed its deadline by "),
    ] {
        let (mut scheduler, _private) = Private::alone();
        let [deadline, budget] = [deadline_ms, budget_ms].map(Duration::from_millis);
        let node = scheduler.node("stops").rate(1.hz()).deadline(deadline);
        let node = node.budget(budget);
        node.on_miss(MissPolicy::Stop).build(slow).unwrap();
        let report = scheduler.run().or_else(RunError::into_report).unwrap();
        let StopReason::Node { name, error } = &report.reason else {
            panic!("{report:?}")
        };
        assert!(name == "stops" && error.contains(wanted), "{error}");
        assert_eq!(report.nodes[0].metrics.ticks, 1);
    }
}

/// Its drop waits until the other end is dropped.
struct SlowDrop(mpsc::Receiver<()>);

impl Drop for SlowDrop {
    fn drop(&mut self) {
        let _ = self.0.recv();
    }
}

thread_local! {
    static SLOW: std::cell::RefCell<Option<SlowDrop>> = const { std::cell::RefCell::new(None) };
}

/// A thread whose nodes have ended may be kept by the drop of a thread-local value. The end of the
/// run does not wait for it without a limit, and the node has not failed.
#[test]
fn a_thread_local_value_whose_drop_blocks_does_not_block_the_end() {
    let (mut scheduler, _private) = Private::alone();
    let (release, released) = mpsc::channel::<()>();
    let mut kept = Some(released);
    let keep = move |context: &mut Context<'_>| {
        if let Some(released) = kept.take() {
            SLOW.set(Some(SlowDrop(released)));
            context.stop();
        }
    };
    scheduler.node("keeps").rate(100.hz()).build(keep).unwrap();
    let report = scheduler.run().unwrap();
    drop(release);
    assert_eq!(report.reason, StopReason::Requested);
    let node = report.node("keeps").unwrap();
    assert!(node.last_error.is_none(), "{node:?}");
}

/// The child has neither the threads of the run nor a right to the nodes.
#[test]
fn a_forked_child_that_drops_a_running_scheduler_calls_no_node() {
    /// A node that counts its shutdowns and drops.
    struct Counting(Arc<AtomicU64>);

    impl Node for Counting {
        fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
            Ok(())
        }

        fn shutdown(&mut self) -> NodeResult {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    impl Drop for Counting {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    for finishes in [false, true] {
        let (mut scheduler, _private) = Private::alone();
        let ended = Arc::<AtomicU64>::default();
        let node = scheduler.node("main");
        node.build(Counting(Arc::clone(&ended))).unwrap();
        let node = scheduler.node("thread").rate(100.hz());
        node.build(Counting(Arc::clone(&ended))).unwrap();
        let running = scheduler.start().unwrap();
        let in_child = Arc::clone(&ended);
        let is_well = fork(move || {
            let nodes = if finishes {
                running.finish().unwrap().nodes.len()
            } else {
                drop(running);
                0
            };
            (nodes, in_child.load(Ordering::Relaxed)) == (0, 0)
        });
        assert!(is_well, "finishes: {finishes}");
        // The closure was dropped here, in the parent, and the scheduler with it.
        assert_eq!(ended.load(Ordering::Relaxed), 4);
    }
}
