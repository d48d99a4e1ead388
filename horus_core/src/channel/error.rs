//! What can come of an operation on a channel: one type for each.
//!
//! Named and shaped as those of `std::sync::mpsc`. The ones with two outcomes will never have a
//! third, so that a `match` on them is complete.

use std::fmt;

use thiserror::Error;

/// What `try_send` did not send. The message comes back.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
pub enum TrySendError<T> {
    /// As many messages as fit are on their way. Try again after a receiver took one.
    #[error("the channel is full")]
    Full(T),
    /// There is no receiver.
    #[error("the channel has no receiver")]
    Disconnected(T),
}

/// What `send` did not send, because there is no receiver. The message comes back.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[error("the channel has no receiver")]
pub struct SendError<T>(pub T);

/// What `send_timeout` did not send. The message comes back.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
pub enum SendTimeoutError<T> {
    /// The channel was full all the time.
    #[error("the channel stayed full")]
    Timeout(T),
    /// There is no receiver.
    #[error("the channel has no receiver")]
    Disconnected(T),
}

/// Why `try_recv` has no message.
// WHY a word: in a result with a smaller one the compiler copies a message in pieces that overlap,
// each of which waits for the last: 30 ns at 16 bytes, sent and received in a thread, instead of 9.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[repr(u64)]
pub enum TryRecvError {
    /// There is none at the moment.
    #[error("the channel is empty")]
    Empty,
    /// All messages were received, and there is no sender any more.
    #[error("the channel is empty and has no sender")]
    Disconnected,
}

/// Why `recv` has no message: all were received, and there is no sender any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the channel is empty and has no sender")]
pub struct RecvError;

/// Why `recv_timeout` has no message.
// WHY a word: as above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[repr(u64)]
pub enum RecvTimeoutError {
    /// None came in time.
    #[error("the channel stayed empty")]
    Timeout,
    /// All messages were received, and there is no sender any more.
    #[error("the channel is empty and has no sender")]
    Disconnected,
}

/// Why a channel has not one end more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JoinError {
    /// Another sender has to leave first.
    #[error("the channel has {limit} senders already")]
    TooManySenders {
        /// How many there can be.
        limit: usize,
    },
    /// Another receiver has to leave first.
    #[error("the channel has {limit} receivers already")]
    TooManyReceivers {
        /// How many there can be.
        limit: usize,
    },
}

impl<T> TrySendError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(message) | Self::Disconnected(message) => message,
        }
    }
}

impl<T> SendError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> SendTimeoutError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        match self {
            Self::Timeout(message) | Self::Disconnected(message) => message,
        }
    }
}

// WHY by hand: messages need not be `Debug` for a send to be unwrapped.
impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Disconnected(_) => "Disconnected(..)",
        })
    }
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<T> fmt::Debug for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout(_) => "Timeout(..)",
            Self::Disconnected(_) => "Disconnected(..)",
        })
    }
}

impl<T> From<SendError<T>> for TrySendError<T> {
    fn from(error: SendError<T>) -> Self {
        Self::Disconnected(error.0)
    }
}

impl<T> From<SendError<T>> for SendTimeoutError<T> {
    fn from(error: SendError<T>) -> Self {
        Self::Disconnected(error.0)
    }
}

impl From<RecvError> for TryRecvError {
    fn from(_: RecvError) -> Self {
        Self::Disconnected
    }
}

impl From<RecvError> for RecvTimeoutError {
    fn from(_: RecvError) -> Self {
        Self::Disconnected
    }
}
