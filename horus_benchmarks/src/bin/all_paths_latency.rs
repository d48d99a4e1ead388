//! Every path a message can take: latency, the cost of `send`, and throughput of every channel,
//! ring and topic in one thread, between two and between two processes, each beside the floor.

use std::process::ExitCode;

use horus_benchmarks::run::args::Args;
use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::scenario::survey::Survey;
use horus_benchmarks::transport::path::{Path, Ring, Size};

const NAME: &str = "all_paths_latency";

const ABOUT: &str = "Latency, cost of send and throughput of every channel, ring and topic, in one \
thread, between two threads and between two processes, as multiples of what two cache lines do.";

const IN_ONE_THREAD: [Ring; 5] =
    [Ring::Direct, Ring::Spsc, Ring::SpscShm, Ring::FanoutShm, Ring::Topic];

const CHANNELS: [Ring; 4] = [Ring::Spsc, Ring::Spmc, Ring::Mpsc, Ring::Fanout];

const ONE_WAY: [Ring; 7] = [
    Ring::SpscShm,
    Ring::MpscShm,
    Ring::SpmcShm,
    Ring::FanoutShm,
    Ring::FanoutShm2p2s,
    Ring::PodShm,
    Ring::Topic,
];

const CHANNEL_STREAMS: [Ring; 2] = [Ring::Spsc, Ring::Mpsc];

const STREAMS: [Ring; 5] =
    [Ring::SpscShm, Ring::MpscShm, Ring::FanoutShm, Ring::Topic, Ring::TopicReliable];

fn main() -> ExitCode {
    entry::main(NAME, ABOUT, run)
}

fn run(args: Args) -> Outcome {
    let over = |rings: &[Ring]| Path::over(rings, &Size::ALL);
    let (one_way, streams) = (over(&ONE_WAY), over(&STREAMS));
    let here =
        (over(&IN_ONE_THREAD), [over(&[Ring::Direct, Ring::Spsc]), streams.clone()].concat());
    let threads = (
        [over(&CHANNELS), one_way.clone()].concat(),
        [over(&CHANNEL_STREAMS), streams.clone()].concat(),
    );
    let all = [&here.0, &here.1, &threads.0, &threads.1, &one_way, &streams];
    let mut survey = Survey::begin(args, all.iter().map(|rows| rows.len()).sum())?;
    survey.one_thread(&here.0, &here.1)?;
    survey.two_ends(Placement::CrossThread, &threads.0, &threads.1)?;
    survey.two_ends(Placement::CrossProcess, &one_way, &streams)?;
    survey.finish()
}
