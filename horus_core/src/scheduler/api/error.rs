//! Errors of starting a scheduler.

use std::io;

use crate::topic::error::TopicError;

/// Why a scheduler could not be started. No node has ticked, and those that were initialised have
/// been shut down.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// What others see of it could not be put into shared memory.
    #[error("the scheduler cannot be shown to others: {0}")]
    Monitor(#[from] TopicError),
    /// No handler for signals could be installed.
    #[error("no handler for signals: {cause}")]
    Signals {
        /// The error of the system.
        cause: io::Error,
    },
    /// The system has no room for a thread.
    #[error("no thread for '{name}': {cause}; see the limits on processes and memory")]
    Thread {
        /// What was to run on it.
        name: String,
        /// The error of the system.
        cause: io::Error,
    },
}
