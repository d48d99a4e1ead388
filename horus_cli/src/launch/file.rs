//! Launch files, which describe the programs of a robot in JSON5 or Python.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::python;
use super::restart::Policy;
use crate::failure::Failure;
use crate::output::nearest;

/// The content of a launch file, and the path of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LaunchFile {
    /// The namespace that all programs of the launch file use, unless the command line selects
    /// another one.
    pub(super) namespace: Option<String>,
    /// True if each run of the launch file uses a new namespace. The name of that namespace
    /// contains the process id of the launcher, and the launcher removes the namespace when it
    /// ends.
    #[serde(default)]
    pub(super) private: bool,
    /// Environment variables that are set for all programs of the launch file.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    pub(super) programs: BTreeMap<String, ProgramSpec>,
    /// The path of the launch file. It is absolute if the current directory is known.
    #[serde(skip)]
    pub(super) path: PathBuf,
    /// The path of the directory that contains the launch file.
    #[serde(skip)]
    pub(super) dir: PathBuf,
}

/// The settings of one program in a launch file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgramSpec {
    /// The program to execute, and its arguments. A relative path is relative to the program's
    /// `dir`.
    pub(super) command: Vec<String>,
    /// The working directory of the program. A relative path is relative to the directory of the
    /// launch file, which is also the default.
    #[serde(default)]
    pub(super) dir: PathBuf,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// The names of the programs that have to be ready before this program starts. They are stopped
    /// after it.
    #[serde(default)]
    pub(super) after: Vec<String>,
    #[serde(default)]
    pub(super) ready: Ready,
    /// Maximum time from the start of the program until it is ready. A program that is not ready by
    /// then is killed.
    #[serde(default = "Seconds::ten")]
    pub(super) ready_timeout: Seconds,
    #[serde(flatten)]
    pub(super) policy: Policy,
    /// True if the other programs cannot do without this program: they are stopped when it has
    /// ended and is not restarted.
    #[serde(default)]
    pub(super) required: bool,
    /// Maximum time from SIGTERM until the program has ended. After that time, the launcher sends
    /// SIGKILL.
    #[serde(default = "Seconds::five")]
    pub(super) stop_timeout: Seconds,
}

/// The topics that a program must have opened before it counts as ready. If the list is empty, the
/// program is ready as soon as it has started.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ready {
    #[serde(default)]
    pub(super) publishes: Vec<String>,
    #[serde(default)]
    pub(super) subscribes: Vec<String>,
}

/// A duration that a launch file gives as a number of seconds, such as 0.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct Seconds(pub(super) Duration);

impl TryFrom<f64> for Seconds {
    type Error = std::time::TryFromFloatSecsError;

    fn try_from(seconds: f64) -> Result<Self, Self::Error> {
        Duration::try_from_secs_f64(seconds).map(Self)
    }
}

impl Seconds {
    const fn five() -> Self {
        Self(Duration::from_secs(5))
    }

    const fn ten() -> Self {
        Self(Duration::from_secs(10))
    }
}

impl LaunchFile {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let text = fs::read_to_string(path)
            .map_err(|error| Failure::not_found(format_args!("cannot read {shown}: {error}")))?;
        // A file that was just read has an absolute path, unless it is gone by now.
        let absolute = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let parsed = if python::is_python_file(path) {
            Self::from_value(python::evaluate(&absolute)?)
        } else {
            Self::parse(&text)
        };
        let mut file = parsed.map_err(|error| Failure::usage(format_args!("{shown}: {error}")))?;
        file.dir = absolute.parent().map(Path::to_owned).unwrap_or_default();
        file.path = absolute;
        Ok(file)
    }

    /// Parses a launch file in JSON5. Returns an error text if it is not valid.
    fn parse(text: &str) -> Result<Self, String> {
        let file: Self = json5::from_str(text).map_err(|error| error.to_string())?;
        file.checked()
    }

    /// Converts `value`, which a launch file in Python defines, to a launch file. Returns an error
    /// text if it is not valid.
    fn from_value(value: Value) -> Result<Self, String> {
        // WHY each one first: the error of the whole does not say in which program it is.
        let programs = value.get("programs").and_then(Value::as_object);
        for (name, program) in programs.into_iter().flatten() {
            ProgramSpec::deserialize(program).map_err(|error| format!("{name}: {error}"))?;
        }
        let file: Self = serde_json::from_value(value).map_err(|error| error.to_string())?;
        file.checked()
    }

    /// Checks the commands of the launch file, and replaces environment variables in its texts.
    /// Returns the changed file.
    fn checked(mut self) -> Result<Self, String> {
        let file = &mut self;
        for value in file.env.values_mut() {
            *value = expand(value)?;
        }
        for (name, program) in &mut file.programs {
            if program.command.first().is_none_or(String::is_empty) {
                return Err(format!("{name}: 'command' names no program"));
            }
            for word in program.command.iter_mut().chain(program.env.values_mut()) {
                *word = expand(word).map_err(|error| format!("{name}: {error}"))?;
            }
        }
        Ok(self)
    }

    /// Returns the names of the programs in the order in which they start. A program comes after
    /// all programs in its `after`. Fails if that is impossible, because programs wait for each
    /// other in a circle.
    pub(super) fn order(&self) -> Result<Vec<&str>, Failure> {
        let mut order: Vec<&str> = Vec::new();
        let mut left: Vec<&str> = self.programs.keys().map(String::as_str).collect();
        for (name, program) in &self.programs {
            let mut needed = program.after.iter();
            if let Some(unknown) = needed.find(|needed| !self.programs.contains_key(*needed)) {
                let names: Vec<String> = self.programs.keys().cloned().collect();
                let near = nearest::suggest_names(unknown, &names);
                return Err(Failure::usage(format_args!(
                    "{name}: 'after' names '{unknown}', which is no program.{near}"
                )));
            }
        }
        while !left.is_empty() {
            let is_next = |name: &&str| {
                let mut needed = self.programs[*name].after.iter();
                needed.all(|needed| order.contains(&needed.as_str()))
            };
            let (next, others): (Vec<_>, Vec<_>) = left.into_iter().partition(is_next);
            if next.is_empty() {
                let names = others.join(", ");
                return Err(Failure::usage(format_args!(
                    "these programs wait for each other by 'after': {names}"
                )));
            }
            order.extend(next);
            left = others;
        }
        Ok(order)
    }
}

/// Replaces `${NAME}` in `text` by the value of the environment variable `NAME`. Replaces
/// `${NAME:-default}` by `default` if the variable is not set or is empty.
fn expand(text: &str) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after
            .split_once('}')
            .ok_or_else(|| format!("'{text}': ${{ without }}"))?;
        let (name, default) = match name.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (name, None),
        };
        let value = env::var(name).ok().filter(|value| !value.is_empty());
        let value = value.or(default.map(str::to_owned));
        let value = value.ok_or_else(|| format!("'{text}': {name} is not set"))?;
        expanded = expanded + before + &value;
        rest = after;
    }
    Ok(expanded + rest)
}

#[cfg(test)]
mod tests {
    use super::super::restart::Restart;
    use super::*;

    fn order(programs: &str) -> Result<String, String> {
        let file = LaunchFile::parse(&format!("{{programs: {{{programs}}}}}"))?;
        let order = file.order().map_err(|failure| failure.text().to_owned())?;
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
                "Near: b",
            ),
            ("a: {command: []}", "a: 'command' names no program"),
            ("a: {}", "missing field"),
            ("a: {command: ['x'], restrt: 'never'}", "restrt"),
            ("a: {command: ['x'], restart: 'sometimes'}", "sometimes"),
            ("a: {command: ['x'], stop_timeout: -1}", "negative"),
            (
                "a: {command: ['${HORUS_NO_SUCH_VARIABLE}']}",
                "HORUS_NO_SUCH_VARIABLE is not set",
            ),
            ("a: {command: ['${HOME']}", "${ without }"),
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
        assert_eq!(program.policy.restart, Restart::OnFailure);
        assert_eq!(program.policy.restart_delay.0, Duration::from_millis(500));
        assert_eq!(program.ready_timeout.0, Duration::from_secs(10));
        assert!(!program.required && !file.private);
    }
}
