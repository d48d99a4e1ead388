//! The worker of the calling thread, by which an actor's messages stay on that thread.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use horus_shm::internals::heap::{Address, ControlHandle, Worker};

use crate::actor::group::{ActorGroup, ControlMessage, Task};

/// Number of activations after which a worker checks the queue into which other threads put tasks.
const ACTIVATIONS_PER_INJECTED_CHECK: u32 = 64;

/// Time after which a worker checks the queue into which other threads put tasks.
const INJECTED_CHECK_PERIOD_NS: u64 = 200_000;

/// Largest number of times in a row that a worker prefers the actor that got mail last to older
/// ones.
const NEWEST_FIRST_STREAK_MAX: u32 = 32;

/// Runs the actors of a group without threads. Returns false if there was nothing to do, and `None`
/// if another thread runs them from now on.
type RunGroup = Rc<dyn Fn() -> Option<bool>>;

thread_local! {
    /// The groups without threads whose actors this thread runs, by their addresses.
    static THREADLESS_GROUPS: RefCell<Vec<(usize, RunGroup)>> = const { RefCell::new(Vec::new()) };
    static LOCAL_WORKER: RefCell<Option<LocalWorker>> = const { RefCell::new(None) };
    /// The actor that this thread is spawning, or 0, and its task.
    static SPAWNING_ACTOR: Cell<usize> = const { Cell::new(0) };
    static SPAWNED_TASK: Cell<Option<Task>> = const { Cell::new(None) };
    /// True while a thread that is no worker runs an actor.
    static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
}

/// A mark that the calling thread runs an actor, until this is dropped.
#[derive(Debug)]
pub(crate) struct HandlerMark {
    /// True if the thread had a mark already when this one was made.
    before: bool,
}

/// Marks that the calling thread, which is no worker, runs an actor: it must not wait for another.
pub(crate) fn mark_handler() -> HandlerMark {
    HandlerMark {
        before: IN_HANDLER.replace(true),
    }
}

impl Drop for HandlerMark {
    fn drop(&mut self) {
        IN_HANDLER.set(self.before);
    }
}

/// The worker of a thread that runs actors of a group.
pub(crate) struct LocalWorker {
    /// The address of the worker's group, as a number to compare.
    group: usize,
    pub(crate) worker: Worker<Task>,
    streak: u32,
    activations: u32,
    looked_ns: u64,
}

fn group_address(group: &ActorGroup) -> usize {
    std::ptr::from_ref(group).addr()
}

/// Makes `worker` the calling thread's, until [`take_local_worker`].
pub(crate) fn set_local_worker(group: &ActorGroup, worker: Worker<Task>) {
    let local = LocalWorker {
        group: group_address(group),
        worker,
        streak: 0,
        activations: 0,
        looked_ns: 0,
    };
    LOCAL_WORKER.set(Some(local));
}

/// Removes the worker of the calling thread, and returns it.
pub(crate) fn take_local_worker() -> Option<Worker<Task>> {
    LOCAL_WORKER.take().map(|local| local.worker)
}

/// Returns true if the calling thread runs actors: it must not wait for another one.
pub fn is_worker() -> bool {
    let is_marked = IN_HANDLER.try_with(Cell::get).unwrap_or(false);
    is_marked
        || LOCAL_WORKER
            .try_with(|local| local.try_borrow().is_ok_and(|local| local.is_some()))
            .unwrap_or(false)
}

/// Lets the calling thread run the actors of `group`, which has no threads, whenever it waits for
/// an answer. `make` is called if that is new.
pub(crate) fn add_threadless_group(group: &ActorGroup, make: impl FnOnce() -> RunGroup) {
    let is_known = |turns: &Vec<(usize, _)>| {
        turns
            .iter()
            .any(|(known, _)| *known == group_address(group))
    };
    if !THREADLESS_GROUPS.with_borrow(is_known) {
        let run = make();
        THREADLESS_GROUPS.with_borrow_mut(|turns| turns.push((group_address(group), run)));
    }
}

/// Reverts [`add_threadless_group`]: the calling thread no longer runs the actors of `group`.
pub(crate) fn remove_threadless_group(group: &ActorGroup) {
    remove_group(group_address(group));
}

fn remove_group(group: usize) {
    // WHY ignored: a thread that ends runs no actors any more.
    let removed = THREADLESS_GROUPS.try_with(|turns| {
        let mut turns = turns.borrow_mut();
        let index = turns.iter().position(|(known, _)| *known == group)?;
        Some(turns.remove(index))
    });
    // WHY here: it may be the last that holds the group, and drops values of users.
    drop(removed);
}

/// Runs the actors of the groups without threads that this thread runs. Returns true if there was
/// something to do, and `None` if there is no such group.
pub(crate) fn run_threadless_groups() -> Option<bool> {
    let (mut has_run, mut index) = (None, 0);
    loop {
        // WHY a copy: a handler may start another scheduler.
        let turn = THREADLESS_GROUPS.with_borrow(|turns| turns.get(index).cloned());
        let Some((group, run)) = turn else {
            return has_run;
        };
        match run() {
            Some(ran) => {
                has_run = Some(ran | has_run.unwrap_or(false));
                index += 1;
            }
            None => remove_group(group),
        }
    }
}

/// Returns a number of the calling thread that no other thread has as long as this one lives.
pub(crate) fn thread_number() -> usize {
    THREADLESS_GROUPS.with(|turns| std::ptr::from_ref(turns).addr())
}

/// Calls `act` with the worker of the calling thread. The caller has called [`set_local_worker`],
/// and `act` runs no actor.
#[inline]
pub(crate) fn with_local_worker<R>(act: impl FnOnce(&mut LocalWorker) -> R) -> Option<R> {
    LOCAL_WORKER.with_borrow_mut(|local| local.as_mut().map(act))
}

/// Returns true if the worker of the calling thread has an actor to run, or if there is none.
pub(crate) fn has_local_work() -> bool {
    with_local_worker(|local| local.worker.has_own_entry()).unwrap_or(true)
}

/// Gives `task` to the worker of the calling thread, if that is one of `group`; returns it
/// otherwise.
#[inline]
pub(crate) fn schedule_locally(group: &ActorGroup, task: Task) -> Option<Task> {
    if SPAWNING_ACTOR.get() == task.id() {
        SPAWNED_TASK.set(Some(task));
        return None;
    }
    let mut task = Some(task);
    // WHY ignored: a thread that ends has no worker, and the task stays here.
    let _ = LOCAL_WORKER.try_with(|local| {
        if let Ok(mut local) = local.try_borrow_mut()
            && let Some(local) = &mut *local
            && local.group == group_address(group)
            && let Some(task) = task.take()
        {
            local.worker.push_next(task);
        }
    });
    task
}

/// Wakes a new actor to be initialised, and returns its task: the caller runs it.
pub(crate) fn begin_init<M: Send + 'static>(
    address: &Address<M, ActorGroup>,
    handle: ControlHandle<ActorGroup>,
) -> Option<Task> {
    let before = SPAWNING_ACTOR.replace(address.id());
    // WHY ignored: nobody else knows the actor, so it has not ended.
    let _ = address.send_control(ControlMessage::Init(handle));
    SPAWNING_ACTOR.set(before);
    SPAWNED_TASK.take()
}

impl LocalWorker {
    /// Takes the next task to run from this worker's own queues. If `has_timers` is true, another
    /// worker has to watch the timers while this one runs the task.
    #[inline(always)]
    pub(crate) fn next(&mut self, now_ns: u64, has_timers: bool) -> Option<Task> {
        let task = self.find_task(now_ns)?;
        self.begin_activation(has_timers);
        Some(task)
    }

    /// Counts the activation that begins. If there are timers, makes a sleeping worker watch, so
    /// that another thread keeps them if the handler does not return.
    #[inline]
    pub(crate) fn begin_activation(&mut self, has_timers: bool) {
        self.worker.begin_activation();
        // WHY: if the handler does not return, another thread has to keep the timers.
        if has_timers {
            self.worker.need_watcher();
        }
    }

    #[inline(always)]
    fn find_task(&mut self, now_ns: u64) -> Option<Task> {
        self.activations += 1;
        let is_due = self.activations >= ACTIVATIONS_PER_INJECTED_CHECK
            || now_ns.saturating_sub(self.looked_ns) >= INJECTED_CHECK_PERIOD_NS;
        if is_due && let Some(found) = self.find_task_elsewhere(now_ns) {
            return Some(found);
        }
        if self.streak < NEWEST_FIRST_STREAK_MAX
            && let Some(task) = self.worker.pop_next()
        {
            self.streak += 1;
            return Some(task);
        }
        self.find_waiting_task()
    }

    /// Takes a task that another thread sent to this worker, or one that a blocked thread has in
    /// its queue.
    #[cold]
    fn find_task_elsewhere(&mut self, now_ns: u64) -> Option<Task> {
        self.activations = 0;
        self.looked_ns = now_ns;
        let sent = self.worker.pop_injected();
        sent.or_else(|| self.worker.steal_stalled(now_ns))
    }

    #[inline(never)]
    fn find_waiting_task(&mut self) -> Option<Task> {
        self.streak = 0;
        let waiting = self.worker.pop().or_else(|| self.worker.pop_next());
        waiting.or_else(|| self.worker.pop_injected())
    }
}
