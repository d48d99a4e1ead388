//! Two processes that each publish and subscribe on one ring or topic: two publishers, two
//! subscribers, everybody gets everything.

use std::process::ExitCode;

use horus_benchmarks::args::Args;
use horus_benchmarks::entry::{self, Outcome};
use horus_benchmarks::floor::Placement;
use horus_benchmarks::path::{Path, Ring, Size};
use horus_benchmarks::survey::Survey;

const NAME: &str = "fanout_shm_bench";

const ABOUT: &str = "Two pinned processes that each publish and subscribe on one ring, or on one \
topic: half a round trip, cost of send, and the messages that reach both subscribers when both \
publish as fast as they can.";

const RINGS: [Ring; 2] = [Ring::FanoutShmDuplex, Ring::TopicDuplex];

fn main() -> ExitCode {
    entry::main(NAME, ABOUT, run)
}

fn run(args: Args) -> Outcome {
    let paths = Path::over(&RINGS, &Size::ALL);
    let mut survey = Survey::begin(args, 2 * paths.len())?;
    survey.two_ends(Placement::CrossProcess, &paths, &paths)?;
    survey.finish()
}
