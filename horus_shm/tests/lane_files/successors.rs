//! Publishers that follow each other in one lane, with different settings.

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use horus_shm::internals::TopicBlocks as _;
use horus_shm::internals::layout::{LatchedHistory, NO_SESSION};
use horus_shm::{
    Access, Consumer, LatchKey, Mismatch, Namespace, OnStalled, Producer, RawConsumer, RawProducer,
    ReadMode, RecvError, Reliability, Request, Segment, TypeInfo,
};

use super::name;
use crate::spawn;

const TOPIC: &str = "shared";
/// Maximum number of extents of one lane that have names.
const EXTENTS_MAX: usize = 4;

fn request() -> Request {
    let mut request = Request::new(TypeInfo::opaque::<u64>());
    request.lane_limit = Some(1);
    request
}

fn reliable() -> Request {
    let mut request = request();
    request.reliability = Some(Reliability::Reliable);
    request
}

/// The same settings for messages of another type, which have the same size.
fn of_another_type(mut request: Request) -> Request {
    request.type_info.hash[15] ^= 1;
    request
}

fn pinnable(mut request: Request) -> Request {
    request.pinnable = Some(true);
    request
}

fn latched() -> Request {
    let mut request = request();
    (request.persists, request.history) = (Some(true), Some(8));
    request
}

fn segment(namespace: &Arc<Namespace>, request: &Request) -> Arc<Segment> {
    Segment::open_or_create(namespace, &name(TOPIC), request).unwrap()
}

fn reader(namespace: &Arc<Namespace>, reading: ReadMode) -> Consumer<u64> {
    let segment = segment(namespace, &request());
    Consumer::new(RawConsumer::new(segment, reading).unwrap())
}

/// Lets a publisher of its own send some messages, in the only lane.
fn send(namespace: &Arc<Namespace>, request: &Request, messages: impl IntoIterator<Item = u64>) {
    let raw = RawProducer::new(segment(namespace, request), OnStalled::Full).unwrap();
    let mut producer = Producer::new(raw);
    messages
        .into_iter()
        .for_each(|message| producer.send(message).unwrap());
}

fn received(consumer: &mut Consumer<u64>) -> Vec<u64> {
    (0..1000).filter_map(|_| consumer.recv()).collect()
}

/// Returns the ledger: sent, received, lost, and waiting.
fn ledger(consumer: &Consumer<u64>) -> [u64; 4] {
    let stats = consumer.stats();
    [stats.sent, stats.received, stats.lost, stats.waiting]
}

/// A namespace of a test's own, which goes with its directory.
fn scene() -> (tempfile::TempDir, Arc<Namespace>) {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    (dir, namespace)
}

fn lane_files(dir: &Path) -> usize {
    spawn::lane_files(&spawn::namespace(dir)).len()
}

#[test]
fn publishers_with_other_settings_leave_few_files() {
    let (dir, namespace) = scene();
    let mut consumer = reader(&namespace, ReadMode::KeepLast);
    for message in 0..16 {
        let (odd, even) = (pinnable(reliable()), request());
        send(
            &namespace,
            if message % 2 == 1 { &odd } else { &even },
            [message],
        );
        assert!(lane_files(dir.path()) <= EXTENTS_MAX, "after {message}");
    }
    let [sent, received, lost, waiting] = {
        received(&mut consumer);
        ledger(&consumer)
    };
    assert_eq!((sent, received + lost, waiting), (16, 16, 0));
}

#[test]
fn a_reliable_reader_gets_what_it_has_not_read_from_all_predecessors() {
    let (_dir, namespace) = scene();
    let mut consumer = reader(&namespace, ReadMode::Gated);
    for message in 0..12 {
        let mut request = reliable();
        request.capacity = Some(16 << (message % 2));
        send(&namespace, &request, [message]);
    }
    assert_eq!(received(&mut consumer), (0..12).collect::<Vec<_>>());
    assert_eq!(ledger(&consumer), [12, 12, 0, 0]);
}

#[test]
fn a_latched_publisher_does_not_latch_what_another_one_sent() {
    let (_dir, namespace) = scene();
    let keep = segment(&namespace, &request());
    send(&namespace, &request(), [1]);
    send(&namespace, &latched(), []);
    let mut late = reader(&namespace, ReadMode::KeepLast);
    assert_eq!(received(&mut late), []);
    assert_eq!(ledger(&late), [0; 4]);
    drop((late, keep));
    assert_eq!(
        spawn::topic_files(&namespace),
        [""; 0],
        "nothing is latched"
    );

    let keep = segment(&namespace, &request());
    send(&namespace, &request(), [1]);
    send(&namespace, &latched(), [2, 3]);
    drop(keep);
    let mut late = reader(&namespace, ReadMode::KeepLast);
    assert_eq!(received(&mut late), [2, 3]);
}

/// Publishers that send nothing make an extent each, in which no message lies.
#[test]
fn latched_history_outlives_successors_that_send_nothing() {
    let (dir, namespace) = scene();
    send(&namespace, &latched(), [7]);
    for capacity in [128, 256, 512, 1024, 2048, 4096] {
        let mut request = latched();
        request.capacity = Some(capacity);
        send(&namespace, &request, []);
        let mut late = reader(&namespace, ReadMode::KeepLast);
        assert_eq!(received(&mut late), [7], "capacity {capacity}");
    }
    // Where there are later messages, the next publisher leaves as few files as usual.
    for message in [8, 9] {
        let mut request = latched();
        request.capacity = Some(1 << message);
        send(&namespace, &request, [message]);
        let mut late = reader(&namespace, ReadMode::KeepLast);
        assert_eq!(received(&mut late), [message]);
    }
    assert!(lane_files(dir.path()) <= EXTENTS_MAX);
}

/// Settings that change each time make an extent each time, however often that happens.
#[test]
fn latched_history_outlives_any_number_of_successors_that_send_nothing() {
    let (dir, namespace) = scene();
    send(&namespace, &latched(), [7]);
    for restart in 0..40 {
        let mut request = latched();
        request.capacity = Some(128 << (restart % 2));
        send(&namespace, &request, []);
        let mut late = reader(&namespace, ReadMode::KeepLast);
        assert_eq!(received(&mut late), [7], "restart {restart}");
        let files = lane_files(dir.path());
        assert!(files <= EXTENTS_MAX, "restart {restart}: {files} files");
    }
}

#[test]
fn history_outlives_reservations_for_longer_messages() {
    let (_dir, namespace) = scene();
    let mut sized = request();
    (sized.type_info.sized, sized.history) = (true, Some(4));
    let open = || segment(&namespace, &sized);
    let join = || RawConsumer::new(open(), ReadMode::KeepLast).unwrap();
    let mut producer = RawProducer::new(open(), OnStalled::Full).unwrap();
    let mut early = join();
    let receive = |reader: &mut RawConsumer| {
        let mut message = vec![0; 1 << 21];
        let calls = (0..64).filter_map(|_| reader.recv_bytes(&mut message).map(|_| message[0]));
        calls.collect::<Vec<_>>()
    };
    producer.send_bytes(&[7; 8]).unwrap();
    assert_eq!(receive(&mut early), [7]);
    for bytes in [5_000, 20_000, 80_000, 320_000, 1_280_000] {
        producer.reserve(bytes).unwrap();
        assert_eq!(receive(&mut join()), [7], "{bytes} bytes");
    }
    producer.send_bytes(&[8; 8]).unwrap();
    assert_eq!(receive(&mut early), [8]);
    assert_eq!(receive(&mut join()), [7, 8]);
    let stats = early.stats();
    assert_eq!(
        (stats.sent, stats.received, stats.lost, stats.waiting),
        (2, 2, 0, 0)
    );
}

#[test]
fn a_reliable_reader_is_not_owed_what_an_unreliable_publisher_sends_in_between() {
    for other in [request(), pinnable(request())] {
        for (first, last) in [
            (reliable(), reliable()),
            (pinnable(reliable()), pinnable(reliable())),
        ] {
            let (_dir, namespace) = scene();
            let mut consumer = reader(&namespace, ReadMode::Gated);
            send(&namespace, &first, [1, 2]);
            assert_eq!(received(&mut consumer), [1, 2]);
            send(&namespace, &other, [3, 4, 5]);
            assert_eq!(received(&mut consumer), []);
            assert_eq!(ledger(&consumer), [2, 2, 0, 0]);
            send(&namespace, &last, [6]);
            assert_eq!(received(&mut consumer), [6]);
            assert_eq!(ledger(&consumer), [3, 3, 0, 0]);
        }
    }
}

#[test]
fn a_reliable_reader_that_met_the_unreliable_publisher_first_gets_only_what_it_is_owed() {
    let (_dir, namespace) = scene();
    let raw = RawProducer::new(segment(&namespace, &request()), OnStalled::Full).unwrap();
    let mut producer = Producer::new(raw);
    producer.send(1_u64).unwrap();
    let mut consumer = reader(&namespace, ReadMode::Gated);
    producer.send(2).unwrap();
    assert_eq!(received(&mut consumer), []);
    assert!(matches!(
        consumer.check(),
        Err(RecvError::Incompatible { .. })
    ));
    drop(producer);
    send(&namespace, &reliable(), [3, 4]);
    assert_eq!(received(&mut consumer), [3, 4]);
    assert_eq!(ledger(&consumer), [2, 2, 0, 0]);
    assert_eq!(consumer.check(), Ok(()));
}

/// Also if the reader has not looked since, and finds the extents of all three at once.
#[test]
fn a_reader_is_not_owed_what_a_publisher_of_another_type_sends_in_between() {
    let scenes = [ReadMode::KeepLast, ReadMode::Gated]
        .into_iter()
        .flat_map(|reading| [(reading, true), (reading, false)]);
    for (reading, looks) in scenes {
        for (kind, other) in [
            (reliable(), of_another_type(reliable())),
            (pinnable(reliable()), of_another_type(reliable())),
            (reliable(), of_another_type(pinnable(reliable()))),
        ] {
            let (_dir, namespace) = scene();
            let mut consumer = reader(&namespace, reading);
            let mut found = Vec::new();
            let mut look = |consumer: &mut Consumer<u64>, always: bool| {
                if looks || always {
                    found.extend(received(consumer));
                }
            };
            send(&namespace, &other, [1]);
            look(&mut consumer, false);
            send(&namespace, &kind, [2, 3]);
            look(&mut consumer, false);
            send(&namespace, &other, [4, 5, 6]);
            look(&mut consumer, false);
            send(&namespace, &kind, [7]);
            look(&mut consumer, true);
            assert_eq!(found, [2, 3, 7], "{reading:?}, {looks}");
            assert_eq!(ledger(&consumer), [3, 3, 0, 0], "{reading:?}, {looks}");
        }
    }
}

#[test]
fn a_publisher_of_another_type_leaves_what_a_reliable_reader_has_not_read() {
    let (_dir, namespace) = scene();
    let mut consumer = reader(&namespace, ReadMode::Gated);
    send(&namespace, &reliable(), [1, 2]);
    send(&namespace, &of_another_type(reliable()), 0..100_000);
    assert_eq!(received(&mut consumer), [1, 2]);
    assert_eq!(ledger(&consumer), [2, 2, 0, 0]);
}

#[test]
fn a_publisher_that_does_not_match_is_reported_once_for_each_claim() {
    static REPORTS: Mutex<Vec<(Mismatch, bool)>> = Mutex::new(Vec::new());
    let (_dir, namespace) = scene();
    let segment = segment(&namespace, &request());
    let mut raw = RawConsumer::new(segment, ReadMode::Gated).unwrap();
    raw.set_on_mismatch(|found| {
        let lives = found.publisher.is_some();
        REPORTS.lock().unwrap().push((found.cause, lives));
    });
    let mut consumer = Consumer::<u64>::new(raw);
    for request in [request(), of_another_type(request()), reliable(), request()] {
        let raw = RawProducer::new(self::segment(&namespace, &request), OnStalled::Full).unwrap();
        let mut producer = Producer::<u64>::new(raw);
        for message in 0..3 {
            producer.send(message).unwrap();
            consumer.recv();
        }
    }
    let reports = std::mem::take(&mut *REPORTS.lock().unwrap());
    let wanted = [
        (Mismatch::Reliability, true),
        (Mismatch::Type, true),
        (Mismatch::Reliability, true),
    ];
    assert_eq!(reports, wanted);
}

/// A process that had claimed the lane only to reserve its memory was killed meanwhile.
#[test]
fn a_kept_message_that_does_not_match_is_reported_although_the_lane_has_no_session() {
    static REPORTS: Mutex<Vec<(Mismatch, bool)>> = Mutex::new(Vec::new());
    let (_dir, namespace) = scene();
    send(&namespace, &latched(), [1]);
    let segment = segment(&namespace, &latched());
    let block = segment.lane_block(0, Access::Write).unwrap();
    block.session_id.store(NO_SESSION, Relaxed);
    let mut raw = RawConsumer::new(Arc::clone(&segment), ReadMode::Gated).unwrap();
    raw.set_on_mismatch(|found| {
        let lives = found.publisher.is_some();
        REPORTS.lock().unwrap().push((found.cause, lives));
    });
    let mut consumer = Consumer::<u64>::new(raw);
    for _ in 0..3 {
        assert_eq!(consumer.recv(), None);
        // The consumer checks the lane again.
        RawProducer::reserve_lane(Arc::clone(&segment)).unwrap();
        block.session_id.store(NO_SESSION, Relaxed);
    }
    let reports = std::mem::take(&mut *REPORTS.lock().unwrap());
    assert_eq!(reports, [(Mismatch::Reliability, false)]);
}

#[test]
fn a_borrowed_message_outlives_the_extent_and_all_of_its_readers() {
    let (_dir, namespace) = scene();
    let open = || {
        RawConsumer::new(
            segment(&namespace, &pinnable(request())),
            ReadMode::KeepLast,
        )
    };
    let (mut first, mut second) = (open().unwrap(), open().unwrap());
    send(&namespace, &pinnable(request()), [7]);
    let sample = first.borrow().unwrap().unwrap();
    drop(first);
    // The other reader of this process leaves the extent, and with it the topic's last mapping.
    send(&namespace, &pinnable(reliable()), [8]);
    let numbers: Vec<_> = (0..100).filter_map(|_| second.borrow().unwrap()).collect();
    assert_eq!(numbers.len(), 2);
    drop((numbers, second));
    assert_eq!(sample.bytes(), 7_u64.to_ne_bytes());
}

/// Sends as many messages as the lane has slots, and one more, while the first one is borrowed.
pub(crate) fn send_with_a_skip(segment: &Arc<Segment>) {
    let mut holder = super::consumer(segment).unwrap();
    let mut producer = super::producer(segment).unwrap();
    (0..super::CAPACITY).for_each(|message| producer.send(message).unwrap());
    let held = holder.borrow().unwrap();
    producer.send(super::CAPACITY).unwrap();
    assert_eq!(producer.position(), super::CAPACITY + 1);
    drop(held);
}

/// A reader counts right that joins while the file of a lane with skips is missing, or that
/// includes such a lane again.
#[test]
fn a_reader_that_could_not_map_the_skips_of_a_predecessor_counts_the_messages_of_its_successor() {
    for includes in [false, true] {
        let (dir, namespace) = scene();
        let _predecessor = super::start("skip pinnable", dir.path());
        let [file] = &spawn::lane_files(&namespace)[..] else {
            panic!("one lane file")
        };
        std::fs::remove_file(namespace.topics_path().join(file)).unwrap();
        let segment = super::open(&namespace, "pinnable");
        let mut raw = RawConsumer::new(Arc::clone(&segment), ReadMode::KeepLast).unwrap();
        if includes {
            raw.ignore(0);
            raw.include(0).unwrap();
        }
        let mut consumer = Consumer::<u64>::new(raw);
        let mut producer = super::producer(&segment).unwrap();
        assert_eq!(producer.raw().lane(), 0);
        producer.send(7).unwrap();
        assert_eq!(ledger(&consumer), [1, 0, 0, 1], "before it is received");
        assert_eq!(received(&mut consumer), [7]);
        assert_eq!(ledger(&consumer), [1, 1, 0, 0]);
    }
}

/// A reader that a publisher never waits for must not make its sends fail: it keeps the former
/// extents.
#[test]
fn a_publisher_grows_beside_a_stalled_reader_of_its_predecessor() {
    let sized = |mut request: Request| {
        request.type_info.sized = true;
        request
    };
    let after = std::time::Duration::ZERO;
    for (own, on_stalled) in [
        (request(), OnStalled::Full),
        (of_another_type(reliable()), OnStalled::Full),
        (of_another_type(reliable()), OnStalled::Detach { after }),
    ] {
        let (dir, namespace) = scene();
        let shared = segment(&namespace, &sized(reliable()));
        let mut stalled = RawConsumer::new(Arc::clone(&shared), ReadMode::Gated).unwrap();
        let mut predecessor = RawProducer::new(shared, OnStalled::Full).unwrap();
        let lengths = [8, 5_000, 20_000];
        for bytes in lengths {
            predecessor.send_bytes(&vec![1; bytes]).unwrap();
        }
        drop(predecessor);
        assert_eq!(lane_files(dir.path()), EXTENTS_MAX - 1);
        let segment = segment(&namespace, &sized(own));
        let mut successor = RawProducer::new(segment, on_stalled).unwrap();
        for bytes in [8, 80_000, 320_000] {
            successor.send_bytes(&vec![2; bytes]).unwrap();
        }
        let mut message = vec![0; 320_000];
        stalled.require_whole_messages();
        let mut left = lengths.into_iter();
        // WHY twice as often: a call returns nothing if the next message turns out to be longer.
        for _ in 0..2 * EXTENTS_MAX {
            if let Some(bytes) = stalled.recv_bytes(&mut message) {
                assert_eq!(Some(bytes), left.next());
                assert!(message[..bytes].iter().all(|&byte| byte == 1));
            }
        }
        assert_eq!((stalled.stats().received, stalled.stats().lost), (3, 0));
        // Once it has read them, the files go.
        successor.send_bytes(&vec![2; 1_280_000]).unwrap();
        assert!(lane_files(dir.path()) <= EXTENTS_MAX);
    }
}

/// The claims of histories that stay are numbered, and there are 2^15 numbers.
#[test]
fn the_oldest_history_ends_first_however_many_claims_there_were() {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let publisher = |key| {
        let mut request = Request::new(TypeInfo::opaque::<u64>());
        (request.persists, request.history) = (Some(true), Some(1));
        (request.lane_limit, request.latch_key) = (Some(2), Some(LatchKey(key)));
        let segment = Segment::open_or_create(&namespace, &name("crowded"), &request).unwrap();
        Producer::<u64>::new(RawProducer::new(segment, OnStalled::Full).unwrap())
    };
    let mut oldest = publisher(1);
    oldest.send(1).unwrap();
    let segment = Arc::clone(oldest.raw().segment());
    let latched = &segment.lane_block(0, Access::Write).unwrap().latched;
    let mut history = LatchedHistory::from_word(latched.load(Relaxed)).unwrap();
    history.claim = u16::MAX >> 1;
    latched.store(history.to_word(), Relaxed);
    drop(oldest);
    let mut newer = publisher(2);
    newer.send(2).unwrap();
    drop(newer);
    let newest = publisher(3);
    assert_eq!(newest.raw().lane(), 0, "the lane of the oldest history");
}

/// Opaque types differ only by size and alignment.
#[test]
fn a_reader_gets_no_message_of_an_opaque_type_of_another_size() {
    let (_dir, namespace) = scene();
    let mut reader = reader(&namespace, ReadMode::KeepLast);
    let mut other = request();
    other.type_info = TypeInfo::opaque::<[u64; 3]>();
    let mut other = RawProducer::new(segment(&namespace, &other), OnStalled::Full).unwrap();
    other.send_bytes(&[0; 24]).unwrap();
    assert_eq!(received(&mut reader), []);
    let [own, sent] = [TypeInfo::opaque::<u64>(), TypeInfo::opaque::<[u64; 3]>()];
    assert!(!own.identity().matches(&sent.identity()));
}
