//! Runs nodes: the runner, the executors and their threads.
//!
//! This module imports `api`, and from `remote` only the recorder of events.

pub(crate) mod catch_panic;
pub(crate) mod commands;
pub(crate) mod cores;
pub(crate) mod event_limit;
pub(crate) mod executor;
pub(crate) mod handle;
pub(crate) mod initialisation;
pub(crate) mod miss_history;
pub(crate) mod node_entry;
pub(crate) mod panics;
pub(crate) mod pending_node;
pub(crate) mod pending_swap;
pub(crate) mod run_state;
pub(crate) mod runner;
pub(crate) mod tick_checks;
pub(crate) mod workers;
