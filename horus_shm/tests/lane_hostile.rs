//! A ring whose shared words somebody scribbles on while its ends are at work: messages may be
//! anything, but every call comes back, nobody panics, and whoever comes after finds it usable.

mod hostile;
mod spawn;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use horus_shm::layout::{POSITION_MAX, SKIP, published, writing};
use horus_shm::{
    Consumer, Namespace, OnStalled, OpenError, Producer, RawConsumer, RawProducer, Reading,
    Reliability, Request, Segment, TypeInfo,
};
use memmap2::{MmapOptions, MmapRaw};

use hostile::{Rng, rounds, topic};

/// How often a watcher looks whether calls come back.
const LOOK_PERIOD: Duration = Duration::from_millis(10);
/// Looks in a row that may find a call under way, before it counts as hung.
const LOOKS_MAX: u32 = 3000;
/// Words that are scribbled on in one round.
const SCRIBBLES: u64 = 8;
/// Marks the messages of the check after the storm.
const MARK: u64 = 0x5afe_cafe << 32;

/// A ring and the ends that are at work on it.
struct Kind {
    name: &'static str,
    request: Request,
    producers: usize,
    readings: &'static [Reading],
    on_stalled: OnStalled,
}

impl Kind {
    fn new(name: &'static str, readings: &'static [Reading]) -> Self {
        let mut request = Request::new(TypeInfo::opaque::<u64>());
        (request.capacity, request.gate_limit) = (Some(8), Some(2));
        Self { name, request, producers: 1, readings, on_stalled: OnStalled::Full }
    }

    fn spsc() -> Self {
        let mut kind = Self::new("spsc", &[Reading::Gated]);
        kind.request.gated_only = true;
        (kind.request.lane_limit, kind.request.gate_limit) = (Some(1), Some(1));
        kind
    }

    fn mpsc() -> Self {
        let mut kind = Self::new("mpsc", &[Reading::Gated]);
        kind.request.gated_only = true;
        kind.request.gate_limit = Some(1);
        kind.producers = 2;
        kind
    }

    fn fanout() -> Self {
        let mut kind = Self::new("fanout", &[Reading::KeepLast, Reading::Observer]);
        kind.request.history = Some(4);
        kind.producers = 2;
        kind
    }

    fn pod() -> Self {
        let mut kind = Self::new("pod", &[Reading::KeepLast, Reading::KeepLast]);
        (kind.request.lane_limit, kind.request.history) = (Some(1), Some(1));
        kind
    }

    fn reliable(on_stalled: OnStalled) -> Self {
        let mut kind = Self::new("reliable", &[Reading::Gated, Reading::KeepLast]);
        kind.request.reliability = Some(Reliability::Reliable);
        kind.request.persists = Some(true);
        kind.request.history = Some(u32::MAX);
        kind.on_stalled = on_stalled;
        kind
    }
}

/// The whole file of a topic, mapped writable by somebody who keeps no rule.
struct Scribbler {
    map: MmapRaw,
    words: Vec<usize>,
    heads: Vec<usize>,
    me: u64,
    rng: Rng,
}

impl Scribbler {
    fn new(segment: &Segment, seed: u64) -> Self {
        let shape = segment.shape();
        let file = OpenOptions::new().read(true).write(true).open(segment.path()).unwrap();
        let map = MmapOptions::new().len(shape.file_bytes() as usize).map_raw(&file).unwrap();
        let blocks = [shape.lane_area(), shape.reader_area()];
        let blocks = blocks.into_iter().flat_map(|area| area.step_by(8));
        let stride = shape.stride();
        let lanes = 0..shape.request().lane_limit;
        let stamps = lanes.clone().flat_map(|lane| {
            let slots = shape.lane(lane);
            slots.step_by(stride as usize).map(move |slot| slot + stride - 8)
        });
        // The blocks twice, so that they are hit as often as the many stamps.
        let words: Vec<_> = blocks.clone().chain(blocks).chain(stamps).collect();
        let start = shape.lane_area().start as usize;
        let heads = lanes.map(|lane| start + shape.lane_block_offset(lane) + 64).collect();
        let words = words.into_iter().map(|word| word as usize).collect();
        Self { map, words, heads, me: segment.me(), rng: Rng(seed) }
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.map.len());
        // SAFETY: in bounds by the assertion.
        let word = unsafe { self.map.as_mut_ptr().add(offset) };
        // SAFETY: aligned by the assertion, mapped as long as `self`, and only touched atomically.
        unsafe { AtomicU64::from_ptr(word.cast()) }
    }

    /// Junk, or something that is nearly right.
    fn value(&mut self) -> u64 {
        let head = self.rng.pick(&self.heads);
        let head = self.word(head).load(Ordering::Relaxed);
        let pos = head.wrapping_add(self.rng.below(20)).wrapping_sub(10);
        let edges = [0, 1, SKIP, 1 << 62, POSITION_MAX, POSITION_MAX - 1, SKIP - 1, u64::MAX];
        match self.rng.below(8) {
            0 => self.rng.next_u64(),
            1 => self.rng.next_u64() >> self.rng.below(64),
            2 => self.rng.pick(&edges).wrapping_add(self.rng.below(3)),
            3 => published(pos),
            4 => writing(pos),
            5 => published(pos) | SKIP,
            6 => pos,
            _ => self.me,
        }
    }

    fn scribble(&mut self) {
        for _ in 0..SCRIBBLES {
            let (offset, value) = (self.rng.pick(&self.words), self.value());
            self.word(offset).store(value, Ordering::Relaxed);
        }
    }

    /// Junk in every word, and no word that says a place is ours.
    fn scribble_on_all(&mut self) {
        for index in 0..self.words.len() {
            let value = self.value();
            let value = if value == self.me { 0 } else { value };
            self.word(self.words[index]).store(value, Ordering::Relaxed);
        }
    }
}

/// The panics of the ends, by place and message.
static PANICS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs one step of an end; a panic in it is noted with its place. `None` if there was one.
fn guard<T>(step: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if GUARDED.get() {
                let said = info.to_string().replace('\n', " ");
                *PANICS.lock().unwrap().entry(said).or_default() += 1;
            } else {
                usual(info);
            }
        }));
    });
    GUARDED.set(true);
    let answer = catch_unwind(AssertUnwindSafe(step)).ok();
    GUARDED.set(false);
    answer
}

fn expect_typed(error: &OpenError) {
    let is_typed = matches!(
        error,
        OpenError::TooManyPublishers { .. }
            | OpenError::TooManySubscribers { .. }
            | OpenError::TooManyReliableSubscribers { .. }
    );
    assert!(is_typed, "{error:?}");
}

fn producer(segment: &Arc<Segment>, on_stalled: OnStalled) -> Option<Producer<u64>> {
    let raw = RawProducer::new(Arc::clone(segment), on_stalled);
    raw.inspect_err(expect_typed).map(Producer::new).ok()
}

fn consumer(segment: &Arc<Segment>, reading: Reading) -> Option<Consumer<u64>> {
    let raw = RawConsumer::new(Arc::clone(segment), reading);
    raw.inspect_err(expect_typed).map(Consumer::new).ok()
}

/// One end, or its place while it is away.
enum End {
    Producer(Option<Producer<u64>>),
    Consumer(Reading, Option<Consumer<u64>>),
}

/// An end that does this and that, one call a step.
struct Peer<'a> {
    kind: &'a Kind,
    segment: &'a Arc<Segment>,
    end: End,
    rng: Rng,
}

impl<'a> Peer<'a> {
    fn new(kind: &'a Kind, segment: &'a Arc<Segment>, index: usize) -> Self {
        let end = match index.checked_sub(kind.producers) {
            None => End::Producer(None),
            Some(index) => End::Consumer(kind.readings[index], None),
        };
        Self { kind, segment, end, rng: Rng(index as u64) }
    }

    fn all(kind: &'a Kind, segment: &'a Arc<Segment>) -> Vec<Self> {
        let ends = kind.producers + kind.readings.len();
        (0..ends).map(|index| Self::new(kind, segment, index)).collect()
    }

    fn step(&mut self) {
        let (choice, segment) = (self.rng.below(100), self.segment);
        let on_stalled = self.kind.on_stalled;
        match &mut self.end {
            End::Producer(end @ None) => *end = guard(|| producer(segment, on_stalled)).flatten(),
            End::Consumer(reading, end @ None) => {
                *end = guard(|| consumer(segment, *reading)).flatten();
            }
            End::Producer(end @ Some(_)) if choice < 2 => _ = guard(|| *end = None),
            End::Consumer(_, end @ Some(_)) if choice < 2 => _ = guard(|| *end = None),
            End::Producer(Some(producer)) => _ = guard(|| producer.send(choice)),
            End::Consumer(_, Some(consumer)) => {
                _ = guard(|| match choice {
                    2 => _ = (segment.publisher_count(), segment.subscriber_count()),
                    3..10 => _ = (consumer.stats(), consumer.raw().detached()),
                    10..15 => _ = consumer.raw().sequence(),
                    15..30 => _ = consumer.latest(),
                    30..40 => _ = consumer.latest_by_key(|&message| message),
                    _ => _ = consumer.recv(),
                })
            }
        }
    }
}

/// Runs `body`, which counts the calls that came back, one counter for each thread that calls. A
/// call that never comes back cannot be ended, so then the process is.
fn watched<T>(threads: usize, what: &str, body: impl FnOnce(&[AtomicU64]) -> T) -> T {
    let steps: Vec<_> = (0..threads).map(|_| AtomicU64::new(0)).collect();
    let stop = AtomicBool::new(false);
    let watch = || {
        let mut seen = vec![(u64::MAX, 0); threads];
        while !stop.load(Ordering::Relaxed) {
            // Counted in looks: a machine that slept has not waited.
            std::thread::sleep(LOOK_PERIOD);
            for (steps, seen) in steps.iter().zip(&mut seen) {
                let now = steps.load(Ordering::Relaxed);
                *seen = if now == seen.0 { (now, seen.1 + 1) } else { (now, 0) };
                if seen.1 > LOOKS_MAX {
                    eprintln!("{what}: a call does not come back, after {now} that did");
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

/// Scribbles between any two calls of the ends.
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

/// Scribbles while the ends are in their calls.
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
            for round in 0..rounds {
                scribbler.scribble();
                if round % 100 == 0 {
                    steps.iter().for_each(await_step);
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}

/// Waits for the next step of a thread that is watched.
fn await_step(steps: &AtomicU64) {
    let before = steps.load(Ordering::Relaxed);
    while steps.load(Ordering::Relaxed) == before {
        std::thread::yield_now();
    }
}

type Storm = fn(&Kind, &Arc<Segment>, &mut Scribbler, u64);

/// Has a storm go over a ring again and again, and looks what is left each time.
fn expect_survival(kind: &Kind, storm: Storm, storms: u64, rounds: u64) -> Result<(), String> {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = Segment::create(&namespace, &topic(), &kind.request).unwrap();
    let mut scribbler = Scribbler::new(&segment, 1);
    let mut faults = BTreeMap::<String, u64>::new();
    for seed in 0..storms {
        scribbler.rng = Rng(seed);
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
    // What persists is removed by whoever made it.
    let _ = std::fs::remove_file(namespace.topics_path().join(hostile::FILE_NAME));
    assert_eq!(spawn::topic_files(&namespace), Vec::<String>::new());
    let told = faults.iter().map(|(fault, count)| format!("\n{}: {count} × {fault}", kind.name));
    if faults.is_empty() { Ok(()) } else { Err(told.collect()) }
}

/// Whoever opens the topic when the storm is over gets new ends, and messages through them.
fn check_recovery(
    kind: &Kind,
    namespace: &Arc<Namespace>,
    steps: &AtomicU64,
) -> Result<(), String> {
    let segment = Segment::open(namespace, &topic(), &kind.request).unwrap();
    let no_end = |what: &str| format!("no {what} after the storm");
    let producer = producer(&segment, kind.on_stalled).ok_or_else(|| no_end("producer"));
    let consumer = consumer(&segment, kind.readings[0]).ok_or_else(|| no_end("consumer"));
    let (mut producer, mut consumer) = (producer?, consumer?);
    let capacity = segment.shape().capacity();
    let (mut last, mut in_step) = (0, 0);
    let (mut sent, mut refused) = (0, 0_u64);
    while sent < 60 * capacity {
        steps.fetch_add(1, Ordering::Relaxed);
        match producer.send(MARK | (sent + 1)) {
            Ok(()) => sent += 1,
            Err(_) if refused > 1000 => return Err("full for good".into()),
            Err(_) => {
                refused += 1;
                std::thread::sleep(Duration::from_micros(100));
            }
        }
        // Lanes that nobody owns may have junk to deliver.
        for _ in 0..4 {
            let Some(message) = consumer.recv().filter(|message| message & MARK == MARK) else {
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
    Err(format!("not in step, {}", if lag == sent { "deaf" } else { "late" }))
}

fn expect_all_survive(storm: Storm, storms: u64, rounds: u64) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let detach = OnStalled::Detach { after: Duration::ZERO };
    let kinds = [
        Kind::spsc(),
        Kind::mpsc(),
        Kind::fanout(),
        Kind::pod(),
        Kind::reliable(OnStalled::Full),
        Kind::reliable(detach),
    ];
    let faults = kinds.iter().map(|kind| expect_survival(kind, storm, storms, rounds));
    let faults: String = faults.filter_map(Result::err).collect();
    assert!(faults.is_empty(), "{faults}");
}

/// A segment of many lanes, and somebody who scribbles on it.
fn wide_ring() -> (tempfile::TempDir, Arc<Segment>, Scribbler) {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let mut request = Kind::fanout().request;
    (request.lane_limit, request.history) = (Some(16), None);
    let segment = Segment::create(&namespace, &topic(), &request).unwrap();
    let scribbler = Scribbler::new(&segment, 1);
    (dir, segment, scribbler)
}

#[test]
fn the_ledger_of_a_reader_survives_wild_heads_in_all_lanes() {
    for wild in [POSITION_MAX, POSITION_MAX - 1, 1 << 60, SKIP, u64::MAX] {
        let (_dir, segment, scribbler) = wide_ring();
        let consumer = consumer(&segment, Reading::KeepLast).unwrap();
        let set_heads = |value| {
            let heads = scribbler.heads.iter();
            heads.for_each(|&head| scribbler.word(head).store(value, Ordering::Relaxed));
        };
        set_heads(wild);
        let _ = consumer.stats();
        // One who joins at wild heads that are right again later.
        let late = self::consumer(&segment, Reading::KeepLast);
        set_heads(5);
        let _ = (consumer.stats(), late.map(|late| late.stats()));
    }
}

#[test]
fn the_ledger_of_a_reader_survives_wild_losses_in_all_lanes() {
    let (_dir, segment, scribbler) = wide_ring();
    let producers: Vec<_> = (0..16).map(|_| producer(&segment, OnStalled::Full)).collect();
    let mut consumer = consumer(&segment, Reading::KeepLast).unwrap();
    let mut latest = self::consumer(&segment, Reading::KeepLast).unwrap();
    let shape = segment.shape();
    for (lane, &head) in scribbler.heads.iter().enumerate() {
        scribbler.word(head).store(POSITION_MAX, Ordering::Relaxed);
        for slot in shape.lane(lane as u32).step_by(shape.stride() as usize) {
            let stamp = (slot + shape.stride() - 8) as usize;
            scribbler.word(stamp).store(published(POSITION_MAX - 8), Ordering::Relaxed);
        }
    }
    for _ in 0..40 {
        let _ = (consumer.recv(), latest.latest());
    }
    let _ = (consumer.stats(), latest.stats());
    drop(producers);
}

/// Sends and receives until a lane's worth of messages in a row came through.
fn gets_through(producer: &mut Producer<u64>, consumer: &mut Consumer<u64>) -> bool {
    let (mut sent, mut received) = (0, 0);
    for _ in 0..1000 {
        let full = producer.send(sent).is_err();
        sent += u64::from(!full);
        received += u64::from(consumer.recv().is_some());
        if full {
            // A producer asks for the reader in its way at most this often.
            std::thread::sleep(Duration::from_micros(50));
        }
    }
    received > 500
}

/// The stamp is gone for good, so the message is; those after it are not.
#[test]
fn whoever_follows_a_dead_reader_is_not_stuck_behind_a_damaged_slot() {
    let kind = Kind::spsc();
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = Segment::create(&namespace, &topic(), &kind.request).unwrap();
    let scribbler = Scribbler::new(&segment, 1);
    let mut producer = producer(&segment, OnStalled::Full).unwrap();
    let dead = consumer(&segment, Reading::Gated).unwrap();
    (0..4).for_each(|message| producer.send(message).unwrap());
    let (shape, start) = (segment.shape(), segment.shape().reader_area().start as usize);
    let second_stamp = (shape.lane(0).start + 2 * shape.stride() - 8) as usize;
    // Its owner words name nobody who lives, as after its death.
    for (offset, value) in [
        (start + shape.reader_block_offset(0), 7),
        (start + shape.gates_offset(), 7),
        (second_stamp, 0),
    ] {
        scribbler.word(offset).store(value, Ordering::Relaxed);
    }
    let mut successor = consumer(&segment, Reading::Gated).unwrap();
    assert!(gets_through(&mut producer, &mut successor), "stuck with {:?}", successor.stats());
    // Only now, for its drop would tidy up.
    drop(dead);
}

#[test]
fn a_late_joiner_with_history_is_not_stuck_behind_a_damaged_slot() {
    let kind = Kind::reliable(OnStalled::Full);
    let (dir, name) = (spawn::shm_dir(), topic());
    let namespace = spawn::namespace(dir.path());
    let segment = Segment::create(&namespace, &name, &kind.request).unwrap();
    let scribbler = Scribbler::new(&segment, 1);
    let mut producer = producer(&segment, OnStalled::Full).unwrap();
    (0..8).for_each(|message| producer.send(message).unwrap());
    let shape = segment.shape();
    let fourth_stamp = (shape.lane(0).start + 4 * shape.stride() - 8) as usize;
    scribbler.word(fourth_stamp).store(0, Ordering::Relaxed);
    let mut late = consumer(&segment, Reading::Gated).unwrap();
    assert!(gets_through(&mut producer, &mut late), "stuck with {:?}", late.stats());
}

#[test]
fn ends_survive_scribbles_on_every_shared_word_between_their_calls() {
    expect_all_survive(storm_in_turn, 20, rounds(2000, 100_000));
}

#[test]
fn ends_survive_scribbles_on_every_shared_word_during_their_calls() {
    expect_all_survive(storm_at_once, 2, rounds(2000, 100_000));
}
