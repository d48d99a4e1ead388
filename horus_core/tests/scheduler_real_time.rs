//! A real-time thread between two sleeps makes no system call, no allocation and no page fault,
//! whatever happens to its nodes.
//!
//! `.ci/sanitizers` also builds this file with RealtimeSanitizer. It ends a process that allocates,
//! locks or calls the kernel within a function that is marked `nonblocking`.

#![cfg_attr(horus_sanitizer = "realtime", feature(sanitize))]

use horus_testing as _;

mod heap;
mod kernel;
mod noise;
mod private;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::message::NodeEvent;
use horus_core::prelude::*;
use horus_core::scheduler::{
    Context, Handle, Hertz, MissPolicy, NodeBuilder, NodeResult, Running, Scheduler, black_box,
};
use noise::result;
use private::Private;

/// Returns the page faults of this thread so far.
fn page_faults() -> u64 {
    // SAFETY: `rusage` is plain data, valid as zeros.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is valid for a write of a `rusage`.
    let status = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    assert_eq!(status, 0);
    (usage.ru_minflt + usage.ru_majflt) as u64
}

/// A timeout long enough for anything that happens at all.
const LONG: Duration = Duration::from_secs(60);
/// The ticks before the measurement: the first use of something may cost something.
const WARM_UP: u64 = 300;
/// The measured ticks.
const TICKS: u64 = 1000;

/// The costs of a thread in the measured ticks.
#[derive(Default)]
struct Costs {
    allocator_calls: AtomicU64,
    page_faults: AtomicU64,
    ticks: AtomicU64,
}

/// The work of a node on a real-time thread: it receives and sends, is out of order or late in most
/// ticks, and measures itself and everything around it.
struct Work {
    commands: Subscriber<CmdVel>,
    echo: Publisher<CmdVel>,
    costs: Arc<Costs>,
    is_watched: bool,
}

impl Work {
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        if context.tick() == WARM_UP {
            self.costs
                .page_faults
                .store(page_faults(), Ordering::Relaxed);
            self.costs
                .allocator_calls
                .store(heap::allocator_calls(), Ordering::Relaxed);
            if self.is_watched {
                kernel::watch();
            }
        }
        if context.tick() == WARM_UP + TICKS {
            if self.is_watched {
                kernel::look_away();
            }
            let calls =
                heap::allocator_calls() - self.costs.allocator_calls.load(Ordering::Relaxed);
            self.costs.allocator_calls.store(calls, Ordering::Relaxed);
            let faults = page_faults() - self.costs.page_faults.load(Ordering::Relaxed);
            self.costs.page_faults.store(faults, Ordering::Relaxed);
        }
        self.costs
            .ticks
            .store(context.tick() + 1, Ordering::Relaxed);
        while let Some(command) = self.commands.recv() {
            self.echo.send(command)?;
        }
        // Out of order now and then.
        context.checkpoint(1 + u64::from(context.tick() % 300 > 200));
        // Late now and then.
        while context.tick() % 300 > 100 && !context.budget_left().is_zero() {}
        Ok(())
    }
}

/// Makes a scheduler with such a node, with a rate if `is_timed`, on the main thread otherwise.
fn scheduler(private: &Private, is_timed: bool) -> (Scheduler, Arc<Costs>) {
    let mut scheduler = Scheduler::new();
    scheduler.name("real time");
    scheduler.namespace(private.namespace());
    scheduler.on_event(|_| {});
    let costs = Arc::<Costs>::default();
    let mut work = Work {
        commands: private.subscriber("cmd_vel", Qos::new()),
        echo: private.publisher("echo", Qos::new()),
        costs: Arc::clone(&costs),
        is_watched: is_timed,
    };
    work.echo.prefault();
    let node: NodeBuilder<'_> = scheduler
        .node("works")
        .checkpoints(1)
        .on_miss(MissPolicy::Warn);
    let node = if is_timed { node.rate(1.khz()) } else { node };
    let node = node.budget(Duration::from_micros(50)).watchdog(LONG);
    node.build(move |context: &mut Context<'_>| work.tick(context))
        .unwrap();
    (scheduler, costs)
}

/// Sends commands to the node while it runs.
fn command(handle: &Handle, round: u64) {
    match round % 4 {
        0 => handle.set_rate("works", 1.khz()).unwrap(),
        1 => handle.pause("works").unwrap(),
        2 => handle.resume("works").unwrap(),
        _ => handle.set_rate("works", 900.hz()).unwrap(),
    }
}

#[test]
fn a_real_time_thread_makes_no_system_call_except_its_sleep() {
    let private = Private::new();
    let (scheduler, costs) = scheduler(&private, true);
    let mut publisher = private.publisher::<CmdVel>("cmd_vel", Qos::new());
    let mut echo = private.subscriber::<CmdVel>("echo", Qos::new());
    // The observation works: it sees a system call of this thread.
    thread::scope(|scope| {
        scope.spawn(|| {
            kernel::watch();
            // SAFETY: the call takes no pointer.
            let parent = unsafe { libc::getppid() };
            kernel::look_away();
            assert_eq!(parent as u32, std::os::unix::process::parent_id());
        });
    });
    if let Some(calls) = kernel::calls() {
        assert_eq!(calls, [(libc::SYS_getppid, 1)]);
    }
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    let end = Instant::now() + LONG;
    let mut received = 0;
    let mut round = 0;
    while costs.ticks.load(Ordering::Relaxed) <= WARM_UP + TICKS {
        assert!(Instant::now() < end, "never done");
        publisher.send(CmdVel::default()).unwrap();
        received += echo.try_iter().count();
        if costs.ticks.load(Ordering::Relaxed) > 10 {
            command(&handle, round);
            round += 1;
        }
        thread::sleep(Duration::from_millis(3));
    }
    let report = running.finish().unwrap();
    let events = black_box(private.namespace(), "real time").unwrap();
    let of = |kind: u8| events.iter().filter(|event| event.kind == kind).count();
    let [missed, astray, paced] = [
        NodeEvent::MISSED,
        NodeEvent::CHECKPOINT,
        NodeEvent::RATE_CHANGED,
    ]
    .map(of);
    let calls = kernel::calls();
    let [allocator_calls, page_faults] =
        [&costs.allocator_calls, &costs.page_faults].map(|count| count.load(Ordering::Relaxed));
    result(
        "scheduler_real_time/thread",
        format!(
            "in {TICKS} ticks {} misses ({missed} and {astray} noted), {paced} new rates, \
             {received} messages: {calls:?} calls of the kernel, {allocator_calls} of the \
             allocator, {page_faults} page faults",
            report.nodes[0].metrics.misses
        ),
    );
    assert!(
        missed > 0 && astray > 0 && paced > 0 && received > 0,
        "{missed} {astray} {paced} {received}"
    );
    assert_eq!(allocator_calls, 0);
    // WHY not none: the kernel may have moved a page of this process.
    assert!(page_faults < 4, "{page_faults}");
    if let Some(calls) = calls {
        let others = calls
            .iter()
            .filter(|(number, _)| *number != libc::SYS_clock_nanosleep);
        assert_eq!(others.count(), 0, "{calls:?}");
        assert!(
            !calls.is_empty(),
            "no sleep was seen, so no other call would be either"
        );
    }
}

#[inline(never)]
#[cfg_attr(horus_sanitizer = "realtime", sanitize(realtime = "nonblocking"))]
fn round(running: &mut Running) -> bool {
    running.tick_once().unwrap()
}

/// This is also the entry of RealtimeSanitizer into the turns of nodes.
#[test]
fn a_round_on_the_main_thread_does_not_allocate() {
    let private = Private::new();
    let (scheduler, costs) = scheduler(&private, false);
    let mut publisher = private.publisher::<CmdVel>("cmd_vel", Qos::new());
    let mut running = scheduler.start().unwrap();
    let handle = running.handle();
    for number in 0..=WARM_UP + TICKS {
        // WHY not all: memory is mapped at its first use, and the test itself calls the kernel in
        // the first and the last measured tick.
        let counts = (WARM_UP + 1..WARM_UP + TICKS).contains(&number);
        let round = if counts {
            round
        } else {
            |running: &mut Running| running.tick_once().unwrap()
        };
        if number % 10 == 0 {
            publisher.send(CmdVel::default()).unwrap();
        }
        if number % 100 == 50 {
            handle.pause("works").unwrap();
            assert!(round(&mut running));
            handle.resume("works").unwrap();
        }
        assert!(round(&mut running));
    }
    let report = running.finish().unwrap();
    assert_eq!(report.nodes[0].metrics.ticks, WARM_UP + TICKS + 1);
    assert!(report.nodes[0].metrics.misses > TICKS / 2, "{report:?}");
    assert_eq!(report.nodes[0].metrics.failures, 0, "{report:?}");
    let [calls, faults] =
        [&costs.allocator_calls, &costs.page_faults].map(|count| count.load(Ordering::Relaxed));
    let text = format!("{calls} calls of the allocator, {faults} page faults in {TICKS} rounds");
    result("scheduler_real_time/main", text);
    assert_eq!(calls, 0);
}
