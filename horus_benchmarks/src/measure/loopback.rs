//! Both ends in one thread: the instructions of `send` and `recv`, with no other core involved.

use crate::measure::endpoint::Endpoint;
use crate::measure::micro::{self, Micro, MicroPlan};
use crate::measure::payload::{Corrupt, Payload};
use crate::measure::stream::{Ledger, StreamPlan, Streamed};
use crate::measure::tsc::TickSource;
use crate::measure::wait::Watch;
use crate::measure::workload::WorkloadError;

/// Maximum size of the messages of a batch, in bytes. WHY: they then stay in the first-level cache.
const BATCH_BYTES: usize = 24 * 1024;

/// Maximum number of operations in a batch.
const BATCH_MAX: usize = 256;

/// Number of messages that a stream sends before it receives them. Every ring has more slots.
pub const BURST: u64 = 64;

/// Returns the number of operations in a sample, for messages of `bytes` bytes.
pub fn batch(bytes: usize) -> u64 {
    (1 << (BATCH_BYTES / bytes).clamp(1, BATCH_MAX).ilog2()) as u64
}

/// Sends a message and receives it, again and again; timed in batches.
///
/// Messages are composed before a batch and verified after it. They are numbered from `first_seq`
/// on.
pub fn send_and_receive<P: Payload>(
    end: &mut impl Endpoint<P>,
    plan: &MicroPlan,
    first_seq: u64,
) -> Result<Micro, WorkloadError> {
    let batch = batch(P::BYTES);
    let mut outcome = Ok(());
    let mut sent: Vec<P> = (0..batch).map(|_| P::compose(0)).collect();
    let mut received = sent.clone();
    let micro = micro::run(plan, batch, |number| {
        let batch_seq = first_seq + number * batch;
        for (seq, message) in (batch_seq..).zip(&mut sent) {
            *message = P::compose(seq);
        }
        let start = plan.source.start();
        let arrived = pass(end, &sent, &mut received);
        let ticks = plan.source.stop().since(start);
        let verified = verify(&received, batch_seq).and(if arrived == batch {
            Ok(())
        } else {
            Err(Corrupt {
                expected_seq: batch_seq,
                found_seq: 0,
            })
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

/// Sends and receives each message; returns how many arrived.
///
/// WHY not inlined: the surrounding code would take registers away from it.
#[inline(never)]
fn pass<P: Payload>(end: &mut impl Endpoint<P>, sent: &[P], received: &mut [P]) -> u64 {
    let mut arrived = 0;
    for (message, into) in sent.iter().zip(received) {
        let done = end.send(message) && end.recv(into);
        arrived += u64::from(done);
    }
    arrived
}

fn verify<P: Payload>(received: &[P], first_seq: u64) -> Result<(), Corrupt> {
    (first_seq..)
        .zip(received)
        .try_for_each(|(seq, message)| message.check(seq))
}

/// Streams through the ring in bursts of [`BURST`] messages. The time includes composing and
/// verifying them.
pub fn stream<P: Payload>(
    end: &mut impl Endpoint<P>,
    plan: &StreamPlan,
    source: TickSource,
) -> Result<Streamed, WorkloadError> {
    let watch = Watch::new(false, || false);
    let mut ledger = Ledger::new(plan);
    let mut message = P::compose(0);
    let start = source.start();
    let mut seq = plan.first_seq;
    while !ledger.is_complete() {
        let burst = BURST.min(plan.last_seq() + 1 - seq);
        for seq in seq..seq + burst {
            watch.spin_until(|| end.send(&P::compose(seq)).then_some(()))?;
        }
        for _ in 0..burst {
            watch.spin_until(|| end.recv(&mut message).then_some(()))?;
            ledger.enter(&message)?;
        }
        seq += burst;
    }
    let elapsed_ticks = source.stop().since(start);
    Ok(Streamed {
        received: ledger.received,
        lost: ledger.lost,
        elapsed_ticks,
    })
}
