//! The error type that every error of this library converts to.
//!
//! It is above all rooms: only `lib.rs` and programs import it.

use horus_shm::{NameError, NamespaceError, NamespaceRemoveError};

use crate::message::TextTooLong;
use crate::scheduler::{CommandError, PlanError, RunError, StartError};
use crate::topic::error::{
    BorrowError, LoanError, OpenError, PublishLentError, RecvError, RecvTimeoutError, SendError,
    TopicError, WaitError, WaitSetFull,
};

/// Any error of this library, for programs that pass errors on with `?`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A topic could not be opened.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// A message was not sent.
    #[error(transparent)]
    Send(SendError<()>),
    /// No slot could be lent.
    #[error(transparent)]
    Loan(#[from] LoanError),
    /// A message could not be borrowed.
    #[error(transparent)]
    Borrow(#[from] BorrowError),
    /// No more messages will be received.
    #[error(transparent)]
    Recv(#[from] RecvError),
    /// No message was received in time.
    #[error(transparent)]
    RecvTimeout(#[from] RecvTimeoutError),
    /// A wait set is full.
    #[error(transparent)]
    WaitSetFull(#[from] WaitSetFull),
    /// A wait set cannot wait.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// A namespace could not be opened.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A namespace could not be removed.
    #[error(transparent)]
    NamespaceRemove(#[from] NamespaceRemoveError),
    /// The name is not valid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A text is longer than the field of a message.
    #[error(transparent)]
    Text(#[from] TextTooLong),
    /// A node cannot run as it was configured.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A scheduler could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A node failed and ended the run of its scheduler.
    #[error(transparent)]
    Run(RunError),
    /// A command for a node was refused.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The transport refused an operation that concerns no message.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl<T> From<SendError<T>> for Error {
    fn from(error: SendError<T>) -> Self {
        Self::Send(error.with(()))
    }
}

impl From<PublishLentError> for Error {
    fn from(error: PublishLentError) -> Self {
        match error {
            PublishLentError::Send(error) => Self::Send(error),
            PublishLentError::Loan(error) => Self::Loan(error),
        }
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Start(error) => Self::Start(error),
            error => Self::Run(error),
        }
    }
}

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
