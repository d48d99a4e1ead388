//! The command `horus launch`: starts the programs of a robot, restarts them when they fail, and
//! stops them.
//!
//! `file` reads the launch file: `syntax` parses it if it is written in JSON5, and `python`
//! evaluates it if it is written in Python. `settings` reads the settings, and `setting_path` names
//! the place of a mistake in them. `obstacle` finds out why a program cannot be started, and
//! `binary_format` does so from the content of its file. `restart` decides on restarts. `program`
//! manages one program, `readiness` looks for its topics, and `log` reads its output. `report`
//! formats events as text or JSON, and `printer` writes them. `status` publishes the status for
//! other processes. `warnings` looks for reasons to warn the user at the start. `guard` kills the
//! programs of a dead launcher, and `drain` reads their output if they are kept. `run_namespace`
//! opens the namespace, and removes a private one. `launcher` uses all these modules.

mod binary_format;
pub(crate) mod drain;
mod file;
pub(crate) mod guard;
mod launcher;
mod log;
mod obstacle;
mod printer;
mod program;
mod python;
mod readiness;
mod report;
mod restart;
mod run_namespace;
mod setting_path;
mod settings;
pub(crate) mod status;
mod syntax;
mod warnings;

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
/// Ctrl-C or a closed terminal stops all, last ones first; a second Ctrl-C kills
/// them. If this command dies, the programs die, too.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The launch file
    file: PathBuf,
    /// Only check the file, and print the programs in the order of their start
    ///
    /// The exit code is 1 if this machine cannot start one of them.
    #[arg(long)]
    check: bool,
    /// Let the programs run on if this command dies
    ///
    /// Nobody sees what they print after its death. SIGKILL or a crash leaves them;
    /// the signals that stop all programs stop them with --keep, too.
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let file = LaunchFile::read(&arguments.file, context.deadline())?;
    let order = file.start_order()?;
    // WHY before the check: it finds what the launch would refuse.
    let config = context.namespace_config_or(file.namespace.as_deref())?;
    if file.private {
        run_namespace::check_private_name(&config)?;
    }
    if arguments.check {
        return check_file(&file, &order, context);
    }
    context.stop.catch_next_signal();
    if file.private {
        // WHY: a second signal would end the process before it has removed the namespace.
        context.stop.catch_all_signals();
    }
    Launcher::new(&file, &order, config, arguments.keep, context)?.run()
}

/// Prints the programs in the order in which they start. Fails if one of them cannot be started on
/// this machine.
fn check_file(file: &LaunchFile, order: &[&str], context: &mut Context) -> Result<(), Failure> {
    report::print_order(order, context)?;
    context.out.flush()?;
    let mut failed = Vec::new();
    for name in order {
        if let Some(obstacle) = file.start_obstacle(name) {
            context.print_note(format_args!("{name}: {obstacle}"));
            failed.push(*name);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::answer_no_because(format_args!(
        "{}: these programs cannot be started on this machine: {}",
        file.path.display(),
        failed.join(", ")
    )))
}
