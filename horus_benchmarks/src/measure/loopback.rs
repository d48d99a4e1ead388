//! Measures a connection whose two ends are in one thread: the cost of the instructions of `send`
//! and `recv`, without any other core.

use crate::measure::endpoint::Endpoint;
use crate::measure::micro::{self, BatchPlan, BatchResult};
use crate::measure::payload::{CorruptMessage, Payload};
use crate::measure::stream::{StreamLedger, StreamPlan, StreamResult};
use crate::measure::tsc::TickSource;
use crate::measure::wait::OtherEndWatch;
use crate::measure::workload::WorkloadError;

/// Maximum size of all messages of a batch, in bytes. WHY: they fit into the first-level cache.
const BATCH_BYTES_MAX: usize = 24 * 1024;

/// Maximum number of operations in a batch, each of which is a send and a receive.
const BATCH_OPERATIONS_MAX: usize = 256;

/// Number of messages that a stream sends before it receives them. Every ring has more slots.
pub const BURST_MESSAGES: u64 = 64;

/// Returns the number of operations in a batch, for messages of `message_bytes` bytes.
pub fn operations_per_batch(message_bytes: usize) -> u64 {
    (1 << (BATCH_BYTES_MAX / message_bytes)
        .clamp(1, BATCH_OPERATIONS_MAX)
        .ilog2()) as u64
}

/// Repeatedly sends a message and receives it, and measures the time of each batch. Messages are
/// composed before a batch and verified after it. They are numbered from `first_seq` on.
pub fn send_and_receive<P: Payload>(
    end: &mut impl Endpoint<P>,
    plan: &BatchPlan,
    first_seq: u64,
) -> Result<BatchResult, WorkloadError> {
    let batch = operations_per_batch(P::BYTES);
    let mut outcome = Ok(());
    let mut sent: Vec<P> = (0..batch).map(|_| P::compose(0)).collect();
    let mut received = sent.clone();
    let micro = micro::run_batches(plan, batch, |number| {
        let batch_seq = first_seq + number * batch;
        for (seq, message) in (batch_seq..).zip(&mut sent) {
            *message = P::compose(seq);
        }
        let start = plan.source.read_at_start();
        let arrived = send_and_receive_batch(end, &sent, &mut received);
        let ticks = plan.source.read_at_end().since(start);
        let verified = verify_messages(&received, batch_seq).and(match arrived {
            all if all == batch => Ok(()),
            _ => Err(CorruptMessage::new(batch_seq, 0)),
        });
        let right = verified.is_ok();
        if outcome.is_ok() {
            outcome = verified;
        }
        (ticks, right)
    });
    outcome?;
    Ok(micro)
}

/// Sends and receives each of the messages in `sent`. Returns the number of messages that arrived.
///
/// WHY not inlined: the surrounding code would occupy registers that this loop needs.
#[inline(never)]
fn send_and_receive_batch<P: Payload>(
    end: &mut impl Endpoint<P>,
    sent: &[P],
    received: &mut [P],
) -> u64 {
    let mut arrived = 0;
    for (message, into) in sent.iter().zip(received) {
        let done = end.send(message) && end.recv(into);
        arrived += u64::from(done);
    }
    arrived
}

fn verify_messages<P: Payload>(received: &[P], first_seq: u64) -> Result<(), CorruptMessage> {
    (first_seq..)
        .zip(received)
        .try_for_each(|(seq, message)| message.verify(seq))
}

/// Sends messages in bursts of [`BURST_MESSAGES`], and receives each burst before the next one. The
/// measured time includes composing and verifying the messages.
pub fn stream_in_bursts<P: Payload>(
    end: &mut impl Endpoint<P>,
    plan: &StreamPlan,
    source: TickSource,
) -> Result<StreamResult, WorkloadError> {
    let watch = OtherEndWatch::new(false, || false);
    let mut ledger = StreamLedger::new(plan);
    let mut message = P::compose(0);
    let start = source.read_at_start();
    let mut seq = plan.first_seq;
    while !ledger.is_complete() {
        let burst = BURST_MESSAGES.min(plan.last_seq() + 1 - seq);
        for seq in seq..seq + burst {
            watch.spin_until(|| end.send(&P::compose(seq)).then_some(()))?;
        }
        for _ in 0..burst {
            watch.spin_until(|| end.recv(&mut message).then_some(()))?;
            ledger.count_message(&message)?;
        }
        seq += burst;
    }
    Ok(ledger.result(source.read_at_end().since(start)))
}
