//! What can go wrong with a topic.

use horus_shm::OpenError;
pub use horus_shm::SendError;

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
        Self::Send(error.with(()))
    }
}

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
