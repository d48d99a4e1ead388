//! Watching nodes from a thread of its own: ticks that do not end, safe states, commands.
//!
//! Imports `api`, `remote` and `run`.

pub(crate) mod supervisor;
pub(crate) mod watched_node;
