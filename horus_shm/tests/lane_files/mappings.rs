//! The mappings of lane files: each is there for as long as an endpoint of the process uses it, and
//! no longer.

use std::fs;
use std::sync::Arc;

use horus_shm::{
    Namespace, OnStalled, Producer, RawConsumer, RawProducer, ReadMode, RecvError, Request,
    Segment, TypeInfo,
};

use super::{CAPACITY, consumer, name, open, producer, spawn};

/// Number of times that publishers of two types take the lane in turn.
const CHANGES_OF_TYPE: u64 = 50;
/// Number of mappings of lane files that may be there at any time: those of the last extent that
/// the subscriber read and of the present one, each for a publisher and a subscriber.
const MAPPINGS_MAX: usize = 4;

/// Returns the number of mappings of lane files in this process, and that of its descriptors of
/// lane files.
fn lane_files_in_use(namespace: &Namespace) -> (usize, usize) {
    let prefix = format!("{}/.", namespace.topics_path().display());
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mapped = maps.lines().filter(|line| line.contains(&prefix)).count();
    let links = fs::read_dir("/proc/self/fd").unwrap();
    let files = links.filter_map(|link| fs::read_link(link.ok()?.path()).ok());
    let is_lane_file = |path: &std::path::PathBuf| path.to_string_lossy().starts_with(&prefix);
    (mapped, files.filter(is_lane_file).count())
}

/// Opens a publisher whose messages have a type of their own, sends one, and closes it.
fn send_of_other_type(namespace: &Arc<Namespace>, topic: &str) {
    let mut other = TypeInfo::opaque::<[u64; 2]>();
    other.hash = [1; 16];
    let mut request = Request::new(other);
    request.capacity = Some(CAPACITY);
    let segment = Segment::open_or_create(namespace, &name(topic), &request).unwrap();
    let mut other = RawProducer::new(segment, OnStalled::Full).unwrap();
    let message = [0_u64; 2];
    // SAFETY: the message has the length of the type.
    unsafe { other.send(message.as_ptr().cast(), size_of_val(&message)) }.unwrap();
}

fn keeps_no_extent_of_another_type(reading: ReadMode) {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = open(&namespace, "topic");
    let mut reader = RawConsumer::new(Arc::clone(&segment), reading)
        .map(horus_shm::Consumer::<u64>::new)
        .unwrap();
    for number in 0..CHANGES_OF_TYPE {
        producer(&segment).unwrap().send(number).unwrap();
        assert_eq!(reader.recv(), Some(number));
        send_of_other_type(&namespace, "topic");
        assert_eq!(reader.recv(), None);
        let (mapped, open) = lane_files_in_use(&namespace);
        assert!(
            mapped <= MAPPINGS_MAX && open <= MAPPINGS_MAX,
            "change {number}: {mapped} mappings, {open} descriptors"
        );
    }
    drop(reader);
    assert_eq!(lane_files_in_use(&namespace), (0, 0));
}

#[test]
fn a_subscriber_keeps_no_extent_of_another_type() {
    keeps_no_extent_of_another_type(ReadMode::KeepLast);
}

#[test]
fn an_observer_keeps_no_extent_of_another_type() {
    keeps_no_extent_of_another_type(ReadMode::Observer);
}

/// The process keeps the topic open, as one that also publishes does.
#[test]
fn a_subscriber_that_is_closed_keeps_no_extent() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = open(&namespace, "kept");
    for number in 0..CHANGES_OF_TYPE {
        producer(&segment).unwrap().send(number).unwrap();
        let mut reader = consumer(&segment).unwrap();
        assert_eq!(reader.recv(), Some(number));
        drop(reader);
        send_of_other_type(&namespace, "kept");
        let late = consumer(&segment).unwrap();
        drop(late);
        assert_eq!(lane_files_in_use(&namespace), (0, 0), "change {number}");
    }
}

/// One subscriber has left the former extent, whose file is truncated then; another one still reads
/// it.
#[test]
fn an_extent_that_another_subscriber_has_left_is_lost_for_all() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = open(&namespace, "topic");
    let mut predecessor = producer(&segment).unwrap();
    // They map the extent here.
    let [mut fast, mut slow] = [(); 2].map(|()| consumer(&segment).unwrap());
    predecessor.send(1).unwrap();
    drop(predecessor);
    let former = &spawn::lane_files(&namespace)[0];
    assert_eq!(fast.recv(), Some(1));
    let mut successor = successor(&namespace);
    successor.send(2).unwrap();
    assert_eq!(fast.recv(), Some(2));
    let path = namespace.topics_path().join(former);
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_len(0).unwrap();
    assert_eq!(slow.recv(), None);
    for reader in [&fast, &slow] {
        assert!(
            matches!(reader.check(), Err(RecvError::RegionLost { .. })),
            "{:?}",
            reader.check()
        );
    }
    drop(slow);
    assert!(segment.is_memory_lost());
    assert!(fast.check().is_err());
}

/// Returns a publisher of a lane with other settings than its predecessor, so that it begins a new
/// extent.
fn successor(namespace: &Arc<Namespace>) -> Producer<u64> {
    let mut longer = Request::new(TypeInfo::opaque::<u64>());
    longer.capacity = Some(2 * CAPACITY);
    let segment = Segment::open_or_create(namespace, &name("topic"), &longer).unwrap();
    producer(&segment).unwrap()
}

/// A publisher begins a new extent while another one's lane cannot be mapped.
#[test]
fn a_lane_that_cannot_be_mapped_delays_no_other() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = open(&namespace, "topic");
    let mut predecessor = producer(&segment).unwrap();
    let mut reader = consumer(&segment).unwrap();
    let former = spawn::lane_files(&namespace);
    let _unmapped = producer(&segment).unwrap();
    let mut files = spawn::lane_files(&namespace);
    files.retain(|file| !former.contains(file));
    fs::remove_file(namespace.topics_path().join(&files[0])).unwrap();
    predecessor.send(1).unwrap();
    drop(predecessor);
    let mut successor = successor(&namespace);
    successor.send(2).unwrap();
    assert_eq!(reader.recv(), Some(1));
    let check = reader.check();
    assert!(
        matches!(check, Err(RecvError::LaneNotMapped { .. })),
        "{check:?}"
    );
    assert_eq!(reader.recv(), Some(2));
    successor.send(3).unwrap();
    assert_eq!((reader.recv(), reader.check()), (Some(3), check));
}
