//! Why a message was not sent.

use std::fmt;

/// Why a message was not sent; it comes back.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError<T> {
    /// A reliable reader is a whole lane behind. Transient: try again when it has read.
    #[error("a reliable reader is a whole lane behind: try again, or detach stalled readers")]
    Full(T),
    /// The handle was inherited through `fork`. Permanent: open a new one in the child.
    #[error("the handle belongs to the parent process: open a new one after fork")]
    Forked(T),
    /// The ring's memory is lost: its file was truncated, or the program closed our descriptors.
    /// Permanent: open it again.
    #[error(
        "the ring's memory is lost: its file was truncated, or the program closed descriptors of \
         this library: drop all of its handles and open it again"
    )]
    RegionLost(T),
}

impl<T> SendError<T> {
    /// The message that was not sent.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(message) | Self::Forked(message) | Self::RegionLost(message) => message,
        }
    }

    /// True if trying again later is useful.
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }

    /// The same refusal of another message.
    pub fn with<U>(self, message: U) -> SendError<U> {
        match self {
            Self::Full(_) => SendError::Full(message),
            Self::Forked(_) => SendError::Forked(message),
            Self::RegionLost(_) => SendError::RegionLost(message),
        }
    }
}

// WHY: messages need not be `Debug`, and can be large.
impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Forked(_) => "Forked(..)",
            Self::RegionLost(_) => "RegionLost(..)",
        })
    }
}
