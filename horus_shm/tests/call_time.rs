//! Bounded calls: a `send` or `recv` returns, however its peers are stopped, continued and killed.

#![cfg(target_os = "linux")]

use horus_testing as _;

mod common;
mod crew;
mod hostile;
mod spawn;
mod stream;
mod tracer;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;

use common::show;
use crew::{Crew, Job, Member, PATIENCE, alone};
use hostile::rounds;
use stream::{Account, Tagged};
use tracer::ends::{Kind, Receiver, Sender};

type Message = [u64; 8];

/// Rings in which no endpoint waits, in which a writer waits for a reader, and in which every copy
/// is plain.
const RINGS: [Kind; 3] = [Kind::Fanout, Kind::Reliable, Kind::Spsc];
/// The longest that a call may take, minus the time for which its thread waited for a CPU.
const CALL_MAX: Duration = Duration::from_secs(1);
/// The duration above which a call is examined individually.
const SLOW: Duration = Duration::from_millis(100);
/// The number of calls after which the time that this thread waited for a CPU is read again.
const BATCH: u64 = 1024;
/// The longest pause between two signals to the child.
const PAUSE_MAX_US: u64 = 2000;
/// The sender or receiver whose calls are timed.
const TIMED: u32 = 1;

/// Not a test: entry point of the re-executed child process.
#[test]
fn child_role() {
    if let Some(role) = common::role() {
        crew::mate::play(&role);
    }
}

/// Returns how long this thread was ready to run while no CPU was free.
fn starved_here() -> Duration {
    let figures = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let starved_ns = figures
        .split_whitespace()
        .nth(1)
        .and_then(|ns| ns.parse().ok());
    Duration::from_nanos(starved_ns.unwrap_or(0))
}

/// Counts of durations by their five leading bits, so that values are exact to 3 %.
struct Histogram {
    counts: Vec<u64>,
    calls: u64,
    max: Duration,
    /// The longest of the slow calls, minus the time for which it waited for a CPU.
    slowest: Duration,
    starved: Duration,
}

impl Histogram {
    /// Makes an empty histogram for one thread.
    fn new() -> Self {
        let max = Duration::ZERO;
        let slowest = Duration::ZERO;
        Self {
            counts: vec![0; 64 * 32],
            calls: 0,
            max,
            slowest,
            starved: starved_here(),
        }
    }

    /// Returns the bucket that counts a duration, and the shortest duration of that bucket.
    fn bucket(ns: u64) -> (usize, u64) {
        let shift = (64 - ns.leading_zeros()).saturating_sub(5);
        (
            shift as usize * 32 + (ns >> shift) as usize,
            ns >> shift << shift,
        )
    }

    fn add(&mut self, call: Duration) {
        self.counts[Self::bucket(call.as_nanos() as u64).0] += 1;
        self.calls += 1;
        self.max = self.max.max(call);
        if call < SLOW && !self.calls.is_multiple_of(BATCH) {
            return;
        }
        let before = std::mem::replace(&mut self.starved, starved_here());
        if call >= SLOW {
            let waited = self.starved.saturating_sub(before);
            self.slowest = self.slowest.max(call.saturating_sub(waited));
        }
    }

    fn percentile(&self, share: f64) -> Duration {
        let wanted = (self.calls as f64 * share).ceil() as u64;
        let mut seen = 0;
        let reached = |count: &u64| {
            seen += count;
            seen >= wanted
        };
        let at = self.counts.iter().position(reached).unwrap_or(0) as u64;
        Duration::from_nanos((at % 32) << (at / 32))
    }

    fn show(&self, what: &str, blows: u64) {
        let [p50, p99, p999, p9999] = [0.5, 0.99, 0.999, 0.9999].map(|p| self.percentile(p));
        show(format_args!(
            "call_time {what}: {} calls beside {blows} blows; p50 {p50:?}, p99 {p99:?}, p99.9 \
             {p999:?}, p99.99 {p9999:?}, max {:.1?}, at most {:.1?} less the wait for a core",
            self.calls,
            self.max,
            self.slowest.max(self.max.min(SLOW)),
        ));
        assert!(
            self.slowest < CALL_MAX,
            "{what}: a call took {:?}",
            self.slowest
        );
    }
}

/// Stops, continues and replaces the one child on the ring, until the test ends.
struct Tormentor {
    crew: Crew<Message>,
    job: Job,
    victim: Member,
    dice: Rng,
}

impl Tormentor {
    fn new(kind: Kind, job: Job) -> Self {
        // More members than the test can need.
        let mut crew = Crew::new(kind, 20_000);
        let mut victim = crew.hire(job, 0, false);
        victim.child.free_pin();
        Self {
            crew,
            job,
            victim,
            dice: Rng::with_seed(0x5eed_0034),
        }
    }

    fn pause(&mut self) {
        thread::sleep(Duration::from_micros(self.dice.u64(..PAUSE_MAX_US)));
    }

    fn blow(&mut self) {
        self.victim.child.signal(libc::SIGSTOP);
        self.pause();
        if self.dice.u64(..3) == 0 {
            self.victim.child.kill();
            self.victim = self.crew.hire(self.job, 0, false);
            self.victim.child.free_pin();
            let id = self.victim.id;
            self.crew
                .wait("its end", |crew| crew.entry(id).owner.get() != 0);
        } else {
            self.victim.child.signal(libc::SIGCONT);
        }
        self.pause();
        self.crew.expect_no_fault();
    }
}

/// The state that the timing thread and the tormentor share.
struct Bout {
    calls: AtomicU64,
    blows: AtomicU64,
    blows_wanted: u64,
    calls_wanted: u64,
}

impl Bout {
    /// Returns true if the test goes on; to be called after every call.
    fn goes_on(&self, calls: u64) -> bool {
        self.calls.store(calls, Relaxed);
        calls < self.calls_wanted || self.blows.load(Relaxed) < self.blows_wanted
    }
}

fn time_sends(bout: &Bout, mut sender: Sender<Message>) -> Histogram {
    let mut times = Histogram::new();
    let mut number = 0;
    while bout.goes_on(times.calls) {
        let message = Message::new(TIMED, number);
        let start = Instant::now();
        let sent = sender.send(&message);
        times.add(start.elapsed());
        number += u32::from(sent);
    }
    assert!(number > 0, "no message was sent");
    times
}

fn time_recvs(bout: &Bout, mut receiver: Receiver<Message>) -> Histogram {
    let mut times = Histogram::new();
    let mut account = Account::default();
    while bout.goes_on(times.calls) {
        let start = Instant::now();
        let message = receiver.recv();
        times.add(start.elapsed());
        message.inspect(|message| account.take(message));
    }
    assert!(account.received > 0, "no message was received");
    assert!(account.faults.is_empty(), "{:?}", account.faults);
    times
}

/// Signals a child in `job` while the calls of the other endpoint are timed.
fn torment(kind: Kind, job: Job) {
    let _alone = alone();
    let mut tormentor = Tormentor::new(kind, job);
    let bout = Arc::new(Bout {
        calls: AtomicU64::new(0),
        blows: AtomicU64::new(0),
        blows_wanted: rounds(20, 400),
        calls_wanted: rounds(100_000, 1_000_000),
    });
    let ring = &tormentor.crew.ring;
    // The endpoint that the child does not have.
    let (sender, receiver) = match job {
        Job::Consume => (ring.sender().ok(), None),
        _ => (None, ring.receiver().ok()),
    };
    let what = if sender.is_some() { "send" } else { "recv" };
    tormentor.crew.stream();
    // WHY not a scope: it would wait for a thread whose call never returns.
    let (bout, theirs) = (Arc::clone(&bout), bout);
    let timed = thread::spawn(move || match sender {
        Some(sender) => time_sends(&theirs, sender),
        None => time_recvs(&theirs, receiver.unwrap()),
    });
    let mut calls = 0;
    let mut progress = Instant::now();
    while !timed.is_finished() {
        tormentor.blow();
        bout.blows.fetch_add(1, Relaxed);
        if calls != bout.calls.load(Relaxed) {
            (calls, progress) = (bout.calls.load(Relaxed), Instant::now());
        }
        assert!(
            progress.elapsed() < PATIENCE,
            "call {calls} does not return"
        );
    }
    let times = timed.join().unwrap();
    times.show(&format!("{kind:?} {what}"), bout.blows.load(Relaxed));
}

#[test]
fn a_send_returns_while_receivers_are_stopped_continued_and_killed() {
    RINGS
        .into_iter()
        .for_each(|kind| torment(kind, Job::Consume));
}

#[test]
fn a_recv_returns_while_senders_are_stopped_continued_and_killed() {
    RINGS
        .into_iter()
        .for_each(|kind| torment(kind, Job::Produce));
}
