//! Our topics compared with the services of iceoryx2, on every path, in alternating rounds of one
//! run.

use std::process::ExitCode;
use std::time::Duration;

use horus_benchmarks::run::args::Args;
use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::run::namespace::PrivateNamespace;
use horus_benchmarks::run::session::Session;
use horus_benchmarks::scenario::comparison::{self, Comparison, Group};
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::scenario::wakeup;
use horus_benchmarks::transport::carrier::{Carrier, Mechanism, Size, Transport};

const ABOUT: &str = "Our topics against the services of iceoryx2: in one thread, between two \
threads, between two processes, two processes that each publish and subscribe, throughput, and \
waking a sleeper. Needs the feature iceoryx2.";

/// Number of rounds, and of timed messages in each, with `--quick` and without.
const QUICK_ROUNDS_AND_SAMPLES: (u32, u64) = (20, 5_000);
const FULL_ROUNDS_AND_SAMPLES: (u32, u64) = (40, 20_000);

/// The duration of one stream.
const STREAM_TIME: Duration = Duration::from_millis(50);

/// The wake-up benchmark times one message for every 40 that the other benchmarks time in a round,
/// because each wake-up takes long.
const WAKEUP_SAMPLES_DIVISOR: u64 = 40;

const SAME_THREAD: &str = "vs_iceoryx2/same_thread/16B";
const WAKEUP: &str = "vs_iceoryx2/wakeup";

type Candidates = [Carrier; 2];

const ONE_TO_ONE: Candidates = [Carrier::TopicDefault, Carrier::Iceoryx2];
/// The candidates within a process. The `local` service of iceoryx2 needs no names in the file
/// system.
const IN_PROCESS: Candidates = [Carrier::TopicDefault, Carrier::Iceoryx2Local];
/// The candidates for large messages: both write each message into a loan.
const LOANS: Candidates = [Carrier::TopicLoan, Carrier::Iceoryx2Loan];
const BOTH_WAYS: Candidates = [Carrier::TopicDuplex, Carrier::Iceoryx2Duplex];
const STREAM: Candidates = [Carrier::TopicReliable, Carrier::Iceoryx2Stream];

/// The latencies to measure: placement, name, candidates and message size.
const LATENCIES: [(Placement, &str, Candidates, Size); 6] = [
    (
        Placement::CrossThread,
        "vs_iceoryx2/cross_thread/16B",
        IN_PROCESS,
        Size::Bytes(16),
    ),
    (
        Placement::CrossProcess,
        "vs_iceoryx2/cross_process/16B",
        ONE_TO_ONE,
        Size::Bytes(16),
    ),
    (
        Placement::CrossProcess,
        "vs_iceoryx2/cross_process/1480B",
        ONE_TO_ONE,
        Size::Bytes(1480),
    ),
    (
        Placement::CrossProcess,
        "vs_iceoryx2/loan/1480B",
        LOANS,
        Size::Bytes(1480),
    ),
    (
        Placement::CrossProcess,
        "vs_iceoryx2/loan/64KB",
        LOANS,
        Size::Bytes(65536),
    ),
    (
        Placement::CrossProcess,
        "vs_iceoryx2/mpmc_2p2s/16B",
        BOTH_WAYS,
        Size::Bytes(16),
    ),
];

const STREAMS: [(&str, Candidates, Size); 1] =
    [("vs_iceoryx2/throughput/8B", STREAM, Size::Bytes(8))];

fn main() -> ExitCode {
    entry::main("iceoryx2_comparison", ABOUT, &[], run)
}

fn run(mut args: Args) -> Outcome {
    if !cfg!(feature = "iceoryx2") {
        return Err(
            "built without iceoryx2; use: cargo run --release -p horus_benchmarks \
             --bin iceoryx2_comparison --features iceoryx2"
                .into(),
        );
    }
    args.default_to(QUICK_ROUNDS_AND_SAMPLES, FULL_ROUNDS_AND_SAMPLES);
    let mut session = Session::begin(args)?;
    let private = PrivateNamespace::create()?;
    if session.args.wants(SAME_THREAD) {
        let all = IN_PROCESS.map(|carrier| Transport {
            carrier,
            size: Size::Bytes(16),
        });
        comparison::same_thread(&mut session, &private, SAME_THREAD, all)?;
    }
    for placement in [Placement::CrossThread, Placement::CrossProcess] {
        two_ends(&mut session, &private, placement)?;
    }
    if session.args.wants(WAKEUP) {
        wake(&mut session, &private)?;
    }
    Ok(session.finish()?)
}

fn two_ends(session: &mut Session, private: &PrivateNamespace, placement: Placement) -> Outcome {
    let steps = LATENCIES.len() + STREAMS.len();
    let mut comparison = Comparison::start(session, placement, private, steps)?;
    let group = |id, candidates: Candidates, size| {
        let candidates = candidates.to_vec();
        let place = placement.id();
        Group {
            candidates,
            place,
            size,
            versus: Some(id),
        }
    };
    for &(_, id, candidates, size) in LATENCIES.iter().filter(|one| one.0 == placement) {
        comparison.latency(&group(id, candidates, size))?;
    }
    let streams = if placement == Placement::CrossProcess {
        &STREAMS[..]
    } else {
        &[]
    };
    for &(id, candidates, size) in streams {
        comparison.throughput(&group(id, candidates, size), STREAM_TIME, 1)?;
    }
    Ok(())
}

fn wake(session: &mut Session, private: &PrivateNamespace) -> Outcome {
    session.effort.samples = session.effort.samples.div_ceil(WAKEUP_SAMPLES_DIVISOR);
    session.effort.warm_up = session.effort.samples.div_ceil(10);
    wakeup::check_counters(session)?;
    wakeup::duel(
        session,
        private,
        WAKEUP,
        [Mechanism::Topic, Mechanism::Iceoryx2],
    )
}
