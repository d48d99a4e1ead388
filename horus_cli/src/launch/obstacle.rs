//! Finds the reason why a program of a launch file cannot be started on this machine.
//!
//! The error of the operating system does not say whether the directory, the program or its
//! interpreter is missing: it is "No such file or directory" in all three cases.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use horus_core::child::may_execute;

use super::binary_format::{format_fault, refused_format_text};
use super::file::{LaunchFile, ProgramSpec};

/// Maximum length of the first line of a script; the kernel ignores the rest of the line.
const SCRIPT_LINE_BYTES_MAX: u64 = 256;

impl LaunchFile {
    /// Returns a text that says why the program `name` cannot be started on this machine; `None` if
    /// nothing is known that prevents it.
    pub(super) fn start_obstacle(&self, name: &str) -> Option<String> {
        match self.find_program(name)? {
            Ok(path) => executable_fault(&path),
            Err(fault) => Some(fault),
        }
    }

    /// Returns a text that says why the kernel has refused to execute the file of the program
    /// `name` because of its format; `None` if that is not known.
    pub(super) fn format_obstacle(&self, name: &str) -> Option<String> {
        let path = self.find_program(name)?.ok()?;
        refused_format_text(&path)
    }

    /// Returns the path of the file that the program `name` executes, as seen from its directory;
    /// `None` if no file in PATH has the name of its command.
    pub(super) fn executed_path(&self, name: &str) -> Option<PathBuf> {
        let command = self.programs.get(name)?.command.first()?;
        if command.contains('/') {
            return Some(command.into());
        }
        self.find_program(name)?.ok()
    }

    /// Returns the path of the file of the program `name`, or a text that says why there is none.
    fn find_program(&self, name: &str) -> Option<Result<PathBuf, String>> {
        let program = self.programs.get(name)?;
        let command = program.command.first()?;
        Some(self.find_command(program, command))
    }

    fn find_command(&self, program: &ProgramSpec, command: &str) -> Result<PathBuf, String> {
        let dir = without_dot_components(&self.dir.join(&program.dir));
        if let Some(fault) = directory_fault(&dir) {
            return Err(format!("{fault}: create it, or correct 'dir'"));
        }
        if command.contains('/') {
            let path = without_dot_components(&dir.join(command));
            if !path.exists() {
                return Err(format!("there is no program {}", path.display()));
            }
            return Ok(path);
        }
        self.find_in_path(program, &dir, command).ok_or_else(|| {
            format!(
                "there is no program '{command}' in PATH: install it, or write its path, such as \
                 \"./{command}\""
            )
        })
    }

    /// Returns the path of the executable file `command` in the directories of the program's PATH.
    /// If no file with that name is executable, returns the path of the first one.
    fn find_in_path(&self, program: &ProgramSpec, dir: &Path, command: &str) -> Option<PathBuf> {
        let path = [&program.env, &self.env]
            .iter()
            .find_map(|env| env.get("PATH").map(OsString::from))
            .or_else(|| env::var_os("PATH"))
            .unwrap_or_default();
        let paths = env::split_paths(&path).map(|folder| dir.join(folder).join(command));
        let files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
        let executable = files.iter().find(|path| is_executable(path));
        executable.or(files.first()).cloned()
    }
}

/// Returns a text that says why the file at `path` cannot be executed; `None` if it can.
fn executable_fault(path: &Path) -> Option<String> {
    let shown = path.display();
    if path.is_dir() {
        return Some(format!("the program {shown} is a directory"));
    }
    if !is_executable(path) {
        return Some(not_executable_text(path));
    }
    if let Some(interpreter) = missing_interpreter(path) {
        return Some(format!(
            "the program {shown} is a script for {}, which does not exist",
            interpreter.display()
        ));
    }
    format_fault(path)
}

/// Returns `path` without components that are `.`.
fn without_dot_components(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Returns a text that says why `dir` cannot be the directory of a program; `None` if it can.
fn directory_fault(dir: &Path) -> Option<String> {
    let shown = dir.display();
    // WHY its entry `.`: to read it, a process needs the right that it needs to enter `dir`.
    let error = fs::metadata(dir.join(".")).err()?;
    Some(match error.kind() {
        ErrorKind::NotFound => format!("there is no directory {shown}"),
        _ => format!("the directory {shown} cannot be used: {error}"),
    })
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && may_execute(path)
}

/// Returns a text that says why this process may not execute the file at `path`.
fn not_executable_text(path: &Path) -> String {
    let shown = path.display();
    match fs::metadata(path) {
        Ok(file) if file.is_file() && file.permissions().mode() & 0o111 != 0 => format!(
            "this user may not execute the program {shown}: its mode is {:04o}, its owner is user \
             {}, and its group is {}. Change them, or mount its file system without noexec",
            file.permissions().mode() & 0o7777,
            file.uid(),
            file.gid()
        ),
        _ => format!("the program {shown} is no executable file: chmod +x makes it one"),
    }
}

/// Returns the path of the interpreter that the script at `path` names after `#!`, if that
/// interpreter does not exist. Returns `None` if it exists, or if the file at `path` is not a
/// script.
fn missing_interpreter(path: &Path) -> Option<PathBuf> {
    // A program that may be executed but not read is not a script.
    let file = File::open(path).ok()?;
    let mut line = Vec::new();
    let mut part = BufReader::new(file.take(SCRIPT_LINE_BYTES_MAX));
    part.read_until(b'\n', &mut line).ok()?;
    let words = line.strip_prefix(b"#!")?;
    let mut words = words.split(u8::is_ascii_whitespace);
    let interpreter = words.find(|word| !word.is_empty())?;
    let interpreter = PathBuf::from(OsString::from_vec(interpreter.to_vec()));
    // WHY absolute ones only: the kernel looks for others in a directory that is not known here.
    (interpreter.is_absolute() && !interpreter.exists()).then_some(interpreter)
}
