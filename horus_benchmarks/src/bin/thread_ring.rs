//! Measures how fast one token goes around a ring of 503 actors.

use horus_benchmarks::scenario::actors::{self, Workload};

fn main() -> std::process::ExitCode {
    let about = "Sends a token around a ring of 503 actors.";
    actors::main(about, &[Workload::ThreadRing])
}
