//! The topics by which other processes see and command a scheduler: the scheduler's side
//! (`monitor`, `recorder`) and the side of other processes (`client`).
//!
//! Imports `api` only.

pub(crate) mod client;
pub(crate) mod monitor;
pub(crate) mod recorder;
pub(crate) mod topic_path;
