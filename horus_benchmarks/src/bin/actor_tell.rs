//! Measures how fast one actor receives messages.

use horus_benchmarks::scenario::actors::{self, Workload};

const ABOUT: &str = "Sends messages to an actor.";

fn main() -> std::process::ExitCode {
    actors::main("actor_tell", ABOUT, &[Workload::Tell])
}
