//! The messages that are waiting for a reader, and those it has lost, at every moment: for itself,
//! and for an onlooker in another process.

use std::sync::Arc;

use fastrand::Rng;
use horus_shm::{
    Consumer, Namespace, OnStalled, Producer, RawConsumer, RawProducer, Reading, Reliability,
    Request, Segment, TypeInfo,
};

use super::name;
use crate::common::{Child, say};
use crate::spawn;

const TOPIC: &str = "looked_at";
const CAPACITY: u64 = 16;
/// Number of messages that a lapped reader still gets.
const KEPT: u64 = CAPACITY - 2;

/// Sent, received, lost, and waiting.
type Ledger = [u64; 4];

fn request(capacity: u64, pinnable: bool) -> Request {
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    (request.capacity, request.pinnable) = (Some(capacity), Some(pinnable));
    request.lane_limit = Some(1);
    request
}

fn open(namespace: &Arc<Namespace>, request: &Request) -> Arc<Segment> {
    Segment::open_or_create(namespace, &name(TOPIC), request).unwrap()
}

fn reader(namespace: &Arc<Namespace>, reading: Reading) -> Consumer<u64> {
    let segment = open(namespace, &request(CAPACITY, false));
    Consumer::new(RawConsumer::new(segment, reading).unwrap())
}

fn publisher(namespace: &Arc<Namespace>, request: &Request) -> Producer<u64> {
    let raw = RawProducer::new(open(namespace, request), OnStalled::Full).unwrap();
    Producer::new(raw)
}

fn ledger(consumer: &Consumer<u64>) -> Ledger {
    let stats = consumer.stats();
    [stats.sent, stats.received, stats.lost, stats.waiting]
}

/// Returns what any process sees of the only reader; the sum stands for what was sent.
fn seen(namespace: &Arc<Namespace>) -> Ledger {
    let topic = Segment::inspect(namespace, &name(TOPIC)).unwrap();
    let reader = topic.reader_counters().remove(0);
    let (received, lost, waiting) = (reader.received, reader.lost, reader.waiting);
    [received + lost + waiting, received, lost, waiting]
}

/// Prints what this process sees of the only reader, each time it is asked.
pub(super) fn look(namespace: &Arc<Namespace>) {
    say("here");
    for line in std::io::stdin().lines() {
        assert_eq!(line.unwrap(), "look");
        say(format_args!("{:?}", seen(namespace)));
    }
}

/// A process that looks on.
struct Onlooker(Child);

impl Onlooker {
    fn start(dir: &std::path::Path) -> Self {
        let mut child = Child::spawn(&format!("look {TOPIC}"), dir);
        assert_eq!(child.listen(), "here");
        Self(child)
    }

    #[track_caller]
    fn expect(&mut self, ledger: Ledger) {
        assert_eq!(self.0.ask("look"), format!("{ledger:?}"));
    }
}

#[test]
fn a_reader_that_has_read_nothing_has_lost_what_was_overwritten() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let mut consumer = reader(&namespace, Reading::KeepLast);
    let mut producer = publisher(&namespace, &request(CAPACITY, false));
    let mut onlooker = Onlooker::start(dir.path());
    for (count, lost, waiting) in [(16, 0, 16), (1, 3, KEPT), (983, 986, KEPT)] {
        (0..count).for_each(|message| producer.send(message).unwrap());
        let ledger = [lost + waiting, 0, lost, waiting];
        assert_eq!(self::ledger(&consumer), ledger);
        onlooker.expect(ledger);
    }
    while consumer.recv().is_some() {}
    assert_eq!(ledger(&consumer), [1000, KEPT, 986, 0]);
    onlooker.expect([1000, KEPT, 986, 0]);
}

/// Publishers whose lanes have different shapes follow each other, and the reader follows at its
/// own pace.
#[test]
fn what_is_waiting_is_what_comes() {
    for seed in 0..40 {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        let mut rng = Rng::with_seed(seed);
        let mut consumer = reader(&namespace, Reading::KeepLast);
        let mut onlooker = (seed < 4).then(|| Onlooker::start(dir.path()));
        let mut sent = 0;
        for _ in 0..rng.u64(1..4) {
            let shape = request(8 << rng.u64(0..3), rng.bool());
            let mut producer = publisher(&namespace, &shape);
            for _ in 0..rng.u64(1..6) {
                let burst = rng.u64(0..80);
                (0..burst).for_each(|message| producer.send(message).unwrap());
                sent += burst;
                let read = rng.u64(0..40);
                assert!((0..read).filter_map(|_| consumer.recv()).count() as u64 <= read);
                let [all, received, lost, waiting] = ledger(&consumer);
                assert_eq!(all, received + lost + waiting, "seed {seed}");
                assert_eq!(all, sent, "seed {seed}");
                assert_eq!(seen(&namespace), ledger(&consumer), "seed {seed}");
                if let Some(onlooker) = &mut onlooker {
                    onlooker.expect([all, received, lost, waiting]);
                }
            }
        }
        let [_, received, lost, waiting] = ledger(&consumer);
        while consumer.recv().is_some() {}
        assert_eq!(
            ledger(&consumer),
            [sent, received + waiting, lost, 0],
            "seed {seed}"
        );
    }
}

#[test]
fn a_reliable_reader_loses_nothing_of_publishers_that_do_not_match() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let consumer = reader(&namespace, Reading::Gated);
    let mut onlooker = Onlooker::start(dir.path());
    let mut producer = publisher(&namespace, &request(CAPACITY, false));
    (0..1000).for_each(|message| producer.send(message).unwrap());
    onlooker.expect([0; 4]);
    assert_eq!(ledger(&consumer), [0; 4]);

    drop(producer);
    let mut reliable = request(CAPACITY, false);
    reliable.reliability = Some(Reliability::Reliable);
    let mut producer = publisher(&namespace, &reliable);
    let accepted = (0..1000).filter(|message| producer.send(*message).is_ok());
    let accepted = accepted.count() as u64;
    assert_eq!(accepted, CAPACITY);
    onlooker.expect([accepted, 0, 0, accepted]);
    drop(consumer);
}
