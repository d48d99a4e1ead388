//! The parts of the benchmarks, each by itself.

use horus_testing as _;

mod args;
mod bracket;
mod carrier;
mod compare;
mod connection;
mod csv;
mod duplex;
mod far_end;
mod floor;
mod goals;
mod groups;
#[path = "../common/histogram_log.rs"]
mod histogram_log;
mod histograms;
mod lines;
mod loopback;
mod machine;
mod micro;
mod namespace;
mod packet;
mod payload;
mod pin;
mod record;
mod rooms;
mod rounds;
mod rows;
mod spread;
mod stats;
mod steal;
mod stream;
mod table;
mod tsc;
mod wait;
mod workload;
