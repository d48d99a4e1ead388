//! Latched history in lanes whose publishers skip slots, because readers hold borrowed messages.

use std::path::Path;
use std::sync::Arc;

use horus_shm::internals::TopicBlocks as _;
use horus_shm::{
    Access, LatchKey, Namespace, OnStalled, RawConsumer, RawProducer, RawSample, ReadMode,
    Reliability, Request, Segment, TopicName, TypeInfo,
};

use crate::{common, skips, spawn};

const CAPACITY: u64 = 4;

fn request(capacity: u64, history: u32) -> Request {
    let mut request = Request::new(TypeInfo::opaque::<[u64; 64]>());
    request.type_info.sized = true;
    (request.capacity, request.pinnable) = (Some(capacity), Some(true));
    (request.persists, request.history) = (Some(true), Some(history));
    request.reliability = Some(Reliability::Reliable);
    (request.lane_limit, request.latch_key) = (Some(1), Some(LatchKey(7)));
    request
}

fn opened(namespace: &Arc<Namespace>, request: &Request) -> Arc<Segment> {
    let name = TopicName::new("latched").unwrap();
    Segment::open_or_create(namespace, &name, request).unwrap()
}

fn publisher(segment: &Arc<Segment>) -> RawProducer {
    RawProducer::new(Arc::clone(segment), OnStalled::Full).unwrap()
}

fn reader(segment: &Arc<Segment>, reading: ReadMode) -> RawConsumer {
    RawConsumer::new(Arc::clone(segment), reading).unwrap()
}

fn send(publisher: &mut RawProducer, numbers: std::ops::Range<u8>) {
    numbers.for_each(|number| publisher.send_bytes(&[number; 8]).unwrap());
}

/// Returns the messages that the next call of a reader gets, and those after it.
fn received(reader: &mut RawConsumer) -> Vec<u8> {
    let mut message = [0; 512];
    let mut numbers = Vec::new();
    while reader.recv_bytes(&mut message).is_some() {
        numbers.push(message[0]);
    }
    numbers
}

/// Expects that readers of each kind that join now get just these messages.
#[track_caller]
fn expect_history(segment: &Arc<Segment>, wanted: &[u8]) {
    for reading in [ReadMode::KeepLast, ReadMode::Gated, ReadMode::Observer] {
        let mut late = reader(segment, reading);
        assert_eq!(received(&mut late), wanted, "{reading:?}");
        let stats = late.stats();
        let counts = (stats.sent, stats.lost, stats.waiting);
        assert_eq!(counts, (wanted.len() as u64, 0, 0), "{reading:?}");
    }
}

/// A lane with messages 0 to 3 in its four slots. The first one is borrowed, so the next position
/// is a skip.
struct Scene {
    _dir: tempfile::TempDir,
    segment: Arc<Segment>,
    publisher: RawProducer,
    held: RawSample,
}

fn scene() -> Scene {
    let dir = spawn::shm_dir();
    let segment = opened(&spawn::namespace(dir.path()), &request(CAPACITY, 1));
    let mut holder = reader(&segment, ReadMode::KeepLast);
    let mut publisher = publisher(&segment);
    send(&mut publisher, 0..4);
    let held = holder.borrow().unwrap().unwrap();
    Scene {
        _dir: dir,
        segment,
        publisher,
        held,
    }
}

#[test]
fn a_loan_that_skips_and_is_dropped_hides_no_latched_message() {
    let mut scene = scene();
    let _ = scene.publisher.loan().unwrap();
    assert_eq!(skips(&scene.segment), 1);
    expect_history(&scene.segment, &[3]);
    drop(scene.publisher);
    expect_history(&scene.segment, &[3]);
    assert_eq!(scene.held.bytes(), [0; 8]);
}

#[test]
fn successors_that_only_lend_hide_no_latched_message() {
    let Scene {
        _dir,
        segment,
        publisher: first,
        held,
    } = scene();
    drop(first);
    for successor in 0..3 {
        let mut successor_of_all = publisher(&segment);
        let _ = successor_of_all.loan().unwrap();
        assert_eq!(skips(&segment), 1, "successor {successor}");
        expect_history(&segment, &[3]);
        drop(successor_of_all);
        expect_history(&segment, &[3]);
    }
    // The first message of a successor ends the history of its predecessors.
    let mut last = publisher(&segment);
    send(&mut last, 9..10);
    expect_history(&segment, &[9]);
    drop(held);
}

#[test]
fn a_skip_before_the_lane_grows_hides_no_latched_message() {
    let mut scene = scene();
    let _ = scene.publisher.loan().unwrap();
    scene.publisher.reserve(100_000).unwrap();
    assert_eq!(skips(&scene.segment), 1);
    expect_history(&scene.segment, &[3]);
}

#[test]
fn the_history_has_its_length_beside_a_slot_that_stays_borrowed() {
    let dir = spawn::shm_dir();
    let segment = opened(&spawn::namespace(dir.path()), &request(16, 6));
    let mut holder = reader(&segment, ReadMode::KeepLast);
    let mut publisher = publisher(&segment);
    send(&mut publisher, 0..1);
    let held = holder.borrow().unwrap().unwrap();
    for number in 1..100 {
        send(&mut publisher, number..number + 1);
        let first = (number + 1).saturating_sub(6);
        expect_history(&segment, &(first..=number).collect::<Vec<_>>());
    }
    assert_eq!(skips(&segment), 6);
    drop(held);
}

/// Publishes messages 0 to 3, or nothing, and is killed while it fills a loan that skipped a slot.
fn lend_and_die(dir: &Path, messages: std::ops::Range<u8>) -> bool {
    let segment = opened(&spawn::namespace(dir), &request(CAPACITY, 1));
    let mut publisher = publisher(&segment);
    send(&mut publisher, messages);
    let pins = || segment.reader_block(0, Access::Read).unwrap().pins[0].as_ptr();
    // SAFETY: the word is mapped, and only read.
    common::eventually(
        "a message is borrowed",
        || unsafe { pins().read_volatile() } != 0,
    );
    let _loan = publisher.loan().unwrap();
    // SAFETY: the call takes no pointer.
    unsafe { libc::raise(libc::SIGKILL) };
    unreachable!();
}

#[test]
fn publishers_that_are_killed_while_they_lend_hide_no_latched_message() {
    let dir = spawn::shm_dir();
    let segment = opened(&spawn::namespace(dir.path()), &request(CAPACITY, 1));
    let mut holder = reader(&segment, ReadMode::KeepLast);
    let first = common::fork(|| lend_and_die(dir.path(), 0..4));
    let mut held = None;
    common::eventually("a message arrives", || {
        held = holder.borrow().unwrap();
        held.is_some()
    });
    common::join_fork(first);
    assert_eq!(skips(&segment), 1);
    expect_history(&segment, &[3]);
    for _ in 0..2 {
        common::join_fork(common::fork(|| lend_and_die(dir.path(), 0..0)));
        expect_history(&segment, &[3]);
    }
    assert_eq!(held.unwrap().bytes(), [0; 8]);
}
