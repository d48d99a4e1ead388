//! A process that has not noticed yet that the topic's file lost its name, and opens a publisher.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use horus_shm::internals::forbid_name_watch_thread;
use horus_shm::{Namespace, OnStalled, RawProducer, Request, Segment, TopicName, TypeInfo};

use super::{Scene, TOPIC, expect_nothing_lost, receive, send};
use crate::common::{Child, eventually, park, say};

/// Opens the topic, and a publisher when it is told to.
pub(super) fn claim_late() {
    forbid_name_watch_thread();
    let namespace = Namespace::current().unwrap();
    let mut type_info = TypeInfo::opaque::<u64>();
    type_info.sized = true;
    let request = Request::new(type_info);
    let segment =
        Segment::open_or_create(&namespace, &TopicName::new(TOPIC).unwrap(), &request).unwrap();
    say("here");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let mut producer = RawProducer::new(segment, OnStalled::Full).unwrap();
    send(&mut producer, 100..101);
    say("sent");
    park();
}

/// WHY: readers leave a file that has no publishers.
#[test]
fn a_publisher_that_comes_late_sends_where_readers_are() {
    let scene = Scene::alone(0);
    let mut late = Child::spawn("claim late", scene.dir.path());
    let mut reader = scene.reader();
    assert_eq!(late.listen(), "here");
    let former = Arc::downgrade(reader.segment());
    scene.remove();
    eventually("the reader leaves the former file", || {
        assert_eq!(receive(&mut reader), []);
        former.strong_count() == 0
    });
    assert_eq!(late.ask("now"), "sent");
    assert_eq!(receive(&mut reader), [100]);
    expect_nothing_lost(&reader, 1);
}

/// WHY it must not take over the lane that a publisher left when it moved: readers find there how
/// far they have read that publisher's messages.
#[test]
fn a_publisher_that_comes_late_takes_no_lane_that_another_one_left_to_move() {
    for history in [8, 2, 0] {
        let scene = Scene::alone(history);
        let mut late = Child::spawn("claim late", scene.dir.path());
        let mut reader = scene.reader();
        let mut producer = scene.producer();
        assert_eq!(late.listen(), "here");
        send(&mut producer, 0..3);
        assert_eq!(receive(&mut reader), [0, 1, 2]);
        scene.remove();
        send(&mut producer, 3..5);
        assert_eq!(late.ask("now"), "sent");
        let mut received = receive(&mut reader);
        received.sort_unstable();
        assert_eq!(received, [3, 4, 100], "history {history}");
        let stats = reader.stats();
        let found = (stats.sent, stats.received, stats.lost, stats.waiting);
        assert_eq!(found, (6, 6, 0, 0), "history {history}");
    }
}

/// A publisher that cannot be opened has claimed a lane for a moment.
#[test]
fn a_publisher_that_cannot_be_opened_is_not_counted() {
    let scene = Scene::new(0);
    let segment = scene.open();
    let blocked = scene.block_lanes(1);
    let is_over = AtomicBool::new(false);
    let counted = thread::scope(|scope| {
        let counting = scope.spawn(|| {
            let mut most = 0;
            while !is_over.load(Relaxed) {
                most = most.max(segment.publisher_count());
            }
            most
        });
        for _ in 0..300 {
            assert!(RawProducer::new(scene.open(), OnStalled::Full).is_err());
        }
        is_over.store(true, Relaxed);
        counting.join().unwrap()
    });
    drop(blocked);
    assert_eq!(counted, 0);
    let _producer = scene.producer();
    assert_eq!(segment.publisher_count(), 1);
}
