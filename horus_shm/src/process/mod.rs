//! Processes: finds out which processes are alive, and handles forks of this process.
//!
//! This module imports only `os` and `protocol` of this crate.

pub(crate) mod cpu_awake;
pub(crate) mod fork;
pub(crate) mod liveness;
pub mod termination;
