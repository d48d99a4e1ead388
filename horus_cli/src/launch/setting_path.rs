//! Paths of settings in a launch file, and the mistakes that are found there.

use crate::output::format::visible;

/// A step from an object or a list of a launch file to one of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SettingStep {
    Key(String),
    Index(usize),
}

/// The steps from the root of a launch file to one of its values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SettingPath(pub(super) Vec<SettingStep>);

/// A mistake in a launch file: a text for the user, and the path of the value to correct.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    pub(super) path: SettingPath,
    pub(super) text: String,
}

impl SettingPath {
    /// Returns the path of the value of `key` in the object at this path.
    pub(super) fn with_key(&self, key: &str) -> Self {
        self.with_step(SettingStep::Key(key.to_owned()))
    }

    /// Returns the path of the element `index` of the list at this path.
    pub(super) fn with_index(&self, index: usize) -> Self {
        self.with_step(SettingStep::Index(index))
    }

    /// Returns a mistake at this path. Its text is the path followed by `predicate`, such as "is
    /// missing".
    pub(super) fn mistake(&self, predicate: &str) -> Mistake {
        Mistake {
            path: self.clone(),
            text: format!("{} {predicate}", self.describe()),
        }
    }

    /// Returns the words that name the value at this path: its program and its keys.
    pub(super) fn describe(&self) -> String {
        match self.0.as_slice() {
            [] => "the launch file".to_owned(),
            [
                SettingStep::Key(programs),
                SettingStep::Key(program),
                keys @ ..,
            ] if programs == "programs" => {
                let program = visible(program);
                match keys {
                    [] => format!("program '{program}'"),
                    keys => format!("program '{program}': '{}'", steps_text(keys)),
                }
            }
            keys => format!("'{}'", steps_text(keys)),
        }
    }

    fn with_step(&self, step: SettingStep) -> Self {
        let mut path = self.clone();
        path.0.push(step);
        path
    }
}

/// Returns the steps as one text, such as `ready.publishes[0]`.
fn steps_text(steps: &[SettingStep]) -> String {
    let mut text = String::new();
    for step in steps {
        text += &match step {
            SettingStep::Key(key) if text.is_empty() => visible(key),
            SettingStep::Key(key) => format!(".{}", visible(key)),
            SettingStep::Index(index) => format!("[{index}]"),
        };
    }
    text
}
