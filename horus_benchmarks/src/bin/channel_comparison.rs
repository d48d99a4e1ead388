//! Compares our channels between threads with channels of other crates: latency and throughput.

use std::process::ExitCode;
use std::time::Duration;

use horus_benchmarks::run::args::QuickOrFull;
use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::run::session::BenchmarkSession;
use horus_benchmarks::scenario::comparison::CandidateGroup;
use horus_benchmarks::scenario::ends::TwoEnds;
use horus_benchmarks::scenario::entry::{Outcome, Program};
use horus_benchmarks::scenario::survey;
use horus_benchmarks::transport::carrier::{
    CARRIER_CAPACITY, Carrier, ChannelProvider, ChannelShape, MessageSize, Transport,
};

const ABOUT: &str = "Our channels between threads beside rtrb, disruptor, crossbeam-channel, std, \
kanal and flume: a send and a receive on one thread, latency and throughput between two threads, \
for messages of 8 to 1024 bytes, in rounds that alternate.";

/// Number of rounds, and number of timed messages in each round.
const ROUNDS_AND_SAMPLES: QuickOrFull<(u32, u64)> = QuickOrFull((20, 4_000), (40, 10_000));

/// Duration of one stream of messages.
const STREAM_TIME: Duration = Duration::from_millis(1);

/// Number of streams in each round.
const STREAMS_PER_ROUND: QuickOrFull<u32> = QuickOrFull(9, 31);

const SIZES: [MessageSize; 5] = [
    MessageSize::Bytes(8),
    MessageSize::Bytes(16),
    MessageSize::Bytes(64),
    MessageSize::Bytes(256),
    MessageSize::Bytes(1024),
];

fn main() -> ExitCode {
    Program::new(ABOUT, ROUNDS_AND_SAMPLES).main(run)
}

fn run(session: &mut BenchmarkSession) -> Outcome {
    let parts = session.args.quick_or_full(STREAMS_PER_ROUND);
    session.report.set_setting("capacity", CARRIER_CAPACITY);
    let stream_ms = STREAM_TIME.as_millis() as u64;
    session.report.set_setting("stream_ms", stream_ms);
    session.report.set_setting("streams_per_round", parts);
    let providers = ChannelProvider::ONE_THREAD_PROVIDERS;
    session.add_progress_steps(
        SIZES.len() * (providers.len() + 2 * ChannelShape::COMPARED_SHAPES.len()),
    );
    for size in SIZES {
        for provider in providers {
            let carrier = Carrier::Channel(provider, ChannelShape::OneToOne);
            survey::measure_send_and_receive(session, Transport { carrier, size }, 40, "")?;
        }
    }
    let mut ends = TwoEnds::start(session, Placement::CrossThread)?;
    for shape in ChannelShape::COMPARED_SHAPES {
        for size in SIZES {
            let group = CandidateGroup {
                candidates: shape.compared_carriers(),
                place: shape.id(),
                size,
                versus: None,
            };
            group.measure_latency(session, &mut ends)?;
            group.measure_throughput(session, &mut ends, STREAM_TIME, parts)?;
        }
    }
    Ok(())
}
