//! Measures how long an actor takes to answer one question after another. The questions come first
//! from a task of the runtime, then from a thread that runs no actors.

use horus_benchmarks::scenario::actors::{self, Workload};

fn main() -> std::process::ExitCode {
    let about = "Asks an actor, one question after another, from a task and from a thread outside.";
    actors::main(
        about,
        &[
            Workload::Ask,
            Workload::AskTask,
            Workload::AskOutside(0),
            Workload::AskOutside(200),
        ],
    )
}
