//! Waiting for messages and for room: blocks without burning, wakes at once, loses no wake.

use std::time::{Duration, Instant};

use horus_shm::wait::Patience;
use horus_shm::{FanoutShm, RingOptions, SpscShm};

#[test]
fn a_sleeping_consumer_is_woken_by_a_message() {
    let ring = FanoutShm::<u64>::heap(&RingOptions::capacity(8)).unwrap();
    let (mut consumer, mut producer) = (ring.consumer().unwrap(), ring.producer().unwrap());
    let reading = std::thread::spawn(move || {
        let patience = Patience::endless().spinning(Duration::ZERO);
        (0..1000).map(|_| consumer.recv_until(patience).unwrap()).collect::<Vec<_>>()
    });
    for number in 0..1000 {
        producer.send(number).unwrap();
        std::thread::yield_now();
    }
    assert!(reading.join().unwrap().windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn an_impatient_consumer_goes_without() {
    let ring = FanoutShm::<u64>::heap(&RingOptions::capacity(8)).unwrap();
    let mut consumer = ring.consumer().unwrap();
    let begin = Instant::now();
    let timeout = Duration::from_millis(20);
    assert_eq!(consumer.recv_until(Patience::of(timeout)), None);
    assert!(begin.elapsed() >= timeout);
}

#[test]
fn a_sleeping_producer_is_woken_by_room() {
    let ring = SpscShm::<u64>::heap(&RingOptions::capacity(2)).unwrap();
    let (mut producer, mut consumer) = (ring.producer().unwrap(), ring.consumer().unwrap());
    let sending = std::thread::spawn(move || {
        let patience = Patience::endless().spinning(Duration::ZERO);
        (0..1000).for_each(|number| producer.send_until(patience, &number).unwrap());
    });
    let patience = Patience::endless().spinning(Duration::ZERO);
    for number in 0..1000 {
        assert_eq!(consumer.recv_until(patience), Some(number));
    }
    sending.join().unwrap();
}
