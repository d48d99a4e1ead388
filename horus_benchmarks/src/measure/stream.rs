//! Streams: messages sent as fast as possible. Each is verified, and each loss is counted exactly.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::measure::bracket::RoundBetweenFloors;
use crate::measure::endpoint::Endpoint;
use crate::measure::payload::{CorruptMessage, Payload};
use crate::measure::tsc::TickSource;
use crate::measure::wait::{OtherEndWatch, WAIT_TIMEOUT};
use crate::measure::workload::WorkloadError;

/// Maximum number of producers that send one stream.
pub const PRODUCERS_MAX: usize = 2;

/// The plan of one stream. Both ends of the connection get the same plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamPlan {
    /// Number of messages.
    pub messages: u64,
    /// Sequence number of the first message, at least 1. Later streams continue the numbering.
    pub first_seq: u64,
    /// Number of producers that send in turn: 1 or 2. Their messages may overtake each other.
    pub producers: u64,
}

impl StreamPlan {
    /// Returns the sequence number of the last message.
    pub fn last_seq(&self) -> u64 {
        self.first_seq + self.messages - 1
    }
}

/// The measurements of the sending end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderResult {
    /// Ticks from the moment at which both ends were ready until the last message was sent.
    pub elapsed_ticks: u64,
}

/// The measurements of the receiving end of a stream: `received + lost` is the number of messages
/// sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamResult {
    /// Number of messages that were received in order and verified.
    pub received: u64,
    /// Number of messages that were overwritten before they were read: the gaps in the sequence
    /// numbers.
    pub lost: u64,
    /// Ticks from the moment at which both ends were ready until the last message was verified.
    pub elapsed_ticks: u64,
}

impl StreamResult {
    /// Returns the number of messages sent.
    pub fn sent_messages(&self) -> u64 {
        self.received + self.lost
    }

    /// Returns the result of two streams that ran at the same time, as if they were one stream.
    pub fn combine(self, other: StreamResult) -> StreamResult {
        StreamResult {
            received: self.received + other.received,
            lost: self.lost + other.lost,
            elapsed_ticks: self.elapsed_ticks.max(other.elapsed_ticks),
        }
    }

    /// Returns the number of messages received per second.
    pub fn messages_per_s(&self, ticks_per_s: f64) -> f64 {
        self.received as f64 / self.elapsed_ticks.max(1) as f64 * ticks_per_s
    }
}

/// A stream between two rounds of the floor, in the form in which a report stores it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StreamRecord {
    /// Medians of the floor rounds before and after the stream, in nanoseconds.
    pub floor_ns: [f64; 2],
    /// Number of messages received per second.
    pub msgs_per_s: f64,
    /// Number of messages sent per second. It is larger if the receiver could not keep up.
    pub sent_per_s: f64,
    /// Number of messages that were lost.
    pub lost: u64,
    /// True if the stream contributes to the median of its row: if the floor was steady around it.
    pub counts: bool,
}

impl StreamRecord {
    /// Converts the result of a stream to rates.
    pub fn new(
        bracket: &RoundBetweenFloors<(SenderResult, StreamResult)>,
        ticks_per_s: f64,
    ) -> StreamRecord {
        let (sent, streamed) = &bracket.result;
        StreamRecord {
            floor_ns: [bracket.before_ns, bracket.after_ns],
            msgs_per_s: streamed.messages_per_s(ticks_per_s),
            sent_per_s: streamed.sent_messages() as f64 / sent.elapsed_ticks.max(1) as f64
                * ticks_per_s,
            lost: streamed.lost,
            counts: bracket.counts,
        }
    }
}

/// Waits until the receiver reports that it is ready, then sends the whole stream. Spins.
#[inline(never)]
pub fn stream_send<P: Payload>(
    end: &mut impl Endpoint<P>,
    plan: &StreamPlan,
    source: TickSource,
    watch: &OtherEndWatch,
) -> Result<SenderResult, WorkloadError> {
    let mut ready = P::compose(0);
    watch.spin_until(|| end.recv(&mut ready).then_some(()))?;
    ready.verify(plan.first_seq)?;
    let start = source.read_at_start();
    for number in 0..plan.messages {
        let message = P::compose(plan.first_seq + number);
        watch.spin_until(|| end.send(&message).then_some(()))?;
    }
    let elapsed_ticks = source.read_at_end().since(start);
    deliver_last_message(end, &P::compose(plan.last_seq()), watch);
    Ok(SenderResult { elapsed_ticks })
}

/// Reports that this side is ready, then receives until every message has arrived or is known to be
/// lost. The last message of a producer is never lost: a ring overwrites only its oldest messages.
#[inline(never)]
pub fn stream_receive<P: Payload>(
    end: &mut impl Endpoint<P>,
    plan: &StreamPlan,
    source: TickSource,
    watch: &OtherEndWatch,
) -> Result<StreamResult, WorkloadError> {
    let mut message = P::compose(0);
    discard_copies_of_last_message(end, &mut message);
    message = P::compose(plan.first_seq);
    watch.spin_until(|| end.send(&message).then_some(()))?;
    let start = source.read_at_start();
    let mut ledger = StreamLedger::new(plan);
    let mut outcome = Ok(());
    while !ledger.is_complete() {
        watch.spin_until(|| {
            let mut enter = |message: &P| {
                if let Err(corrupt) = ledger.count_message(message) {
                    keep_first_error(&mut outcome, corrupt);
                }
            };
            end.drain(&mut message, &mut enter).then_some(())
        })?;
        outcome?;
    }
    let elapsed_ticks = source.read_at_end().since(start);
    if may_drop_messages::<P, _>(end) {
        end.send(&message);
    }
    Ok(ledger.result(elapsed_ticks))
}

/// Stores `corrupt` in `outcome`, unless it already holds an error. WHY a cold function: the
/// measured loop then does not touch `outcome` while all messages are intact.
#[cold]
fn keep_first_error(outcome: &mut Result<(), CorruptMessage>, corrupt: CorruptMessage) {
    *outcome = outcome.and(Err(corrupt));
}

fn may_drop_messages<P, E: Endpoint<P>>(_end: &E) -> bool {
    E::MAY_DROP_MESSAGES
}

/// If the endpoint may drop messages, sends the last one again until the receiver has confirmed it.
/// Gives up if `watch` says so.
fn deliver_last_message<P: Copy>(end: &mut impl Endpoint<P>, last: &P, watch: &OtherEndWatch) {
    let mut answer = *last;
    let since = Instant::now();
    // WHY no error: the confirmation may be lost, too. WHY half the time: the other end waits for
    // the result of this one after that.
    while may_drop_messages::<P, _>(end)
        && !end.recv(&mut answer)
        && since.elapsed() < WAIT_TIMEOUT / 2
        && watch.check_wait(since).is_ok()
    {
        std::thread::sleep(Duration::from_millis(1));
        end.send(last);
    }
}

/// Receives and ignores the superfluous copies of messages that [`deliver_last_message`] sent.
fn discard_copies_of_last_message<P>(end: &mut impl Endpoint<P>, into: &mut P) {
    while may_drop_messages::<P, _>(end) && end.recv(into) {}
}

/// A ledger that counts each message of a stream as either received or lost.
#[derive(Debug)]
pub(crate) struct StreamLedger {
    /// For each producer, the sequence number of the next message that is expected from it.
    due: [u64; PRODUCERS_MAX],
    first_seq: u64,
    last_seq: u64,
    messages: u64,
    /// Number of producers minus 1: a sequence number masked with it is that of the producer.
    producer_mask: u64,
    received: u64,
    lost: u64,
}

impl StreamLedger {
    pub(crate) fn new(plan: &StreamPlan) -> StreamLedger {
        assert!(
            (1..=PRODUCERS_MAX as u64).contains(&plan.producers),
            "one producer or two"
        );
        StreamLedger {
            due: std::array::from_fn(|producer| plan.first_seq + producer as u64),
            first_seq: plan.first_seq,
            last_seq: plan.last_seq(),
            messages: plan.messages,
            producer_mask: plan.producers - 1,
            received: 0,
            lost: 0,
        }
    }

    /// Verifies a message and counts it as received, and those that are missing before it as lost.
    #[inline(always)]
    pub(crate) fn count_message(&mut self, message: &impl Payload) -> Result<(), CorruptMessage> {
        let seq = message.seq();
        let producer = (seq.wrapping_sub(self.first_seq) & self.producer_mask) as usize;
        if seq != self.due[producer] || seq > self.last_seq {
            self.count_lost_before(producer, seq)?;
        }
        message.verify(seq)?;
        self.received += 1;
        // The numbers of one of two producers rise in steps of two.
        self.due[producer] = seq + 1 + self.producer_mask;
        Ok(())
    }

    /// Counts the messages of a producer from the expected one to the one before `seq` as lost.
    #[cold]
    fn count_lost_before(&mut self, producer: usize, seq: u64) -> Result<(), CorruptMessage> {
        let due = self.due[producer];
        if seq < due || seq > self.last_seq {
            return Err(CorruptMessage::new(due, seq));
        }
        self.lost += (seq - due) >> self.producer_mask;
        Ok(())
    }

    /// Returns the result of the stream, which took `elapsed_ticks`.
    pub(crate) fn result(&self, elapsed_ticks: u64) -> StreamResult {
        StreamResult {
            received: self.received,
            lost: self.lost,
            elapsed_ticks,
        }
    }

    #[inline(always)]
    pub(crate) fn is_complete(&self) -> bool {
        self.received + self.lost >= self.messages
    }
}
