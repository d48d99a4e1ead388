//! Compares our topics with the services of iceoryx2, on every path, in alternating rounds of one
//! run.

use std::process::ExitCode;
use std::time::Duration;

use horus_benchmarks::run::args::Args;
use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::run::namespace::PrivateNamespace;
use horus_benchmarks::run::session::BenchmarkSession;
use horus_benchmarks::scenario::comparison::{self, CandidateGroup, Comparison};
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::scenario::wakeup;
use horus_benchmarks::transport::carrier::{Carrier, Mechanism, MessageSize, Transport};

const ABOUT: &str = "Our topics against the services of iceoryx2: in one thread, between two \
threads, between two processes, two processes that each publish and subscribe, throughput, and \
waking a sleeper. Needs the feature iceoryx2.";

/// With `--quick`: the number of rounds, and the number of timed messages in each round. The next
/// constant has the numbers without `--quick`.
const QUICK_ROUNDS_AND_SAMPLES: (u32, u64) = (20, 5_000);
const FULL_ROUNDS_AND_SAMPLES: (u32, u64) = (40, 20_000);

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

/// The latencies to measure. For each one: the placement of the two ends, the name of the row, the
/// candidates and the message size.
const LATENCY_ROWS: [(Placement, &str, Candidates, MessageSize); 6] = [
    (
        Placement::CrossThread,
        "vs_iceoryx2/cross_thread/16B",
        IN_PROCESS_CANDIDATES,
        MessageSize::Bytes(16),
    ),
    (
        Placement::CrossProcess,
        "vs_iceoryx2/cross_process/16B",
        ONE_TO_ONE_CANDIDATES,
        MessageSize::Bytes(16),
    ),
    (
        Placement::CrossProcess,
        "vs_iceoryx2/cross_process/1480B",
        ONE_TO_ONE_CANDIDATES,
        MessageSize::Bytes(1480),
    ),
    (
        Placement::CrossProcess,
        "vs_iceoryx2/loan/1480B",
        LOANS_CANDIDATES,
        MessageSize::Bytes(1480),
    ),
    (
        Placement::CrossProcess,
        "vs_iceoryx2/loan/64KB",
        LOANS_CANDIDATES,
        MessageSize::Bytes(65536),
    ),
    (
        Placement::CrossProcess,
        "vs_iceoryx2/mpmc_2p2s/16B",
        BOTH_WAYS_CANDIDATES,
        MessageSize::Bytes(16),
    ),
];

const STREAM_ROWS: [(&str, Candidates, MessageSize); 1] = [(
    "vs_iceoryx2/throughput/8B",
    STREAM_CANDIDATES,
    MessageSize::Bytes(8),
)];

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
    args.set_default_rounds(QUICK_ROUNDS_AND_SAMPLES, FULL_ROUNDS_AND_SAMPLES);
    let mut session = BenchmarkSession::begin(args)?;
    let private = PrivateNamespace::create()?;
    if session.args.wants_row(SAME_THREAD_ROW) {
        let all = IN_PROCESS_CANDIDATES.map(|carrier| Transport {
            carrier,
            size: MessageSize::Bytes(16),
        });
        comparison::same_thread(&mut session, &private, SAME_THREAD_ROW, all)?;
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
    let steps = LATENCY_ROWS.len() + STREAM_ROWS.len();
    let mut comparison = Comparison::start(session, placement, private, steps)?;
    let group = |id, candidates: Candidates, size| {
        let candidates = candidates.to_vec();
        let place = placement.id();
        CandidateGroup {
            candidates,
            place,
            size,
            versus: Some(id),
        }
    };
    for &(_, id, candidates, size) in LATENCY_ROWS.iter().filter(|one| one.0 == placement) {
        comparison.measure_latency(&group(id, candidates, size))?;
    }
    let streams = if placement == Placement::CrossProcess {
        &STREAM_ROWS[..]
    } else {
        &[]
    };
    for &(id, candidates, size) in streams {
        comparison.measure_throughput(&group(id, candidates, size), STREAM_TIME, 1)?;
    }
    Ok(())
}

fn measure_wakeup(session: &mut BenchmarkSession, private: &PrivateNamespace) -> Outcome {
    session.effort.samples = session.effort.samples.div_ceil(WAKEUP_SAMPLES_DIVISOR);
    session.effort.warm_up = session.effort.samples.div_ceil(10);
    wakeup::check_counters(session)?;
    wakeup::compare_two(
        session,
        private,
        WAKEUP_ROW,
        [Mechanism::Topic, Mechanism::Iceoryx2],
    )
}
