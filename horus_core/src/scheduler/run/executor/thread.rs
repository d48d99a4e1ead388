//! A thread with nodes of its own: started, and ended in time or left behind.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::scheduler::api::metrics::LiveMetrics;
use crate::scheduler::api::plan::Class;
use crate::scheduler::api::report::NodeReport;
use crate::scheduler::run::panics::Here;
use crate::scheduler::run::runner::{After, Runner};
use crate::scheduler::run::shared::Shared;

use super::real_time;

/// A thread that runs nodes.
#[derive(Debug)]
pub(crate) struct NodeThread {
    thread: JoinHandle<Vec<Runner>>,
    members: Vec<Member>,
}

/// A node of a thread, as far as it is known without the thread.
#[derive(Debug)]
pub(crate) struct Member {
    name: String,
    position: usize,
    class: Class,
    metrics: Arc<LiveMetrics>,
}

impl NodeThread {
    /// Starts a thread for these nodes, at least one. If the system cannot create a thread, the
    /// nodes are returned.
    pub(crate) fn begin(
        runners: Vec<Runner>,
        shared: &Arc<Shared>,
        run: impl FnOnce(&mut [Runner], &Shared) -> After + Send + 'static,
    ) -> Result<Self, (io::Error, Vec<Runner>)> {
        let members = runners.iter().map(Member::of).collect();
        let plan = runners[0].plan();
        let name = plan.chain.as_ref().unwrap_or(&plan.name).clone();
        let shared = Arc::clone(shared);
        // WHY: if a thread is not started, what its closure owns is dropped.
        let given = Arc::new(Mutex::new(runners));
        let take = |given: &Mutex<Vec<Runner>>| {
            std::mem::take(&mut *given.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let to_thread = Arc::clone(&given);
        let thread = spawn(&name, move || {
            let mut runners = take(&to_thread);
            let _here = Here::run(&runners);
            let (_awake, refused) = real_time::prepare(runners[0].plan());
            runners.iter_mut().for_each(|runner| runner.refuse(refused.clone()));
            // WHY: if another thread cannot be started, no node may have ticked.
            shared.wait_for_begin();
            let after = run(&mut runners, &shared);
            shared.stop_after(&runners, after);
            runners
        });
        match thread {
            Ok(thread) => Ok(Self { thread, members }),
            Err(error) => Err((error, take(&given))),
        }
    }

    /// Waits for the last ticks of its nodes. A thread in which one does not end is left behind.
    pub(crate) fn end(self, deadline: Instant) -> Result<Vec<Runner>, Vec<NodeReport>> {
        let Self { thread, members } = self;
        join(thread, deadline).ok_or_else(|| members.iter().map(Member::left_behind).collect())
    }
}

impl Member {
    pub(crate) fn of(runner: &Runner) -> Self {
        let plan = runner.plan();
        let metrics = Arc::clone(runner.metrics());
        Self { name: plan.name.clone(), position: runner.position(), class: plan.class, metrics }
    }

    /// Returns its position in the order of start.
    #[cfg(feature = "async-io")]
    pub(crate) const fn position(&self) -> usize {
        self.position
    }

    /// Returns the report of a node whose last tick does not end.
    pub(crate) fn left_behind(&self) -> NodeReport {
        NodeReport {
            name: self.name.clone(),
            position: self.position,
            hangs: self.metrics.began_ns() != 0,
            class: self.class,
            metrics: self.metrics.metrics(),
            last_error: Some("a tick does not end: its thread was left behind".to_owned()),
            refused: Vec::new(),
        }
    }
}

/// Starts a thread with a name that a debugger shows.
pub(crate) fn spawn<R: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> R + Send + 'static,
) -> io::Result<JoinHandle<R>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// Returns the result of a thread, if it ends before `deadline`.
pub(crate) fn join<R>(thread: JoinHandle<R>, deadline: Instant) -> Option<R> {
    while !thread.is_finished() {
        if Instant::now() > deadline {
            return None;
        }
        thread::sleep(Duration::from_micros(200));
    }
    thread.join().ok()
}
