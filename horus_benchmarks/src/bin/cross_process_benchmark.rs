//! Sends messages from 8 bytes to 64 KiB between two processes, over every ring in shared memory.

use std::process::ExitCode;

use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::scenario::entry::Program;
use horus_benchmarks::scenario::survey::{self, TransportsToMeasure};
use horus_benchmarks::transport::carrier::{Carrier, MessageSize};

const ABOUT: &str = "Measures the latency, the cost of a send and the throughput between two \
processes, for messages of 8 bytes to 64 KiB. The latency is half a round trip and, where the \
counters of both CPUs agree, also one way. It is also shown as a multiple of the floor, an \
exchange of two cache lines.";

/// The rings. The last one, which holds only the latest value, has no throughput: its readers
/// receive only the last message of a stream.
const RINGS: [Carrier; 4] = [
    Carrier::SpscShm,
    Carrier::MpscShm,
    Carrier::FanoutShm,
    Carrier::PodShm,
];

fn main() -> ExitCode {
    let paths = TransportsToMeasure {
        placement: Some(Placement::CrossProcess),
        one_way: &RINGS,
        streams: &RINGS[..3],
        sizes: &[8, 16, 304, 1480, 4096, 16_384, 65_536].map(MessageSize::Bytes),
    };
    Program::new(ABOUT, survey::ROUNDS_AND_SAMPLES)
        .main(|session| survey::measure_paths(session, &[paths]))
}
