//! Kill sweep over moves: the file of a topic is removed while a publisher and a subscriber have it
//! open. The publisher is killed at each system call of its move to the next file, or after each
//! change that others can see. Its successor goes on, and the subscriber gets all that was sent.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use horus_testing as _;

mod common;
mod spawn;
mod stream;
mod tracer;

use std::fs::{self, File};
use std::sync::Arc;

use horus_shm::internals::{forbid_thread, look_at_names};
use horus_shm::{
    Namespace, OnStalled, RawConsumer, RawProducer, Reading, Reliability, Request, Segment,
    TopicName, TypeInfo, sweep,
};

use tracer::changes::{Changes, open_all};
use tracer::{Stop, Victim, be_traced, mark};

const TOPIC: &str = "moved";
/// The number of messages that each publisher sends in each file.
const MESSAGES: u64 = 3;
/// Opens the topic with some history, so that a publisher that moves has to repeat it.
fn open(namespace: &Arc<Namespace>) -> Arc<Segment> {
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    request.reliability = Some(Reliability::Reliable);
    request.capacity = Some(16);
    request.history = Some(2);
    Segment::open_or_create(namespace, &TopicName::new(TOPIC).unwrap(), &request).unwrap()
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
    if common::role().as_deref() != Some("life") {
        return;
    }
    be_traced();
    mark();
    {
        let segment = open(&spawn::inherited_namespace());
        let mut producer = RawProducer::new(segment, OnStalled::Full).unwrap();
        send(&mut producer, 1, 0..MESSAGES);
        // The parent removes the file here.
        mark();
        look_at_names();
        send(&mut producer, 1, MESSAGES..2 * MESSAGES);
    }
    mark();
    common::park();
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
    fn new(reading: Reading) -> Self {
        // WHY: the test looks itself, at the moments that it chooses.
        forbid_thread();
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
        look_at_names();
        self.receive();
        victim
    }

    /// Receives what is there. WHY many calls: one moves, and each other may find that a file is
    /// read whole.
    fn receive(&mut self) {
        let mut message = [0; 8];
        for _ in 0..8 * MESSAGES {
            while self.reader.recv_bytes(&mut message).is_some() {
                self.received.push(u64::from_le_bytes(message));
            }
        }
    }

    /// Checks that a successor of the dead victim can send, that the subscriber gets what both sent
    /// in order, and that nothing is left. Returns the number of messages of the victim.
    fn check(mut self) -> u64 {
        look_at_names();
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

fn is_long() -> bool {
    std::env::var_os("HORUS_TORTURE").is_some_and(|value| value == "1")
}

#[test]
fn a_publisher_killed_at_any_system_call_of_a_move_has_a_successor() {
    let stride = if is_long() { 1 } else { 4 };
    // WHY the subscriber first: a publisher that closes the next file before others have opened it
    // takes that file along.
    for reading in [Reading::KeepLast, Reading::Gated] {
        let mut stops = 0;
        let mut sent = [0; 1 + 2 * MESSAGES as usize];
        loop {
            let mut scene = Scene::new(reading);
            let mut victim = scene.victim();
            let has_ended = (0..=stops).any(|_| victim.run_to_system_call() == Stop::Mark);
            victim.kill();
            let messages = scene.check();
            if has_ended {
                assert_eq!(messages, 2 * MESSAGES);
                break;
            }
            sent[messages as usize] += 1;
            stops += stride;
        }
        println!("| {reading:?} | {stops} stops, by the number of messages sent: {sent:?} |");
        assert!(stops > 60, "{stops} stops");
    }
}

/// WHY only in the long form: a move is hundreds of thousands of instructions.
#[test]
fn a_publisher_killed_after_any_change_by_a_move_has_a_successor() {
    if !is_long() {
        return;
    }
    for reading in [Reading::KeepLast, Reading::Gated] {
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
    let stride = if is_long() { 1 } else { 6 };
    for reading in [Reading::KeepLast, Reading::Gated] {
        let mut stops = 0;
        loop {
            let mut scene = Scene::new(reading);
            let mut victim = scene.victim();
            if (0..=stops).any(|_| victim.run_to_system_call() == Stop::Mark) {
                break;
            }
            let mut other = RawProducer::new(open(&scene.namespace), OnStalled::Full).unwrap();
            send(&mut other, 3, 0..MESSAGES);
            scene.receive();
            let of_other = scene.received.iter().filter(|message| *message >> 32 == 3);
            assert_eq!(of_other.count() as u64, MESSAGES, "stop {stops}");
            victim.run_to_mark();
            drop(other);
            assert_eq!(scene.check(), 2 * MESSAGES, "stop {stops}");
            stops += stride;
        }
        println!("| {reading:?} | {stops} stops at system calls |");
        assert!(stops > 60, "{stops} stops");
    }
}
