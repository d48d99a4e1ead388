//! The error type that every error of this library converts to.
//!
//! This file imports from all modules. Of the modules, only `lib.rs` imports it.

use std::fmt;

use horus_shm::{NameError, NamespaceError, NamespaceRemoveError};

use crate::actor::{
    self, AskError, FindError, RegisterError, SpawnError, SwapError, TellAllError, TryRecvError,
    TrySendError,
};
use crate::log::LogError;
#[cfg(feature = "glam")]
use crate::message::TransformError;
use crate::message::import::ImportError;
use crate::message::{FieldError, HeaderError, TextTooLong, ViewError};
use crate::ros::CdrError;
use crate::scheduler::{CommandError, PlanError, RateError, RemoteError, RunError, StartError};
use crate::topic::error::{
    BorrowError, EndpointError, EndpointWaitError, LoanError, OpenError, PublishLentError,
    RecvError, RecvTimeoutError, SendError, TopicError, WaitError, WaitSetFull,
};
use crate::value::{DecodeError, EncodeError};

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
    /// The log of the process could not be opened.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A rate is out of range.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// A command was not sent to a scheduler, or its answer did not come.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A `.msg` file was not imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A header and some data do not form a message.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The data of a message cannot be viewed as the requested type.
    #[error(transparent)]
    View(#[from] ViewError),
    /// An actor was not spawned.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// A message was not sent to an actor.
    #[error(transparent)]
    Tell(TrySendError<()>),
    /// Messages were not sent to an actor.
    #[error(transparent)]
    TellAll(TellAllError<()>),
    /// A question to an actor was not sent or not answered.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The attempt to replace an actor failed.
    #[error(transparent)]
    Swap(#[from] SwapError),
    /// An actor could not be registered under a name.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// No actor was found for a name.
    #[error(transparent)]
    Find(#[from] FindError),
    /// An inbox of actors has no message.
    #[error(transparent)]
    Inbox(#[from] TryRecvError),
    /// No message arrived in an inbox of actors before the timeout.
    #[error(transparent)]
    InboxTimeout(#[from] actor::RecvTimeoutError),
    /// Two transforms cannot be composed.
    #[cfg(feature = "glam")]
    #[error(transparent)]
    Transform(#[from] TransformError),
    /// A field of a message could not be read or written.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A value was not encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// Bytes are not the MessagePack of a value.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Bytes are not the CDR of a message.
    #[error(transparent)]
    Cdr(#[from] CdrError),
}

/// Implements `Debug` with the text of `Display`. WHY: `main` shows the error that it returns by
/// its `Debug`, and a user has to read a sentence there.
macro_rules! debug_by_display {
    ($($error:ty),+ $(,)?) => {
        $(impl fmt::Debug for $error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        })+
    };
}

debug_by_display!(
    Error,
    AskError,
    CommandError,
    FindError,
    HeaderError,
    ImportError,
    LogError,
    PlanError,
    RateError,
    RegisterError,
    RemoteError,
    RunError,
    SpawnError,
    StartError,
    SwapError,
    TopicError,
    ViewError,
);

impl<T> From<SendError<T>> for Error {
    fn from(error: SendError<T>) -> Self {
        Self::Send(error.with(()))
    }
}

impl<M> From<TrySendError<M>> for Error {
    fn from(error: TrySendError<M>) -> Self {
        Self::Tell(match error {
            TrySendError::Full(_) => TrySendError::Full(()),
            TrySendError::Disconnected(_) => TrySendError::Disconnected(()),
        })
    }
}

impl<M> From<TellAllError<M>> for Error {
    fn from(error: TellAllError<M>) -> Self {
        let units = |messages: Vec<M>| vec![(); messages.len()];
        Self::TellAll(match error {
            TellAllError::Full(messages) => TellAllError::Full(units(messages)),
            TellAllError::Disconnected(messages) => TellAllError::Disconnected(units(messages)),
        })
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
