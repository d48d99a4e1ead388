//! Compares our actors with those of other crates: each workload runs on each runtime, in
//! alternating rounds. Every round is a separate process, so that the memory and the threads of one
//! round do not influence another round.

mod workload;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use crate::measure::pin;
use crate::measure::rounds::alternating_order;
use crate::measure::stats::{self, Samples};
use crate::report::additional_values::AdditionalValues;
use crate::report::goals;
use crate::report::rows::Row;
use crate::report::versus::{self, LatencyOrThroughput};
use crate::run::args::{Args, QuickOrFull};
use crate::run::child::{ChildContext, ChildProcess, ChildSpec};
use crate::run::session::{self, BenchmarkSession};
use crate::scenario::entry::{Outcome, Program, program_name};
use crate::transport::actors;

pub use workload::Workload;
use workload::{WorkloadJob, WorkloadResult, perform_job};

/// Number of rounds, and number of operations of most workloads. WHY not 5 rounds: a ratio of so
/// few rounds has no interval.
const ROUNDS_AND_OPERATIONS: QuickOrFull<(u32, u64)> = QuickOrFull((3, 10_000), (7, 100_000));

/// The number by which the number of operations is divided.
const OPERATIONS_DIVISOR: QuickOrFull<u64> = QuickOrFull(10, 1);

/// Maximum duration of a round. After this time, the round has failed.
const ROUND_DURATION_MAX: Duration = Duration::from_secs(300);

const CHILD_ROLE: &str = "actors";

/// The row in which our runtime does less work than the others, and its description. In `ask_task`,
/// all do the same work.
const ASK_IN_SAME_THREAD_ROW_ID: &str = "ask/st";
const ASK_IN_SAME_THREAD_METHOD: &str =
    "a question by `wait`, which runs the actor, and its answer";

type ResultValueFn = fn(&WorkloadResult) -> f64;
type PerformJobFn = fn(&WorkloadJob) -> Outcome<WorkloadResult>;

/// The actor runtimes that this binary was built with, ours first. For each one: its name, and the
/// function that runs a job on it.
const RUNTIMES: &[(&str, PerformJobFn)] = &[
    (OUR_RUNTIME_NAME, perform_job::<actors::ours::HorusRuntime>),
    #[cfg(feature = "actor_peers")]
    ("tokio", perform_job::<actors::peers::Tokio>),
    #[cfg(feature = "actor_peers")]
    ("actix", perform_job::<actors::peers::Actix>),
    #[cfg(feature = "actor_peers")]
    ("ractor", perform_job::<actors::peers::Ractor>),
    #[cfg(feature = "actor_peers")]
    ("kameo", perform_job::<actors::peers::Kameo>),
];

const OUR_RUNTIME_NAME: &str = "ours";

/// The names of the actor runtimes of other crates.
const PEER_RUNTIME_NAMES: [&str; 4] = ["tokio", "actix", "ractor", "kameo"];

impl Workload {
    /// Returns three properties of the workload: its name in the ids of rows, the number of
    /// operations, and a description of one operation.
    const fn name_operations_and_method(self) -> (&'static str, u64, &'static str) {
        match self {
            Self::Create => ("create", 100_000, "an actor, created and initialised"),
            Self::Tell => ("tell", 100_000, "a message, sent and handled"),
            Self::Counting(1) => ("counting", 1_000_000, "a message, sent and handled"),
            Self::Counting(_) => ("counting_all", 1_000_000, "a message of 64 sent at once"),
            Self::Ask => ("ask", 100_000, "a question of a task, and its answer"),
            Self::AskTask => ("ask_task", 100_000, "a question of a task, and its answer"),
            Self::AskOutside(0) => (
                "ask_outside",
                10_000,
                "a question of a thread at once, timed alone; ours polls, others sleep",
            ),
            Self::AskOutside(_) => (
                "ask_outside_rare",
                2_000,
                "a question of a thread that slept for 200 us before it, timed alone",
            ),
            Self::ThreadRing => ("thread_ring", 100_000, "a hop"),
            Self::ParallelThreadRing => ("parallel_ring", 100_000, "a hop, of 503 tokens"),
            Self::PingPong => ("ping_pong", 100_000, "a hop"),
            Self::ProducerConsumer(1) => {
                ("producer_consumer", 1_000_000, "a message of two actors")
            }
            Self::ProducerConsumer(_) => ("producer_consumer_all", 1_000_000, "a message of 64"),
            Self::Blitz => ("blitz", 100_000, "all of it, to the end of the last actor"),
        }
    }

    /// Returns the factor by which the number of operations may grow, so that a round lasts long
    /// enough on a fast runtime. WHY not for all workloads: in some of them, each operation creates
    /// an actor.
    const fn operations_growth_max(self) -> u64 {
        match self {
            Self::ThreadRing | Self::ParallelThreadRing | Self::PingPong => 20,
            _ => 1,
        }
    }

    /// Returns true if a thread that runs no actors sends the messages of the workload.
    const fn is_sent_from_outside_thread(self) -> bool {
        matches!(
            self,
            Self::Create | Self::Tell | Self::Counting(_) | Self::AskOutside(_) | Self::Blitz
        )
    }

    /// Returns true if the workload is measured with one thread, or with several.
    const fn has_row(self, is_single_threaded: bool) -> bool {
        match self {
            Self::AskOutside(_) => !is_single_threaded,
            // WHY: with several threads, `ask` is already asked by a task.
            Self::AskTask => is_single_threaded,
            _ => true,
        }
    }
}

/// Runs a benchmark of actors. It is the `main` function of its binary. `about` is the help text.
pub fn main(about: &str, workloads: &[Workload]) -> ExitCode {
    let about = format!(
        "{about} Ours beside tokio, actix, ractor and kameo (feature actor_peers), on one thread \
         (st) and on one for each CPU (mt)."
    );
    let program = Program::new(&about, ROUNDS_AND_OPERATIONS);
    program
        .with_child_role((CHILD_ROLE, serve_child))
        .main(|session| run(session, workloads))
}

/// Runs one round of a workload in this child process, and sends the result to the parent.
fn serve_child(_: &ChildContext) -> ExitCode {
    let round = || -> Outcome {
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        let job: WorkloadJob = serde_json::from_str(&line)?;
        pin::allow_cpus(&job.cpus)?;
        let found = RUNTIMES.iter().find(|(name, _)| *name == job.runtime);
        let (_, perform) = found.ok_or("no such runtime")?;
        println!("{}", serde_json::to_string(&perform(&job)?)?);
        Ok(())
    };
    session::exit_code(CHILD_ROLE, round())
}

/// Returns the names of the runtimes that the command line selects. Returns an error text if it
/// selects an unknown one.
fn wanted_runtimes(args: &Args) -> Result<Vec<&'static str>, String> {
    let all = RUNTIMES.iter().map(|(name, _)| *name);
    let Some(wanted) = &args.runtimes else {
        return Ok(all.collect());
    };
    let find = |wanted: &String| {
        all.clone().find(|name| name == wanted).ok_or_else(|| {
            if PEER_RUNTIME_NAMES.contains(&wanted.as_str()) {
                format!(
                    "built without actor_peers, so without {wanted}; use: cargo run --release \
                     -p horus_benchmarks --bin {} --features actor_peers",
                    program_name()
                )
            } else {
                let peers = PEER_RUNTIME_NAMES.join(", ");
                format!("no runtime is called '{wanted}'; there are {OUR_RUNTIME_NAME}, {peers}")
            }
        })
    };
    wanted.iter().map(find).collect()
}

/// Returns true if ours is the first of `runtimes`, and all peers are among them. WHY all: the best
/// of some peers is not the best peer.
pub fn has_all_peers(runtimes: &[&str]) -> bool {
    runtimes.first() == Some(&OUR_RUNTIME_NAME)
        && PEER_RUNTIME_NAMES
            .iter()
            .all(|peer| runtimes.contains(peer))
}

fn run(session: &mut BenchmarkSession, workloads: &[Workload]) -> Outcome {
    let runtimes = wanted_runtimes(&session.args)?;
    if !has_all_peers(&runtimes) {
        let warning = "not all runtimes took part: nothing is compared with the best peer";
        session.report.machine.warnings.push(warning.to_owned());
    }
    session.add_progress_steps(2 * workloads.len());
    for &workload in workloads {
        for is_single_threaded in [true, false] {
            measure_workload(session, &runtimes, workload, is_single_threaded)?;
        }
    }
    Ok(())
}

/// Measures a workload on all runtimes. If `is_single_threaded` is true, each runtime uses one
/// thread; otherwise it uses several.
fn measure_workload(
    session: &mut BenchmarkSession,
    runtimes: &[&str],
    workload: Workload,
    is_single_threaded: bool,
) -> Outcome {
    let (what, operations, method) = workload.name_operations_and_method();
    let id = format!("{what}/{}", if is_single_threaded { "st" } else { "mt" });
    if !session.begin_row_if_selected(&id) || !workload.has_row(is_single_threaded) {
        return Ok(());
    }
    let (operations, operations_growth_max) = match session.args.samples {
        Some(asked) => (asked, 1),
        None => {
            let divisor = session.args.quick_or_full(OPERATIONS_DIVISOR);
            (operations / divisor, workload.operations_growth_max())
        }
    };
    let mut cpus = match session.args.cpus {
        Some((near, far)) => vec![near, far],
        None => session.report.machine.allowed_cpus.clone(),
    };
    if is_single_threaded {
        cpus.drain(..cpus.len() - 1);
    }
    // WHY minus 1: the sender has a CPU of its own, as by default in our runtime.
    let threads = match (is_single_threaded, workload.is_sent_from_outside_thread()) {
        (true, _) => 0,
        (false, true) => cpus.len().saturating_sub(1).max(1),
        (false, false) => cpus.len(),
    };
    let runtimes = match workload {
        // Only ours sends several messages at once.
        Workload::Counting(2..) | Workload::ProducerConsumer(2..) => &runtimes[..1],
        _ => runtimes,
    };
    let mut all: Vec<Vec<WorkloadResult>> = runtimes.iter().map(|_| Vec::new()).collect();
    for round in 0..session.effort.rounds {
        for index in alternating_order(round, runtimes.len()) {
            let job = WorkloadJob {
                runtime: runtimes[index].to_owned(),
                workload,
                operations,
                operations_max: operations * operations_growth_max,
                cpus: cpus.clone(),
                threads,
            };
            let measured = run_round(session, &job);
            all[index].push(measured.map_err(|error| format!("{id} on {}: {error}", job.runtime))?);
        }
    }
    for (runtime, rounds) in runtimes.iter().zip(&all) {
        let row = workload_row(&format!("{id}/{runtime}"), workload, rounds);
        let is_waited_for = id == ASK_IN_SAME_THREAD_ROW_ID && *runtime == OUR_RUNTIME_NAME;
        let method = if is_waited_for {
            ASK_IN_SAME_THREAD_METHOD
        } else {
            method
        };
        session.add_row(row.with_busy_threads(cpus.len()), method);
    }
    if has_all_peers(runtimes) {
        compare_with_peers(session, &id, workload, &runtimes[1..], &all);
    }
    Ok(())
}

/// Runs one round in a new child process, and returns the measurements of that process.
fn run_round(session: &BenchmarkSession, job: &WorkloadJob) -> Outcome<WorkloadResult> {
    let mut child = ChildProcess::spawn(&ChildSpec {
        role: CHILD_ROLE,
        env: &session.private.environment(),
        ..ChildSpec::default()
    })?;
    child.send_line(&serde_json::to_string(job)?)?;
    Ok(serde_json::from_str(
        &child.receive_line(ROUND_DURATION_MAX)?,
    )?)
}

/// Adds rows to the report that compare our runtime with the best of the other runtimes.
/// `results_by_runtime` has the rounds of our runtime, and then those of each of `peers`.
fn compare_with_peers(
    session: &mut BenchmarkSession,
    id: &str,
    workload: Workload,
    peers: &[&str],
    results_by_runtime: &[Vec<WorkloadResult>],
) {
    use LatencyOrThroughput::{Latency, Throughput};

    let best_peer = |measure: LatencyOrThroughput, figure: ResultValueFn| {
        let of_rounds = |rounds: &Vec<_>| rounds.iter().map(figure).collect();
        let figures: Vec<Vec<f64>> = results_by_runtime.iter().map(of_rounds).collect();
        let badness = |peer: &usize| measure.badness(stats::median(&mut figures[1 + peer].clone()));
        let best = (0..peers.len()).min_by(|a, b| badness(a).total_cmp(&badness(b)));
        (best.unwrap_or_default(), figures)
    };
    let report = &mut session.report;
    let (best, peaks) = best_peer(Latency, |measured| measured.peak_bytes as f64);
    if let Some(ratio) = stats::median_ratio(&peaks[1 + best], &peaks[0]) {
        let note = json!({ goals::BEST_PEER_MEMORY_KEY: ratio.to_json() });
        report.set_row_setting(goals::RATIOS_KEY, &format!("{id}/{OUR_RUNTIME_NAME}"), note);
    }
    let figures: &[(&str, LatencyOrThroughput, ResultValueFn)] = match workload {
        Workload::Blitz => &[
            ("/throughput", Throughput, handled_per_s),
            ("/all", Latency, |measured| measured.total_ns),
        ],
        _ => &[("", Latency, ns_per_operation)],
    };
    for &(end, measure, figure) in figures {
        let (best, figures) = best_peer(measure, figure);
        let row_id = format!("vs_best_peer/{id}{end}");
        let pair = [&figures[0][..], &figures[1 + best]];
        if let Some(row) = versus::comparison_row(&row_id, measure, pair) {
            let name = peers[best];
            let method = if id == ASK_IN_SAME_THREAD_ROW_ID {
                format!("{name} (by a task; ours by `wait`: not the same work)")
            } else {
                name.to_owned()
            };
            let sent =
                [0, 1 + best].map(|index| sent_messages(workload, &results_by_runtime[index]));
            let sent = sent.iter().sum();
            report.add_row(row.with_counts(sent, sent), &method);
        }
    }
}

/// Returns the number of messages that the measured passes of `rounds` have handled.
fn sent_messages(workload: Workload, rounds: &[WorkloadResult]) -> u64 {
    let operations = rounds.iter().map(|round| round.operations);
    workload.handled_messages(operations.sum())
}

fn ns_per_operation(measured: &WorkloadResult) -> f64 {
    let calls_ps = measured.calls_ps.iter().sum::<u64>() as f64;
    let elapsed_ns = if measured.calls_ps.is_empty() {
        measured.elapsed_ns
    } else {
        calls_ps / 1e3
    };
    elapsed_ns / measured.operations as f64
}

fn handled_per_s(measured: &WorkloadResult) -> f64 {
    Workload::Blitz.handled_messages(measured.operations) as f64 / measured.messages_ns * 1e9
}

/// Creates the row of a workload on one runtime. A sample is the time of one operation. If
/// operations were timed one by one, each is a sample. Otherwise, the mean time of each round is a
/// sample.
fn workload_row(id: &str, workload: Workload, rounds: &[WorkloadResult]) -> Row {
    let mut samples = Samples::new();
    for measured in rounds {
        let mut round = Samples::new();
        match workload {
            Workload::AskOutside(_) => measured.calls_ps.iter().for_each(|&ps| round.record(ps)),
            Workload::Blitz => round.record((measured.total_ns * 1e3) as u64),
            _ => round.record((ns_per_operation(measured) * 1e3) as u64),
        }
        samples.merge(&round);
    }
    let median = |is_wanted: bool, figure: ResultValueFn| {
        let figures = rounds.iter().map(figure);
        is_wanted.then(|| stats::median(&mut figures.collect::<Vec<_>>()))
    };
    let additional = AdditionalValues {
        bytes_each: median(workload == Workload::Create, |measured| {
            measured.grown_bytes as f64 / measured.operations as f64
        }),
        cpu_percent: median(true, |measured| measured.cpu_percent),
        first_ns: median(!matches!(workload, Workload::AskOutside(_)), |measured| {
            measured.first_ns
        }),
        peak_mib: median(true, |measured| {
            measured.peak_bytes as f64 / f64::from(1 << 20)
        }),
        ..AdditionalValues::default()
    };
    let sent = sent_messages(workload, rounds);
    let row = Row::from_samples(id, &samples, 1e-3).with_counts(sent, sent);
    let row = Row { additional, ..row };
    match workload {
        Workload::Blitz => row.with_rates(&rounds.iter().map(handled_per_s).collect::<Vec<_>>()),
        _ => row,
    }
}
