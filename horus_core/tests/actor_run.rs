//! Actors that run: order, questions, capacity, and turns for all.

use horus_testing as _;

mod executors;
mod private;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use executors::{LONG, until};
use horus_core::actor::{
    Actor, Actors, Address, AskError, Context, MailboxKind, Reply, SendTimeoutError, TellAllError,
    TrySendError,
};
use horus_core::scheduler::{NodeClass, NodeResult, Running};
use private::Private;

/// Runs a group of `threads` with this kind of mailbox.
fn running(threads: usize, mailbox: MailboxKind) -> (Actors, Running, Private) {
    let (mut scheduler, private) = Private::alone();
    let group = scheduler.actors("fleet").threads(threads).mailbox(mailbox);
    let actors = group.build().unwrap();
    (actors, scheduler.start().unwrap(), private)
}

/// Tells `message`, and tries again while the mailbox is full.
fn tell<M: Send + 'static>(address: &Address<M>, mut message: M) {
    loop {
        match address.tell(message) {
            Ok(()) => return,
            Err(TrySendError::Full(back)) => message = back,
            Err(TrySendError::Disconnected(_)) => panic!("the actor has ended"),
        }
        thread::yield_now();
    }
}

/// A handler of messages of type `M`.
type Handler<M> = dyn FnMut(M, &mut Context<'_, Act<M>>) -> NodeResult + Send;

/// An actor that is a closure. WHY boxed: its type would contain itself, by the context.
struct Act<M: Send + 'static>(Box<Handler<M>>);

impl<M: Send + 'static> Actor for Act<M> {
    type Message = M;

    fn handle(&mut self, message: M, context: &mut Context<'_, Self>) -> NodeResult {
        self.0(message, context)
    }
}

fn act<M: Send + 'static>(
    handle: impl FnMut(M, &mut Context<'_, Act<M>>) -> NodeResult + Send + 'static,
) -> Act<M> {
    Act(Box::new(handle))
}

enum Log {
    Note { sender: usize, number: u64 },
    Show(Reply<Vec<(usize, u64)>>),
}

/// Messages of each sender arrive once and in their order, whatever the mailbox and the threads.
#[test]
fn messages_of_a_sender_arrive_in_order() {
    for (threads, mailbox) in [
        (1, MailboxKind::bounded(64)),
        (2, MailboxKind::bounded(1)),
        (2, MailboxKind::unbounded()),
        (3, MailboxKind::bounded(1024)),
    ] {
        let (actors, running, _private) = running(threads, mailbox);
        let mut log = Vec::new();
        let address = actors
            .spawn(act(move |message, _: &mut Context<'_, _>| {
                match message {
                    Log::Note { sender, number } => log.push((sender, number)),
                    Log::Show(reply) => reply.send(log.clone()),
                }
                Ok(())
            }))
            .unwrap();
        thread::scope(|scope| {
            for sender in 0..3 {
                let address = &address;
                scope.spawn(move || {
                    for number in 0..5_000 {
                        tell(address, Log::Note { sender, number });
                    }
                });
            }
        });
        let all = loop {
            match address.ask(Log::Show) {
                Ok(answer) => break answer.wait(LONG).unwrap(),
                Err(error) => assert_eq!(error, AskError::Full),
            }
        };
        assert_eq!(all.len(), 15_000);
        for sender in 0..3 {
            let theirs = all.iter().filter(|(from, _)| *from == sender);
            assert!(theirs.map(|(_, number)| *number).eq(0..5_000));
        }
        let report = running.finish().unwrap();
        let node = report.node("fleet").unwrap();
        assert_eq!(
            (node.class, node.metrics.ticks),
            (NodeClass::Actors, 15_001)
        );
        assert_eq!(actors.counters().handled, 15_001);
    }
}

/// A ring of actors that pass a number on: each hop is a message from a handler.
#[test]
fn a_number_goes_around_a_ring_of_actors() {
    for threads in [1, 2] {
        let (actors, running, _private) = running(threads, MailboxKind::default());
        let (done, is_done) = mpsc::channel();
        let mut next: Option<Address<u64>> = None;
        let (first, wanted) = mpsc::channel::<Address<u64>>();
        let mut wanted = Some(wanted);
        for _ in 0..100 {
            let (to, closes, done) = (next.take(), wanted.take(), done.clone());
            let mut target = to;
            let actor = act(move |left: u64, _: &mut Context<'_, _>| {
                if left == 0 {
                    let _ = done.send(());
                    return Ok(());
                }
                let to = target.get_or_insert_with(|| closes.as_ref().unwrap().recv().unwrap());
                to.tell(left - 1).map_err(|error| error.to_string().into())
            });
            next = Some(actors.spawn(actor).unwrap());
        }
        let start = next.unwrap();
        first.send(start.clone()).unwrap();
        start.tell(20_000).unwrap();
        is_done.recv_timeout(LONG).unwrap();
        running.finish().unwrap();
        assert_eq!(actors.counters().handled, 20_001);
    }
}

enum Question {
    Echo(u64, Reply<u64>),
    Drop(Reply<u64>),
    Keep(Reply<u64>),
    IsCancelled(Reply<bool>),
    AskYourself(Reply<AskError>),
    Fail(Reply<u64>),
}

/// Every question ends: with an answer, or with the reason why there is none.
#[test]
fn every_question_ends() {
    let (actors, running, _private) = running(2, MailboxKind::default());
    let mut kept: Vec<Reply<u64>> = Vec::new();
    let actor = act(move |question, context: &mut Context<'_, _>| {
        match question {
            Question::Echo(number, reply) => reply.send(number),
            Question::Drop(reply) => drop(reply),
            Question::Keep(reply) => kept.push(reply),
            Question::IsCancelled(reply) => reply.send(kept[0].is_cancelled()),
            Question::AskYourself(reply) => {
                let answer = context.address().ask(|reply| Question::Echo(1, reply))?;
                reply.send(answer.wait(LONG).unwrap_err());
            }
            Question::Fail(reply) => return Err(format!("no answer by {reply:?}").into()),
        }
        Ok(())
    });
    let options = actors
        .options()
        .on_failure(horus_core::scheduler::FailurePolicy::Ignore);
    let address = options.spawn(actor).unwrap();
    for number in 0..1_000 {
        let answer = address.ask(|reply| Question::Echo(number, reply)).unwrap();
        assert_eq!(answer.wait(LONG), Ok(number));
    }
    let wait = |question: fn(Reply<u64>) -> Question, timeout| {
        address.ask(question).unwrap().wait(timeout).unwrap_err()
    };
    assert_eq!(wait(Question::Drop, LONG), AskError::NoAnswer);
    assert_eq!(wait(Question::Fail, LONG), AskError::NoAnswer);
    assert_eq!(
        wait(Question::Keep, Duration::from_millis(1)),
        AskError::Timeout
    );
    assert_eq!(
        address.ask(Question::IsCancelled).unwrap().wait(LONG),
        Ok(true)
    );
    let nested = address.ask(Question::AskYourself).unwrap().wait(LONG);
    assert_eq!(nested, Ok(AskError::InHandler));
    running.finish().unwrap();
    let late = address.ask(Question::Drop).map(drop);
    assert_eq!(late, Err(AskError::Disconnected));
}

/// A mailbox of n messages accepts n, also with one in hand; what is refused comes back.
#[test]
fn a_mailbox_holds_its_capacity() {
    for capacity in [1, 2, 7, 100] {
        let (actors, running, _private) = running(1, MailboxKind::bounded(capacity));
        let (go, wait) = mpsc::channel::<()>();
        let (begun, has_begun) = mpsc::channel();
        let actor = act(move |_: u64, _: &mut Context<'_, _>| {
            begun.send(())?;
            wait.recv()?;
            Ok(())
        });
        let address = actors.spawn(actor).unwrap();
        address.tell(0).unwrap();
        has_begun.recv_timeout(LONG).unwrap();
        let accepted = (1..)
            .take_while(|&number| address.tell(number).is_ok())
            .count();
        assert_eq!(accepted + 1, usize::from(capacity));
        assert!(matches!(address.tell(77), Err(TrySendError::Full(77))));
        let late = address.tell_timeout(78, Duration::from_millis(1));
        assert!(matches!(late, Err(SendTimeoutError::Timeout(78))));
        let many = address.tell_all([1, 2]).unwrap_err();
        assert!(matches!(many, TellAllError::Full(back) if back == [1, 2]));
        thread::scope(|scope| {
            let sender = scope.spawn(|| address.tell_timeout(79, LONG));
            for _ in 0..capacity {
                go.send(()).unwrap();
            }
            sender.join().unwrap().unwrap();
        });
        go.send(()).unwrap();
        until("all are handled", || {
            actors.counters().handled == u64::from(capacity) + 1
        });
        running.finish().unwrap();
        assert!(matches!(
            address.tell(80),
            Err(TrySendError::Disconnected(80))
        ));
        assert!(address.is_disconnected());
    }
}

/// Mail that was sent before the start is handled then; of the latest mailbox, only the last.
#[test]
fn mail_waits_for_the_start() {
    let (mut scheduler, _private) = Private::alone();
    let actors = scheduler.actors("fleet").threads(1).build().unwrap();
    let (seen, all) = mpsc::channel();
    let note = |name: &'static str| {
        let seen = seen.clone();
        act(move |number: u64, _: &mut Context<'_, _>| Ok(seen.send((name, number))?))
    };
    let every = actors.spawn(note("every")).unwrap();
    let options = actors.options().mailbox(MailboxKind::latest());
    let latest = options.spawn(note("latest")).unwrap();
    every.tell_all(1..=3).unwrap();
    latest.tell(1).unwrap();
    latest.tell_all(2..=3).unwrap();
    assert!(all.try_recv().is_err());
    let running = scheduler.start().unwrap();
    let mut all: Vec<_> = (0..4).map(|_| all.recv_timeout(LONG).unwrap()).collect();
    running.finish().unwrap();
    all.sort_unstable();
    let wanted = [("every", 1), ("every", 2), ("every", 3), ("latest", 3)];
    assert_eq!(all, wanted);
    for ended in [every, latest] {
        let refused = ended.tell_all([4, 5]).unwrap_err();
        assert!(matches!(refused, TellAllError::Disconnected(back) if back == [4, 5]));
    }
}

/// A handler that does not return delays no other actor: it returns only when all others have
/// handled a message, the one that it has sent to itself last included.
#[test]
fn a_handler_that_does_not_return_delays_no_other() {
    let (actors, running, _private) = running(2, MailboxKind::default());
    let handled = Arc::new(AtomicU64::new(0));
    let others: Vec<_> = (0..1_000)
        .map(|_| {
            let handled = Arc::clone(&handled);
            let actor = act(move |(), _: &mut Context<'_, _>| {
                handled.fetch_add(1, Ordering::Relaxed);
                Ok(())
            });
            actors.spawn(actor).unwrap()
        })
        .collect();
    let (done, is_done) = mpsc::channel();
    let mut round = 0;
    let counter = Arc::clone(&handled);
    let slow = actors
        .spawn(act(move |(), _: &mut Context<'_, _>| {
            round += 1;
            others.iter().try_for_each(|other| other.tell(()))?;
            until("all others have a turn", || {
                counter.load(Ordering::Relaxed) == round * 1_000
            });
            Ok(done.send(())?)
        }))
        .unwrap();
    for _ in 0..20 {
        slow.tell(()).unwrap();
        is_done.recv_timeout(LONG).unwrap();
    }
    running.finish().unwrap();
}

/// The one actor to which a handler sends that does not return is run by another thread.
#[test]
fn the_next_actor_of_a_handler_that_does_not_return_runs() {
    let (actors, running, _private) = running(2, MailboxKind::default());
    let (seen, is_seen) = mpsc::channel();
    let other = actors
        .spawn(act(move |number: u64, _: &mut Context<'_, _>| {
            Ok(seen.send(number)?)
        }))
        .unwrap();
    let (done, is_done) = mpsc::channel();
    let slow = actors
        .spawn(act(move |number: u64, _: &mut Context<'_, _>| {
            other.tell(number)?;
            Ok(done.send(is_seen.recv_timeout(LONG)?)?)
        }))
        .unwrap();
    for number in 0..50 {
        slow.tell(number).unwrap();
        assert_eq!(is_done.recv_timeout(LONG), Ok(number));
        thread::sleep(Duration::from_micros(number * 40));
    }
    running.finish().unwrap();
}

/// An actor with endless mail, and two that play ping-pong, leave turns to a quiet one, on one
/// thread, and the group can be paused.
#[test]
fn endless_mail_starves_nobody() {
    let (actors, running, _private) = running(1, MailboxKind::default());
    let turns = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&turns);
    let endless = act(move |(), context: &mut Context<'_, _>| {
        count.fetch_add(1, Ordering::Relaxed);
        // WHY ignored: at the end of the run it is refused.
        let _ = context.address().tell(());
        Ok(())
    });
    let endless = actors.spawn(endless).unwrap();
    let balls = Arc::new(AtomicU64::new(0));
    let player = || {
        let balls = Arc::clone(&balls);
        act(move |partner: Ball, context: &mut Context<'_, _>| {
            let Ball(partner) = partner;
            balls.fetch_add(1, Ordering::Relaxed);
            // WHY ignored: as above.
            let _ = partner.tell(Ball(context.address()));
            Ok(())
        })
    };
    let [ping, pong] = [(); 2].map(|()| actors.spawn(player()).unwrap());
    let quiet = act(|reply: Reply<()>, _: &mut Context<'_, _>| {
        reply.send(());
        Ok(())
    });
    let quiet = actors.spawn(quiet).unwrap();
    endless.tell(()).unwrap();
    ping.tell(Ball(pong.clone())).unwrap();
    for _ in 0..200 {
        quiet.ask(|reply| reply).unwrap().wait(LONG).unwrap();
    }
    let handled = actors.counters().handled;
    assert!(handled > 1_000, "the others ran, too: {handled}");
    for (what, count) in [("the two", &balls), ("the one", &turns)] {
        let seen = count.load(Ordering::Relaxed);
        until(&format!("{what} has turns"), || {
            count.load(Ordering::Relaxed) > seen + 1_000
        });
    }
    running.handle().pause("fleet").unwrap();
    until("all are paused", || {
        let before = actors.counters().handled;
        std::thread::sleep(Duration::from_millis(20));
        actors.counters().handled == before
    });
    running.finish().unwrap();
    assert_eq!(actors.counters().failures, 0, "no thread was left behind");
}

/// A message of players: the address of the one who sent it.
struct Ball(Address<Ball>);
