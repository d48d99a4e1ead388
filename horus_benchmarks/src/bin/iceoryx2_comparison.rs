//! Compares our topics with the services of iceoryx2, on every path, in alternating rounds of one
//! run.

use std::process::ExitCode;
use std::time::Duration;

use horus_benchmarks::run::args::QuickOrFull;
use horus_benchmarks::run::floor::Placement::{self, CrossProcess, CrossThread};
use horus_benchmarks::run::session::{BenchmarkSession, BenchmarkSkipped};
use horus_benchmarks::scenario::comparison::{self, CandidateGroup};
use horus_benchmarks::scenario::ends::TwoEnds;
use horus_benchmarks::scenario::entry::{Outcome, Program};
use horus_benchmarks::scenario::wakeup;
use horus_benchmarks::transport::carrier::{Carrier, MessageSize, Transport, WakeupMechanism};

const ABOUT: &str = "Our topics against the services of iceoryx2: in one thread, between two \
threads, between two processes, two processes that each publish and subscribe, throughput, and \
waking a sleeper. Needs the feature iceoryx2.";

/// Number of rounds, and number of timed messages in each round.
const ROUNDS_AND_SAMPLES: QuickOrFull<(u32, u64)> = QuickOrFull((20, 5_000), (40, 20_000));

/// Duration of one stream of messages.
const STREAM_TIME: Duration = Duration::from_millis(50);

/// Divisor of the number of timed messages in each round of the wake-up benchmark. That benchmark
/// times fewer messages than the others, because each wake-up takes long.
const WAKEUP_SAMPLES_DIVISOR: u64 = 40;

const SAME_THREAD_ROW_ID: &str = "vs_iceoryx2/same_thread/16B";
const WAKEUP_ROW_ID: &str = "vs_iceoryx2/wakeup";

/// Carriers within one process. The `local` service of iceoryx2 needs no files.
const IN_PROCESS_CARRIERS: [Carrier; 2] = [Carrier::TopicDefault, Carrier::Iceoryx2Local];
const ONE_TO_ONE_CARRIERS: [Carrier; 2] = [Carrier::TopicDefault, Carrier::Iceoryx2];
/// Carriers that lend the sender memory for each message, so that it is not copied.
const LOAN_CARRIERS: [Carrier; 2] = [Carrier::TopicLoan, Carrier::Iceoryx2Loan];
const BIDIRECTIONAL_CARRIERS: [Carrier; 2] = [Carrier::TopicDuplex, Carrier::Iceoryx2Duplex];
const STREAM_CARRIERS: [Carrier; 2] = [Carrier::TopicReliable, Carrier::Iceoryx2Stream];
/// The same with a setting of ours that is not the default.
const SINGLE_SUBSCRIBER_STREAM_CARRIERS: [Carrier; 2] =
    [Carrier::TopicReliableSole, Carrier::Iceoryx2Stream];

/// The rows between two ends. For each group: the placement of the ends, the name in the ids of the
/// rows, our carrier and that of iceoryx2, and the message sizes in bytes. All rows are latencies
/// except those whose name begins with [`THROUGHPUT`].
const MEASURED_ROWS: [(Placement, &str, [Carrier; 2], &[usize]); 6] = [
    (CrossThread, "cross_thread", IN_PROCESS_CARRIERS, &[16]),
    (
        CrossProcess,
        "cross_process",
        ONE_TO_ONE_CARRIERS,
        &[16, 1480],
    ),
    (CrossProcess, "loan", LOAN_CARRIERS, &[1480, 65_536]),
    (CrossProcess, "mpmc_2p2s", BIDIRECTIONAL_CARRIERS, &[16]),
    (CrossProcess, THROUGHPUT, STREAM_CARRIERS, &[8]),
    (
        CrossProcess,
        THROUGHPUT_SINGLE_SUBSCRIBER,
        SINGLE_SUBSCRIBER_STREAM_CARRIERS,
        &[8],
    ),
];

const THROUGHPUT: &str = "throughput";
const THROUGHPUT_SINGLE_SUBSCRIBER: &str = "throughput_sole";

fn main() -> ExitCode {
    Program::new(ABOUT, ROUNDS_AND_SAMPLES).main(run)
}

fn run(session: &mut BenchmarkSession) -> Outcome {
    if !cfg!(feature = "iceoryx2") {
        let reason = "built without iceoryx2; use: cargo run --release -p horus_benchmarks \
                      --bin iceoryx2_comparison --features iceoryx2";
        return Err(BenchmarkSkipped(reason).into());
    }
    let rows = MEASURED_ROWS
        .iter()
        .map(|(.., sizes)| sizes.len())
        .sum::<usize>();
    session.add_progress_steps(2 + rows);
    if session.begin_row_if_selected(SAME_THREAD_ROW_ID) {
        let size = MessageSize::Bytes(16);
        let all = IN_PROCESS_CARRIERS.map(|carrier| Transport { carrier, size });
        comparison::compare_in_same_thread(session, SAME_THREAD_ROW_ID, all)?;
    }
    for placement in [CrossThread, CrossProcess] {
        let mut ends = TwoEnds::start(session, placement)?;
        for (_, name, candidates, sizes) in MEASURED_ROWS.iter().filter(|row| row.0 == placement) {
            for size in sizes.iter().copied().map(MessageSize::Bytes) {
                // WHY another place: a row of iceoryx2 is in both groups, and ids are unique.
                let place = match *name {
                    THROUGHPUT_SINGLE_SUBSCRIBER => "cross_process_sole",
                    _ => ends.place,
                };
                let group = CandidateGroup {
                    candidates: candidates.to_vec(),
                    place,
                    size,
                    versus: Some(format!("vs_iceoryx2/{name}/{}", size.id())),
                };
                match name.starts_with(THROUGHPUT) {
                    true => group.measure_throughput(session, &mut ends, STREAM_TIME, 1)?,
                    false => group.measure_latency(session, &mut ends)?,
                }
            }
        }
    }
    if session.begin_row_if_selected(WAKEUP_ROW_ID) {
        session.effort.samples = session.effort.samples.div_ceil(WAKEUP_SAMPLES_DIVISOR);
        session.effort.warm_up = session.effort.samples.div_ceil(10);
        wakeup::check_cpu_counters(session)?;
        let mechanisms = [WakeupMechanism::Topic, WakeupMechanism::Iceoryx2];
        wakeup::compare_two_mechanisms(session, WAKEUP_ROW_ID, mechanisms)?;
    }
    Ok(())
}
