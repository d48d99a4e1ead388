//! Sends and receives that copy a message directly between its slot and the caller's memory: for
//! large [`Copy`] types.
//!
//! A value passed to a call or returned from it is copied once more. For a message of one kilobyte
//! that is a tenth of the time from one thread to another. Here it happens only in a call that has
//! to wait.

use horus_shm::internals::wait::WaitPolicy;

use super::ends::{Kind, Receiver, Sender, look_again};
use super::error::{RecvError, SendError, TryRecvError, TrySendError};

impl<T: Copy, K: Kind<T>> Sender<T, K> {
    /// [`Self::try_send`] of a copy that is made directly in the channel.
    ///
    /// # Errors
    ///
    /// As [`Self::try_send`]; the error holds no message.
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
        if !self.seat.ends.has_receivers() {
            return Err(TrySendError::Disconnected(()));
        }
        if !K::push_ref(&mut self.writer, message) {
            return Err(TrySendError::Full(()));
        }
        self.seat.message.notify();
        Ok(())
    }

    /// [`Self::send`] of a copy that is made directly in the channel. Blocks while there is no free
    /// slot.
    ///
    /// # Errors
    ///
    /// As [`Self::send`]; the error holds no message.
    #[inline]
    pub fn send_ref(&mut self, message: &T) -> Result<(), SendError<()>> {
        match self.try_send_ref(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Disconnected(())) => Err(SendError(())),
            Err(TrySendError::Full(())) => {
                self.send_until(*message, WaitPolicy::endless()).map_err(|_| SendError(()))
            }
        }
    }
}

impl<T: Copy, K: Kind<T>> Receiver<T, K> {
    /// [`Self::try_recv`] directly into `message`, which is unchanged after an error.
    ///
    /// # Errors
    ///
    /// As [`Self::try_recv`].
    #[inline]
    pub fn try_recv_into(&mut self, message: &mut T) -> Result<(), TryRecvError> {
        if K::pop_into(&mut self.reader, message) {
            self.seat.room.notify();
            return Ok(());
        }
        *message = look_again::<T, K>(&mut self.reader, &self.seat)?;
        Ok(())
    }

    /// [`Self::recv`] directly into `message`, which is unchanged after an error. Blocks while
    /// there is no message.
    ///
    /// # Errors
    ///
    /// As [`Self::recv`].
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
                *message = self.recv_until(WaitPolicy::endless()).map_err(|_| RecvError)?;
                Ok(())
            }
        }
    }
}
