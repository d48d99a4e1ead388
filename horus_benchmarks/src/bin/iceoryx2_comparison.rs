//! Our topics against the services of iceoryx2, on every path, in alternating rounds of one run.

use std::process::ExitCode;

use horus_benchmarks::run::args::Args;
use horus_benchmarks::scenario::entry::{self, Outcome};

const NAME: &str = "iceoryx2_comparison";

const ABOUT: &str = "Our topics against the services of iceoryx2: in one thread, between two \
threads, between two processes, two processes that each publish and subscribe, throughput, and \
waking a sleeper. Needs the feature iceoryx2.";

fn main() -> ExitCode {
    entry::main(NAME, ABOUT, run)
}

#[cfg(not(feature = "iceoryx2"))]
fn run(_args: Args) -> Outcome {
    Err("built without iceoryx2; use: cargo run --release -p horus_benchmarks \
         --bin iceoryx2_comparison --features iceoryx2"
        .into())
}

#[cfg(feature = "iceoryx2")]
fn run(args: Args) -> Outcome {
    comparison::run(args)
}

#[cfg(feature = "iceoryx2")]
mod comparison {
    use std::time::Duration;

    use horus_benchmarks::run::args::Args;
    use horus_benchmarks::run::floor::{Floor, Placement};
    use horus_benchmarks::run::namespace::PrivateNamespace;
    use horus_benchmarks::run::progress::Progress;
    use horus_benchmarks::run::session::Session;
    use horus_benchmarks::scenario::contest::{Arena, Entrant, Group};
    use horus_benchmarks::scenario::entry::Outcome;
    use horus_benchmarks::scenario::rivals;
    use horus_benchmarks::scenario::wakeup::{self, Way};
    use horus_benchmarks::transport::path::{Path, Ring, Size};
    use horus_benchmarks::transport::path_pair;

    /// Rounds and timed messages of each, for `--quick` and else.
    const QUICK: (u32, u64) = (20, 5_000);
    const FULL: (u32, u64) = (40, 20_000);

    /// How long one stream takes.
    const STREAM_TIME: Duration = Duration::from_millis(50);

    /// Timed messages of a round for each that wakes a sleeper, which takes long.
    const SAMPLES_PER_WAKE: u64 = 40;

    const SAME_THREAD: &str = "vs_iceoryx2/same_thread/16B";
    const WAKEUP: &str = "vs_iceoryx2/wakeup";

    /// Ours and theirs.
    type Rivals = [Ring; 2];

    const ONE_TO_ONE: Rivals = [Ring::TopicDefault, Ring::Iceoryx2];
    /// Within a process they have a service that does without names in the file system.
    const IN_PROCESS: Rivals = [Ring::TopicDefault, Ring::Iceoryx2Local];
    /// Both by what they have for large messages.
    const LOANS: Rivals = [Ring::TopicLoan, Ring::Iceoryx2];
    const BOTH_WAYS: Rivals = [Ring::TopicDuplex, Ring::Iceoryx2Duplex];
    const STREAM: Rivals = [Ring::TopicReliable, Ring::Iceoryx2Stream];

    /// Round trips, by placement.
    const LATENCIES: [(Placement, &str, Rivals, Size); 6] = [
        (Placement::CrossThread, "vs_iceoryx2/cross_thread/16B", IN_PROCESS, Size::Small),
        (Placement::CrossProcess, "vs_iceoryx2/cross_process/16B", ONE_TO_ONE, Size::Small),
        (Placement::CrossProcess, "vs_iceoryx2/cross_process/1480B", ONE_TO_ONE, Size::Large),
        (Placement::CrossProcess, "vs_iceoryx2/loan/1480B", LOANS, Size::Large),
        (Placement::CrossProcess, "vs_iceoryx2/loan/64KB", LOANS, Size::Huge),
        (Placement::CrossProcess, "vs_iceoryx2/mpmc_2p2s/16B", BOTH_WAYS, Size::Small),
    ];

    /// Streams between processes.
    const STREAMS: [(&str, Rivals, Size); 1] = [("vs_iceoryx2/throughput/8B", STREAM, Size::Word)];

    pub(super) fn run(mut args: Args) -> Outcome {
        let (rounds, samples) = if args.quick { QUICK } else { FULL };
        args.rounds.get_or_insert(rounds);
        args.samples.get_or_insert(samples);
        let mut session = Session::begin(args)?;
        let private = PrivateNamespace::create()?;
        if session.args.wants(SAME_THREAD) {
            let paths = IN_PROCESS.map(|ring| Path { ring, size: Size::Small });
            rivals::same_thread(&mut session, &private, SAME_THREAD, paths)?;
        }
        for placement in [Placement::CrossThread, Placement::CrossProcess] {
            two_ends(&mut session, &private, placement)?;
        }
        if session.args.wants(WAKEUP) {
            wake(&mut session, &private)?;
        }
        Ok(session.finish()?)
    }

    fn two_ends(
        session: &mut Session,
        private: &PrivateNamespace,
        placement: Placement,
    ) -> Outcome {
        let (cpus, clock) = (session.cpus, &session.clock);
        let (floor, spin) = Floor::new(placement, cpus, clock, session.effort)?;
        let pair = path_pair::start(placement, cpus, clock.source(), private)?;
        session.report.set(&format!("spin/{}", placement.id()), serde_json::to_value(spin)?);
        let progress = Progress::new((LATENCIES.len() + STREAMS.len()) as u64);
        let mut arena = Arena { session, floor, pair, progress: &progress };
        for (_, id, rivals, size) in LATENCIES.iter().filter(|one| one.0 == placement) {
            arena.latency_as(&group(placement, *rivals, *size), Some(id))?;
        }
        let streams = if placement == Placement::CrossProcess { &STREAMS[..] } else { &[] };
        for (id, rivals, size) in streams {
            arena.throughput_as(&group(placement, *rivals, *size), STREAM_TIME, Some(id))?;
        }
        progress.finish();
        Ok(())
    }

    fn group(placement: Placement, rivals: Rivals, size: Size) -> Group<Path> {
        let entrant = |ring: Ring| Entrant {
            name: ring.id(),
            way: Path { ring, size },
            is_ours: ring == rivals[0],
            basis: ring.arrangement(),
        };
        let entrants = rivals.map(entrant).to_vec();
        Group { entrants, place: placement.id().to_owned(), size: size.id() }
    }

    fn wake(session: &mut Session, private: &PrivateNamespace) -> Outcome {
        session.effort.samples = session.effort.samples.div_ceil(SAMPLES_PER_WAKE);
        session.effort.warm_up = session.effort.samples.div_ceil(10);
        wakeup::check_counters(session)?;
        wakeup::duel(session, private, WAKEUP, [Way::Topic, Way::Iceoryx2])
    }
}
