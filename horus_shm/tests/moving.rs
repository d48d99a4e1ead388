//! Endpoints that move to another file of their topic, after the one before lost its name: moves
//! that fail, and lanes that others have taken over since.

#![cfg(target_os = "linux")]

use horus_testing as _;

#[path = "moving/again.rs"]
mod again;
#[path = "moving/claims.rs"]
mod claims;
mod common;
#[path = "moving/grows.rs"]
mod grows;
#[path = "moving/held_back.rs"]
mod held_back;
#[path = "moving/newest.rs"]
mod newest;
#[path = "moving/numbers.rs"]
mod numbers;
#[path = "moving/returns.rs"]
mod returns;
mod spawn;
#[path = "moving/watched.rs"]
mod watched;

use std::fs::{self, File};
use std::mem::offset_of;
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::Duration;

use horus_shm::internals::layout::Header;
use horus_shm::internals::sync::Word as _;
use horus_shm::internals::{TopicBlocks as _, check_names_now, forbid_name_watch_thread};
use horus_shm::{
    Access, Namespace, OnStalled, RawConsumer, RawProducer, ReadMode, Reliability, Request,
    Segment, SendError, TopicName, TypeInfo,
};
use tempfile::TempDir;

const TOPIC: &str = "moved";
/// The time after which an endpoint whose move failed, tries again.
const RETRY_PERIOD: Duration = Duration::from_millis(100);
/// Number of lanes that a publisher of these tests may claim.
const LANES: u32 = 2;

/// Locked by each test, and exclusively by a test that starts a child. WHY: until the child calls
/// `exec`, it holds the locks of this process, and a move of another test may fail.
static CHILDREN: RwLock<()> = RwLock::new(());

enum Turn {
    Shared(#[expect(dead_code, reason = "held")] RwLockReadGuard<'static, ()>),
    Alone(#[expect(dead_code, reason = "held")] RwLockWriteGuard<'static, ()>),
}

struct Scene {
    _turn: Turn,
    namespace: Arc<Namespace>,
    history: u32,
    dir: TempDir,
}

impl Scene {
    fn new(history: u32) -> Self {
        let turn = CHILDREN.read().unwrap_or_else(PoisonError::into_inner);
        Self::in_turn(history, Turn::Shared(turn))
    }

    /// Returns the same for a test that starts a child process.
    fn alone(history: u32) -> Self {
        let turn = CHILDREN.write().unwrap_or_else(PoisonError::into_inner);
        Self::in_turn(history, Turn::Alone(turn))
    }

    fn in_turn(history: u32, turn: Turn) -> Self {
        // WHY: a test looks itself, at the moments that it chooses.
        forbid_name_watch_thread();
        let dir = spawn::shm_dir();
        Self {
            _turn: turn,
            namespace: spawn::namespace(dir.path()),
            history,
            dir,
        }
    }

    fn request(&self) -> Request {
        let mut type_info = TypeInfo::opaque::<u64>();
        type_info.sized = true;
        let mut request = Request::new(type_info);
        request.capacity = Some(64);
        request.history = Some(self.history);
        request.lane_limit = Some(LANES);
        request
    }

    fn open(&self) -> Arc<Segment> {
        self.open_with(&self.request())
    }

    fn open_with(&self, request: &Request) -> Arc<Segment> {
        Segment::open_or_create(&self.namespace, &TopicName::new(TOPIC).unwrap(), request).unwrap()
    }

    /// A reliable publisher whose lane has as many slots as the length of its messages suggests,
    /// and a reliable reader.
    fn reliable(&self) -> (RawProducer, RawConsumer) {
        let mut request = self.request();
        (request.capacity, request.reliability) = (None, Some(Reliability::Reliable));
        let segment = self.open_with(&request);
        let reader = RawConsumer::new(Arc::clone(&segment), ReadMode::Gated).unwrap();
        (RawProducer::new(segment, OnStalled::Full).unwrap(), reader)
    }

    /// The same, after message 0 was received and the topic file was removed.
    fn reliable_before_a_move(&self) -> (RawProducer, RawConsumer) {
        let (mut producer, mut reader) = self.reliable();
        send(&mut producer, 0..1);
        assert_eq!(receive(&mut reader), [0]);
        self.remove();
        (producer, reader)
    }

    fn reader(&self) -> RawConsumer {
        RawConsumer::new(self.open(), ReadMode::KeepLast).unwrap()
    }

    fn producer(&self) -> RawProducer {
        RawProducer::new(self.open(), OnStalled::Full).unwrap()
    }

    /// Takes the topic's file away, and lets its endpoints notice that.
    fn remove(&self) {
        fs::remove_file(self.path()).unwrap();
        check_names_now();
    }

    /// Takes the topic's file away, and its lane files, and lets its endpoints notice that.
    fn remove_with_lanes(&self) {
        for file in fs::read_dir(self.namespace.topics_path()).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
        check_names_now();
    }

    fn path(&self) -> PathBuf {
        self.namespace.topics_path().join(TOPIC)
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

/// Sends messages of these lengths, whose numbers follow each other from `first` on, until one is
/// refused because the lane is full. Returns the number of the next message.
fn send_until_full(producer: &mut RawProducer, first: u64, lengths: &[usize]) -> u64 {
    for (number, &bytes) in (first..).zip(lengths) {
        let mut message = vec![0; bytes];
        message[..8].copy_from_slice(&number.to_le_bytes());
        match producer.send_bytes(&message) {
            Ok(()) => {}
            Err(SendError::Full { .. }) => return number,
            Err(error) => panic!("{error}"),
        }
    }
    first + lengths.len() as u64
}

fn expect_nothing_lost(reader: &RawConsumer, received: u64) {
    let stats = reader.stats();
    let found = (stats.received, stats.lost, stats.waiting);
    assert_eq!(found, (received, 0, 0));
}

/// Receives what is there, and returns the numbers of the messages.
fn receive(reader: &mut RawConsumer) -> Vec<u64> {
    let received = receive_messages(reader).into_iter();
    received.map(|(number, _)| number).collect()
}

/// Receives what is there, and returns the numbers of the messages and their lengths. WHY many
/// calls: one moves, another one finds that messages are longer, and each may find that a file is
/// read whole.
fn receive_messages(reader: &mut RawConsumer) -> Vec<(u64, usize)> {
    let mut message = vec![0; 1 << 21];
    let mut received = Vec::new();
    for _ in 0..64 {
        reader.require_whole_messages();
        while let Some(bytes) = reader.recv_bytes(&mut message) {
            let number = u64::from_le_bytes(*message.first_chunk().unwrap());
            received.push((number, bytes));
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

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    spawn::die_with_parent();
    match role.as_str() {
        "claim late" => claims::claim_late(),
        "publish" => grows::publish(0, true),
        "publish history" => grows::publish(4, true),
        "publish unaware" => grows::publish(0, false),
        other => panic!("no role called '{other}'"),
    }
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
    watch.follow_consumer();
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

/// Readers that came to the file to which the publisher could not move know of no message before
/// those that it sends once more.
#[test]
fn a_reader_that_joined_where_a_move_failed_counts_no_earlier_message_as_lost() {
    let scene = Scene::new(4);
    let mut producer = scene.producer();
    send(&mut producer, 0..6);
    scene.remove();
    let mut reader = scene.reader();
    let blocked = scene.block_lanes(1);
    expect_not_moved(&mut producer, 1);
    drop(blocked);
    scene.remove();
    send(&mut producer, 6..9);
    assert_eq!(receive(&mut reader), [2, 3, 4, 5, 6, 7, 8]);
    assert_eq!((reader.stats().lost, reader.stats().sent), (0, 7));
}

/// WHY: if the second file of the lane cannot be made, the lane is used, and readers know it.
#[test]
fn a_publisher_with_long_slots_moves_with_one_lane_file() {
    let scene = Scene::new(4);
    let mut reader = scene.reader();
    let mut producer = scene.producer();
    let long = [100_000];
    assert_eq!(send_until_full(&mut producer, 0, &long), 1);
    assert_eq!(receive(&mut reader), [0]);
    scene.remove();
    assert_eq!(receive(&mut reader), []);
    let _blocked = scene.block_lanes(2);
    assert_eq!(send_until_full(&mut producer, 1, &long), 2);
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

/// Bytes of a message whose lane has four slots.
const LARGE: usize = 3 << 19;

/// A publisher that grows has fewer slots than before.
#[test]
fn a_publisher_that_grows_keeps_its_messages_for_readers_that_have_not_moved() {
    let scene = Scene::new(0);
    let (mut producer, mut reader) = scene.reliable_before_a_move();
    send(&mut producer, 1..3);
    let sent = send_until_full(&mut producer, 3, &[LARGE; 10]);
    assert_eq!(sent, 7, "the lane has four slots");
    assert_eq!(receive(&mut reader), [1, 2, 3, 4, 5, 6]);
    let sent = send_until_full(&mut producer, sent, &[LARGE; 2]);
    assert_eq!(receive(&mut reader), [7, 8]);
    expect_nothing_lost(&reader, sent);
}

/// A lane has four extents at most.
#[test]
fn a_publisher_that_grows_often_keeps_its_messages_for_readers_that_have_not_moved() {
    let scene = Scene::new(0);
    let (mut producer, mut reader) = scene.reliable_before_a_move();
    let lengths = [8, 5_000, 20_000, 80_000, 320_000, 1_280_000];
    let sent = send_until_full(&mut producer, 1, &lengths);
    assert_eq!(sent, 5, "the first four lengths have an extent each");
    assert_eq!(receive(&mut reader), [1, 2, 3, 4]);
    let sent = send_until_full(&mut producer, sent, &lengths[4..]);
    assert_eq!(receive(&mut reader), [5, 6]);
    expect_nothing_lost(&reader, sent);
}

/// There are more messages to repeat than the slots of such a length would be by default.
#[test]
fn a_publisher_repeats_all_messages_for_readers_that_have_not_moved() {
    for removes_lanes in [false, true] {
        let scene = Scene::new(0);
        let (mut producer, mut reader) = scene.reliable_before_a_move();
        send(&mut producer, 1..3);
        let sent = send_until_full(&mut producer, 3, &[LARGE; 10]);
        if removes_lanes {
            scene.remove_with_lanes();
        } else {
            scene.remove();
        }
        send(&mut producer, sent..sent + 1);
        let large = (3..sent).map(|number| (number, LARGE));
        let all = [(1, 8), (2, 8)].into_iter().chain(large);
        let all: Vec<_> = all.chain([(sent, 8)]).collect();
        assert_eq!(receive_messages(&mut reader), all);
        expect_nothing_lost(&reader, sent + 1);
    }
}

#[test]
fn history_moves_without_the_names_of_the_lane_files() {
    let scene = Scene::new(8);
    let mut reader = scene.reader();
    let mut request = scene.request();
    (request.persists, request.continues_history) = (Some(true), true);
    let segment = scene.open_with(&request);
    let mut predecessor = RawProducer::new(segment, OnStalled::Full).unwrap();
    send(&mut predecessor, 0..2);
    drop(predecessor);
    // WHY another capacity: the successor begins an extent of its own.
    request.capacity = Some(128);
    let segment = scene.open_with(&request);
    let mut producer = RawProducer::new(segment, OnStalled::Full).unwrap();
    assert_eq!(send_until_full(&mut producer, 2, &[8, 8, 100_000, 8]), 6);
    assert_eq!(receive(&mut reader), [0, 1, 2, 3, 4, 5]);
    scene.remove_with_lanes();
    send(&mut producer, 6..7);
    assert_eq!(receive(&mut reader), [6]);
    expect_nothing_lost(&reader, 7);
    let mut late = scene.reader();
    let lengths = [8, 8, 8, 8, 100_000, 8, 8];
    let all: Vec<_> = (0..).zip(lengths).collect();
    assert_eq!(receive_messages(&mut late), all);
}

/// The names are looked at while the file has another one, and perhaps not again before the next
/// call.
#[test]
fn endpoints_stay_in_a_file_that_gets_its_name_back() {
    for looks_again in [true, false] {
        let scene = Scene::new(4);
        let mut reader = scene.reader();
        let mut producer = scene.producer();
        send(&mut producer, 0..1);
        assert_eq!(receive(&mut reader), [0]);
        let away = scene.namespace.topics_path().with_file_name("away");
        fs::rename(scene.path(), &away).unwrap();
        check_names_now();
        fs::rename(&away, scene.path()).unwrap();
        if looks_again {
            check_names_now();
        }
        for number in 1..101 {
            send(&mut producer, number..number + 1);
            assert_eq!(receive(&mut reader), [number], "looks {looks_again}");
        }
        expect_nothing_lost(&reader, 101);
        assert_eq!(spawn::lane_files(&scene.namespace).len(), 1);
        let segment = scene.open();
        assert!(segment.is_same_file(producer.segment()));
        assert_eq!(
            (segment.publisher_count(), segment.subscriber_count()),
            (1, 1)
        );
        scene.remove();
        send(&mut producer, 101..102);
        assert_eq!(receive(&mut reader), [101]);
        assert!(!segment.is_same_file(producer.segment()), "it moves again");
    }
}
