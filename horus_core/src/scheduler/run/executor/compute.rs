//! Nodes that compute for long: a thread pool that runs the node that is due first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use horus_shm::clock::Clock;

use crate::scheduler::api::report::NodeReport;
use crate::scheduler::api::timeline::Timeline;
use crate::scheduler::run::panics::Here;
use crate::scheduler::run::runner::{After, Runner};
use crate::scheduler::run::shared::Shared;

use super::thread::{Member, join, spawn};

/// A node with its due times. Small, so that a heap moves it cheaply.
#[derive(Debug)]
pub(crate) struct Job {
    timeline: Timeline,
    runner: Box<Runner>,
    member: Arc<Member>,
}

impl Job {
    pub(crate) fn new(runner: Runner, timeline: Timeline) -> Self {
        let member = Arc::new(Member::of(&runner));
        Self { timeline, runner: Box::new(runner), member }
    }

    pub(crate) fn into_runner(self) -> Runner {
        *self.runner
    }

    /// Returns the sort key: earlier due time first, then smaller order.
    fn rank(&self) -> (u64, i32) {
        (self.timeline.due_ns(), self.runner.plan().order)
    }
}

impl PartialEq for Job {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Job {}

impl PartialOrd for Job {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Job {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// Returns the number of threads for `nodes` nodes. By default one CPU is left to other threads.
pub(crate) fn threads(wanted: Option<usize>, cores: usize, nodes: usize) -> usize {
    wanted.unwrap_or(cores.saturating_sub(1)).max(1).min(nodes)
}

/// The longest sleep of the watching thread, after which it looks for commands.
const SLICE_NS: u64 = 20_000_000;

/// The queue that the threads share. It is locked only to take a node and to put it back.
#[derive(Debug)]
struct SharedQueue {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// The nodes that wait for their turn.
#[derive(Debug, Default)]
struct Queue {
    jobs: BinaryHeap<Reverse<Job>>,
    /// The nodes that have their turn.
    in_hand: Vec<Arc<Member>>,
    /// The wake-up time of the one thread that sleeps until the next node is due; all others sleep
    /// until they are notified. WHY: if all slept until then, all would wake for one node.
    watch_ns: Option<u64>,
    /// The time of the next look for commands.
    look_ns: u64,
    is_over: bool,
}

impl SharedQueue {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the node that is due first, once it is due; `None` when the run is over. Blocks.
    fn take(&self, clock: &mut Clock, shared: &Shared) -> Option<(Job, u64)> {
        let mut queue = self.lock();
        while !queue.is_over && !shared.is_stopping() {
            let now_ns = clock.resync();
            if now_ns >= queue.look_ns {
                queue = self.poll(queue, clock, now_ns);
            }
            match queue.jobs.peek().map(|Reverse(job)| job.timeline.due_ns()) {
                Some(due_ns) if due_ns <= now_ns => {
                    let Reverse(job) = queue.jobs.pop()?;
                    queue.in_hand.push(Arc::clone(&job.member));
                    if queue.watch_ns.is_none() && !queue.jobs.is_empty() {
                        self.changed.notify_one();
                    }
                    return Some((job, now_ns));
                }
                Some(due_ns) if queue.watch_ns.is_none_or(|watch_ns| due_ns < watch_ns) => {
                    queue.watch_ns = Some(due_ns);
                    let nap = Duration::from_nanos((due_ns - now_ns).min(SLICE_NS));
                    let woken = self.changed.wait_timeout(queue, nap);
                    queue = woken.unwrap_or_else(PoisonError::into_inner).0;
                    // WHY the check: a thread with an earlier node may have taken over the watch.
                    if queue.watch_ns == Some(due_ns) {
                        queue.watch_ns = None;
                    }
                }
                _ => queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        }
        None
    }

    /// Applies the commands of nodes that are not due for long, without the lock meanwhile.
    fn poll<'a>(
        &'a self,
        mut queue: MutexGuard<'a, Queue>,
        clock: &Clock,
        now_ns: u64,
    ) -> MutexGuard<'a, Queue> {
        queue.look_ns = now_ns.saturating_add(SLICE_NS);
        let is_meant = |job: &Job| {
            job.timeline.due_ns() > now_ns.saturating_add(SLICE_NS) && job.runner.has_commands()
        };
        if !queue.jobs.iter().any(|Reverse(job)| is_meant(job)) {
            return queue;
        }
        let jobs = std::mem::take(&mut queue.jobs).into_vec();
        let (meant, others): (Vec<_>, Vec<_>) =
            jobs.into_iter().partition(|Reverse(job)| is_meant(job));
        queue.jobs = others.into();
        queue.in_hand.extend(meant.iter().map(|Reverse(job)| Arc::clone(&job.member)));
        drop(queue);
        let mut queue = None;
        for Reverse(mut job) in meant {
            drop(queue.take());
            job.runner.poll(clock, now_ns);
            queue = Some(self.put_back(job));
        }
        queue.unwrap_or_else(|| self.lock())
    }

    /// Puts a node back after its turn.
    fn put_back(&self, job: Job) -> MutexGuard<'_, Queue> {
        let mut queue = self.lock();
        if let Some(index) =
            queue.in_hand.iter().position(|member| Arc::ptr_eq(member, &job.member))
        {
            queue.in_hand.swap_remove(index);
        }
        // WHY no notification: the thread that puts it back looks next, and takes over the watch.
        queue.jobs.push(Reverse(job));
        queue
    }

    /// Gives nodes their turns until the run is to stop.
    fn work(&self, clock: &mut Clock, shared: &Shared) {
        shared.wait_for_begin();
        while let Some((mut job, now_ns)) = self.take(clock, shared) {
            let here = Here::run([&*job.runner]);
            let (end_ns, after) = job.runner.turn(clock, job.timeline.due_ns(), now_ns);
            drop(here);
            shared.stop_after([&*job.runner], after);
            if let Some(rate) = job.runner.take_new_rate() {
                job.timeline = job.timeline.at_rate(rate);
            }
            let passed = job.timeline.advance(end_ns);
            if passed > 0 && after == After::Continue {
                job.runner.metrics().count_skipped_ticks(passed);
            }
            drop(self.put_back(job));
        }
    }
}

/// Threads that give compute nodes their turns. The first free thread takes the node that is due
/// first, and no node has two threads. A node that takes long delays no other as long as a thread
/// is free.
#[derive(Debug)]
pub(crate) struct Pool {
    shared_queue: Arc<SharedQueue>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts `threads` threads for these nodes.
    ///
    /// # Errors
    ///
    /// Returns an error if the system cannot create a thread. No node has had a turn then, and all
    /// are in `jobs`.
    pub(crate) fn start(
        threads: usize,
        jobs: &mut Vec<Job>,
        clock: &Clock,
        shared: &Arc<Shared>,
    ) -> io::Result<Self> {
        let shared_queue =
            Arc::new(SharedQueue { queue: Mutex::default(), changed: Condvar::new() });
        let mut pool =
            Self { shared_queue: Arc::clone(&shared_queue), threads: Vec::with_capacity(threads) };
        for index in 0..threads {
            let (shared_queue, shared) = (Arc::clone(&shared_queue), Arc::clone(shared));
            let mut clock = clock.clone();
            let work = move || shared_queue.work(&mut clock, &shared);
            match spawn(&format!("compute {index}"), work) {
                Ok(thread) => pool.threads.push(thread),
                Err(error) => {
                    pool.dismiss();
                    return Err(error);
                }
            }
        }
        shared_queue.lock().jobs.extend(jobs.drain(..).map(Reverse));
        shared_queue.changed.notify_all();
        Ok(pool)
    }

    /// Ends the threads after their present turns.
    fn dismiss(&self) {
        self.shared_queue.lock().is_over = true;
        self.shared_queue.changed.notify_all();
    }

    /// Ends all turns. Waits for those that have begun, until `deadline`. Returns the nodes, and
    /// the reports of those whose tick has not ended: they are left behind, each with its thread.
    pub(crate) fn finish(self, deadline: Instant) -> (Vec<Runner>, Vec<NodeReport>) {
        self.dismiss();
        for thread in self.threads {
            join(thread, deadline);
        }
        let mut queue = self.shared_queue.lock();
        let runners = queue.jobs.drain().map(|Reverse(job)| job.into_runner()).collect();
        (runners, queue.in_hand.iter().map(|member| member.left_behind()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cpu_is_left_to_other_threads_and_no_thread_is_idle() {
        for (wanted, cores, nodes, found) in [
            (None, 1, 5, 1),
            (None, 2, 5, 1),
            (None, 8, 5, 5),
            (None, 8, 50, 7),
            (Some(2), 1, 50, 2),
            (Some(0), 8, 50, 1),
            (Some(9), 8, 1, 1),
            (None, 8, 0, 0),
        ] {
            assert_eq!(threads(wanted, cores, nodes), found, "{wanted:?} {cores} {nodes}");
        }
    }
}
