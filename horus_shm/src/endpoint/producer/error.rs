//! Errors of sends.

use std::fmt;

use crate::file::label::TopicLabel;

/// The reason why a message was not sent; returns the message.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError<T> {
    /// A reliable reader is a whole lane behind. Transient: try again after it has read.
    #[error(
        "{topic}: a reliable reader is a whole lane behind: try again, or detach stalled readers"
    )]
    Full {
        /// The topic.
        topic: TopicLabel,
        /// The message that was not sent.
        message: T,
    },
    /// The handle was inherited through `fork`. Permanent: open a new one in the child.
    #[error("{topic}: the handle belongs to the parent process: open a new one after fork")]
    Forked {
        /// The topic.
        topic: TopicLabel,
        /// The message that was not sent.
        message: T,
    },
    /// The ring's memory is lost: its file was truncated, or the program closed descriptors of this
    /// library. Permanent: open the topic again.
    #[error(
        "{topic}: its memory is lost: the file was truncated, or the program closed descriptors of \
         this library: drop all of its handles and open it again"
    )]
    RegionLost {
        /// The topic.
        topic: TopicLabel,
        /// The message that was not sent.
        message: T,
    },
}

impl<T> SendError<T> {
    /// Returns the label of the topic.
    pub const fn topic(&self) -> TopicLabel {
        match self {
            Self::Full { topic, .. }
            | Self::Forked { topic, .. }
            | Self::RegionLost { topic, .. } => *topic,
        }
    }

    /// Returns the message that was not sent.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full { message, .. }
            | Self::Forked { message, .. }
            | Self::RegionLost { message, .. } => message,
        }
    }

    /// Returns true if trying again later is useful.
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// Returns the same error with another message.
    pub fn with<U>(self, message: U) -> SendError<U> {
        match self {
            Self::Full { topic, .. } => SendError::Full { topic, message },
            Self::Forked { topic, .. } => SendError::Forked { topic, message },
            Self::RegionLost { topic, .. } => SendError::RegionLost { topic, message },
        }
    }
}

// WHY: messages need not be `Debug`, and can be large.
impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (variant, topic) = match self {
            Self::Full { topic, .. } => ("Full", topic),
            Self::Forked { topic, .. } => ("Forked", topic),
            Self::RegionLost { topic, .. } => ("RegionLost", topic),
        };
        f.debug_struct(variant).field("topic", topic).finish_non_exhaustive()
    }
}
