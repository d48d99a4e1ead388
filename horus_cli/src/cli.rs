//! The command-line arguments of `horus`: the global options and the commands.

use std::ffi::OsString;
use std::num::{IntErrorKind, ParseIntError};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Arg, Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

use crate::context::Context;
use crate::failure::Failure;
use crate::{
    blackbox, clean, completion, doctor, estop, external, graph, launch, log, man, monitor, msg,
    namespace, node, scheduler, top, topic,
};

/// Maximum number of seconds in an option, which is more than 30 years. WHY a limit: adding a
/// longer duration to the current time may overflow.
const SECONDS_MAX: f64 = 1e9;

/// Minimum rate in an option, in hertz. Its period is [`SECONDS_MAX`].
const HERTZ_MIN: f64 = 1e-9;

/// Shows the topics, nodes and schedulers of a robot, and acts on them.
#[derive(Debug, Parser)]
#[command(name = "horus", version, max_term_width = 80, propagate_version = true)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalOptions,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The options that every command accepts.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalOptions {
    /// Namespace to look at [default: $HORUS_NAMESPACE, or default]
    // WHY not -n: that is the number of messages, as in other tools.
    #[arg(short = 'N', long, global = true, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Directory of the namespaces [default: $HORUS_SHM_DIR, or one per user]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) shm_dir: Option<PathBuf>,
    /// Print JSON: one object, or one on each line of a stream
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Colour: auto, always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) color: ColorChoice,
    /// Print errors only on stderr
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Print on stderr which files and settings are used
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// End after this many seconds: with exit code 124 if not all is done by then
    #[arg(long, global = true, value_name = "S", value_parser = parse_seconds)]
    pub(crate) timeout: Option<Duration>,
}

/// The times at which text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands of `horus`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List, measure, print, feed and remove topics
    #[command(subcommand)]
    Topic(topic::Command),
    /// List, pause, resume and stop nodes, and change their rates
    #[command(subcommand)]
    Node(node::Command),
    /// List and stop schedulers, and forget those that have ended
    #[command(subcommand)]
    Scheduler(scheduler::Command),
    Blackbox(blackbox::Arguments),
    Log(log::Arguments),
    /// Engage, release or show the emergency stop
    #[command(subcommand)]
    Estop(estop::Command),
    Graph(graph::Arguments),
    Top(top::Arguments),
    Monitor(monitor::Arguments),
    Launch(launch::Arguments),
    /// List, show and compare message types
    #[command(subcommand)]
    Msg(msg::Command),
    /// List and remove namespaces
    #[command(subcommand)]
    Namespace(namespace::Command),
    Clean(clean::Arguments),
    Doctor(doctor::Arguments),
    Completion(completion::Arguments),
    Man(man::Arguments),
    #[command(name = "__complete", hide = true)]
    Complete(completion::NamesArguments),
    #[command(name = launch::guard::GUARD_COMMAND, hide = true)]
    Guard,
    #[command(name = launch::drain::DRAIN_COMMAND, hide = true)]
    Drain,
    /// Any other word: the program `horus-WORD`
    #[command(external_subcommand)]
    External(Vec<OsString>),
}

impl Command {
    /// Executes the command.
    pub(crate) fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self {
            Self::Topic(command) => command.run(context),
            Self::Node(command) => command.run(context),
            Self::Scheduler(command) => command.run(context),
            Self::Blackbox(arguments) => blackbox::run(&arguments, context),
            Self::Log(arguments) => log::run(&arguments, context),
            Self::Estop(command) => command.run(context),
            Self::Graph(arguments) => graph::run(&arguments, context),
            Self::Top(arguments) => top::run(&arguments, context),
            Self::Monitor(arguments) => monitor::run(&arguments, context),
            Self::Launch(arguments) => launch::run(&arguments, context),
            Self::Msg(command) => command.run(context),
            Self::Namespace(command) => command.run(context),
            Self::Clean(arguments) => clean::run(&arguments, context),
            Self::Doctor(arguments) => doctor::run(&arguments, context),
            Self::Completion(arguments) => completion::run(&arguments, context),
            Self::Man(arguments) => man::run(&arguments, context),
            Self::Guard => {
                launch::guard::run(context);
                Ok(())
            }
            Self::Drain => launch::drain::run(context),
            Self::Complete(arguments) => completion::print_names(&arguments, context),
            Self::External(words) => Err(external::execute_external_program(&words, context)),
        }
    }
}

/// Returns the definition of all commands and options. An option takes a word such as `-1` as its
/// value. WHY: the error then says what is wrong with the number, and not that there is no such
/// option.
pub(crate) fn command() -> clap::Command {
    fn accept_negative_numbers(command: clap::Command) -> clap::Command {
        let accept = |arg: Arg| match arg.get_action().takes_values() && !arg.is_positional() {
            true => arg.allow_negative_numbers(true),
            false => arg,
        };
        let command = command.mut_args(accept);
        command.mut_subcommands(accept_negative_numbers)
    }
    accept_negative_numbers(Cli::command())
}

/// Parses the value of an option that is a whole number. Returns an error text if it is not valid.
pub(crate) fn parse_number<T>(text: &str) -> Result<T, String>
where
    T: FromStr<Err = ParseIntError>,
{
    text.parse().map_err(|error: ParseIntError| {
        let reason = match error.kind() {
            IntErrorKind::PosOverflow => "the number is too large",
            _ => "a whole number from 0 on is wanted",
        };
        reason.to_owned()
    })
}

/// Parses the value of an option that is a number of seconds, up to [`SECONDS_MAX`]. Returns an
/// error text if it is not valid.
pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds")?;
    if (0.0..=SECONDS_MAX).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(format!("a number of seconds is from 0 to {SECONDS_MAX}"))
    }
}

/// Parses the value of an option that is a number of seconds greater than 0, such as the time of a
/// measurement. Returns an error text if it is not valid.
pub(crate) fn parse_positive_seconds(text: &str) -> Result<Duration, String> {
    match parse_seconds(text)? {
        Duration::ZERO => Err(format!(
            "a duration greater than 0 is needed: from 0.000000001 to {SECONDS_MAX} seconds"
        )),
        duration => Ok(duration),
    }
}

/// Parses the value of an option that is a rate in hertz, of at least [`HERTZ_MIN`]. Returns an
/// error text if it is not valid.
pub(crate) fn parse_hertz(text: &str) -> Result<f64, String> {
    let hertz: f64 = text.parse().map_err(|_| "not a number of hertz")?;
    if hertz.is_finite() && hertz >= HERTZ_MIN {
        Ok(hertz)
    } else {
        Err(format!(
            "a rate is a positive number of hertz, at least {HERTZ_MIN}"
        ))
    }
}
