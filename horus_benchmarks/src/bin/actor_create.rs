//! Measures the time to create an actor, and the memory that an idle actor takes.

use horus_benchmarks::scenario::actors::{self, Workload};

fn main() -> std::process::ExitCode {
    let about = "Creates actors: how long each takes, and its memory while it is idle.";
    actors::main(about, &[Workload::Create])
}
