//! Children of actors, and messages that an actor puts aside.

use horus_testing as _;

mod executors;
mod private;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use executors::{LONG, until};
use horus_core::actor::{
    Actor, Actors, Address, Context, MailboxKind, Reply, SpawnOptions, Timer, TrySendError,
};
use horus_core::scheduler::{FailurePolicy, NodeResult, Running};
use private::Private;

fn running(threads: usize) -> (Actors, Running, Private) {
    let (mut scheduler, private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(threads).build().unwrap();
    (actors, scheduler.start().unwrap(), private)
}

/// The things that happened, in their order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// An actor that spawns actors of its kind.
struct Parent {
    name: String,
    log: Log,
}

enum Order {
    /// Spawns a child that cannot be made anew, or one that can.
    Spawn(&'static str, bool, Reply<Address<Order>>),
    Fail,
    Stop,
    /// Takes some time.
    Work,
}

impl Parent {
    fn new(name: &str, log: &Log) -> Self {
        Self {
            name: name.to_owned(),
            log: log.clone(),
        }
    }
}

impl Actor for Parent {
    type Message = Order;

    fn init(&mut self, _: &mut Context<'_, Self>) -> NodeResult {
        self.log.note(format!("init {}", self.name));
        Ok(())
    }

    fn handle(&mut self, order: Order, context: &mut Context<'_, Self>) -> NodeResult {
        match order {
            Order::Spawn(name, can_restart, reply) => {
                let log = self.log.clone();
                let make = move || Parent::new(name, &log);
                let child = if can_restart {
                    context.spawn_with(make)?
                } else {
                    context.spawn(make())?
                };
                reply.send(child);
            }
            Order::Fail => return Err("on purpose".into()),
            Order::Stop => context.stop(),
            Order::Work => std::thread::sleep(Duration::from_millis(5)),
        }
        Ok(())
    }

    fn shutdown(&mut self) -> NodeResult {
        self.log.note(format!("shutdown {}", self.name));
        Ok(())
    }
}

fn spawn(parent: &Address<Order>, name: &'static str, can_restart: bool) -> Address<Order> {
    let order = |reply| Order::Spawn(name, can_restart, reply);
    parent.ask(order).unwrap().wait(LONG).unwrap()
}

/// A family of three generations, of which the middle one is busy.
fn family(actors: &Actors, log: &Log) -> (Address<Order>, Address<Order>) {
    let top = actors.spawn(Parent::new("top", log)).unwrap();
    let middle = spawn(&top, "middle", false);
    drop(spawn(&middle, "low", false));
    drop(spawn(&top, "other", false));
    (top, middle)
}

const ENDS: [&str; 4] = [
    "shutdown low",
    "shutdown middle",
    "shutdown other",
    "shutdown top",
];

/// Returns the ends in the log, and checks that each child ended before its parent.
fn ends(log: &Log) -> Vec<String> {
    let mut all = log.all();
    all.retain(|what| what.starts_with("shutdown"));
    let place = |name| all.iter().position(|what| what == name);
    for (child, parent) in [(0, 1), (1, 3), (2, 3)] {
        assert!(place(ENDS[child]) < place(ENDS[parent]), "{all:?}");
    }
    let mut sorted = all.clone();
    sorted.sort();
    assert_eq!(sorted, ENDS);
    all
}

#[test]
fn children_end_before_their_parent() {
    for threads in [1, 3] {
        // By the parent's own stop, by its last address, and by the end of the run.
        for way in 0..3 {
            let (actors, running, _private) = running(threads);
            let log = Log::default();
            let (top, middle) = family(&actors, &log);
            assert_eq!(actors.counters().alive, 4, "they live without an address");
            for _ in 0..3 {
                middle.tell(Order::Work).unwrap();
            }
            match way {
                0 => top.tell(Order::Stop).unwrap(),
                1 => drop((top, middle)),
                _ => {}
            }
            if way < 2 {
                until("all have ended", || actors.counters().alive == 0);
            }
            running.finish().unwrap();
            assert_eq!(ends(&log).len(), 4);
        }
    }
}

/// Mail that comes while an actor waits for its children is dropped, and counted.
#[test]
fn an_actor_that_waits_for_its_children_handles_no_mail() {
    let (actors, running, _private) = running(2);
    let log = Log::default();
    let (top, middle) = family(&actors, &log);
    middle.tell(Order::Work).unwrap();
    top.tell_all([Order::Stop, Order::Fail, Order::Fail])
        .unwrap();
    until("all have ended", || actors.counters().alive == 0);
    assert_eq!(
        (actors.counters().failures, actors.counters().undelivered),
        (0, 2)
    );
    running.finish().unwrap();
}

/// A child that restarts concerns nobody. One that fails for good fails its parent, which here ends
/// with its other children, and fails its own parent.
#[test]
fn a_child_that_fails_for_good_fails_its_parent() {
    let (actors, running, _private) = running(2);
    let log = Log::default();
    let (top, middle) = family(&actors, &log);
    let restarting = spawn(&middle, "restarting", true);
    restarting.tell(Order::Fail).unwrap();
    let count = |what: &str| log.all().iter().filter(|noted| **noted == what).count();
    until("it is made anew", || count("init restarting") == 2);
    assert_eq!(actors.counters().alive, 5);
    let low = spawn(&middle, "lower", false);
    low.tell(Order::Fail).unwrap();
    until("all have ended", || actors.counters().alive == 0);
    assert_eq!(ends_but(&log, &["restarting", "lower"]).len(), 4);
    assert!(top.is_disconnected() && restarting.is_disconnected());
    // The child's, the restarting one's, and one of each parent.
    assert_eq!(actors.counters().failures, 4);
    running.finish().unwrap();
}

/// Returns the ends of the family without these members.
fn ends_but(log: &Log, members: &[&str]) -> Vec<String> {
    let others = Log::default();
    for what in log.all() {
        if !members.iter().any(|member| what.ends_with(member)) {
            others.note(what);
        }
    }
    ends(&others)
}

/// A parent that is made anew begins without children.
#[test]
fn a_parent_that_restarts_ends_its_children() {
    let (actors, running, _private) = running(2);
    let log = Log::default();
    let making = log.clone();
    let top = actors
        .spawn_with(move || Parent::new("top", &making))
        .unwrap();
    let child = spawn(&top, "child", false);
    top.tell(Order::Fail).unwrap();
    until("the child has ended", || child.is_disconnected());
    let next = spawn(&top, "next", false);
    assert_eq!(actors.counters().alive, 2);
    next.tell(Order::Fail).unwrap();
    until("it has failed with its child", || next.is_disconnected());
    drop(spawn(&top, "last", false));
    assert_eq!(actors.counters().alive, 2);
    running.finish().unwrap();
}

/// Handles numbers while it is open, and puts them aside while it is not.
struct Gate {
    is_open: Arc<AtomicBool>,
    handled: Arc<Mutex<Vec<u64>>>,
    /// Fails at this number.
    failing: Option<u64>,
    /// Number of messages that were put aside.
    aside: Arc<AtomicU64>,
    /// True if it looks each millisecond whether it is open.
    looks: bool,
    timer: Option<Timer>,
}

enum Passed {
    Number(u64),
    Look,
    /// Ends the timer.
    Rest(Reply<()>),
    Stop,
}

#[derive(Clone, Default)]
struct Seen {
    is_open: Arc<AtomicBool>,
    handled: Arc<Mutex<Vec<u64>>>,
    aside: Arc<AtomicU64>,
}

impl Seen {
    fn gate(&self, failing: Option<u64>) -> Gate {
        Gate {
            is_open: Arc::clone(&self.is_open),
            handled: Arc::clone(&self.handled),
            failing,
            aside: Arc::clone(&self.aside),
            looks: true,
            timer: None,
        }
    }

    /// Returns a gate that gets no mail but what is sent to it.
    fn quiet_gate(&self, failing: Option<u64>) -> Gate {
        Gate {
            looks: false,
            ..self.gate(failing)
        }
    }

    fn set_open(&self, is_open: bool) {
        self.is_open.store(is_open, Ordering::Relaxed);
    }

    fn count(&self) -> usize {
        self.handled.lock().unwrap().len()
    }

    fn expect(&self, numbers: impl IntoIterator<Item = u64>) {
        let wanted: Vec<_> = numbers.into_iter().collect();
        until("all are handled", || self.count() >= wanted.len());
        let handled = self.handled.lock().unwrap();
        let differing = handled
            .iter()
            .zip(&wanted)
            .position(|(one, other)| one != other);
        assert_eq!(differing, None, "the first that is out of order");
        assert_eq!(handled.len(), wanted.len());
    }
}

impl Actor for Gate {
    type Message = Passed;

    fn init(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
        // WHY a timer: its messages come into a full mailbox, too.
        if self.looks {
            self.timer = Some(context.tell_every(Duration::from_millis(1), || Passed::Look));
        }
        Ok(())
    }

    fn handle(&mut self, message: Passed, context: &mut Context<'_, Self>) -> NodeResult {
        let is_open = self.is_open.load(Ordering::Relaxed);
        match message {
            Passed::Look if is_open => context.unstash_all(),
            Passed::Look => {}
            Passed::Rest(reply) => {
                self.timer.iter().for_each(Timer::cancel);
                reply.send(());
            }
            Passed::Stop => context.stop(),
            Passed::Number(number) if is_open => {
                if self.failing == Some(number) {
                    self.failing = None;
                    return Err("on purpose".into());
                }
                self.handled.lock().unwrap().push(number);
            }
            number => {
                self.aside.fetch_add(1, Ordering::Relaxed);
                context.stash(number);
            }
        }
        Ok(())
    }
}

fn gate(options: SpawnOptions<'_>, mailbox: MailboxKind, seen: &Seen) -> Address<Passed> {
    options.mailbox(mailbox).spawn(seen.gate(None)).unwrap()
}

/// Messages that were put aside count in the mailbox, and are handled in their order.
#[test]
fn messages_that_were_put_aside_are_counted_and_come_first() {
    let (actors, running, _private) = running(2);
    let seen = Seen::default();
    let address = gate(actors.options(), MailboxKind::bounded(8), &seen);
    let mut sent = 0;
    for round in 1..=5 {
        seen.set_open(false);
        let refused = (0..LONG.as_millis() as u64).find(|_| {
            let is_full = matches!(
                address.tell(Passed::Number(sent)),
                Err(TrySendError::Full(_))
            );
            sent += u64::from(!is_full);
            // WHY again: those of the round before are subtracted late.
            is_full && sent == round * 8 || {
                std::thread::sleep(Duration::from_millis(u64::from(is_full)));
                false
            }
        });
        assert!(refused.is_some());
        std::thread::sleep(Duration::from_millis(20));
        assert!(
            address.tell(Passed::Number(u64::MAX)).is_err(),
            "it stays full"
        );
        seen.set_open(true);
        seen.expect(0..sent);
    }
    // WHY: otherwise a message of the timer may wait at the end.
    let mut answer = None;
    until("it has room for a question", || {
        answer = address.ask(Passed::Rest).ok();
        answer.is_some()
    });
    answer.unwrap().wait(LONG).unwrap();
    running.finish().unwrap();
    assert_eq!(actors.counters().undelivered, 0);
}

/// More messages than one activation handles come back in their order, before the mail behind them.
#[test]
fn many_messages_come_back_in_their_order() {
    const NUMBERS: u64 = 100_000;
    // WHY few: they are sent while the others come back.
    const LATE: u64 = 100;
    let (actors, running, _private) = running(2);
    let seen = Seen::default();
    let address = gate(actors.options(), MailboxKind::unbounded(), &seen);
    address.tell_all((0..NUMBERS).map(Passed::Number)).unwrap();
    // WHY not the messages that were handled: those of the timer are among them.
    until("all are aside", || {
        seen.aside.load(Ordering::Relaxed) == NUMBERS
    });
    assert_eq!(seen.count(), 0);
    seen.set_open(true);
    until("they come back", || seen.count() > 0);
    address
        .tell_all((NUMBERS..NUMBERS + LATE).map(Passed::Number))
        .unwrap();
    seen.expect(0..NUMBERS + LATE);
    running.finish().unwrap();
}

/// Messages that come back need no other mail: not if they take several activations, and not after
/// a restart.
#[test]
fn messages_come_back_without_other_mail() {
    const NUMBERS: u64 = 20_000;
    let (actors, running, _private) = running(1);
    let seen = Seen::default();
    let options = actors.options().mailbox(MailboxKind::unbounded());
    let address = options.spawn(seen.quiet_gate(None)).unwrap();
    address.tell_all((0..NUMBERS).map(Passed::Number)).unwrap();
    until("all are aside", || actors.counters().handled >= NUMBERS);
    seen.set_open(true);
    address.tell(Passed::Look).unwrap();
    seen.expect(0..NUMBERS);

    let (restarted, mut failing) = (Seen::default(), Some(3));
    let made = restarted.clone();
    let options = actors.options().on_failure(FailurePolicy::Restart {
        max: 5,
        backoff: Duration::from_millis(1),
    });
    let address = options
        .spawn_with(move || made.quiet_gate(failing.take()))
        .unwrap();
    let handled = actors.counters().handled;
    address.tell_all((0..3).map(Passed::Number)).unwrap();
    until("all are aside", || actors.counters().handled >= handled + 3);
    restarted.set_open(true);
    address.tell(Passed::Number(3)).unwrap();
    restarted.expect(0..3);
    running.finish().unwrap();
}

/// A message that fails does not take the others along, a restart brings them back, and what is
/// still aside at the end is undelivered.
#[test]
fn messages_that_were_put_aside_survive_failures() {
    for restarts in [false, true] {
        let (actors, running, _private) = running(1);
        let seen = Seen::default();
        let address = if restarts {
            let (made, mut failing) = (seen.clone(), Some(3));
            let policy = FailurePolicy::Restart {
                max: 5,
                backoff: Duration::from_millis(1),
            };
            let options = actors.options().on_failure(policy);
            options.spawn_with(move || made.quiet_gate(failing.take()))
        } else {
            let options = actors.options().on_failure(FailurePolicy::Ignore);
            options.spawn(seen.quiet_gate(Some(3)))
        };
        let address = address.unwrap();
        address.tell_all((0..10).map(Passed::Number)).unwrap();
        until("all are aside", || actors.counters().handled >= 10);
        seen.set_open(true);
        address.tell(Passed::Look).unwrap();
        seen.expect((0..10).filter(|number| *number != 3));
        assert_eq!(actors.counters().failures, 1);
        seen.set_open(false);
        address.tell_all((10..15).map(Passed::Number)).unwrap();
        address.tell(Passed::Stop).unwrap();
        until("it has ended", || actors.counters().alive == 0);
        assert_eq!(actors.counters().undelivered, 5, "restarts: {restarts}");
        running.finish().unwrap();
    }
}
