//! Commands that are separate programs: `horus calibrate` executes `horus-calibrate`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use clap::CommandFactory as _;
use horus_core::child::may_execute;

use crate::cli::Cli;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::nearest;

/// Replaces this process by the external program for the command `words`. Returns only if that
/// fails.
///
/// First looks for a program whose name contains two of the words, then for one whose name contains
/// only the first. So `horus bridge zenoh` finds `horus-bridge-zenoh`. A file that this user may
/// not execute is chosen only if there is no other one. The program receives the global options as
/// environment variables. Refuses `--timeout`: this process could not end the program in time, and
/// the program may not know the option.
pub(crate) fn execute_external_program(words: &[OsString], context: &Context) -> Failure {
    let counts = (1..=words.len().min(2)).rev();
    let files = counts.flat_map(|count| {
        let files = find_program_files(&program_name(&words[..count]));
        files.into_iter().map(move |path| (count, path))
    });
    let files: Vec<(usize, PathBuf)> = files.collect();
    let executable = files.iter().find(|(_, path)| may_execute(path));
    let Some((count, path)) = executable.or(files.first()) else {
        return unknown_command_failure(&words[0].to_string_lossy());
    };
    let (command_words, arguments) = words.split_at(*count);
    if context.timeout().is_some() {
        let command = command_words.join(OsStr::new(" "));
        let program = program_name(command_words);
        return Failure::usage(format_args!(
            "the option --timeout cannot limit {}, which is a program of its own: give the \
             program a limit by an option of its own, or use: timeout SECONDS horus {}",
            program.to_string_lossy(),
            command.to_string_lossy()
        ));
    }
    context.print_if_verbose(format_args!("executing {}", path.display()));
    let mut command = Command::new(path);
    command.args(arguments);
    context.pass_options_to(&mut command);
    let error = command.exec();
    Failure::system(format_args!("cannot execute {}: {error}", path.display()))
}

/// Returns the name of the external program for the command `words`.
fn program_name(words: &[OsString]) -> OsString {
    let mut program = OsString::from("horus-");
    program.push(words.join(OsStr::new("-")));
    program
}

/// Returns the paths of the files called `program`: first that in the directory of the running
/// program, then those in the directories of `PATH`.
fn find_program_files(program: &OsStr) -> Vec<PathBuf> {
    // WHY not a path: `horus ../x` must not leave the searched directories.
    if program.to_string_lossy().contains('/') {
        return Vec::new();
    }
    let beside = env::current_exe()
        .ok()
        .and_then(|path| path.parent().map(PathBuf::from));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = beside.into_iter().chain(env::split_paths(&path));
    let paths = folders.map(|folder| folder.join(program));
    paths.filter(|path| path.is_file()).collect()
}

/// Returns the failure for a command `word` that does not exist.
fn unknown_command_failure(word: &str) -> Failure {
    let commands: Vec<String> = Cli::command()
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned())
        .collect();
    let mut near = nearest::suggestion_text(word, &commands);
    if !near.is_empty() {
        near.push('.');
    }
    Failure::usage(format_args!(
        "no command '{word}', and no program horus-{word}.{near} See: horus --help"
    ))
}
