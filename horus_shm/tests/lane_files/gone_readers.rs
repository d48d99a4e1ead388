//! Publishers beside the places of reliable readers that are detached, gone or dead.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use horus_shm::internals::TopicBlocks as _;
use horus_shm::internals::owner::OWNER_HELD_BIT;
use horus_shm::{
    Access, Namespace, OnStalled, RawConsumer, RawProducer, ReadMode, Reliability, Request,
    Segment, TypeInfo,
};

use super::name;
use crate::spawn;

const CAPACITY: u64 = 4;

/// Opens the topic for messages of any length.
fn opened(namespace: &Arc<Namespace>, reliability: Reliability) -> Arc<Segment> {
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    request.type_info.sized = true;
    (request.lane_limit, request.capacity) = (Some(1), Some(CAPACITY));
    request.reliability = Some(reliability);
    Segment::open_or_create(namespace, &name("gone"), &request).unwrap()
}

fn reader(segment: &Arc<Segment>) -> RawConsumer {
    RawConsumer::new(Arc::clone(segment), ReadMode::Gated).unwrap()
}

/// Makes the reader in a place a dead one: as if this process had its entry since.
fn kill(segment: &Segment, place: u32) -> u64 {
    let owner = &segment.reader_block(place, Access::Write).unwrap().owner;
    let dead = owner.load(Relaxed) ^ 1;
    assert!(segment.is_dead(dead));
    owner.store(dead, Relaxed);
    dead
}

fn send(producer: &mut RawProducer, messages: u64) {
    for _ in 0..messages {
        producer.send_bytes(&[1; 8]).unwrap();
    }
}

/// Also if the next reader in the place begins where the one before was detached, as readers do
/// that have moved here from another file.
#[test]
fn the_next_reader_in_the_place_of_a_detached_one_is_awaited() {
    let dir = spawn::shm_dir();
    let segment = opened(&spawn::namespace(dir.path()), Reliability::Reliable);
    let stalled = reader(&segment);
    let after = Duration::ZERO;
    let detach = OnStalled::Detach { after };
    let mut producer = RawProducer::new(Arc::clone(&segment), detach).unwrap();
    send(&mut producer, 3 * CAPACITY);
    let block = segment.reader_block(0, Access::Write).unwrap();
    assert_eq!(block.detached.load(Relaxed), 1);
    let cursor = &segment.cursors(0, Access::Write).unwrap()[0];
    let stalled_at = cursor.load(Relaxed);
    assert_eq!(stalled_at, 1);

    drop(stalled);
    let _next = reader(&segment);
    cursor.store(stalled_at, Relaxed);
    assert_eq!(block.detached.load(Relaxed), 0);
    send(&mut producer, 3 * CAPACITY);
    assert_eq!(
        block.detached.load(Relaxed),
        1,
        "overtaken, and not detached"
    );
}

/// Also if a dead reader is further behind, whose place is free or held by a process.
#[test]
fn slots_do_not_grow_beyond_a_live_reader_of_the_oldest_ones() {
    for is_held in [false, true] {
        grow_to_the_reader_of_the_oldest_slots(is_held);
    }
}

fn grow_to_the_reader_of_the_oldest_slots(is_held: bool) {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = opened(&namespace, Reliability::Reliable);
    let [_dead, mut live] = [(); 2].map(|()| reader(&segment));
    let mut producer = RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap();
    let lengths = [8, 5_000, 20_000, 80_000];
    for bytes in lengths {
        producer.send_bytes(&vec![1; bytes]).unwrap();
    }
    let place = segment.reader_block(0, Access::Write).unwrap();
    if is_held {
        place.owner.fetch_or(OWNER_HELD_BIT, Relaxed);
    } else {
        kill(&segment, 0);
    }
    let files = spawn::lane_files(&namespace).len();
    let sent = producer.send_bytes(&vec![1; 320_000]);
    assert!(
        sent.is_err_and(|error| error.is_full()),
        "it grew once more; held: {is_held}"
    );
    assert_eq!(spawn::lane_files(&namespace).len(), files);
    let mut message = vec![0; live.require_whole_messages()];
    let received = live.recv_bytes(&mut message);
    assert_eq!(received, Some(lengths[0]));
    while live.recv_bytes(&mut message).is_some() {
        message.resize(live.require_whole_messages(), 0);
    }
    producer.send_bytes(&vec![1; 320_000]).unwrap();
    if is_held {
        place.owner.fetch_and(!OWNER_HELD_BIT, Relaxed);
    }
}

/// It never waits for a reader, so nothing of a dead one is in its way.
#[test]
fn a_best_effort_publisher_that_grows_leaves_the_gate_of_a_dead_reader() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = opened(&namespace, Reliability::Reliable);
    let _dead = reader(&segment);
    let mut predecessor = RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap();
    for bytes in [8, 5_000, 20_000] {
        predecessor.send_bytes(&vec![1; bytes]).unwrap();
    }
    drop(predecessor);
    let dead = kill(&segment, 0);
    let successor = opened(&namespace, Reliability::BestEffort);
    let mut successor = RawProducer::new(successor, OnStalled::Full).unwrap();
    for bytes in [80_000, 320_000, 1_280_000] {
        successor.send_bytes(&vec![2; bytes]).unwrap();
    }
    let block = segment.reader_block(0, Access::Write).unwrap();
    assert_eq!(block.owner.load(Relaxed), dead);
    let gated = &segment.wait_block(Access::Write).unwrap().gated;
    assert_eq!(gated.load(Relaxed), 1);
    assert_eq!(
        segment.cursors(0, Access::Write).unwrap()[0].load(Relaxed),
        1
    );
}
