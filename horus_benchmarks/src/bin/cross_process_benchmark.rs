//! Messages from 8 bytes to 64 KiB between two processes, over every ring in shared memory.

use std::process::ExitCode;

use horus_benchmarks::run::args::Args;
use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::scenario::survey::Survey;
use horus_benchmarks::transport::path::{Path, Ring, Size};

const NAME: &str = "cross_process_benchmark";

const ABOUT: &str = "Latency (half a round trip and, where the counters of both CPUs agree, one \
way), cost of send and throughput between two processes, from 8 bytes to 64 KiB, as multiples of \
what two cache lines do.";

const RINGS: [Ring; 4] = [Ring::SpscShm, Ring::MpscShm, Ring::FanoutShm, Ring::PodShm];

/// A ring of the latest value has no stream: whoever reads it wants the last one.
const STREAMS: [Ring; 3] = [Ring::SpscShm, Ring::MpscShm, Ring::FanoutShm];

fn main() -> ExitCode {
    entry::main(NAME, ABOUT, run)
}

fn run(args: Args) -> Outcome {
    let (one_way, streams) = (Path::over(&RINGS, &Size::RANGE), Path::over(&STREAMS, &Size::RANGE));
    let mut survey = Survey::begin(args, one_way.len() + streams.len())?;
    survey.two_ends(Placement::CrossProcess, &one_way, &streams)?;
    survey.finish()
}
