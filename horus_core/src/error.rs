//! What can go wrong with a topic.

pub use horus_shm::{BorrowError, LoanError, OpenError, SendError};
use horus_shm::{NameError, NamespaceError, NamespaceRemoveError};

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
    #[error("topic '{topic}': {cause}")]
    Open {
        /// The topic.
        topic: String,
        /// What went wrong.
        cause: Box<OpenError>,
    },
}

impl TopicError {
    pub(crate) fn new(topic: &str, error: OpenError) -> Self {
        let topic = topic.to_owned();
        match error {
            OpenError::SchemaMismatch { wanted, found, .. } => {
                let difference = first_difference(&wanted.schema, &found.schema);
                Self::SchemaMismatch { topic, difference: Box::new(difference) }
            }
            OpenError::QosMismatch { path, field, found, wanted } => {
                let cause = OpenError::QosMismatch { path, field: setting(field), found, wanted };
                Self::Open { topic, cause: Box::new(cause) }
            }
            error => Self::Open { topic, cause: Box::new(error) },
        }
    }

    /// What went wrong below the messages, if that is where it did.
    #[must_use]
    pub fn as_open_error(&self) -> Option<&OpenError> {
        match self {
            Self::Open { cause, .. } => Some(cause),
            Self::SchemaMismatch { .. } => None,
        }
    }
}

/// What [`Qos`](crate::topic::Qos) calls a field of the transport.
fn setting(field: &'static str) -> &'static str {
    match field {
        "lane_limit" => "publishers_max",
        "reader_limit" => "subscribers_max",
        "gate_limit" => "reliable_subscribers_max",
        "persists" => "persist_after_exit",
        field => field,
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
    /// There was no slot to lend.
    #[error(transparent)]
    Loan(#[from] LoanError),
    /// A message could not be borrowed.
    #[error(transparent)]
    Borrow(#[from] BorrowError),
    /// A namespace could not be opened.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A namespace could not be removed.
    #[error(transparent)]
    NamespaceRemove(#[from] NamespaceRemoveError),
    /// A name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The transport refused, apart from any message.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl<T> From<SendError<T>> for Error {
    fn from(error: SendError<T>) -> Self {
        Self::Send(error.with(()))
    }
}

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
