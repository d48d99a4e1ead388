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
use crate::scheduler::run::run_state::{PoolCheck, RunState, SAFETY_POLL_PERIOD, ThreadPool};
use crate::scheduler::run::runner::{RunDecision, Runner};

use super::thread::{NodeReportSource, RunEndTimeLimit, RunThread, spawn_thread};

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
    fn needs_command_poll(&self, now_ns: u64) -> bool {
        let next_ask_ns = self.polled_ns.saturating_add(COMMAND_POLL_PERIOD_NS);
        self.runner.commands().has_unapplied_command()
            || (self.runner.is_entering_safe_state() && now_ns >= next_ask_ns)
    }

    /// Returns the key by which the queue is sorted: the due time, then the node's order.
    fn due_ns_and_order(&self) -> (u64, i32) {
        (self.timeline.due_ns(), self.runner.plan().order)
    }
}

impl PartialEq for ComputeJob {
    fn eq(&self, other: &Self) -> bool {
        self.due_ns_and_order() == other.due_ns_and_order()
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
        self.due_ns_and_order().cmp(&other.due_ns_and_order())
    }
}

/// Returns the number of threads for `node_count` compute nodes. It is `wanted_threads` or, if that
/// is `None`, one less than the number of CPUs, but at least 1 and at most `node_count`.
pub(crate) fn compute_thread_count(
    wanted_threads: Option<usize>,
    cpu_count: usize,
    node_count: usize,
) -> usize {
    wanted_threads
        .unwrap_or(cpu_count.saturating_sub(1))
        .max(1)
        .min(node_count)
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
    /// The threads of the pool, also those that were started during the run.
    threads: Mutex<Vec<RunThread<()>>>,
    clock: Clock,
}

/// The nodes of a thread pool: those that wait until they are due, and those that threads run at
/// present.
#[derive(Debug, Default)]
struct JobQueue {
    jobs: BinaryHeap<Reverse<ComputeJob>>,
    /// The nodes that do not tick any more, because the run stops. Their order does not matter.
    ended: Vec<ComputeJob>,
    /// The nodes that threads run at present, and so are not in the queue.
    running: Vec<RunningJob>,
    /// The largest number of nodes that tick at the same time, except those that hang.
    ticks_max: usize,
    /// The due time until which one thread sleeps, in nanoseconds; `None` if no thread sleeps until
    /// a due time. All other threads sleep until they are notified. WHY only one thread: otherwise
    /// all threads would wake for the same node.
    wake_ns: Option<u64>,
    /// The time, in nanoseconds, at which a thread has to check for pending commands again.
    next_poll_ns: u64,
    is_over: bool,
}

/// A node that a thread of the pool runs at present.
#[derive(Debug)]
struct RunningJob {
    member: Arc<NodeReportSource>,
    /// True in a turn of the node, and false while the thread only applies commands to it.
    is_turn: bool,
    /// True if the tick has lasted so long that another thread takes the place of this one.
    hangs: bool,
}

impl JobQueue {
    /// Records that the calling thread runs the node of `job`.
    fn mark_running(&mut self, job: &ComputeJob, is_turn: bool) {
        self.running.push(RunningJob {
            member: Arc::clone(&job.member),
            is_turn,
            hangs: false,
        });
    }

    /// Returns true if another node is allowed to tick. If no thread was started during the run,
    /// this is so whenever a thread is free.
    fn may_another_node_tick(&self) -> bool {
        let ticks = |one: &&RunningJob| one.is_turn && !one.hangs;
        self.running.iter().filter(ticks).count() < self.ticks_max
    }

    /// Marks the nodes that hang according to `check`. Returns true if this has marked a node.
    fn mark_newly_hanging_jobs(&mut self, check: &PoolCheck<'_>) -> bool {
        let mut is_changed = false;
        for one in self.running.iter_mut().filter(|one| !one.hangs) {
            one.hangs = one.is_turn && (check.hangs)(one.member.metrics());
            is_changed |= one.hangs;
        }
        is_changed
    }

    /// Returns true if none of the `threads` threads of the pool is free, and other nodes must not
    /// wait for that: too many of these threads hang, or a node has to be made safe.
    fn needs_another_thread(&self, threads: usize, check: &PoolCheck<'_>) -> bool {
        if self.is_over || self.running.len() < threads {
            return false;
        }
        let hanging = self.running.iter().filter(|one| one.hangs).count();
        let waiting = || self.jobs.iter().map(|Reverse(job)| job).chain(&self.ended);
        let is_unsafe = |job: &ComputeJob| job.runner.needs_safety_work(check.has_run_failed);
        (threads < self.ticks_max + hanging && waiting().next().is_some())
            || (check.demands_safety && waiting().any(is_unsafe))
    }
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
            let now_ns = clock.resync_and_read_ns();
            if now_ns >= queue.next_poll_ns {
                queue = self.poll_commands(queue, clock, now_ns);
            }
            let may_tick = queue.may_another_node_tick();
            // WHY `u64::MAX`: a thread more than needed only applies commands, and lets the others
            // sleep until a due time.
            let due_ns = |job: &ComputeJob| {
                if may_tick {
                    job.timeline.due_ns()
                } else {
                    u64::MAX
                }
            };
            match queue.jobs.peek().map(|Reverse(job)| due_ns(job)) {
                Some(due_ns) if due_ns <= now_ns => {
                    let Reverse(job) = queue.jobs.pop()?;
                    queue.mark_running(&job, true);
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
        let may_tick = queue.may_another_node_tick();
        let is_meant = |Reverse(job): &Reverse<ComputeJob>| {
            let is_due_soon = may_tick && job.timeline.due_ns() <= next_poll_ns;
            !is_due_soon && job.needs_command_poll(now_ns)
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
        queue.mark_running(&job, false);
        self.wake_other_thread(&queue);
        drop(queue);
        job.runner.poll_commands(clock, now_ns);
        job.polled_ns = now_ns;
        let is_applied = !job.runner.commands().has_unapplied_command();
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
            .position(|one| Arc::ptr_eq(&one.member, &job.member))
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
        shared.wait_until_all_threads_started();
        while let Some((mut job, now_ns)) = self.take_due_job(clock, shared) {
            let marked = ThreadNodesGuard::register([&*job.runner]);
            let (end_ns, decision) = job.runner.run_turn(clock, job.timeline.due_ns(), now_ns);
            drop(marked);
            shared.stop_run_if_decided([&*job.runner], decision);
            if let Some(rate) = job.runner.take_new_rate() {
                job.timeline = job.timeline.at_rate(rate);
            }
            let passed = job.timeline.advance(end_ns);
            if passed > 0 && decision == RunDecision::Continue {
                job.runner.metrics().count_skipped_ticks(passed);
            }
            drop(self.put_back_job(job));
        }
        self.keep_nodes_safe_until_shutdown(clock, shared);
    }

    /// Keeps the nodes in the queue safe after their last ticks, until the thread that runs the
    /// scheduler shuts them down. Each thread of the pool calls this after its last tick.
    fn keep_nodes_safe_until_shutdown(&self, clock: &mut Clock, shared: &RunState) {
        // WHY: other threads may sleep until they are notified, and this one may meet a node whose
        // `enter_safe_state` does not return.
        self.changed.notify_all();
        loop {
            let begin_ns = clock.resync_and_read_ns();
            while let Some(mut job) = self.take_job_for_safety_poll(begin_ns, shared.has_failed()) {
                shared.keep_node_safe(&mut job.runner, clock);
                drop(self.put_back_job(job));
            }
            if shared.wait_for_shutdown(SAFETY_POLL_PERIOD) {
                return;
            }
        }
    }

    /// Takes a node that is not safe and was not polled at `now_ns` or later; `None` if there is
    /// none. Sets the time at which it was polled.
    fn take_job_for_safety_poll(&self, now_ns: u64, has_run_failed: bool) -> Option<ComputeJob> {
        let mut queue = self.lock();
        let JobQueue { jobs, ended, .. } = &mut *queue;
        // WHY: the queue cannot give up a node in its middle without being sorted anew.
        ended.extend(jobs.drain().map(|Reverse(job)| job));
        let is_meant = |job: &ComputeJob| {
            job.polled_ns < now_ns && job.runner.needs_safety_work(has_run_failed)
        };
        let index = ended.iter().position(is_meant)?;
        let mut job = ended.swap_remove(index);
        job.polled_ns = now_ns;
        queue.mark_running(&job, false);
        Some(job)
    }

    /// Starts a thread of the pool, and adds it to `threads`.
    fn start_thread(
        self: &Arc<Self>,
        threads: &mut Vec<RunThread<()>>,
        shared: &Arc<RunState>,
    ) -> io::Result<()> {
        let (queue, shared, mut clock) = (Arc::clone(self), Arc::clone(shared), self.clock.clone());
        let work = move || queue.run_thread(&mut clock, &shared);
        threads.push(spawn_thread(&format!("compute {}", threads.len()), work)?);
        Ok(())
    }

    fn lock_threads(&self) -> MutexGuard<'_, Vec<RunThread<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ThreadPool for SharedJobQueue {
    fn add_thread_if_blocked(
        self: Arc<Self>,
        check: &PoolCheck<'_>,
        shared: &Arc<RunState>,
    ) -> io::Result<()> {
        // WHY locked until the thread has started: the end of the run must find it in the list.
        let mut threads = self.lock_threads();
        let mut queue = self.lock();
        let is_changed = queue.mark_newly_hanging_jobs(check);
        let needs_another_thread = queue.needs_another_thread(threads.len(), check);
        drop(queue);
        if is_changed {
            // WHY: a thread that was started earlier may tick now.
            self.changed.notify_all();
        }
        if needs_another_thread {
            self.start_thread(&mut threads, shared)?;
        }
        Ok(())
    }
}

/// A pool of threads that run compute nodes. A free thread takes the node that is due first. Only
/// one thread at a time runs the same node. A long tick does not delay other nodes, as long as
/// another thread is free. If none is, because nodes hang, the supervisor starts another one.
#[derive(Debug)]
pub(crate) struct ComputePool {
    shared_queue: Arc<SharedJobQueue>,
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
            threads: Mutex::new(Vec::with_capacity(threads)),
            clock: clock.clone(),
        });
        shared_queue.lock().ticks_max = threads;
        let pool = Self {
            shared_queue: Arc::clone(&shared_queue),
        };
        let mut started = shared_queue.lock_threads();
        for _ in 0..threads {
            if let Err(error) = shared_queue.start_thread(&mut started, shared) {
                drop(started);
                pool.end_threads();
                return Err(error);
            }
        }
        drop(started);
        let watched: Arc<dyn ThreadPool> = Arc::<SharedJobQueue>::clone(&shared_queue);
        shared.set_compute_pool(Arc::downgrade(&watched));
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
    pub(crate) fn finish(self, time: &mut RunEndTimeLimit) -> (Vec<Runner>, Vec<NodeReport>) {
        self.end_threads();
        let threads = std::mem::take(&mut *self.shared_queue.lock_threads());
        for thread in threads {
            thread.join(time);
        }
        let mut queue = self.shared_queue.lock();
        let JobQueue {
            jobs,
            ended,
            running,
            ..
        } = &mut *queue;
        let waiting = jobs.drain().map(|Reverse(job)| job);
        let runners = waiting.chain(ended.drain(..)).map(ComputeJob::into_runner);
        let hanging = running.iter().map(|one| one.member.hanging_node_report());
        (runners.collect(), hanging.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::api::context::Context;
    use crate::scheduler::api::plan::NodeSpec;
    use crate::scheduler::api::rate::Hertz;
    use crate::scheduler::run::node_entry::NodeEntry;

    /// Returns a queue with one node, which is initialised.
    fn queue_with_a_node(clock: &Clock) -> SharedJobQueue {
        let spec = NodeSpec {
            name: "n".into(),
            ..NodeSpec::default()
        };
        let entry = NodeEntry {
            spec: spec.clone(),
            commands: Arc::default(),
            metrics: Arc::default(),
        };
        let node = Box::new(|_: &mut Context<'_>| ());
        let mut runner = Runner::new(node, spec.into_plan(1).unwrap(), &entry);
        runner.init_at_start(clock);
        let job = ComputeJob::new(runner, Timeline::new(0, 100.hz()));
        let queue = SharedJobQueue {
            queue: Mutex::default(),
            changed: Condvar::new(),
            threads: Mutex::default(),
            clock: clock.clone(),
        };
        drop(queue.put_back_job(job));
        queue
    }

    /// Every 20 ms, each thread of the pool looks for nodes that are not safe. There may be
    /// thousands that are.
    #[test]
    fn a_node_that_is_safe_is_not_taken_after_a_stop() {
        let clock = Clock::simulated(0);
        let queue = queue_with_a_node(&clock);
        assert!(
            queue.take_job_for_safety_poll(1, false).is_none(),
            "a good end"
        );
        let mut job = queue
            .take_job_for_safety_poll(2, true)
            .expect("the run has failed");
        job.runner.keep_safe_after_last_tick(true, &clock);
        drop(queue.put_back_job(job));
        assert!(
            queue.take_job_for_safety_poll(3, true).is_none(),
            "it is safe"
        );
        assert_eq!(queue.lock().ended.len(), 1);
    }

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
