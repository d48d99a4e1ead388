//! Sending and receiving in a real-time thread: no call on that path may block.
//!
//! An ordinary run only checks that the messages arrive. `.ci/sanitizers` builds this file with
//! RealtimeSanitizer, which ends a process that allocates, locks or calls the kernel within a
//! function that is marked `nonblocking`. `sanitizer_teeth.rs` shows that it does.

#![cfg_attr(horus_sanitizer = "realtime", feature(sanitize))]

use horus_testing as _;

mod cases;
mod common;
mod spawn;
mod stream;

use std::sync::Arc;

use horus_shm::{Consumer, Producer, Segment};

use cases::{CASES, Case};
use common::result;
use spawn::{namespace, shm_dir};
use stream::{Account, Tagged};

const CAPACITY: u64 = 16;
/// Enough for many laps.
const MESSAGES: u32 = 1000;

#[inline(never)]
#[cfg_attr(horus_sanitizer = "realtime", sanitize(realtime = "nonblocking"))]
fn send<M: Tagged>(producer: &mut Producer<M>, message: &M) -> bool {
    producer.send_ref(message).is_ok()
}

#[inline(never)]
#[cfg_attr(horus_sanitizer = "realtime", sanitize(realtime = "nonblocking"))]
fn take<M: Tagged>(case: &Case, consumer: &mut Consumer<M>) -> Option<M> {
    case.take(consumer)
}

/// Lets every sender send and every receiver receive, in turn, without waiting.
fn exchange<M: Tagged>(case: &Case, segment: &Arc<Segment>) {
    let mut consumers: Vec<_> = (0..case.readings.len())
        .map(|index| case.receiver::<M>(segment, index))
        .collect();
    let mut producers: Vec<_> = (0..case.senders)
        .map(|_| case.sender::<M>(segment))
        .collect();
    let mut accounts = vec![Account::default(); consumers.len()];
    // WHY: the first poll maps the lanes of publishers that came later; that is documented.
    consumers
        .iter_mut()
        .for_each(|consumer| assert!(consumer.recv().is_none()));
    for number in 0..MESSAGES {
        for (id, producer) in producers.iter_mut().enumerate() {
            assert!(
                send(producer, &M::new(id as u32, number)),
                "{}: full",
                case.name
            );
        }
        for (consumer, account) in consumers.iter_mut().zip(&mut accounts) {
            while let Some(message) = take(case, consumer) {
                account.take(&message);
            }
        }
    }
    for (consumer, account) in consumers.iter().zip(&accounts) {
        account.expect_sound(consumer.stats()).unwrap();
        assert_eq!(
            account.received,
            u64::from(MESSAGES * case.senders),
            "{}",
            case.name
        );
    }
}

fn exchange_in<M: Tagged>(place: &str) {
    for case in &CASES {
        if place == "heap" {
            exchange::<M>(case, &case.heap::<M>(CAPACITY));
        } else {
            let dir = shm_dir();
            exchange::<M>(
                case,
                &case.file::<M>(&namespace(dir.path()), "ring", CAPACITY),
            );
        }
    }
    let rings = CASES.map(|case| case.name).join(" ");
    result(
        &format!("real_time/{place}/{} B", size_of::<M>()),
        format!("{MESSAGES} each: {rings}"),
    );
}

#[test]
fn no_endpoint_of_a_ring_on_the_heap_leaves_the_real_time_path() {
    exchange_in::<[u64; 2]>("heap");
    exchange_in::<[u64; 38]>("heap");
    exchange_in::<[u64; 185]>("heap");
}

#[test]
fn no_endpoint_of_a_ring_in_a_file_leaves_the_real_time_path() {
    exchange_in::<[u64; 2]>("file");
    exchange_in::<[u64; 38]>("file");
    exchange_in::<[u64; 185]>("file");
}
