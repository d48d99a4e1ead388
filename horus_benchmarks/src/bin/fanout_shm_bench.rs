//! Measures two processes that each publish and subscribe on the same ring or topic. There are two
//! publishers and two subscribers, and every subscriber receives every message.

use std::process::ExitCode;

use horus_benchmarks::run::args::Args;
use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::scenario::survey::Survey;
use horus_benchmarks::transport::carrier::{Carrier, MessageSize, Transport};

const ABOUT: &str = "Two pinned processes that each publish and subscribe on one ring, or on one \
topic: half a round trip, cost of send, and the messages that reach both subscribers when both \
publish as fast as they can.";

const RING_CARRIERS: [Carrier; 2] = [Carrier::FanoutShmDuplex, Carrier::TopicDuplex];

fn main() -> ExitCode {
    entry::main("fanout_shm_bench", ABOUT, &[], run)
}

fn run(args: Args) -> Outcome {
    let paths = Transport::combinations(&RING_CARRIERS, &MessageSize::ALL);
    let mut survey = Survey::begin(args, 2 * paths.len())?;
    survey.measure_two_ends(Placement::CrossProcess, &paths, &paths)?;
    survey.finish()
}
