//! Our topics against the services of iceoryx2, on every path, in alternating rounds of one run.

use std::process::ExitCode;

use horus_benchmarks::args::Args;
use horus_benchmarks::entry::{self, Outcome};

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
fn run(mut args: Args) -> Outcome {
    use horus_benchmarks::floor::Placement::{CrossProcess, CrossThread};
    use horus_benchmarks::goals;
    use horus_benchmarks::namespace::PrivateNamespace;
    use horus_benchmarks::path::Ring::{
        Iceoryx2, Iceoryx2Duplex, Iceoryx2Stream, Topic, TopicDuplex, TopicReliable,
    };
    use horus_benchmarks::path::Size::{Large, Small, Word};
    use horus_benchmarks::session::Session;
    use horus_benchmarks::versus::{self, Contest, Kind};
    use horus_benchmarks::wakeup::{self, Way};

    /// Rounds and timed messages of each, for `--quick` and else.
    const QUICK: (u32, u64) = (20, 5_000);
    const FULL: (u32, u64) = (40, 20_000);

    /// Samples of a round for each message that wakes a sleeper, which takes long.
    const SAMPLES_PER_WAKE: u64 = 40;

    const CONTESTS: [Contest; 6] = [
        Contest {
            id: "same_thread/16B",
            ours: Topic,
            theirs: Iceoryx2,
            size: Small,
            kind: Kind::SameThread,
        },
        Contest {
            id: "cross_thread/16B",
            ours: Topic,
            theirs: Iceoryx2,
            size: Small,
            kind: Kind::OneWay(CrossThread),
        },
        Contest {
            id: "cross_process/16B",
            ours: Topic,
            theirs: Iceoryx2,
            size: Small,
            kind: Kind::OneWay(CrossProcess),
        },
        Contest {
            id: "cross_process/1480B",
            ours: Topic,
            theirs: Iceoryx2,
            size: Large,
            kind: Kind::OneWay(CrossProcess),
        },
        Contest {
            id: "mpmc_2p2s/16B",
            ours: TopicDuplex,
            theirs: Iceoryx2Duplex,
            size: Small,
            kind: Kind::OneWay(CrossProcess),
        },
        Contest {
            id: "throughput/8B",
            ours: TopicReliable,
            theirs: Iceoryx2Stream,
            size: Word,
            kind: Kind::Throughput,
        },
    ];

    let (rounds, samples) = if args.quick { QUICK } else { FULL };
    args.rounds.get_or_insert(rounds);
    args.samples.get_or_insert(samples);
    let mut session = Session::begin(args)?;
    let private = PrivateNamespace::create()?;
    for contest in &CONTESTS {
        versus::run(&mut session, &private, "iceoryx2", contest)?;
    }
    let id = "vs_iceoryx2/wakeup";
    if session.args.wants(id) {
        session.effort.samples = session.effort.samples.div_ceil(SAMPLES_PER_WAKE);
        session.effort.warm_up = session.effort.samples.div_ceil(10);
        wakeup::check_counters(&mut session)?;
        wakeup::duel(&mut session, &private, id, [Way::Topic, Way::Iceoryx2])?;
    }
    let verdict = goals::verdict(&session.report);
    session.finish()?;
    if let Some(verdict) = verdict {
        println!("\n{verdict}");
    }
    Ok(())
}
