//! Measures how fast an actor counts messages that it receives, first one message at a time and
//! then 64 at once. At the end, asks the actor for its count.

use horus_benchmarks::scenario::actors::{self, Workload};

const ABOUT: &str =
    "Sends messages to an actor, one by one and 64 at once, and asks for their number.";

fn main() -> std::process::ExitCode {
    actors::main(
        "counting_actor",
        ABOUT,
        &[Workload::Counting(1), Workload::Counting(64)],
    )
}
