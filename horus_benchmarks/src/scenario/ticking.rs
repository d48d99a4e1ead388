//! Measures the cost of calling nodes: rounds of a scheduler whose nodes do almost nothing.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};

use horus_core::scheduler::{Context, Node, NodeResult, Running, Scheduler};
use horus_shm::Namespace;
use horus_shm::clock::{Clock, ClockSource};

use crate::measure::pin;
use crate::measure::rounds::SamplesByRound;
use crate::measure::stats::{Samples, median};
use crate::measure::tsc::TickSource;
use crate::report::rows::Row;
use crate::run::session::BenchmarkSession;
use crate::scenario::entry::Outcome;

/// Number of scheduler rounds for each sample that the command line requests.
const TICKS_PER_SAMPLE: u64 = 10;

/// The rows to measure. For each one: the number of nodes, true if the scheduler uses the kernel's
/// clock, and the id of the row.
const TICK_ROWS: [(u64, bool, &str); 6] = [
    (0, false, "tick/rust/0_nodes"),
    (1, false, "tick/rust/1_node"),
    (10, false, "tick/rust/10_nodes"),
    (50, false, "tick/rust/50_nodes"),
    (1000, false, "tick/rust/1000_nodes"),
    (50, true, "tick/rust/50_nodes/kernel_clock"),
];

const TICK_METHOD: &str = "a round of all nodes, each timed by itself";

/// Measures rounds of schedulers whose nodes only count their ticks. Adds rows to the report.
pub(super) fn measure_ticks(session: &mut BenchmarkSession) -> Outcome {
    let mut all = Vec::new();
    // WHY on the far CPU: a scheduler's supervisor stays where it was started.
    pin::pin_current_thread(session.cpus.far)?;
    for (nodes, uses_kernel_clock, id) in TICK_ROWS {
        if session.args.wants_row(id) {
            let namespace = session.private.open()?;
            let ticking = TickingScheduler::start(nodes, uses_kernel_clock, &namespace)?;
            all.push((id, ticking, SamplesByRound::default()));
        }
    }
    pin::pin_current_thread(session.cpus.near)?;
    if all.is_empty() {
        return Ok(());
    }
    let effort = session.effort;
    let clock = &session.clock;
    let warm_up = effort.warm_up * TICKS_PER_SAMPLE;
    let samples = effort.samples * TICKS_PER_SAMPLE;
    session.add_progress_steps(effort.rounds as usize * all.len());
    for _ in 0..effort.rounds {
        // One of each in turn, so that all of them meet the machine in the same state.
        for (id, ticking, rounds) in &mut all {
            session.progress.set_message(*id);
            let round = ticking.run_rounds(clock.source, warm_up, samples);
            rounds.add_round(&round, clock.resolution_ticks);
            session.progress.inc(1);
        }
    }
    let source = Clock::new().source();
    let source_name = format!("{source:?}").to_lowercase();
    session.report.set_setting("scheduler_clock", source_name);
    if source != ClockSource::Counter {
        let warning = "the scheduler does not trust the counter here: ticks by the kernel's";
        session.report.machine.warnings.push(warning.to_owned());
    }
    let ns_per_tick = session.clock.ns_per_tick;
    for (id, ticking, mut rounds) in all {
        let nodes = ticking.nodes.max(1) as f64;
        ticking.finish()?;
        let mut row = Row::from_samples(id, &rounds.samples, ns_per_tick);
        row.additional.ns_per_node = Some(ns_per_tick * median(&mut rounds.medians) / nodes);
        session.add_row(row, TICK_METHOD);
    }
    Ok(())
}

/// A running scheduler with nodes that count their ticks. None of the nodes has a rate.
#[derive(Debug)]
pub struct TickingScheduler {
    /// The running scheduler. If it failed, [`TickingScheduler::finish`] returns the error.
    running: Running,
    nodes: u64,
    rounds: u64,
    /// Sum of the ticks of all nodes. It is only set when the scheduler ends.
    counted: Arc<AtomicU64>,
}

struct CountingNode {
    ticks: u64,
    counted: Arc<AtomicU64>,
}

impl Node for CountingNode {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        // WHY black_box: the count is to be in memory after each tick, as a node's state is.
        *black_box(&mut self.ticks) += 1;
        Ok(())
    }

    fn shutdown(&mut self) -> NodeResult {
        // Relaxed: read after the scheduler has ended.
        self.counted
            .fetch_add(self.ticks, atomic::Ordering::Relaxed);
        Ok(())
    }
}

impl TickingScheduler {
    /// Starts a scheduler with `nodes` nodes. The scheduler uses the kernel's clock, or the clock
    /// that it chooses itself.
    pub fn start(
        nodes: u64,
        uses_kernel_clock: bool,
        namespace: &Arc<Namespace>,
    ) -> Outcome<TickingScheduler> {
        let mut scheduler = Scheduler::new();
        scheduler.namespace(namespace);
        if uses_kernel_clock {
            scheduler.use_kernel_clock();
        }
        let counted = Arc::new(AtomicU64::new(0));
        for number in 0..nodes {
            let counted = Arc::clone(&counted);
            let node = CountingNode { ticks: 0, counted };
            scheduler.node(&format!("node_{number}")).build(node)?;
        }
        Ok(TickingScheduler {
            running: scheduler.start()?,
            nodes,
            rounds: 0,
            counted,
        })
    }

    /// Runs rounds of the scheduler, in each of which every node ticks once. Times each round after
    /// the warm-up, in ticks of the time-stamp counter.
    pub fn run_rounds(&mut self, source: TickSource, warm_up: u64, samples: u64) -> Samples {
        let mut ticks = Samples::new();
        for number in 0..warm_up + samples {
            let start = source.read_at_start();
            drop(self.running.tick_once());
            let one = source.read_at_end().since(start);
            if number >= warm_up {
                ticks.record(one);
            }
        }
        self.rounds += warm_up + samples;
        ticks
    }

    /// Runs one round of the scheduler, in which every node ticks once.
    #[inline]
    pub fn tick_once(&mut self) {
        drop(self.running.tick_once());
        self.rounds += 1;
    }

    /// Stops the scheduler. Verifies that every node ticked in every round, according to the counts
    /// of the nodes and to the count of the scheduler.
    pub fn finish(self) -> Outcome {
        let report = self.running.finish()?;
        let told: u64 = report.nodes.iter().map(|node| node.metrics.ticks).sum();
        // Relaxed: the nodes have been shut down.
        let counted = self.counted.load(atomic::Ordering::Relaxed);
        let wanted = self.nodes * self.rounds;
        if (told, counted) != (wanted, wanted) {
            let Self { nodes, rounds, .. } = self;
            let text = format!(
                "{nodes} nodes ticked {counted} times in {rounds} rounds, or {told} times, as the \
                 scheduler says"
            );
            return Err(text.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::namespace::PrivateNamespace;

    #[test]
    fn every_node_has_its_turn_in_every_round() {
        let private = PrivateNamespace::create().unwrap();
        for nodes in [0, 1, 7] {
            let namespace = private.open().unwrap();
            let mut ticking = TickingScheduler::start(nodes, false, &namespace).unwrap();
            let ticks = ticking.run_rounds(TickSource::detect(), 2, 10);
            assert_eq!(ticks.count(), 10);
            ticking.finish().unwrap();
        }
    }

    #[test]
    fn turns_that_nobody_had_are_found_out() {
        let private = PrivateNamespace::create().unwrap();
        let mut ticking = TickingScheduler::start(3, true, &private.open().unwrap()).unwrap();
        ticking.run_rounds(TickSource::detect(), 0, 10);
        ticking.rounds += 1;
        let error = ticking.finish().unwrap_err().to_string();
        assert!(error.contains("30 times in 11 rounds"), "{error}");
    }
}
