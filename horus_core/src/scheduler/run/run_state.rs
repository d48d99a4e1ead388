//! The state of a run that all threads of a scheduler share: whether the run has to stop and why,
//! and which nodes there are.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;
use std::{fmt, io};

use horus_shm::clock::Clock;
use horus_shm::internals::sync::Word;

use crate::scheduler::api::metrics::LiveMetrics;
use crate::scheduler::api::report::{NodeReport, StopReason};
use crate::scheduler::run::node_entry::NodeEntry;
use crate::scheduler::run::runner::{RunDecision, Runner};

/// The state of a run. It exists from when the first node is added until the last one is shut down.
#[derive(Debug, Default)]
pub(crate) struct RunState {
    /// 1 once the run has to stop, 0 before. Threads check this word between ticks.
    stopping: AtomicU64,
    /// 1 once all nodes have been shut down, 0 before.
    ended: AtomicU64,
    /// 1 once all threads that run nodes have started, 0 before.
    started: AtomicU64,
    reason: Mutex<Option<StopReason>>,
    /// A word that becomes 0 when the run stops, and the value that it has until then.
    /// [`Self::set_while_running`] sets both.
    stop_word: OnceLock<(&'static AtomicU64, u64)>,
    /// 1 once the thread that runs the scheduler shuts the nodes down, 0 before.
    shutting_down: AtomicU64,
    /// Number of threads that bring nodes into their safe state at present, after their last ticks.
    entering_safe_state: AtomicU64,
    changed: Condvar,
    node_entries: Mutex<Vec<NodeEntry>>,
    /// The pool of threads that runs the compute nodes; empty if there is none. WHY weak: a node in
    /// it may hold a handle, and so this state.
    compute_pool: OnceLock<Weak<dyn ThreadPool>>,
    /// The names of nodes whose last tick has not ended. The supervisor takes them from this list,
    /// and calls the safe-state callbacks of these nodes.
    left_behind: Mutex<Vec<String>>,
    /// The progress of the final check for an emergency stop: 0 before it is requested,
    /// [`FINAL_EMERGENCY_CHECK_REQUESTED`], then [`FINAL_EMERGENCY_CHECK_DONE`].
    final_emergency_check: AtomicU64,
}

/// A pool of threads. Its threads may all hang in nodes, while other nodes wait for them.
pub(crate) trait ThreadPool: fmt::Debug + Send + Sync {
    /// Starts another thread if no thread is free and nodes must not wait for one.
    ///
    /// # Errors
    ///
    /// Returns an error if the system cannot create the thread.
    fn add_thread_if_blocked(
        self: Arc<Self>,
        check: &PoolCheck<'_>,
        shared: &Arc<RunState>,
    ) -> io::Result<()>;
}

/// The facts that the supervisor passes to the check of a pool of threads.
pub(crate) struct PoolCheck<'a> {
    /// Returns true if the node with these metrics hangs in a tick, so that its thread is lost for
    /// other nodes.
    pub(crate) hangs: &'a dyn Fn(&Arc<LiveMetrics>) -> bool,
    /// True if the nodes should be in their safe state by now.
    pub(crate) demands_safety: bool,
    pub(crate) has_run_failed: bool,
}

/// The value of `final_emergency_check` after the thread that ends the run has requested the check.
const FINAL_EMERGENCY_CHECK_REQUESTED: u64 = 1;
/// The value of `final_emergency_check` after the supervisor has checked.
const FINAL_EMERGENCY_CHECK_DONE: u64 = 2;

/// The time after which the thread of nodes whose last ticks have ended applies an emergency stop
/// again, and asks nodes that enter their safe state whether they have reached it.
pub(crate) const SAFETY_POLL_PERIOD: Duration = Duration::from_millis(20);

impl RunState {
    /// Returns true if the run has to stop. Costs an atomic load.
    #[inline(always)]
    pub(crate) fn is_stopping(&self) -> bool {
        // Relaxed: of other data, readers use only the reason, which is under a lock.
        self.stopping.get() != 0
    }

    /// Makes the run stop for this reason. If the run already stops, the earlier reason is kept,
    /// except that a signal replaces a stop that was requested or planned, and the failure of a
    /// node replaces both.
    pub(crate) fn stop(&self, reason: StopReason) {
        let mut first = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        // WHY it is replaced: the exit code of the process has to show the signal or the failure.
        let severity = |reason: &StopReason| match reason {
            StopReason::Requested | StopReason::DurationElapsed => 0,
            StopReason::Signal(_) => 1,
            StopReason::Node { .. } => 2,
        };
        let is_replaced = |first: &StopReason| severity(&reason) > severity(first);
        if first.as_ref().is_none_or(is_replaced) {
            *first = Some(reason);
        }
        if let Some((word, number)) = self.stop_word.get() {
            // WHY compare_exchange: the word may belong to another scheduler by now. Relaxed: as
            // `is_stopping`.
            word.compare_exchange_relaxed(*number, 0);
        }
        let is_first = self.stopping.get() == 0;
        // WHY under the lock: a thread in `wait_until_all_threads_started` that sees the reason
        // must see this, too.
        self.stopping.set(1);
        drop(first);
        self.changed.notify_all();
        if !is_first {
            return;
        }
        // WHY: a thread that sleeps until it has messages has to see that the run stops, and then
        // keeps its nodes safe. The thread that runs the scheduler may be busy for a long time.
        for entry in self.node_entries().iter() {
            entry.commands.wake();
        }
    }

    /// Returns true if the run has to stop because a node failed.
    pub(crate) fn has_failed(&self) -> bool {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        reason.as_ref().is_some_and(StopReason::is_failure)
    }

    /// Records that the thread that runs the scheduler shuts the nodes down, so that the threads of
    /// the nodes have to end.
    pub(crate) fn begin_shutdown(&self) {
        let reason = self.reason.lock();
        self.shutting_down.set(1);
        drop(reason);
        self.changed.notify_all();
    }

    /// Returns true once the thread that runs the scheduler shuts the nodes down.
    pub(crate) fn is_shutting_down(&self) -> bool {
        // Relaxed: no data is read because of it.
        self.shutting_down.get() != 0
    }

    /// Waits until the thread that runs the scheduler shuts the nodes down, but at most for
    /// `timeout`. Returns true if it does.
    pub(crate) fn wait_for_shutdown(&self, timeout: Duration) -> bool {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        let is_to_wait = |_: &mut Option<StopReason>| !self.is_shutting_down();
        drop(self.changed.wait_timeout_while(reason, timeout, is_to_wait));
        self.is_shutting_down()
    }

    /// Calls `enter_safe_states`, which brings nodes into their safe state after their last ticks.
    /// The end of the run waits for it without a time limit.
    pub(crate) fn delay_run_end_while<R>(&self, enter_safe_states: impl FnOnce() -> R) -> R {
        // Relaxed: the end of the run only looks at the number, again and again.
        self.entering_safe_state.fetch_add_one();
        let result = enter_safe_states();
        self.entering_safe_state.fetch_sub_one();
        result
    }

    /// Returns true while a thread brings nodes into their safe state after their last ticks.
    pub(crate) fn is_entering_last_safe_states(&self) -> bool {
        self.entering_safe_state.get() != 0
    }

    /// Keeps a node safe after its last tick, as [`Runner::keep_safe_after_last_tick`] does. Does
    /// nothing once the run has ended, on a thread that was left behind.
    pub(crate) fn keep_node_safe(&self, runner: &mut Runner, clock: &Clock) {
        if self.are_all_nodes_shut_down() {
            return;
        }
        let has_failed = self.has_failed();
        self.delay_run_end_while(|| runner.keep_safe_after_last_tick(has_failed, clock));
    }

    /// Keeps nodes safe after their last ticks, on their thread, until the thread that runs the
    /// scheduler shuts them down. Returns at once if all of them were shut down before.
    ///
    /// WHY: that thread may be busy for a long time, or may not call the scheduler any more, and
    /// must not delay an emergency stop, or the safe states after a failure.
    pub(crate) fn keep_nodes_safe_until_shutdown(&self, runners: &mut [Runner], clock: &Clock) {
        while !runners.iter().all(Runner::is_shut_down) {
            for runner in runners.iter_mut().rev() {
                self.keep_node_safe(runner, clock);
            }
            if self.wait_for_shutdown(SAFETY_POLL_PERIOD) {
                return;
            }
        }
    }

    /// If there are nodes in `left_behind`, records the first one that hangs as the reason of the
    /// stop, unless the reason is already another failure. If none hangs visibly, the first node is
    /// taken, because its thread has not ended.
    pub(crate) fn set_failure_if_node_hangs(&self, left_behind: &[NodeReport]) {
        let first = left_behind
            .iter()
            .min_by_key(|node| (!node.hangs, node.position));
        if let Some(node) = first {
            self.stop(StopReason::Node {
                name: node.name.clone(),
                error: node.last_error.clone().unwrap_or_default(),
            });
        }
    }

    /// Sets `word` to `number` now, and to 0 when the run has to stop. Only the first call has an
    /// effect.
    pub(crate) fn set_while_running(&self, word: &'static AtomicU64, number: u64) {
        // WHY under the lock: otherwise `stop` could miss the word, while this misses the reason.
        let first = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stop_word.set((word, number)).is_ok() && first.is_none() {
            // Relaxed: as `is_stopping`.
            word.set(number);
        }
    }

    /// Stops the run of the scheduler if `decision` demands it. `decision` is the result of the
    /// turn in which the nodes of `runners` were run.
    pub(crate) fn stop_run_if_decided<'a>(
        &self,
        runners: impl IntoIterator<Item = &'a Runner>,
        decision: RunDecision,
    ) {
        if decision == RunDecision::Continue {
            return;
        }
        let fatal = runners
            .into_iter()
            .find_map(|runner| Some((runner, runner.fatal_error()?)));
        self.stop(
            fatal.map_or(StopReason::Requested, |(runner, error)| StopReason::Node {
                name: runner.plan().name.clone(),
                error: error.to_owned(),
            }),
        );
    }

    /// Records that all threads that run nodes have started, so that nodes are allowed to tick.
    pub(crate) fn mark_all_threads_started(&self) {
        let reason = self.reason.lock();
        self.started.set(1);
        drop(reason);
        self.changed.notify_all();
    }

    /// Waits until all threads that run nodes have started, or until the run has to stop.
    pub(crate) fn wait_until_all_threads_started(&self) {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        let is_to_wait =
            |reason: &mut Option<StopReason>| reason.is_none() && self.started.get() == 0;
        drop(self.changed.wait_while(reason, is_to_wait));
    }

    /// Returns true if all nodes have been shut down.
    pub(crate) fn are_all_nodes_shut_down(&self) -> bool {
        // Relaxed: no data is read because of it.
        self.ended.get() != 0
    }

    /// Records that all nodes have been shut down.
    pub(crate) fn mark_all_nodes_shut_down(&self) {
        self.ended.set(1);
    }

    /// Waits until the run has to stop, but at most for `timeout`.
    pub(crate) fn wait_for_stop(&self, timeout: Duration) {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        drop(
            self.changed
                .wait_timeout_while(reason, timeout, |reason| reason.is_none()),
        );
    }

    /// Requests that the supervisor checks once more for an emergency stop, and waits until it has
    /// done so, but at most for `timeout`. The threads of nodes must have ended, so that this check
    /// finds what they have sent.
    pub(crate) fn request_final_emergency_check(&self, timeout: Duration) {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        self.final_emergency_check
            .set(FINAL_EMERGENCY_CHECK_REQUESTED);
        let is_to_wait = |_: &mut Option<StopReason>| {
            self.final_emergency_check.get() != FINAL_EMERGENCY_CHECK_DONE
        };
        drop(self.changed.wait_timeout_while(reason, timeout, is_to_wait));
    }

    /// Returns true if the supervisor has to check once more for an emergency stop, and to call
    /// [`Self::finish_final_emergency_check`] then.
    pub(crate) fn is_final_emergency_check_requested(&self) -> bool {
        if self.final_emergency_check.get() != FINAL_EMERGENCY_CHECK_REQUESTED {
            return false;
        }
        // WHY the lock: the check must not begin before the request.
        drop(self.reason.lock());
        true
    }

    /// Records that the supervisor has checked for an emergency stop after the request.
    pub(crate) fn finish_final_emergency_check(&self) {
        let reason = self.reason.lock();
        self.final_emergency_check.set(FINAL_EMERGENCY_CHECK_DONE);
        drop(reason);
        self.changed.notify_all();
    }

    /// Returns the reason why the run has to stop; `None` while the run continues.
    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        self.reason
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Makes the supervisor check `pool`. Only the first call has an effect.
    pub(crate) fn set_compute_pool(&self, pool: Weak<dyn ThreadPool>) {
        // WHY ignored: a run has one such pool.
        let _ = self.compute_pool.set(pool);
    }

    /// Starts another thread for the compute nodes, if [`ThreadPool::add_thread_if_blocked`] finds
    /// that they need one. Returns its error.
    pub(crate) fn check_compute_pool(self: &Arc<Self>, check: &PoolCheck<'_>) -> io::Result<()> {
        let pool = self.compute_pool.get().and_then(Weak::upgrade);
        pool.map_or(Ok(()), |pool| pool.add_thread_if_blocked(check, self))
    }

    /// Adds the name of a node whose last tick has not ended. The supervisor then calls the node's
    /// safe-state callback.
    pub(crate) fn add_hanging_node(&self, node: &str) {
        let mut left_behind = self
            .left_behind
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        left_behind.push(node.to_owned());
    }

    /// Returns the names of nodes whose last tick has not ended, and removes them from the list.
    /// [`Self::add_hanging_node`] adds names to it.
    pub(crate) fn take_hanging_nodes(&self) -> Vec<String> {
        std::mem::take(
            &mut self
                .left_behind
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Locks the entries of all nodes, in the order in which they were added.
    pub(crate) fn node_entries(&self) -> MutexGuard<'_, Vec<NodeEntry>> {
        self.node_entries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
