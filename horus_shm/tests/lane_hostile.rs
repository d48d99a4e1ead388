//! A ring whose shared words are overwritten while its endpoints are at work: messages may hold
//! anything, but every call returns, no call panics, and a later opener finds the ring usable.

use horus_testing as _;

mod common;
mod hostile;
#[path = "lane_hostile/peer.rs"]
mod peer;
#[path = "lane_hostile/scribbler.rs"]
mod scribbler;
mod spawn;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use horus_shm::internals::TopicBlocks as _;
use horus_shm::internals::layout::{POSITION_MAX, ReaderBlock, SKIP_BIT, published_stamp};
use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{
    Access, Consumer, Namespace, OnStalled, Producer, RawConsumer, ReadMode, Request, Segment,
    sweep,
};
use tempfile::TempDir;

use common::Raised;
use hostile::{rounds, topic};
use peer::{
    LOOKS, OVERRUN_US, PANICS, Peer, consumer, guard, producer, raw_consumer, raw_producer, recv,
    send,
};
use scribbler::{Kind, Scribbler};

/// The period at which a watcher checks that calls return.
const LOOK_PERIOD: Duration = Duration::from_millis(10);
/// The number of checks in a row that may find the same call, before it counts as hung.
const LOOKS_MAX: u32 = 3000;
/// Marks the messages of the check after the storm.
const MARK: u64 = 0x5afe_cafe << 32;

/// Runs `body`, which counts the calls that returned, with one counter for each calling thread. A
/// call that never returns cannot be ended, so this aborts the process.
fn watched<T>(threads: usize, what: &str, body: impl FnOnce(&[AtomicU64]) -> T) -> T {
    let steps: Vec<_> = (0..threads).map(|_| AtomicU64::new(0)).collect();
    let stop = AtomicBool::new(false);
    let watch = || {
        let mut seen = vec![(u64::MAX, 0); threads];
        while !stop.load(Ordering::Relaxed) {
            // WHY checks and not time: a suspended machine makes no checks.
            std::thread::sleep(LOOK_PERIOD);
            LOOKS.fetch_add(1, Ordering::Relaxed);
            for (steps, seen) in steps.iter().zip(&mut seen) {
                let now = steps.load(Ordering::Relaxed);
                *seen = if now == seen.0 {
                    (now, seen.1 + 1)
                } else {
                    (now, 0)
                };
                if seen.1 > LOOKS_MAX {
                    eprintln!("{what}: a call does not return, after {now} that did");
                    std::process::abort();
                }
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(watch);
        let answer = catch_unwind(AssertUnwindSafe(|| body(&steps)));
        stop.store(true, Ordering::Relaxed);
        answer.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Overwrites words between any two calls of the endpoints.
fn storm_in_turn(kind: &Kind, segment: &Arc<Segment>, scribbler: &mut Scribbler, rounds: u64) {
    let mut peers = Peer::all(kind, segment);
    watched(1, kind.name, |steps| {
        for _ in 0..rounds {
            scribbler.scribble();
            for peer in &mut peers {
                (0..4).for_each(|_| peer.step());
                steps[0].fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    guard(|| drop(peers));
}

/// Overwrites words while the endpoints are in their calls.
fn storm_at_once(kind: &Kind, segment: &Arc<Segment>, scribbler: &mut Scribbler, rounds: u64) {
    let stop = AtomicBool::new(false);
    let peers = kind.producers + kind.readings.len();
    watched(peers, kind.name, |steps| {
        std::thread::scope(|scope| {
            for (index, steps) in steps.iter().enumerate() {
                let stop = &stop;
                scope.spawn(move || {
                    let mut peer = Peer::new(kind, segment, index);
                    while !stop.load(Ordering::Relaxed) {
                        peer.step();
                        steps.fetch_add(1, Ordering::Relaxed);
                    }
                    guard(|| drop(peer));
                });
            }
            // WHY: after a panic here the other threads must stop, too.
            let _stop = Raised(&stop);
            for round in 0..rounds {
                scribbler.scribble();
                if round % 100 == 0 {
                    steps.iter().for_each(await_step);
                }
            }
        });
    });
}

/// Waits for the next step of a watched thread.
fn await_step(steps: &AtomicU64) {
    let before = steps.load(Ordering::Relaxed);
    while steps.load(Ordering::Relaxed) == before {
        std::thread::yield_now();
    }
}

type Storm = fn(&Kind, &Arc<Segment>, &mut Scribbler, u64);

/// Runs a storm on a ring again and again, and checks the state that it leaves each time.
fn expect_survival(kind: &Kind, storm: Storm, storms: u64, rounds: u64) -> Result<(), String> {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = Segment::create(&namespace, &topic(), &kind.request).unwrap();
    let mut faults = BTreeMap::<String, u64>::new();
    for seed in 0..storms {
        let mut scribbler = Scribbler::new(&segment, seed);
        storm(kind, &segment, &mut scribbler, rounds / storms);
        scribbler.scribble_on_all();
        let check = |steps: &[AtomicU64]| check_recovery(kind, &namespace, &steps[0]);
        let recovery = watched(1, kind.name, |steps| guard(|| check(steps)));
        if let Some(Err(fault)) = recovery {
            *faults.entry(fault).or_default() += 1;
        }
    }
    guard(|| drop(segment));
    faults.extend(std::mem::take(&mut *PANICS.lock().unwrap()));
    // A topic that persists is removed by its creator.
    let _ = std::fs::remove_file(namespace.topics_path().join(hostile::FILE_NAME));
    // A damaged generation hides lane files from those that remove the topic, but not from a sweep.
    sweep(&namespace).unwrap();
    assert_eq!(spawn::topic_files(&namespace), Vec::<String>::new());
    let told = faults
        .iter()
        .map(|(fault, count)| format!("\n{}: {count} × {fault}", kind.name));
    if faults.is_empty() {
        Ok(())
    } else {
        Err(told.collect())
    }
}

/// Checks that an opener after the storm gets new endpoints, and messages through them.
fn check_recovery(
    kind: &Kind,
    namespace: &Arc<Namespace>,
    steps: &AtomicU64,
) -> Result<(), String> {
    let segment = Segment::open(namespace, &topic(), &kind.request).unwrap();
    let no_end = |what: &str| format!("no {what} after the storm");
    // A lane whose generation is damaged gets a new file from its next publisher.
    let mut request = kind.request.clone();
    request.lane_limit = None;
    let all = Segment::open(namespace, &topic(), &request).unwrap();
    let lanes = 0..all.shape().lane_limit();
    drop(
        lanes
            .map_while(|_| raw_producer(&all, kind.on_stalled))
            .collect::<Vec<_>>(),
    );
    let producer = raw_producer(&segment, kind.on_stalled).ok_or_else(|| no_end("producer"));
    let consumer = raw_consumer(&segment, kind.readings[0]).ok_or_else(|| no_end("consumer"));
    let mut producer = producer?;
    let mut consumer = consumer?;
    let capacity = segment.request().offer().unwrap().shape.capacity();
    let mut last = 0;
    let mut in_step = 0;
    let mut sent = 0;
    let mut refused = 0_u64;
    while sent < 60 * capacity {
        steps.fetch_add(1, Ordering::Relaxed);
        match send(&mut producer, MARK | (sent + 1)) {
            true => sent += 1,
            false if refused > 1000 => return Err("full and stays full".into()),
            false => {
                refused += 1;
                std::thread::sleep(Duration::from_micros(100));
            }
        }
        // Unowned lanes may have random messages to deliver.
        for _ in 0..4 {
            let Some(message) = recv(&mut consumer).filter(|message| message & MARK == MARK) else {
                continue;
            };
            in_step = if message == last + 1 { in_step + 1 } else { 0 };
            last = message;
        }
    }
    if last == MARK | sent && in_step >= capacity {
        return Ok(());
    }
    let lag = sent - (last & u64::from(u32::MAX)).min(sent);
    Err(format!(
        "not in step, {}",
        if lag == sent { "deaf" } else { "late" }
    ))
}

fn expect_all_survive(storm: Storm, storms: u64, rounds: u64) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let detach = OnStalled::Detach {
        after: Duration::ZERO,
    };
    let kinds = [
        Kind::spsc(),
        Kind::mpsc(),
        Kind::fanout(),
        Kind::pod(),
        Kind::reliable(OnStalled::Full),
        Kind::reliable(detach),
        Kind::pinnable(),
        Kind::reliable_pinnable(),
        Kind::sized(),
    ];
    let faults = kinds
        .iter()
        .map(|kind| expect_survival(kind, storm, storms, rounds));
    let faults: String = faults.filter_map(Result::err).collect();
    let overrun_us = OVERRUN_US.swap(0, Ordering::Relaxed);
    let kinds = kinds.len();
    common::result(
        "hostile-lanes",
        format_args!(
            "{rounds} rounds of {kinds} kinds, deadlines passed by {overrun_us} µs at most"
        ),
    );
    assert!(faults.is_empty(), "{faults}");
}

/// Makes a segment, and a scribbler on it.
fn ring(request: &Request) -> (TempDir, Arc<Segment>, Scribbler) {
    let dir = spawn::shm_dir();
    let segment = Segment::create(&spawn::namespace(dir.path()), &topic(), request).unwrap();
    let scribbler = Scribbler::new(&segment, 1);
    (dir, segment, scribbler)
}

/// Makes a segment of many lanes, and a scribbler on it.
fn wide_ring() -> (TempDir, Arc<Segment>, Scribbler) {
    let mut request = Kind::fanout().request;
    (request.lane_limit, request.history) = (Some(16), None);
    ring(&request)
}

#[test]
fn the_ledger_of_a_reader_survives_wild_heads_in_all_lanes() {
    for wild in [POSITION_MAX, POSITION_MAX - 1, 1 << 60, SKIP_BIT, u64::MAX] {
        let (_dir, segment, scribbler) = wide_ring();
        let consumer = consumer(&segment, ReadMode::KeepLast).unwrap();
        let set_heads = |value| {
            let heads = scribbler.heads.iter();
            heads.for_each(|&head| scribbler.word(head).store(value, Ordering::Relaxed));
        };
        set_heads(wild);
        let _ = consumer.stats();
        // This reader joins at damaged heads that are valid again later.
        let late = self::consumer(&segment, ReadMode::KeepLast);
        set_heads(5);
        let _ = (consumer.stats(), late.map(|late| late.stats()));
    }
}

#[test]
fn the_ledger_of_a_reader_survives_wild_losses_in_all_lanes() {
    let (_dir, segment, scribbler) = wide_ring();
    let producers: Vec<_> = (0..16)
        .map(|_| producer(&segment, OnStalled::Full))
        .collect();
    let mut consumer = consumer(&segment, ReadMode::KeepLast).unwrap();
    let mut latest = self::consumer(&segment, ReadMode::KeepLast).unwrap();
    for (lane, &head) in scribbler.heads.iter().enumerate() {
        scribbler.word(head).store(POSITION_MAX, Ordering::Relaxed);
        for slot in scribbler
            .slots(lane as u32)
            .step_by(scribbler.slots.stride() as usize)
        {
            let stamp = (slot + scribbler.slots.stride() - 8) as usize;
            scribbler
                .word(stamp)
                .store(published_stamp(POSITION_MAX - 8), Ordering::Relaxed);
        }
    }
    for _ in 0..40 {
        let _ = (consumer.recv(), latest.latest());
    }
    let _ = (consumer.stats(), latest.stats());
    drop(producers);
}

/// Sends and receives a thousand times; returns true if more than 500 messages came through.
fn gets_through(producer: &mut Producer<u64>, consumer: &mut Consumer<u64>) -> bool {
    let mut sent = 0;
    let mut received = 0;
    for _ in 0..1000 {
        let full = producer.send(sent).is_err();
        sent += u64::from(!full);
        received += u64::from(consumer.recv().is_some());
        if full {
            // A producer checks the reader in its way at most this often.
            std::thread::sleep(Duration::from_micros(50));
        }
    }
    received > 500
}

/// The message is lost with its stamp; the messages after it are not.
#[test]
fn a_successor_of_a_dead_reader_is_not_stuck_behind_a_damaged_slot() {
    let (_dir, segment, scribbler) = ring(&Kind::spsc().request);
    let mut producer = producer(&segment, OnStalled::Full).unwrap();
    let dead = consumer(&segment, ReadMode::Gated).unwrap();
    (0..4).for_each(|message| producer.send(message).unwrap());
    let shape = segment.shape();
    let start = segment.shape().reader_area().start as usize;
    let second_stamp = (scribbler.slots(0).start + 2 * scribbler.slots.stride() - 8) as usize;
    // Its owner words name no live process, as after its death.
    for (offset, value) in [(start + shape.reader_block_offset(0), 7), (second_stamp, 0)] {
        scribbler.word(offset).store(value, Ordering::Relaxed);
    }
    let successor = RawConsumer::successor(Arc::clone(&segment)).unwrap();
    let mut successor = Consumer::new(successor);
    assert!(
        gets_through(&mut producer, &mut successor),
        "stuck with {:?}",
        successor.stats()
    );
    // WHY only now: its drop would clean up.
    drop(dead);
}

#[test]
fn a_late_joiner_with_history_is_not_stuck_behind_a_damaged_slot() {
    let (_dir, segment, scribbler) = ring(&Kind::reliable(OnStalled::Full).request);
    let mut producer = producer(&segment, OnStalled::Full).unwrap();
    (0..8).for_each(|message| producer.send(message).unwrap());
    let fourth_stamp = (scribbler.slots(0).start + 4 * scribbler.slots.stride() - 8) as usize;
    scribbler.word(fourth_stamp).store(0, Ordering::Relaxed);
    let mut late = consumer(&segment, ReadMode::Gated).unwrap();
    assert!(
        gets_through(&mut producer, &mut late),
        "stuck with {:?}",
        late.stats()
    );
}

/// The reader is not notified of a missing message; it detects the gap, and counts it once.
#[test]
fn a_message_whose_stamp_is_damaged_is_one_loss_in_the_ledger() {
    let reliable = (Kind::reliable(OnStalled::Full), ReadMode::Gated);
    for (mut kind, reading) in [
        (Kind::fanout(), ReadMode::KeepLast),
        reliable,
        (Kind::spsc(), ReadMode::Gated),
        (Kind::pinnable(), ReadMode::KeepLast),
    ] {
        kind.request.history = None;
        let (_dir, segment, scribbler) = ring(&kind.request);
        let mut consumer = consumer(&segment, reading).unwrap();
        let mut producer = producer(&segment, OnStalled::Full).unwrap();
        (0..8).for_each(|message| producer.send(message).unwrap());
        let fourth_stamp = (scribbler.slots(0).start + 4 * scribbler.slots.stride() - 8) as usize;
        scribbler.word(fourth_stamp).store(0, Ordering::Relaxed);
        // The reader checks for damage after a number of empty polls; this makes twice as many.
        let received: Vec<_> = (0..1000).filter_map(|_| consumer.recv()).collect();
        let stats = consumer.stats();
        assert_eq!(received, [0, 1, 2, 4, 5, 6, 7], "{}: {stats:?}", kind.name);
        let account = (
            stats.received,
            stats.lost,
            stats.skipped,
            stats.waiting,
            stats.sent,
        );
        assert_eq!(account, (7, 1, 0, 0, 8), "{}", kind.name);
    }
}

/// A cursor that is too small holds the writer back, and no later message would advance it.
#[test]
fn a_waiting_reader_repairs_its_damaged_cursor() {
    let (_dir, segment, scribbler) = ring(&Kind::spsc().request);
    let mut consumer = consumer(&segment, ReadMode::Gated).unwrap();
    let mut producer = producer(&segment, OnStalled::Full).unwrap();
    for message in 0..8 {
        producer.send(message).unwrap();
        assert_eq!(consumer.recv(), Some(message));
    }
    let shape = segment.shape();
    let reader = shape.reader_area().start as usize + shape.reader_block_offset(0);
    let cursor = scribbler.word(reader + size_of::<ReaderBlock<AtomicU64>>());
    assert_eq!(
        cursor.load(Ordering::Relaxed),
        9,
        "the cursors of a reader begin elsewhere"
    );
    cursor.store(1, Ordering::Relaxed);
    producer.send(8).unwrap_err();
    for _ in 0..1000 {
        assert_eq!(consumer.recv(), None);
    }
    producer.send(8).unwrap();
    assert_eq!(consumer.recv(), Some(8));
}

/// The file of a lane's first extent says where the lane begins. If the head was damaged when that
/// file was made, the file says so for ever, also after the head was damaged again, or repaired.
#[test]
fn a_lane_that_begins_past_its_head_is_read_from_its_newest_extent_on() {
    for kind in [Kind::mpsc(), Kind::fanout(), Kind::pinnable()] {
        let dir = spawn::shm_dir();
        let namespace = spawn::namespace(dir.path());
        let segment = Segment::create(&namespace, &topic(), &kind.request).unwrap();
        let lane = segment.lane_block(0, Access::Write).unwrap();
        lane.head.store(1 << 47, Ordering::Relaxed);
        drop(producer(&segment, kind.on_stalled).unwrap());
        // No file belongs to this generation, so the next publisher makes the one after it.
        lane.generation.store(6, Ordering::Relaxed);
        lane.head.store(5, Ordering::Relaxed);
        let mut producer = producer(&segment, kind.on_stalled).unwrap();
        let mut consumer = consumer(&segment, kind.readings[0]).unwrap();
        for message in 0..20 {
            producer.send(message).unwrap();
            assert_eq!(consumer.recv(), Some(message), "{}", kind.name);
        }
        assert_eq!(consumer.stats().lost, 0, "{}", kind.name);
    }
}

/// A head that no writer can reach is no evidence of published messages.
#[test]
fn a_wild_head_makes_no_reader_pass_on() {
    for (kind, reading) in [
        (Kind::pod(), ReadMode::KeepLast),
        (Kind::spsc(), ReadMode::Gated),
    ] {
        let (_dir, segment, scribbler) = ring(&kind.request);
        let mut consumer = consumer(&segment, reading).unwrap();
        let mut producer = producer(&segment, OnStalled::Full).unwrap();
        for message in 0..3 {
            producer.send(message).unwrap();
            assert_eq!(consumer.recv(), Some(message));
        }
        scribbler
            .word(scribbler.heads[0])
            .store(POSITION_MAX + 1, Ordering::Relaxed);
        for _ in 0..1000 {
            assert_eq!(consumer.recv(), None, "{}", kind.name);
        }
        // The next write stores a head that is right.
        (3..8).for_each(|message| producer.send(message).unwrap());
        let received: Vec<_> = (0..5).filter_map(|_| consumer.recv()).collect();
        assert_eq!(received, [3, 4, 5, 6, 7], "{}", kind.name);
        assert_eq!(consumer.stats().lost, 0, "{}", kind.name);
    }
}

#[test]
fn endpoints_survive_scribbles_on_every_shared_word_between_their_calls() {
    expect_all_survive(storm_in_turn, 20, rounds(800, 100_000));
}

#[test]
fn endpoints_survive_scribbles_on_every_shared_word_during_their_calls() {
    expect_all_survive(storm_at_once, 2, rounds(800, 100_000));
}

/// A receiver of a `u64` gets eight bytes that were written, whatever the length says.
#[test]
fn a_message_of_one_size_is_copied_whole_whatever_its_length_says() {
    let (_dir, segment, scribbler) = ring(&Kind::pinnable().request);
    let mut producer = producer(&segment, OnStalled::Full).unwrap();
    let mut consumers = [ReadMode::KeepLast, ReadMode::Observer]
        .map(|reading| consumer(&segment, reading).unwrap());
    producer.send(42).unwrap();
    let length = (scribbler.slots(0).start + scribbler.slots.stride() - 24) as usize;
    scribbler.word(length).store(3, Ordering::Relaxed);
    for consumer in &mut consumers {
        let mut message = u64::MAX;
        assert!(consumer.recv_into(&mut message));
        assert_eq!(message, 42);
    }
}

/// The length of a message of one size is that size, also for a receiver of bytes.
#[test]
fn a_message_of_one_size_is_never_shortened() {
    let mut request = Kind::pinnable().request;
    request.reader_limit = Some(5);
    let (_dir, segment, scribbler) = ring(&request);
    let mut producer = producer(&segment, OnStalled::Full).unwrap();
    let raw = |reading| RawConsumer::new(Arc::clone(&segment), reading).unwrap();
    let mut observer = raw(ReadMode::Observer);
    let [
        mut copying,
        mut until,
        mut latest,
        mut borrowing,
        mut newest,
    ] = [0; 5].map(|_| raw(ReadMode::KeepLast));
    for (position, damaged) in [0, 3, 9, u64::MAX].into_iter().enumerate() {
        producer.send(u64::from_le_bytes(*b"8 bytes.")).unwrap();
        let slot = scribbler.slots(0).start + position as u64 * scribbler.slots.stride();
        let length = (slot + scribbler.slots.stride() - 24) as usize;
        assert_eq!(scribbler.word(length).swap(damaged, Ordering::Relaxed), 8);
        let mut buffers = [[0; 8]; 2];
        let [buffer, other] = &mut buffers;
        assert_eq!(observer.recv_bytes(buffer), Some(8), "instead of {damaged}");
        assert_eq!(
            (copying.recv_bytes(buffer), &*buffer),
            (Some(8), b"8 bytes.")
        );
        let wait_policy = WaitPolicy::with_timeout(Duration::from_secs(10));
        assert_eq!(until.recv_bytes_until(wait_policy, buffer), Some(8));
        assert_eq!(latest.latest_bytes([buffer, other], &|_| 0), Some((0, 8)));
        assert_eq!(borrowing.borrow().unwrap().unwrap().bytes(), b"8 bytes.");
        let sample = newest.borrow_latest(&|_| 0).unwrap().unwrap();
        assert_eq!(sample.bytes(), b"8 bytes.");
    }
}

/// A lane number that no topic can have is not taken for another lane.
#[test]
fn an_impossible_lane_is_neither_ignored_nor_included() {
    let dir = spawn::shm_dir();
    let segment = Segment::create(
        &spawn::namespace(dir.path()),
        &topic(),
        &Kind::pinnable().request,
    );
    let segment = segment.unwrap();
    let mut producer = producer(&segment, OnStalled::Full).unwrap();
    let mut consumer = consumer(&segment, ReadMode::KeepLast).unwrap();
    for lane in [63, 64, 128, u32::MAX] {
        consumer.ignore(lane);
    }
    producer.send(1).unwrap();
    assert_eq!(consumer.recv(), Some(1));
    consumer.ignore(0);
    for lane in [63, 64, 128, u32::MAX] {
        consumer.include(lane).unwrap();
    }
    producer.send(2).unwrap();
    assert_eq!(consumer.recv(), None, "lane 0 stays ignored");
    consumer.include(0).unwrap();
    producer.send(3).unwrap();
    assert_eq!(consumer.recv(), Some(3));
}

/// An announcement of an absent reader would cost every send a check, or a slot, for ever.
#[test]
fn pins_and_waiters_of_absent_readers_are_removed() {
    let dir = spawn::shm_dir();
    let segment = Segment::create(
        &spawn::namespace(dir.path()),
        &topic(),
        &Kind::pinnable().request,
    );
    let segment = segment.unwrap();
    let mut producer = producer(&segment, OnStalled::Full).unwrap();
    let wait = segment.wait_block(Access::Read).unwrap();
    let nobody = segment.reader_block(3, Access::Write).unwrap();
    for (slot, pin) in nobody.pins.iter().enumerate() {
        pin.store(slot as u64 + 1, Ordering::Relaxed);
    }
    let write = segment.wait_block(Access::Write).unwrap();
    write.pinners.store(u64::MAX, Ordering::Relaxed);
    write.waiters.store(1 << 3, Ordering::Relaxed);
    (0..100).for_each(|message| producer.send(message).unwrap());
    assert_eq!(wait.waiters.load(Ordering::Relaxed), 0);
    assert!(
        nobody
            .pins
            .iter()
            .all(|pin| pin.load(Ordering::Relaxed) == 0)
    );
}
