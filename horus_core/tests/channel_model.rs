//! Every channel against an oracle of queues, step by step, and the further promises of each.
//!
//! The oracle has no slots and no stamps: a receiver has a queue for each lane, and a send adds to
//! all of them. `HORUS_TEST_SEED` replays one failed case.

use horus_testing as _;

mod counted;
mod noise;
#[path = "channel_model/oracle.rs"]
mod oracle;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use counted::{Counted, Ledger};
use horus_core::channel::{
    RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError, direct,
    fanout, mpsc, spmc, spsc,
};
use noise::{Case, rounds, seeds};
use oracle::{Channel, Direct, Fanout, Model, Mpsc, Spmc, Spsc};

const STEPS: usize = if cfg!(miri) { 100 } else { 1000 };
/// A time that only a hang exceeds.
const LONG: Duration = Duration::from_secs(60);
/// The number of messages that a thread sends to one that waits for them.
// WHY fewer: miri runs a thousandth as fast.
const MESSAGES: u64 = if cfg!(miri) { 12 } else { 300 };
/// The number of rounds in which one side sleeps and the other one leaves.
const DEPARTURES: u64 = if cfg!(miri) { 2 } else { 20 };

fn cases() -> u64 {
    if cfg!(miri) { 2 } else { rounds(60, 3000) }
}

/// Random steps agree with the oracle, and every message is dropped once.
fn matches_the_oracle<C: Channel>() {
    for seed in seeds(cases()) {
        let _case = Case(seed);
        let mut model = Model::<C>::new(seed);
        (0..STEPS).for_each(|_| model.step());
        model.end();
    }
}

/// Any capacity is exact, and a refused message comes back.
fn holds_its_capacity_and_no_more<C: Channel>() {
    // WHY fewer: miri runs a thousandth as fast.
    for capacity in 1..=if cfg!(miri) { 5 } else { 17 } {
        let (mut tx, mut rx) = C::channel(capacity);
        for lap in 0..5 {
            for number in 0..capacity {
                assert_eq!(C::try_send(&mut tx, (lap, number)), Ok(()));
            }
            assert_eq!(
                C::try_send(&mut tx, (9, 9)),
                Err(TrySendError::Full((9, 9)))
            );
            assert_eq!(C::counts(&tx), (capacity, false, capacity));
            for number in 0..capacity {
                assert_eq!(C::try_recv(&mut rx), Ok((lap, number)));
            }
            assert_eq!(C::try_recv(&mut rx), Err(TryRecvError::Empty));
        }
    }
}

/// Whatever was sent and received, and whichever side leaves first, nothing is dropped twice or
/// leaked.
fn drops_every_message_once<C: Channel>() {
    let capacities: &[usize] = if cfg!(miri) { &[1, 2] } else { &[1, 2, 3, 8] };
    for &capacity in capacities {
        for sent in 0..=2 * capacity {
            for received in 0..=sent {
                for sender_first in [true, false] {
                    let ledger = Ledger::new();
                    let (mut tx, mut rx) = C::channel::<Counted>(capacity);
                    let mut taken = 0;
                    for number in 0..sent {
                        if number - taken == capacity {
                            assert_eq!(C::try_recv(&mut rx).unwrap().number(), taken as u64);
                            taken += 1;
                        }
                        C::try_send(&mut tx, ledger.message(number as u64)).unwrap();
                    }
                    while taken < received {
                        assert_eq!(C::try_recv(&mut rx).unwrap().number(), taken as u64);
                        taken += 1;
                    }
                    if sender_first {
                        drop(tx);
                        drop(rx);
                    } else {
                        drop(rx);
                        assert!(
                            C::BROADCASTS || ledger.alive() == 0,
                            "kept without a receiver"
                        );
                        drop(tx);
                    }
                    assert_eq!(ledger.alive(), 0);
                }
            }
        }
    }
}

/// Unreceived messages are received after the last sender left, and then the channel has ended.
fn ends_behind_its_last_message<C: Channel>() {
    let (mut tx, mut rx) = C::channel(4);
    C::try_send(&mut tx, 1).unwrap();
    C::try_send(&mut tx, 2).unwrap();
    let other = C::another_sender(&tx);
    drop(tx);
    assert_eq!(C::try_recv(&mut rx), Ok(1));
    if let Some(other) = other {
        assert_eq!(C::try_recv(&mut rx), Ok(2));
        assert_eq!(C::try_recv(&mut rx), Err(TryRecvError::Empty));
        drop(other);
    } else {
        assert_eq!(C::try_recv(&mut rx), Ok(2));
    }
    for _ in 0..3 {
        assert_eq!(C::try_recv(&mut rx), Err(TryRecvError::Disconnected));
    }
    assert!(C::try_iter(&mut rx).is_empty());
}

/// Without a receiver nothing is sent, full or not, and the message is returned.
fn refuses_without_a_receiver<C: Channel>() {
    for sent in 0..=2 {
        let (mut tx, rx) = C::channel(2);
        (0..sent).for_each(|number| C::try_send(&mut tx, number).unwrap());
        drop(rx);
        for _ in 0..3 {
            assert_eq!(C::try_send(&mut tx, 7), Err(TrySendError::Disconnected(7)));
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
#[repr(align(256))]
struct Wide([u8; 300]);

#[derive(Debug, Clone, PartialEq)]
struct Nothing;

/// Messages may have any size, alignment and padding, and own anything.
fn carries_any_type<C: Channel>() {
    fn carries<C: Channel, T: Clone + PartialEq + std::fmt::Debug>(messages: [T; 3]) {
        let (mut tx, mut rx) = C::channel(2);
        for message in messages.iter().chain(&messages) {
            C::try_send(&mut tx, message.clone()).unwrap();
            assert_eq!(C::try_recv(&mut rx).as_ref(), Ok(message));
        }
    }
    carries::<C, _>([0, 1, 2].map(|byte| Wide([byte; 300])));
    carries::<C, _>([Nothing, Nothing, Nothing]);
    carries::<C, _>([
        (1_u8, 1_u64, true),
        (2, 2, false),
        (u8::MAX, u64::MAX, true),
    ]);
    carries::<C, _>(["a", "b", ""].map(String::from));
    carries::<C, _>([Some(Box::new([1; 1000])), None, Some(Box::new([3; 1000]))]);
}

/// A message that panics when it is dropped, if it is armed.
#[derive(Clone)]
struct Explosive(Counted, bool);

impl Drop for Explosive {
    fn drop(&mut self) {
        assert!(!self.1, "boom");
    }
}

/// A panic in the drop of one message does not keep the others from being dropped once.
fn survives_a_drop_that_panics<C: Channel>() {
    for explosive in 0..3 {
        for receiver_first in [true, false] {
            let ledger = Ledger::new();
            let (mut tx, rx) = C::channel(4);
            for number in 0..3 {
                let message = Explosive(ledger.message(number), number == explosive);
                assert!(C::try_send(&mut tx, message).is_ok());
            }
            let leaving = catch_unwind(AssertUnwindSafe(move || {
                if receiver_first {
                    drop(rx);
                    drop(tx);
                } else {
                    drop(tx);
                    drop(rx);
                }
            }));
            assert!(leaving.is_err());
            assert_eq!(ledger.alive(), 0);
        }
    }
}

/// A message whose drop ends another channel.
struct Last<C: Channel>(Option<Ends<C>>);

type Ends<C> = (
    <C as Channel>::Sender<Counted>,
    <C as Channel>::Receiver<Counted>,
);

impl<C: Channel> Clone for Last<C> {
    fn clone(&self) -> Self {
        Self(None)
    }
}

/// The endpoints of a channel may be sent through another one, and end with it.
fn carries_ends<C: Channel>() {
    let ledger = Ledger::new();
    let (mut inner, other) = C::channel::<Counted>(2);
    C::try_send(&mut inner, ledger.message(1)).unwrap();
    let (mut tx, rx) = C::channel(2);
    assert!(C::try_send(&mut tx, Last::<C>(Some((inner, other)))).is_ok());
    assert_eq!(ledger.alive(), 1);
    drop((rx, tx));
    assert_eq!(ledger.alive(), 0);
}

macro_rules! promises {
    ($($channel:ident: $module:ident,)*) => {$(
        mod $module {
            use super::*;

            promises!(@ $channel, matches_the_oracle holds_its_capacity_and_no_more
                drops_every_message_once ends_behind_its_last_message refuses_without_a_receiver
                carries_any_type survives_a_drop_that_panics carries_ends);
        }
    )*};
    (@ $channel:ident, $($promise:ident)*) => {$(
        #[test]
        fn $promise() {
            super::$promise::<$channel>();
        }
    )*};
}

promises! {
    Direct: of_direct,
    Spsc: of_spsc,
    Mpsc: of_mpsc,
    Spmc: of_spmc,
    Fanout: of_fanout,
}

/// The tests of waiting, for channels between threads.
macro_rules! waiting {
    ($($module:ident: $name:ident,)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn a_timeout_ends_the_wait() {
                let (mut tx, mut rx) = $module::channel(1);
                let [none, some] = [Duration::ZERO, Duration::from_millis(2)];
                for timeout in [none, some] {
                    assert_eq!(rx.recv_timeout(timeout), Err(RecvTimeoutError::Timeout));
                }
                assert_eq!(tx.send_timeout(1, none), Ok(()));
                for timeout in [none, some] {
                    assert_eq!(tx.send_timeout(2, timeout), Err(SendTimeoutError::Timeout(2)));
                }
                assert_eq!(rx.recv_timeout(none), Ok(1));
                drop(tx);
                assert_eq!(rx.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
                assert_eq!(rx.recv(), Err(RecvError));
                let (mut tx, rx) = $module::channel(1);
                drop(rx);
                assert_eq!(tx.send_timeout(1, LONG), Err(SendTimeoutError::Disconnected(1)));
                assert_eq!(tx.send(1), Err(SendError(1)));
            }

            #[test]
            fn blocking_endpoints_deliver_every_message() {
                for spin in [Duration::ZERO, Duration::from_micros(10), LONG] {
                    for capacity in [1, 3, 64] {
                        let (mut tx, mut rx) = $module::channel(capacity);
                        tx.set_spin(spin);
                        rx.set_spin(spin);
                        let sending = thread::spawn(move || {
                            (0..MESSAGES).for_each(|n| tx.send(n).unwrap());
                        });
                        for n in 0..MESSAGES {
                            assert_eq!(rx.recv(), Ok(n));
                        }
                        assert_eq!(rx.recv(), Err(RecvError));
                        sending.join().unwrap();
                    }
                }
            }

            #[test]
            fn a_sleeper_wakes_when_the_other_side_leaves() {
                for _ in 0..DEPARTURES {
                    let (tx, mut rx) = $module::channel::<u8>(1);
                    let receiving = thread::spawn(move || rx.recv_timeout(LONG));
                    drop(tx);
                    assert_eq!(receiving.join().unwrap(), Err(RecvTimeoutError::Disconnected));
                    let (mut tx, rx) = $module::channel::<u8>(1);
                    tx.send(1).unwrap();
                    // WHY more than once: a message that is sent while the receiver leaves may
                    // still be accepted, and is then dropped with the channel.
                    let sending = thread::spawn(move || {
                        loop {
                            if let Err(error) = tx.send_timeout(2, LONG) {
                                return error;
                            }
                        }
                    });
                    drop(rx);
                    assert_eq!(sending.join().unwrap(), SendTimeoutError::Disconnected(2));
                }
            }

            #[test]
            fn iterators_end_with_the_last_sender() {
                let send = |capacity| {
                    let (mut tx, rx) = $module::channel(capacity);
                    thread::spawn(move || (0..MESSAGES).for_each(|n| tx.send(n).unwrap()));
                    rx
                };
                assert!(send(1).iter().eq(0..MESSAGES));
                assert!(send(2).into_iter().eq(0..MESSAGES));
                let mut rx = send(3);
                let mut next = 0;
                for n in &mut rx {
                    assert_eq!(n, next);
                    next += 1;
                }
                let ended = (MESSAGES, None, None);
                assert_eq!((next, rx.iter().next(), rx.try_iter().next()), ended);
            }
        }
    )*};
}

waiting! {
    spsc: waiting_spsc,
    mpsc: waiting_mpsc,
    spmc: waiting_spmc,
    fanout: waiting_fanout,
}

/// A message whose clone panics until it has been tried often enough.
#[derive(Debug)]
struct Shy(Counted, Arc<std::sync::atomic::AtomicU32>);

impl Clone for Shy {
    fn clone(&self) -> Self {
        use std::sync::atomic::Ordering;
        assert!(self.1.fetch_add(1, Ordering::Relaxed) >= 2, "not yet");
        Self(self.0.clone(), Arc::clone(&self.1))
    }
}

/// A clone that panics leaves the message where it is.
fn a_message_that_was_not_cloned_stays<C: Channel>() {
    let ledger = Ledger::new();
    let (mut tx, mut rx) = C::channel(2);
    C::try_send(&mut tx, Shy(ledger.message(1), Arc::default())).unwrap();
    for _ in 0..2 {
        assert!(catch_unwind(AssertUnwindSafe(|| C::try_recv(&mut rx))).is_err());
    }
    assert_eq!(C::try_recv(&mut rx).unwrap().0.number(), 1);
    assert!(C::try_recv(&mut rx).is_err());
    drop((tx, rx));
    assert_eq!(ledger.alive(), 0);
}

/// A message that panics in its drop, when a later one takes its slot, affects only itself.
fn a_slot_is_used_again_after_a_drop_that_panics<C: Channel>() {
    let ledger = Ledger::new();
    let (mut tx, mut rx) = C::channel(1);
    assert!(C::try_send(&mut tx, Explosive(ledger.message(1), false)).is_ok());
    for round in 0..3 {
        let Ok(mut received) = C::try_recv(&mut rx) else {
            panic!("nothing in round {round}")
        };
        received.1 = false;
        assert!(C::try_recv(&mut rx).is_err());
        assert!(C::try_send(&mut tx, Explosive(ledger.message(2), false)).is_ok());
    }
    drop(C::try_recv(&mut rx));
    // Its clone is disarmed below; the original in the slot panics when the slot is reused.
    assert!(C::try_send(&mut tx, Explosive(ledger.message(3), true)).is_ok());
    C::try_recv(&mut rx).unwrap_or_else(|_| panic!("nothing")).1 = false;
    let fourth = Explosive(ledger.message(4), false);
    assert!(catch_unwind(AssertUnwindSafe(|| C::try_send(&mut tx, fourth))).is_err());
    assert_eq!(C::try_recv(&mut rx).err(), Some(TryRecvError::Empty));
    assert!(C::try_send(&mut tx, Explosive(ledger.message(5), false)).is_ok());
    assert_eq!(
        C::try_recv(&mut rx).map(|message| message.0.number()).ok(),
        Some(5)
    );
    drop((tx, rx));
    assert_eq!(ledger.alive(), 0);
}

#[test]
fn broadcasts_survive_panics_of_their_messages() {
    a_message_that_was_not_cloned_stays::<Spmc>();
    a_message_that_was_not_cloned_stays::<Fanout>();
    a_slot_is_used_again_after_a_drop_that_panics::<Spmc>();
    a_slot_is_used_again_after_a_drop_that_panics::<Fanout>();
}

/// There can be as many receivers as the limit allows, and another one after one left.
#[test]
fn limits_are_errors_until_an_endpoint_leaves() {
    let (mut tx, rx) = spmc::channel(2);
    let mut receivers = vec![rx];
    while receivers.len() < spmc::RECEIVERS_MAX {
        receivers.push(tx.subscribe().unwrap());
    }
    for _ in 0..3 {
        assert!(tx.subscribe().is_err() && receivers[0].try_clone().is_err());
        tx.try_send(1).unwrap();
        assert!(receivers.iter_mut().all(|rx| rx.try_recv() == Ok(1)));
        receivers.swap_remove(7);
        receivers.push(tx.subscribe().unwrap());
    }
    let (tx, rx) = fanout::channel(2);
    let mut senders = vec![tx];
    let mut receivers = vec![rx];
    while senders.len() < fanout::SENDERS_MAX {
        senders.push(senders[0].try_clone().unwrap());
        receivers.push(receivers[0].try_clone().unwrap());
    }
    for _ in 0..3 {
        assert!(senders[0].try_clone().is_err() && senders[0].subscribe().is_err());
        assert!(receivers[0].try_clone().is_err());
        for (number, tx) in senders.iter_mut().enumerate() {
            tx.try_send(number).unwrap();
        }
        for rx in &mut receivers {
            assert!(
                rx.try_iter()
                    .collect::<std::collections::BTreeSet<_>>()
                    .into_iter()
                    .eq(0..senders.len())
            );
        }
        senders.swap_remove(7);
        senders.push(senders[0].try_clone().unwrap());
        receivers.swap_remove(7);
        receivers.push(senders[0].subscribe().unwrap());
    }
}

/// A receiver that blocks a sender releases it by leaving, also while the sender sleeps.
#[test]
fn a_slow_receiver_that_leaves_frees_the_sender() {
    for _ in 0..DEPARTURES {
        let (mut tx, slow) = spmc::channel(1);
        let mut quick = tx.subscribe().unwrap();
        tx.send(1).unwrap();
        assert_eq!(quick.recv(), Ok(1));
        let sending = thread::spawn(move || tx.send_timeout(2, LONG));
        drop(slow);
        assert_eq!(sending.join().unwrap(), Ok(()));
        assert_eq!(quick.recv(), Ok(2));
    }
}

/// The drop of a message may use the message's own channel.
#[test]
fn a_direct_message_may_use_its_channel() {
    use std::cell::RefCell;
    use std::rc::Rc;
    struct Echo(Rc<RefCell<Option<direct::Sender<Echo>>>>);
    impl Drop for Echo {
        fn drop(&mut self) {
            let tx = self.0.borrow_mut().take();
            if let Some(mut tx) = tx {
                assert!(tx.try_send(Echo(Rc::default())).is_ok());
            }
        }
    }
    let (mut tx, mut rx) = direct::channel(4);
    let place = Rc::new(RefCell::new(None));
    assert!(tx.try_send(Echo(Rc::clone(&place))).is_ok());
    *place.borrow_mut() = Some(tx);
    drop(rx.try_recv());
    assert_eq!(rx.len(), 1);
    drop(rx);
}

#[test]
#[should_panic(expected = "at least one message")]
fn a_channel_of_capacity_0_is_refused() {
    let _ = spsc::channel::<u8>(0);
}

/// Creates channels of `capacity` messages of 4 KiB each, and returns the text of each panic.
fn panics_of_channels(capacity: usize) -> Vec<String> {
    type Page = [u8; 4096];
    let channels: [(&str, fn(usize)); 5] = [
        ("direct", |capacity| drop(direct::channel::<Page>(capacity))),
        ("spsc", |capacity| drop(spsc::channel::<Page>(capacity))),
        ("mpsc", |capacity| drop(mpsc::channel::<Page>(capacity))),
        ("spmc", |capacity| drop(spmc::channel::<Page>(capacity))),
        ("fanout", |capacity| drop(fanout::channel::<Page>(capacity))),
    ];
    let panic_of = |(name, create): (&str, fn(usize))| {
        let panic = catch_unwind(|| create(capacity)).expect_err(name);
        panic
            .downcast_ref::<String>()
            .unwrap_or_else(|| panic!("no text: {name}"))
            .clone()
    };
    channels.map(panic_of).to_vec()
}

#[test]
#[cfg_attr(
    any(
        miri,
        horus_sanitizer = "address",
        horus_sanitizer = "thread",
        horus_sanitizer = "realtime"
    ),
    ignore = "these abort the process if an allocation is too large"
)]
fn a_capacity_beyond_all_memory_panics_and_says_so() {
    // More than can be mapped, more than can be addressed, and more than can be counted.
    for capacity in [1 << 40, 1 << 60, usize::MAX] {
        let wanted = format!(
            "there is no memory for a channel of {capacity} messages of 4096 bytes each: choose a \
             smaller capacity"
        );
        assert_eq!(panics_of_channels(capacity), vec![wanted; 5]);
    }
}
