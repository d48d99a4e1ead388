//! Clocks, samples, statistics and the timed loops. Nothing here knows carriers or rows; this room
//! imports no other one.

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
pub mod stats;
pub mod steal;
pub mod stream;
pub mod tsc;
pub mod wait;
pub mod workload;
