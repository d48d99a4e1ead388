//! Reliable publishers that wait for subscribers which have not moved yet.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use horus_shm::internals::sync::Word as _;
use horus_shm::internals::wait::WaitPolicy;
use horus_shm::internals::{TopicBlocks as _, check_names_now};
use horus_shm::{Access, OnStalled, RawConsumer, RawProducer, ReadMode, Reliability, Segment};

use super::{Scene, expect_nothing_lost, receive, send, send_until_full};
use crate::common::eventually;

/// More messages than the lane has slots.
const MANY: [usize; 20] = [8; 20];

impl Scene {
    /// A reliable publisher that has moved, and whose four slots are full, because the subscriber
    /// has not moved. Returns the number of its next message, too.
    fn held_back(&self) -> (RawProducer, RawConsumer, u64) {
        let mut request = self.request();
        (request.capacity, request.reliability) = (Some(4), Some(Reliability::Reliable));
        let segment = self.open_with(&request);
        let mut reader = RawConsumer::new(Arc::clone(&segment), ReadMode::Gated).unwrap();
        let mut producer = RawProducer::new(segment, OnStalled::Full).unwrap();
        send(&mut producer, 0..1);
        assert_eq!(receive(&mut reader), [0]);
        self.remove();
        let next = send_until_full(&mut producer, 1, &MANY);
        assert!(next <= 5, "the lane has four slots");
        (producer, reader, next)
    }
}

fn has_waiting_publisher(segment: &Segment) -> bool {
    let block = segment.wait_block(Access::Read).unwrap();
    block.room_waiters.get() != 0
}

#[test]
fn the_reader_that_has_not_moved_is_named_as_the_slowest() {
    let scene = Scene::new(0);
    let (mut producer, mut reader, next) = scene.held_back();
    let slowest = producer.slowest_reader().expect("there is a reader");
    assert_eq!(slowest.process.unwrap().pid, std::process::id());
    assert_eq!(receive(&mut reader), (1..next).collect::<Vec<_>>());
    send(&mut producer, next..next + 1);
    drop(reader);
    assert_eq!(producer.slowest_reader(), None);
}

/// The publisher sleeps until there is room in its present file, also if it moved meanwhile.
#[test]
fn a_wait_for_room_follows_the_publisher_to_the_next_file() {
    let scene = Scene::new(0);
    let (mut producer, mut reader, next) = scene.held_back();
    let before = Arc::clone(producer.segment());
    let sending = thread::spawn(move || {
        let policy = WaitPolicy::with_timeout(Duration::from_secs(60));
        producer
            .send_bytes_until(policy, &next.to_le_bytes())
            .unwrap();
        producer
    });
    eventually("the publisher sleeps", || has_waiting_publisher(&before));
    scene.remove();
    let present = scene.open();
    eventually("the publisher sleeps in the next file", || {
        check_names_now();
        has_waiting_publisher(&present) && !has_waiting_publisher(&before)
    });
    let mut received = receive(&mut reader);
    let _producer = sending.join().unwrap();
    // WHY 0: the send has succeeded.
    let lanes = present.lane_counters();
    assert!(lanes.iter().all(|lane| lane.refused == 0), "{lanes:?}");
    received.extend(receive(&mut reader));
    assert_eq!(received, (1..=next).collect::<Vec<_>>());
    expect_nothing_lost(&reader, next + 1);
}

impl Scene {
    /// A reliable publisher with four slots that gives up readers after `after`, and two reliable
    /// readers. The publisher and the second reader have moved; the first one makes no call. The
    /// publisher's lane is full of messages that the second reader has received.
    fn one_of_two_has_moved(&self, after: Duration) -> (RawProducer, RawConsumer, RawConsumer) {
        let mut request = self.request();
        (request.capacity, request.reliability) = (Some(4), Some(Reliability::Reliable));
        let segment = self.open_with(&request);
        let reader = || RawConsumer::new(Arc::clone(&segment), ReadMode::Gated).unwrap();
        let (unmoved, mut reading) = (reader(), reader());
        let detach = OnStalled::Detach { after };
        let mut producer = RawProducer::new(Arc::clone(&segment), detach).unwrap();
        self.remove();
        send(&mut producer, 0..4);
        assert_eq!(receive(&mut reading), [0, 1, 2, 3]);
        (producer, unmoved, reading)
    }
}

#[test]
fn only_the_reader_that_has_not_moved_is_given_up() {
    let scene = Scene::new(0);
    let (mut producer, unmoved, mut reading) = scene.one_of_two_has_moved(Duration::ZERO);
    send(&mut producer, 4..5);
    assert_eq!(receive(&mut reading), [4]);
    let counts = (unmoved.detach_count(), reading.detach_count());
    assert_eq!(
        counts,
        (1, 0),
        "of the one that has not moved, and the other"
    );
}

#[test]
fn a_publisher_that_gave_up_an_unmoved_reader_still_waits_for_the_others() {
    let scene = Scene::new(0);
    let (mut producer, _unmoved, mut reading) = scene.one_of_two_has_moved(Duration::from_secs(1));
    let policy = WaitPolicy::with_timeout(Duration::from_secs(60));
    let sent = producer.send_bytes_until(policy, &4_u64.to_le_bytes());
    sent.unwrap();
    // WHY: if the readers were given up, too, all these messages would find room.
    let next = send_until_full(&mut producer, 5, &MANY);
    assert_eq!(next, 8, "the lane has four slots");
    assert_eq!(receive(&mut reading), [4, 5, 6, 7]);
    expect_nothing_lost(&reading, 8);
}
