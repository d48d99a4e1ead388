//! Commands to nodes while they run: pause, stop, another rate, another node in their place.

use horus_testing as _;

#[path = "scheduler_orders/all_nodes.rs"]
mod all_nodes;
mod executors;
mod private;
#[path = "scheduler_orders/remote.rs"]
mod remote;
#[path = "scheduler_orders/short_runs.rs"]
mod short_runs;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use executors::{LONG, ticks, until};
use horus_core::message::monotonic_now_ns;
use horus_core::prelude::*;
use horus_core::scheduler::{
    CommandError, Context, FailurePolicy, Handle, Health, Hertz, Node, NodeClass, NodeResult,
    Running, Scheduler, StopReason, SwapState,
};
use private::Private;

/// Makes a scheduler in a namespace of its own.
fn scheduler(private: &Private) -> Scheduler {
    let mut scheduler = private.scheduler();
    scheduler.on_event(|_| {});
    scheduler
}

/// Counts its ticks and shutdowns.
#[derive(Clone, Default)]
struct Counter {
    ticks: Arc<AtomicU64>,
    shutdowns: Arc<AtomicU64>,
}

impl Node for Counter {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.ticks.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn shutdown(&mut self) -> NodeResult {
        self.shutdowns.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn a_round_is_one_tick_of_each_node_that_has_no_thread() {
    let private = Private::new();
    let mut scheduler = scheduler(&private);
    let [one, other] = [Counter::default(), Counter::default()];
    scheduler.node("one").build(one.clone()).unwrap();
    scheduler.node("other").build(other.clone()).unwrap();
    let mut running = scheduler.start().unwrap();
    for round in 1..=1000 {
        assert!(running.tick_once().unwrap());
        let ticked = [&one, &other].map(|counter| counter.ticks.load(Ordering::Relaxed));
        assert_eq!(ticked, [round; 2]);
    }
    running.handle().stop();
    assert!(!running.tick_once().unwrap() && running.is_stopping());
    let report = running.finish().unwrap();
    assert_eq!(report.reason, StopReason::Requested);
    assert_eq!(report.node("one").unwrap().metrics.ticks, 1000);
    assert_eq!(one.shutdowns.load(Ordering::Relaxed), 1);
}

#[test]
fn a_dropped_run_has_shut_its_nodes_down() {
    let private = Private::new();
    let mut scheduler = scheduler(&private);
    let [main, timed] = [Counter::default(), Counter::default()];
    scheduler.node("main").build(main.clone()).unwrap();
    scheduler
        .node("timed")
        .rate(1.khz())
        .build(timed.clone())
        .unwrap();
    drop(scheduler.start().unwrap());
    assert_eq!(main.shutdowns.load(Ordering::Relaxed), 1);
    assert_eq!(timed.shutdowns.load(Ordering::Relaxed), 1);
}

/// Runs a node with a rate and one without, and calls `steer` meanwhile.
fn beside(steer: impl FnOnce(&Handle, &mut Running)) {
    let private = Private::new();
    let mut scheduler = scheduler(&private);
    scheduler
        .node("timed")
        .rate(1.khz())
        .build(Counter::default())
        .unwrap();
    scheduler.node("main").build(Counter::default()).unwrap();
    let mut running = scheduler.start().unwrap();
    let handle = running.handle();
    steer(&handle, &mut running);
    assert_eq!(
        running.finish().unwrap().reason,
        StopReason::DurationElapsed
    );
}

#[test]
fn a_paused_node_does_not_tick_until_it_is_resumed() {
    beside(|handle, running| {
        for (node, health) in [("timed", Health::Active), ("main", Health::Active)] {
            assert_eq!(handle.metrics(node).unwrap().health, health);
        }
        until("ticks", || {
            running.tick_once().unwrap() && ticks(handle, "timed") > 3
        });
        for node in ["timed", "main"] {
            handle.pause(node).unwrap();
            let is_paused = || handle.metrics(node).unwrap().health == Health::Paused;
            until("paused", || running.tick_once().unwrap() && is_paused());
            let before = ticks(handle, node);
            thread::sleep(Duration::from_millis(20));
            assert!(running.tick_once().unwrap());
            assert_eq!(ticks(handle, node), before);
            handle.resume(node).unwrap();
            until("resumed", || {
                running.tick_once().unwrap() && ticks(handle, node) > before + 3
            });
            assert_eq!(handle.metrics(node).unwrap().health, Health::Active);
        }
    });
}

#[test]
fn a_stopped_node_is_shut_down_and_the_others_go_on() {
    beside(|handle, running| {
        for node in ["timed", "main"] {
            handle.stop_node(node).unwrap();
            let is_stopped = || handle.metrics(node).unwrap().health == Health::Stopped;
            until("stopped", || running.tick_once().unwrap() && is_stopped());
            let before = ticks(handle, node);
            // A stopped node cannot be resumed.
            handle.resume(node).unwrap();
            thread::sleep(Duration::from_millis(5));
            assert!(running.tick_once().unwrap());
            assert_eq!(ticks(handle, node), before);
        }
    });
}

#[test]
fn a_new_rate_applies_from_the_next_due_time_on() {
    let private = Private::new();
    let mut scheduler = scheduler(&private);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let times = Arc::clone(&seen);
    let node = move |context: &mut Context<'_>| {
        times
            .lock()
            .unwrap()
            .push((context.scheduled_ns(), context.period()));
    };
    scheduler.node("timed").rate(500.hz()).build(node).unwrap();
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    until("ticks", || ticks(&handle, "timed") > 5);
    handle.set_rate("timed", 100.hz()).unwrap();
    let slow = Duration::from_millis(10);
    let slow_ticks = || {
        seen.lock()
            .unwrap()
            .iter()
            .filter(|(_, period)| *period == slow)
            .count()
    };
    until("ten slow ticks", || slow_ticks() > 10);
    let nonsense = handle.set_rate("timed", 0.hz()).unwrap_err();
    assert!(
        nonsense.to_string().contains("a rate has to be"),
        "{nonsense}"
    );
    drop(running);
    let seen = seen.lock().unwrap();
    let first = seen.iter().position(|(_, period)| *period == slow).unwrap();
    for pair in seen[first..].windows(2) {
        let passed = pair[1].0 - pair[0].0;
        assert!(passed > 0 && passed.is_multiple_of(10_000_000), "{passed}");
    }
    let before = seen[first].0 - seen[first - 1].0;
    assert!(before.is_multiple_of(2_000_000), "{before}");
}

#[test]
fn invalid_commands_are_refused_with_the_reason() {
    beside(|handle, _| {
        let error = handle.pause("tmied").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no node is called 'tmied'; there are: timed, main"
        );
        let error = handle.set_rate("main", 1.hz()).unwrap_err();
        assert!(matches!(error, CommandError::NoRate { .. }), "{error}");
        assert_eq!(handle.nodes(), ["timed", "main"]);
    });
    let private = Private::new();
    let mut scheduler = scheduler(&private);
    let budget = Duration::from_millis(5);
    scheduler
        .node("n")
        .rate(100.hz())
        .budget(budget)
        .build(Counter::default())
        .unwrap();
    let error = scheduler.handle().set_rate("n", 500.hz()).unwrap_err();
    assert!(error.to_string().contains("budget of 5ms"), "{error}");
}

#[test]
fn the_nodes_of_a_chain_run_one_after_the_other_at_each_due_time() {
    let private = Private::new();
    let mut scheduler = scheduler(&private);
    let log = Arc::new(Mutex::new(Vec::new()));
    for (name, order) in [("third", 3), ("first", 1), ("second", 2)] {
        let log = Arc::clone(&log);
        let node = move |context: &mut Context<'_>| {
            let here = thread::current().id();
            log.lock()
                .unwrap()
                .push((name, context.scheduled_ns(), here));
            if context.tick() == 50 && name == "first" {
                context.stop();
            }
        };
        scheduler
            .node(name)
            .order(order)
            .chain("arm")
            .rate(1.khz())
            .build(node)
            .unwrap();
    }
    let odd = scheduler
        .node("odd")
        .chain("arm")
        .rate(2.khz())
        .build(Counter::default());
    let error = odd.unwrap_err().to_string();
    assert!(error.contains("'odd' and 'third' of the chain 'arm' differ in rate"));
    let report = scheduler.run().unwrap();
    assert!(
        report
            .nodes
            .iter()
            .all(|node| node.class == NodeClass::RealTime)
    );
    let log = log.lock().unwrap();
    assert_eq!(log.len(), 51 * 3);
    for three in log.chunks(3) {
        assert!(
            three
                .iter()
                .map(|(name, ..)| *name)
                .eq(["first", "second", "third"])
        );
        assert!(three.iter().all(|(_, due_ns, _)| *due_ns == three[0].1));
    }
    assert!(log.iter().all(|(.., id)| *id == log[0].2), "one thread");
}

horus_core::message! {
    struct Number {
        value: u64,
    }
}

/// Receives numbers, and logs them with its mark.
struct Marker {
    mark: u64,
    input: Subscriber<Number>,
    output: Arc<Mutex<Vec<(u64, u64)>>>,
    fails_at: u64,
}

impl Node for Marker {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        while let Some(Number { value: number }) = self.input.recv() {
            self.output.lock().unwrap().push((self.mark, number));
            if number == self.fails_at {
                return Err(format!("mark {} cannot do {number}", self.mark).into());
            }
        }
        Ok(())
    }
}

/// The same node with another type and the next mark.
struct Marked(Marker);

impl Node for Marked {
    fn tick(&mut self, context: &mut Context<'_>) -> NodeResult {
        self.0.tick(context)
    }
}

fn marked(old: Marker) -> Marked {
    Marked(Marker {
        mark: old.mark + 1,
        ..old
    })
}

fn unmarked(new: Marked) -> Marker {
    Marker {
        mark: new.0.mark - 1,
        ..new.0
    }
}

#[test]
fn a_swap_passes_the_queue_on_and_every_message_is_handled_once_in_order() {
    let private = Private::new();
    let mut scheduler = scheduler(&private);
    let mut sender = private.publisher::<Number>("numbers", Qos::reliable().capacity(256));
    let input = private.subscriber::<Number>("numbers", Qos::reliable().capacity(256));
    let output = Arc::new(Mutex::new(Vec::new()));
    let node = Marker {
        mark: 0,
        input,
        output: Arc::clone(&output),
        fails_at: u64::MAX,
    };
    let builder = scheduler.node("marker").on(&node.input);
    builder.build(node).unwrap();
    let mut running = scheduler.start().unwrap();
    let handle = running.handle();
    let arrived = Arc::clone(&output);
    let steering = thread::spawn(move || {
        let mut swaps = 0;
        for number in 0..20_000_u64 {
            while sender.send(Number { value: number }).is_err() {
                thread::yield_now();
            }
            if number % 100 == 99 {
                let swap = match swaps % 2 {
                    0 => handle.swap_with("marker", marked, unmarked),
                    _ => handle.swap_with("marker", |new: Marked| Marker { ..new.0 }, Marked),
                };
                let state = swap.unwrap().wait_while_pending(LONG);
                assert!(
                    matches!(state, SwapState::OnTrial | SwapState::Done),
                    "{state:?}"
                );
                swaps += 1;
            }
        }
        until("all arrived", || arrived.lock().unwrap().len() == 20_000);
        handle.stop();
        swaps
    });
    running.run_for(LONG).unwrap();
    let swaps: u64 = steering.join().unwrap();
    let report = running.finish().unwrap();
    assert_eq!(report.reason, StopReason::Requested);
    let output = output.lock().unwrap();
    assert!(output.iter().map(|(_, number)| *number).eq(0..20_000));
    assert!(output.is_sorted_by_key(|(mark, _)| *mark));
    assert_eq!(output.last().unwrap().0, swaps / 2);
}

#[test]
fn a_swap_that_fails_is_rolled_back_and_nothing_is_lost() {
    let private = Private::new();
    let mut scheduler = scheduler(&private);
    let old = Counter::default();
    scheduler
        .node("n")
        .rate(1.khz())
        .build(old.clone())
        .unwrap();
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    let mut left = 3;
    let swap = handle.swap("n", move |_: &mut Context<'_>| {
        left -= 1;
        if left > 0 { Ok(()) } else { Err("no good") }
    });
    let state = swap.unwrap().wait(LONG);
    assert_eq!(state, SwapState::RolledBack("no good".to_owned()));
    let swap = handle
        .swap("n", |_: &mut Context<'_>| -> () { panic!("worse") })
        .unwrap();
    assert_eq!(
        swap.wait(LONG),
        SwapState::RolledBack("panicked: worse".to_owned())
    );
    let before = old.ticks.load(Ordering::Relaxed);
    until("the old one ticks", || {
        old.ticks.load(Ordering::Relaxed) > before + 3
    });
    assert_eq!(old.shutdowns.load(Ordering::Relaxed), 0);
    // A node of another type is not changed.
    let swap = handle.swap_with("n", marked, unmarked).unwrap();
    let SwapState::RolledBack(why) = swap.wait(LONG) else {
        panic!()
    };
    assert!(why.contains("Marker"), "{why}");
    // A swap without a failure is final after its probation, and the old node is shut down.
    let new = Counter::default();
    assert_eq!(
        handle.swap("n", new.clone()).unwrap().wait(LONG),
        SwapState::Done
    );
    assert_eq!(old.shutdowns.load(Ordering::Relaxed), 1);
    assert_eq!(new.shutdowns.load(Ordering::Relaxed), 0);
    let report = running.finish().unwrap();
    assert_eq!(
        (report.reason, new.shutdowns.load(Ordering::Relaxed)),
        (StopReason::DurationElapsed, 1)
    );
    let late = handle.swap("n", Counter::default()).unwrap();
    drop(handle);
    assert!(matches!(
        late.state(),
        SwapState::Pending | SwapState::Abandoned
    ));
}

#[test]
fn a_swap_that_fails_on_a_message_gives_the_endpoints_back() {
    let private = Private::new();
    let mut scheduler = scheduler(&private);
    let mut sender = private.publisher::<Number>("numbers", Qos::reliable());
    let input = private.subscriber::<Number>("numbers", Qos::reliable());
    let output = Arc::new(Mutex::new(Vec::new()));
    let node = Marker {
        mark: 0,
        input,
        output: Arc::clone(&output),
        fails_at: u64::MAX,
    };
    let builder = scheduler.node("marker").on(&node.input);
    builder.build(node).unwrap();
    let running = scheduler.start().unwrap();
    let handle = running.handle();
    let bad = |old: Marker| {
        Marked(Marker {
            mark: 1,
            fails_at: 3,
            ..old
        })
    };
    let swap = handle.swap_with("marker", bad, |new| Marker {
        fails_at: u64::MAX,
        ..unmarked(new)
    });
    let swap = swap.unwrap();
    assert_eq!(swap.wait_while_pending(LONG), SwapState::OnTrial);
    for number in 0..10 {
        sender.send(Number { value: number }).unwrap();
    }
    let state = swap.wait(LONG);
    assert_eq!(
        state,
        SwapState::RolledBack("mark 1 cannot do 3".to_owned())
    );
    until("all arrived", || output.lock().unwrap().len() == 10);
    let marks: Vec<_> = output
        .lock()
        .unwrap()
        .iter()
        .map(|(mark, _)| *mark)
        .collect();
    assert_eq!(marks, [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        running.finish().unwrap().reason,
        StopReason::DurationElapsed
    );
}

/// For bindings, which poll this too often to look the scheduler up each time.
#[test]
fn a_word_holds_its_number_until_the_run_is_to_stop() {
    static WORD: AtomicU64 = AtomicU64::new(0);
    static OTHER: AtomicU64 = AtomicU64::new(0);
    let shown = |word: &AtomicU64| word.load(Ordering::Relaxed);
    let private = Private::new();
    let first = scheduler(&private).handle();
    first.set_while_running(&WORD, 7);
    // Only the first call has an effect.
    first.set_while_running(&OTHER, 8);
    assert_eq!((shown(&WORD), shown(&OTHER)), (7, 0));
    first.stop();
    assert_eq!(shown(&WORD), 0);

    let second = scheduler(&private).handle();
    second.set_while_running(&WORD, 9);
    // The word belongs to another scheduler by now.
    WORD.store(10, Ordering::Relaxed);
    second.stop();
    assert_eq!(shown(&WORD), 10);

    let stopped = scheduler(&private).handle();
    stopped.stop();
    stopped.set_while_running(&OTHER, 11);
    assert_eq!(shown(&OTHER), 0);
}

/// Fails in its first tick. Takes long to initialise a second time, and reports the end of that.
struct SlowInit {
    inits: u64,
    ready_ns: Arc<AtomicU64>,
}

impl Node for SlowInit {
    fn init(&mut self, _: &mut Context<'_>) -> NodeResult {
        self.inits += 1;
        if self.inits == 2 {
            thread::sleep(Duration::from_millis(250));
            self.ready_ns.store(monotonic_now_ns(), Ordering::Relaxed);
        }
        Ok(())
    }

    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        if self.inits == 1 {
            return Err("on purpose".into());
        }
        Ok(())
    }
}

/// No tick of a chain is late because another node of the chain was initialised, after a failure or
/// a swap.
#[test]
fn due_times_that_pass_while_a_node_of_the_chain_is_initialised_are_skipped() {
    let backoff = Duration::from_millis(1);
    for is_swapped in [false, true] {
        let private = Private::new();
        let mut scheduler = scheduler(&private);
        let ready_ns = Arc::<AtomicU64>::default();
        let slow = |inits| SlowInit {
            inits,
            ready_ns: Arc::clone(&ready_ns),
        };
        let node = scheduler.node("first").rate(10.hz()).chain("chain");
        let node = node.failure_policy(FailurePolicy::Restart { max: 1, backoff });
        // The node that is swapped does not fail.
        node.build(slow(if is_swapped { 10 } else { 0 })).unwrap();
        let noted = Arc::<Mutex<Vec<(u64, u64)>>>::default();
        let seen = Arc::clone(&noted);
        let second = move |context: &mut Context<'_>| {
            let times = (context.scheduled_ns(), context.started_ns());
            seen.lock().unwrap().push(times);
        };
        let node = scheduler.node("second").order(1);
        node.rate(10.hz()).chain("chain").build(second).unwrap();
        let running = scheduler.start().unwrap();
        let handle = running.handle();
        until("it ticks", || ticks(&handle, "second") > 0);
        if is_swapped {
            handle.swap("first", slow(1)).unwrap();
        }
        until("it is ready", || ready_ns.load(Ordering::Relaxed) > 0);
        let before = ticks(&handle, "second");
        until("it ticks on", || ticks(&handle, "second") > before + 3);
        running.finish().unwrap();
        // The clocks differ by less than a millisecond.
        let ready_ns = ready_ns.load(Ordering::Relaxed) - 1_000_000;
        let is_wrong =
            |(due_ns, begin_ns): &&(u64, u64)| *due_ns < ready_ns && *begin_ns >= ready_ns;
        let wrong: Vec<_> = noted
            .lock()
            .unwrap()
            .iter()
            .filter(is_wrong)
            .copied()
            .collect();
        assert!(
            wrong.is_empty(),
            "swapped: {is_swapped}: {ready_ns} {wrong:?}"
        );
    }
}
