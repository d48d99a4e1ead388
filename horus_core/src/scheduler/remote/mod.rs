//! Schedulers and other processes: status, metrics, events and commands as topics, from both sides.
//!
//! Imports `api` only.

pub(crate) mod client;
pub(crate) mod monitor;
pub(crate) mod recorder;
pub(crate) mod topic_path;
