//! Compares our topics with the services of iceoryx2, on every path, in alternating rounds of one
//! run.

use std::process::ExitCode;
use std::time::Duration;

use horus_benchmarks::run::args::{Args, QuickOrFull};
use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::run::namespace::PrivateNamespace;
use horus_benchmarks::run::session::{BenchmarkSession, Skipped};
use horus_benchmarks::scenario::comparison::{self, CandidateGroup, Comparison};
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::scenario::wakeup;
use horus_benchmarks::transport::carrier::{Carrier, Mechanism, MessageSize, Transport};

const ABOUT: &str = "Our topics against the services of iceoryx2: in one thread, between two \
threads, between two processes, two processes that each publish and subscribe, throughput, and \
waking a sleeper. Needs the feature iceoryx2.";

/// Number of rounds, and number of timed messages in each round.
const ROUNDS_AND_SAMPLES: QuickOrFull<(u32, u64)> = QuickOrFull {
    quick: (20, 5_000),
    full: (40, 20_000),
};

/// Duration of one stream of messages.
const STREAM_TIME: Duration = Duration::from_millis(50);

/// Divisor of the number of timed messages in each round of the wake-up benchmark. That benchmark
/// times fewer messages than the others, because each wake-up takes long.
const WAKEUP_SAMPLES_DIVISOR: u64 = 40;

const SAME_THREAD_ROW: &str = "vs_iceoryx2/same_thread/16B";
const WAKEUP_ROW: &str = "vs_iceoryx2/wakeup";

type Candidates = [Carrier; 2];

const ONE_TO_ONE_CANDIDATES: Candidates = [Carrier::TopicDefault, Carrier::Iceoryx2];
/// The two services that are compared within one process, ours and one of iceoryx2. The `local`
/// service of iceoryx2 needs no files.
const IN_PROCESS_CANDIDATES: Candidates = [Carrier::TopicDefault, Carrier::Iceoryx2Local];
/// The two services that are compared for large messages, ours and one of iceoryx2. Both lend the
/// sender memory for each message, so that it is not copied.
const LOANS_CANDIDATES: Candidates = [Carrier::TopicLoan, Carrier::Iceoryx2Loan];
const BOTH_WAYS_CANDIDATES: Candidates = [Carrier::TopicDuplex, Carrier::Iceoryx2Duplex];
const STREAM_CANDIDATES: Candidates = [Carrier::TopicReliable, Carrier::Iceoryx2Stream];

/// The latencies to measure. For each one: the placement of the two ends, the name in the id of the
/// row, the candidates, and the message size in bytes.
const LATENCY_ROWS: [(Placement, &str, Candidates, usize); 6] = [
    (
        Placement::CrossThread,
        "cross_thread",
        IN_PROCESS_CANDIDATES,
        16,
    ),
    (
        Placement::CrossProcess,
        "cross_process",
        ONE_TO_ONE_CANDIDATES,
        16,
    ),
    (
        Placement::CrossProcess,
        "cross_process",
        ONE_TO_ONE_CANDIDATES,
        1480,
    ),
    (Placement::CrossProcess, "loan", LOANS_CANDIDATES, 1480),
    (Placement::CrossProcess, "loan", LOANS_CANDIDATES, 65_536),
    (
        Placement::CrossProcess,
        "mpmc_2p2s",
        BOTH_WAYS_CANDIDATES,
        16,
    ),
];

fn main() -> ExitCode {
    entry::main("iceoryx2_comparison", ABOUT, &[], run)
}

fn run(mut args: Args) -> Outcome {
    if !cfg!(feature = "iceoryx2") {
        let reason = "built without iceoryx2; use: cargo run --release -p horus_benchmarks \
                      --bin iceoryx2_comparison --features iceoryx2";
        return Err(Skipped(reason).into());
    }
    args.set_default_rounds(ROUNDS_AND_SAMPLES);
    let mut session = BenchmarkSession::begin(args)?;
    let private = PrivateNamespace::create()?;
    if session.args.wants_row(SAME_THREAD_ROW) {
        let all = IN_PROCESS_CANDIDATES.map(|carrier| Transport {
            carrier,
            size: MessageSize::Bytes(16),
        });
        comparison::compare_in_same_thread(&mut session, &private, SAME_THREAD_ROW, all)?;
    }
    for placement in [Placement::CrossThread, Placement::CrossProcess] {
        measure_two_ends(&mut session, &private, placement)?;
    }
    if session.args.wants_row(WAKEUP_ROW) {
        measure_wakeup(&mut session, &private)?;
    }
    Ok(session.finish()?)
}

fn measure_two_ends(
    session: &mut BenchmarkSession,
    private: &PrivateNamespace,
    placement: Placement,
) -> Outcome {
    let mut comparison = Comparison::start(session, placement, private, LATENCY_ROWS.len() + 1)?;
    let group = |name, candidates: Candidates, bytes| {
        let size = MessageSize::Bytes(bytes);
        CandidateGroup {
            candidates: candidates.to_vec(),
            place: placement.id(),
            size,
            versus: Some(format!("vs_iceoryx2/{name}/{}", size.id())),
        }
    };
    for &(_, name, candidates, bytes) in LATENCY_ROWS.iter().filter(|one| one.0 == placement) {
        comparison.measure_latency(&group(name, candidates, bytes))?;
    }
    if placement == Placement::CrossProcess {
        let streams = group("throughput", STREAM_CANDIDATES, 8);
        comparison.measure_throughput(&streams, STREAM_TIME, 1)?;
    }
    Ok(())
}

fn measure_wakeup(session: &mut BenchmarkSession, private: &PrivateNamespace) -> Outcome {
    session.effort.samples = session.effort.samples.div_ceil(WAKEUP_SAMPLES_DIVISOR);
    session.effort.warm_up = session.effort.samples.div_ceil(10);
    wakeup::check_counters(session)?;
    let mechanisms = [Mechanism::Topic, Mechanism::Iceoryx2];
    wakeup::compare_two(session, private, WAKEUP_ROW, mechanisms)
}
