//! The command `horus clean`: removes the topics that no process uses any longer.

use std::collections::BTreeSet;
use std::fs;

use clap::Args;
use horus_core::namespace::{NamespaceConfig, remove_topic, sweep};
use horus_core::scheduler::EMERGENCY_STOP_TOPIC;
use serde::Serialize;

use crate::context::{Context, namespace_path};
use crate::estop::remove_stop_topic;
use crate::failure::Failure;
use crate::output::format::visible;

/// Name of the directory with the topics' files, inside the directory of a namespace.
pub(crate) const TOPICS_DIRECTORY: &str = "topics";

/// Remove the topics that killed processes left behind
///
/// Keeps the topics whose publishers set `persist_after_exit`, such as latched
/// ones, and the topics of schedulers and logs. --all removes these, too.
///
/// Never removes a topic that a process uses, nor an engaged emergency stop. The
/// exit code is 1 if files are left that are no topics, and 4 if --all has kept
/// an engaged emergency stop.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Also remove topics that are kept after exit, such as maps and black boxes
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Default, Serialize)]
struct CleanReport {
    /// Topics that this command has removed, in alphabetical order. A topic whose last process
    /// removed it in the meantime is not one of them.
    removed: Vec<String>,
    /// Topics that were not removed because a process uses them.
    in_use: Vec<String>,
    /// Topics that were not removed because they outlive their processes, such as maps.
    kept: Vec<String>,
    /// Names of files that are not topics of this version of the library.
    foreign: Vec<String>,
    /// True if the topic of an engaged emergency stop was not removed.
    #[serde(skip)]
    is_stop_kept: bool,
}

pub(crate) fn run(arguments: &Arguments, context: &mut Context) -> Result<(), Failure> {
    let Some((namespace, opening)) = context.open_existing_namespace_with_report()? else {
        return print_clean_report(CleanReport::default(), arguments, context);
    };
    let report = sweep(&namespace).map_err(|error| Failure::from_open_error(&error))?;
    // WHY both: opening a namespace removes such topics, too.
    let removed = opening.removed.iter().chain(&report.removed);
    let mut removed: BTreeSet<String> = removed.map(ToString::to_string).collect();
    let mut kept: Vec<String> = report.kept.iter().map(ToString::to_string).collect();
    let mut failures = Vec::new();
    let mut attempts = 0;
    let mut stop_failure = None;
    if arguments.all {
        let mut is_left = Vec::new();
        attempts = kept.len();
        for name in kept {
            let is_stop = name == EMERGENCY_STOP_TOPIC;
            let is_gone = if is_stop {
                remove_stop_topic(&namespace)
            } else {
                remove_topic(&namespace, &name).map_err(|error| Failure::from_topic_error(&error))
            };
            match is_gone {
                Ok(true) => _ = removed.insert(name),
                Ok(false) => is_left.push(name),
                // WHY no return: the report names what was removed before.
                Err(failure) if is_stop => {
                    if failure.is_refused() {
                        is_left.push(name);
                    }
                    stop_failure = Some(failure);
                }
                Err(failure) => failures.push(failure),
            }
        }
        kept = is_left;
    }
    let reported = print_clean_report(
        CleanReport {
            removed: removed.into_iter().collect(),
            in_use: report.in_use.iter().map(ToString::to_string).collect(),
            kept,
            foreign: report.foreign.clone(),
            is_stop_kept: stop_failure.as_ref().is_some_and(Failure::is_refused),
        },
        arguments,
        context,
    );
    failures.extend(stop_failure);
    Failure::result_of_attempts(&failures, attempts, "not removed")?;
    reported
}

/// Returns the names of the topics that have files in a namespace. Does not open the namespace.
/// Ignores the files of lanes, whose names begin with a dot.
pub(crate) fn topic_names(config: &NamespaceConfig) -> BTreeSet<String> {
    let entries = fs::read_dir(namespace_path(config).join(TOPICS_DIRECTORY))
        .into_iter()
        .flatten()
        .flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let names = names.filter(|name| !name.starts_with('.'));
    // The file of a topic has a plus for each slash of the name.
    names.map(|name| name.replace('+', "/")).collect()
}

fn print_clean_report(
    report: CleanReport,
    arguments: &Arguments,
    context: &mut Context,
) -> Result<(), Failure> {
    if context.is_json() {
        context.out.write_json(&report)?;
    } else {
        // With --all, a topic is left only if a process has opened it meanwhile.
        let reason = if arguments.all {
            " (in use now)"
        } else {
            " (kept after exit)"
        };
        let groups = [
            ("removed", &report.removed, ""),
            ("in use", &report.in_use, ""),
            ("kept", &report.kept, reason),
            ("no topic", &report.foreign, ""),
        ];
        for (word, names, reason) in groups {
            for name in names {
                let is_stop = report.is_stop_kept && name == EMERGENCY_STOP_TOPIC;
                let reason = if is_stop { " (engaged)" } else { reason };
                context
                    .out
                    .write_line(format_args!("{word}: {}{reason}", visible(name)))?;
            }
        }
        context.out.flush()?;
        if !report.kept.is_empty() && !arguments.all {
            context.print_note(format_args!(
                "{} kept after exit for programs that start later, such as maps and black boxes. \
                 To remove all of them: horus clean --all. To remove one: horus topic rm TOPIC",
                report.kept.len()
            ));
        }
    }
    context.out.flush()?;
    if report.foreign.is_empty() {
        return Ok(());
    }
    Err(Failure::answer_no())
}
