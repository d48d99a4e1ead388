//! The command `horus launch`: starts the programs of a robot, restarts them when they fail, and
//! stops them.
//!
//! `file` reads the launch file, and `python` evaluates it if it is written in Python. `restart`
//! decides on restarts. `program` manages one program, `readiness` looks for its topics, and `log`
//! reads its output. `report` formats events as text or JSON, and `printer` writes them. `status`
//! publishes the status for other processes. `guard` kills the programs of a dead launcher.
//! `launcher` uses all these modules.

mod file;
pub(crate) mod guard;
mod launcher;
mod log;
mod printer;
mod program;
mod python;
mod readiness;
mod report;
mod restart;
pub(crate) mod status;

use std::path::PathBuf;

use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use file::LaunchFile;
use launcher::Launcher;

/// Start the programs of a robot, restart and stop them
///
/// FILE is JSON5, or Python if its name ends in .py; docs/tools.md explains it. A
/// program starts when those before it are ready: when their topics are there.
/// Ctrl-C stops all, last ones first. If this command dies, the programs die, too.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The launch file
    file: PathBuf,
    /// Only check the file, and print the programs in the order of their start
    #[arg(long)]
    check: bool,
    /// Let the programs run on if this command dies
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let file = LaunchFile::read(&arguments.file)?;
    let order = file.order()?;
    if arguments.check {
        for name in &order {
            if let Some(program) = file.missing_command(name) {
                context.print_note(format_args!("{name}: there is no program '{program}' here"));
            }
        }
        return report::print_order(&order, context);
    }
    context.stop.begin_stream();
    let config = context.namespace_config_or(file.namespace.as_deref())?;
    Launcher::new(&file, &order, config, arguments.keep, context)?.run()
}
