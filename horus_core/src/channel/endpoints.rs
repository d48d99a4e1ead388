//! The two endpoints of a channel between threads, generic over the kind of channel.

use std::fmt;
use std::time::Duration;

use horus_shm::internals::endpoint_counts::Disconnected;
use horus_shm::internals::wait::WaitPolicy;

use super::error::{
    RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError,
};
use super::iter::{Iter, TryIter};
use super::shared::{ChannelShared, ReceiverRegistration, SenderRegistration};

/// The kind of a channel that carries messages of type `T`: `Spsc`, `Spmc`, `Mpsc` or `Fanout`.
/// Other crates cannot name or implement it.
pub trait ChannelKind<T>: sealed::Sealed {
    /// The type with which a sender puts messages into the channel.
    type Writer;
    /// The type with which a receiver takes messages out of the channel.
    type Reader;

    /// Puts a message into the channel, or returns the message if there is no free slot.
    fn push(writer: &mut Self::Writer, message: T) -> Result<(), T>;
    /// Returns a closure that takes the next message out of the channel; `None` if there is none.
    fn find_next_message(reader: &mut Self::Reader) -> Option<impl FnOnce() -> T>;
    /// Takes the next message out of the channel. Returns `None` if there is no message.
    fn pop(reader: &mut Self::Reader) -> Option<T> {
        Self::find_next_message(reader).map(|take| take())
    }
    /// Puts a copy of a message into the channel. Returns false if there is no free slot.
    fn push_ref(writer: &mut Self::Writer, message: &T) -> bool
    where
        T: Copy;
    /// Takes the next message and copies it to `message`. Returns false if there is no message.
    fn pop_into(reader: &mut Self::Reader, message: &mut T) -> bool
    where
        T: Copy;
    /// Takes the available messages out of the channel, but at most [`Self::reader_capacity`]
    /// messages. Passes each of them to `each`, and returns their number.
    fn drain(reader: &mut Self::Reader, each: impl FnMut(T)) -> usize;
    /// Like [`Self::drain`], but passes references to messages, which stay in their slots during
    /// the call.
    fn drain_in_place(reader: &mut Self::Reader, each: impl FnMut(&T)) -> usize;
    /// Returns how many messages of this sender are still unreceived by the slowest receiver.
    fn unreceived_count(writer: &Self::Writer) -> usize;
    /// Returns how many messages in the channel this receiver has not received yet.
    fn waiting_count(reader: &Self::Reader) -> usize;
    /// Returns the maximum number of unreceived messages, as [`Sender::capacity`] does.
    fn writer_capacity(writer: &Self::Writer) -> usize;
    /// Returns the maximum number of unreceived messages, as [`Receiver::capacity`] does.
    fn reader_capacity(reader: &Self::Reader) -> usize;
    /// Drops the messages that no receiver can receive once this receiver has left.
    fn drop_unreceived_messages(reader: &mut Self::Reader);
}

pub(super) mod sealed {
    /// Prevents other crates from implementing [`ChannelKind`](super::ChannelKind).
    pub trait Sealed {}
}

/// Implements [`ChannelKind`] for `$kind`, given the bounds of `T`, the types of the writer and the
/// reader, and a closure that drops the messages of a receiver that leaves.
macro_rules! kind {
    ($kind:ident [$($bounds:tt)*] $writer:ty, $reader:ty, $clear:expr) => {
        impl $crate::channel::endpoints::sealed::Sealed for $kind {}

        impl<$($bounds)*> $crate::channel::endpoints::ChannelKind<T> for $kind {
            type Writer = $writer;
            type Reader = $reader;

            #[inline(always)]
            fn push(writer: &mut Self::Writer, message: T) -> Result<(), T> {
                writer.push(message)
            }

            #[inline(always)]
            fn find_next_message(reader: &mut Self::Reader) -> Option<impl FnOnce() -> T> {
                reader.find_next()
            }

            #[inline(always)]
            fn push_ref(writer: &mut Self::Writer, message: &T) -> bool
            where
                T: Copy,
            {
                writer.push_ref(message)
            }

            #[inline(always)]
            fn pop_into(reader: &mut Self::Reader, message: &mut T) -> bool
            where
                T: Copy,
            {
                reader.pop_into(message)
            }

            #[inline(always)]
            fn drain(reader: &mut Self::Reader, each: impl FnMut(T)) -> usize {
                reader.drain(each)
            }

            #[inline(always)]
            fn drain_in_place(reader: &mut Self::Reader, each: impl FnMut(&T)) -> usize {
                reader.drain_in_place(each)
            }

            fn unreceived_count(writer: &Self::Writer) -> usize {
                writer.waiting_value_count()
            }

            fn waiting_count(reader: &Self::Reader) -> usize {
                reader.waiting_value_count()
            }

            fn writer_capacity(writer: &Self::Writer) -> usize {
                writer.capacity()
            }

            fn reader_capacity(reader: &Self::Reader) -> usize {
                reader.capacity()
            }

            fn drop_unreceived_messages(reader: &mut Self::Reader) {
                let clear: fn(&mut Self::Reader) = $clear;
                clear(reader);
            }
        }
    };
}
pub(super) use kind;

/// The sending endpoint of a channel. `K` is the channel's kind: use the alias in the channel's
/// module, for example [`spsc::Sender`](super::spsc::Sender).
pub struct Sender<T, K: ChannelKind<T>> {
    pub(super) writer: K::Writer,
    pub(super) spin: Duration,
    /// Wakes the receivers when it is dropped. It is declared after `writer`, because fields are
    /// dropped in order: the receivers then find everything that the writer has published.
    pub(super) registration: SenderRegistration,
}

/// The receiving endpoint of a channel. `K` is the channel's kind: use the alias in the channel's
/// module, for example [`spsc::Receiver`](super::spsc::Receiver).
pub struct Receiver<T, K: ChannelKind<T>> {
    pub(super) reader: K::Reader,
    pub(super) spin: Duration,
    /// Wakes the senders when it is dropped. It is declared after `reader`, because fields are
    /// dropped in order: the slots that the reader held are then free.
    pub(super) registration: ReceiverRegistration,
}

/// Creates a sender and a receiver of a channel from the channel's two internal endpoints.
pub(super) fn build_endpoints<T, K: ChannelKind<T>>(
    writer: K::Writer,
    reader: K::Reader,
) -> (Sender<T, K>, Receiver<T, K>) {
    let (sender, receiver) = ChannelShared::register_sender_and_receiver();
    (
        Sender {
            writer,
            spin: WaitPolicy::SPIN,
            registration: sender,
        },
        Receiver {
            reader,
            spin: WaitPolicy::SPIN,
            registration: receiver,
        },
    )
}

#[inline(always)]
fn try_send<T, K: ChannelKind<T>>(
    writer: &mut K::Writer,
    shared: &ChannelShared,
    message: T,
) -> Result<(), TrySendError<T>> {
    if !shared.ends.has_receivers() {
        return Err(TrySendError::Disconnected(message));
    }
    K::push(writer, message).map_err(TrySendError::Full)?;
    shared.message.notify();
    Ok(())
}

// WHY written in this form: with nested options, or a result that is inspected before it is
// returned, the compiler copies the message once more.
#[inline(always)]
fn try_recv<T, K: ChannelKind<T>>(
    reader: &mut K::Reader,
    shared: &ChannelShared,
) -> Result<T, TryRecvError> {
    let Some(take) = K::find_next_message(reader) else {
        return recheck_before_disconnect::<T, K>(reader, shared);
    };
    let _room = FreeSlotNotifier(shared);
    Ok(take())
}

/// A guard that wakes sleeping senders when it is dropped, because a slot may have become free: a
/// message has left its slot, or cloning the message panicked.
struct FreeSlotNotifier<'a>(&'a ChannelShared);

impl Drop for FreeSlotNotifier<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.room.notify();
    }
}

#[cold]
pub(super) fn recheck_before_disconnect<T, K: ChannelKind<T>>(
    reader: &mut K::Reader,
    shared: &ChannelShared,
) -> Result<T, TryRecvError> {
    match shared.ends.recheck_before_disconnect(|| K::pop(reader)) {
        Ok(Some(message)) => {
            shared.room.notify();
            Ok(message)
        }
        Ok(None) => Err(TryRecvError::Empty),
        Err(Disconnected) => Err(TryRecvError::Disconnected),
    }
}

impl<T, K: ChannelKind<T>> Sender<T, K> {
    /// Sends `message` without blocking: no lock, no allocation, and no system call unless a
    /// receiver sleeps.
    ///
    /// # Errors
    ///
    /// Returns [`TrySendError::Full`] if the channel has no free slot, and
    /// [`TrySendError::Disconnected`] if there is no receiver. The error contains the message.
    ///
    /// ```
    /// use horus_core::channel::{TrySendError, spsc};
    ///
    /// let (mut tx, rx) = spsc::channel(1);
    /// assert_eq!(tx.try_send("one"), Ok(()));
    /// assert_eq!(tx.try_send("two"), Err(TrySendError::Full("two")));
    /// drop(rx);
    /// assert_eq!(tx.try_send("three"), Err(TrySendError::Disconnected("three")));
    /// ```
    #[inline]
    pub fn try_send(&mut self, message: T) -> Result<(), TrySendError<T>> {
        try_send::<T, K>(&mut self.writer, &self.registration, message)
    }

    /// Sends `message`. Blocks while there is no free slot: spins briefly, then sleeps.
    ///
    /// # Errors
    ///
    /// Returns [`SendError`] if there is no receiver. The error contains the message.
    ///
    /// ```
    /// use horus_core::channel::{SendError, spsc};
    ///
    /// let (mut tx, mut rx) = spsc::channel(1);
    /// let receiving = std::thread::spawn(move || [rx.recv(), rx.recv()]);
    /// assert_eq!(tx.send(1), Ok(()));
    /// assert_eq!(tx.send(2), Ok(()));
    /// assert_eq!(receiving.join().unwrap(), [Ok(1), Ok(2)]);
    /// assert_eq!(tx.send(3), Err(SendError(3)));
    /// ```
    #[inline]
    pub fn send(&mut self, message: T) -> Result<(), SendError<T>> {
        match self.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Disconnected(message)) => Err(SendError(message)),
            Err(TrySendError::Full(message)) => self
                .send_until(message, WaitPolicy::endless())
                .map_err(|error| SendError(error.into_inner())),
        }
    }

    /// Sends `message`. Blocks for up to `timeout` while there is no free slot.
    ///
    /// # Errors
    ///
    /// Returns [`SendTimeoutError::Timeout`] if no slot became free in time, and
    /// [`SendTimeoutError::Disconnected`] if there is no receiver. The error contains the message.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use horus_core::channel::{SendTimeoutError, spsc};
    ///
    /// let (mut tx, rx) = spsc::channel(1);
    /// let timeout = Duration::from_millis(1);
    /// assert_eq!(tx.send_timeout("one", timeout), Ok(()));
    /// assert_eq!(tx.send_timeout("two", timeout), Err(SendTimeoutError::Timeout("two")));
    /// # drop(rx);
    /// ```
    #[inline]
    pub fn send_timeout(
        &mut self,
        message: T,
        timeout: Duration,
    ) -> Result<(), SendTimeoutError<T>> {
        match self.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Disconnected(message)) => {
                Err(SendTimeoutError::Disconnected(message))
            }
            Err(TrySendError::Full(message)) => {
                self.send_until(message, WaitPolicy::with_timeout(timeout))
            }
        }
    }

    #[cold]
    pub(super) fn send_until(
        &mut self,
        message: T,
        wait_policy: WaitPolicy,
    ) -> Result<(), SendTimeoutError<T>> {
        let (writer, shared) = (&mut self.writer, &self.registration);
        let mut unsent = Some(message);
        let sent = shared
            .room
            .wait_until(wait_policy.with_spin(self.spin), || {
                match try_send::<T, K>(writer, shared, unsent.take()?) {
                    Ok(()) => Some(Ok(())),
                    Err(TrySendError::Disconnected(message)) => {
                        Some(Err(SendTimeoutError::Disconnected(message)))
                    }
                    Err(TrySendError::Full(message)) => {
                        unsent = Some(message);
                        None
                    }
                }
            });
        match (sent, unsent) {
            (None, Some(message)) => Err(SendTimeoutError::Timeout(message)),
            (sent, _) => sent.unwrap_or(Ok(())),
        }
    }

    /// Returns the number of messages that the slowest receiver has not received yet. It counts the
    /// messages of this sender or, on an `mpsc` channel, those of all senders. Other threads may
    /// change the number at any time.
    ///
    /// ```
    /// use horus_core::channel::spsc;
    ///
    /// let (mut tx, mut rx) = spsc::channel(4);
    /// assert!(tx.is_empty() && rx.is_empty());
    /// tx.try_send('a').unwrap();
    /// assert_eq!((tx.len(), rx.len(), tx.capacity()), (1, 1, 4));
    /// rx.recv().unwrap();
    /// assert!(tx.is_empty() && rx.is_empty());
    /// ```
    pub fn len(&self) -> usize {
        K::unreceived_count(&self.writer)
    }

    /// Returns true if [`Self::len`] is 0, so that the slowest receiver has received all messages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the maximum number of unreceived messages of this sender. On an `mpsc` channel,
    /// returns the maximum for all senders together.
    pub fn capacity(&self) -> usize {
        K::writer_capacity(&self.writer)
    }

    /// Sets the time for which a blocking send spins until there is a free slot, before it sleeps.
    /// The default is 10 µs.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use horus_core::channel::spsc;
    ///
    /// let (mut tx, mut rx) = spsc::channel(8);
    /// tx.set_spin(Duration::ZERO);
    /// rx.set_spin(Duration::from_micros(100));
    /// # tx.send(1).unwrap();
    /// # rx.recv().unwrap();
    /// ```
    pub const fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }
}

impl<T, K: ChannelKind<T>> Receiver<T, K> {
    /// Receives a message without blocking: no lock, no allocation, and no system call unless a
    /// sender sleeps.
    ///
    /// # Errors
    ///
    /// Returns [`TryRecvError::Empty`] if there is no message right now, and
    /// [`TryRecvError::Disconnected`] if there is neither a message nor a sender.
    ///
    /// ```
    /// use horus_core::channel::{TryRecvError, mpsc};
    ///
    /// let (mut tx, mut rx) = mpsc::channel(8);
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.try_send(1).unwrap();
    /// drop(tx);
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    /// ```
    #[inline]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        try_recv::<T, K>(&mut self.reader, &self.registration)
    }

    /// Receives a message. Blocks while there is none: spins briefly, then sleeps.
    ///
    /// # Errors
    ///
    /// Returns [`RecvError`] if there is neither a message nor a sender.
    ///
    /// ```
    /// use horus_core::channel::{RecvError, mpsc};
    ///
    /// let (mut tx, mut rx) = mpsc::channel(8);
    /// let sending = std::thread::spawn(move || tx.send("hello"));
    /// assert_eq!(rx.recv(), Ok("hello"));
    /// sending.join().unwrap().unwrap();
    /// assert_eq!(rx.recv(), Err(RecvError));
    /// ```
    #[inline]
    pub fn recv(&mut self) -> Result<T, RecvError> {
        match self.try_recv() {
            Ok(message) => Ok(message),
            Err(TryRecvError::Disconnected) => Err(RecvError),
            Err(TryRecvError::Empty) => self
                .recv_until(WaitPolicy::endless())
                .map_err(|_| RecvError),
        }
    }

    /// Receives a message. Blocks for up to `timeout` while there is no message.
    ///
    /// # Errors
    ///
    /// Returns [`RecvTimeoutError::Timeout`] if no message came in time, and
    /// [`RecvTimeoutError::Disconnected`] if there is neither a message nor a sender.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use horus_core::channel::{RecvTimeoutError, mpsc};
    ///
    /// let (tx, mut rx) = mpsc::channel::<u8>(8);
    /// let timeout = Duration::from_millis(1);
    /// assert_eq!(rx.recv_timeout(timeout), Err(RecvTimeoutError::Timeout));
    /// drop(tx);
    /// assert_eq!(rx.recv_timeout(timeout), Err(RecvTimeoutError::Disconnected));
    /// ```
    #[inline]
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        match self.try_recv() {
            Ok(message) => Ok(message),
            Err(TryRecvError::Disconnected) => Err(RecvTimeoutError::Disconnected),
            Err(TryRecvError::Empty) => self.recv_until(WaitPolicy::with_timeout(timeout)),
        }
    }

    #[cold]
    pub(super) fn recv_until(&mut self, wait_policy: WaitPolicy) -> Result<T, RecvTimeoutError> {
        let (reader, shared) = (&mut self.reader, &self.registration);
        let look = || match try_recv::<T, K>(reader, shared) {
            Ok(message) => Some(Ok(message)),
            Err(TryRecvError::Disconnected) => Some(Err(RecvTimeoutError::Disconnected)),
            Err(TryRecvError::Empty) => None,
        };
        let wait_policy = wait_policy.with_spin(self.spin);
        let found = shared.message.wait_until(wait_policy, look);
        found.unwrap_or(Err(RecvTimeoutError::Timeout))
    }

    /// Receives the messages that are available, but at most [`Self::capacity`] messages. Passes
    /// each of them to `each`, and returns their number. Does not block.
    ///
    /// This is the fastest way to empty an `spsc`, `spmc` or `mpsc` channel that is kept full. The
    /// read position is published in a few steps. During this call, senders may therefore find the
    /// channel full although up to an eighth of its capacity is free. If `each` panics, messages
    /// that were passed to it count as received, and all others stay in the channel.
    ///
    /// ```
    /// use horus_core::channel::spsc;
    ///
    /// let (mut tx, mut rx) = spsc::channel(8);
    /// (1..=5).for_each(|n| tx.try_send(n).unwrap());
    /// let mut sum = 0;
    /// assert_eq!(rx.drain(|n| sum += n), 5);
    /// assert_eq!((sum, rx.drain(drop)), (15, 0));
    /// ```
    #[inline]
    pub fn drain(&mut self, each: impl FnMut(T)) -> usize {
        let _room = FreeSlotNotifier(&self.registration);
        K::drain(&mut self.reader, each)
    }

    /// Like [`Self::drain`], but passes references to messages, which stay in their slots during
    /// the call. Afterwards the messages are dropped, or stay for the other receivers of a `spmc`
    /// or `fanout` channel. If `each` panics, the message that was passed to it does not count as
    /// received; it is the next message from its sender.
    ///
    /// ```
    /// use horus_core::channel::spsc;
    ///
    /// let (mut tx, mut rx) = spsc::channel(8);
    /// tx.try_send([1.0; 512]).unwrap();
    /// let mut sum = 0.0;
    /// assert_eq!(rx.drain_in_place(|sample| sum += sample.iter().sum::<f64>()), 1);
    /// assert_eq!((sum, rx.drain_in_place(|_| ())), (512.0, 0));
    /// ```
    #[inline]
    pub fn drain_in_place(&mut self, each: impl FnMut(&T)) -> usize {
        let _room = FreeSlotNotifier(&self.registration);
        K::drain_in_place(&mut self.reader, each)
    }

    /// Returns an iterator that receives messages until there is no message and no sender any more.
    /// The iterator blocks while there is no message.
    ///
    /// ```
    /// use horus_core::channel::mpsc;
    ///
    /// let (mut tx, mut rx) = mpsc::channel(2);
    /// std::thread::spawn(move || (1..=5).for_each(|n| tx.send(n).unwrap()));
    /// assert_eq!(rx.iter().sum::<u32>(), 15);
    /// ```
    pub const fn iter(&mut self) -> Iter<'_, T, K> {
        Iter::new(self)
    }

    /// Returns an iterator that receives the available messages. The iterator does not block.
    ///
    /// ```
    /// use horus_core::channel::mpsc;
    ///
    /// let (mut tx, mut rx) = mpsc::channel(8);
    /// (1..=5).for_each(|n| tx.try_send(n).unwrap());
    /// assert_eq!(rx.try_iter().sum::<u32>(), 15);
    /// assert_eq!(rx.try_iter().next(), None);
    /// ```
    pub const fn try_iter(&mut self) -> TryIter<'_, T, K> {
        TryIter::new(self)
    }

    /// Returns the number of messages in the channel that this receiver has not received yet. Other
    /// threads may change the number at any time.
    pub fn len(&self) -> usize {
        K::waiting_count(&self.reader)
    }

    /// Returns true if [`Self::len`] is 0, so that there is no message to receive.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the maximum number of unreceived messages of one sender. On an `mpsc` channel,
    /// returns the maximum for all senders together.
    pub fn capacity(&self) -> usize {
        K::reader_capacity(&self.reader)
    }

    /// Sets the time for which a blocking receive spins until there is a message, before it sleeps.
    /// The default is 10 µs.
    pub const fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }
}

impl<T, K: ChannelKind<T>> Drop for Sender<T, K> {
    fn drop(&mut self) {
        self.registration.ends.remove_sender();
    }
}

impl<T, K: ChannelKind<T>> Drop for Receiver<T, K> {
    fn drop(&mut self) {
        self.registration.ends.remove_receiver();
        K::drop_unreceived_messages(&mut self.reader);
    }
}

impl<T, K: ChannelKind<T>> fmt::Debug for Sender<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl<T, K: ChannelKind<T>> fmt::Debug for Receiver<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
