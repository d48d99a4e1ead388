//! The topics of schedulers: status, events and commands, as the scheduler and other processes use
//! them.
//!
//! Imports `api` only.

pub(crate) mod client;
pub(crate) mod monitor;
pub(crate) mod recorder;
pub(crate) mod topic_path;
