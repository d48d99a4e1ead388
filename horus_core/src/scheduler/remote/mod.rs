//! The topics through which other processes observe and command a scheduler. The scheduler uses
//! `scheduler_endpoints` and `recorder`; other processes use `client`.
//!
//! This module imports only `api`.

pub(crate) mod client;
pub(crate) mod control_topic;
pub(crate) mod recorder;
pub(crate) mod scheduler_endpoints;
pub(crate) mod scheduler_topics;
