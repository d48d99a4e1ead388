//! Publishers that are stopped while they claim a lane. Another publisher uses the lane meanwhile,
//! and leaves.

use std::fs;
use std::sync::Arc;

use horus_shm::internals::sync::Word as _;
use horus_shm::internals::{TopicBlocks as _, check_names_now, forbid_name_watch_thread};
use horus_shm::{Access, Namespace, OnStalled, RawConsumer, RawProducer, ReadMode, Segment};
use horus_testing::is_torture;

use super::{MESSAGES, Scene, TOPIC, open, receive, send};
use crate::common::park;
use crate::spawn;
use crate::tracer::{Victim, be_traced, mark};

/// Opens the topic for publishers whose history outlives them.
fn open_latched(namespace: &Arc<Namespace>) -> Arc<Segment> {
    let mut request = super::request();
    request.persists = Some(true);
    super::open_with(namespace, &request)
}

/// Opens a publisher between two marks.
pub(super) fn claim() {
    be_traced();
    let segment = open(&spawn::inherited_namespace());
    mark();
    let _producer = RawProducer::new(segment, OnStalled::Full).unwrap();
    mark();
    park();
}

/// Runs a victim to a system call by which it finds out whether the owner of a lane is alive, after
/// `earlier` of them; in the long form, to any system call. Returns false if it comes to its mark
/// first.
fn run_to_look_at_owner(victim: &mut Victim, earlier: usize) -> bool {
    let mut left = earlier;
    while let Some(call) = victim.next_call() {
        let looks = call.number == libc::SYS_fcntl && call.args[1] == libc::F_OFD_GETLK.into();
        if looks || is_torture() {
            if left == 0 {
                return true;
            }
            left -= 1;
        }
        victim.end_call();
    }
    false
}

/// WHY: a lane with kept history is claimed only if no other one is left.
#[test]
fn a_publisher_stopped_while_it_claims_a_lane_ends_no_history() {
    forbid_name_watch_thread();
    for stops in 0.. {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        let first = RawProducer::new(open(&namespace), OnStalled::Full).unwrap();
        assert_eq!(first.lane(), 0);
        let mut victim = Victim::spawn("claim", dir.path());
        if !run_to_look_at_owner(&mut victim, stops) {
            assert!(stops > 0);
            break;
        }
        let segment = open_latched(&namespace);
        let mut latched = RawProducer::new(segment, OnStalled::Full).unwrap();
        send(&mut latched, 9, 0..1);
        drop(latched);
        victim.run_to_mark();
        let mut late = RawConsumer::new(open(&namespace), ReadMode::KeepLast).unwrap();
        assert_eq!(receive(&mut late), [9 << 32], "stop {stops}");
    }
}

/// WHY: its numbers continue only in a lane that nobody has used.
#[test]
fn a_publisher_stopped_while_it_claims_a_lane_to_move_continues_its_numbers() {
    for reading in [ReadMode::KeepLast, ReadMode::Gated] {
        for stops in 0.. {
            let mut scene = Scene::new(reading);
            let segment = open(&scene.namespace);
            let mut leaving = RawProducer::new(segment, OnStalled::Full).unwrap();
            send(&mut leaving, 3, 0..1);
            let mut victim = scene.victim();
            // WHY: the look at the owner of a lane that nobody has used comes before the claim.
            let present = open(&scene.namespace);
            let first = present.lane_block(0, Access::Write).unwrap();
            let former = leaving.segment().lane_block(leaving.lane(), Access::Read);
            first.owner.set(former.unwrap().owner.get());
            if !run_to_look_at_owner(&mut victim, stops) {
                assert!(stops > 0);
                break;
            }
            drop(leaving);
            victim.run_to_mark();
            scene.receive();
            let of_victim = scene.received.iter().filter(|&message| message >> 32 == 1);
            let sent: Vec<_> = (0..2 * MESSAGES).map(|number| 1 << 32 | number).collect();
            assert!(of_victim.eq(&sent), "{reading:?}, stop {stops}");
            assert_eq!(scene.received.len(), sent.len() + 1, "{reading:?}");
            let stats = scene.reader.stats();
            assert_eq!((stats.lost, stats.waiting), (0, 0), "{reading:?}");
        }
    }
}

/// The publisher whose lane is taken over lives on in another file of the topic.
#[test]
fn a_publisher_stopped_after_any_change_by_a_takeover_hides_no_publisher() {
    forbid_name_watch_thread();
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let _kept = open(&namespace);
    let mut producer = RawProducer::new(open(&namespace), OnStalled::Full).unwrap();
    send(&mut producer, 1, 0..1);
    let topic = namespace.topics_path().join(TOPIC);
    let away = namespace.topics_path().with_file_name("away");
    fs::rename(&topic, &away).unwrap();
    check_names_now();
    send(&mut producer, 1, 1..2);
    fs::rename(&away, &topic).unwrap();
    check_names_now();
    let files = producer.topic_files();
    let is_shown = || {
        let publishers = files.publishers();
        let mut files = publishers.iter().map(|publisher| &publisher.file);
        files.any(|file| file.is_same_file(producer.segment()))
    };
    assert!(is_shown() && !files.newest().is_same_file(producer.segment()));
    let mut heir = Victim::spawn("life of the heir of lane 0", dir.path());
    let block = files.newest().lane_block(0, Access::Read).unwrap();
    let words = || [&block.owner, &block.session_id, &block.epoch_owner].map(|word| word.get());
    let mut changes = 0;
    let mut before = words();
    while heir.step(1) == 1 {
        let now = words();
        if now != before {
            before = now;
            changes += 1;
            assert!(is_shown(), "{changes} changes: {now:x?}");
        }
    }
    assert_eq!(changes, 3);
    assert_eq!(files.publishers().len(), 2);
}
