//! Kill sweep over growth: a publisher sends messages that do not fit its slots, and is killed at
//! each system call, and at instructions all over the growth. Its successor goes on, and a reader
//! gets all that was sent.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use horus_testing as _;

mod common;
mod spawn;
mod stream;
mod tracer;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use horus_shm::{
    Namespace, OnStalled, RawConsumer, RawProducer, Reading, Reliability, Request, Segment,
    TopicName, TypeInfo, sweep,
};

use tracer::{Stop, Victim, be_traced, mark};

const TOPIC: &str = "grown";
/// The lengths of the messages that the victim sends: the slots grow twice.
const LENGTHS: [usize; 6] = [8, 8, 20_000, 8, 60_000, 8];
/// The index of the first of them that does not fit.
const GROWTH: usize = 2;
/// The number of marks of a life, after its first one.
const MARKS: usize = 3;
/// The most stops at system calls of one life.
const STOPS_MAX: usize = 2000;
/// The number of places in a life where it is killed between two instructions: usually, and in the
/// long form.
const KILLS: u64 = 60;
const KILLS_LONG: u64 = 4000;

fn request() -> Request {
    let mut type_info = TypeInfo::opaque::<u64>();
    type_info.sized = true;
    let mut request = Request::new(type_info);
    request.reliability = Some(Reliability::Reliable);
    request.capacity = Some(16);
    request
}

fn open(namespace: &Arc<Namespace>) -> Arc<Segment> {
    Segment::open_or_create(namespace, &TopicName::new(TOPIC).unwrap(), &request()).unwrap()
}

/// Returns a message of `bytes` bytes that names its sender and number.
fn message(sender: u8, number: u8, bytes: usize) -> Vec<u8> {
    let mut message = vec![number; bytes];
    message[0] = sender;
    message
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
        for (number, bytes) in (0..).zip(LENGTHS) {
            let message = message(1, number, bytes);
            if number as usize == GROWTH {
                mark();
            }
            producer.send_bytes(&message).unwrap();
            if number as usize == GROWTH {
                mark();
            }
        }
    }
    mark();
    common::park();
}

/// The topic with a reader that was there first.
struct Scene {
    dir: tempfile::TempDir,
    namespace: Arc<Namespace>,
    reader: RawConsumer,
    buffer: Vec<u8>,
}

impl Scene {
    fn new(reading: Reading) -> Self {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        let reader = RawConsumer::new(open(&namespace), reading).unwrap();
        Self {
            dir,
            namespace,
            reader,
            buffer: Vec::new(),
        }
    }

    /// Returns sender, number and length of the next message, which must be whole.
    fn next(&mut self) -> Option<(u8, u8, usize)> {
        let whole = self.reader.whole_bytes();
        self.buffer.resize(whole, 0);
        let bytes = self.reader.recv_bytes(&mut self.buffer)?;
        let message = &self.buffer[..bytes];
        assert!(message[1..].iter().all(|byte| *byte == message[1]), "torn");
        Some((message[0], message[1], bytes))
    }

    /// Checks that a successor of the dead victim can send, that the reader gets what both sent in
    /// order, and that nothing is left.
    fn check(mut self) {
        let mut successor = RawProducer::new(open(&self.namespace), OnStalled::Full).unwrap();
        for (number, bytes) in (0..).zip(LENGTHS) {
            successor.send_bytes(&message(2, number, bytes)).unwrap();
        }
        let received: Vec<_> = std::iter::from_fn(|| self.next()).collect();
        let of = |sender| -> Vec<_> {
            let own = received.iter().filter(|message| message.0 == sender);
            own.map(|message| (message.1, message.2)).collect()
        };
        let all: Vec<_> = (0..).zip(LENGTHS).collect();
        let first = of(1);
        assert_eq!(first, all[..first.len()], "of the victim");
        assert_eq!(of(2), all, "of the successor");
        assert!(received.is_sorted_by_key(|message| message.0));
        let stats = self.reader.stats();
        let sent = received.len() as u64;
        let ledger = (stats.sent, stats.received, stats.lost, stats.waiting);
        assert_eq!(ledger, (sent, sent, 0, 0));
        let report = sweep(&self.namespace).unwrap();
        assert_eq!((report.removed.len(), report.foreign.len()), (0, 0));
        drop((successor, self.reader));
        assert_eq!(files(&self.namespace.topics_path()), [""; 0], "left behind");
    }
}

/// Returns the names of all files in a directory.
fn files(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap();
    names
        .map(|name| name.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_publisher_killed_at_any_system_call_of_growth_has_a_successor() {
    for reading in [Reading::Gated, Reading::KeepLast] {
        let mut stops = 0;
        while stops < STOPS_MAX {
            let scene = Scene::new(reading);
            let mut victim = Victim::spawn("life", scene.dir.path());
            let mut marks = 0;
            for _ in 0..=stops {
                while victim.run_to_system_call() == Stop::Mark {
                    marks += 1;
                    if marks == MARKS {
                        break;
                    }
                }
            }
            if marks >= MARKS {
                break;
            }
            victim.kill();
            scene.check();
            stops += 1;
        }
        println!("| {reading:?} | killed at {stops} stops at system calls |");
        assert!(stops > 60 && stops < STOPS_MAX, "{stops} stops");
    }
}

#[test]
fn a_publisher_killed_between_any_two_instructions_of_growth_has_a_successor() {
    let is_long = std::env::var_os("HORUS_TORTURE").is_some_and(|value| value == "1");
    let kills = if is_long { KILLS_LONG } else { KILLS };
    let growing = |scene: &Scene| {
        let mut victim = Victim::spawn("life", scene.dir.path());
        victim.run_to_mark();
        victim
    };
    let length = growing(&Scene::new(Reading::Gated)).step(u64::MAX);
    for kill in 0..kills {
        let scene = Scene::new(Reading::Gated);
        let mut victim = growing(&scene);
        victim.step(length * kill / kills + kill % 7);
        victim.kill();
        scene.check();
    }
    println!("| killed at {kills} of {length} instructions |");
}
