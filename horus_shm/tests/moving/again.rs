//! Endpoints that come back to a renamed file and move once more, and readers that come back to a
//! file that they had left.

use std::ops::Range;
use std::sync::Arc;

use horus_shm::{OnStalled, RawConsumer, RawProducer, ReadMode, Reliability};

use super::{Scene, expect_nothing_lost, moved_reader, receive, send};
use crate::common::eventually;

impl Scene {
    /// A publisher whose history stays after it has left.
    fn latching_producer(&self) -> RawProducer {
        let mut request = self.request();
        request.persists = Some(true);
        RawProducer::new(self.open_with(&request), OnStalled::Full).unwrap()
    }

    /// Returns the messages that a reader gets that joins now.
    fn received_late(&self) -> Vec<u64> {
        receive(&mut self.reader())
    }
}

/// Sends messages in a file that is renamed away after the first ones, and gets its name back
/// before the last ones.
fn send_there_and_back(
    scene: &Scene,
    producer: &mut RawProducer,
    [first, elsewhere, last]: [Range<u64>; 3],
) {
    send(producer, first);
    scene.rename_away();
    send(producer, elsewhere);
    scene.rename_back();
    send(producer, last);
}

#[test]
fn a_publisher_that_came_back_repeats_its_history_when_it_moves_again() {
    let scene = Scene::new(4);
    let _kept = scene.open();
    let mut producer = scene.producer();
    send_there_and_back(&scene, &mut producer, [0..10, 10..13, 13..15]);
    scene.remove();
    send(&mut producer, 15..16);
    assert_eq!(scene.received_late(), [12, 13, 14, 15]);
}

#[test]
fn a_latched_message_outlives_a_publisher_that_came_back_and_leaves_in_the_next_file() {
    let scene = Scene::new(1);
    let mut producer = scene.latching_producer();
    send_there_and_back(&scene, &mut producer, [0..10, 10..11, 11..12]);
    scene.remove();
    drop(producer);
    assert_eq!(scene.received_late(), [11]);
}

/// The reader is never called while the publisher is back in the first file.
#[test]
fn a_reliable_publisher_that_came_back_repeats_what_its_reader_has_not_received() {
    let scene = Scene::new(0);
    let _kept = scene.open();
    let (mut producer, mut reader) = scene.reliable();
    let former = Arc::downgrade(reader.segment());
    send(&mut producer, 0..10);
    assert_eq!(receive(&mut reader).len(), 10);
    scene.rename_away();
    let mut sent = 10;
    eventually("both leave the first file", || {
        send(&mut producer, sent..sent + 1);
        assert_eq!(receive(&mut reader), [sent]);
        sent += 1;
        former.strong_count() == 0
    });
    scene.rename_back();
    send(&mut producer, sent..sent + 3);
    scene.remove();
    send(&mut producer, sent + 3..sent + 4);
    let all: Vec<_> = (sent..sent + 4).collect();
    assert_eq!(receive(&mut reader), all);
    expect_nothing_lost(&reader, sent + 4);
}

/// Each publisher has the lane of the one before, so a session says nothing about the messages of
/// the first one.
#[test]
fn a_reader_that_comes_back_to_a_file_that_it_had_left_gets_no_message_twice() {
    for reading in [ReadMode::KeepLast, ReadMode::Gated] {
        let scene = Scene::new(0);
        let mut request = scene.request();
        request.reliability = Some(Reliability::Reliable);
        let open = || RawProducer::new(scene.open_with(&request), OnStalled::Full).unwrap();
        let mut reader = RawConsumer::new(scene.open(), reading).unwrap();
        for numbers in [0..5, 5..10] {
            let mut producer = open();
            send(&mut producer, numbers.clone());
            assert_eq!(receive(&mut reader), numbers.collect::<Vec<_>>());
        }
        let _kept = scene.open();
        let former = Arc::downgrade(reader.segment());
        scene.rename_away();
        eventually("the reader leaves the file", || {
            assert_eq!(receive(&mut reader), []);
            former.strong_count() == 0
        });
        scene.rename_back();
        let mut producer = open();
        assert_eq!(producer.lane(), 0);
        send(&mut producer, 10..11);
        assert_eq!(receive(&mut reader), [10], "{reading:?}");
        expect_nothing_lost(&reader, 11);
        assert_eq!(reader.stats().sent, 11, "{reading:?}");
    }
}

/// The reader moves from the first file to the third, and then comes to the second.
#[test]
fn a_reader_that_comes_to_a_file_late_gets_no_message_twice() {
    for (history, missed) in [(4, 0), (0, 3)] {
        let scene = Scene::new(history);
        let mut reader = scene.reader();
        let mut producer = scene.producer();
        send(&mut producer, 0..10);
        assert_eq!(receive(&mut reader).len(), 10);
        scene.remove();
        send(&mut producer, 10..13);
        let _kept = scene.open();
        scene.rename_away();
        send(&mut producer, 13..15);
        let all: Vec<_> = (10 + missed..15).collect();
        assert_eq!(receive(&mut reader), all, "history {history}");
        scene.rename_back();
        send(&mut producer, 15..16);
        assert_eq!(receive(&mut reader), [15], "history {history}");
        let stats = reader.stats();
        let found = (stats.sent, stats.received, stats.lost, stats.waiting);
        assert_eq!(found, (16, 16 - missed, missed, 0), "history {history}");
    }
}

#[test]
fn a_publisher_that_came_back_leaves_no_older_latched_message() {
    let scene = Scene::new(1);
    let mut producer = scene.latching_producer();
    send_there_and_back(&scene, &mut producer, [0..10, 10..11, 11..12]);
    assert_eq!(scene.received_late(), [11]);
    drop(producer);
    assert_eq!(scene.received_late(), [11], "the publisher has left");
    let mut producer = scene.latching_producer();
    assert_eq!(scene.received_late(), [11], "the next one is there");
    send(&mut producer, 12..13);
    assert_eq!(scene.received_late(), [12], "it has sent a message");
}

/// The publisher still has its first lane when it comes back, because a reliable reader has not
/// been called since.
#[test]
fn a_publisher_that_came_back_offers_one_history() {
    for persists in [false, true] {
        let scene = Scene::new(1);
        let mut request = scene.request();
        request.reliability = Some(Reliability::Reliable);
        request.persists = Some(persists);
        let open = || scene.open_with(&request);
        let [_idle, mut called] =
            [(); 2].map(|()| RawConsumer::new(open(), ReadMode::Gated).unwrap());
        let mut producer = RawProducer::new(open(), OnStalled::Full).unwrap();
        send(&mut producer, 0..10);
        assert_eq!(receive(&mut called).len(), 10);
        scene.rename_away();
        send(&mut producer, 10..11);
        assert_eq!(receive(&mut called), [10]);
        scene.rename_back();
        send(&mut producer, 11..12);
        assert_eq!(scene.received_late(), [11], "persists: {persists}");
        assert_eq!(receive(&mut called), [11], "persists: {persists}");
    }
}

/// A thread that waits is told of a message that its reader takes only after others.
#[test]
fn a_watch_shows_a_message_of_a_publisher_that_came_back() {
    let scene = Scene::new(0);
    let mut reader = scene.reader();
    let mut producer = scene.producer();
    send_there_and_back(&scene, &mut producer, [0..1, 1..2, 2..3]);
    let mut watch = reader.watch();
    let mut message = [0; 8];
    for number in [0_u64, 2] {
        watch.follow_consumer();
        assert!(watch.has_message(), "message {number} waits");
        assert_eq!(reader.recv_bytes(&mut message), Some(8));
        assert_eq!(u64::from_le_bytes(message), number);
    }
    assert_eq!(receive(&mut reader), []);
    watch.follow_consumer();
    assert!(!watch.has_message());
}

#[test]
fn repeated_history_that_a_reader_has_is_not_waiting_for_it() {
    let scene = Scene::new(4);
    let (mut producer, mut reader) = moved_reader(&scene);
    send(&mut producer, 6..7);
    let stats = reader.stats();
    let found = (stats.sent, stats.received, stats.lost, stats.waiting);
    assert_eq!(found, (7, 6, 0, 1));
    assert_eq!(reader.recv_bytes(&mut [0; 8]), Some(8));
    let counters = reader.segment().reader_counters();
    let [seen] = &counters[..] else {
        panic!("one reader is there");
    };
    let found = (seen.received, seen.lost, seen.waiting);
    assert_eq!(found, (1, 0, 0), "in the present file");
}
