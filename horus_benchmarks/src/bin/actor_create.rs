//! Creates actors, and measures the time and the memory for each idle actor.

use horus_benchmarks::scenario::actors::{self, Workload};

const ABOUT: &str = "Creates actors: how long each takes, and its memory while it is idle.";

fn main() -> std::process::ExitCode {
    actors::main("actor_create", ABOUT, &[Workload::Create])
}
