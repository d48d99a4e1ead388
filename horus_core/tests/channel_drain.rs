//! Draining a channel: all available messages, in order, each dropped once, also in a panic.

use horus_testing as _;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use horus_core::channel::{
    RecvError, SendError, TryRecvError, TrySendError, fanout, mpsc, spmc, spsc,
};

// WHY fewer: miri runs a thousandth as fast.
const MESSAGES: u64 = if cfg!(miri) { 4 } else { 20_000 };

/// Sends all messages from another thread through a channel of `capacity`, and drains it in a way.
macro_rules! drains_all {
    ($channel:ident, $capacity:expr, $drain:ident) => {{
        let (mut tx, mut rx) = $channel::channel($capacity);
        let sending = thread::spawn(move || {
            (0..MESSAGES).for_each(|n| tx.send(n.to_string()).unwrap());
        });
        let mut next = 0;
        while next < MESSAGES {
            let before = next;
            let taken = rx.$drain(|message| {
                assert_eq!(message.parse(), Ok(next), stringify!($channel $drain));
                next += 1;
            });
            assert_eq!(next - before, taken as u64);
            assert!(taken <= rx.capacity());
            if taken == 0 {
                thread::yield_now();
            }
        }
        sending.join().unwrap();
        assert_eq!(rx.drain(drop), 0);
        assert!(rx.try_recv().is_err());
    }};
}

#[test]
fn a_drain_gives_every_message_in_order() {
    for capacity in [1, 3, 8, 64] {
        drains_all!(spsc, capacity, drain);
        drains_all!(spmc, capacity, drain);
        drains_all!(mpsc, capacity, drain);
        drains_all!(fanout, capacity, drain);
    }
}

#[test]
fn a_drain_in_place_gives_every_message_in_order() {
    for capacity in [1, 3, 8, 64] {
        drains_all!(spsc, capacity, drain_in_place);
        drains_all!(spmc, capacity, drain_in_place);
        drains_all!(mpsc, capacity, drain_in_place);
        drains_all!(fanout, capacity, drain_in_place);
    }
}

/// Copies all messages from another thread through a channel of `capacity`.
macro_rules! copies_all {
    ($channel:ident, $capacity:expr) => {{
        let (mut tx, mut rx) = $channel::channel($capacity);
        let sending = thread::spawn(move || {
            (0..MESSAGES).for_each(|n| tx.send_ref(&[n; 9]).unwrap());
        });
        let mut message = [MESSAGES; 9];
        for n in 0..MESSAGES {
            if n % 2 == 0 {
                rx.recv_into(&mut message).unwrap();
            } else {
                while rx.try_recv_into(&mut message) == Err(TryRecvError::Empty) {
                    thread::yield_now();
                }
            }
            assert_eq!(message, [n; 9], stringify!($channel));
        }
        sending.join().unwrap();
        assert_eq!(rx.recv_into(&mut message), Err(RecvError));
        assert_eq!(
            rx.try_recv_into(&mut message),
            Err(TryRecvError::Disconnected)
        );
        assert_eq!(message, [MESSAGES - 1; 9]);
    }};
}

#[test]
fn copies_come_in_order_and_an_error_leaves_the_message_alone() {
    for capacity in [1, 3, 64] {
        copies_all!(spsc, capacity);
        copies_all!(spmc, capacity);
        copies_all!(mpsc, capacity);
        copies_all!(fanout, capacity);
    }
}

#[test]
fn a_copy_is_refused_for_the_same_reasons_as_a_message() {
    let (mut tx, mut rx) = spsc::channel(1);
    assert_eq!(tx.try_send_ref(&1), Ok(()));
    assert_eq!(tx.try_send_ref(&2), Err(TrySendError::Full(())));
    let receiving = thread::spawn(move || [rx.recv(), rx.recv()]);
    assert_eq!(tx.send_ref(&3), Ok(()));
    assert_eq!(receiving.join().unwrap(), [Ok(1), Ok(3)]);
    assert_eq!(tx.try_send_ref(&4), Err(TrySendError::Disconnected(())));
    assert_eq!(tx.send_ref(&4), Err(SendError(())));
}

#[test]
fn drained_slots_are_free_afterwards() {
    let (mut tx, mut rx) = spsc::channel(100);
    for round in 0..10 {
        (0..100).for_each(|n| tx.try_send(round * 100 + n).unwrap());
        assert!(tx.try_send(0).is_err());
        let mut received = Vec::new();
        assert_eq!(rx.drain(|n| received.push(n)), 100);
        assert!(received.into_iter().eq(round * 100..round * 100 + 100));
        assert!(tx.is_empty() && rx.is_empty());
    }
}

/// Drains a channel in steps of one: each message passed on frees its slot at once.
macro_rules! sends_while_it_drains {
    ($channel:ident) => {{
        let (mut tx, mut rx) = $channel::channel(8);
        (0..8).for_each(|n| tx.try_send(n).unwrap());
        let mut received = Vec::new();
        let drained = rx.drain(|n| {
            tx.try_send(n + 8).expect(stringify!($channel));
            received.push(n);
        });
        assert_eq!((drained, received), (8, (0..8).collect()));
        assert!(rx.iter().take(8).eq(8..16));
    }};
}

#[test]
fn a_drained_message_frees_its_slot_at_once() {
    sends_while_it_drains!(spsc);
    sends_while_it_drains!(spmc);
    sends_while_it_drains!(mpsc);
    sends_while_it_drains!(fanout);
}

/// Messages of a channel that is drained in steps of three: a panic comes in the middle of a step.
const STEPS_OF_THREE: usize = 24;

/// Checks a drain that panics at the fifth message.
macro_rules! panics_in_a_drain {
    ($channel:ident) => {{
        let witness = Arc::new(());
        let (mut tx, mut rx) = $channel::channel(STEPS_OF_THREE);
        (0..24).for_each(|n| tx.try_send((n, Arc::clone(&witness))).unwrap());
        let drained = catch_unwind(AssertUnwindSafe(|| {
            rx.drain(|(n, _)| assert!(n < 4, "on purpose"));
        }));
        assert!(drained.is_err());
        // Five were passed on, including the one that panicked.
        assert_eq!(
            (Arc::strong_count(&witness), rx.len()),
            (20, 19),
            stringify!($channel)
        );
        assert_eq!(rx.try_recv().map(|(n, _)| n), Ok(5));
        (0..6).for_each(|n| tx.try_send((n, Arc::clone(&witness))).unwrap());
        assert!(tx.try_send((0, Arc::clone(&witness))).is_err());
        drop((tx, rx));
        assert_eq!(Arc::strong_count(&witness), 1);
    }};
}

#[test]
fn a_drain_that_panics_has_received_what_it_handed_over() {
    panics_in_a_drain!(spsc);
    panics_in_a_drain!(mpsc);
}

/// Checks a drain in place that panics at the sixth of eight messages.
macro_rules! panics_in_place {
    ($channel:ident) => {{
        let witness = Arc::new(());
        let (mut tx, mut rx) = $channel::channel(STEPS_OF_THREE);
        (0..8).for_each(|n| tx.try_send((n, Arc::clone(&witness))).unwrap());
        let drained = catch_unwind(AssertUnwindSafe(|| {
            rx.drain_in_place(|(n, _)| assert!(*n < 5, "on purpose"));
        }));
        assert!(drained.is_err());
        assert_eq!(rx.len(), 3, stringify!($channel));
        assert_eq!(rx.try_recv().map(|(n, _)| n), Ok(5));
        assert_eq!(rx.drain_in_place(|_| ()), 2);
        (0..8).for_each(|n| tx.try_send((n, Arc::clone(&witness))).unwrap());
        drop((tx, rx));
        assert_eq!(Arc::strong_count(&witness), 1);
    }};
}

#[test]
fn a_drain_in_place_that_panics_has_not_received_what_it_looked_at() {
    panics_in_place!(spsc);
    panics_in_place!(spmc);
    panics_in_place!(mpsc);
    panics_in_place!(fanout);
}

#[test]
fn with_many_senders_it_is_the_next_of_its_sender() {
    let (mut one, mut rx) = fanout::channel(8);
    let mut two = one.try_clone().unwrap();
    (0..4).for_each(|n| one.try_send(n).unwrap());
    (10..14).for_each(|n| two.try_send(n).unwrap());
    let drained = catch_unwind(AssertUnwindSafe(|| {
        rx.drain_in_place(|&n| assert!(n != 2, "on purpose"));
    }));
    assert!(drained.is_err());
    let mut left = Vec::new();
    rx.drain_in_place(|&n| left.push(n));
    let of =
        |sender: std::ops::Range<i32>| left.iter().copied().filter(move |n| sender.contains(n));
    assert!(of(0..4).eq(2..4), "{left:?}");
    assert!(of(10..14).eq(12..14), "{left:?}");
}

/// A message whose drop panics, unless the thread is already panicking.
struct Dropped {
    number: u64,
    _witness: Arc<()>,
}

impl Drop for Dropped {
    fn drop(&mut self) {
        assert!(thread::panicking() || self.number != 3, "on purpose");
    }
}

/// Drains in place a message whose drop panics: it is received, and dropped once.
macro_rules! drop_panics {
    ($channel:ident) => {{
        let witness = Arc::new(());
        let (mut tx, mut rx) = $channel::channel(STEPS_OF_THREE);
        for number in 0..8 {
            let dropped = Dropped {
                number,
                _witness: Arc::clone(&witness),
            };
            assert!(tx.try_send(dropped).is_ok());
        }
        let drained = catch_unwind(AssertUnwindSafe(|| rx.drain_in_place(|_| ())));
        assert!(drained.is_err());
        assert_eq!(
            (rx.len(), Arc::strong_count(&witness)),
            (4, 5),
            stringify!($channel)
        );
        drop((tx, rx));
        assert_eq!(Arc::strong_count(&witness), 1);
    }};
}

#[test]
fn a_message_that_panics_in_its_drop_is_dropped_once() {
    drop_panics!(spsc);
    drop_panics!(mpsc);
}
