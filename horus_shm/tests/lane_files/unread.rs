//! The messages that are waiting for a reader, and those it has lost, at every moment: for itself,
//! and for an onlooker in another process.

use std::sync::Arc;

use fastrand::Rng;
use horus_shm::{
    Consumer, Namespace, OnStalled, Producer, RawConsumer, RawProducer, RawSample, ReadMode,
    ReadStats, Reliability, Request, Segment, TypeInfo,
};
use tempfile::TempDir;

use super::name;
use crate::common::{Child, say};
use crate::spawn;

const TOPIC: &str = "looked_at";
const CAPACITY: u64 = 16;
/// Number of messages that a lapped reader still gets.
const KEPT: u64 = CAPACITY - 2;

/// Sent, received, lost, skipped, and waiting.
type Ledger = [u64; 5];

fn request(capacity: u64, pinnable: bool) -> Request {
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    (request.capacity, request.pinnable) = (Some(capacity), Some(pinnable));
    request.lane_limit = Some(1);
    request
}

fn open(namespace: &Arc<Namespace>, request: &Request) -> Arc<Segment> {
    Segment::open_or_create(namespace, &name(TOPIC), request).unwrap()
}

fn reader(namespace: &Arc<Namespace>, reading: ReadMode) -> Consumer<u64> {
    let segment = open(namespace, &request(CAPACITY, false));
    Consumer::new(RawConsumer::new(segment, reading).unwrap())
}

fn publisher(namespace: &Arc<Namespace>, request: &Request) -> Producer<u64> {
    let raw = RawProducer::new(open(namespace, request), OnStalled::Full).unwrap();
    Producer::new(raw)
}

fn ledger(consumer: &Consumer<u64>) -> Ledger {
    let stats = consumer.stats();
    let ReadStats { received, lost, .. } = stats;
    [stats.sent, received, lost, stats.skipped, stats.waiting]
}

/// Returns what any process sees of the only reader; the sum stands for what was sent.
fn seen(namespace: &Arc<Namespace>) -> Ledger {
    seen_in(&Segment::inspect(namespace, &name(TOPIC)).unwrap())
}

fn seen_in(topic: &Segment) -> Ledger {
    let reader = topic.reader_counters().remove(0);
    let parts = [reader.received, reader.lost, reader.skipped, reader.waiting];
    let [received, lost, skipped, waiting] = parts;
    [parts.iter().sum(), received, lost, skipped, waiting]
}

/// Prints what this process sees of the only reader, each time it is asked.
pub(super) fn look(namespace: &Arc<Namespace>) {
    say("here");
    let mut topic = None;
    for line in std::io::stdin().lines() {
        assert_eq!(line.unwrap(), "look");
        let inspect = || Segment::inspect(namespace, &name(TOPIC)).unwrap();
        say(format_args!(
            "{:?}",
            seen_in(topic.get_or_insert_with(inspect))
        ));
    }
}

/// Publishes as it is told, line by line: the capacity and kind of the next publisher's lane, or
/// the number of messages that the present publisher sends.
pub(super) fn follow_orders(namespace: &Arc<Namespace>) {
    say("here");
    let mut publisher = None;
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        match line.split_once(' ') {
            Some((capacity, pinnable)) => {
                // WHY: it takes the same lane, and makes the next extent of it.
                drop(publisher.take());
                let shape = request(capacity.parse().unwrap(), pinnable.parse().unwrap());
                publisher = Some(self::publisher(namespace, &shape));
            }
            None => {
                let publisher = publisher.as_mut().unwrap();
                let messages = 0..line.parse().unwrap();
                messages.for_each(|message| publisher.send(message).unwrap());
            }
        }
        say("done");
    }
}

/// A process with one publisher after another.
struct Publishers(Child);

impl Publishers {
    fn start(dir: &std::path::Path) -> Self {
        let mut child = Child::spawn(&format!("follow {TOPIC}"), dir);
        assert_eq!(child.listen(), "here");
        Self(child)
    }

    fn open(&mut self, capacity: u64, pinnable: bool) {
        assert_eq!(self.0.ask(&format!("{capacity} {pinnable}")), "done");
    }

    fn send(&mut self, messages: u64) {
        assert_eq!(self.0.ask(&messages.to_string()), "done");
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
    let mut consumer = reader(&namespace, ReadMode::KeepLast);
    let mut producer = publisher(&namespace, &request(CAPACITY, false));
    let mut onlooker = Onlooker::start(dir.path());
    for (count, lost, waiting) in [(16, 0, 16), (1, 3, KEPT), (983, 986, KEPT)] {
        (0..count).for_each(|message| producer.send(message).unwrap());
        let ledger = [lost + waiting, 0, lost, 0, waiting];
        assert_eq!(self::ledger(&consumer), ledger);
        onlooker.expect(ledger);
    }
    while consumer.recv().is_some() {}
    assert_eq!(ledger(&consumer), [1000, KEPT, 986, 0, 0]);
    onlooker.expect([1000, KEPT, 986, 0, 0]);
}

#[test]
fn the_latest_message_skips_what_is_there_and_has_lost_what_is_not() {
    for pinnable in [false, true] {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        let mut consumer = reader(&namespace, ReadMode::KeepLast);
        let mut producer = publisher(&namespace, &request(CAPACITY, pinnable));
        let mut onlooker = Onlooker::start(dir.path());
        let mut expected = [0; 5];
        for (count, lost) in [(16, 0), (17, 3), (1000, 986), (1, 0)] {
            (0..count).for_each(|message| producer.send(message).unwrap());
            let before = [count, 0, lost, 0, count - lost];
            let after = [count, 1, lost, count - lost - 1, 0];
            let sum = |part: Ledger| std::array::from_fn(|at| expected[at] + part[at]);
            let (before, after): (Ledger, Ledger) = (sum(before), sum(after));
            assert_eq!(ledger(&consumer), before);
            onlooker.expect(before);
            assert_eq!(consumer.latest(), Some(count - 1));
            assert_eq!(ledger(&consumer), after);
            onlooker.expect(after);
            expected = after;
        }
    }
}

/// The last answers of a reader and an onlooker.
#[derive(Debug, Default)]
struct Account {
    sent: u64,
    received: u64,
    own: Ledger,
    seen: Ledger,
}

impl Account {
    /// Checks what both say now; fails with `case`.
    #[track_caller]
    fn check(&mut self, own: Ledger, seen: Ledger, case: &str) {
        let [sent, received, lost, skipped, waiting] = own;
        let case = format!("{case}: {self:?}, now {own:?} and {seen:?}");
        assert_eq!([sent, received], [self.sent, self.received], "{case}");
        assert_eq!(sent, received + lost + skipped + waiting, "{case}");
        assert_eq!([received, skipped], [seen[1], seen[3]], "{case}");
        assert!(
            lost >= self.own[2] && seen[2] >= self.seen[2],
            "lost has shrunk: {case}"
        );
        assert!(seen[2] <= lost && seen[4] >= waiting, "{case}");
        (self.own, self.seen) = (own, seen);
    }
}

/// Takes messages in one of all ways. Returns how many it received.
fn take(consumer: &mut Consumer<u64>, rng: &mut Rng) -> u64 {
    match rng.u64(0..4) {
        0 => (0..rng.u64(0..20)).filter_map(|_| consumer.recv()).count() as u64,
        1 => u64::from(consumer.recv().is_some()),
        2 => u64::from(consumer.latest().is_some()),
        _ => consumer.drain(|_| ()) as u64,
    }
}

/// Receives what is waiting, and checks that it is what came.
fn receive_all(consumer: &mut Consumer<u64>, namespace: &Arc<Namespace>, case: &str) {
    let [sent, received, lost, skipped, waiting] = ledger(consumer);
    while consumer.recv().is_some() {}
    let end = [sent, received + waiting, lost, skipped, 0];
    assert_eq!(ledger(consumer), end, "{case}");
    assert_eq!(seen(namespace), end, "{case}");
}

/// Publishers whose lanes have different shapes follow each other, and the reader follows at its
/// own pace.
#[test]
fn what_is_waiting_is_what_comes_and_what_is_lost_stays_lost() {
    for seed in 0..40 {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        let mut rng = Rng::with_seed(seed);
        let mut consumer = reader(&namespace, ReadMode::KeepLast);
        let mut publishers = Publishers::start(dir.path());
        let mut onlooker = (seed < 8).then(|| Onlooker::start(dir.path()));
        let mut account = Account::default();
        for publisher in 0..rng.u64(1..6) {
            publishers.open(8 << rng.u64(0..3), rng.bool());
            for step in 0..rng.u64(1..24) {
                if rng.bool() {
                    let messages = rng.u64(0..80);
                    publishers.send(messages);
                    account.sent += messages;
                } else {
                    account.received += take(&mut consumer, &mut rng);
                }
                let case = format!("seed {seed}, publisher {publisher}, step {step}");
                let (own, seen) = (ledger(&consumer), seen(&namespace));
                account.check(own, seen, &case);
                // WHY only then: an onlooker does not know whether a reader at the beginning of a
                // lane file has opened it before it was removed.
                if publisher == 0 {
                    assert_eq!(own, seen, "{case}");
                }
                if let Some(onlooker) = &mut onlooker {
                    onlooker.expect(seen);
                }
            }
        }
        receive_all(&mut consumer, &namespace, &format!("seed {seed}"));
    }
}

/// A reader that holds messages makes the publisher step over their slots, so that positions are
/// no message numbers.
#[test]
fn what_is_lost_stays_lost_where_slots_are_stepped_over() {
    let mut stepped_over = 0;
    for seed in 0..90 {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        let mut rng = Rng::with_seed(seed);
        let mut consumer = reader(&namespace, ReadMode::KeepLast);
        let capacity = [2, 4, CAPACITY][seed as usize % 3];
        let mut producer = publisher(&namespace, &request(capacity, true));
        let mut held = Vec::new();
        let mut account = Account::default();
        for step in 0..rng.u64(20..200) {
            match rng.u64(0..9) {
                0..4 => {
                    let messages = rng.u64(0..=capacity + capacity / 2);
                    (0..messages).for_each(|message| producer.send(message).unwrap());
                    account.sent += messages;
                }
                4..6 => account.received += take(&mut consumer, &mut rng),
                // Skips slots that are held, and publishes nothing.
                6 => drop(producer.loan().unwrap()),
                7 if held.len() < 3 => {
                    let sample = if rng.bool() {
                        consumer.borrow()
                    } else {
                        consumer.borrow_latest(&|_| 0)
                    };
                    // It may not hold as many messages of a short lane.
                    let sample = sample.unwrap_or_default();
                    account.received += u64::from(sample.is_some());
                    held.extend(sample);
                }
                _ if !held.is_empty() => drop(held.swap_remove(rng.usize(..held.len()))),
                _ => {}
            }
            let case = format!("seed {seed}, step {step}");
            account.check(ledger(&consumer), seen(&namespace), &case);
        }
        let [.., waiting] = ledger(&consumer);
        let comes = std::iter::from_fn(|| consumer.recv()).count() as u64;
        // Slots that were stepped over may be among those waiting.
        assert!(
            comes <= waiting && waiting - comes <= capacity,
            "seed {seed}"
        );
        let [sent, received, lost, skipped, _] = ledger(&consumer);
        assert_eq!(sent, received + lost + skipped, "seed {seed}");
        assert_eq!(seen(&namespace), ledger(&consumer), "seed {seed}");
        stepped_over += producer.raw().segment().lane_counters()[0].skips;
    }
    assert!(stepped_over > 100, "{stepped_over} slots were stepped over");
}

#[test]
fn a_reliable_reader_loses_nothing_of_publishers_that_do_not_match() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let consumer = reader(&namespace, ReadMode::Gated);
    let mut onlooker = Onlooker::start(dir.path());
    let mut producer = publisher(&namespace, &request(CAPACITY, false));
    (0..1000).for_each(|message| producer.send(message).unwrap());
    onlooker.expect([0; 5]);
    assert_eq!(ledger(&consumer), [0; 5]);

    drop(producer);
    let mut reliable = request(CAPACITY, false);
    reliable.reliability = Some(Reliability::Reliable);
    let mut producer = publisher(&namespace, &reliable);
    let accepted = (0..1000).filter(|message| producer.send(*message).is_ok());
    let accepted = accepted.count() as u64;
    assert_eq!(accepted, CAPACITY);
    onlooker.expect([accepted, 0, 0, 0, accepted]);
    drop(consumer);
}

/// Returns the number of system calls by which this thread reads files during `call`, and those of
/// the measurement itself.
fn file_reads<R>(call: impl FnOnce() -> R) -> u64 {
    let reads = || {
        let io = std::fs::read_to_string("/proc/thread-self/io").unwrap();
        let reads = io.lines().find_map(|line| line.strip_prefix("syscr: "));
        reads.unwrap().parse::<u64>().unwrap()
    };
    let before = reads();
    call();
    reads() - before
}

/// WHY it matters: each publisher that is opened compares these settings with its own.
#[test]
fn the_match_settings_of_readers_cost_no_look_at_their_messages() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let _reader = reader(&namespace, ReadMode::KeepLast);
    let mut publishers = Publishers::start(dir.path());
    publishers.open(CAPACITY, false);
    publishers.send(3);
    let topic = Segment::inspect(&namespace, &name(TOPIC)).unwrap();
    let nothing = file_reads(|| ());
    assert_eq!(file_reads(|| topic.joined_readers()), nothing);
    assert!(file_reads(|| topic.reader_counters()) > nothing);
    let [reader] = &topic.reader_counters()[..] else {
        panic!("one reader is there");
    };
    let [joined] = &topic.joined_readers()[..] else {
        panic!("one reader is there");
    };
    let found = (joined.slot, joined.owner_id, joined.match_settings);
    let wanted = (
        reader.slot,
        reader.subscriber.owner_id,
        reader.match_settings(),
    );
    assert_eq!(found, wanted);
}

/// A publisher of a lane with two slots that has sent four messages, and the reader `lapped`, which
/// has received none of them. One slot is held, so that the publisher has to skip each second
/// position.
struct HeldSlot {
    topic: Arc<Segment>,
    publisher: RawProducer,
    lapped: RawConsumer,
    _held: RawSample,
    _dir: TempDir,
}

impl HeldSlot {
    fn new() -> Self {
        let dir = spawn::shm_dir();
        let mut request = request(2, true);
        request.type_info.sized = true;
        let topic = open(&spawn::namespace(dir.path()), &request);
        let join = || RawConsumer::new(Arc::clone(&topic), ReadMode::KeepLast).unwrap();
        let (lapped, mut holder) = (join(), join());
        let mut publisher = RawProducer::new(Arc::clone(&topic), OnStalled::Full).unwrap();
        (0..3).for_each(|_| publisher.send_bytes(&[0; 8]).unwrap());
        let held = holder.borrow_latest(&|_| 0).unwrap().expect("a message");
        drop(holder);
        publisher.send_bytes(&[0; 8]).unwrap();
        let mut this = Self {
            topic,
            publisher,
            lapped,
            _held: held,
            _dir: dir,
        };
        this.skip();
        this
    }

    /// Makes the publisher skip the slot that is held, and publish nothing.
    fn skip(&mut self) {
        let _ = self.publisher.loan().unwrap();
    }

    fn ledger(&self) -> [u64; 3] {
        let stats = self.lapped.stats();
        [stats.sent, stats.lost, stats.waiting]
    }

    /// Returns the number of lost messages that other processes see.
    fn lost_seen(&self) -> u64 {
        self.topic.reader_counters()[0].lost
    }

    fn expect_nothing(&mut self) {
        assert_eq!(self.lapped.recv_bytes(&mut [0; 8]), None);
    }
}

/// A reader that was lapped, and read past a slot that the publisher skipped, has received no
/// message whose number says how many it lost.
#[test]
fn lost_messages_stay_counted_when_the_slots_grow() {
    let mut scene = HeldSlot::new();
    scene.expect_nothing();
    assert_eq!(scene.ledger(), [4, 4, 0]);
    scene.publisher.reserve(100_000).unwrap();
    assert_eq!(scene.ledger(), [4, 4, 0]);
    scene.expect_nothing();
    assert_eq!(scene.ledger(), [4, 4, 0]);
}

#[test]
fn lost_messages_stay_lost_when_another_slot_is_skipped() {
    let mut scene = HeldSlot::new();
    let before = scene.lost_seen();
    scene.expect_nothing();
    assert!(scene.lost_seen() >= before, "{before} were lost");
    assert_eq!((scene.ledger(), scene.lost_seen()), ([4, 4, 0], 4));
    scene.publisher.send_bytes(&[0; 8]).unwrap();
    scene.skip();
    assert_eq!((scene.ledger(), scene.lost_seen()), ([5, 4, 1], 4));
    // The open loan has overwritten that message.
    scene.expect_nothing();
    assert_eq!((scene.ledger(), scene.lost_seen()), ([5, 5, 0], 5));
}
