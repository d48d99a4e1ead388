//! The errors of actors: one type for each operation.

use std::fmt;

use horus_shm::internals::heap::Refusal;
use thiserror::Error;

use crate::scheduler::api::node::NodeError;

/// The reason why [`Address::tell`](crate::actor::Address::tell) did not send a message. Contains
/// that message.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
pub enum TrySendError<M> {
    /// The mailbox is full. Try again after the actor has handled messages.
    #[error("the message was not sent: the mailbox is full")]
    Full(M),
    /// The actor has ended.
    #[error("the message was not sent: the actor has ended")]
    Disconnected(M),
}

/// The reason why [`Address::tell_timeout`](crate::actor::Address::tell_timeout) did not send a
/// message. Contains that message.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SendTimeoutError<M> {
    /// The mailbox stayed full until the timeout.
    #[error("the message was not sent in time: the mailbox stayed full")]
    Timeout(M),
    /// The actor has ended.
    #[error("the message was not sent: the actor has ended")]
    Disconnected(M),
    /// The mailbox is full, and the caller is an actor, which must not wait.
    #[error("the message was not sent: the mailbox is full, and an actor must not wait for room")]
    InHandler(M),
}

/// The reason why [`Address::tell_all`](crate::actor::Address::tell_all) sent none of the messages.
/// Contains all of them.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TellAllError<M> {
    /// The mailbox does not have enough room for all of the messages.
    #[error("none of the {} messages was sent: they do not fit in the mailbox", .0.len())]
    Full(Vec<M>),
    /// The actor has ended.
    #[error("none of the {} messages was sent: the actor has ended", .0.len())]
    Disconnected(Vec<M>),
}

/// The reason why a question to an actor was not sent or not answered.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AskError {
    /// The mailbox of the actor is full. Try again later.
    #[error("the question was not sent: the mailbox is full")]
    Full,
    /// The actor has ended, so the question was not sent.
    #[error("the question was not sent: the actor has ended")]
    Disconnected,
    /// The actor dropped the question without an answer, or ended before it handled the question.
    #[error("there is no answer: the question was dropped")]
    NoAnswer,
    /// The actor has not answered within the time limit.
    #[error("the answer did not come in time")]
    Timeout,
    /// The caller is an actor, which must not wait, because the actor that has to answer may need
    /// the same thread.
    #[error("an actor must not wait for an answer: send it a message instead")]
    InHandler,
}

/// The reason why [`Inbox::try_recv`](crate::actor::Inbox::try_recv) returned no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TryRecvError {
    /// There is no message at present; one may arrive later.
    #[error("the inbox is empty")]
    Empty,
    /// All messages were received, and no more can arrive, because no address is left or the group
    /// has ended.
    #[error("the inbox is empty, and nobody can send to it any more")]
    Disconnected,
}

/// The reason why [`Inbox::recv`](crate::actor::Inbox::recv) returned no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecvTimeoutError {
    /// No message arrived within the time limit.
    #[error("the inbox stayed empty")]
    Timeout,
    /// All messages were received, and no more can arrive, because no address is left or the group
    /// has ended.
    #[error("the inbox is empty, and nobody can send to it any more")]
    Disconnected,
    /// The inbox is empty, and the caller is an actor, which must not wait.
    #[error("the inbox is empty, and an actor must not wait for a message")]
    InHandler,
}

/// The reason why a request to replace an actor was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SwapError {
    /// The mailbox is full. Try again after the actor has handled messages.
    #[error("the actor was not replaced: its mailbox is full")]
    Full,
    /// The actor has ended.
    #[error("the actor was not replaced: it has ended")]
    Disconnected,
}

/// The error of registering a name for an actor when another actor already has this name.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("the name '{name}' belongs to another actor: choose another name, or end that actor first")]
pub struct RegisterError {
    /// The name that was to be registered, and that another actor already has.
    pub name: String,
}

/// The reason why no address was found for the name of an actor.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FindError {
    /// No actor has the name, or the actor that had it has ended.
    #[error("no actor is called '{name}'")]
    Unknown {
        /// The name that was looked up.
        name: String,
    },
    /// The actor handles messages of a different type from the requested one.
    #[error("actor '{name}' handles messages of type '{registered}', and not '{wanted}'")]
    Type {
        /// The name of the actor that was found.
        name: String,
        /// The name of the Rust type of the messages that the actor handles.
        registered: &'static str,
        /// The name of the Rust type of messages that the caller requested.
        wanted: &'static str,
    },
}

/// The reason why an actor was not spawned.
#[derive(Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The group of actors has ended, so it takes no more actors.
    #[error("actor group '{group}' has ended, and takes no more actors")]
    Closed {
        /// The name of the group that has ended.
        group: String,
    },
    /// This process inherited the group through `fork`. The threads of the group do not exist here.
    #[error("actor group '{group}' belongs to the parent process: make a new group here")]
    Forked {
        /// The name of the group that belongs to the parent process.
        group: String,
    },
    /// The `init` of the actor returned an error or panicked.
    #[error("the actor of group '{group}' cannot be initialised: {cause}")]
    Init {
        /// The name of the group to which the actor would belong.
        group: String,
        /// The error that `init` returned.
        cause: NodeError,
    },
}

impl<M> TrySendError<M> {
    /// Returns the message that was not sent.
    pub fn into_inner(self) -> M {
        match self {
            Self::Full(message) | Self::Disconnected(message) => message,
        }
    }
}

impl<M> SendTimeoutError<M> {
    /// Returns the message that was not sent.
    pub fn into_inner(self) -> M {
        match self {
            Self::Timeout(message) | Self::Disconnected(message) | Self::InHandler(message) => {
                message
            }
        }
    }
}

impl<M> TellAllError<M> {
    /// Returns the messages that were not sent.
    pub fn into_inner(self) -> Vec<M> {
        match self {
            Self::Full(messages) | Self::Disconnected(messages) => messages,
        }
    }
}

// WHY not derived: a message need not be `Debug` to call `unwrap` on the result.
impl<M> fmt::Debug for TrySendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Disconnected(_) => "Disconnected(..)",
        })
    }
}

impl<M> fmt::Debug for SendTimeoutError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout(_) => "Timeout(..)",
            Self::Disconnected(_) => "Disconnected(..)",
            Self::InHandler(_) => "InHandler(..)",
        })
    }
}

impl<M> fmt::Debug for TellAllError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Disconnected(_) => "Disconnected(..)",
        })
    }
}

/// Converts the reason why a mailbox refused a message into the error that users see.
pub(super) fn to_send_error<M>(refusal: Refusal<M>) -> TrySendError<M> {
    match refusal {
        Refusal::Full(message) => TrySendError::Full(message),
        Refusal::Disconnected(message) => TrySendError::Disconnected(message),
    }
}
