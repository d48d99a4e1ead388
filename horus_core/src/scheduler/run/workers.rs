//! Distributes the nodes over the threads that run them: the main thread, threads for single nodes
//! and chains, the compute pool, and the thread of asynchronous nodes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use horus_shm::clock::Clock;
use horus_shm::internals::wait::{LocalEventcount, WaitPolicy};

use crate::actor::group::ActorGroup;
use crate::actor::worker_context::WorkerContext;
use crate::scheduler::api::error::StartError;
use crate::scheduler::api::plan::NodeClass;
use crate::scheduler::api::rate::Rate;
use crate::scheduler::api::report::NodeReport;
use crate::scheduler::api::timeline::Timeline;
use crate::scheduler::run::executor::actors::{ActorThread, ActorThreads};
#[cfg(feature = "async-io")]
use crate::scheduler::run::executor::async_io::{AsyncIoThread, AsyncTask};
use crate::scheduler::run::executor::compute::{self, ComputeJob, ComputePool};
use crate::scheduler::run::executor::shared::{NodesOnGroupThreads, PendingGroupThreadNode};
use crate::scheduler::run::executor::spin::SpinTime;
use crate::scheduler::run::executor::thread::{NodeThread, RunEndTimeLimit};
use crate::scheduler::run::executor::{actor_turns, event, real_time, topic_wait_threads};
use crate::scheduler::run::pending_node::PendingNode;
use crate::scheduler::run::run_state::RunState;
use crate::scheduler::run::runner::{RunDecision, Runner};
use crate::topic::WaitSet;

/// All threads that run nodes of a scheduler, and the nodes that the main thread runs. The main
/// thread is the one that runs the scheduler.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    pub(crate) main: Vec<Runner>,
    /// The groups of actors that the main thread runs. Each has the index of its node in `main`.
    main_groups: Vec<(usize, Arc<ActorGroup>)>,
    /// The eventcount on which the main thread sleeps if it runs groups of actors. A notification
    /// of it wakes the thread.
    main_wake_event: Arc<LocalEventcount>,
    /// True if the main thread runs a node that has a watchdog or a budget, so that its ticks can
    /// count as stuck.
    pub(crate) has_watched_node: bool,
    threads: Vec<NodeThread>,
    /// The eventcounts on which the threads of event nodes sleep. A notification wakes the thread.
    wake_events: Vec<Arc<LocalEventcount>>,
    pool: Option<ComputePool>,
    actors: Vec<ActorThreads>,
    shared: NodesOnGroupThreads,
    #[cfg(feature = "async-io")]
    async_io: Option<AsyncIoThread>,
}

/// The values that [`Workers::start`] needs to start the threads of nodes.
pub(crate) struct StartContext {
    pub(crate) shared: Arc<RunState>,
    pub(crate) clock: Clock,
    /// The time at which the first ticks of the nodes are due, in nanoseconds.
    pub(crate) begin_ns: u64,
    pub(crate) main_rate: Rate,
    pub(crate) compute_threads: Option<usize>,
    pub(crate) cores: usize,
}

impl StartContext {
    /// Returns the times at which a node is due. They follow at the rate of the node, or, if it has
    /// none, at the main rate.
    fn timeline(&self, runner: &Runner) -> Timeline {
        Timeline::new(self.begin_ns, runner.plan().rate.unwrap_or(self.main_rate))
    }
}

impl Workers {
    /// Passes each node to the executor that runs it. If a thread cannot be started, the nodes of
    /// that thread and those that have not been distributed yet go to the main thread, which shuts
    /// them down.
    pub(crate) fn start(
        &mut self,
        entries: Vec<PendingNode>,
        start: &StartContext,
    ) -> Result<(), StartError> {
        let mut outcome = Ok(());
        let mut chains = Vec::new();
        let (mut jobs, mut sharing) = (Vec::new(), Vec::new());
        #[cfg(feature = "async-io")]
        let mut tasks = Vec::new();
        for entry in entries {
            let PendingNode {
                runner,
                wake,
                actors,
                shared,
                ..
            } = entry;
            match runner.plan().class {
                NodeClass::Actors if outcome.is_ok() => {
                    outcome = self.start_actors(runner, actors, start)
                }
                NodeClass::Event if outcome.is_ok() => match shared {
                    Some(group) => sharing.push(PendingGroupThreadNode {
                        runner,
                        wake,
                        group,
                    }),
                    None => outcome = self.start_event_thread(runner, wake, start),
                },
                NodeClass::RealTime => add_to_chain(&mut chains, runner),
                NodeClass::Compute => {
                    let timeline = start.timeline(&runner);
                    jobs.push(ComputeJob::new(runner, timeline));
                }
                #[cfg(feature = "async-io")]
                NodeClass::AsyncIo => {
                    let timeline = start.timeline(&runner);
                    tasks.push(AsyncTask { runner, timeline });
                }
                _ => self.main.push(runner),
            }
        }
        if outcome.is_ok() {
            outcome = self.start_nodes_on_group_threads(sharing, start);
        } else {
            self.main
                .extend(sharing.into_iter().map(|node| node.runner));
        }
        for mut chain in chains {
            match outcome {
                Ok(()) => outcome = self.start_real_time_thread(chain, start),
                Err(_) => self.main.append(&mut chain),
            }
        }
        outcome = outcome.and_then(|()| self.start_compute_pool(&mut jobs, start));
        self.main
            .extend(jobs.into_iter().map(ComputeJob::into_runner));
        #[cfg(feature = "async-io")]
        {
            outcome = outcome.and_then(|()| self.start_async_thread(&mut tasks, start));
            self.main.extend(tasks.into_iter().map(|task| task.runner));
        }
        self.has_watched_node = self
            .main
            .iter()
            .any(|runner| runner.plan().has_tick_limit());
        outcome
    }

    fn start_event_thread(
        &mut self,
        runner: Runner,
        mut wake: WaitSet,
        start: &StartContext,
    ) -> Result<(), StartError> {
        let mut clock = start.clock.clone();
        let wake_event = Arc::new(LocalEventcount::with_fences());
        self.wake_events.push(Arc::clone(&wake_event));
        runner.commands().set_listener(Arc::clone(&wake_event));
        self.start_thread(vec![runner], start, move |runners, shared| {
            event::run_event_node(
                &mut runners[0],
                &mut clock,
                shared,
                (&mut wake, &wake_event),
            )
        })
    }

    fn start_nodes_on_group_threads(
        &mut self,
        nodes: Vec<PendingGroupThreadNode>,
        start: &StartContext,
    ) -> Result<(), StartError> {
        let started = self.shared.start(nodes, &start.clock, &start.shared);
        started.map_err(|(name, cause)| StartError::Thread { name, cause })
    }

    fn start_actors(
        &mut self,
        runner: Runner,
        group: Option<Arc<ActorGroup>>,
        start: &StartContext,
    ) -> Result<(), StartError> {
        let group = match group {
            Some(group) if group.thread_count() > 0 => group,
            group => {
                let index = self.main.len();
                self.main.push(runner);
                if let Some(group) = group {
                    group.waiting.set_eventcount(&self.main_wake_event);
                    self.main_groups.push((index, group));
                }
                return Ok(());
            }
        };
        let mut workers = group.take_workers();
        let first = workers.swap_remove(0);
        match ActorThreads::start(&group, workers, &start.clock, &start.shared) {
            Ok(threads) => self.actors.push(threads),
            Err((cause, threads)) => {
                self.actors.push(threads);
                self.main.push(runner);
                group.give_back_worker(first);
                let name = group.name().to_owned();
                return Err(StartError::Thread { name, cause });
            }
        }
        let context = WorkerContext::new(&start.clock);
        self.start_thread(vec![runner], start, move |runners, shared| {
            let (core, _) = group.thread_cpu_and_priority(first.index());
            let refused = real_time::pin_and_prioritise_thread(core, None);
            if let Some(runner) = runners.first_mut() {
                runner.record_refused_settings(refused);
            }
            ActorThread::new(&group, context, shared).run(first, runners.first_mut());
            RunDecision::Continue
        })
    }

    fn start_real_time_thread(
        &mut self,
        chain: Vec<Runner>,
        start: &StartContext,
    ) -> Result<(), StartError> {
        let timeline = start.timeline(&chain[0]);
        let mut clock = start.clock.clone();
        self.start_thread(chain, start, move |runners, shared| {
            let has_real_time_priority = runners
                .iter()
                .any(|runner| runner.plan().priority.is_some());
            let spin = SpinTime::measure_first_spin_time(
                &mut clock,
                timeline.period_ns(),
                has_real_time_priority,
            );
            // WHY: the first due time has passed during the measurement, and must not count as a
            // miss.
            let timeline = timeline.starting_after(clock.resync_and_read_ns());
            real_time::run_real_time_nodes(runners, &mut clock, shared, timeline, spin)
        })
    }

    fn start_compute_pool(
        &mut self,
        jobs: &mut Vec<ComputeJob>,
        start: &StartContext,
    ) -> Result<(), StartError> {
        if jobs.is_empty() {
            return Ok(());
        }
        let threads = compute::compute_thread_count(start.compute_threads, start.cores, jobs.len());
        let pool = ComputePool::start(threads, jobs, &start.clock, &start.shared);
        let no_thread = |cause| StartError::Thread {
            name: "compute".to_owned(),
            cause,
        };
        self.pool = Some(pool.map_err(no_thread)?);
        Ok(())
    }

    #[cfg(feature = "async-io")]
    fn start_async_thread(
        &mut self,
        tasks: &mut Vec<AsyncTask>,
        start: &StartContext,
    ) -> Result<(), StartError> {
        if !tasks.is_empty() {
            let no_thread = |cause| StartError::Thread {
                name: "async i/o".to_owned(),
                cause,
            };
            self.async_io = Some(AsyncIoThread::start(tasks, &start.shared).map_err(no_thread)?);
        }
        Ok(())
    }

    fn start_thread(
        &mut self,
        runners: Vec<Runner>,
        start: &StartContext,
        run: impl FnOnce(&mut [Runner], &RunState) -> RunDecision + Send + 'static,
    ) -> Result<(), StartError> {
        let name = runners[0].plan().name.clone();
        match NodeThread::start(runners, (&start.shared, &start.clock), run) {
            Ok(thread) => self.threads.push(thread),
            Err((cause, mut runners)) => {
                self.main.append(&mut runners);
                return Err(StartError::Thread { name, cause });
            }
        }
        Ok(())
    }

    /// Makes all actors enter their safe state before they are shut down, and the nodes of the main
    /// thread at once. Called because the run has failed, before the threads have ended.
    pub(crate) fn enter_safe_states_of_failed_run(&mut self) {
        self.actors
            .iter()
            .for_each(ActorThreads::make_actors_safe_before_end);
        for (_, group) in &self.main_groups {
            group.emergency_stop.set_run_failed();
        }
        // WHY now: the end waits for ticks of other threads.
        let runners = self.main.iter_mut().rev();
        runners.for_each(Runner::enter_safe_state_of_failed_run);
    }

    /// Makes the actors of the main thread's groups enter their safe state. Called in an emergency
    /// stop.
    pub(crate) fn make_main_groups_safe(&self) {
        for (_, group) in &self.main_groups {
            if group.emergency_stop.is_engaged() {
                actor_turns::make_actors_safe(group);
            }
        }
    }

    /// Runs those groups of the main thread that have actors with messages or with a timer that is
    /// due. Returns true if at least one group was run.
    pub(crate) fn run_main_groups(
        &mut self,
        clock: &Clock,
        now_ns: u64,
        shared: &RunState,
    ) -> bool {
        let mut has_run = false;
        for (index, group) in &self.main_groups {
            if !group.is_paused() && group.has_due_activations(now_ns) {
                has_run = true;
                let runner = &mut self.main[*index];
                let (_, decision) = runner.run_turn(clock, now_ns, now_ns);
                shared.stop_run_if_decided([&*runner], decision);
            }
        }
        has_run
    }

    /// Sleeps for `time` at most. Wakes earlier if the run has to stop, or if an actor of the main
    /// thread has a message or a timer that is due.
    pub(crate) fn sleep(&self, clock: &Clock, time: Duration, shared: &RunState) {
        let groups = || self.main_groups.iter().map(|(_, group)| group);
        if self.main_groups.is_empty() {
            return shared.wait_for_stop(time);
        }
        let running = groups().filter(|group| !group.is_paused());
        let timers = running.map(|group| group.timers.next_due_ns());
        let due_ns = timers.fold(u64::MAX, u64::min);
        let time = time.min(Duration::from_nanos(due_ns.saturating_sub(clock.now_ns())));
        let wait_policy = WaitPolicy::with_timeout(time).with_spin(Duration::ZERO);
        self.main_wake_event.wait_until(wait_policy, || {
            let is_looked_at =
                |group: &ActorGroup| !group.is_paused() || group.emergency_stop.is_engaged();
            let has_mail = groups().any(|group| is_looked_at(group) && !group.waiting.is_empty());
            (has_mail || shared.is_stopping()).then_some(())
        });
    }

    /// Waits until the last ticks have ended, or until `time` is over. Returns the runners of the
    /// nodes, and reports of those nodes whose ticks have not ended. A group of actors may have
    /// both: its node has ended, and one of its threads has not.
    pub(crate) fn end(&mut self, time: &mut RunEndTimeLimit) -> (Vec<Runner>, Vec<NodeReport>) {
        let mut runners = std::mem::take(&mut self.main);
        let mut left_behind = Vec::new();
        self.wake_events
            .iter()
            .for_each(|wake_event| wake_event.notify());
        self.actors.iter().for_each(ActorThreads::wake);
        self.shared.wake();
        // WHY before the other threads are waited for: a node that hangs uses up the time.
        #[cfg(feature = "async-io")]
        if let Some(async_io) = &self.async_io {
            async_io.request_end(time);
        }
        for thread in self.threads.drain(..) {
            match thread.end(time) {
                Ok(mut ended) => runners.append(&mut ended),
                Err(mut members) => left_behind.append(&mut members),
            }
        }
        let mut gather = |(mut ended, mut others): (Vec<_>, Vec<_>)| {
            runners.append(&mut ended);
            left_behind.append(&mut others);
        };
        self.pool
            .take()
            .into_iter()
            .for_each(|pool| gather(pool.finish(time)));
        #[cfg(feature = "async-io")]
        self.async_io
            .take()
            .into_iter()
            .for_each(|async_io| gather(async_io.finish(time)));
        for threads in self.actors.drain(..) {
            threads.end(time, &mut runners, &mut left_behind);
        }
        // WHY after the threads: until then, they run the nodes.
        let (mut ended, mut others) = self.shared.end(time);
        runners.append(&mut ended);
        left_behind.append(&mut others);
        runners.sort_by_key(Runner::position_in_start_order);
        (runners, left_behind)
    }
}

/// Returns the number of threads that [`Workers::start`] starts for these nodes.
pub(crate) fn needed_thread_count(
    entries: &[PendingNode],
    compute_threads: Option<usize>,
    cores: usize,
) -> usize {
    let (mut threads, mut jobs, mut chains) = (0, 0, HashSet::new());
    let mut shared = HashMap::new();
    let mut has_task = false;
    for entry in entries {
        let plan = entry.runner.plan();
        threads += match plan.class {
            NodeClass::Event => match &entry.shared {
                None => 1,
                Some(group) => {
                    let topics = entry.wake.watches().len();
                    *shared.entry(group.name()).or_insert(0) += topics;
                    0
                }
            },
            NodeClass::RealTime => match &plan.chain {
                Some(chain) => usize::from(chains.insert(chain)),
                None => 1,
            },
            NodeClass::Actors => {
                let group = entry.actors.as_ref();
                group.map_or(0, |group| group.thread_count())
            }
            NodeClass::Compute => {
                jobs += 1;
                0
            }
            NodeClass::AsyncIo => usize::from(!std::mem::replace(&mut has_task, true)),
            NodeClass::BestEffort => 0,
        };
    }
    threads += shared
        .into_values()
        .map(topic_wait_threads::wait_thread_count)
        .sum::<usize>();
    threads + compute::compute_thread_count(compute_threads, cores, jobs)
}

/// Adds the node of `runner` to the other nodes of its chain. A node without a chain is added as a
/// chain of one node.
fn add_to_chain(chains: &mut Vec<Vec<Runner>>, runner: Runner) {
    let chain = runner.plan().chain.as_ref();
    let is_same =
        |members: &&mut Vec<Runner>| chain.is_some() && members[0].plan().chain.as_ref() == chain;
    match chains.iter_mut().find(is_same) {
        Some(members) => members.push(runner),
        None => chains.push(vec![runner]),
    }
}
