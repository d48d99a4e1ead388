//! Actors at bad moments: ends, emergency stops, panics and spawns that meet each other.

use horus_testing as _;

mod executors;
mod private;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use executors::{LONG, until};
use horus_core::actor::{
    Actor, Actors, Address, AskError, Context, Down, DownReason, Reply, SpawnOptions,
};
use horus_core::message::EmergencyStop;
use horus_core::scheduler::{
    self, FailurePolicy, Health, Hertz, NodeResult, Running, Scheduler, emergency_stop_publisher,
};
use private::Private;

/// Calls a function with the context of the actor that gets it.
type Call = Box<dyn FnOnce(&mut Context<'_, Puppet>) -> NodeResult + Send>;

enum Order {
    Call(Call),
    Ask(Reply<u64>),
}

fn call(call: impl FnOnce(&mut Context<'_, Puppet>) -> NodeResult + Send + 'static) -> Order {
    Order::Call(Box::new(call))
}

/// An actor that does as it is told, and notes what is called.
struct Puppet {
    calls: Arc<Calls>,
    init: Option<Call>,
}

#[derive(Default)]
struct Calls {
    safe_states: AtomicU64,
    shutdowns: AtomicU64,
    downs: Mutex<Vec<DownReason>>,
}

impl Calls {
    fn safe_states(&self) -> u64 {
        self.safe_states.load(Ordering::Relaxed)
    }

    fn shutdowns(&self) -> u64 {
        self.shutdowns.load(Ordering::Relaxed)
    }
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
}

impl Actor for Puppet {
    type Message = Order;

    fn init(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
        self.init.take().map_or(Ok(()), |init| init(context))
    }

    fn handle(&mut self, order: Order, context: &mut Context<'_, Self>) -> NodeResult {
        match order {
            Order::Call(call) => call(context),
            Order::Ask(reply) => {
                reply.send(1);
                Ok(())
            }
        }
    }

    fn on_down(&mut self, down: &Down, _: &mut Context<'_, Self>) -> NodeResult {
        self.calls.downs.lock().unwrap().push(down.reason().clone());
        Err("on purpose".into())
    }

    fn enter_safe_state(&mut self) {
        self.calls.safe_states.fetch_add(1, Ordering::Relaxed);
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

fn spawn(options: SpawnOptions<'_>, calls: &Arc<Calls>) -> Address<Order> {
    options.spawn(Puppet::new(calls)).unwrap()
}

fn engage(private: &Private) {
    let mut stop = emergency_stop_publisher(private.namespace()).unwrap();
    stop.send(EmergencyStop::engage("test", "on purpose"))
        .unwrap();
}

fn health(running: &Running) -> Health {
    running.handle().metrics("fleet").unwrap().health
}

/// Lets an actor block; returns the end whose drop lets it go on.
fn block(actor: &Address<Order>) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel::<()>();
    let (begins, begun) = mpsc::channel();
    let wait = move |_: &mut Context<'_, Puppet>| -> NodeResult {
        begins.send(())?;
        assert!(released.recv().is_err());
        Ok(())
    };
    actor.tell(call(wait)).unwrap();
    begun.recv_timeout(LONG).unwrap();
    release
}

/// An actor that waits for the end of its children is not shut down yet: it enters its safe state.
#[test]
fn an_actor_that_waits_for_its_children_enters_its_safe_state() {
    let (scheduler, actors, private) = group(2);
    let [parent_calls, child_calls] = [0; 2].map(|_| Arc::<Calls>::default());
    let parent = spawn(actors.options().safe_state(), &parent_calls);
    let (to, from) = mpsc::channel();
    let spawn_child = move |context: &mut Context<'_, Puppet>| -> NodeResult {
        to.send(context.spawn(Puppet::new(&child_calls))?)?;
        Ok(())
    };
    parent.tell(call(spawn_child)).unwrap();
    let running = scheduler.start().unwrap();
    let child = from.recv_timeout(LONG).unwrap();
    let release = block(&child);
    let stop = |context: &mut Context<'_, Puppet>| -> NodeResult {
        context.stop();
        Ok(())
    };
    parent.tell(call(stop)).unwrap();
    until("it waits for its child", || {
        parent.tell(call(|_| Ok(()))).unwrap();
        actors.counters().undelivered > 0
    });
    engage(&private);
    until("it is safe", || parent_calls.safe_states() == 1);
    drop(release);
    running.finish().unwrap();
    assert_eq!(
        (parent_calls.safe_states(), parent_calls.shutdowns()),
        (1, 1)
    );
}

/// The run fails while a handler hangs on the thread that has the group's node.
#[test]
fn a_failed_run_ends_in_the_safe_state_beside_a_handler_that_hangs() {
    let (mut scheduler, actors, _private) = group(1);
    let [safe, hung] = [0; 2].map(|_| Arc::<Calls>::default());
    let _safe = spawn(actors.options().safe_state(), &safe);
    let hanging = spawn(actors.options(), &hung);
    let (hangs, is_hanging) = mpsc::channel::<()>();
    let failing = move |_: &mut scheduler::Context<'_>| -> NodeResult {
        match is_hanging.try_recv() {
            Ok(()) => Err("on purpose".into()),
            Err(_) => Ok(()),
        }
    };
    let node = scheduler.node("failing").rate(200.hz());
    node.build(failing).unwrap();
    let mut running = scheduler.start().unwrap();
    let release = block(&hanging);
    hangs.send(()).unwrap();
    let _ = running.run_for(LONG);
    running.finish().unwrap_err();
    assert_eq!((safe.safe_states(), safe.shutdowns()), (1, 1));
    drop(release);
    until("the other one ends", || hung.shutdowns() == 1);
}

/// A run without a failure ends while handlers hang, on the thread that has the group's node, on
/// another one, or on both: that is a failure.
#[test]
fn a_handler_that_hangs_at_the_end_fails_the_run() {
    for (threads, count) in [(1, 1), (2, 1), (2, 2)] {
        let (scheduler, actors, _private) = group(threads);
        let [safe, hung] = [0; 2].map(|_| Arc::<Calls>::default());
        let _safe = spawn(actors.options().safe_state(), &safe);
        let hanging: Vec<_> = (0..count).map(|_| spawn(actors.options(), &hung)).collect();
        actors.register("arm", &hanging[0]).unwrap();
        let running = scheduler.start().unwrap();
        let releases: Vec<_> = hanging.iter().map(block).collect();
        let report = running.finish().unwrap_err().into_report().unwrap();
        let case = format!("{threads} threads, {count} hang: {report}");
        assert_eq!(report.exit_code(), 1, "{case}");
        assert_eq!(report.nodes.len(), 1, "{case}");
        let node = report.node("fleet").unwrap();
        let error = node.last_error.as_deref().unwrap_or_default();
        assert!(
            error.ends_with("does not return: its thread was left behind"),
            "{case}"
        );
        assert!(count == 2 || error.contains("'arm'"), "{case}");
        assert_eq!(node.metrics.failures, count, "{case}");
        assert_eq!((safe.safe_states(), safe.shutdowns()), (1, 1), "{case}");
        drop(releases);
        until("the others end", || hung.shutdowns() == count);
    }
}

/// A node that calls a function in `init`.
struct Initialised<F>(F);

impl<F: FnMut() + Send + 'static> scheduler::Node for Initialised<F> {
    fn init(&mut self, _: &mut scheduler::Context<'_>) -> NodeResult {
        (self.0)();
        Ok(())
    }

    fn tick(&mut self, _: &mut scheduler::Context<'_>) -> NodeResult {
        Ok(())
    }
}

/// A group is stopped although it could not begin at the start of the run, because of an emergency
/// stop or a pause.
#[test]
fn a_group_that_was_held_from_the_start_can_be_stopped() {
    for is_emergency in [true, false] {
        let (mut scheduler, actors, private) = group(1);
        let calls = Arc::<Calls>::default();
        let actor = spawn(actors.options(), &calls);
        let handle = scheduler.handle();
        let held = if is_emergency {
            Health::Safe
        } else {
            Health::Paused
        };
        // The group begins after this node.
        let seen = handle.clone();
        let wait = move || {
            until("it is held", || {
                seen.metrics("fleet").unwrap().health == held
            });
        };
        let first = scheduler.node("first").order(-1);
        first.build(Initialised(wait)).unwrap();
        let mut stop = emergency_stop_publisher(private.namespace()).unwrap();
        if is_emergency {
            stop.send(EmergencyStop::engage("test", "on purpose"))
                .unwrap();
        } else {
            handle.pause("fleet").unwrap();
        }
        let running = scheduler.start().unwrap();
        if is_emergency {
            stop.send(EmergencyStop::release("test", "over")).unwrap();
        } else {
            handle.resume("fleet").unwrap();
        }
        assert_eq!(actor.ask(Order::Ask).unwrap().wait(LONG), Ok(1));
        handle.stop_node("fleet").unwrap();
        until("its actors end", || actors.counters().alive == 0);
        until("it is stopped", || health(&running) == Health::Stopped);
        assert_eq!(calls.shutdowns(), 1);
        running.finish().unwrap();
    }
}

/// A group that is stopped before the run ends its actors, and refuses new ones.
#[test]
fn a_group_that_is_stopped_before_the_start_does_not_run() {
    for threads in [0, 2] {
        let (scheduler, actors, _private) = group(threads);
        let calls = Arc::<Calls>::default();
        let actor = spawn(actors.options(), &calls);
        scheduler.handle().stop_node("fleet").unwrap();
        let running = scheduler.start().unwrap();
        assert_eq!(health(&running), Health::Stopped);
        assert_eq!((actors.counters().alive, calls.shutdowns()), (0, 1));
        assert!(actor.is_disconnected());
        actors.spawn(Puppet::new(&calls)).unwrap_err();
        running.finish().unwrap();
        assert_eq!(calls.shutdowns(), 1);
    }
}

#[test]
fn the_end_of_the_run_in_an_emergency_stop_enters_no_safe_state_again() {
    let (scheduler, actors, private) = group(1);
    let calls = Arc::<Calls>::default();
    let _safe = spawn(actors.options().safe_state(), &calls);
    let running = scheduler.start().unwrap();
    engage(&private);
    until("it is safe", || {
        calls.safe_states() == 1 && health(&running) == Health::Safe
    });
    thread::sleep(Duration::from_millis(50));
    running.finish().unwrap();
    assert_eq!((calls.safe_states(), calls.shutdowns()), (1, 1));
}

/// A thread that waits for an answer in an emergency stop lets the actors enter their safe state.
#[test]
fn a_wait_for_an_answer_keeps_no_actor_out_of_its_safe_state() {
    let (scheduler, actors, private) = group(0);
    let calls = Arc::<Calls>::default();
    let actor = spawn(actors.options().safe_state(), &calls);
    let mut running = scheduler.start().unwrap();
    running.tick_once().unwrap();
    engage(&private);
    until("the mail waits", || {
        let asked = actor.ask(Order::Ask).unwrap();
        asked.wait(Duration::from_millis(100)) == Err(AskError::Timeout)
    });
    assert_eq!(calls.safe_states(), 1);
    running.finish().unwrap();
    assert_eq!(calls.safe_states(), 1, "not again");
}

/// A handler that was left behind fails at last: its actor is not made anew, but ends.
#[test]
fn an_actor_that_fails_after_the_end_of_the_run_ends() {
    let (scheduler, actors, _private) = group(1);
    let calls = Arc::<Calls>::default();
    let made = Arc::clone(&calls);
    let actor = actors.spawn_with(move || Puppet::new(&made)).unwrap();
    let running = scheduler.start().unwrap();
    let (release, released) = mpsc::channel::<()>();
    let (begins, begun) = mpsc::channel();
    let fail = move |_: &mut Context<'_, Puppet>| -> NodeResult {
        begins.send(())?;
        assert!(released.recv().is_err());
        Err("on purpose".into())
    };
    actor.tell(call(fail)).unwrap();
    begun.recv_timeout(LONG).unwrap();
    let _ = running.finish();
    drop(release);
    until("it ends", || actor.is_disconnected());
    until("it is counted", || actors.counters().alive == 0);
}

/// A group ends while another thread is in the `init` of a new actor.
#[test]
fn an_actor_that_is_spawned_during_the_end_ends() {
    let (scheduler, actors, _private) = group(1);
    let running = scheduler.start().unwrap();
    let (release, released) = mpsc::channel::<()>();
    let (begins, begun) = mpsc::channel();
    let init = move |context: &mut Context<'_, Puppet>| -> NodeResult {
        begins.send(context.address())?;
        assert!(released.recv().is_err());
        Ok(())
    };
    let spawning = thread::spawn({
        let actors = actors.clone();
        move || actors.spawn(Puppet::with_init(&Arc::default(), init))
    });
    let actor = begun.recv_timeout(LONG).unwrap();
    let _ = running.finish();
    drop(release);
    let _spawned = spawning.join().unwrap();
    until("it ends", || actor.is_disconnected());
    assert_eq!(actors.counters().alive, 0);
}

/// A message whose drop panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

fn with_a_bomb() -> Order {
    let bomb = Bomb;
    call(move |_| {
        let _kept = &bomb;
        Ok(())
    })
}

#[test]
fn a_message_of_a_timer_may_panic_when_it_is_dropped() {
    let (scheduler, actors, _private) = group(1);
    let calls = Arc::<Calls>::default();
    let arms = |context: &mut Context<'_, Puppet>| -> NodeResult {
        context
            .tell_after(Duration::from_millis(1), with_a_bomb())
            .cancel();
        context.tell_after(LONG, with_a_bomb());
        Ok(())
    };
    let armed = actors.spawn(Puppet::with_init(&calls, arms)).unwrap();
    let other = spawn(actors.options(), &calls);
    let running = scheduler.start().unwrap();
    until("the first one has panicked", || {
        actors.counters().panics == 1
    });
    assert_eq!(
        other.ask(Order::Ask).unwrap().wait(LONG),
        Ok(1),
        "the thread goes on"
    );
    let _ = running.finish();
    assert!(armed.is_disconnected() && other.is_disconnected());
    assert_eq!((calls.shutdowns(), actors.counters().panics), (2, 2));
}

/// Fails without a bomb, and drops what it has with itself.
struct Frail(Option<Bomb>);

impl Actor for Frail {
    type Message = Option<Bomb>;

    fn handle(&mut self, bomb: Option<Bomb>, _: &mut Context<'_, Self>) -> NodeResult {
        self.0 = bomb;
        Err("told to fail".into())
    }
}

#[test]
fn panics_outside_of_handlers_are_counted() {
    let failures = |actors: &Actors| (actors.counters().failures, actors.counters().panics);
    // In the drop of an actor, and of a message that nobody handles.
    let (scheduler, actors, _private) = group(1);
    let _frail = actors.spawn(Frail(Some(Bomb))).unwrap();
    let other = actors.spawn(Frail(None)).unwrap();
    assert!(other.tell(Some(Bomb)).is_ok());
    drop(scheduler);
    assert_eq!(failures(&actors), (2, 2));
    // In the function that makes an actor again.
    let (scheduler, actors, _private) = group(1);
    let mut made = 0;
    let make = move || {
        made += 1;
        assert!(made < 2, "on purpose");
        Frail(None)
    };
    let policy = FailurePolicy::Restart {
        max: 1,
        backoff: Duration::ZERO,
    };
    let frail = actors.options().on_failure(policy).spawn_with(make);
    let frail = frail.unwrap();
    let running = scheduler.start().unwrap();
    assert!(frail.tell(None).is_ok());
    until("it has ended", || frail.is_disconnected());
    until("both are counted", || failures(&actors) == (2, 1));
    running.finish().unwrap();
}

/// `on_down` is called by a worker, and not by the thread that spawns the actor that watches.
#[test]
fn the_end_of_a_watched_actor_is_handled_after_the_start() {
    let (scheduler, actors, _private) = group(1);
    let calls = Arc::<Calls>::default();
    let stops = |context: &mut Context<'_, Puppet>| -> NodeResult {
        context.stop();
        Ok(())
    };
    let ended = actors.spawn(Puppet::with_init(&calls, stops)).unwrap();
    let watches = move |context: &mut Context<'_, Puppet>| -> NodeResult {
        context.watch(&ended);
        Ok(())
    };
    let options = actors.options().on_failure(FailurePolicy::Fatal);
    let _watching = options.spawn(Puppet::with_init(&calls, watches)).unwrap();
    assert_eq!(calls.downs.lock().unwrap().len(), 0, "no group runs");
    let running = scheduler.start().unwrap();
    until("its policy stops the run", || running.is_stopping());
    assert_eq!(*calls.downs.lock().unwrap(), [DownReason::Ended]);
    running.finish().unwrap_err();
}

/// A timer of `init` counts from the time at which a node spawned the actor, also in a group that
/// had nothing to do until then.
#[test]
fn an_actor_that_a_node_spawns_in_a_simulation_begins_at_that_time() {
    let (mut scheduler, actors, _private) = group(0);
    let times = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&times);
    let mut kept = Vec::new();
    let node = move |context: &mut scheduler::Context<'_>| -> NodeResult {
        if context.tick() != 1 {
            return Ok(());
        }
        let (first, second) = (Arc::clone(&noted), Arc::clone(&noted));
        let init = move |context: &mut Context<'_, Puppet>| -> NodeResult {
            first.lock().unwrap().push(context.now_ns());
            let later = move |context: &mut Context<'_, Puppet>| -> NodeResult {
                second.lock().unwrap().push(context.now_ns());
                Ok(())
            };
            context.tell_after(Duration::from_millis(35), call(later));
            Ok(())
        };
        kept.push(actors.spawn(Puppet::with_init(&Arc::default(), init))?);
        Ok(())
    };
    scheduler
        .node("spawning")
        .rate(10.hz())
        .build(node)
        .unwrap();
    let _ = scheduler.simulate(Duration::from_millis(200), 7, 0);
    assert_eq!(*times.lock().unwrap(), [100_000_000, 135_000_000]);
}

/// An actor that cannot be made anew has failed for good at its first failure, and at once.
#[test]
fn an_actor_without_a_factory_is_not_restarted() {
    let (scheduler, actors, _private) = group(1);
    let [calls, watched] = [0; 2].map(|_| Arc::<Calls>::default());
    let policy = FailurePolicy::Restart {
        max: 3,
        backoff: Duration::from_secs(3600),
    };
    let failing = spawn(actors.options().on_failure(policy), &watched);
    let other = failing.clone();
    let watches = move |context: &mut Context<'_, Puppet>| -> NodeResult {
        context.watch(&other);
        Ok(())
    };
    let _watching = actors.spawn(Puppet::with_init(&calls, watches)).unwrap();
    let running = scheduler.start().unwrap();
    failing.tell(call(|_| Err("on purpose".into()))).unwrap();
    until("it is down", || !calls.downs.lock().unwrap().is_empty());
    let reason = DownReason::Failed("on purpose".to_owned());
    assert_eq!(*calls.downs.lock().unwrap(), [reason]);
    running.finish().unwrap();
}
