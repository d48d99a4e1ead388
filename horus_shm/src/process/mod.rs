//! Processes: their liveness, and the state that a forked child must not inherit.
//!
//! Imports `os` and `protocol` only.

pub(crate) mod fork;
pub(crate) mod liveness;
