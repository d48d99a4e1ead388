//! Runs compute nodes on a thread pool: a free thread takes the node that is due first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use horus_shm::clock::Clock;

use crate::scheduler::api::report::NodeReport;
use crate::scheduler::api::timeline::Timeline;
use crate::scheduler::run::panics::ThreadNodesGuard;
use crate::scheduler::run::run_state::{RunState, SAFETY_POLL_PERIOD};
use crate::scheduler::run::runner::{AfterTurn, Runner};

use super::thread::{NodeReportSource, RunThread, WaitTime, spawn_thread};

/// A compute node with its due times. WHY the runner is boxed: the queue moves its entries, and
/// small values are cheap to move.
#[derive(Debug)]
pub(crate) struct ComputeJob {
    timeline: Timeline,
    runner: Box<Runner>,
    member: Arc<NodeReportSource>,
    /// The time, in nanoseconds, at which a thread has checked for commands to the node last.
    polled_ns: u64,
}

impl ComputeJob {
    pub(crate) fn new(runner: Runner, timeline: Timeline) -> Self {
        let member = Arc::new(NodeReportSource::from_runner(&runner));
        Self {
            timeline,
            runner: Box::new(runner),
            member,
            polled_ns: 0,
        }
    }

    pub(crate) fn into_runner(self) -> Runner {
        *self.runner
    }

    /// Returns true if the node has commands that are not applied yet, or enters its safe state and
    /// was not asked for some time whether it has reached it.
    fn needs_poll(&self, now_ns: u64) -> bool {
        let next_ask_ns = self.polled_ns.saturating_add(COMMAND_POLL_PERIOD_NS);
        self.runner.commands().has_unapplied()
            || (self.runner.is_entering_safe_state() && now_ns >= next_ask_ns)
    }

    /// Returns the key by which the queue is sorted: the due time, then the node's order.
    fn sort_key(&self) -> (u64, i32) {
        (self.timeline.due_ns(), self.runner.plan().order)
    }
}

impl PartialEq for ComputeJob {
    fn eq(&self, other: &Self) -> bool {
        self.sort_key() == other.sort_key()
    }
}

impl Eq for ComputeJob {}

impl PartialOrd for ComputeJob {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ComputeJob {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.sort_key().cmp(&other.sort_key())
    }
}

/// Returns the number of threads for `nodes` compute nodes. It is `wanted` or, if that is `None`,
/// one less than the number of CPUs, but at least 1 and at most `nodes`.
pub(crate) fn compute_thread_count(wanted: Option<usize>, cores: usize, nodes: usize) -> usize {
    wanted.unwrap_or(cores.saturating_sub(1)).max(1).min(nodes)
}

/// The longest sleep, in nanoseconds, of a thread that waits for a due time. It is also the time
/// between two checks for pending commands.
const COMMAND_POLL_PERIOD_NS: u64 = 20_000_000;

/// The queue of nodes that the threads of the pool share. A thread locks the queue only to take a
/// node and to put it back.
#[derive(Debug)]
struct SharedJobQueue {
    queue: Mutex<JobQueue>,
    changed: Condvar,
}

/// The nodes of a thread pool: those that wait until they are due, and those that threads run at
/// present.
#[derive(Debug, Default)]
struct JobQueue {
    jobs: BinaryHeap<Reverse<ComputeJob>>,
    /// The nodes that are in a tick at present, and so are not in the queue.
    running: Vec<Arc<NodeReportSource>>,
    /// The due time until which one thread sleeps, in nanoseconds; `None` if no thread sleeps until
    /// a due time. All other threads sleep until they are notified. WHY only one thread: otherwise
    /// all threads would wake for the same node.
    wake_ns: Option<u64>,
    /// The time, in nanoseconds, at which a thread has to check for pending commands again.
    next_poll_ns: u64,
    is_over: bool,
}

impl SharedJobQueue {
    fn lock(&self) -> MutexGuard<'_, JobQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a node is due, and takes it from the queue. Returns it together with the present
    /// time; returns `None` if the run has to stop.
    fn take_due_job(&self, clock: &mut Clock, shared: &RunState) -> Option<(ComputeJob, u64)> {
        let mut queue = self.lock();
        while !queue.is_over && !shared.is_stopping() {
            let now_ns = clock.resync();
            if now_ns >= queue.next_poll_ns {
                queue = self.poll_commands(queue, clock, now_ns);
            }
            match queue.jobs.peek().map(|Reverse(job)| job.timeline.due_ns()) {
                Some(due_ns) if due_ns <= now_ns => {
                    let Reverse(job) = queue.jobs.pop()?;
                    queue.running.push(Arc::clone(&job.member));
                    self.wake_other_thread(&queue);
                    return Some((job, now_ns));
                }
                Some(due_ns) if queue.wake_ns.is_none_or(|wake_ns| due_ns < wake_ns) => {
                    queue.wake_ns = Some(due_ns);
                    let nap = Duration::from_nanos((due_ns - now_ns).min(COMMAND_POLL_PERIOD_NS));
                    let woken = self.changed.wait_timeout(queue, nap);
                    queue = woken.unwrap_or_else(PoisonError::into_inner).0;
                    // WHY the check: meanwhile another thread may sleep for an earlier due time.
                    if queue.wake_ns == Some(due_ns) {
                        queue.wake_ns = None;
                    }
                }
                _ => {
                    queue = self
                        .changed
                        .wait(queue)
                        .unwrap_or_else(PoisonError::into_inner)
                }
            }
        }
        None
    }

    /// Applies the commands to one node that is not due soon. Releases the lock while it does so.
    /// If no such node has commands, sets the time of the next check. WHY one node: the call of its
    /// code may take long, and other threads can apply the commands to the other nodes.
    fn poll_commands<'a>(
        &'a self,
        mut queue: MutexGuard<'a, JobQueue>,
        clock: &Clock,
        now_ns: u64,
    ) -> MutexGuard<'a, JobQueue> {
        let next_poll_ns = now_ns.saturating_add(COMMAND_POLL_PERIOD_NS);
        let is_meant = |Reverse(job): &Reverse<ComputeJob>| {
            job.timeline.due_ns() > next_poll_ns && job.needs_poll(now_ns)
        };
        if !queue.jobs.iter().any(is_meant) {
            queue.next_poll_ns = next_poll_ns;
            return queue;
        }
        let mut jobs = std::mem::take(&mut queue.jobs).into_vec();
        let meant = jobs.iter().position(is_meant);
        let meant = meant.map(|index| jobs.swap_remove(index));
        queue.jobs = jobs.into();
        let Some(Reverse(mut job)) = meant else {
            return queue;
        };
        queue.running.push(Arc::clone(&job.member));
        self.wake_other_thread(&queue);
        drop(queue);
        job.runner.poll_commands(clock, now_ns);
        job.polled_ns = now_ns;
        let is_applied = !job.runner.commands().has_unapplied();
        let mut queue = self.put_back_job(job);
        if !is_applied {
            // WHY: a thread that holds the commands now must not keep this one busy.
            queue.next_poll_ns = next_poll_ns;
        }
        queue
    }

    /// Wakes a thread that waits without a time limit, unless a thread sleeps until a due time. The
    /// calling thread is about to run a node, and other nodes may become due meanwhile.
    fn wake_other_thread(&self, queue: &JobQueue) {
        if queue.wake_ns.is_none() && !queue.jobs.is_empty() {
            self.changed.notify_one();
        }
    }

    /// Puts a node back into the queue after its tick. Returns the lock of the queue, which the
    /// caller can keep using.
    fn put_back_job(&self, job: ComputeJob) -> MutexGuard<'_, JobQueue> {
        let mut queue = self.lock();
        if let Some(index) = queue
            .running
            .iter()
            .position(|member| Arc::ptr_eq(member, &job.member))
        {
            queue.running.swap_remove(index);
        }
        // WHY no notification: the calling thread checks the queue next, and can sleep for the
        // earliest due time itself.
        queue.jobs.push(Reverse(job));
        queue
    }

    /// Takes nodes that are due and runs them, until the run has to stop. Then keeps them safe
    /// until they are shut down. Each thread of the pool calls this.
    fn run_thread(&self, clock: &mut Clock, shared: &RunState) {
        shared.wait_for_start();
        while let Some((mut job, now_ns)) = self.take_due_job(clock, shared) {
            let marked = ThreadNodesGuard::register([&*job.runner]);
            let (end_ns, after) = job.runner.run_turn(clock, job.timeline.due_ns(), now_ns);
            drop(marked);
            shared.stop_run_if_turn_demands([&*job.runner], after);
            if let Some(rate) = job.runner.take_new_rate() {
                job.timeline = job.timeline.at_rate(rate);
            }
            let passed = job.timeline.advance(end_ns);
            if passed > 0 && after == AfterTurn::Continue {
                job.runner.metrics().count_skipped_ticks(passed);
            }
            drop(self.put_back_job(job));
        }
        self.keep_nodes_safe(clock, shared);
    }

    /// Keeps the nodes in the queue safe after their last ticks, until the thread that runs the
    /// scheduler shuts them down. Each thread of the pool calls this after its last tick.
    fn keep_nodes_safe(&self, clock: &mut Clock, shared: &RunState) {
        // WHY: other threads may sleep until they are notified, and this one may meet a node whose
        // `enter_safe_state` does not return.
        self.changed.notify_all();
        loop {
            let begin_ns = clock.resync();
            while let Some(mut job) = self.take_unsafe_job(begin_ns) {
                shared.keep_node_safe(&mut job.runner, clock);
                drop(self.put_back_job(job));
            }
            if shared.wait_for_shutdown(SAFETY_POLL_PERIOD) {
                return;
            }
        }
    }

    /// Takes a node that was not polled at `now_ns` or later; `None` if there is none. Sets the
    /// time at which it was polled.
    fn take_unsafe_job(&self, now_ns: u64) -> Option<ComputeJob> {
        let mut queue = self.lock();
        let mut jobs = std::mem::take(&mut queue.jobs).into_vec();
        let index = jobs.iter().position(|Reverse(job)| job.polled_ns < now_ns);
        let job = index.map(|index| jobs.swap_remove(index));
        queue.jobs = jobs.into();
        let Reverse(mut job) = job?;
        job.polled_ns = now_ns;
        queue.running.push(Arc::clone(&job.member));
        Some(job)
    }
}

/// A pool of threads that run compute nodes. A free thread takes the node that is due first. Only
/// one thread at a time runs the same node. A long tick does not delay other nodes, as long as
/// another thread is free.
#[derive(Debug)]
pub(crate) struct ComputePool {
    shared_queue: Arc<SharedJobQueue>,
    threads: Vec<RunThread<()>>,
}

impl ComputePool {
    /// Starts `threads` threads that run the nodes in `jobs`, and moves these nodes into the pool.
    ///
    /// # Errors
    ///
    /// Returns an error if the system cannot create a thread. In that case, no node has run, and
    /// `jobs` is unchanged.
    pub(crate) fn start(
        threads: usize,
        jobs: &mut Vec<ComputeJob>,
        clock: &Clock,
        shared: &Arc<RunState>,
    ) -> io::Result<Self> {
        let shared_queue = Arc::new(SharedJobQueue {
            queue: Mutex::default(),
            changed: Condvar::new(),
        });
        let mut pool = Self {
            shared_queue: Arc::clone(&shared_queue),
            threads: Vec::with_capacity(threads),
        };
        for index in 0..threads {
            let shared_queue = Arc::clone(&shared_queue);
            let shared = Arc::clone(shared);
            let mut clock = clock.clone();
            let work = move || shared_queue.run_thread(&mut clock, &shared);
            match spawn_thread(&format!("compute {index}"), work) {
                Ok(thread) => pool.threads.push(thread),
                Err(error) => {
                    pool.end_threads();
                    return Err(error);
                }
            }
        }
        shared_queue.lock().jobs.extend(jobs.drain(..).map(Reverse));
        shared_queue.changed.notify_all();
        Ok(pool)
    }

    /// Makes each thread of the pool end after its present tick.
    fn end_threads(&self) {
        self.shared_queue.lock().is_over = true;
        self.shared_queue.changed.notify_all();
    }

    /// Ends the threads, but waits for ticks that have begun only until `time` is over. Returns the
    /// runners of the nodes, and reports of those nodes whose ticks have not ended by then. The
    /// threads of the latter keep running.
    pub(crate) fn finish(self, time: &mut WaitTime) -> (Vec<Runner>, Vec<NodeReport>) {
        self.end_threads();
        for thread in self.threads {
            thread.join(time);
        }
        let mut queue = self.shared_queue.lock();
        let runners = queue
            .jobs
            .drain()
            .map(|Reverse(job)| job.into_runner())
            .collect();
        (
            runners,
            queue
                .running
                .iter()
                .map(|member| member.hanging_node_report())
                .collect(),
        )
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
            assert_eq!(
                compute_thread_count(wanted, cores, nodes),
                found,
                "{wanted:?} {cores} {nodes}"
            );
        }
    }
}
