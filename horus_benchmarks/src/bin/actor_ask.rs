//! Measures how long an actor takes to answer one question after another. The questions come first
//! from a task of the runtime, then from a thread that runs no actors.

use horus_benchmarks::scenario::actors::{self, Workload};

const ABOUT: &str =
    "Asks an actor, one question after another, from a task and from a thread outside.";

fn main() -> std::process::ExitCode {
    let workloads = &[Workload::Ask, Workload::AskTask, Workload::AskOutside];
    actors::main("actor_ask", ABOUT, workloads)
}
