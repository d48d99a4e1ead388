//! A group of actors: the state that its workers share, and its members.

mod end;
mod timers;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use horus_shm::clock::Clock;
use horus_shm::fork_epoch;
use horus_shm::internals::heap::{
    self, ControlHandle, MailboxRoomEventcounts, RunQueues, Runnable, WORKERS_MAX, Worker,
};
use horus_shm::internals::sync::Word;

use self::timers::TimerEntry;
use crate::actor::counters::ActorCounters;
use crate::actor::emergency_stop::GroupEmergencyStop;
use crate::actor::group_settings::{GroupSettings, HandlerWrapper};
use crate::actor::idle::Idle;
use crate::actor::local;
use crate::actor::mailbox::MailboxKind;
use crate::actor::members::NumberedMembers;
use crate::actor::registry::Registry;
use crate::actor::swap::SwapRequest;
use crate::actor::timer::TimerMessage;
use crate::actor::timers::Timers;
use crate::actor::waiting::{TaskPushOutcome, WaitingTasks};
use crate::actor::watch::{ActorWatch, ChildEnd, Down};
use crate::actor::worker_activity::{LongActivation, WorkerActivity, long_activations};
use crate::actor::worker_context::WorkerContext;
use crate::message::NodeEvent;
use crate::scheduler::api::metrics::{Health, LiveMetrics, UserCall};
use crate::scheduler::api::policy::saturating_nanos;
use crate::scheduler::remote::recorder::EventRecorder;
use crate::scheduler::run::event_limit::{EventRateLimiter, text_with_left_out_count};

/// An actor that has mail and waits to be run. Only the thread that owns this value may run the
/// actor.
pub(crate) type Task = Runnable<ActorGroup>;

/// The maximum number of threads that can run the actors of one group.
pub(crate) const GROUP_THREADS_MAX: usize = WORKERS_MAX;

/// A request or a notification that an actor gets in its mailbox, in addition to its ordinary
/// messages.
#[derive(Debug)]
pub(crate) enum ControlMessage {
    /// Asks a new actor to initialise itself. The actor then joins the members of its group, with
    /// this handle.
    Init(ControlHandle<ActorGroup>),
    /// Wakes an actor that has failed. It restarts before it handles its next event.
    Restart,
    /// Asks the actor to end.
    End,
    /// Asks the actor to notify another actor when it ends.
    Watch(ActorWatch),
    /// Reports to an actor that an actor which it watches has ended.
    Down(Box<Down>),
    /// Reports to a parent that one of its children has ended.
    ChildDown(Box<ChildEnd>),
    /// Brings the actor a message of one of its timers.
    Timer(TimerMessage),
    /// Asks for the actor to be replaced by another one of the same type.
    Swap(SwapRequest),
    /// Wakes the actor, so that it enters its safe state, or handles messages that it put aside
    /// before.
    Visit,
}

impl ControlMessage {
    /// Returns true if this brings the actor a message, which counts as undelivered if the actor
    /// does not handle it.
    pub(super) fn counts_as_message(&self) -> bool {
        matches!(self, Self::Timer(due) if due.is_undelivered())
    }
}

/// A group of actors: their run queues, timers, names and counters. All threads that use the group
/// share this object.
pub(crate) struct ActorGroup {
    name: String,
    /// The fork epoch of the process that made the group.
    pub(crate) epoch: u64,
    queues: Arc<RunQueues<Task>>,
    mailbox_room_eventcounts: MailboxRoomEventcounts,
    /// The workers that no thread uses at present. Each worker has a queue of the actors that it
    /// has to run.
    workers: Mutex<Vec<Worker<Task>>>,
    roll: Mutex<GroupMembers>,
    pub(crate) timers: Timers<TimerEntry>,
    /// The queue of actors that have mail. It is used while no threads of the group run the actors.
    pub(crate) waiting: WaitingTasks<Task>,
    /// Number of threads that run the actors; 0 if the scheduler's own thread runs them.
    threads: usize,
    pub(crate) registry: Registry,
    pub(crate) emergency_stop: GroupEmergencyStop,
    /// The present time of a simulated run, in nanoseconds; `u64::MAX` if the run is not simulated.
    simulated_ns: AtomicU64,
    settings: GroupSettings,
    /// 1 once the group has ended all its actors, except those whose handlers have not yet
    /// returned; otherwise 0.
    is_over: AtomicU64,
    /// 1 while threads of the group run the actors, otherwise 0.
    running: AtomicU64,
    /// 1 while the actors are not allowed to run, because the group is paused or in an emergency
    /// stop; otherwise 0.
    paused: AtomicU64,
    spawned: AtomicU64,
    ended: AtomicU64,
    undelivered: AtomicU64,
    failures: AtomicU64,
    panics: AtomicU64,
    /// For each worker, the number of messages that it has handled and the actor that it runs at
    /// present. Other threads read these values.
    worker_activities: Box<[WorkerActivity]>,
    recorder: OnceLock<EventRecorder>,
    /// The metrics of this group. The scheduler reports them as those of a node, under the group's
    /// name.
    metrics: OnceLock<Arc<LiveMetrics>>,
    last_error: Mutex<Option<String>>,
    event_limit: Mutex<EventRateLimiter>,
}

/// The list of the actors that belong to a group.
#[derive(Debug, Default)]
struct GroupMembers {
    members: NumberedMembers<ControlHandle<ActorGroup>>,
    /// True once the group has ended, so that no more actors can be added.
    is_closed: bool,
}

impl heap::Group for ActorGroup {
    type Control = ControlMessage;
    type Worker = WorkerContext;

    #[inline]
    fn schedule(&self, task: Task) {
        if let Some(task) = local::schedule_on_this_thread(self, task) {
            self.inject(task);
        }
    }

    fn mailbox_room_eventcounts(&self) -> &MailboxRoomEventcounts {
        &self.mailbox_room_eventcounts
    }

    #[inline]
    fn should_check_mailbox_again(&self, worker: &mut WorkerContext) -> bool {
        worker.should_check_mail_again(local::has_work_on_this_thread)
    }

    #[cold]
    fn handle_replaced_message_panic(&self) {
        let text = "a replaced message panicked in its drop";
        self.record_repeated_failure(true, Some(UserCall::Drop), text);
    }
}

/// Maximum number of registered names that are searched for the name of an actor that failed.
const SEARCHED_NAMES_MAX: usize = 4096;

/// The longest pause of an actor after a failure in a group that is stopped, in nanoseconds. WHY
/// not 0: an actor whose `init` fails again and again would keep a thread busy.
const RESTART_PAUSE_NS_MAX_WHEN_STOPPED: u64 = 20_000_000;

/// Returns the kind of the event of a failure.
const fn failure_event_kind(is_panic: bool) -> u8 {
    if is_panic {
        NodeEvent::PANICKED
    } else {
        NodeEvent::FAILED
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ActorGroup {
    pub(crate) fn new(name: &str, threads: usize, settings: GroupSettings) -> Arc<Self> {
        let queue_count = threads.max(1);
        let (queues, workers) = RunQueues::new(queue_count);
        let word = || AtomicU64::new(0);
        Arc::new(Self {
            name: name.to_owned(),
            epoch: fork_epoch(),
            queues,
            mailbox_room_eventcounts: MailboxRoomEventcounts::default(),
            workers: Mutex::new(workers),
            roll: Mutex::default(),
            timers: Timers::new(TimerEntry::is_cancelled),
            waiting: WaitingTasks::default(),
            threads,
            registry: Registry::default(),
            emergency_stop: GroupEmergencyStop::default(),
            simulated_ns: AtomicU64::new(u64::MAX),
            settings,
            is_over: word(),
            running: word(),
            paused: word(),
            spawned: word(),
            ended: word(),
            undelivered: word(),
            failures: word(),
            panics: word(),
            worker_activities: (0..queue_count)
                .map(|_| WorkerActivity::default())
                .collect(),
            recorder: OnceLock::new(),
            metrics: OnceLock::new(),
            last_error: Mutex::default(),
            event_limit: Mutex::default(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    #[inline(always)]
    pub(crate) const fn handler_wrapper(&self) -> Option<HandlerWrapper> {
        self.settings.wrap_handlers
    }

    pub(crate) const fn default_mailbox(&self) -> MailboxKind {
        self.settings.mailbox
    }

    /// Returns the setting that decides how the group's threads wait for mail: by sleeping,
    /// yielding or spinning.
    pub(crate) const fn idle_setting(&self) -> Idle {
        self.settings.idle
    }

    /// Returns the CPU to which the thread of worker `index` is pinned, if any, and its priority,
    /// if one is set.
    pub(crate) fn thread_cpu_and_priority(&self, index: usize) -> (Option<usize>, Option<u8>) {
        let GroupSettings {
            cores, priority, ..
        } = &self.settings;
        let core = cores.get(index % cores.len().max(1)).copied();
        (core, *priority)
    }

    /// Records one event in the black box for each thread setting that the operating system
    /// refused.
    pub(crate) fn record_refused_settings(&self, refused: &[String]) {
        for what in refused {
            self.record_event(NodeEvent::REFUSED, what);
        }
    }

    /// Returns the clock for an actor that is spawned now: the real clock, or that of a simulated
    /// run.
    pub(crate) fn clock(&self) -> Clock {
        // Relaxed: one thread runs a simulation.
        match self.simulated_ns.get() {
            // WHY not extrapolated: nothing corrects the drift of a clock that nobody runs by.
            u64::MAX => Clock::kernel(),
            now_ns => Clock::simulated(now_ns),
        }
    }

    /// Sets the present time of a simulated run. Has no effect in any other run.
    pub(crate) fn set_simulated_time(&self, now_ns: u64) {
        // Relaxed: as above.
        if self.simulated_ns.get() != u64::MAX {
            self.simulated_ns.set(now_ns);
        }
    }

    pub(crate) const fn run_queues(&self) -> &Arc<RunQueues<Task>> {
        &self.queues
    }

    /// Returns the number of threads that run the actors; 0 if the scheduler's own thread runs
    /// them.
    pub(crate) const fn thread_count(&self) -> usize {
        self.threads
    }

    /// Moves the actors that have mail to the run queues of the group's threads. From now on, these
    /// threads run them.
    pub(crate) fn hand_actors_to_threads(&self) {
        for task in self.waiting.close_while_threads_run() {
            self.inject(task);
        }
    }

    /// Returns true if the scheduler's thread has to run an actor of this group, or if a timer is
    /// due at `now_ns`.
    pub(crate) fn has_due_activations(&self, now_ns: u64) -> bool {
        now_ns >= self.timers.next_due_ns() || !self.waiting.is_empty()
    }

    /// Makes a woken actor run: sends its task to the worker that ran the actor last, or, if the
    /// group has no running threads, adds it to the tasks for the thread of the scheduler.
    pub(crate) fn inject(&self, task: Task) {
        match self.waiting.push(task) {
            TaskPushOutcome::Waits => {}
            TaskPushOutcome::ForThreads(task) => self.send_to_actor_thread(task),
            // It ends: no thread will run it.
            TaskPushOutcome::Over(task) => {
                let _marked = local::mark_thread_in_handler();
                drop(task);
            }
        }
    }

    fn send_to_actor_thread(&self, task: Task) {
        let index = usize::from(task.last_worker_index());
        self.queues
            .inject(index, task, |orphaned| self.end_orphaned_task(orphaned));
    }

    /// Removes and returns all workers. The caller uses them, and the queues in them, to run the
    /// actors.
    pub(crate) fn take_workers(&self) -> Vec<Worker<Task>> {
        std::mem::take(&mut *lock(&self.workers))
    }

    /// Returns the counter of handled messages and the present activation of the worker with this
    /// index.
    #[inline]
    pub(crate) fn worker_activity(&self, index: usize) -> &WorkerActivity {
        &self.worker_activities[index]
    }

    /// Returns the time after which a handler that has not returned is reported as stuck, in
    /// nanoseconds.
    pub(crate) fn watchdog_timeout_ns(&self) -> u64 {
        saturating_nanos(self.settings.watchdog)
    }

    /// Returns the activations (runs of an actor) that began before `began_before_ns` and have not
    /// ended.
    pub(crate) fn long_activations(&self, began_before_ns: u64) -> Vec<LongActivation> {
        long_activations(&self.worker_activities, began_before_ns)
    }

    /// Returns a text that identifies an actor in reports, such as its name. `actor` is the id of
    /// the actor.
    pub(crate) fn describe_actor(&self, actor_id: usize) -> String {
        let label = self.emergency_stop.label_of_actor(actor_id);
        let name = label.or_else(|| self.registry.name_of_actor(actor_id));
        name.map_or_else(
            || "an actor without a name".to_owned(),
            |name| format!("actor '{name}'"),
        )
    }

    /// Returns the error text `error` with the name of its actor, whose id is `actor_id`, in front;
    /// without a name if it has none, or if more than [`SEARCHED_NAMES_MAX`] names are registered.
    pub(crate) fn with_actor_name(&self, actor_id: usize, error: &str) -> String {
        // WHY: many actors may fail at once, and the search takes a time for each name.
        let is_searched = self.registry.len() <= SEARCHED_NAMES_MAX;
        let name = is_searched
            .then(|| self.registry.name_of_actor(actor_id))
            .flatten();
        match name {
            Some(name) => format!("actor '{name}': {error}"),
            None => error.to_owned(),
        }
    }

    /// Sets the recorder, which stores the failures of actors in the scheduler's event log.
    pub(crate) fn set_recorder(&self, recorder: EventRecorder) {
        // WHY ignored: a group is started once.
        let _ = self.recorder.set(recorder);
    }

    /// Sets the metrics to which the group copies its counters. The scheduler reports them as those
    /// of a node.
    pub(crate) fn set_metrics(&self, metrics: Arc<LiveMetrics>) {
        // WHY ignored: a group is one node.
        let _ = self.metrics.set(metrics);
    }

    /// Copies the counters of the group to the metrics of its node.
    pub(crate) fn publish_counters(&self) {
        if let Some(metrics) = self.metrics.get() {
            let counters = self.counters();
            metrics.set_group_counters(counters.handled, counters.failures, counters.panics);
        }
    }

    /// Records whether the group's own threads run its actors at present.
    pub(crate) fn set_threads_running(&self, is_running: bool) {
        // Relaxed: the threads are started and joined by the caller.
        self.running.set(u64::from(is_running));
    }

    /// Returns true if the group's own threads run its actors at present.
    pub(crate) fn are_threads_running(&self) -> bool {
        // Relaxed: as above.
        self.running.get() != 0
    }

    /// Records whether a command has paused the group, and whether there is an emergency stop.
    /// Actors may run only if neither is the case. After a failed run, actors stay in their safe
    /// state.
    ///
    /// WHY the sender of a command calls this, and not a worker: the worker that applies commands
    /// may be in a handler that blocks.
    pub(crate) fn set_pause_and_emergency(&self, is_paused: bool, is_emergency: bool) {
        let is_paused = is_paused || is_emergency;
        // Relaxed: each worker notices it before one of its next activations.
        self.paused.set(u64::from(is_paused));
        if is_emergency {
            self.begin_emergency_stop();
        } else if !self.emergency_stop.has_run_failed() {
            self.emergency_stop.set_node_failing(false);
            self.emergency_stop
                .release_held_tasks()
                .into_iter()
                .for_each(|task| self.inject(task));
        }
    }

    /// Publishes in the metrics of the group's node its health, whether a command has paused it,
    /// and whether an emergency stop is engaged.
    pub(crate) fn set_health(&self, health: Health, is_paused: bool, is_emergency: bool) {
        if let Some(metrics) = self.metrics.get() {
            metrics.set_health(health, is_paused, is_emergency);
        }
    }

    /// Suspends a failed actor. It is run again at the time `until_ns`, or, if the group is
    /// stopped, after [`RESTART_PAUSE_NS_MAX_WHEN_STOPPED`] at the latest.
    pub(crate) fn suspend_actor(&self, task: Task, until_ns: u64) {
        let was_stopped = self.is_stopped();
        let until_ns = if was_stopped {
            let now_ns = self.clock().now_ns();
            until_ns.min(now_ns.saturating_add(RESTART_PAUSE_NS_MAX_WHEN_STOPPED))
        } else {
            until_ns
        };
        self.timers.add(until_ns, TimerEntry::Pause(task));
        // WHY after: an emergency stop, or the end of the group, that begins later finds the actor
        // among the timers.
        if self.is_over.get() != 0 {
            self.end_orphaned_timers();
        } else if self.emergency_stop.is_engaged() || was_stopped != self.is_stopped() {
            self.end_restart_pauses();
        }
    }

    /// Returns true if the group is stopped: its actors have been asked to end. Takes a lock.
    fn is_stopped(&self) -> bool {
        lock(&self.roll).is_closed
    }

    fn begin_emergency_stop(&self) {
        self.emergency_stop.engage();
        self.end_restart_pauses();
    }

    #[inline(always)]
    pub(crate) fn is_paused(&self) -> bool {
        // Relaxed: as above.
        self.paused.get() != 0
    }

    /// Returns the index of the worker that runs the next new actor. New actors go to the workers
    /// in turn.
    pub(crate) fn next_worker_index(&self) -> u8 {
        // Relaxed: any worker will do.
        (self.spawned.get() % self.worker_activities.len() as u64) as u8
    }

    /// Adds an actor to the members of the group. Returns the actor's member number, or `None` if
    /// the group has ended.
    pub(crate) fn add_member(&self, handle: ControlHandle<Self>) -> Option<u64> {
        let mut roll = lock(&self.roll);
        if roll.is_closed {
            return None;
        }
        // Relaxed: a counter, changed under the lock.
        self.spawned.set(self.spawned.get() + 1);
        Some(roll.members.add(handle))
    }

    /// Removes an actor that ends from the members of the group, and counts the messages that were
    /// dropped with it.
    pub(crate) fn remove_member(&self, number: u64, end: &heap::ActorEndReport) {
        let mut roll = lock(&self.roll);
        let handle = roll.members.remove(number);
        // Relaxed, all: counters, changed under the lock.
        self.ended.set(self.ended.get() + 1);
        let undelivered = self.undelivered.get() + end.undelivered;
        self.undelivered.set(undelivered);
        drop(roll);
        drop(handle);
    }

    /// Adds `messages` to the number of messages that were accepted but dropped without being
    /// handled.
    pub(crate) fn count_undelivered_messages(&self, messages: u64) {
        let _roll = lock(&self.roll);
        // Relaxed: a counter, changed under the lock.
        self.undelivered.set(self.undelivered.get() + messages);
    }

    /// Counts a failure of an actor, and records it as an event in the black box.
    #[cold]
    pub(crate) fn record_failure(&self, is_panic: bool, error: &str) {
        self.count_failure(is_panic, error);
        self.record_event(failure_event_kind(is_panic), error);
    }

    /// Counts a failure that an actor may have at every message: in its handler, or in `call`.
    /// Records at most ten of the same kind and call in a second as events, for all actors of the
    /// group together. The next event contains the number of those that were left out.
    #[cold]
    pub(crate) fn record_repeated_failure(
        &self,
        is_panic: bool,
        call: Option<UserCall>,
        error: &str,
    ) {
        self.count_failure(is_panic, error);
        let kind = failure_event_kind(is_panic);
        let now_ns = Clock::kernel().now_ns();
        let admitted = lock(&self.event_limit).take_left_out_count_if_due(kind, call, now_ns);
        if let Some(left_out) = admitted {
            self.record_event(kind, text_with_left_out_count(error, left_out).as_str());
        }
    }

    /// Records the numbers of the failures that were left out: no later event contains them.
    pub(super) fn record_left_out_failure_counts(&self) {
        for (kind, left_out) in lock(&self.event_limit).take_left_out_counts_by_kind() {
            self.record_event(kind, &format!("{left_out} more before the end"));
        }
    }

    fn count_failure(&self, is_panic: bool, error: &str) {
        self.failures.fetch_add_one();
        if is_panic {
            self.panics.fetch_add_one();
        }
        *lock(&self.last_error) = Some(error.to_owned());
    }

    fn record_event(&self, event_kind: u8, text: &str) {
        if let Some(recorder) = self.recorder.get() {
            let event = NodeEvent::new(event_kind, &self.name, Clock::kernel().now_ns());
            recorder.record(event.with_text(text));
        }
    }

    /// Counts the panics in the drops of messages that an actor has left when it ended, and records
    /// them as one event.
    pub(crate) fn record_drop_panics(&self, panics: u64) {
        for _ in 1..panics {
            self.failures.fetch_add_one();
            self.panics.fetch_add_one();
        }
        if panics > 0 {
            let text = "an undelivered message panicked in its drop";
            self.record_repeated_failure(true, Some(UserCall::Drop), text);
        }
    }

    pub(crate) fn last_error(&self) -> Option<String> {
        lock(&self.last_error).clone()
    }

    /// Returns the counters of the group. They may have been read at slightly different moments.
    pub(crate) fn counters(&self) -> ActorCounters {
        // Relaxed, all: counters.
        ActorCounters {
            alive: self.spawned.get().saturating_sub(self.ended.get()),
            handled: self
                .worker_activities
                .iter()
                .map(WorkerActivity::handled_messages)
                .sum(),
            failures: self.failures.get(),
            panics: self.panics.get(),
            undelivered: self.undelivered.get(),
        }
    }
}

impl std::fmt::Debug for ActorGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ActorGroup")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
