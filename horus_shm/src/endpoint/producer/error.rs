//! Errors of the calls that send messages.

use std::fmt;

use crate::file::label::TopicLabel;
use crate::file::offer::MESSAGE_BYTES_MAX;

/// The reason why a message was not sent. The error contains the message if the caller passed it by
/// value.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError<T> {
    /// The lane is full, because a reliable subscriber has not read its oldest message, or because
    /// a subscriber has borrowed it and all later ones are unread or borrowed, too. Transient: try
    /// again after subscribers have read or released messages.
    ///
    /// Without a reliable subscriber, a publisher that lends slots returns this error only if
    /// subscribers hold every slot of the lane: one may have been stopped within a borrow that it
    /// may not complete, or the file is damaged.
    #[error(
        "{topic}: all slots of this publisher contain messages that a reliable subscriber has not \
         read, or that a subscriber holds: try again, or set Qos::on_stalled"
    )]
    Full {
        /// The topic of the publisher.
        topic: TopicLabel,
        /// The message that was not sent.
        message: T,
    },
    /// The handle was inherited through `fork`. Permanent: open a new one in the child.
    #[error("{topic}: the handle belongs to the parent process: open a new one after fork")]
    Forked {
        /// The topic of the publisher.
        topic: TopicLabel,
        /// The message that was not sent.
        message: T,
    },
    /// The topic's memory is lost, because its file was truncated, or because the program closed
    /// descriptors of this library. Permanent: open the topic again.
    #[error(
        "{topic}: its memory is lost: the file was truncated, or the program closed descriptors of \
         this library: drop all of its handles and open it again"
    )]
    RegionLost {
        /// The topic of the publisher.
        topic: TopicLabel,
        /// The message that was not sent.
        message: T,
    },
    /// The message is longer than this publisher is allowed to send. Permanent.
    #[error("{topic}: {}", describe_too_long(*bytes, *max))]
    TooLong {
        /// The topic of the publisher.
        topic: TopicLabel,
        /// The message that was not sent.
        message: T,
        /// Length of the message that was not sent, in bytes.
        bytes: u64,
        /// Length of the longest message that this publisher may send, in bytes.
        max: u64,
    },
    /// There is no memory for messages of this length. The publisher can still send shorter ones.
    /// Try again when memory is available.
    #[error("{topic}: {}", describe_no_space(*bytes, *errno))]
    NoSpace {
        /// The topic of the publisher.
        topic: TopicLabel,
        /// The message that was not sent.
        message: T,
        /// Length of the message that was not sent, in bytes.
        bytes: u64,
        /// The system's error number, as in `errno`.
        errno: i32,
    },
    /// The file of the topic was removed or replaced, and this publisher cannot move to the file
    /// that has the topic's name now. Transient: the publisher tries again, at most ten times a
    /// second.
    #[error(
        "{topic}: its file was removed or replaced, and the present one cannot be used: {}: remove \
         that, or free what is missing",
        std::io::Error::from_raw_os_error(*errno)
    )]
    NameLost {
        /// The topic of the publisher.
        topic: TopicLabel,
        /// The message that was not sent.
        message: T,
        /// The system's error number, as in `errno`; `EUCLEAN` if the file is unusable, or if the
        /// topic is full.
        errno: i32,
    },
    /// The message cannot be encoded in the format of the topic. Permanent.
    #[error("{topic}: the message cannot be encoded: {reason}")]
    Unencodable {
        /// The topic of the publisher.
        topic: TopicLabel,
        /// The message that was not sent.
        message: T,
        /// A description of why the message cannot be encoded.
        reason: String,
    },
}

impl<T> SendError<T> {
    /// Returns the label of the topic that the error concerns.
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

    /// Returns the message that was not sent, so that the caller can send it again.
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

    /// Returns true if the error is [`Self::Full`]: the caller may try again after readers have
    /// read.
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// Returns the system's error number (`errno`) that the error contains; `other` if it contains
    /// none.
    pub(crate) const fn errno_or(&self, other: i32) -> i32 {
        match self {
            Self::NoSpace { errno, .. } | Self::NameLost { errno, .. } => *errno,
            _ => other,
        }
    }

    /// Returns the same error with `message` in place of the message that it contained.
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

/// Describes that a message of `bytes` bytes is longer than the `max` bytes that its publisher may
/// send, and what to do.
pub(crate) fn describe_too_long(bytes: u64, max: u64) -> String {
    let advice = if max < MESSAGE_BYTES_MAX {
        "open it with a larger max_message_bytes"
    } else {
        "no message can be longer: send it in parts"
    };
    format!("a message of {bytes} bytes, and this publisher may send {max} at most: {advice}")
}

/// Describes why a publisher has no slots of `bytes` bytes, by the system's error number, and what
/// to do.
pub(crate) fn describe_no_space(bytes: u64, errno: i32) -> String {
    let cause = std::io::Error::from_raw_os_error(errno);
    match errno {
        libc::ENOENT => format!(
            "slots of {bytes} bytes cannot be made: {cause}: the directory of the topics was \
             removed: drop all handles, and open the namespace again"
        ),
        libc::ENOSPC
        | libc::ENOMEM
        | libc::EAGAIN
        | libc::EMFILE
        | libc::ENFILE
        | libc::EFBIG
        | libc::EDQUOT => format!(
            "no memory for slots of {bytes} bytes: {cause}: free memory, raise the limits of this \
             process, or lower the capacity"
        ),
        _ => format!("slots of {bytes} bytes cannot be made: {cause}: correct that, and try again"),
    }
}
