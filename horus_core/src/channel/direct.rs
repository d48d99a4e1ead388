//! A channel with one sender and one receiver, on one thread.
//!
//! It is a queue without atomics, for parts of a program that take turns on one thread. No call
//! blocks, because no other thread could end the wait.
//!
//! ```
//! let (mut tx, mut rx) = horus_core::channel::direct::channel(64);
//! tx.try_send("hello").unwrap();
//! assert_eq!(rx.try_recv(), Ok("hello"));
//! ```
//!
//! The endpoints cannot be moved to another thread:
//!
//! ```compile_fail,E0277
//! let (mut tx, rx) = horus_core::channel::direct::channel(64);
//! std::thread::spawn(move || tx.try_send(1));
//! ```

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

use horus_shm::internals::heap;

use super::error::{TryRecvError, TrySendError};

/// The state that both endpoints share. The channel is disconnected once one of the endpoints has
/// been dropped.
///
/// WHY two positions, and not one length that both endpoints change: each position has its own
/// chain of load, addition and store. The CPU can therefore execute a send before it has the result
/// of the preceding receive.
struct Queue<T> {
    /// The slots for messages; their number is a power of two. A slot without a message is `None`.
    slots: Box<[Cell<Option<T>>]>,
    capacity: usize,
    /// Number of messages sent since the channel was created. It wraps around.
    sent: Cell<usize>,
    /// Number of messages received since the channel was created. It wraps around.
    received: Cell<usize>,
}

impl<T> Queue<T> {
    fn len(&self) -> usize {
        self.sent.get().wrapping_sub(self.received.get())
    }

    #[inline(always)]
    fn slot(&self, position: usize) -> &Cell<Option<T>> {
        &self.slots[position & (self.slots.len() - 1)]
    }

    #[inline(always)]
    fn pop(&self) -> Option<T> {
        let received = self.received.get();
        if received == self.sent.get() {
            return None;
        }
        self.received.set(received.wrapping_add(1));
        self.slot(received).take()
    }
}

/// The sending endpoint of a channel on one thread.
pub struct Sender<T>(Rc<Queue<T>>);

/// The receiving endpoint of a channel on one thread. Dropping it drops the unreceived messages.
pub struct Receiver<T>(Rc<Queue<T>>);

/// Creates a channel that holds `capacity` messages.
///
/// # Panics
///
/// Panics if `capacity` is 0, or too large for the memory.
///
/// ```
/// let (mut tx, mut rx) = horus_core::channel::direct::channel(2);
/// tx.try_send(1).unwrap();
/// assert_eq!(rx.try_recv(), Ok(1));
/// ```
#[must_use]
pub fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(
        capacity > 0,
        "the capacity of a channel is 0: wanted at least 1"
    );
    let slots = empty_slots(capacity)
        .unwrap_or_else(|| heap::panic_without_memory(capacity as u64, size_of::<T>()));
    let sent = Cell::new(0);
    let received = Cell::new(0);
    let queue = Rc::new(Queue {
        slots,
        capacity,
        sent,
        received,
    });
    (Sender(Rc::clone(&queue)), Receiver(queue))
}

/// Returns empty slots for `capacity` messages, rounded up to a power of two. Returns `None` if
/// there is no memory for so many.
fn empty_slots<T>(capacity: usize) -> Option<Box<[Cell<Option<T>>]>> {
    let count = capacity.checked_next_power_of_two()?;
    let mut slots = Vec::new();
    slots.try_reserve_exact(count).ok()?;
    slots.resize_with(count, Cell::default);
    Some(slots.into_boxed_slice())
}

impl<T> Sender<T> {
    /// Sends `message`. Takes a few instructions, and does not allocate.
    ///
    /// # Errors
    ///
    /// Returns [`TrySendError::Full`] if the channel holds `capacity` messages, and
    /// [`TrySendError::Disconnected`] if the receiver was dropped. The error contains the message.
    ///
    /// ```
    /// use horus_core::channel::{TrySendError, direct};
    ///
    /// let (mut tx, rx) = direct::channel(1);
    /// assert_eq!(tx.try_send("one"), Ok(()));
    /// assert_eq!(tx.try_send("two"), Err(TrySendError::Full("two")));
    /// drop(rx);
    /// assert_eq!(tx.try_send("three"), Err(TrySendError::Disconnected("three")));
    /// ```
    #[inline]
    pub fn try_send(&mut self, message: T) -> Result<(), TrySendError<T>> {
        if Rc::strong_count(&self.0) == 1 {
            return Err(TrySendError::Disconnected(message));
        }
        if self.0.len() == self.0.capacity {
            return Err(TrySendError::Full(message));
        }
        let sent = self.0.sent.get();
        self.0.slot(sent).set(Some(message));
        self.0.sent.set(sent.wrapping_add(1));
        Ok(())
    }

    /// Returns the number of messages in the channel that the receiver has not received yet.
    ///
    /// ```
    /// let (mut tx, rx) = horus_core::channel::direct::channel(4);
    /// assert!(tx.is_empty());
    /// tx.try_send('a').unwrap();
    /// assert_eq!((tx.len(), rx.len(), tx.capacity()), (1, 1, 4));
    /// ```
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the receiver has received all messages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the maximum number of messages that the channel can hold.
    pub fn capacity(&self) -> usize {
        self.0.capacity
    }
}

impl<T> Receiver<T> {
    /// Receives a message. Takes a few instructions, and does not block.
    ///
    /// # Errors
    ///
    /// Returns [`TryRecvError::Empty`] if there is no message now, and
    /// [`TryRecvError::Disconnected`] if there is no message and the sender was dropped.
    ///
    /// ```
    /// use horus_core::channel::{TryRecvError, direct};
    ///
    /// let (mut tx, mut rx) = direct::channel(8);
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.try_send(1).unwrap();
    /// drop(tx);
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    /// ```
    #[inline]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.0.pop().ok_or_else(|| match Rc::strong_count(&self.0) {
            1 => TryRecvError::Disconnected,
            _ => TryRecvError::Empty,
        })
    }

    /// Returns an iterator that receives the available messages. It does not block.
    ///
    /// ```
    /// let (mut tx, mut rx) = horus_core::channel::direct::channel(8);
    /// (1..=5).for_each(|n| tx.try_send(n).unwrap());
    /// assert_eq!(rx.try_iter().sum::<u32>(), 15);
    /// ```
    pub const fn try_iter(&mut self) -> TryIter<'_, T> {
        TryIter(self)
    }

    /// Returns the number of messages in the channel that this receiver has not received yet.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if this receiver has received all messages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the maximum number of messages that the channel can hold.
    pub fn capacity(&self) -> usize {
        self.0.capacity
    }
}

/// The iterator that [`Receiver::try_iter`] returns. It ends when no message is available.
#[derive(Debug)]
pub struct TryIter<'a, T>(&'a mut Receiver<T>);

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // WHY in a vector: if the drop of one message panics, the vector still drops the rest.
        let unreceived: Vec<T> = std::iter::from_fn(|| self.0.pop()).collect();
        drop(unreceived);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
