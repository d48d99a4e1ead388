//! Connections that use one ring for both directions. Each side publishes and subscribes, and also
//! receives the messages that it sent itself.

use crate::measure::endpoint::Endpoint;
use crate::measure::payload::{CorruptMessage, Payload};
use crate::measure::stream::{StreamLedger, StreamPlan, StreamResult};
use crate::measure::tsc::TickSource;
use crate::measure::wait::OtherEndWatch;
use crate::measure::workload::WorkloadError;

/// Sequence number of the message that signals the other side to begin.
const READY_SEQ: u64 = 0;

/// Maximum number of attempts to receive a message that this thread has sent itself, which is more
/// than any lane has slots.
const RECEIVE_ATTEMPTS_MAX: u32 = 1 << 16;

/// Number of messages that a side receives for each message that it sends.
const RECEIVED_PER_SENT: u32 = 2;

/// One side of a ring or topic that serves both directions: an end that sends, and one that
/// receives. It puts its bit into the stamp of each message that it sends, and as an [`Endpoint`]
/// it receives only messages of the other side.
#[derive(Debug)]
pub struct DuplexEnd<T, R, P> {
    out: T,
    back: R,
    /// The lowest bit of the stamp of each message of this side: 0 for the side that sends first.
    side_bit: u64,
    /// The last message that this side has sent, once it was received back.
    own: Option<P>,
    /// A message of the other side that arrived while `verify_extra_copies` waited for an own one.
    /// The next `recv` returns it.
    next: Option<P>,
}

impl<P: Payload, T: Endpoint<P>, R: Endpoint<P>> Endpoint<P> for DuplexEnd<T, R, P> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        let mut message = *message;
        message.set_stamp(message.stamp() & !1 | self.side_bit);
        self.out.send(&message)
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        if let Some(next) = self.next.take() {
            *message = next;
            return true;
        }
        if !self.back.recv(message) {
            return false;
        }
        if self.is_own_message(message) {
            self.own = Some(*message);
            return false;
        }
        true
    }

    fn verify_extra_copies(&mut self, seq: u64) -> Result<(), CorruptMessage> {
        for _ in 0..RECEIVE_ATTEMPTS_MAX {
            if let Some(own) = self.own.take() {
                return own.verify(seq);
            }
            let mut message = P::compose(READY_SEQ);
            if self.back.recv(&mut message) {
                let place = match self.is_own_message(&message) {
                    true => &mut self.own,
                    false => &mut self.next,
                };
                if let Some(before) = place.replace(message) {
                    return Err(CorruptMessage::new(seq, before.seq()));
                }
            }
        }
        Err(CorruptMessage::new(seq, READY_SEQ))
    }

    fn lost_messages(&self) -> u64 {
        self.back.lost_messages()
    }
}

impl<P: Payload, T, R> DuplexEnd<T, R, P> {
    /// Returns one side of a ring. `sends_first` is true for the side that sends first.
    pub fn new((out, back): (T, R), sends_first: bool) -> DuplexEnd<T, R, P> {
        DuplexEnd {
            out,
            back,
            side_bit: u64::from(!sends_first),
            own: None,
            next: None,
        }
    }

    fn is_own_message(&self, message: &P) -> bool {
        message.stamp() & 1 == self.side_bit
    }
}

/// Sends every other message of the plan, beginning with the first one on the side that sends
/// first, and at the same time receives the messages of both sides. Verifies each, and counts each
/// loss.
#[inline(never)]
pub fn exchange_streams<P: Payload, T: Endpoint<P>, R: Endpoint<P>>(
    end: &mut DuplexEnd<T, R, P>,
    plan: &StreamPlan,
    source: TickSource,
    watch: &OtherEndWatch,
) -> Result<StreamResult, WorkloadError> {
    let DuplexEnd { out, back, .. } = end;
    let first = end.side_bit == 0;
    let mut message = P::compose(READY_SEQ);
    if first {
        watch.spin_until(|| back.recv(&mut message).then_some(()))?;
        if message.seq() != READY_SEQ {
            return Err(CorruptMessage::new(READY_SEQ, message.seq()).into());
        }
    } else {
        watch.spin_until(|| out.send(&message).then_some(()))?;
    }
    let start = source.read_at_start();
    let mut ledger = StreamLedger::new(plan);
    // WHY: what follows a word at once may overwrite it, so the side that said it is silent until
    // it hears from the other one.
    let mut may_send = first;
    let mut next = plan.first_seq + u64::from(!first);
    let step = plan.producers;
    while next <= plan.last_seq() || !ledger.is_complete() {
        watch.spin_until(|| {
            let sent = may_send && next <= plan.last_seq() && out.send(&P::compose(next));
            next += if sent { step } else { 0 };
            let mut received = 0;
            while received < RECEIVED_PER_SENT && back.recv(&mut message) {
                received += 1;
                // The own word that this side is ready is no message of the plan.
                let entered = match message.seq() {
                    READY_SEQ => Ok(()),
                    _ => ledger.count_message(&message),
                };
                may_send |= message.seq() != READY_SEQ;
                if entered.is_err() {
                    return Some(entered);
                }
            }
            (sent || received > 0).then_some(Ok(()))
        })??;
    }
    Ok(ledger.result(source.read_at_end().since(start)))
}
