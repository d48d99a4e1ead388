//! The error that is returned if a scheduler cannot be started.

use std::io;

use crate::topic::error::TopicError;

/// The reason why a scheduler could not be started. No node has ticked. Nodes that had already been
/// initialised have been shut down again.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The scheduler has neither nodes nor groups of actors, so it would run without effect until
    /// somebody stops it. Only [`Scheduler::run`](crate::scheduler::Scheduler::run) returns this.
    #[error("the scheduler has neither nodes nor actors, so it would do nothing: add some first")]
    NoNodes,
    /// The topics of the scheduler itself (status, events, commands) could not be opened.
    #[error("the scheduler's topics cannot be opened: {0}")]
    Topics(#[from] TopicError),
    /// The handlers of termination signals could not be installed.
    #[error("the signal handlers cannot be installed: {cause}")]
    Signals {
        /// The system error because of which the signal handlers could not be installed.
        cause: io::Error,
    },
    /// The system could not create a thread that the scheduler needs.
    #[error("cannot start thread '{name}': {cause}; check the limits on processes and memory")]
    Thread {
        /// The name of the thread that could not be created.
        name: String,
        /// The system error because of which the thread could not be created.
        cause: io::Error,
    },
    /// The scheduler needs more threads for its nodes than the system allows. No node has been
    /// initialised.
    #[error(
        "the scheduler needs {wanted} threads, and there is room for {room} ({limit}): let event \
         nodes share the threads of a group by `on_group_threads(..)`, or raise the limit"
    )]
    TooManyThreads {
        /// Number of threads that the scheduler needs.
        wanted: u64,
        /// Number of threads that the system allows the process to create in addition to those that
        /// it has.
        room: u64,
        /// The name of the system's limit on threads that is too low, for the error message.
        limit: &'static str,
    },
}
