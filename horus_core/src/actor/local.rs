//! The worker of the calling thread. Messages between actors that it runs stay on that thread.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use horus_shm::internals::heap::{Address, ControlHandle, Worker};
use horus_shm::internals::wait::POLL_INTERVAL;

use crate::actor::group::{ActorGroup, ControlMessage, Task};
use crate::actor::watch::ActorWatch;

/// Number of activations (runs of an actor) after which a worker checks the queue into which other
/// threads put tasks for it.
const ACTIVATIONS_PER_INJECTOR_CHECK: u32 = 64;

/// The time after which a worker checks the queue into which other threads put tasks for it, in
/// nanoseconds.
const INJECTOR_CHECK_PERIOD_NS: u64 = 200_000;

/// The maximum number of times in a row that a worker prefers the actor that got mail last to
/// actors that have waited longer.
const NEWEST_FIRST_STREAK_MAX: u32 = 32;

/// A function that runs those actors of a threadless group that have mail. It returns false if no
/// actor had mail, and `None` if another thread runs the actors of the group from now on.
type RunThreadlessGroupFn = Rc<dyn Fn() -> Option<bool>>;

thread_local! {
    /// The groups whose actors this thread runs, because these groups have no threads. The key is
    /// the memory address of the group.
    static THREADLESS_GROUPS: RefCell<Vec<(usize, RunThreadlessGroupFn)>> =
        const { RefCell::new(Vec::new()) };
    static LOCAL_WORKER: RefCell<Option<LocalWorker>> = const { RefCell::new(None) };
    /// The id of the actor that this thread is spawning; 0 if there is none.
    static SPAWNING_ACTOR_ID: Cell<usize> = const { Cell::new(0) };
    /// The task of the actor that this thread is spawning; `None` until the actor is woken. The
    /// thread runs it at once, without a queue.
    static SPAWNED_TASK: Cell<Option<Task>> = const { Cell::new(None) };
    /// True while this thread runs a handler although it is not a worker. Calls on this thread must
    /// then not wait for another actor.
    static IS_IN_HANDLER: Cell<bool> = const { Cell::new(false) };
}

/// A guard for a handler that runs on a thread which is not a worker. Until it is dropped, calls on
/// this thread must not wait for another actor.
#[derive(Debug)]
pub(crate) struct HandlerGuard {
    /// True if the thread was already running a handler when this guard was created. The drop
    /// restores this state.
    before: bool,
}

/// Marks the calling thread, which is not a worker, as running an actor. A handler must not wait,
/// so calls that wait for another actor then return an error.
pub(crate) fn mark_thread_in_handler() -> HandlerGuard {
    HandlerGuard {
        before: IS_IN_HANDLER.replace(true),
    }
}

impl Drop for HandlerGuard {
    fn drop(&mut self) {
        IS_IN_HANDLER.set(self.before);
    }
}

/// The state of a thread that runs actors of a group, with the queue of actors that it has to run.
pub(crate) struct LocalWorker {
    /// The memory address of the worker's group. It is only compared, to check whether an actor
    /// belongs to this group.
    group: usize,
    pub(crate) worker: Worker<Task>,
    streak: u32,
    activations: u32,
    looked_ns: u64,
}

fn group_memory_address(group: &ActorGroup) -> usize {
    std::ptr::from_ref(group).addr()
}

/// Installs `worker` as the worker of the calling thread, until [`take_local_worker`] removes it.
pub(crate) fn set_local_worker(group: &ActorGroup, worker: Worker<Task>) {
    let local = LocalWorker {
        group: group_memory_address(group),
        worker,
        streak: 0,
        activations: 0,
        looked_ns: 0,
    };
    LOCAL_WORKER.set(Some(local));
}

/// Removes the worker of the calling thread, and returns it; `None` if the thread has no worker.
pub(crate) fn take_local_worker() -> Option<Worker<Task>> {
    LOCAL_WORKER.take().map(|local| local.worker)
}

/// Returns true if the calling thread runs actors, so that it must not wait for another actor.
pub fn is_worker() -> bool {
    let is_marked = IS_IN_HANDLER.try_with(Cell::get).unwrap_or(false);
    is_marked
        || LOCAL_WORKER
            .try_with(|local| local.try_borrow().is_ok_and(|local| local.is_some()))
            .unwrap_or(false)
}

/// Makes the calling thread run the actors of `group`, which has no threads, whenever the thread
/// waits for an answer. If the thread does not do that already, stores the function that `make`
/// returns, and later calls it to run the actors.
pub(crate) fn add_threadless_group(
    group: &ActorGroup,
    make: impl FnOnce() -> RunThreadlessGroupFn,
) {
    let is_known = |turns: &Vec<(usize, _)>| {
        turns
            .iter()
            .any(|(known, _)| *known == group_memory_address(group))
    };
    if !THREADLESS_GROUPS.with_borrow(is_known) {
        let run = make();
        THREADLESS_GROUPS.with_borrow_mut(|turns| turns.push((group_memory_address(group), run)));
    }
}

/// Reverts [`add_threadless_group`]: the calling thread no longer runs the actors of `group`.
pub(crate) fn remove_threadless_group(group: &ActorGroup) {
    remove_threadless_group_at(group_memory_address(group));
}

fn remove_threadless_group_at(address: usize) {
    // WHY ignored: a thread that ends runs no actors any more.
    let removed = THREADLESS_GROUPS.try_with(|turns| {
        let mut turns = turns.borrow_mut();
        let index = turns.iter().position(|(known, _)| *known == address)?;
        Some(turns.remove(index))
    });
    // WHY here: it may be the last that holds the group, and drops values of users.
    drop(removed);
}

/// Runs the actors of all groups without threads that the calling thread is responsible for.
/// Returns true if there was something to do, and `None` if there is no such group.
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
            None => remove_threadless_group_at(group),
        }
    }
}

/// Returns true if the calling thread runs the actors of a group without threads.
pub(crate) fn has_threadless_groups() -> bool {
    // WHY false: a thread that ends runs no actors any more.
    let any = THREADLESS_GROUPS.try_with(|turns| !turns.borrow().is_empty());
    any.unwrap_or(false)
}

/// Waits until `poll` returns a value, but at most for `timeout`. `poll` waits itself, up to the
/// time that it gets. Between its calls, this function runs those actors that the calling thread is
/// responsible for, because the value may depend on them. Returns `None` after `timeout`.
pub(crate) fn wait_and_run_actors<R>(
    timeout: Duration,
    mut poll: impl FnMut(Duration) -> Option<R>,
) -> Option<R> {
    let deadline = Instant::now().checked_add(timeout);
    loop {
        if let Some(found) = poll(Duration::ZERO) {
            return Some(found);
        }
        let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return None;
        }
        if run_threadless_groups() == Some(true) {
            continue;
        }
        // WHY so short: mail of other threads does not wake this one.
        let slice = left.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL);
        if let Some(found) = poll(slice) {
            return Some(found);
        }
    }
}

/// Returns a number that identifies the calling thread: no other thread has it while this one
/// lives.
pub(crate) fn current_thread_number() -> usize {
    THREADLESS_GROUPS.with(|turns| std::ptr::from_ref(turns).addr())
}

/// Calls `act` with the worker by which the calling thread runs actors, and returns the result;
/// `None` if the thread runs none. The caller must have called [`set_local_worker`], and `act` must
/// not run an actor.
#[inline]
pub(crate) fn with_worker_of_this_thread<R>(act: impl FnOnce(&mut LocalWorker) -> R) -> Option<R> {
    LOCAL_WORKER.with_borrow_mut(|local| local.as_mut().map(act))
}

/// Returns true if the worker of the calling thread has an actor to run. Also returns true if the
/// thread has no worker.
pub(crate) fn has_work_on_this_thread() -> bool {
    with_worker_of_this_thread(|local| local.worker.has_own_entry()).unwrap_or(true)
}

/// Puts the actor `task` into the queue of the calling thread's worker, and returns `None`. Returns
/// `task` if the thread has no worker, or if its worker belongs to a different group.
#[inline]
pub(crate) fn schedule_on_this_thread(group: &ActorGroup, task: Task) -> Option<Task> {
    if SPAWNING_ACTOR_ID.get() == task.id() {
        SPAWNED_TASK.set(Some(task));
        return None;
    }
    let mut task = Some(task);
    // WHY ignored: a thread that ends has no worker, and the task stays here.
    let _ = LOCAL_WORKER.try_with(|local| {
        if let Ok(mut local) = local.try_borrow_mut()
            && let Some(local) = &mut *local
            && local.group == group_memory_address(group)
            && let Some(task) = task.take()
        {
            local.worker.push_lifo_entry(task);
        }
    });
    task
}

/// Wakes a new actor so that it can be initialised. `watch` is the watch of its parent, if it has
/// one. Returns the actor's task, which the caller has to run.
pub(crate) fn wake_actor_for_init<M: Send + 'static>(
    address: &Address<M, ActorGroup>,
    handle: ControlHandle<ActorGroup>,
    watch: Option<ActorWatch>,
) -> Option<Task> {
    let before = SPAWNING_ACTOR_ID.replace(address.id());
    // WHY ignored, both: nobody else knows the actor, so it has not ended.
    let _ = address.send_control(ControlMessage::Init(handle));
    if let Some(watch) = watch {
        let _ = address.send_control(ControlMessage::Watch(watch));
    }
    SPAWNING_ACTOR_ID.set(before);
    SPAWNED_TASK.take()
}

impl LocalWorker {
    /// Takes the next task from this worker's own queues. If `has_timers` is true, makes sure that
    /// another worker watches the timers while this one runs the task.
    #[inline(always)]
    pub(crate) fn next(&mut self, now_ns: u64, has_timers: bool) -> Option<Task> {
        let task = self.find_task(now_ns)?;
        self.begin_activation(has_timers);
        Some(task)
    }

    /// Counts the activation that begins. If there are timers, makes sure that another worker
    /// watches them, because the handler may not return in time.
    #[inline]
    pub(crate) fn begin_activation(&mut self, has_timers: bool) {
        self.worker.begin_activation();
        // WHY: if the handler does not return, another thread has to keep the timers.
        if has_timers {
            self.worker.request_watcher();
        }
    }

    #[inline(always)]
    fn find_task(&mut self, now_ns: u64) -> Option<Task> {
        self.activations += 1;
        let is_due = self.activations >= ACTIVATIONS_PER_INJECTOR_CHECK
            || now_ns.saturating_sub(self.looked_ns) >= INJECTOR_CHECK_PERIOD_NS;
        if is_due && let Some(found) = self.find_task_outside_own_queue(now_ns) {
            return Some(found);
        }
        if self.streak < NEWEST_FIRST_STREAK_MAX
            && let Some(task) = self.worker.pop_lifo_entry()
        {
            self.streak += 1;
            return Some(task);
        }
        self.find_waiting_task()
    }

    /// Finds a task outside of this worker's own queue: one that another thread has sent to this
    /// worker, or one in the queue of a thread that is blocked.
    #[cold]
    fn find_task_outside_own_queue(&mut self, now_ns: u64) -> Option<Task> {
        self.activations = 0;
        self.looked_ns = now_ns;
        let sent = self.worker.pop_injected_entry();
        sent.or_else(|| self.worker.steal_stalled_entry(now_ns))
    }

    #[inline(never)]
    fn find_waiting_task(&mut self) -> Option<Task> {
        self.streak = 0;
        let waiting = self.worker.pop().or_else(|| self.worker.pop_lifo_entry());
        waiting.or_else(|| self.worker.pop_injected_entry())
    }
}
