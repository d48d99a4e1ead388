//! Reads the settings of a launch file from the value that the file defines. Each error names the
//! program, the key, the value that was found and the one that is wanted.

use std::collections::BTreeMap;
use std::env::{self, VarError};
use std::path::PathBuf;
use std::time::Duration;

use horus_core::TopicName;
use horus_core::namespace::NamespaceName;
use serde_json::{Map, Value};

use super::file::{LaunchFile, ProgramSpec, ReadyCondition};
use super::restart::{RestartCondition, RestartPolicy};
use super::run_namespace::LONGEST_PRIVATE_SUFFIX;
use super::setting_path::{Mistake, SettingPath};
use crate::output::format::shortened;
use crate::output::nearest;

/// The keys of a launch file.
const FILE_KEYS: [&str; 4] = ["env", "namespace", "private", "programs"];

/// The keys of a program.
const PROGRAM_KEYS: [&str; 12] = [
    "after",
    "command",
    "dir",
    "env",
    "ready",
    "ready_timeout",
    "required",
    "restart",
    "restart_delay",
    "restart_delay_max",
    "restarts_max",
    "stop_timeout",
];

/// The keys of the setting `ready`.
const READY_KEYS: [&str; 2] = ["publishes", "subscribes"];

/// Maximum number of seconds in a setting: more than 30 years.
const SECONDS_MAX: f64 = 1e9;

/// Converts `value`, the value that a launch file defines, to a [`LaunchFile`].
pub(super) fn read_file(value: &Value) -> Result<LaunchFile, Mistake> {
    let file = Settings::new(SettingPath::default(), value, &FILE_KEYS)?;
    Ok(LaunchFile {
        namespace: file.namespace()?,
        private: file.flag("private")?,
        env: file.variables("env")?,
        programs: file.programs()?,
        path: PathBuf::new(),
        dir: PathBuf::new(),
    })
}

fn read_program(path: SettingPath, value: &Value) -> Result<ProgramSpec, Mistake> {
    let program = Settings::new(path, value, &PROGRAM_KEYS)?;
    Ok(ProgramSpec {
        command: program.command()?,
        dir: program.dir()?,
        env: program.variables("env")?,
        after: program.texts("after")?,
        ready: program.ready()?,
        ready_timeout: program.seconds("ready_timeout", 10.0)?,
        policy: RestartPolicy {
            restart: program.restart()?,
            restart_delay: program.seconds("restart_delay", 0.1)?,
            restart_delay_max: program.seconds("restart_delay_max", 10.0)?,
            restarts_max: program.count("restarts_max")?,
        },
        required: program.flag("required")?,
        stop_timeout: program.seconds("stop_timeout", 5.0)?,
    })
}

/// An object of a launch file whose keys have been checked: none of them is unknown.
#[derive(Debug)]
struct Settings<'a> {
    path: SettingPath,
    object: &'a Map<String, Value>,
}

impl<'a> Settings<'a> {
    /// Returns the object `value`. Fails if it is not an object, or has a key that is not in
    /// `keys`.
    fn new(path: SettingPath, value: &'a Value, keys: &[&str]) -> Result<Self, Mistake> {
        let object = object_at(&path, value, &format!("with the keys {}", keys.join(", ")))?;
        if let Some(key) = object.keys().find(|key| !keys.contains(&key.as_str())) {
            let names: Vec<String> = keys.iter().map(ToString::to_string).collect();
            let near = nearest::suggestion_text(key, &names);
            let known = keys.join(", ");
            let predicate = format!("is an unknown setting.{near}. The settings are {known}");
            return Err(path.with_key(key).mistake(&predicate));
        }
        Ok(Self { path, object })
    }

    fn get(&self, key: &str) -> Option<(SettingPath, &'a Value)> {
        let value = self.object.get(key)?;
        Some((self.path.with_key(key), value))
    }

    /// Returns the mistake that the setting `key` is missing. Its path is that of the whole object.
    fn missing(&self, key: &str, wanted: &str) -> Mistake {
        Mistake {
            path: self.path.clone(),
            ..self
                .path
                .with_key(key)
                .mistake(&format!("is missing: {wanted}"))
        }
    }

    fn namespace(&self) -> Result<Option<String>, Mistake> {
        let Some((path, value)) = self.get("namespace").filter(|(_, value)| !value.is_null())
        else {
            return Ok(None);
        };
        let name = text_at(&path, value)?;
        NamespaceName::new(&name)
            .map_err(|error| path.mistake(&format!("is no name of a namespace: {error}")))?;
        if self.flag("private")? {
            NamespaceName::new(&format!("{name}{LONGEST_PRIVATE_SUFFIX}")).map_err(|error| {
                path.mistake(&format!(
                    "is too long with the digits that 'private' appends to it: {error}"
                ))
            })?;
        }
        Ok(Some(name))
    }

    fn programs(&self) -> Result<BTreeMap<String, ProgramSpec>, Mistake> {
        let example = "{name: {command: [\"./program\"]}}";
        let Some((path, value)) = self.get("programs") else {
            let wanted = format!("the programs to start are wanted, such as {example}");
            return Err(self.missing("programs", &wanted));
        };
        let object = object_at(&path, value, &format!("such as {example}"))?;
        if object.is_empty() {
            let predicate = format!("is empty, but one program is wanted, such as {example}");
            return Err(path.mistake(&predicate));
        }
        let mut programs = BTreeMap::new();
        for (name, value) in object {
            programs.insert(name.clone(), read_program(path.with_key(name), value)?);
        }
        for (name, program) in &programs {
            let path = path.with_key(name).with_key("after");
            for (index, needed) in program.after.iter().enumerate() {
                if !programs.contains_key(needed) {
                    let names: Vec<String> = programs.keys().cloned().collect();
                    let near = nearest::suggestion_text(needed, &names);
                    let predicate = format!("is '{needed}', which is no program.{near}");
                    return Err(path.with_index(index).mistake(&predicate));
                }
            }
        }
        Ok(programs)
    }

    fn command(&self) -> Result<Vec<String>, Mistake> {
        let wanted = "the program and its arguments are wanted, such as [\"sleep\", \"10\"]";
        let Some((path, value)) = self.get("command") else {
            return Err(self.missing("command", wanted));
        };
        let mut command = self.texts("command")?;
        if command.first().is_none_or(String::is_empty) {
            let found = shortened_json(value);
            return Err(path.mistake(&format!("is {found}, which names no program: {wanted}")));
        }
        for (index, word) in command.iter_mut().enumerate() {
            *word = expand_variables(&path.with_index(index), word)?;
        }
        Ok(command)
    }

    fn dir(&self) -> Result<PathBuf, Mistake> {
        let Some((path, value)) = self.get("dir") else {
            return Ok(PathBuf::new());
        };
        Ok(expand_variables(&path, &text_at(&path, value)?)?.into())
    }

    /// Returns the environment variables in the setting `key`.
    fn variables(&self, key: &str) -> Result<BTreeMap<String, String>, Mistake> {
        let Some((path, value)) = self.get(key) else {
            return Ok(BTreeMap::new());
        };
        let object = object_at(&path, value, "of variables such as {NAME: \"value\"}")?;
        let variables = object.iter().map(|(name, value)| {
            let path = path.with_key(name);
            // WHY: the system would set the variable before the first =.
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(path.mistake("is no variable: a name without = and NUL is wanted"));
            }
            let value = expand_variables(&path, &text_at(&path, value)?)?;
            Ok((name.clone(), value))
        });
        variables.collect()
    }

    fn ready(&self) -> Result<ReadyCondition, Mistake> {
        let Some((path, value)) = self.get("ready") else {
            return Ok(ReadyCondition::default());
        };
        let ready = Settings::new(path, value, &READY_KEYS)?;
        Ok(ReadyCondition {
            publishes: ready.topics("publishes")?,
            subscribes: ready.topics("subscribes")?,
        })
    }

    fn topics(&self, key: &str) -> Result<Vec<String>, Mistake> {
        let topics = self.texts(key)?;
        for (index, topic) in topics.iter().enumerate() {
            if let Err(error) = TopicName::new(topic) {
                let path = self.path.with_key(key).with_index(index);
                return Err(path.mistake(&format!("is no name of a topic: {error}")));
            }
        }
        Ok(topics)
    }

    fn restart(&self) -> Result<RestartCondition, Mistake> {
        let Some((path, value)) = self.get("restart") else {
            return Ok(RestartCondition::default());
        };
        let name = value.as_str();
        name.and_then(RestartCondition::from_name).ok_or_else(|| {
            let found = shortened_json(value);
            let wanted = "\"never\", \"on-failure\" or \"always\" is wanted";
            path.mistake(&format!("is {found}, but {wanted}"))
        })
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, Mistake> {
        let Some((path, value)) = self.get(key) else {
            return Ok(Vec::new());
        };
        let Some(list) = value.as_array() else {
            let words: Vec<&str> = match value.as_str() {
                // WHY only there: other texts are names, and none contains a space.
                Some(text) if key == "command" => text.split_whitespace().collect(),
                Some(text) => vec![text],
                None => vec!["a", "b"],
            };
            let found = shortened_json(value);
            let example = shortened_json(&Value::from(words));
            let predicate = format!("is {found}, but a list of texts is wanted, such as {example}");
            return Err(path.mistake(&predicate));
        };
        let texts = list.iter().enumerate();
        texts
            .map(|(index, value)| text_at(&path.with_index(index), value))
            .collect()
    }

    fn seconds(&self, key: &str, default: f64) -> Result<Duration, Mistake> {
        let Some((path, value)) = self.get(key) else {
            return Ok(Duration::from_secs_f64(default));
        };
        let seconds = value.as_f64();
        let seconds = seconds.filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds));
        seconds.map(Duration::from_secs_f64).ok_or_else(|| {
            let found = shortened_json(value);
            let wanted = format!("a number of seconds from 0 to {SECONDS_MAX} is wanted");
            path.mistake(&format!("is {found}, but {wanted}, such as {default}"))
        })
    }

    fn count(&self, key: &str) -> Result<Option<u32>, Mistake> {
        let Some((path, value)) = self.get(key).filter(|(_, value)| !value.is_null()) else {
            return Ok(None);
        };
        let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
        count.map(Some).ok_or_else(|| {
            let found = shortened_json(value);
            let wanted = format!("a whole number from 0 to {} is wanted", u32::MAX);
            path.mistake(&format!("is {found}, but {wanted}"))
        })
    }

    fn flag(&self, key: &str) -> Result<bool, Mistake> {
        let Some((path, value)) = self.get(key) else {
            return Ok(false);
        };
        value.as_bool().ok_or_else(|| {
            let found = shortened_json(value);
            path.mistake(&format!("is {found}, but true or false is wanted"))
        })
    }
}

/// Returns `value` as an object. Fails if it is not an object; `wanted` describes the object in the
/// error text. `path` is the path of `value` in the launch file.
fn object_at<'a>(
    path: &SettingPath,
    value: &'a Value,
    wanted: &str,
) -> Result<&'a Map<String, Value>, Mistake> {
    value.as_object().ok_or_else(|| {
        let found = shortened_json(value);
        path.mistake(&format!("is {found}, but an object is wanted {wanted}"))
    })
}

/// Returns `value` as a text. Fails if it is not a text, or contains NUL. `path` is its path in the
/// launch file.
fn text_at(path: &SettingPath, value: &Value) -> Result<String, Mistake> {
    let found = shortened_json(value);
    if let Some(text) = value.as_str() {
        // WHY: the system ends each text at NUL, so it starts no program with one.
        return match text.contains('\0') {
            true => Err(path.mistake(&format!(
                "is {found}, but a text without the character NUL is wanted"
            ))),
            false => Ok(text.to_owned()),
        };
    }
    let quoted = match value {
        Value::Number(_) | Value::Bool(_) => format!(" in quotes: \"{value}\""),
        _ => String::new(),
    };
    Err(path.mistake(&format!("is {found}, but a text is wanted{quoted}")))
}

/// Returns `value` as JSON for an error text, without its end if it is long.
fn shortened_json(value: &Value) -> String {
    shortened(&value.to_string()).into_owned()
}

/// Replaces `${NAME}` in `text` by the value of the environment variable `NAME`. Replaces
/// `${NAME:-default}` by `default` if the variable is not set or is empty. `path` is the path of
/// `text` in the launch file.
fn expand_variables(path: &SettingPath, text: &str) -> Result<String, Mistake> {
    let mistake = |what: &str| {
        let found = shortened_json(&Value::from(text));
        path.mistake(&format!("is {found}: {what}"))
    };
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after
            .split_once('}')
            .ok_or_else(|| mistake("a } is wanted after ${"))?;
        let (name, default) = match name.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (name, None),
        };
        let value = match env::var(name) {
            Err(VarError::NotUnicode(_)) => {
                return Err(mistake(&format!("the variable {name} is not UTF-8")));
            }
            value => value.ok().filter(|value| !value.is_empty()),
        };
        let value = value.or(default.map(str::to_owned)).ok_or_else(|| {
            mistake(&format!(
                "the variable {name} is not set: set it, or write ${{{name}:-default}}"
            ))
        })?;
        expanded = expanded + before + &value;
        rest = after;
    }
    Ok(expanded + rest)
}
