//! Runs nodes: the runner, the executors and their threads.
//!
//! Imports `api`, and from `remote` the recorder of events.

pub(crate) mod caught;
pub(crate) mod commands;
pub(crate) mod cores;
pub(crate) mod deadline_watch;
pub(crate) mod exchange;
pub(crate) mod executor;
pub(crate) mod guards;
pub(crate) mod handle;
pub(crate) mod node_entry;
pub(crate) mod panics;
pub(crate) mod pending_node;
pub(crate) mod runner;
pub(crate) mod shared;
pub(crate) mod workers;
