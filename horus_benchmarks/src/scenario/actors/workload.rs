//! The workloads of the actor benchmarks: the actors of each workload, their messages, and the
//! checks of these messages. Each workload runs in a separate process, in a few passes. A pass is
//! one execution of the whole workload.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::measure::machine;
use crate::measure::tsc::TscClock;
use crate::scenario::entry::Outcome;
use crate::transport::actors::{GATE, Runtime, WORKLOAD_PASSES, WorkloadActor};

/// Number of actors in a ring. The well-known thread-ring benchmark uses this number.
const RING_ACTORS: u64 = 503;

/// Number of actors that send messages in the workload `ProducerConsumer`.
const PRODUCERS: u64 = 2;
/// Position of the lowest bit of the producer's number in a message. The bits below it are the
/// number of the message.
const PRODUCER_NUMBER_SHIFT: u32 = 32;

/// Number of messages that each actor receives in the workload `Blitz`.
const BLITZ_MESSAGES_PER_ACTOR: u64 = 10;

/// Duration of the timer's calibration.
const CALIBRATION_TIME: Duration = Duration::from_millis(20);

/// A workload: the work that the actors of one process do, which the benchmark times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the texts of their rows say it")]
pub enum Workload {
    Create,
    Tell,
    /// One actor counts messages, which are sent in batches of this number. At the end, it is asked
    /// for its count.
    Counting(u64),
    /// A task of the runtime asks an actor, one question after another. With one thread, our
    /// runtime has no task: a wait for the answer runs the actor.
    Ask,
    /// A task of the runtime asks an actor, one question after another, on every runtime.
    AskTask,
    /// A thread that runs no actors asks an actor. After each answer, it sleeps for this number of
    /// microseconds.
    AskOutside(u64),
    ThreadRing,
    ParallelThreadRing,
    PingPong,
    /// Two actors send messages to a third one, in batches of this number.
    ProducerConsumer(u64),
    /// Many actors are created, each receives ten messages, and all are ended.
    Blitz,
}

/// A job for a child process: the workload that it runs on one runtime.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct WorkloadJob {
    pub(super) runtime: String,
    pub(super) workload: Workload,
    /// Number of operations of the first pass, and minimum number of those of the measured pass.
    pub(super) operations: u64,
    /// Maximum number of operations of the measured pass.
    pub(super) operations_max: u64,
    /// The numbers of the CPUs on which the process may run.
    pub(super) cpus: Vec<usize>,
    /// Number of threads of the runtime, in addition to the thread that sends. If it is 0, one
    /// thread does all the work.
    pub(super) threads: usize,
}

/// The measurements of one child process that has run a workload.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WorkloadResult {
    /// Number of operations of the measured pass.
    pub(super) operations: u64,
    /// Time from the first operation to the last one in nanoseconds.
    pub(super) elapsed_ns: f64,
    /// Time from the send of the first message to the end of the last operation, in nanoseconds. It
    /// is measured only for the workload `Blitz`; for other workloads, it equals `elapsed_ns`.
    pub(super) messages_ns: f64,
    /// Time from the first operation until all actors had ended in nanoseconds.
    pub(super) total_ns: f64,
    /// The time of each operation in picoseconds. Empty if the operations were not timed one by
    /// one.
    pub(super) calls_ps: Vec<u64>,
    /// Mean time of an operation of the first pass, in which the process has to get new memory, in
    /// nanoseconds.
    pub(super) first_ns: f64,
    /// The growth of the resident memory during the operations of the first pass, in bytes.
    pub(super) grown_bytes: u64,
    /// CPU time of the process from the first operation to the last one, in percent of the time
    /// that passed. It is above 100 if several threads were busy.
    pub(super) cpu_percent: f64,
    pub(super) peak_bytes: u64,
}

/// Number of messages that the actors of this process have handled. Each actor adds its own number
/// when it is dropped.
static HANDLED_MESSAGES: AtomicU64 = AtomicU64::new(0);

/// Total number of messages that a [`CounterActor`] receives. WHY static: a field of the actor
/// would take memory, and the memory of actors is measured.
static EXPECTED_MESSAGES: AtomicU64 = AtomicU64::new(0);

static CALL_TIMES_PS: Mutex<Vec<u64>> = Mutex::new(Vec::new());
static FIRST_MESSAGE_TIME: Mutex<Option<Instant>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Approximate duration of a measured pass, if the number of operations may grow, in nanoseconds.
/// WHY so long: a pass of a few milliseconds is over before the CPU has its speed.
const MEASURED_PASS_DURATION_NS: f64 = 50e6;

/// Runs a job in this process. The returned times are those of the last pass, in which the process
/// reuses the memory of the earlier passes, as a long-running program does. The workload `Blitz`
/// has only one pass, because it measures a whole program.
pub(super) fn perform_job<R: Runtime>(job: &WorkloadJob) -> Outcome<WorkloadResult> {
    let first = perform_pass::<R>(job, 0)?;
    if job.workload == Workload::Blitz {
        return Ok(first);
    }
    let fitting = (MEASURED_PASS_DURATION_NS / first.first_ns) as u64;
    let last_job = WorkloadJob {
        operations: fitting.clamp(job.operations, job.operations_max),
        ..job.clone()
    };
    let last = perform_pass::<R>(&last_job, WORKLOAD_PASSES - 1)?;
    Ok(WorkloadResult {
        first_ns: first.first_ns,
        grown_bytes: first.grown_bytes,
        ..last
    })
}

fn perform_pass<R: Runtime>(job: &WorkloadJob, pass_index: usize) -> Outcome<WorkloadResult> {
    let (count, threads) = (job.operations, job.threads);
    HANDLED_MESSAGES.store(0, Ordering::Relaxed);
    GATE.begin_pass(pass_index);
    macro_rules! run {
        ($workload:ident($($argument:expr),+)) => {
            R::run_workload(threads, move || $workload::<R>($($argument),+))
        };
    }
    match job.workload {
        Workload::Create => run!(run_create(count)),
        Workload::Tell => run!(run_tell(count)),
        Workload::Counting(batch) => run!(run_counting(count, batch)),
        Workload::Ask if threads == 0 => {
            R::run_on_one_thread(move || run_ask_in_same_thread::<R>(count))
        }
        Workload::Ask | Workload::AskTask => run!(run_ask(count)),
        Workload::AskOutside(pause_us) => {
            run!(run_ask_from_outside(count, Duration::from_micros(pause_us)))
        }
        Workload::ThreadRing => run!(run_ring(RING_ACTORS, 1, count)),
        Workload::ParallelThreadRing => run!(run_ring(RING_ACTORS, RING_ACTORS, count)),
        Workload::PingPong => run!(run_ring(2, 1, count)),
        Workload::ProducerConsumer(batch) => run!(run_producers(count, batch)),
        Workload::Blitz => run!(run_blitz(count)),
    }?;
    let snapshots = GATE.closing_and_opening_snapshots();
    let [begun, done] = snapshots.ok_or("a message was lost, or out of order")?;
    let handled = HANDLED_MESSAGES.load(Ordering::Relaxed);
    let wanted = job.workload.handled_messages(count);
    if handled != wanted {
        return Err(format!("{handled} of {wanted} messages were handled").into());
    }
    let first = lock(&FIRST_MESSAGE_TIME).take().unwrap_or(begun.at);
    let ns = |from: Instant, to: Instant| to.duration_since(from).as_nanos() as f64;
    Ok(WorkloadResult {
        operations: count,
        elapsed_ns: ns(begun.at, done.at),
        first_ns: ns(begun.at, done.at) / count as f64,
        messages_ns: ns(first, done.at),
        total_ns: ns(begun.at, Instant::now()),
        calls_ps: std::mem::take(&mut *lock(&CALL_TIMES_PS)),
        cpu_percent: 100.0 * done.cpu_ns.saturating_sub(begun.cpu_ns) as f64
            / ns(begun.at, done.at),
        grown_bytes: done.rss_bytes.saturating_sub(begun.rss_bytes),
        peak_bytes: machine::peak_resident_bytes(),
    })
}

impl Workload {
    /// Returns the number of messages that actors handle in `operations` operations. If the
    /// workload only creates actors, returns the number of actors.
    pub(super) const fn handled_messages(self, operations: u64) -> u64 {
        match self {
            Self::Blitz => operations * BLITZ_MESSAGES_PER_ACTOR,
            _ => operations,
        }
    }
}

/// An actor that does nothing. It has a state of eight bytes.
struct IdleActor(u64);

impl WorkloadActor for IdleActor {
    type Message = u64;

    fn handle_start(&mut self) {
        self.0 += 1;
        GATE.finish_part_of_work();
    }

    fn handle(&mut self, number: u64) -> u64 {
        number
    }
}

impl Drop for IdleActor {
    fn drop(&mut self) {
        HANDLED_MESSAGES.fetch_add(self.0, Ordering::Relaxed);
    }
}

fn run_create<R: Runtime>(count: u64) -> impl Send + 'static {
    GATE.close_until_done(count);
    let spawn = |_| R::spawn(IdleActor(0));
    (0..count).map(spawn).collect::<Vec<_>>()
}

/// An actor that checks that the messages of each producer have the numbers 1, 2, 3, … in order and
/// without gaps.
#[derive(Default)]
struct CounterActor([u32; PRODUCERS as usize]);

impl CounterActor {
    fn total(&self) -> u64 {
        self.0.iter().copied().map(u64::from).sum()
    }
}

impl WorkloadActor for CounterActor {
    type Message = u64;

    fn handle(&mut self, number: u64) -> u64 {
        if number == 0 {
            return self.total();
        }
        let seen = &mut self.0[(number >> PRODUCER_NUMBER_SHIFT & 1) as usize];
        GATE.fail_unless(number as u32 == seen.wrapping_add(1));
        *seen += 1;
        if self.total() == EXPECTED_MESSAGES.load(Ordering::Relaxed) {
            GATE.finish_part_of_work();
        }
        number
    }
}

impl Drop for CounterActor {
    fn drop(&mut self) {
        HANDLED_MESSAGES.fetch_add(self.total(), Ordering::Relaxed);
    }
}

/// Sends the numbers 1 to `count` to an actor as messages of the producer `producer`. Sends `batch`
/// messages at once.
fn send_numbers<R: Runtime>(to: &R::Address<CounterActor>, producer: u64, count: u64, batch: u64) {
    let number = |number| producer << PRODUCER_NUMBER_SHIFT | number;
    if batch == 1 {
        return (1..=count).for_each(|one| GATE.fail_unless(R::tell(to, number(one))));
    }
    for first in (1..=count).step_by(batch as usize) {
        let last = count.min(first + batch - 1);
        GATE.fail_unless(R::tell_all(to, (first..=last).map(number)));
    }
}

fn run_tell<R: Runtime>(count: u64) -> impl Send + 'static {
    let counter = R::spawn(CounterActor::default());
    EXPECTED_MESSAGES.store(count, Ordering::Relaxed);
    GATE.close_until_done(1);
    send_numbers::<R>(&counter, 0, count, 1);
    counter
}

fn run_counting<R: Runtime>(count: u64, batch: u64) -> impl Send + 'static {
    let counter = R::spawn(CounterActor::default());
    GATE.close_until_done(1);
    send_numbers::<R>(&counter, 0, count, batch);
    let asked = counter.clone();
    R::spawn_task(async move {
        GATE.fail_unless(R::ask(&asked, 0).await == Some(count));
        GATE.finish_part_of_work();
    });
    counter
}

fn run_ask<R: Runtime>(count: u64) -> impl Send + 'static {
    let counter = R::spawn(CounterActor::default());
    GATE.close_until_done(1);
    let asked = counter.clone();
    R::spawn_task(async move {
        for number in 1..=count {
            GATE.fail_unless(R::ask(&asked, number).await == Some(number));
        }
        GATE.finish_part_of_work();
    });
    counter
}

async fn run_ask_in_same_thread<R: Runtime>(count: u64) {
    let counter = R::spawn(CounterActor::default());
    GATE.close_until_done(1);
    for number in 1..=count {
        GATE.fail_unless(R::ask_in_same_thread(&counter, number).await == Some(number));
    }
    GATE.finish_part_of_work();
}

/// Asks the counter actor from a new thread. WHY a new thread: the calling thread may belong to the
/// runtime. If a task of the runtime asked so often, it would have to wait for its turn.
fn run_ask_from_outside<R: Runtime>(count: u64, pause: Duration) -> impl Send + 'static {
    // WHY before the gate: the calibration sleeps, and the time at the gate is that of the row.
    let clock = TscClock::calibrate(CALIBRATION_TIME);
    let counter = R::spawn(CounterActor::default());
    let asked = counter.clone();
    GATE.close_until_done(1);
    std::thread::spawn(move || {
        let source = clock.source;
        let mut calls = Vec::with_capacity(count as usize);
        for number in 1..=count {
            if !pause.is_zero() {
                std::thread::sleep(pause);
            }
            let start = source.read_at_start();
            let answer = R::ask_and_wait(&asked, number);
            calls.push(source.read_at_end().since(start));
            GATE.fail_unless(answer == Some(number));
        }
        let ps = |ticks: u64| (clock.to_ns(ticks) * 1e3) as u64;
        *lock(&CALL_TIMES_PS) = calls.into_iter().map(ps).collect();
        GATE.finish_part_of_work();
    });
    counter
}

/// An actor of a ring. It passes tokens on to the next actor.
struct RingActor<R: Runtime> {
    next: Option<R::Address<Self>>,
    hops: u64,
}

enum RingMessage<R: Runtime> {
    /// The address of the next actor in the ring.
    Link(Box<R::Address<RingActor<R>>>),
    /// A token. It has to be passed on this number of times before it is done.
    Token(u64),
}

impl<R: Runtime> WorkloadActor for RingActor<R> {
    type Message = RingMessage<R>;

    fn handle(&mut self, message: RingMessage<R>) -> u64 {
        match message {
            RingMessage::Link(next) => self.next = Some(*next),
            RingMessage::Token(left) => {
                self.hops += 1;
                match (&self.next, left.checked_sub(1)) {
                    (_, None) => GATE.finish_part_of_work(),
                    (Some(next), Some(left)) => {
                        GATE.fail_unless(R::tell(next, RingMessage::Token(left)))
                    }
                    (None, _) => GATE.fail_unless(false),
                }
            }
        }
        self.hops
    }
}

impl<R: Runtime> Drop for RingActor<R> {
    fn drop(&mut self) {
        HANDLED_MESSAGES.fetch_add(self.hops, Ordering::Relaxed);
    }
}

/// Sends `tokens` tokens around a ring of `nodes` actors, until they have been passed on `hops`
/// times in total.
fn run_ring<R: Runtime>(nodes: u64, tokens: u64, hops: u64) -> impl Send + 'static {
    let spawn = |_| {
        R::spawn(RingActor::<R> {
            next: None,
            hops: 0,
        })
    };
    let nodes: Vec<_> = (0..nodes).map(spawn).collect();
    for (node, next) in nodes.iter().zip(nodes.iter().cycle().skip(1)) {
        GATE.fail_unless(R::tell(node, RingMessage::Link(Box::new(next.clone()))));
    }
    let tokens = tokens.min(hops);
    GATE.close_until_done(tokens);
    for (token, node) in (0..tokens).zip(&nodes) {
        let hops = hops / tokens + u64::from(token < hops % tokens);
        GATE.fail_unless(R::tell(node, RingMessage::Token(hops - 1)));
    }
    nodes
}

/// An actor that sends numbered messages to a [`CounterActor`].
struct ProducerActor<R: Runtime> {
    to: R::Address<CounterActor>,
    number: u64,
    batch: u64,
}

impl<R: Runtime> WorkloadActor for ProducerActor<R> {
    type Message = u64;

    fn handle(&mut self, count: u64) -> u64 {
        send_numbers::<R>(&self.to, self.number, count, self.batch);
        count
    }
}

fn run_producers<R: Runtime>(count: u64, batch: u64) -> impl Send + 'static {
    let counter = R::spawn(CounterActor::default());
    EXPECTED_MESSAGES.store(count, Ordering::Relaxed);
    let producers = [0, 1].map(|number| {
        let to = counter.clone();
        R::spawn(ProducerActor::<R> { to, number, batch })
    });
    GATE.close_until_done(1);
    let counts = [count.div_ceil(PRODUCERS), count / PRODUCERS];
    for (producer, count) in producers.iter().zip(counts) {
        GATE.fail_unless(R::tell(producer, count));
    }
    (counter, producers)
}

fn run_blitz<R: Runtime>(count: u64) -> impl Send + 'static {
    EXPECTED_MESSAGES.store(BLITZ_MESSAGES_PER_ACTOR, Ordering::Relaxed);
    GATE.close_until_done(count);
    let spawn = |_| R::spawn(CounterActor::default());
    let counters: Vec<_> = (0..count).map(spawn).collect();
    *lock(&FIRST_MESSAGE_TIME) = Some(Instant::now());
    for number in 1..=BLITZ_MESSAGES_PER_ACTOR {
        for counter in &counters {
            GATE.fail_unless(R::tell(counter, number));
        }
    }
    counters
}
