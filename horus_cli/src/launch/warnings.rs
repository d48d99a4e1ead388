//! Warnings at the start of a launch: the programs are started all the same.

use std::fs;
use std::sync::Arc;

use horus_core::introspect::ProcessInfo;
use horus_core::namespace::Namespace;

use super::program::Program;
use super::status::{self, LaunchStatus, ProgramState, ProgramStatus};
use crate::context::Context;
use crate::estop::{read_last_stop_message, stop_text, stop_time_text};
use crate::namespace::other_processes;
use crate::output::format::visible;
use crate::process::ProcessStat;

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
    for process in processes.iter().map(|process| &process.info) {
        let words = command_line_of(process);
        let mut programs = programs.iter();
        let program = programs.find(|program| is_command_line_of(&words, &program.spec.command));
        let Some(program) = program.filter(|_| !is_started_by_launcher(process, &launches)) else {
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

/// Returns true if the process is that of a program of one of the launchers, or one that such a
/// program has started: it is in its process group.
fn is_started_by_launcher(process: &ProcessInfo, launches: &[LaunchStatus]) -> bool {
    let group = ProcessStat::of(process).map(|stat| stat.group);
    let is_process_of = |program: &ProgramStatus| {
        let start_time = program.start_time;
        let is_same = program.pid == Some(process.pid)
            && start_time.is_none_or(|start_time| start_time == process.start_time);
        is_same
            || program
                .pid
                .is_some_and(|pid| is_group_leader(pid, start_time, group))
    };
    let mut launched = launches.iter().flat_map(|launch| &launch.programs);
    launched.any(is_process_of)
}

/// Returns true if the running process `pid`, which has this start time, leads the process group
/// `group`. WHY the start time: a launcher in another container may have a program with this id.
fn is_group_leader(pid: u32, start_time: Option<u64>, group: Option<u32>) -> bool {
    let stat = ProcessStat::read(pid).filter(|_| group == Some(pid));
    let found = stat.map(|stat| stat.start_time);
    found.is_some() && start_time.is_none_or(|start_time| Some(start_time) == found)
}

/// Returns the words of the command that a process executes; an empty list if it has ended, or runs
/// in another container.
fn command_line_of(process: &ProcessInfo) -> Vec<Vec<u8>> {
    let pid = process.pid;
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    // WHY after the read: then the line is that of this process, if it still exists.
    if ProcessStat::of(process).is_none() {
        return Vec::new();
    }
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
    let stop = match read_last_stop_message(namespace) {
        Ok(Some(stop)) if stop.is_engaged() => stop,
        Ok(_) => return,
        Err(failure) => {
            return context.print_note(format_args!(
                "cannot read whether an emergency stop is engaged in the namespace '{name}': {}",
                failure.text()
            ));
        }
    };
    let since = stop_time_text(&stop);
    context.print_note(format_args!(
        "warning: {} is engaged in the namespace '{name}' since {since}. All nodes start in their \
         safe states, and none ticks until 'horus estop release -N {name}'",
        stop_text(&stop),
    ));
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use horus_core::introspect::processes;

    use super::*;
    use crate::testing::private_namespace;

    /// A launcher in another container may have a program with the id of a left process.
    #[test]
    fn a_process_is_launched_only_if_its_start_time_is_that_of_a_program() {
        let (_dir, namespace) = private_namespace();
        let mut process = processes(&namespace).unwrap().remove(0).process.unwrap();
        let launch = |start_time| LaunchStatus {
            programs: vec![ProgramStatus {
                program: "camera".to_owned(),
                state: ProgramState::Running,
                pid: Some(process.pid),
                start_time,
                restarts: 0,
                started_ns: 0,
                exit_code: None,
                signal: None,
            }],
            ..LaunchStatus::default()
        };
        let known = [launch(Some(process.start_time))];
        let of_earlier_version = [launch(None)];
        assert!(is_started_by_launcher(&process, &known));
        // What a program has started is in its group.
        let mut command = Command::new("sleep");
        let mut child = command.arg("1000").process_group(0).spawn().unwrap();
        let stat = ProcessStat::read(child.id()).unwrap();
        let mut sibling = Command::new("sleep");
        let group = child.id().cast_signed();
        let mut sibling = sibling.arg("1000").process_group(group).spawn().unwrap();
        let mut worker = process.clone();
        worker.pid = sibling.id();
        worker.start_time = ProcessStat::read(sibling.id()).unwrap().start_time;
        for (start_time, is_expected) in [(stat.start_time, true), (stat.start_time + 1, false)] {
            let mut launch = launch(Some(start_time));
            launch.programs[0].pid = Some(child.id());
            assert_eq!(is_started_by_launcher(&worker, &[launch]), is_expected);
        }
        for child in [&mut child, &mut sibling] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(!command_line_of(&process).is_empty());
        process.start_time += 1;
        assert!(!is_started_by_launcher(&process, &known));
        assert!(is_started_by_launcher(&process, &of_earlier_version));
        assert!(command_line_of(&process).is_empty());
    }
}
