//! Clocks, samples and statistics: what a number is made of. Nothing here knows what is measured.

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
