//! Measures how fast two actors send messages to a third one: first one message at a time, then 64
//! at once.

use horus_benchmarks::scenario::actors::{self, Workload};

const ABOUT: &str = "Sends messages from two actors to one, one by one and 64 at once.";

fn main() -> std::process::ExitCode {
    actors::main(
        "producer_consumer",
        ABOUT,
        &[
            Workload::ProducerConsumer(1),
            Workload::ProducerConsumer(64),
        ],
    )
}
