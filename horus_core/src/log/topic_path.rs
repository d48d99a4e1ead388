//! The names of the topics that hold the logs of processes.

use std::fmt;

/// The prefix of the names of all topics that hold logs.
pub(super) const LOG_TOPIC_PREFIX: &str = "horus/log/";

/// The longest name of a program in the name of a log's topic, in bytes. Longer names are cut.
const PROGRAM_BYTES_MAX: usize = 64;

/// The name of a log's topic: `horus/log/PROGRAM/START-PID`. START is the time at which the log was
/// opened, in microseconds since 1970.
///
/// WHY the name contains a time: the system reuses process ids, and the log of a dead process is
/// kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LogName {
    pub(super) start_us: u64,
    pub(super) process_id: u32,
    pub(super) program: String,
}

impl LogName {
    /// Returns the name of a log that was opened at `start_us`, in microseconds since 1970. The
    /// program's name is made valid for a topic: any character except ASCII letters, digits, `-`
    /// and `_` becomes `_`.
    pub(super) fn new(program: &str, process_id: u32, start_us: u64) -> Self {
        let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let safe = program.chars().map(|c| if is_safe(c) { c } else { '_' });
        let mut program: String = safe.take(PROGRAM_BYTES_MAX).collect();
        if program.is_empty() {
            program.push_str("program");
        }
        Self {
            start_us,
            process_id,
            program,
        }
    }

    /// Parses the name of a topic into the parts of a log's name; returns `None` if `topic` is not
    /// the name of a log.
    pub(super) fn parse(topic: &str) -> Option<Self> {
        let (program, start) = topic.strip_prefix(LOG_TOPIC_PREFIX)?.split_once('/')?;
        let (start_us, process_id) = start.split_once('-')?;
        let found = Self {
            start_us: start_us.parse().ok()?,
            process_id: process_id.parse().ok()?,
            program: program.to_owned(),
        };
        // There is one name for each log.
        (found.to_string() == topic).then_some(found)
    }
}

impl fmt::Display for LogName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            start_us,
            process_id,
            program,
        } = self;
        write!(f, "{LOG_TOPIC_PREFIX}{program}/{start_us}-{process_id}")
    }
}

/// Returns the file name of this program, without its extension.
pub(super) fn program_name() -> String {
    let path = std::env::args_os().next().map(std::path::PathBuf::from);
    let path = path.unwrap_or_default();
    let name = path.file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use horus_shm::TopicName;

    use super::*;

    #[test]
    fn any_program_has_a_log() {
        let long = "x".repeat(300);
        for (program, safe) in [
            ("imu_driver", "imu_driver"),
            ("my app.v2", "my_app_v2"),
            ("größe/../", "gr__e____"),
            ("", "program"),
            (&long, &long[..64]),
        ] {
            let name = LogName::new(program, u32::MAX, u64::MAX);
            assert_eq!(name.program, safe);
            assert!(TopicName::new(&name.to_string()).is_ok(), "{name}");
            assert_eq!(LogName::parse(&name.to_string()), Some(name));
        }
        for topic in ["horus/log/a", "horus/log/a/1", "horus/log/a/+1-2", "imu"] {
            assert_eq!(LogName::parse(topic), None, "{topic}");
        }
    }
}
