//! A robot in five processes: an IMU, a laser scanner, a controller, a monitor, and the launcher.
//!
//! ```text
//! imu    1 kHz ──┐
//!                ├─► controller ──► cmd_vel  500 Hz          monitor: hears all three
//! scan   40 Hz ──┘
//! ```
//!
//! `robot` alone starts the other four, kills the IMU half-way, starts a new one, and at the end
//! compares the messages sent with those received. Start reading at [`imu`], the simplest node;
//! then [`controller`], [`monitor`] and [`launcher`].

#[cfg(test)]
use horus_testing as _;

mod check;
mod child;
mod clock;
mod controller;
mod imu;
mod laser;
mod launcher;
mod leash;
mod ledger;
mod monitor;
mod options;
mod private;
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
        Command::Launch => launcher::run(&options),
        Command::Node(role) => role.run(&options).map(|()| ExitCode::SUCCESS),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("robot {}: {error}", options.command);
        ExitCode::FAILURE
    })
}
