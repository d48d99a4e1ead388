//! Reads the lines that all processes of a namespace have logged.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use horus_shm::{OpenError, topic_names};

use super::ring::log_topic_builder;
use super::topic_path::LogName;
use crate::message::LogLine;
use crate::namespace::Namespace;
use crate::topic::Subscriber;

/// The largest number of lines that one [`LogReader::poll`] reads from one log. WHY a limit:
/// otherwise the call would not end while lines arrive as fast as they are read.
const LINES_PER_POLL_MAX: usize = 1 << 17;

/// A line that a [`LogReader`] has read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LogRecord {
    /// The name of the program that logged the line.
    pub program: Arc<str>,
    /// Number of lines of the same process that are missing directly before this one. They were
    /// overwritten before this reader read them, or not written because all lanes of the ring were
    /// in use.
    pub lost_before: u64,
    /// The line itself: its text, and the time and place at which it was logged.
    pub line: LogLine,
}

/// Reads the logs of all processes of a namespace, including the logs that are still kept of
/// processes that have ended.
///
/// A reader does not count as a subscriber of the logs' topics, and delays no process.
#[derive(Debug)]
pub struct LogReader {
    namespace: Arc<Namespace>,
    logs: HashMap<LogName, ProcessLog>,
    lost: u64,
}

/// The log of one process, as far as a [`LogReader`] has read it.
#[derive(Debug)]
struct ProcessLog {
    program: Arc<str>,
    /// A subscriber to the log's topic; `None` once the process has ended and all of its lines were
    /// read. WHY the subscriber is dropped then: a log that any process has open cannot be removed.
    observer: Option<Subscriber<LogLine>>,
    /// True once a publisher or a line of the log was seen. WHY: before that, the process may be
    /// about to open the log.
    has_begun: bool,
    /// The lines that were read but not yet returned to the caller, by their numbers.
    waiting: BTreeMap<u64, LogLine>,
    /// The number of the line that has to be returned to the caller next.
    next: u64,
    /// The monotonic time of the last line that was returned, in nanoseconds.
    last_ns: u64,
}

impl LogReader {
    /// Creates a reader that starts with the oldest lines that are kept. This function does not
    /// read any lines yet.
    #[must_use]
    pub fn new(namespace: &Arc<Namespace>) -> Self {
        Self {
            namespace: Arc::clone(namespace),
            logs: HashMap::new(),
            lost: 0,
        }
    }

    /// Returns the lines that have arrived since the last call. Lines of different processes are
    /// sorted by their monotonic times; lines of the same process stay in their order.
    ///
    /// Does not block. Costs about 1 µs for each line, and some 50 µs for each new process. Call
    /// this method often enough that a log does not overwrite lines between two calls. If lines are
    /// missing while their process is alive, it may just be writing them. In this case, the lines
    /// after them are returned one call later.
    ///
    /// # Errors
    ///
    /// Returns [`OpenError::Io`] if the namespace's directory cannot be read.
    pub fn poll(&mut self) -> Result<Vec<LogRecord>, OpenError> {
        let names = topic_names(&self.namespace)?;
        let names: Vec<_> = names
            .iter()
            .filter_map(|name| LogName::parse(name.as_str()))
            .collect();
        self.logs
            .retain(|name, log| log.observer.is_some() || names.contains(name));
        for name in names {
            if !self.logs.contains_key(&name) {
                // A log that was removed meanwhile, or is of another version.
                let topic = log_topic_builder(&self.namespace, &name.to_string());
                let Ok(observer) = topic.observer() else {
                    continue;
                };
                let log = ProcessLog::new(&name.program, observer);
                self.logs.insert(name, log);
            }
        }
        let mut found = Vec::new();
        for log in self.logs.values_mut() {
            self.lost = self.lost.saturating_add_signed(log.poll(&mut found));
        }
        // Stable: the lines of one process stay in order.
        found.sort_by_key(|(time_ns, _)| *time_ns);
        Ok(found.into_iter().map(|(_, record)| record).collect())
    }

    /// Returns true if the last [`Self::poll`] kept lines back, because a line before them is
    /// missing. The next call of that method returns them.
    #[must_use]
    pub fn has_withheld_lines(&self) -> bool {
        self.logs.values().any(|log| !log.waiting.is_empty())
    }

    /// Returns the number of lost lines of all processes. It is the sum of `lost_before` of all
    /// returned lines, minus the number of lines that counted as lost but arrived later.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }
}

impl ProcessLog {
    fn new(program: &str, observer: Subscriber<LogLine>) -> Self {
        Self {
            program: program.into(),
            observer: Some(observer),
            has_begun: false,
            waiting: BTreeMap::new(),
            next: 1,
            last_ns: 0,
        }
    }

    /// Appends the new lines of this log to `found`, each with a time in nanoseconds by which the
    /// lines of all processes can be sorted. Returns how many more lines count as lost than before;
    /// the number is negative if lines that counted as lost have arrived.
    fn poll(&mut self, found: &mut Vec<(u64, LogRecord)>) -> i64 {
        let Some(observer) = &mut self.observer else {
            return 0;
        };
        // A line that is missing before this number was missing at the last poll, too.
        let missed_before = self
            .waiting
            .last_key_value()
            .map_or(0, |(number, _)| *number);
        // WHY before its lines are read: none can come after that.
        let is_open = observer.publisher_count() > 0;
        let lines = observer.try_iter().take(LINES_PER_POLL_MAX);
        self.waiting.extend(lines.map(|line| (line.sequence, line)));
        self.has_begun |= is_open || !self.waiting.is_empty();
        if self.has_begun && !is_open && observer.stats().waiting == 0 {
            self.observer = None;
        }
        let is_whole = self.observer.is_none();
        let mut lost = 0_i64;
        while let Some(first) = self.waiting.first_entry() {
            let number = *first.key();
            if number > self.next && !is_whole && number > missed_before {
                break;
            }
            let line = first.remove();
            let lost_before = number.saturating_sub(self.next);
            lost = if number < self.next {
                // It was counted as lost.
                lost - 1
            } else {
                lost.saturating_add_unsigned(lost_before)
            };
            self.next = self.next.max(number.saturating_add(1));
            self.last_ns = self.last_ns.max(line.monotonic_ns);
            let program = Arc::clone(&self.program);
            let record = LogRecord {
                program,
                lost_before,
                line,
            };
            found.push((self.last_ns, record));
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::LogLineHeader;
    use crate::namespace::{NamespaceConfig, NamespaceName};

    /// A reader may find the topic of a log before the process has opened its publisher.
    #[test]
    fn a_log_that_is_just_being_opened_has_not_ended() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let config = NamespaceConfig::new(dir.path().join("shm"), NamespaceName::default());
        let namespace = Namespace::open(&config).unwrap();
        let topic = || log_topic_builder(&namespace, "log");
        let file = topic().subscriber().unwrap();
        let mut log = ProcessLog::new("program", topic().observer().unwrap());
        drop(file);
        let mut found = Vec::new();
        log.poll(&mut found);

        let mut publisher = topic().publisher().unwrap();
        publisher.send(numbered_line(1)).unwrap();
        log.poll(&mut found);
        assert_eq!(found.len(), 1);

        drop(publisher);
        log.poll(&mut found);
        assert!(log.observer.is_none(), "the process has ended");
    }

    /// A line of a live process may be missing because the process is just writing it, but not for
    /// longer than from one call to the next.
    #[test]
    fn lines_wait_for_one_call_however_many_are_missing() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let config = NamespaceConfig::new(dir.path().join("shm"), NamespaceName::default());
        let namespace = Namespace::open(&config).unwrap();
        let topic = || log_topic_builder(&namespace, "log");
        let mut publisher = topic().publisher().unwrap();
        let mut log = ProcessLog::new("program", topic().observer().unwrap());
        let mut write = |sequence| publisher.send(numbered_line(sequence)).unwrap();

        let mut found = Vec::new();
        [1, 3, 5, 7].into_iter().for_each(&mut write);
        assert_eq!(log.poll(&mut found), 0);
        assert_eq!(numbers(&found), [1]);

        // 11 is behind a line that has not yet been missing for a whole call.
        [9, 11].into_iter().for_each(&mut write);
        assert_eq!(log.poll(&mut found), 3);
        assert_eq!(numbers(&found), [1, 3, 5, 7]);
        assert_eq!(log.poll(&mut found), 2);
        assert_eq!(numbers(&found), [1, 3, 5, 7, 9, 11]);
        assert!(log.waiting.is_empty());
    }

    fn numbered_line(sequence: u64) -> LogLine {
        let header = LogLineHeader {
            sequence,
            ..LogLineHeader::default()
        };
        LogLine::zeroed(header).unwrap()
    }

    fn numbers(found: &[(u64, LogRecord)]) -> Vec<u64> {
        found
            .iter()
            .map(|(_, record)| record.line.sequence)
            .collect()
    }
}
