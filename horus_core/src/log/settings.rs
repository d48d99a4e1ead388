//! The settings of a process's log, set by the program and by environment variables.

use std::env;
use std::ffi::OsStr;
use std::sync::Arc;

use super::error::LogError;
use super::filter::LogFilter;
use super::logger::LOGGER;
use super::ring::{LOG_LINES_MAX, RingSettings};
use super::sink::{self, LogSink};
use super::{stderr, topic_path};
use crate::message::Text;
use crate::namespace::{Namespace, NamespaceConfig};

/// The environment variable that selects the lines to log.
const FILTER_VARIABLE: &str = "HORUS_LOG";
/// The environment variable that says whether lines are written to stderr.
pub(super) const STDERR_VARIABLE: &str = "HORUS_LOG_STDERR";
/// The number of lines that a log keeps if [`LogSettings::lines`] is not called.
const DEFAULT_LOG_LINES: u32 = 448;

/// The settings of the log of this process. Environment variables override these settings: see
/// [the module](super#environment).
///
/// ```no_run
/// use horus_core::log::{LogFilter, LogSettings};
///
/// let filter = LogFilter::parse("warn,planner=debug")?;
/// LogSettings::new().node("planner").filter(filter).lines(2000).init()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct LogSettings {
    program: Option<String>,
    node: String,
    filter: LogFilter,
    writes_no_stderr: bool,
    lines: Option<u32>,
    config: Option<NamespaceConfig>,
}

impl LogSettings {
    /// Returns the default settings of a log, which the other methods can change.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name of the program, which is a part of the name of the log's topic. Default: the
    /// file name of the program.
    pub fn program(mut self, name: &str) -> Self {
        self.program = Some(name.to_owned());
        self
    }

    /// Sets the node name of the lines that are logged by threads that run no node. Default: no
    /// name.
    pub fn node(mut self, name: &str) -> Self {
        name.clone_into(&mut self.node);
        self
    }

    /// Sets the filter that decides which lines are logged. The environment variable `HORUS_LOG`
    /// overrides it, unless the variable is empty or no part of it is valid.
    pub fn filter(mut self, filter: LogFilter) -> Self {
        self.filter = filter;
        self
    }

    /// Sets whether lines are also written to stderr. The environment variable `HORUS_LOG_STDERR`
    /// overrides it. Default: true.
    pub const fn stderr(mut self, writes_stderr: bool) -> Self {
        self.writes_no_stderr = !writes_stderr;
        self
    }

    /// Sets how many of the last lines the log keeps at least, from 16 to 917,504. Default: 448.
    ///
    /// This number determines the memory of the log. The first lane has a slot of 1 KiB for each
    /// line, and a seventh more; the number of slots is rounded up to a power of two. The three
    /// other lanes together take about three eighths of the memory of the first one. They have the
    /// lines that are written while another thread is interrupted in the middle of one, and each
    /// keeps an eighth of this number.
    pub const fn lines(mut self, lines: u32) -> Self {
        self.lines = Some(lines);
        self
    }

    /// Sets the namespace of the log's topic. Default: the namespace that the environment variables
    /// `HORUS_SHM_DIR` and `HORUS_NAMESPACE` select.
    pub fn namespace(mut self, namespace: &Arc<Namespace>) -> Self {
        self.config = Some(namespace.config().clone());
        self
    }

    /// Opens the log of this process for [`write()`](super::write()) only. The log does not become
    /// the logger of the crate [`log`](mod@::log). Blocks for some milliseconds. The log stays open
    /// until the process ends.
    ///
    /// # Errors
    ///
    /// Returns [`LogError`] if the log is already open, or if the topic cannot be opened.
    pub fn open(self) -> Result<(), LogError> {
        sink::open_sink(|| self.into_sink()).map(drop)
    }

    /// Opens the log of this process, as [`Self::open`] does, and makes it the logger of the crate
    /// [`log`](mod@::log).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::open`], and [`LogError::OtherLogger`] if the crate `log`
    /// already has another logger.
    pub fn init(self) -> Result<(), LogError> {
        let sink = sink::open_sink(|| self.into_sink())?;
        ::log::set_logger(&LOGGER).map_err(|_| LogError::OtherLogger)?;
        ::log::set_max_level(sink.max_level());
        Ok(())
    }

    /// Returns true if `HORUS_LOG` has a valid part, so that the variable selects the lines, and
    /// not the program. For the language bindings.
    #[doc(hidden)]
    #[must_use]
    pub fn are_lines_selected_by_variable() -> bool {
        let text = env::var_os(FILTER_VARIABLE).unwrap_or_default();
        let (filter, _) = LogFilter::parse_leniently(&text.to_string_lossy());
        filter.is_some()
    }

    fn into_sink(self) -> Result<LogSink, LogError> {
        let mut warnings = Vec::new();
        let text = env::var_os(FILTER_VARIABLE).unwrap_or_default();
        let (filter, errors) = LogFilter::parse_leniently(&text.to_string_lossy());
        let texts = errors
            .iter()
            .map(|error| format!("{FILTER_VARIABLE}: {error}"));
        warnings.extend(texts);
        let writes_stderr = match env::var_os(STDERR_VARIABLE)
            .as_deref()
            .and_then(OsStr::to_str)
        {
            Some("on" | "1") => true,
            Some("off" | "0") => false,
            None | Some("") => !self.writes_no_stderr,
            Some(other) => {
                warnings.push(format!(
                    "{STDERR_VARIABLE}: '{other}' is none of on and off"
                ));
                !self.writes_no_stderr
            }
        };
        for warning in warnings {
            stderr::print_warning(format_args!("{warning}; it has no effect"));
        }
        Ok(LogSink {
            node: Text::truncated(&self.node),
            filter: filter.unwrap_or(self.filter),
            writes_stderr,
            ring: RingSettings {
                program: self.program.unwrap_or_else(topic_path::program_name),
                lines: self
                    .lines
                    .unwrap_or(DEFAULT_LOG_LINES)
                    .clamp(16, LOG_LINES_MAX),
                config: match self.config {
                    Some(config) => config,
                    None => NamespaceConfig::from_env()?,
                },
            },
        })
    }
}
