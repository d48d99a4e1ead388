//! Endpoints that move to another file of their topic, after the one before lost its name: moves
//! that fail, and lanes that others have taken over since.

#![cfg(target_os = "linux")]

use horus_testing as _;

mod common;
mod spawn;

use std::fs::{self, File};
use std::mem::offset_of;
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use horus_shm::internals::layout::Header;
use horus_shm::internals::sync::Word as _;
use horus_shm::internals::{Blocks as _, forbid_name_thread, look_at_names};
use horus_shm::{
    Access, Namespace, OnStalled, RawConsumer, RawProducer, ReadMode, Request, Segment, SendError,
    TopicName, TypeInfo,
};
use tempfile::TempDir;

const TOPIC: &str = "moved";
/// The time after which an endpoint whose move failed, tries again.
const RETRY_PERIOD: Duration = Duration::from_millis(100);
/// Number of lanes that a publisher of these tests may claim.
const LANES: u32 = 2;

struct Scene {
    namespace: Arc<Namespace>,
    history: u32,
    _dir: TempDir,
}

impl Scene {
    fn new(history: u32) -> Self {
        // WHY: a test looks itself, at the moments that it chooses.
        forbid_name_thread();
        let dir = spawn::shm_dir();
        Self {
            namespace: spawn::namespace(dir.path()),
            history,
            _dir: dir,
        }
    }

    fn open(&self) -> Arc<Segment> {
        let mut type_info = TypeInfo::opaque::<u64>();
        type_info.sized = true;
        let mut request = Request::new(type_info);
        request.capacity = Some(64);
        request.history = Some(self.history);
        request.lane_limit = Some(LANES);
        Segment::open_or_create(&self.namespace, &TopicName::new(TOPIC).unwrap(), &request).unwrap()
    }

    fn reader(&self) -> RawConsumer {
        RawConsumer::new(self.open(), ReadMode::KeepLast).unwrap()
    }

    fn producer(&self) -> RawProducer {
        RawProducer::new(self.open(), OnStalled::Full).unwrap()
    }

    /// Takes the topic's file away, and lets its endpoints notice that.
    fn remove(&self) {
        fs::remove_file(self.namespace.topics_path().join(TOPIC)).unwrap();
        look_at_names();
    }

    /// Makes it impossible to make lane files with this generation in the topic's present file.
    fn block_lanes(&self, generation: u64) -> SlotBlocked {
        let topics = self.namespace.topics_path();
        let topic = File::open(topics.join(TOPIC)).unwrap();
        let mut topic_id = [0; 16];
        let offset = offset_of!(Header, topic_id) as u64;
        topic.read_exact_at(&mut topic_id, offset).unwrap();
        let topic_id = u128::from_be_bytes(topic_id);
        let inode = topic.metadata().unwrap().ino();
        let name = |lane| format!(".{topic_id:032x}.{inode}.{lane}.{generation}");
        SlotBlocked::new((0..LANES).map(|lane| topics.join(name(lane))).collect())
    }
}

/// Directories that have the names of lane files, until this is dropped.
struct SlotBlocked(Vec<PathBuf>);

impl SlotBlocked {
    fn new(paths: Vec<PathBuf>) -> Self {
        paths.iter().for_each(|path| fs::create_dir(path).unwrap());
        Self(paths)
    }
}

impl Drop for SlotBlocked {
    fn drop(&mut self) {
        self.0.iter().for_each(|path| fs::remove_dir(path).unwrap());
    }
}

fn send(producer: &mut RawProducer, numbers: Range<u64>) {
    for number in numbers {
        producer.send_bytes(&number.to_le_bytes()).unwrap();
    }
}

/// Receives what is there. WHY many calls: one moves, and each other may find that a file is read
/// whole.
fn receive(reader: &mut RawConsumer) -> Vec<u64> {
    let mut message = vec![0; 1 << 17];
    let mut received = Vec::new();
    for _ in 0..64 {
        while reader.recv_bytes(&mut message).is_some() {
            received.push(u64::from_le_bytes(*message.first_chunk().unwrap()));
        }
    }
    received
}

/// Checks that a publisher cannot move, each time that it tries.
fn expect_not_moved(producer: &mut RawProducer, tries: u32) {
    for _ in 0..tries {
        let sent = producer.send_bytes(&[0; 8]);
        assert!(matches!(sent, Err(SendError::NameLost { .. })), "{sent:?}");
        thread::sleep(RETRY_PERIOD);
    }
}

/// A publisher that sent six messages in a file that lost its name, and a reader that has moved.
fn moved_reader(scene: &Scene) -> (RawProducer, RawConsumer) {
    let mut reader = scene.reader();
    let mut producer = scene.producer();
    send(&mut producer, 0..6);
    assert_eq!(receive(&mut reader), [0, 1, 2, 3, 4, 5]);
    scene.remove();
    assert_eq!(receive(&mut reader), []);
    (producer, reader)
}

/// Each attempt is made in the same lane: otherwise none is left at last that was never used.
#[test]
fn a_publisher_moves_after_any_number_of_moves_that_failed() {
    let scene = Scene::new(4);
    let (mut producer, mut reader) = moved_reader(&scene);
    let blocked = scene.block_lanes(1);
    expect_not_moved(&mut producer, LANES + 1);
    drop(blocked);
    send(&mut producer, 6..7);
    assert_eq!(receive(&mut reader), [6]);
    let stats = reader.stats();
    assert_eq!((stats.received, stats.lost, stats.waiting), (7, 0, 0));
    let block = producer.segment().lane_block(producer.lane(), Access::Read);
    assert_eq!(block.unwrap().corrupt_resync.get(), 0, "nothing is damaged");
}

#[test]
fn a_move_that_failed_makes_no_watch_due() {
    let scene = Scene::new(4);
    let (mut producer, mut reader) = moved_reader(&scene);
    let mut watch = reader.watch();
    let _blocked = scene.block_lanes(1);
    expect_not_moved(&mut producer, 1);
    assert_eq!(receive(&mut reader), []);
    watch.follow();
    assert!(!watch.has_message(), "there is nothing to receive");
}

/// Readers take the place that they had in the lane to which the publisher moved at last.
#[test]
fn a_publisher_moves_once_more_after_a_move_that_failed() {
    let scene = Scene::new(4);
    let (mut producer, mut reader) = moved_reader(&scene);
    let blocked = scene.block_lanes(1);
    expect_not_moved(&mut producer, 1);
    drop(blocked);
    send(&mut producer, 6..9);
    assert_eq!(receive(&mut reader), [6, 7, 8]);
    scene.remove();
    assert_eq!(receive(&mut reader), []);
    send(&mut producer, 9..10);
    assert_eq!(receive(&mut reader), [9]);
    let stats = reader.stats();
    assert_eq!((stats.received, stats.lost, stats.waiting), (10, 0, 0));
}

/// Readers that were in the file to which the publisher could not move do not look for it there.
#[test]
fn a_publisher_skips_a_file_to_which_it_could_not_move() {
    let scene = Scene::new(4);
    let (mut producer, mut reader) = moved_reader(&scene);
    let blocked = scene.block_lanes(1);
    expect_not_moved(&mut producer, 1);
    drop(blocked);
    scene.remove();
    send(&mut producer, 6..9);
    assert_eq!(receive(&mut reader), [6, 7, 8]);
    let stats = reader.stats();
    assert_eq!((stats.received, stats.lost, stats.waiting), (9, 0, 0));
}

/// WHY: if the second file of the lane cannot be made, the lane is used, and readers know it.
#[test]
fn a_publisher_with_long_slots_moves_with_one_lane_file() {
    let scene = Scene::new(4);
    let mut reader = scene.reader();
    let mut producer = scene.producer();
    let mut long = vec![0; 100_000];
    producer.send_bytes(&long).unwrap();
    assert_eq!(receive(&mut reader), [0]);
    scene.remove();
    assert_eq!(receive(&mut reader), []);
    let _blocked = scene.block_lanes(2);
    long[0] = 1;
    producer.send_bytes(&long).unwrap();
    assert_eq!(receive(&mut reader), [1]);
}

/// It is the same if the publisher sent its whole past once more, or only a part of it.
#[test]
fn a_reader_that_moves_late_gets_no_message_twice() {
    for history in [8, 2] {
        let scene = Scene::new(history);
        let mut reader = scene.reader();
        let mut producer = scene.producer();
        send(&mut producer, 0..3);
        assert_eq!(receive(&mut reader), [0, 1, 2]);
        scene.remove();
        send(&mut producer, 3..4);
        let _kept = scene.open();
        drop(producer);
        let mut successor = scene.producer();
        assert_eq!(successor.lane(), 0);
        send(&mut successor, 100..101);
        assert_eq!(receive(&mut reader), [3, 100], "history {history}");
    }
}
