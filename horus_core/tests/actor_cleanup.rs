//! Actors and the things that they leave behind: the calls that they get at the end of groups and
//! runs, their timers, and the values that are dropped with them.

use horus_testing as _;

#[path = "actor_cleanup/drops.rs"]
mod drops;
mod executors;
mod private;
#[path = "actor_cleanup/timers.rs"]
mod timers;

use std::any::Any;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use executors::{LONG, until};
use horus_core::actor::{
    Actor, Actors, Address, AskError, Context, MailboxKind, Reply, SpawnError,
};
use horus_core::message::EmergencyStop;
use horus_core::scheduler::{
    self, FailurePolicy, Hertz, Node, NodeResult, Scheduler, emergency_stop_publisher,
};
use private::Private;

/// A time that does not pass during a test.
const HOUR: Duration = Duration::from_secs(3600);

/// The calls that actors and nodes got, in their order.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    fn note(&self, call: &str, name: &str) {
        self.0.lock().unwrap().push(format!("{call} {name}"));
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn has(&self, call: &str) -> bool {
        self.all().iter().any(|one| one == call)
    }

    /// Returns the calls that begin with `call`.
    fn of(&self, call: &str) -> Vec<String> {
        let mut all = self.all();
        all.retain(|one| one.starts_with(call));
        all
    }
}

/// Calls a function with the context of the actor that gets it.
type Call = Box<dyn FnOnce(&mut Context<'_, Puppet>) -> NodeResult + Send>;

enum Order {
    Call(Call),
    Ask(Reply<u64>),
    /// Holds a value until it is handled or dropped.
    Hold(Box<dyn Any + Send>),
}

fn call(call: impl FnOnce(&mut Context<'_, Puppet>) -> NodeResult + Send + 'static) -> Order {
    Order::Call(Box::new(call))
}

/// An actor that does as it is told, and notes what is called.
struct Puppet {
    name: String,
    calls: Calls,
    init: Option<Call>,
    shutdown: Option<Box<dyn FnOnce() + Send>>,
}

impl Puppet {
    fn new(name: &str, calls: &Calls) -> Self {
        Self {
            name: name.to_owned(),
            calls: calls.clone(),
            init: None,
            shutdown: None,
        }
    }

    fn with_init(
        mut self,
        init: impl FnOnce(&mut Context<'_, Self>) -> NodeResult + Send + 'static,
    ) -> Self {
        self.init = Some(Box::new(init));
        self
    }
}

impl Actor for Puppet {
    type Message = Order;

    fn init(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
        self.calls.note("init", &self.name);
        self.init.take().map_or(Ok(()), |init| init(context))
    }

    fn handle(&mut self, order: Order, context: &mut Context<'_, Self>) -> NodeResult {
        match order {
            Order::Call(call) => return call(context),
            Order::Ask(reply) => reply.send(1),
            Order::Hold(held) => drop(held),
        }
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.calls.note("safe", &self.name);
    }

    fn shutdown(&mut self) -> NodeResult {
        self.calls.note("shutdown", &self.name);
        if let Some(shutdown) = self.shutdown.take() {
            shutdown();
        }
        Ok(())
    }
}

/// Ends the actor that gets it.
fn stop(context: &mut Context<'_, Puppet>) -> NodeResult {
    context.stop();
    Ok(())
}

fn group(threads: usize) -> (Scheduler, Actors, Private) {
    let (mut scheduler, private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(threads).build().unwrap();
    (scheduler, actors, private)
}

fn engage(private: &Private) {
    let mut stop = emergency_stop_publisher(private.namespace()).unwrap();
    stop.send(EmergencyStop::engage("test", "on purpose"))
        .unwrap();
}

/// Waits until the group has been stopped, so that nobody joins it any more.
fn until_stopped(actors: &Actors) {
    until("the group is stopped", || {
        actors.inbox::<()>(MailboxKind::unbounded()).is_err()
    });
}

/// Waits until the actor has handled what was sent to it before.
fn until_handled(address: &Address<Order>) {
    let answer = address.ask(Order::Ask).unwrap();
    assert_eq!(answer.wait(LONG).unwrap(), 1);
}

/// Lets an actor block; returns the end whose drop lets it go on, and the name of its thread.
fn block(actor: &Address<Order>) -> (mpsc::Sender<()>, String) {
    let (release, released) = mpsc::channel::<()>();
    let (begins, begun) = mpsc::channel();
    let wait = move |_: &mut Context<'_, Puppet>| -> NodeResult {
        begins.send(thread::current().name().unwrap_or_default().to_owned())?;
        assert!(released.recv().is_err());
        Ok(())
    };
    actor.tell(call(wait)).unwrap();
    (release, begun.recv_timeout(LONG).unwrap())
}

/// Lets an actor block on the second of the two threads of its group. The first one applies the
/// commands to the group.
fn block_on_second_thread(actors: &Actors, actor: &Address<Order>) -> mpsc::Sender<()> {
    let spare = || {
        let spare = actors.spawn(Puppet::new("spare", &Calls::default()));
        block(&spare.unwrap())
    };
    let (mut first, name) = spare();
    if name == "fleet 1" {
        let other = spare();
        drop(std::mem::replace(&mut first, other.0));
    }
    let (release, name) = block(actor);
    assert_eq!(name, "fleet 1");
    release
}

/// An actor that keeps itself alive by a timer, so that it is awake after its `init`.
struct Ticking(Calls);

impl Actor for Ticking {
    type Message = ();

    fn init(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
        context.tell_every(HOUR, || ());
        Ok(())
    }

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        self.0.note("safe", "ticking");
    }
}

/// A worker may visit a new actor before its `spawn` has returned.
#[test]
fn actors_that_are_spawned_in_an_emergency_stop_enter_their_safe_state() {
    const ACTORS: usize = 30_000;
    let (scheduler, actors, private) = group(2);
    let calls = Calls::default();
    let spawn = || {
        let options = actors.options().safe_state();
        options.spawn(Ticking(calls.clone())).unwrap()
    };
    let first = spawn();
    let running = scheduler.start().unwrap();
    engage(&private);
    until("the stop is engaged", || calls.has("safe ticking"));
    let others: Vec<_> = (1..ACTORS).map(|_| spawn()).collect();
    until("all are safe", || calls.all().len() == ACTORS);
    drop((first, others));
    running.finish().unwrap();
}

/// A group was stopped, and a parent waits for its child, whose handler does not return.
#[test]
fn a_parent_that_waits_for_a_child_that_hangs_is_safe_and_shut_down_at_the_end() {
    for has_safe_state in [true, false] {
        let (scheduler, actors, _private) = group(2);
        let calls = Calls::default();
        let (gives_child, child) = mpsc::channel();
        let its_calls = calls.clone();
        let parent = Puppet::new("parent", &calls).with_init(move |context| {
            gives_child.send(context.spawn(Puppet::new("child", &its_calls))?)?;
            Ok(())
        });
        let options = actors.options();
        let options = if has_safe_state {
            options.safe_state()
        } else {
            options
        };
        let parent = options.spawn(parent).unwrap();
        let child = child.recv().unwrap();
        let running = scheduler.start().unwrap();
        let release = block_on_second_thread(&actors, &child);
        running.handle().stop_node("fleet").unwrap();
        let mail = Arc::new(());
        until("the parent waits for its child", || {
            let order = Order::Hold(Box::new(Arc::clone(&mail)));
            parent.tell(order).unwrap();
            actors.counters().undelivered > 0
        });
        until("it has no mail", || Arc::strong_count(&mail) == 1);
        running.finish().unwrap_err();
        let mut before = vec!["init parent", "init child"];
        before.extend(has_safe_state.then_some("safe parent"));
        before.push("shutdown parent");
        assert_eq!(calls.all(), before);
        drop(release);
        until("the child has ended", || calls.has("shutdown child"));
    }
}

/// A group is stopped in an emergency stop, and the run ends before the stop does.
#[test]
fn actors_of_a_group_that_was_stopped_end_in_reverse_order() {
    const PARENTS: u32 = 8;
    let (scheduler, actors, private) = group(2);
    let calls = Calls::default();
    let spawn = |number: u32| {
        let its_calls = calls.clone();
        let parent = Puppet::new(&format!("{number}"), &calls).with_init(move |context| {
            context.spawn(Puppet::new(&format!("child of {number}"), &its_calls))?;
            Ok(())
        });
        actors.options().safe_state().spawn(parent).unwrap()
    };
    let parents: Vec<_> = (0..PARENTS).map(spawn).collect();
    let running = scheduler.start().unwrap();
    engage(&private);
    until("all are safe", || calls.of("safe").len() == parents.len());
    running.handle().stop_node("fleet").unwrap();
    until_stopped(&actors);
    running.finish().unwrap();
    let family = |number| {
        [
            format!("shutdown child of {number}"),
            format!("shutdown {number}"),
        ]
    };
    let expected: Vec<_> = (0..PARENTS).rev().flat_map(family).collect();
    assert_eq!(calls.of("shutdown"), expected);
}

/// A node that fails when the flag is dropped, and is shut down before the group.
struct Last(Calls, mpsc::Receiver<()>);

impl Node for Last {
    fn tick(&mut self, _: &mut scheduler::Context<'_>) -> NodeResult {
        match self.1.try_recv() {
            Err(mpsc::TryRecvError::Disconnected) => Err("on purpose".into()),
            _ => Ok(()),
        }
    }

    fn enter_safe_state(&mut self) {
        self.0.note("safe", "last");
    }

    fn shutdown(&mut self) -> NodeResult {
        self.0.note("shutdown", "last");
        Ok(())
    }
}

/// The run ends after a failure or in an emergency stop, and only then a handler returns, on a
/// thread that does not apply the commands to the group.
#[test]
fn an_actor_that_is_busy_at_the_end_is_safe_before_nodes_are_shut_down() {
    for (is_stopped, fails) in [(false, false), (false, true), (true, false), (true, true)] {
        let (mut scheduler, private) = Private::alone();
        let group = scheduler.actors("fleet").threads(2).order(1);
        let actors = group.build().unwrap();
        let (calls, (works, fault)) = (Calls::default(), mpsc::channel());
        let last = scheduler.node("last").order(2).rate(100.hz());
        last.build(Last(calls.clone(), fault)).unwrap();
        let spawn = |name| {
            let options = actors.options().safe_state();
            options.spawn(Puppet::new(name, &calls)).unwrap()
        };
        let (wheel, brake) = (spawn("wheel"), spawn("brake"));
        let running = scheduler.start().unwrap();
        let release = block_on_second_thread(&actors, &wheel);
        if is_stopped {
            running.handle().stop_node("fleet").unwrap();
            until_stopped(&actors);
        }
        if fails {
            drop(works);
            until("the run fails", || running.is_stopping());
        } else {
            engage(&private);
            until("the others are safe", || calls.has("safe last"));
            if !is_stopped {
                until("the others are safe", || calls.has("safe brake"));
            }
            running.handle().stop();
        }
        drop(release);
        assert_eq!(running.finish().is_err(), fails);
        let all = calls.all();
        let place = |call: &str| all.iter().position(|one| one == call);
        let (safe, shutdown) = (place("safe wheel"), place("shutdown last"));
        assert!(
            safe.is_some() && safe < shutdown,
            "stopped: {is_stopped}, fails: {fails}: {all:?}"
        );
        drop((wheel, brake));
    }
}

/// No thread would run an actor for which the `shutdown` of another one waits.
#[test]
fn a_shutdown_at_the_end_of_the_run_does_not_wait_for_another_actor() {
    for threads in [0, 1] {
        let (scheduler, actors, _private) = group(threads);
        let calls = Calls::default();
        let store = actors.spawn(Puppet::new("store", &calls)).unwrap();
        let mut unit = Puppet::new("unit", &calls);
        let (tells, told) = mpsc::channel();
        unit.shutdown = Some(Box::new(move || {
            let answer = store.ask(Order::Ask).unwrap();
            tells.send(answer.wait(Duration::from_millis(100))).unwrap();
        }));
        let unit = actors.spawn(unit).unwrap();
        scheduler.start().unwrap().finish().unwrap();
        let answer = told.try_recv().unwrap();
        assert!(matches!(answer, Err(AskError::InHandler)), "{answer:?}");
        assert_eq!(calls.of("shutdown"), ["shutdown unit", "shutdown store"]);
        drop(unit);
    }
}

#[test]
fn an_actor_whose_init_fails_after_it_has_spawned_a_child_is_not_shut_down() {
    let (scheduler, actors, _private) = group(1);
    let calls = Calls::default();
    let its_calls = calls.clone();
    let parent = Puppet::new("parent", &calls).with_init(move |context| {
        context.spawn(Puppet::new("child", &its_calls))?;
        Err("no device".into())
    });
    let error = actors.spawn(parent).unwrap_err();
    assert!(matches!(error, SpawnError::Init { .. }), "{error}");
    assert_eq!(actors.counters().alive, 1, "only the child is left");
    let running = scheduler.start().unwrap();
    until("the child has ended", || actors.counters().alive == 0);
    running.finish().unwrap();
    assert_eq!(calls.of("shutdown"), ["shutdown child"]);
}

/// A swap of the node of a group would end all actors.
#[test]
fn a_group_is_not_swapped() {
    for threads in [0, 2] {
        let (scheduler, actors, _private) = group(threads);
        let calls = Calls::default();
        let address = actors.spawn(Puppet::new("actor", &calls)).unwrap();
        let mut running = scheduler.start().unwrap();
        let handle = running.handle();
        let (_works, fault) = mpsc::channel();
        let plain = handle.swap("fleet", Last(calls.clone(), fault));
        let by_functions = handle.swap_with("fleet", |last: Last| last, |last: Last| last);
        for refused in [plain, by_functions] {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("'fleet' is a group of actors"), "{error}");
        }
        running.tick_once().unwrap();
        until_handled(&address);
        running.finish().unwrap();
        assert_eq!(calls.all(), ["init actor", "shutdown actor"]);
    }
}

/// An actor that pauses after a failure handles its mail, and ends with its group. It may fail
/// again meanwhile.
#[test]
fn a_group_that_is_stopped_does_not_wait_for_the_pauses_of_its_actors() {
    let skip = FailurePolicy::Skip {
        max: 0,
        cooldown: HOUR,
    };
    let restart = FailurePolicy::Restart {
        max: 5,
        backoff: HOUR,
    };
    for policy in [skip, restart] {
        let (scheduler, actors, _private) = group(1);
        let calls = Calls::default();
        let its_calls = calls.clone();
        let make = move || Puppet::new("actor", &its_calls);
        let options = actors.options().on_failure(policy);
        let address = options.spawn_with(make).unwrap();
        let running = scheduler.start().unwrap();
        let fail = || call(|_| Err("on purpose".into()));
        address
            .tell_all([fail(), fail(), call(|_| Ok(()))])
            .unwrap();
        until("it pauses", || actors.counters().failures == 1);
        running.handle().stop_node("fleet").unwrap();
        until("it has ended", || actors.counters().alive == 0);
        let counters = actors.counters();
        assert_eq!((counters.handled, counters.undelivered), (3, 0));
        let shutdowns = calls.of("shutdown").len();
        assert_eq!(shutdowns, calls.of("init").len(), "each is shut down");
        running.finish().unwrap();
        drop(address);
    }
}

/// An actor that sends a message in `enter_safe_state`, and then blocks there.
struct Hanging {
    other: Address<Order>,
    begins: mpsc::Sender<()>,
    released: mpsc::Receiver<()>,
}

impl Actor for Hanging {
    type Message = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> NodeResult {
        Ok(())
    }

    fn enter_safe_state(&mut self) {
        assert!(self.other.tell(call(|_| Ok(()))).is_ok());
        self.begins.send(()).unwrap();
        assert!(self.released.recv().is_err());
    }
}

#[test]
fn an_actor_whose_safe_state_hangs_is_named_and_keeps_no_other_one() {
    for threads in [1, 2] {
        let (scheduler, actors, private) = group(threads);
        let calls = Calls::default();
        let other = actors.spawn(Puppet::new("other", &calls)).unwrap();
        let ((begins, begun), (release, released)) = (mpsc::channel(), mpsc::channel());
        let hanging = Hanging {
            other: other.clone(),
            begins,
            released,
        };
        let hanging = actors.options().safe_state().spawn(hanging).unwrap();
        actors.register("hanging", &hanging).unwrap();
        let running = scheduler.start().unwrap();
        engage(&private);
        begun.recv_timeout(LONG).unwrap();
        let error = running.finish().unwrap_err().to_string();
        assert!(error.contains("actor 'hanging'"), "{error}");
        let counters = actors.counters();
        assert_eq!((counters.alive, counters.undelivered), (1, 1));
        assert_eq!(calls.all(), ["init other", "shutdown other"]);
        drop(release);
        until("it has ended", || actors.counters().alive == 0);
    }
}
