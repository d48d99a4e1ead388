//! Misses: ticks that exceed their budget, pass checkpoints in another order or begin too early are
//! found on any executor, and late nodes are isolated or made safe once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::message::NodeEvent;
use horus_core::prelude::*;
use horus_core::scheduler::{
    Context, FailurePolicy, Hertz, MissPolicy, Node, NodeError, NodeResult, Report, RunError,
    StopReason,
};

use super::{MS, summary};
use crate::executors::{EXECUTORS, LONG, Recorded, ticks, until};
use crate::noise::result;
use crate::private::Private;

#[test]
fn a_tick_of_twice_its_budget_is_a_miss_on_any_executor() {
    let budget = Duration::from_millis(4);
    for executor in EXECUTORS {
        let private = Private::new();
        let recorded = Recorded::default();
        let mut scheduler = recorded.scheduler(&private);
        let mut publisher = private.publisher::<CmdVel>("cmd_vel", Qos::new());
        let mut commands = private.subscriber::<CmdVel>("cmd_vel", Qos::new());
        let node = executor
            .runs(scheduler.node("slow"), 100, &commands)
            .budget(budget);
        let tick = move |context: &mut Context<'_>| {
            let _ = commands.recv();
            thread::sleep(budget * 2);
            assert_eq!(context.budget_left(), Duration::ZERO);
            if context.tick() == 3 {
                context.stop();
            }
        };
        node.watchdog(LONG).build(tick).unwrap();
        (0..4).for_each(|_| publisher.send(CmdVel::default()).unwrap());
        let report = scheduler.run().unwrap();
        assert_eq!(report.reason, StopReason::Requested);
        assert_eq!(
            report.nodes[0].metrics.misses, 4,
            "{executor:?}: {report:?}"
        );
        let missed = recorded.of("slow", NodeEvent::MISSED);
        // The event contains the time by which the budget was exceeded.
        let over_ns = budget.as_nanos() as u64;
        assert!(!missed.is_empty(), "{executor:?}");
        assert!(
            missed.iter().all(|event| event.value_ns >= over_ns),
            "{executor:?}: {missed:?}"
        );
        assert_eq!(recorded.count("slow", NodeEvent::STUCK), 0, "{executor:?}");
    }
}

/// Runs a node that passes these of three checkpoints in its third tick, until the event comes.
fn stray(passed: &'static [u64]) -> (Report, Vec<NodeEvent>) {
    let private = Private::new();
    let recorded = Recorded::default();
    let mut scheduler = recorded.scheduler(&private);
    let handle = scheduler.handle();
    let heard = recorded.clone();
    let tick = move |context: &mut Context<'_>| {
        let is_third = context.tick() == 2;
        let passed = if is_third { passed } else { &[1, 2, 3] };
        passed
            .iter()
            .for_each(|checkpoint| context.checkpoint(*checkpoint));
        if context.tick() > 5 && heard.count("astray", NodeEvent::CHECKPOINT) > 0 {
            handle.stop();
        }
    };
    let node = scheduler.node("astray").rate(100.hz()).checkpoints(3);
    node.watchdog(LONG).build(tick).unwrap();
    (
        scheduler.run_for(LONG).unwrap(),
        recorded.of("astray", NodeEvent::CHECKPOINT),
    )
}

#[test]
fn a_tick_that_misses_a_checkpoint_is_a_miss_with_its_position() {
    for (passed, text) in [
        (&[1, 3][..], "checkpoint 3 after 1: 2 was skipped"),
        (&[1, 1, 2, 3], "checkpoint 1 after 1: it was passed before"),
        (
            &[1, 2],
            "the tick ended after checkpoint 2 of 3: 3 was not reached",
        ),
        (
            &[],
            "the tick ended after checkpoint 0 of 3: 1 was not reached",
        ),
    ] {
        let (report, events) = stray(passed);
        assert_eq!(report.reason, StopReason::Requested, "{text}");
        let texts: Vec<_> = events.iter().map(|event| event.text.as_str()).collect();
        assert_eq!((texts, events[0].tick), (vec![text], 2));
        assert!(report.nodes[0].metrics.misses >= 1);
    }
}

#[test]
fn a_tick_that_comes_too_early_is_a_miss() {
    let private = Private::new();
    let recorded = Recorded::default();
    let mut scheduler = recorded.scheduler(&private);
    let mut publisher = private.publisher::<CmdVel>("cmd_vel", Qos::new());
    let mut commands = private.subscriber::<CmdVel>("cmd_vel", Qos::new());
    let node = scheduler
        .node("driver")
        .on(&commands)
        .miss_if_sooner_than(Duration::from_secs(10));
    let tick = move |context: &mut Context<'_>| {
        let _ = commands.recv();
        if context.tick() == 1 {
            context.stop();
        }
    };
    node.build(tick).unwrap();
    (0..2).for_each(|_| publisher.send(CmdVel::default()).unwrap());
    let report = scheduler.run().unwrap();
    assert_eq!(
        (
            report.nodes[0].metrics.ticks,
            report.nodes[0].metrics.misses
        ),
        (2, 1)
    );
    let early = recorded.of("driver", NodeEvent::CHECKPOINT);
    assert_eq!(early.len(), 1);
    assert!(
        early[0].text.as_str().contains("wanted at least 10s"),
        "{early:?}"
    );
}

/// A node that is late in its first eight ticks, and counts the entries into its safe state.
struct Improving {
    entered: Arc<AtomicU64>,
    due: Arc<Mutex<Vec<(u64, u64)>>>,
}

impl Node for Improving {
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.due
            .lock()
            .unwrap()
            .push((context.scheduled_ns(), context.started_ns()));
        if context.tick() < 8 {
            thread::sleep(Duration::from_millis(25));
        }
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.entered.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_late_node_is_halved_isolated_in_one_safe_state_and_comes_back() {
    let private = Private::new();
    let recorded = Recorded::default();
    let mut scheduler = recorded.scheduler(&private);
    let entered = Arc::<AtomicU64>::default();
    let due = Arc::<Mutex<Vec<_>>>::default();
    let node = Improving {
        entered: Arc::clone(&entered),
        due: Arc::clone(&due),
    };
    let builder = scheduler
        .node("improving")
        .rate(50.hz())
        .on_miss(MissPolicy::Graduated);
    builder.watchdog(LONG).build(node).unwrap();
    let handle = scheduler.handle();
    let heard = recorded.clone();
    let test = thread::spawn(move || {
        let has_left = || heard.count("improving", NodeEvent::SAFE_STATE_LEFT) > 0;
        until("it has left its safe state", has_left);
        let before = ticks(&handle, "improving");
        until("it ticks on", || ticks(&handle, "improving") > before + 15);
        handle.stop();
    });
    let report = scheduler.run().unwrap();
    test.join().unwrap();
    assert_eq!(report.reason, StopReason::Requested, "{report:?}");
    let events = ["SAFE_STATE_ENTERED", "SAFE_STATE_LEFT"];
    let [in_it, out] = [NodeEvent::SAFE_STATE_ENTERED, NodeEvent::SAFE_STATE_LEFT]
        .map(|kind| recorded.count("improving", kind));
    assert_eq!(entered.load(Ordering::Relaxed), in_it);
    // On a machine without free CPU time it may be late again.
    assert!(
        in_it == out || in_it == out + 1,
        "{events:?}: {in_it} {out}"
    );
    let due = due.lock().unwrap();
    let gap = |index: usize| due[index].0 - due[index - 1].0;
    // From the fourth miss on it runs at every second due time, of those that it does not miss
    // itself.
    assert!(gap(5) >= 60 * MS && gap(5) % (20 * MS) == 0, "{due:?}");
    assert!(gap(8) >= 1000 * MS, "not isolated for a second: {due:?}");
    let (text, _) = summary((1..due.len()).map(gap).collect());
    result(
        "scheduler_watchdog/graduated",
        format!("{in_it} safe states; from due to due {text}"),
    );
}

/// A node that is always late, and counts the entries into its safe state.
struct Late(Arc<AtomicU64>);

impl Node for Late {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        thread::sleep(Duration::from_millis(12));
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// It enters its safe state at the end, and before that if it was in safe mode, in which it ticks.
#[test]
fn a_late_node_enters_its_safe_state_once_for_each_entry_and_at_the_end() {
    for (policy, entries) in [(MissPolicy::SafeMode, 2), (MissPolicy::Warn, 1)] {
        let private = Private::new();
        let recorded = Recorded::default();
        let mut scheduler = recorded.scheduler(&private);
        let entered = Arc::<AtomicU64>::default();
        let node = scheduler
            .node("late")
            .rate(100.hz())
            .on_miss(policy)
            .watchdog(LONG);
        node.build(Late(Arc::clone(&entered))).unwrap();
        let handle = scheduler.handle();
        let bad = move |_: &mut Context<'_>| -> NodeResult {
            if ticks(&handle, "late") > 4 {
                Err("on purpose".into())
            } else {
                Ok(())
            }
        };
        scheduler.node("bad").build(bad).unwrap();
        let report = scheduler.run().or_else(RunError::into_report).unwrap();
        assert!(report.reason.is_failure());
        assert_eq!(entered.load(Ordering::Relaxed), entries, "{policy:?}");
        assert_eq!(
            recorded.count("late", NodeEvent::SAFE_STATE_ENTERED),
            entries,
            "{policy:?}"
        );
    }
}

/// A node that is late in its first tick, and compares what each tick says about the safe state
/// with the calls of `enter_safe_state`.
struct Recovering {
    has_entered: bool,
    seen: Arc<Mutex<Vec<bool>>>,
}

impl Node for Recovering {
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        let is_safe = context.is_in_safe_state();
        assert!(self.has_entered || !is_safe);
        let mut seen = self.seen.lock().unwrap();
        if seen.is_empty() {
            thread::sleep(Duration::from_millis(30));
        }
        seen.push(is_safe);
        if seen.len() > 1 && !is_safe && seen[seen.len() - 2] {
            context.stop();
        }
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.has_entered = true;
    }
}

#[test]
fn a_node_in_safe_mode_ticks_and_knows_it() {
    let private = Private::new();
    let mut scheduler = private.scheduler();
    let seen = Arc::<Mutex<Vec<bool>>>::default();
    let node = scheduler
        .node("late")
        .rate(50.hz())
        .on_miss(MissPolicy::SafeMode);
    node.build(Recovering {
        has_entered: false,
        seen: Arc::clone(&seen),
    })
    .unwrap();
    scheduler.run().unwrap();
    let seen = seen.lock().unwrap();
    // On a busy machine other ticks are late, too.
    let safe = seen.iter().filter(|&&is_safe| is_safe).count();
    assert!(!seen[0] && seen[1] && safe >= 10, "{seen:?}");
}

/// A node whose ticks all fail, and whose `on_error` panics.
struct AllFails;

impl Node for AllFails {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        Err("on purpose".into())
    }

    fn on_error(&mut self, _: &NodeError) {
        panic!("in vain");
    }
}

/// Events of several kinds in each tick would displace all others from the black box.
#[test]
fn each_kind_of_event_that_every_tick_may_cause_is_limited() {
    let (private, recorded) = (Private::new(), Recorded::default());
    let mut scheduler = recorded.scheduler(&private);
    let node = scheduler.node("all").checkpoints(1);
    let node = node.failure_policy(FailurePolicy::Ignore);
    node.build(AllFails).unwrap();
    let began = Instant::now();
    let mut running = scheduler.start().unwrap();
    for _ in 0..200 {
        assert!(running.tick_once().unwrap());
    }
    // The next event says how many were left out.
    thread::sleep(Duration::from_millis(110));
    assert!(running.tick_once().unwrap());
    running.finish().unwrap();
    let periods = began.elapsed().as_millis() as u64 / 100;
    for (kind, part) in [
        (NodeEvent::FAILED, "on purpose"),
        (NodeEvent::CHECKPOINT, ""),
        (NodeEvent::PANICKED, "in on_error"),
    ] {
        let (shown, left_out) = recorded.count_with_left_out("all", kind, part);
        assert!(shown <= 1 + periods, "kind {kind} {part}: {shown}");
        assert_eq!(shown + left_out, 201, "kind {kind} {part}");
    }
}
