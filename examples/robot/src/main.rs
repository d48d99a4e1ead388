//! The programs of a demo robot: an IMU, a laser scanner, a controller, a monitor, and a program
//! that causes a fault.
//!
//! ```text
//! imu    1 kHz ──┐
//!                ├─► controller ──► cmd_vel  500 Hz          monitor: hears all three
//! scan   40 Hz ──┘
//! ```
//!
//! `horus launch examples/robot/robot.json5` starts all of them. Half-way through the demo, the
//! fault program kills the IMU, and `horus launch` starts the IMU again. At the end, the
//! subscribers compare the number of messages sent with the number received. Start reading at
//! [`imu`], the simplest program; then read [`controller`] and [`monitor`].

#[cfg(test)]
use horus_testing as _;

mod check;
mod clock;
mod controller;
mod fault;
mod imu;
mod laser;
mod ledger;
mod measured_subscriber;
mod monitor;
mod node_process;
mod options;
mod report;

use std::process::ExitCode;

use options::{Command, Options};

/// A result with an error of any type. The program prints the error as a sentence.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Exit status of the program for an invalid command line.
const USAGE_ERROR_EXIT_CODE: u8 = 2;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("robot: {error}\n\n{}", options::USAGE);
            return ExitCode::from(USAGE_ERROR_EXIT_CODE);
        }
    };
    let outcome = match options.command {
        Command::Help => {
            println!("{}", options::USAGE);
            Ok(ExitCode::SUCCESS)
        }
        Command::Node(role) => role.run(&options).map(|()| ExitCode::SUCCESS),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("robot {}: {error}", options.command);
        ExitCode::FAILURE
    })
}
