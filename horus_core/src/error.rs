//! The error type that every error of this library converts to.
//!
//! This file imports from all modules. Of the modules, only `lib.rs` imports it.

use std::fmt;

use horus_shm::{NameError, NamespaceError, NamespaceRemoveError};

use crate::message::TextTooLong;
use crate::scheduler::{CommandError, PlanError, RunError, StartError};
use crate::topic::error::{
    BorrowError, EndpointError, EndpointWaitError, LoanError, OpenError, PublishLentError,
    RecvError, RecvTimeoutError, SendError, TopicError, WaitError, WaitSetFull,
};

/// Any error of this library. Programs can return it from functions that use `?` on errors of
/// different types.
///
/// `Debug` prints the same text as `Display`: it is what a program prints whose `main` returns this
/// error.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A topic could not be opened.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// A message was not sent.
    #[error(transparent)]
    Send(SendError<()>),
    /// A slot for a new message could not be lent.
    #[error(transparent)]
    Loan(#[from] LoanError),
    /// A message could not be borrowed from its slot.
    #[error(transparent)]
    Borrow(#[from] BorrowError),
    /// A receive failed, because no message can come.
    #[error(transparent)]
    Recv(#[from] RecvError),
    /// No message was received before the timeout.
    #[error(transparent)]
    RecvTimeout(#[from] RecvTimeoutError),
    /// A wait for publishers or subscribers ended before enough of them joined.
    #[error(transparent)]
    EndpointWait(#[from] EndpointWaitError),
    /// The publishers or subscribers of a topic could not be determined.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// A topic or timer was not added to a wait set, because the set is full.
    #[error(transparent)]
    WaitSetFull(#[from] WaitSetFull),
    /// A wait for the topics of a wait set failed.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// A namespace could not be opened.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A namespace could not be removed.
    #[error(transparent)]
    NamespaceRemove(#[from] NamespaceRemoveError),
    /// The name of a topic or namespace is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A text is longer than its field in a message.
    #[error(transparent)]
    Text(#[from] TextTooLong),
    /// The settings of a node are invalid or contradict each other.
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
    /// An operation on the files of topics failed, for instance the listing of topics.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
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
