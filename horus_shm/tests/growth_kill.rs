//! Kill sweep over claiming, growth and joining: a publisher sends messages that do not fit its
//! slots, or a subscriber joins and reads them. It is killed at each system call, after each change
//! that others can see, or at random times. The others go on, and get all that was sent. A process
//! that only reserves a lane is stopped at each system call.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;
mod spawn;
mod stream;
mod tracer;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use horus_shm::{
    Namespace, OnStalled, RawConsumer, RawProducer, ReadMode, Reliability, Request, Segment,
    TopicName, TypeInfo, sweep,
};
use horus_testing::{PointSample, is_torture};

use tracer::changes::Changes;
use tracer::{Stop, Victim, be_traced, mark};

const TOPIC: &str = "grown";
/// The lengths of the messages that the victim sends: the slots grow twice.
const LENGTHS: [usize; 6] = [8, 8, 20_000, 8, 60_000, 8];
/// The index of the first of them that does not fit.
const GROWTH: usize = 2;
/// The number of marks of a life, after its first one.
const MARKS: usize = 3;
const CAPACITY: u64 = 16;
/// The most stops at system calls of one life.
const STOPS_MAX: usize = 2000;
/// The number of kills at random times: usually, and in the long form.
const KILLS: u64 = 60;
const KILLS_LONG: u64 = 4000;
/// The longest time from a mark to the random end of a life.
const LIFE_MAX_US: u64 = 1000;

fn request() -> Request {
    let mut type_info = TypeInfo::opaque::<u64>();
    type_info.sized = true;
    let mut request = Request::new(type_info);
    request.reliability = Some(Reliability::Reliable);
    request.capacity = Some(CAPACITY);
    request.history = Some(LENGTHS.len() as u32);
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
    match common::role().as_deref() {
        Some("life") => {
            be_traced();
            live(mark);
        }
        Some("untraced life") => live(|| common::say(0)),
        Some("reader's life") => {
            be_traced();
            read_all();
        }
        Some("reservation") => {
            be_traced();
            mark();
            RawProducer::reserve_lane(open(&spawn::inherited_namespace())).unwrap();
            mark();
            common::park();
        }
        _ => {}
    }
}

/// Opens the topic, sends all messages, and leaves. Calls `mark` at the beginning, around the first
/// growth, and at the end.
fn live(mark: fn()) {
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

/// Joins, reads the history, which lies in three lane files, and leaves.
fn read_all() {
    mark();
    {
        let segment = open(&spawn::inherited_namespace());
        let mut reader = RawConsumer::new(segment, ReadMode::Gated).unwrap();
        for wanted in LENGTHS {
            let mut buffer = vec![0; reader.require_whole_messages()];
            assert_eq!(reader.recv_bytes(&mut buffer), Some(wanted));
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
    /// Number of messages that the reader has received.
    received: u64,
}

impl Scene {
    fn new(reading: ReadMode) -> Self {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        let reader = RawConsumer::new(open(&namespace), reading).unwrap();
        Self {
            dir,
            namespace,
            reader,
            buffer: Vec::new(),
            received: 0,
        }
    }

    /// Returns sender, number and length of the next message, which must be whole.
    fn next(&mut self) -> Option<(u8, u8, usize)> {
        let whole = self.reader.require_whole_messages();
        self.buffer.resize(whole, 0);
        let bytes = self.reader.recv_bytes(&mut self.buffer)?;
        self.received += 1;
        let message = &self.buffer[..bytes];
        assert!(message[1..].iter().all(|byte| *byte == message[1]), "torn");
        Some((message[0], message[1], bytes))
    }

    /// Checks that a successor of the dead victim can send, that the reader gets what both sent in
    /// order, and that nothing is left. Returns the number of messages of the victim.
    fn check(mut self) -> usize {
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
        let sent = self.received;
        let ledger = (stats.sent, stats.received, stats.lost, stats.waiting);
        assert_eq!(ledger, (sent, sent, 0, 0));
        let report = sweep(&self.namespace).unwrap();
        assert_eq!((report.removed.len(), report.foreign.len()), (0, 0));
        drop((successor, self.reader));
        assert_eq!(files(&self.namespace.topics_path()), [""; 0], "left behind");
        first.len()
    }
}

/// Returns the names of all files in a directory.
fn files(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap();
    names
        .map(|name| name.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn kills() -> u64 {
    if is_torture() { KILLS_LONG } else { KILLS }
}

/// The others go on while it is stopped, and it goes on when it is resumed.
#[test]
fn a_publisher_stopped_at_any_system_call_of_growth_holds_nobody_up() {
    let sample = PointSample::every(10);
    let mut stops = 0;
    for stop in sample.points() {
        let mut scene = Scene::new(ReadMode::Gated);
        let mut victim = Victim::spawn("life", scene.dir.path());
        let mut marks = 0;
        for _ in 0..=stop {
            marks += usize::from(victim.run_to_system_call() == Stop::Mark);
            // WHY: behind its last mark it waits for input, and makes no further stop.
            if marks == MARKS {
                break;
            }
        }
        if marks >= MARKS {
            break;
        }
        let mut other = RawProducer::new(open(&scene.namespace), OnStalled::Full).unwrap();
        let all = |sender| {
            (0..)
                .zip(LENGTHS)
                .map(move |(number, bytes)| (sender, number, bytes))
        };
        for (sender, number, bytes) in all(2) {
            other.send_bytes(&message(sender, number, bytes)).unwrap();
        }
        let mut received: Vec<_> = std::iter::from_fn(|| scene.next()).collect();
        assert!(
            all(2).all(|message| received.contains(&message)),
            "stop {stop}"
        );
        (marks..MARKS).for_each(|_| victim.run_to_mark());
        received.extend(std::iter::from_fn(|| scene.next()));
        received.sort_by_key(|message| message.0);
        assert!(received.into_iter().eq(all(1).chain(all(2))), "stop {stop}");
        victim.kill();
        stops = stop + 1;
    }
    println!(
        "| stopped at {} of {stops} stops at system calls |",
        stops.div_ceil(sample.stride())
    );
    assert!(stops > 60, "{stops} stops");
}

/// A reader of another type that looks meanwhile finds a live publisher that does not match.
#[test]
fn a_reservation_that_is_over_leaves_no_mismatch() {
    let scene = Scene::new(ReadMode::Gated);
    // The memory of the lane is there, as in a topic that was used before.
    RawProducer::reserve_lane(open(&scene.namespace)).unwrap();
    let mut request = request();
    request.type_info.hash[15] ^= 1;
    let topic = TopicName::new(TOPIC).unwrap();
    let (mut stops, mut mismatches) = (0, 0);
    loop {
        let segment = Segment::open_or_create(&scene.namespace, &topic, &request).unwrap();
        let mut reader = RawConsumer::new(segment, ReadMode::KeepLast).unwrap();
        let health = reader.watch().health_watch();
        let mut look = || {
            assert_eq!(reader.recv_bytes(&mut []), None);
            health.reason_for_no_match().is_some()
        };
        let mut victim = Victim::spawn("reservation", scene.dir.path());
        if (0..=stops).any(|_| victim.run_to_system_call() == Stop::Mark) {
            break;
        }
        mismatches += usize::from(look());
        victim.run_to_mark();
        assert!(!look(), "stop {stops}");
        victim.kill();
        stops += 1;
    }
    println!("| reservation | {mismatches} mismatches at {stops} stops at system calls |");
    assert!(mismatches > 0, "{stops} stops");
}

#[test]
fn a_publisher_killed_at_any_system_call_of_growth_has_a_successor() {
    let sample = PointSample::every(3);
    for reading in [ReadMode::Gated, ReadMode::KeepLast] {
        let mut stops = 0;
        for stop in sample.points() {
            let scene = Scene::new(reading);
            let mut victim = Victim::spawn("life", scene.dir.path());
            let mut marks = 0;
            for _ in 0..=stop {
                // WHY: behind its last mark it waits for input, and makes no further stop.
                while marks < MARKS && victim.run_to_system_call() == Stop::Mark {
                    marks += 1;
                }
            }
            if marks >= MARKS {
                break;
            }
            victim.kill();
            scene.check();
            stops = stop + 1;
            assert!(stops < STOPS_MAX, "{stops} stops");
        }
        let killed = stops.div_ceil(sample.stride());
        println!("| {reading:?} | killed at {killed} of {stops} stops at system calls |");
        assert!(stops > 60, "{stops} stops");
    }
}

/// The victim is a publisher that claims a lane, up to its first mark, or grows, up to the next.
#[test]
fn a_publisher_killed_after_any_change_by_claiming_or_growth_has_a_successor() {
    // WHY: claiming is 400,000 instructions, each of which costs some 60 microseconds.
    let parts = if is_torture() {
        &[false, true][..]
    } else {
        &[true]
    };
    let sample = PointSample::every(3);
    for &is_growth in parts {
        let life = |scene: &Scene| {
            let mut victim = Victim::spawn("life", scene.dir.path());
            if is_growth {
                victim.run_to_mark();
            }
            victim
        };
        let scene = Scene::new(ReadMode::Gated);
        let changes = Changes::record(&mut life(&scene), &scene.namespace.topics_path(), &[]);
        for point in sample.select_items(0..changes.len()) {
            let scene = Scene::new(ReadMode::Gated);
            let mut victim = life(&scene);
            changes.follow(&mut victim, point);
            victim.kill();
            scene.check();
        }
        let what = if is_growth { "growth" } else { "claiming" };
        println!("| {what} | {changes} |");
        assert!(changes.len() > 4, "{changes}");
    }
}

#[test]
fn publishers_that_grow_are_killed_at_random_times() {
    let mut rng = fastrand::Rng::new();
    let mut lives = [0; LENGTHS.len() + 1];
    for _ in 0..kills() {
        let scene = Scene::new([ReadMode::Gated, ReadMode::KeepLast][rng.usize(..2)]);
        let mut child = common::Child::spawn("untraced life", scene.dir.path());
        // The marks are at the beginning, before the growth, and behind it.
        (0..rng.usize(1..=3)).for_each(|_| drop(child.listen()));
        thread::sleep(Duration::from_micros(rng.u64(..LIFE_MAX_US)));
        child.kill();
        lives[scene.check()] += 1;
    }
    println!("| killed at random times, by the number of messages sent: {lives:?} |");
}

/// Returns a scene in which a publisher has sent the history that a reader joins.
fn scene_with_history() -> (Scene, RawProducer) {
    let mut scene = Scene::new(ReadMode::KeepLast);
    let mut producer = RawProducer::new(open(&scene.namespace), OnStalled::Full).unwrap();
    for (number, bytes) in (0..).zip(LENGTHS) {
        producer.send_bytes(&message(3, number, bytes)).unwrap();
        scene.next().unwrap();
    }
    (scene, producer)
}

/// Sends more than a ring of messages, and checks that nobody holds the publisher back.
fn check_nobody_holds_back(mut scene: Scene, mut producer: RawProducer) {
    for number in 0..3 * CAPACITY as u8 {
        producer.send_bytes(&message(3, number, 60_000)).unwrap();
        assert_eq!(scene.next(), Some((3, number, 60_000)));
    }
    drop(producer);
    scene.check();
}

/// WHY only in the long form: joining is a million instructions.
#[test]
fn a_subscriber_killed_after_any_change_by_joining_holds_nobody_back() {
    if !is_torture() {
        return;
    }
    let (scene, _producer) = scene_with_history();
    let mut victim = Victim::spawn("reader's life", scene.dir.path());
    let changes = Changes::record(&mut victim, &scene.namespace.topics_path(), &[]);
    for point in 0..changes.len() {
        let (scene, producer) = scene_with_history();
        let mut victim = Victim::spawn("reader's life", scene.dir.path());
        changes.follow(&mut victim, point);
        victim.kill();
        check_nobody_holds_back(scene, producer);
    }
    println!("| joining | {changes} |");
    assert!(changes.len() > 20, "{changes}");
}

/// The publisher waits for a live gated reader only.
#[test]
fn a_subscriber_killed_at_any_system_call_of_joining_holds_nobody_back() {
    let sample = PointSample::every(10);
    let mut stops = 0;
    for stop in sample.points() {
        let (scene, producer) = scene_with_history();
        let mut victim = Victim::spawn("reader's life", scene.dir.path());
        if (0..=stop).any(|_| victim.run_to_system_call() == Stop::Mark) {
            break;
        }
        victim.kill();
        check_nobody_holds_back(scene, producer);
        stops = stop + 1;
    }
    println!(
        "| killed at {} of {stops} stops at system calls |",
        stops.div_ceil(sample.stride())
    );
    assert!(stops > 30, "{stops} stops");
}
