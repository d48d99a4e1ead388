//! Measures how fast one actor receives messages.

use horus_benchmarks::scenario::actors::{self, Workload};

fn main() -> std::process::ExitCode {
    actors::main("Sends messages to an actor.", &[Workload::Tell])
}
