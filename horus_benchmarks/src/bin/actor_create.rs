//! Measures the time to create an actor, and the memory that an idle actor takes.

use horus_benchmarks::scenario::actors::{self, Workload};

const ABOUT: &str = "Creates actors: how long each takes, and its memory while it is idle.";

fn main() -> std::process::ExitCode {
    actors::main("actor_create", ABOUT, &[Workload::Create])
}
