//! The logger that connects the crate `log` to the log of this process.

use ::log::{Log, Metadata, Record};

use super::sink::print_deferred_lines;
use super::{LogEntry, is_enabled, write};

/// The logger that [`super::init`] installs in the crate `log`.
pub(super) static LOGGER: Logger = Logger;

/// Implements the logger of the crate `log`, and writes its records to the log of this process.
#[derive(Debug)]
pub(super) struct Logger;

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_enabled(&LogEntry {
            target: metadata.target(),
            ..LogEntry::new(metadata.level())
        })
    }

    fn log(&self, record: &Record<'_>) {
        let entry = LogEntry {
            level: record.level(),
            node: "",
            target: record.target(),
            source: record.file().zip(record.line()),
        };
        write(&entry, *record.args());
    }

    fn flush(&self) {
        print_deferred_lines();
    }
}
