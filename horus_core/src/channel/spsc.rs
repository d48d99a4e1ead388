//! A channel with one sender and one receiver.
//!
//! Both sides are wait-free. The only memory that both sides access is the slot that is passed,
//! once per lap of the ring the receiver's position and, for some sizes of messages on AMD CPUs,
//! the sender's position.
//!
//! ```
//! let (mut tx, mut rx) = horus_core::channel::spsc::channel(64);
//! std::thread::spawn(move || (0..1000).for_each(|n| tx.send(n).unwrap()));
//! assert!(rx.iter().eq(0..1000));
//! ```
//!
//! There is one endpoint of each kind:
//!
//! ```compile_fail,E0599
//! let (tx, rx) = horus_core::channel::spsc::channel::<u32>(64);
//! let another = tx.clone();
//! ```
//!
//! ```compile_fail,E0599
//! let (tx, rx) = horus_core::channel::spsc::channel::<u32>(64);
//! let another = rx.clone();
//! ```
//!
//! A message that is not `Send` cannot be sent to another thread:
//!
//! ```compile_fail,E0277
//! let (mut tx, rx) = horus_core::channel::spsc::channel(64);
//! tx.try_send(std::rc::Rc::new(1)).unwrap();
//! std::thread::spawn(move || rx);
//! ```

use horus_shm::internals::heap::{Lanes, MoveValues, ValueReader, ValueWriter};

use super::endpoints;

/// The kind of an `spsc` channel: the type parameter `K` of its [`Sender`](super::Sender) and
/// [`Receiver`](super::Receiver).
#[derive(Debug)]
pub enum Spsc {}

/// The sending endpoint of a channel with one sender and one receiver.
pub type Sender<T> = endpoints::Sender<T, Spsc>;

/// The receiving endpoint of a channel with one sender and one receiver. Dropping it drops the
/// unreceived messages. A message that is being sent at that moment is dropped with the sender.
pub type Receiver<T> = endpoints::Receiver<T, Spsc>;

/// Creates a channel that holds up to `capacity` messages. Returns its sender and its receiver.
///
/// # Panics
///
/// Panics if `capacity` is 0, or too large for the memory.
///
/// ```
/// let (mut tx, mut rx) = horus_core::channel::spsc::channel(2);
/// tx.try_send(1).unwrap();
/// assert_eq!(rx.try_recv(), Ok(1));
/// ```
#[must_use]
pub fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let lanes = Lanes::new(1, 1, capacity);
    let writer = lanes.claim_writer().expect("the lane is new");
    let reader = lanes.claim_reader().expect("there is no reader yet");
    endpoints::build_endpoints(writer, reader)
}

endpoints::kind! {
    Spsc [T] ValueWriter<T, MoveValues>, ValueReader<T, MoveValues>,
    |reader| while Self::pop(reader).is_some() {}
}
