//! Measures how fast two actors send a token back and forth.

use horus_benchmarks::scenario::actors::{self, Workload};

const ABOUT: &str = "Sends a token to and fro between two actors.";

fn main() -> std::process::ExitCode {
    actors::main("ping_pong", ABOUT, &[Workload::PingPong])
}
