//! Sleeping endpoints are woken by every call of the other side that ends their wait.
//!
//! A sleep ends by itself after a slice of time, so a missing wake is not a hang. It shows in the
//! number of sleeps that ended by timeout.

use horus_testing as _;

#[cfg(not(miri))]
use std::fs;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::channel::{fanout, mpsc, spmc, spsc};
use horus_shm::internals::wait::timed_out_sleep_count;

/// The number of times that an endpoint falls asleep and has to be woken.
// WHY fewer: miri runs a thousandth as fast.
const TURNS: u64 = if cfg!(miri) { 4 } else { 20 };

/// The time between two looks at a thread. WHY no yield: a thread that sleeps gets a CPU soon on a
/// busy machine.
const PAUSE: Duration = Duration::from_micros(100);

/// The largest number of repetitions. WHY: on a busy machine sleeps end by timeout because the
/// thread that has to wake the sleeper does not run in time.
const TRIES: usize = 20;

/// The longest time to wait for a thread that has to fall asleep.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits long enough for the other thread to fall asleep, but not as long as it sleeps.
///
/// WHY: under miri there is no kernel to query. Its time passes with the steps of all threads.
#[cfg(miri)]
fn until_asleep(_: &AtomicI32) {
    thread::sleep(Duration::from_millis(20));
}

/// Waits until the thread with the id in `thread` sleeps in the kernel, or has ended.
#[cfg(not(miri))]
fn until_asleep(thread: &AtomicI32) {
    let begin = Instant::now();
    while begin.elapsed() < LIMIT {
        let id = thread.load(Ordering::Relaxed);
        let Ok(stat) = fs::read_to_string(format!("/proc/self/task/{id}/stat")) else {
            if id != 0 {
                return;
            }
            continue;
        };
        // The state follows the name, which stands in parentheses.
        if stat
            .rsplit(") ")
            .next()
            .is_some_and(|rest| rest.starts_with('S'))
        {
            return;
        }
        thread::sleep(PAUSE);
    }
    panic!("the thread does not fall asleep");
}

/// Makes a sleeper and the calls that have to wake it, again and again. Fails if most sleeps ended
/// by timeout each time.
#[track_caller]
fn expect_wakes<S, T>(what: &str, mut make: impl FnMut() -> (S, T))
where
    S: FnOnce(&AtomicU64) + Send,
    T: FnMut(),
{
    let mut counts = Vec::new();
    while counts.len() < TRIES {
        let (sleeper, turn) = make();
        let timed_out = timed_out_sleeps(sleeper, turn);
        if timed_out <= TURNS / 2 {
            return;
        }
        counts.push(timed_out);
    }
    panic!("{what}: of {TURNS} sleeps ended by timeout each time: {counts:?}");
}

/// Runs `sleeper` in a thread, which counts the messages it got, and `turn` each time that this
/// thread sleeps. Returns the number of its sleeps that ended by timeout.
fn timed_out_sleeps(sleeper: impl FnOnce(&AtomicU64) + Send, mut turn: impl FnMut()) -> u64 {
    let id = AtomicI32::new(0);
    let got = AtomicU64::new(0);
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            // SAFETY: the call takes no argument and cannot fail.
            id.store(unsafe { libc::gettid() }, Ordering::Relaxed);
            let before = timed_out_sleep_count();
            sleeper(&got);
            timed_out_sleep_count() - before
        });
        for _ in 0..TURNS {
            until_asleep(&id);
            let before = got.load(Ordering::Relaxed);
            turn();
            while got.load(Ordering::Relaxed) == before {
                thread::sleep(PAUSE);
            }
        }
        // It owns the other endpoint.
        drop(turn);
        sleeper.join().unwrap()
    })
}

/// Tests a sender that waits for a free slot, while its receiver takes by `$take`.
macro_rules! senders {
    ($($kind:ident, $name:literal, $take:expr;)*) => {$(
        expect_wakes($name, || {
            let (mut sender, mut receiver) = $kind::channel::<u64>(1);
            sender.set_spin(Duration::ZERO);
            let send_all = move |got: &AtomicU64| while sender.send(1).is_ok() {
                got.fetch_add(1, Ordering::Relaxed);
            };
            let take = $take;
            (send_all, move || while !take(&mut receiver) {
                thread::yield_now();
            })
        });
    )*};
}

#[test]
fn a_sleeping_sender_is_woken_by_every_kind_of_receive() {
    senders! {
        spsc, "recv", |rx: &mut spsc::Receiver<_>| rx.recv().is_ok();
        spsc, "try_recv", |rx: &mut spsc::Receiver<_>| rx.try_recv().is_ok();
        spsc, "recv_timeout", |rx: &mut spsc::Receiver<_>| rx.recv_timeout(LIMIT).is_ok();
        spsc, "try_recv_into", |rx: &mut spsc::Receiver<_>| rx.try_recv_into(&mut 0).is_ok();
        spsc, "recv_into", |rx: &mut spsc::Receiver<_>| rx.recv_into(&mut 0).is_ok();
        spsc, "drain", |rx: &mut spsc::Receiver<_>| rx.drain(drop) > 0;
        spsc, "drain_in_place", |rx: &mut spsc::Receiver<_>| rx.drain_in_place(|_| ()) > 0;
        spsc, "try_iter", |rx: &mut spsc::Receiver<_>| rx.try_iter().next().is_some();
        spmc, "spmc", |rx: &mut spmc::Receiver<_>| rx.try_recv().is_ok();
        mpsc, "mpsc", |rx: &mut mpsc::Receiver<_>| rx.try_recv().is_ok();
        mpsc, "mpsc, drain", |rx: &mut mpsc::Receiver<_>| rx.drain(drop) > 0;
        fanout, "fanout", |rx: &mut fanout::Receiver<_>| rx.try_recv().is_ok();
    }
}

/// Tests a receiver that waits for messages, while its sender sends by `$send`.
macro_rules! receivers {
    ($($kind:ident, $name:literal, $send:expr;)*) => {$(
        expect_wakes($name, || {
            let (mut sender, mut receiver) = $kind::channel::<u64>(64);
            receiver.set_spin(Duration::ZERO);
            let receive_all = move |got: &AtomicU64| while receiver.recv().is_ok() {
                got.fetch_add(1, Ordering::Relaxed);
            };
            let send = $send;
            (receive_all, move || send(&mut sender))
        });
    )*};
}

#[test]
fn a_sleeping_receiver_is_woken_by_every_kind_of_send() {
    receivers! {
        spsc, "send", |tx: &mut spsc::Sender<_>| tx.send(1).unwrap();
        spsc, "try_send", |tx: &mut spsc::Sender<_>| tx.try_send(1).unwrap();
        spsc, "send_timeout", |tx: &mut spsc::Sender<_>| tx.send_timeout(1, LIMIT).unwrap();
        spsc, "send_ref", |tx: &mut spsc::Sender<_>| tx.send_ref(&1).unwrap();
        spsc, "try_send_ref", |tx: &mut spsc::Sender<_>| tx.try_send_ref(&1).unwrap();
        spmc, "spmc", |tx: &mut spmc::Sender<_>| tx.send(1).unwrap();
        mpsc, "mpsc", |tx: &mut mpsc::Sender<_>| tx.send(1).unwrap();
        fanout, "fanout", |tx: &mut fanout::Sender<_>| tx.send(1).unwrap();
    }
}

#[test]
fn a_sleeper_is_woken_when_the_last_endpoint_of_the_other_side_leaves() {
    let channels = || (0..TURNS).map(|_| spsc::channel::<u64>(1));
    expect_wakes("a sender leaves", || {
        let (mut left, mut staying): (Vec<_>, Vec<_>) = channels().unzip();
        let receive_all = move |got: &AtomicU64| {
            for receiver in &mut staying {
                receiver.set_spin(Duration::ZERO);
                receiver.recv().unwrap_err();
                got.fetch_add(1, Ordering::Relaxed);
            }
        };
        left.reverse();
        (receive_all, move || drop(left.pop()))
    });
    expect_wakes("a receiver leaves", || {
        let (mut staying, mut left): (Vec<_>, Vec<_>) = channels().unzip();
        let send_all = move |got: &AtomicU64| {
            for sender in &mut staying {
                sender.set_spin(Duration::ZERO);
                sender.send(1).unwrap();
                sender.send(2).unwrap_err();
                got.fetch_add(1, Ordering::Relaxed);
            }
        };
        left.reverse();
        (send_all, move || drop(left.pop()))
    });
}

#[test]
fn a_sleep_that_ends_by_timeout_is_counted() {
    let (_sender, mut receiver) = spsc::channel::<u64>(1);
    receiver.set_spin(Duration::ZERO);
    let before = timed_out_sleep_count();
    // A slice of sleep takes 50 ms. WHY several calls: on a busy machine one slice can take as long
    // as the timeout of a call.
    for _ in 0..100 {
        receiver
            .recv_timeout(Duration::from_millis(120))
            .unwrap_err();
        if timed_out_sleep_count() >= before + 2 {
            return;
        }
    }
    panic!(
        "{} sleeps were counted in a hundred calls",
        timed_out_sleep_count() - before
    );
}
