//! Actors of other languages: the surroundings of their calls, and messages that are handled in
//! batches.

use horus_testing as _;

mod executors;
mod private;

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use executors::{LONG, until};
use horus_core::actor::{Actor, Actors, Address, Context, MailboxKind, Reply};
use horus_core::scheduler::{NodeResult, Running, SwapState};
use private::Private;

static SURROUNDED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

fn wrap_handlers(run: &mut dyn FnMut()) {
    // Relaxed: a counter of tests.
    SURROUNDED.fetch_add(1, Ordering::Relaxed);
    assert!(!IS_INSIDE.replace(true));
    run();
    IS_INSIDE.set(false);
}

fn surrounded() -> u64 {
    // Relaxed: as above.
    SURROUNDED.load(Ordering::Relaxed)
}

/// A message that has to be dropped inside.
struct Inner;

impl Drop for Inner {
    fn drop(&mut self) {
        assert!(IS_INSIDE.get() || thread::panicking());
    }
}

/// An actor that has to be called inside, and sends each message on.
struct Inside {
    next: Option<Address<Inner>>,
    handled: Arc<AtomicU64>,
}

impl Actor for Inside {
    type Message = Inner;

    fn handle(&mut self, message: Inner, _: &mut Context<'_, Self>) -> NodeResult {
        assert!(IS_INSIDE.get());
        // Relaxed: a counter.
        self.handled.fetch_add(1, Ordering::Relaxed);
        match &self.next {
            Some(next) => next.tell(message).map_err(|_| "refused".into()),
            None => Ok(()),
        }
    }

    fn shutdown(&mut self) -> NodeResult {
        assert!(IS_INSIDE.get());
        Ok(())
    }
}

/// One test, because the count of surroundings belongs to the process.
#[test]
fn actors_are_called_and_ended_inside_of_their_surroundings() {
    let (mut scheduler, _private) = Private::alone();
    let group = scheduler
        .actors("fleet")
        .threads(1)
        .wrap_handlers(wrap_handlers);
    let actors = group.mailbox(MailboxKind::bounded(1024)).build().unwrap();
    let handled = Arc::new(AtomicU64::new(0));
    // Relaxed: a counter.
    let handled_by_now = || handled.load(Ordering::Relaxed);
    let spawn = |next| {
        let handled = Arc::clone(&handled);
        actors.spawn(Inside { next, handled }).unwrap()
    };
    // A chain of 1000 actors, and 1000 actors with mail.
    let mut first = spawn(None);
    for _ in 1..1000 {
        first = spawn(Some(first));
    }
    let last = spawn(None);
    let others: Vec<_> = (0..1000).map(|_| spawn(Some(last.clone()))).collect();
    first.tell(Inner).unwrap();
    others.iter().for_each(|other| other.tell(Inner).unwrap());
    let running = scheduler.start().unwrap();
    until("handled", || handled_by_now() == 3000);
    assert!(surrounded() < 3000 / 50, "{}", surrounded());
    assert_eq!(actors.counters().failures, 0);
    running.finish().unwrap();
    let counters = actors.counters();
    assert_eq!((counters.alive, counters.failures), (0, 0));
    // Actors that never ran, with mail.
    let (mut scheduler, _private) = Private::alone();
    let group = scheduler
        .actors("fleet")
        .threads(1)
        .wrap_handlers(wrap_handlers);
    let actors = group.build().unwrap();
    let handled = Arc::new(AtomicU64::new(0));
    let address = actors
        .spawn(Inside {
            next: None,
            handled,
        })
        .unwrap();
    address.tell(Inner).unwrap();
    drop(scheduler);
    let counters = actors.counters();
    assert_eq!(
        (counters.undelivered, counters.failures, counters.panics),
        (1, 0, 0)
    );
    // Actors that always have mail leave it all the same, at times.
    let (mut scheduler, _private) = Private::alone();
    let group = scheduler
        .actors("fleet")
        .threads(1)
        .wrap_handlers(wrap_handlers);
    let actors = group.build().unwrap();
    let echo = actors.spawn(Echo).unwrap();
    echo.tell(Inner).unwrap();
    let running = scheduler.start().unwrap();
    let before = surrounded();
    until("left", || surrounded() >= before + 5);
    drop(echo);
    running.finish().unwrap();
    actors_of_the_main_thread_are_called_inside();
}

/// Not among the tests, as it counts surroundings, too.
fn actors_of_the_main_thread_are_called_inside() {
    let (mut scheduler, _private) = Private::alone();
    let group = scheduler
        .actors("fleet")
        .threads(0)
        .wrap_handlers(wrap_handlers);
    let actors = group.build().unwrap();
    let handled = Arc::<AtomicU64>::default();
    let inside = Inside {
        next: None,
        handled: Arc::clone(&handled),
    };
    let address = actors.spawn(inside).unwrap();
    address.tell(Inner).unwrap();
    let mut running = scheduler.start().unwrap();
    assert!(running.tick_once().unwrap());
    // Relaxed: a counter.
    assert_eq!(handled.load(Ordering::Relaxed), 1);
    running.finish().unwrap();
    assert_eq!(actors.counters().failures, 0);
}

/// An actor that sends each message to itself.
struct Echo;

impl Actor for Echo {
    type Message = Inner;

    fn handle(&mut self, message: Inner, context: &mut Context<'_, Self>) -> NodeResult {
        context.address().tell(message).map_err(|_| "full".into())
    }
}

enum Note {
    Number(u64),
    Fail,
    Panic,
    Ask(Reply<()>),
}

/// An actor that puts numbers aside, and notes them as a list.
struct Lists {
    waiting: Vec<u64>,
    /// True if the next `end_batch` has to fail.
    fails: bool,
    panics: bool,
    lists: Arc<Mutex<Vec<Vec<u64>>>>,
}

impl Actor for Lists {
    type Message = Note;

    const IMPLEMENTS_END_BATCH: bool = true;

    fn handle(&mut self, note: Note, _: &mut Context<'_, Self>) -> NodeResult {
        match note {
            Note::Number(number) => self.waiting.push(number),
            Note::Fail => self.fails = true,
            Note::Panic => self.panics = true,
            Note::Ask(reply) => reply.send(()),
        }
        Ok(())
    }

    fn end_batch(&mut self, context: &mut Context<'_, Self>) -> NodeResult {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let list = std::mem::take(&mut self.waiting);
        let is_last = list.contains(&0);
        self.lists.lock().unwrap().push(list);
        if is_last {
            context.stop();
        }
        assert!(!std::mem::take(&mut self.panics), "told to panic");
        if std::mem::take(&mut self.fails) {
            return Err("told to fail".into());
        }
        Ok(())
    }
}

type Notes = Arc<Mutex<Vec<Vec<u64>>>>;

fn lists(actors: &Actors) -> (Address<Note>, Notes) {
    let (actor, lists) = new_lists();
    (actors.spawn(actor).unwrap(), lists)
}

fn new_lists() -> (Lists, Notes) {
    let lists = Notes::default();
    let actor = Lists {
        waiting: Vec::new(),
        fails: false,
        panics: false,
        lists: Arc::clone(&lists),
    };
    (actor, lists)
}

fn running() -> (Actors, Address<Note>, Notes, Running, Private) {
    let (mut scheduler, private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(1).build().unwrap();
    let (address, notes) = lists(&actors);
    address.tell_all((1..=1000).map(Note::Number)).unwrap();
    let running = scheduler.start().unwrap();
    (actors, address, notes, running, private)
}

#[test]
fn batches_end_with_the_mail_and_with_the_activation() {
    let (_actors, address, notes, running, _private) = running();
    // A batch has ended before a sleep, so this question ends no other one.
    until("a list", || notes.lock().unwrap().concat().len() == 1000);
    let lists = std::mem::take(&mut *notes.lock().unwrap());
    assert_eq!(lists.concat(), (1..=1000).collect::<Vec<_>>());
    assert!(lists.iter().all(|list| list.len() <= 256), "{lists:?}");
    assert!(lists.len() < 500, "{lists:?}");
    address
        .tell_all([Note::Number(7), Note::Number(0)])
        .unwrap();
    until("stopped", || address.is_disconnected());
    running.finish().unwrap();
    assert_eq!(notes.lock().unwrap().concat(), [7, 0]);
}

/// The old actor handles its batch before a swap, and a batch that fails brings it back, also if
/// that has all messages of the trial.
#[test]
fn a_batch_is_handled_before_a_swap() {
    let (mut scheduler, _private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(1).build().unwrap();
    let (address, old) = lists(&actors);
    let (new, notes) = new_lists();
    let failing = [Note::Number(3), Note::Fail];
    address.tell_all([1, 2].map(Note::Number)).unwrap();
    let swap = address.swap(new).unwrap();
    address.tell_all(failing).unwrap();
    address.tell_all((4..=20).map(Note::Number)).unwrap();
    let running = scheduler.start().unwrap();
    until("rolled back", || {
        matches!(swap.state(), SwapState::RolledBack(_))
    });
    // WHY several lists: an activation may end between the two.
    let lists = old.lock().unwrap().clone();
    let end = lists.iter().position(|list| list.contains(&2)).unwrap();
    assert_eq!(lists[..=end].concat(), [1, 2]);
    assert_eq!(notes.lock().unwrap().concat().first(), Some(&3));
    let (new, notes) = new_lists();
    let swap = address.swap(new).unwrap();
    address.tell_all((1..=10).map(Note::Number)).unwrap();
    until("done", || swap.state() == SwapState::Done);
    assert_eq!(notes.lock().unwrap().concat().len(), 10);
    running.finish().unwrap();
}

#[test]
fn a_batch_is_handled_before_the_end_of_its_actor() {
    let (mut scheduler, _private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(1).build().unwrap();
    let (address, notes) = lists(&actors);
    let running = scheduler.start().unwrap();
    address.tell_all((1..=10).map(Note::Number)).unwrap();
    // The last address leaves while the numbers may wait.
    drop(address);
    until("ended", || actors.counters().alive == 0);
    assert_eq!(notes.lock().unwrap().concat().len(), 10);
    running.finish().unwrap();
}

#[test]
fn a_batch_that_fails_is_a_failure_of_the_actor() {
    for (note, panics) in [(Note::Fail, 0), (Note::Panic, 1)] {
        let (actors, address, notes, running, _private) = running();
        until("a list", || notes.lock().unwrap().concat().len() == 1000);
        address.ask(Note::Ask).unwrap().wait(LONG).unwrap();
        address.tell_all([note, Note::Number(1)]).unwrap();
        until("ended", || address.is_disconnected());
        let counters = actors.counters();
        assert_eq!((counters.failures, counters.panics), (1, panics));
        running.finish().unwrap();
    }
}
