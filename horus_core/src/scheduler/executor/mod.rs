//! Who gives nodes their turns, one file a way.

#[cfg(feature = "async-io")]
pub(super) mod async_io;
pub(super) mod best_effort;
pub(super) mod compute;
pub(super) mod event;
pub(super) mod real_time;
pub(super) mod simulated;
pub(super) mod spin;
pub(super) mod thread;
