//! Kill sweep over moves: the file of a topic is removed while a publisher and a subscriber have it
//! open. The publisher is killed at each system call of its move to the next file, or after each
//! change that others can see. Its successor goes on, and the subscriber gets all that was sent.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "move_kill/claims.rs"]
mod claims;
mod common;
#[path = "move_kill/leaving.rs"]
mod leaving;
mod spawn;
mod stream;
mod tracer;

use std::fs::{self, File};
use std::sync::Arc;

use horus_shm::internals::layout::LaneBlock;
use horus_shm::internals::sync::Word as _;
use horus_shm::internals::{TopicBlocks as _, check_names_now, forbid_name_watch_thread};
use horus_shm::{
    Access, Namespace, OnStalled, RawConsumer, RawProducer, ReadMode, Reliability, Request,
    Segment, TopicName, TypeInfo, sweep,
};
use horus_testing::{PointSample, is_torture};

use tracer::changes::{Changes, open_all};
use tracer::{Stop, Victim, be_traced, mark};

const TOPIC: &str = "moved";
/// The number of messages that each publisher sends in each file.
const MESSAGES: u64 = 3;

/// Requests some history, so that a publisher that moves has to repeat it.
fn request() -> Request {
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    request.reliability = Some(Reliability::Reliable);
    request.capacity = Some(16);
    request.history = Some(2);
    request
}

fn open(namespace: &Arc<Namespace>) -> Arc<Segment> {
    open_with(namespace, &request())
}

fn open_with(namespace: &Arc<Namespace>, request: &Request) -> Arc<Segment> {
    Segment::open_or_create(namespace, &TopicName::new(TOPIC).unwrap(), request).unwrap()
}

fn send(producer: &mut RawProducer, sender: u64, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let message = (sender << 32 | number).to_le_bytes();
        producer.send_bytes(&message).unwrap();
    }
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    match common::role().as_deref() {
        Some("life") => live(),
        Some("heir's life") => inherit(&request()),
        Some("life of the heir of lane 0") => {
            let mut request = request();
            request.lane_limit = Some(1);
            inherit(&request);
        }
        Some("claim") => claims::claim(),
        Some("leave") => leaving::leave(),
        _ => {}
    }
}

/// Opens the topic again, and sends.
fn inherit(request: &Request) {
    be_traced();
    let segment = open_with(&spawn::inherited_namespace(), request);
    mark();
    let mut producer = RawProducer::new(segment, OnStalled::Full).unwrap();
    mark();
    send(&mut producer, 2, 0..MESSAGES);
    mark();
    common::park();
}

/// Opens the topic, sends, moves, sends again, and leaves.
fn live() {
    be_traced();
    mark();
    {
        let segment = open(&spawn::inherited_namespace());
        let mut producer = RawProducer::new(segment, OnStalled::Full).unwrap();
        send(&mut producer, 1, 0..MESSAGES);
        // The parent removes the file here.
        mark();
        check_names_now();
        send(&mut producer, 1, MESSAGES..2 * MESSAGES);
    }
    mark();
    common::park();
}

/// Receives what is there. WHY many calls: one moves, and each other may find that a file is read
/// whole.
fn receive(reader: &mut RawConsumer) -> Vec<u64> {
    let mut received = Vec::new();
    let mut message = [0; 8];
    for _ in 0..8 * MESSAGES {
        while reader.recv_bytes(&mut message).is_some() {
            received.push(u64::from_le_bytes(message));
        }
    }
    received
}

/// The topic with a subscriber that was there first.
struct Scene {
    dir: tempfile::TempDir,
    namespace: Arc<Namespace>,
    reader: RawConsumer,
    received: Vec<u64>,
    /// The files of the topic that were there before the removal.
    removed: Vec<File>,
}

impl Scene {
    fn new(reading: ReadMode) -> Self {
        // WHY: the test looks itself, at the moments that it chooses.
        forbid_name_watch_thread();
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        let reader = RawConsumer::new(open(&namespace), reading).unwrap();
        Self {
            dir,
            namespace,
            reader,
            received: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// Returns a publisher whose file was just removed. The subscriber has moved already.
    fn victim(&mut self) -> Victim {
        let mut victim = Victim::spawn("life", self.dir.path());
        victim.run_to_mark();
        self.removed = open_all(&self.namespace.topics_path());
        fs::remove_file(self.namespace.topics_path().join(TOPIC)).unwrap();
        check_names_now();
        self.receive();
        victim
    }

    fn receive(&mut self) {
        self.received.extend(receive(&mut self.reader));
    }

    /// Takes a victim that moves from its mark to where its lane file has a name, and then past
    /// `changes` changes of the words by which readers find that file. Returns false if readers
    /// have been told of the file before.
    fn approach(&self, victim: &mut Victim, changes: usize) -> bool {
        while victim.next_call().unwrap().number != libc::SYS_linkat {
            victim.end_call();
        }
        victim.end_call();
        let segment = self.reader.segment();
        let block = segment.lane_block(0, Access::Read).unwrap();
        let told = &segment.control(Access::Read).unwrap().changes;
        let words = || [&block.head, &block.generation, told].map(|word| word.get());
        let [.., before] = words();
        for _ in 0..changes {
            let now = words();
            while words() == now {
                assert_eq!(victim.step(1), 1, "the victim has moved");
            }
        }
        told.get() == before
    }

    /// Checks that a successor of the dead victim can send, that the subscriber gets what both sent
    /// in order, and that nothing is left. Returns the number of messages of the victim.
    fn check(mut self) -> u64 {
        check_names_now();
        let mut successor = RawProducer::new(open(&self.namespace), OnStalled::Full).unwrap();
        send(&mut successor, 2, 0..MESSAGES);
        self.receive();
        let received = std::mem::take(&mut self.received);
        let of = |sender| {
            let own = received
                .iter()
                .filter(move |message| *message >> 32 == sender);
            own.map(|message| message & 0xffff_ffff).collect::<Vec<_>>()
        };
        let first = of(1);
        assert!(first.len() as u64 >= MESSAGES, "{first:?}");
        assert_eq!(
            first,
            (0..first.len() as u64).collect::<Vec<_>>(),
            "of the victim"
        );
        assert_eq!(of(2), (0..MESSAGES).collect::<Vec<_>>(), "of the successor");
        let stats = self.reader.stats();
        let ledger = (stats.received, stats.lost, stats.waiting);
        assert_eq!(ledger, (received.len() as u64, 0, 0));
        assert!(sweep(&self.namespace).unwrap().foreign.is_empty());
        drop((successor, self.reader));
        sweep(&self.namespace).unwrap();
        assert_eq!(spawn::topic_files(&self.namespace), [""; 0], "left behind");
        first.len() as u64
    }
}

#[test]
fn a_publisher_killed_at_any_system_call_of_a_move_has_a_successor() {
    let sample = PointSample::every(6);
    // WHY the subscriber first: a publisher that closes the next file before others have opened it
    // takes that file along.
    for reading in [ReadMode::KeepLast, ReadMode::Gated] {
        let mut stops = 0;
        let mut sent = [0; 1 + 2 * MESSAGES as usize];
        for stop in sample.points() {
            let mut scene = Scene::new(reading);
            let mut victim = scene.victim();
            let has_ended = (0..=stop).any(|_| victim.run_to_system_call() == Stop::Mark);
            victim.kill();
            let messages = scene.check();
            if has_ended {
                assert_eq!(messages, 2 * MESSAGES);
                break;
            }
            sent[messages as usize] += 1;
            stops = stop + 1;
        }
        println!("| {reading:?} | {stops} stops, by the number of messages sent: {sent:?} |");
        assert!(stops > 60, "{stops} stops");
    }
}

/// WHY only in the long form: a move is hundreds of thousands of instructions.
#[test]
fn a_publisher_killed_after_any_change_by_a_move_has_a_successor() {
    if !is_torture() {
        return;
    }
    for reading in [ReadMode::KeepLast, ReadMode::Gated] {
        let mut scene = Scene::new(reading);
        let mut victim = scene.victim();
        let changes = Changes::record(&mut victim, &scene.namespace.topics_path(), &scene.removed);
        victim.kill();
        let mut sent = [0; 1 + 2 * MESSAGES as usize];
        for point in 0..changes.len() {
            let mut scene = Scene::new(reading);
            let mut victim = scene.victim();
            changes.follow(&mut victim, point);
            victim.kill();
            sent[scene.check() as usize] += 1;
        }
        println!("| {reading:?} | {changes} | by the number of messages sent: {sent:?} |");
        assert!(changes.len() > 20, "{changes}");
    }
}

/// The others go on while it is stopped, and it goes on when it is resumed.
#[test]
fn a_publisher_stopped_at_any_system_call_of_a_move_holds_nobody_up() {
    let sample = PointSample::every(8);
    for reading in [ReadMode::KeepLast, ReadMode::Gated] {
        let mut stops = 0;
        for stop in sample.points() {
            let mut scene = Scene::new(reading);
            let mut victim = scene.victim();
            if (0..=stop).any(|_| victim.run_to_system_call() == Stop::Mark) {
                break;
            }
            let mut other = RawProducer::new(open(&scene.namespace), OnStalled::Full).unwrap();
            send(&mut other, 3, 0..MESSAGES);
            scene.receive();
            let of_other = scene.received.iter().filter(|message| *message >> 32 == 3);
            assert_eq!(of_other.count() as u64, MESSAGES, "stop {stop}");
            victim.run_to_mark();
            drop(other);
            assert_eq!(scene.check(), 2 * MESSAGES, "stop {stop}");
            stops = stop + 1;
        }
        println!("| {reading:?} | {stops} stops at system calls |");
        assert!(stops > 60, "{stops} stops");
    }
}

/// A thread that waits for messages sleeps, although nobody tells it of what the victim began.
#[test]
fn a_publisher_killed_before_it_tells_readers_of_its_lane_makes_no_watch_due() {
    for reading in [ReadMode::KeepLast, ReadMode::Gated] {
        let mut changes = 0;
        loop {
            let mut scene = Scene::new(reading);
            let mut victim = scene.victim();
            let mut joined = RawConsumer::new(open(&scene.namespace), reading).unwrap();
            let is_before = scene.approach(&mut victim, changes);
            victim.kill();
            for reader in [&mut scene.reader, &mut joined] {
                assert!(receive(reader).is_empty() || !is_before, "not shown yet");
                let mut watch = reader.watch();
                watch.follow_consumer();
                assert!(!watch.has_message(), "{reading:?}, {changes} changes");
            }
            if !is_before {
                break;
            }
            changes += 1;
        }
        assert!(changes >= 2, "{changes} changes");
    }
}

/// Subscribers that move late read the lane of a publisher that moved, sent and left, whatever part
/// of it its next owner has taken over.
#[test]
fn a_publisher_stopped_after_any_change_by_a_takeover_hides_no_messages() {
    // WHY so many: each change is seen by one of them.
    const READERS: usize = 32;
    let readings = if is_torture() {
        &[ReadMode::KeepLast, ReadMode::Gated][..]
    } else {
        &[ReadMode::KeepLast]
    };
    for &reading in readings {
        forbid_name_watch_thread();
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        let reader = |_| RawConsumer::new(open(&namespace), reading).unwrap();
        let mut readers: Vec<_> = (0..READERS).map(reader).collect();
        let mut producer = RawProducer::new(open(&namespace), OnStalled::Full).unwrap();
        send(&mut producer, 1, 0..MESSAGES);
        for reader in &mut readers {
            assert_eq!(receive(reader).len(), MESSAGES as usize);
        }
        fs::remove_file(namespace.topics_path().join(TOPIC)).unwrap();
        check_names_now();
        send(&mut producer, 1, MESSAGES..2 * MESSAGES);
        let segment = open(&namespace);
        let mut heir = Victim::spawn("heir's life", dir.path());
        drop(producer);
        let block = segment.lane_block(0, Access::Read).unwrap();
        let told = &segment.control(Access::Read).unwrap().changes;
        let words = || {
            let LaneBlock {
                owner,
                session_id,
                epoch_start,
                epoch_owner,
                ..
            } = block;
            [owner, session_id, epoch_start, epoch_owner, told].map(|word| word.get())
        };
        let mut looked = Vec::new();
        let mut before = words();
        let first = before;
        while heir.step(1) == 1 {
            let now = words();
            if now != before {
                before = now;
                let mut reader = readers.pop().unwrap();
                let received = receive(&mut reader);
                let of_first = (MESSAGES..2 * MESSAGES).map(|number| 1 << 32 | number);
                assert!(
                    received.into_iter().eq(of_first),
                    "{reading:?}: {first:?} {now:?}"
                );
                looked.push(reader);
            }
        }
        heir.run_to_mark();
        for reader in &mut looked {
            let of_heir = (0..MESSAGES).map(|number| 2 << 32 | number);
            assert!(receive(reader).into_iter().eq(of_heir), "{reading:?}");
        }
        assert!(looked.len() >= 4, "{} changes", looked.len());
    }
}

/// The victim is killed at each step of its history, which it sends once more, and has two
/// successors before the subscriber looks.
#[test]
fn a_publisher_killed_while_it_repeats_its_history_hides_no_messages_of_its_successors() {
    for reading in [ReadMode::KeepLast, ReadMode::Gated] {
        for changes in 0.. {
            let mut scene = Scene::new(reading);
            let mut victim = scene.victim();
            scene.approach(&mut victim, changes);
            victim.kill();
            for sender in [2, 3] {
                let segment = open(&scene.namespace);
                let mut successor = RawProducer::new(segment, OnStalled::Full).unwrap();
                assert_eq!(successor.lane(), 0);
                send(&mut successor, sender, 0..MESSAGES);
            }
            scene.receive();
            let received = |sender| {
                let all = scene.received.iter();
                let own = all.filter(move |message| *message >> 32 == sender);
                own.map(|message| message & 0xffff_ffff).collect::<Vec<_>>()
            };
            for sender in [2, 3] {
                let all: Vec<_> = (0..MESSAGES).collect();
                assert_eq!(received(sender), all, "{reading:?}, {changes} changes");
            }
            let of_victim = received(1);
            assert!(of_victim.iter().copied().eq(0..of_victim.len() as u64));
            let stats = scene.reader.stats();
            assert_eq!((stats.lost, stats.waiting), (0, 0), "{changes} changes");
            if of_victim.len() as u64 > MESSAGES {
                assert!(changes > 3, "{changes} changes");
                break;
            }
        }
    }
}

/// The subscriber does not know the publisher from the file before.
#[test]
fn a_subscriber_that_looks_while_a_publisher_begins_its_lane_gets_all_messages() {
    for reading in [ReadMode::KeepLast, ReadMode::Gated] {
        let mut changes = 0;
        loop {
            let mut scene = Scene::new(reading);
            let mut victim = scene.victim();
            let mut joined = RawConsumer::new(open(&scene.namespace), reading).unwrap();
            let is_before = scene.approach(&mut victim, changes);
            let mut late = RawConsumer::new(open(&scene.namespace), reading).unwrap();
            let early = receive(&mut joined);
            assert!(early.is_empty() || !is_before, "not shown yet");
            victim.run_to_mark();
            let sent = MESSAGES - 2..2 * MESSAGES;
            let sent: Vec<_> = sent.map(|number| 1 << 32 | number).collect();
            let joined = [early, receive(&mut joined)].concat();
            assert_eq!(joined, sent, "{reading:?}, {changes} changes");
            assert_eq!(receive(&mut late), sent, "{reading:?}, {changes} changes");
            if !is_before {
                break;
            }
            changes += 1;
        }
    }
}
