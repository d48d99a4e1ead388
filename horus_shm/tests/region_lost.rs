//! Lost regions: topic files and lane files that are truncated while they are used.

#![cfg(target_os = "linux")]

use horus_testing as _;

#[path = "region_lost/between_calls.rs"]
mod between_calls;
mod common;
mod hostile;
mod spawn;
mod stream;
mod tracer;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use fastrand::Rng;
use horus_shm::internals::TopicBlocks as _;
use horus_shm::{Namespace, OpenError, RecvError, Segment, SendError, TopicName};
use tempfile::TempDir;

use common::{Child, eventually, role, say};
use hostile::rounds;
use spawn::{die_with_parent, inherited_namespace, namespace, shm_dir, topic_files};
use stream::{Account, Tagged};
use tracer::ends::{Kind, Receiver, Ring, Sender};

/// Longer than a page, so that a cut can fall into one.
type Message = [u64; 600];

const KINDS: [Kind; 5] = [
    Kind::Spsc,
    Kind::Mpsc,
    Kind::Fanout,
    Kind::Pod,
    Kind::Reliable,
];
const SENDER: u32 = 1;
/// The number of calls that must return the same error once a region is lost.
const CALLS_AFTER: u32 = 20;

/// The damage to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blow {
    Empty,
    Half,
    BeforeReaders,
    /// The lane file loses all of its slots.
    LaneEmpty,
    /// The lane file is cut within the slots.
    InLane,
}

impl Blow {
    const ALL: [Self; 5] = [
        Self::Empty,
        Self::Half,
        Self::BeforeReaders,
        Self::LaneEmpty,
        Self::InLane,
    ];

    const fn hits_the_lane(self) -> bool {
        matches!(self, Self::LaneEmpty | Self::InLane)
    }

    /// Returns the file to be cut.
    fn file(self, segment: &Segment) -> File {
        if self.hits_the_lane() {
            segment.lane_file(0).unwrap()
        } else {
            File::from(segment.fd().unwrap().try_clone_to_owned().unwrap())
        }
    }

    /// Returns the length that the file is cut to.
    fn cut(self, segment: &Segment) -> u64 {
        let shape = segment.shape();
        match self {
            Self::Empty | Self::LaneEmpty => 0,
            Self::Half => shape.file_bytes() / 2,
            Self::BeforeReaders => shape.reader_area().start,
            Self::InLane => segment.request().offer().unwrap().shape.slots().start + 8192,
        }
    }
}

/// Returns the plan of round `round`: the ring, and the damage to it.
fn plan(round: u64) -> (Kind, Blow) {
    let blows = Blow::ALL.len() as u64;
    let kinds = KINDS.len() as u64;
    (
        KINDS[(round % kinds) as usize],
        Blow::ALL[(round / kinds % blows) as usize],
    )
}

/// Returns true if the peer has the receiving endpoint.
fn peer_receives(round: u64) -> bool {
    round.is_multiple_of(2)
}

fn topic(round: u64) -> String {
    format!("round-{round}")
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    if role().as_deref() == Some("peer") {
        die_with_parent();
        peer(&inherited_namespace());
    }
}

/// Runs the other endpoint of every round's ring, until its region is lost.
fn peer(namespace: &Arc<Namespace>) {
    for round in 0..rounds(60, 1000) {
        let path = namespace.topics_path().join(topic(round));
        eventually("the ring is there", || path.exists());
        let ring = Ring::open(plan(round).0, namespace, &topic(round));
        let flow = Flow::default();
        let first = || say("flows");
        let heard = if peer_receives(round) {
            Some(receive_until_lost(ring.receiver().unwrap(), &flow, first))
        } else {
            send_until_lost(ring.sender().unwrap(), &flow, first);
            None
        };
        drop(ring);
        if let Some(account) = heard {
            expect_sound(&account, plan(round).0);
        }
        say(format_args!("lost after {}", flow.count()));
    }
    common::park();
}

/// The progress of an endpoint.
#[derive(Debug, Default, Clone)]
struct Flow(Arc<AtomicU64>);

impl Flow {
    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Sends until the region is lost, makes a few more calls, and drops the endpoint.
fn send_until_lost(sender: Sender<Message>, flow: &Flow, first: impl Fn()) {
    let Sender::Lane(mut producer) = sender else {
        unreachable!()
    };
    let mut number = 0;
    loop {
        match producer.send_ref(&Message::new(SENDER, number)) {
            Ok(()) => {
                number += 1;
                flow.add();
                if number == 1 {
                    first();
                }
            }
            Err(SendError::Full { .. }) => thread::yield_now(),
            Err(SendError::RegionLost { .. }) => break,
            Err(error) => panic!("{error}"),
        }
    }
    let topic = producer.raw().segment().label();
    for _ in 0..CALLS_AFTER {
        let answer = producer.send_ref(&Message::new(SENDER, number));
        assert_eq!(
            answer,
            Err(SendError::RegionLost { topic, message: () }),
            "a lost region stays lost"
        );
    }
}

/// Receives until the region is lost, makes a few more calls, and drops the endpoint.
fn receive_until_lost(receiver: Receiver<Message>, flow: &Flow, first: impl Fn()) -> Account {
    let Receiver::Lanes(mut consumer) = receiver else {
        unreachable!()
    };
    let mut account = Account::default();
    let topic = consumer.raw().segment().label();
    loop {
        // Both calls, in turn.
        let latest = account.received % 4 == 3;
        let received = if latest {
            consumer.latest()
        } else {
            consumer.recv()
        };
        if let Some(message) = received {
            account.take(&message);
            flow.add();
            if account.received == 1 {
                first();
            }
        } else if let Err(error) = consumer.check() {
            assert_eq!(error, RecvError::RegionLost { topic });
            break;
        }
        if received.is_none() {
            thread::yield_now();
        }
    }
    for _ in 0..CALLS_AFTER {
        assert!(consumer.recv().is_none() && consumer.latest().is_none());
        assert_eq!(
            consumer.check(),
            Err(RecvError::RegionLost { topic }),
            "a lost region stays lost"
        );
    }
    assert_eq!(consumer.stats().received, account.received);
    account
}

#[track_caller]
fn expect_sound(account: &Account, kind: Kind) {
    assert!(account.faults.is_empty(), "{kind:?}: {}", account.faults[0]);
}

/// Two topics of this process with all of their endpoints in it, which carry messages all the time.
struct Neighbours {
    stop: Arc<AtomicBool>,
    threads: Vec<(JoinHandle<u32>, JoinHandle<Account>)>,
}

impl Neighbours {
    fn new(namespace: &Arc<Namespace>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = [(Kind::Spsc, "neighbour-1"), (Kind::Reliable, "neighbour-2")];
        let threads = threads
            .map(|(kind, name)| Self::run(kind, namespace, name, &stop))
            .into();
        Self { stop, threads }
    }

    fn run(
        kind: Kind,
        namespace: &Arc<Namespace>,
        name: &str,
        stop: &Arc<AtomicBool>,
    ) -> (JoinHandle<u32>, JoinHandle<Account>) {
        let ring = Ring::<[u64; 8]>::create(kind, namespace, name);
        let mut sender = ring.sender().unwrap();
        let mut receiver = ring.receiver().unwrap();
        let stop = Arc::clone(stop);
        let end = Arc::new(AtomicU32::new(u32::MAX));
        let ended = Arc::clone(&end);
        let sending = thread::spawn(move || {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                number += u32::from(sender.send(&Tagged::new(SENDER, number)));
                thread::yield_now();
            }
            end.store(number, Ordering::Relaxed);
            number
        });
        let receiving = thread::spawn(move || {
            let mut account = Account::default();
            while account.received < u64::from(ended.load(Ordering::Relaxed)) {
                match receiver.recv() {
                    Some(message) => account.take(&message),
                    None => thread::yield_now(),
                }
            }
            account.expect_sound(receiver.stats().unwrap()).unwrap();
            account
        });
        (sending, receiving)
    }

    /// Returns the number of messages that passed, after checking that none was lost.
    fn finish(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        let mut messages = 0;
        for (sending, receiving) in self.threads {
            let sent = sending.join().unwrap();
            let account = receiving.join().unwrap();
            account.expect_all(SENDER, 0, sent).unwrap();
            messages += u64::from(sent);
        }
        messages
    }
}

/// A namespace of its own, and one ring in it after the other.
struct Scene {
    namespace: Arc<Namespace>,
    rng: Rng,
    dir: TempDir,
}

impl Scene {
    fn new() -> Self {
        let dir = shm_dir();
        Self {
            namespace: namespace(dir.path()),
            rng: Rng::with_seed(7),
            dir,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.namespace.topics_path().join(name)
    }

    /// Waits for a random time.
    fn hesitate(&mut self) {
        for _ in 0..self.rng.u64(..20_000) {
            std::hint::spin_loop();
        }
    }

    /// Damages the ring's file as `blow` says, while its endpoints run; in the end it is truncated.
    fn strike(&mut self, ring: &Ring<Message>, blow: Blow, flow: &Flow) {
        let segment = ring.segment().unwrap();
        if blow.hits_the_lane() {
            // WHY: a reader that has not mapped the lane finds a damaged file.
            eventually("messages flow", || flow.count() > 0);
        }
        let file = blow.file(segment);
        self.hesitate();
        file.set_len(blow.cut(segment)).unwrap();
    }

    /// Expects the lost ring to refuse new endpoints, and its file to be refused by an opener.
    fn expect_lost(&self, ring: &Ring<Message>, name: &str, blow: Blow) {
        assert!(ring.segment().unwrap().is_memory_lost());
        let sender = ring.sender().map(drop);
        assert!(
            matches!(sender, Err(OpenError::RegionLost { .. })),
            "{sender:?}"
        );
        let receiver = ring.receiver().map(drop);
        assert!(
            matches!(receiver, Err(OpenError::RegionLost { .. })),
            "{receiver:?}"
        );
        if !blow.hits_the_lane() {
            let again = Segment::inspect(&self.namespace, &TopicName::new(name).unwrap());
            let is_right = match again {
                Err(OpenError::Damaged { .. }) => blow != Blow::Empty,
                Err(OpenError::NotATopic { .. }) => blow == Blow::Empty,
                _ => false,
            };
            assert!(is_right, "{blow:?}: {again:?}");
        }
    }

    /// Expects that all users of the lost ring are gone, and that it can be created anew.
    fn expect_reborn(&self, name: &str) {
        let files = topic_files(&self.namespace);
        assert!(!files.iter().any(|file| file == name), "{files:?}");
        self.expect_usable(name);
    }

    /// Expects a new ring of this name to carry messages, and to be removed with its endpoints.
    fn expect_usable(&self, name: &str) {
        let ring = Ring::<Message>::create(Kind::Spsc, &self.namespace, name);
        let mut sender = ring.sender().unwrap();
        let mut receiver = ring.receiver().unwrap();
        for number in 0..20 {
            assert!(sender.send(&Message::new(SENDER, number)));
            assert_eq!(
                receiver.recv().and_then(|message| message.tag()),
                Some((SENDER, number))
            );
        }
    }
}

fn report(what: &str, rounds: u64, messages: u64, beside: u64) {
    let line = format!(
        "\n{what}: {rounds} rounds, {messages} messages through rings that were lost, \
         {beside} beside them without a loss\n"
    );
    // WHY not `print!`: it is only shown when a test fails, and this is a result.
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
}

/// One endpoint is here, the other one in another process; each finds the loss by itself.
#[test]
fn a_file_struck_between_processes_is_region_lost_in_both() {
    let mut scene = Scene::new();
    let neighbours = Neighbours::new(&scene.namespace);
    let mut peer = Child::spawn("peer", scene.dir.path());
    let rounds = rounds(60, 1000);
    let mut messages = 0;
    for round in 0..rounds {
        let ((kind, blow), name) = (plan(round), topic(round));
        let ring = Ring::<Message>::create(kind, &scene.namespace, &name);
        let flow = Flow::default();
        let theirs = flow.clone();
        let running = if peer_receives(round) {
            let sender = ring.sender().unwrap();
            thread::spawn(move || {
                send_until_lost(sender, &theirs, || ());
                Account::default()
            })
        } else {
            let receiver = ring.receiver().unwrap();
            thread::spawn(move || receive_until_lost(receiver, &theirs, || ()))
        };
        assert_eq!(peer.listen(), "flows", "round {round}: {kind:?}, {blow:?}");
        scene.strike(&ring, blow, &flow);
        let said = peer.listen();
        let theirs = said
            .strip_prefix("lost after ")
            .unwrap_or_else(|| panic!("{said}"));
        let account = running.join().unwrap();
        expect_sound(&account, kind);
        messages += flow.count().max(theirs.parse().unwrap());
        scene.expect_lost(&ring, &name, blow);
        drop(ring);
        scene.expect_reborn(&name);
    }
    peer.finish();
    report(
        "damaged between processes",
        rounds,
        messages,
        neighbours.finish(),
    );
}

/// All endpoints are in this process: the thread that touches the hole notifies the others.
#[test]
fn a_file_struck_between_threads_is_region_lost_in_both() {
    let mut scene = Scene::new();
    let neighbours = Neighbours::new(&scene.namespace);
    let rounds = rounds(60, 1000);
    let mut messages = 0;
    for round in 0..rounds {
        let ((kind, blow), name) = (plan(round), topic(round));
        let ring = Ring::<Message>::create(kind, &scene.namespace, &name);
        let receiver = ring.receiver().unwrap();
        let sender = ring.sender().unwrap();
        let sent = Flow::default();
        let received = Flow::default();
        let to_send = sent.clone();
        let to_receive = received.clone();
        let sending = thread::spawn(move || send_until_lost(sender, &to_send, || ()));
        let receiving = thread::spawn(move || receive_until_lost(receiver, &to_receive, || ()));
        eventually("messages flow", || received.count() > 0);
        scene.strike(&ring, blow, &received);
        sending.join().unwrap();
        expect_sound(&receiving.join().unwrap(), kind);
        messages += sent.count();
        scene.expect_lost(&ring, &name, blow);
        drop(ring);
        scene.expect_reborn(&name);
    }
    report(
        "damaged between threads",
        rounds,
        messages,
        neighbours.finish(),
    );
}
