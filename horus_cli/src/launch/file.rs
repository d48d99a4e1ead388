//! Launch files, which describe the programs of a robot in JSON5 or Python.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::restart::RestartPolicy;
use super::{python, settings, syntax};
use crate::failure::Failure;
use crate::stop::Deadline;

/// The content of a launch file, and the path of the file.
#[derive(Debug)]
pub(super) struct LaunchFile {
    /// The namespace that all programs of the launch file use, unless the command line selects
    /// another one.
    pub(super) namespace: Option<String>,
    /// True if each run of the launch file uses a new namespace. The name of that namespace
    /// contains the process id of the launcher and random digits, and the launcher removes the
    /// namespace when it ends.
    pub(super) private: bool,
    /// Environment variables that are set for all programs of the launch file.
    pub(super) env: BTreeMap<String, String>,
    pub(super) programs: BTreeMap<String, ProgramSpec>,
    /// The path of the launch file. It is absolute if the current directory is known.
    pub(super) path: PathBuf,
    /// The path of the directory that contains the launch file.
    pub(super) dir: PathBuf,
}

/// The settings of one program in a launch file.
#[derive(Debug)]
pub(super) struct ProgramSpec {
    /// The program to execute, and its arguments. A relative path is relative to the program's
    /// `dir`.
    pub(super) command: Vec<String>,
    /// The working directory of the program. A relative path is relative to the directory of the
    /// launch file, which is also the default.
    pub(super) dir: PathBuf,
    pub(super) env: BTreeMap<String, String>,
    /// The names of the programs that have to be ready before this program starts. They are stopped
    /// after it.
    pub(super) after: Vec<String>,
    pub(super) ready: ReadyCondition,
    /// Maximum time from the start of the program until it is ready. A program that is not ready by
    /// then is killed.
    pub(super) ready_timeout: Duration,
    pub(super) policy: RestartPolicy,
    /// True if the other programs cannot do without this program: they are stopped when it has
    /// ended and is not restarted.
    pub(super) required: bool,
    /// Maximum time from SIGTERM until the program has ended. After that time, the launcher sends
    /// SIGKILL.
    pub(super) stop_timeout: Duration,
}

/// The topics that a program must have opened before it counts as ready. If the list is empty, the
/// program is ready as soon as it has started.
#[derive(Debug, Default, Clone)]
pub(super) struct ReadyCondition {
    pub(super) publishes: Vec<String>,
    pub(super) subscribes: Vec<String>,
}

impl LaunchFile {
    /// Reads the launch file at `path`, until `deadline`. If it is in Python, evaluates it.
    pub(super) fn read(path: &Path, deadline: Deadline) -> Result<Self, Failure> {
        let shown = path.display();
        let unreadable = |error| Failure::unreadable_file(&shown, &error);
        let bytes = deadline.read_file(path)?;
        // A file that was just read has an absolute path, unless it is gone by now.
        let absolute = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let parsed = if python::is_python_file(path) {
            // WHY evaluated by its path: the file names its encoding, which may not be UTF-8.
            let value = python::evaluate(&absolute, deadline)?;
            settings::read_file(&value).map_err(|mistake| mistake.text)
        } else {
            let text = io::read_to_string(&*bytes).map_err(unreadable)?;
            Self::parse(&text)
        };
        let mut file = parsed.map_err(|error| Failure::usage(format_args!("{shown}: {error}")))?;
        file.dir = absolute.parent().map(Path::to_owned).unwrap_or_default();
        file.path = absolute;
        Ok(file)
    }

    /// Parses a launch file in JSON5. Returns an error text if it is not valid.
    fn parse(text: &str) -> Result<Self, String> {
        let value = syntax::parse(text)?;
        settings::read_file(&value).map_err(|mistake| syntax::mistake_with_position(text, mistake))
    }

    /// Returns the names of the programs in the order in which they start. A program comes after
    /// all programs in its `after`. Fails if that is impossible, because programs wait for each
    /// other in a circle.
    pub(super) fn start_order(&self) -> Result<Vec<&str>, Failure> {
        let mut order: Vec<&str> = Vec::new();
        let mut left: Vec<&str> = self.programs.keys().map(String::as_str).collect();
        while !left.is_empty() {
            let is_next = |name: &&str| {
                let mut needed = self.programs[*name].after.iter();
                needed.all(|needed| order.contains(&needed.as_str()))
            };
            let (next, others): (Vec<_>, Vec<_>) = left.into_iter().partition(is_next);
            if next.is_empty() {
                return Err(Failure::usage(format_args!(
                    "{}: these programs wait for each other by 'after': {}",
                    self.path.display(),
                    others.join(", ")
                )));
            }
            order.extend(next);
            left = others;
        }
        Ok(order)
    }
}

#[cfg(test)]
mod tests {
    use super::super::restart::RestartCondition;
    use super::*;

    fn order(programs: &str) -> Result<String, String> {
        let file = LaunchFile::parse(&format!("{{programs: {{{programs}}}}}"))?;
        let order = file
            .start_order()
            .map_err(|failure| failure.text().to_owned())?;
        Ok(order.join(" "))
    }

    #[test]
    fn programs_come_after_those_that_they_need() {
        let order = order(
            "a: {command: ['x'], after: ['c']}, b: {command: ['x']}, \
             c: {command: ['x'], after: ['b']}, d: {command: ['x'], after: ['b', 'a']}",
        );
        assert_eq!(order.as_deref(), Ok("b c a d"));
    }

    #[test]
    fn mistakes_are_named() {
        let table = [
            (
                "a: {command: ['x'], after: ['a']}",
                "wait for each other by 'after': a",
            ),
            (
                "a: {command: ['x'], after: ['bb']}, b: {command: ['x']}",
                "line 1 column 41: program 'a': 'after[0]' is 'bb', which is no program. Near: b",
            ),
            (
                "a: {command: []}",
                "program 'a': 'command' is [], which names no program: ",
            ),
            ("a: {}", "program 'a': 'command' is missing: "),
            (
                "a: {command: ['${HORUS_NO_SUCH_VARIABLE}']}",
                "program 'a': 'command[0]' is \"${HORUS_NO_SUCH_VARIABLE}\": the variable \
                 HORUS_NO_SUCH_VARIABLE is not set",
            ),
            (
                "a: {command: ['x'], dir: '${HOME'}",
                "program 'a': 'dir' is \"${HOME\": a } is wanted after ${",
            ),
        ];
        for (programs, error) in table {
            let found = order(programs).unwrap_err();
            assert!(found.contains(error), "{programs}: {found}");
        }
    }

    #[test]
    fn settings_have_defaults() {
        let text = "{programs: {a: {command: ['${HORUS_NO_SUCH_VARIABLE:-x}', 'y'], // comment
                     restart_delay: 0.5, env: {A: 'b'}}}}";
        let file = LaunchFile::parse(text).unwrap();
        let program = &file.programs["a"];
        assert_eq!(program.command, ["x", "y"]);
        assert_eq!(program.policy.restart, RestartCondition::OnFailure);
        assert_eq!(program.policy.restart_delay, Duration::from_millis(500));
        assert_eq!(program.ready_timeout, Duration::from_secs(10));
        assert!(!program.required && !file.private);
    }
}
