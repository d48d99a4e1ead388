//! Any number of senders, one receiver.
//!
//! All senders share the capacity and one order: what a sender sent before another one began comes
//! first. They also share a line of memory, and a sender that the system stops in the middle of a
//! send holds up the receiver until it goes on, and with a full channel the other senders too: so
//! it is with every shared queue. [`fanout`](super::fanout) is made of a lane for each sender and
//! has no such moment.
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
//! There is one receiver:
//!
//! ```compile_fail,E0599
//! let (tx, rx) = horus_core::channel::mpsc::channel::<u32>(64);
//! let another = rx.clone();
//! ```

use horus_shm::internals::heap::{self, TicketReader, TicketWriter};

use super::ends;

/// The kind of this channel.
#[derive(Debug)]
pub enum Mpsc {}

/// A sending end. Cheap to clone.
pub type Sender<T> = ends::Sender<T, Mpsc>;

/// The receiving end. What was not received is dropped with it, but for what senders send at that
/// very moment: that is dropped with the last of them.
pub type Receiver<T> = ends::Receiver<T, Mpsc>;

/// A channel for `capacity` messages, of all senders together.
///
/// # Panics
///
/// If `capacity` is 0, or beyond all memory.
///
/// ```
/// let (mut tx, mut rx) = horus_core::channel::mpsc::channel(2);
/// tx.clone().try_send(1).unwrap();
/// tx.try_send(2).unwrap();
/// assert!(rx.try_iter().eq([1, 2]));
/// ```
#[must_use]
pub fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let (writer, reader) = heap::tickets(capacity);
    ends::pair(writer, reader)
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self { writer: self.writer.clone(), spin: self.spin, seat: self.seat.another() }
    }
}

ends::kind! {
    Mpsc [T] TicketWriter<T>, TicketReader<T>, |reader| while Self::pop(reader).is_some() {}
}
