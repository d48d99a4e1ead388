//! Measures a whole life of many actors: creates them, sends ten messages to each, and ends them.

use horus_benchmarks::scenario::actors::{self, Workload};

const ABOUT: &str = "Creates many actors, sends each ten messages, and ends all.";

fn main() -> std::process::ExitCode {
    actors::main("blitz", ABOUT, &[Workload::Blitz])
}
