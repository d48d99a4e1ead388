//! A ring whose shared words are overwritten while its endpoints are at work: messages may hold
//! anything, but every call returns, no call panics, and a later opener finds the ring usable.

use horus_testing as _;

mod common;
mod hostile;
mod spawn;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use fastrand::Rng;
use horus_shm::internals::Blocks as _;
use horus_shm::internals::lane::Polled;
use horus_shm::internals::layout::{GateBlock, POSITION_MAX, SKIP, Skips, published, writing};
use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{
    Access, Consumer, Namespace, OnStalled, OpenError, Producer, RawConsumer, RawProducer,
    RawSample, Reading, Reliability, Request, Segment, TypeInfo, Watch,
};
use memmap2::{MmapOptions, MmapRaw};

use hostile::{rounds, topic};

/// The period at which a watcher checks that calls return.
const LOOK_PERIOD: Duration = Duration::from_millis(10);
/// The number of checks in a row that may find the same call, before it counts as hung.
const LOOKS_MAX: u32 = 3000;
/// The number of words that are overwritten in one round.
const SCRIBBLES: u64 = 8;
/// The longest that an endpoint waits for a message or for room.
const PATIENCE: Duration = Duration::from_micros(300);
/// The number of checks, about ten seconds, after which a waiting call counts as hung.
const OVERRUN_LOOKS_MAX: u64 = 1000;
/// The longest message of the ring whose messages have lengths of their own.
const SIZED_BYTES: usize = 40;
/// The bytes behind the buffer that a message is received into.
const CANARY: u8 = 0xee;
/// The most messages that an endpoint holds.
const HELD_MAX: usize = 3;
/// Marks the messages of the check after the storm.
const MARK: u64 = 0x5afe_cafe << 32;

/// A ring and the endpoints that are at work on it.
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

    /// Makes a ring whose messages are lent and borrowed.
    fn pinnable() -> Self {
        let mut kind =
            Self::new("pinnable", &[Reading::KeepLast, Reading::KeepLast, Reading::Observer]);
        (kind.request.pinnable, kind.request.history) = (Some(true), Some(2));
        (kind.request.lane_limit, kind.request.reader_limit) = (Some(2), Some(4));
        kind.producers = 2;
        kind
    }

    fn reliable_pinnable() -> Self {
        let mut kind = Self::reliable(OnStalled::Full);
        (kind.name, kind.request.pinnable) = ("reliable pinnable", Some(true));
        (kind.request.lane_limit, kind.request.reader_limit) = (Some(2), Some(4));
        kind.producers = 2;
        kind
    }

    /// Makes a ring whose messages have lengths of their own.
    fn sized() -> Self {
        let mut kind = Self::pinnable();
        kind.name = "sized";
        let type_info = &mut kind.request.type_info;
        (type_info.sized, type_info.bytes) = (true, SIZED_BYTES as u64);
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

/// Overwrites words of a topic's whole file, mapped writable, against all rules.
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
        // WHY: a store into a hole of a full file system would kill this process.
        let file_bytes = shape.file_bytes() as libc::off_t;
        // SAFETY: the call takes no pointer.
        let error = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, file_bytes) };
        assert_eq!(error, 0, "no memory for the whole file");
        let map = MmapOptions::new().len(shape.file_bytes() as usize).map_raw(&file).unwrap();
        let blocks = [shape.lane_area(), shape.reader_area()];
        let blocks = blocks.into_iter().flat_map(|area| area.step_by(8));
        let (stride, request) = (shape.stride(), *shape.request());
        let lanes = 0..request.lane_limit;
        // A trailer is the stamp, and where messages have them their number and length.
        let trailer = if request.pinnable { 3 } else { 1 };
        let trailers = lanes.clone().flat_map(|lane| {
            let slots = shape.lane(lane);
            let words = move |slot| (1..=trailer).map(move |word| slot + stride - 8 * word);
            slots.step_by(stride as usize).flat_map(words)
        });
        // WHY the blocks twice: so they are hit as often as the many trailers.
        let words: Vec<_> = blocks.clone().chain(blocks).chain(trailers).collect();
        let start = shape.lane_area().start as usize;
        let heads = lanes.map(|lane| start + shape.lane_block_offset(lane) + 64).collect();
        let words = words.into_iter().map(|word| word as usize).collect();
        Self { map, words, heads, me: segment.me(), rng: Rng::with_seed(seed) }
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.map.len());
        // SAFETY: in bounds by the assertion.
        let word = unsafe { self.map.as_mut_ptr().add(offset) };
        // SAFETY: aligned by the assertion, mapped as long as `self`, and only accessed atomically.
        unsafe { AtomicU64::from_ptr(word.cast()) }
    }

    /// Returns a random value, or one that is nearly valid.
    fn value(&mut self) -> u64 {
        let head = *self.rng.choice(&self.heads).unwrap();
        let head = self.word(head).load(Ordering::Relaxed);
        let pos = head.wrapping_add(self.rng.u64(..20)).wrapping_sub(10);
        let edges = [0, 1, SKIP, 1 << 62, POSITION_MAX, POSITION_MAX - 1, SKIP - 1, u64::MAX];
        match self.rng.u64(..10) {
            0 => self.rng.u64(..),
            1 => self.rng.u64(..) >> self.rng.u64(..64),
            2 => (*self.rng.choice(&edges).unwrap()).wrapping_add(self.rng.u64(..3)),
            3 => published(pos),
            4 => writing(pos),
            5 => published(pos) | SKIP,
            6 => pos,
            // A pin on a slot of one of the first lanes.
            7 => self.rng.u64(..2) << 56 | self.rng.u64(..10),
            8 => Skips::new(self.rng.u64(..20), pos % POSITION_MAX).to_word(),
            _ => self.me,
        }
    }

    fn scribble(&mut self) {
        for _ in 0..SCRIBBLES {
            let (offset, value) = (*self.rng.choice(&self.words).unwrap(), self.value());
            self.word(offset).store(value, Ordering::Relaxed);
        }
    }

    /// Overwrites every word, but never with this process's own owner word.
    fn scribble_on_all(&mut self) {
        for index in 0..self.words.len() {
            let value = self.value();
            let value = if value == self.me { 0 } else { value };
            self.word(self.words[index]).store(value, Ordering::Relaxed);
        }
    }
}

/// The panics of the endpoints, by place and message.
static PANICS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs one step of an endpoint. Records a panic with its place, and then returns `None`.
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

fn raw_producer(segment: &Arc<Segment>, on_stalled: OnStalled) -> Option<RawProducer> {
    RawProducer::new(Arc::clone(segment), on_stalled).inspect_err(expect_typed).ok()
}

fn raw_consumer(segment: &Arc<Segment>, reading: Reading) -> Option<RawConsumer> {
    RawConsumer::new(Arc::clone(segment), reading).inspect_err(expect_typed).ok()
}

fn producer(segment: &Arc<Segment>, on_stalled: OnStalled) -> Option<Producer<u64>> {
    raw_producer(segment, on_stalled).map(Producer::new)
}

fn consumer(segment: &Arc<Segment>, reading: Reading) -> Option<Consumer<u64>> {
    raw_consumer(segment, reading).map(Consumer::new)
}

/// Sends a message; returns false if there is no room.
fn send(producer: &mut RawProducer, message: u64) -> bool {
    // SAFETY: a `u64` is readable for its eight bytes; every ring here has room for them.
    unsafe { producer.send((&raw const message).cast(), 8) }.is_ok()
}

fn recv(consumer: &mut RawConsumer) -> Option<u64> {
    let mut memory = Memory::new();
    let bytes = memory.bytes(consumer);
    // SAFETY: the buffer is writable for `bytes`, the payload size of the ring.
    let polled = unsafe { consumer.recv(memory.0.as_mut_ptr(), bytes) };
    (polled == Polled::Message).then(|| memory.expect_within(consumer))
}

/// A buffer for a message, and canary bytes behind it.
struct Memory([u8; 2 * SIZED_BYTES]);

impl Memory {
    const fn new() -> Self {
        Self([CANARY; 2 * SIZED_BYTES])
    }

    fn bytes(&self, consumer: &RawConsumer) -> usize {
        consumer.segment().shape().request().payload_bytes as usize
    }

    /// Returns the first word of the last message, after checking that it lies within the buffer.
    fn expect_within(&self, consumer: &RawConsumer) -> u64 {
        let bytes = self.bytes(consumer);
        assert!(consumer.message_bytes() <= bytes, "a message longer than the longest");
        assert!(self.0[bytes..].iter().all(|&byte| byte == CANARY), "written out of bounds");
        u64::from_ne_bytes(self.0[..8].try_into().unwrap())
    }
}

/// The longest that a call returned after its deadline, in microseconds.
static OVERRUN_US: AtomicU64 = AtomicU64::new(0);

/// The number of checks of all watchers.
static LOOKS: AtomicU64 = AtomicU64::new(0);

/// Expects a call that waits for [`PATIENCE`] to return in time, with a tolerance for a busy
/// machine.
fn expect_in_time<T>(call: impl FnOnce(WaitPolicy) -> T) -> T {
    let (begin, looks) = (Instant::now(), LOOKS.load(Ordering::Relaxed));
    let answer = call(WaitPolicy::of(PATIENCE).spinning(Duration::ZERO));
    let overrun = begin.elapsed().saturating_sub(PATIENCE);
    OVERRUN_US.fetch_max(overrun.as_micros() as u64, Ordering::Relaxed);
    let looks = LOOKS.load(Ordering::Relaxed) - looks;
    assert!(looks < OVERRUN_LOOKS_MAX, "{overrun:?} past its deadline, {looks} looks");
    answer
}

/// One endpoint, or its place while it is closed.
enum End {
    Producer(Option<RawProducer>),
    Consumer(Reading, Option<Receiver>, Vec<RawSample>),
}

/// A receiving endpoint in one of its forms.
enum Receiver {
    Raw(RawConsumer),
    Typed(Consumer<u64>),
}

impl Receiver {
    fn new(segment: &Arc<Segment>, reading: Reading, typed: bool) -> Option<Self> {
        if typed && !segment.shape().request().sized {
            return consumer(segment, reading).map(Self::Typed);
        }
        raw_consumer(segment, reading).map(Self::Raw)
    }
}

/// An endpoint that makes random calls, one a step.
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
            Some(index) => End::Consumer(kind.readings[index], None, Vec::new()),
        };
        Self { kind, segment, end, rng: Rng::with_seed(index as u64) }
    }

    fn all(kind: &'a Kind, segment: &'a Arc<Segment>) -> Vec<Self> {
        let ends = kind.producers + kind.readings.len();
        (0..ends).map(|index| Self::new(kind, segment, index)).collect()
    }

    fn step(&mut self) {
        let (choice, segment) = (self.rng.u64(..100), self.segment);
        let on_stalled = self.kind.on_stalled;
        match &mut self.end {
            End::Producer(end @ None) => {
                *end = guard(|| raw_producer(segment, on_stalled)).flatten();
            }
            End::Consumer(reading, end @ None, _) => {
                *end = guard(|| Receiver::new(segment, *reading, choice < 50)).flatten();
            }
            End::Producer(end @ Some(_)) if choice < 2 => _ = guard(|| *end = None),
            // Borrowed messages outlive their endpoint.
            End::Consumer(_, end @ Some(_), _) if choice < 2 => _ = guard(|| *end = None),
            End::Producer(Some(producer)) => _ = guard(|| send_somehow(producer, choice)),
            End::Consumer(_, Some(Receiver::Raw(consumer)), held) => {
                _ = guard(|| receive_somehow(consumer, held, choice));
            }
            End::Consumer(_, Some(Receiver::Typed(consumer)), _) => {
                _ = guard(|| receive_typed(consumer, choice));
            }
        }
    }
}

fn send_somehow(producer: &mut RawProducer, choice: u64) {
    match choice {
        2 => {
            // SAFETY: as in `send`.
            _ = expect_in_time(|wait_policy| unsafe {
                producer.send_until(wait_policy, (&raw const choice).cast(), 8)
            });
        }
        3..30 => {
            let Ok(mut loan) = producer.loan() else { return };
            loan.bytes_mut().fill(choice as u8);
            // Otherwise the loan is dropped.
            if choice > 5 {
                let _ = loan.publish(choice as usize);
            }
        }
        30 => _ = producer.position(),
        _ => _ = send(producer, choice),
    }
}

fn receive_typed(consumer: &mut Consumer<u64>, choice: u64) {
    match choice {
        2 => _ = expect_in_time(|wait_policy| consumer.recv_until(wait_policy)),
        3..10 => _ = consumer.stats(),
        10..30 => _ = consumer.latest(),
        30..40 => _ = consumer.latest_by_key(|&message| message),
        40..60 => {
            if let Ok(Some(sample)) = consumer.borrow() {
                std::hint::black_box(*sample);
            }
        }
        _ => _ = consumer.recv(),
    }
}

fn receive_somehow(consumer: &mut RawConsumer, held: &mut Vec<RawSample>, choice: u64) {
    match choice {
        2 => _ = (consumer.segment().publisher_count(), consumer.segment().subscriber_count()),
        3..10 => _ = (consumer.stats(), consumer.detached()),
        10..15 => _ = (consumer.sequence(), consumer.reserve_borrows(choice as u32 - 8)),
        15 => {
            let mut memory = Memory::new();
            let bytes = memory.bytes(consumer);
            // SAFETY: as in `recv`.
            let polled = expect_in_time(|wait_policy| unsafe {
                consumer.recv_until(wait_policy, memory.0.as_mut_ptr(), bytes)
            });
            if polled == Polled::Message {
                memory.expect_within(consumer);
            }
        }
        16 => {
            let watch = consumer.watch();
            let look = || watch.has_message().then_some(());
            expect_in_time(|wait_policy| {
                Watch::wait_any(std::slice::from_ref(&watch), wait_policy, look)
            });
        }
        17..40 => {
            if held.len() == HELD_MAX {
                held.remove(0);
            }
            if let Ok(Some(sample)) = consumer.borrow() {
                let longest = consumer.segment().shape().request().payload_bytes as usize;
                assert!(sample.bytes().len() <= longest, "a message longer than the longest");
                held.push(sample);
            }
            // The bytes can be read, whatever they are.
            let sum: u64 = held.iter().flat_map(RawSample::bytes).copied().map(u64::from).sum();
            std::hint::black_box(sum);
        }
        40 => held.clear(),
        _ => _ = recv(consumer),
    }
}

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
                *seen = if now == seen.0 { (now, seen.1 + 1) } else { (now, 0) };
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

/// Sets a flag when this is dropped.
struct Raised<'a>(&'a AtomicBool);

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
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
    let mut scribbler = Scribbler::new(&segment, 1);
    let mut faults = BTreeMap::<String, u64>::new();
    for seed in 0..storms {
        scribbler.rng = Rng::with_seed(seed);
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
    assert_eq!(spawn::topic_files(&namespace), Vec::<String>::new());
    let told = faults.iter().map(|(fault, count)| format!("\n{}: {count} × {fault}", kind.name));
    if faults.is_empty() { Ok(()) } else { Err(told.collect()) }
}

/// Checks that an opener after the storm gets new endpoints, and messages through them.
fn check_recovery(
    kind: &Kind,
    namespace: &Arc<Namespace>,
    steps: &AtomicU64,
) -> Result<(), String> {
    let segment = Segment::open(namespace, &topic(), &kind.request).unwrap();
    let no_end = |what: &str| format!("no {what} after the storm");
    let producer = raw_producer(&segment, kind.on_stalled).ok_or_else(|| no_end("producer"));
    let consumer = raw_consumer(&segment, kind.readings[0]).ok_or_else(|| no_end("consumer"));
    let (mut producer, mut consumer) = (producer?, consumer?);
    let capacity = segment.shape().capacity();
    let (mut last, mut in_step) = (0, 0);
    let (mut sent, mut refused) = (0, 0_u64);
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
        Kind::pinnable(),
        Kind::reliable_pinnable(),
        Kind::sized(),
    ];
    let faults = kinds.iter().map(|kind| expect_survival(kind, storm, storms, rounds));
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

/// Makes a segment of many lanes, and a scribbler on it.
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
        // This reader joins at damaged heads that are valid again later.
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

/// Sends and receives a thousand times; returns true if more than 500 messages came through.
fn gets_through(producer: &mut Producer<u64>, consumer: &mut Consumer<u64>) -> bool {
    let (mut sent, mut received) = (0, 0);
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
    // Its owner words name no live process, as after its death.
    for (offset, value) in [
        (start + shape.reader_block_offset(0), 7),
        (start + shape.gates_offset(), 7),
        (second_stamp, 0),
    ] {
        scribbler.word(offset).store(value, Ordering::Relaxed);
    }
    let mut successor = consumer(&segment, Reading::Gated).unwrap();
    assert!(gets_through(&mut producer, &mut successor), "stuck with {:?}", successor.stats());
    // WHY only now: its drop would clean up.
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

/// The reader is not notified of a missing message; it detects the gap, and counts it once.
#[test]
fn a_message_whose_stamp_is_damaged_is_one_loss_in_the_ledger() {
    let reliable = (Kind::reliable(OnStalled::Full), Reading::Gated);
    for (mut kind, reading) in [
        (Kind::fanout(), Reading::KeepLast),
        reliable,
        (Kind::spsc(), Reading::Gated),
        (Kind::pinnable(), Reading::KeepLast),
    ] {
        kind.request.history = None;
        let dir = spawn::shm_dir();
        let segment = Segment::create(&spawn::namespace(dir.path()), &topic(), &kind.request);
        let segment = segment.unwrap();
        let scribbler = Scribbler::new(&segment, 1);
        let mut consumer = consumer(&segment, reading).unwrap();
        let mut producer = producer(&segment, OnStalled::Full).unwrap();
        (0..8).for_each(|message| producer.send(message).unwrap());
        let shape = segment.shape();
        let fourth_stamp = (shape.lane(0).start + 4 * shape.stride() - 8) as usize;
        scribbler.word(fourth_stamp).store(0, Ordering::Relaxed);
        // The reader checks for damage after a number of empty polls; this makes twice as many.
        let received: Vec<_> = (0..1000).filter_map(|_| consumer.recv()).collect();
        let stats = consumer.stats();
        assert_eq!(received, [0, 1, 2, 4, 5, 6, 7], "{}: {stats:?}", kind.name);
        let account = (stats.received, stats.lost, stats.skipped, stats.waiting, stats.sent);
        assert_eq!(account, (7, 1, 0, 0, 8), "{}", kind.name);
    }
}

/// A cursor that is too small holds the writer back, and no later message would advance it.
#[test]
fn a_waiting_reader_repairs_its_damaged_cursor() {
    let kind = Kind::spsc();
    let dir = spawn::shm_dir();
    let segment = Segment::create(&spawn::namespace(dir.path()), &topic(), &kind.request).unwrap();
    let scribbler = Scribbler::new(&segment, 1);
    let mut consumer = consumer(&segment, Reading::Gated).unwrap();
    let mut producer = producer(&segment, OnStalled::Full).unwrap();
    for message in 0..8 {
        producer.send(message).unwrap();
        assert_eq!(consumer.recv(), Some(message));
    }
    let shape = segment.shape();
    let gate = shape.reader_area().start as usize + shape.gates_offset();
    let cursor = scribbler.word(gate + size_of::<GateBlock<AtomicU64>>());
    assert_eq!(cursor.load(Ordering::Relaxed), 9, "the words of a gate begin with another one");
    cursor.store(1, Ordering::Relaxed);
    producer.send(8).unwrap_err();
    for _ in 0..1000 {
        assert_eq!(consumer.recv(), None);
    }
    producer.send(8).unwrap();
    assert_eq!(consumer.recv(), Some(8));
}

/// A head that no writer can reach is no evidence of published messages.
#[test]
fn a_wild_head_makes_no_reader_pass_on() {
    for (kind, reading) in [(Kind::pod(), Reading::KeepLast), (Kind::spsc(), Reading::Gated)] {
        let dir = spawn::shm_dir();
        let segment = Segment::create(&spawn::namespace(dir.path()), &topic(), &kind.request);
        let segment = segment.unwrap();
        let scribbler = Scribbler::new(&segment, 1);
        let mut consumer = consumer(&segment, reading).unwrap();
        let mut producer = producer(&segment, OnStalled::Full).unwrap();
        for message in 0..3 {
            producer.send(message).unwrap();
            assert_eq!(consumer.recv(), Some(message));
        }
        scribbler.word(scribbler.heads[0]).store(POSITION_MAX + 1, Ordering::Relaxed);
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
    expect_all_survive(storm_in_turn, 20, rounds(2000, 100_000));
}

#[test]
fn endpoints_survive_scribbles_on_every_shared_word_during_their_calls() {
    expect_all_survive(storm_at_once, 2, rounds(2000, 100_000));
}

/// A receiver of a `u64` gets eight bytes that were written, whatever the length says.
#[test]
fn a_message_of_one_size_is_copied_whole_whatever_its_length_says() {
    let dir = spawn::shm_dir();
    let segment =
        Segment::create(&spawn::namespace(dir.path()), &topic(), &Kind::pinnable().request);
    let segment = segment.unwrap();
    let scribbler = Scribbler::new(&segment, 1);
    let mut producer = producer(&segment, OnStalled::Full).unwrap();
    let mut consumers =
        [Reading::KeepLast, Reading::Observer].map(|reading| consumer(&segment, reading).unwrap());
    producer.send(42).unwrap();
    let length = (segment.shape().lane(0).start + segment.shape().stride() - 24) as usize;
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
    let dir = spawn::shm_dir();
    let mut request = Kind::pinnable().request;
    request.reader_limit = Some(5);
    let segment = Segment::create(&spawn::namespace(dir.path()), &topic(), &request).unwrap();
    let scribbler = Scribbler::new(&segment, 1);
    let mut producer = producer(&segment, OnStalled::Full).unwrap();
    let raw = |reading| RawConsumer::new(Arc::clone(&segment), reading).unwrap();
    let mut observer = raw(Reading::Observer);
    let [mut copying, mut until, mut latest, mut borrowing, mut newest] =
        [0; 5].map(|_| raw(Reading::KeepLast));
    for (position, damaged) in [0, 3, 9, u64::MAX].into_iter().enumerate() {
        producer.send(u64::from_le_bytes(*b"8 bytes.")).unwrap();
        let slot = segment.shape().lane(0).start + position as u64 * segment.shape().stride();
        let length = (slot + segment.shape().stride() - 24) as usize;
        assert_eq!(scribbler.word(length).swap(damaged, Ordering::Relaxed), 8);
        let mut buffers = [[0; 8]; 2];
        let [buffer, other] = &mut buffers;
        assert_eq!(observer.recv_bytes(buffer), Some(8), "instead of {damaged}");
        assert_eq!((copying.recv_bytes(buffer), &*buffer), (Some(8), b"8 bytes."));
        let wait_policy = WaitPolicy::of(Duration::from_secs(10));
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
    let segment =
        Segment::create(&spawn::namespace(dir.path()), &topic(), &Kind::pinnable().request);
    let segment = segment.unwrap();
    let mut producer = producer(&segment, OnStalled::Full).unwrap();
    let mut consumer = consumer(&segment, Reading::KeepLast).unwrap();
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
    let segment =
        Segment::create(&spawn::namespace(dir.path()), &topic(), &Kind::pinnable().request);
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
    assert!(nobody.pins.iter().all(|pin| pin.load(Ordering::Relaxed) == 0));
}
