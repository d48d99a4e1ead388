//! The command line that all benchmark binaries share.

use std::path::PathBuf;
use std::process;
use std::time::Duration;

/// Number of rounds below which a ratio is not reliable enough for a verdict.
pub const VERDICT_ROUNDS: u32 = 20;

const EXIT_USAGE: i32 = 2;

const OPTIONS: &str = "\
Options:
  --quick           fewer and shorter rounds: less than a minute on two cores
  --json FILE       also write the results to FILE
  --rounds N        alternating rounds of floor and subject (at least 20 for a verdict)
  --samples N       timed messages per round
  --cpus A,B        CPUs of the two ends (default: two cores, else what there is)
  --filter SUBSTR   only rows whose id contains SUBSTR
  --duration S      seconds that each transport is measured, where a benchmark goes by time
  --runtime A,B     runtimes of actors, where a benchmark compares them (default: all built in)
  --help            this text";

/// The command line of a benchmark.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Args {
    pub quick: bool,
    pub json: Option<PathBuf>,
    /// Number of rounds, if not the default.
    pub rounds: Option<u32>,
    /// Number of timed messages per round, if not the default.
    pub samples: Option<u64>,
    pub cpus: Option<(usize, usize)>,
    /// Text that an id must contain for its row to be measured.
    pub filter: Option<String>,
    /// The duration for each transport, if not the default.
    pub duration: Option<Duration>,
    /// The names of the runtimes of actors to measure, if not all.
    pub runtimes: Option<Vec<String>>,
}

/// An error in a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ArgsError {
    #[error("unknown argument '{0}'")]
    Unknown(String),
    #[error("{0} needs a value")]
    MissingValue(&'static str),
    #[error("{option} wants {wanted}, not '{found}'")]
    BadValue {
        option: &'static str,
        wanted: &'static str,
        found: String,
    },
}

impl Args {
    /// Parses the command line of this process. Prints and exits for `--help` (status 0) and for
    /// errors (status 2).
    pub fn from_env(name: &str, about: &str) -> Args {
        let usage = || format!("{about}\n\nUsage: {name} [OPTIONS]\n\n{OPTIONS}");
        match Args::parse(std::env::args().skip(1)) {
            Ok(Some(args)) => args,
            Ok(None) => {
                println!("{}", usage());
                process::exit(0);
            }
            Err(error) => {
                eprintln!("{name}: {error}\n\n{}", usage());
                process::exit(EXIT_USAGE);
            }
        }
    }

    /// Parses arguments, without the program's name. `None` if help is asked for.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Option<Args>, ArgsError> {
        let mut args = Args::default();
        let mut rest = arguments.into_iter();
        while let Some(argument) = rest.next() {
            let mut value = |option| rest.next().ok_or(ArgsError::MissingValue(option));
            match argument.as_str() {
                "--help" | "-h" => return Ok(None),
                "--quick" => args.quick = true,
                "--json" => args.json = Some(value("--json")?.into()),
                "--rounds" => args.rounds = Some(positive("--rounds", value("--rounds")?)?),
                "--samples" => args.samples = Some(positive("--samples", value("--samples")?)?),
                "--cpus" => args.cpus = Some(cpu_pair(value("--cpus")?)?),
                "--duration" => args.duration = Some(seconds(value("--duration")?)?),
                "--runtime" => {
                    let names = value("--runtime")?;
                    args.runtimes = Some(names.split(',').map(str::to_owned).collect());
                }
                "--filter" => args.filter = Some(value("--filter")?),
                _ => return Err(ArgsError::Unknown(argument)),
            }
        }
        Ok(Some(args))
    }

    /// Sets the number of rounds and of samples in each, unless the command line gives them: to
    /// those of `quick` with `--quick`, otherwise to those of `full`. Returns the number of rounds.
    pub fn default_to(&mut self, quick: (u32, u64), full: (u32, u64)) -> u32 {
        let (rounds, samples) = self.pick((quick, full));
        self.samples.get_or_insert(samples);
        *self.rounds.get_or_insert(rounds)
    }

    /// Returns the first of two values with `--quick`, otherwise the second one.
    pub fn pick<T>(&self, (quick, full): (T, T)) -> T {
        if self.quick { quick } else { full }
    }

    /// Returns true if the row `id` is to be measured.
    pub fn wants(&self, id: &str) -> bool {
        self.filter.as_deref().is_none_or(|part| id.contains(part))
    }
}

/// The numbers of rounds and of messages in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Number of rounds, which alternate between the floor and the subject.
    pub rounds: u32,
    /// Number of messages per round that are verified but not timed.
    pub warm_up: u64,
    /// Number of messages per round that are timed.
    pub samples: u64,
}

impl Effort {
    /// Returns the effort that the command line asks for. Default: 60 rounds of 50 000 timed
    /// messages, with `--quick` 20 rounds of 20 000. Each round also has a tenth of that number of
    /// warm-up messages.
    pub fn new(args: &Args) -> Effort {
        let (rounds, samples) = args.pick(((VERDICT_ROUNDS, 20_000), (60, 50_000)));
        let samples = args.samples.unwrap_or(samples);
        let rounds = args.rounds.unwrap_or(rounds);
        Effort {
            rounds,
            warm_up: samples.div_ceil(10),
            samples,
        }
    }
}

fn positive<N: TryFrom<u64>>(option: &'static str, found: String) -> Result<N, ArgsError> {
    let number = found.parse().ok().filter(|&number: &u64| number > 0);
    number
        .and_then(|number| N::try_from(number).ok())
        .ok_or(ArgsError::BadValue {
            option,
            wanted: "a positive number",
            found,
        })
}

fn seconds(found: String) -> Result<Duration, ArgsError> {
    let parsed = found.parse().ok().filter(|&seconds: &f64| seconds > 0.0);
    let parsed = parsed.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let wanted = "a number of seconds above 0";
    parsed.ok_or(ArgsError::BadValue {
        option: "--duration",
        wanted,
        found,
    })
}

fn cpu_pair(found: String) -> Result<(usize, usize), ArgsError> {
    let parsed = found
        .split_once(',')
        .and_then(|(near, far)| Some((near.trim().parse().ok()?, far.trim().parse().ok()?)));
    parsed.ok_or(ArgsError::BadValue {
        option: "--cpus",
        wanted: "two numbers 'A,B'",
        found,
    })
}
