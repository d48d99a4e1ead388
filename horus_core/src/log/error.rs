//! The error of opening the log of a process.

use crate::namespace::NamespaceError;
use crate::topic::error::TopicError;

/// The reason why the log of this process cannot be opened, or not completely.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The log of this process is already open.
    #[error("the log of this process is open already: open it once, at the start of the program")]
    AlreadyOpen,
    /// The crate `log` already has another logger. The log of this process is open, but gets no
    /// lines from that crate.
    #[error(
        "the crate log has another logger already: use one of them, or `LogSettings::open` and \
         `horus_core::log::write`"
    )]
    OtherLogger,
    /// The namespace in which the log's topic would be cannot be opened.
    #[error("the namespace of the log cannot be opened: {0}")]
    Namespace(#[from] NamespaceError),
    /// The topic that holds the log's lines cannot be opened.
    #[error("the topic of the log cannot be opened: {0}")]
    Topic(#[from] TopicError),
}
