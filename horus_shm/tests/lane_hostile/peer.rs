//! Endpoints that make random calls, of which each returns, and none panics.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

use fastrand::Rng;
use horus_shm::internals::lane::PollOutcome;
use horus_shm::internals::wait::WaitPolicy;
use horus_shm::{
    Consumer, OnStalled, OpenError, Producer, RawConsumer, RawProducer, RawSample, ReadMode,
    Segment, Watch,
};

use crate::scribbler::{Kind, SIZED_BYTES};

/// The longest that an endpoint waits for a message or for room.
const PATIENCE: Duration = Duration::from_micros(300);
/// The number of checks, about ten seconds, after which a waiting call counts as hung.
const OVERRUN_LOOKS_MAX: u64 = 1000;
/// The bytes behind the buffer that a message is received into.
const CANARY: u8 = 0xee;
/// The most messages that an endpoint holds.
const HELD_MAX: usize = 3;

/// The panics of the endpoints, by place and message.
pub(crate) static PANICS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs one step of an endpoint. Records a panic with its place, and then returns `None`.
pub(crate) fn guard<T>(step: impl FnOnce() -> T) -> Option<T> {
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

pub(crate) fn expect_typed(error: &OpenError) {
    let is_typed = matches!(
        error,
        OpenError::TooManyPublishers { .. }
            | OpenError::TooManySubscribers { .. }
            | OpenError::LaneNotMapped { .. }
    );
    assert!(is_typed, "{error:?}");
}

pub(crate) fn raw_producer(segment: &Arc<Segment>, on_stalled: OnStalled) -> Option<RawProducer> {
    RawProducer::new(Arc::clone(segment), on_stalled)
        .inspect_err(expect_typed)
        .ok()
}

pub(crate) fn raw_consumer(segment: &Arc<Segment>, reading: ReadMode) -> Option<RawConsumer> {
    RawConsumer::new(Arc::clone(segment), reading)
        .inspect_err(expect_typed)
        .ok()
}

pub(crate) fn producer(segment: &Arc<Segment>, on_stalled: OnStalled) -> Option<Producer<u64>> {
    raw_producer(segment, on_stalled).map(Producer::new)
}

pub(crate) fn consumer(segment: &Arc<Segment>, reading: ReadMode) -> Option<Consumer<u64>> {
    raw_consumer(segment, reading).map(Consumer::new)
}

/// Sends a message; returns false if there is no room.
pub(crate) fn send(producer: &mut RawProducer, message: u64) -> bool {
    // SAFETY: a `u64` is readable for its eight bytes; every ring here has room for them.
    unsafe { producer.send((&raw const message).cast(), 8) }.is_ok()
}

pub(crate) fn recv(consumer: &mut RawConsumer) -> Option<u64> {
    let mut memory = Memory::new();
    let bytes = memory.bytes(consumer);
    // SAFETY: the buffer is writable for `bytes`, the payload size of the ring.
    let polled = unsafe { consumer.recv(memory.0.as_mut_ptr(), bytes) };
    (polled == PollOutcome::Message).then(|| memory.expect_within(consumer))
}

/// A buffer for a message, and canary bytes behind it.
pub(crate) struct Memory([u8; 2 * SIZED_BYTES]);

impl Memory {
    pub(crate) const fn new() -> Self {
        Self([CANARY; 2 * SIZED_BYTES])
    }

    pub(crate) fn bytes(&self, consumer: &RawConsumer) -> usize {
        consumer.max_bytes()
    }

    /// Returns the first word of the last message, after checking that it lies within the buffer.
    pub(crate) fn expect_within(&self, consumer: &RawConsumer) -> u64 {
        let bytes = self.bytes(consumer);
        assert!(
            consumer.message_bytes() <= bytes,
            "a message longer than the longest"
        );
        assert!(
            self.0[bytes..].iter().all(|&byte| byte == CANARY),
            "written out of bounds"
        );
        u64::from_ne_bytes(self.0[..8].try_into().unwrap())
    }
}

/// The longest that a call returned after its deadline, in microseconds.
pub(crate) static OVERRUN_US: AtomicU64 = AtomicU64::new(0);

/// The number of checks of all watchers.
pub(crate) static LOOKS: AtomicU64 = AtomicU64::new(0);

/// Expects a call that waits for [`PATIENCE`] to return in time, with a tolerance for a busy
/// machine.
pub(crate) fn expect_in_time<T>(call: impl FnOnce(WaitPolicy) -> T) -> T {
    let begin = Instant::now();
    let looks = LOOKS.load(Ordering::Relaxed);
    let answer = call(WaitPolicy::with_timeout(PATIENCE).with_spin(Duration::ZERO));
    let overrun = begin.elapsed().saturating_sub(PATIENCE);
    OVERRUN_US.fetch_max(overrun.as_micros() as u64, Ordering::Relaxed);
    let looks = LOOKS.load(Ordering::Relaxed) - looks;
    assert!(
        looks < OVERRUN_LOOKS_MAX,
        "{overrun:?} past its deadline, {looks} looks"
    );
    answer
}

/// One endpoint, or its place while it is closed.
pub(crate) enum End {
    Producer(Option<RawProducer>),
    Consumer(ReadMode, Option<Receiver>, Vec<RawSample>),
}

/// A receiving endpoint in one of its forms.
pub(crate) enum Receiver {
    Raw(RawConsumer),
    Typed(Consumer<u64>),
}

impl Receiver {
    pub(crate) fn new(segment: &Arc<Segment>, reading: ReadMode, typed: bool) -> Option<Self> {
        if typed && !segment.type_info().sized {
            return consumer(segment, reading).map(Self::Typed);
        }
        raw_consumer(segment, reading).map(Self::Raw)
    }
}

/// An endpoint that makes random calls, one a step.
pub(crate) struct Peer<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) segment: &'a Arc<Segment>,
    pub(crate) end: End,
    pub(crate) rng: Rng,
}

impl<'a> Peer<'a> {
    pub(crate) fn new(kind: &'a Kind, segment: &'a Arc<Segment>, index: usize) -> Self {
        let end = match index.checked_sub(kind.producers) {
            None => End::Producer(None),
            Some(index) => End::Consumer(kind.readings[index], None, Vec::new()),
        };
        Self {
            kind,
            segment,
            end,
            rng: Rng::with_seed(index as u64),
        }
    }

    pub(crate) fn all(kind: &'a Kind, segment: &'a Arc<Segment>) -> Vec<Self> {
        let ends = kind.producers + kind.readings.len();
        (0..ends)
            .map(|index| Self::new(kind, segment, index))
            .collect()
    }

    pub(crate) fn step(&mut self) {
        let choice = self.rng.u64(..100);
        let segment = self.segment;
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

pub(crate) fn send_somehow(producer: &mut RawProducer, choice: u64) {
    match choice {
        2 => {
            // SAFETY: as in `send`.
            _ = expect_in_time(|wait_policy| unsafe {
                producer.send_until(wait_policy, (&raw const choice).cast(), 8)
            });
        }
        3..30 => {
            let Ok(mut loan) = producer.loan() else {
                return;
            };
            // WHY not under ThreadSanitizer: a scribbled owner word gives a lane two writers, and
            // the stores of a loan are plain. No process can scribble on the heap of another.
            if cfg!(not(horus_sanitizer = "thread")) {
                loan.bytes_mut().fill(choice as u8);
            }
            // Otherwise the loan is dropped.
            if choice > 5 {
                let _ = loan.publish(choice as usize);
            }
        }
        30 => _ = producer.position(),
        _ => _ = send(producer, choice),
    }
}

pub(crate) fn receive_typed(consumer: &mut Consumer<u64>, choice: u64) {
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

pub(crate) fn receive_somehow(consumer: &mut RawConsumer, held: &mut Vec<RawSample>, choice: u64) {
    match choice {
        2 => {
            _ = (
                consumer.segment().publisher_count(),
                consumer.segment().subscriber_count(),
            )
        }
        3..10 => _ = (consumer.stats(), consumer.detach_count()),
        10..15 => {
            _ = (
                consumer.sequence(),
                consumer.reserve_borrows(choice as u32 - 8),
            )
        }
        15 => {
            let mut memory = Memory::new();
            let bytes = memory.bytes(consumer);
            // SAFETY: as in `recv`.
            let polled = expect_in_time(|wait_policy| unsafe {
                consumer.recv_until(wait_policy, memory.0.as_mut_ptr(), bytes)
            });
            if polled == PollOutcome::Message {
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
                let longest = consumer.max_bytes();
                assert!(
                    sample.bytes().len() <= longest,
                    "a message longer than the longest"
                );
                held.push(sample);
            }
            // The bytes can be read, whatever they are.
            let sum: u64 = held
                .iter()
                .flat_map(RawSample::bytes)
                .copied()
                .map(u64::from)
                .sum();
            std::hint::black_box(sum);
        }
        40 => held.clear(),
        _ => _ = recv(consumer),
    }
}
