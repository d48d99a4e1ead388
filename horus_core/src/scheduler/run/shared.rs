//! State that all threads of a scheduler share: the stop flag, its reason, and the nodes.

use std::sync::atomic::AtomicU64;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use horus_shm::internals::sync::Word;

use crate::scheduler::api::report::{NodeReport, Reason};
use crate::scheduler::run::node_entry::NodeEntry;
use crate::scheduler::run::runner::{After, Runner};

/// The state of a run.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// 1 once the run is to stop: threads poll it between turns.
    stopping: AtomicU64,
    /// 1 once all nodes are shut down.
    ended: AtomicU64,
    /// 1 once all threads have started.
    begun: AtomicU64,
    reason: Mutex<Option<Reason>>,
    /// A word of the caller, and its value while the run goes on.
    sign: OnceLock<(&'static AtomicU64, u64)>,
    changed: Condvar,
    node_entries: Mutex<Vec<NodeEntry>>,
    /// The nodes whose last tick does not end, until the supervisor takes them.
    left_behind: Mutex<Vec<String>>,
}

impl Shared {
    /// Returns true if the run is to stop. Costs a load.
    #[inline(always)]
    pub(crate) fn is_stopping(&self) -> bool {
        // Relaxed: only the reason is read because of it, and that has a lock.
        self.stopping.get() != 0
    }

    /// Stops the run. The first reason is kept, except that a signal replaces a planned stop.
    pub(crate) fn stop(&self, reason: Reason) {
        let mut first = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        // WHY: a process that ends by a signal shows that in its exit code.
        let is_planned = matches!(&*first, Some(Reason::Asked | Reason::Over));
        if first.is_none() || (is_planned && matches!(reason, Reason::Signal(_))) {
            *first = Some(reason);
        }
        if let Some((word, number)) = self.sign.get() {
            // WHY compare_exchange: the word may belong to another scheduler by now. Relaxed: as
            // `is_stopping`.
            word.compare_exchange_relaxed(*number, 0);
        }
        drop(first);
        self.stopping.set(1);
        self.changed.notify_all();
    }

    /// Makes the first of these nodes that hangs the reason, unless the present reason was not
    /// planned.
    pub(crate) fn fail_if_hanging(&self, left_behind: &[NodeReport]) {
        let hanging = left_behind.iter().filter(|node| node.hangs);
        let Some(node) = hanging.min_by_key(|node| node.position) else { return };
        let mut first = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(&*first, None | Some(Reason::Asked | Reason::Over)) {
            let error = node.last_error.clone().unwrap_or_default();
            *first = Some(Reason::Node { name: node.name.clone(), error });
        }
    }

    /// Sets `word` to `number` until the run is to stop, and then to 0. Only the first call has an
    /// effect.
    pub(crate) fn show_in(&self, word: &'static AtomicU64, number: u64) {
        // WHY under the lock: either `stop` sees the word, or this sees its reason.
        let first = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        if self.sign.set((word, number)).is_ok() && first.is_none() {
            // Relaxed: as `is_stopping`.
            word.set(number);
        }
    }

    /// Stops the run if a turn of these nodes demands it.
    pub(crate) fn stop_after<'a>(
        &self,
        runners: impl IntoIterator<Item = &'a Runner>,
        after: After,
    ) {
        if after == After::Continue {
            return;
        }
        let fatal = runners.into_iter().find_map(|runner| Some((runner, runner.fatal()?)));
        self.stop(fatal.map_or(Reason::Asked, |(runner, error)| Reason::Node {
            name: runner.plan().name.clone(),
            error: error.to_owned(),
        }));
    }

    /// Notes that all threads have started: their nodes may have turns.
    pub(crate) fn begin(&self) {
        let reason = self.reason.lock();
        self.begun.set(1);
        drop(reason);
        self.changed.notify_all();
    }

    /// Waits until all threads have started, or the run is to stop.
    pub(crate) fn wait_for_begin(&self) {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        let is_to_wait = |reason: &mut Option<Reason>| reason.is_none() && self.begun.get() == 0;
        drop(self.changed.wait_while(reason, is_to_wait));
    }

    /// Returns true if all nodes are shut down.
    pub(crate) fn has_ended(&self) -> bool {
        // Relaxed: no data is read because of it.
        self.ended.get() != 0
    }

    /// Notes that all nodes are shut down.
    pub(crate) fn end(&self) {
        self.ended.set(1);
    }

    /// Waits until the run is to stop, for `timeout` at most.
    pub(crate) fn wait(&self, timeout: Duration) {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_timeout_while(reason, timeout, |reason| reason.is_none()));
    }

    /// Returns the reason of the stop, if there is one.
    pub(crate) fn reason(&self) -> Option<Reason> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks the supervisor to bring a node into its safe state whose last tick does not end.
    pub(crate) fn leave_behind(&self, node: &str) {
        let mut left_behind = self.left_behind.lock().unwrap_or_else(PoisonError::into_inner);
        left_behind.push(node.to_owned());
    }

    /// Takes the nodes that were left behind since the last call.
    pub(crate) fn take_left_behind(&self) -> Vec<String> {
        std::mem::take(&mut self.left_behind.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Locks the nodes' entries.
    pub(crate) fn node_entries(&self) -> MutexGuard<'_, Vec<NodeEntry>> {
        self.node_entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
