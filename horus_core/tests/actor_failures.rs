//! Failures of actors that meet something else: a watch on its way, a stop, a restart, or a timer.

use horus_testing as _;

mod executors;
mod private;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use executors::{LONG, Recorded, until};
use horus_core::actor::{Actor, Actors, Address, Context, Down, DownReason};
use horus_core::message::NodeEvent;
use horus_core::scheduler::{FailurePolicy, NodeError, NodeResult, Scheduler};
use private::Private;

/// A function that an actor calls with its context.
type Call = Box<dyn FnOnce(&mut Context<'_, Puppet>) -> NodeResult + Send>;

/// Returns a message that makes a puppet call the function.
fn call(call: impl FnOnce(&mut Context<'_, Puppet>) -> NodeResult + Send + 'static) -> Call {
    Box::new(call)
}

/// Returns a message that makes a puppet fail.
fn failure() -> Call {
    call(|_| Err("on purpose".into()))
}

/// The calls of the methods of all puppets of a test.
#[derive(Default)]
struct Calls {
    inits: AtomicU64,
    shutdowns: AtomicU64,
    downs: Mutex<Vec<DownReason>>,
}

impl Calls {
    fn inits(&self) -> u64 {
        self.inits.load(Ordering::Relaxed)
    }

    fn shutdowns(&self) -> u64 {
        self.shutdowns.load(Ordering::Relaxed)
    }

    /// Waits for the report that a watched actor has ended, and returns its reason.
    fn wait_for_down(&self) -> DownReason {
        until("a watched actor is down", || {
            !self.downs.lock().unwrap().is_empty()
        });
        self.downs.lock().unwrap().remove(0)
    }
}

/// An actor that does as it is told, and counts what is called.
struct Puppet {
    calls: Arc<Calls>,
    init: Option<Call>,
}

impl Puppet {
    fn new(calls: &Arc<Calls>) -> Self {
        Self {
            calls: Arc::clone(calls),
            init: None,
        }
    }

    fn with_init(
        calls: &Arc<Calls>,
        init: impl FnOnce(&mut Context<'_, Self>) -> NodeResult + Send + 'static,
    ) -> Self {
        Self {
            calls: Arc::clone(calls),
            init: Some(Box::new(init)),
        }
    }

    /// Returns a puppet that watches another actor.
    fn watching(calls: &Arc<Calls>, other: &Address<Call>) -> Self {
        let other = other.clone();
        Self::with_init(calls, move |context| {
            context.watch(&other);
            Ok(())
        })
    }
}

impl Actor for Puppet {
    type Message = Call;

    fn init(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
        self.calls.inits.fetch_add(1, Ordering::Relaxed);
        self.init.take().map_or(Ok(()), |init| init(context))
    }

    fn handle(&mut self, call: Call, context: &mut Context<'_, Self>) -> NodeResult {
        call(context)
    }

    fn on_down(&mut self, down: &Down, _: &mut Context<'_, Self>) -> NodeResult {
        self.calls.downs.lock().unwrap().push(down.reason().clone());
        Ok(())
    }

    fn shutdown(&mut self) -> NodeResult {
        self.calls.shutdowns.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn group(threads: usize) -> (Scheduler, Actors, Private) {
    let (mut scheduler, private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(threads).build().unwrap();
    (scheduler, actors, private)
}

/// An actor whose messages all fail, and whose `on_error` panics.
struct AllFails;

impl Actor for AllFails {
    type Message = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> NodeResult {
        Err("on purpose".into())
    }

    fn on_error(&mut self, _: &NodeError) {
        panic!("in vain");
    }
}

/// An event for each message would displace all others from the black box.
#[test]
fn the_events_of_an_actor_whose_messages_all_fail_are_limited() {
    for threads in [0, 1] {
        let (private, recorded) = (Private::new(), Recorded::default());
        let mut scheduler = recorded.scheduler(&private);
        let actors = scheduler.actors("fleet").threads(threads).build().unwrap();
        let options = actors.options().on_failure(FailurePolicy::Ignore);
        let address = options.spawn(AllFails).unwrap();
        let began = Instant::now();
        let mut running = scheduler.start().unwrap();
        let mut handle_all = |handled| {
            until("all are handled", || {
                running.run_for(Duration::from_millis(1)).unwrap();
                actors.counters().handled == handled
            });
        };
        for _ in 0..100 {
            address.tell(()).unwrap();
        }
        handle_all(100);
        // The next event says how many were left out.
        thread::sleep(Duration::from_millis(110));
        address.tell(()).unwrap();
        handle_all(101);
        running.finish().unwrap();
        let periods = began.elapsed().as_millis() as u64 / 100;
        for (kind, text) in [
            (NodeEvent::FAILED, "on purpose"),
            (NodeEvent::PANICKED, "in vain"),
        ] {
            let (shown, left_out) = recorded.count_with_left_out("fleet", kind, text);
            assert!(shown <= 1 + periods, "kind {kind}: {shown} events");
            assert_eq!(shown + left_out, 101, "kind {kind}");
        }
        let counters = actors.counters();
        assert_eq!((counters.failures, counters.panics), (202, 101));
    }
}

fn restarts(max: u32) -> FailurePolicy {
    FailurePolicy::Restart {
        max,
        backoff: Duration::from_micros(100),
    }
}

fn on_purpose() -> DownReason {
    DownReason::Failed("on purpose".to_owned())
}

/// A child fails its parent also if it fails at a message that it sent to itself in its `init`.
#[test]
fn a_child_that_fails_at_its_own_message_fails_its_parent() {
    for threads in [1, 2] {
        let (scheduler, actors, _private) = group(threads);
        let running = scheduler.start().unwrap();
        let calls = Arc::<Calls>::default();
        let child_calls = Arc::clone(&calls);
        let parent = Puppet::with_init(&calls, move |context| {
            let child = Puppet::with_init(&child_calls, |context| {
                context.address().tell(failure()).unwrap();
                Ok(())
            });
            context.spawn(child)?;
            Ok(())
        });
        let parent = actors.spawn(parent).unwrap();
        until("the parent has failed", || parent.is_disconnected());
        assert_eq!((calls.inits(), calls.shutdowns()), (2, 2));
        running.finish().unwrap();
        assert_eq!(actors.counters().failures, 2);
    }
}

/// A child whose `init` fails does not exist for its parent.
#[test]
fn a_child_that_does_not_start_leaves_its_parent_alone() {
    let (scheduler, actors, _private) = group(1);
    let running = scheduler.start().unwrap();
    let [calls, child_calls] = [0; 2].map(|_| Arc::<Calls>::default());
    let parent = Puppet::with_init(&calls, move |context| {
        let failing = Puppet::with_init(&child_calls, |_| Err("on purpose".into()));
        assert!(context.spawn(failing).is_err());
        let stopping = Puppet::with_init(&child_calls, |context| {
            context.stop();
            Ok(())
        });
        context.spawn(stopping)?;
        Ok(())
    });
    let parent = actors.spawn(parent).unwrap();
    let (said, says) = mpsc::channel();
    let say = call(move |_| Ok(said.send(())?));
    parent.tell(say).unwrap();
    says.recv_timeout(LONG).unwrap();
    assert_eq!(actors.counters().alive, 1);
    // It has no child for whose end it would have to wait.
    drop(parent);
    until("the parent has ended", || actors.counters().alive == 0);
    assert_eq!(calls.shutdowns(), 1);
    running.finish().unwrap();
}

/// A watch that waits in the mailbox behind the message that makes an actor fail learns the reason.
#[test]
fn a_watch_that_waits_behind_a_failure_learns_the_reason() {
    for threads in [0, 1] {
        let (scheduler, actors, _private) = group(threads);
        let calls = Arc::<Calls>::default();
        let failing = actors.spawn(Puppet::new(&calls)).unwrap();
        failing.tell(failure()).unwrap();
        let _watching = actors.spawn(Puppet::watching(&calls, &failing)).unwrap();
        let mut running = scheduler.start().unwrap();
        if threads == 0 {
            running.tick_once().unwrap();
        }
        assert_eq!(calls.wait_for_down(), on_purpose());
        running.finish().unwrap();
    }
}

/// The same holds if the actor has failed before, and cannot be made anew.
#[test]
fn a_watch_that_waits_for_a_restart_learns_that_it_failed() {
    let (scheduler, actors, _private) = group(1);
    let (calls, mut made) = (Arc::<Calls>::default(), 0);
    let its_calls = Arc::clone(&calls);
    let make = move || {
        made += 1;
        match made {
            1 => Puppet::new(&its_calls),
            _ => Puppet::with_init(&its_calls, |_| Err("on purpose".into())),
        }
    };
    let options = actors.options().on_failure(restarts(1));
    let failing = options.spawn_with(make).unwrap();
    failing.tell(call(|_| Err("at first".into()))).unwrap();
    let _watching = actors.spawn(Puppet::watching(&calls, &failing)).unwrap();
    let running = scheduler.start().unwrap();
    assert_eq!(calls.wait_for_down(), on_purpose());
    running.finish().unwrap();
}

/// An actor that stops in a handler that then fails has stopped, whatever its policy.
#[test]
fn an_actor_that_stops_and_fails_ends() {
    let skip = FailurePolicy::Skip {
        max: 9,
        cooldown: Duration::ZERO,
    };
    for policy in [FailurePolicy::Ignore, skip, restarts(9)] {
        for panics in [false, true] {
            let (scheduler, actors, _private) = group(1);
            let calls = Arc::<Calls>::default();
            let made = Arc::clone(&calls);
            let options = actors.options().on_failure(policy);
            let stopping = options.spawn_with(move || Puppet::new(&made)).unwrap();
            let _watching = actors.spawn(Puppet::watching(&calls, &stopping)).unwrap();
            let running = scheduler.start().unwrap();
            let stop = call(move |context| {
                context.stop();
                assert!(!panics, "on purpose");
                Err("on purpose".into())
            });
            stopping.tell(stop).unwrap();
            assert_eq!(calls.wait_for_down(), DownReason::Ended);
            assert!(stopping.is_disconnected());
            assert_eq!((calls.inits(), calls.shutdowns()), (2, 1), "{policy:?}");
            assert_eq!(actors.counters().failures, 1);
            running.finish().unwrap();
        }
    }
}

/// An actor that stops in its `init` after a restart is initialised, and is therefore shut down.
#[test]
fn an_actor_that_stops_in_its_init_after_a_restart_is_shut_down() {
    let (scheduler, actors, _private) = group(1);
    let (calls, mut made) = (Arc::<Calls>::default(), 0);
    let its_calls = Arc::clone(&calls);
    let make = move || {
        made += 1;
        let is_first = made == 1;
        Puppet::with_init(&its_calls, move |context| {
            if !is_first {
                context.stop();
            }
            Ok(())
        })
    };
    let options = actors.options().on_failure(restarts(9));
    let failing = options.spawn_with(make).unwrap();
    let running = scheduler.start().unwrap();
    failing.tell(failure()).unwrap();
    until("it has stopped", || actors.counters().alive == 0);
    assert_eq!((calls.inits(), calls.shutdowns()), (2, 2));
    running.finish().unwrap();
}

/// Starts a timer whose function panics at its third call. The others return messages that count
/// in `sent`.
fn start_panicking_timer(context: &mut Context<'_, Puppet>, sent: &Arc<AtomicU64>) {
    let (sent, mut calls) = (Arc::clone(sent), 0);
    context.tell_every(Duration::from_millis(1), move || {
        calls += 1;
        assert_ne!(calls, 3, "on purpose");
        let sent = Arc::clone(&sent);
        call(move |_| {
            sent.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    });
}

/// Spawns an actor with the timer of [`start_panicking_timer`] and this policy, and an actor that
/// watches it.
fn spawn_panicking_timer(
    actors: &Actors,
    policy: FailurePolicy,
    calls: &Arc<Calls>,
    sent: &Arc<AtomicU64>,
) -> Address<Call> {
    let (its_calls, sent) = (Arc::clone(calls), Arc::clone(sent));
    let make = move || {
        let sent = Arc::clone(&sent);
        Puppet::with_init(&its_calls, move |context| {
            start_panicking_timer(context, &sent);
            Ok(())
        })
    };
    let ticking = actors.options().on_failure(policy).spawn_with(make);
    let ticking = ticking.unwrap();
    actors.spawn(Puppet::watching(calls, &ticking)).unwrap()
}

/// A panic in the function of a timer is a failure of its actor, which begins again with a timer of
/// its own.
#[test]
fn a_panic_in_the_function_of_a_timer_restarts_its_actor() {
    let (scheduler, actors, _private) = group(1);
    let (calls, sent) = (Arc::<Calls>::default(), Arc::new(AtomicU64::new(0)));
    let _watching = spawn_panicking_timer(&actors, restarts(1), &calls, &sent);
    let running = scheduler.start().unwrap();
    let DownReason::Failed(error) = calls.wait_for_down() else {
        panic!("it has failed twice");
    };
    assert!(error.contains("on purpose"), "{error}");
    assert_eq!(sent.load(Ordering::Relaxed), 4);
    assert_eq!((calls.inits(), calls.shutdowns()), (3, 2));
    let counters = actors.counters();
    assert_eq!((counters.failures, counters.panics), (2, 2));
    running.finish().unwrap();
}

/// If the policy is to ignore it, the timer goes on.
#[test]
fn a_panic_in_the_function_of_a_timer_may_be_ignored() {
    let (scheduler, actors, _private) = group(1);
    let (calls, sent) = (Arc::<Calls>::default(), Arc::new(AtomicU64::new(0)));
    let _watching = spawn_panicking_timer(&actors, FailurePolicy::Ignore, &calls, &sent);
    let running = scheduler.start().unwrap();
    until("the timer goes on", || sent.load(Ordering::Relaxed) > 5);
    assert_eq!((actors.counters().failures, calls.shutdowns()), (1, 0));
    running.finish().unwrap();
}

#[test]
fn a_panic_in_the_function_of_a_timer_may_end_the_run() {
    let (scheduler, actors, _private) = group(1);
    let (calls, sent) = (Arc::<Calls>::default(), Arc::new(AtomicU64::new(0)));
    let _watching = spawn_panicking_timer(&actors, FailurePolicy::Fatal, &calls, &sent);
    let running = scheduler.start().unwrap();
    until("the run ends", || running.is_stopping());
    let error = running.finish().unwrap_err().to_string();
    assert!(error.contains("on purpose"), "{error}");
    assert_eq!(sent.load(Ordering::Relaxed), 2);
}

/// An actor that cannot shut down.
struct Stuck;

impl Actor for Stuck {
    type Message = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> NodeResult {
        Ok(())
    }

    fn shutdown(&mut self) -> NodeResult {
        Err("the bus is gone".into())
    }
}

/// They all end at once, and no later event says how many were left out.
#[test]
fn the_events_count_all_failures_of_the_end() {
    const ACTORS: usize = 5;
    for threads in [0, 1] {
        let (private, recorded) = (Private::new(), Recorded::default());
        let mut scheduler = recorded.scheduler(&private);
        let actors = scheduler.actors("fleet").threads(threads).build().unwrap();
        let _stuck = [(); ACTORS].map(|()| actors.spawn(Stuck).unwrap());
        let mut running = scheduler.start().unwrap();
        running.tick_once().unwrap();
        running.finish().unwrap();
        let part = "the bus is gone";
        let (told, left_out) = recorded.count_with_left_out("fleet", NodeEvent::FAILED, part);
        let events = recorded.of("fleet", NodeEvent::FAILED);
        let at_end = events.iter().filter_map(|event| {
            let number = event.text.as_str().strip_suffix(" more before the end")?;
            Some(number.parse::<u64>().unwrap())
        });
        let all = told + left_out + at_end.sum::<u64>();
        assert_eq!(all, ACTORS as u64, "{threads} threads: {events:?}");
    }
}
