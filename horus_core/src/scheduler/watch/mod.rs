//! The supervisor thread: ticks that do not end, safe states, commands, status.
//!
//! Imports `api`, `remote` and `run`.

pub(crate) mod supervisor;
pub(crate) mod watched_node;
