//! Draining a channel: all that is there, in order, each message dropped once, also in a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use horus_core::channel::{fanout, mpsc, spmc, spsc};

const MESSAGES: u64 = 20_000;

/// Sends all messages from another thread through a channel of `capacity`, and drains it.
macro_rules! drains_all {
    ($channel:ident, $capacity:expr) => {{
        let (mut tx, mut rx) = $channel::channel($capacity);
        let sending = thread::spawn(move || {
            (0..MESSAGES).for_each(|n| tx.send(n.to_string()).unwrap());
        });
        let mut next = 0;
        while next < MESSAGES {
            let before = next;
            let taken = rx.drain(|message| {
                assert_eq!(message, next.to_string(), stringify!($channel));
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
        drains_all!(spsc, capacity);
        drains_all!(spmc, capacity);
        drains_all!(mpsc, capacity);
        drains_all!(fanout, capacity);
    }
}

#[test]
fn all_that_was_drained_is_room_afterwards() {
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

#[test]
fn a_drain_that_panics_has_received_what_it_handed_over() {
    let witness = Arc::new(());
    let (mut tx, mut rx) = spsc::channel(16);
    (0..16).for_each(|n| tx.try_send((n, Arc::clone(&witness))).unwrap());
    let drained = catch_unwind(AssertUnwindSafe(|| {
        rx.drain(|(n, _)| assert!(n < 5, "on purpose"));
    }));
    assert!(drained.is_err());
    // Six were handed over, the one that panicked among them.
    assert_eq!((Arc::strong_count(&witness), rx.len()), (11, 10));
    assert_eq!(rx.try_recv().map(|(n, _)| n), Ok(6));
    (0..7).for_each(|n| tx.try_send((n, Arc::clone(&witness))).unwrap());
    assert!(tx.try_send((0, Arc::clone(&witness))).is_err());
    drop((tx, rx));
    assert_eq!(Arc::strong_count(&witness), 1);
}
