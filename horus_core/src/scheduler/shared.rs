//! What all threads of a scheduler know: whether it is to stop, and why.

use std::sync::atomic::AtomicU64;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use horus_shm::sync::Word;

/// Why a scheduler stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It was asked to, by [`Stopper::stop`](super::Stopper::stop) or a node.
    Asked,
    /// The time that it was given is over.
    Over,
    /// A node failed or was late, and its policy is to stop everything.
    Node {
        /// The node.
        name: String,
        /// What it said last.
        error: String,
    },
}

/// The state of a run.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// 1 once everything is to stop: what threads look at between turns.
    stopping: AtomicU64,
    reason: Mutex<Option<Reason>>,
    changed: Condvar,
}

impl Shared {
    /// Whether everything is to stop. A load.
    #[inline(always)]
    pub(super) fn is_stopping(&self) -> bool {
        // Relaxed: nothing is read because of it but the reason, which has a lock.
        self.stopping.get() != 0
    }

    /// Stops everything; the first reason counts.
    pub(super) fn stop(&self, reason: Reason) {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        self.stopping.set(1);
        self.changed.notify_all();
    }

    /// Waits until everything is to stop, for `timeout` at most.
    pub(super) fn wait(&self, timeout: Duration) {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_timeout_while(reason, timeout, |reason| reason.is_none()));
    }

    /// Why it stops, if it does.
    pub(super) fn reason(&self) -> Option<Reason> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
