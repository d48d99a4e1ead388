//! Measures how fast one token goes around a ring of 503 actors.

use horus_benchmarks::scenario::actors::{self, Workload};

const ABOUT: &str = "Sends a token around a ring of 503 actors.";

fn main() -> std::process::ExitCode {
    actors::main("thread_ring", ABOUT, &[Workload::ThreadRing])
}
