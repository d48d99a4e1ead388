//! Measures the latency, the cost of `send` and the throughput of every channel, ring and topic: in
//! one thread, between two threads, and between two processes. Each value is shown next to the
//! hardware floor, the fastest exchange that this machine can do without any ring.

use std::process::ExitCode;

use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::scenario::entry::Program;
use horus_benchmarks::scenario::survey::{self, TransportsToMeasure};
use horus_benchmarks::transport::carrier::{Carrier, MessageSize};

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

const CHANNELS: [Carrier; 4] = [Carrier::SPSC, Carrier::SPMC, Carrier::MPSC, Carrier::FANOUT];

const ONE_WAY_CARRIERS: [Carrier; 7] = [
    Carrier::SpscShm,
    Carrier::MpscShm,
    Carrier::SpmcShm,
    Carrier::FanoutShm,
    Carrier::FanoutShm2p2s,
    Carrier::PodShm,
    Carrier::Topic,
];

const STREAM_CARRIERS: [Carrier; 6] = [
    Carrier::SpscShm,
    Carrier::MpscShm,
    Carrier::FanoutShm,
    Carrier::Topic,
    Carrier::TopicReliable,
    Carrier::TopicReliableSole,
];

fn main() -> ExitCode {
    let with_streams = |channels: [Carrier; 2]| [&channels[..], &STREAM_CARRIERS].concat();
    let paths = |placement, one_way, streams| TransportsToMeasure {
        placement,
        one_way,
        streams,
        sizes: &MessageSize::USUAL_SIZES,
    };
    let one_thread_streams = with_streams([Carrier::DIRECT, Carrier::SPSC]);
    let thread_one_way = [&CHANNELS[..], &ONE_WAY_CARRIERS].concat();
    let thread_streams = with_streams([Carrier::SPSC, Carrier::MPSC]);
    let [threads, processes] = [Placement::CrossThread, Placement::CrossProcess].map(Some);
    let all = [
        paths(None, &ONE_THREAD_CARRIERS, &one_thread_streams),
        paths(threads, &thread_one_way, &thread_streams),
        paths(processes, &ONE_WAY_CARRIERS, &STREAM_CARRIERS),
    ];
    Program::new(ABOUT, survey::ROUNDS_AND_SAMPLES)
        .main(|session| survey::measure_paths(session, &all))
}
