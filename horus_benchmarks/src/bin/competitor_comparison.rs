//! Compares our topics with other transports between two processes: UDP, Unix sockets, pipes, POSIX
//! message queues, and a ring with a head and a tail.

use std::process::ExitCode;
use std::time::Duration;

use horus_benchmarks::run::args::{Args, QuickOrFull};
use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::run::namespace::PrivateNamespace;
use horus_benchmarks::run::session::BenchmarkSession;
use horus_benchmarks::scenario::comparison::{CandidateGroup, Comparison};
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::transport::carrier::{Carrier, MessageSize};

const ABOUT: &str = "Our topics between two processes beside UDP over loopback, Unix datagram and \
stream sockets, pipes, POSIX message queues and a ring with a head and a tail, all polled: latency \
and sustained throughput for messages of 8 bytes to 64 KiB, in rounds that alternate.";

/// Number of rounds, and number of timed messages in each round.
const ROUNDS_AND_SAMPLES: QuickOrFull<(u32, u64)> = QuickOrFull {
    quick: (20, 500),
    full: (40, 2_000),
};

/// Duration for which each transport streams messages of one size.
const STREAM_DURATION: QuickOrFull<Duration> = QuickOrFull {
    quick: Duration::from_millis(200),
    full: Duration::from_secs(5),
};

const MESSAGE_SIZES: [usize; 7] = [8, 32, 304, 1480, 4096, 16_384, 65_536];

fn main() -> ExitCode {
    entry::main("competitor_comparison", ABOUT, &[], run)
}

fn run(mut args: Args) -> Outcome {
    let rounds = args.set_default_rounds(ROUNDS_AND_SAMPLES);
    let duration = args.duration.unwrap_or(args.quick_or_full(STREAM_DURATION));
    let mut session = BenchmarkSession::begin(args)?;
    session
        .report
        .set("duration_s_per_transport_and_size", duration.as_secs_f64());
    let private = PrivateNamespace::create()?;
    let place = Placement::CrossProcess;
    let mut comparison = Comparison::start(&mut session, place, &private, 2 * MESSAGE_SIZES.len())?;
    for size in MESSAGE_SIZES.map(MessageSize::Bytes) {
        let mut candidates = Vec::new();
        for carrier in Carrier::BETWEEN_PROCESSES {
            match carrier.unsupported_reason(size.bytes()) {
                None => candidates.push(carrier),
                Some(reason) => {
                    comparison.set_for_row(
                        "left_out",
                        &format!("{}/{}", carrier.id(), size.id()),
                        reason,
                    );
                }
            }
        }
        let group = CandidateGroup {
            candidates,
            place: place.id(),
            size,
            versus: None,
        };
        comparison.measure_latency(&group)?;
        comparison.measure_throughput(&group, duration / rounds, 1)?;
    }
    drop(comparison);
    Ok(session.finish()?)
}
