//! Distributes the nodes over the threads that run them: the main thread, threads of their own, and
//! the pool.

use std::sync::Arc;
use std::time::Instant;

use horus_shm::clock::Clock;

use crate::scheduler::api::error::StartError;
use crate::scheduler::api::plan::Class;
use crate::scheduler::api::rate::Rate;
use crate::scheduler::api::report::NodeReport;
use crate::scheduler::api::timeline::Timeline;
#[cfg(feature = "async-io")]
use crate::scheduler::run::executor::async_io::{AsyncIo, Task};
use crate::scheduler::run::executor::compute::{self, Job, Pool};
use crate::scheduler::run::executor::spin::Spin;
use crate::scheduler::run::executor::thread::NodeThread;
use crate::scheduler::run::executor::{event, real_time};
use crate::scheduler::run::pending_node::PendingNode;
use crate::scheduler::run::runner::{After, Runner};
use crate::scheduler::run::shared::Shared;
use crate::topic::WaitSet;

/// All threads of a run, and the nodes that the main thread runs.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    pub(crate) main: Vec<Runner>,
    /// True if one of these nodes has a watchdog.
    pub(crate) has_watched: bool,
    threads: Vec<NodeThread>,
    pool: Option<Pool>,
    #[cfg(feature = "async-io")]
    async_io: Option<AsyncIo>,
}

/// The parameters for the start of the threads.
pub(crate) struct StartContext {
    pub(crate) shared: Arc<Shared>,
    pub(crate) clock: Clock,
    /// The due time of the first ticks.
    pub(crate) begin_ns: u64,
    pub(crate) main_rate: Rate,
    pub(crate) compute_threads: Option<usize>,
    pub(crate) cores: usize,
}

impl StartContext {
    /// Returns the due times of a node, by its rate or that of the main thread.
    fn timeline(&self, runner: &Runner) -> Timeline {
        Timeline::new(self.begin_ns, runner.plan().rate.unwrap_or(self.main_rate))
    }
}

impl Workers {
    /// Gives each node to its executor. If a thread cannot be started, its nodes and all that were
    /// not yet distributed stay with the main thread, which shuts them down.
    pub(crate) fn start(
        &mut self,
        entries: Vec<PendingNode>,
        start: &StartContext,
    ) -> Result<(), StartError> {
        let mut outcome = Ok(());
        let (mut chains, mut jobs) = (Vec::new(), Vec::new());
        #[cfg(feature = "async-io")]
        let mut tasks = Vec::new();
        for PendingNode { runner, wake, .. } in entries {
            match runner.plan().class {
                Class::Event if outcome.is_ok() => outcome = self.by_events(runner, wake, start),
                Class::RealTime => join_chain(&mut chains, runner),
                Class::Compute => {
                    let timeline = start.timeline(&runner);
                    jobs.push(Job::new(runner, timeline));
                }
                #[cfg(feature = "async-io")]
                Class::AsyncIo => {
                    let timeline = start.timeline(&runner);
                    tasks.push(Task { runner, timeline });
                }
                _ => self.main.push(runner),
            }
        }
        for mut chain in chains {
            match outcome {
                Ok(()) => outcome = self.by_time(chain, start),
                Err(_) => self.main.append(&mut chain),
            }
        }
        outcome = outcome.and_then(|()| self.by_pool(&mut jobs, start));
        self.main.extend(jobs.into_iter().map(Job::into_runner));
        #[cfg(feature = "async-io")]
        {
            outcome = outcome.and_then(|()| self.by_waiting(&mut tasks, start));
            self.main.extend(tasks.into_iter().map(|task| task.runner));
        }
        self.has_watched = self.main.iter().any(|runner| runner.plan().is_watched());
        outcome
    }

    fn by_events(
        &mut self,
        runner: Runner,
        mut wake: WaitSet,
        start: &StartContext,
    ) -> Result<(), StartError> {
        let mut clock = start.clock.clone();
        self.begin(vec![runner], start, move |runners, shared| {
            event::run(&mut runners[0], &mut clock, shared, &mut wake)
        })
    }

    fn by_time(&mut self, chain: Vec<Runner>, start: &StartContext) -> Result<(), StartError> {
        let (timeline, mut clock) = (start.timeline(&chain[0]), start.clock.clone());
        self.begin(chain, start, move |runners, shared| {
            let is_first = runners.iter().any(|runner| runner.plan().priority.is_some());
            let spin = Spin::learn(&mut clock, timeline.period_ns(), is_first);
            // WHY: the first due time has passed during the measurement, and must not count as a
            // miss.
            let timeline = timeline.starting_after(clock.resync());
            real_time::run(runners, &mut clock, shared, timeline, spin)
        })
    }

    fn by_pool(&mut self, jobs: &mut Vec<Job>, start: &StartContext) -> Result<(), StartError> {
        if jobs.is_empty() {
            return Ok(());
        }
        let threads = compute::threads(start.compute_threads, start.cores, jobs.len());
        let pool = Pool::start(threads, jobs, &start.clock, &start.shared);
        let no_thread = |cause| StartError::Thread { name: "compute".to_owned(), cause };
        self.pool = Some(pool.map_err(no_thread)?);
        Ok(())
    }

    #[cfg(feature = "async-io")]
    fn by_waiting(
        &mut self,
        tasks: &mut Vec<Task>,
        start: &StartContext,
    ) -> Result<(), StartError> {
        if !tasks.is_empty() {
            let no_thread = |cause| StartError::Thread { name: "async i/o".to_owned(), cause };
            self.async_io = Some(AsyncIo::start(tasks, &start.shared).map_err(no_thread)?);
        }
        Ok(())
    }

    fn begin(
        &mut self,
        runners: Vec<Runner>,
        start: &StartContext,
        run: impl FnOnce(&mut [Runner], &Shared) -> After + Send + 'static,
    ) -> Result<(), StartError> {
        let name = runners[0].plan().name.clone();
        match NodeThread::begin(runners, &start.shared, run) {
            Ok(thread) => self.threads.push(thread),
            Err((cause, mut runners)) => {
                self.main.append(&mut runners);
                return Err(StartError::Thread { name, cause });
            }
        }
        Ok(())
    }

    /// Waits until the last ticks are over, but not beyond `deadline`. Returns the nodes, and the
    /// reports of those that are left behind.
    pub(crate) fn end(&mut self, deadline: Instant) -> (Vec<Runner>, Vec<NodeReport>) {
        let (mut runners, mut left_behind) = (std::mem::take(&mut self.main), Vec::new());
        for thread in self.threads.drain(..) {
            match thread.end(deadline) {
                Ok(mut ended) => runners.append(&mut ended),
                Err(mut members) => left_behind.append(&mut members),
            }
        }
        let mut gather = |(mut ended, mut others): (Vec<_>, Vec<_>)| {
            runners.append(&mut ended);
            left_behind.append(&mut others);
        };
        self.pool.take().into_iter().for_each(|pool| gather(pool.finish(deadline)));
        #[cfg(feature = "async-io")]
        self.async_io.take().into_iter().for_each(|async_io| gather(async_io.finish(deadline)));
        runners.sort_by_key(Runner::position);
        (runners, left_behind)
    }
}

/// Adds the node to the chain whose thread it shares.
fn join_chain(chains: &mut Vec<Vec<Runner>>, runner: Runner) {
    let chain = runner.plan().chain.as_ref();
    let is_same =
        |members: &&mut Vec<Runner>| chain.is_some() && members[0].plan().chain.as_ref() == chain;
    match chains.iter_mut().find(is_same) {
        Some(members) => members.push(runner),
        None => chains.push(vec![runner]),
    }
}
