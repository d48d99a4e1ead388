//! Groups of endpoints that act as one end of a connection: two senders or two receivers.

use crate::measure::endpoint::Endpoint;
use crate::measure::payload::{CorruptMessage, Payload};
use crate::measure::stream::PRODUCERS_MAX;

/// Several sending endpoints that send in turn.
#[derive(Debug)]
pub struct AlternatingSenders<T> {
    ends: [T; PRODUCERS_MAX],
    next: usize,
}

impl<T> AlternatingSenders<T> {
    /// Returns `ends` as one end.
    pub fn new(ends: [T; PRODUCERS_MAX]) -> AlternatingSenders<T> {
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
pub fn clone_to_alternating_senders<T: Clone, R>((tx, rx): (T, R)) -> (AlternatingSenders<T>, R) {
    (AlternatingSenders::new([tx.clone(), tx]), rx)
}

/// Two endpoints through which the same messages go. A message has arrived when both have received
/// it, and is sent when both have sent it. The senders are for channels that do not broadcast.
#[derive(Debug)]
pub struct BroadcastPair<E, P> {
    ends: [E; 2],
    /// The last message that the first endpoint received.
    copy: P,
    first_has_it: bool,
}

impl<E, P: Payload> BroadcastPair<E, P> {
    /// Returns `ends` as one end.
    pub fn new(ends: [E; 2]) -> BroadcastPair<E, P> {
        BroadcastPair {
            ends,
            copy: P::compose(0),
            first_has_it: false,
        }
    }
}

impl<P: Payload, E: Endpoint<P>> Endpoint<P> for BroadcastPair<E, P> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        if !self.first_has_it {
            self.first_has_it = self.ends[0].send(message);
        }
        let sent = self.first_has_it && self.ends[1].send(message);
        self.first_has_it &= !sent;
        sent
    }

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
    fn verify_extra_copies(&mut self, seq: u64) -> Result<(), CorruptMessage> {
        self.copy.verify(seq)
    }

    fn lost_messages(&self) -> u64 {
        self.ends.iter().map(Endpoint::lost_messages).sum()
    }
}
