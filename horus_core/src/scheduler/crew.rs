//! Who gives the nodes their turns: the main thread, threads of their own, and the pool.

use std::sync::Arc;
use std::time::Instant;

use horus_shm::clock::Clock;

use super::Entry;
use super::executor::compute::{self, Job, Pool};
use super::executor::thread::NodeThread;
use super::executor::{event, real_time};
use super::plan::Class;
use super::rate::Rate;
use super::report::NodeReport;
use super::runner::{After, Runner};
use super::running::StartError;
use super::shared::Shared;
use super::timeline::Timeline;
use crate::topic::WaitSet;

/// All threads of a run, and the nodes that the main thread runs.
#[derive(Debug, Default)]
pub(super) struct Crew {
    pub(super) main: Vec<Runner>,
    threads: Vec<NodeThread>,
    pool: Option<Pool>,
}

/// What the threads are started with.
pub(super) struct Terms {
    pub(super) shared: Arc<Shared>,
    pub(super) clock: Clock,
    /// When the first ticks are due.
    pub(super) begin_ns: u64,
    pub(super) main_rate: Rate,
    pub(super) compute_threads: Option<usize>,
    pub(super) cores: usize,
}

impl Crew {
    /// Gives each node to who runs it. If there is no thread for one, it and those that have not
    /// been given out stay with the main thread, which is to end them.
    pub(super) fn start(&mut self, entries: Vec<Entry>, terms: &Terms) -> Result<(), StartError> {
        let mut outcome = Ok(());
        let (mut chains, mut jobs) = (Vec::new(), Vec::new());
        for Entry { runner, wake, .. } in entries {
            match runner.plan().class {
                Class::Event if outcome.is_ok() => outcome = self.by_events(runner, wake, terms),
                Class::RealTime => join_chain(&mut chains, runner),
                Class::Compute => {
                    let rate = runner.plan().rate.unwrap_or(terms.main_rate);
                    jobs.push(Job::new(runner, Timeline::new(terms.begin_ns, rate)));
                }
                _ => self.main.push(runner),
            }
        }
        for mut chain in chains {
            match outcome {
                Ok(()) => outcome = self.by_time(chain, terms),
                Err(_) => self.main.append(&mut chain),
            }
        }
        outcome.and_then(|()| self.by_pool(&mut jobs, terms)).inspect_err(|_| {
            self.main.extend(jobs.into_iter().map(Job::into_runner));
        })
    }

    fn by_events(
        &mut self,
        runner: Runner,
        mut wake: WaitSet,
        terms: &Terms,
    ) -> Result<(), StartError> {
        let mut clock = terms.clock.clone();
        self.begin(vec![runner], terms, move |runners, shared| {
            event::run(&mut runners[0], &mut clock, shared, &mut wake)
        })
    }

    fn by_time(&mut self, chain: Vec<Runner>, terms: &Terms) -> Result<(), StartError> {
        let rate = chain[0].plan().rate.unwrap_or(terms.main_rate);
        let (timeline, mut clock) = (Timeline::new(terms.begin_ns, rate), terms.clock.clone());
        self.begin(chain, terms, move |runners, shared| {
            let spin_ns = real_time::spin_ns(&mut clock, timeline.period_ns());
            // WHY: the first due time has passed meanwhile, and that is nobody's fault.
            let timeline = timeline.starting_after(clock.resync());
            real_time::run(runners, &mut clock, shared, timeline, spin_ns)
        })
    }

    fn by_pool(&mut self, jobs: &mut Vec<Job>, terms: &Terms) -> Result<(), StartError> {
        if jobs.is_empty() {
            return Ok(());
        }
        let threads = compute::threads(terms.compute_threads, terms.cores, jobs.len());
        let pool = Pool::start(threads, jobs, &terms.clock, &terms.shared);
        let no_thread = |cause| StartError::Thread { name: "compute".to_owned(), cause };
        self.pool = Some(pool.map_err(no_thread)?);
        Ok(())
    }

    fn begin(
        &mut self,
        runners: Vec<Runner>,
        terms: &Terms,
        run: impl FnOnce(&mut [Runner], &Shared) -> After + Send + 'static,
    ) -> Result<(), StartError> {
        let name = runners[0].plan().name.clone();
        match NodeThread::begin(runners, &terms.shared, run) {
            Ok(thread) => self.threads.push(thread),
            Err((cause, mut runners)) => {
                self.main.append(&mut runners);
                return Err(StartError::Thread { name, cause });
            }
        }
        Ok(())
    }

    /// Waits until the last ticks are over, but not beyond `deadline`. The nodes, and what is said
    /// of those that are left behind.
    pub(super) fn end(&mut self, deadline: Instant) -> (Vec<Runner>, Vec<NodeReport>) {
        let (mut runners, mut left_behind) = (std::mem::take(&mut self.main), Vec::new());
        for thread in self.threads.drain(..) {
            match thread.end(deadline) {
                Ok(mut ended) => runners.append(&mut ended),
                Err(mut members) => left_behind.append(&mut members),
            }
        }
        if let Some(pool) = self.pool.take() {
            let (mut ended, mut members) = pool.finish(deadline);
            runners.append(&mut ended);
            left_behind.append(&mut members);
        }
        runners.sort_by_key(Runner::position);
        (runners, left_behind)
    }
}

/// Adds the node to those that it shares a thread with.
fn join_chain(chains: &mut Vec<Vec<Runner>>, runner: Runner) {
    let chain = runner.plan().chain.as_ref();
    let is_same =
        |members: &&mut Vec<Runner>| chain.is_some() && members[0].plan().chain.as_ref() == chain;
    match chains.iter_mut().find(is_same) {
        Some(members) => members.push(runner),
        None => chains.push(vec![runner]),
    }
}
