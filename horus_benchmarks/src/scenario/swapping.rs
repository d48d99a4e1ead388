//! Measures how long it takes to replace a node by a new version while messages are sent to it. The
//! replacement is repeated many times.

use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};

use horus_core::scheduler::{Context, Handle, Node, NodeResult, Running, Scheduler, SwapState};
use horus_core::topic::{Publisher, Subscriber, Topic};
use horus_shm::Namespace;

use crate::measure::payload::Payload;
use crate::measure::pin;
use crate::measure::stats::{Samples, median};
use crate::measure::tsc::TickSource;
use crate::report::rows::Row;
use crate::run::session::BenchmarkSession;
use crate::scenario::entry::Outcome;
use crate::transport::packet::Packet16;

const SWAP_ROW_ID: &str = "swap/blitz";

/// Number of swaps in a round for each sample that the command line requests. A swap replaces a
/// node by a new version.
const SWAPS_PER_SAMPLE: u64 = 10;

/// Number of messages that are sent before each swap of the node.
const MESSAGES_PER_SWAP: u64 = 4;

const NODE_NAME: &str = "handler";

/// Measures the time to replace a node, repeatedly and while messages are sent to it. Adds a row to
/// the report.
pub(super) fn measure_swaps(session: &mut BenchmarkSession) -> Outcome {
    if !session.args.wants_row(SWAP_ROW_ID) {
        return Ok(());
    }
    pin::pin_current_thread(session.cpus.far)?;
    let mut swapping = NodeSwapBenchmark::start(&session.private.open()?)?;
    pin::pin_current_thread(session.cpus.near)?;
    let effort = session.effort;
    let clock = &session.clock;
    swapping.run_swaps(clock.source, effort.warm_up * SWAPS_PER_SAMPLE)?;
    let mut samples = Samples::new();
    let mut per_s = Vec::new();
    for _ in 0..effort.rounds {
        let swaps = effort.samples * SWAPS_PER_SAMPLE;
        let (ticks, elapsed_ticks) = swapping.run_swaps(clock.source, swaps)?;
        samples.merge(&ticks);
        per_s.push(swaps as f64 / clock.to_ns(elapsed_ticks) * 1e9);
    }
    let (sent, received) = swapping.finish();
    if sent != received {
        return Err(format!("{sent} messages were sent and {received} handled").into());
    }
    let swaps_per_s = median(&mut per_s);
    let row = Row::from_samples(SWAP_ROW_ID, &samples, clock.ns_per_tick);
    let mut row = row.with_counts(sent, received);
    row.additional.swaps_per_s = Some(swaps_per_s);
    row.msgs_per_s = Some(swaps_per_s * MESSAGES_PER_SWAP as f64);
    let method = format!("a swap, {MESSAGES_PER_SWAP} messages and a turn, on one thread");
    session.add_row(row, method);
    Ok(())
}

/// A running scheduler with a node that receives the messages of a topic, and the objects that send
/// messages and swap the node. A swap replaces the node by a new version. Everything runs in one
/// thread.
struct NodeSwapBenchmark {
    running: Running,
    handle: Handle,
    publisher: Publisher<Packet16>,
    sent: u64,
    swaps: u64,
    /// Number of messages that the nodes have received. It is only set when the scheduler ends.
    handled: Arc<AtomicU64>,
}

/// The node that the benchmark swaps again and again, with its state. `KIND` turns it into two
/// types. A swap replaces a node of one type by a node of the other type, and moves the state.
struct SwappedNode<const KIND: bool> {
    subscriber: Subscriber<Packet16>,
    expected_seq: u64,
    handled: Arc<AtomicU64>,
}

impl<const KIND: bool> Node for SwappedNode<KIND> {
    fn tick(&mut self, _: &mut Context<'_>) -> NodeResult {
        while let Some(message) = self.subscriber.recv() {
            message.verify(self.expected_seq)?;
            self.expected_seq += 1;
        }
        Ok(())
    }

    fn shutdown(&mut self) -> NodeResult {
        let handled = self.expected_seq - 1;
        // Relaxed: read after the scheduler has ended.
        self.handled.fetch_add(handled, atomic::Ordering::Relaxed);
        Ok(())
    }
}

impl NodeSwapBenchmark {
    fn start(namespace: &Arc<Namespace>) -> Outcome<NodeSwapBenchmark> {
        let topic = || Topic::<Packet16>::builder("swapping").namespace(namespace);
        let publisher = topic().publisher()?;
        let handled = Arc::new(AtomicU64::new(0));
        let node = SwappedNode::<false> {
            subscriber: topic().subscriber()?,
            expected_seq: 1,
            handled: Arc::clone(&handled),
        };
        let mut scheduler = Scheduler::new();
        scheduler.namespace(namespace);
        scheduler.node(NODE_NAME).build(node)?;
        Ok(NodeSwapBenchmark {
            handle: scheduler.handle(),
            running: scheduler.start()?,
            publisher,
            sent: 0,
            swaps: 0,
            handled,
        })
    }

    /// Swaps the node `swaps` times. Returns the duration of each swap, and the duration of all of
    /// them, both in clock ticks of `source`. The duration of a swap includes the sending of the
    /// messages before it, and the turn in which the new node handles them.
    fn run_swaps(&mut self, source: TickSource, swaps: u64) -> Outcome<(Samples, u64)> {
        let mut ticks = Samples::new();
        let begin = source.read_at_start();
        for _ in 0..swaps {
            let start = source.read_at_start();
            self.swap_once()?;
            ticks.record(source.read_at_end().since(start));
        }
        Ok((ticks, source.read_at_end().since(begin)))
    }

    /// Sends messages that the old node does not receive, so that the new node has to receive them,
    /// and swaps the node.
    fn swap_once(&mut self) -> Outcome {
        for _ in 0..MESSAGES_PER_SWAP {
            self.sent += 1;
            self.publisher.send(Packet16::compose(self.sent))?;
        }
        let (to_true, to_false) = (convert_node::<false, true>, convert_node::<true, false>);
        let swap = match self.swaps.is_multiple_of(2) {
            true => self.handle.swap_with(NODE_NAME, to_true, to_false)?,
            false => self.handle.swap_with(NODE_NAME, to_false, to_true)?,
        };
        self.swaps += 1;
        let goes_on = self.running.tick_once()?;
        let state = swap.state();
        if !goes_on || state != SwapState::OnTrial {
            return Err(format!("swap {} did not take place: {state:?}", self.swaps).into());
        }
        Ok(())
    }

    /// Stops the scheduler. Returns the number of messages sent and the number of messages
    /// received.
    fn finish(self) -> (u64, u64) {
        // A node that failed has not handled what it should have, and that is found by the caller.
        drop(self.running.finish());
        // Relaxed: the node has been shut down.
        (self.sent, self.handled.load(atomic::Ordering::Relaxed))
    }
}

fn convert_node<const OLD: bool, const NEW: bool>(old: SwappedNode<OLD>) -> SwappedNode<NEW> {
    SwappedNode {
        subscriber: old.subscriber,
        expected_seq: old.expected_seq,
        handled: old.handled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::namespace::PrivateNamespace;

    #[test]
    fn every_message_is_handled_once_and_in_order() {
        let private = PrivateNamespace::create().unwrap();
        let mut swapping = NodeSwapBenchmark::start(&private.open().unwrap()).unwrap();
        let mut swapped = 0;
        for swaps in [7, 20] {
            let (ticks, _) = swapping.run_swaps(TickSource::detect(), swaps).unwrap();
            assert_eq!((swapping.swaps, ticks.count()), (swapped + swaps, swaps));
            swapped += swaps;
        }
        let messages = swapped * MESSAGES_PER_SWAP;
        assert_eq!(swapping.finish(), (messages, messages));
    }

    #[test]
    fn a_message_that_is_not_due_is_found_out() {
        let private = PrivateNamespace::create().unwrap();
        let mut swapping = NodeSwapBenchmark::start(&private.open().unwrap()).unwrap();
        swapping.sent += 1;
        let error = swapping.run_swaps(TickSource::detect(), 1).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("swap 1 did not take place"), "{error}");
    }
}
