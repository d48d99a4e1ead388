//! A receiver that is a node of a scheduler in the far process, which a topic wakes.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use horus_core::scheduler::{Context, Handle, Node, NodeResult, Scheduler};
use horus_core::topic::Subscriber;

use super::{AnyError, SleepingSide, ticks_since_send, topics};
use crate::measure::lines::SharedLines;
use crate::measure::stats::Samples;
use crate::measure::tsc::TickSource;
use crate::measure::wait::STALL_LIMIT;
use crate::measure::workload::RoundPlan;
use crate::transport::carrier::Mechanism;
use crate::transport::packet::Packet16;
use crate::transport::rendezvous::ConnectionSide;

const NAME: &str = "woken";

pub(super) struct EventNode {
    plans: Sender<RoundPlan>,
    rounds: Receiver<Result<Samples, String>>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    sleeping_thread: u32,
}

struct Woken {
    source: TickSource,
    subscriber: Subscriber<Packet16>,
    lines: Arc<SharedLines>,
    plans: Receiver<RoundPlan>,
    rounds: Sender<Result<Samples, String>>,
    present: Option<(RoundPlan, Samples)>,
}

impl Node for Woken {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        let end = self.source.stop();
        let Some(message) = self.subscriber.recv() else {
            return Ok(());
        };
        if self.present.is_none() {
            self.present = self
                .plans
                .try_recv()
                .ok()
                .map(|plan| (plan, Samples::new()));
        }
        let Some((plan, latency)) = &mut self.present else {
            return Err("nobody asked".into());
        };
        // Relaxed: the node's own number, written by this process alone.
        let number = self.lines.line(1).words[0].load(atomic::Ordering::Relaxed);
        let ticks = match ticks_since_send(&message, number, end) {
            Ok(ticks) => ticks,
            Err(error) => {
                self.rounds.send(Err(error.to_string()))?;
                return Err(error.into());
            }
        };
        if plan.counts(number) {
            latency.record(ticks);
        }
        if number + 1 < plan.next_seq() {
            // Relaxed: a hint; the near end asks the kernel as well.
            self.lines.line(1).words[0].store(number + 1, atomic::Ordering::Relaxed);
        } else if let Some((_, latency)) = self.present.take() {
            self.rounds.send(Ok(latency))?;
        }
        Ok(())
    }
}

impl EventNode {
    /// Starts the scheduler in a thread of its own; returns once the node's thread exists.
    pub(super) fn start(
        place: &ConnectionSide<'_>,
        lines: &Arc<SharedLines>,
    ) -> Result<Self, AnyError> {
        let subscriber = topics::subscriber(place, Mechanism::EventNode)?;
        let ((plans, orders), (told, rounds)) = (mpsc::channel(), mpsc::channel());
        let mut scheduler = Scheduler::new();
        scheduler.namespace(place.namespace());
        scheduler.node(NAME).on(&subscriber).build(Woken {
            source: TickSource::detect(),
            subscriber,
            lines: Arc::clone(lines),
            plans: orders,
            rounds: told,
            present: None,
        })?;
        let handle = scheduler.handle();
        let thread = thread::spawn(move || _ = scheduler.run());
        let mut node = Self {
            plans,
            rounds,
            handle,
            thread: Some(thread),
            sleeping_thread: 0,
        };
        node.sleeping_thread = thread_called(NAME)?;
        Ok(node)
    }
}

/// Returns the kernel's id of this process's thread `name`, once it exists.
fn thread_called(name: &str) -> Result<u32, AnyError> {
    let begin = Instant::now();
    while begin.elapsed() < STALL_LIMIT {
        for task in fs::read_dir("/proc/self/task")?.flatten() {
            let comm = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            let number = task.file_name().to_string_lossy().parse();
            if comm.trim_end() == name
                && let Ok(number) = number
            {
                return Ok(number);
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err(format!("no thread is called '{name}'").into())
}

impl SleepingSide for EventNode {
    fn sleep_through(
        &mut self,
        blocked: &AtomicU64,
        plan: &RoundPlan,
        _: TickSource,
    ) -> Result<Samples, AnyError> {
        let ended = "the node's thread has ended";
        self.plans.send(*plan).map_err(|_| ended)?;
        // Relaxed: a hint; the near end asks the kernel as well. From here on the node counts.
        blocked.store(plan.first_seq, atomic::Ordering::Relaxed);
        Ok(self.rounds.recv().map_err(|_| ended)??)
    }

    fn thread(&self) -> u32 {
        self.sleeping_thread
    }
}

impl Drop for EventNode {
    fn drop(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take() {
            // It fails only if the scheduler panicked, which the process has said by then.
            let _ = thread.join();
        }
    }
}
