//! A channel with any number of senders and one receiver.
//!
//! All senders share the capacity. The channel has one order of messages: if a send ended before
//! another send began, its message comes first. The senders also share a cache line. If the system
//! preempts a sender in the middle of a send, the receiver waits until that sender continues, and
//! with a full channel the other senders wait too. Every queue that senders share has this
//! property. A [`fanout`](super::fanout) channel does not have it, because each sender has its own
//! lane.
//!
//! ```
//! let (tx, rx) = horus_core::channel::mpsc::channel(64);
//! for n in 0..4 {
//!     let mut tx = tx.clone();
//!     std::thread::spawn(move || tx.send(n).unwrap());
//! }
//! drop(tx);
//! assert_eq!(rx.into_iter().sum::<u32>(), 6);
//! ```
//!
//! There is only one receiver:
//!
//! ```compile_fail,E0599
//! let (tx, rx) = horus_core::channel::mpsc::channel::<u32>(64);
//! let another = rx.clone();
//! ```

use horus_shm::internals::heap::{self, TicketReader, TicketWriter};

use super::endpoints;

/// The kind of an `mpsc` channel: the type parameter `K` of its [`Sender`](super::Sender) and
/// [`Receiver`](super::Receiver).
#[derive(Debug)]
pub enum Mpsc {}

/// A sending endpoint of a channel with many senders. It is cheap to clone.
pub type Sender<T> = endpoints::Sender<T, Mpsc>;

/// The receiving endpoint of a channel with many senders. Dropping it drops the unreceived
/// messages. Messages that are being sent at that moment are dropped with the last sender.
pub type Receiver<T> = endpoints::Receiver<T, Mpsc>;

/// Creates a channel that holds `capacity` messages of all senders together.
///
/// # Panics
///
/// Panics if `capacity` is 0, or too large for the memory.
///
/// ```
/// let (mut tx, mut rx) = horus_core::channel::mpsc::channel(2);
/// tx.clone().try_send(1).unwrap();
/// tx.try_send(2).unwrap();
/// assert!(rx.try_iter().eq([1, 2]));
/// ```
#[must_use]
pub fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let (writer, reader) = heap::ticket_channel(capacity);
    endpoints::build_endpoints(writer, reader)
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self {
            writer: self.writer.clone(),
            spin: self.spin,
            registration: self.registration.register_another(),
        }
    }
}

endpoints::kind! {
    Mpsc [T] TicketWriter<T>, TicketReader<T>, |reader| while Self::pop(reader).is_some() {}
}
