//! The ledger of every ring whose readers are slower than its writers is exact at any pace.
//!
//! Sent messages are delivered, lost, skipped or still in the ring, and the gaps that a reader
//! finds in the numbers are the ones that the ring reports. `HORUS_TORTURE=1` sends 10⁷ messages in
//! each cell of the table.

#![cfg(target_os = "linux")]

use horus_testing as _;

mod cases;
mod common;
mod hostile;
mod spawn;
mod stream;

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use horus_shm::{
    Consumer, FanoutShm, OnStalled, Producer, ReadMode, ReadStats, RingOptions, Segment,
};

use cases::Case;
use common::{Child, Guard, result, role, say};
use hostile::rounds;
use spawn::{die_with_parent, inherited_namespace, namespace, shm_dir};
use stream::{Account, Tagged};

type Message = [u64; 8];

const CAPACITY: u64 = 64;
/// The number of messages that a writer sends in a row.
const BURST: u32 = 24;
/// A writer without progress for this long is being held back.
const HELD_BACK: Duration = Duration::from_millis(10);
/// The number of times that a stopping reader stops.
const STOPS: u64 = 4;

/// Returns the messages of one cell, of all senders together.
fn messages(case: &Case) -> u64 {
    rounds(100_000, 10_000_000) / u64::from(case.senders) * u64::from(case.senders)
}

/// The way in which readers lag behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// A message takes them this many times as long as a send.
    Times(u64),
    /// They stop, until a writer gave them up or lapped them.
    Stops,
    /// Both, in turn.
    Changes,
}

const PACES: [Pace; 6] = [
    Pace::Changes,
    Pace::Times(2),
    Pace::Times(5),
    Pace::Times(12),
    Pace::Times(50),
    Pace::Stops,
];
/// The durations of a message, relative to a send, where that changes.
const TIMES: [u64; 8] = [2, 2, 2, 3, 3, 5, 12, 50];

fn paces() -> impl Iterator<Item = Pace> {
    PACES
        .into_iter()
        .take(rounds(1, PACES.len() as u64) as usize)
}

impl Pace {
    /// Returns the duration of the next few messages, relative to a send.
    fn times(self, rng: &mut Rng) -> u64 {
        match self {
            Self::Times(times) => times,
            Self::Stops => 0,
            Self::Changes => *rng.choice(&TIMES).unwrap(),
        }
    }

    fn has_stops(self) -> bool {
        matches!(self, Self::Stops | Self::Changes)
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times(times) => write!(f, "{times}x"),
            Self::Stops => write!(f, "stops"),
            Self::Changes => write!(f, "changes"),
        }
    }
}

impl FromStr for Pace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pace = PACES.into_iter().find(|pace| pace.to_string() == text);
        pace.ok_or_else(|| text.to_owned())
    }
}

/// Does steps of work that the compiler cannot leave out.
fn work(steps: u64) {
    let mut value = steps;
    for _ in 0..steps {
        value = std::hint::black_box(
            value
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1),
        );
    }
}

/// Returns the steps of [`work`] that take as long as a send into a ring of these messages.
fn steps_of_a_send() -> u64 {
    static STEPS: OnceLock<u64> = OnceLock::new();
    const SAMPLE: u32 = 20_000;
    *STEPS.get_or_init(|| {
        let ring = FanoutShm::<Message>::heap(&RingOptions::capacity(CAPACITY)).unwrap();
        let mut producer = ring.producer().unwrap();
        let start = Instant::now();
        (0..SAMPLE).for_each(|number| producer.send(Message::new(0, number)).unwrap());
        let sending = start.elapsed();
        let start = Instant::now();
        work(SAMPLE.into());
        let step = start.elapsed().as_secs_f64() / f64::from(SAMPLE);
        (sending.as_secs_f64() / f64::from(SAMPLE) / step).ceil() as u64
    })
}

/// Sends `count` messages of `id`; the lane counts each exactly once.
fn send(producer: &mut Producer<Message>, id: u32, count: u32) {
    let mut guard = Guard::new();
    for number in 0..count {
        // WHY: on few CPUs, a writer that never yields would send all messages in one time slice.
        if number % BURST == 0 {
            thread::yield_now();
        }
        let message = Message::new(id, number);
        while let Err(error) = producer.send_ref(&message) {
            assert!(error.is_full());
            guard.stuck(number.into());
            thread::yield_now();
        }
    }
    assert_eq!(
        producer.position(),
        count.into(),
        "positions and messages sent differ"
    );
}

/// The counts of a reader at the end.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    received: u64,
    lost: u64,
    skipped: u64,
    /// Messages still in the ring when the last writer was done.
    in_ring: u64,
    detached: u64,
}

impl Seen {
    fn words(self) -> [u64; 5] {
        [
            self.received,
            self.lost,
            self.skipped,
            self.in_ring,
            self.detached,
        ]
    }

    fn of([received, lost, skipped, in_ring, detached]: [u64; 5]) -> Self {
        Self {
            received,
            lost,
            skipped,
            in_ring,
            detached,
        }
    }

    fn parse(said: &str) -> Self {
        let words: Vec<u64> = said.split(' ').map(|word| word.parse().unwrap()).collect();
        Self::of(words.try_into().unwrap())
    }
}

/// A reader at work on its cell.
struct Reader {
    case: &'static Case,
    index: usize,
    pace: Pace,
    /// The number of messages that are sent to it.
    total: u64,
    consumer: Consumer<Message>,
    account: Account,
}

impl Reader {
    /// Receives at its pace until all was sent, then the rest. Compares the ledger with the
    /// received numbers.
    fn run(mut self) -> Seen {
        let mut guard = Guard::new();
        let mut stops = 0;
        let mut rng = Rng::with_seed(self.index as u64);
        loop {
            let steps = steps_of_a_send() * self.pace.times(&mut rng);
            for _ in 0..64 {
                match self.take() {
                    true => work(steps),
                    false => thread::yield_now(),
                }
            }
            let stats = self.compare();
            if stats.sent == self.total {
                break;
            }
            guard.stuck(stats.sent + stats.received);
            if self.pace.has_stops() && stats.sent > stops * self.total / (STOPS + 1) {
                stops += 1;
                self.stop();
            }
        }
        self.finish()
    }

    fn take(&mut self) -> bool {
        let message = self.case.take(&mut self.consumer);
        message
            .inspect(|message| self.account.take(message))
            .is_some()
    }

    /// Checks that the ring reports all missing messages, at any time.
    fn compare(&self) -> ReadStats {
        let stats = self.consumer.stats();
        let missing = self.account.missing();
        assert!(
            missing <= stats.lost + stats.skipped,
            "{missing} are missing, but {stats:?}"
        );
        assert_eq!(stats.received, self.account.received);
        stats
    }

    /// Stops reading until it is lapped or given up, or the writers are stuck because of it.
    fn stop(&self) {
        let detached = self.consumer.raw().detach_count();
        let before = self.consumer.stats().sent;
        let lapped = before + 2 * CAPACITY * u64::from(self.case.senders);
        let waited_for = self.case.is_lossless(self.index);
        let mut guard = Guard::new();
        loop {
            let sent = self.consumer.stats().sent;
            let stuck = guard.stuck(sent);
            let noticed = sent >= lapped || self.consumer.raw().detach_count() > detached;
            if noticed || sent == self.total || waited_for && stuck > HELD_BACK {
                return;
            }
            thread::yield_now();
        }
    }

    /// Checks at rest that the ledger adds up with messages in the ring, and again without.
    fn finish(mut self) -> Seen {
        let at_rest = self.compare();
        self.account.expect_sound(at_rest).unwrap();
        while self.consumer.stats().waiting > 0 {
            self.take();
        }
        let stats = self.compare();
        self.account.expect_sound(stats).unwrap();
        let ReadStats {
            received,
            lost,
            skipped,
            waiting,
            sent,
            ..
        } = stats;
        assert_eq!((sent, waiting), (self.total, 0));
        let passed = |stats: ReadStats| stats.received + stats.lost + stats.skipped;
        assert_eq!(passed(stats) - passed(at_rest), at_rest.waiting);
        assert_eq!(
            lost + skipped,
            self.account.missing(),
            "the ledger and the missing numbers differ"
        );
        let each = (self.total / u64::from(self.case.senders)) as u32;
        for id in 0..self.case.senders {
            assert_eq!(
                self.account.of(id).unwrap().next,
                each,
                "the newest of {id} is missing"
            );
        }
        assert!(
            lost == 0 || !self.case.is_lossless(self.index),
            "{lost} lost: {stats:?}"
        );
        let detached = self.consumer.raw().detach_count();
        Seen {
            received,
            lost,
            skipped,
            in_ring: at_rest.waiting,
            detached,
        }
    }
}

/// Runs both endpoints in threads, with the ring on the heap.
fn on_threads(case: &'static Case, pace: Pace) -> Vec<Seen> {
    let segment = case.heap::<Message>(CAPACITY);
    let total = messages(case);
    let reader = |index| reader(case, index, pace, &segment);
    let readers: Vec<_> = (0..case.readings.len()).map(reader).collect();
    // WHY here: it must be measured before the threads begin.
    steps_of_a_send();
    // WHY all before one sends: a sender that comes late would continue the lane of another.
    let mut producers: Vec<_> = (0..case.senders).map(|_| case.sender(&segment)).collect();
    let each = (total / u64::from(case.senders)) as u32;
    thread::scope(|scope| {
        let senders: Vec<_> = (0..)
            .zip(&mut producers)
            .map(|(id, producer)| scope.spawn(move || send(producer, id, each)))
            .collect();
        let running: Vec<_> = readers
            .into_iter()
            .map(|reader| scope.spawn(move || reader.run()))
            .collect();
        let seen = running
            .into_iter()
            .map(|reader| reader.join().unwrap())
            .collect();
        // WHY explicit joins: ThreadSanitizer understands a join, but not the end of a scope.
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
        seen
    })
}

fn reader(case: &'static Case, index: usize, pace: Pace, segment: &Arc<Segment>) -> Reader {
    let consumer = case.receiver(segment, index);
    let total = messages(case);
    Reader {
        case,
        index,
        pace,
        total,
        consumer,
        account: Account::default(),
    }
}

/// Runs each endpoint in a process of its own, with the ring in a file.
fn on_processes(case: &'static Case, pace: Pace) -> Vec<Seen> {
    let dir = shm_dir();
    let namespace = namespace(dir.path());
    let _ring = case.file::<Message>(&namespace, "ring", CAPACITY);
    let spawn = |role: String| {
        let mut child = Child::spawn(&role, dir.path());
        assert_eq!(child.listen(), "ready", "{role}");
        child
    };
    let receiver = |index| spawn(format!("receive {} {index} {pace}", case.name));
    let mut receivers: Vec<_> = (0..case.readings.len()).map(receiver).collect();
    let sender = |id| spawn(format!("send {} {id}", case.name));
    let senders: Vec<_> = (0..case.senders).map(sender).collect();
    let seen = receivers
        .iter_mut()
        .map(|child| Seen::parse(&child.listen()))
        .collect();
    senders.into_iter().chain(receivers).for_each(Child::finish);
    seen
}

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    let Some(role) = role() else { return };
    die_with_parent();
    let role: Vec<_> = role.split(' ').collect();
    let case = Case::named(role[1]);
    let segment = case.file::<Message>(&inherited_namespace(), "ring", CAPACITY);
    match role[..] {
        ["send", _, id] => {
            let mut producer = case.sender(&segment);
            say("ready");
            let each = messages(case) / u64::from(case.senders);
            send(&mut producer, id.parse().unwrap(), each as u32);
            // WHY not dropped before: a sender that starts late would continue its lane.
            common::park();
        }
        ["receive", _, index, pace] => {
            let reader = reader(
                case,
                index.parse().unwrap(),
                pace.parse().unwrap(),
                &segment,
            );
            // WHY here: it must be measured before the writers come.
            steps_of_a_send();
            say("ready");
            say(reader.run().words().map(|word| word.to_string()).join(" "));
        }
        _ => panic!("{role:?}"),
    }
    common::park();
}

/// Runs `case` at every pace and prints the counts of its messages.
fn balances(place: &str, case: &'static Case, run: fn(&'static Case, Pace) -> Vec<Seen>) {
    for pace in paces() {
        let seen = run(case, pace);
        for (index, seen) in seen.iter().enumerate() {
            // A reader that stopped until it was lapped, or given up, has lost messages.
            let overrun = pace.has_stops() && !case.is_lossless(index);
            assert!(
                !overrun || seen.lost + seen.skipped > 0,
                "{pace}: a reader that stops lost no message"
            );
        }
        let gated = case.readings.contains(&ReadMode::Gated);
        let detaches = gated && case.on_stalled != OnStalled::Full;
        let detached = seen.iter().map(|seen| seen.detached).sum::<u64>();
        assert!(
            !(detaches && pace.has_stops()) || detached > 0,
            "no reader was detached"
        );
        let words: Vec<_> = seen
            .iter()
            .map(|seen| format!("{:?}", seen.words()))
            .collect();
        let figures = format!(
            "{pace}: sent={} readers (delivered, lost, skipped, in ring, detached): {}",
            messages(case),
            words.join(" ")
        );
        result(&format!("loss_ledger/{place}/{}", case.name), figures);
    }
}

macro_rules! ledgers {
    ($($name:ident)*) => {
        /// Every case, between threads.
        mod the_ledger_of_a_slow_thread_adds_up {
            $(#[test] fn $name() {
                let case = super::Case::named(stringify!($name));
                super::balances("threads", case, super::on_threads);
            })*
        }

        /// Every case, between processes.
        mod the_ledger_of_a_slow_process_adds_up {
            $(#[test] fn $name() {
                let case = super::Case::named(stringify!($name));
                super::balances("processes", case, super::on_processes);
            })*
        }

        #[test]
        fn every_case_has_its_tests() {
            let named = [$(stringify!($name)),*];
            assert_eq!(cases::CASES.map(|case| case.name), named);
        }
    };
}

ledgers!(spsc mpsc fanout pod best_effort reliable_full reliable_detach);
