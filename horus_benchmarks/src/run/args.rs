//! The command-line arguments that all benchmark binaries share.

use std::path::PathBuf;
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches, Parser, value_parser};

/// Minimum number of rounds for a verdict. With fewer rounds, a ratio is not reliable enough.
pub const VERDICT_ROUNDS_MIN: u32 = 20;

/// The command line of a benchmark.
#[derive(Debug, Clone, Default, PartialEq, Eq, Parser)]
pub struct Args {
    /// Fewer and shorter rounds: less than a minute on two cores.
    #[arg(long)]
    pub quick: bool,
    /// Also write the results to this file.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Number of alternating rounds of floor and subject (at least 20 for a verdict).
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,
    /// Number of timed messages per round.
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub samples: Option<u64>,
    /// CPUs of the two ends (default: on two cores, if there are two).
    #[arg(long, value_name = "A,B", value_parser = parse_cpu_pair)]
    pub cpus: Option<(usize, usize)>,
    /// Measure only rows whose id contains this text.
    #[arg(long, value_name = "SUBSTR")]
    pub filter: Option<String>,
    /// Seconds for each transport, in benchmarks that run for a fixed time.
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    pub duration: Option<Duration>,
    /// Actor runtimes, in benchmarks of actors (default: all that are built in).
    #[arg(long = "runtime", value_name = "A,B", value_delimiter = ',')]
    pub runtimes: Option<Vec<String>>,
}

/// A setting with two values: a smaller one for short runs (`--quick`), then one for all other
/// runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuickOrFull<T>(pub T, pub T);

impl Args {
    /// Parses the command line of this process. Prints and exits for `--help` (status 0) and for
    /// errors (status 2).
    pub fn from_env(about: &str) -> Args {
        let matches = Args::command().about(about.to_owned()).get_matches();
        Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// Returns the value of a setting in this run.
    pub fn quick_or_full<T>(&self, QuickOrFull(quick, full): QuickOrFull<T>) -> T {
        if self.quick { quick } else { full }
    }

    /// Returns true if the command line selects the row `id`.
    pub fn wants_row(&self, id: &str) -> bool {
        self.filter.as_deref().is_none_or(|part| id.contains(part))
    }
}

/// The effort of a run: the number of rounds, and the numbers of messages in each round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasurementEffort {
    /// Number of rounds.
    pub rounds: u32,
    /// Number of messages in each round that are verified but not timed.
    pub warm_up: u64,
    /// Number of messages in each round that are timed.
    pub samples: u64,
}

impl MeasurementEffort {
    /// Returns the effort that the command line requests. `rounds_and_samples` has the default
    /// numbers of rounds and of timed messages in each round. In addition to the timed messages,
    /// each round has warm-up messages: a tenth of that number.
    pub fn new(args: &Args, rounds_and_samples: QuickOrFull<(u32, u64)>) -> MeasurementEffort {
        let (rounds, samples) = args.quick_or_full(rounds_and_samples);
        let samples = args.samples.unwrap_or(samples);
        let rounds = args.rounds.unwrap_or(rounds);
        MeasurementEffort {
            rounds,
            warm_up: samples.div_ceil(10),
            samples,
        }
    }
}

fn parse_seconds(found: &str) -> Result<Duration, String> {
    let parsed = found.parse().ok().filter(|&seconds: &f64| seconds > 0.0);
    let parsed = parsed.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    parsed.ok_or_else(|| "wants a number of seconds above 0".to_owned())
}

fn parse_cpu_pair(found: &str) -> Result<(usize, usize), String> {
    let parsed = found
        .split_once(',')
        .and_then(|(near, far)| Some((near.trim().parse().ok()?, far.trim().parse().ok()?)));
    parsed.ok_or_else(|| "wants two numbers 'A,B'".to_owned())
}
