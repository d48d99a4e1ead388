//! Measures how fast 503 tokens go around a ring of 503 actors at the same time.

use horus_benchmarks::scenario::actors::{self, Workload};

const ABOUT: &str = "Sends 503 tokens around a ring of 503 actors.";

fn main() -> std::process::ExitCode {
    actors::main(
        "parallel_thread_ring",
        ABOUT,
        &[Workload::ParallelThreadRing],
    )
}
