//! Processes: which of them live, and what a forked child must not inherit.
//!
//! Imports `os` and `protocol` only.

pub(crate) mod fork;
pub(crate) mod liveness;
