//! Groups of endpoints that act as one end of a connection: two senders or two receivers.

use crate::measure::endpoint::Endpoint;
use crate::measure::payload::{CorruptMessage, Payload};
use crate::measure::stream::PRODUCERS_MAX;

/// Several sending endpoints that send in turn.
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

/// Returns two clones of a sender, which send in turn, and the receiver.
pub(crate) fn alternating_clones<T: Clone, R>((tx, rx): (T, R)) -> (AlternatingSenders<T>, R) {
    (AlternatingSenders::new([tx.clone(), tx]), rx)
}

/// Two endpoints that receive the same messages. A message has arrived when both have it.
#[derive(Debug)]
pub(super) struct BroadcastReceivers<R, P> {
    ends: [R; 2],
    /// The last message that the first endpoint received.
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

/// A pair of senders, one for each of two receivers of channels that do not broadcast.
pub(super) struct BroadcastSenders<T> {
    ends: [T; 2],
    first_has_it: bool,
}

impl<T> BroadcastSenders<T> {
    pub(super) fn new(ends: [T; 2]) -> Self {
        let first_has_it = false;
        Self { ends, first_has_it }
    }
}

impl<P, T: Endpoint<P>> Endpoint<P> for BroadcastSenders<T> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        if !self.first_has_it {
            self.first_has_it = self.ends[0].send(message);
        }
        let sent = self.first_has_it && self.ends[1].send(message);
        self.first_has_it &= !sent;
        sent
    }
}

#[cfg(test)]
mod tests {
    use horus_shm::{FanoutShm, MpscShm, RingOptions};

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
}
