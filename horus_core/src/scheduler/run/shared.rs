//! What all threads of a scheduler know: whether it is to stop, and why, and who has a seat.

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
    /// 1 once everything is to stop: what threads look at between turns.
    stopping: AtomicU64,
    /// 1 once all nodes are shut down.
    ended: AtomicU64,
    /// 1 once all threads are there.
    begun: AtomicU64,
    reason: Mutex<Option<Reason>>,
    /// A word elsewhere, and what it holds while nothing is to stop.
    sign: OnceLock<(&'static AtomicU64, u64)>,
    changed: Condvar,
    node_entries: Mutex<Vec<NodeEntry>>,
    /// Nodes whose last tick does not end, until the supervisor has taken note of them.
    left_behind: Mutex<Vec<String>>,
}

impl Shared {
    /// Whether everything is to stop. A load.
    #[inline(always)]
    pub(crate) fn is_stopping(&self) -> bool {
        // Relaxed: nothing is read because of it but the reason, which has a lock.
        self.stopping.get() != 0
    }

    /// Stops everything; the first reason counts, but a signal comes before what was planned.
    pub(crate) fn stop(&self, reason: Reason) {
        let mut first = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        // WHY: a process that was told to end says so by its exit code.
        let is_planned = matches!(&*first, Some(Reason::Asked | Reason::Over));
        if first.is_none() || (is_planned && matches!(reason, Reason::Signal(_))) {
            *first = Some(reason);
        }
        if let Some((word, number)) = self.sign.get() {
            // WHY claimed: the word may be somebody else's by now. Relaxed: as `is_stopping`.
            word.compare_exchange_relaxed(*number, 0);
        }
        drop(first);
        self.stopping.set(1);
        self.changed.notify_all();
    }

    /// Has the first of these nodes that hangs be the reason, unless there is one already that was
    /// not planned.
    pub(crate) fn blame(&self, left_behind: &[NodeReport]) {
        let hanging = left_behind.iter().filter(|node| node.hangs);
        let Some(node) = hanging.min_by_key(|node| node.position) else { return };
        let mut first = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(&*first, None | Some(Reason::Asked | Reason::Over)) {
            let error = node.last_error.clone().unwrap_or_default();
            *first = Some(Reason::Node { name: node.name.clone(), error });
        }
    }

    /// Has `word` be `number` until everything is to stop, and then 0. Once.
    pub(crate) fn show_in(&self, word: &'static AtomicU64, number: u64) {
        // WHY under the lock: either `stop` sees the sign, or this sees its reason.
        let first = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        if self.sign.set((word, number)).is_ok() && first.is_none() {
            // Relaxed: as `is_stopping`.
            word.set(number);
        }
    }

    /// Stops everything if the turns of these nodes said so.
    pub(crate) fn tell<'a>(&self, runners: impl IntoIterator<Item = &'a Runner>, after: After) {
        if after == After::Continue {
            return;
        }
        let fatal = runners.into_iter().find_map(|runner| Some((runner, runner.fatal()?)));
        self.stop(fatal.map_or(Reason::Asked, |(runner, error)| Reason::Node {
            name: runner.plan().name.clone(),
            error: error.to_owned(),
        }));
    }

    /// All threads are there: their nodes may have their turns.
    pub(crate) fn begin(&self) {
        let reason = self.reason.lock();
        self.begun.set(1);
        drop(reason);
        self.changed.notify_all();
    }

    /// Waits until all threads are there, or everything is to stop.
    pub(crate) fn wait_for_begin(&self) {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        let is_to_wait = |reason: &mut Option<Reason>| reason.is_none() && self.begun.get() == 0;
        drop(self.changed.wait_while(reason, is_to_wait));
    }

    /// Whether all nodes are shut down.
    pub(crate) fn has_ended(&self) -> bool {
        // Relaxed: whoever asks only ends too.
        self.ended.get() != 0
    }

    /// All nodes are shut down.
    pub(crate) fn end(&self) {
        self.ended.set(1);
    }

    /// Waits until everything is to stop, for `timeout` at most.
    pub(crate) fn wait(&self, timeout: Duration) {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_timeout_while(reason, timeout, |reason| reason.is_none()));
    }

    /// Why it stops, if it does.
    pub(crate) fn reason(&self) -> Option<Reason> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has the supervisor bring a node into its safe state whose last tick does not end.
    pub(crate) fn leave_behind(&self, node: &str) {
        let mut left_behind = self.left_behind.lock().unwrap_or_else(PoisonError::into_inner);
        left_behind.push(node.to_owned());
    }

    /// The nodes that were left behind since the last call.
    pub(crate) fn take_left_behind(&self) -> Vec<String> {
        std::mem::take(&mut self.left_behind.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The nodes.
    pub(crate) fn node_entries(&self) -> MutexGuard<'_, Vec<NodeEntry>> {
        self.node_entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
