//! Runs a group of actors on several threads, each of which takes actors that have messages.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use horus_shm::clock::Clock;
use horus_shm::internals::heap::{ActivationOutcome, ParkOutcome, Worker};

use crate::actor::Idle;
use crate::actor::group::{ActorGroup, Task};
use crate::actor::local;
use crate::actor::worker_activity::WorkerActivity;
use crate::actor::worker_context::WorkerContext;
use crate::log::set_real_time_thread;
use crate::scheduler::api::metrics::Health;
use crate::scheduler::api::report::{NodeReport, StopReason};
use crate::scheduler::run::commands::{CommandListener, NodeMode, WantedState};
use crate::scheduler::run::run_state::{RunState, SAFETY_POLL_PERIOD};
use crate::scheduler::run::runner::Runner;

use super::actor_turns;
use super::real_time::pin_and_prioritise_thread;
use super::thread::{RunEndTimeLimit, RunThread, spawn_thread};

/// The largest number of messages that an actor handles before the thread runs another actor.
pub(super) const MESSAGES_PER_ACTIVATION_MAX: u32 = 256;

/// The time between two publications of a group's counters, in nanoseconds.
const COUNTERS_PUBLISH_PERIOD_NS: u64 = 20_000_000;

/// The longest sleep of a thread that has no actor to run. The thread wakes earlier if there is a
/// message or a command, or if the run ends.
const IDLE_SLEEP_MAX: Duration = Duration::from_secs(1);

/// The time after which a thread checks again whether its paused group has been resumed.
const PAUSED_GROUP_CHECK_PERIOD: Duration = Duration::from_millis(1);

/// The longest time, in nanoseconds, for which a thread searches the queues of other threads before
/// it sleeps. It is about as long as it takes to wake a thread.
const OTHER_QUEUES_SEARCH_NS_MAX: u64 = 60_000;

/// The shortest time, in nanoseconds, for which a thread searches the queues of other threads. A
/// thread whose search time has shrunk below it no longer searches: it checks these queues only
/// once.
const OTHER_QUEUES_SEARCH_NS_MIN: u64 = 4_000;

/// Number of searches in a row without a result after which the time of a search is halved.
const FRUITLESS_SEARCHES_MAX: u32 = 3;

/// The time, in nanoseconds, after which a thread leaves the `wrap_handlers` function of its group,
/// so that other threads can get the locks that this function holds.
///
/// WHY this time: threads of CPython take turns at intervals of 5 ms, and this time is several such
/// intervals. A thread that waits for the GIL requests it after one interval, and the holder of the
/// GIL then hands it over. A release before the request has no such effect: the holder takes the
/// GIL again before the waiting thread has woken, and the waiting thread's interval starts again.
/// With 5 ms instead of 20 ms, another thread needed up to 30 s for work that takes 0.05 s.
const WRAP_HANDLERS_CALL_NS_MAX: u64 = 20_000_000;

/// The index of the worker whose thread also runs the node that represents the group, and applies
/// the commands to the group.
const GROUP_NODE_WORKER_INDEX: usize = 0;

/// Number of checks of other threads' queues after which a searching thread may yield its CPU.
const QUEUE_CHECKS_PER_YIELD: u32 = 20;

impl CommandListener for Arc<ActorGroup> {
    fn apply_wanted_state(&self, wanted: &WantedState) {
        let WantedState {
            mode, is_emergency, ..
        } = *wanted;
        // WHY: actors that have to end still run, but not in an emergency stop.
        if mode == NodeMode::Stop {
            return self.set_pause_and_emergency(false, is_emergency);
        }
        let is_paused = mode == NodeMode::Pause;
        self.set_pause_and_emergency(is_paused, is_emergency);
        let health = match (is_emergency, is_paused) {
            // Otherwise the node of the group says later that all actors are safe.
            (true, _) if self.emergency_stop.are_all_safe() => Health::Safe,
            (_, true) => Health::Paused,
            (_, false) => Health::Active,
        };
        self.set_health(health, is_paused, is_emergency);
    }

    fn wake(&self) {
        self.run_queues().wake_all();
    }
}

/// The threads of a group of actors, except the one that also applies the group's commands.
#[derive(Debug)]
pub(crate) struct ActorThreads {
    group: Arc<ActorGroup>,
    /// The threads, each with the index of its worker, which holds the thread's queue of actors.
    /// They return the settings that the system refused.
    threads: Vec<(usize, RunThread<Vec<String>>)>,
}

impl ActorThreads {
    /// Starts a thread for each of the workers in `workers`.
    ///
    /// # Errors
    ///
    /// Returns an error if the system cannot create a thread. Threads that were already started end
    /// when the run stops.
    pub(crate) fn start(
        group: &Arc<ActorGroup>,
        workers: Vec<Worker<Task>>,
        clock: &Clock,
        shared: &Arc<RunState>,
    ) -> Result<Self, (io::Error, Self)> {
        group.set_threads_running(true);
        group.hand_actors_to_threads();
        let mut started = Self {
            group: Arc::clone(group),
            threads: Vec::with_capacity(workers.len()),
        };
        for worker in workers {
            let index = worker.index();
            let name = format!("{} {index}", group.name());
            let (group, shared) = (Arc::clone(group), Arc::clone(shared));
            let context = WorkerContext::new(clock);
            let run = move || {
                let (core, priority) = group.thread_cpu_and_priority(worker.index());
                set_real_time_thread(priority.is_some());
                let refused = pin_and_prioritise_thread(core, priority);
                group.record_refused_settings(&refused);
                shared.wait_until_all_threads_started();
                ActorThread::new(&group, context, &shared).run(worker, None);
                refused
            };
            match spawn_thread(&name, run) {
                Ok(thread) => started.threads.push((index, thread)),
                Err(error) => return Err((error, started)),
            }
        }
        Ok(started)
    }

    /// Wakes all threads of the group, so that they see that the run stops.
    pub(crate) fn wake(&self) {
        self.group.run_queues().wake_all();
    }

    /// Makes the actors enter their safe state before they are shut down. Called when the run has
    /// failed.
    pub(crate) fn make_actors_safe_before_end(&self) {
        self.group.emergency_stop.set_run_failed();
    }

    /// Waits until the threads have ended, or until `time` is over. If the node that represents the
    /// group is among `runners`, copies the group's counters and last error to that node.
    /// Otherwise ends the actors of the group. If a thread has not ended, the group has failed, and
    /// its report in `left_behind` says so.
    pub(crate) fn end(
        self,
        time: &mut RunEndTimeLimit,
        runners: &mut [Runner],
        left_behind: &mut Vec<NodeReport>,
    ) {
        let Self { group, threads } = self;
        let is_own = |runner: &&mut Runner| runner.plan().name == group.name();
        let runner = runners.iter_mut().find(is_own);
        let mut hanging: Vec<_> = runner
            .is_none()
            .then_some(GROUP_NODE_WORKER_INDEX)
            .into_iter()
            .collect();
        let mut refused = Vec::new();
        for (index, thread) in threads {
            match thread.join(time) {
                Some(mut settings) => refused.append(&mut settings),
                None => hanging.push(index),
            }
        }
        for index in &hanging {
            group.record_failure(false, &describe_hanging_thread(&group, *index));
            // WHY before the end of the actors: they enter their safe state first.
            group.emergency_stop.set_run_failed();
        }
        group.set_threads_running(false);
        // WHY here: an actor whose handler has just returned was visited by nobody, and the node of
        // the group may have applied the emergency stop already.
        if group.emergency_stop.is_safe_state_wanted() {
            actor_turns::make_actors_safe_before_end(&group);
        }
        group.publish_counters();
        let last_error = group.last_error();
        let Some(runner) = runner else {
            // WHY here: the thread that hangs has the node, which would do this later.
            group.end();
            let is_own = |report: &&mut NodeReport| report.name == group.name();
            if let Some(report) = left_behind.iter_mut().find(is_own) {
                let counters = group.counters();
                report.metrics.ticks = counters.handled;
                report.metrics.failures = counters.failures;
                report.metrics.panics = counters.panics;
                (report.hangs, report.last_error) = (true, last_error);
                report.refused = refused;
            }
            return;
        };
        runner.add_refused_settings(refused);
        if let Some(error) = last_error {
            runner.set_last_error(&error);
        }
        if !hanging.is_empty() {
            left_behind.push(NodeReport {
                hangs: true,
                ..runner.report()
            });
        }
    }
}

/// Returns the text of the failure that the thread of the worker `index` has not ended, with the
/// name of the actor that it runs.
fn describe_hanging_thread(group: &ActorGroup, index: usize) -> String {
    let activations = group.long_activations(u64::MAX);
    let activation = activations.iter().find(|one| one.index == index);
    let actor = activation.map_or_else(String::new, |one| {
        format!(" of {}", group.describe_actor(one.actor))
    });
    format!("a call{actor} does not return: its thread was left behind")
}

/// The state of one thread that runs actors of a group.
pub(crate) struct ActorThread<'a> {
    group: &'a ActorGroup,
    context: WorkerContext,
    shared: &'a RunState,
    /// The index of the worker (the queue of actors) that this thread uses.
    index: u8,
    activity: &'a WorkerActivity,
    now_ns: u64,
    /// The time, in nanoseconds, at which the counters of the group have to be published again.
    publish_ns: u64,
    /// The time, in nanoseconds, for which this thread searches the queues of other threads before
    /// it sleeps.
    queue_search_ns: u64,
    /// Number of searches in a row in which this thread has found no actor to run.
    fruitless_searches: u32,
    /// True if this thread's last sleep lasted until its timeout, because nothing woke the thread.
    has_overslept: bool,
}

impl<'a> ActorThread<'a> {
    pub(crate) fn new(group: &'a ActorGroup, context: WorkerContext, shared: &'a RunState) -> Self {
        Self {
            group,
            context,
            shared,
            index: 0,
            activity: group.worker_activity(0),
            now_ns: 0,
            publish_ns: 0,
            queue_search_ns: OTHER_QUEUES_SEARCH_NS_MAX,
            fruitless_searches: 0,
            has_overslept: false,
        }
    }

    /// Runs actors of the group until the run stops, and then keeps them safe until they are shut
    /// down. The scheduler treats the group as a node,
    /// whose runner is `runner`. Only one thread of the group gets a runner, and this thread also
    /// applies the commands to the group.
    pub(crate) fn run(&mut self, worker: Worker<Task>, mut runner: Option<&mut Runner>) {
        self.index = worker.index() as u8;
        self.activity = self.group.worker_activity(worker.index());
        local::set_local_worker(self.group, worker);
        self.now_ns = self.context.clock.resync_and_read_ns();
        while !self.shared.is_stopping() {
            if let Some(runner) = runner.as_deref_mut() {
                self.apply_commands(runner);
            }
            if self.group.is_paused() {
                self.make_actors_safe();
                self.shared.wait_for_stop(PAUSED_GROUP_CHECK_PERIOD);
                self.now_ns = self.context.clock.resync_and_read_ns();
                continue;
            }
            match self.next() {
                Some(task) => self.run_actors_beginning_with(task),
                None => self.search_other_queues_or_sleep(runner.as_deref()),
            }
        }
        self.keep_actors_safe_until_shutdown();
        if let Some(worker) = local::take_local_worker() {
            self.group.give_back_worker(worker);
        }
    }

    /// Keeps the actors safe after the last handlers, until the thread that runs the scheduler
    /// shuts them down: makes those with a safe state enter it in an emergency stop, or if the run
    /// has failed. Each thread of the group calls this.
    fn keep_actors_safe_until_shutdown(&mut self) {
        // WHY the condition: a thread that was left behind must not call actors that have ended.
        while self.group.are_threads_running() {
            if self.shared.has_failed() {
                self.group.enter_safe_states_after_failure();
            }
            self.shared.delay_run_end_while(|| self.make_actors_safe());
            if self.shared.wait_for_shutdown(SAFETY_POLL_PERIOD) {
                return;
            }
            self.now_ns = self.context.clock.resync_and_read_ns();
        }
    }

    fn apply_commands(&mut self, runner: &mut Runner) {
        if self.now_ns >= self.publish_ns {
            self.publish_ns = self.now_ns.saturating_add(COUNTERS_PUBLISH_PERIOD_NS);
            self.group.publish_counters();
        }
        runner.poll_commands(&self.context.clock, self.now_ns);
    }

    /// In an emergency stop, activates all actors that have messages, so that those with a safe
    /// state enter it. None of these actors runs again until the emergency stop ends.
    #[cold]
    fn make_actors_safe(&mut self) {
        if !self.group.emergency_stop.is_engaged() {
            return;
        }
        for task in self.group.emergency_stop.tasks_to_revisit() {
            self.make_actor_safe(task);
        }
        let now_ns = self.now_ns;
        let any = move |local: &mut local::LocalWorker| {
            let own = local.next(now_ns, false).or_else(|| local.worker.steal());
            own.or_else(|| local.worker.steal_stalled_entry(now_ns))
        };
        // WHY the first condition: after the stop has ended, `make_actor_safe` puts each actor back
        // into the queue.
        while self.group.emergency_stop.is_engaged()
            && let Some(task) = local::with_worker_of_this_thread(any).flatten()
        {
            self.make_actor_safe(task);
        }
    }

    fn make_actor_safe(&mut self, mut task: Task) {
        let stop = &self.group.emergency_stop;
        let revisit_request_count = stop.revisit_request_count();
        self.context.begin_activation(self.now_ns);
        // WHY: the call may not return, as a handler may not.
        self.activity
            .record_activation_begin(task.id(), self.context.clock.now_ns());
        task.visit_actor(self.group, &mut self.context);
        self.activity.record_activation_end();
        let is_safe = !std::mem::take(&mut self.context.awaits_safe_state);
        if let Some(task) = stop.hold_task(task, is_safe, revisit_request_count) {
            local::with_worker_of_this_thread(|local| local.worker.push(task));
        }
    }

    /// Returns the next actor to run: one whose pause is over, or else the next one in the queues
    /// of this thread. Returns `None` if there is none.
    #[inline]
    fn next(&mut self) -> Option<Task> {
        let timer_ns = self.group.timers.next_due_ns();
        let has_timers = timer_ns != u64::MAX;
        if self.now_ns >= timer_ns {
            // WHY: a timer may call a function of its actor, which may not return. Another thread
            // then has to take the mail, and to keep the other timers.
            local::with_worker_of_this_thread(|local| local.begin_activation(has_timers));
            let woken = self.group.run_due_timers(self.now_ns, self.activity);
            if woken.is_some() {
                local::with_worker_of_this_thread(|local| local.begin_activation(has_timers));
                return woken;
            }
        }
        if has_timers {
            // WHY: otherwise, timers are late by the time that the handlers before them take.
            self.context.read_clock_soon();
        }
        local::with_worker_of_this_thread(|local| local.next(self.now_ns, has_timers)).flatten()
    }

    /// Runs an actor, and then others from the queues of this thread, in one burst. If the group
    /// has a `wrap_handlers` function, runs several bursts inside that function, for up to
    /// [`WRAP_HANDLERS_CALL_NS_MAX`] nanoseconds.
    #[inline]
    fn run_actors_beginning_with(&mut self, task: Task) {
        match self.group.handler_wrapper() {
            None => self.run_burst_of_actors(task),
            Some(wrap_handlers) => {
                let mut task = Some(task);
                wrap_handlers(&mut || self.run_bursts_of_actors(task.take()));
            }
        }
    }

    fn run_bursts_of_actors(&mut self, mut next: Option<Task>) {
        let end_ns = self.now_ns.saturating_add(WRAP_HANDLERS_CALL_NS_MAX);
        while let Some(task) = next {
            self.run_burst_of_actors(task);
            let goes_on =
                self.now_ns < end_ns && !self.shared.is_stopping() && !self.group.is_paused();
            next = if goes_on { self.next() } else { None };
        }
    }

    /// Runs an actor, and then others from the queues of this thread. Returns when no actor is
    /// left, when the worker has read the clock, when the group is paused, or when the next timer
    /// has changed.
    ///
    /// WHY at a reading of the clock: it comes after 16 messages at the latest, and all other
    /// checks of the thread can wait for that long. A pause and a new timer cannot wait.
    fn run_burst_of_actors(&mut self, task: Task) {
        self.has_overslept = false;
        if self.group.is_paused() {
            local::with_worker_of_this_thread(|local| local.worker.push(task));
            return;
        }
        let begin_ns = self.now_ns;
        let timer_ns = self.group.timers.next_due_ns();
        let mut next = Some(task);
        while let Some(task) = next {
            self.run_actor(task);
            if self.now_ns != begin_ns
                || self.group.is_paused()
                || self.group.timers.next_due_ns() != timer_ns
            {
                return;
            }
            next = local::with_worker_of_this_thread(|local| local.next(begin_ns, false)).flatten();
        }
    }

    /// Runs one actor, which handles some of its messages.
    #[inline(always)]
    fn run_actor(&mut self, task: Task) {
        task.set_last_worker_index(self.index);
        self.context.begin_activation(self.now_ns);
        self.activity
            .record_activation_begin(task.id(), self.now_ns);
        match task.run(self.group, &mut self.context, MESSAGES_PER_ACTIVATION_MAX) {
            ActivationOutcome::Slept | ActivationOutcome::Ended => {}
            ActivationOutcome::More(task) => {
                local::with_worker_of_this_thread(|local| local.worker.push(task));
            }
            ActivationOutcome::Suspended(task) => {
                self.group.suspend_actor(task, self.context.resume_ns);
            }
        }
        self.activity.record_activation_end();
        let (now_ns, handled) = self.context.end_activation_ns_and_messages();
        self.now_ns = now_ns;
        self.activity.count_handled_messages(handled);
        if self.context.fatal_error.is_some() {
            self.stop_run_on_error();
        }
    }

    /// Stops the run if an actor has failed and the actor's failure policy demands that the run
    /// stops.
    #[cold]
    fn stop_run_on_error(&mut self) {
        if let Some(error) = self.context.fatal_error.take() {
            let name = self.group.name().to_owned();
            self.shared.stop(StopReason::Node { name, error });
        }
    }

    /// Searches the queues of other threads for an actor and runs it. If there is no actor to run,
    /// sleeps.
    #[cold]
    fn search_other_queues_or_sleep(&mut self, runner: Option<&Runner>) {
        self.now_ns = self.context.clock.now_ns();
        if self.group.idle_setting() != Idle::Sleep {
            return self.poll();
        }
        if !self.has_overslept
            && let Some(task) = self.search_other_queues()
        {
            return self.run_stolen_actor(task);
        }
        self.group.publish_counters();
        let slept_ns = self.context.clock.resync_and_read_ns();
        let timers = &self.group.timers;
        let claimed = timers.claim_sleep_until_due_ns();
        let due = claimed.unwrap_or(u64::MAX).saturating_sub(slept_ns);
        let longest = IDLE_SLEEP_MAX.min(Duration::from_nanos(due));
        let (clock, shared) = (&self.context.clock, self.shared);
        let is_wanted = || {
            // WHY only new ones: those of a group that was stopped stay pending.
            let has_commands =
                runner.is_some_and(|runner| runner.commands().has_unapplied_command());
            shared.is_stopping() || has_commands || timers.next_due_ns() <= clock.now_ns()
        };
        let park = |local: &mut local::LocalWorker| {
            let now_ns = || clock.now_ns();
            local.worker.park(longest, now_ns, is_wanted)
        };
        let parked = local::with_worker_of_this_thread(park);
        if let Some(claimed) = claimed {
            timers.release_claimed_sleep(claimed);
        }
        self.now_ns = self.context.clock.resync_and_read_ns();
        self.has_overslept = matches!(parked, Some(ParkOutcome::Elapsed));
        if !self.has_overslept && self.now_ns.saturating_sub(slept_ns) < OTHER_QUEUES_SEARCH_NS_MAX
        {
            self.lengthen_queue_search_time();
        }
        if let Some(ParkOutcome::Found(task)) = parked {
            self.run_stolen_actor(task);
        }
    }

    /// Searches the queues of other threads for an actor and runs it. Returns at once if there is
    /// none.
    fn poll(&mut self) {
        for _ in 0..QUEUE_CHECKS_PER_YIELD {
            let now_ns = self.now_ns;
            let look = |local: &mut local::LocalWorker| {
                let sent = local.worker.pop_injected_entry();
                let found = sent.or_else(|| local.worker.steal());
                found.or_else(|| local.worker.steal_stalled_entry(now_ns))
            };
            if let Some(task) = local::with_worker_of_this_thread(look).flatten() {
                return self.run_stolen_actor(task);
            }
            std::hint::spin_loop();
        }
        if self.group.idle_setting() == Idle::Yield {
            std::thread::yield_now();
        }
        self.now_ns = self.context.clock.resync_and_read_ns();
    }

    /// Runs an actor that this thread has taken from the queue of another thread.
    fn run_stolen_actor(&mut self, task: Task) {
        let has_timers = self.group.timers.next_due_ns() != u64::MAX;
        local::with_worker_of_this_thread(|local| local.begin_activation(has_timers));
        self.run_actors_beginning_with(task);
    }

    /// Searches the queues of the other threads for an actor for up to `search_ns`, and returns it.
    /// If enough threads already search, checks the queues only once. Returns `None` if no actor
    /// was found.
    fn search_other_queues(&mut self) -> Option<Task> {
        let searches = local::with_worker_of_this_thread(|local| local.worker.try_begin_search());
        if searches != Some(true) || self.queue_search_ns == 0 {
            return local::with_worker_of_this_thread(|local| local.worker.steal()).flatten();
        }
        let end_ns = self.now_ns.saturating_add(self.queue_search_ns);
        while self.now_ns < end_ns && !self.shared.is_stopping() {
            for _ in 0..QUEUE_CHECKS_PER_YIELD {
                let look = |local: &mut local::LocalWorker| {
                    let sent = local.worker.pop_injected_entry();
                    sent.or_else(|| local.worker.steal())
                };
                if let Some(task) = local::with_worker_of_this_thread(look).flatten() {
                    self.lengthen_queue_search_time();
                    return Some(task);
                }
                std::hint::spin_loop();
            }
            // WHY: the sender may wait for this core.
            std::thread::yield_now();
            self.now_ns = self.context.clock.now_ns();
        }
        self.shorten_queue_search_time();
        None
    }

    /// Doubles the time for which this thread searches the queues of other threads, because a
    /// search has found an actor.
    fn lengthen_queue_search_time(&mut self) {
        self.fruitless_searches = 0;
        self.queue_search_ns = (self.queue_search_ns * 2)
            .clamp(OTHER_QUEUES_SEARCH_NS_MIN, OTHER_QUEUES_SEARCH_NS_MAX);
    }

    /// Halves the time for which this thread searches the queues of other threads, after three
    /// searches in a row without a result. WHY: otherwise, a load of one message per millisecond
    /// would cost 6 % of a CPU.
    fn shorten_queue_search_time(&mut self) {
        self.fruitless_searches += 1;
        if self.fruitless_searches < FRUITLESS_SEARCHES_MAX {
            return;
        }
        self.fruitless_searches = 0;
        self.queue_search_ns /= 2;
        if self.queue_search_ns < OTHER_QUEUES_SEARCH_NS_MIN {
            self.queue_search_ns = 0;
        }
    }
}
