//! Our topics between two processes beside UDP, Unix sockets, pipes, POSIX message queues and a
//! ring with a head and a tail.

use std::process::ExitCode;
use std::time::Duration;

use horus_benchmarks::measure::payload::size_label;
use horus_benchmarks::run::args::Args;
use horus_benchmarks::run::floor::{Floor, Placement};
use horus_benchmarks::run::namespace::PrivateNamespace;
use horus_benchmarks::run::progress::Progress;
use horus_benchmarks::run::session::Session;
use horus_benchmarks::scenario::contest::{Arena, Group};
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::transport::transports::{self, Bytes, Transport};

const NAME: &str = "competitor_comparison";

const ABOUT: &str = "Our topics between two processes beside UDP over loopback, Unix datagram and \
stream sockets, pipes, POSIX message queues and a ring with a head and a tail, all polled: latency \
and sustained throughput for messages of 8 bytes to 64 KiB, in rounds that alternate.";

/// Rounds and timed messages of each, for `--quick` and else.
const QUICK: (u32, u64) = (20, 500);
const FULL: (u32, u64) = (40, 2_000);

/// How long each transport streams messages of one size, for `--quick` and else.
const DURATION: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

fn main() -> ExitCode {
    entry::main(NAME, ABOUT, run)
}

fn run(mut args: Args) -> Outcome {
    let (rounds, samples) = if args.quick { QUICK } else { FULL };
    let rounds = *args.rounds.get_or_insert(rounds);
    args.samples.get_or_insert(samples);
    let duration = args.duration.unwrap_or(if args.quick { DURATION.0 } else { DURATION.1 });
    let mut session = Session::begin(args)?;
    session.report.set("duration_s_per_transport_and_size", duration.as_secs_f64());
    let private = PrivateNamespace::create()?;
    let (cpus, source) = (session.cpus, session.clock.source());
    let (floor, spin) = Floor::new(Placement::CrossProcess, cpus, &session.clock, session.effort)?;
    session.report.set("spin/cross_process", serde_json::to_value(spin)?);
    let pair = transports::start(cpus, source, &private)?;
    let progress = Progress::new(2 * Bytes::ALL.len() as u64);
    let mut arena = Arena { session: &mut session, floor, pair, progress: &progress };
    for bytes in Bytes::ALL {
        let size = size_label(bytes.count());
        let (entrants, refused) = Transport::entrants(bytes);
        for (carrier, reason) in refused {
            arena.session.report.note("left_out", &format!("{}/{size}", carrier.id()), reason);
        }
        let group = Group { entrants, place: "cross_process".to_owned(), size };
        arena.latency(&group)?;
        arena.throughput(&group, duration / rounds)?;
    }
    drop(arena);
    progress.finish();
    Ok(session.finish()?)
}
