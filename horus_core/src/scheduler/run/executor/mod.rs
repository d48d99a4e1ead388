//! Executors: the ways in which the scheduler runs nodes, one file for each way.

pub(crate) mod actor_turns;
pub(crate) mod actors;
#[cfg(feature = "async-io")]
pub(crate) mod async_io;
pub(crate) mod best_effort;
pub(crate) mod compute;
pub(crate) mod event;
pub(crate) mod group_node;
pub(crate) mod real_time;
pub(crate) mod shared;
pub(crate) mod simulated;
pub(crate) mod spin;
pub(crate) mod thread;
pub(crate) mod topic_wait_threads;
