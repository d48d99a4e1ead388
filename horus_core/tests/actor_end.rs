//! Actors that fail, stop and end: what follows, in which order, and what becomes of their mail.

use horus_testing as _;

mod executors;
mod private;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use executors::{LONG, Recorded, until};
use horus_core::actor::{Actor, Actors, Address, Answer, AskError, Context, Reply, SpawnError};
use horus_core::message::NodeEvent;
use horus_core::scheduler::{
    FailurePolicy, Handle, NodeError, NodeResult, RunError, Scheduler, StopReason,
};
use private::Private;

/// The calls of an actor, in their order.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    fn note(&self, call: &str, name: &str) {
        self.0.lock().unwrap().push(format!("{call} {name}"));
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// Waits until `handlers` handlers block.
    fn until_blocked(&self, handlers: usize) {
        let is_block = |call: &&String| call.starts_with("block");
        until("handlers block", || {
            self.0.lock().unwrap().iter().filter(is_block).count() == handlers
        });
    }
}

enum Order {
    Note,
    Fail,
    Panic,
    Stop,
    /// Blocks until the sender of this has gone.
    Block(mpsc::Receiver<()>),
    /// Sends a message to another actor, and then blocks.
    Pass(Address<Order>, mpsc::Receiver<()>),
    Answer(Reply<u64>),
}

/// An actor that notes its calls, and does as it is told.
struct Worker {
    name: String,
    calls: Calls,
    handled: u64,
    fails_in_init: bool,
}

impl Worker {
    fn new(name: &str, calls: &Calls) -> Self {
        Self {
            name: name.to_owned(),
            calls: calls.clone(),
            handled: 0,
            fails_in_init: false,
        }
    }
}

impl Actor for Worker {
    type Message = Order;

    fn init(&mut self, _: &mut Context<'_, Self>) -> NodeResult {
        self.calls.note("init", &self.name);
        if self.fails_in_init {
            return Err("no luck".into());
        }
        Ok(())
    }

    fn handle(&mut self, order: Order, context: &mut Context<'_, Self>) -> NodeResult {
        self.handled += 1;
        match order {
            Order::Note => self.calls.note("handle", &self.name),
            Order::Fail => return Err("told to fail".into()),
            Order::Panic => panic!("told to panic"),
            Order::Stop => context.stop(),
            Order::Block(gone) => {
                self.calls.note("block", &self.name);
                assert!(gone.recv().is_err());
            }
            Order::Pass(other, gone) => {
                assert!(other.tell(Order::Note).is_ok());
                self.calls.note("block", &self.name);
                assert!(gone.recv().is_err());
            }
            Order::Answer(reply) => reply.send(self.handled),
        }
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.calls.note("safe", &self.name);
    }

    fn shutdown(&mut self) -> NodeResult {
        self.calls.note("shutdown", &self.name);
        Ok(())
    }

    fn on_error(&mut self, error: &NodeError) {
        self.calls.note("error", &format!("{}: {error}", self.name));
    }
}

fn group(scheduler: &mut Scheduler, threads: usize) -> Actors {
    scheduler.actors("fleet").threads(threads).build().unwrap()
}

fn ask(address: &Address<Order>) -> Result<u64, AskError> {
    address.ask(Order::Answer)?.wait(LONG)
}

/// At the end, the actors are shut down in reverse order of their spawning, between the nodes
/// around their group. Mail that waits is dropped and counted, and questions end.
#[test]
fn actors_end_in_reverse_order() {
    let (mut scheduler, _private) = Private::alone();
    let calls = Calls::default();
    let node = |name: &'static str, scheduler: &mut Scheduler| {
        let calls = calls.clone();
        struct Last(&'static str, Calls);
        impl horus_core::scheduler::Node for Last {
            fn tick(&mut self, _: &mut horus_core::scheduler::Context<'_>) -> NodeResult {
                Ok(())
            }

            fn shutdown(&mut self) -> NodeResult {
                self.1.note("shutdown", self.0);
                Ok(())
            }
        }
        scheduler.node(name).build(Last(name, calls)).unwrap();
    };
    node("before", &mut scheduler);
    let actors = group(&mut scheduler, 2);
    node("after", &mut scheduler);
    let spawned: Vec<_> = (0..5)
        .map(|number| {
            actors
                .spawn(Worker::new(&number.to_string(), &calls))
                .unwrap()
        })
        .collect();
    spawned[1].tell(Order::Stop).unwrap();
    let running = scheduler.start().unwrap();
    until("one has stopped", || spawned[1].is_disconnected());
    let late = actors.spawn(Worker::new("late", &calls)).unwrap();
    drop(calls.take());

    let (block, gone) = mpsc::channel();
    let (other, gone_too) = mpsc::channel();
    spawned[3].tell(Order::Block(gone)).unwrap();
    spawned[2].tell(Order::Block(gone_too)).unwrap();
    calls.until_blocked(2);
    for _ in 0..100 {
        spawned[3].tell(Order::Note).unwrap();
    }
    spawned[4].tell(Order::Note).unwrap();
    let question = spawned[3].ask(Order::Answer).unwrap();
    let ends = std::thread::spawn(move || running.finish());
    let handle = std::thread::spawn(move || question.wait(LONG));
    std::thread::sleep(Duration::from_millis(20));
    drop((block, other));
    ends.join().unwrap().unwrap();
    let ending: Vec<_> = calls
        .take()
        .into_iter()
        .filter(|call| call.starts_with("shutdown"))
        .collect();
    let wanted = ["after", "late", "4", "3", "2", "0", "before"];
    assert_eq!(ending, wanted.map(|name| format!("shutdown {name}")));
    assert!(matches!(
        handle.join().unwrap(),
        Ok(_) | Err(AskError::NoAnswer)
    ));
    let counters = actors.counters();
    assert_eq!(counters.alive, 0);
    assert!(spawned.iter().all(Address::is_disconnected));
    assert!(late.is_disconnected());
    let refused = actors.spawn(Worker::new("x", &calls));
    assert!(matches!(refused, Err(SpawnError::Closed { .. })));
}

/// Mail that waits when an actor stops is dropped and counted, and its questions end.
#[test]
fn mail_of_an_actor_that_stops_is_dropped() {
    let (mut scheduler, _private) = Private::alone();
    let actors = group(&mut scheduler, 1);
    let calls = Calls::default();
    let address = actors.spawn(Worker::new("a", &calls)).unwrap();
    address.tell(Order::Note).unwrap();
    address.tell(Order::Stop).unwrap();
    address.tell(Order::Note).unwrap();
    let question = address.ask(Order::Answer).unwrap();
    let running = scheduler.start().unwrap();
    assert_eq!(question.wait(LONG), Err(AskError::NoAnswer));
    until("it ends", || actors.counters().alive == 0);
    assert_eq!(actors.counters().undelivered, 2);
    assert_eq!(ask(&address), Err(AskError::Disconnected));
    running.finish().unwrap();
    assert_eq!(calls.take(), ["init a", "handle a", "shutdown a"]);
}

/// An actor without an address handles its mail and ends; a weak address does not keep it.
#[test]
fn an_actor_without_an_address_ends_after_its_mail() {
    let (mut scheduler, _private) = Private::alone();
    let actors = group(&mut scheduler, 1);
    let calls = Calls::default();
    let address = actors.spawn(Worker::new("a", &calls)).unwrap();
    let weak = address.downgrade();
    address.tell(Order::Note).unwrap();
    assert!(weak.upgrade().is_some());
    drop(address);
    let running = scheduler.start().unwrap();
    until("it ends", || actors.counters().alive == 0);
    assert!(weak.upgrade().is_none());
    running.finish().unwrap();
    assert_eq!(calls.take(), ["init a", "handle a", "shutdown a"]);
    assert_eq!(actors.counters().undelivered, 0);
}

/// An actor whose handler fails ends, if it cannot be made anew. Failures are in the black box and
/// in the report.
#[test]
fn an_actor_that_fails_ends() {
    for order in [Order::Fail, Order::Panic] {
        let private = Private::new();
        let recorded = Recorded::default();
        let mut scheduler = recorded.scheduler(&private);
        let actors = group(&mut scheduler, 1);
        let calls = Calls::default();
        let address = actors.spawn(Worker::new("a", &calls)).unwrap();
        let is_panic = matches!(order, Order::Panic);
        let (kind, text) = if is_panic {
            (NodeEvent::PANICKED, "told to panic")
        } else {
            (NodeEvent::FAILED, "told to fail")
        };
        address.tell(order).unwrap();
        address.tell(Order::Note).unwrap();
        let running = scheduler.start().unwrap();
        until("it ends", || address.is_disconnected());
        until("it is recorded", || recorded.count("fleet", kind) == 1);
        let report = running.finish().unwrap();
        let node = report.node("fleet").unwrap();
        assert_eq!((node.metrics.failures, node.metrics.ticks), (1, 1));
        assert_eq!(node.metrics.panics, u64::from(is_panic));
        assert_eq!(node.last_error.as_deref(), Some(text));
        assert_eq!(actors.counters().undelivered, 1);
        let error = format!("error a: {text}");
        assert_eq!(calls.take(), ["init a", &error, "shutdown a"]);
    }
}

/// An actor that can be made anew starts afresh after a pause; its mail waits for it. After too
/// many failures it ends.
#[test]
fn an_actor_is_restarted_with_its_mail() {
    let (mut scheduler, _private) = Private::alone();
    let actors = group(&mut scheduler, 2);
    let calls = Calls::default();
    let (made, theirs) = (Arc::new(AtomicU64::new(0)), calls.clone());
    let count = Arc::clone(&made);
    let make = move || {
        let number = count.fetch_add(1, Ordering::Relaxed);
        Worker::new(&number.to_string(), &theirs)
    };
    let policy = FailurePolicy::Restart {
        max: 2,
        backoff: Duration::from_millis(1),
    };
    let options = actors.options().on_failure(policy);
    let address = options.spawn_with(make).unwrap();
    let running = scheduler.start().unwrap();
    assert_eq!(ask(&address), Ok(1));
    assert_eq!(ask(&address), Ok(2));
    address.tell(Order::Fail).unwrap();
    assert_eq!(ask(&address), Ok(1), "the actor is a new one");
    address.tell(Order::Panic).unwrap();
    assert_eq!(ask(&address), Ok(1));
    address.tell(Order::Fail).unwrap();
    // WHY either: the actor may have ended before the question is sent.
    let refused = [AskError::NoAnswer, AskError::Disconnected];
    assert!(refused.map(Err).contains(&ask(&address)));
    until("it ends", || address.is_disconnected());
    running.finish().unwrap();
    assert_eq!(made.load(Ordering::Relaxed), 3);
    let wanted = [
        "init 0",
        "error 0: told to fail",
        "shutdown 0",
        "init 1",
        "error 1: told to panic",
        "shutdown 1",
        "init 2",
        "error 2: told to fail",
        "shutdown 2",
    ];
    assert_eq!(calls.take(), wanted);
}

/// An actor restarts after its pause although it gets no mail.
#[test]
fn an_actor_restarts_without_mail() {
    let (mut scheduler, _private) = Private::alone();
    let actors = group(&mut scheduler, 1);
    let calls = Calls::default();
    let theirs = calls.clone();
    let policy = FailurePolicy::Restart {
        max: 9,
        backoff: Duration::from_millis(5),
    };
    let options = actors.options().on_failure(policy);
    let make = move || Worker::new("a", &theirs);
    let address = options.spawn_with(make).unwrap();
    let running = scheduler.start().unwrap();
    address.tell(Order::Fail).unwrap();
    let is_init = |call: &&String| *call == "init a";
    until("it is initialised again", || {
        calls.0.lock().unwrap().iter().filter(is_init).count() == 2
    });
    assert!(!address.is_disconnected());
    running.finish().unwrap();
}

/// An `init` that fails after a restart is a failure, after which the actor is made anew again. It
/// is not shut down, as it never began.
#[test]
fn an_actor_whose_init_fails_after_a_restart_is_made_again() {
    let (mut scheduler, _private) = Private::alone();
    let actors = group(&mut scheduler, 1);
    let (calls, made) = (Calls::default(), Arc::new(AtomicU64::new(0)));
    let (theirs, count) = (calls.clone(), Arc::clone(&made));
    let make = move || {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let mut worker = Worker::new(&number.to_string(), &theirs);
        worker.fails_in_init = number == 1;
        worker
    };
    let policy = FailurePolicy::Restart {
        max: 5,
        backoff: Duration::from_millis(1),
    };
    let options = actors.options().on_failure(policy);
    let address = options.spawn_with(make).unwrap();
    let running = scheduler.start().unwrap();
    address.tell(Order::Fail).unwrap();
    until("the third one begins", || {
        calls.0.lock().unwrap().iter().any(|call| call == "init 2")
    });
    assert_eq!(ask(&address), Ok(1));
    running.finish().unwrap();
    let wanted = [
        "init 0",
        "error 0: told to fail",
        "shutdown 0",
        "init 1",
        "error 1: no luck",
        "init 2",
        "shutdown 2",
    ];
    assert_eq!(calls.take(), wanted);
}

/// The other policies: a failure is ignored, stops the scheduler, or is tolerated for some time.
#[test]
fn policies_decide_about_failures() {
    let calls = Calls::default();
    let (mut scheduler, _private) = Private::alone();
    let actors = group(&mut scheduler, 1);
    let ignoring = actors.options().on_failure(FailurePolicy::Ignore);
    let ignoring = ignoring.spawn(Worker::new("ignoring", &calls)).unwrap();
    let skip = FailurePolicy::Skip {
        max: 1,
        cooldown: Duration::from_millis(20),
    };
    let skipping = actors.options().on_failure(skip);
    let skipping = skipping.spawn(Worker::new("skipping", &calls)).unwrap();
    let fatal = actors.options().on_failure(FailurePolicy::Fatal);
    let fatal = fatal.spawn(Worker::new("fatal", &calls)).unwrap();
    let running = scheduler.start().unwrap();
    for number in 0..10 {
        ignoring.tell(Order::Fail).unwrap();
        ignoring.tell(Order::Panic).unwrap();
        assert_eq!(ask(&ignoring), Ok(3 * number + 3));
    }
    let begin = std::time::Instant::now();
    skipping.tell(Order::Fail).unwrap();
    skipping.tell(Order::Panic).unwrap();
    assert_eq!(ask(&skipping), Ok(3));
    assert!(begin.elapsed() >= Duration::from_millis(15), "it rests");
    actors.register("the last one", &fatal).unwrap();
    fatal.tell(Order::Fail).unwrap();
    until("the run stops", || running.is_stopping());
    let Err(RunError::Failed(report)) = running.finish() else {
        panic!("the run failed");
    };
    let wanted = StopReason::Node {
        name: "fleet".to_owned(),
        error: "actor 'the last one': told to fail".to_owned(),
    };
    assert_eq!(report.reason, wanted);
}

/// An `init` that fails refuses the actor; its address is never seen.
#[test]
fn an_actor_whose_init_fails_is_refused() {
    let (mut scheduler, _private) = Private::alone();
    let actors = group(&mut scheduler, 1);
    let calls = Calls::default();
    let mut worker = Worker::new("a", &calls);
    worker.fails_in_init = true;
    let Err(SpawnError::Init { cause, group }) = actors.spawn(worker) else {
        panic!("it was spawned");
    };
    assert_eq!(
        (cause.to_string(), &*group),
        ("no luck".to_owned(), "fleet")
    );
    assert_eq!(
        (actors.counters().alive, calls.take()),
        (0, vec!["init a".to_owned()])
    );
    scheduler.start().unwrap().finish().unwrap();
}

/// Commands concern the group as a node: it pauses and resumes, and ends.
#[test]
fn a_group_is_commanded_as_a_node() {
    let (mut scheduler, _private) = Private::alone();
    let actors = group(&mut scheduler, 2);
    let calls = Calls::default();
    // WHY several: each thread has some of them, and looks at those of the other one.
    let spawn = |name: &str| actors.spawn(Worker::new(name, &calls)).unwrap();
    let all = ["a", "b", "c", "d"].map(spawn);
    let running = scheduler.start().unwrap();
    let handle: Handle = running.handle();
    assert!(all.iter().all(|address| ask(address) == Ok(1)));
    for number in 0..5 {
        std::thread::sleep(Duration::from_millis(number));
        handle.pause("fleet").unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let mut questions = all
            .each_ref()
            .map(|address| address.ask(Order::Answer).unwrap());
        std::thread::sleep(Duration::from_millis(5));
        let is_open = |question: &mut Answer<u64>| question.try_take().is_none();
        assert!(questions.iter_mut().all(is_open), "it is paused");
        handle.resume("fleet").unwrap();
        for question in questions {
            assert_eq!(question.wait(LONG), Ok(number + 2));
        }
    }
    handle.stop_node("fleet").unwrap();
    until("all end", || actors.counters().alive == 0);
    assert!(all.iter().all(Address::is_disconnected));
    running.finish().unwrap();
    let ended = calls.take();
    let ended = ended.iter().filter(|call| call.starts_with("shutdown"));
    assert_eq!(ended.count(), 4);
}

/// A handler that does not return is left behind, with its actor; all others end.
#[test]
fn a_handler_that_hangs_is_left_behind() {
    let (mut scheduler, _private) = Private::alone();
    let actors = group(&mut scheduler, 3);
    let calls = Calls::default();
    let others: Vec<_> = ["a", "b"]
        .map(|name| actors.spawn(Worker::new(name, &calls)).unwrap())
        .into();
    let hanging = actors.spawn(Worker::new("hanging", &calls)).unwrap();
    let running = scheduler.start().unwrap();
    let (block, gone) = mpsc::channel();
    hanging.tell(Order::Block(gone)).unwrap();
    calls.until_blocked(1);
    let _ = running.finish();
    assert!(others.iter().all(Address::is_disconnected));
    assert_eq!(actors.counters().alive, 1);
    drop(block);
    until("it ends at last", || hanging.is_disconnected());
    until("it is shut down", || actors.counters().alive == 0);
}

/// Handlers that return after the end of the run, on each thread: their actors end then, and all
/// others before, also one with mail that no thread has taken.
#[test]
fn actors_that_hang_end_at_last() {
    let (mut scheduler, _private) = Private::alone();
    let actors = group(&mut scheduler, 2);
    let calls = Calls::default();
    let hanging = ["a", "b"].map(|name| actors.spawn(Worker::new(name, &calls)).unwrap());
    let others = ["idle", "told"].map(|name| actors.spawn(Worker::new(name, &calls)).unwrap());
    let running = scheduler.start().unwrap();
    let blocks = hanging.each_ref().map(|address| {
        let (block, gone) = mpsc::channel();
        address.tell(Order::Block(gone)).unwrap();
        block
    });
    // WHY not a count of handled messages: a thread may handle one of each actor, and block once.
    calls.until_blocked(2);
    others[1].tell(Order::Note).unwrap();
    let _ = running.finish();
    assert!(others.iter().all(Address::is_disconnected));
    assert_eq!(actors.counters().alive, 2);
    drop(blocks);
    until("both are shut down", || actors.counters().alive == 0);
}

/// If the only thread of a group hangs, the actors whose mail it was to handle next enter their
/// safe state and end: the one to which the hanging handler has sent, and one in the queue.
#[test]
fn actors_that_wait_for_a_thread_that_hangs_end() {
    let (mut scheduler, _private) = Private::alone();
    let actors = group(&mut scheduler, 1);
    let calls = Calls::default();
    let spawn = |name: &str| {
        let options = actors.options().safe_state();
        options.spawn(Worker::new(name, &calls)).unwrap()
    };
    let [hanging, passed, told] = ["hanging", "passed", "told"].map(spawn);
    let (block, gone) = mpsc::channel();
    hanging.tell(Order::Pass(passed.clone(), gone)).unwrap();
    told.tell(Order::Note).unwrap();
    let running = scheduler.start().unwrap();
    calls.until_blocked(1);
    drop(calls.take());
    running.finish().unwrap_err();
    let wanted = [
        "safe told",
        "shutdown told",
        "safe passed",
        "shutdown passed",
    ];
    assert_eq!(calls.take(), wanted);
    assert!(passed.is_disconnected() && told.is_disconnected());
    let counters = actors.counters();
    assert_eq!((counters.alive, counters.undelivered), (1, 2));
    drop(block);
    until("it ends at last", || actors.counters().alive == 0);
    assert!(hanging.is_disconnected());
}

/// A group that never runs drops its mail with its scheduler.
#[test]
fn a_group_that_never_runs_ends() {
    let (mut scheduler, _private) = Private::alone();
    let actors = group(&mut scheduler, 2);
    let calls = Calls::default();
    let address = actors.spawn(Worker::new("a", &calls)).unwrap();
    let question = address.ask(Order::Answer).unwrap();
    drop(scheduler);
    assert_eq!(question.wait(LONG), Err(AskError::NoAnswer));
    assert_eq!(calls.take(), ["init a", "shutdown a"]);
    assert_eq!(
        (actors.counters().alive, actors.counters().undelivered),
        (0, 1)
    );
}
