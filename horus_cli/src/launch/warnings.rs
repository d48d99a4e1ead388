//! Warnings at the start of a launch: the programs are started all the same.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use horus_core::namespace::Namespace;

use super::program::Program;
use super::status::{self, LaunchStatus, ProgramState};
use crate::context::Context;
use crate::estop::read_last_message;
use crate::namespace::other_processes;
use crate::output::format::{date_time, visible};

/// Prints a warning for each other launcher of the namespace that runs programs with the same names
/// as this launcher. `own` is the status that this launcher has published.
pub(super) fn warn_of_other_launchers(
    namespace: &Arc<Namespace>,
    own: &LaunchStatus,
    context: &Context,
) {
    let mut others = status::read_statuses(namespace);
    // WHY by its content: launchers in different containers may have the same process id.
    if let Some(index) = others.iter().position(|status| status == own) {
        others.swap_remove(index);
    }
    for other in others {
        let active = other.programs.iter().filter(|program| {
            let has_ended = matches!(program.state, ProgramState::Ended | ProgramState::Failed);
            let mut names = own.programs.iter().map(|own| &own.program);
            !has_ended && names.any(|name| *name == program.program)
        });
        let active: Vec<&str> = active.map(|program| program.program.as_str()).collect();
        if active.is_empty() {
            continue;
        }
        context.print_note(format_args!(
            "warning: the namespace '{}' already has programs with these names: {}. The horus \
             launch with the process id {} runs them from {}. Programs that run twice publish on \
             the same topics. Stop that launch (kill {}), or launch this file with another \
             namespace (-N)",
            namespace.config().name(),
            active.join(", "),
            other.launcher_pid,
            visible(&other.file),
            other.launcher_pid,
        ));
    }
}

/// Prints a warning for each process in the namespace that executes the command of one of
/// `programs` but does not belong to a running launcher. A killed `horus launch --keep` leaves such
/// processes.
pub(super) fn warn_of_left_programs(
    namespace: &Arc<Namespace>,
    programs: &[Program<'_>],
    context: &Context,
) {
    // What cannot be read is no reason to start nothing.
    let Ok(processes) = other_processes(namespace) else {
        return;
    };
    let launches = status::read_statuses(namespace);
    let launched = launches.iter().flat_map(|launch| &launch.programs);
    let launched: BTreeSet<u32> = launched.filter_map(|program| program.pid).collect();
    for process in processes {
        let words = command_line_of(process.pid);
        let mut programs = programs.iter();
        let program = programs.find(|program| is_command_line_of(&words, &program.spec.command));
        let Some(program) = program.filter(|_| !launched.contains(&process.pid)) else {
            continue;
        };
        context.print_note(format_args!(
            "warning: the process {} in the namespace '{}' already runs the command of '{}', and \
             no horus launch that still runs has started it. Programs that run twice publish on \
             the same topics. Stop it (kill {}), or launch this file with another namespace (-N)",
            process.pid,
            namespace.config().name(),
            program.name,
            process.pid,
        ));
    }
}

/// Returns the words of the command that a process executes; an empty list if it has ended.
fn command_line_of(pid: u32) -> Vec<Vec<u8>> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

/// Returns true if `words`, the command line of a process, is `command`. If the command is a
/// script, the interpreter may be an additional first word.
fn is_command_line_of(words: &[Vec<u8>], command: &[String]) -> bool {
    let command = command.iter().map(String::as_bytes);
    words.iter().eq(command.clone()) || words.iter().skip(1).eq(command)
}

/// Prints a warning if the emergency stop of the namespace is engaged: the nodes of the programs
/// then start in their safe states, and nothing moves although the programs are ready.
pub(super) fn warn_of_emergency_stop(namespace: &Arc<Namespace>, context: &Context) {
    let name = namespace.config().name();
    let stop = match read_last_message(namespace) {
        Ok(Some(stop)) if stop.is_engaged() => stop,
        Ok(_) => return,
        Err(failure) => {
            return context.print_note(format_args!(
                "cannot read whether an emergency stop is engaged in the namespace '{name}': {}",
                failure.text()
            ));
        }
    };
    // WHY: a message without content is an engaged stop, too.
    let since = match stop.timestamp_ns {
        0 => "an unknown time".to_owned(),
        time => date_time(time),
    };
    context.print_note(format_args!(
        "warning: {} is engaged in the namespace '{name}' since {since}. All nodes start in their \
         safe states, and nothing moves until 'horus estop release -N {name}'",
        visible(&stop.to_string()),
    ));
}
