//! The measurements of the benchmarks. Each scenario runs transports and creates the rows of a
//! report. No other module imports this one.

pub mod actors;
pub mod comparison;
pub mod determinism;
mod endpoint_costs;
pub mod ends;
pub mod entry;
pub mod large;
mod lateness;
pub mod robot;
pub mod scaling;
pub mod scheduler;
mod stalls;
pub mod survey;
mod swapping;
pub mod ticking;
pub mod wakeup;
