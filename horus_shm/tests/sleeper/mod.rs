//! Endpoints that sleep for every message, and the proof that each of them was woken for it.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use horus_shm::internals::TopicBlocks as _;
use horus_shm::internals::wait::{SLEEP_MAX, WaitPolicy, timed_out_sleep_count};
use horus_shm::{
    Access, Consumer, Namespace, OnStalled, Producer, RawConsumer, RawProducer, ReadMode,
    Reliability, Request, Segment, TopicName, TypeInfo, WakeBarrier, Watch,
};

/// The sender, the number, and the time at which the send of its previous message had returned.
pub type Message = [u64; 3];

/// The longest wait before it counts as a hang.
pub const GUARD: Duration = Duration::from_secs(60);

/// Returns a policy that sleeps at once.
pub fn asleep() -> WaitPolicy {
    WaitPolicy::with_timeout(GUARD).with_spin(Duration::ZERO)
}

/// Returns the time of CLOCK_MONOTONIC, the same in all processes.
pub fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is valid for the write.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    assert_eq!(status, 0);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Returns the request of a test's topic.
pub fn request(edge: WakeBarrier) -> Request {
    let mut request = Request::new(TypeInfo::opaque::<Message>());
    (request.capacity, request.wake_barrier) = (Some(64), Some(edge));
    request
}

/// As [`request`], but a sender that is too fast has to wait.
pub fn reliable(edge: WakeBarrier, capacity: u64) -> Request {
    let mut request = request(edge);
    (request.capacity, request.reliability) = (Some(capacity), Some(Reliability::Reliable));
    request
}

/// Opens or creates a topic in a namespace, or makes one on the heap.
pub fn topic(place: Option<&Arc<Namespace>>, name: &str, request: &Request) -> Arc<Segment> {
    let Some(namespace) = place else {
        return Segment::heap(request).unwrap();
    };
    Segment::open_or_create(namespace, &TopicName::new(name).unwrap(), request).unwrap()
}

pub fn producer(segment: &Arc<Segment>) -> Producer<Message> {
    Producer::new(RawProducer::new(Arc::clone(segment), OnStalled::Full).unwrap())
}

pub fn consumer(segment: &Arc<Segment>) -> Consumer<Message> {
    let reading = match segment.request().reliability.unwrap_or_default() {
        Reliability::Reliable => ReadMode::Gated,
        Reliability::BestEffort => ReadMode::KeepLast,
    };
    Consumer::new(RawConsumer::new(Arc::clone(segment), reading).unwrap())
}

/// Returns the bits of the readers that sleep, or are about to.
pub fn waiters(segment: &Segment) -> u64 {
    use horus_shm::internals::sync::Word;
    segment.wait_block(Access::Read).unwrap().waiters.get()
}

/// Returns the bits of the publishers that sleep until there is room.
pub fn room_waiters(segment: &Segment) -> u64 {
    use horus_shm::internals::sync::Word;
    segment.wait_block(Access::Read).unwrap().room_waiters.get()
}

/// Returns how many times senders have called the kernel to wake readers.
pub fn wakes(segment: &Segment) -> u64 {
    use horus_shm::internals::sync::FutexWord;
    segment
        .wait_block(Access::Read)
        .unwrap()
        .wake
        .load_relaxed()
        .into()
}

/// Returns the same for readers that woke publishers.
pub fn room_wakes(segment: &Segment) -> u64 {
    use horus_shm::internals::sync::FutexWord;
    segment
        .wait_block(Access::Read)
        .unwrap()
        .room
        .load_relaxed()
        .into()
}

/// Sends numbered messages, each with the time at which the send of the one before had returned.
pub struct Sender {
    producer: Producer<Message>,
    id: u64,
    number: u64,
    done_ns: u64,
}

impl Sender {
    pub fn new(segment: &Arc<Segment>, id: u64) -> Self {
        Self {
            producer: producer(segment),
            id,
            number: 0,
            done_ns: 0,
        }
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    pub fn send(&mut self) {
        self.producer
            .send([self.id, self.number, self.done_ns])
            .unwrap();
        self.done_ns = now_ns();
        self.number += 1;
    }
}

/// The way in which a receiver waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// At the one topic.
    Single,
    /// At the topic and other topics, which carry no messages.
    Set,
}

/// A wait that slept through at least one slice.
#[derive(Debug, Clone, Copy)]
struct Doubt {
    number: u64,
    /// A message sent before this time would have ended the last of its slices.
    expired_ns: u64,
}

/// Receives, asleep whenever it can be, and finds lost wakes.
///
/// A sleep without a wake is a lost wake if the message was there in time: if its send *had
/// returned* before the sleep ran out. The sender's next message contains that time, so no
/// assumption about the speed of either side is needed.
pub struct Receiver {
    pub consumer: Consumer<Message>,
    watches: Vec<Watch>,
    /// Keeps the other topics of the set watched.
    others: Vec<Consumer<Message>>,
    doubts: BTreeMap<u64, Doubt>,
    pub received: u64,
    /// Slices that no wake ended.
    pub overslept: u64,
    pub lost_wakes: u64,
}

impl Receiver {
    pub fn new(consumer: Consumer<Message>) -> Self {
        let (watches, others, doubts) = Default::default();
        let received = 0;
        let overslept = 0;
        let lost_wakes = 0;
        Self {
            consumer,
            watches,
            others,
            doubts,
            received,
            overslept,
            lost_wakes,
        }
    }

    /// Makes a receiver that waits by a set of watches, of which only the first topic gets
    /// messages.
    pub fn in_set(consumer: Consumer<Message>, others: Vec<Consumer<Message>>) -> Self {
        let mut this = Self::new(consumer);
        let consumers = [&this.consumer].into_iter().chain(&others);
        this.watches = consumers.map(|consumer| consumer.raw().watch()).collect();
        this.others = others;
        this
    }

    /// Receives the next message, after any number of sleeps.
    pub fn receive(&mut self) -> Message {
        let begin_ns = now_ns();
        let before = timed_out_sleep_count();
        let message = if self.watches.is_empty() {
            self.consumer.recv_until(asleep()).expect("a message")
        } else {
            let look = || {
                self.watches[0]
                    .has_message()
                    .then(|| self.consumer.recv())
                    .flatten()
            };
            Watch::wait_any(&self.watches, asleep(), look).expect("a message")
        };
        self.note(message, begin_ns, timed_out_sleep_count() - before);
        message
    }

    /// Waits for `time`, in which no message comes; returns the number of sleeps.
    pub fn wait_in_vain(&mut self, time: Duration) -> u64 {
        let wait_policy = WaitPolicy::with_timeout(time).with_spin(Duration::ZERO);
        let before = timed_out_sleep_count();
        if self.watches.is_empty() {
            assert_eq!(self.consumer.recv_until(wait_policy), None);
        } else {
            assert_eq!(
                Watch::wait_any(&self.watches, wait_policy, || None::<()>),
                None
            );
        }
        timed_out_sleep_count() - before
    }

    fn note(&mut self, [sender, number, done_ns]: Message, begin_ns: u64, slices: u64) {
        self.received += 1;
        self.overslept += slices;
        let doubt = self.doubts.remove(&sender);
        if doubt.is_some_and(|doubt| doubt.number + 1 == number && done_ns < doubt.expired_ns) {
            self.lost_wakes += 1;
        }
        if slices > 0 {
            let expired_ns = begin_ns + slices * SLEEP_MAX.as_nanos() as u64;
            self.doubts.insert(sender, Doubt { number, expired_ns });
        }
    }
}
