//! Inboxes: threads that receive messages themselves, and wait for many inboxes at once.

use horus_testing as _;

mod executors;
mod forked;
mod private;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use executors::{LONG, until};
use forked::fork;
use horus_core::actor::{
    Actor, Actors, Address, AskError, Context, Down, Inbox, InboxSet, MailboxKind,
    RecvTimeoutError, Reply, SpawnError, TryRecvError, TrySendError,
};
use horus_core::scheduler::{NodeResult, Scheduler};
use private::Private;

const NONE: Duration = Duration::ZERO;

fn group(scheduler: &mut Scheduler) -> Actors {
    scheduler.actors("fleet").threads(2).build().unwrap()
}

/// Returns a group without threads: inboxes need none.
fn alone() -> (Actors, Scheduler, Private) {
    let (mut scheduler, private) = Private::alone();
    (group(&mut scheduler), scheduler, private)
}

fn open<M: Send + 'static>(actors: &Actors, capacity: u16) -> (Address<M>, Inbox<M>) {
    actors.inbox(MailboxKind::bounded(capacity)).unwrap()
}

#[test]
fn messages_are_received_in_their_order() {
    let (actors, _scheduler, _private) = alone();
    let (address, mut inbox) = open::<u32>(&actors, 64);
    assert_eq!(address.id(), inbox.id());
    assert_eq!(inbox.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(inbox.recv(NONE), Err(RecvTimeoutError::Timeout));
    for round in 0..100 {
        address.tell_all(round..round + 10).unwrap();
        for number in round..round + 5 {
            assert_eq!(inbox.try_recv(), Ok(number));
        }
        assert_eq!(inbox.recv(LONG), Ok(round + 5));
        let mut rest = Vec::new();
        assert_eq!(inbox.drain(3, |number| rest.push(number)), 3);
        assert_eq!(inbox.drain(100, |number| rest.push(number)), 1);
        assert_eq!(rest, [6, 7, 8, 9].map(|number| round + number));
        assert_eq!(inbox.try_recv(), Err(TryRecvError::Empty));
    }
}

#[test]
fn an_inbox_accepts_exactly_its_capacity() {
    let (actors, _scheduler, _private) = alone();
    for capacity in [1, 2, 8, 100, 1024] {
        let (address, mut inbox) = open::<u16>(&actors, capacity);
        for round in 0..3 {
            for number in 0..capacity {
                address.tell(number).unwrap();
            }
            assert_eq!(address.tell(0), Err(TrySendError::Full(0)), "{round}");
            for number in 0..capacity {
                assert_eq!(inbox.try_recv(), Ok(number));
            }
        }
    }
    let (address, mut latest) = actors.inbox::<u16>(MailboxKind::latest()).unwrap();
    (0..10).for_each(|number| address.tell(number).unwrap());
    assert_eq!(latest.try_recv(), Ok(9));
    assert_eq!(latest.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn an_inbox_without_addresses_is_disconnected_after_its_mail() {
    let (actors, _scheduler, _private) = alone();
    let (address, mut inbox) = open::<u32>(&actors, 8);
    let other = address.clone();
    other.tell(1).unwrap();
    drop(address);
    assert!(!inbox.is_disconnected());
    drop(other);
    assert_eq!(inbox.recv(LONG), Ok(1));
    assert_eq!(inbox.recv(LONG), Err(RecvTimeoutError::Disconnected));
    assert_eq!(inbox.try_recv(), Err(TryRecvError::Disconnected));
    assert!(inbox.is_disconnected());
    assert_eq!(actors.counters().alive, 0);
    // The last address of an inbox that waits.
    let (address, mut inbox) = open::<u32>(&actors, 8);
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(Duration::from_millis(20));
            drop(address);
        });
        assert_eq!(inbox.recv(LONG), Err(RecvTimeoutError::Disconnected));
    });
}

#[test]
fn a_dropped_inbox_refuses_mail_and_counts_what_it_drops() {
    let (actors, _scheduler, _private) = alone();
    let kept = Arc::new(());
    let (address, mut inbox) = open::<Arc<()>>(&actors, 8);
    for _ in 0..5 {
        address.tell(Arc::clone(&kept)).unwrap();
    }
    drop(inbox.try_recv().unwrap());
    drop(inbox);
    assert_eq!(Arc::strong_count(&kept), 1);
    assert_eq!(actors.counters().undelivered, 4);
    assert!(address.is_disconnected());
    let refused = address.tell(Arc::clone(&kept));
    assert!(matches!(refused, Err(TrySendError::Disconnected(_))));
    // One that is asleep, and one that is dropped with a question.
    let (address, inbox) = open::<u32>(&actors, 8);
    drop(inbox);
    assert!(address.is_disconnected());
    let (address, inbox) = open::<Reply<u32>>(&actors, 8);
    let answer = address.ask(|reply| reply).unwrap();
    drop(inbox);
    assert_eq!(answer.wait(LONG), Err(AskError::NoAnswer));
    assert_eq!(actors.counters().alive, 0);
}

#[test]
fn threads_send_to_a_thread_that_waits() {
    const SENDERS: u64 = 3;
    const MESSAGES: u64 = 20_000;
    let (actors, _scheduler, _private) = alone();
    let (address, mut inbox) = open::<(u64, u64)>(&actors, 256);
    thread::scope(|scope| {
        for sender in 0..SENDERS {
            let address = address.clone();
            scope.spawn(move || {
                for number in 0..MESSAGES {
                    address.tell_timeout((sender, number), LONG).unwrap();
                }
            });
        }
        drop(address);
        let mut next = [0; SENDERS as usize];
        loop {
            match inbox.recv(LONG) {
                Ok((sender, number)) => {
                    assert_eq!(number, next[sender as usize], "of sender {sender}");
                    next[sender as usize] += 1;
                }
                Err(error) => break assert_eq!(error, RecvTimeoutError::Disconnected),
            }
        }
        assert_eq!(next, [MESSAGES; SENDERS as usize]);
    });
}

/// An actor that sends each message on, and asks an empty inbox for one.
struct Sends {
    to: Address<u32>,
    own: Inbox<u32>,
}

impl Actor for Sends {
    type Message = u32;

    fn handle(&mut self, message: u32, _: &mut Context<'_, Self>) -> NodeResult {
        assert_eq!(self.own.recv(LONG), Err(RecvTimeoutError::InHandler));
        self.to.tell(message).map_err(|_| "refused".into())
    }
}

#[test]
fn actors_send_to_inboxes_until_the_group_ends() {
    let (mut scheduler, _private) = Private::alone();
    let actors = group(&mut scheduler);
    let (to, mut inbox) = open::<u32>(&actors, 64);
    let (own_address, own) = open::<u32>(&actors, 64);
    let sender = actors.spawn(Sends { to, own }).unwrap();
    let running = scheduler.start().unwrap();
    for number in 0..1000 {
        sender.tell(number).unwrap();
        assert_eq!(inbox.recv(LONG), Ok(number));
    }
    assert_eq!(actors.counters().failures, 0);
    // Mail from before the end is received.
    sender.tell(1000).unwrap();
    until("handled", || actors.counters().handled == 1001);
    running.finish().unwrap();
    assert_eq!(inbox.recv(LONG), Ok(1000));
    assert_eq!(inbox.recv(LONG), Err(RecvTimeoutError::Disconnected));
    assert!(own_address.is_disconnected(), "its owner has ended");
    let late = actors.inbox::<u32>(MailboxKind::default());
    assert!(matches!(late, Err(SpawnError::Closed { .. })));
}

/// An actor that watches the actor of each message.
struct Watches(Address<String>);

impl Actor for Watches {
    type Message = Address<u32>;

    fn handle(&mut self, other: Address<u32>, context: &mut Context<'_, Self>) -> NodeResult {
        context.watch(&other);
        Ok(())
    }

    fn on_down(&mut self, down: &Down, _: &mut Context<'_, Self>) -> NodeResult {
        let text = down.reason().to_string();
        self.0.tell(text).map_err(|_| "refused".into())
    }
}

#[test]
fn the_end_of_an_inbox_is_watched() {
    let (mut scheduler, _private) = Private::alone();
    let actors = group(&mut scheduler);
    let (reports, mut reported) = open::<String>(&actors, 64);
    let (address, inbox) = open::<u32>(&actors, 64);
    let watcher = actors.spawn(Watches(reports)).unwrap();
    let running = scheduler.start().unwrap();
    watcher.tell(address).unwrap();
    until("handled", || actors.counters().handled == 1);
    assert_eq!(reported.try_recv(), Err(TryRecvError::Empty));
    drop(inbox);
    assert_eq!(reported.recv(LONG), Ok("it ended".to_owned()));
    running.finish().unwrap();
}

/// A watch wakes the thread that waits, and is no mail.
#[test]
fn a_wait_for_a_set_ends_in_time_although_its_inbox_is_watched_again_and_again() {
    const WATCHES_MAX: u64 = 5_000;
    let (mut scheduler, _private) = Private::alone();
    let actors = group(&mut scheduler);
    let (reports, _reported) = open::<String>(&actors, 64);
    let (address, inbox) = open::<u32>(&actors, 64);
    let watcher = actors.spawn(Watches(reports)).unwrap();
    let running = scheduler.start().unwrap();
    let mut set = InboxSet::new();
    set.add(inbox);
    let watches = AtomicU64::new(0);
    let ready = thread::scope(|scope| {
        scope.spawn(|| {
            while watches.fetch_add(1, Ordering::Relaxed) < WATCHES_MAX {
                let _ = watcher.tell(address.clone());
                thread::sleep(Duration::from_millis(1));
            }
        });
        let ready = set.wait(Duration::from_millis(100));
        let begun = watches.swap(WATCHES_MAX, Ordering::Relaxed);
        assert!(begun < WATCHES_MAX, "the wait has ended after all watches");
        ready
    });
    assert_eq!(ready, []);
    running.finish().unwrap();
}

#[test]
fn a_set_waits_for_ten_thousand_inboxes() {
    const INBOXES: u64 = 10_000;
    const MESSAGES: u64 = 10;
    let (actors, _scheduler, _private) = alone();
    let mut set = InboxSet::new();
    let mut addresses = Vec::new();
    let mut next = HashMap::new();
    for _ in 0..INBOXES {
        let (address, inbox) = open::<u64>(&actors, 16);
        next.insert(set.add(inbox), 0);
        addresses.push(address);
    }
    assert_eq!(set.len() as u64, INBOXES);
    assert_eq!(set.wait(NONE), []);
    let send = |addresses: &[Address<u64>]| {
        for number in 0..MESSAGES {
            for address in addresses {
                address.tell_timeout(number, LONG).unwrap();
            }
        }
    };
    thread::scope(|scope| {
        let (first, second) = addresses.split_at(addresses.len() / 2);
        scope.spawn(move || send(first));
        scope.spawn(move || send(second));
        let mut received = 0;
        while received < INBOXES * MESSAGES {
            let ready = set.wait(LONG);
            assert!(!ready.is_empty(), "after {received}");
            for id in ready {
                let next = next.get_mut(&id).unwrap();
                received += set.get_mut(id).unwrap().drain(100, |number| {
                    assert_eq!(number, *next);
                    *next += 1;
                }) as u64;
            }
        }
    });
    assert!(next.values().all(|next| *next == MESSAGES));
    assert_eq!(set.wait(NONE), []);
    addresses.iter().take(7).for_each(|a| a.tell(0).unwrap());
    assert_eq!(set.wait(LONG).len(), 7);
    drop(set);
    assert!(addresses.iter().all(Address::is_disconnected));
    let counters = actors.counters();
    assert_eq!((counters.alive, counters.undelivered), (0, 7));
}

#[test]
fn a_set_returns_an_inbox_until_its_mail_was_received() {
    let (actors, _scheduler, _private) = alone();
    let mut set = InboxSet::new();
    let (address, inbox) = open::<u32>(&actors, 16);
    let (other, mut other_inbox) = open::<u32>(&actors, 16);
    // One comes with mail, of which one message was received.
    other.tell_all([0, 1]).unwrap();
    assert_eq!(other_inbox.try_recv(), Ok(0));
    let (id, other_id) = (set.add(inbox), set.add(other_inbox));
    assert_eq!(set.wait(LONG), [other_id]);
    assert_eq!(set.wait(LONG), [other_id], "it was not received");
    let inbox = set.get_mut(other_id).unwrap();
    assert_eq!(inbox.recv(LONG), Ok(1));
    assert_eq!(inbox.recv(LONG), Err(RecvTimeoutError::Timeout), "at once");
    assert_eq!(set.wait(NONE), []);
    address.tell_all([2, 3]).unwrap();
    for number in 2..4 {
        assert_eq!(set.wait(LONG), [id]);
        assert_eq!(set.get_mut(id).unwrap().try_recv(), Ok(number));
    }
    assert_eq!(set.wait(NONE), [], "every message was received");
    // The capacity is exact.
    (0..16).for_each(|number| address.tell(number).unwrap());
    assert!(address.tell(16).is_err());
    assert_eq!(set.wait(LONG), [id]);
    assert_eq!(set.get_mut(id).unwrap().drain(99, drop), 16);
    drop(other);
    assert_eq!(set.wait(LONG), [other_id], "it has ended");
    assert!(set.get_mut(other_id).unwrap().is_disconnected());
    assert_eq!(set.wait(NONE), [], "that was returned once");
    assert!(set.remove(other_id).is_some());
    assert!(set.get_mut(other_id).is_none() && set.remove(other_id).is_none());
}

#[test]
fn a_set_names_an_inbox_whose_mail_came_before_another_was_removed() {
    let (actors, _scheduler, _private) = alone();
    let mut set = InboxSet::new();
    let (_first, inbox) = open::<u32>(&actors, 16);
    let (address, other) = open::<u32>(&actors, 16);
    let (id, other_id) = (set.add(inbox), set.add(other));
    assert_eq!(set.wait(NONE), [], "both sleep now");
    address.tell(7).unwrap();
    assert!(set.remove(id).is_some());
    assert_eq!(set.wait(LONG), [other_id]);
    let other = set.get_mut(other_id).unwrap();
    assert_eq!(
        (other.try_recv(), other.try_recv()),
        (Ok(7), Err(TryRecvError::Empty))
    );
    // It is named once, though the last wait has named it, too.
    let (_third, inbox) = open::<u32>(&actors, 16);
    let id = set.add(inbox);
    set.get_mut(id).unwrap().try_recv().unwrap_err();
    address.tell(8).unwrap();
    assert!(set.remove(id).is_some());
    assert_eq!(set.wait(LONG), [other_id]);
}

#[test]
fn inboxes_move_between_sets_while_threads_send() {
    const MESSAGES: u32 = 20_000;
    let (actors, _scheduler, _private) = alone();
    let (address, inbox) = open::<u32>(&actors, 64);
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..MESSAGES {
                address.tell_timeout(number, LONG).unwrap();
            }
        });
        let (mut set, mut next, mut inbox) = (InboxSet::new(), 0, inbox);
        while next < MESSAGES {
            let id = set.add(inbox);
            assert_eq!(set.wait(LONG), [id]);
            let mut check = |number| {
                assert_eq!(number, next);
                next += 1;
            };
            set.get_mut(id).unwrap().drain(10, &mut check);
            inbox = set.remove(id).unwrap();
            if let Ok(number) = inbox.recv(LONG) {
                check(number);
            }
        }
        assert!(set.is_empty());
        assert_eq!(inbox.recv(LONG), Err(RecvTimeoutError::Disconnected));
    });
}

struct Count(AtomicU64);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        // Relaxed: the test counts on one thread.
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_task_that_waits_is_woken_once() {
    let (actors, _scheduler, _private) = alone();
    let (address, mut inbox) = open::<u32>(&actors, 16);
    let count = Arc::new(Count(AtomicU64::new(0)));
    let waker = Waker::from(Arc::clone(&count));
    let mut context = TaskContext::from_waker(&waker);
    // Relaxed: as above.
    let woken = || count.0.load(Ordering::Relaxed);
    for round in 1..=3 {
        assert!(inbox.poll_recv(&mut context).is_pending());
        assert!(inbox.poll_recv(&mut context).is_pending());
        assert_eq!(woken(), round - 1);
        address.tell_all([1, 2]).unwrap();
        assert_eq!(woken(), round);
        assert_eq!(inbox.poll_recv(&mut context), Poll::Ready(Ok(1)));
        assert_eq!(inbox.poll_recv(&mut context), Poll::Ready(Ok(2)));
    }
    assert!(inbox.poll_recv(&mut context).is_pending());
    inbox.stop_polling();
    address.tell(3).unwrap();
    assert_eq!(woken(), 3, "it waits no more");
    assert_eq!(inbox.try_recv(), Ok(3));
    drop(address);
    let over = Poll::Ready(Err(TryRecvError::Disconnected));
    assert_eq!(inbox.poll_recv(&mut context), over);
}

#[test]
fn a_task_does_not_wait_for_an_inbox_of_a_set() {
    let (actors, _scheduler, _private) = alone();
    let mut set = InboxSet::new();
    let (_first, inbox) = open::<u32>(&actors, 16);
    let (address, other) = open::<u32>(&actors, 16);
    let (id, other_id) = (set.add(inbox), set.add(other));
    assert_eq!(set.wait(NONE), [], "both sleep now");
    address.tell(7).unwrap();
    let mut context = TaskContext::from_waker(Waker::noop());
    let inbox = set.get_mut(id).unwrap();
    assert_eq!(inbox.poll_recv(&mut context), Poll::Pending);
    assert_eq!(set.wait(LONG), [other_id]);
    let other = set.get_mut(other_id).unwrap();
    assert_eq!(other.poll_recv(&mut context), Poll::Ready(Ok(7)));
}

/// A message is received by the process that opened the inbox alone.
#[test]
fn a_forked_child_receives_no_mail() {
    let (actors, _scheduler, _private) = alone();
    let (address, mut inbox) = open(&actors, 16);
    let (other, mut drained) = open(&actors, 16);
    let (third, added) = open::<u32>(&actors, 16);
    let mut set = InboxSet::new();
    let id = set.add(added);
    address.tell_all(0..3).unwrap();
    other.tell_all(0..3).unwrap();
    third.tell(7).unwrap();
    assert_eq!(set.wait(LONG), [id], "a message is taken");
    assert!(fork(|| {
        let mut context = TaskContext::from_waker(Waker::noop());
        let gone = Poll::Ready(Err(TryRecvError::Disconnected));
        inbox.try_recv() == Err(TryRecvError::Disconnected)
            && inbox.recv(LONG) == Err(RecvTimeoutError::Disconnected)
            && inbox.poll_recv(&mut context) == gone
            && drained.drain(9, drop) == 0
            && set.wait(LONG) == [id]
            && set.get_mut(id).unwrap().try_recv() == Err(TryRecvError::Disconnected)
            && set.remove(id).is_some()
    }));
    assert_eq!(drained.drain(9, drop), 3);
    assert_eq!(set.get_mut(id).unwrap().try_recv(), Ok(7));
    (0..3).for_each(|number| assert_eq!(inbox.try_recv(), Ok(number)));
}

/// No thread runs an actor in a forked child, and a thread of the parent may hold the registry.
#[test]
fn a_forked_child_spawns_and_finds_nothing_in_the_group_of_its_parent() {
    let (actors, _scheduler, _private) = alone();
    let (address, inbox) = open::<u32>(&actors, 16);
    let (texts, _text_inbox) = open(&actors, 16);
    actors.register("known", &address).unwrap();
    assert!(fork(|| {
        let is_forked = |error| matches!(error, SpawnError::Forked { group } if group == "fleet");
        actors
            .inbox::<u32>(MailboxKind::bounded(16))
            .is_err_and(is_forked)
            && actors.spawn(Watches(texts.clone())).is_err_and(is_forked)
            && actors.register("other", &address).is_ok()
            && actors.find::<u32>("known").is_err()
            && actors.names("").is_empty()
            && !actors.unregister("known")
    }));
    assert_eq!(actors.names(""), ["known"]);
    assert_eq!(actors.find("known").unwrap(), address);
    drop(inbox);
}
