//! Evaluates launch files that are written in Python. `python3` evaluates them.
//!
//! A Python launch file defines the same structure as a JSON5 file, so the rest of the launcher
//! does not distinguish the two kinds.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use horus_core::child::kill_with_parent;
use serde::Deserialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::stop::Deadline;

/// The Python program that evaluates a launch file, and prints an [`EvaluationReply`] as JSON.
const EVALUATE_PROGRAM: &str = include_str!("evaluate.py");

/// The result of evaluating a Python launch file, as [`EVALUATE_PROGRAM`] prints it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EvaluationReply {
    Launch(Value),
    Error(String),
}

/// Returns true if the extension of the file name is that of Python files.
pub(super) fn is_python_file(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("py"))
}

/// Evaluates the Python launch file at `path`, and returns the value that it defines. Output of the
/// launch file goes to stderr. Blocks until the Python program has ended. If `deadline` is earlier,
/// returns a failure, and the kernel kills the Python program together with this process.
pub(super) fn evaluate(path: &Path, deadline: Deadline) -> Result<Value, Failure> {
    let shown = path.display();
    let mut command = Command::new("python3");
    command.arg("-c").arg(EVALUATE_PROGRAM).arg(path);
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    // WHY: a file that does not end must not outlive this command.
    kill_with_parent(&mut command);
    let Some(output) = deadline.call_until_deadline(move || command.output())? else {
        return Err(Failure::timeout(format_args!(
            "{shown}: python3 has not evaluated it"
        )));
    };
    let output = output.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::not_found(format_args!(
            "{shown}: there is no python3 in PATH to evaluate it: install it, or write the launch \
             file in JSON5"
        )),
        _ => Failure::system(format_args!("cannot start python3: {error}")),
    })?;
    match serde_json::from_slice(&output.stdout) {
        Ok(EvaluationReply::Launch(structure)) => Ok(structure),
        Ok(EvaluationReply::Error(error)) => Err(Failure::usage(format_args!("{shown}: {error}"))),
        // WHY not without output: the file itself has ended python3.
        Err(error) if output.status.success() && !output.stdout.is_empty() => Err(Failure::usage(
            format_args!("{shown}: it defines what JSON cannot hold: {error}"),
        )),
        Err(_) => Err(Failure::usage(format_args!(
            "{shown}: python3 did not evaluate it ({})",
            output.status
        ))),
    }
}
