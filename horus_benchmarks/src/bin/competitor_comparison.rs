//! Compares our topics with other transports between two processes: UDP, Unix sockets, pipes, and a
//! ring with a head and a tail.

use std::process::ExitCode;
use std::time::Duration;

use horus_benchmarks::run::args::QuickOrFull;
use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::run::session::BenchmarkSession;
use horus_benchmarks::scenario::comparison::CandidateGroup;
use horus_benchmarks::scenario::ends::TwoEnds;
use horus_benchmarks::scenario::entry::{Outcome, Program};
use horus_benchmarks::transport::carrier::{Carrier, MessageSize};

const ABOUT: &str = "Our topics between two processes beside UDP over loopback, Unix datagram and \
stream sockets, pipes and a ring with a head and a tail, all polled: latency and sustained \
throughput for messages of 8 bytes to 64 KiB, in rounds that alternate.";

/// Number of rounds, and number of timed messages in each round.
const ROUNDS_AND_SAMPLES: QuickOrFull<(u32, u64)> = QuickOrFull((20, 500), (40, 2_000));

/// Duration for which each transport streams messages of one size.
const STREAM_DURATION: QuickOrFull<Duration> =
    QuickOrFull(Duration::from_millis(200), Duration::from_secs(5));

const MESSAGE_SIZES: [usize; 7] = [8, 32, 304, 1480, 4096, 16_384, 65_536];

fn main() -> ExitCode {
    Program::new(ABOUT, ROUNDS_AND_SAMPLES).main(run)
}

fn run(session: &mut BenchmarkSession) -> Outcome {
    let default = session.args.quick_or_full(STREAM_DURATION);
    let duration = session.args.duration.unwrap_or(default);
    let name = "duration_s_per_transport_and_size";
    session.report.set_setting(name, duration.as_secs_f64());
    session.add_progress_steps(2 * MESSAGE_SIZES.len());
    let mut ends = TwoEnds::start(session, Placement::CrossProcess)?;
    for size in MESSAGE_SIZES.map(MessageSize::Bytes) {
        let mut candidates = Vec::new();
        for carrier in Carrier::CARRIERS_BETWEEN_PROCESSES {
            let Some(reason) = carrier.unsupported_reason(size.bytes()) else {
                candidates.push(carrier);
                continue;
            };
            let id = format!("{}/{}", carrier.id(), size.id());
            session.report.set_row_setting("left_out", &id, reason);
        }
        let group = CandidateGroup {
            candidates,
            place: ends.place,
            size,
            versus: None,
        };
        group.measure_latency(session, &mut ends)?;
        let time = duration / session.effort.rounds;
        group.measure_throughput(session, &mut ends, time, 1)?;
    }
    Ok(())
}
