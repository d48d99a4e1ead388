//! The programs of a robot: an IMU, a laser scanner, a controller, a monitor, and a fault.
//!
//! ```text
//! imu    1 kHz ──┐
//!                ├─► controller ──► cmd_vel  500 Hz          monitor: hears all three
//! scan   40 Hz ──┘
//! ```
//!
//! `horus launch examples/robot/robot.json5` starts all of them. The fault kills the IMU half-way,
//! which is started again. At the end, the subscribers compare the messages sent with those
//! received. Start reading at [`imu`], the simplest program; then [`controller`] and [`monitor`].

#[cfg(test)]
use horus_testing as _;

mod check;
mod clock;
mod controller;
mod fault;
mod imu;
mod laser;
mod ledger;
mod monitor;
mod options;
mod report;
mod turns;
mod watch;

use std::process::ExitCode;

use options::{Command, Options};

/// A result with an error of any type, which is printed as a sentence.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Exit status for an invalid command line.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("robot: {error}\n\n{}", options::USAGE);
            return ExitCode::from(EXIT_USAGE);
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
