//! Measures how fast two actors send messages to a third one: first one message at a time, then 64
//! at once.

use horus_benchmarks::scenario::actors::{self, Workload};

fn main() -> std::process::ExitCode {
    let about = "Sends messages from two actors to one, one by one and 64 at once.";
    actors::main(
        about,
        &[
            Workload::ProducerConsumer(1),
            Workload::ProducerConsumer(64),
        ],
    )
}
