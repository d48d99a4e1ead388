//! Errors of starting a scheduler.

use std::io;

use crate::topic::error::TopicError;

/// The reason why a scheduler could not be started. No node has ticked. Nodes that had already been
/// initialised have been shut down again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The scheduler's topics (status, events, commands) could not be opened.
    #[error("the scheduler's topics cannot be opened: {0}")]
    Monitor(#[from] TopicError),
    /// The signal handlers could not be installed.
    #[error("the signal handlers cannot be installed: {cause}")]
    Signals {
        /// The system error that caused this.
        cause: io::Error,
    },
    /// The system could not create a thread.
    #[error("cannot start thread '{name}': {cause}; check the limits on processes and memory")]
    Thread {
        /// The name of the thread.
        name: String,
        /// The system error that caused this.
        cause: io::Error,
    },
    /// The nodes need more threads than the system allows. No node has been initialised.
    #[error(
        "the scheduler needs {wanted} threads, and there is room for {room} ({limit}): let event \
         nodes share the threads of a group by `shared(..)`, or raise the limit"
    )]
    TooManyThreads {
        /// Number of threads that the scheduler needs.
        wanted: u64,
        /// Number of threads that the system allows the process to create in addition to those that
        /// it has.
        room: u64,
        /// The name of the system's limit.
        limit: &'static str,
    },
}
