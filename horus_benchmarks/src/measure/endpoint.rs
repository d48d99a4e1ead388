//! Defines the trait with which the timed loops send and receive messages over any connection.

use crate::measure::payload::CorruptMessage;

/// One end of a connection, which sends messages, receives them, or both. No call blocks.
///
/// `send` of an endpoint that only receives always returns false, and so does `recv` of an endpoint
/// that only sends.
pub trait Endpoint<P> {
    /// True if the transport may drop any message and does not count it, so that
    /// [`lost_messages`](Self::lost_messages) is not exact. The sender of a stream then repeats the
    /// last message until the receiver has confirmed it.
    const MAY_DROP_MESSAGES: bool = false;

    /// Tries to send a message, and returns true on success. If there is no space for the message
    /// yet, executes a `pause` instruction and returns false.
    #[inline(always)]
    fn send(&mut self, _message: &P) -> bool {
        false
    }

    /// Receives the next message into `message`, and returns true. Returns false if there is no
    /// message; the content of `message` is then unspecified. Executes a `pause` instruction where
    /// one is useful.
    #[inline(always)]
    fn recv(&mut self, _message: &mut P) -> bool {
        false
    }

    /// Receives all available messages and calls `each` with each of them; returns false if there
    /// are none. An implementation may use `message` as a buffer, or receive only one message.
    #[inline(always)]
    fn drain(&mut self, message: &mut P, each: &mut impl FnMut(&P)) -> bool {
        let found = self.recv(message);
        if found {
            each(message);
        }
        found
    }

    /// Verifies the additional copies of the message `seq`, which an endpoint stores that receives
    /// each message more than once. It is called outside the measured times.
    #[inline(always)]
    fn verify_extra_copies(&mut self, _seq: u64) -> Result<(), CorruptMessage> {
        Ok(())
    }

    /// Returns the number of messages lost since the endpoint joined.
    fn lost_messages(&self) -> u64 {
        0
    }
}

/// One side of a two-way connection. The first endpoint of the pair sends, the second one receives.
impl<P, T: Endpoint<P>, R: Endpoint<P>> Endpoint<P> for (T, R) {
    const MAY_DROP_MESSAGES: bool = T::MAY_DROP_MESSAGES;

    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        self.0.send(message)
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        self.1.recv(message)
    }

    #[inline(always)]
    fn drain(&mut self, message: &mut P, each: &mut impl FnMut(&P)) -> bool {
        self.1.drain(message, each)
    }

    #[inline(always)]
    fn verify_extra_copies(&mut self, seq: u64) -> Result<(), CorruptMessage> {
        self.1.verify_extra_copies(seq)
    }

    fn lost_messages(&self) -> u64 {
        self.1.lost_messages()
    }
}

/// An [`Endpoint`] that consists of two closures. The first one tries to send a message, and
/// returns false if there is no space yet. The second one returns the next message, if any.
#[derive(Debug)]
pub struct ClosureEndpoint<S, R>(pub S, pub R);

impl<P, S: FnMut(&P) -> bool, R: FnMut() -> Option<P>> Endpoint<P> for ClosureEndpoint<S, R> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        (self.0)(message)
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        (self.1)().map(|found| *message = found).is_some()
    }
}
