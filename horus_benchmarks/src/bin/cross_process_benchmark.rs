//! Sends messages from 8 bytes to 64 KiB between two processes, over every ring in shared memory.

use std::process::ExitCode;

use horus_benchmarks::run::args::Args;
use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::scenario::survey::Survey;
use horus_benchmarks::transport::carrier::{Carrier, MessageSize, Transport};

const ABOUT: &str = "Measures the latency, the cost of a send and the throughput between two \
processes, for messages of 8 bytes to 64 KiB. The latency is half a round trip and, where the \
counters of both CPUs agree, also one way. It is also shown as a multiple of the floor, an \
exchange of two cache lines.";

const RING_CARRIERS: [Carrier; 4] = [
    Carrier::SpscShm,
    Carrier::MpscShm,
    Carrier::FanoutShm,
    Carrier::PodShm,
];

const MESSAGE_SIZES: [usize; 7] = [8, 16, 304, 1480, 4096, 16_384, 65_536];

/// The rings whose throughput is measured. The ring that holds only the latest value is missing,
/// because its readers receive only the last message.
const STREAM_CARRIERS: [Carrier; 3] = [Carrier::SpscShm, Carrier::MpscShm, Carrier::FanoutShm];

fn main() -> ExitCode {
    entry::main("cross_process_benchmark", ABOUT, &[], run)
}

fn run(args: Args) -> Outcome {
    let sizes = MESSAGE_SIZES.map(MessageSize::Bytes);
    let one_way = Transport::combinations(&RING_CARRIERS, &sizes);
    let streams = Transport::combinations(&STREAM_CARRIERS, &sizes);
    let mut survey = Survey::begin(args, one_way.len() + streams.len())?;
    survey.measure_two_ends(Placement::CrossProcess, &one_way, &streams)?;
    survey.finish()
}
