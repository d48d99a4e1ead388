//! The queue of actors that have mail while the group's own threads do not run them: before the
//! run, in simulated runs, and in groups without threads. First in, first out.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use horus_shm::internals::sync::Word;
use horus_shm::internals::wait::LocalEventcount;

/// The queue of a group's actors that have mail. It is used while no thread of the group runs
/// actors.
pub(crate) struct WaitingTasks<T> {
    /// 0 once threads of the group run the actors, so that this queue is not used; otherwise 1.
    is_open: AtomicU64,
    /// Number of elements of `tasks`, changed only under the lock of `tasks`. WHY: most calls find
    /// no task, and can see that without the lock.
    count: AtomicU64,
    tasks: Mutex<TaskQueue<T>>,
    /// The eventcount that is notified when a task is added. The thread that runs the tasks sleeps
    /// on it.
    eventcount: OnceLock<Arc<LocalEventcount>>,
}

/// The waiting tasks or, if new tasks are not added to the queue, the reason for that.
#[derive(Debug)]
enum TaskQueue<T> {
    Waiting(VecDeque<T>),
    /// The threads of the group run the actors, so tasks have to be sent to these threads.
    ForThreads,
    /// The group has ended, so no thread runs its actors.
    Over,
}

impl<T> TaskQueue<T> {
    fn waiting_tasks(&mut self) -> Option<&mut VecDeque<T>> {
        match self {
            Self::Waiting(tasks) => Some(tasks),
            Self::ForThreads | Self::Over => None,
        }
    }

    /// Replaces the queue by `next`, and returns the tasks that were in it.
    fn replace_and_take_tasks(&mut self, next: Self) -> VecDeque<T> {
        match std::mem::replace(self, next) {
            Self::Waiting(tasks) => tasks,
            Self::ForThreads | Self::Over => VecDeque::new(),
        }
    }
}

/// The outcome of [`WaitingTasks::push`].
#[derive(Debug)]
pub(crate) enum TaskPushOutcome<T> {
    /// The task was added to the queue.
    Waits,
    /// Threads of the group take the tasks, so the caller has to send this task to them.
    ForThreads(T),
    /// The group has ended, so no thread will run this task.
    Over(T),
}

impl<T> Default for WaitingTasks<T> {
    fn default() -> Self {
        Self {
            is_open: AtomicU64::new(1),
            count: AtomicU64::new(0),
            tasks: Mutex::new(TaskQueue::Waiting(VecDeque::new())),
            eventcount: OnceLock::new(),
        }
    }
}

impl<T> WaitingTasks<T> {
    fn lock(&self) -> MutexGuard<'_, TaskQueue<T>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task. Returns it if threads of the group take the tasks, or if the group has ended.
    /// Costs only a load if threads take them.
    #[inline]
    pub(crate) fn push(&self, task: T) -> TaskPushOutcome<T> {
        // Relaxed: the lock decides.
        if self.is_open.get() == 0 {
            return TaskPushOutcome::ForThreads(task);
        }
        self.push_under_lock(task)
    }

    /// Adds a task as [`Self::push`] does, but checks only under the lock whether the queue is
    /// open. WHY: [`Self::push`] first reads a flag, which may still have the value from before the
    /// queue was opened again.
    pub(crate) fn push_under_lock(&self, task: T) -> TaskPushOutcome<T> {
        match &mut *self.lock() {
            TaskQueue::Waiting(tasks) => {
                tasks.push_back(task);
                self.count.set(tasks.len() as u64);
            }
            TaskQueue::ForThreads => return TaskPushOutcome::ForThreads(task),
            TaskQueue::Over => return TaskPushOutcome::Over(task),
        }
        if let Some(eventcount) = self.eventcount.get() {
            eventcount.notify();
        }
        TaskPushOutcome::Waits
    }

    /// Removes and returns the oldest task; `None` if there is none.
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

    /// Returns true if there is no task. May miss a task that another thread adds at the same time;
    /// that thread then notifies the eventcount.
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: the lock orders the tasks, and the eventcount this look before a sleep.
        self.count.get() == 0
    }

    /// Closes the queue, because threads of the group now run the actors. Returns the tasks that
    /// were in it. A later push returns its task.
    pub(crate) fn close_while_threads_run(&self) -> VecDeque<T> {
        let mut tasks = self.lock();
        self.count.set(0);
        self.is_open.set(0);
        tasks.replace_and_take_tasks(TaskQueue::ForThreads)
    }

    /// Opens the queue again, because the threads that ran the actors have ended or are stuck.
    /// Later pushes add their tasks to it.
    pub(crate) fn reopen(&self) {
        let mut tasks = self.lock();
        if matches!(*tasks, TaskQueue::ForThreads) {
            *tasks = TaskQueue::Waiting(VecDeque::new());
        }
        self.is_open.set(1);
    }

    /// Removes and returns all waiting tasks. Unlike [`Self::close_while_threads_run`] and
    /// [`Self::close_for_good`], leaves an open queue open.
    pub(crate) fn take_all(&self) -> VecDeque<T> {
        let mut tasks = self.lock();
        self.count.set(0);
        tasks
            .waiting_tasks()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Closes the queue for good, because the group has ended. Returns the tasks that were in it. A
    /// later push returns its task.
    pub(crate) fn close_for_good(&self) -> VecDeque<T> {
        let mut tasks = self.lock();
        self.count.set(0);
        tasks.replace_and_take_tasks(TaskQueue::Over)
    }

    /// Sets the eventcount that [`Self::push`] notifies of each new task.
    pub(crate) fn set_eventcount(&self, eventcount: &Arc<LocalEventcount>) {
        // WHY ignored: a group is started once.
        let _ = self.eventcount.set(Arc::clone(eventcount));
    }
}

impl<T> fmt::Debug for WaitingTasks<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting")
            .field("is_open", &self.is_open)
            .finish_non_exhaustive()
    }
}
