//! Compares our channels between threads with channels of other crates: latency and throughput.

use std::process::ExitCode;
use std::time::Duration;

use horus_benchmarks::run::args::{Args, QuickOrFull};
use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::run::namespace::PrivateNamespace;
use horus_benchmarks::run::session::BenchmarkSession;
use horus_benchmarks::scenario::comparison::{CandidateGroup, Comparison};
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::scenario::survey;
use horus_benchmarks::transport::carrier::{
    CAPACITY, Carrier, ChannelProvider, ChannelShape, MessageSize, Transport,
};

const ABOUT: &str = "Our channels between threads beside rtrb, disruptor, crossbeam-channel, std, \
kanal and flume: a send and a receive on one thread, latency and throughput between two threads, \
for messages of 8 to 1024 bytes, in rounds that alternate.";

/// Number of rounds, and number of timed messages in each round.
const ROUNDS_AND_SAMPLES: QuickOrFull<(u32, u64)> = QuickOrFull {
    quick: (20, 4_000),
    full: (40, 10_000),
};

/// Duration of one stream of messages.
const STREAM_TIME: Duration = Duration::from_millis(1);

/// Number of streams in each round.
const STREAMS_PER_ROUND: QuickOrFull<u32> = QuickOrFull { quick: 9, full: 31 };

const MESSAGE_SIZES: [usize; 5] = [8, 16, 64, 256, 1024];

fn main() -> ExitCode {
    entry::main("channel_comparison", ABOUT, &[], run)
}

fn run(mut args: Args) -> Outcome {
    args.set_default_rounds(ROUNDS_AND_SAMPLES);
    let parts = args.quick_or_full(STREAMS_PER_ROUND);
    let mut session = BenchmarkSession::begin(args)?;
    session.report.set("capacity", CAPACITY);
    session
        .report
        .set("stream_ms", STREAM_TIME.as_millis() as u64);
    session.report.set("streams_per_round", parts);
    let private = PrivateNamespace::create()?;
    compare_in_one_thread(&mut session, &private)?;
    compare_in_two_threads(&mut session, &private, parts)?;
    Ok(session.finish()?)
}

fn compare_in_one_thread(session: &mut BenchmarkSession, private: &PrivateNamespace) -> Outcome {
    let makers =
        ChannelProvider::ONE_THREAD.map(|maker| Carrier::Channel(maker, ChannelShape::OneToOne));
    for size in MESSAGE_SIZES.map(MessageSize::Bytes) {
        for transport in Transport::combinations(&makers, &[size]) {
            survey::measure_send_and_receive(session, private, transport, 40, "")?;
        }
    }
    Ok(())
}

fn compare_in_two_threads(
    session: &mut BenchmarkSession,
    private: &PrivateNamespace,
    parts: u32,
) -> Outcome {
    let steps = 2 * ChannelShape::COMPARED.len() * MESSAGE_SIZES.len();
    let mut comparison = Comparison::start(session, Placement::CrossThread, private, steps)?;
    for shape in ChannelShape::COMPARED {
        for size in MESSAGE_SIZES.map(MessageSize::Bytes) {
            let candidates = shape.carriers();
            let place = shape.id();
            let group = CandidateGroup {
                candidates,
                place,
                size,
                versus: None,
            };
            comparison.measure_latency(&group)?;
            comparison.measure_throughput(&group, STREAM_TIME, parts)?;
        }
    }
    Ok(())
}
