//! A channel with one sender and up to 64 receivers, where every receiver gets every message.
//!
//! Each receiver gets a clone of every message sent since it joined, in order. If the slowest
//! receiver does not keep up, the sender finds the channel full, until that receiver reads or is
//! dropped. While there is no receiver at all, the sender is disconnected; it can create a new
//! receiver by [`Sender::subscribe`].
//!
//! A message stays in its slot after every receiver has received it. It is dropped when the slot is
//! written again, or with the channel. Up to `capacity` received messages (rounded up to a power of
//! two) therefore stay alive. Wrap large messages in an `Arc`.
//!
//! ```
//! let (mut tx, mut one) = horus_core::channel::spmc::channel(64);
//! let mut two = tx.subscribe()?;
//! tx.try_send("hello").unwrap();
//! assert_eq!([one.recv(), two.recv()], [Ok("hello"), Ok("hello")]);
//! # Ok::<(), horus_core::channel::JoinError>(())
//! ```
//!
//! There is only one sender:
//!
//! ```compile_fail,E0599
//! let (tx, rx) = horus_core::channel::spmc::channel::<u32>(64);
//! let another = tx.try_clone();
//! ```
//!
//! Several receivers may read the same message at once, so it must be `Sync`:
//!
//! ```compile_fail,E0277
//! let (mut tx, rx) = horus_core::channel::spmc::channel(64);
//! tx.try_send(std::cell::Cell::new(1)).unwrap();
//! std::thread::spawn(move || rx);
//! ```

use horus_shm::internals::heap::{LANES_MAX, Lanes, ShareValues, ValueReader, ValueWriter};

use super::JoinError;
use super::endpoints;

/// The maximum number of receivers that an `spmc` channel can have at a time.
pub const RECEIVERS_MAX: usize = LANES_MAX;

/// The kind of an `spmc` channel: the type parameter `K` of its [`Sender`](super::Sender) and
/// [`Receiver`](super::Receiver).
#[derive(Debug)]
pub enum Spmc {}

/// The sending endpoint of a channel in which every receiver gets every message.
pub type Sender<T> = endpoints::Sender<T, Spmc>;

/// A receiving endpoint of a channel in which every receiver gets every message.
pub type Receiver<T> = endpoints::Receiver<T, Spmc>;

/// Creates a channel that holds `capacity` messages. Returns its sender and its first receiver.
///
/// # Panics
///
/// Panics if `capacity` is 0, or too large for the memory.
///
/// ```
/// let (mut tx, mut rx) = horus_core::channel::spmc::channel(2);
/// tx.try_send(1).unwrap();
/// assert_eq!(rx.try_recv(), Ok(1));
/// ```
#[must_use]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let lanes = Lanes::new(1, RECEIVERS_MAX, capacity);
    let writer = lanes.claim_writer().expect("the lane is new");
    let reader = lanes.claim_reader().expect("there is no reader yet");
    endpoints::build_endpoints(writer, reader)
}

const TOO_MANY_RECEIVERS: JoinError = JoinError::TooManyReceivers {
    limit: RECEIVERS_MAX,
};

impl<T: Clone> Sender<T> {
    /// Returns another receiver of the channel. It gets the messages that are sent from now on.
    ///
    /// # Errors
    ///
    /// Returns [`JoinError::TooManyReceivers`] if there are already [`RECEIVERS_MAX`] receivers.
    ///
    /// ```
    /// let (mut tx, rx) = horus_core::channel::spmc::channel(64);
    /// tx.try_send(1).unwrap();
    /// drop(rx);
    /// assert!(tx.try_send(2).is_err());
    /// let mut rx = tx.subscribe()?;
    /// tx.try_send(3).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(3));
    /// # Ok::<(), horus_core::channel::JoinError>(())
    /// ```
    pub fn subscribe(&self) -> Result<Receiver<T>, JoinError> {
        let reader = self
            .writer
            .lanes()
            .claim_reader()
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
    /// let (mut tx, mut rx) = horus_core::channel::spmc::channel(64);
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
            .claim_reader()
            .ok_or(TOO_MANY_RECEIVERS)?;
        Ok(Self {
            reader,
            spin: self.spin,
            registration: self.registration.register_another(),
        })
    }
}

endpoints::kind! {
    Spmc [T: Clone] ValueWriter<T, ShareValues>, ValueReader<T, ShareValues>, |_| {}
}
