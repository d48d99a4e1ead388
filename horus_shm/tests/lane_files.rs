//! Lane files: each goes with its topic, none is left, and none is removed while it is in use.

use horus_testing as _;

mod common;
#[path = "lane_files/damaged.rs"]
mod damaged;
#[path = "lane_files/gone_readers.rs"]
mod gone_readers;
#[path = "lane_files/mappings.rs"]
mod mappings;
mod spawn;
#[path = "lane_files/successors.rs"]
mod successors;
#[path = "lane_files/unread.rs"]
mod unread;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use horus_shm::internals::header::{self, Provenance};
use horus_shm::internals::{TopicBlocks as _, forbid_name_watch_thread};
use horus_shm::{
    Access, Consumer, Namespace, OnStalled, OpenError, Producer, RawConsumer, RawProducer,
    ReadMode, Request, Segment, TopicName, TypeInfo, remove_topic, sweep,
};

use common::{Child, prevent_child_starts};

const LANES: u32 = 4;
const CAPACITY: u64 = 16;

/// Opens a topic, or creates it; one whose name begins with `kept` persists, with its history.
/// Publishers of one whose name begins with `pinnable` lend slots.
fn open(namespace: &Arc<Namespace>, topic: &str) -> Arc<Segment> {
    // WHY: otherwise endpoints whose topic file was removed move to a new file after 100 ms.
    forbid_name_watch_thread();
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    (request.capacity, request.lane_limit) = (Some(CAPACITY), Some(LANES));
    request.pinnable = topic.starts_with("pinnable").then_some(true);
    if topic.starts_with("kept") {
        (request.persists, request.history) = (Some(true), Some(CAPACITY as u32));
    }
    Segment::open_or_create(namespace, &name(topic), &request).unwrap()
}

fn name(topic: &str) -> TopicName {
    TopicName::new(topic).unwrap()
}

fn producer(segment: &Arc<Segment>) -> Result<Producer<u64>, OpenError> {
    RawProducer::new(Arc::clone(segment), OnStalled::Full).map(Producer::new)
}

fn consumer(segment: &Arc<Segment>) -> Result<Consumer<u64>, OpenError> {
    RawConsumer::new(Arc::clone(segment), ReadMode::KeepLast).map(Consumer::new)
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = common::role() else { return };
    spawn::die_with_parent();
    let namespace = spawn::inherited_namespace();
    let (role, topic) = role.split_once(' ').unwrap();
    match role {
        "look" => return unread::look(&namespace),
        "follow" => return unread::follow_orders(&namespace),
        _ => {}
    }
    let segment = open(&namespace, topic);
    match role {
        "publish" => {
            let mut producer = producer(&segment).unwrap();
            producer.send(7).unwrap();
            common::say("here");
            common::park();
        }
        "skip" => {
            successors::send_with_a_skip(&segment);
            common::say("here");
            common::park();
        }
        "receive" => {
            let mut consumer = consumer(&segment).unwrap();
            common::say("here");
            common::eventually("a message arrives", || consumer.recv() == Some(8));
            common::say("received");
            common::park();
        }
        other => panic!("no role called '{other}'"),
    }
}

fn start(role: &str, dir: &Path) -> Child {
    let mut child = Child::spawn(role, dir);
    assert_eq!(child.listen(), "here");
    child
}

#[test]
fn the_last_process_to_leave_removes_the_lane_files() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let children = [(); 3].map(|()| start("publish topic", dir.path()));
    for (left, child) in (0..3).rev().zip(children) {
        assert_eq!(spawn::lane_files(&namespace).len(), 3, "{left} are left");
        child.finish();
    }
    assert_eq!(spawn::topic_files(&namespace), [""; 0]);
}

#[test]
fn the_next_sweep_removes_the_lane_files_of_killed_processes() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let mut children = [(); 3].map(|()| start("publish topic", dir.path()));
    let mut reader = start("receive topic", dir.path());
    children.iter_mut().for_each(Child::kill);
    reader.kill();
    assert_eq!(spawn::lane_files(&namespace).len(), 3);
    assert_eq!(sweep(&namespace).unwrap().removed, [name("topic")]);
    assert_eq!(spawn::topic_files(&namespace), [""; 0]);
}

#[test]
fn a_publisher_takes_the_lane_file_of_a_dead_one() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = open(&namespace, "topic");
    start("publish topic", dir.path()).kill();
    let before = spawn::lane_files(&namespace);
    let _producer = producer(&segment).unwrap();
    assert_eq!(spawn::lane_files(&namespace), before);
}

#[test]
fn a_persistent_topic_keeps_its_lane_files_until_it_is_removed() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    start("publish kept", dir.path()).finish();
    start("publish kept", dir.path()).kill();
    let report = sweep(&namespace).unwrap();
    assert_eq!(
        (report.kept, report.foreign),
        (vec![name("kept")], Vec::new())
    );
    assert_eq!(spawn::lane_files(&namespace).len(), 1);
    let mut late = consumer(&open(&namespace, "kept")).unwrap();
    assert_eq!([late.recv(), late.recv()], [Some(7), None]);
    drop(late);
    assert!(remove_topic(&namespace, &name("kept")).unwrap());
    assert_eq!(spawn::topic_files(&namespace), [""; 0]);
}

#[test]
fn lane_files_whose_topic_file_a_user_removed_stay_as_long_as_a_process_uses_them() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let mine = open(&namespace, "mine");
    let mut to_mine = producer(&mine).unwrap();
    let theirs = start("publish theirs", dir.path());
    for topic in ["mine", "theirs"] {
        fs::remove_file(namespace.topics_path().join(topic)).unwrap();
    }
    for _ in 0..10 {
        assert_eq!(sweep(&namespace).unwrap(), Default::default());
        assert_eq!(spawn::lane_files(&namespace).len(), 2);
    }
    // An endpoint that opens later still finds the lane file.
    let mut reader = consumer(&mine).unwrap();
    to_mine.send(1).unwrap();
    assert_eq!(reader.recv(), Some(1));
    // A new topic of this name has lane files of its own.
    let again = open(&namespace, "mine");
    let to_again = producer(&again).unwrap();
    assert_eq!(spawn::lane_files(&namespace).len(), 3);
    theirs.finish();
    drop((reader, to_mine, mine));
    assert_eq!(spawn::lane_files(&namespace).len(), 1);
    drop((to_again, again));
    assert_eq!(spawn::topic_files(&namespace), [""; 0]);
}

#[test]
fn a_sweep_removes_the_orphans_of_killed_processes() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let mut child = start("publish topic", dir.path());
    fs::remove_file(namespace.topics_path().join("topic")).unwrap();
    child.kill();
    assert_eq!(spawn::lane_files(&namespace).len(), 1);
    assert_eq!(sweep(&namespace).unwrap(), Default::default());
    assert_eq!(spawn::topic_files(&namespace), [""; 0]);
}

/// Lane files of another boot or layout have no user either. Those that a topic in use has by their
/// names go with that topic, whatever they contain.
#[test]
fn a_sweep_removes_stale_lane_files_and_reports_damaged_ones() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    // WHY: a stale file is removed only if no process has it open.
    let _guard = prevent_child_starts();
    let segment = open(&namespace, "topic");
    let producer = producer(&segment).unwrap();
    let [used] = &spawn::lane_files(&namespace)[..] else {
        panic!("one lane file")
    };
    let bytes = fs::read(namespace.topics_path().join(used)).unwrap();
    let topic_id = &used[..=1 + 32];
    let plant = |inode: &str, generation: u32, offset: usize| {
        let name = format!("{topic_id}{inode}0.{generation}");
        let mut bytes = bytes.clone();
        bytes[offset] ^= 1;
        let path = namespace.topics_path().join(&name);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        name
    };
    let (version, boot_id, capacity) = (8, 16, 88);
    let _ = [plant("", 2, version), plant("1.", 3, boot_id)];
    let damaged = plant("1.", 4, capacity);
    let inode = fs::metadata(segment.path()).unwrap().ino();
    let unused = plant(&format!("{inode}."), 5, capacity);
    let report = sweep(&namespace).unwrap();
    assert_eq!(report.in_use, [name("topic")]);
    assert_eq!(report.foreign, std::slice::from_ref(&damaged));
    let mut kept = [used.clone(), damaged, unused];
    kept.sort();
    assert_eq!(spawn::lane_files(&namespace), kept);
    drop((segment, producer));
    assert_eq!(spawn::lane_files(&namespace), [""; 0]);
}

/// The owner of a lane may die after it named a file, before it stored its number.
#[test]
fn a_leftover_next_generation_is_replaced() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let plants: [(&str, fn(&Path)); 3] = [
        ("a file", |path| fs::write(path, [0x5a; 20_000]).unwrap()),
        ("an empty file", |path| fs::write(path, "").unwrap()),
        ("a symbolic link", |path| {
            symlink("/dev/null", path).unwrap()
        }),
    ];
    for (what, plant) in plants {
        let segment = open(&namespace, "topic");
        plant(&first_lane_file(&namespace, &segment));
        let mut reader = consumer(&segment).unwrap();
        let mut producer = producer(&segment).unwrap();
        producer.send(1).unwrap();
        assert_eq!(reader.recv(), Some(1), "{what}");
        assert_eq!(spawn::lane_files(&namespace).len(), 1, "{what}");
        let block = segment.lane_block(0, Access::Read).unwrap();
        assert_eq!(block.generation.load(Relaxed), 1, "{what}");
        drop((segment, reader, producer));
        assert_eq!(spawn::topic_files(&namespace), [""; 0], "{what}");
    }
}

/// The same leftover goes with the topic if no publisher replaces it.
#[test]
fn a_leftover_next_generation_goes_with_its_topic() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = open(&namespace, "topic");
    fs::write(first_lane_file(&namespace, &segment), "").unwrap();
    drop(segment);
    assert_eq!(spawn::topic_files(&namespace), [""; 0]);
}

/// A directory has the name of the file that a publisher makes, so it gets an error.
#[test]
fn a_name_that_cannot_be_taken_is_an_error_and_the_lane_stays_free() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = open(&namespace, "topic");
    let path = first_lane_file(&namespace, &segment);
    fs::create_dir(&path).unwrap();
    let error = producer(&segment).unwrap_err();
    assert!(
        error.to_string().contains("removing a leftover lane file"),
        "{error}"
    );
    assert_eq!(segment.publisher_count(), 0);
    fs::remove_dir(&path).unwrap();
    producer(&segment).unwrap().send(1).unwrap();
}

/// Returns the path that the first file of lane 0 will have.
fn first_lane_file(namespace: &Namespace, segment: &Segment) -> std::path::PathBuf {
    let bytes = fs::read(segment.path()).unwrap();
    let provenance = Provenance {
        boot_id: namespace.registry().boot_id(),
        registry_id: namespace.registry().id(),
    };
    let topic = segment.topic().unwrap().as_str();
    let header =
        header::decode_topic_header(&bytes, bytes.len() as u64, topic, provenance).unwrap();
    let id = u128::from_be_bytes(header.topic_id);
    let inode = fs::metadata(segment.path()).unwrap().ino();
    let name = format!(".{id:032x}.{inode}.0.1");
    namespace.topics_path().join(name)
}

/// A subscriber may follow many lanes, and a process can have few descriptors.
#[test]
fn a_publisher_keeps_one_descriptor_and_a_subscriber_none() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = open(&namespace, "topic");
    let before = spawn::open_descriptors(dir.path());
    let mut producers = Vec::new();
    for count in 1..=LANES as usize {
        producers.push(producer(&segment).unwrap());
        assert_eq!(spawn::open_descriptors(dir.path()), before + count);
    }
    let mut consumers: Vec<_> = (0..4).map(|_| consumer(&segment).unwrap()).collect();
    for producer in &mut producers {
        producer.send(1).unwrap();
    }
    for consumer in &mut consumers {
        assert_eq!((0..8).filter_map(|_| consumer.recv()).count(), 4);
    }
    let now = spawn::open_descriptors(dir.path());
    assert_eq!(now, before + LANES as usize);
}

#[test]
fn a_forked_child_finds_the_extents_of_a_topic() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = open(&namespace, "kept");
    let mut to_all = producer(&segment).unwrap();
    let mut from_all = consumer(&segment).unwrap();
    to_all.send(1).unwrap();
    let is_well = common::fork_and_join(|| {
        spawn::die_with_parent();
        let namespace = spawn::namespace(dir.path());
        let segment = open(&namespace, "kept");
        let mut reader = consumer(&segment).unwrap();
        let is_history = reader.recv() == Some(1);
        let mut to_all = producer(&segment).unwrap();
        to_all.send(2).unwrap();
        is_history && to_all.raw().lane() == 1 && reader.recv() == Some(2)
    });
    assert!(is_well);
    assert_eq!([from_all.recv(), from_all.recv()], [Some(1), Some(2)]);
    assert_eq!(spawn::lane_files(&namespace).len(), 2);
    to_all.send(3).unwrap();
    assert_eq!(from_all.recv(), Some(3));
}

/// The reader is another process, which maps the file while the topic has no name.
#[test]
fn messages_pass_through_a_topic_whose_lane_files_a_user_removed() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = open(&namespace, "topic");
    let mut producer = producer(&segment).unwrap();
    let mut reader = start("receive topic", dir.path());
    for file in spawn::lane_files(&namespace) {
        fs::remove_file(namespace.topics_path().join(file)).unwrap();
    }
    producer.send(8).unwrap();
    assert_eq!(reader.listen(), "received");
    let error = consumer(&segment).unwrap_err();
    damaged::expect_not_mapped(&error, "removed");
}
