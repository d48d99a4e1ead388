//! Measures a whole life of many actors: creates them, sends ten messages to each, and ends them.

use horus_benchmarks::scenario::actors::{self, Workload};

fn main() -> std::process::ExitCode {
    let about = "Creates many actors, sends each ten messages, and ends all.";
    actors::main(about, &[Workload::Blitz])
}
