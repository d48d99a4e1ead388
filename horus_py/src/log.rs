//! The log of this process. The Python file `_logging.py` uses it for a handler of Python's
//! `logging`.

use horus_core::log::{self, Level, LogEntry, LogError, LogFilter, LogSettings};
use horus_core::message::LogLineHeader;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::{Error, from_topic_error};
use crate::namespace::{PyNamespace, namespace_error};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("_LOG_TEXT_BYTES_MAX", LogLineHeader::TEXT_BYTES_MAX)?;
    module.add_function(wrap_pyfunction!(open_log, module)?)?;
    module.add_function(wrap_pyfunction!(is_log_enabled, module)?)?;
    module.add_function(wrap_pyfunction!(log_max_level, module)?)?;
    module.add_function(wrap_pyfunction!(log_line, module)?)
}

/// Opens the log of this process. Returns false if it is open already.
#[pyfunction]
#[pyo3(name = "_open_log", signature = (program, filter, stderr, lines, namespace))]
#[expect(clippy::too_many_arguments, reason = "Python passes them by position")]
fn open_log(
    py: Python<'_>,
    program: &str,
    filter: &str,
    stderr: bool,
    lines: Option<u32>,
    namespace: Option<PyRef<'_, PyNamespace>>,
) -> PyResult<bool> {
    let filter = LogFilter::parse(filter);
    let filter = filter.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut settings = LogSettings::new()
        .program(program)
        .filter(filter)
        .stderr(stderr);
    if let Some(lines) = lines {
        settings = settings.lines(lines);
    }
    if let Some(namespace) = namespace {
        settings = settings.namespace(&namespace.inner);
    }
    match py.detach(|| settings.open()) {
        Ok(()) => Ok(true),
        Err(LogError::AlreadyOpen) => Ok(false),
        Err(LogError::Namespace(error)) => Err(namespace_error(error)),
        Err(LogError::Topic(error)) => Err(from_topic_error(&error)),
        Err(error) => Err(Error::new_err(error.to_string())),
    }
}

/// Returns the number of the least important level that is logged, and 0 if nothing is; `None` if
/// the variable `HORUS_LOG` does not decide that, because it has no valid part.
#[pyfunction]
#[pyo3(name = "_log_max_level")]
fn log_max_level() -> Option<u8> {
    LogSettings::are_lines_selected_by_variable().then(|| log::max_level() as u8)
}

/// Returns true if lines of this level, node and logger are logged.
#[pyfunction]
#[pyo3(name = "_is_log_enabled")]
fn is_log_enabled(level: u8, node: &str, target: &str) -> bool {
    log::is_enabled(&LogEntry {
        node,
        target,
        ..LogEntry::new(level_of(level))
    })
}

/// Writes a line with the given level, node, logger (`target`), source position and text to the log
/// of this process.
#[pyfunction]
#[pyo3(name = "_log")]
#[expect(clippy::too_many_arguments, reason = "Python passes them by position")]
fn log_line(py: Python<'_>, level: u8, node: &str, target: &str, source: (&str, u32), text: &[u8]) {
    let entry = LogEntry {
        node,
        target,
        source: Some(source),
        ..LogEntry::new(level_of(level))
    };
    // WHY detached: the reader of stderr may be slow.
    py.detach(|| log::write_bytes(&entry, text));
}

/// Returns the log level with this number. If no level has the number, returns the nearest level.
fn level_of(level: u8) -> Level {
    match level {
        0 | LogLineHeader::ERROR => Level::Error,
        LogLineHeader::WARN => Level::Warn,
        LogLineHeader::INFO => Level::Info,
        LogLineHeader::DEBUG => Level::Debug,
        _ => Level::Trace,
    }
}
