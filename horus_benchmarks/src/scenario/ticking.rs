//! Rounds of a scheduler whose nodes do next to nothing: what it costs to have nodes called.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};

use horus_core::scheduler::{Context, Node, NodeResult, Running, Scheduler};
use horus_shm::Namespace;

use crate::measure::stats::Samples;
use crate::measure::tsc::TickSource;

/// Why rounds failed.
pub type TickingError = Box<dyn Error>;

/// A scheduler that has started, with nodes that count their ticks, all of them without a rate.
#[derive(Debug)]
pub struct Ticking {
    /// A failure is told of by its end.
    running: Running,
    nodes: u64,
    rounds: u64,
    /// Ticks of all nodes, told at the end.
    counted: Arc<AtomicU64>,
}

/// A node that counts.
struct Counting {
    ticks: u64,
    counted: Arc<AtomicU64>,
}

impl Node for Counting {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        // WHY black_box: the count is to be in memory after each tick, as a node's state is.
        *black_box(&mut self.ticks) += 1;
        Ok(())
    }

    fn shutdown(&mut self) -> NodeResult {
        // Relaxed: read after the scheduler has ended.
        self.counted.fetch_add(self.ticks, atomic::Ordering::Relaxed);
        Ok(())
    }
}

impl Ticking {
    /// Starts `nodes` nodes, timed by the kernel's clock or the one that the scheduler chooses.
    pub fn start(
        nodes: u64,
        by_kernel: bool,
        namespace: &Arc<Namespace>,
    ) -> Result<Ticking, TickingError> {
        let mut scheduler = Scheduler::new();
        scheduler.namespace(namespace);
        if by_kernel {
            scheduler.use_kernel_clock();
        }
        let counted = Arc::new(AtomicU64::new(0));
        for number in 0..nodes {
            let node = Counting { ticks: 0, counted: Arc::clone(&counted) };
            scheduler.node(&format!("node_{number}")).build(node)?;
        }
        let running = scheduler.start()?;
        Ok(Ticking { running, nodes, rounds: 0, counted })
    }

    /// Gives every node its turn, again and again; each time is timed by itself, in ticks of the
    /// counter.
    pub fn rounds(&mut self, source: TickSource, warm_up: u64, samples: u64) -> Samples {
        let mut ticks = Samples::new();
        for number in 0..warm_up + samples {
            let start = source.start();
            drop(self.running.tick_once());
            let one = source.stop().since(start);
            if number >= warm_up {
                ticks.record(one);
            }
        }
        self.rounds += warm_up + samples;
        ticks
    }

    /// Gives every node its turn.
    #[inline]
    pub fn once(&mut self) {
        drop(self.running.tick_once());
        self.rounds += 1;
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Stops, and makes sure that every node had its turn in every round, by its own count and by
    /// the scheduler's.
    pub fn finish(self) -> Result<(), TickingError> {
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
            let mut ticking = Ticking::start(nodes, false, &private.open().unwrap()).unwrap();
            let ticks = ticking.rounds(TickSource::detect(), 2, 10);
            assert_eq!(ticks.count(), 10);
            ticking.finish().unwrap();
        }
    }

    #[test]
    fn turns_that_nobody_had_are_found_out() {
        let private = PrivateNamespace::create().unwrap();
        let mut ticking = Ticking::start(3, true, &private.open().unwrap()).unwrap();
        ticking.rounds(TickSource::detect(), 0, 10);
        ticking.rounds += 1;
        assert!(ticking.finish().unwrap_err().to_string().contains("30 times in 11 rounds"));
    }
}
