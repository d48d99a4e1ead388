//! The services of a group to its actors: names, watches and timers.

use horus_testing as _;

mod executors;
mod private;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use executors::{LONG, until};
use horus_core::actor::{
    Actor, Actors, Address, Context, Down, DownReason, FindError, MailboxKind, Reply, Timer,
};
use horus_core::scheduler::{FailurePolicy, NodeResult, Running};
use private::Private;

fn running(threads: usize) -> (Actors, Running, Private) {
    let (mut scheduler, private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(threads).build().unwrap();
    (actors, scheduler.start().unwrap(), private)
}

/// An actor that answers with the number of questions so far, and stops or fails at some.
#[derive(Default)]
struct Counter(u64);

enum Order {
    Count(Reply<u64>),
    Stop,
    Fail,
}

impl Actor for Counter {
    type Message = Order;

    fn handle(&mut self, order: Order, context: &mut Context<'_, Self>) -> NodeResult {
        match order {
            Order::Count(reply) => {
                self.0 += 1;
                reply.send(self.0);
            }
            Order::Stop => context.stop(),
            Order::Fail => return Err("told to fail".into()),
        }
        Ok(())
    }
}

fn count(address: &Address<Order>) -> u64 {
    address.ask(Order::Count).unwrap().wait(LONG).unwrap()
}

/// An actor is found by its name and its type, and lives while it has the name.
#[test]
fn an_actor_is_found_by_its_name() {
    let (actors, running, _private) = running(2);
    let left = actors.spawn(Counter::default()).unwrap();
    let right = actors.spawn(Counter::default()).unwrap();
    actors.register("arm/left", &left).unwrap();
    actors.register("arm/right", &right).unwrap();
    let taken = actors.register("arm/left", &right).unwrap_err();
    assert_eq!(taken.name, "arm/left");
    drop((left, right));
    let left = actors.find::<Order>("arm/left").unwrap();
    assert_eq!((count(&left), count(&left)), (1, 2));
    assert_eq!(actors.names("arm/"), ["arm/left", "arm/right"]);
    assert!(actors.names("leg/").is_empty());
    let unknown = actors.find::<Order>("leg").unwrap_err();
    assert_eq!(
        unknown,
        FindError::Unknown {
            name: "leg".to_owned()
        }
    );
    let error = actors.find::<u64>("arm/left").unwrap_err();
    let texts = ["arm/left", "u64", "Order"].map(|text| error.to_string().contains(text));
    assert_eq!(texts, [true; 3], "{error}");

    left.tell(Order::Stop).unwrap();
    until("it has stopped", || left.is_disconnected());
    assert!(actors.find::<Order>("arm/left").is_err());
    assert_eq!(actors.names(""), ["arm/right"]);
    let other = actors.spawn(Counter::default()).unwrap();
    actors.register("arm/left", &other).unwrap();
    assert_eq!(actors.find::<Order>("arm/left").unwrap(), other);
    assert!(actors.unregister("arm/right") && !actors.unregister("arm/right"));
    until("the right one ends without its name", || {
        actors.counters().alive == 1
    });
    running.finish().unwrap();
    assert!(actors.names("").is_empty());
}

/// An actor that watches others, and notes their ends.
struct Watcher {
    others: Vec<Address<Order>>,
    downs: Arc<Mutex<Vec<Down>>>,
}

impl Actor for Watcher {
    type Message = Address<Order>;

    fn init(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
        self.others.iter().for_each(|other| context.watch(other));
        Ok(())
    }

    fn handle(&mut self, other: Address<Order>, context: &mut Context<'_, Self>) -> NodeResult {
        context.watch(&other);
        Ok(())
    }

    fn on_down(&mut self, down: &Down, _: &mut Context<'_, Self>) -> NodeResult {
        self.downs.lock().unwrap().push(down.clone());
        Ok(())
    }
}

/// The end of an actor reaches those that watch it, with its reason: if it stops, if it fails, if
/// its last address goes, and if it has ended before.
#[test]
fn an_actor_learns_that_another_one_has_ended() {
    for threads in [1, 2] {
        let (actors, running, _private) = running(threads);
        let spawn = || actors.spawn(Counter::default()).unwrap();
        let [stopping, failing, dropped, restarted, ended] = [(); 5].map(|()| spawn());
        ended.tell(Order::Stop).unwrap();
        until("one has ended", || ended.is_disconnected());
        let downs = Arc::new(Mutex::new(Vec::new()));
        let watcher = Watcher {
            others: vec![stopping.clone(), failing.clone(), ended.clone()],
            downs: Arc::clone(&downs),
        };
        let watcher = actors.spawn(watcher).unwrap();
        watcher.tell(dropped.clone()).unwrap();
        watcher.tell(restarted.clone()).unwrap();
        let of = |address: &Address<Order>| {
            let downs = downs.lock().unwrap();
            let theirs = downs.iter().filter(|down| down.id() == address.id());
            theirs.map(|down| down.reason().clone()).collect::<Vec<_>>()
        };
        until("it knows of the one that ended before", || {
            !of(&ended).is_empty()
        });
        stopping.tell(Order::Stop).unwrap();
        failing.tell(Order::Fail).unwrap();
        let id = dropped.id();
        until("the watch is there", || dropped.ask(Order::Count).is_ok());
        let weak = dropped.downgrade();
        drop(dropped);
        until("three more have ended", || downs.lock().unwrap().len() == 4);
        assert!(weak.upgrade().is_none());
        assert_eq!(of(&ended), [DownReason::Ended]);
        assert_eq!(of(&stopping), [DownReason::Ended]);
        assert_eq!(
            of(&failing),
            [DownReason::Failed("told to fail".to_owned())]
        );
        assert_eq!(
            downs
                .lock()
                .unwrap()
                .iter()
                .filter(|down| down.id() == id)
                .count(),
            1
        );
        assert_eq!(of(&restarted), []);
        running.finish().unwrap();
    }
}

/// A watch that waits in the mailbox of an actor that ends is reported, too.
#[test]
fn a_watch_that_comes_too_late_is_reported() {
    let (actors, running, _private) = running(2);
    for _ in 0..300 {
        let other = actors.spawn(Counter::default()).unwrap();
        let downs = Arc::new(Mutex::new(Vec::new()));
        let watcher = Watcher {
            others: Vec::new(),
            downs: Arc::clone(&downs),
        };
        let watcher = actors.spawn(watcher).unwrap();
        watcher.tell(other.clone()).unwrap();
        other.tell(Order::Stop).unwrap();
        until("it is reported", || downs.lock().unwrap().len() == 1);
    }
    running.finish().unwrap();
}

/// The messages of an actor with timers.
enum Tick {
    After(u64),
    Every,
    Cancel,
    Fail,
}

/// An actor that starts a periodic timer, and notes what comes.
struct Clockwork {
    seen: mpsc::Sender<(u64, Instant)>,
    every: Duration,
    timer: Option<Timer>,
}

impl Actor for Clockwork {
    type Message = Tick;

    fn init(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
        self.timer = Some(context.tell_every(self.every, || Tick::Every));
        Ok(())
    }

    fn handle(&mut self, tick: Tick, context: &mut Context<'_, Self>) -> NodeResult {
        match tick {
            Tick::After(ms) => {
                let seen = self.seen.clone();
                seen.send((0, Instant::now()))?;
                context.tell_after(Duration::from_millis(ms), Tick::Cancel);
            }
            Tick::Every => self.seen.send((1, Instant::now()))?,
            Tick::Cancel => {
                self.seen.send((2, Instant::now()))?;
                self.timer
                    .take()
                    .into_iter()
                    .for_each(|timer| timer.cancel());
            }
            Tick::Fail => return Err("told to fail".into()),
        }
        Ok(())
    }
}

/// Timers send their messages at their time and not before, until they are cancelled.
#[test]
fn timers_send_messages_at_their_time() {
    for threads in [1, 3] {
        let (actors, running, _private) = running(threads);
        let (seen, all) = mpsc::channel();
        let every = Duration::from_millis(2);
        let begin = Instant::now();
        let clockwork = Clockwork {
            seen,
            every,
            timer: None,
        };
        let address = actors.spawn(clockwork).unwrap();
        for number in 1..=20 {
            let (kind, at) = all.recv_timeout(LONG).unwrap();
            assert_eq!(kind, 1);
            assert!(at >= begin + every * number, "message {number} is early");
        }
        let sent = Instant::now();
        address.tell(Tick::After(30)).unwrap();
        let cancelled = all.iter().find(|(kind, _)| *kind == 2).unwrap();
        assert!(cancelled.1 >= sent + Duration::from_millis(30));
        drop(address);
        until("an actor without timers and addresses ends", || {
            actors.counters().alive == 0
        });
        assert!(all.try_iter().next().is_none(), "the timer was cancelled");
        running.finish().unwrap();
    }
}

/// An actor that cancels timers: as many as the message says, which are all due in an hour.
struct Cancelling {
    held: Arc<()>,
}

impl Actor for Cancelling {
    type Message = (u64, Option<Arc<()>>);

    fn handle(
        &mut self,
        (timers, _): Self::Message,
        context: &mut Context<'_, Self>,
    ) -> NodeResult {
        for _ in 0..timers {
            let message = (0, Some(Arc::clone(&self.held)));
            let once = context.tell_after(Duration::from_secs(3600), message);
            let held = Arc::clone(&self.held);
            let make = move || (0, Some(Arc::clone(&held)));
            let periodic = context.tell_every(Duration::from_secs(3600), make);
            once.cancel();
            periodic.cancel();
        }
        Ok(())
    }
}

/// A timer that was cancelled keeps neither its message nor its actor.
#[test]
fn a_cancelled_timer_keeps_nothing_alive() {
    let (actors, running, _private) = running(1);
    let held = Arc::new(());
    let its_held = Arc::clone(&held);
    let address = actors.spawn(Cancelling { held: its_held }).unwrap();
    address.tell((10, None)).unwrap();
    until("it is handled", || actors.counters().handled == 1);
    assert_eq!(Arc::strong_count(&held), 2, "the actor's own one is left");
    drop(address);
    until("the actor has ended", || actors.counters().alive == 0);
    running.finish().unwrap();
}

/// An actor that sets and cancels a time limit for each message needs no memory for the old ones.
#[test]
#[cfg_attr(
    horus_sanitizer = "address",
    ignore = "it keeps freed memory, to find uses of it"
)]
fn cancelled_timers_do_not_pile_up() {
    const TIMERS: u64 = 200_000;
    const BYTES_MAX: u64 = 8 << 20;
    let (actors, running, _private) = running(1);
    let held = Arc::new(());
    let address = actors.spawn(Cancelling { held }).unwrap();
    let before = resident_bytes();
    address.tell((TIMERS, None)).unwrap();
    until("it is handled", || actors.counters().handled == 1);
    let bytes = resident_bytes().saturating_sub(before);
    assert!(bytes < BYTES_MAX, "{bytes} bytes for {TIMERS} timers");
    running.finish().unwrap();
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages = statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap();
    pages * 4096
}

/// A timer is kept although the actor that started it does not return from its handler.
#[test]
fn a_timer_is_kept_beside_a_handler_that_does_not_return() {
    struct Blocking(mpsc::Receiver<()>);
    impl Actor for Blocking {
        type Message = ();

        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> NodeResult {
            Ok(self.0.recv_timeout(LONG)?)
        }
    }
    struct Late(mpsc::Sender<()>);
    impl Actor for Late {
        type Message = Option<Address<()>>;

        fn handle(
            &mut self,
            blocking: Option<Address<()>>,
            context: &mut Context<'_, Self>,
        ) -> NodeResult {
            match blocking {
                Some(blocking) => {
                    context.tell_after(Duration::from_millis(3), None);
                    blocking.tell(())?;
                }
                None => self.0.send(())?,
            }
            Ok(())
        }
    }
    let (actors, running, _private) = running(2);
    for round in 1..=20 {
        let (release, blocked) = mpsc::channel();
        let blocking = actors.spawn(Blocking(blocked)).unwrap();
        let late = actors.spawn(Late(release)).unwrap();
        late.tell(Some(blocking)).unwrap();
        drop(late);
        // Two messages of one, and the one of the other, whose handler has then returned.
        until("both have handled all", || {
            actors.counters().handled == 3 * round
        });
    }
    running.finish().unwrap();
}

/// A restart cancels the timers that were started before: there is one periodic timer, not two.
#[test]
fn a_restart_cancels_timers() {
    let (actors, running, _private) = running(2);
    let (seen, all) = mpsc::channel();
    let made = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&made);
    let policy = FailurePolicy::Restart {
        max: 100,
        backoff: Duration::from_micros(100),
    };
    let options = actors.options().on_failure(policy);
    let make = move || {
        count.fetch_add(1, Ordering::Relaxed);
        Clockwork {
            seen: seen.clone(),
            every: Duration::from_millis(1),
            timer: None,
        }
    };
    let address = options.spawn_with(make).unwrap();
    for restarts in 1..=4 {
        all.recv_timeout(LONG).unwrap();
        address.tell(Tick::Fail).unwrap();
        until("it restarts", || {
            made.load(Ordering::Relaxed) == restarts + 1
        });
    }
    address.tell(Tick::After(0)).unwrap();
    assert!(all.iter().any(|(kind, _)| kind == 2));
    thread::sleep(Duration::from_millis(20));
    let late = all.try_iter().filter(|(kind, _)| *kind == 1).count();
    assert!(late <= 1, "{late} messages of timers that were cancelled");
    running.finish().unwrap();
}

/// An `init` that watches and registers has the same effect again after a restart.
#[test]
fn init_may_watch_and_register_again() {
    struct Guard {
        actors: Actors,
        other: Address<Order>,
        downs: mpsc::Sender<Down>,
        inits: mpsc::Sender<()>,
    }

    impl Actor for Guard {
        type Message = ();

        fn init(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
            context.watch(&self.other);
            self.actors.register("guard", &context.address())?;
            self.inits.send(())?;
            Ok(())
        }

        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> NodeResult {
            Err("told to fail".into())
        }

        fn on_down(&mut self, down: &Down, _: &mut Context<'_, Self>) -> NodeResult {
            self.downs.send(down.clone())?;
            Ok(())
        }
    }

    let (actors, running, _private) = running(1);
    let other = actors.spawn(Counter::default()).unwrap();
    let (downs, all) = mpsc::channel();
    let policy = FailurePolicy::Restart {
        max: 10,
        backoff: Duration::from_micros(100),
    };
    let (handle, watched) = (actors.clone(), other.clone());
    let (inits, inited) = mpsc::channel();
    let guard = actors
        .options()
        .on_failure(policy)
        .spawn_with(move || Guard {
            actors: handle.clone(),
            other: watched.clone(),
            downs: downs.clone(),
            inits: inits.clone(),
        });
    let guard = guard.unwrap();
    for failures in 1..=3 {
        guard.tell(()).unwrap();
        until("it has failed", || actors.counters().failures == failures);
    }
    // What is sent to the other one comes behind the watches of the last `init`.
    (0..4).for_each(|_| inited.recv_timeout(LONG).unwrap());
    assert_eq!(actors.find::<()>("guard").unwrap(), guard);
    let refused = actors.register("guard", &other).unwrap_err();
    assert!(refused.to_string().contains("guard"), "{refused}");
    other.tell(Order::Stop).unwrap();
    assert_eq!(all.recv_timeout(LONG).unwrap().id(), other.id());
    thread::sleep(Duration::from_millis(20));
    assert_eq!(all.try_iter().count(), 0, "the end was reported once");
    assert_eq!(actors.counters().failures, 3);
    running.finish().unwrap();
}

/// Messages that wait for an actor whose `init` fails wait on, in their order.
#[test]
fn no_message_is_lost_if_init_fails_after_a_restart() {
    struct Reluctant {
        refusals: Arc<AtomicU64>,
        seen: mpsc::Sender<u32>,
    }

    impl Actor for Reluctant {
        type Message = u32;

        fn init(&mut self, _: &mut Context<'_, Self>) -> NodeResult {
            let left = self.refusals.load(Ordering::Relaxed);
            if left > 0 {
                self.refusals.store(left - 1, Ordering::Relaxed);
                return Err("not yet".into());
            }
            Ok(())
        }

        fn handle(&mut self, message: u32, _: &mut Context<'_, Self>) -> NodeResult {
            if message == 0 {
                self.refusals.store(3, Ordering::Relaxed);
                return Err("told to fail".into());
            }
            self.seen.send(message)?;
            Ok(())
        }
    }

    for mailbox in [MailboxKind::bounded(5), MailboxKind::unbounded()] {
        let (actors, running, _private) = running(1);
        let (seen, all) = mpsc::channel();
        let refusals = Arc::new(AtomicU64::new(0));
        let policy = FailurePolicy::Restart {
            max: 10,
            backoff: Duration::from_micros(100),
        };
        let options = actors.options().on_failure(policy).mailbox(mailbox);
        let address = options.spawn_with(move || Reluctant {
            refusals: Arc::clone(&refusals),
            seen: seen.clone(),
        });
        let address = address.unwrap();
        address.tell_all([0, 1, 2, 3, 4]).unwrap();
        let handled: Vec<_> = (0..4).map(|_| all.recv_timeout(LONG).unwrap()).collect();
        assert_eq!(handled, [1, 2, 3, 4]);
        assert_eq!(actors.counters().failures, 4);
        until("there is room for all again", || address.waiting() == 0);
        address.tell_all([5, 6, 7, 8]).unwrap();
        drop(address);
        until("all were handled", || actors.counters().alive == 0);
        assert_eq!(all.try_iter().collect::<Vec<_>>(), [5, 6, 7, 8]);
        running.finish().unwrap();
        assert_eq!(actors.counters().undelivered, 0);
    }
}
