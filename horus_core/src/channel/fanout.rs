//! A channel with up to 64 senders and up to 64 receivers, where every receiver gets every message.
//!
//! Each sender has its own lane with `capacity` slots and shares nothing with other senders, so no
//! sender can block another. Receivers poll the lanes in turn: messages of one sender arrive in
//! order, messages of two senders in any order. If the slowest receiver does not keep up with a
//! sender, that sender finds its lane full, until the receiver reads or is dropped. While there is
//! no receiver at all, senders are disconnected; a sender can create a new receiver by
//! [`Sender::subscribe`].
//!
//! A message stays in its slot after every receiver has received it. It is dropped when the slot is
//! written again, or with the channel. Up to `capacity` received messages per lane (rounded up to a
//! power of two) therefore stay alive. Wrap large messages in an `Arc`.
//!
//! ```
//! let (mut one, mut rx) = horus_core::channel::fanout::channel(64);
//! let mut two = one.try_clone()?;
//! let mut other = rx.try_clone()?;
//! one.try_send("from one").unwrap();
//! two.try_send("from two").unwrap();
//! for rx in [&mut rx, &mut other] {
//!     let mut both: Vec<_> = rx.try_iter().collect();
//!     both.sort();
//!     assert_eq!(both, ["from one", "from two"]);
//! }
//! # Ok::<(), horus_core::channel::JoinError>(())
//! ```

use horus_shm::internals::heap::{FanInReader, LANES_MAX, Lanes, ShareValues, ValueWriter};

use super::JoinError;
use super::endpoints;

/// The maximum number of senders that a `fanout` channel can have at a time.
pub const SENDERS_MAX: usize = LANES_MAX;
/// The maximum number of receivers that a `fanout` channel can have at a time.
pub const RECEIVERS_MAX: usize = LANES_MAX;

/// The kind of a `fanout` channel: the type parameter `K` of its [`Sender`](super::Sender) and
/// [`Receiver`](super::Receiver).
#[derive(Debug)]
pub enum Fanout {}

/// A sending endpoint of a channel in which every receiver gets every message of each sender.
pub type Sender<T> = endpoints::Sender<T, Fanout>;

/// A receiving endpoint of a channel in which every receiver gets every message of each sender.
pub type Receiver<T> = endpoints::Receiver<T, Fanout>;

/// Creates a channel that holds `capacity` messages of each sender. Returns its first sender and
/// first receiver.
///
/// # Panics
///
/// Panics if `capacity` is 0, or too large for the memory.
///
/// ```
/// let (mut tx, mut rx) = horus_core::channel::fanout::channel(2);
/// tx.try_send(1).unwrap();
/// assert_eq!(rx.try_recv(), Ok(1));
/// ```
#[must_use]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let lanes = Lanes::new(SENDERS_MAX, RECEIVERS_MAX, capacity);
    let writer = lanes.claim_writer().expect("the lanes are new");
    let reader = lanes.claim_fan_in_reader().expect("there is no reader yet");
    endpoints::build_endpoints(writer, reader)
}

const TOO_MANY_SENDERS: JoinError = JoinError::TooManySenders { limit: SENDERS_MAX };
const TOO_MANY_RECEIVERS: JoinError = JoinError::TooManyReceivers {
    limit: RECEIVERS_MAX,
};

impl<T: Clone> Sender<T> {
    /// Returns another sender of the channel. It takes over the lane of a sender that was dropped,
    /// or gets a new lane.
    ///
    /// # Errors
    ///
    /// Returns [`JoinError::TooManySenders`] if there are already [`SENDERS_MAX`] senders.
    ///
    /// # Panics
    ///
    /// Panics if there is no memory for the messages of a new lane.
    ///
    /// ```
    /// let (mut tx, mut rx) = horus_core::channel::fanout::channel(1);
    /// let mut other = tx.try_clone()?;
    /// tx.try_send(1).unwrap();
    /// other.try_send(2).unwrap();
    /// assert_eq!(rx.try_iter().sum::<u32>(), 3);
    /// # Ok::<(), horus_core::channel::JoinError>(())
    /// ```
    pub fn try_clone(&self) -> Result<Self, JoinError> {
        let writer = self.writer.lanes().claim_writer().ok_or(TOO_MANY_SENDERS)?;
        Ok(Self {
            writer,
            spin: self.spin,
            registration: self.registration.register_another(),
        })
    }

    /// Returns another receiver of the channel. It gets the messages that are sent from now on.
    ///
    /// # Errors
    ///
    /// Returns [`JoinError::TooManyReceivers`] if there are already [`RECEIVERS_MAX`] receivers.
    ///
    /// ```
    /// let (mut tx, rx) = horus_core::channel::fanout::channel(64);
    /// drop(rx);
    /// assert!(tx.try_send(1).is_err());
    /// let mut rx = tx.subscribe()?;
    /// tx.try_send(2).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(2));
    /// # Ok::<(), horus_core::channel::JoinError>(())
    /// ```
    pub fn subscribe(&self) -> Result<Receiver<T>, JoinError> {
        let reader = self
            .writer
            .lanes()
            .claim_fan_in_reader()
            .ok_or(TOO_MANY_RECEIVERS)?;
        Ok(endpoints::Receiver {
            reader,
            spin: self.spin,
            registration: self.registration.register_receiver(),
        })
    }
}

impl<T: Clone> Receiver<T> {
    /// Returns another receiver of the channel. It gets the messages that are sent from now on, but
    /// not those that the receiver `self` has not received yet.
    ///
    /// # Errors
    ///
    /// Returns [`JoinError::TooManyReceivers`] if there are already [`RECEIVERS_MAX`] receivers.
    ///
    /// ```
    /// let (mut tx, mut rx) = horus_core::channel::fanout::channel(64);
    /// tx.try_send(1).unwrap();
    /// let mut other = rx.try_clone()?;
    /// tx.try_send(2).unwrap();
    /// assert!(rx.try_iter().eq([1, 2]));
    /// assert!(other.try_iter().eq([2]));
    /// # Ok::<(), horus_core::channel::JoinError>(())
    /// ```
    pub fn try_clone(&self) -> Result<Self, JoinError> {
        let reader = self
            .reader
            .lanes()
            .claim_fan_in_reader()
            .ok_or(TOO_MANY_RECEIVERS)?;
        Ok(Self {
            reader,
            spin: self.spin,
            registration: self.registration.register_another(),
        })
    }
}

endpoints::kind! {
    Fanout [T: Clone] ValueWriter<T, ShareValues>, FanInReader<T, ShareValues>, |_| {}
}
