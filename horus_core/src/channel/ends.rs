//! The two ends of a channel between threads, whatever it is made of.

use std::fmt;
use std::time::Duration;

use horus_shm::internals::endpoint_counts::Disconnected;
use horus_shm::internals::wait::WaitPolicy;

use super::error::{
    RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError,
};
use super::hub::{Hub, ReceiverSeat, SenderSeat};
use super::iter::{Iter, TryIter};

/// What a channel of messages `T` is made of: `Spsc`, `Spmc`, `Mpsc` and `Fanout`, which have the
/// names in this crate only. Sealed.
pub trait Kind<T>: sealed::Sealed {
    /// Puts messages in.
    type Writer;
    /// Gets them out.
    type Reader;

    /// Puts a message in, or hands it back if there is no room.
    fn push(writer: &mut Self::Writer, message: T) -> Result<(), T>;
    /// The way to get the next message out, if there is one.
    fn find(reader: &mut Self::Reader) -> Option<impl FnOnce() -> T>;
    /// Gets the next message out, if there is one.
    fn pop(reader: &mut Self::Reader) -> Option<T> {
        Self::find(reader).map(|take| take())
    }
    /// Puts a copy of a message in: false if there is no room.
    fn push_ref(writer: &mut Self::Writer, message: &T) -> bool
    where
        T: Copy;
    /// Copies the next message to `message`: false if there is none.
    fn pop_into(reader: &mut Self::Reader, message: &mut T) -> bool
    where
        T: Copy;
    /// Gets up to as many messages out as fit, and hands them to `each`: how many there were.
    fn drain(reader: &mut Self::Reader, each: impl FnMut(T)) -> usize;
    /// The same, of messages that stay where they are meanwhile.
    fn drain_in_place(reader: &mut Self::Reader, each: impl FnMut(&T)) -> usize;
    /// Messages that the slowest receiver still has to get from this sender.
    fn unreceived(writer: &Self::Writer) -> usize;
    /// Messages that this receiver still has to get.
    fn waiting(reader: &Self::Reader) -> usize;
    /// Messages that fit, as the sender knows it.
    fn room(writer: &Self::Writer) -> usize;
    /// Messages that fit, as the receiver knows it.
    fn capacity(reader: &Self::Reader) -> usize;
    /// Drops what a leaving receiver alone could have received.
    fn clear(reader: &mut Self::Reader);
}

pub(super) mod sealed {
    /// Keeps others from making channels of their own kind.
    pub trait Sealed {}
}

/// Implements [`Kind`] by what the ends of all channels are called: its bounds, its two ends, and
/// what a leaving receiver does with what it alone could have received.
macro_rules! kind {
    ($kind:ident [$($bounds:tt)*] $writer:ty, $reader:ty, $clear:expr) => {
        impl $crate::channel::ends::sealed::Sealed for $kind {}

        impl<$($bounds)*> $crate::channel::ends::Kind<T> for $kind {
            type Writer = $writer;
            type Reader = $reader;

            #[inline(always)]
            fn push(writer: &mut Self::Writer, message: T) -> Result<(), T> {
                writer.push(message)
            }

            #[inline(always)]
            fn find(reader: &mut Self::Reader) -> Option<impl FnOnce() -> T> {
                reader.find()
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

            fn unreceived(writer: &Self::Writer) -> usize {
                writer.waiting()
            }

            fn waiting(reader: &Self::Reader) -> usize {
                reader.waiting()
            }

            fn room(writer: &Self::Writer) -> usize {
                writer.capacity()
            }

            fn capacity(reader: &Self::Reader) -> usize {
                reader.capacity()
            }

            fn clear(reader: &mut Self::Reader) {
                let clear: fn(&mut Self::Reader) = $clear;
                clear(reader);
            }
        }
    };
}
pub(super) use kind;

/// The sending end of a channel. `K` is its kind: use the alias of its module, for instance
/// [`spsc::Sender`](super::spsc::Sender).
pub struct Sender<T, K: Kind<T>> {
    pub(super) writer: K::Writer,
    pub(super) spin: Duration,
    /// Declared behind the writer, which is therefore gone when receivers are woken.
    pub(super) seat: SenderSeat,
}

/// The receiving end of a channel. `K` is its kind: use the alias of its module, for instance
/// [`spsc::Receiver`](super::spsc::Receiver).
pub struct Receiver<T, K: Kind<T>> {
    pub(super) reader: K::Reader,
    pub(super) spin: Duration,
    /// Declared behind the reader, which holds up nobody any more when senders are woken.
    pub(super) seat: ReceiverSeat,
}

/// Both ends of a channel.
pub(super) fn pair<T, K: Kind<T>>(
    writer: K::Writer,
    reader: K::Reader,
) -> (Sender<T, K>, Receiver<T, K>) {
    let (sender, receiver) = Hub::seats();
    let spin = WaitPolicy::SPIN;
    (Sender { writer, spin, seat: sender }, Receiver { reader, spin, seat: receiver })
}

#[inline(always)]
fn try_send<T, K: Kind<T>>(
    writer: &mut K::Writer,
    hub: &Hub,
    message: T,
) -> Result<(), TrySendError<T>> {
    if !hub.ends.has_receivers() {
        return Err(TrySendError::Disconnected(message));
    }
    K::push(writer, message).map_err(TrySendError::Full)?;
    hub.message.notify();
    Ok(())
}

// WHY this shape: through nested options, or through a result that is looked at before it is
// returned, the message is copied once more.
#[inline(always)]
fn try_recv<T, K: Kind<T>>(reader: &mut K::Reader, hub: &Hub) -> Result<T, TryRecvError> {
    let Some(take) = K::find(reader) else { return look_again::<T, K>(reader, hub) };
    let _room = Room(hub);
    Ok(take())
}

/// Tells senders that there is room, once a message is out of its slot or its way out panicked.
struct Room<'a>(&'a Hub);

impl Drop for Room<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.room.notify();
    }
}

#[cold]
pub(super) fn look_again<T, K: Kind<T>>(
    reader: &mut K::Reader,
    hub: &Hub,
) -> Result<T, TryRecvError> {
    match hub.ends.look_again(|| K::pop(reader)) {
        Ok(Some(message)) => {
            hub.room.notify();
            Ok(message)
        }
        Ok(None) => Err(TryRecvError::Empty),
        Err(Disconnected) => Err(TryRecvError::Disconnected),
    }
}

impl<T, K: Kind<T>> Sender<T, K> {
    /// Sends `message` without blocking: no lock, no allocation, and no system call unless a
    /// receiver sleeps.
    ///
    /// # Errors
    ///
    /// [`TrySendError::Full`] if as many messages as fit are on their way, and
    /// [`TrySendError::Disconnected`] if there is no receiver. The message comes back.
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
        try_send::<T, K>(&mut self.writer, &self.seat, message)
    }

    /// Sends `message`. Blocks while there is no room: spins briefly, then sleeps.
    ///
    /// # Errors
    ///
    /// [`SendError`] if there is no receiver. The message comes back.
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

    /// Sends `message`. Blocks for up to `timeout` while there is no room.
    ///
    /// # Errors
    ///
    /// [`SendTimeoutError::Timeout`] if there was no room in time, and
    /// [`SendTimeoutError::Disconnected`] if there is no receiver. The message comes back.
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
            Err(TrySendError::Full(message)) => self.send_until(message, WaitPolicy::of(timeout)),
        }
    }

    #[cold]
    pub(super) fn send_until(
        &mut self,
        message: T,
        wait_policy: WaitPolicy,
    ) -> Result<(), SendTimeoutError<T>> {
        let Self { writer, spin, seat } = self;
        let mut unsent = Some(message);
        let sent = seat.room.wait_until(wait_policy.spinning(*spin), || {
            match try_send::<T, K>(writer, seat, unsent.take()?) {
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

    /// Messages sent by this end, or on an `mpsc` channel by all, that the slowest receiver has
    /// not received. Others may be at work meanwhile.
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
        K::unreceived(&self.writer)
    }

    /// True if everything was received, in the sense of [`Self::len`].
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many messages can be on their way at once: from this end, or on an `mpsc` channel from
    /// all together.
    pub fn capacity(&self) -> usize {
        K::room(&self.writer)
    }

    /// Sets how long a blocking call looks for room without giving the CPU away, before it
    /// sleeps. 10 µs unless set.
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

impl<T, K: Kind<T>> Receiver<T, K> {
    /// Receives a message without blocking: no lock, no allocation, and no system call unless a
    /// sender sleeps.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`] if there is none at the moment, and [`TryRecvError::Disconnected`]
    /// if there is none and no sender either.
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
        try_recv::<T, K>(&mut self.reader, &self.seat)
    }

    /// Receives a message. Blocks while there is none: spins briefly, then sleeps.
    ///
    /// # Errors
    ///
    /// [`RecvError`] if there is none and no sender either.
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
            Err(TryRecvError::Empty) => {
                self.recv_until(WaitPolicy::endless()).map_err(|_| RecvError)
            }
        }
    }

    /// Receives a message. Blocks for up to `timeout` while there is none.
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError::Timeout`] if none came in time, and [`RecvTimeoutError::Disconnected`]
    /// if there is none and no sender either.
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
            Err(TryRecvError::Empty) => self.recv_until(WaitPolicy::of(timeout)),
        }
    }

    #[cold]
    pub(super) fn recv_until(&mut self, wait_policy: WaitPolicy) -> Result<T, RecvTimeoutError> {
        let Self { reader, spin, seat } = self;
        let look = || match try_recv::<T, K>(reader, seat) {
            Ok(message) => Some(Ok(message)),
            Err(TryRecvError::Disconnected) => Some(Err(RecvTimeoutError::Disconnected)),
            Err(TryRecvError::Empty) => None,
        };
        let found = seat.message.wait_until(wait_policy.spinning(*spin), look);
        found.unwrap_or(Err(RecvTimeoutError::Timeout))
    }

    /// Receives what is there, and hands it to `each`: how many messages there were, at most as
    /// many as fit. Does not block.
    ///
    /// The fastest way to empty an `spsc`, `spmc` or `mpsc` channel that is kept full: the senders
    /// are told that there is room in a few steps, not message by message, and so may find the
    /// channel full up to an eighth of its capacity too early while this runs. If `each` panics,
    /// what it was given is received and all else is not.
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
        let _room = Room(&self.seat);
        K::drain(&mut self.reader, each)
    }

    /// As [`Self::drain`], of messages that stay where they are while `each` looks at them. What
    /// was looked at is dropped, or left to the other receivers of a `spmc` or `fanout` channel. If
    /// `each` panics, the message that it looks at is not received, and the next of its sender.
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
        let _room = Room(&self.seat);
        K::drain_in_place(&mut self.reader, each)
    }

    /// Receives message after message until there is no sender any more. Blocks in between.
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

    /// Receives what is there, without blocking.
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

    /// Messages that this end has not received. Others may be at work meanwhile.
    pub fn len(&self) -> usize {
        K::waiting(&self.reader)
    }

    /// True if this end received everything, in the sense of [`Self::len`].
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many messages can be on their way at once: from one sender, or on an `mpsc` channel
    /// from all together.
    pub fn capacity(&self) -> usize {
        K::capacity(&self.reader)
    }

    /// Sets how long a blocking call looks for a message without giving the CPU away, before it
    /// sleeps. 10 µs unless set.
    pub const fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }
}

impl<T, K: Kind<T>> Drop for Sender<T, K> {
    fn drop(&mut self) {
        self.seat.ends.remove_sender();
    }
}

impl<T, K: Kind<T>> Drop for Receiver<T, K> {
    fn drop(&mut self) {
        self.seat.ends.remove_receiver();
        K::clear(&mut self.reader);
    }
}

impl<T, K: Kind<T>> fmt::Debug for Sender<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<T, K: Kind<T>> fmt::Debug for Receiver<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("len", &self.len()).finish_non_exhaustive()
    }
}
