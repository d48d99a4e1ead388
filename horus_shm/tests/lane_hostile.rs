//! A ring whose shared words somebody scribbles on while its ends are at work: messages may be
//! anything, but every call comes back, nobody panics, and whoever comes after finds it usable.

mod hostile;
mod spawn;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

use horus_shm::layout::{POSITION_MAX, SKIP, published, writing};
use horus_shm::{
    Consumer, Namespace, OnStalled, OpenError, Producer, RawConsumer, RawProducer, Reading,
    Reliability, Request, Segment, TypeInfo,
};
use memmap2::{MmapOptions, MmapRaw};

use hostile::{Rng, rounds, topic};

/// Longest time that a peer may take for one step before it counts as hung.
const PATIENCE: Duration = Duration::from_secs(30);
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

/// The panics of the peers, by place and message.
static PANICS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

thread_local! {
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs one step of a peer; a panic is noted with its place, and the peer goes on.
fn guard<T>(kind: &str, step: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().name().is_some_and(|name| name.starts_with("peer")) {
                let said = info.to_string().replace('\n', " ");
                LAST_PANIC.with(|last| *last.borrow_mut() = Some(said));
            } else {
                usual(info);
            }
        }));
    });
    let answer = catch_unwind(AssertUnwindSafe(step)).ok();
    if answer.is_none() {
        let said = LAST_PANIC.with(|last| last.borrow_mut().take()).unwrap_or_default();
        *PANICS.lock().unwrap().entry(format!("{kind}: {said}")).or_default() += 1;
    }
    answer
}

/// A peer that is at work: what it has done so far, and when to stop.
struct Work {
    steps: AtomicU64,
    stop: AtomicBool,
}

impl Work {
    fn goes_on(&self) -> bool {
        self.steps.fetch_add(1, Ordering::Relaxed);
        !self.stop.load(Ordering::Relaxed)
    }
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

fn produce(kind: &Kind, segment: &Arc<Segment>, work: &Work) {
    let mut message = 0;
    while work.goes_on() {
        guard(kind.name, || {
            let Some(mut producer) = producer(segment, kind.on_stalled) else { return };
            for _ in 0..200 {
                message += 1;
                let _ = producer.send(message);
                let _ = producer.position();
                if !work.goes_on() {
                    break;
                }
            }
        });
    }
}

fn consume(kind: &Kind, segment: &Arc<Segment>, reading: Reading, work: &Work) {
    while work.goes_on() {
        guard(kind.name, || {
            let Some(mut consumer) = consumer(segment, reading) else { return };
            for step in 0..100 {
                guard(kind.name, || match step % 4 {
                    0 => drop(consumer.latest()),
                    1 => drop(consumer.latest_by_key(|&message| message)),
                    _ => drop(consumer.recv()),
                });
                guard(kind.name, || {
                    let stats = consumer.stats();
                    (stats, consumer.raw().sequence(), consumer.raw().detached())
                });
                guard(kind.name, || (segment.publisher_count(), segment.subscriber_count()));
                if !work.goes_on() {
                    break;
                }
            }
        });
    }
}

/// Scribbles for `rounds` rounds, in each of which every peer takes a step.
fn storm(kind: &Kind, segment: &Arc<Segment>, scribbler: &mut Scribbler, rounds: u64) {
    let peers = kind.producers + kind.readings.len();
    let work: Vec<_> = (0..peers)
        .map(|_| Work { steps: AtomicU64::new(0), stop: AtomicBool::new(false) })
        .collect();
    std::thread::scope(|scope| {
        for (index, work) in work.iter().enumerate() {
            let reading = index.checked_sub(kind.producers).map(|index| kind.readings[index]);
            let peer = move || match reading {
                None => produce(kind, segment, work),
                Some(reading) => consume(kind, segment, reading, work),
            };
            let builder = std::thread::Builder::new().name(format!("peer {index}"));
            builder.spawn_scoped(scope, peer).unwrap();
        }
        for round in 0..rounds {
            scribbler.scribble();
            for (index, work) in work.iter().enumerate() {
                expect_step(work, || format!("{}, peer {index}, round {round}", kind.name));
            }
        }
        work.iter().for_each(|work| work.stop.store(true, Ordering::Relaxed));
    });
}

/// Waits for a peer's next step. One that never comes cannot be ended, so the process is.
fn expect_step(work: &Work, what: impl Fn() -> String) {
    let (before, start) = (work.steps.load(Ordering::Relaxed), Instant::now());
    while work.steps.load(Ordering::Relaxed) == before {
        if start.elapsed() > PATIENCE {
            eprintln!("hung: {}", what());
            std::process::abort();
        }
        std::thread::yield_now();
    }
}

fn storms(kind: &Kind, rounds: u64) {
    let dir = spawn::shm_dir();
    let namespace = spawn::namespace(dir.path());
    let segment = Segment::create(&namespace, &topic(), &kind.request).unwrap();
    let mut scribbler = Scribbler::new(&segment, 1);
    let each = rounds / 20;
    let mut faults = BTreeMap::<String, u64>::new();
    for seed in 0..20 {
        scribbler.rng = Rng(seed);
        storm(kind, &segment, &mut scribbler, each);
        scribbler.scribble_on_all();
        if let Err(fault) = check_recovery(kind, &namespace) {
            *faults.entry(fault).or_default() += 1;
        }
    }
    drop(segment);
    let panics = std::mem::take(&mut *PANICS.lock().unwrap());
    for (fault, count) in panics.iter().chain(&faults) {
        println!("{count} times {fault}");
    }
    assert!(
        panics.is_empty() && faults.is_empty(),
        "{} kinds of fault",
        panics.len() + faults.len()
    );
    // What persists is removed by whoever made it.
    let _ = std::fs::remove_file(namespace.topics_path().join(hostile::FILE_NAME));
    assert_eq!(spawn::topic_files(&namespace), Vec::<String>::new());
}

/// Whoever opens the topic when the storm is over gets new ends, and messages through them.
fn check_recovery(kind: &Kind, namespace: &Arc<Namespace>) -> Result<(), String> {
    let name = kind.name;
    let segment = Segment::open(namespace, &topic(), &kind.request).unwrap();
    let no_end = |what: &str| format!("{name}: no {what} after the storm");
    let producer = producer(&segment, kind.on_stalled).ok_or_else(|| no_end("producer"));
    let consumer = consumer(&segment, kind.readings[0]).ok_or_else(|| no_end("consumer"));
    let (mut producer, mut consumer) = (producer?, consumer?);
    let capacity = segment.shape().capacity();
    let (mut last, mut in_step) = (0, 0);
    let (mut sent, mut refused) = (0, 0_u64);
    while sent < 60 * capacity {
        match producer.send(MARK | (sent + 1)) {
            Ok(()) => sent += 1,
            Err(_) if refused > 1000 => return Err(format!("{name}: full for good")),
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
    Err(format!("{name}: not in step, {}", if lag == sent { "deaf" } else { "late" }))
}

#[test]
fn ends_survive_a_storm_on_every_shared_word() {
    let detach = OnStalled::Detach { after: Duration::ZERO };
    let kinds = [
        Kind::spsc(),
        Kind::mpsc(),
        Kind::fanout(),
        Kind::pod(),
        Kind::reliable(OnStalled::Full),
        Kind::reliable(detach),
    ];
    let rounds = rounds(2000, 100_000);
    let outcomes = kinds.map(|kind| {
        let name = kind.name;
        catch_unwind(AssertUnwindSafe(|| storms(&kind, rounds))).err().map(|_| name)
    });
    let failed: Vec<_> = outcomes.into_iter().flatten().collect();
    assert!(failed.is_empty(), "{failed:?}, see above");
}
