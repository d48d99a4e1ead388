//! Clocks, samples, statistics and the timed loops. This module imports none of the crate's other
//! top-level modules.

pub mod bracket;
pub mod endpoint;
pub mod lines;
pub mod loopback;
pub mod machine;
pub mod micro;
pub mod payload;
pub mod pin;
pub mod rounds;
pub mod spread;
pub mod state;
pub mod stats;
pub mod steal;
pub mod stream;
pub mod tsc;
pub mod wait;
pub mod workload;
