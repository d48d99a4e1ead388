//! The endpoint of a connection, as the timed loops call it.

use crate::measure::payload::Corrupt;

/// Sends messages, receives them, or both. No call blocks.
///
/// An endpoint that only sends never has a message, and one that only receives never has room.
pub trait Endpoint<P> {
    /// A message that was sent may be dropped although no other follows it. The last message of a
    /// stream is then sent again until the receiver has confirmed it.
    const DROPS: bool = false;

    /// The endpoint counts the messages that it lost.
    const COUNTS: bool = true;

    /// Offers one message; returns false if there is no room yet, after a `pause`.
    #[inline(always)]
    fn send(&mut self, _message: &P) -> bool {
        false
    }

    /// Takes the next message into `message`; returns false if there is none, and `message` then
    /// holds anything. Brings its own `pause`, if any.
    #[inline(always)]
    fn recv(&mut self, _message: &mut P) -> bool {
        false
    }

    /// Receives like [`recv`](Self::recv), and on a duplex transport also what this side sent.
    #[inline(always)]
    fn recv_all(&mut self, message: &mut P) -> bool {
        self.recv(message)
    }

    /// Takes the messages that are there, one or several, and hands each to `each`; returns false
    /// if there is none. For streams. A single message is received into `message`.
    #[inline(always)]
    fn drain(
        &mut self,
        message: &mut P,
        each: &mut impl FnMut(&P) -> Result<(), Corrupt>,
    ) -> Result<bool, Corrupt> {
        if !self.recv(message) {
            return Ok(false);
        }
        each(message)?;
        Ok(true)
    }

    /// Verifies the copies of message `seq` that `recv` kept, where more than one endpoint
    /// receives. Called where nothing is timed.
    #[inline(always)]
    fn settle(&mut self, _seq: u64) -> Result<(), Corrupt> {
        Ok(())
    }

    /// Returns how many messages the endpoint knows to have lost since it joined.
    fn lost(&self) -> u64 {
        0
    }
}

/// One side of a two-way connection: the first endpoint sends, the second one receives.
impl<P, T: Endpoint<P>, R: Endpoint<P>> Endpoint<P> for (T, R) {
    const DROPS: bool = T::DROPS;
    const COUNTS: bool = R::COUNTS;

    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        self.0.send(message)
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        self.1.recv(message)
    }

    #[inline(always)]
    fn recv_all(&mut self, message: &mut P) -> bool {
        self.1.recv_all(message)
    }

    #[inline(always)]
    fn drain(
        &mut self,
        message: &mut P,
        each: &mut impl FnMut(&P) -> Result<(), Corrupt>,
    ) -> Result<bool, Corrupt> {
        self.1.drain(message, each)
    }

    #[inline(always)]
    fn settle(&mut self, seq: u64) -> Result<(), Corrupt> {
        self.1.settle(seq)
    }

    fn lost(&self) -> u64 {
        self.1.lost()
    }
}

/// An [`Endpoint`] of two closures: `Closures(|message| …, || …)`.
#[derive(Debug)]
pub struct Closures<S, R>(
    /// Offers one message; false if there is no room yet.
    pub S,
    /// Takes the next message, if there is one.
    pub R,
);

impl<P, S: FnMut(&P) -> bool, R: FnMut() -> Option<P>> Endpoint<P> for Closures<S, R> {
    #[inline(always)]
    fn send(&mut self, message: &P) -> bool {
        (self.0)(message)
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut P) -> bool {
        (self.1)().map(|found| *message = found).is_some()
    }
}
