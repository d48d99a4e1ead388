//! Measures two processes that each publish and subscribe on the same ring or topic. There are two
//! publishers and two subscribers, and every subscriber receives every message.

use std::process::ExitCode;

use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::scenario::entry::Program;
use horus_benchmarks::scenario::survey::{self, TransportsToMeasure};
use horus_benchmarks::transport::carrier::{Carrier, MessageSize};

const ABOUT: &str = "Two pinned processes that each publish and subscribe on one ring, or on one \
topic: half a round trip, cost of send, and the messages that reach both subscribers when both \
publish as fast as they can.";

const CARRIERS: [Carrier; 2] = [Carrier::FanoutShmDuplex, Carrier::TopicDuplex];

fn main() -> ExitCode {
    let paths = TransportsToMeasure {
        placement: Some(Placement::CrossProcess),
        one_way: &CARRIERS,
        streams: &CARRIERS,
        sizes: &MessageSize::USUAL_SIZES,
    };
    Program::new(ABOUT, survey::ROUNDS_AND_SAMPLES)
        .main(|session| survey::measure_paths(session, &[paths]))
}
