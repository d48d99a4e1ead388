//! The topics through which other processes observe and command a scheduler. The scheduler uses
//! `monitor` and `recorder`; other processes use `client`.
//!
//! This module imports only `api`.

pub(crate) mod client;
pub(crate) mod monitor;
pub(crate) mod recorder;
pub(crate) mod scheduler_topics;
