//! Measures how fast 503 tokens go around a ring of 503 actors at the same time.

use horus_benchmarks::scenario::actors::{self, Workload};

fn main() -> std::process::ExitCode {
    let about = "Sends 503 tokens around a ring of 503 actors.";
    actors::main(about, &[Workload::ParallelThreadRing])
}
