//! Actors that are replaced while they run: each message goes to the actor that its place says.

use horus_testing as _;

mod executors;
mod private;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use executors::{LONG, until};
use horus_core::actor::{
    Actor, Actors, Address, Context, Down, MailboxKind, SwapError, TrySendError,
};
use horus_core::scheduler::{FailurePolicy, NodeResult, Running, Swap, SwapState};
use private::Private;

fn running(threads: usize, mailbox: MailboxKind) -> (Actors, Running, Private) {
    let (mut scheduler, private) = Private::alone();
    let group = scheduler.actors("fleet").threads(threads).mailbox(mailbox);
    let actors = group.build().unwrap();
    (actors, scheduler.start().unwrap(), private)
}

type Calls = Arc<Mutex<Vec<String>>>;

/// The version whose `init` fails.
const FAILING: u64 = u64::MAX;

/// Tells `message`, and tries again while the mailbox is full.
fn tell(address: &Address<Message>, mut message: Message) {
    while let Err(error) = address.tell(message) {
        let TrySendError::Full(back) = error else {
            panic!("the actor has ended");
        };
        message = back;
        thread::yield_now();
    }
}

/// An actor with a version, which checks the one that its messages say.
struct Versioned {
    version: u64,
    calls: Calls,
}

enum Message {
    /// Has to be handled by the actor of this version.
    Of(u64),
    Fail,
    Report(mpsc::Sender<u64>),
}

impl Versioned {
    fn new(version: u64, calls: &Calls) -> Self {
        Self {
            version,
            calls: Arc::clone(calls),
        }
    }

    fn note(&self, call: &str) {
        self.calls
            .lock()
            .unwrap()
            .push(format!("{call} {}", self.version));
    }
}

impl Actor for Versioned {
    type Message = Message;

    fn init(&mut self, _: &mut Context<'_, Self>) -> NodeResult {
        self.note("init");
        if self.version == FAILING {
            return Err("no luck".into());
        }
        Ok(())
    }

    fn handle(&mut self, message: Message, _: &mut Context<'_, Self>) -> NodeResult {
        match message {
            Message::Of(version) => assert_eq!(version, self.version),
            Message::Fail => return Err("told to fail".into()),
            Message::Report(to) => to.send(self.version)?,
        }
        Ok(())
    }

    fn shutdown(&mut self) -> NodeResult {
        self.note("shutdown");
        Ok(())
    }
}

/// A swap keeps its place among the messages of its sender, whatever the mailbox.
#[test]
fn a_swap_keeps_its_place_among_the_messages() {
    for (threads, mailbox) in [(1, MailboxKind::bounded(16)), (2, MailboxKind::unbounded())] {
        let (actors, running, _private) = running(threads, mailbox);
        let calls = Calls::default();
        let address = actors.spawn(Versioned::new(0, &calls)).unwrap();
        let (mut last, swaps) = (None::<Swap>, 2_000);
        for version in 1..=swaps {
            for _ in 0..5 {
                tell(&address, Message::Of(version - 1));
            }
            last = loop {
                match address.swap(Versioned::new(version, &calls)) {
                    Ok(swap) => break Some(swap),
                    Err(error) => assert_eq!(error, SwapError::Full),
                }
                thread::yield_now();
            };
        }
        for _ in 0..10 {
            tell(&address, Message::Of(swaps));
        }
        assert_eq!(last.unwrap().wait(LONG), SwapState::Done);
        running.finish().unwrap();
        let counters = actors.counters();
        assert_eq!((counters.failures, counters.undelivered), (0, 0));
        assert_eq!(counters.handled, 5 * swaps + 10);
        let calls = calls.lock().unwrap();
        let ended = calls.iter().filter(|call| call.starts_with("shutdown"));
        assert_eq!(ended.count() as u64, swaps + 1);
        assert_eq!(
            address
                .swap(Versioned::new(0, &Calls::default()))
                .unwrap_err(),
            SwapError::Disconnected
        );
    }
}

/// An actor that checks its messages' versions, and counts them.
struct Checked {
    version: u64,
    handled: Arc<AtomicU64>,
}

impl Actor for Checked {
    type Message = u64;

    fn handle(&mut self, version: u64, _: &mut Context<'_, Self>) -> NodeResult {
        assert_eq!(version, self.version);
        // Relaxed: a counter.
        self.handled.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Each of a million messages is handled by the version that its place says, with a swap after
/// every four of them. Prints the rate.
#[test]
fn swaps_keep_pace_with_messages() {
    let swaps = if cfg!(debug_assertions) {
        25_000
    } else {
        250_000
    };
    let (actors, running, _private) = running(2, MailboxKind::unbounded());
    let handled = Arc::new(AtomicU64::new(0));
    let checked = |version| Checked {
        version,
        handled: Arc::clone(&handled),
    };
    let address = actors.spawn(checked(0)).unwrap();
    let begin = Instant::now();
    for version in 0..swaps {
        address.tell_all([version; 4]).unwrap();
        address.swap(checked(version + 1)).unwrap();
    }
    while handled.load(Ordering::Relaxed) < 4 * swaps {
        assert!(begin.elapsed() < LONG, "messages are missing");
        thread::yield_now();
    }
    let rate = swaps as f64 / begin.elapsed().as_secs_f64() / 1e6;
    println!("{rate:.2} M swaps/s, with 4 messages each");
    running.finish().unwrap();
    let counters = actors.counters();
    assert_eq!((counters.failures, counters.panics), (0, 0));
}

/// A new actor that fails in its trial goes, and the old one comes back with its state; so it does
/// if the `init` of the new one fails. After the trial, a failure is the new actor's.
#[test]
fn an_actor_that_fails_its_trial_is_swapped_back() {
    let (actors, running, _private) = running(2, MailboxKind::default());
    let calls = Calls::default();
    let options = actors.options().on_failure(FailurePolicy::Ignore);
    let address = options.spawn(Versioned::new(1, &calls)).unwrap();
    let version = || {
        let (to, from) = mpsc::channel();
        address.tell(Message::Report(to)).unwrap();
        from.recv_timeout(LONG).unwrap()
    };
    let refused = address.swap(Versioned::new(FAILING, &calls)).unwrap();
    assert_eq!(
        refused.wait(LONG),
        SwapState::RolledBack("no luck".to_owned())
    );
    assert_eq!(version(), 1);

    let failing = address.swap(Versioned::new(2, &calls)).unwrap();
    assert_eq!(version(), 2);
    assert_eq!(failing.state(), SwapState::OnTrial);
    address.tell(Message::Fail).unwrap();
    assert_eq!(
        failing.wait(LONG),
        SwapState::RolledBack("told to fail".to_owned())
    );
    assert_eq!(version(), 1);

    let lasting = address.swap(Versioned::new(3, &calls)).unwrap();
    (0..10).for_each(|_| assert_eq!(version(), 3));
    assert_eq!(lasting.wait(LONG), SwapState::Done);
    address.tell(Message::Fail).unwrap();
    assert_eq!(version(), 3);

    let last = address.swap(Versioned::new(4, &calls)).unwrap();
    assert_eq!(version(), 4);
    running.finish().unwrap();
    assert_eq!(last.state(), SwapState::Abandoned);
    let wanted = [
        "init 1",
        "init 18446744073709551615",
        "init 2",
        "shutdown 2",
        "init 3",
        "shutdown 1",
        "init 4",
        "shutdown 3",
        "shutdown 4",
    ];
    let mut calls = calls.lock().unwrap().clone();
    calls[7..].sort_unstable();
    assert_eq!(calls, wanted);
}

/// An actor is replaced by one of its type only; a swap that nobody handles is abandoned.
#[test]
fn a_swap_ends_in_any_case() {
    struct Other;
    impl Actor for Other {
        type Message = Message;

        fn handle(&mut self, _: Message, _: &mut Context<'_, Self>) -> NodeResult {
            Ok(())
        }
    }
    let (actors, running, _private) = running(1, MailboxKind::default());
    let calls = Calls::default();
    let address = actors.spawn(Versioned::new(1, &calls)).unwrap();
    let SwapState::RolledBack(reason) = address.swap(Other).unwrap().wait(LONG) else {
        panic!("another type was accepted");
    };
    assert!(reason.ends_with("Versioned"), "{reason}");
    address.tell(Message::Fail).unwrap();
    let late = address.swap(Versioned::new(2, &calls));
    if let Ok(late) = late {
        assert_eq!(late.wait(LONG), SwapState::Abandoned);
    }
    running.finish().unwrap();
}

/// The call of an actor that fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Failing {
    Nothing,
    Init,
    Handle,
}

/// An actor that starts a timer and a child in `init`, and notes the messages of the timer.
struct Ticking {
    version: u64,
    failing: Failing,
    noted: Noted,
}

#[derive(Clone, Default)]
struct Noted {
    /// The version of each message of a timer.
    ticks: Arc<Mutex<Vec<u64>>>,
    /// The versions whose children have ended.
    ended: Arc<Mutex<Vec<u64>>>,
}

/// A child of a version.
struct Child(u64, Noted);

impl Actor for Child {
    type Message = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> NodeResult {
        Ok(())
    }

    fn shutdown(&mut self) -> NodeResult {
        self.1.ended.lock().unwrap().push(self.0);
        Ok(())
    }
}

impl Actor for Ticking {
    type Message = u64;

    fn init(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
        let version = self.version;
        context.tell_every(Duration::from_millis(1), move || version);
        context.spawn(Child(version, self.noted.clone()))?;
        if self.failing == Failing::Init {
            return Err("no luck".into());
        }
        Ok(())
    }

    fn handle(&mut self, version: u64, _: &mut Context<'_, Self>) -> NodeResult {
        assert_eq!(version, self.version, "a timer of another version");
        if self.failing == Failing::Handle {
            return Err("no luck".into());
        }
        self.noted.ticks.lock().unwrap().push(version);
        Ok(())
    }
}

/// The timers and children of a version end with it: those of the old one once the swap is final,
/// those of a new one that fails when the old one comes back, whose timers then go on.
#[test]
fn each_version_has_its_own_timers_and_children() {
    let (actors, running, _private) = running(1, MailboxKind::default());
    let noted = Noted::default();
    let make = |version, failing| Ticking {
        version,
        failing,
        noted: noted.clone(),
    };
    let options = actors.options().on_failure(FailurePolicy::Ignore);
    let address = options.spawn(make(1, Failing::Nothing)).unwrap();
    let goes_on = |version: u64| {
        let before = noted.ticks.lock().unwrap().len();
        until("the timer goes on", || {
            let ticks = noted.ticks.lock().unwrap();
            ticks.len() >= before + 5 && ticks.ends_with(&[version; 3])
        });
    };
    let have_ended = |versions: &[u64]| {
        until("these children end", || {
            *noted.ended.lock().unwrap() == versions
        });
        until("one child is left", || actors.counters().alive == 2);
    };
    goes_on(1);
    let mut ended = Vec::new();
    for (version, failing) in [(2, Failing::Init), (3, Failing::Handle)] {
        let swap = address.swap(make(version, failing)).unwrap();
        let reason = "no luck".to_owned();
        assert_eq!(swap.wait(LONG), SwapState::RolledBack(reason));
        goes_on(1);
        ended.push(version);
        have_ended(&ended);
    }
    let mut old = 1;
    for version in 4..7 {
        let swap = address.swap(make(version, Failing::Nothing)).unwrap();
        assert_eq!(swap.wait(LONG), SwapState::Done);
        goes_on(version);
        ended.push(std::mem::replace(&mut old, version));
        have_ended(&ended);
    }
    running.finish().unwrap();
    let counters = actors.counters();
    assert_eq!((counters.failures, counters.panics), (2, 0));
}

/// Starts a timer, and swaps itself at once, so that the timer is due after the swap.
struct Once {
    version: u64,
    handled: Calls,
    swap: Arc<Mutex<Option<Swap>>>,
}

impl Actor for Once {
    type Message = Message;

    fn handle(&mut self, message: Message, context: &mut Context<'_, Self>) -> NodeResult {
        let Self {
            version,
            handled,
            swap,
        } = self;
        match message {
            Message::Of(0) => {
                context.tell_after(Duration::from_millis(1), Message::Of(*version));
                let next = Self {
                    version: *version + 1,
                    handled: Arc::clone(handled),
                    swap: Arc::clone(swap),
                };
                *swap.lock().unwrap() = Some(context.address().swap(next)?);
            }
            Message::Of(of) => handled.lock().unwrap().push(format!("{of} by {version}")),
            Message::Fail => return Err("told to fail".into()),
            Message::Report(to) => to.send(context.now_ns())?,
        }
        Ok(())
    }
}

/// A message that a timer of the old version sends during the trial of the new one is handled by
/// the old version, if that one comes back, and by no version otherwise.
#[test]
fn a_timer_that_is_due_in_a_trial_waits_for_the_end_of_the_trial() {
    for is_final in [false, true] {
        let (actors, running, _private) = running(1, MailboxKind::default());
        let (handled, swap) = (Calls::default(), Arc::default());
        let options = actors.options().on_failure(FailurePolicy::Ignore);
        let once = Once {
            version: 1,
            handled: Arc::clone(&handled),
            swap: Arc::clone(&swap),
        };
        let address = options.spawn(once).unwrap();
        let report = || {
            let (to, from) = mpsc::channel();
            address.tell(Message::Report(to)).unwrap();
            from.recv_timeout(LONG).unwrap()
        };
        address.tell(Message::Of(0)).unwrap();
        let begin_ns = report();
        while report() - begin_ns < 50_000_000 {
            // WHY so long: there are ten messages until the end of the trial.
            thread::sleep(Duration::from_millis(20));
        }
        let swap = swap.lock().unwrap().take().unwrap();
        assert_eq!(swap.state(), SwapState::OnTrial);
        if is_final {
            (0..10).for_each(|_| _ = report());
            assert_eq!(swap.wait(LONG), SwapState::Done);
            report();
            assert_eq!(*handled.lock().unwrap(), [""; 0]);
        } else {
            address.tell(Message::Fail).unwrap();
            let reason = "told to fail".to_owned();
            assert_eq!(swap.wait(LONG), SwapState::RolledBack(reason));
            until("the old one handles it", || {
                *handled.lock().unwrap() == ["1 by 1"]
            });
        }
        running.finish().unwrap();
    }
}

/// An actor whose versions all watch the same actor in `init`.
struct Watching {
    other: Address<Message>,
    downs: Arc<AtomicU64>,
}

impl Actor for Watching {
    type Message = mpsc::Sender<u64>;

    fn init(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
        context.watch(&self.other);
        Ok(())
    }

    fn handle(&mut self, to: mpsc::Sender<u64>, _: &mut Context<'_, Self>) -> NodeResult {
        to.send(self.downs.load(Ordering::Relaxed))?;
        Ok(())
    }

    fn on_down(&mut self, _: &Down, _: &mut Context<'_, Self>) -> NodeResult {
        self.downs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn a_watch_that_each_version_begins_is_one_watch() {
    let (actors, running, _private) = running(1, MailboxKind::default());
    let other = actors.spawn(Versioned::new(1, &Calls::default())).unwrap();
    let downs = Arc::new(AtomicU64::new(0));
    let watching = || Watching {
        other: other.clone(),
        downs: Arc::clone(&downs),
    };
    let address = actors.spawn(watching()).unwrap();
    let report = || {
        let (to, from) = mpsc::channel();
        address.tell(to).unwrap();
        from.recv_timeout(LONG).unwrap()
    };
    for _ in 0..2 {
        let swap = address.swap(watching()).unwrap();
        (0..10).for_each(|_| _ = report());
        assert_eq!(swap.wait(LONG), SwapState::Done);
    }
    // It ends, because it has no policy.
    other.tell(Message::Fail).unwrap();
    until("it is noted", || report() > 0);
    // WHY: all reports of the end are sent together.
    assert_eq!((report(), report()), (1, 1));
    running.finish().unwrap();
}
