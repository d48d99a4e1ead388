//! The stream: messages sent as fast as they go, each verified, each loss counted exactly.

use serde::{Deserialize, Serialize};

use crate::payload::{Corrupt, Payload};
use crate::tsc::{TickSource, Ticks};
use crate::wait::Watch;
use crate::workload::{Link, WorkloadError};

/// One stream. Both ends get the same plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamPlan {
    /// Messages to send.
    pub messages: u64,
    /// Number of the first one, at least 1; later streams continue.
    pub first_seq: u64,
}

impl StreamPlan {
    /// Number of the last message.
    pub fn last_seq(&self) -> u64 {
        self.first_seq + self.messages - 1
    }
}

/// What the receiving end of a stream saw: `received + lost` is what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Streamed {
    /// Messages received, verified and in order.
    pub received: u64,
    /// Messages overwritten before they were read: the gaps in the numbers.
    pub lost: u64,
    /// Ticks from the first message received to the last.
    pub elapsed_ticks: u64,
}

impl Streamed {
    /// Messages received per second, given the rate of the counter; `None` for fewer than two.
    pub fn messages_per_s(&self, ticks_per_s: f64) -> Option<f64> {
        let intervals = self.received.checked_sub(1).filter(|&n| n > 0)?;
        (self.elapsed_ticks > 0).then(|| intervals as f64 / self.elapsed_ticks as f64 * ticks_per_s)
    }
}

/// Sends the whole stream, waiting (spinning) whenever there is no room.
///
/// # Errors
///
/// [`WorkloadError::Wait`] if there is no room for too long, or the receiver is gone.
pub fn stream_send<P: Payload>(
    link: &mut impl Link<P>,
    plan: &StreamPlan,
    watch: &Watch,
) -> Result<(), WorkloadError> {
    for number in 0..plan.messages {
        let message = P::compose(plan.first_seq + number);
        watch.spin_until(|| link.send(&message).then_some(()))?;
    }
    Ok(())
}

/// Receives until the last message has come, which a ring that overwrites the oldest never loses.
///
/// # Errors
///
/// [`WorkloadError::Corrupt`] for a message that is damaged, repeated or overtaken;
/// [`WorkloadError::Wait`] if nothing comes any more.
pub fn stream_receive<P: Payload>(
    link: &mut impl Link<P>,
    plan: &StreamPlan,
    source: TickSource,
    watch: &Watch,
) -> Result<Streamed, WorkloadError> {
    let mut streamed = Streamed { received: 0, lost: 0, elapsed_ticks: 0 };
    let mut due = plan.first_seq;
    let mut first = Ticks(0);
    while due <= plan.last_seq() {
        let message = watch.spin_until(|| link.poll())?;
        if streamed.received == 0 {
            first = source.stop();
        }
        let seq = message.seq();
        if seq < due || seq > plan.last_seq() {
            return Err(Corrupt { expected_seq: due, found_seq: seq }.into());
        }
        message.check(seq)?;
        streamed.received += 1;
        streamed.lost += seq - due;
        due = seq + 1;
    }
    streamed.elapsed_ticks = source.stop().since(first);
    Ok(streamed)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workload::Ends;

    type Message = [u64; 2];

    const PLAN: StreamPlan = StreamPlan { messages: 6, first_seq: 11 };

    fn receive(numbers: &[u64]) -> Result<Streamed, WorkloadError> {
        let mut coming = numbers.iter().map(|&seq| Message::compose(seq));
        let mut link = Ends(|_: &Message| false, move || coming.next());
        let watch = Watch::new(true, || false).with_limit(Duration::from_millis(1));
        stream_receive(&mut link, &PLAN, TickSource::detect(), &watch)
    }

    #[test]
    fn every_message_is_received_or_counted_as_lost() {
        for numbers in [&[11, 12, 13, 14, 15, 16][..], &[16], &[12, 15, 16], &[11, 16]] {
            let streamed = receive(numbers).unwrap();
            assert_eq!(streamed.received, numbers.len() as u64);
            assert_eq!(streamed.received + streamed.lost, PLAN.messages);
        }
    }

    #[test]
    fn repeated_overtaken_and_foreign_messages_are_errors() {
        for numbers in [&[11, 11][..], &[12, 11], &[17], &[10]] {
            assert!(matches!(receive(numbers), Err(WorkloadError::Corrupt(_))), "{numbers:?}");
        }
        assert!(matches!(receive(&[11, 12]), Err(WorkloadError::Wait(_))));
    }

    #[test]
    fn the_sender_offers_each_message_until_there_is_room() {
        let (mut offers, mut taken) = (0, Vec::new());
        let send = |message: &Message| {
            offers += 1;
            let room = offers % 3 == 0;
            room.then(|| taken.push(message.seq())).is_some()
        };
        let watch = Watch::new(true, || false);
        stream_send(&mut Ends(send, || None), &PLAN, &watch).unwrap();
        assert_eq!(taken, [11, 12, 13, 14, 15, 16]);
    }

    #[test]
    fn throughput_counts_intervals_not_messages() {
        let streamed = Streamed { received: 11, lost: 0, elapsed_ticks: 100 };
        assert_eq!(streamed.messages_per_s(1000.0), Some(100.0));
        assert_eq!(Streamed { received: 1, ..streamed }.messages_per_s(1.0), None);
    }
}
