//! The filter of a log, which decides which lines the log contains.

use std::fmt;

use ::log::{Level, LevelFilter};

/// A filter that decides which lines of a program are logged. It has one level for all lines, and
/// may have other levels for given nodes and loggers. A line is logged if it is at least as
/// important as the level that applies to it.
///
/// The text form is a list such as `info,planner=debug,camera::driver=off`. A part without a name
/// sets the level for all lines. A name stands for the node of that name, for the logger of that
/// name, and for the loggers below it: `camera` includes `camera::driver` and `camera.driver`. If
/// several names match a line, a name that matches its node is preferred to one that matches its
/// logger, then the longest name. The levels are `off`, `error`, `warn`, `info`, `debug` and
/// `trace`. If two parts have the same name, the later one applies.
///
/// ```
/// use horus_core::log::{Level, LogFilter};
///
/// let filter = LogFilter::parse("warn,planner=debug")?;
/// assert!(filter.allows(Level::Debug, "planner", "app::plan"));
/// assert!(!filter.allows(Level::Info, "camera", "app::camera"));
/// let error = LogFilter::parse("warn,planner=loud").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "'planner=loud' is no part of a log filter: 'loud' is none of the levels off, error, warn, \
///      info, debug and trace"
/// );
/// # Ok::<(), horus_core::log::FilterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFilter {
    all: LevelFilter,
    named: Vec<(String, LevelFilter)>,
}

/// The error for a part of a filter's text that is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{part}' is no part of a log filter: {reason}")]
pub struct FilterError {
    /// The invalid part of the filter's text, from one comma to the next.
    pub part: String,
    /// The reason why this part of the filter's text is invalid.
    pub reason: String,
}

impl Default for LogFilter {
    /// Returns a filter that logs lines of level `info` and more important ones.
    fn default() -> Self {
        Self {
            all: LevelFilter::Info,
            named: Vec::new(),
        }
    }
}

impl LogFilter {
    /// Parses the text form of a filter.
    ///
    /// # Errors
    ///
    /// Returns [`FilterError`] for the first part of `text` that is invalid.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let (filter, mut errors) = Self::parse_leniently(text);
        if errors.is_empty() {
            Ok(filter.unwrap_or_default())
        } else {
            Err(errors.remove(0))
        }
    }

    /// Parses the text form of a filter. Skips invalid parts, and returns an error for each of
    /// them. Returns no filter if the text has no valid part.
    pub(super) fn parse_leniently(text: &str) -> (Option<Self>, Vec<FilterError>) {
        let mut filter = Self::default();
        let mut has_part = false;
        let mut errors = Vec::new();
        for part in text.split(',').map(str::trim) {
            if part.is_empty() {
                continue;
            }
            match filter.add_level_rule(part) {
                Ok(()) => has_part = true,
                Err(reason) => {
                    let part = part.to_owned();
                    errors.push(FilterError { part, reason });
                }
            }
        }
        (has_part.then_some(filter), errors)
    }

    fn add_level_rule(&mut self, part: &str) -> Result<(), String> {
        let Some((name, level)) = part.split_once('=') else {
            self.all = parse_level(part)?;
            return Ok(());
        };
        let (name, level) = (name.trim(), parse_level(level.trim())?);
        if name.is_empty() {
            return Err("a name is missing before '='".to_owned());
        }
        match self.named.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = level,
            None => self.named.push((name.to_owned(), level)),
        }
        Ok(())
    }

    /// Returns true if the filter lets a line pass that has this level and comes from this node and
    /// this logger (`target`). Allocates no memory.
    #[must_use]
    pub fn allows(&self, level: Level, node: &str, target: &str) -> bool {
        level <= self.level_for(node, target)
    }

    /// Returns the least important level that the filter allows for any node or logger.
    #[must_use]
    pub fn max_level(&self) -> LevelFilter {
        let named = self.named.iter().map(|(_, level)| *level);
        named.fold(self.all, Ord::max)
    }

    fn level_for(&self, node: &str, target: &str) -> LevelFilter {
        if self.named.is_empty() {
            return self.all;
        }
        let longest = |name: &str| {
            let matching = self
                .named
                .iter()
                .filter(|(known, _)| is_same_or_parent_logger(known, name));
            matching.max_by_key(|(known, _)| known.len())
        };
        let found = longest(node).or_else(|| longest(target));
        found.map_or(self.all, |(_, level)| *level)
    }
}

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", lowercase_name(self.all))?;
        let mut named = self.named.iter();
        named.try_for_each(|(name, level)| write!(f, ",{name}={}", lowercase_name(*level)))
    }
}

/// Returns true if the node or logger `name` is called `known`, or is a logger below `known`.
fn is_same_or_parent_logger(known: &str, name: &str) -> bool {
    name.strip_prefix(known)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::") || rest.starts_with('.'))
}

fn parse_level(text: &str) -> Result<LevelFilter, String> {
    text.parse().map_err(|_| {
        format!("'{text}' is none of the levels off, error, warn, info, debug and trace")
    })
}

const fn lowercase_name(level: LevelFilter) -> &'static str {
    match level {
        LevelFilter::Off => "off",
        LevelFilter::Error => "error",
        LevelFilter::Warn => "warn",
        LevelFilter::Info => "info",
        LevelFilter::Debug => "debug",
        LevelFilter::Trace => "trace",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_decides_and_a_node_before_a_logger() {
        let filter =
            LogFilter::parse(" Warn , arm=debug,arm::left=off,py.nav=trace,planner=error,")
                .unwrap();
        let table = [
            ("", "", LevelFilter::Warn),
            ("", "arm", LevelFilter::Debug),
            ("", "arm::right", LevelFilter::Debug),
            ("", "arm::left::wrist", LevelFilter::Off),
            ("", "army", LevelFilter::Warn),
            ("", "py.nav.map", LevelFilter::Trace),
            ("planner", "arm::left", LevelFilter::Error),
            ("camera", "arm::left", LevelFilter::Off),
        ];
        for (node, target, level) in table {
            assert_eq!(filter.level_for(node, target), level, "{node:?} {target:?}");
        }
        assert_eq!(filter.max_level(), LevelFilter::Trace);
        let text = filter.to_string();
        assert_eq!(
            text,
            "warn,arm=debug,arm::left=off,py.nav=trace,planner=error"
        );
        assert_eq!(LogFilter::parse(&text), Ok(filter));
    }

    #[test]
    fn invalid_parts_are_named_and_the_others_count() {
        let (filter, errors) = LogFilter::parse_leniently("loud,arm=debug,=info,x=,a=b=c");
        assert_eq!(filter.unwrap().to_string(), "info,arm=debug");
        let parts: Vec<_> = errors.iter().map(|error| error.part.as_str()).collect();
        assert_eq!(parts, ["loud", "=info", "x=", "a=b=c"]);
    }
}
