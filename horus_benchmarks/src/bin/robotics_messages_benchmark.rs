//! Measures standard messages of robots on a topic, between threads and between processes:
//! `CmdVel`, `Imu`, `JointCommand` and `LaserScan`. Also shows whether these messages are fast
//! enough for the control loops of robots.

use std::process::ExitCode;

use horus_benchmarks::run::args::Args;
use horus_benchmarks::run::floor::Placement;
use horus_benchmarks::scenario::entry::{self, Outcome};
use horus_benchmarks::scenario::robot::{ROBOT_CARRIER, add_headroom, real_time_table};
use horus_benchmarks::scenario::survey::Survey;
use horus_benchmarks::transport::carrier::{MessageSize, Transport};

const ABOUT: &str = "Measures the common messages of robots over a topic, between two threads and \
between two processes: latency, cost of a send, throughput and headroom, and the share of the \
period of common control loops that they take.";

fn main() -> ExitCode {
    entry::main("robotics_messages_benchmark", ABOUT, &[], run)
}

fn run(args: Args) -> Outcome {
    let paths = Transport::combinations(&[ROBOT_CARRIER], &MessageSize::ROBOT_MESSAGES);
    let places = [Placement::CrossThread, Placement::CrossProcess];
    let mut survey = Survey::begin(args, places.len() * 2 * paths.len())?;
    let mut tables = Vec::new();
    for place in places {
        survey.measure_two_ends(place, &paths, &paths)?;
        add_headroom(survey.report(), place.id());
        tables.extend(real_time_table(survey.report(), place.id()));
    }
    survey.finish()?;
    for table in tables {
        println!("\n{table}");
    }
    Ok(())
}
