//! Threads that run one node or one chain: starts them, and waits until they have ended or a time
//! is over.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use horus_shm::clock::Clock;
use horus_shm::internals::thread::{self as kernel_thread, CpuWaitCheck};

use crate::log::set_real_time_thread;
use crate::scheduler::api::metrics::LiveMetrics;
use crate::scheduler::api::plan::NodeClass;
use crate::scheduler::api::report::NodeReport;
use crate::scheduler::run::panics::ThreadNodesGuard;
use crate::scheduler::run::run_state::RunState;
use crate::scheduler::run::runner::{RunDecision, Runner};

use super::real_time;

/// The time between two checks whether a thread has ended.
const THREAD_END_CHECK_PERIOD: Duration = Duration::from_micros(200);
/// The largest part of the time between two calls of [`RunEndTimeLimit::time_left`] that counts.
const COUNTED_TIME_PER_CHECK_MAX: Duration = Duration::from_millis(50);
/// The longest time that does not count because the thread that is waited for got no CPU. WHY a
/// limit: threads with a real-time priority may never leave it one.
const TIME_WITHOUT_CPU_MAX: Duration = Duration::from_secs(4);

/// A thread that runs one node, or the nodes of one chain.
#[derive(Debug)]
pub(crate) struct NodeThread {
    thread: RunThread<Vec<Runner>>,
    members: Vec<NodeReportSource>,
}

/// The parts of a node that other threads can access while the node's thread owns its runner.
#[derive(Debug)]
pub(crate) struct NodeReportSource {
    name: String,
    position: usize,
    class: NodeClass,
    metrics: Arc<LiveMetrics>,
}

impl NodeThread {
    /// Starts a thread that calls `run` with the runners of some nodes, and then keeps these nodes
    /// safe until the thread that runs the scheduler shuts them down. There must be at least one.
    /// If the system cannot create a thread, returns the runners together with the error.
    pub(crate) fn start(
        runners: Vec<Runner>,
        (shared, clock): (&Arc<RunState>, &Clock),
        run: impl FnOnce(&mut [Runner], &RunState) -> RunDecision + Send + 'static,
    ) -> Result<Self, (io::Error, Vec<Runner>)> {
        let members = runners.iter().map(NodeReportSource::from_runner).collect();
        let plan = runners[0].plan();
        let name = plan.chain.as_ref().unwrap_or(&plan.name).clone();
        let (shared, clock) = (Arc::clone(shared), clock.clone());
        // WHY a mutex: if the thread cannot be started, its closure is dropped with all that it
        // owns, and the nodes must not be.
        let given = Arc::new(Mutex::new(runners));
        let take = |given: &Mutex<Vec<Runner>>| std::mem::take(&mut *lock(given));
        let to_thread = Arc::clone(&given);
        let thread = spawn_thread(&name, move || {
            let mut runners = take(&to_thread);
            let _marked = ThreadNodesGuard::register(&runners);
            let plan = runners[0].plan();
            set_real_time_thread(plan.class == NodeClass::RealTime || plan.priority.is_some());
            let (awake, refused) = real_time::apply_thread_settings(plan);
            runners
                .iter_mut()
                .for_each(|runner| runner.record_refused_settings(refused.clone()));
            // WHY the wait: if another thread cannot be started, no node may have ticked.
            shared.wait_until_all_threads_started();
            let decision = run(&mut runners, &shared);
            shared.stop_run_if_decided(&runners, decision);
            drop(awake);
            shared.keep_nodes_safe_until_shutdown(&mut runners, &clock);
            runners
        });
        match thread {
            Ok(thread) => Ok(Self { thread, members }),
            Err(error) => Err((error, take(&given))),
        }
    }

    /// Waits until the thread has ended, and returns the runners of its nodes. If a tick has not
    /// ended when `time` is over, leaves the thread running and returns reports of the nodes
    /// instead.
    pub(crate) fn end(self, time: &mut RunEndTimeLimit) -> Result<Vec<Runner>, Vec<NodeReport>> {
        let Self { thread, members } = self;
        thread.join(time).ok_or_else(|| {
            members
                .iter()
                .map(NodeReportSource::hanging_node_report)
                .collect()
        })
    }
}

impl NodeReportSource {
    pub(crate) fn from_runner(runner: &Runner) -> Self {
        let plan = runner.plan();
        let metrics = Arc::clone(runner.metrics());
        Self {
            name: plan.name.clone(),
            position: runner.position_in_start_order(),
            class: plan.class,
            metrics,
        }
    }

    /// Returns the metrics of the node.
    pub(crate) const fn metrics(&self) -> &Arc<LiveMetrics> {
        &self.metrics
    }

    /// Returns the node's position in the order in which the nodes were started.
    #[cfg(feature = "async-io")]
    pub(crate) const fn position_in_start_order(&self) -> usize {
        self.position
    }

    /// Returns the report of this node, whose thread has not ended in time. The node itself hangs
    /// if it is in a tick or in another call, and otherwise another node of the thread does.
    pub(crate) fn hanging_node_report(&self) -> NodeReport {
        let is_in_tick = self.metrics.tick_began_ns() != 0;
        let last_error = match self.metrics.user_call() {
            _ if is_in_tick => "a tick does not end: its thread was left behind".to_owned(),
            Some(call) => format!(
                "{} does not return: its thread was left behind",
                call.name()
            ),
            None => "its thread does not end, and was left behind".to_owned(),
        };
        NodeReport {
            name: self.name.clone(),
            position: self.position,
            hangs: is_in_tick || self.metrics.user_call().is_some(),
            class: self.class,
            metrics: self.metrics.snapshot(),
            last_error: Some(last_error),
            refused: Vec::new(),
        }
    }
}

/// A thread that a scheduler has started.
#[derive(Debug)]
pub(crate) struct RunThread<R> {
    thread: JoinHandle<()>,
    shared: Arc<ThreadState<R>>,
}

/// The parts of a thread's state that other threads can access.
#[derive(Debug)]
struct ThreadState<R> {
    /// The kernel's id of the thread; 0 before the thread has run.
    id: AtomicU32,
    /// The result of the thread's function; `None` before it has returned, or if it has panicked.
    result: Mutex<Option<R>>,
}

/// Starts a thread that calls `work`. Debuggers show `name` as the name of the thread. The thread
/// has no real-time policy, and may run on all CPUs of the process, even if the calling thread is a
/// real-time thread or pinned to a CPU.
pub(crate) fn spawn_thread<R: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> R + Send + 'static,
) -> io::Result<RunThread<R>> {
    let shared = Arc::new(ThreadState {
        id: AtomicU32::new(0),
        result: Mutex::new(None),
    });
    let state = Arc::clone(&shared);
    let run = move || {
        // Relaxed: the id is all that is shared with it.
        state.id.store(kernel_thread::id(), Ordering::Relaxed);
        // WHY: the program may start the scheduler on a real-time thread, or on one that is pinned
        // to a CPU.
        kernel_thread::leave_real_time_policy();
        let result = work();
        *lock(&state.result) = Some(result);
    };
    let thread = thread::Builder::new().name(name.to_owned()).spawn(run)?;
    Ok(RunThread { thread, shared })
}

impl<R> RunThread<R> {
    /// Waits for the end of the thread and returns the result of its function. Returns `None` if
    /// the function has not returned when `time` is over, or has panicked.
    ///
    /// If the destructor of a thread-local value of the thread blocks until `time` is over, returns
    /// the result nevertheless.
    pub(crate) fn join(self, time: &mut RunEndTimeLimit) -> Option<R> {
        let Self { thread, shared } = self;
        let mut cpu_wait = CpuWaitCheck::new(0);
        while !thread.is_finished() {
            // WHY in each round: a thread that gets no CPU stores its id late. Relaxed: as it was
            // stored.
            cpu_wait.set_thread_id(shared.id.load(Ordering::Relaxed));
            if !time.try_sleep_until_next_check(&mut cpu_wait) {
                return None;
            }
        }
        // WHY ignored: a thread whose destructors block has returned its result.
        let _ =
            kernel_thread::join_while(thread, || time.try_sleep_until_next_check(&mut cpu_wait));
        lock(&shared.result).take()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time for which the end of a run waits for its threads. WHY not a deadline: if the process is
/// stopped meanwhile (SIGSTOP, a debugger, a frozen container), its threads need their time after
/// that. Nor does the time end while threads bring nodes into their safe state after their last
/// ticks. Time in which the thread that is waited for is ready to run, but gets no CPU, does not
/// count either, up to [`TIME_WITHOUT_CPU_MAX`]. WHY: its node does not hang.
#[derive(Debug)]
pub(crate) struct RunEndTimeLimit {
    left: Duration,
    /// The rest of [`TIME_WITHOUT_CPU_MAX`].
    without_cpu_left: Duration,
    checked: Instant,
    /// The run, whose threads may bring nodes into their safe state.
    shared: Arc<RunState>,
}

impl RunEndTimeLimit {
    pub(crate) fn new(time: Duration, shared: &Arc<RunState>) -> Self {
        Self {
            left: time,
            without_cpu_left: TIME_WITHOUT_CPU_MAX,
            checked: Instant::now(),
            shared: Arc::clone(shared),
        }
    }

    /// Returns the time that is left. Of the time since the last call, at most
    /// [`COUNTED_TIME_PER_CHECK_MAX`] counts.
    pub(crate) fn time_left(&mut self) -> Duration {
        self.count_time_until(Instant::now(), false)
    }

    /// Counts the time since the last call, and returns the time that is left. `got_no_cpu` is true
    /// if the thread that is waited for is ready to run, and has not run in this time.
    fn count_time_until(&mut self, now: Instant, got_no_cpu: bool) -> Duration {
        let passed = now.saturating_duration_since(self.checked);
        let passed = passed.min(COUNTED_TIME_PER_CHECK_MAX);
        self.checked = now;
        let counted = if got_no_cpu {
            passed.saturating_sub(self.without_cpu_left)
        } else {
            passed
        };
        self.without_cpu_left -= passed - counted;
        self.left = self.left.saturating_sub(counted);
        self.left
    }

    /// Sleeps until the next check whether the thread of `cpu_wait` has ended. Returns false,
    /// without a sleep, if the time is over and no thread brings nodes into their safe state.
    fn try_sleep_until_next_check(&mut self, cpu_wait: &mut CpuWaitCheck) -> bool {
        let left = self.count_time_until(Instant::now(), cpu_wait.has_only_waited());
        let has_time = !left.is_zero() || self.shared.is_entering_last_safe_states();
        if has_time {
            thread::sleep(THREAD_END_CHECK_PERIOD);
        }
        has_time
    }

    /// Makes the time that is left at least as long as `time`.
    pub(crate) fn extend_time_left_to(&mut self, time: Duration) {
        self.left = self.time_left().max(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_in_which_the_process_was_stopped_does_not_count() {
        let mut time = RunEndTimeLimit::new(Duration::from_millis(200), &Arc::default());
        let mut now = time.checked;
        let mut left_after = |passed_ms| {
            now += Duration::from_millis(passed_ms);
            time.count_time_until(now, false).as_millis()
        };
        assert_eq!(left_after(10), 190);
        assert_eq!(left_after(60_000), 140, "it was stopped");
        assert_eq!(left_after(40), 100);
        assert_eq!([left_after(50), left_after(50), left_after(1)], [50, 0, 0]);
        time.extend_time_left_to(Duration::from_millis(150));
        assert!(time.time_left() <= Duration::from_millis(150));
    }

    #[test]
    fn the_time_in_which_a_thread_gets_no_cpu_does_not_count_up_to_a_limit() {
        let mut time = RunEndTimeLimit::new(Duration::from_millis(200), &Arc::default());
        let mut now = time.checked;
        let mut left_after = |passed_ms, got_no_cpu| {
            now += Duration::from_millis(passed_ms);
            time.count_time_until(now, got_no_cpu).as_millis()
        };
        for _ in 0..TIME_WITHOUT_CPU_MAX.as_millis() / 40 - 1 {
            assert_eq!(left_after(40, true), 200);
        }
        assert_eq!(left_after(50, true), 190, "40 of the 50 do not count");
        assert_eq!([left_after(40, true), left_after(40, false)], [150, 110]);
        assert_eq!([left_after(50, true), left_after(50, true)], [60, 10]);
        assert_eq!(left_after(50, true), 0);
    }
}
