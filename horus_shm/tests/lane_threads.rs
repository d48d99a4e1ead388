//! Every ring between real threads: no message is torn or out of order, and every loss is counted.

use horus_testing as _;

mod spawn;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use horus_shm::{
    Consumer, FanoutShm, MpscShm, Namespace, OnStalled, PodShm, Producer, RawConsumer, RawProducer,
    ReadMode, ReadStats, Reliability, Request, RingOptions, Segment, SpscShm, TopicName, TypeInfo,
};
use spawn::{namespace, shm_dir};

/// The messages of all producers of one test.
const MESSAGES: u64 = if cfg!(miri) { 200 } else { 200_000 };
/// Small, so that every producer wraps around often and every reader is lapped.
const CAPACITY: u64 = 16;

/// A message of `WORDS` words, all of which follow from the first: producer and number.
type Message<const WORDS: usize> = [u64; WORDS];

const fn message<const WORDS: usize>(producer: u64, number: u64) -> Message<WORDS> {
    let mut words = [producer << 56 | number; WORDS];
    let mut index = 1;
    while index < WORDS {
        words[index] = word(words[0], index);
        index += 1;
    }
    words
}

const fn word(first: u64, index: usize) -> u64 {
    first.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index as u64
}

/// The messages of all producers that one reader saw.
#[derive(Debug)]
struct Seen {
    /// By producer: the next number if nothing is lost.
    next: Vec<u64>,
    received: u64,
    gaps: u64,
}

impl Seen {
    fn new(producers: u64) -> Self {
        Self {
            next: vec![0; producers as usize],
            received: 0,
            gaps: 0,
        }
    }

    fn check<const WORDS: usize>(&mut self, message: &Message<WORDS>) {
        let producer = message[0] >> 56;
        let number = message[0] & (u64::MAX >> 8);
        let mut index = 1;
        while index < WORDS {
            assert!(
                message[index] == word(message[0], index),
                "torn: {producer}/{number}"
            );
            index += 1;
        }
        let next = &mut self.next[producer as usize];
        assert!(
            number >= *next,
            "{producer}/{number} came after {producer}/{next}"
        );
        self.gaps += number - *next;
        *next = number + 1;
        self.received += 1;
    }
}

/// Counts a producer as finished on drop: readers must not wait for one that panicked.
struct Finish<'a>(&'a AtomicUsize);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        // ORDERING(finish): Release. Pairs with `have_finished`: the last send happens before.
        self.0.fetch_add(1, Ordering::Release);
    }
}

/// The progress of the producers.
#[derive(Debug, Default)]
struct Progress {
    finished: AtomicUsize,
    sent: AtomicU64,
    refused: AtomicU64,
}

impl Progress {
    fn produce<const WORDS: usize>(
        &self,
        producer: &mut Producer<Message<WORDS>>,
        id: u64,
        numbers: std::ops::Range<u64>,
    ) {
        for number in numbers {
            let message = message(id, number);
            while let Err(error) = producer.send_ref(&message) {
                assert!(error.is_full());
                self.refused.fetch_add(1, Ordering::Relaxed);
                thread::yield_now();
            }
            self.sent.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Reads by `next` until all of `producers` have finished and nothing is left.
    fn consume<const WORDS: usize>(
        &self,
        consumer: &mut Consumer<Message<WORDS>>,
        producers: u64,
        mut next: impl FnMut(&mut Consumer<Message<WORDS>>) -> Option<Message<WORDS>>,
    ) -> Seen {
        let mut seen = Seen::new(producers);
        loop {
            let finished = self.have_finished(producers);
            match next(consumer) {
                Some(message) => seen.check(&message),
                None if finished => return seen,
                None => thread::yield_now(),
            }
        }
    }

    fn have_finished(&self, producers: u64) -> bool {
        // ORDERING(finish): Acquire. Pairs with the release in `Finish`.
        self.finished.load(Ordering::Acquire) == producers as usize
    }
}

/// The endpoints of a ring, and the way its readers read.
struct Ends<const WORDS: usize> {
    producers: Vec<Producer<Message<WORDS>>>,
    consumers: Vec<Consumer<Message<WORDS>>>,
    takes: Takes,
}

impl<const WORDS: usize> Ends<WORDS> {
    fn new(
        producers: Vec<Producer<Message<WORDS>>>,
        consumers: Vec<Consumer<Message<WORDS>>>,
        takes: Takes,
    ) -> Self {
        Self {
            producers,
            consumers,
            takes,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// Every message, or it counts as lost.
    Next,
    /// Every message, without any loss.
    All,
    /// The latest only.
    Latest,
}

/// Runs each endpoint in a thread, all at once, and checks the messages that every reader saw.
fn run<const WORDS: usize>(ends: Ends<WORDS>) {
    let progress = &Progress::default();
    let producers = ends.producers.len() as u64;
    let each = MESSAGES / producers;
    thread::scope(|scope| {
        for (id, mut producer) in ends.producers.into_iter().enumerate() {
            scope.spawn(move || {
                let _finish = Finish(&progress.finished);
                progress.produce(&mut producer, id as u64, 0..each);
                assert_eq!(producer.position(), each);
            });
        }
        for mut consumer in ends.consumers {
            scope.spawn(move || {
                let gated = consumer.raw().read_mode() == ReadMode::Gated;
                let seen =
                    progress.consume(&mut consumer, producers, |consumer| match ends.takes {
                        Takes::Next | Takes::All => consumer.recv(),
                        Takes::Latest => consumer.latest(),
                    });
                assert_eq!(
                    seen.next,
                    vec![each; producers as usize],
                    "the newest are missing"
                );
                let ReadStats {
                    received,
                    lost,
                    skipped,
                    waiting,
                    sent,
                    ..
                } = consumer.stats();
                assert_eq!((sent, waiting), (each * producers, 0));
                assert_eq!(sent, received + lost + skipped);
                assert_eq!((received, lost + skipped), (seen.received, seen.gaps));
                match ends.takes {
                    Takes::All => assert_eq!(lost + skipped, 0),
                    Takes::Next => assert!(skipped == 0 && (lost == 0 || !gated)),
                    Takes::Latest => {
                        assert!(lost == 0 || !gated, "a skipped message is not lost");
                    }
                }
            });
        }
    });
}

/// The place of the ring under test: in a namespace, or on the heap.
type Origin<'a> = Option<&'a Arc<Namespace>>;

macro_rules! make {
    ($ring:ident, $origin:expr, $options:expr) => {
        match $origin {
            Some(namespace) => $ring::create(namespace, "ring", &$options).unwrap(),
            None => $ring::heap(&$options).unwrap(),
        }
    };
}

fn spsc<const WORDS: usize>(origin: Origin<'_>) -> Ends<WORDS> {
    let ring = make!(SpscShm, origin, RingOptions::capacity(CAPACITY));
    let consumers = vec![ring.consumer().unwrap()];
    let producers = vec![ring.producer().unwrap()];
    Ends::new(producers, consumers, Takes::All)
}

fn mpsc<const WORDS: usize>(origin: Origin<'_>) -> Ends<WORDS> {
    let ring = make!(MpscShm, origin, RingOptions::capacity(CAPACITY));
    let consumers = vec![ring.consumer().unwrap()];
    let producers = (0..3).map(|_| ring.producer().unwrap()).collect();
    Ends::new(producers, consumers, Takes::All)
}

fn fanout<const WORDS: usize>(origin: Origin<'_>) -> Ends<WORDS> {
    let ring = make!(FanoutShm, origin, RingOptions::capacity(CAPACITY));
    let consumers = (0..3).map(|_| ring.consumer().unwrap()).collect();
    let producers = (0..3).map(|_| ring.producer().unwrap()).collect();
    Ends::new(producers, consumers, Takes::Next)
}

fn pod<const WORDS: usize>(origin: Origin<'_>) -> Ends<WORDS> {
    let ring = make!(PodShm, origin, RingOptions::capacity(4));
    let consumers = (0..3).map(|_| ring.consumer().unwrap()).collect();
    let producers = vec![ring.producer().unwrap()];
    Ends::new(producers, consumers, Takes::Latest)
}

/// Makes an open topic of the smallest possible lane, so that most reads race with a write.
fn tight<const WORDS: usize>(origin: Origin<'_>) -> Ends<WORDS> {
    let ring = make!(FanoutShm, origin, RingOptions::capacity(2));
    let consumers = (0..2).map(|_| ring.consumer().unwrap()).collect();
    let producers = (0..2).map(|_| ring.producer().unwrap()).collect();
    Ends::new(producers, consumers, Takes::Next)
}

/// Makes a reliable topic with readers that the writer waits for, and one that it does not wait
/// for.
fn reliable<const WORDS: usize>(origin: Origin<'_>) -> Ends<WORDS> {
    let segment = reliable_topic::<WORDS>(origin);
    let consumer = |reading| RawConsumer::new(Arc::clone(&segment), reading).map(Consumer::new);
    let consumers = [ReadMode::Gated, ReadMode::KeepLast, ReadMode::Gated]
        .map(|reading| consumer(reading).unwrap())
        .into();
    let producer = || RawProducer::new(Arc::clone(&segment), OnStalled::Full).map(Producer::new);
    let producers = (0..2).map(|_| producer().unwrap()).collect();
    Ends::new(producers, consumers, Takes::Next)
}

fn reliable_topic<const WORDS: usize>(origin: Origin<'_>) -> Arc<Segment> {
    let mut request = Request::new(TypeInfo::opaque::<Message<WORDS>>());
    (request.capacity, request.reliability) = (Some(CAPACITY), Some(Reliability::Reliable));
    match origin {
        Some(namespace) => {
            let name = TopicName::new("reliable").unwrap();
            Segment::create(namespace, &name, &request).unwrap()
        }
        None => Segment::heap(&request).unwrap(),
    }
}

macro_rules! suite {
    ($($ring:ident)*) => {$(
        mod $ring {
            use super::*;

            #[test]
            fn delivers_304_bytes_on_the_heap() {
                run($ring::<38>(None));
            }

            #[cfg(not(miri))]
            #[test]
            fn delivers_16_bytes_in_mapped_memory() {
                run($ring::<2>(Some(&namespace(shm_dir().path()))));
            }

            #[cfg(not(miri))]
            #[test]
            fn delivers_304_bytes_in_mapped_memory() {
                run($ring::<38>(Some(&namespace(shm_dir().path()))));
            }

            #[cfg(not(miri))]
            #[test]
            fn delivers_1480_bytes_in_mapped_memory() {
                run($ring::<185>(Some(&namespace(shm_dir().path()))));
            }
        }
    )*};
}

suite!(spsc mpsc fanout pod tight reliable);

/// Runs a reader that reads one message while ten are sent, and stops before it has read them all.
fn run_slowly(
    mut producer: Producer<Message<38>>,
    consumer: Consumer<Message<38>>,
) -> (Consumer<Message<38>>, Seen) {
    let progress = &Progress::default();
    let mut seen = Seen::new(1);
    let consumer = thread::scope(|scope| {
        // WHY moved here: a panic drops it, and then the producer must not wait for it.
        let mut consumer = consumer;
        scope.spawn(|| {
            let _finish = Finish(&progress.finished);
            progress.produce(&mut producer, 0, 0..MESSAGES);
        });
        while !progress.have_finished(1) {
            let sent = progress.sent.load(Ordering::Relaxed);
            let refused = progress.refused.load(Ordering::Relaxed);
            if let Some(message) = consumer.recv() {
                seen.check(&message);
            }
            // A refused producer sends nothing more: the reader is a lane behind it.
            while progress.sent.load(Ordering::Relaxed) < sent + 10
                && progress.refused.load(Ordering::Relaxed) < refused + 2
                && !progress.have_finished(1)
            {
                thread::yield_now();
            }
        }
        consumer
    });
    let ReadStats {
        received,
        lost,
        skipped,
        waiting,
        sent,
        ..
    } = consumer.stats();
    assert_eq!(sent, MESSAGES);
    assert_eq!(
        sent,
        received + lost + skipped + waiting,
        "{:?}",
        consumer.stats()
    );
    assert_eq!((received, skipped), (seen.received, 0));
    // WHY not equal: what was overwritten is lost before the reader comes across the gap.
    assert!(lost >= seen.gaps, "{lost} lost, {} missed", seen.gaps);
    (consumer, seen)
}

/// Reads the rest, and checks the ledger again.
fn drain(consumer: &mut Consumer<Message<38>>, mut seen: Seen) -> ReadStats {
    while let Some(message) = consumer.recv() {
        seen.check(&message);
    }
    let stats = consumer.stats();
    let ReadStats {
        received,
        lost,
        skipped,
        waiting,
        sent,
        ..
    } = stats;
    assert_eq!((sent, waiting, skipped), (MESSAGES, 0, 0));
    assert_eq!((received, lost), (seen.received, seen.gaps));
    assert_eq!(received + lost, sent);
    stats
}

/// Loans are filled by ordinary stores while readers copy, borrow and observe. They run on the
/// heap, where ThreadSanitizer sees both sides.
#[test]
fn loans_race_with_no_reader() {
    let mut request = Request::new(TypeInfo::opaque::<Message<38>>());
    (request.capacity, request.lane_limit, request.pinnable) = (Some(4), Some(1), Some(true));
    let segment = Segment::heap(&request).unwrap();
    let open = |reading| {
        let raw = RawConsumer::new(Arc::clone(&segment), reading).unwrap();
        Consumer::<Message<38>>::new(raw)
    };
    let is_over = &AtomicU64::new(0);
    let read = |mut consumer: Consumer<Message<38>>| {
        // WHY Relaxed: it only ends the loop.
        while is_over.load(Ordering::Relaxed) == 0 {
            if let Some(received) = consumer.recv() {
                assert_eq!(received, message(0, received[0]), "torn");
            }
        }
    };
    let copying = [open(ReadMode::KeepLast), open(ReadMode::KeepLast)];
    let mut borrowing = open(ReadMode::KeepLast);
    let raw = RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap();
    let mut producer = Producer::<Message<38>>::new(raw);
    thread::scope(|scope| {
        for consumer in copying {
            scope.spawn(|| read(consumer));
        }
        scope.spawn(move || {
            while is_over.load(Ordering::Relaxed) == 0 {
                if let Some(sample) = borrowing.borrow().unwrap() {
                    assert_eq!(*sample, message(0, sample[0]), "written while it was held");
                }
            }
        });
        // Comes and goes. WHY sooner: miri runs a thousand times slower.
        let visit = if cfg!(miri) { 20 } else { 5000 };
        scope.spawn(move || {
            while is_over.load(Ordering::Relaxed) == 0 {
                let mut observer = open(ReadMode::Observer);
                for _ in 0..visit {
                    if let Some(received) = observer.recv() {
                        assert_eq!(received, message(0, received[0]), "torn");
                    }
                }
            }
        });
        for number in 0..MESSAGES / 10 {
            let mut loan = producer.loan().unwrap();
            *loan = message(0, number);
            loan.publish().unwrap();
        }
        is_over.store(1, Ordering::Relaxed);
    });
}

#[test]
fn a_slow_reader_of_a_best_effort_ring_knows_its_exact_loss() {
    let ring = FanoutShm::heap(&RingOptions::capacity(CAPACITY)).unwrap();
    let producer = ring.producer().unwrap();
    let consumer = ring.consumer().unwrap();
    let (mut consumer, seen) = run_slowly(producer, consumer);
    assert!(drain(&mut consumer, seen).lost > 0);
}

#[test]
fn a_slow_reader_of_a_reliable_topic_loses_nothing() {
    let segment = reliable_topic::<38>(None);
    let raw = RawConsumer::new(Arc::clone(&segment), ReadMode::Gated).unwrap();
    let producer = Producer::new(RawProducer::new(segment, OnStalled::Full).unwrap());
    let (mut consumer, seen) = run_slowly(producer, Consumer::new(raw));
    assert_eq!(drain(&mut consumer, seen).lost, 0);
    assert_eq!(consumer.raw().detach_count(), 0);
}

#[test]
fn a_slow_reader_that_is_detached_knows_its_exact_loss() {
    let segment = reliable_topic::<38>(None);
    let raw = RawConsumer::new(Arc::clone(&segment), ReadMode::Gated).unwrap();
    let on_stalled = OnStalled::Detach {
        after: Duration::ZERO,
    };
    let producer = Producer::new(RawProducer::new(segment, on_stalled).unwrap());
    let (mut consumer, seen) = run_slowly(producer, Consumer::new(raw));
    let detached = consumer.raw().detach_count();
    assert!(detached > 0);
    assert!(drain(&mut consumer, seen).lost > 0);
}

#[test]
fn producers_that_come_and_go_lose_and_repeat_nothing() {
    // WHY shorter: under miri there are too few messages for one session of that length.
    const SESSION: u64 = if cfg!(miri) { 10 } else { 100 };
    let ring = MpscShm::<Message<2>>::heap(&RingOptions::capacity(CAPACITY)).unwrap();
    let progress = &Progress::default();
    let sessions = MESSAGES / 3 / SESSION;
    let consumer = thread::scope(|scope| {
        let mut consumer = ring.consumer().unwrap();
        for id in 0..3 {
            let ring = &ring;
            scope.spawn(move || {
                let _finish = Finish(&progress.finished);
                for session in 0..sessions {
                    let mut producer = ring.producer().unwrap();
                    // Sessions of one thread may use different lanes, and overtake each other.
                    let source = id * sessions + session;
                    for number in 0..SESSION {
                        let message = [source, number];
                        while producer.send_ref(&message).is_err() {
                            thread::yield_now();
                        }
                    }
                }
            });
        }
        let mut next = vec![0; (3 * sessions) as usize];
        loop {
            let finished = progress.have_finished(3);
            match consumer.recv() {
                Some([source, number]) => {
                    assert_eq!(number, next[source as usize], "session {source}");
                    next[source as usize] += 1;
                }
                None if finished => break,
                None => thread::yield_now(),
            }
        }
        assert!(next.iter().all(|&next| next == SESSION));
        consumer
    });
    let sent = 3 * sessions * SESSION;
    assert_eq!(
        consumer.stats(),
        ReadStats {
            received: sent,
            sent,
            ..ReadStats::default()
        }
    );
}

#[test]
fn readers_that_come_and_go_keep_exact_ledgers_and_hold_no_writer_back_for_good() {
    let segment = reliable_topic::<38>(None);
    let raw = RawProducer::new(Arc::clone(&segment), OnStalled::Full).unwrap();
    let mut producer = Producer::<Message<38>>::new(raw);
    let progress = &Progress::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            let _finish = Finish(&progress.finished);
            progress.produce(&mut producer, 0, 0..MESSAGES);
        });
        for _ in 0..3 {
            scope.spawn(|| {
                while !progress.have_finished(1) {
                    let raw = RawConsumer::new(Arc::clone(&segment), ReadMode::Gated).unwrap();
                    let mut consumer = Consumer::<Message<38>>::new(raw);
                    let mut seen = Seen::new(1);
                    while seen.received < 50 && !progress.have_finished(1) {
                        match consumer.recv() {
                            Some(message) => seen.check(&message),
                            None => thread::yield_now(),
                        }
                    }
                    // Messages from before it joined are no loss; after that, nothing is lost.
                    let first = if seen.received == 0 {
                        0
                    } else {
                        seen.next[0] - seen.received
                    };
                    assert_eq!(seen.gaps, first, "the producer has passed a gated reader");
                    assert_eq!(consumer.stats().received, seen.received);
                    assert_eq!(consumer.stats().lost, 0);
                }
            });
        }
    });
}

#[test]
fn endpoints_can_be_sent_to_a_thread_and_not_shared() {
    /// Implemented once for types that are not `Sync` and twice for others, so that the call is
    /// ambiguous.
    trait UnlessSync<Marker> {
        fn holds() {}
    }
    struct IsSync;
    impl<T: ?Sized> UnlessSync<()> for T {}
    impl<T: ?Sized + Sync> UnlessSync<IsSync> for T {}

    fn is_send<T: Send>() {}

    <Producer<u64> as UnlessSync<_>>::holds();
    <Consumer<u64> as UnlessSync<_>>::holds();
    <RawProducer as UnlessSync<_>>::holds();
    <RawConsumer as UnlessSync<_>>::holds();
    is_send::<Producer<u64>>();
    is_send::<Consumer<u64>>();
    is_send::<RawProducer>();
    is_send::<RawConsumer>();
}
