//! Run queues of real threads: nothing is lost, nothing is run twice, and no worker sleeps while an
//! entry waits for one.

use horus_testing as _;

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use horus_shm::internals::heap::injector::InjectorEntry;
use horus_shm::internals::heap::{ParkOutcome, QueueEntry, RING_SLOTS, RunQueues, Worker};

/// A job, which counts how often it ran.
struct Job {
    link: AtomicPtr<Self>,
    number: usize,
    log: Arc<Log>,
}

struct Log {
    runs: Box<[AtomicU64]>,
    ran: AtomicUsize,
    dropped: AtomicUsize,
}

impl Log {
    fn new(jobs: usize) -> Arc<Self> {
        Arc::new(Self {
            runs: (0..jobs).map(|_| AtomicU64::new(0)).collect(),
            ran: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
        })
    }

    fn job(self: &Arc<Self>, number: usize) -> Handle {
        Handle(Box::new(Job {
            link: AtomicPtr::new(ptr::null_mut()),
            number,
            log: Arc::clone(self),
        }))
    }

    fn ran(&self) -> usize {
        self.ran.load(Ordering::Relaxed)
    }

    /// Checks that each job ran `times`.
    fn check(&self, times: u64) {
        let wrong = |run: &&AtomicU64| run.load(Ordering::Relaxed) != times;
        assert_eq!(
            self.runs.iter().filter(wrong).count(),
            0,
            "lost or run twice"
        );
    }
}

// SAFETY: the link is one word, which only the queues store to.
unsafe impl InjectorEntry for Job {
    fn injector_link(&self) -> &AtomicPtr<Self> {
        &self.link
    }
}

struct Handle(Box<Job>);

impl Handle {
    fn run(&self) {
        self.0.log.runs[self.0.number].fetch_add(1, Ordering::Relaxed);
        self.0.log.ran.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.log.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: a box has one owner, and what it holds may be sent.
unsafe impl QueueEntry for Handle {
    type Target = Job;

    fn into_raw(self) -> NonNull<Job> {
        NonNull::from(Box::leak(self.0))
    }

    unsafe fn from_raw(raw: NonNull<Job>) -> Self {
        // SAFETY: leaked by `into_raw`, and given back once.
        Self(unsafe { Box::from_raw(raw.as_ptr()) })
    }
}

type Queues = Arc<RunQueues<Handle>>;

fn send(queues: &Queues, index: usize, job: Handle) {
    queues.inject(index, job, |_| panic!("the queues are not closed"));
}

/// Takes the next entry as a worker does: its own, then those of others, then after a sleep.
fn next(worker: &mut Worker<Handle>, begin: Instant, is_over: impl Fn() -> bool) -> Option<Handle> {
    let own = worker.pop_lifo_entry().or_else(|| worker.pop());
    let own = own.or_else(|| worker.pop_injected_entry());
    own.or_else(|| {
        worker.try_begin_search();
        let stolen = (0..10).find_map(|_| worker.steal());
        stolen.or_else(
            || match worker.park(SLEEP, || begin.elapsed().as_nanos() as u64, is_over) {
                ParkOutcome::Found(entry) => Some(entry),
                ParkOutcome::Search | ParkOutcome::Elapsed => None,
            },
        )
    })
}

/// Longer than any test: an entry that no worker is woken for is a hang.
const SLEEP: Duration = Duration::from_secs(3600);

/// Runs `workers` threads of `turn` until `is_over`.
fn with_workers(
    workers: usize,
    turn: impl Fn(&mut Worker<Handle>, Handle) + Send + Sync,
    outside: impl FnOnce(&Queues),
) {
    let (queues, ends) = RunQueues::new(workers);
    let is_over = AtomicBool::new(false);
    let begin = Instant::now();
    thread::scope(|scope| {
        let (turn, over) = (&turn, &is_over);
        for mut worker in ends {
            scope.spawn(move || {
                let is_over = || over.load(Ordering::Relaxed);
                while !is_over() {
                    if let Some(job) = next(&mut worker, begin, is_over) {
                        worker.begin_activation();
                        turn(&mut worker, job);
                    }
                }
            });
        }
        outside(&queues);
        is_over.store(true, Ordering::Relaxed);
        queues.wake_all();
    });
}

fn wait_for(mut is_done: impl FnMut() -> bool) {
    while !is_done() {
        thread::yield_now();
    }
}

/// Entries from several threads, which come to one, two and four workers, each run once.
#[test]
fn entries_from_outside_run_once() {
    for workers in [1, 2, 4] {
        let jobs = 60_000;
        let log = Log::new(jobs);
        with_workers(
            workers,
            |_, job| job.run(),
            |queues| {
                thread::scope(|scope| {
                    for sender in 0..3 {
                        let log = &log;
                        scope.spawn(move || {
                            for number in (sender..jobs).step_by(3) {
                                send(queues, number, log.job(number));
                            }
                        });
                    }
                });
                wait_for(|| log.ran() == jobs);
            },
        );
        log.check(1);
        assert_eq!(log.dropped.load(Ordering::Relaxed), jobs);
    }
}

/// Entries that workers append themselves, in greater numbers than a ring holds, each run as often
/// as they were appended.
#[test]
fn entries_of_workers_run_once_each_time() {
    for workers in [1, 2, 4] {
        let (jobs, laps) = (3 * RING_SLOTS as usize, 50);
        let log = Log::new(jobs);
        with_workers(
            workers,
            |worker, job| {
                job.run();
                let lap = log.runs[job.0.number].load(Ordering::Relaxed);
                if lap == laps {
                    return;
                }
                if (job.0.number + lap as usize).is_multiple_of(3) {
                    worker.push_lifo_entry(job);
                } else {
                    worker.push(job);
                }
            },
            |queues| {
                for number in 0..jobs {
                    send(queues, 0, log.job(number));
                }
                wait_for(|| log.ran() == jobs * laps as usize);
            },
        );
        log.check(laps);
    }
}

/// One entry at a time, each sent only when the previous one ran: a lost wake is a hang, as the
/// workers sleep for longer than the test may take.
#[test]
fn no_worker_sleeps_while_an_entry_waits() {
    for workers in [1, 2, 3] {
        let jobs = 20_000;
        let log = Log::new(jobs);
        with_workers(
            workers,
            |_, job| job.run(),
            |queues| {
                for number in 0..jobs {
                    send(queues, number, log.job(number));
                    if number % 16 != 0 {
                        wait_for(|| log.ran() > number);
                    } else {
                        // WHY: the workers give up their search and go to sleep.
                        thread::sleep(Duration::from_micros(200));
                    }
                }
                wait_for(|| log.ran() == jobs);
            },
        );
        log.check(1);
    }
}

/// A worker that does not return from an entry leaves all that it has to the others: its ring, what
/// was sent to it, and the next entry too.
#[test]
fn a_stalled_worker_leaves_everything_to_the_others() {
    for _ in 0..20 {
        let jobs = 600;
        let log = Log::new(jobs);
        with_workers(
            2,
            |worker, job| {
                if job.0.number == 0 {
                    for number in 1..500 {
                        worker.push(log.job(number));
                    }
                    worker.push_lifo_entry(log.job(500));
                    for number in 501..jobs {
                        send(worker.queues(), worker.index(), log.job(number));
                    }
                    wait_for(|| log.ran() == jobs - 1);
                }
                job.run();
            },
            |queues| {
                send(queues, 0, log.job(0));
                wait_for(|| log.ran() == jobs);
            },
        );
        log.check(1);
    }
}

/// A sleeping worker finds the next entry of one that stalls later, when all have slept before.
#[test]
fn a_watcher_finds_the_next_entry_of_a_stalled_worker() {
    let log = Log::new(2 * 50);
    with_workers(
        3,
        |worker, job| {
            let number = job.0.number;
            if number.is_multiple_of(2) {
                worker.push_lifo_entry(log.job(number + 1));
                wait_for(|| log.runs[number + 1].load(Ordering::Relaxed) == 1);
            }
            job.run();
        },
        |queues| {
            for number in (0..2 * 50).step_by(2) {
                send(queues, number, log.job(number));
                wait_for(|| log.ran() == number + 2);
                thread::sleep(Duration::from_millis(2));
            }
        },
    );
    log.check(1);
}

/// The entry that a worker runs next is its own, until the worker was seen in one activation for 50
/// µs.
#[test]
fn the_next_entry_of_a_worker_is_taken_after_it_has_stalled() {
    let log = Log::new(1);
    let (_queues, mut workers) = RunQueues::<Handle>::new(2);
    let [busy, thief] = &mut workers[..] else {
        panic!("two workers");
    };
    busy.begin_activation();
    busy.push_lifo_entry(log.job(0));
    for now_ns in [100_000, 140_000] {
        assert!(thief.steal_stalled_entry(now_ns).is_none(), "{now_ns} ns");
    }
    busy.begin_activation();
    for now_ns in [160_000, 200_000] {
        assert!(thief.steal_stalled_entry(now_ns).is_none(), "{now_ns} ns");
    }
    assert!(thief.steal_stalled_entry(210_000).is_some());
}

/// Entries that are left in rings, `lifo_slot`s, injectors and chains are dropped with the queues.
#[test]
fn entries_that_never_run_are_dropped() {
    let jobs = 3000;
    let log = Log::new(jobs);
    let (queues, mut ends) = RunQueues::new(2);
    for number in 0..1000 {
        ends[0].push(log.job(number));
        ends[1].push_lifo_entry(log.job(1000 + number));
        send(&queues, number, log.job(2000 + number));
    }
    let taken = [ends[0].pop_injected_entry(), ends[1].steal()];
    assert!(taken.iter().all(Option::is_some));
    drop((queues, ends, taken));
    assert_eq!(log.dropped.load(Ordering::Relaxed), jobs);
}

/// A worker that runs an entry which no queue had is no searcher any more: another one that is
/// about to sleep is told of a new entry.
#[test]
fn a_worker_with_a_timer_does_not_keep_others_asleep() {
    let log = Log::new(1);
    let (queues, mut workers) = RunQueues::<Handle>::new(2);
    let (mut other, mut first) = (workers.remove(1), workers.remove(0));
    assert!(first.try_begin_search());
    first.begin_activation();
    let begin = Instant::now();
    let late = std::cell::Cell::new(Some(log.job(0)));
    let parked = other.park(
        Duration::from_secs(20),
        || begin.elapsed().as_nanos() as u64,
        || {
            if let Some(job) = late.take() {
                send(&queues, 1, job);
            }
            false
        },
    );
    assert!(
        matches!(parked, ParkOutcome::Search | ParkOutcome::Found(_)),
        "it slept"
    );
}

/// Closing takes all that was sent out of the queues, also out of those of workers that have
/// stalled. What is sent later comes back to its sender.
#[test]
fn closed_queues_keep_no_entry() {
    let log = Log::new(1002);
    let (queues, mut workers) = RunQueues::<Handle>::new(2);
    (0..1000).for_each(|number| send(&queues, number, log.job(number)));
    // The worker keeps 256, and returns the others as a chain.
    workers[0].pop_injected_entry().unwrap().run();
    workers[0].push_lifo_entry(log.job(1001));
    queues.close(|_| false, |job| job.run());
    assert_eq!(log.ran(), 1001);
    assert!(!workers[0].has_own_entry() && workers[1].pop_injected_entry().is_none());
    queues.inject(1, log.job(1000), |job| job.run());
    log.check(1);
}

/// A worker that seemed to have stalled may go on while its group ends: each entry of its queue is
/// taken once, by the worker or by the thread that closes the queues.
#[test]
fn a_worker_that_goes_on_meets_the_close() {
    for round in 0..2000 {
        let log = Log::new(4);
        let (queues, mut workers) = RunQueues::<Handle>::new(1 + round % 2);
        let mut worker = workers.remove(0);
        (0..3).for_each(|number| worker.push(log.job(number)));
        worker.push_lifo_entry(log.job(3));
        let start = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                let next = || worker.pop_lifo_entry().or_else(|| worker.pop());
                std::iter::from_fn(next).for_each(|job| job.run());
            });
            start.wait();
            queues.close(|_| false, |job| job.run());
        });
        log.check(1);
    }
}

/// The only worker of a group may return from an entry that seemed to hang, while its group ends.
/// The entry that it was to run next is then taken once, by the worker or by the thread that closes
/// the queues.
#[test]
fn an_only_worker_that_goes_on_meets_the_close() {
    let mut taken_by_close = 0;
    for round in 0..4000 {
        let log = Log::new(2);
        let (queues, mut workers) = RunQueues::<Handle>::new(1);
        let mut worker = workers.remove(0);
        let (start, is_running) = (Barrier::new(2), AtomicBool::new(true));
        worker.begin_activation();
        worker.push_lifo_entry(log.job(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                (0..round % 64).for_each(|_| std::hint::spin_loop());
                for number in [1, 2] {
                    is_running.store(false, Ordering::Relaxed);
                    if let Some(job) = worker.pop_lifo_entry() {
                        worker.begin_activation();
                        is_running.store(true, Ordering::Relaxed);
                        job.run();
                    }
                    if number == 1 {
                        worker.push_lifo_entry(log.job(number));
                    }
                }
            });
            start.wait();
            let is_running = |_| is_running.load(Ordering::Relaxed);
            queues.close(is_running, |job| {
                taken_by_close += 1;
                job.run();
            });
        });
        drop((worker, queues));
        log.check(1);
    }
    println!("the close has taken {taken_by_close} entries");
}

/// If the only worker of a group runs an entry, the close takes the entry that it was to run next.
#[test]
fn the_close_takes_the_next_entry_of_an_only_worker_that_hangs() {
    let log = Log::new(2);
    let (queues, mut workers) = RunQueues::<Handle>::new(1);
    workers[0].push_lifo_entry(log.job(0));
    queues.close(
        |_| false,
        |_| panic!("the worker may take it at this moment"),
    );
    workers[0].begin_activation();
    let mut taken = 0;
    queues.close(
        |_| true,
        |job| {
            taken += 1;
            job.run();
        },
    );
    assert_eq!((taken, workers[0].pop_lifo_entry().is_none()), (1, true));
    workers[0].push_lifo_entry(log.job(1));
    workers[0].pop_lifo_entry().unwrap().run();
    log.check(1);
}

/// Each entry that threads send while the queues are closed is taken once, by the thread that
/// closes them or by a sender.
#[test]
fn entries_that_meet_the_close_are_taken_once() {
    let (rounds, senders, each) = (2000, 2, 4);
    for _ in 0..rounds {
        let log = Log::new(senders * each);
        let (queues, _workers) = RunQueues::<Handle>::new(1);
        let start = Barrier::new(senders + 1);
        thread::scope(|scope| {
            for sender in 0..senders {
                let (log, queues, start) = (&log, &queues, &start);
                scope.spawn(move || {
                    start.wait();
                    for number in sender * each..(sender + 1) * each {
                        queues.inject(0, log.job(number), |job| job.run());
                    }
                });
            }
            start.wait();
            queues.close(|_| false, |job| job.run());
        });
        log.check(1);
    }
}

/// Two workers stay in a handler, each with a next entry. The worker that takes the first of these
/// entries may do the same, so another one has to look for the second.
#[test]
fn the_next_entries_of_two_stalled_workers_are_taken() {
    let log = Log::new(2);
    let (_queues, mut workers) = RunQueues::<Handle>::new(4);
    let mut stalled = workers.split_off(2);
    for (number, worker) in stalled.iter_mut().enumerate() {
        worker.begin_activation();
        worker.push_lifo_entry(log.job(number));
    }
    let begin = Instant::now();
    thread::scope(|scope| {
        for worker in &mut workers {
            scope.spawn(move || {
                let now_ns = || begin.elapsed().as_nanos() as u64;
                let outcome = worker.park(Duration::from_secs(20), now_ns, || false);
                match outcome {
                    ParkOutcome::Found(job) => job.run(),
                    ParkOutcome::Search | ParkOutcome::Elapsed => panic!("nothing was found"),
                }
            });
        }
    });
    log.check(1);
}
