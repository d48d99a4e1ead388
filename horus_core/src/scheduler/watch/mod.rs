//! The supervisor thread: finds ticks that do not end, calls safe-state callbacks, applies
//! commands, and publishes the status.
//!
//! This module imports `api`, `remote` and `run`.

mod emergency_stop;
mod emergency_text;
mod event_printer;
pub(crate) mod lost_wake_check;
mod remote_commands;
mod stuck_events;
pub(crate) mod supervisor;
pub(crate) mod watched_group;
pub(crate) mod watched_node;
