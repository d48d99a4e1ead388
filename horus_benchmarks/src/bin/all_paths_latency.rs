//! Measures the latency, the cost of `send` and the throughput of every channel, ring and topic: in
//! one thread, between two threads, and between two processes. Each value is shown next to the
//! hardware floor, the fastest exchange that this machine can do without any ring.

use std::process::ExitCode;

use horus_benchmarks::run::args::Args;
use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::scenario::survey::Survey;
use horus_benchmarks::transport::carrier::{Carrier, MessageSize, Transport};

const ABOUT: &str = "Measures the latency, the cost of a send and the throughput of every \
channel, ring and topic: in one thread, between two threads and between two processes. Latencies \
are also shown as multiples of the floor, an exchange of two cache lines.";

const ONE_THREAD_CARRIERS: [Carrier; 5] = [
    Carrier::DIRECT,
    Carrier::SPSC,
    Carrier::SpscShm,
    Carrier::FanoutShm,
    Carrier::Topic,
];

const CHANNEL_CARRIERS: [Carrier; 4] =
    [Carrier::SPSC, Carrier::SPMC, Carrier::MPSC, Carrier::FANOUT];

const ONE_WAY_CARRIERS: [Carrier; 7] = [
    Carrier::SpscShm,
    Carrier::MpscShm,
    Carrier::SpmcShm,
    Carrier::FanoutShm,
    Carrier::FanoutShm2p2s,
    Carrier::PodShm,
    Carrier::Topic,
];

const CHANNEL_STREAMS: [Carrier; 2] = [Carrier::SPSC, Carrier::MPSC];

const STREAM_CARRIERS: [Carrier; 5] = [
    Carrier::SpscShm,
    Carrier::MpscShm,
    Carrier::FanoutShm,
    Carrier::Topic,
    Carrier::TopicReliable,
];

fn main() -> ExitCode {
    entry::main("all_paths_latency", ABOUT, &[], run)
}

fn run(args: Args) -> Outcome {
    let over = |carriers: &[Carrier]| Transport::combinations(carriers, &MessageSize::ALL);
    let one_way = over(&ONE_WAY_CARRIERS);
    let streams = over(&STREAM_CARRIERS);
    let here = (
        over(&ONE_THREAD_CARRIERS),
        [over(&[Carrier::DIRECT, Carrier::SPSC]), streams.clone()].concat(),
    );
    let threads = (
        [over(&CHANNEL_CARRIERS), one_way.clone()].concat(),
        [over(&CHANNEL_STREAMS), streams.clone()].concat(),
    );
    let all = [&here.0, &here.1, &threads.0, &threads.1, &one_way, &streams];
    let mut survey = Survey::begin(args, all.iter().map(|rows| rows.len()).sum())?;
    survey.measure_one_thread(&here.0, &here.1)?;
    survey.measure_two_ends(Placement::CrossThread, &threads.0, &threads.1)?;
    survey.measure_two_ends(Placement::CrossProcess, &one_way, &streams)?;
    survey.finish()
}
