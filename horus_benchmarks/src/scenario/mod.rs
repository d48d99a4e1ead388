//! What is measured: each scenario drives transports and makes rows.

pub mod comparison;
pub mod determinism;
pub mod entry;
pub mod large;
pub mod lateness;
pub mod robot;
pub mod scaling;
pub mod stalls;
pub mod survey;
pub mod swapping;
pub mod ticking;
pub mod wakeup;
