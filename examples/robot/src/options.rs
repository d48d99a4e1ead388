//! The command line of the demo: the role of this process, and the settings of the role.

use std::fmt;
use std::time::Duration;

use crate::{Result, controller, fault, imu, laser, monitor};

pub(crate) const USAGE: &str = "\
One program of a robot over shared memory. `horus launch examples/robot/robot.json5` starts all.

Usage: robot imu|laser|controller|monitor|fault [--seconds N] [--spin]

Options:
  --seconds N   fault: the IMU is killed after half of them, and the demo ends after all (default
                6, at least 1)
  --spin        monitor: it never sleeps, so its latencies are those of the transport, if it has a
                core to itself
  --help        this text

Each runs until SIGINT or SIGTERM.";

/// Allowed range of the demo's duration, in seconds. A shorter demo would end before the nodes have
/// started.
const DURATION_RANGE_SECONDS: std::ops::RangeInclusive<f64> = 1.0..=86_400.0;

/// The program of the demo that a process runs, for example the IMU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DemoProgram {
    Imu,
    Laser,
    Controller,
    Monitor,
    Fault,
}

impl DemoProgram {
    /// Returns the name by which the command line selects the role.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Imu => "imu",
            Self::Laser => "laser",
            Self::Controller => "controller",
            Self::Monitor => "monitor",
            Self::Fault => "fault",
        }
    }

    pub(crate) fn run(self, options: &Options) -> Result<()> {
        match self {
            Self::Imu => imu::run(),
            Self::Laser => laser::run(),
            Self::Controller => controller::run(),
            Self::Monitor => monitor::run(options.spin),
            Self::Fault => fault::kill_imu_at_half_time(options.duration),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    Node(DemoProgram),
    Help,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Node(role) => role.name(),
            Self::Help => "help",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) command: Command,
    pub(crate) duration: Duration,
    pub(crate) spin: bool,
}

impl Options {
    /// Parses the command-line arguments, which do not include the program's name.
    ///
    /// # Errors
    ///
    /// A sentence that names the first invalid argument.
    pub(crate) fn parse(
        arguments: impl IntoIterator<Item = String>,
    ) -> std::result::Result<Self, String> {
        let mut rest = arguments.into_iter().peekable();
        let command = match rest
            .next_if(|argument| !argument.starts_with('-'))
            .as_deref()
        {
            Some("imu") => Command::Node(DemoProgram::Imu),
            Some("laser") => Command::Node(DemoProgram::Laser),
            Some("controller") => Command::Node(DemoProgram::Controller),
            Some("monitor") => Command::Node(DemoProgram::Monitor),
            Some("fault") => Command::Node(DemoProgram::Fault),
            Some(other) => return Err(format!("unknown role '{other}'")),
            None if rest
                .peek()
                .is_some_and(|word| word == "--help" || word == "-h") =>
            {
                Command::Help
            }
            None => return Err("no role is given".to_owned()),
        };
        let duration = Duration::from_secs(6);
        let mut options = Self {
            command,
            duration,
            spin: false,
        };
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--help" | "-h" => options.command = Command::Help,
                "--spin" => options.spin = true,
                "--seconds" => options.duration = parse_duration(rest.next())?,
                other => return Err(format!("unknown argument '{other}'")),
            }
        }
        Ok(options)
    }
}

fn parse_duration(value: Option<String>) -> std::result::Result<Duration, String> {
    let value = value.ok_or("--seconds needs a number")?;
    let seconds = value
        .parse()
        .ok()
        .filter(|seconds| DURATION_RANGE_SECONDS.contains(seconds));
    let seconds = seconds.ok_or_else(|| {
        let min = DURATION_RANGE_SECONDS.start();
        let max = DURATION_RANGE_SECONDS.end();
        format!("--seconds is '{value}': wanted a number from {min} to {max}")
    })?;
    Ok(Duration::from_secs_f64(seconds))
}
