//! Channels between real threads under contention: every message accounted for, in order, once.

use horus_testing as _;

mod counted;
mod noise;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use counted::{Counted, Ledger};
use horus_core::channel::{TryRecvError, TrySendError, fanout, mpsc, spmc, spsc};
use noise::rounds;

// WHY fewer: miri runs a thousandth as fast.
const CAPACITIES: &[usize] = if cfg!(miri) { &[1, 3] } else { &[1, 2, 7, 64] };
const SENDERS: u64 = 4;

/// Returns the number of messages of each sender and capacity.
fn messages() -> u64 {
    if cfg!(miri) {
        4
    } else {
        rounds(3_000, 300_000)
    }
}

/// Returns the number of rounds of a test that sends `messages_each` messages in each of them.
fn changes(messages_each: u64) -> u64 {
    // WHY at least two: miri sends so few messages that there would be no round.
    (messages() / messages_each).max(2)
}

/// The messages that one receiver got, by sender: the numbers have no gap.
#[derive(Debug, Default)]
struct Account {
    next: [u64; SENDERS as usize],
}

const fn tag(sender: u64, number: u64) -> u64 {
    sender << 32 | number
}

impl Account {
    fn take(&mut self, message: &Counted) {
        let sender = message.number() >> 32;
        let number = message.number() & u64::from(u32::MAX);
        let next = &mut self.next[sender as usize];
        assert_eq!(number, *next, "of sender {sender}");
        *next += 1;
    }

    fn expect(&self, senders: u64, each: u64) {
        let wanted = std::array::from_fn(|sender| if (sender as u64) < senders { each } else { 0 });
        assert_eq!(self.next, wanted);
    }
}

/// Prints a result past the harness's capture, so that a log shows it.
fn report(what: &str, messages: u64) {
    use std::io::Write as _;
    let _ = writeln!(
        std::io::stdout().lock(),
        "{what}: {messages} messages, each accounted for"
    );
}

/// Sends in all three ways in turn, so that they are mixed.
macro_rules! send_all {
    ($tx:ident, $ledger:ident, $sender:expr, $each:expr) => {
        for number in 0..$each {
            let mut message = $ledger.message(tag($sender, number));
            if number % 3 == 0 {
                $tx.send(message).unwrap();
                continue;
            }
            while let Err(error) = $tx.try_send(message) {
                let TrySendError::Full(back) = error else {
                    panic!("{error:?}")
                };
                message = back;
                thread::yield_now();
            }
        }
    };
}

/// Receives until the last sender left, in both ways in turn.
macro_rules! receive_all {
    ($rx:ident) => {{
        let mut account = Account::default();
        for turn in 0_u64.. {
            let received = if turn % 3 == 0 {
                $rx.recv().map_err(TryRecvError::from)
            } else {
                $rx.try_recv()
            };
            match received {
                Ok(message) => account.take(&message),
                Err(TryRecvError::Empty) => thread::yield_now(),
                Err(TryRecvError::Disconnected) => break,
            }
        }
        account
    }};
}

#[test]
fn one_to_one_delivers_all_in_order() {
    for &capacity in CAPACITIES {
        let ledger = Ledger::new();
        let (mut tx, mut rx) = spsc::channel(capacity);
        let made = std::sync::Arc::clone(&ledger);
        let sending = thread::spawn(move || send_all!(tx, made, 0, messages()));
        receive_all!(rx).expect(1, messages());
        sending.join().unwrap();
        assert_eq!(ledger.alive(), 0);
    }
    report("spsc", messages() * CAPACITIES.len() as u64);
}

/// Sends `make` of each number from one thread to another, in a channel of each capacity, and
/// receives alternately one by one and by `drain`. `number` returns the number of a message.
fn exchange_small<T: Send>(make: impl Fn(u64) -> T + Sync, number: impl Fn(T) -> u64) {
    for &capacity in CAPACITIES {
        let (mut tx, mut rx) = spsc::channel(capacity);
        thread::scope(|scope| {
            scope.spawn(|| {
                for next in 0..messages() {
                    tx.send(make(next)).unwrap();
                }
            });
            let mut next = 0;
            while next < messages() {
                let mut take = |message| {
                    assert_eq!(number(message), next);
                    next += 1;
                };
                take(rx.recv().unwrap());
                rx.drain(take);
            }
            assert!(rx.try_recv().is_err());
        });
    }
}

/// Small messages arrive whichever way the sender publishes them, and each is dropped once.
#[test]
fn small_messages_are_published_by_head_or_stamp() {
    let own = if horus_shm::machine().tuning.publishes_by_head {
        "publish=head"
    } else {
        "publish=stamps"
    };
    // The last setting is that of the machine, with which the other tests go on.
    for publish in ["publish=head", "publish=stamps", own] {
        horus_shm::internals::set_tuning(publish).unwrap();
        exchange_small(|number| number, |message| message);
        exchange_small(Box::new, |message| *message);
        exchange_small(
            |number| [number; 8],
            |message| {
                assert_eq!(message, [message[0]; 8]);
                message[0]
            },
        );
        let ledger = Ledger::new();
        let (mut tx, rx) = spsc::channel(4);
        for number in 0..3 {
            tx.send(Box::new(ledger.message(number))).unwrap();
        }
        drop((tx, rx));
        assert_eq!(ledger.alive(), 0);
    }
}

#[test]
fn many_to_one_delivers_all_of_each_in_order() {
    for &capacity in CAPACITIES {
        let ledger = Ledger::new();
        let (tx, mut rx) = mpsc::channel(capacity);
        thread::scope(|scope| {
            for sender in 0..SENDERS {
                let mut tx = tx.clone();
                let ledger = &ledger;
                scope.spawn(move || send_all!(tx, ledger, sender, messages()));
            }
            drop(tx);
            receive_all!(rx).expect(SENDERS, messages());
        });
        drop(rx);
        assert_eq!(ledger.alive(), 0);
    }
    report(
        "mpsc, 4 senders",
        SENDERS * messages() * CAPACITIES.len() as u64,
    );
}

#[test]
fn one_to_many_delivers_all_to_each() {
    for &capacity in CAPACITIES {
        let ledger = Ledger::new();
        let (mut tx, rx) = spmc::channel(capacity);
        let mut receivers = vec![rx];
        (0..2).for_each(|_| receivers.push(tx.subscribe().unwrap()));
        thread::scope(|scope| {
            for mut rx in receivers {
                scope.spawn(move || receive_all!(rx).expect(1, messages()));
            }
            send_all!(tx, ledger, 0, messages());
            drop(tx);
        });
        assert_eq!(ledger.alive(), 0);
    }
    report(
        "spmc, 3 receivers",
        3 * messages() * CAPACITIES.len() as u64,
    );
}

#[test]
fn many_to_many_delivers_all_of_each_to_each() {
    for &capacity in CAPACITIES {
        let ledger = Ledger::new();
        let (tx, rx) = fanout::channel(capacity);
        let receivers = [rx.try_clone().unwrap(), rx.try_clone().unwrap(), rx];
        let senders: Vec<_> = (1..SENDERS).map(|_| tx.try_clone().unwrap()).collect();
        thread::scope(|scope| {
            for mut rx in receivers {
                scope.spawn(move || receive_all!(rx).expect(SENDERS, messages()));
            }
            for (sender, mut tx) in (0..).zip(senders.into_iter().chain([tx])) {
                let ledger = &ledger;
                scope.spawn(move || send_all!(tx, ledger, sender, messages()));
            }
        });
        assert_eq!(ledger.alive(), 0);
    }
    report(
        "fanout, 4 × 3",
        3 * SENDERS * messages() * CAPACITIES.len() as u64,
    );
}

/// Receivers that join and leave while messages pass get all from their first one on, and the one
/// that stays gets everything.
#[test]
fn a_receiver_that_joins_and_leaves_misses_nothing_in_between() {
    let ledger = Ledger::new();
    let visits = AtomicU64::new(0);
    let (mut tx, mut rx) = fanout::channel(4);
    let mut second = tx.try_clone().unwrap();
    let mut visitor = rx.try_clone().unwrap();
    thread::scope(|scope| {
        let visits = &visits;
        scope.spawn(move || {
            while !visit(&mut visitor) {
                visitor = visitor.try_clone().unwrap();
                visits.fetch_add(1, Ordering::Relaxed);
            }
        });
        scope.spawn(move || receive_all!(rx).expect(2, messages()));
        let ledger = &ledger;
        scope.spawn(move || send_all!(second, ledger, 1, messages()));
        send_all!(tx, ledger, 0, messages());
        drop(tx);
    });
    assert_eq!(ledger.alive(), 0);
    report(
        &format!("fanout, {} visits", visits.into_inner()),
        2 * messages(),
    );
}

/// Receives a few messages of each sender; returns true if the channel has ended.
fn visit(rx: &mut fanout::Receiver<Counted>) -> bool {
    let mut next = [None; 2];
    for _ in 0..5 {
        match rx.recv() {
            Ok(message) => {
                let sender = message.number() >> 32;
                let number = message.number() as u32;
                let expected = next[sender as usize].replace(number + 1);
                assert_eq!(expected.unwrap_or(number), number, "of sender {sender}");
            }
            Err(_) => return true,
        }
    }
    false
}

/// Senders join and leave: each lane is reused, and no message of its last owner is lost.
#[test]
fn a_reused_lane_keeps_the_messages_of_its_last_owner() {
    let ledger = Ledger::new();
    let (tx, mut rx) = fanout::channel(3);
    thread::scope(|scope| {
        for sender in 0..SENDERS {
            let mut mine = tx.try_clone().unwrap();
            let ledger = &ledger;
            scope.spawn(move || {
                for number in 0..changes(10) {
                    mine.send(ledger.message(tag(sender, number))).unwrap();
                    // WHY: the old sender leaves first, so lanes are reused by another thread.
                    let heir = mine.try_clone().unwrap();
                    drop(std::mem::replace(&mut mine, heir));
                }
            });
        }
        drop(tx);
        let mut seen = vec![Vec::new(); SENDERS as usize];
        for message in &mut rx {
            seen[(message.number() >> 32) as usize].push(message.number() & 0xffff_ffff);
        }
        // WHY sorted: a sender that changes its lane counts as another sender, with an order of its
        // own.
        for numbers in &mut seen {
            numbers.sort_unstable();
            assert!(numbers.iter().copied().eq(0..changes(10)));
        }
    });
    drop(rx);
    assert_eq!(ledger.alive(), 0);
    report("fanout, lanes handed on", SENDERS * changes(10));
}

/// A receiver that leaves at any moment leaks no message, whatever the senders are doing.
#[test]
fn a_receiver_that_leaves_at_any_moment_leaks_no_message() {
    for round in 0..changes(30) {
        let ledger = Ledger::new();
        let (tx, mut rx) = mpsc::channel(4);
        let mut one = tx.clone();
        let mut other = tx;
        thread::scope(|scope| {
            let ledger = &ledger;
            scope.spawn(move || while one.send(ledger.message(0)).is_ok() {});
            scope.spawn(move || while other.send(ledger.message(1)).is_ok() {});
            (0..round % 20).for_each(|_| drop(rx.recv().unwrap()));
            drop(rx);
        });
        assert_eq!(ledger.alive(), 0);
        let (mut tx, mut rx) = spsc::channel(4);
        thread::scope(|scope| {
            let ledger = &ledger;
            scope.spawn(move || while tx.send(ledger.message(0)).is_ok() {});
            (0..round % 20).for_each(|_| drop(rx.recv().unwrap()));
            drop(rx);
        });
        assert_eq!(ledger.alive(), 0);
    }
    report("receivers that left in the middle", 2 * changes(30));
}

/// Endpoints that answer each other never both sleep: a lost wake would hang here.
#[test]
fn a_ping_is_answered_without_a_spin() {
    let turns = messages();
    let (mut ping, mut pinged) = spsc::channel(1);
    let (mut pong, mut ponged) = mpsc::channel(1);
    pinged.set_spin(std::time::Duration::ZERO);
    ponged.set_spin(std::time::Duration::ZERO);
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in pinged {
                pong.send(n).unwrap();
            }
            ended.store(true, Ordering::Relaxed);
        });
        for n in 0..turns {
            ping.send(n).unwrap();
            assert_eq!(ponged.recv(), Ok(n));
        }
        drop(ping);
    });
    assert!(ended.into_inner());
    report("ping-pong between sleepers", 2 * turns);
}
