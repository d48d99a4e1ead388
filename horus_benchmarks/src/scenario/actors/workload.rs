//! The workloads: the actors of each, their messages, and the checks of these. Each runs in a
//! process of its own.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::measure::memory;
use crate::measure::tsc::TscClock;
use crate::transport::actors::{GATE, PASSES, Player, Runtime};

/// Number of actors of a large ring, as in the benchmark of that name.
const RING: u64 = 503;

/// Number of producers, and the bits of a number below that of its producer.
const PRODUCERS: u64 = 2;
const PRODUCER_SHIFT: u32 = 32;

/// Number of messages that each actor of the blitz gets.
const BLITZ_MESSAGES: u64 = 10;

/// The time for which the timer is calibrated.
const CALIBRATION: Duration = Duration::from_millis(20);

/// The work of the actors of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Workload {
    /// Actors are created and initialised.
    Create,
    /// One actor gets messages.
    Tell,
    /// One actor gets messages, this number of them at once, and is asked for their number.
    Counting(u64),
    /// A task asks an actor, one question after another.
    Ask,
    /// A thread that runs no actors asks an actor.
    AskOutside,
    /// A token goes around a ring of 503 actors.
    ThreadRing,
    /// 503 tokens go around such a ring.
    ParallelThreadRing,
    /// Two actors send a token to each other.
    PingPong,
    /// Two actors send messages to one, this number of them at once.
    ProducerConsumer(u64),
    /// All of many actors get ten messages.
    Blitz,
}

/// The workload of a process, for one runtime.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) runtime: String,
    pub(super) workload: Workload,
    pub(super) operations: u64,
    /// The CPUs on which all of it runs.
    pub(super) cpus: Vec<usize>,
    /// The number of threads besides the one that sends; 0 if one does all of it.
    pub(super) threads: usize,
}

/// The results of a process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    /// The time from the first operation to the last, in nanoseconds.
    pub(super) elapsed_ns: f64,
    /// The same from the first message that was sent; of the blitz.
    pub(super) messages_ns: f64,
    /// The time until all actors had ended.
    pub(super) total_ns: f64,
    /// The time of each operation, in picoseconds, if they were timed one by one.
    pub(super) calls_ps: Vec<u64>,
    /// The same as `elapsed_ns`, of the first pass.
    pub(super) first_ns: f64,
    /// The memory that came with the operations of the first pass.
    pub(super) grown_bytes: u64,
    pub(super) peak_bytes: u64,
}

/// Number of messages that the actors of this process handled, noted as each actor is dropped.
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// Number of messages after which a counter is done. WHY static: as [`GATE`].
static LIMIT: AtomicU64 = AtomicU64::new(0);

static CALLS_PS: Mutex<Vec<u64>> = Mutex::new(Vec::new());
static FIRST_MESSAGE: Mutex<Option<Instant>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a job in this process. The times are those of the last pass, as the memory of a program
/// that has run for a while is not new. The blitz is all that a program does, so it has one pass.
pub(super) fn perform<R: Runtime>(job: &Job) -> Result<Measured, Box<dyn Error>> {
    let first = perform_once::<R>(job, 0)?;
    if job.workload == Workload::Blitz {
        return Ok(first);
    }
    let last = perform_once::<R>(job, PASSES - 1)?;
    Ok(Measured {
        first_ns: first.first_ns,
        grown_bytes: first.grown_bytes,
        ..last
    })
}

fn perform_once<R: Runtime>(job: &Job, pass: usize) -> Result<Measured, Box<dyn Error>> {
    let (count, threads) = (job.operations, job.threads);
    HANDLED.store(0, Ordering::Relaxed);
    GATE.begin(pass);
    match job.workload {
        Workload::Create => R::run(threads, move || create::<R>(count)),
        Workload::Tell => R::run(threads, move || tell::<R>(count)),
        Workload::Counting(batch) => R::run(threads, move || counting::<R>(count, batch)),
        Workload::Ask if threads == 0 => R::run_alone(move || ask_alone::<R>(count)),
        Workload::Ask => R::run(threads, move || ask::<R>(count)),
        Workload::AskOutside => R::run(threads, move || ask_outside::<R>(count)),
        Workload::ThreadRing => R::run(threads, move || ring::<R>(RING, 1, count)),
        Workload::ParallelThreadRing => R::run(threads, move || ring::<R>(RING, RING, count)),
        Workload::PingPong => R::run(threads, move || ring::<R>(2, 1, count)),
        Workload::ProducerConsumer(batch) => R::run(threads, move || produce::<R>(count, batch)),
        Workload::Blitz => R::run(threads, move || blitz::<R>(count)),
    }?;
    let [begun, done] = GATE
        .moments()
        .ok_or("a message was lost, or out of order")?;
    let handled = HANDLED.load(Ordering::Relaxed);
    let wanted = job.workload.messages(count);
    if handled != wanted {
        return Err(format!("{handled} of {wanted} messages were handled").into());
    }
    let first = lock(&FIRST_MESSAGE).take().unwrap_or(begun.at);
    let ns = |from: Instant, to: Instant| to.duration_since(from).as_nanos() as f64;
    Ok(Measured {
        elapsed_ns: ns(begun.at, done.at),
        first_ns: ns(begun.at, done.at),
        messages_ns: ns(first, done.at),
        total_ns: ns(begun.at, Instant::now()),
        calls_ps: std::mem::take(&mut *lock(&CALLS_PS)),
        grown_bytes: done.rss_bytes.saturating_sub(begun.rss_bytes),
        peak_bytes: memory::peak_bytes(),
    })
}

impl Workload {
    /// Returns the number of messages that are handled; of created actors, the number of these.
    pub(super) const fn messages(self, operations: u64) -> u64 {
        match self {
            Self::Blitz => operations * BLITZ_MESSAGES,
            _ => operations,
        }
    }
}

/// An actor that has nothing to do, with a state of eight bytes.
struct Idle(u64);

impl Player for Idle {
    type Message = u64;

    fn started(&mut self) {
        self.0 += 1;
        GATE.done();
    }

    fn handle(&mut self, number: u64) -> u64 {
        number
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        HANDLED.fetch_add(self.0, Ordering::Relaxed);
    }
}

fn create<R: Runtime>(count: u64) -> impl Send + 'static {
    GATE.close(count);
    (0..count).map(|_| R::spawn(Idle(0))).collect::<Vec<_>>()
}

/// An actor that checks that the numbers of each producer are all of 1, 2, 3, … in order.
#[derive(Default)]
struct Counter([u32; PRODUCERS as usize]);

impl Counter {
    fn total(&self) -> u64 {
        self.0.iter().copied().map(u64::from).sum()
    }
}

impl Player for Counter {
    type Message = u64;

    fn handle(&mut self, number: u64) -> u64 {
        if number == 0 {
            return self.total();
        }
        let seen = &mut self.0[(number >> PRODUCER_SHIFT & 1) as usize];
        GATE.check(number as u32 == seen.wrapping_add(1));
        *seen += 1;
        if self.total() == LIMIT.load(Ordering::Relaxed) {
            GATE.done();
        }
        number
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        HANDLED.fetch_add(self.total(), Ordering::Relaxed);
    }
}

/// Sends the numbers 1 to `count` of a producer, `batch` of them at once.
fn send<R: Runtime>(to: &R::Address<Counter>, producer: u64, count: u64, batch: u64) {
    let number = |number| producer << PRODUCER_SHIFT | number;
    if batch == 1 {
        return (1..=count).for_each(|one| GATE.check(R::tell(to, number(one))));
    }
    for first in (1..=count).step_by(batch as usize) {
        let last = count.min(first + batch - 1);
        GATE.check(R::tell_all(to, (first..=last).map(number)));
    }
}

fn tell<R: Runtime>(count: u64) -> impl Send + 'static {
    let counter = R::spawn(Counter::default());
    LIMIT.store(count, Ordering::Relaxed);
    GATE.close(1);
    send::<R>(&counter, 0, count, 1);
    counter
}

fn counting<R: Runtime>(count: u64, batch: u64) -> impl Send + 'static {
    let counter = R::spawn(Counter::default());
    GATE.close(1);
    send::<R>(&counter, 0, count, batch);
    let asked = counter.clone();
    R::task(async move {
        GATE.check(R::ask(&asked, 0).await == Some(count));
        GATE.done();
    });
    counter
}

fn ask<R: Runtime>(count: u64) -> impl Send + 'static {
    let counter = R::spawn(Counter::default());
    GATE.close(1);
    let asked = counter.clone();
    R::task(async move {
        for number in 1..=count {
            GATE.check(R::ask(&asked, number).await == Some(number));
        }
        GATE.done();
    });
    counter
}

async fn ask_alone<R: Runtime>(count: u64) {
    let counter = R::spawn(Counter::default());
    GATE.close(1);
    for number in 1..=count {
        GATE.check(R::ask_alone(&counter, number).await == Some(number));
    }
    GATE.done();
}

/// WHY a thread of its own: the calling one may be one of the runtime, which makes a task that asks
/// so often wait for its turn.
fn ask_outside<R: Runtime>(count: u64) -> impl Send + 'static {
    let counter = R::spawn(Counter::default());
    let asked = counter.clone();
    GATE.close(1);
    std::thread::spawn(move || {
        let clock = TscClock::calibrate(CALIBRATION);
        let source = clock.source();
        let mut calls = Vec::with_capacity(count as usize);
        for number in 1..=count {
            let start = source.start();
            let answer = R::ask_and_wait(&asked, number);
            calls.push(source.stop().since(start));
            GATE.check(answer == Some(number));
        }
        let ps = |ticks: u64| (clock.to_ns(ticks) * 1e3) as u64;
        *lock(&CALLS_PS) = calls.into_iter().map(ps).collect();
        GATE.done();
    });
    counter
}

/// An actor of a ring.
struct Node<R: Runtime> {
    next: Option<R::Address<Self>>,
    hops: u64,
}

enum Hop<R: Runtime> {
    /// The address of the next actor.
    Link(Box<R::Address<Node<R>>>),
    /// A token that is to be sent on this number of times.
    Token(u64),
}

impl<R: Runtime> Player for Node<R> {
    type Message = Hop<R>;

    fn handle(&mut self, message: Hop<R>) -> u64 {
        match message {
            Hop::Link(next) => self.next = Some(*next),
            Hop::Token(left) => {
                self.hops += 1;
                match (&self.next, left.checked_sub(1)) {
                    (_, None) => GATE.done(),
                    (Some(next), Some(left)) => GATE.check(R::tell(next, Hop::Token(left))),
                    (None, _) => GATE.check(false),
                }
            }
        }
        self.hops
    }
}

impl<R: Runtime> Drop for Node<R> {
    fn drop(&mut self) {
        HANDLED.fetch_add(self.hops, Ordering::Relaxed);
    }
}

/// Lets `tokens` tokens make `hops` hops in all, in a ring of `nodes` actors.
fn ring<R: Runtime>(nodes: u64, tokens: u64, hops: u64) -> impl Send + 'static {
    let spawn = |_| {
        R::spawn(Node::<R> {
            next: None,
            hops: 0,
        })
    };
    let nodes: Vec<_> = (0..nodes).map(spawn).collect();
    for (node, next) in nodes.iter().zip(nodes.iter().cycle().skip(1)) {
        GATE.check(R::tell(node, Hop::Link(Box::new(next.clone()))));
    }
    let tokens = tokens.min(hops);
    GATE.close(tokens);
    for (token, node) in (0..tokens).zip(&nodes) {
        let hops = hops / tokens + u64::from(token < hops % tokens);
        GATE.check(R::tell(node, Hop::Token(hops - 1)));
    }
    nodes
}

/// An actor that sends numbers to a counter.
struct Producer<R: Runtime> {
    to: R::Address<Counter>,
    number: u64,
    batch: u64,
}

impl<R: Runtime> Player for Producer<R> {
    type Message = u64;

    fn handle(&mut self, count: u64) -> u64 {
        send::<R>(&self.to, self.number, count, self.batch);
        count
    }
}

fn produce<R: Runtime>(count: u64, batch: u64) -> impl Send + 'static {
    let counter = R::spawn(Counter::default());
    LIMIT.store(count, Ordering::Relaxed);
    let producers = [0, 1].map(|number| {
        let to = counter.clone();
        R::spawn(Producer::<R> { to, number, batch })
    });
    GATE.close(1);
    for (producer, count) in producers
        .iter()
        .zip([count.div_ceil(PRODUCERS), count / PRODUCERS])
    {
        GATE.check(R::tell(producer, count));
    }
    (counter, producers)
}

fn blitz<R: Runtime>(count: u64) -> impl Send + 'static {
    LIMIT.store(BLITZ_MESSAGES, Ordering::Relaxed);
    GATE.close(count);
    let spawn = |_| R::spawn(Counter::default());
    let counters: Vec<_> = (0..count).map(spawn).collect();
    *lock(&FIRST_MESSAGE) = Some(Instant::now());
    for number in 1..=BLITZ_MESSAGES {
        for counter in &counters {
            GATE.check(R::tell(counter, number));
        }
    }
    counters
}
