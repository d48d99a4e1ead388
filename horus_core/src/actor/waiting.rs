//! The actors that have mail and wait for a thread that is not the group's own: before the run, in
//! simulated runs, and in groups without threads. First in, first out.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use horus_shm::internals::sync::Word;
use horus_shm::internals::wait::LocalEventcount;

/// The tasks of a group that has no thread.
pub(crate) struct Waiting<T> {
    /// 0 once threads take the tasks.
    is_open: AtomicU64,
    /// `None` once threads take the tasks.
    tasks: Mutex<Option<VecDeque<T>>>,
    /// The eventcount at which the one thread that runs the tasks sleeps.
    bell: OnceLock<Arc<LocalEventcount>>,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self {
            is_open: AtomicU64::new(1),
            tasks: Mutex::new(Some(VecDeque::new())),
            bell: OnceLock::new(),
        }
    }
}

impl<T> Waiting<T> {
    fn lock(&self) -> MutexGuard<'_, Option<VecDeque<T>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task; returns it if threads take the tasks. Costs a load then.
    #[inline]
    pub(crate) fn push(&self, task: T) -> Option<T> {
        // Relaxed: the lock decides.
        if self.is_open.get() == 0 {
            return Some(task);
        }
        self.push_open(task)
    }

    fn push_open(&self, task: T) -> Option<T> {
        match &mut *self.lock() {
            Some(tasks) => tasks.push_back(task),
            None => return Some(task),
        }
        if let Some(bell) = self.bell.get() {
            bell.notify();
        }
        None
    }

    /// Takes the oldest task.
    pub(crate) fn pop(&self) -> Option<T> {
        self.lock().as_mut().and_then(VecDeque::pop_front)
    }

    /// Returns true if there is no task.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().as_ref().is_none_or(VecDeque::is_empty)
    }

    /// Takes all tasks. From now on, threads take them.
    pub(crate) fn close(&self) -> VecDeque<T> {
        let tasks = self.lock().take();
        self.is_open.set(0);
        tasks.unwrap_or_default()
    }

    /// Lets new tasks wait here again: the threads that took them have ended, or hang.
    pub(crate) fn reopen(&self) {
        let mut tasks = self.lock();
        tasks.get_or_insert_default();
        self.is_open.set(1);
    }

    /// Takes all waiting tasks, when the group ends.
    pub(crate) fn take_all(&self) -> VecDeque<T> {
        self.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Makes each new task notify `bell`.
    pub(crate) fn set_bell(&self, bell: &Arc<LocalEventcount>) {
        // WHY ignored: a group is started once.
        let _ = self.bell.set(Arc::clone(bell));
    }
}

impl<T> fmt::Debug for Waiting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting")
            .field("is_open", &self.is_open)
            .finish_non_exhaustive()
    }
}
