//! Measures how fast two actors send a token back and forth.

use horus_benchmarks::scenario::actors::{self, Workload};

fn main() -> std::process::ExitCode {
    let about = "Sends a token to and fro between two actors.";
    actors::main(about, &[Workload::PingPong])
}
