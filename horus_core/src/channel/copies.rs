//! Sends and receives of large [`Copy`] types, which copy a message directly between its slot and
//! the caller's memory.
//!
//! WHY: a value that is passed to a call or returned from it is copied once more. For a message of
//! one kilobyte, that copy takes a tenth of the time that the message takes from one thread to
//! another. The methods in this file make the additional copy only if they have to wait.

use horus_shm::internals::wait::WaitPolicy;

use super::endpoints::{ChannelKind, Receiver, Sender, recheck_before_disconnect};
use super::error::{RecvError, SendError, TryRecvError, TrySendError};

impl<T: Copy, K: ChannelKind<T>> Sender<T, K> {
    /// Sends a copy of `message` without blocking, like [`Self::try_send`]. Copies the message only
    /// once, directly into its slot: this is faster for large messages.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::try_send`], but without the message in them.
    ///
    /// ```
    /// use horus_core::channel::{TrySendError, spsc};
    ///
    /// let (mut tx, mut rx) = spsc::channel(1);
    /// let (scan, mut received) = ([0.5; 360], [0.0; 360]);
    /// assert_eq!(tx.try_send_ref(&scan), Ok(()));
    /// assert_eq!(tx.try_send_ref(&scan), Err(TrySendError::Full(())));
    /// assert_eq!(rx.try_recv_into(&mut received), Ok(()));
    /// assert_eq!(received, scan);
    /// ```
    #[inline]
    pub fn try_send_ref(&mut self, message: &T) -> Result<(), TrySendError<()>> {
        if !self.registration.ends.has_receivers() {
            return Err(TrySendError::Disconnected(()));
        }
        if !K::push_ref(&mut self.writer, message) {
            return Err(TrySendError::Full(()));
        }
        self.registration.message.notify();
        Ok(())
    }

    /// Sends a copy of `message` like [`Self::send`]. Copies the message only once, directly into
    /// its slot, unless the call has to wait. Blocks while there is no free slot.
    ///
    /// # Errors
    ///
    /// Returns the error of [`Self::send`], but without the message in it.
    #[inline]
    pub fn send_ref(&mut self, message: &T) -> Result<(), SendError<()>> {
        match self.try_send_ref(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Disconnected(())) => Err(SendError(())),
            Err(TrySendError::Full(())) => self
                .send_until(*message, WaitPolicy::endless())
                .map_err(|_| SendError(())),
        }
    }
}

impl<T: Copy, K: ChannelKind<T>> Receiver<T, K> {
    /// Receives a message into `message` without blocking, like [`Self::try_recv`]. Copies it only
    /// once, directly from its slot: this is faster for large messages. After an error, `message`
    /// is unchanged.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::try_recv`].
    #[inline]
    pub fn try_recv_into(&mut self, message: &mut T) -> Result<(), TryRecvError> {
        if K::pop_into(&mut self.reader, message) {
            self.registration.room.notify();
            return Ok(());
        }
        *message = recheck_before_disconnect::<T, K>(&mut self.reader, &self.registration)?;
        Ok(())
    }

    /// Receives a message into `message`, like [`Self::recv`]. Copies it only once, directly from
    /// its slot, unless the call has to wait. After an error, `message` is unchanged. Blocks while
    /// there is no message.
    ///
    /// # Errors
    ///
    /// Returns the error of [`Self::recv`].
    ///
    /// ```
    /// use horus_core::channel::{RecvError, mpsc};
    ///
    /// let (mut tx, mut rx) = mpsc::channel(8);
    /// let sending = std::thread::spawn(move || tx.send_ref(&[1, 2, 3]));
    /// let mut message = [0; 3];
    /// assert_eq!(rx.recv_into(&mut message), Ok(()));
    /// assert_eq!(message, [1, 2, 3]);
    /// sending.join().unwrap().unwrap();
    /// assert_eq!(rx.recv_into(&mut message), Err(RecvError));
    /// ```
    #[inline]
    pub fn recv_into(&mut self, message: &mut T) -> Result<(), RecvError> {
        match self.try_recv_into(message) {
            Ok(()) => Ok(()),
            Err(TryRecvError::Disconnected) => Err(RecvError),
            Err(TryRecvError::Empty) => {
                *message = self
                    .recv_until(WaitPolicy::endless())
                    .map_err(|_| RecvError)?;
                Ok(())
            }
        }
    }
}
