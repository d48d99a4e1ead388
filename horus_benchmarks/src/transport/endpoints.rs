//! Implements [`Endpoint`] for our rings and topics, with one or two endpoints on each side.

use horus_core::topic::{Publisher, Subscriber};
use horus_shm::{Consumer, LoanError, Producer};

use crate::measure::endpoint::Endpoint;
use crate::measure::payload::{CorruptMessage, Payload};
use crate::measure::stream::PRODUCERS_MAX;
use crate::transport::packet::Packet;

/// Implements [`Endpoint`] for the ends of a ring or topic. The arguments of the macro are the call
/// that sends a message by reference, and the call that counts losses.
macro_rules! endpoints {
    ($sender:ident::$send:ident, $receiver:ident, |$end:ident| $lost:expr) => {
        impl<P: Packet> Endpoint<P> for $sender<P> {
            #[inline(always)]
            fn send(&mut self, message: &P) -> bool {
                match $sender::$send(self, message) {
                    Ok(()) => true,
                    Err(error) => handle_refusal(error.is_full()),
                }
            }
        }

        impl<P: Packet> Endpoint<P> for $receiver<P> {
            #[inline(always)]
            fn recv(&mut self, message: &mut P) -> bool {
                self.recv_into(message)
            }

            #[inline(always)]
            fn drain(&mut self, _message: &mut P, each: &mut impl FnMut(&P)) -> bool {
                $receiver::drain(self, |message| each(&message)) > 0
            }

            fn lost(&self) -> u64 {
                let $end = self;
                $lost
            }
        }
    };
}

endpoints!(Producer::send_ref, Consumer, |end| end.stats().lost);
endpoints!(Publisher::send, Subscriber, |end| Subscriber::lost(end));

/// A publisher of a topic that supports loans: it writes each message directly into the slot.
#[derive(Debug)]
pub(super) struct LoanPublisher<P: Packet>(pub(super) Publisher<P>);

impl<P: Packet> Endpoint<P> for LoanPublisher<P> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        match self.0.loan() {
            Ok(mut loan) => {
                *loan = *message;
                loan.publish().is_ok() || handle_refusal(false)
            }
            Err(error) => handle_refusal(matches!(error, LoanError::Full { .. })),
        }
    }
}

/// A subscriber of a topic that supports loans: it reads each message in its slot.
#[derive(Debug)]
pub(super) struct BorrowSubscriber<P: Packet>(pub(super) Subscriber<P>);

impl<P: Packet> Endpoint<P> for BorrowSubscriber<P> {
    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        let sample = self
            .0
            .borrow()
            .expect("the topic can lend, and one message is borrowed");
        sample.map(|sample| *message = *sample).is_some()
    }

    fn lost(&self) -> u64 {
        Subscriber::lost(&self.0)
    }
}

/// Handles a send that failed. Returns false if the ring is full, so that the caller tries again.
/// Otherwise panics, because the benchmark cannot continue.
#[inline(always)]
fn handle_refusal(is_full: bool) -> bool {
    assert!(
        is_full,
        "the ring is not ours any more, or its memory is gone"
    );
    std::hint::spin_loop();
    false
}

/// A consumer that receives the newest message of a ring which holds only the latest value.
#[derive(Debug)]
pub(super) struct LatestConsumer<P>(pub(super) Consumer<P>);

impl<P: Packet> Endpoint<P> for LatestConsumer<P> {
    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        self.0.latest_into(message)
    }

    fn lost(&self) -> u64 {
        let stats = self.0.stats();
        stats.lost + stats.skipped
    }
}

/// Several sending endpoints that send in turn. Together they are one end of a connection.
#[derive(Debug)]
pub(super) struct AlternatingSenders<T> {
    ends: [T; PRODUCERS_MAX],
    next: usize,
}

impl<T> AlternatingSenders<T> {
    pub(super) fn new(ends: [T; PRODUCERS_MAX]) -> AlternatingSenders<T> {
        AlternatingSenders { ends, next: 0 }
    }
}

impl<P, T: Endpoint<P>> Endpoint<P> for AlternatingSenders<T> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        let sent = self.ends[self.next % PRODUCERS_MAX].send(message);
        self.next += usize::from(sent);
        sent
    }
}

/// Returns two clones of a sender as one sending end, and the receiver. The clones send in turn.
pub(crate) fn alternating_clones<T: Clone, R>((tx, rx): (T, R)) -> (AlternatingSenders<T>, R) {
    (AlternatingSenders::new([tx.clone(), tx]), rx)
}

/// Two endpoints that receive the same messages. A message counts as received once both endpoints
/// have received it.
#[derive(Debug)]
pub(super) struct BroadcastReceivers<R, P> {
    ends: [R; 2],
    /// The last message that the first endpoint received. `verify_copies` verifies it.
    copy: P,
    first_has_it: bool,
}

impl<R, P: Payload> BroadcastReceivers<R, P> {
    pub(super) fn new(ends: [R; 2]) -> BroadcastReceivers<R, P> {
        BroadcastReceivers {
            ends,
            copy: P::compose(0),
            first_has_it: false,
        }
    }
}

impl<P: Payload, R: Endpoint<P>> Endpoint<P> for BroadcastReceivers<R, P> {
    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        if !self.first_has_it {
            self.first_has_it = self.ends[0].recv(&mut self.copy);
        }
        let arrived = self.first_has_it && self.ends[1].recv(message);
        self.first_has_it &= !arrived;
        arrived
    }

    #[inline(always)]
    fn verify_copies(&mut self, seq: u64) -> Result<(), CorruptMessage> {
        self.copy.verify(seq)
    }

    fn lost(&self) -> u64 {
        self.ends.iter().map(Endpoint::lost).sum()
    }
}

#[cfg(test)]
mod tests {
    use horus_shm::{FanoutShm, MpscShm, PodShm, RingOptions};

    use super::*;
    use crate::transport::packet::Packet16;

    #[test]
    fn ends_in_turn_use_every_lane_and_wait_for_a_full_one() {
        let ring = MpscShm::<Packet16>::heap(&RingOptions::capacity(4)).unwrap();
        let mut consumer = ring.consumer().unwrap();
        let mut out = AlternatingSenders::new([ring.producer().unwrap(), ring.producer().unwrap()]);
        let sent = (1..20)
            .take_while(|&seq| out.send(&Packet16::compose(seq)))
            .count();
        assert_eq!(sent, 8);
        let mut message = Packet16::compose(0);
        assert!(Endpoint::recv(&mut consumer, &mut message) && out.send(&message));
    }

    #[test]
    fn a_message_has_arrived_when_both_ends_have_it_whole() {
        let ring = FanoutShm::<Packet16>::heap(&RingOptions::capacity(8)).unwrap();
        let mut both =
            BroadcastReceivers::new([ring.consumer().unwrap(), ring.consumer().unwrap()]);
        let mut out = ring.producer().unwrap();
        let mut message = Packet16::compose(0);
        assert!(!both.recv(&mut message));
        for seq in 1..20 {
            assert!(Endpoint::send(&mut out, &Packet16::compose(seq)));
            assert!(both.recv(&mut message) && !both.recv(&mut Packet16::compose(0)));
            assert_eq!(
                (message.verify(seq), both.verify_copies(seq)),
                (Ok(()), Ok(()))
            );
        }
        both.copy.words[1] ^= 1;
        assert!(both.verify_copies(19).is_err());
    }

    #[test]
    fn the_latest_message_passes_over_the_ones_before() {
        let ring = PodShm::<Packet16>::heap(&RingOptions::default()).unwrap();
        let mut out = ring.producer().unwrap();
        let mut back = LatestConsumer(ring.consumer().unwrap());
        for seq in 1..=3 {
            assert!(Endpoint::send(&mut out, &Packet16::compose(seq)));
        }
        let mut message = Packet16::compose(0);
        assert!(back.recv(&mut message) && !back.recv(&mut Packet16::compose(0)));
        assert_eq!((message.verify(3), back.lost()), (Ok(()), 2));
    }
}
