//! The actors that have mail and wait for a thread that is not the group's own: before the run, in
//! simulated runs, and in groups without threads. First in, first out.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use horus_shm::internals::sync::Word;
use horus_shm::internals::wait::LocalEventcount;

/// The tasks of a group while no thread of the group runs them.
pub(crate) struct WaitingTasks<T> {
    /// 0 once threads take the tasks.
    is_open: AtomicU64,
    /// Number of `tasks`, changed under their lock: most looks find none.
    count: AtomicU64,
    tasks: Mutex<TaskQueue<T>>,
    /// The eventcount at which the one thread that runs the tasks sleeps.
    bell: OnceLock<Arc<LocalEventcount>>,
}

/// The waiting tasks, or the reason why no task waits here.
#[derive(Debug)]
enum TaskQueue<T> {
    Waiting(VecDeque<T>),
    /// Threads of the group take the tasks.
    ForThreads,
    /// The group has ended: nobody takes tasks.
    Over,
}

impl<T> TaskQueue<T> {
    fn waiting_tasks(&mut self) -> Option<&mut VecDeque<T>> {
        match self {
            Self::Waiting(tasks) => Some(tasks),
            Self::ForThreads | Self::Over => None,
        }
    }

    /// Takes all tasks, and leaves `next`.
    fn replace(&mut self, next: Self) -> VecDeque<T> {
        match std::mem::replace(self, next) {
            Self::Waiting(tasks) => tasks,
            Self::ForThreads | Self::Over => VecDeque::new(),
        }
    }
}

/// The result of [`WaitingTasks::push`].
#[derive(Debug)]
pub(crate) enum PushOutcome<T> {
    /// The task waits.
    Waits,
    /// Threads take the tasks: the caller has to send this one to them.
    ForThreads(T),
    /// The group has ended, and nobody runs this task.
    Over(T),
}

impl<T> Default for WaitingTasks<T> {
    fn default() -> Self {
        Self {
            is_open: AtomicU64::new(1),
            count: AtomicU64::new(0),
            tasks: Mutex::new(TaskQueue::Waiting(VecDeque::new())),
            bell: OnceLock::new(),
        }
    }
}

impl<T> WaitingTasks<T> {
    fn lock(&self) -> MutexGuard<'_, TaskQueue<T>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task; returns it if threads take the tasks, or if the group has ended. Costs a load
    /// if threads take them.
    #[inline]
    pub(crate) fn push(&self, task: T) -> PushOutcome<T> {
        // Relaxed: the lock decides.
        if self.is_open.get() == 0 {
            return PushOutcome::ForThreads(task);
        }
        self.push_late(task)
    }

    /// Adds a task as [`Self::push`] does, also if threads took the tasks a moment ago.
    pub(crate) fn push_late(&self, task: T) -> PushOutcome<T> {
        match &mut *self.lock() {
            TaskQueue::Waiting(tasks) => {
                tasks.push_back(task);
                self.count.set(tasks.len() as u64);
            }
            TaskQueue::ForThreads => return PushOutcome::ForThreads(task),
            TaskQueue::Over => return PushOutcome::Over(task),
        }
        if let Some(bell) = self.bell.get() {
            bell.notify();
        }
        PushOutcome::Waits
    }

    /// Takes the oldest task.
    pub(crate) fn pop(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut tasks = self.lock();
        let tasks = tasks.waiting_tasks()?;
        let task = tasks.pop_front();
        self.count.set(tasks.len() as u64);
        task
    }

    /// Returns true if there is no task. A task that another thread adds meanwhile may be missed;
    /// that thread notifies the eventcount afterwards.
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: the lock orders the tasks, and the eventcount this look before a sleep.
        self.count.get() == 0
    }

    /// Takes all tasks. From now on, threads take them.
    pub(crate) fn close(&self) -> VecDeque<T> {
        let mut tasks = self.lock();
        self.count.set(0);
        self.is_open.set(0);
        tasks.replace(TaskQueue::ForThreads)
    }

    /// Lets new tasks wait here again: the threads that took them have ended, or hang.
    pub(crate) fn reopen(&self) {
        let mut tasks = self.lock();
        if matches!(*tasks, TaskQueue::ForThreads) {
            *tasks = TaskQueue::Waiting(VecDeque::new());
        }
        self.is_open.set(1);
    }

    /// Takes all waiting tasks, when the group ends.
    pub(crate) fn take_all(&self) -> VecDeque<T> {
        let mut tasks = self.lock();
        self.count.set(0);
        tasks
            .waiting_tasks()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Takes all waiting tasks. From now on, nobody takes tasks.
    pub(crate) fn end(&self) -> VecDeque<T> {
        let mut tasks = self.lock();
        self.count.set(0);
        tasks.replace(TaskQueue::Over)
    }

    /// Makes each new task notify `bell`.
    pub(crate) fn set_bell(&self, bell: &Arc<LocalEventcount>) {
        // WHY ignored: a group is started once.
        let _ = self.bell.set(Arc::clone(bell));
    }
}

impl<T> fmt::Debug for WaitingTasks<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting")
            .field("is_open", &self.is_open)
            .finish_non_exhaustive()
    }
}
