//! Mailboxes, blocks and answers between real threads: everything is dropped once, in order, and
//! every answer comes or is refused.

use horus_testing as _;

mod actors;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use actors::{Control, Queue};
use horus_shm::internals::heap::{
    Activation, ActorEndReport, Address, Answer, AnswerError, Behaviour, Envelope, Event, Flow,
    MailLimit, NoAnswer, Panic, Refusal, Reply, SendOutcome, WaitRefusal, answer_channel,
    reserve_blocks, spawn,
};
use horus_shm::internals::wait::WaitPolicy;

/// The messages of each sender.
const MESSAGES: u64 = if cfg!(miri) { 60 } else { 30_000 };
const SENDERS: u64 = 3;

/// The counters of all messages of a test.
#[derive(Debug, Default)]
struct Counts {
    made: AtomicU64,
    dropped: AtomicU64,
    handled: AtomicU64,
    undelivered: AtomicU64,
    ended: AtomicU64,
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// A message that counts its drops, which must be one.
struct Counted {
    sender: u64,
    number: u64,
    is_dropped: AtomicBool,
    counts: Arc<Counts>,
}

impl Counted {
    fn new(sender: u64, number: u64, counts: &Arc<Counts>) -> Self {
        add(&counts.made);
        Self {
            sender,
            number,
            is_dropped: AtomicBool::new(false),
            counts: Arc::clone(counts),
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert!(!self.is_dropped.swap(true, Ordering::Relaxed));
        add(&self.counts.dropped);
    }
}

/// An actor that checks the order of each sender, and panics and stops now and then.
struct Checker {
    last: [Option<u64>; SENDERS as usize],
    /// It panics at every message that is a multiple of this.
    panics: u64,
    /// It stops after this many messages.
    stops: u64,
    handled: u64,
    counts: Arc<Counts>,
}

impl Checker {
    fn new(panics: u64, stops: u64, counts: &Arc<Counts>) -> Self {
        Self {
            last: [None; SENDERS as usize],
            panics,
            stops,
            handled: 0,
            counts: Arc::clone(counts),
        }
    }

    fn flow(&self) -> Flow {
        if self.handled == self.stops {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }
}

/// The payload of a panic that a test makes on purpose.
struct OnPurpose;

impl Behaviour<Queue> for Checker {
    type Message = Counted;

    fn handle(
        &mut self,
        event: Event<Counted, Control>,
        _: &mut Activation<'_, Counted, Queue>,
    ) -> Flow {
        let Event::Message(message) = event else {
            return Flow::Stop;
        };
        let last = &mut self.last[message.sender as usize];
        assert!(
            last.is_none_or(|last| last < message.number),
            "out of order"
        );
        *last = Some(message.number);
        self.handled += 1;
        add(&self.counts.handled);
        if message.number % self.panics == self.panics - 1 {
            std::panic::resume_unwind(Box::new(OnPurpose));
        }
        self.flow()
    }

    fn handle_panic(&mut self, panic: Panic, _: &mut Activation<'_, Counted, Queue>) -> Flow {
        assert!(panic.is::<OnPurpose>());
        self.flow()
    }

    fn handle_end(&mut self, end: &ActorEndReport, _: &Queue, _: Option<&mut ()>) {
        self.counts
            .undelivered
            .fetch_add(end.undelivered, Ordering::Relaxed);
        add(&self.counts.ended);
    }
}

/// Runs the actors of `group` in two threads while `senders` run, and until all is handled.
fn with_workers(group: &Arc<Queue>, senders: impl FnOnce()) {
    let are_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    // ORDERING(senders_over): pairs with the store below.
                    let was_over = are_over.load(Ordering::Acquire);
                    if !group.run_one(64) {
                        if was_over {
                            break;
                        }
                        thread::yield_now();
                    }
                }
            });
        }
        senders();
        // ORDERING(senders_over): all mail was sent.
        are_over.store(true, Ordering::Release);
    });
}

fn send_all_of(address: &Address<Counted, Queue>, sender: u64, counts: &Arc<Counts>) -> u64 {
    let mut accepted = 0;
    for number in 0..MESSAGES {
        let message = Counted::new(sender, number, counts);
        match address.send_waiting_for_room(message, WaitPolicy::endless()) {
            Ok(_) => accepted += 1,
            Err(WaitRefusal::Disconnected(message)) => assert_eq!(message.number, number),
            Err(WaitRefusal::Timeout(_)) => panic!("an endless wait ended"),
        }
    }
    accepted
}

/// Each message is handled, replaced, undelivered or refused, and dropped once; in each mailbox,
/// whether its actor panics or stops.
#[test]
fn each_message_has_one_fate() {
    for mail in [
        MailLimit::Bounded(1),
        MailLimit::Bounded(16),
        MailLimit::Bounded(1024),
        MailLimit::Unbounded,
    ] {
        for stops in [u64::MAX, MESSAGES] {
            let (group, counts) = (Queue::new(), Arc::<Counts>::default());
            let address = spawn(Arc::clone(&group), Checker::new(17, stops, &counts), mail);
            let accepted = AtomicU64::new(0);
            with_workers(&group, || {
                thread::scope(|scope| {
                    for sender in 0..SENDERS {
                        let (own, counts, accepted) = (address.clone(), &counts, &accepted);
                        scope.spawn(move || {
                            let sent = send_all_of(&own, sender, counts);
                            accepted.fetch_add(sent, Ordering::Relaxed);
                        });
                    }
                });
                drop(address);
            });
            assert_eq!(get(&counts.ended), 1, "{mail:?}");
            assert_eq!(get(&counts.made), SENDERS * MESSAGES);
            assert_eq!(get(&counts.dropped), SENDERS * MESSAGES);
            let found = get(&counts.handled) + get(&counts.undelivered);
            assert_eq!(found, get(&accepted), "{mail:?}");
            let wanted = if stops == MESSAGES {
                MESSAGES
            } else {
                SENDERS * MESSAGES
            };
            assert_eq!(get(&counts.handled), wanted, "{mail:?}");
        }
    }
}

/// A mailbox that keeps the latest loses and counts exactly.
#[test]
fn each_latest_message_has_one_fate() {
    for stops in [u64::MAX, 20] {
        let (group, counts) = (Queue::new(), Arc::<Counts>::default());
        let checker = Checker::new(17, stops, &counts);
        let address = spawn(Arc::clone(&group), checker, MailLimit::Latest);
        let (added, replaced) = (AtomicU64::new(0), AtomicU64::new(0));
        with_workers(&group, || {
            thread::scope(|scope| {
                for sender in 0..SENDERS {
                    let (own, counts) = (address.clone(), &counts);
                    let (added, replaced) = (&added, &replaced);
                    scope.spawn(move || {
                        for number in 0..MESSAGES {
                            match own.send(Counted::new(sender, number, counts)) {
                                Ok(SendOutcome::Added) => add(added),
                                Ok(SendOutcome::Replaced) => {
                                    add(added);
                                    add(replaced);
                                }
                                Err(refusal) => {
                                    assert!(matches!(refusal, Refusal::Disconnected(_)));
                                }
                            }
                        }
                    });
                }
            });
            drop(address);
        });
        assert_eq!(get(&counts.ended), 1);
        assert_eq!(get(&counts.dropped), SENDERS * MESSAGES);
        let found = get(&counts.handled) + get(&counts.undelivered) + get(&replaced);
        assert_eq!(found, get(&added));
    }
}

/// A ring of actors passes numbers on, each by a message that finds the next one asleep or awake.
struct Hop {
    next: Option<Address<u64, Queue>>,
    hops: Arc<AtomicU64>,
}

impl Behaviour<Queue> for Hop {
    type Message = u64;

    fn handle(
        &mut self,
        event: Event<u64, Control>,
        turn: &mut Activation<'_, u64, Queue>,
    ) -> Flow {
        if let Event::Message(left) = event {
            add(&self.hops);
            if let Some(left) = left.checked_sub(1) {
                let own = turn.address();
                self.next.as_ref().unwrap_or(&own).send(left).unwrap();
            }
        }
        Flow::Continue
    }

    fn handle_panic(&mut self, _: Panic, _: &mut Activation<'_, u64, Queue>) -> Flow {
        Flow::Stop
    }
}

#[test]
fn a_chain_of_actors_ends_with_its_first_address() {
    let (group, hops) = (Queue::new(), Arc::<AtomicU64>::default());
    let mut next = None;
    let count = if cfg!(miri) { 5 } else { 500 };
    for _ in 0..count {
        let hop = Hop {
            next: next.take(),
            hops: Arc::clone(&hops),
        };
        next = Some(spawn(Arc::clone(&group), hop, MailLimit::Unbounded));
    }
    with_workers(&group, || {
        let first = next.take().unwrap();
        for _ in 0..4 {
            first.send(count - 1).unwrap();
        }
    });
    assert_eq!(get(&hops), 4 * count);
    // Each actor ended, and let go of the next one's last address.
    assert_eq!(group.ended(), count);
    assert_eq!(Arc::strong_count(&group), 1);
}

/// An actor that answers, and stops, drops or panics now and then.
struct Oracle(u64);

impl Behaviour<Queue> for Oracle {
    type Message = (u64, Reply<u64>);

    fn handle(
        &mut self,
        event: Event<Self::Message, Control>,
        _: &mut Activation<'_, Self::Message, Queue>,
    ) -> Flow {
        let Event::Message((question, reply)) = event else {
            return Flow::Stop;
        };
        self.0 += 1;
        match self.0 % 11 {
            3 => drop(reply),
            5 => std::panic::resume_unwind(Box::new(OnPurpose)),
            _ => reply.send(question + 1),
        }
        if self.0 == 100 {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }

    fn handle_panic(&mut self, _: Panic, _: &mut Activation<'_, Self::Message, Queue>) -> Flow {
        Flow::Continue
    }
}

/// Every question ends, with its own answer or with none, whichever way its actor goes.
#[test]
fn every_question_ends() {
    let group = Queue::new();
    let (answered, unanswered) = (AtomicU64::new(0), AtomicU64::new(0));
    let questions = if cfg!(miri) { 30 } else { 30_000 };
    with_workers(&group, || {
        thread::scope(|scope| {
            for asker in 0..2 {
                let (group, answered, unanswered) = (&group, &answered, &unanswered);
                scope.spawn(move || {
                    let new = || spawn(Arc::clone(group), Oracle(0), MailLimit::Bounded(8));
                    let mut address = new();
                    for number in 0..questions {
                        let question = asker * questions + number;
                        let (reply, mut answer) = answer_channel();
                        if let Err(refusal) = address.send((question, reply)) {
                            drop(refusal);
                            assert_eq!(answer.try_take(), Some(Err(NoAnswer)));
                            address = new();
                        }
                        if number % 7 == 0 {
                            drop(answer);
                            add(unanswered);
                            continue;
                        }
                        match answer.wait(WaitPolicy::endless()) {
                            Ok(found) => {
                                assert_eq!(found, question + 1);
                                add(answered);
                            }
                            Err(error) => {
                                assert_eq!(error, AnswerError::NoAnswer);
                                add(unanswered);
                            }
                        }
                        assert_eq!(answer.try_take(), Some(Err(NoAnswer)));
                    }
                });
            }
        });
    });
    assert_eq!(get(&answered) + get(&unanswered), 2 * questions);
    assert!(get(&answered) > 0);
}

/// A waker that unparks a thread, and counts.
struct Unpark(thread::Thread, AtomicUsize);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current(), AtomicUsize::new(0))));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        thread::park();
    }
}

#[test]
fn an_answer_is_a_future() {
    for round in 0..if cfg!(miri) { 8 } else { 2000 } {
        let (reply, answer) = answer_channel::<Box<u64>>();
        let replying = thread::spawn(move || {
            if round % 2 == 0 {
                reply.send(Box::new(round));
            }
        });
        let found = block_on(answer);
        let wanted = if round % 2 == 0 {
            Ok(Box::new(round))
        } else {
            Err(NoAnswer)
        };
        assert_eq!(found, wanted);
        replying.join().unwrap();
    }
}

/// A task that moves to another executor is woken there, and not where it was.
#[test]
fn the_latest_waker_is_called() {
    let (reply, mut answer) = answer_channel::<u8>();
    let wakers = [0; 2].map(|_| Arc::new(Unpark(thread::current(), AtomicUsize::new(0))));
    for waker in &wakers {
        let waker = Waker::from(Arc::clone(waker));
        let polled = pin!(&mut answer).poll(&mut Context::from_waker(&waker));
        assert_eq!(polled, Poll::Pending);
    }
    reply.send(1);
    let calls = wakers
        .each_ref()
        .map(|waker| waker.1.load(Ordering::Relaxed));
    assert_eq!(calls, [0, 1]);
    assert_eq!(answer.try_take(), Some(Ok(1)));
    // Neither end keeps a waker.
    assert_eq!(wakers.each_ref().map(Arc::strong_count), [1, 1]);
}

#[test]
fn a_wait_can_time_out_and_be_repeated() {
    let (reply, mut answer) = answer_channel::<u8>();
    let brief = || WaitPolicy::with_timeout(Duration::from_millis(1));
    assert_eq!(answer.wait(brief()), Err(AnswerError::Timeout));
    assert_eq!(answer.wait(brief()), Err(AnswerError::Timeout));
    assert!(!reply.is_cancelled());
    reply.send(3);
    assert_eq!(answer.wait(brief()), Ok(3));
    assert_eq!(answer.wait(brief()), Err(AnswerError::NoAnswer));
}

/// Drops of values and of ends in every order: each value is dropped once.
#[test]
fn a_value_that_nobody_takes_is_dropped_once() {
    let token = Arc::new(());
    let new = || answer_channel::<Arc<()>>();
    let (reply, left) = new();
    drop(left);
    assert!(reply.is_cancelled());
    reply.send(Arc::clone(&token));
    let (reply, full) = new();
    reply.send(Arc::clone(&token));
    drop(full);
    let (reply, empty) = new();
    drop(reply);
    drop(empty);
    let (reply, polled) = new();
    let waker = Arc::new(Unpark(thread::current(), AtomicUsize::new(0)));
    let mut polled: Answer<_> = polled;
    let own = Waker::from(Arc::clone(&waker));
    assert!(
        pin!(&mut polled)
            .poll(&mut Context::from_waker(&own))
            .is_pending()
    );
    drop((polled, own));
    assert_eq!(Arc::strong_count(&waker), 1);
    drop(reply);
    assert_eq!(Arc::strong_count(&token), 1);
}

/// Messages of all sizes and alignments go through blocks of threads that come and go.
#[test]
fn messages_of_any_size_and_alignment_are_whole() {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[repr(align(64))]
    struct Wide([u8; 64]);
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[repr(align(512))]
    struct Wider(u8);

    fn check<T: Copy + PartialEq + core::fmt::Debug + Send>(value: T) {
        reserve_blocks::<T>(3);
        let count = if cfg!(miri) { 70 } else { 1000 };
        let envelopes: Vec<_> = (0..count).map(|_| Envelope::new(value)).collect();
        thread::scope(|scope| {
            scope.spawn(move || {
                for envelope in envelopes {
                    assert_eq!(envelope.into_inner(), value);
                }
            });
        });
        drop(Envelope::new(value));
    }

    check(());
    check(1_u8);
    check([2_u8; 7]);
    check(3_u64);
    check(4_u128);
    check([5_u8; 57]);
    check([6_u64; 31]);
    check([7_u64; 32]);
    check([8_u8; 1000]);
    check(Wide([9; 64]));
    check(Wider(10));
}

/// A sender that waits for room gives up after its time, and gets its message back.
#[test]
fn a_wait_for_room_ends() {
    let (group, counts) = (Queue::new(), Arc::<Counts>::default());
    let checker = Checker::new(u64::MAX, u64::MAX, &counts);
    let address = spawn(Arc::clone(&group), checker, MailLimit::Bounded(1));
    assert!(address.send(Counted::new(0, 0, &counts)).is_ok());
    let policy = WaitPolicy::with_timeout(Duration::from_millis(1));
    let refused = address.send_waiting_for_room(Counted::new(0, 1, &counts), policy);
    assert!(matches!(refused, Err(WaitRefusal::Timeout(ref message)) if message.number == 1));
    // The end of the actor ends the wait.
    let waiting = thread::spawn({
        let (own, message) = (address.clone(), Counted::new(0, 2, &counts));
        move || {
            matches!(
                own.send_waiting_for_room(message, WaitPolicy::endless()),
                Err(WaitRefusal::Disconnected(ref message)) if message.number == 2
            )
        }
    });
    group.clear();
    assert!(waiting.join().unwrap());
    drop((refused, address));
    assert_eq!((get(&counts.dropped), get(&counts.undelivered)), (3, 1));
}

/// Messages that are made for one send are dropped if the next one cannot be made, or if the
/// mailbox refuses them.
#[test]
fn messages_of_a_chain_are_dropped_once() {
    let (group, counts) = (Queue::new(), Arc::<Counts>::default());
    let checker = Checker::new(u64::MAX, u64::MAX, &counts);
    let address = spawn(Arc::clone(&group), checker, MailLimit::Bounded(2));
    let make = |number| {
        if number == 2 {
            std::panic::resume_unwind(Box::new(OnPurpose));
        }
        Counted::new(0, number, &counts)
    };
    let failing = std::panic::AssertUnwindSafe(|| address.send_all((0..3).map(make)).is_ok());
    assert!(std::panic::catch_unwind(failing).is_err());
    assert_eq!((get(&counts.made), get(&counts.dropped)), (2, 2));
    let refused = address.send_all((3..6).map(make));
    let Err(Refusal::Full(refused)) = refused else {
        panic!("three messages do not fit");
    };
    let numbers = refused.iter().map(|message| message.number);
    assert!(numbers.eq(3..6));
    drop(refused);
    assert_eq!((get(&counts.made), get(&counts.dropped)), (5, 5));
    assert!(address.send_all((6..8).map(make)).is_ok());
    group.run_all();
    assert_eq!((get(&counts.handled), get(&counts.dropped)), (2, 7));
}
