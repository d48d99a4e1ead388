//! Measures how fast an actor counts messages that it receives, first one message at a time and
//! then 64 at once. At the end, asks the actor for its count.

use horus_benchmarks::scenario::actors::{self, Workload};

fn main() -> std::process::ExitCode {
    let about = "Sends messages to an actor, one by one and 64 at once, and asks for their number.";
    actors::main(about, &[Workload::Counting(1), Workload::Counting(64)])
}
