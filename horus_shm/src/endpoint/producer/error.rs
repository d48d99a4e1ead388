//! Errors of sends.

use std::fmt;

use crate::file::label::TopicLabel;

/// The reasons why a message was not sent. The error returns the argument of the call.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError<T> {
    /// A reliable subscriber is the lane's whole capacity behind. Transient: try again after it has
    /// read.
    #[error(
        "{topic}: a reliable reader is a whole lane behind: try again, or detach stalled readers"
    )]
    Full {
        /// The topic.
        topic: TopicLabel,
        /// The unsent message.
        message: T,
    },
    /// The handle was inherited through `fork`. Permanent: open a new one in the child.
    #[error("{topic}: the handle belongs to the parent process: open a new one after fork")]
    Forked {
        /// The topic.
        topic: TopicLabel,
        /// The unsent message.
        message: T,
    },
    /// The topic's memory is lost: its file was truncated, or the program closed descriptors of
    /// this library. Permanent: open it again.
    #[error(
        "{topic}: its memory is lost: the file was truncated, or the program closed descriptors of \
         this library: drop all of its handles and open it again"
    )]
    RegionLost {
        /// The topic.
        topic: TopicLabel,
        /// The unsent message.
        message: T,
    },
    /// The message is longer than this publisher may send. Permanent.
    #[error(
        "{topic}: a message of {bytes} bytes, and this publisher may send {max} at most: open it \
         with a larger max_message_bytes"
    )]
    TooLong {
        /// The topic.
        topic: TopicLabel,
        /// The unsent message.
        message: T,
        /// Length of the message, in bytes.
        bytes: u64,
        /// Length of the longest message that this publisher may send, in bytes.
        max: u64,
    },
    /// The memory for messages of this length cannot be had. The publisher goes on with shorter
    /// ones. Try again when there is memory.
    #[error(
        "{topic}: no memory for slots of {bytes} bytes: {}: free memory, raise the limits of this \
         process, or lower the capacity",
        std::io::Error::from_raw_os_error(*errno)
    )]
    NoSpace {
        /// The topic.
        topic: TopicLabel,
        /// The unsent message.
        message: T,
        /// Length of the message, in bytes.
        bytes: u64,
        /// The number of the system's error, as in `errno`.
        errno: i32,
    },
    /// The file of the topic was removed or replaced, and this publisher cannot move to the one
    /// that has the name now. Transient: it tries again ten times a second at most.
    #[error(
        "{topic}: its file was removed or replaced, and the present one cannot be used: {}: remove \
         that, or free what is missing",
        std::io::Error::from_raw_os_error(*errno)
    )]
    NameLost {
        /// The topic.
        topic: TopicLabel,
        /// The unsent message.
        message: T,
        /// The number of the system's error, as in `errno`; `EUCLEAN` for an unusable file, or if
        /// the topic is full.
        errno: i32,
    },
    /// The message cannot be encoded in the form that the topic carries. Permanent.
    #[error("{topic}: the message cannot be encoded: {reason}")]
    Unencodable {
        /// The topic.
        topic: TopicLabel,
        /// The unsent message.
        message: T,
        /// The reason why it cannot be encoded.
        reason: String,
    },
}

impl<T> SendError<T> {
    /// Returns the label of the topic.
    pub const fn topic(&self) -> TopicLabel {
        match self {
            Self::Full { topic, .. }
            | Self::Forked { topic, .. }
            | Self::RegionLost { topic, .. }
            | Self::TooLong { topic, .. }
            | Self::NoSpace { topic, .. }
            | Self::NameLost { topic, .. }
            | Self::Unencodable { topic, .. } => *topic,
        }
    }

    /// Returns the message that was not sent.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full { message, .. }
            | Self::Forked { message, .. }
            | Self::RegionLost { message, .. }
            | Self::TooLong { message, .. }
            | Self::NoSpace { message, .. }
            | Self::NameLost { message, .. }
            | Self::Unencodable { message, .. } => message,
        }
    }

    /// Returns true if the lane was full ([`Self::Full`]): try again when readers have read.
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// Returns the number of the system's error, as in `errno`, or `other` if there is none.
    pub(crate) const fn errno_or(&self, other: i32) -> i32 {
        match self {
            Self::NoSpace { errno, .. } | Self::NameLost { errno, .. } => *errno,
            _ => other,
        }
    }

    /// Returns the same error with another message.
    #[cold]
    pub fn with<U>(self, message: U) -> SendError<U> {
        match self {
            Self::Full { topic, .. } => SendError::Full { topic, message },
            Self::Forked { topic, .. } => SendError::Forked { topic, message },
            Self::RegionLost { topic, .. } => SendError::RegionLost { topic, message },
            Self::TooLong {
                topic, bytes, max, ..
            } => SendError::TooLong {
                topic,
                message,
                bytes,
                max,
            },
            Self::NoSpace {
                topic,
                bytes,
                errno,
                ..
            } => SendError::NoSpace {
                topic,
                message,
                bytes,
                errno,
            },
            Self::NameLost { topic, errno, .. } => SendError::NameLost {
                topic,
                message,
                errno,
            },
            Self::Unencodable { topic, reason, .. } => SendError::Unencodable {
                topic,
                message,
                reason,
            },
        }
    }
}

// WHY: messages need not be `Debug`, and can be large.
impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct(match self {
            Self::Full { .. } => "Full",
            Self::Forked { .. } => "Forked",
            Self::RegionLost { .. } => "RegionLost",
            Self::TooLong { .. } => "TooLong",
            Self::NoSpace { .. } => "NoSpace",
            Self::NameLost { .. } => "NameLost",
            Self::Unencodable { .. } => "Unencodable",
        });
        debug.field("topic", &self.topic());
        match self {
            Self::TooLong { bytes, max, .. } => debug.field("bytes", bytes).field("max", max),
            Self::NoSpace { bytes, errno, .. } => debug.field("bytes", bytes).field("errno", errno),
            Self::NameLost { errno, .. } => debug.field("errno", errno),
            Self::Unencodable { reason, .. } => debug.field("reason", reason),
            Self::Full { .. } | Self::Forked { .. } | Self::RegionLost { .. } => &mut debug,
        };
        debug.finish_non_exhaustive()
    }
}
