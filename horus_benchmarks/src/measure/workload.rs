//! The ping-pong: one side sends a message and the other side returns it. Only one message is under
//! way at a time, and each is timed and verified. The floor, the rings and the competitors all run
//! through the same loop, so that they differ only in how they send and poll.

use serde::{Deserialize, Serialize};

use crate::measure::endpoint::Endpoint;
use crate::measure::payload::{CorruptMessage, Payload};
use crate::measure::stats::Samples;
use crate::measure::tsc::{TickSource, Ticks, TscClock};
use crate::measure::wait::{OtherEndWatch, WaitError};

/// The part of each message's way that a round times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimedPart {
    /// The time from before `send` until the echo was received. Half of it is the one-way time.
    RoundTrip,
    /// The time from before `send` on one core until after `recv` on the other core, measured with
    /// the counters of both cores.
    OneWay,
    /// The duration of the `send` call alone, which is not a latency.
    SendCall,
}

/// The plan of one round of ping-pong. Both ends get the same plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundPlan {
    /// The part of each message's way that is timed.
    pub timing: TimedPart,
    /// Number of messages that are verified but not timed, at the beginning.
    pub warm_up: u64,
    /// Number of messages that are timed.
    pub samples: u64,
    /// Sequence number of the first message, at least 1. Later rounds continue the numbering, so
    /// that a message left over from an earlier round is detected.
    pub first_seq: u64,
}

impl RoundPlan {
    /// Returns the number of messages in the round, including the warm-up.
    pub fn message_count(&self) -> u64 {
        self.warm_up + self.samples
    }

    /// Returns true if the message with the sequence number `number` is timed.
    pub fn is_timed(&self, seq: u64) -> bool {
        seq >= self.first_seq + self.warm_up
    }

    /// Returns the sequence number of the first message of the next round.
    pub fn next_seq(&self) -> u64 {
        self.first_seq + self.message_count()
    }
}

/// The reason why a round failed. The ends then no longer agree on which message is next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum WorkloadError {
    /// The other end has ended or sends nothing, or a message was lost.
    #[error(transparent)]
    Wait(#[from] WaitError),
    #[error(transparent)]
    CorruptMessage(#[from] CorruptMessage),
    #[error("these ends cannot be measured like this")]
    Unsuited,
    #[error("refused: {0}")]
    Refused(String),
    #[error("{lost} messages did not arrive, and the ring says that it lost {counted}")]
    Miscounted { lost: u64, counted: u64 },
}

/// Returns the error for a library that refused a call, with its reason.
pub(crate) fn refused_call_error(error: impl ToString) -> WorkloadError {
    WorkloadError::Refused(error.to_string())
}

/// The measurements of one end in one or several rounds, without the warm-up.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RoundResult {
    /// The part of each message's way that was timed.
    pub timing: TimedPart,
    /// The measured times in ticks: of the round trip, the way to this end, or the send call. The
    /// far end measures only the way.
    pub ticks: Samples,
    /// Number of messages that this end sent.
    pub sent: u64,
    /// Number of messages that this end received. The near end verifies all of them.
    pub received: u64,
    /// Number of messages that, according to the counters, arrived before they were sent.
    pub backwards: u64,
}

impl RoundResult {
    /// Creates the result of a round in which every message arrived.
    pub fn of_complete_round(plan: &RoundPlan, ticks: Samples) -> RoundResult {
        RoundResult {
            timing: plan.timing,
            ticks,
            sent: plan.samples,
            received: plan.samples,
            backwards: 0,
        }
    }

    /// Returns the one-way time in nanoseconds that one tick of the recorded times stands for.
    pub fn ns_per_unit(&self, clock: &TscClock) -> f64 {
        match self.timing {
            TimedPart::RoundTrip => clock.ns_per_tick / 2.0,
            TimedPart::OneWay | TimedPart::SendCall => clock.ns_per_tick,
        }
    }

    /// Returns the median one-way time, or the median time of the call, in nanoseconds. It is
    /// interpolated within the timer's steps.
    pub fn p50_ns(&self, clock: &TscClock) -> f64 {
        self.ticks.interpolated_median(clock.resolution_ticks) * self.ns_per_unit(clock)
    }

    /// Merges `rounds`, if there are any. Panics if they have different timings.
    pub fn merge_all<'a>(rounds: impl IntoIterator<Item = &'a RoundResult>) -> Option<RoundResult> {
        let mut rounds = rounds.into_iter();
        let mut all = rounds.next()?.clone();
        rounds.for_each(|round| all.merge(round));
        Some(all)
    }

    /// Adds the samples and counts of another round. Panics if it has another timing.
    pub fn merge(&mut self, other: &RoundResult) {
        assert_eq!(self.timing, other.timing, "samples of two kinds do not mix");
        self.ticks.merge(&other.ticks);
        self.sent += other.sent;
        self.received += other.received;
        self.backwards += other.backwards;
    }
}

/// Runs the measuring end of a round: sends a message, waits for the echo and verifies it,
/// `plan.message_count()` times. Spins. Messages are composed and verified outside the measured
/// time. WHY not inlined: the caller's code must not influence the use of registers in the loop.
#[inline(never)]
pub fn run_measuring_end<P: Payload>(
    end: &mut impl Endpoint<P>,
    plan: &RoundPlan,
    source: TickSource,
    watch: &OtherEndWatch,
) -> Result<RoundResult, WorkloadError> {
    let mut ticks = Samples::new();
    let mut backwards = 0;
    let mut echo = P::compose(0);
    for number in 0..plan.message_count() {
        let seq = plan.first_seq + number;
        let mut message = P::compose(seq);
        let start = source.read_at_start();
        if plan.timing == TimedPart::OneWay {
            message.set_stamp(start.0);
        }
        watch.spin_until(|| end.send(&message).then_some(()))?;
        let called = if plan.timing == TimedPart::SendCall {
            source.read_at_end()
        } else {
            start
        };
        watch.spin_until(|| end.recv(&mut echo).then_some(()))?;
        let stop = source.read_at_end();
        echo.verify(seq)?;
        end.verify_extra_copies(seq)?;
        let sample = match plan.timing {
            TimedPart::RoundTrip => Some(stop.since(start)),
            TimedPart::SendCall => Some(called.since(start)),
            TimedPart::OneWay => stop.checked_since(Ticks(echo.stamp())),
        };
        if number >= plan.warm_up {
            match sample {
                Some(sample) => ticks.record(sample),
                None => backwards += 1,
            }
        }
    }
    Ok(RoundResult {
        backwards,
        ..RoundResult::of_complete_round(plan, ticks)
    })
}

/// Runs the echoing end of a round. A message is sent back unchanged, so that the near end's check
/// covers both directions. With [`TimedPart::OneWay`] this end verifies the message too, and gives
/// it a new stamp.
#[inline(never)]
pub fn run_echoing_end<P: Payload>(
    end: &mut impl Endpoint<P>,
    plan: &RoundPlan,
    source: TickSource,
    watch: &OtherEndWatch,
) -> Result<RoundResult, WorkloadError> {
    let mut round = RoundResult::of_complete_round(plan, Samples::new());
    let mut message = P::compose(0);
    for number in 0..plan.message_count() {
        watch.spin_until(|| end.recv(&mut message).then_some(()))?;
        if plan.timing == TimedPart::OneWay {
            let arrived = source.read_at_end();
            message.verify(plan.first_seq + number)?;
            if number >= plan.warm_up {
                match arrived.checked_since(Ticks(message.stamp())) {
                    Some(sample) => round.ticks.record(sample),
                    None => round.backwards += 1,
                }
            }
            message.set_stamp(source.read_at_start().0);
        }
        watch.spin_until(|| end.send(&message).then_some(()))?;
        // WHY here: the echo is on its way, so this does not delay it.
        end.verify_extra_copies(plan.first_seq + number)?;
    }
    Ok(round)
}
