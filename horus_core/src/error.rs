//! What can go wrong with a topic.

use horus_shm::OpenError;

use crate::message::{SchemaDifference, first_difference};

/// Why a topic could not be opened. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TopicError {
    /// The topic carries another message. Names the first field that differs.
    #[error("topic '{topic}' carries another message: {difference}")]
    SchemaMismatch {
        /// The topic.
        topic: String,
        /// Where the two schemas part.
        difference: Box<SchemaDifference>,
    },
    /// Everything that has nothing to do with messages.
    #[error("topic '{topic}': {source}")]
    Open {
        /// The topic.
        topic: String,
        /// What went wrong.
        source: Box<OpenError>,
    },
}

impl TopicError {
    pub(crate) fn new(topic: &str, error: OpenError) -> Self {
        let topic = topic.to_owned();
        match error {
            OpenError::SchemaMismatch { wanted, found } => {
                let difference = first_difference(&wanted.schema, &found.schema);
                Self::SchemaMismatch { topic, difference: Box::new(difference) }
            }
            error => Self::Open { topic, source: Box::new(error) },
        }
    }

    /// What went wrong below the messages, if that is where it did.
    #[must_use]
    pub fn as_open_error(&self) -> Option<&OpenError> {
        match self {
            Self::Open { source, .. } => Some(source),
            Self::SchemaMismatch { .. } => None,
        }
    }
}

/// Why a message was not sent; it comes back.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError<T> {
    /// A reliable subscriber is a whole lane behind. Transient: try again when it has read.
    #[error("a reliable subscriber is a whole lane behind: try again, or detach stalled readers")]
    Full(T),
    /// The handle was inherited through `fork`. Permanent: open a new one in the child.
    #[error("the handle belongs to the parent process: open a new one after fork")]
    Forked(T),
    /// The topic's memory is gone: its file was truncated under us. Permanent: open it again.
    #[error("the topic's file was truncated: open the topic again")]
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
}

// WHY: a message may be large, and says nothing about the failure.
impl<T> std::fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Forked(_) => "Forked(..)",
            Self::RegionLost(_) => "RegionLost(..)",
        })
    }
}

/// Any error of this library, for programs that hand them on with `?`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A topic could not be opened.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// A message was not sent.
    #[error(transparent)]
    Send(SendError<()>),
}

impl<T> From<SendError<T>> for Error {
    fn from(error: SendError<T>) -> Self {
        Self::Send(match error {
            SendError::Full(_) => SendError::Full(()),
            SendError::Forked(_) => SendError::Forked(()),
            SendError::RegionLost(_) => SendError::RegionLost(()),
        })
    }
}

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
